//! Estimates the size of the search tree, and tells whether the estimate is stable.
//!
//! A search discovers branches as it goes, so early estimates are too small, by any factor. An
//! estimate is stable once it has not changed for half of the search, and the tree cannot branch
//! further above the explored part.

use std::collections::VecDeque;

/// The estimated total number of executions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// The number of executions; a lower bound if the estimate is not steady.
    pub executions: f64,
    /// Whether the estimate has not changed for half of the search.
    pub is_steady: bool,
}

/// An estimate that was recorded after this number of executions.
#[derive(Clone, Copy)]
struct Observation {
    executions: u64,
    /// The estimated total.
    total: f64,
    /// Whether the tree cannot branch further above the explored part.
    is_stable: bool,
}

/// Keeps the estimates since half of the executions.
#[derive(Default)]
pub(crate) struct SizeEstimator {
    /// The executions at the first observation: not 0 if the search was resumed.
    first: Option<u64>,
    /// The oldest is the last one up to half of the executions.
    observations: VecDeque<Observation>,
}

/// A new observation is due when the executions have grown by one part in this many.
const OBSERVATION_GROWTH_DIVISOR: u64 = 32;

/// The relative change up to which an estimate counts as steady.
const TOLERANCE: f64 = 0.1;

impl SizeEstimator {
    /// Whether another observation is due.
    pub(crate) fn is_due(&self, executions: u64) -> bool {
        let last = self.observations.back();
        last.is_none_or(|last| {
            executions >= last.executions + last.executions / OBSERVATION_GROWTH_DIVISOR
        })
    }

    /// Records an estimate.
    pub(crate) fn record(&mut self, executions: u64, total: f64, is_stable: bool) {
        let first = *self.first.get_or_insert(executions);
        let half = first + executions.saturating_sub(first) / 2;
        self.observations.push_back(Observation {
            executions,
            total,
            is_stable,
        });
        while self
            .observations
            .get(1)
            .is_some_and(|next| next.executions <= half)
        {
            self.observations.pop_front();
        }
    }

    /// The estimate after this number of executions.
    pub(crate) fn estimate(&self, executions: u64) -> Option<Estimate> {
        let now = self.observations.back()?;
        let is_like_now = |observation: &Observation| {
            (observation.total - now.total).abs() <= TOLERANCE * now.total
        };
        let is_steady = self.observations.len() > 1
            && self
                .observations
                .iter()
                .all(|observation| observation.is_stable && is_like_now(observation));
        let totals = self
            .observations
            .iter()
            .map(|observation| observation.total);
        let total = match is_steady {
            true => now.total,
            false => totals.fold(now.total, f64::min),
        };
        Some(Estimate {
            executions: total.max(executions as f64),
            is_steady,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_that_grows_is_a_lower_bound() {
        let mut estimator = SizeEstimator::default();
        for executions in (100..10_000).step_by(100) {
            estimator.record(executions, executions as f64 * 3.0, true);
            assert!(!estimator.is_due(executions + executions / 64));
            assert!(estimator.is_due(executions + executions / 16));
            let estimate = estimator.estimate(executions).unwrap();
            assert!(!estimate.is_steady && estimate.executions <= executions as f64 * 3.0);
        }
        // The estimate at half of the executions has been dropped.
        let estimate = estimator.estimate(9900).unwrap();
        assert!(estimate.executions >= 9900.0 * 1.5, "{estimate:?}");
    }

    #[test]
    fn an_estimate_that_stays_is_steady_from_twice_the_executions_on() {
        let mut estimator = SizeEstimator::default();
        let mut is_steady = Vec::new();
        for executions in 0..=40 {
            // An unstable observation counts for half of the search.
            estimator.record(executions * 1000, 1e5, executions >= 10);
            is_steady.push(estimator.estimate(executions * 1000).unwrap().is_steady);
        }
        let first = is_steady.iter().position(|&is_steady| is_steady);
        assert_eq!(first, Some(20));
        assert!(is_steady[20..].iter().all(|&is_steady| is_steady));
    }
}
