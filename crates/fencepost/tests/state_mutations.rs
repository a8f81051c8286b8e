//! An error in the comparison of states is noticed: each one makes a check of one of these programs wrong.
//!
//! The programs are loops that differ in where they keep what makes two rounds differ: in a register, in an operand, in
//! a stack frame. A round that is taken for the same as an earlier one hides what comes after it.

use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use fencepost::sync::atomic::AtomicU32;
use fencepost::sync::{Arc, Condvar, Mutex};
use fencepost::thread;
use fencepost_explore::{Failure, Fault, MonitoredModel, Settings};
use fencepost_runtime::{ComparedStates, ProgramError, Setup, StateMutation};

use crate::explorer::explore_with;

/// What the threads share. Another thread sets `x` to 1.
#[derive(Default)]
struct Shared {
    x: AtomicU32,
    mutex: Mutex<()>,
    condvar: Condvar,
}

struct Program {
    name: &'static str,
    waits: fn(&Shared),
    /// Whether an execution panics. If not, none is wrong.
    panics: bool,
}

/// Counts spurious wakeups in one of several variables. The compiler decides which of them are in registers.
fn counts_in_variable<const N: usize>(shared: &Shared) {
    let [mut a, mut b, mut c, mut d, mut e] = black_box([0_u64; 5]);
    while shared.x.load(Relaxed) == 0 {
        // It is compared in the frame of this function. A load has a frame of its own, with all registers.
        thread::park();
        let counter = match N {
            0 => &mut a,
            1 => &mut b,
            2 => &mut c,
            3 => &mut d,
            _ => &mut e,
        };
        *counter += 1;
        assert!(*counter < 4, "gave up");
    }
    black_box((a, b, c, d, e));
}

fn counts_on_the_stack(shared: &Shared) {
    let tried = Cell::new(0_u32);
    while shared.x.load(Relaxed) == 0 {
        // It is somewhere in memory.
        black_box(&tried).set(tried.get() + 1);
        assert!(tried.get() < 4, "gave up");
    }
}

fn counts_in_an_outer_frame(shared: &Shared) {
    #[inline(never)]
    fn is_set(shared: &Shared, room: &[Cell<u64>; 64]) -> bool {
        black_box(room);
        shared.x.load(Relaxed) == 1
    }
    let room: [Cell<u64>; 64] = std::array::from_fn(|_| Cell::new(0));
    while !is_set(shared, &room) {
        let last = &black_box(&room)[63];
        last.set(last.get() + 1);
        assert!(last.get() < 4, "gave up");
    }
}

/// Only the operand says which value is expected.
fn expects_what_it_has_found(shared: &Shared) {
    let mut expected = 7;
    while let Err(found) = shared.x.compare_exchange(expected, 8, SeqCst, Relaxed) {
        expected = found;
    }
    // In the second round, before the other thread has stored anything.
    assert!(expected != 0, "gave up");
}

fn draws_random_numbers(shared: &Shared) {
    let random = Cell::new(12345_u64);
    for tried in 0..500 {
        if shared.x.load(Relaxed) == 1 {
            return;
        }
        let next = random.get().wrapping_mul(6_364_136_223_846_793_005) + 1;
        black_box(&random).set(next ^ tried);
    }
    panic!("gave up");
}

fn counts_spurious_wakeups(shared: &Shared) {
    let mut guard = shared.mutex.lock().unwrap();
    for returned in 0.. {
        if shared.x.load(SeqCst) == 1 {
            break;
        }
        assert!(returned < 3, "gave up");
        guard = shared.condvar.wait(guard).unwrap();
    }
}

fn only_waits(shared: &Shared) {
    while shared.x.load(Relaxed) == 0 {}
}

fn toggles(shared: &Shared) {
    let is_odd = Cell::new(false);
    while shared.x.load(Relaxed) == 0 {
        black_box(&is_odd).set(!is_odd.get());
    }
}

fn programs() -> Vec<Program> {
    let program = |name, waits, panics| Program {
        name,
        waits,
        panics,
    };
    vec![
        program("counts in a", counts_in_variable::<0>, true),
        program("counts in b", counts_in_variable::<1>, true),
        program("counts in c", counts_in_variable::<2>, true),
        program("counts in d", counts_in_variable::<3>, true),
        program("counts in e", counts_in_variable::<4>, true),
        program("counts on the stack", counts_on_the_stack, true),
        program("counts in an outer frame", counts_in_an_outer_frame, true),
        program("expects what it has found", expects_what_it_has_found, true),
        program("draws random numbers", draws_random_numbers, true),
        program("counts spurious wakeups", counts_spurious_wakeups, true),
        program("only waits", only_waits, false),
        program("toggles", toggles, false),
    ]
}

/// The failures of a program in all its executions.
fn failures(waits: fn(&Shared), state_mutation: Option<StateMutation>) -> Vec<String> {
    let setup = Setup {
        compared_states: ComparedStates::Always,
        state_mutation,
        ..Setup::default()
    };
    let settings = Settings {
        monitored_model: MonitoredModel::None,
        continue_after_failure: true,
        ..Settings::default()
    };
    let explored = explore_with(setup, &settings, move || {
        let waiting = thread::current();
        let shared = Arc::new(Shared::default());
        let other = {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.x.store(1, SeqCst);
                waiting.unpark();
                let _guard = shared.mutex.lock().unwrap();
                shared.condvar.notify_one();
            })
        };
        waits(&shared);
        other.join().unwrap();
    });
    let found = explored.report.findings.iter();
    found
        .map(|found| match &found.failure {
            Failure::Fault(Fault::Program(ProgramError::Panic { message, .. })) => message.clone(),
            other => format!("{other:?}"),
        })
        .collect()
}

/// The programs whose check is wrong.
fn wrong(mutation: Option<StateMutation>) -> Vec<&'static str> {
    let is_wrong = |program: &&Program| {
        let failures = failures(program.waits, mutation);
        let is_right = match program.panics {
            true => !failures.is_empty() && failures.iter().all(|failure| failure == "gave up"),
            false => failures.is_empty(),
        };
        !is_right
    };
    let wrong: Vec<_> = (programs().iter().filter(is_wrong))
        .map(|program| program.name)
        .collect();
    println!("{mutation:?}: {wrong:?}");
    wrong
}

#[test]
fn each_error_in_the_comparison_of_states_is_noticed() {
    assert_eq!(wrong(None), [""; 0]);
    let all = [
        StateMutation::IgnoreRegisters,
        StateMutation::IgnoreOperands,
        StateMutation::IgnoreLowestFrame,
        StateMutation::CompareHashes,
    ];
    for mutation in all {
        let wrong = wrong(Some(mutation));
        assert!(!wrong.is_empty(), "{mutation:?}");
        if mutation == StateMutation::IgnoreOperands {
            assert!(wrong.contains(&"expects what it has found"), "{wrong:?}");
        }
    }
}
