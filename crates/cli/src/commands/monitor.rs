//! `fencepost monitor`.

use std::io::Write;
use std::time::Instant;

use fencepost_memory::{Access, LockedDrains};
use fencepost_monitor::{
    BssPso, BssTso, ExplainError, Finding, HappensBeforeOnly, MemoryLimitExceeded, Monitor,
    MonitorLimits, MonitorRunner, RelaxedOrderMonitor, Sober, TallyResult, Violation,
    ViolationTally,
};
use fencepost_report::style::{SUCCESS, Styled, VIOLATION};
use fencepost_report::text::{self, counted, grouped};
use fencepost_report::{Naming, json};
use fencepost_trace::{Limit, LimitReached, ReadError, TraceReader};

use super::{open, read_failure, write_json_failure};
use crate::args::{DEFAULT_MAX_FINDINGS, MonitorArguments, MonitorChoice};
use crate::exit::{self, Failure};
use crate::files::{ResultStream, shell_word};
use crate::interrupt;
use crate::names::TraceNames;
use crate::progress::TraceProgress;

/// Monitors a trace. With `--json`, a failure is a JSON object too.
pub fn run(arguments: &MonitorArguments, quiet: bool) -> Result<u8, Failure> {
    let output = arguments.result.file.output.as_deref();
    let mut output = ResultStream::open(output, [&*arguments.file])?;
    let result = monitor(arguments, quiet, &mut output);
    if let (true, Err(failure)) = (arguments.result.json, &result) {
        write_json_failure(json::MONITOR_SCHEMA, failure, &mut output);
    }
    result
}

fn monitor(
    arguments: &MonitorArguments,
    quiet: bool,
    output: &mut ResultStream,
) -> Result<u8, Failure> {
    let choice = arguments
        .choice()
        .map_err(|message| Failure::BadInput(format!("error: {message}")))?;
    // A quarter of the memory for names, the rest for clocks and history.
    let reader = open(&arguments.file, arguments.limits.max_bytes() / 4)?;
    let limits = MonitorLimits {
        witness_window: arguments.witness_window,
        memory: arguments.limits.max_bytes() / 4 * 3,
    };
    let inputs = Inputs {
        limits,
        reader,
        arguments,
        quiet,
    };
    // One instance per monitor, so that nothing is dispatched per event.
    match choice {
        MonitorChoice::RelaxedTso => inputs.run(RelaxedOrderMonitor::tso(), output),
        MonitorChoice::RelaxedPso(locked) => inputs.run(RelaxedOrderMonitor::pso(locked), output),
        MonitorChoice::Sober => inputs.run(Sober::default(), output),
        MonitorChoice::BssTso => inputs.run(BssTso::default(), output),
        MonitorChoice::BssPso => inputs.run(BssPso::default(), output),
        MonitorChoice::HappensBefore(model) => {
            let limits = MonitorLimits {
                // Without a monitor there is nothing to explain.
                witness_window: 0,
                ..limits
            };
            Inputs { limits, ..inputs }.run(HappensBeforeOnly(model), output)
        }
    }
}

/// The approximate memory that a witness takes per event that it spans.
const WITNESS_BYTES: usize = 1024;

/// A trace and how to monitor it.
struct Inputs<'a> {
    limits: MonitorLimits,
    reader: TraceReader,
    arguments: &'a MonitorArguments,
    quiet: bool,
}

impl Inputs<'_> {
    /// Monitors the trace and writes the findings and the summary.
    fn run<M: Monitor>(self, monitor: M, output: &mut ResultStream) -> Result<u8, Failure> {
        let pass = Pass {
            runner: MonitorRunner::with_limits(monitor, self.limits),
            tally: ViolationTally::default(),
            arguments: self.arguments,
            progress: TraceProgress::of_file(&self.arguments.file, self.quiet),
            output,
        };
        pass.finish(self.reader)
    }
}

