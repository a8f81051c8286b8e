//! Loops that change nothing, never come back to the same state, and never end: a check runs some of their rounds, and
//! says that it has left out the others.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use fencepost::hint::black_box;
use fencepost::sync::atomic::AtomicUsize;
use fencepost::{Checker, Limit, Outcome, thread};

/// The line of the loop below.
const LOOP: u32 = 16;

/// Waits until a flag is set, and counts its rounds. Returns how many there were, unless it gives up.
fn counts_until_set(flag: &AtomicUsize, most: u64) -> u64 {
    let mut rounds = 0;
    while flag.load(Acquire) == 0 {
        rounds += 1;
        assert!(rounds < most, "gave up");
    }
    black_box(rounds)
}

/// One thread sets a flag, if it `sets` it, and another waits for it.
fn waiting(sets: bool, most: u64) -> impl Fn() + Clone + Send + Sync {
    move || {
        let (flag, x) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                x.store(1, Relaxed);
                flag.store(usize::from(sets), Release);
            });
            scope.spawn(|| counts_until_set(&flag, most));
        });
    }
}

/// The check is incomplete because of this loop only.
#[track_caller]
fn assert_bounded(outcome: &Outcome) {
    assert!(matches!(outcome, Outcome::Incomplete(_)), "{outcome}");
    let limits = outcome.details().limits();
    let loops = limits.iter().find_map(|limit| match limit {
        Limit::EndlessLoops(7, loops) => Some(loops),
        _ => None,
    });
    let loops = loops.unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(loops.len(), 1, "{outcome}");
    assert!(loops[0].file.ends_with("endless_loops.rs"), "{outcome}");
    assert_eq!(loops[0].line, LOOP, "{outcome}");
    let text = outcome.to_string();
    let sentence = "never comes back to the same state, goes round more than 7 times";
    assert!(text.contains(sentence), "{text}");
    assert!(outcome.json().contains("\"endless-loops\""), "{outcome}");
}

#[test]
fn a_loop_that_counts_its_rounds_leaves_a_check_incomplete() {
    let outcome = Checker::new().run(waiting(true, u64::MAX));
    assert_bounded(&outcome);
    assert_eq!(outcome.details().limits().len(), 1, "{outcome}");
    // The flag is set after one of the first seven rounds, or after all of them.
    assert!((7..=20).contains(&outcome.executions()), "{outcome}");
}

#[test]
fn every_search_is_bounded() {
    let checkers = [
        Checker::new().workers(3),
        Checker::new().store_buffers(true),
        Checker::new().preemption_bound(1),
        Checker::new().max_steps(400),
    ];
    for checker in checkers {
        assert_bounded(&checker.run(waiting(true, u64::MAX)));
    }
}

/// With nothing else to run, the loop goes on: then it ends, or it never does.
#[test]
fn a_loop_that_nobody_ends_goes_on() {
    let outcome = Checker::new().run(waiting(false, 45_000));
    let text = outcome.to_string();
    assert!(text.contains("gave up"), "{text}");
    let schedule = outcome.findings()[0].schedule();
    let again = Checker::new().replay(schedule, waiting(false, 45_000));
    assert!(again.to_string().contains("gave up"), "{again}");
    let outcome = Checker::new().run(waiting(false, u64::MAX));
    let text = outcome.to_string();
    assert!(text.contains("did not end within 100,000 steps"), "{text}");
}

/// Two threads that wait for each other, one of which can never go on.
#[test]
fn one_that_only_waits_is_in_no_livelock_while_another_may_end() {
    let outcome = Checker::new().run(|| {
        let (flag, never) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| while never.load(Acquire) == 0 {});
            scope.spawn(|| counts_until_set(&flag, 40_000));
        });
    });
    let text = outcome.to_string();
    assert!(text.contains("gave up"), "{text}");
}

#[test]
fn a_failure_behind_such_a_loop_is_found_and_replayed() {
    let program = || {
        let (flag, x) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                x.store(1, Relaxed);
                flag.store(1, Release);
                x.store(2, Relaxed);
            });
            scope.spawn(|| {
                let rounds = counts_until_set(&flag, u64::MAX);
                assert!(rounds < 5 || x.load(Relaxed) != 1, "in between");
            });
        });
    };
    let outcome = Checker::new().run(program);
    let text = outcome.to_string();
    assert!(text.contains("in between"), "{text}");
    let schedule = outcome.findings()[0].schedule();
    assert!(schedule.contains("endless="), "{schedule}");
    let again = Checker::new().replay(schedule, program);
    assert!(again.to_string().contains("in between"), "{again}");
}

#[test]
fn a_search_in_pieces_is_bounded_as_one_search() {
    let folder = std::env::temp_dir().join(format!("fencepost-endless-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let whole = Checker::new().name("whole").run(waiting(true, u64::MAX));
    let mut pieces = 0;
    let last = loop {
        let checker = Checker::new().name("pieces").progress(false);
        let piece = checker
            .checkpoint(folder.join("pieces"))
            .max_executions(2)
            .run(waiting(true, u64::MAX));
        pieces += 1;
        assert!(pieces < 100, "{piece}");
        let limits = piece.details().limits();
        if limits.len() == 1 {
            break piece;
        }
    };
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(pieces > 1);
    assert_bounded(&last);
    assert_eq!(last.executions(), whole.executions());
}
