//! `fencepost monitor`.

use std::io::Write;
use std::path::Path;

use fencepost_monitor::{
    BssPso, BssTso, ExplainError, Finding, HappensBeforeOnly, Monitor, Recorded, RelaxedOrder,
    Sober, Tally, Violation, WatchLimits, Watcher,
};
use fencepost_report::style::{GOOD, Styled, VIOLATION};
use fencepost_report::text::{self, counted, grouped};
use fencepost_report::{Naming, json};
use fencepost_trace::TraceReader;

use super::{open, read_failure};
use crate::args::{MonitorArguments, MonitorChoice};
use crate::exit::{self, Failure};
use crate::names::TraceNames;
use crate::progress::Progress;

/// Monitors a trace.
pub fn run(arguments: &MonitorArguments, quiet: bool) -> Result<u8, Failure> {
    let choice = arguments
        .choice()
        .map_err(|message| Failure::BadInput(format!("error: {message}")))?;
    // A quarter of the memory for names, the rest for clocks and history.
    let reader = open(&arguments.file, arguments.memory_limit / 4)?;
    let limits = WatchLimits {
        witness_window: arguments.witness_window,
        memory: arguments.memory_limit / 4 * 3,
    };
    // One instance per monitor, so that nothing is dispatched per event.
    match choice {
        MonitorChoice::RelaxedTso => watch(RelaxedOrder::tso(), limits, reader, arguments, quiet),
        MonitorChoice::RelaxedPso(locked) => {
            watch(RelaxedOrder::pso(locked), limits, reader, arguments, quiet)
        }
        MonitorChoice::Sober => watch(Sober::default(), limits, reader, arguments, quiet),
        MonitorChoice::BssTso => watch(BssTso::default(), limits, reader, arguments, quiet),
        MonitorChoice::BssPso => watch(BssPso::default(), limits, reader, arguments, quiet),
        MonitorChoice::HappensBefore(model) => {
            // Without a monitor there is nothing to explain.
            let limits = WatchLimits {
                witness_window: 0,
                ..limits
            };
            watch(HappensBeforeOnly(model), limits, reader, arguments, quiet)
        }
    }
}

fn watch<M: Monitor>(
    monitor: M,
    limits: WatchLimits,
    reader: TraceReader,
    arguments: &MonitorArguments,
    quiet: bool,
) -> Result<u8, Failure> {
    let mut pass = Pass {
        watcher: Watcher::with_limits(monitor, limits),
        tally: Tally::default(),
        arguments,
        progress: Progress::over(&arguments.file, quiet),
        output: anstream::AutoStream::auto(std::io::stdout()),
    };
    let stopped_by = pass.read(reader)?;
    drop(pass.progress);
    let summary = Summary {
        watcher: &pass.watcher,
        tally: &pass.tally,
        arguments,
        stopped_by,
    };
    let mut output = pass.output;
    match arguments.json {
        true => writeln!(output, "{}", summary.json())?,
        false => write!(output, "{}", summary.text())?,
    }
    output.flush()?;
    Ok(match (pass.tally.total(), &summary.stopped_by) {
        (0, None) => exit::NO_VIOLATION,
        (0, Some(_)) => exit::LIMIT,
        _ => exit::VIOLATION,
    })
}

/// One pass over a trace.
struct Pass<'a, M> {
    watcher: Watcher<M>,
    tally: Tally,
    arguments: &'a MonitorArguments,
    progress: Progress,
    output: anstream::AutoStream<std::io::Stdout>,
}

impl<M: Monitor> Pass<'_, M> {
    /// Reads and watches the whole trace; if a limit stops it, says which.
    fn read(&mut self, mut reader: TraceReader) -> Result<Option<String>, Failure> {
        let mut batch = Vec::new();
        let most = self.arguments.max_events.unwrap_or(u64::MAX);
        loop {
            match reader.next_batch(&mut batch) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) if error.is_limit() => return Ok(Some(error.to_string())),
                Err(error) => return Err(read_failure(&error, &self.arguments.file)),
            }
            let remaining = most - self.watcher.events();
            let allowed = batch
                .len()
                .min(usize::try_from(remaining).unwrap_or(usize::MAX));
            for &access in &batch[..allowed] {
                match self.watcher.observe(access) {
                    Ok(None) => {}
                    Ok(Some(violation)) => self.report(&violation, &TraceNames(reader.names()))?,
                    Err(error) => {
                        return Ok(Some(format!("{error} (raise it with --memory-limit)")));
                    }
                }
            }
            if allowed < batch.len() {
                return Ok(Some(format!(
                    "only the first {} were asked for (--max-events)",
                    counted(most, "event")
                )));
            }
            self.progress.update(
                reader.bytes_consumed(),
                self.watcher.events(),
                self.tally.total(),
            );
        }
    }

    /// Counts a violation, and prints it if it is one of the first distinct ones.
    #[cold]
    fn report(&mut self, violation: &Violation, names: &dyn Naming) -> Result<(), Failure> {
        let Recorded::New(number) = self.tally.record(violation) else {
            return Ok(());
        };
        if number >= self.arguments.max_findings {
            return Ok(());
        }
        let explained = self.watcher.explain(violation);
        if let Err(error @ ExplainError::Unsound { .. }) = &explained {
            return Err(Failure::Internal(error.to_string()));
        }
        let text = self.finding(number + 1, violation, &explained, names);
        let output = &mut self.output;
        self.progress.suspend(|| {
            output.write_all(text.as_bytes())?;
            output.flush()
        })?;
        Ok(())
    }

    fn finding(
        &self,
        number: usize,
        violation: &Violation,
        explained: &Result<Finding, ExplainError>,
        names: &dyn Naming,
    ) -> String {
        if self.arguments.json {
            let object = json::ViolationObject::new(number, violation, explained, names);
            return json::line(&object) + "\n";
        }
        let finding = text::finding(number, violation, explained, names);
        format!("{finding}\n  replay: {}\n\n", replay(self.arguments))
    }
}

