//! A run of the store-buffer machine as a table: one column per thread, and the contents of buffers
//! and memory after each step.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use fencepost_memory::{Address, ThreadId};
use fencepost_monitor::{Action, PlacedEvent, Witness, WitnessStep};
use unicode_width::UnicodeWidthStr;

use crate::columns::aligned;
use crate::names::Naming;
use crate::selection::{around, gaps, head_and_tail};

/// A table of text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WitnessTable {
    /// The headings.
    pub headings: Vec<String>,
    /// The rows, as many cells each as there are headings.
    pub rows: Vec<Vec<String>>,
    /// The number of omitted steps, and the row that follows them.
    pub omitted: Vec<(usize, usize)>,
}

/// The largest number of rows; longer runs lose their middle.
const MAX_ROWS: usize = 60;
/// The largest number of thread columns; more threads share one.
const MAX_COLUMNS: usize = 6;

impl WitnessTable {
    /// The table of a witness, without its prelude.
    pub fn new(witness: &Witness, names: &dyn Naming) -> Self {
        let rows = head_and_tail(witness.steps.len() - witness.prelude, MAX_ROWS);
        Self::with_rows(witness, names, &rows, MAX_COLUMNS, None, &|_| None)
    }

    /// As [`new`](Self::new), but restricted to relevant events: those at these positions of the
    /// interleaving. Of a long run it shows about `most_rows` steps around those of the events, and
    /// of many stores and variables only those of the events. If a line is wider than `width`,
    /// indented by `indent`, the threads share one column. `old_value` is what a variable had
    /// before the run, where that is known.
    pub(crate) fn around(
        witness: &Witness,
        names: &dyn Naming,
        positions: &[u64],
        most_rows: usize,
        (width, indent): (usize, &str),
        old_value: &dyn Fn(Address) -> Option<u64>,
    ) -> Self {
        let steps = &witness.steps[witness.prelude..];
        let important: Vec<usize> = (0..steps.len())
            .filter(|&index| positions.contains(&steps[index].event.position))
            .collect();
        let rows = around(steps.len(), &important, most_rows, false);
        let important = Some(positions);
        let table = |columns| Self::with_rows(witness, names, &rows, columns, important, old_value);
        let wide = table(MAX_COLUMNS);
        let is_fitting = |line: &str| line.width() <= width;
        match wide.render(indent).lines().all(is_fitting) {
            true => wide,
            false => table(0),
        }
    }

    fn with_rows(
        witness: &Witness,
        names: &dyn Naming,
        shown: &[Range<usize>],
        most_columns: usize,
        important: Option<&[u64]>,
        old_value: &dyn Fn(Address) -> Option<u64>,
    ) -> Self {
        let (prelude, steps) = witness.steps.split_at(witness.prelude);
        let threads: BTreeSet<ThreadId> = steps.iter().map(|s| s.event.thread()).collect();
        let shared_column = threads.len() > most_columns;
        let mut headings = vec!["step".to_string(), "event".to_string()];
        if shared_column {
            headings.push("thread".into());
            headings.push("does".into());
        } else {
            headings.extend(threads.iter().map(|&thread| names.thread(thread)));
        }
        headings.extend(["store buffers".into(), "memory".into()]);

        // Only the addresses that the table is about.
        let mut addresses: BTreeSet<Address> =
            steps.iter().filter_map(|s| s.event.address()).collect();
        if let Some(important) = important {
            if addresses.len() > MAX_IMPORTANT_ITEMS {
                let events = steps.iter().map(|step| &step.event);
                let important = events.filter(|event| important.contains(&event.position));
                addresses = important.filter_map(PlacedEvent::address).collect();
            }
        }
        addresses.retain(|&address| names.has_values(address));
        let mut machine = MachineState {
            shown: addresses,
            ..MachineState::default()
        };
        prelude.iter().for_each(|step| machine.perform(step));
        let mut rows = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            machine.perform(step);
            if !shown.iter().any(|range| range.contains(&index)) {
                continue;
            }
            let does = describe(step, names, old_value);
            let mut row = vec![
                (index + 1).to_string(),
                (step.event.position + 1).to_string(),
            ];
            if shared_column {
                row.push(names.thread(step.event.thread()));
                row.push(does);
            } else {
                row.extend(threads.iter().map(|&thread| {
                    let is_own = thread == step.event.thread();
                    if is_own { does.clone() } else { String::new() }
                }));
            }
            row.push(machine.buffers(names, important));
            row.push(machine.memory(names));
            rows.push(row);
        }
        WitnessTable {
            headings,
            rows,
            omitted: gaps(shown, steps.len()),
        }
    }

    /// The table as lines of text, columns padded, indented by `indent`.
    pub fn render(&self, indent: &str) -> String {
        let mut rows = vec![self.headings.clone()];
        rows.extend(self.rows.iter().cloned());
        let mut lines = aligned(&rows, indent);
        for &(count, before) in self.omitted.iter().rev() {
            lines.insert(before + 1, format!("{indent}… {count} steps left out …"));
        }
        lines.join("\n") + "\n"
    }
}

