//! A compare-exchange of two variables at once. Algorithms of the literature need it; no machine of
//! today has it, so it is no public API.

use std::panic::Location;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Mutex, PoisonError};

use fencepost_explore::{Effect, Intent};

use super::integers::AtomicUsize;
use fencepost_runtime::{Current, Outcomes};

/// Stores both `new` values if both variables hold what is `expected`, in one step. Whether they did.
///
/// The ordering is `Relaxed`, on success and on failure.
///
/// Outside of a check it takes a lock, so it is atomic for others like it, and not for anything else.
///
/// # Panics
/// If both are the same variable.
#[track_caller]
pub fn double_compare_exchange(
    variables: [&AtomicUsize; 2],
    expected: [usize; 2],
    new: [usize; 2],
) -> bool {
    let [one, other] = variables;
    assert!(!std::ptr::eq(one, other), "there is only one variable");
    let location = Location::caller();
    let executions = variables.map(|variable| variable.atomic.current(location));
    match executions {
        [Some(current), Some(_)] => in_check(current, variables, expected, new, location),
        _ => under_lock(variables, expected, new),
    }
}

fn under_lock(variables: [&AtomicUsize; 2], expected: [usize; 2], new: [usize; 2]) -> bool {
    static LOCK: Mutex<()> = Mutex::new(());
    let _guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let variables = variables.map(|variable| &variable.atomic.variable);
    let is_success = variables.map(|variable| variable.load(SeqCst)) == expected;
    if is_success {
        for (variable, new) in variables.into_iter().zip(new) {
            variable.store(new, SeqCst);
        }
    }
    is_success
}

/// The explorer is told that both variables are written, also if they keep their values: what is touched then
/// does not depend on the state, and is known beforehand (`Effect::Write`). Else it would have to be learnt
/// (`Effect::WriteMultiple`), and classes would be run more than once.
///
/// The monitor has no event on two addresses. It is told of two locked operations in a row, as far as the
/// values are those expected. What the second knows is not known to the first, so under PSO it may miss that the
/// first comes before a store to its variable, or before one that who reads it comes after.
fn in_check(
    current: Current,
    variables: [&AtomicUsize; 2],
    expected: [usize; 2],
    new: [usize; 2],
    location: &'static Location<'static>,
) -> bool {
    let objects = variables.map(|variable| variable.atomic.address());
    let drains = current.target().drained_by_exchange(&objects, Relaxed);
    current.drain(drains, location);
    for variable in variables {
        variable.atomic.bring_up_to_date(current);
    }
    let intent = Intent::Access {
        object: objects[0],
        effect: Effect::Write,
        awaits: None,
    };
    current.plain_operation(intent, Outcomes::One, location, |step| {
        let values = variables.map(|variable| &variable.atomic.variable);
        let before = variables.map(|variable| variable.atomic.in_memory(step));
        let is_success = before == expected;
        let after = if is_success { new } else { before };
        for (value, (object, after)) in values.into_iter().zip(objects.into_iter().zip(after)) {
            value.store(after, Relaxed);
            step.write(object, after as u64);
        }
        let (target, thread) = (step.target(), step.thread());
        for at in 0..2 {
            let object = objects[at];
            let events = match is_success {
                true => target.read_modify_write(object, Relaxed),
                false => target.failed_exchange(object, Relaxed),
            };
            step.emit(events, after[at] as u64);
            match step.races() {
                Some(races) if is_success => races.read_modify_write(thread, object, Relaxed),
                Some(races) => races.load(thread, object, Relaxed),
                None => {}
            }
            if before[at] != expected[at] {
                break;
            }
        }
        is_success
    })
}
