//! The double compare-and-swap of `fencepost.h`, which no processor has: for algorithms that are written with one.

use std::ffi::c_int;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Mutex, PoisonError};

use fencepost_explore::{Effect, Intent};
use fencepost_memory::Address;
use fencepost_runtime::{Current, LocationRef, Operand, Outcomes, Step, Variable};

use crate::atomics::Memory;
use crate::hooks::hook;
use crate::operations::begin;
use crate::world::outside;

/// What one of the two variables is expected to have, and gets.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Change {
    variable: *mut u64,
    expected: u64,
    new: u64,
}

hook! {
    fn fencepost_double_compare_exchange(changes: *const Change) -> c_int = exchange;
}

unsafe extern "C" fn exchange(changes: *const Change, returns_to: usize) -> c_int {
    // SAFETY: the program has passed two.
    let changes = unsafe { [*changes, *changes.add(1)] };
    let checked = || {
        let (current, location) = begin(returns_to);
        if changes[0].variable == changes[1].variable {
            let message = "a double compare-and-swap on one variable".to_owned();
            crate::failures::refuse(message, returns_to);
        }
        let variables = changes.map(|change| Memory::at(change.variable, current, returns_to));
        in_check(current, &variables, changes, location)
    };
    outside(checked, || under_lock(changes)).into()
}

fn under_lock(changes: [Change; 2]) -> bool {
    static LOCK: Mutex<()> = Mutex::new(());
    let _guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the program has passed the places of two atomic variables.
    let variables = changes.map(|change| unsafe { AtomicU64::from_ptr(change.variable) });
    let is_expected = |at: usize| variables[at].load(SeqCst) == changes[at].expected;
    let is_success = is_expected(0) && is_expected(1);
    if is_success {
        for (variable, change) in variables.into_iter().zip(changes) {
            variable.store(change.new, SeqCst);
        }
    }
    is_success
}

/// One step, which writes both variables, even if they keep their values: what it touches is known in advance then.
///
/// The monitor has no event on two addresses. It gets two locked operations in a row, the second only if the first variable
/// has the expected value. The first does not know what the second knows, so under PSO the monitor may miss an order of the
/// first before another store.
fn in_check(
    current: Current,
    variables: &[(Memory<u64>, Address); 2],
    changes: [Change; 2],
    location: LocationRef,
) -> bool {
    let objects = variables.map(|(_, object)| object);
    let operands = [0, 1].map(|at| Operand {
        variable: &variables[at].0,
        object: objects[at],
    });
    current.drain(
        current.target().drained_by_exchange(&objects, Relaxed),
        location,
    );
    for operand in operands {
        operand.bring_up_to_date(current);
    }
    let intent = Intent::Access {
        object: objects[0],
        effect: Effect::Write,
        awaits: None,
    };
    current.plain_operation(intent, Outcomes::One, location, |step| {
        let before = operands.map(|operand| operand.in_memory(step));
        let is_success = before == changes.map(|change| change.expected);
        let after = match is_success {
            true => changes.map(|change| change.new),
            false => before,
        };
        for at in [0, 1] {
            operands[at].variable.set(after[at]);
            let state = operands[at].variable.state(after[at]);
            step.write(objects[at], state);
        }
        for at in [0, 1] {
            emit(step, operands[at], after[at], is_success);
            if before[at] != changes[at].expected {
                break;
            }
        }
        is_success
    })
}

/// The event on one of the variables.
fn emit(step: &mut Step<'_>, operand: Operand<'_, Memory<u64>>, after: u64, is_success: bool) {
    let (target, thread, object) = (step.target(), step.thread(), operand.object);
    let events = match is_success {
        true => target.read_modify_write(object, Relaxed),
        false => target.failed_exchange(object, Relaxed),
    };
    step.emit(events, operand.variable.state(after));
    match step.races() {
        Some(races) if is_success => races.read_modify_write(thread, object, Relaxed),
        Some(races) => races.load(thread, object, Relaxed),
        None => {}
    }
}
