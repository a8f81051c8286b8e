//! A finding as text: the headline and the source first, then the advice, then the execution, and
//! for a store-buffer violation the witness and the cycle.

use std::fmt::Write;

use fencepost_memory::{Access, Address};
use fencepost_monitor::Finding;

use super::consequence;
use super::interleaving::table;
use super::repair::repair_text;
use super::snippets;
use super::violation::reason;
use super::words::Words;
use super::{
    CheckFinding, Diagnosis, FurtherChecks, Problem, Reporter, Target, consequence_sentence,
};
use crate::columns::aligned;
use crate::names::Naming;
use crate::selection::head_and_tail;
use crate::style::{DIM, HEADING, HELP, Styled};
use crate::text::{events_before_run, grouped};
use crate::witness_table::WitnessTable;

/// The indentation of tables.
const INDENT: &str = "  ";
/// The approximate number of steps of the witness that are shown.
const MAX_STEPS: usize = 20;
/// The largest number of events of a cycle that are shown.
const MAX_CYCLE_EVENTS: usize = 12;

/// The text of a finding.
pub(super) fn text(reporter: &Reporter<'_>, finding: &CheckFinding) -> String {
    let words = reporter.words();
    let diagnosis = reporter.diagnosis(finding);
    let (sources, width) = (reporter.sources, reporter.width);
    let mut text = snippets::error(&diagnosis.headline, &diagnosis.marks, sources, width);
    if let Some(consequence) = &finding.consequence {
        let sentence = consequence_sentence(consequence, reporter);
        text.push_str(&titled(Styled(HEADING, "note"), &sentence));
    }
    text.push_str(&advice(&diagnosis, &words, reporter.further));
    text.push_str(&execution(finding, &diagnosis, &words, width));
    if let Problem::StoreBuffer {
        explained: Ok(explained),
        ..
    } = &finding.problem
    {
        let old_value = |address| old_value(finding, explained, address, &words);
        text.push_str(&witness(
            explained,
            &words,
            &reporter.target,
            width,
            &old_value,
        ));
        text.push_str(&cycle(explained, &words, &reporter.target));
    }
    text.push_str(&replay(finding));
    if let Some(consequence) = &finding.consequence {
        text.push_str(&consequence::text(reporter, consequence));
    }
    text
}

fn advice(diagnosis: &Diagnosis, words: &Words<'_>, further: FurtherChecks) -> String {
    let mut text = String::new();
    for note in &diagnosis.notes {
        text.push_str(&titled(Styled(HEADING, "note"), note));
    }
    let repair = diagnosis.repair.as_ref();
    let repair = repair.map(|repair| repair_text(repair, words, further));
    for help in repair.iter().chain(&diagnosis.help) {
        text.push_str(&titled(Styled(HELP, "help"), help));
    }
    text
}

/// A word, a colon, and lines indented by as much.
pub(super) fn titled(title: Styled<&str>, lines: &str) -> String {
    let indent = " ".repeat(title.1.len() + 2);
    let lines: Vec<&str> = lines.lines().collect();
    format!("{title}: {}\n", lines.join(&format!("\n{indent}")))
}

fn execution(
    finding: &CheckFinding,
    diagnosis: &Diagnosis,
    words: &Words<'_>,
    width: usize,
) -> String {
    let execution = format!("execution {}", grouped(finding.execution));
    let execution = Styled(HEADING, execution);
    if finding.interleaving.is_empty() {
        // A wrong use of the library does not depend on the execution.
        if matches!(
            finding.problem,
            Problem::InfeasibleSchedule { .. } | Problem::BadUse { .. } | Problem::Unreproduced(_)
        ) {
            return String::new();
        }
        return format!("\n{execution}: no shared access before the failure\n");
    }
    let interleaving = &finding.interleaving;
    // A failure is shown with the accesses before it, a violation with its cycle only, and a
    // livelock without its rounds.
    let fills = !matches!(
        finding.problem,
        Problem::StoreBuffer { .. } | Problem::Livelock { .. }
    );
    let rows = (diagnosis.rows.as_slice(), fills);
    let buffers = finding.buffers.as_ref();
    let table = table((interleaving, buffers), rows, words, width, INDENT);
    let remark = match buffers {
        None => "(sequentially consistent: stores reach memory at once)",
        Some(_) => "(with store buffers: a store reaches memory when it commits)",
    };
    let remark = Styled(DIM, remark);
    format!("\n{execution} {remark}:\n{table}")
}

