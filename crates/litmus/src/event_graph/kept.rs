//! Whether a model keeps the program order of two accesses, and thanks to what.

use fencepost_memory::{Address, MemoryModel, Operation};

use super::Strength;
use crate::code::Fence;
use crate::execution::{Action, Event};

fn operation(event: &Event) -> Option<Operation> {
    Some(match (event.action, event.locked) {
        (Action::Read(cell, _), false) => Operation::Load(Address(cell.0)),
        (Action::Write(cell, _), false) => Operation::Store(Address(cell.0)),
        (Action::Read(cell, _), true) => Operation::LockedLoad(Address(cell.0)),
        (Action::Write(cell, _), true) => Operation::LockedStore(Address(cell.0)),
        (Action::Fence(_), _) => return None,
    })
}

/// How a model treats the program order of two events of one thread, given by their positions.
/// Fences themselves are in order.
pub(crate) fn program_order(
    model: &MemoryModel,
    events: &[Event],
    earlier: usize,
    later: usize,
) -> Strength {
    let operations = (operation(&events[earlier]), operation(&events[later]));
    let (Some(first), Some(second)) = operations else {
        return Strength::Plain;
    };
    if model.keeps(first, second, false) {
        return Strength::Plain;
    }
    let has_between = |fence| {
        let mut between = events[earlier + 1..later].iter();
        between.any(|event| event.action == Action::Fence(fence))
    };
    let is_kept_by_full =
        model.keeps(first, Operation::Fence, false) && model.keeps(Operation::Fence, second, false);
    if is_kept_by_full && has_between(Fence::Full) {
        return Strength::ByFence(Fence::Full);
    }
    if model.keeps(first, second, true) && has_between(Fence::Store) {
        return Strength::ByFence(Fence::Store);
    }
    Strength::Relaxed
}

/// How a model treats a step of program order that may begin or end at a fence: as it treats the
/// accesses around the fences.
pub(super) fn around_fences(
    model: &MemoryModel,
    events: &[Event],
    earlier: usize,
    later: usize,
) -> Strength {
    let thread = events[earlier].thread;
    let is_access =
        |&index: &usize| events[index].thread == thread && events[index].action.cell().is_some();
    let before = (0..=earlier).rev().find(is_access);
    let after = (later..events.len()).find(is_access);
    match (before, after) {
        (Some(before), Some(after)) => program_order(model, events, before, after),
        _ => Strength::Plain,
    }
}
