//! Findings of a monitor as text, and numbers.

use std::collections::BTreeSet;
use std::fmt::Write;

use fencepost_memory::{LockedDrains, MemoryModel};
use fencepost_monitor::{ExplainError, Finding, PlacedEvent, Violation, Witness, fence_gaps};

use crate::columns::aligned;
use crate::names::Naming;
use crate::style::{DIM, HEADING, Styled, VIOLATION};
use crate::witness_table::WitnessTable;

/// The name of a model in reports.
pub fn model_title(model: &MemoryModel) -> String {
    let name = model.name().to_uppercase();
    match model.locked_drains() {
        LockedDrains::Everything => name,
        LockedDrains::OwnAddress => format!("{name} (locked operations drain their own address)"),
    }
}

/// A violation in full: the three events, the cycle, the witness.
pub fn finding(
    number: usize,
    violation: &Violation,
    explained: &Result<Finding, ExplainError>,
    names: &dyn Naming,
) -> String {
    let mut text = String::new();
    let event = &violation.event.event.access;
    let pending = &violation.pending.event.access;
    let _ = writeln!(
        text,
        "{} {number}: under {}, `{}` of {} can come before `{}` of {}, which happens before it",
        Styled(VIOLATION, "violation"),
        model_title(&violation.model),
        names.operation(event),
        names.thread(event.thread),
        names.operation(pending),
        names.thread(pending.thread),
    );
    text.push_str(&three_events(violation, names));
    match explained {
        Ok(finding) => {
            text.push_str(&cycle(finding, names));
            text.push_str(&witness(finding, names));
        }
        Err(error) => {
            let _ = writeln!(text, "\n  {}: none ({error})", Styled(HEADING, "witness"));
        }
    }
    text
}

fn three_events(violation: &Violation, names: &dyn Naming) -> String {
    let roles = [
        ("pending write", &violation.pending),
        ("last event", &violation.last),
        ("overtaking", &violation.event),
    ];
    let rows = roles.map(|(role, placed)| {
        let access = &placed.event.access;
        let value = access
            .value
            .map_or(String::new(), |value| format!(" = {value}"));
        vec![
            role.to_string(),
            format!("event {}", placed.position + 1),
            format!("{}{value}", names.event(placed)),
            names
                .source(access)
                .map_or(String::new(), |s| format!("at {s}")),
        ]
    });
    aligned(&rows, "    ").join("\n") + "\n"
}

fn cycle(finding: &Finding, names: &dyn Naming) -> String {
    let mut text = format!("\n  {}: ", Styled(HEADING, "happens-before cycle"));
    for step in &finding.cycle {
        let relation = step.relation.name();
        let relaxed = if step.is_kept { "" } else { ", relaxed" };
        let _ = write!(text, "{} —{relation}{relaxed}→ ", names.event(&step.event));
    }
    if let Some(first) = finding.cycle.first() {
        text.push_str(&names.event(&first.event));
    }
    text.push('\n');
    let repair = repair(finding, names);
    let _ = writeln!(text, "  {}: {repair}", Styled(HEADING, "repair"));
    text
}

/// The fences that rule out the cycle, as a sentence.
fn repair(finding: &Finding, names: &dyn Naming) -> String {
    let gaps = fence_gaps(finding);
    let place = |placed: &PlacedEvent| {
        let source = names.source(&placed.event.access);
        source.unwrap_or_else(|| names.event(placed))
    };
    let places: Vec<String> = gaps
        .iter()
        .map(|gap| {
            let thread = names.thread(gap.after.thread());
            let (from, to) = (place(&gap.after), place(&gap.before));
            format!("between {from} and {to} ({thread})")
        })
        .collect();
    let fence = if places.len() == 1 {
        "a fence"
    } else {
        "fences"
    };
    format!(
        "insert {fence} {} to rule out this cycle",
        places.join(" and ")
    )
}

fn witness(finding: &Finding, names: &dyn Naming) -> String {
    let witness = &finding.witness;
    let mut text = format!(
        "\n  {} on the {} machine {}:\n",
        Styled(HEADING, "witness"),
        witness.model.name().to_uppercase(),
        Styled(
            DIM,
            "(replayed; its trace is allowed by the model, not by SC)"
        ),
    );
    if let Some(before) = events_before_run(witness) {
        let _ = writeln!(text, "    {before}; then, with empty buffers:");
    }
    text.push_str(&WitnessTable::new(witness, names).render("    "));
    text
}

/// The events before the steps that the table shows.
pub(crate) fn events_before_run(witness: &Witness) -> Option<String> {
    // Ranges of event numbers, from 1.
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    if witness.starts_after > 0 {
        ranges.push((1, witness.starts_after));
    }
    let prelude: BTreeSet<u64> = witness.steps[..witness.prelude]
        .iter()
        .map(|step| step.event.position + 1)
        .collect();
    for number in prelude {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let text = |&(first, last): &(u64, u64)| match first == last {
        true => first.to_string(),
        false => format!("{first}–{last}"),
    };
    let shown: Vec<String> = ranges.iter().take(MAX_RANGES).map(text).collect();
    let more = match ranges.len().checked_sub(MAX_RANGES) {
        None | Some(0) => String::new(),
        Some(_) => {
            let rest = ranges[MAX_RANGES..].iter();
            let count: u64 = rest.map(|(first, last)| last - first + 1).sum();
            format!(" and {} more up to {}", grouped(count), ranges.last()?.1)
        }
    };
    let noun = match ranges.as_slice() {
        [] => return None,
        [(first, last)] if first == last => "event",
        _ => "events",
    };
    Some(format!(
        "first, as recorded: {noun} {}{more}",
        shown.join(", ")
    ))
}

/// The largest number of ranges of events that are listed.
const MAX_RANGES: usize = 8;

/// `1 event`, `2 events`, `1,234 events`.
pub fn counted(count: u64, noun: &str) -> String {
    let plural = match (count, noun.strip_suffix("s")) {
        (1, _) => noun.to_string(),
        (_, Some(_)) => format!("{noun}es"),
        (_, None) => format!("{noun}s"),
    };
    format!("{} {plural}", grouped(count))
}

/// A number with its thousands separated.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_counted() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(counted(1, "event"), "1 event");
        assert_eq!(counted(0, "address"), "0 addresses");
    }
}
