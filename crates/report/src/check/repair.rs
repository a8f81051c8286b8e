//! The fix of a store-buffer violation as text.

use std::fmt::Write;

use fencepost_monitor::{FenceGap, PlacedEvent, Repair, StrongerOrdering};

use super::violation::access;
use super::words::{Words, list};
use super::{FenceOrdering, FurtherChecks};
use crate::names::Naming;
use crate::source::SourcePosition;

/// The fix as lines of advice. It is for one cycle; `further` says how to learn more.
pub(super) fn repair_text(repair: &Repair, words: &Words<'_>, further: FurtherChecks) -> String {
    let file = common_file(repair, words);
    let mut places: Vec<(String, Vec<String>)> = Vec::new();
    for gap in &repair.gaps {
        let text = gap_text(gap, file.is_some(), words);
        let thread = words.thread(gap.after.thread());
        match places.iter_mut().find(|(known, _)| *known == text) {
            Some((_, threads)) => threads.push(thread),
            None => places.push((text, vec![thread])),
        }
    }
    let of_file = file
        .as_ref()
        .map_or(String::new(), |file| format!(" of {file}"));
    let of_gap = repair.gaps.first();
    let of_gap = of_gap.and_then(|gap| position(&gap.before, words));
    let in_file = of_gap.as_ref().map(|position| position.file.as_str());
    let language = words.language();
    let fence = language.fence(FenceOrdering::SeqCst, in_file);
    let mut text = match places.as_slice() {
        [(place, threads)] => format!(
            "insert `{fence}` {place}{of_file} ({}) to rule out this cycle",
            list(threads)
        ),
        places => {
            let lines = places
                .iter()
                .map(|(place, threads)| format!("\n  {place} ({})", list(threads)));
            let lines: String = lines.collect();
            format!(
                "insert `{fence}` in each of these places{of_file} to rule out this cycle:{lines}"
            )
        }
    };
    if let Some(ordering) = repair.stronger_ordering {
        text += &ordering_text(repair, ordering, file.is_some(), words);
    }
    text += "\nthen check again: there may be other cycles";
    for line in further.lines(language) {
        let _ = write!(text, "\n{line}");
    }
    text
}

fn ordering_text(
    repair: &Repair,
    ordering: StrongerOrdering,
    is_in_file: bool,
    words: &Words<'_>,
) -> String {
    // A line may have several writes, and a write be of several threads.
    let mut writes: Vec<(String, Option<SourcePosition>)> = Vec::new();
    for gap in &repair.gaps {
        let write = ordering.changed_access(gap);
        let position = position(write, words);
        let text = match (is_in_file, &position) {
            (true, Some(position)) => position.line.to_string(),
            _ => place(write, words),
        };
        if !writes.contains(&(text.clone(), position.clone())) {
            writes.push((text, position));
        }
    }
    let mut places: Vec<String> = Vec::new();
    for (text, _) in &writes {
        if !places.contains(text) {
            places.push(text.clone());
        }
    }
    let are_stores = repair
        .gaps
        .iter()
        .all(|gap| ordering.changed_access(gap).is_plain_store());
    let noun = if are_stores { "store" } else { "write" };
    let first = writes
        .first()
        .and_then(|(_, position)| position.as_ref())
        .map(|position| position.file.as_str());
    let stronger = match ordering {
        StrongerOrdering::SeqCstStores => FenceOrdering::SeqCst,
        StrongerOrdering::ReleaseWrites => FenceOrdering::Release,
    };
    let name = words.language().ordering(stronger, first);
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let at = match is_in_file {
        true => format!("in line{}", plural(places.len())),
        false => "at".to_string(),
    };
    format!(
        "\nor use `{}` for the {noun}{} {at} {}",
        name,
        plural(writes.len()),
        list(&places)
    )
}

/// The file that contains all gaps, if there is one.
fn common_file(repair: &Repair, words: &Words<'_>) -> Option<String> {
    let ends = repair.gaps.iter().flat_map(|gap| [&gap.after, &gap.before]);
    let mut files = ends.map(|end| position(end, words).map(|position| position.file));
    let first = files.next()??;
    let is_known = |end: &PlacedEvent| position(end, words).is_some_and(|place| place.line > 0);
    let mut ends = repair.gaps.iter().flat_map(|gap| [&gap.after, &gap.before]);
    (files.all(|file| file.as_ref() == Some(&first)) && ends.all(is_known)).then_some(first)
}

/// The location of a gap. If all gaps are in one file, the file is omitted, and " of" it can
/// follow.
fn gap_text(gap: &FenceGap, is_in_file: bool, words: &Words<'_>) -> String {
    let lines = position(&gap.after, words).zip(position(&gap.before, words));
    match lines.filter(|(after, before)| is_in_file && after.line > 0 && before.line > 0) {
        Some((after, before)) if after.line == before.line => format!(
            "between the {} and the {} in line {}",
            access(&gap.after, words),
            access(&gap.before, words),
            after.line
        ),
        Some((after, before)) if after.line < before.line => {
            format!("between lines {} and {}", after.line, before.line)
        }
        // The next iteration of a loop, or another function.
        Some((after, before)) => {
            format!("after line {} and before line {}", after.line, before.line)
        }
        None => format!(
            "after {} and before {}",
            place(&gap.after, words),
            place(&gap.before, words)
        ),
    }
}

/// Whether the program chooses the ordering of an access.
pub(super) fn has_ordering(placed: &PlacedEvent, words: &Words<'_>) -> bool {
    let address = placed.event.access.operation.address();
    address.is_some_and(|address| words.has_ordering(address))
}

fn position(placed: &PlacedEvent, words: &Words<'_>) -> Option<SourcePosition> {
    let location = placed.event.access.location;
    location.and_then(|location| words.position(location))
}

/// The file and line of an event, or else its operation.
fn place(placed: &PlacedEvent, words: &Words<'_>) -> String {
    let access = &placed.event.access;
    match position(placed, words) {
        Some(position) => position.file_and_line(),
        None => words
            .source(access)
            .unwrap_or_else(|| format!("`{}`", words.event(placed))),
    }
}
