//! The lines that a check prints while it runs.

use std::fmt;
use std::time::Duration;

use crate::text::grouped;

/// The progress of a search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SearchProgress {
    /// Executions explored so far.
    pub executions: u64,
    /// Time since the start.
    pub elapsed: Duration,
    /// Estimated number of all executions.
    pub estimate: Option<SizeEstimate>,
    /// The preemption bound that is being explored.
    pub bound: Option<u32>,
}

/// An estimate of the number of executions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SizeEstimate {
    /// The number of executions.
    pub executions: f64,
    /// Whether the estimate is stable. If it is not, it is a lower bound.
    pub is_stable: bool,
}

/// The progress in one line, without a line end.
pub fn progress_line(progress: &SearchProgress) -> String {
    let seconds = progress.elapsed.as_secs_f64();
    let rate = progress.executions as f64 / seconds.max(1e-9);
    let mut line = format!(
        "fencepost: {} executions in {seconds:.1} s ({} per second)",
        grouped(progress.executions),
        grouped(rate as u64),
    );
    if let Some(bound) = progress.bound {
        line.push_str(&format!(", with at most {bound} preemptions"));
    }
    if let Some(estimate) = progress.estimate {
        let left = (estimate.executions - progress.executions as f64).max(0.0);
        line.push_str(&match estimate.is_stable {
            true => format!(
                ", about {} left ({})",
                rounded(left),
                time(left / rate.max(1e-9))
            ),
            // The rest of the search tree is not known yet.
            false => format!(", at least about {} left", rounded(left)),
        });
    }
    line
}

/// A warning that a thread has performed no checked operation for a while, without a line end.
/// `since` is the location of its last one.
pub fn stall_warning(thread: &str, since: &dyn fmt::Display, stalled_for: Duration) -> String {
    format!(
        "fencepost: no step for {} s: {thread} has been running since {since} without reaching a \
         checked operation; is it in a loop without one, or does it wait for a lock of `std` that \
         another thread holds?",
        stalled_for.as_secs(),
    )
}

/// An estimate with two significant digits.
fn rounded(number: f64) -> String {
    if number < 1e15 {
        let number = number as u64;
        let unit = 10_u64.pow((number.max(1).ilog10()).saturating_sub(1));
        grouped(number / unit * unit)
    } else {
        format!("{number:.0e}")
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s if s < 200_000.0 => format!("{:.0} h", s / 3600.0),
        s if s < 1e9 => format!("{:.0} days", s / 86_400.0),
        _ => "more than 30 years".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unstable_estimates_are_lower_bounds() {
        let progress = |is_stable| SearchProgress {
            executions: 120_000,
            elapsed: Duration::from_secs(2),
            estimate: Some(SizeEstimate {
                executions: 1_357_000.0,
                is_stable,
            }),
            bound: None,
        };
        assert_eq!(
            progress_line(&progress(true)),
            "fencepost: 120,000 executions in 2.0 s (60,000 per second), about 1,200,000 left (21 s)"
        );
        assert_eq!(
            progress_line(&progress(false)),
            "fencepost: 120,000 executions in 2.0 s (60,000 per second), at least about 1,200,000 left"
        );
        assert_eq!(rounded(7.0), "7");
        assert_eq!(rounded(1e40), "1e40");
        assert_eq!(time(7200.0), "2 h");
        assert_eq!(time(1e40), "more than 30 years");
    }
}
