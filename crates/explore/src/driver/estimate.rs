//! How many executions there will be in all, and whether that can be relied on.
//!
//! A search learns of branches as it goes, so what it knows is too little at first, by any factor. What it knows is an
//! estimator only once it has not changed for as long as half of the search, and nothing above what is explored may
//! still branch.

use std::collections::VecDeque;

/// How many executions there are in all, as far as is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// So many; if it is not steady, as far as is known, which may be far too few.
    pub executions: f64,
    /// Whether more need not be expected to become known.
    pub is_steady: bool,
}

/// What was known when there had been so many executions.
#[derive(Clone, Copy)]
struct Look {
    executions: u64,
    /// The executions in all.
    all: f64,
    /// Nothing above what is explored may branch that is not known to.
    is_firm: bool,
}

/// What was known since there had been half as many executions.
#[derive(Default)]
pub(crate) struct SizeEstimator {
    /// How many there had been at the first look: not none, if it goes on from a checkpoint.
    first: Option<u64>,
    /// The first of them from when there had been half as many, or before.
    looks: VecDeque<Look>,
}

/// It is looked again when there have been more executions by this part.
const PART_PER_LOOK: u64 = 32;

/// By which part an estimate may change and be called steady.
const TOLERANCE: f64 = 0.1;

impl SizeEstimator {
    /// Whether to look again.
    pub(crate) fn is_due(&self, executions: u64) -> bool {
        let last = self.looks.back();
        last.is_none_or(|last| executions >= last.executions + last.executions / PART_PER_LOOK)
    }

    pub(crate) fn look(&mut self, executions: u64, all: f64, is_firm: bool) {
        let first = *self.first.get_or_insert(executions);
        let half = first + executions.saturating_sub(first) / 2;
        self.looks.push_back(Look {
            executions,
            all,
            is_firm,
        });
        while self
            .looks
            .get(1)
            .is_some_and(|next| next.executions <= half)
        {
            self.looks.pop_front();
        }
    }

    /// What is known when there have been so many executions.
    pub(crate) fn estimate(&self, executions: u64) -> Option<Estimate> {
        let now = self.looks.back()?;
        let is_like_now = |look: &Look| (look.all - now.all).abs() <= TOLERANCE * now.all;
        let is_steady = self.looks.len() > 1
            && self
                .looks
                .iter()
                .all(|look| look.is_firm && is_like_now(look));
        let all = self.looks.iter().map(|look| look.all);
        let all = match is_steady {
            true => now.all,
            false => all.fold(now.all, f64::min),
        };
        Some(Estimate {
            executions: all.max(executions as f64),
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
            estimator.look(executions, executions as f64 * 3.0, true);
            assert!(!estimator.is_due(executions + executions / 64));
            assert!(estimator.is_due(executions + executions / 16));
            let estimate = estimator.estimate(executions).unwrap();
            assert!(!estimate.is_steady && estimate.executions <= executions as f64 * 3.0);
        }
        // The estimate of when there had been half as many is forgotten.
        let estimate = estimator.estimate(9900).unwrap();
        assert!(estimate.executions >= 9900.0 * 1.5, "{estimate:?}");
    }

    #[test]
    fn an_estimate_that_stays_is_steady_from_twice_the_executions_on() {
        let mut estimator = SizeEstimator::default();
        let mut is_steady = Vec::new();
        for executions in 0..=40 {
            // What is not firm counts against it for as long.
            estimator.look(executions * 1000, 1e5, executions >= 10);
            is_steady.push(estimator.estimate(executions * 1000).unwrap().is_steady);
        }
        let first = is_steady.iter().position(|&is_steady| is_steady);
        assert_eq!(first, Some(20));
        assert!(is_steady[20..].iter().all(|&is_steady| is_steady));
    }
}
