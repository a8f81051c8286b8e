//! Who runs on the processor next, and for how long.
//!
//! Each test runs once, for its share of half of the time. The rest is for those whose allowed states
//! were not all seen, least time first; if there are none, for all.

use std::time::Duration;

/// The shortest and the longest run.
const SHORTEST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(250);

/// What the schedule knows of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunStatus {
    /// For how long it has run.
    pub time: Duration,
    /// Whether it has run.
    pub has_run: bool,
    /// Whether it can be run (again).
    pub is_runnable: bool,
    /// Whether allowed states were not seen.
    pub is_interesting: bool,
}

/// The test to run next, and for how long. None if the time is over; each test runs at least once.
pub fn next(tests: &[RunStatus], total: Duration, spent: Duration) -> Option<(usize, Duration)> {
    let runnable = || {
        tests
            .iter()
            .enumerate()
            .filter(|(_, test)| test.is_runnable)
    };
    let mut new = runnable().filter(|(_, test)| !test.has_run);
    if let Some((first, _)) = new.next() {
        // To start a test takes time too, more beside other load: what is left is shared anew.
        let rest = 1 + new.count() as u32;
        let share = match runnable().count() {
            1 => total,
            _ => (total / 2).saturating_sub(spent) / rest,
        };
        return Some((first, share.clamp(SHORTEST, LONGEST)));
    }
    let left = total
        .checked_sub(spent)
        .filter(|left| *left >= SHORTEST / 2)?;
    let least = |is_wanted: &dyn Fn(&RunStatus) -> bool| {
        let wanted = runnable().filter(|(_, test)| is_wanted(test));
        wanted
            .min_by_key(|(_, test)| test.time)
            .map(|(index, _)| index)
    };
    let chosen = least(&|test| test.is_interesting).or_else(|| least(&|_| true))?;
    Some((chosen, left.clamp(SHORTEST, LONGEST)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(interesting: &[bool], runnable: &[bool], total: u64) -> Vec<u64> {
        let total = Duration::from_millis(total);
        let mut tests: Vec<RunStatus> = interesting
            .iter()
            .zip(runnable)
            .map(|(&is_interesting, &is_runnable)| RunStatus {
                time: Duration::ZERO,
                has_run: false,
                is_runnable,
                is_interesting,
            })
            .collect();
        let mut spent = Duration::ZERO;
        while let Some((index, time)) = next(&tests, total, spent) {
            tests[index].time += time;
            tests[index].has_run = true;
            spent += time;
        }
        tests
            .iter()
            .map(|test| test.time.as_millis() as u64)
            .collect()
    }

    #[test]
    fn a_single_test_gets_all_the_time() {
        assert_eq!(run(&[true], &[true], 1000), [1000]);
        assert_eq!(run(&[false], &[true], 1000), [1000]);
    }

    #[test]
    fn what_starting_takes_is_taken_from_the_others() {
        let mut tests = [RunStatus {
            time: Duration::ZERO,
            has_run: false,
            is_runnable: true,
            is_interesting: true,
        }; 100];
        let (total, mut spent) = (Duration::from_secs(4), Duration::ZERO);
        while let Some((index, time)) = next(&tests, total, spent) {
            tests[index].time += time;
            tests[index].has_run = true;
            spent += time + Duration::from_millis(10);
        }
        assert!(spent < total + Duration::from_millis(20), "{spent:?}");
        assert!(tests.iter().all(|test| test.time >= SHORTEST));
    }

    #[test]
    fn tests_with_unseen_states_get_more() {
        assert_eq!(
            run(&[false, true, false, true], &[true; 4], 800),
            [100, 350, 100, 250]
        );
        assert_eq!(run(&[false, false], &[true; 2], 2000), [1000, 1000]);
    }

    #[test]
    fn every_test_runs_and_none_that_cannot() {
        let times = run(&[true; 1000], &[true; 1000], 10);
        assert!(times.iter().all(|time| *time == 5), "{times:?}");
        assert_eq!(run(&[true, true], &[false, true], 100), [0, 100]);
        assert_eq!(run(&[true], &[false], 100), [0]);
    }
}
