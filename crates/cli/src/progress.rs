//! Progress on standard error, for all commands: a bar on a terminal, a line now and then
//! elsewhere.
//!
//! [`Display`] decides when to print. The others say what: [`TraceProgress`] of a trace,
//! [`TestProgress`] of litmus tests, [`RunProgress`] of their runs on the processor, [`SearchProgress`] of a Murphi search, [`RowProgress`] of a
//! reproduction.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use fencepost_papers::reproduce::Console;
use fencepost_protocol::search::{SearchCallbacks, SearchProgress as SearchState};
use fencepost_report::protocol::bytes;
use fencepost_report::text::{counted, grouped};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::interrupt;

/// The time between plain lines.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);
/// The time between updates of the bar.
const BAR_INTERVAL: Duration = Duration::from_millis(100);

/// A bar on a terminal, and plain lines elsewhere. Prints nothing if it is quiet.
struct Display {
    bar: Option<ProgressBar>,
    quiet: bool,
    interval: Duration,
    next: Mutex<Instant>,
}

impl Display {
    /// A display of progress up to `length`; without a length, a spinner.
    fn new(length: Option<u64>, first_message: &'static str, quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = match length {
                Some(length) => ProgressBar::new(length)
                    .with_style(style("{bar:12} {percent:>3}% {msg}, {eta} left")),
                None => ProgressBar::new_spinner().with_style(style("{spinner} {msg}, {elapsed}")),
            };
            bar.set_message(first_message);
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            bar
        });
        let interval = match bar {
            Some(_) => BAR_INTERVAL,
            None => PLAIN_INTERVAL,
        };
        Display {
            bar,
            quiet,
            interval,
            next: Mutex::new(Instant::now() + interval),
        }
    }

    /// Shows a position and a message, if it is time to. May be called often, by any thread.
    fn update(&self, position: u64, message: impl FnOnce(Instant) -> String) {
        if self.quiet {
            return;
        }
        let now = Instant::now();
        // If another thread has the lock, that one prints.
        let Ok(mut next) = self.next.try_lock() else {
            return;
        };
        if now < *next {
            return;
        }
        *next = now + self.interval;
        match &self.bar {
            Some(bar) => {
                bar.set_position(position);
                bar.set_message(message(now));
            }
            None => {
                let _ = writeln!(std::io::stderr(), "{}", message(now));
            }
        }
    }

    /// Runs `print` while the bar is hidden.
    fn suspend<R>(&self, print: impl FnOnce() -> R) -> R {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The progress of one pass over a trace.
pub struct TraceProgress {
    display: Display,
    started: Instant,
}

impl TraceProgress {
    /// Progress of reading a file, relative to its size if that is known.
    pub fn of_file(file: &Path, quiet: bool) -> Self {
        let metadata = std::fs::metadata(file).ok();
        let size = metadata
            .filter(|metadata| metadata.is_file())
            .map(|metadata| metadata.len());
        Self::new(size, quiet)
    }

    /// Progress of a trace whose size is unknown.
    pub fn of_stream(quiet: bool) -> Self {
        Self::new(None, quiet)
    }

    fn new(size: Option<u64>, quiet: bool) -> Self {
        TraceProgress {
            display: Display::new(size, "0 events", quiet),
            started: Instant::now(),
        }
    }

    /// Reports the bytes and events so far. May be called often.
    pub fn update(&self, bytes: u64, events: u64, violations: Option<u64>) {
        self.display.update(bytes, |now| {
            let rate = events as f64 / (now - self.started).as_secs_f64() / 1e6;
            let found = violations.map_or(String::new(), |count| {
                format!("{} violations, ", grouped(count))
            });
            format!("{} events, {found}{rate:.1} M/s", grouped(events))
        });
    }

    /// Runs `print` while the bar is hidden.
    pub fn suspend<R>(&self, print: impl FnOnce() -> R) -> R {
        self.display.suspend(print)
    }
}

/// The progress over many tests.
pub struct TestProgress {
    display: Display,
    total: usize,
}

impl TestProgress {
    /// Progress over `total` tests; a single one has none.
    pub fn new(total: usize, quiet: bool) -> Self {
        let quiet = quiet || total < 2;
        TestProgress {
            display: Display::new(Some(total as u64), "0 tests", quiet),
            total,
        }
    }

    /// Reports the tests that are finished, and how many of them have errors.
    pub fn update(&self, finished: usize, failed: usize) {
        self.display.update(finished as u64, |_| {
            let errors = match failed {
                0 => String::new(),
                count => format!(", {} with errors", grouped(count as u64)),
            };
            let (finished, total) = (grouped(finished as u64), grouped(self.total as u64));
            format!("{finished} of {total} tests{errors}")
        });
    }

    /// Runs `print` while the bar is hidden.
    pub fn suspend<R>(&self, print: impl FnOnce() -> R) -> R {
        self.display.suspend(print)
    }
}

/// The progress of runs on the processor.
pub struct RunProgress {
    display: Display,
    tests: usize,
    total: Duration,
}

impl RunProgress {
    /// Progress of so many tests over this time.
    pub fn new(tests: usize, total: Duration, quiet: bool) -> Self {
        RunProgress {
            display: Display::new(Some(total.as_millis() as u64), "starting", quiet),
            tests,
            total,
        }
    }

    /// Reports the tests whose allowed states were all seen, and all executions.
    pub fn update(&self, satisfied: usize, executions: u64, elapsed: Duration) {
        let position = elapsed.min(self.total).as_millis() as u64;
        self.display.update(position, |_| {
            format!(
                "{} executions, all allowed states of {} of {} tests seen",
                grouped(executions),
                grouped(satisfied as u64),
                grouped(self.tests as u64)
            )
        });
    }
}

/// The progress of a search through the states of a model.
pub struct SearchProgress {
    display: Display,
}

impl SearchProgress {
    pub fn new(quiet: bool) -> Self {
        SearchProgress {
            display: Display::new(None, "0 states", quiet),
        }
    }
}

impl SearchCallbacks for SearchProgress {
    fn progress(&self, progress: &SearchState) {
        self.display
            .update(progress.states, |_| search_message(progress));
    }

    fn should_stop(&self) -> bool {
        interrupt::was_requested()
    }
}

/// The progress of a reproduction: the name of each row, as its measurement starts.
pub struct RowProgress {
    pub quiet: bool,
}

impl Console for RowProgress {
    fn announce(&self, measurement: &str) {
        if !self.quiet {
            let _ = writeln!(anstream::stderr(), "{measurement} …");
        }
    }

    fn warn(&self, message: &str) {
        let _ = writeln!(anstream::stderr(), "warning: {message}");
    }
}

fn search_message(progress: &SearchState) -> String {
    let seconds = progress.elapsed.as_secs_f64().max(0.001);
    let rate = grouped((progress.new_states as f64 / seconds) as u64);
    let states = counted(progress.states, "state");
    let queue = grouped(progress.queue);
    let (depth, memory) = (grouped(progress.depth), bytes(progress.memory));
    let left = progress.remaining.map_or(String::new(), |remaining| {
        format!(", about {} left", HumanDuration(remaining))
    });
    format!("{states}, {rate}/s, {queue} in the queue, depth {depth}, {memory}{left}")
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates are fixed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_reports_its_progress() {
        let progress = SearchState {
            states: 1_600_000,
            new_states: 1_500_000,
            rules_fired: 4_000_000,
            queue: 20_000,
            depth: 17,
            memory: 64_000_000,
            elapsed: Duration::from_secs(3),
            remaining: None,
        };
        assert_eq!(
            search_message(&progress),
            "1,600,000 states, 500,000/s, 20,000 in the queue, depth 17, 64 MB"
        );
        let near = SearchState {
            remaining: Some(Duration::from_secs(130)),
            ..progress
        };
        let message = search_message(&near);
        assert!(
            message.ends_with(", 64 MB, about 2 minutes left"),
            "{message}"
        );
    }
}
