//! Schedules of findings, replayed.

use std::panic::catch_unwind;

use fencepost::sync::Arc;
use fencepost::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use fencepost::sync::atomic::{AtomicBool, AtomicUsize};
use fencepost::{Checker, Outcome, Strategy, hint, thread};

use super::loops::looks_at_most_unseen;
use super::{checks_still_work, error, message_of, store_buffering, two};

#[test]
fn replay_runs_one_execution_and_refuses_what_does_not_fit() {
    let outcome = Checker::new().run(store_buffering());
    let schedule = outcome.findings()[0].schedule().to_owned();
    let again = Checker::new().replay(&schedule, store_buffering());
    assert!(matches!(again, Outcome::NotStoreBufferSafe(_)), "{again}");
    assert_eq!(again.executions(), 1);
    let panic = catch_unwind(|| fencepost::replay("1x5", store_buffering())).unwrap_err();
    let message = message_of(panic);
    assert!(message.contains("does not fit"), "{message}");
    let panic = catch_unwind(|| fencepost::replay("one, two", store_buffering())).unwrap_err();
    let message = message_of(panic);
    assert!(message.contains("schedule"), "{message}");
    checks_still_work();
}

/// Which thread would have taken the next step is a choice of the search, and not in the schedule.
#[test]
fn a_replay_up_to_the_step_limit_names_the_same_thread() {
    let counts = |flag: &AtomicBool| {
        let mut rounds = 0_u64;
        while !flag.load(Acquire) {
            rounds += 1;
        }
        hint::black_box(rounds);
    };
    let program = || {
        two(
            || [AtomicBool::new(false), AtomicBool::new(false)],
            move |flags| counts(&flags[0]),
            move |flags| counts(&flags[1]),
        )
    };
    let named = |outcome: &Outcome| {
        let text = error(outcome);
        let mut lines = text.lines();
        let line = lines.find(|line| line.contains("'s next operation"));
        line.expect("it names a thread").trim().to_owned()
    };
    for seed in 0..20 {
        let checker = Checker::new().max_steps(50).seed(seed);
        let outcome = { checker.clone() }
            .strategy(Strategy::Random)
            .executions(1)
            .run(program());
        let again = checker.replay(outcome.findings()[0].schedule(), program());
        assert_eq!(named(&again), named(&outcome), "seed {seed}");
    }
}

#[test]
fn a_schedule_with_many_rounds_of_loops_is_short() {
    let program = two(
        || [AtomicBool::new(false), AtomicBool::new(false)],
        |flags| {
            while !flags[0].load(Acquire) {
                hint::spin_loop();
            }
        },
        |flags| {
            while !flags[1].load(Acquire) {
                hint::spin_loop();
            }
        },
    );
    let outcome = Checker::new().run(program.clone());
    assert!(error(&outcome).contains("livelock"), "{outcome}");
    let schedule = outcome.findings()[0].schedule().to_owned();
    assert!(schedule.contains("]x") && schedule.len() < 40, "{schedule}");
    let again = Checker::new().replay(&schedule, program);
    assert!(error(&again).contains("livelock"), "{again}");
}

#[test]
fn a_schedule_of_loops_that_go_round_says_how_to_replay_it() {
    let gives_up = looks_at_most_unseen(3);
    let outcome = Checker::new().run(gives_up.clone());
    let text = error(&outcome);
    assert!(
        text.contains("gave up") && text.contains(".spin_bound(1000)."),
        "{text}"
    );
    let schedule = outcome.findings()[0].schedule().to_owned();
    let again = Checker::new()
        .spin_bound(1000)
        .replay(&schedule, gives_up.clone());
    assert!(error(&again).contains("gave up"), "{again}");
    let again = Checker::new().replay(&schedule, gives_up);
    let text = error(&again);
    assert!(text.contains("does not fit"), "{text}");
    assert!(text.contains("with `spin_bound`"), "{text}");
    assert!(text.contains("FENCEPOST_SPIN_BOUND"), "{text}");

    // There are no loops here.
    let misfit = Checker::new().replay("1x5", store_buffering());
    assert!(!error(&misfit).contains("SPIN_BOUND"), "{misfit}");
}

#[test]
fn what_does_not_come_again_is_not_to_be_replayed() {
    let program = || AtomicBool::new(false).store(true, Relaxed);
    let text = Checker::new().replay("5.5", program).to_string();
    assert!(
        text.contains("at step 1 there is no thread with number 5 ("),
        "{text}"
    );
    assert!(!text.contains("replay(\""), "{text}");
    let text = Checker::new().replay("0x9", program).to_string();
    assert!(text.contains("at step 2 main cannot continue;"), "{text}");
    assert!(!text.contains("replay("), "{text}");
}

fencepost::lazy_static! {
    static ref SOURCE: AtomicUsize = AtomicUsize::new(0);
    static ref COPY: usize = SOURCE.load(SeqCst);
}

/// A schedule that has steps of what turned out to be visible can be replayed.
#[test]
fn an_initialiser_that_reads_is_found_and_replayed() {
    let program = || {
        let thread = thread::spawn(|| SOURCE.store(1, SeqCst));
        assert_eq!(*COPY, 0);
        thread.join().unwrap();
    };
    let outcome = Checker::new().run(program);
    assert!(error(&outcome).contains("left == right"), "{outcome}");
    let schedule = outcome.findings()[0].schedule().to_string();
    let again = Checker::new().replay(&schedule, program);
    assert!(error(&again).contains("left == right"), "{again}");
    checks_still_work();
}

#[test]
fn a_reader_that_reads_again_is_found_and_replayed() {
    let program = || {
        let lock = Arc::new(fencepost::sync::RwLock::new(0));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || *other.write().unwrap() = 1);
        let guards = (lock.read(), lock.read());
        drop(guards);
        thread.join().unwrap();
    };
    let outcome = Checker::new().run(program);
    let text = error(&outcome);
    assert!(text.contains("writers that wait for lock"), "{text}");
    let schedule = outcome.findings()[0].schedule().to_string();
    error(&Checker::new().replay(&schedule, program));
    checks_still_work();
}