/// The command that shows the same findings again.
fn replay(arguments: &MonitorArguments) -> String {
    let Ok(choice) = arguments.choice() else {
        return String::new();
    };
    let options = match choice {
        MonitorChoice::RelaxedTso | MonitorChoice::HappensBefore(_) => " --model tso",
        MonitorChoice::RelaxedPso(fencepost_memory::LockedDrains::Everything) => " --model pso",
        MonitorChoice::RelaxedPso(fencepost_memory::LockedDrains::OwnAddress) => {
            " --model pso --pso-locked own-address"
        }
        MonitorChoice::Sober => " --monitor sober",
        MonitorChoice::BssTso => " --monitor bss-tso",
        MonitorChoice::BssPso => " --monitor bss-pso",
    };
    let file = shell_word(&arguments.file);
    format!("fencepost monitor {file}{options}")
}

fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+,:@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// What the pass came to.
struct Summary<'a, M> {
    watcher: &'a Watcher<M>,
    tally: &'a Tally,
    arguments: &'a MonitorArguments,
    stopped_by: Option<String>,
}

impl<M: Monitor> Summary<'_, M> {
    fn shown(&self) -> usize {
        self.tally.distinct().min(self.arguments.max_findings)
    }

    fn json(&self) -> String {
        let monitor = self.watcher.monitor();
        let counts = (0..self.shown()).map(|index| json::CountObject {
            number: index + 1,
            count: self.tally.count(index),
        });
        json::line(&json::MonitorSummary {
            schema: json::MONITOR_SCHEMA,
            kind: "summary",
            file: self.arguments.file.display().to_string(),
            model: monitor.model().name(),
            pso_locked: json::pso_locked(&monitor.model()),
            monitor: monitor.name(),
            events: self.watcher.events(),
            threads: self.watcher.happens_before().thread_count(),
            addresses: self.watcher.happens_before().address_count(),
            violation_found: self.tally.total() > 0,
            violations: self.tally.total(),
            distinct: self.tally.distinct(),
            distinct_is_lower_bound: self.tally.overflowed(),
            counts: counts.collect(),
            complete: self.stopped_by.is_none(),
            stopped_by: self.stopped_by.clone(),
        })
    }

    fn text(&self) -> String {
        let monitor = self.watcher.monitor();
        let before = self.watcher.happens_before();
        let mut text = format!(
            "{}, {}, {}; monitor {} for {}\n",
            counted(self.watcher.events(), "event"),
            counted(before.thread_count() as u64, "thread"),
            counted(before.address_count() as u64, "address"),
            monitor.name(),
            text::model_title(&monitor.model()),
        );
        if let Some(limit) = &self.stopped_by {
            text.push_str(&format!("stopped by a limit: {limit}\n"));
        }
        if self
            .arguments
            .choice()
            .is_ok_and(|c| matches!(c, MonitorChoice::HappensBefore(_)))
        {
            text.push_str("nothing was monitored: only the happens-before clock ran\n");
        } else if self.tally.total() == 0 {
            text.push_str(&format!(
                "{}. Another interleaving of the program may have one: a single interleaving \
                 cannot show that a program is safe.\n",
                Styled(GOOD, "no violation in this interleaving")
            ));
        } else {
            text.push_str(&self.counts());
        }
        text
    }

    fn counts(&self) -> String {
        let at_least = if self.tally.overflowed() {
            "at least "
        } else {
            ""
        };
        let mut text = format!(
            "{}: {}, {at_least}{} distinct\n",
            Styled(VIOLATION, "the program is not store-buffer safe"),
            counted(self.tally.total(), "violation"),
            grouped(self.tally.distinct() as u64),
        );
        for index in 0..self.shown() {
            let count = counted(self.tally.count(index), "time");
            text.push_str(&format!("  violation {}: {count}\n", index + 1));
        }
        let more = self.tally.distinct() - self.shown();
        if more > 0 {
            text.push_str(&format!(
                "  {} more distinct; show more with --max-findings\n",
                grouped(more as u64)
            ));
        }
        text
    }
}
