//! `fencepost litmus --run`: tests on the processor, beside what the model allows.
//!
//! First all tests are read and answered by the models, then they run, one at a time, and at the end
//! results are printed in the order of the files.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fencepost_hardware::{Ending, Goal, NotHere, Processor, Record, Refusal, Request};
use fencepost_litmus::answer::answer;
use fencepost_litmus::test::Test;
use fencepost_memory::MemoryModel;
use fencepost_report::hardware::{self as report, ModelComparison, RunTotals, TestRun};
use fencepost_report::json::hardware as json;
use fencepost_report::json::litmus::LITMUS_SCHEMA;
use fencepost_report::json::{ErrorObject, line};

use crate::args::LitmusArguments;
use crate::exit::{self, Failure};
use crate::files::ResultStream;
use crate::interrupt;
use crate::progress::RunProgress;

use super::compare::{Comparison, Explanation};
use super::one::{self, FileResult, Inputs, Subject};
use super::pool;
use super::schedule::{self, RunStatus};

/// How long tests run if nothing is said: each, and all.
const EACH: Duration = Duration::from_secs(1);
const ALL: Duration = Duration::from_secs(60);

/// What a model allows of a test.
struct Allowed {
    model: MemoryModel,
    states: BTreeSet<Vec<u64>>,
    is_complete: bool,
}

/// A test, and what was seen of it.
struct Candidate {
    file: String,
    test: Test,
    allowed: Vec<Allowed>,
    record: Record,
    outcome: Result<Ending, Refusal>,
}

/// A file: a test to run, or why there is none.
struct Entry {
    candidate: Option<Candidate>,
    result: FileResult,
}

impl Candidate {
    fn is_interesting(&self) -> bool {
        self.allowed.iter().any(|allowed| {
            allowed
                .states
                .iter()
                .any(|state| !self.record.states.contains_key(state))
        })
    }

    fn run_status(&self) -> RunStatus {
        let has_ended = !matches!(&self.outcome, Ok(ending) if ending.is_usual());
        RunStatus {
            time: self.record.time,
            has_run: self.record.runs > 0,
            is_runnable: !has_ended,
            is_interesting: self.is_interesting(),
        }
    }

    fn comparisons(&self) -> Vec<ModelComparison> {
        let compare = |allowed: &Allowed| {
            let seen = &self.record.states;
            let not_seen = allowed
                .states
                .iter()
                .filter(|state| !seen.contains_key(*state));
            let not_allowed = seen
                .iter()
                .filter(|(state, _)| !allowed.states.contains(*state));
            ModelComparison {
                model: allowed.model,
                allowed: allowed.states.len(),
                is_complete: allowed.is_complete,
                not_seen: not_seen.cloned().collect(),
                not_allowed: not_allowed
                    .map(|(state, seen)| (state.clone(), seen.count))
                    .collect(),
            }
        };
        self.allowed.iter().map(compare).collect()
    }
}

/// Runs the tests, and prints what was seen.
pub fn run(
    arguments: &LitmusArguments,
    files: &[PathBuf],
    unreadable: &[String],
    comparison: Option<Comparison>,
    is_quiet: bool,
) -> Result<u8, Failure> {
    let processor = Processor::detect()
        .map_err(|reason: NotHere| Failure::BadInput(report::not_here(&reason)))?;
    for error in unreadable {
        warn(error);
    }
    let output = arguments.result.file.output.as_deref();
    let mut output = ResultStream::open(output, files.iter().map(PathBuf::as_path))?;
    let mut entries = read_all(arguments, files)?;
    let started = Instant::now();
    let total = arguments.hardware.run_time.unwrap_or_else(|| {
        let runnable = entries
            .iter()
            .filter(|entry| entry.candidate.is_some())
            .count();
        (EACH * runnable as u32).min(ALL)
    });
    run_all(&processor, arguments, &mut entries, total, is_quiet);
    let elapsed = started.elapsed();
    let mut summary = Summary {
        unreadable: unreadable.len(),
        ..Summary::default()
    };
    let mut comparison = comparison;
    for entry in &entries {
        summary.take(
            entry,
            arguments,
            &processor,
            comparison.as_mut(),
            &mut output,
        )?;
    }
    if let Some(comparison) = &comparison {
        summary.has_contradiction |= comparison.finish(arguments.result.json, &mut output)?;
    } else if !arguments.result.json && summary.totals.tests > 0 {
        write!(
            output,
            "{}",
            report::machine(processor.machine(), arguments.hardware.seed)
        )?;
    }
    output.flush()?;
    if !is_quiet && files.len() > 1 {
        warn(&report::totals(&summary.totals, elapsed));
    }
    Ok(summary.exit_code())
}