/// The value of a variable at the start of the witness: the last one written before it, or the
/// initial one.
fn old_value(
    finding: &CheckFinding,
    explained: &Finding,
    address: Address,
    words: &Words<'_>,
) -> Option<u64> {
    let start = usize::try_from(explained.witness.starts_after).ok()?;
    let before = finding.interleaving.get(..start)?;
    let is_write =
        |access: &&Access| access.operation.address() == Some(address) && access.operation.writes();
    let last_write = before.iter().rev().find(is_write);
    match last_write {
        Some(write) => write.value,
        None => words.first_value(address),
    }
}

fn witness(
    finding: &Finding,
    words: &Words<'_>,
    target: &Target,
    width: usize,
    old_value: &dyn Fn(Address) -> Option<u64>,
) -> String {
    let title = format!("witness under {}", target.title);
    let remark = Styled(
        DIM,
        "(replayed on the abstract machine: stores wait in buffers)",
    );
    let mut text = format!("\n{} {remark}:\n", Styled(HEADING, title));
    if let Some(before) = events_before_run(&finding.witness) {
        let _ = writeln!(text, "{INDENT}{before}; then, with empty buffers:");
    }
    let positions: Vec<u64> = finding.cycle.iter().map(|s| s.event.position).collect();
    let shape = (width, INDENT);
    let table = WitnessTable::around(
        &finding.witness,
        words,
        &positions,
        MAX_STEPS,
        shape,
        old_value,
    );
    let table = table.render(INDENT);
    let (headings, rows) = table.split_once('\n').unwrap_or((&table, ""));
    let _ = write!(text, "{}\n{rows}", Styled(DIM, headings));
    text
}

fn cycle(finding: &Finding, words: &Words<'_>, target: &Target) -> String {
    let cycle = &finding.cycle;
    let title = "why this is not sequentially consistent";
    let mut text = format!(
        "\n{} {}:\n",
        Styled(HEADING, title),
        Styled(DIM, "(happens-before cycle)")
    );
    let cell = |index: usize| {
        let event = &cycle[index].event;
        let thread = words.thread(event.thread());
        format!(
            "({}) {thread} {}",
            index + 1,
            words.operation(&event.event.access)
        )
    };
    let ranges = head_and_tail(cycle.len(), MAX_CYCLE_EVENTS);
    let shown = ranges.iter().cloned().flatten();
    let rows: Vec<Vec<String>> = shown
        .map(|index| {
            let next = (index + 1) % cycle.len();
            let why = reason(&cycle[index], &cycle[next], words, target);
            vec![cell(index), format!("→ {}", cell(next)), why]
        })
        .collect();
    let mut lines = aligned(&rows, INDENT);
    if cycle.len() > MAX_CYCLE_EVENTS {
        let count = cycle.len() - rows.len();
        lines.insert(ranges[0].len(), format!("{INDENT}… {count} left out …"));
    }
    for line in lines {
        let _ = writeln!(text, "{line}");
    }
    text
}

fn replay(finding: &CheckFinding) -> String {
    if finding.replay.is_empty() && finding.schedule.is_empty() {
        return String::new();
    }
    let mut text = String::from("\n");
    // A program in another language is replayed by the command alone.
    let command = finding.command.as_ref();
    let replays = [Some(&finding.replay), command].into_iter().flatten();
    let replays: Vec<&String> = replays.filter(|replay| !replay.is_empty()).collect();
    // The line that replays usually has the schedule in it.
    if replays
        .first()
        .is_none_or(|first| !first.contains(&finding.schedule))
    {
        text.push_str(&titled(Styled(HEADING, "schedule"), &finding.schedule));
    }
    for (title, replay) in ["replay", "    or"].into_iter().zip(replays) {
        text.push_str(&titled(Styled(HEADING, title), replay));
    }
    text
}