fn exit_code(tally: &ViolationTally, is_stopped: bool) -> u8 {
    match (tally.total(), is_stopped) {
        (0, false) => exit::NO_VIOLATION,
        (0, true) => exit::LIMIT,
        _ => exit::VIOLATION,
    }
}

/// A limit that stopped a pass: its name in JSON, and a message.
struct Stopped {
    limit: &'static str,
    message: String,
}

impl Stopped {
    fn new(limit: &'static str, message: String) -> Self {
        Stopped { limit, message }
    }

    fn by_interrupt() -> Self {
        Self::new("interrupt", "interrupted".into())
    }

    fn by_names(reached: &LimitReached) -> Self {
        let hint = match reached.limit {
            Limit::NameBytes { .. } => " (a quarter of --max-memory)",
            _ => "",
        };
        Self::new("names", format!("{reached}{hint}"))
    }

    fn by_events() -> Self {
        Self::new("max-events", "--max-events was reached".into())
    }

    fn by_time() -> Self {
        Self::new("max-time", "--max-time was reached".into())
    }

    fn by_memory(error: &MemoryLimitExceeded) -> Self {
        let share = "three quarters of --max-memory";
        Self::new("memory", format!("{error}; that is {share}"))
    }
}

/// One pass over a trace.
struct Pass<'a, M> {
    runner: MonitorRunner<M>,
    tally: ViolationTally,
    arguments: &'a MonitorArguments,
    progress: TraceProgress,
    output: &'a mut ResultStream,
}

