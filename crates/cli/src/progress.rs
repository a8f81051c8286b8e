//! Progress on standard error: a bar on a terminal, a plain line now and then elsewhere.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use fencepost_protocol::search::{SearchCallbacks, SearchProgress as SearchState};
use fencepost_report::protocol::bytes;
use fencepost_report::text::grouped;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::interrupt;

/// How often a plain line is printed.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);
/// How often the bar is updated.
const BAR_INTERVAL: Duration = Duration::from_millis(100);

/// The progress of one pass over a trace.
pub struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
    started: Instant,
    next: Instant,
}

impl Progress {
    /// Progress over the file, whose size tells how far it is; not if `quiet`.
    pub fn over(file: &Path, quiet: bool) -> Self {
        let started = Instant::now();
        let size = std::fs::metadata(file)
            .ok()
            .filter(|metadata| metadata.is_file())
            .map(|metadata| metadata.len());
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = match size {
                Some(size) => ProgressBar::new(size)
                    .with_style(style("{bar:12} {percent:>3}% {msg}, {eta} left")),
                None => ProgressBar::new_spinner().with_style(style("{spinner} {msg}, {elapsed}")),
            };
            bar.set_message("0 events");
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            bar
        });
        let interval = if bar.is_some() {
            BAR_INTERVAL
        } else {
            PLAIN_INTERVAL
        };
        Progress {
            bar,
            quiet,
            started,
            next: started + interval,
        }
    }

    /// Called often; prints seldom.
    pub fn update(&mut self, bytes: u64, events: u64, violations: Option<u64>) {
        let now = Instant::now();
        if self.quiet || now < self.next {
            return;
        }
        let rate = events as f64 / (now - self.started).as_secs_f64() / 1e6;
        let found = violations.map_or(String::new(), |count| {
            format!("{} violations, ", grouped(count))
        });
        let message = format!("{} events, {found}{rate:.1} M/s", grouped(events));
        match &self.bar {
            Some(bar) => {
                bar.set_position(bytes);
                bar.set_message(message);
                self.next = now + BAR_INTERVAL;
            }
            None => {
                let _ = writeln!(std::io::stderr(), "{message}");
                self.next = now + PLAIN_INTERVAL;
            }
        }
    }

    /// Runs `print` without disturbing the bar.
    pub fn suspend<R>(&self, print: impl FnOnce() -> R) -> R {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The progress over many tests.
pub struct TestProgress {
    bar: Option<ProgressBar>,
    total: usize,
    quiet: bool,
    next: std::cell::Cell<Instant>,
}

impl TestProgress {
    /// Progress over so many tests; none if `quiet`, or for a single one.
    pub fn over(total: usize, quiet: bool) -> Self {
        let quiet = quiet || total < 2;
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(total as u64)
                .with_style(style("{bar:12} {percent:>3}% {msg}, {eta} left"));
            bar.set_message("0 tests");
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            bar
        });
        TestProgress {
            bar,
            total,
            quiet,
            next: std::cell::Cell::new(Instant::now() + PLAIN_INTERVAL),
        }
    }

    /// Called after each test.
    pub fn update(&self, done: usize, wrong: usize) {
        if self.quiet {
            return;
        }
        let wrong = match wrong {
            0 => String::new(),
            count => format!(", {} with errors", grouped(count as u64)),
        };
        let message = || {
            let (done, total) = (grouped(done as u64), grouped(self.total as u64));
            format!("{done} of {total} tests{wrong}")
        };
        match &self.bar {
            Some(bar) => {
                bar.set_position(done as u64);
                bar.set_message(message());
            }
            None if Instant::now() >= self.next.get() => {
                let _ = writeln!(std::io::stderr(), "{}", message());
                self.next.set(Instant::now() + PLAIN_INTERVAL);
            }
            None => {}
        }
    }

    /// Runs `print` without disturbing the bar.
    pub fn suspend<R>(&self, print: impl FnOnce() -> R) -> R {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

impl Drop for TestProgress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The progress of a search through the states of a model.
pub struct SearchProgress {
    bar: Option<ProgressBar>,
    quiet: bool,
    next: Mutex<Instant>,
}

impl SearchProgress {
    /// Progress of a search; none if `quiet`.
    pub fn new(quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new_spinner().with_style(style("{spinner} {msg}, {elapsed}"));
            bar.set_message("0 states");
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            bar
        });
        SearchProgress {
            bar,
            quiet,
            next: Mutex::new(Instant::now() + PLAIN_INTERVAL),
        }
    }
}

impl SearchCallbacks for SearchProgress {
    fn progress(&self, progress: &SearchState) {
        if self.quiet {
            return;
        }
        if let Some(bar) = &self.bar {
            bar.set_message(search_message(progress));
            bar.tick();
            return;
        }
        let now = Instant::now();
        // If another thread has it, that one prints.
        if let Ok(mut next) = self.next.try_lock()
            && now >= *next
        {
            let _ = writeln!(std::io::stderr(), "{}", search_message(progress));
            *next = now + PLAIN_INTERVAL;
        }
    }

    fn should_stop(&self) -> bool {
        interrupt::was_requested()
    }
}

impl Drop for SearchProgress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn search_message(progress: &SearchState) -> String {
    let seconds = progress.elapsed.as_secs_f64().max(0.001);
    let rate = grouped((progress.new_states as f64 / seconds) as u64);
    let states = grouped(progress.states);
    let queue = grouped(progress.queue);
    let (depth, memory) = (grouped(progress.depth), bytes(progress.memory));
    let left = progress.remaining.map_or(String::new(), |remaining| {
        format!(", about {} left", HumanDuration(remaining))
    });
    format!("{states} states, {rate}/s, {queue} in the queue, depth {depth}, {memory}{left}")
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates are fixed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_says_how_far_it_is() {
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
