//! Outcomes of a program on real threads.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::journal::{End, Journal, Outcome};
use crate::over_std;
use crate::program::Program;

/// After this time, a program that has an explored outcome in which it is blocked as it is now, is blocked.
const PATIENCE: Duration = Duration::from_millis(20);
/// After this time it is blocked even if the check has no such outcome.
const LAST_PATIENCE: Duration = Duration::from_secs(10);
/// Threads that are blocked stay for ever, so a program that blocks is not run more often.
const MOST_BLOCKED: u32 = 3;

/// Runs the program on real threads. Returns the first outcome that is not among the expected ones.
pub fn unexpected_outcome(
    program: &Arc<Program>,
    runs: u64,
    seed: u64,
    expected: &BTreeSet<Outcome>,
) -> Option<Outcome> {
    let mut blocked = 0;
    for number in 0..runs {
        let outcome = run(program, seed ^ (number << 32), expected);
        if !expected.contains(&outcome) {
            return Some(outcome);
        }
        blocked += u32::from(outcome.0 == End::Blocked);
        if blocked == MOST_BLOCKED {
            break;
        }
    }
    None
}

fn run(program: &Arc<Program>, seed: u64, expected: &BTreeSet<Outcome>) -> Outcome {
    let journal = Arc::new(Journal::default());
    let (its_program, its_journal) = (program.clone(), journal.clone());
    thread::spawn(move || over_std::run(&its_program, its_journal, Some(seed)));
    let begun = Instant::now();
    loop {
        // All threads have the journal until they end, and so have thread-local values until they are dropped.
        if Arc::strong_count(&journal) == 1 {
            return (End::Done, journal.results());
        }
        let waited = begun.elapsed();
        if waited > PATIENCE {
            let outcome = (End::Blocked, journal.results());
            if waited > LAST_PATIENCE || expected.contains(&outcome) {
                return outcome;
            }
        }
        match waited > Duration::from_millis(1) {
            true => thread::sleep(Duration::from_micros(100)),
            false => thread::yield_now(),
        }
    }
}
