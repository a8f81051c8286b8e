//! A run of the store-buffer machine as a table: one column per thread, and after each step
//! what the buffers and the memory hold.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fencepost_memory::{Address, ThreadId};
use fencepost_monitor::{Action, Placed, Witness, WitnessStep};

use crate::columns::aligned;
use crate::names::Naming;

/// A table of text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WitnessTable {
    /// The headings.
    pub headings: Vec<String>,
    /// The rows, as many cells each as there are headings.
    pub rows: Vec<Vec<String>>,
    /// How many steps were left out in the middle, and before which row.
    pub omitted: Option<(usize, usize)>,
}

/// Longer runs lose their middle.
const MOST_ROWS: usize = 60;
/// With more threads than this they share one column.
const MOST_COLUMNS: usize = 6;

impl WitnessTable {
    /// The table of a witness, without its prelude.
    pub fn new(witness: &Witness, names: &dyn Naming) -> Self {
        let (prelude, steps) = witness.steps.split_at(witness.prelude);
        let threads: BTreeSet<ThreadId> = steps.iter().map(|s| s.event.thread()).collect();
        let shared_column = threads.len() > MOST_COLUMNS;
        let mut headings = vec!["step".to_string(), "event".to_string()];
        if shared_column {
            headings.push("thread".into());
            headings.push("does".into());
        } else {
            headings.extend(threads.iter().map(|&thread| names.thread(thread)));
        }
        headings.extend(["store buffers".into(), "memory".into()]);

        // Of the memory, only what the table is about.
        let mut machine = MachineState {
            shown: steps
                .iter()
                .filter_map(|step| step.event.address())
                .collect(),
            ..MachineState::default()
        };
        prelude.iter().for_each(|step| machine.perform(step));
        let mut rows = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            let does = describe(step, names);
            machine.perform(step);
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
            row.push(machine.buffers(names));
            row.push(machine.memory(names));
            rows.push(row);
        }
        let mut omitted = None;
        if rows.len() > MOST_ROWS {
            let (head, tail) = (MOST_ROWS / 2, rows.len() - MOST_ROWS / 2);
            omitted = Some((tail - head, head));
            rows.drain(head..tail);
        }
        WitnessTable {
            headings,
            rows,
            omitted,
        }
    }

    /// The table as lines of text, columns padded, indented by `indent`.
    pub fn render(&self, indent: &str) -> String {
        let mut rows = vec![self.headings.clone()];
        rows.extend(self.rows.iter().cloned());
        let mut lines = aligned(&rows, indent);
        if let Some((count, before)) = self.omitted {
            lines.insert(before + 1, format!("{indent}… {count} steps left out …"));
        }
        lines.join("\n") + "\n"
    }
}

fn value_of(write: &Placed, names: &dyn Naming) -> String {
    match write.event.access.value {
        Some(value) => value.to_string(),
        None => format!("[{}:{}]", names.thread(write.thread()), write.event.issue.0),
    }
}

fn describe(step: &WitnessStep, names: &dyn Naming) -> String {
    let access = &step.event.event.access;
    let operation = names.operation(access);
    match &step.action {
        Action::Buffer => format!("{operation} → buffer"),
        Action::Forward(store) => format!("{operation} = {} (own buffer)", value_of(store, names)),
        Action::Read(Some(write)) => format!("{operation} = {}", value_of(write, names)),
        Action::Read(None) => match access.value {
            Some(value) => format!("{operation} = {value}"),
            None => format!("{operation} = old value"),
        },
        Action::Exchange(Some(write)) => format!("{operation} (reads {})", value_of(write, names)),
        Action::Exchange(None) => format!("{operation} (reads old value)"),
        Action::Perform => operation,
        Action::Commit => match access.operation.address() {
            Some(address) => format!("commit {}", names.address(address)),
            None => operation,
        },
    }
}

/// What the buffers and the memory hold, as far as the run has touched them.
#[derive(Default)]
struct MachineState {
    shown: BTreeSet<Address>,
    buffers: BTreeMap<ThreadId, VecDeque<Placed>>,
    memory: BTreeMap<Address, Placed>,
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
                buffer.retain(|store| store.position != event.position);
                self.write(event);
            }
            Action::Exchange(_) => self.write(event),
            Action::Perform if event.event.operation().writes() => self.write(event),
            Action::Perform | Action::Read(_) | Action::Forward(_) => {}
        }
    }

    fn write(&mut self, event: Placed) {
        if let Some(address) = event.address().filter(|a| self.shown.contains(a)) {
            self.memory.insert(address, event);
        }
    }

    fn store(write: &Placed, names: &dyn Naming) -> String {
        let address = write.address().map_or(String::new(), |a| names.address(a));
        format!("{address}={}", value_of(write, names))
    }

    fn buffers(&self, names: &dyn Naming) -> String {
        let full = self.buffers.iter().filter(|(_, buffer)| !buffer.is_empty());
        let texts = full.map(|(&thread, buffer)| {
            let stores: Vec<_> = buffer.iter().map(|s| Self::store(s, names)).collect();
            format!("{}: {}", names.thread(thread), shortened(&stores))
        });
        texts.collect::<Vec<_>>().join("; ")
    }

    fn memory(&self, names: &dyn Naming) -> String {
        let writes: Vec<_> = self
            .memory
            .values()
            .map(|w| Self::store(w, names))
            .collect();
        shortened(&writes)
    }
}

/// At most so many items of a list are written out.
const MOST_ITEMS: usize = 8;

fn shortened(items: &[String]) -> String {
    match items.len().checked_sub(MOST_ITEMS) {
        None | Some(0) => items.join(" "),
        Some(more) => format!("… {more} more … {}", items[more..].join(" ")),
    }
}
