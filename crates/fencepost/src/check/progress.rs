//! Telling people that a check is going on.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use fencepost_explore::Progress;
use fencepost_report::text::grouped;

/// Between two updates of the line on a terminal.
const ON_TERMINAL: Duration = Duration::from_millis(200);
/// Between two lines elsewhere.
const ELSEWHERE: Duration = Duration::from_secs(10);

/// Shows progress on standard error: a line that changes on a terminal, a line now and then elsewhere.
pub(super) struct ProgressLine {
    is_on: bool,
    is_terminal: bool,
    next: Instant,
    is_shown: bool,
}

impl ProgressLine {
    pub(super) fn new(wanted: Option<bool>) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        // A first update soon would make checks that end at once flicker.
        let delay = if is_terminal {
            2 * ON_TERMINAL
        } else {
            ELSEWHERE
        };
        ProgressLine {
            is_on: wanted.unwrap_or(true),
            is_terminal,
            next: Instant::now() + delay,
            is_shown: false,
        }
    }

    pub(super) fn update(&mut self, progress: &Progress) {
        if !self.is_on || Instant::now() < self.next {
            return;
        }
        let line = line(progress);
        let mut stderr = std::io::stderr().lock();
        // Progress that cannot be shown is no reason to stop.
        let _ = if self.is_terminal {
            write!(stderr, "\r\x1b[K{line}").and_then(|()| stderr.flush())
        } else {
            writeln!(stderr, "{line}")
        };
        self.is_shown = self.is_terminal;
        let pause = if self.is_terminal {
            ON_TERMINAL
        } else {
            ELSEWHERE
        };
        self.next = Instant::now() + pause;
    }

    /// Takes the line away.
    pub(super) fn end(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let mut stderr = std::io::stderr().lock();
            let _ = write!(stderr, "\r\x1b[K").and_then(|()| stderr.flush());
        }
    }
}

fn line(progress: &Progress) -> String {
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
        line.push_str(&match estimate.is_steady {
            true => format!(
                ", about {} left ({})",
                rounded(left),
                time(left / rate.max(1e-9))
            ),
            // What the search will learn of yet may take any time.
            false => format!(
                ", about {} left as far as is known, perhaps many more",
                rounded(left)
            ),
        });
    }
    line
}

/// To two digits: it is an estimate.
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
        _ => "longer than anyone can wait".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_explore::Estimate;

    #[test]
    fn a_line_says_how_far_it_is() {
        let progress = |is_steady| Progress {
            executions: 120_000,
            abandoned: 0,
            steps: 0,
            elapsed: Duration::from_secs(2),
            estimate: Some(Estimate {
                executions: 1_357_000.0,
                is_steady,
            }),
            bound: None,
        };
        assert_eq!(
            line(&progress(true)),
            "fencepost: 120,000 executions in 2.0 s (60,000 per second), about 1,200,000 left (21 s)"
        );
        assert_eq!(
            line(&progress(false)),
            "fencepost: 120,000 executions in 2.0 s (60,000 per second), about 1,200,000 left as far as is known, perhaps many more"
        );
        assert_eq!(rounded(7.0), "7");
        assert_eq!(rounded(1e40), "1e40");
        assert_eq!(time(7200.0), "2 h");
    }
}