fn value_of(write: &PlacedEvent, names: &dyn Naming) -> String {
    match write.address().zip(write.event.access.value) {
        Some((address, value)) => names.value(address, value),
        None => format!("[{}:{}]", names.thread(write.thread()), write.event.issue.0),
    }
}

fn describe(
    step: &WitnessStep,
    names: &dyn Naming,
    old_value: &dyn Fn(Address) -> Option<u64>,
) -> String {
    let access = &step.event.event.access;
    let operation = names.operation(access);
    let address = access.operation.address();
    if address.is_some_and(|address| !names.has_values(address)) {
        return operation;
    }
    let from_memory = |known: Option<u64>| {
        let value = address.and_then(|address| Some((address, known.or(old_value(address))?)));
        value.map_or("old value".to_string(), |(address, value)| {
            names.value(address, value)
        })
    };
    match &step.action {
        Action::Buffer => format!("{operation} → buffer"),
        Action::Forward(store) => format!("{operation} = {} (own buffer)", value_of(store, names)),
        Action::Read(Some(write)) => format!("{operation} = {}", value_of(write, names)),
        Action::Read(None) => format!("{operation} = {}", from_memory(access.value)),
        Action::Exchange(Some(write)) => format!("{operation} (reads {})", value_of(write, names)),
        Action::Exchange(None) => format!("{operation} (reads {})", from_memory(None)),
        Action::Perform => operation,
        Action::Commit => match address {
            Some(address) => format!("commit {}", names.address(address)),
            None => operation,
        },
    }
}

/// The contents of buffers and memory, as far as the run has touched them.
#[derive(Default)]
struct MachineState {
    shown: BTreeSet<Address>,
    buffers: BTreeMap<ThreadId, VecDeque<PlacedEvent>>,
    memory: BTreeMap<Address, PlacedEvent>,
}

impl MachineState {
    fn perform(&mut self, step: &WitnessStep) {
        let event = step.event;
        match step.action {
            Action::Buffer => self
                .buffers
                .entry(event.thread())
                .or_default()
                .push_back(event),
            Action::Commit => {
                let buffer = self.buffers.entry(event.thread()).or_default();
                match buffer.front() {
                    Some(oldest) if oldest.position == event.position => {
                        buffer.pop_front();
                    }
                    _ => buffer.retain(|store| store.position != event.position),
                }
                self.write(event);
            }
            Action::Exchange(_) => self.write(event),
            Action::Perform if event.event.operation().writes() => self.write(event),
            Action::Perform | Action::Read(_) | Action::Forward(_) => {}
        }
    }

    fn write(&mut self, event: PlacedEvent) {
        if let Some(address) = event.address().filter(|a| self.shown.contains(a)) {
            self.memory.insert(address, event);
        }
    }

    fn store(write: &PlacedEvent, names: &dyn Naming) -> String {
        let address = write.address().map_or(String::new(), |a| names.address(a));
        format!("{address}={}", value_of(write, names))
    }

    fn buffers(&self, names: &dyn Naming, important: Option<&[u64]>) -> String {
        let full = self.buffers.iter().filter(|(_, buffer)| !buffer.is_empty());
        let texts = full.map(|(&thread, buffer)| {
            let stores = match important {
                Some(positions) if buffer.len() > MAX_IMPORTANT_ITEMS => {
                    important_ones(buffer, positions, names)
                }
                _ => shortened(buffer.iter(), names),
            };
            format!("{}: {stores}", names.thread(thread))
        });
        texts.collect::<Vec<_>>().join("; ")
    }

    fn memory(&self, names: &dyn Naming) -> String {
        shortened(self.memory.values(), names)
    }
}

/// At most so many items of a list are written out.
const MAX_ITEMS: usize = 8;

/// If what matters is known: with more items than this, only what matters is written out.
const MAX_IMPORTANT_ITEMS: usize = 4;

/// The stores at these positions, and how many others there are.
fn important_ones(buffer: &VecDeque<PlacedEvent>, positions: &[u64], names: &dyn Naming) -> String {
    let stores = buffer.iter();
    let important = stores.filter(|store| positions.contains(&store.position));
    let mut texts: Vec<String> = important
        .map(|store| MachineState::store(store, names))
        .collect();
    match buffer.len() - texts.len() {
        0 => {}
        all if texts.is_empty() => texts.push(format!("{all} stores")),
        more => texts.push(format!("+ {more} more")),
    }
    texts.join(" ")
}

fn shortened<'a>(
    writes: impl ExactSizeIterator<Item = &'a PlacedEvent>,
    names: &dyn Naming,
) -> String {
    let more = writes.len().saturating_sub(MAX_ITEMS);
    let shown: Vec<_> = writes
        .skip(more)
        .map(|write| MachineState::store(write, names))
        .collect();
    match more {
        0 => shown.join(" "),
        _ => format!("… {more} more … {}", shown.join(" ")),
    }
}
