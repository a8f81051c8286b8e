//! A compare-exchange of two variables at once. Algorithms of the literature need it. Today's
//! machines do not have it, so it is not public.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Mutex, PoisonError};

use fencepost_explore::{Effect, Intent};

use super::integers::AtomicUsize;
use fencepost_runtime::{Current, LocationRef, Outcomes};

/// Stores both `new` values if both variables have the `expected` values, in one step. Returns
/// whether they had.
///
/// The ordering is `Relaxed`, on success and on failure.
///
/// Outside of a check it takes a lock, so it is atomic only with respect to other calls of this
/// function.
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
    let location = LocationRef::caller();
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

/// The step writes both variables, even if they keep their values. What it touches then does not
/// depend on the state, and is known in advance (`Effect::Write`). Otherwise the explorer would
/// have to learn it (`Effect::WriteMultiple`), and would run equivalence classes more than once.
///
/// The monitor has no event on two addresses. It gets two locked operations in a row, the second
/// only if the first variable has the expected value. The first does not know what the second
/// knows, so under PSO the monitor may miss an order of the first before another store.
fn in_check(
    current: Current,
    variables: [&AtomicUsize; 2],
    expected: [usize; 2],
    new: [usize; 2],
    location: LocationRef,
) -> bool {
    let objects = variables.map(|variable| variable.atomic.address());
    let drains = current.target().drained_by_exchange(&objects, Relaxed);
    current.drain(drains, location);
    for variable in variables {
        variable.atomic.operand().bring_up_to_date(current);
    }
    let intent = Intent::Access {
        object: objects[0],
        effect: Effect::Write,
        awaits: None,
    };
    current.plain_operation(intent, Outcomes::One, location, |step| {
        let values = variables.map(|variable| &variable.atomic.variable);
        let before = variables.map(|variable| variable.atomic.operand().in_memory(step));
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
