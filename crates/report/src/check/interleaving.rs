//! An execution as a table: one column per thread, one row per access. Long executions are cut to
//! the surroundings of relevant accesses.

use std::collections::BTreeSet;

use fencepost_memory::{Access, ThreadId};
use unicode_width::UnicodeWidthStr;

use super::words::{Words, tidy};
use super::{Buffers, Row};
use crate::columns::aligned;
use crate::names::{Naming, action_verb};
use crate::selection::{around, gaps};
use crate::source::SourcePosition;
use crate::style::{DIM, Styled};
use crate::text::counted;

/// The approximate number of accesses that are shown.
const MAX_ROWS: usize = 20;
/// The same with store buffers, where each store has a commit.
const MAX_ROWS_WITH_BUFFERS: usize = 50;
/// The largest number of thread columns; more threads share one.
const MAX_COLUMNS: usize = 6;
/// The widest name of a file in a row.
const WIDEST_FILE: usize = 24;

/// The heading of the numbers.
const EVENT: &str = "event";

/// The table. `important` are the accesses that matter; if it `fills`, so do those before them.
pub(super) fn table(
    (interleaving, buffers): (&[Access], Option<&Buffers>),
    (important, fills): (&[Row], bool),
    words: &Words<'_>,
    width: usize,
    indent: &str,
) -> String {
    let mut positions: Vec<usize> = important.iter().map(|row| row.position as usize).collect();
    let most_rows = match buffers {
        None => MAX_ROWS,
        Some(_) => MAX_ROWS_WITH_BUFFERS,
    };
    if interleaving.len() > most_rows {
        positions.extend(causes(interleaving, &positions));
    }
    let ranges = around(interleaving.len(), &positions, most_rows, fills);
    let shown: Vec<(usize, &Access)> = ranges
        .iter()
        .flat_map(|range| range.clone().zip(&interleaving[range.clone()]))
        .collect();
    let threads: BTreeSet<ThreadId> = shown.iter().map(|(_, access)| access.thread).collect();
    let table = Table {
        places: places(&shown, words),
        shown,
        buffers,
        threads,
        important,
        words,
    };
    let mut lines = aligned(&table.rows(false), indent);
    let is_wide = lines.iter().any(|line| line.width() > width);
    if is_wide || table.threads.len() > MAX_COLUMNS {
        lines = aligned(&table.rows(true), indent);
    }
    lines[0] = Styled(DIM, &lines[0]).to_string();
    for (count, before) in gaps(&ranges, interleaving.len()).into_iter().rev() {
        let gap = format!("{indent}… {} left out …", counted(count as u64, "access"));
        lines.insert(before + 1, Styled(DIM, gap).to_string());
    }
    lines.join("\n") + "\n"
}

/// For each of these accesses, the last write of another thread to the same address before it: the
/// access may have read it.
fn causes(interleaving: &[Access], positions: &[usize]) -> Vec<usize> {
    let cause = |&position: &usize| {
        let effect = interleaving.get(position)?;
        let address = effect.operation.address()?;
        interleaving[..position].iter().rposition(|access| {
            let is_other = access.thread != effect.thread;
            is_other && access.operation.writes() && access.operation.address() == Some(address)
        })
    };
    positions.iter().filter_map(cause).collect()
}

struct Table<'a> {
    shown: Vec<(usize, &'a Access)>,
    /// The heading and the cells of the column of places.
    places: (String, Vec<String>),
    buffers: Option<&'a Buffers>,
    threads: BTreeSet<ThreadId>,
    important: &'a [Row],
    words: &'a Words<'a>,
}

impl Table<'_> {
    /// The operation of an access. Under sequential consistency a store reaches memory at once.
    fn does(&self, position: usize, access: &Access) -> String {
        let does = self.words.with_value(access);
        match self.buffers {
            Some(buffers) if buffers.commits.contains(&position) => {
                let verb = action_verb(access.operation.kind(), self.words.language());
                let stored = does.strip_prefix(verb);
                format!("commit{}", stored.unwrap_or(&does))
            }
            Some(buffers) if buffers.stores.contains(&position) => format!("{does} → buffer"),
            _ => does,
        }
    }

    /// The rows with their headings; `is_shared` says that the threads share one column.
    fn rows(&self, is_shared: bool) -> Vec<Vec<String>> {
        let last = self.shown.last().map_or(0, |(position, _)| position + 1);
        let digits = last.to_string().len().max(EVENT.len());
        let mut headings = vec![format!("{EVENT:>digits$}"), self.places.0.clone()];
        match is_shared {
            true => headings.extend(["thread".to_string(), "does".to_string()]),
            false => headings.extend(self.threads.iter().map(|&t| self.words.thread(t))),
        }
        headings.push(String::new());
        let mut rows = vec![headings];
        for ((position, access), place) in self.shown.iter().zip(&self.places.1) {
            let does = self.does(*position, access);
            let mut row = vec![format!("{:>digits$}", position + 1), place.clone()];
            match is_shared {
                true => row.extend([self.words.thread(access.thread), does]),
                false => row.extend(self.threads.iter().map(|&thread| {
                    let is_own = thread == access.thread;
                    if is_own { does.clone() } else { String::new() }
                })),
            }
            let label = self
                .important
                .iter()
                .find(|row| row.position == *position as u64);
            row.push(label.map_or(String::new(), |row| row.label.clone()));
            rows.push(row);
        }
        rows
    }
}

/// The locations of the accesses: line numbers if all are in one file, or else files and lines.
fn places(shown: &[(usize, &Access)], words: &Words<'_>) -> (String, Vec<String>) {
    let known: Vec<(Option<SourcePosition>, &Access)> = shown
        .iter()
        .map(|(_, access)| {
            let location = access.location;
            (
                location.and_then(|location| words.position(location)),
                *access,
            )
        })
        .collect();
    let files: BTreeSet<&str> = known
        .iter()
        .filter_map(|(position, _)| position.as_ref())
        .map(|position| position.file.as_str())
        .collect();
    let has_other = |(position, access): &(Option<SourcePosition>, &Access)| {
        position.is_none() && words.source(access).is_some()
    };
    if files.len() == 1 && !known.iter().any(has_other) {
        let lines: Vec<String> = known
            .iter()
            .map(|(position, _)| {
                position
                    .as_ref()
                    .map_or(String::new(), |p| p.line.to_string())
            })
            .collect();
        let digits = lines.iter().map(String::len).max().unwrap_or(0).max(4);
        let cells = lines.iter().map(|line| format!("{line:>digits$}"));
        return (format!("{:>digits$}", "line"), cells.collect());
    }
    let cells = known.iter().map(|(position, access)| match position {
        Some(position) => {
            let file = position.file.rsplit(['/', '\\']).next().unwrap_or("");
            format!("{}:{}", tidy(file, WIDEST_FILE), position.line)
        }
        None => tidy(&words.source(access).unwrap_or_default(), WIDEST_FILE),
    });
    let cells: Vec<String> = cells.collect();
    let is_empty = cells.iter().all(String::is_empty);
    let heading = if is_empty { "" } else { "where" };
    (heading.to_string(), cells)
}