/// Prints on standard error. If that is closed, the exit code still tells.
fn warn(message: &str) {
    let _ = writeln!(anstream::stderr(), "{message}");
}

/// Reads all files, and finds what the models allow.
fn read_all(arguments: &LitmusArguments, files: &[PathBuf]) -> Result<Vec<Entry>, Failure> {
    let inputs = Inputs::new(arguments);
    let mut entries = Vec::new();
    pool::in_order(
        files.len(),
        arguments.workers.count(),
        |index| read_one(&files[index], arguments, &inputs),
        |_, entry| -> Result<_, Failure> {
            if !entry.result.error.is_empty() {
                warn(&entry.result.error);
            }
            entries.push(entry);
            interrupt::check()?;
            Ok(ControlFlow::Continue(()))
        },
    )?;
    Ok(entries)
}

fn read_one(path: &Path, arguments: &LitmusArguments, inputs: &Inputs<'_>) -> Entry {
    let (test, bytes) = match one::read(path) {
        Ok(read) => read,
        Err(result) => {
            return Entry {
                candidate: None,
                result: *result,
            };
        }
    };
    let mut result = FileResult::default();
    let source = String::from_utf8_lossy(&bytes);
    let subject = Subject {
        path,
        name: "",
        test: &test,
        source: &source,
    };
    let mut allowed = Vec::new();
    for model in arguments.models() {
        let deadline = inputs.deadline();
        let is_late = || {
            interrupt::was_requested()
                || deadline.is_some_and(|deadline| Instant::now() >= deadline)
        };
        match answer(&test, &model, &one::options(arguments, &is_late)) {
            Ok(answer) => {
                if let Some(cut) = answer.cut() {
                    let _ = writeln!(
                        result.error,
                        "{}",
                        one::explain_cut(path, &test, &model, cut, arguments)
                    );
                    result.is_limited = true;
                }
                allowed.push(Allowed {
                    model,
                    states: answer
                        .states
                        .iter()
                        .map(|state| state.contents.clone())
                        .collect(),
                    is_complete: answer.cut().is_none(),
                });
            }
            Err(error) => {
                // A test that does what the model does not have is not run.
                one::fail(subject, &model, &error, &mut result);
                return Entry {
                    candidate: None,
                    result,
                };
            }
        }
    }
    let candidate = Candidate {
        file: path.display().to_string(),
        test,
        allowed,
        record: Record::default(),
        outcome: Ok(Ending::Completed),
    };
    Entry {
        candidate: Some(candidate),
        result,
    }
}

/// Runs tests until the time is over.
fn run_all(
    processor: &Processor,
    arguments: &LitmusArguments,
    entries: &mut [Entry],
    total: Duration,
    is_quiet: bool,
) {
    let mut candidates: Vec<&mut Candidate> = entries
        .iter_mut()
        .filter_map(|entry| entry.candidate.as_mut())
        .collect();
    let progress = RunProgress::new(candidates.len(), total, is_quiet);
    let started = Instant::now();
    let mut statuses: Vec<RunStatus> = candidates
        .iter()
        .map(|candidate| candidate.run_status())
        .collect();
    let mut executions = 0;
    while let Some((index, time)) = schedule::next(&statuses, total, started.elapsed()) {
        if interrupt::was_requested() {
            break;
        }
        let candidate = &mut candidates[index];
        let before = candidate.record.executions;
        let request = Request {
            time,
            goal: if statuses[index].is_interesting {
                Goal::Variety
            } else {
                Goal::Condition
            },
            seed: arguments.hardware.seed.wrapping_add(index as u64),
            fixed: arguments.hardware.parameters.unwrap_or_default(),
            stop: &interrupt::was_requested,
        };
        candidate.outcome = processor.run(&candidate.test, &mut candidate.record, &request);
        statuses[index] = candidate.run_status();
        statuses[index].has_run = true;
        executions += candidate.record.executions - before;
        let satisfied = statuses
            .iter()
            .filter(|status| status.has_run && !status.is_interesting);
        progress.update(satisfied.count(), executions, started.elapsed());
    }
}

