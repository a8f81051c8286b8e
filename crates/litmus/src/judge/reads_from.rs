//! Whether each read has the latest value that its thread can see.

use super::is_before_in_program;
use super::memory_order::Places;
use super::rejection::{EventLabel, Rejection};
use crate::execution::{Action, Execution};
use crate::test::{CellId, Test};

/// The paper's `reads_from_map_candidates`, `check_rfmap_written` and `check_rfmap_initial`.
pub(super) fn check(test: &Test, execution: &Execution, places: &Places) -> Result<(), Rejection> {
    let label = |index| EventLabel::of(test, execution, index);
    for (read, event) in execution.events.iter().enumerate() {
        let source = execution.reads_from[read];
        let Action::Read(cell, value) = event.action else {
            if source.is_some() {
                return Err(Rejection::SourceOfNoRead { event: label(read) });
            }
            continue;
        };
        let Some(source) = source else {
            check_initial(test, execution, places, read, cell, value)?;
            continue;
        };
        let source = source.index();
        match execution.events.get(source) {
            Some(write) if write.action == Action::Write(cell, value) => {}
            other => {
                let source_event = match other {
                    Some(other) => EventLabel::new(test, other).to_string(),
                    None => format!("event {source}, which there is not"),
                };
                return Err(Rejection::NotTheValue {
                    read: label(read),
                    source_event,
                });
            }
        }
        if !is_visible(execution, places, source, read) {
            return Err(Rejection::NotYetWritten {
                read: label(read),
                write: label(source),
            });
        }
        let newer = previous_writes(execution, places, read, cell)
            .find(|&newer| places.is_before(source, newer));
        if let Some(newer) = newer {
            return Err(Rejection::Overwritten {
                read: label(read),
                write: label(source),
                newer: label(newer),
            });
        }
    }
    Ok(())
}

fn check_initial(
    test: &Test,
    execution: &Execution,
    places: &Places,
    read: usize,
    cell: CellId,
    value: u64,
) -> Result<(), Rejection> {
    let label = |index| EventLabel::of(test, execution, index);
    let initial = super::initial_content(&test.cells[cell.index()]);
    if initial != value {
        return Err(Rejection::NotTheInitialValue {
            read: label(read),
            initial,
        });
    }
    match previous_writes(execution, places, read, cell).next() {
        Some(newer) => Err(Rejection::InitialOverwritten {
            read: label(read),
            newer: label(newer),
        }),
        None => Ok(()),
    }
}

/// Whether a write comes before a read in memory order or in program order: it is in memory, or in
/// the write buffer of the read's thread.
fn is_visible(execution: &Execution, places: &Places, write: usize, read: usize) -> bool {
    places.is_before(write, read) || is_before_in_program(execution, write, read)
}

/// The paper's `previous_writes` in memory order and in program order.
fn previous_writes(
    execution: &Execution,
    places: &Places,
    read: usize,
    cell: CellId,
) -> impl Iterator<Item = usize> {
    (0..execution.events.len()).filter(move |&write| {
        matches!(execution.events[write].action, Action::Write(written, _) if written == cell)
            && is_visible(execution, places, write, read)
    })
}