impl<M: Monitor> Pass<'_, M> {
    /// Monitors the trace and writes the summary.
    fn finish(mut self, reader: TraceReader) -> Result<u8, Failure> {
        let result = self.read(reader);
        drop(self.progress);
        let stopped_by = match result {
            // The reader of the output has seen enough; the exit code tells what was found.
            Err(Failure::ClosedOutput(_)) => {
                return Err(Failure::ClosedOutput(exit_code(&self.tally, false)));
            }
            other => other?,
        };
        let summary = Summary {
            runner: &self.runner,
            tally: &self.tally,
            arguments: self.arguments,
            stopped_by,
        };
        let code = exit_code(&self.tally, summary.stopped_by.is_some());
        let text = match self.arguments.result.json {
            true => summary.json() + "\n",
            false => summary.text(),
        };
        let output = self.output;
        let written = output
            .write_all(text.as_bytes())
            .and_then(|()| output.flush());
        written.map_err(|error| match Failure::from(error) {
            Failure::ClosedOutput(_) => Failure::ClosedOutput(code),
            other => other,
        })?;
        Ok(code)
    }

    /// Reads and monitors the trace. Returns the limit that stopped it, if one did.
    fn read(&mut self, mut reader: TraceReader) -> Result<Option<Stopped>, Failure> {
        let mut batch = Vec::new();
        let most = self.arguments.max_events.unwrap_or(u64::MAX);
        let max_time = self.arguments.limits.max_time();
        let deadline = max_time.and_then(|time| Instant::now().checked_add(time));
        loop {
            let next = reader.next_batch(&mut batch);
            if interrupt::was_requested() {
                return Ok(Some(Stopped::by_interrupt()));
            }
            match next {
                Ok(true) if deadline.is_some_and(|deadline| Instant::now() >= deadline) => {
                    return Ok(Some(Stopped::by_time()));
                }
                Ok(true) => {}
                Ok(false) if reader.is_blank() => {
                    let name = self.arguments.file.display();
                    return Err(Failure::BadInput(format!(
                        "error: the input is empty\n --> {name}\n  = help: check the tracer; a trace without \
                         events has at least the line `fencepost-trace 1`"
                    )));
                }
                Ok(false) => return Ok(None),
                Err(ReadError::Limit(reached)) => return Ok(Some(Stopped::by_names(&reached))),
                Err(error) => return Err(read_failure(&error, &self.arguments.file)),
            }
            let remaining = most - self.runner.events();
            let allowed = batch
                .len()
                .min(usize::try_from(remaining).unwrap_or(usize::MAX));
            for &access in &batch[..allowed] {
                match self.runner.observe(access) {
                    Ok(None) => {}
                    Ok(Some(violation)) => self.report(&violation, &TraceNames(reader.names()))?,
                    Err(error) => return Ok(Some(Stopped::by_memory(&error))),
                }
            }
            if allowed < batch.len() {
                return Ok(Some(Stopped::by_events()));
            }
            self.progress.update(
                reader.bytes_consumed(),
                self.runner.events(),
                Some(self.tally.total()),
            );
        }
    }

    /// Counts a violation, and prints it if it is one of the first distinct ones.
    #[cold]
    fn report(&mut self, violation: &Violation, names: &dyn Naming) -> Result<(), Failure> {
        let TallyResult::New(number) = self.tally.record(violation) else {
            return Ok(());
        };
        if number >= self.arguments.max_findings {
            return Ok(());
        }
        let mut explained = self.runner.explain(violation);
        if let Err(ExplainError::OutsideWindow { .. }) = explained
            && let Some(accesses) = self.read_again(violation)
        {
            explained = self.runner.explain_from(violation, accesses);
        }
        if let Err(error @ ExplainError::Unsound { .. }) = &explained {
            return Err(Failure::Internal(format!("error: {error}")));
        }
        let text = self.finding(number + 1, violation, &explained, names);
        let output = &mut *self.output;
        self.progress.suspend(|| {
            output.write_all(text.as_bytes())?;
            output.flush()
        })?;
        Ok(())
    }

    /// The accesses of a violation that spans more than the witness window, from a second
    /// pass over the file. None for a pipe, or if they would not fit in memory.
    fn read_again(&self, violation: &Violation) -> Option<Vec<Access>> {
        let file = &self.arguments.file;
        let fits = violation.span() <= (self.arguments.limits.max_bytes() / WITNESS_BYTES) as u64;
        if !fits || !std::fs::metadata(file).is_ok_and(|metadata| metadata.is_file()) {
            return None;
        }
        let mut reader = open(file, self.arguments.limits.max_bytes() / 4).ok()?;
        let (first, end) = (violation.pending.position, violation.event.position + 1);
        let (mut accesses, mut batch, mut position) = (Vec::new(), Vec::new(), 0);
        while position < end {
            if !reader.next_batch(&mut batch).ok()? {
                return None;
            }
            let numbered = (position..end).zip(&batch);
            accesses.extend(
                numbered
                    .filter(|&(at, _)| at >= first)
                    .map(|(_, access)| *access),
            );
            position += batch.len() as u64;
        }
        // Not if the file has changed meanwhile.
        let ends = [accesses.first()?, accesses.last()?];
        let expected = [&violation.pending, &violation.event].map(|placed| &placed.event.access);
        let before = self.runner.happens_before();
        let is_known = |access: &Access| {
            let address = access.operation.address();
            access.thread.index() < before.thread_count()
                && address.is_none_or(|a| a.index() < before.address_count())
        };
        (ends == expected && accesses.iter().all(is_known)).then_some(accesses)
    }

    fn finding(
        &self,
        number: usize,
        violation: &Violation,
        explained: &Result<Finding, ExplainError>,
        names: &dyn Naming,
    ) -> String {
        if self.arguments.result.json {
            let object = json::ViolationObject::new(number, violation, explained, names);
            return json::line(&object) + "\n";
        }
        let mut finding = text::finding(number, violation, explained, names);
        let replay = replay(self.arguments, number);
        if explained.is_err() {
            let hint = "    keep more with --witness-window, or monitor a file instead of a pipe\n";
            finding.push_str(hint);
        }
        format!("{finding}\n  replay: {replay}\n\n")
    }
}

