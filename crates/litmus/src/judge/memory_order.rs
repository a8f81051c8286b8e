//! Whether the memory order is a linear order of the accesses that keeps what the model keeps.

use fencepost_memory::{Address, MemoryModel, Operation};

use super::rejection::{EventLabel, KeptBecause, Rejection};
use super::{are_of_one_instance, is_before_in_program};
use crate::code::Fence;
use crate::execution::{Action, Event, Execution};
use crate::test::Test;

/// The position of each event in the memory order; none for fences.
pub(super) struct Places(Vec<Option<usize>>);

impl Places {
    /// The positions, if each read and each write has exactly one and no other event has one.
    pub(super) fn of(test: &Test, execution: &Execution) -> Result<Self, Rejection> {
        let label = |index| EventLabel::of(test, execution, index);
        let mut places = vec![None; execution.events.len()];
        for (place, id) in execution.memory_order.iter().enumerate() {
            let Some(event) = execution.events.get(id.index()) else {
                return Err(Rejection::NoSuchEvent {
                    event: id.0,
                    events: execution.events.len(),
                });
            };
            let event_label = || label(id.index());
            if event.action.cell().is_none() {
                return Err(Rejection::NoAccess {
                    event: event_label(),
                });
            }
            if places[id.index()].replace(place).is_some() {
                return Err(Rejection::TwiceInMemoryOrder {
                    event: event_label(),
                });
            }
        }
        for (index, event) in execution.events.iter().enumerate() {
            if event.action.cell().is_some() && places[index].is_none() {
                return Err(Rejection::NotInMemoryOrder {
                    event: label(index),
                });
            }
        }
        Ok(Places(places))
    }

    /// Whether one access comes before another in the memory order.
    pub(super) fn is_before(&self, one: usize, other: usize) -> bool {
        match (self.0[one], self.0[other]) {
            (Some(one), Some(other)) => one < other,
            _ => false,
        }
    }
}

/// What the model takes an access for. A locked instruction's read and write are asked for one by
/// one: models make no difference between locked operations.
fn operation(event: &Event) -> Option<Operation> {
    Some(match (event.action, event.locked) {
        (Action::Read(cell, _), false) => Operation::Load(Address(cell.0)),
        (Action::Write(cell, _), false) => Operation::Store(Address(cell.0)),
        (Action::Read(cell, _), true) => Operation::LockedLoad(Address(cell.0)),
        (Action::Write(cell, _), true) => Operation::LockedStore(Address(cell.0)),
        (Action::Fence(_), _) => return None,
    })
}

/// Why the model keeps the order of two accesses of a thread, if it does.
pub(super) fn kept_because(
    model: &MemoryModel,
    execution: &Execution,
    earlier: usize,
    later: usize,
) -> Option<KeptBecause> {
    let first = operation(&execution.events[earlier])?;
    let second = operation(&execution.events[later])?;
    if model.keeps(first, second, false) {
        return Some(KeptBecause::Always);
    }
    let has_between = |fence| {
        let between = &execution.events[earlier + 1..later];
        between
            .iter()
            .any(|event| event.action == Action::Fence(fence))
    };
    if has_between(Fence::Full)
        && model.keeps(first, Operation::Fence, false)
        && model.keeps(Operation::Fence, second, false)
    {
        return Some(KeptBecause::FullFence);
    }
    if has_between(Fence::Store) && model.keeps(first, second, true) {
        return Some(KeptBecause::StoreFence);
    }
    None
}

/// The paper's `mo_po_read_access`, `mo_po_write_write`, `mo_po_mfence` and `mo_po_access/lock`, as
/// far as the model has them.
pub(super) fn check_program_order(
    test: &Test,
    model: &MemoryModel,
    execution: &Execution,
    places: &Places,
) -> Result<(), Rejection> {
    for later in 0..execution.events.len() {
        for earlier in 0..later {
            if !is_before_in_program(execution, earlier, later) || !places.is_before(later, earlier)
            {
                continue;
            }
            if let Some(reason) = kept_because(model, execution, earlier, later) {
                return Err(Rejection::ProgramOrder {
                    earlier: EventLabel::of(test, execution, earlier),
                    later: EventLabel::of(test, execution, later),
                    reason,
                });
            }
        }
    }
    Ok(())
}

/// The paper's `mo_atomicity`: no access comes between those of a locked instruction.
pub(super) fn check_atomicity(
    test: &Test,
    execution: &Execution,
    places: &Places,
) -> Result<(), Rejection> {
    let label = |index| EventLabel::of(test, execution, index);
    let events = &execution.events;
    for last in 0..events.len() {
        for first in 0..last {
            if !events[first].locked || !are_of_one_instance(&events[first], &events[last]) {
                continue;
            }
            let intruder = (0..events.len()).find(|&other| {
                !are_of_one_instance(&events[other], &events[first])
                    && places.is_before(other, first) != places.is_before(other, last)
            });
            if let Some(intruder) = intruder {
                return Err(Rejection::SplitLocked {
                    first: label(first),
                    last: label(last),
                    intruder: label(intruder),
                });
            }
        }
    }
    Ok(())
}
