//! Several workers come to what one comes to, also where operations have several outcomes.

use std::sync::Arc;

use fencepost::sync::{Condvar, Mutex};
use fencepost::{Checker, Outcome, Target, thread};

type Turnstile = Arc<(Mutex<u32>, Condvar)>;

fn place() -> Turnstile {
    Arc::new((Mutex::new(0), Condvar::new()))
}

/// Two threads wait once, and one of them is notified. They may go on for no reason too.
fn two_waiters() {
    let place = place();
    let waiting = |place: &Turnstile| {
        let place = Arc::clone(place);
        thread::spawn(move || {
            let guard = place.0.lock().unwrap();
            drop(place.1.wait(guard).unwrap());
        })
    };
    let (one, two) = (waiting(&place), waiting(&place));
    place.1.notify_one();
    one.join().unwrap();
    two.join().unwrap();
}

/// Two threads take what a third one puts there, one piece each.
fn two_takers() {
    let place = place();
    let taking = |place: &Turnstile| {
        let place = Arc::clone(place);
        thread::spawn(move || {
            let mut left = place.0.lock().unwrap();
            while *left == 0 {
                left = place.1.wait(left).unwrap();
            }
            *left -= 1;
        })
    };
    let takers = (taking(&place), taking(&place));
    for _ in 0..2 {
        *place.0.lock().unwrap() += 1;
        place.1.notify_one();
    }
    takers.0.join().unwrap();
    takers.1.join().unwrap();
}

fn counts(outcome: &Outcome) -> (bool, u64) {
    (
        matches!(outcome, Outcome::Verified { .. }),
        outcome.executions(),
    )
}

#[test]
fn every_outcome_is_explored_by_any_number_of_workers() {
    for (program, executions) in [(two_waiters as fn(), Some(34)), (two_takers, None)] {
        for target in [Target::X86, Target::Pso] {
            let checker = Checker::new().target(target).continue_after_failure(true);
            let alone = counts(&checker.clone().run(program));
            assert!(
                executions.is_none_or(|number| number == alone.1),
                "{alone:?}"
            );
            for workers in [2, 2, 2, 3, 3, 4] {
                let checker = checker.clone().workers(workers);
                assert_eq!(counts(&checker.run(program)), alone, "{workers} workers");
            }
        }
    }
}