/// The command that shows the violation again.
fn replay(arguments: &MonitorArguments, number: usize) -> String {
    let mut command = match arguments.file.as_os_str() == "-" {
        true => "save the trace to a file, then: fencepost monitor FILE".to_string(),
        false => format!("fencepost monitor {}", shell_word(&arguments.file)),
    };
    command.push_str(match arguments.choice() {
        Ok(MonitorChoice::RelaxedTso) => " --model tso",
        Ok(MonitorChoice::RelaxedPso(LockedDrains::Everything)) => " --model pso",
        Ok(MonitorChoice::RelaxedPso(LockedDrains::OwnAddress)) => {
            " --model pso --pso-locked own-address"
        }
        Ok(MonitorChoice::Sober) => " --monitor sober",
        Ok(MonitorChoice::BssTso) => " --monitor bss-tso",
        Ok(MonitorChoice::BssPso) => " --monitor bss-pso",
        Ok(MonitorChoice::HappensBefore(_)) | Err(_) => "",
    });
    if number > DEFAULT_MAX_FINDINGS {
        command.push_str(&format!(" --max-findings {number}"));
    }
    command
}

/// The result of a pass.
struct Summary<'a, M> {
    runner: &'a MonitorRunner<M>,
    tally: &'a ViolationTally,
    arguments: &'a MonitorArguments,
    stopped_by: Option<Stopped>,
}

impl<M: Monitor> Summary<'_, M> {
    fn shown(&self) -> usize {
        self.tally.distinct().min(self.arguments.max_findings)
    }

    fn json(&self) -> String {
        let monitor = self.runner.monitor();
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
            events: self.runner.events(),
            threads: self.runner.happens_before().active_threads(),
            addresses: self.runner.happens_before().accessed_addresses(),
            violation_found: self.tally.total() > 0,
            violations: self.tally.total(),
            distinct: self.tally.distinct(),
            distinct_is_lower_bound: self.tally.overflowed(),
            counts: counts.collect(),
            complete: self.stopped_by.is_none(),
            limit: self.stopped_by.as_ref().map(|stopped| stopped.limit),
            stopped_by: self
                .stopped_by
                .as_ref()
                .map(|stopped| stopped.message.clone()),
            version: env!("CARGO_PKG_VERSION"),
        })
    }

    fn text(&self) -> String {
        let monitor = self.runner.monitor();
        let before = self.runner.happens_before();
        let mut text = format!(
            "{}, {}, {}; monitor {} for {}\n",
            counted(self.runner.events(), "event"),
            counted(before.active_threads() as u64, "thread"),
            counted(before.accessed_addresses() as u64, "address"),
            monitor.name(),
            text::model_title(&monitor.model()),
        );
        if let Some(stopped) = &self.stopped_by {
            text.push_str(&format!("stopped by a limit: {}\n", stopped.message));
        }
        if self.nothing_was_monitored() {
            text.push_str("nothing was monitored: only the happens-before clock ran\n");
        } else if self.tally.total() > 0 {
            text.push_str(&self.counts());
        } else if self.stopped_by.is_some() {
            let read = counted(self.runner.events(), "event");
            text.push_str(&format!(
                "no violation in the first {read}; the rest was not read\n"
            ));
        } else if self.runner.events() == 0 {
            text.push_str("the trace has no events, so nothing was monitored\n");
        } else {
            text.push_str(&format!(
                "{}\nAnother interleaving of the program may have one: a single interleaving cannot \
                 show that a\nprogram is safe.\n",
                Styled(SUCCESS, "no violation in this interleaving")
            ));
        }
        text
    }

    fn nothing_was_monitored(&self) -> bool {
        let choice = self.arguments.choice();
        choice.is_ok_and(|choice| matches!(choice, MonitorChoice::HappensBefore(_)))
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
                "  {} distinct not shown; show more with --max-findings\n",
                grouped(more as u64)
            ));
        }
        text
    }
}
