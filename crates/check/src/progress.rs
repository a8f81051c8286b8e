//! The progress line of a running check.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use fencepost_explore::Progress;
use fencepost_report::check::progress::{SearchProgress, SizeEstimate, progress_line};

/// Time between two updates of the line on a terminal.
const ON_TERMINAL: Duration = Duration::from_millis(200);
/// Time between two lines elsewhere.
const ELSEWHERE: Duration = Duration::from_secs(10);

/// Shows progress on standard error: one line that is updated on a terminal, a line every few seconds elsewhere.
pub(super) struct ProgressLine {
    is_on: bool,
    is_terminal: bool,
    next: Instant,
    is_shown: bool,
}

impl ProgressLine {
    pub(super) fn new(wanted: Option<bool>) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        // Short checks would flicker with an early first update.
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
        let line = progress_line(&search_progress(progress));
        let mut stderr = std::io::stderr().lock();
        // A check goes on if its progress cannot be written.
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

    /// Erases the line.
    pub(super) fn end(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let mut stderr = std::io::stderr().lock();
            let _ = write!(stderr, "\r\x1b[K").and_then(|()| stderr.flush());
        }
    }
}

fn search_progress(progress: &Progress) -> SearchProgress {
    SearchProgress {
        executions: progress.executions,
        elapsed: progress.elapsed,
        estimate: progress.estimate.map(|estimate| SizeEstimate {
            executions: estimate.executions,
            is_stable: estimate.is_steady,
        }),
        bound: progress.bound,
    }
}