/// What all tests came to.
#[derive(Default)]
struct Summary {
    totals: RunTotals,
    unreadable: usize,
    is_bad: bool,
    is_limited: bool,
    is_internal: bool,
    has_contradiction: bool,
}

impl Summary {
    fn take(
        &mut self,
        entry: &Entry,
        arguments: &LitmusArguments,
        processor: &Processor,
        comparison: Option<&mut Comparison>,
        output: &mut impl Write,
    ) -> Result<(), Failure> {
        self.is_bad |= entry.result.is_bad;
        self.is_limited |= entry.result.is_limited;
        self.is_internal |= entry.result.is_internal;
        let Some(candidate) = &entry.candidate else {
            let exit_code = if entry.result.is_limited {
                exit::LIMIT
            } else {
                exit::BAD_INPUT
            };
            return without_run(&entry.result.error, exit_code, arguments, output);
        };
        let ending = match &candidate.outcome {
            Ok(ending) => ending,
            Err(refusal) => {
                let message = report::refusal(&candidate.file, &candidate.test, refusal);
                warn(&message);
                self.totals.refused += 1;
                self.is_bad = true;
                return without_run(&message, exit::BAD_INPUT, arguments, output);
            }
        };
        if candidate.record.runs == 0 {
            // It was interrupted before its turn.
            self.is_limited = true;
            return Ok(());
        }
        let models = candidate.comparisons();
        let run = TestRun {
            file: &candidate.file,
            test: &candidate.test,
            record: &candidate.record,
            ending,
            models: &models,
        };
        if let Some(message) = report::ending(&run) {
            warn(&message);
        }
        self.count(&run);
        match comparison {
            Some(comparison) => {
                self.has_contradiction |= comparison.take(
                    [&run.log_entry()],
                    &|_, _| Ok(Explanation::default()),
                    arguments.result.json,
                    output,
                )?
            }
            None if arguments.result.json => {
                writeln!(
                    output,
                    "{}",
                    json::run(&run, processor.machine(), arguments.hardware.seed)
                )?;
            }
            None => {
                write!(
                    output,
                    "{}",
                    report::block(&run, arguments.hardware.parameters.is_some())
                )?;
            }
        }
        Ok(())
    }

    fn count(&mut self, run: &TestRun<'_>) {
        let totals = &mut self.totals;
        let is_all_seen = run
            .models
            .iter()
            .all(|comparison| comparison.not_seen.is_empty());
        totals.tests += 1;
        totals.executions += run.record.executions;
        totals.all_seen += u64::from(is_all_seen);
        totals.some_not_seen += u64::from(!is_all_seen);
        totals.contradictions += u64::from(run.is_contradiction());
        totals.ended_early += u64::from(*run.ending != Ending::Completed);
        self.has_contradiction |= run.is_contradiction();
        self.is_limited |= *run.ending != Ending::Completed;
    }

    /// What the processor did that a model forbids comes before everything but a bug.
    fn exit_code(&self) -> u8 {
        if self.is_internal {
            exit::INTERNAL
        } else if self.has_contradiction {
            exit::VIOLATION
        } else if self.is_bad || self.unreadable > 0 {
            exit::BAD_INPUT
        } else if self.is_limited || interrupt::was_requested() {
            exit::LIMIT
        } else {
            exit::NO_VIOLATION
        }
    }
}

/// With `--json`, a file without a run is an object too.
fn without_run(
    message: &str,
    exit_code: u8,
    arguments: &LitmusArguments,
    output: &mut impl Write,
) -> Result<(), Failure> {
    if arguments.result.json {
        let object = ErrorObject {
            schema: LITMUS_SCHEMA,
            kind: "error",
            exit_code,
            message: message.trim_end().to_owned(),
        };
        writeln!(output, "{}", line(&object))?;
    }
    Ok(())
}
