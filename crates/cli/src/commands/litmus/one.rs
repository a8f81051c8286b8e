//! One file: read, answered under each model, and shown.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use fencepost_litmus::answer::{AnswerError, MOST_EXECUTIONS, Options, Verdict, answer};
use fencepost_litmus::log::{self, Difference, LogEntry};
use fencepost_litmus::robust::{self, Safety};
use fencepost_litmus::test::Test;
use fencepost_litmus::{Limits, axioms, machine, parse};
use fencepost_memory::MemoryModel;
use fencepost_report::json::litmus::{self as json, Explained};
use fencepost_report::json::{ErrorObject, line};
use fencepost_report::protocol::bytes;
use fencepost_report::safety::safety as safety_text;

use crate::args::LitmusArguments;
use crate::exit::{self, Failure};
use crate::files;
use crate::interrupt;

use super::compare::Explanation;
use super::show::{ShowError, Shown};

/// Of how many states that only one side of a comparison has it is said how they come about.
const MOST_EXPLAINED: usize = 10;

/// The options of a run.
pub struct Inputs<'a> {
    arguments: &'a LitmusArguments,
    models: Vec<MemoryModel>,
}

impl<'a> Inputs<'a> {
    pub fn new(arguments: &'a LitmusArguments) -> Self {
        Inputs {
            arguments,
            models: arguments.models(),
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        // A time that is too long to be represented is no limit.
        Instant::now().checked_add(self.arguments.limits.max_time()?)
    }
}

/// The result of a test under a model, for the summary.
pub struct Line {
    pub model: String,
    pub verdict: Verdict,
    pub states: usize,
    pub is_complete: bool,
    pub entry: Option<LogEntry>,
}

/// The result of a file.
#[derive(Default)]
pub struct FileResult {
    /// For standard output.
    pub output: String,
    /// For standard error.
    pub error: String,
    /// The file could not be read, or a thread of the test faults.
    pub is_bad: bool,
    /// The file could not be read, or has too much of something.
    pub is_unreadable: bool,
    /// A limit was reached before there was an answer.
    pub is_limited: bool,
    /// A check of the answer failed: a bug in Fencepost.
    pub is_internal: bool,
    /// Under some model, the test is not store-buffer safe.
    pub is_unsafe: bool,
    /// A verdict is No, with `--fail-on-no`.
    pub fails_on_no: bool,
    pub lines: Vec<Line>,
    /// The test, if more may be asked about it.
    kept: Option<Test>,
}

impl FileResult {
    /// The entries of a log.
    pub fn entries(&self) -> impl Iterator<Item = &LogEntry> {
        self.lines.iter().filter_map(|line| line.entry.as_ref())
    }

    fn bad(error: String) -> Self {
        FileResult {
            error,
            is_bad: true,
            is_unreadable: true,
            ..FileResult::default()
        }
    }
}

/// Reads and answers a file. With `--json`, the output is an error object if there is no answer.
/// Pictures in a directory have the `name`.
pub fn run(path: &Path, name: &str, inputs: &Inputs<'_>) -> FileResult {
    let mut result = answer_file(path, name, inputs);
    let exit_code = match (result.is_internal, result.is_bad, result.is_limited) {
        (true, _, _) => exit::INTERNAL,
        (_, true, _) => exit::BAD_INPUT,
        (_, _, true) => exit::LIMIT,
        _ => return result,
    };
    if inputs.arguments.result.json && result.output.is_empty() {
        let object = ErrorObject {
            schema: json::LITMUS_SCHEMA,
            kind: "error",
            exit_code,
            message: result.error.trim_end().to_owned(),
        };
        result.output = line(&object) + "\n";
    }
    result
}

/// Reads a test and its source; or says in a result why it cannot be read.
pub(super) fn read(path: &Path) -> Result<(Test, Vec<u8>), Box<FileResult>> {
    let limits = Limits::default();
    let bytes = files::read_up_to(path, limits.bytes as u64);
    let bytes = bytes.map_err(|error| {
        Box::new(FileResult::bad(format!(
            "error: {}: {error}",
            path.display()
        )))
    })?;
    match parse(&bytes, &limits) {
        Ok(test) => Ok((test, bytes)),
        Err(error) => Err(Box::new(FileResult {
            error: error.render(&path.display().to_string()),
            is_unreadable: true,
            is_limited: error.is_limit(),
            is_bad: !error.is_limit(),
            ..FileResult::default()
        })),
    }
}

fn answer_file(path: &Path, name: &str, inputs: &Inputs<'_>) -> FileResult {
    let (test, bytes) = match read(path) {
        Ok(read) => read,
        Err(result) => return *result,
    };
    let mut result = FileResult::default();
    let source = String::from_utf8_lossy(&bytes);
    let subject = Subject {
        path,
        name,
        test: &test,
        source: &source,
    };
    if inputs.arguments.robust {
        decide(subject, inputs, &mut result);
    } else {
        for model in &inputs.models {
            ask(subject, model, inputs, &mut result);
        }
    }
    if inputs.arguments.compare.is_some() && inputs.arguments.witness.is_some() {
        result.kept = Some(test);
    }
    result
}

/// A test that was read.
#[derive(Clone, Copy)]
pub(super) struct Subject<'t> {
    pub path: &'t Path,
    /// The name of its pictures.
    pub name: &'t str,
    pub test: &'t Test,
    pub source: &'t str,
}

fn ask(subject: Subject<'_>, model: &MemoryModel, inputs: &Inputs<'_>, result: &mut FileResult) {
    let Subject { path, test, .. } = subject;
    let arguments = inputs.arguments;
    let deadline = inputs.deadline();
    let is_late = || {
        interrupt::was_requested() || deadline.is_some_and(|deadline| Instant::now() >= deadline)
    };
    let started = Instant::now();
    let answer = match answer(test, model, &options(arguments, &is_late)) {
        Ok(answer) => answer,
        Err(error) => return fail(subject, model, &error, result),
    };
    let seconds = started.elapsed().as_secs_f64();
    let verdict = answer.verdict();
    result.fails_on_no |= arguments.fail_on_no && verdict == Verdict::No;
    result.lines.push(Line {
        model: model.name().to_owned(),
        verdict,
        states: answer.states.len(),
        is_complete: answer.cut().is_none(),
        entry: arguments
            .compare
            .is_some()
            .then(|| LogEntry::of_answer(&answer)),
    });
    let shown = match Shown::new(&answer, arguments, &is_late) {
        Ok(shown) => shown,
        Err(ShowError::Answer(error)) => return fail(subject, model, &error, result),
        Err(ShowError::BadState(message)) => {
            result.error += &message;
            result.is_bad = true;
            return;
        }
    };
    if arguments.result.json {
        let witnesses = match arguments.witness {
            Some(_) => shown.json(),
            None => json::Witnesses::default(),
        };
        let line = json::answer(
            &path.display().to_string(),
            &answer,
            &witnesses,
            seconds,
            interrupt::was_requested(),
        );
        result.output += &line;
        result.output.push('\n');
    } else {
        if inputs.models.len() > 1 {
            let _ = writeln!(result.output, "Model {}", model.name());
        }
        result.output += &log::block(&answer, seconds);
        if arguments.witness.is_some() {
            result.output += &shown.text();
        }
    }
    if arguments.cross_check && !answer.is_cross_checked && answer.cut().is_none() {
        result.is_limited = true;
        let _ = writeln!(
            result.error,
            "warning: {}: cross-check of {} under {} is incomplete: the axioms confirm only a part of the final states",
            path.display(),
            test.name,
            model.name()
        );
    }
    if let Some(cut) = answer.cut() {
        let _ = writeln!(
            result.error,
            "{}",
            explain_cut(path, test, model, cut, arguments)
        );
    }
    shown.draw(arguments, subject.name, result);
}

/// How the states come about that only one side of a comparison has, or why the model does not allow
/// them: nothing without `--witness`.
pub(super) fn explain(
    path: &Path,
    result: &FileResult,
    entry: &LogEntry,
    difference: &Difference,
    inputs: &Inputs<'_>,
) -> Result<Explanation, Failure> {
    let mut explanation = Explanation::default();
    let arguments = inputs.arguments;
    let is_same = |model: &&MemoryModel| Some(model.name()) == entry.model.as_deref();
    let model = inputs.models.iter().find(is_same);
    let (Some(test), Some(model)) = (&result.kept, model) else {
        return Ok(explanation);
    };
    let deadline = inputs.deadline();
    let is_late = || {
        interrupt::was_requested() || deadline.is_some_and(|deadline| Instant::now() >= deadline)
    };
    // It was answered before; the tests that differ are few, so no answer is kept.
    let Ok(answer) = answer(test, model, &options(arguments, &is_late)) else {
        return Ok(explanation);
    };
    let (mut witnesses, mut no_witnesses) = (Vec::new(), Vec::new());
    let sides = [&difference.only_here, &difference.only_there];
    for state in sides
        .iter()
        .flat_map(|states| states.iter().take(MOST_EXPLAINED))
    {
        let shown = match Shown::of_state(&answer, state, &is_late) {
            Ok(shown) => shown,
            // The log is of another test with this name.
            Err(ShowError::BadState(_)) => continue,
            Err(ShowError::Answer(error)) => {
                let mut result = FileResult::default();
                let subject = Subject {
                    path,
                    name: "",
                    test,
                    source: "",
                };
                fail(subject, model, &error, &mut result);
                return Err(match result.is_internal {
                    true => Failure::Internal(result.error),
                    false => Failure::BadInput(result.error),
                });
            }
        };
        if arguments.result.json {
            let shown = shown.json();
            witnesses.extend(shown.witnesses.into_iter().flatten());
            no_witnesses.extend(shown.no_witness);
        } else {
            explanation.text += &shown.text();
        }
    }
    if arguments.result.json {
        explanation.objects = Explained {
            witnesses: Some(witnesses),
            no_witnesses: Some(no_witnesses),
        };
    }
    Ok(explanation)
}

/// How to answer a test.
pub(super) fn options<'s>(arguments: &LitmusArguments, stop: &'s dyn Fn() -> bool) -> Options<'s> {
    Options {
        limits: machine::Limits {
            max_states: arguments.max_states(),
            max_memory: arguments.limits.max_bytes(),
            loop_buffer: usize::from(arguments.loop_buffer),
            stop,
        },
        cross_check: arguments.cross_check,
    }
}

pub(super) fn explain_cut(
    path: &Path,
    test: &Test,
    model: &MemoryModel,
    cut: machine::Cut,
    arguments: &LitmusArguments,
) -> String {
    let (what, help) = match cut {
        machine::Cut::Buffer => (
            format!(
                "a thread loops and could buffer more than {} stores",
                arguments.loop_buffer
            ),
            "raise --loop-buffer",
        ),
        machine::Cut::LongLoop => (
            "a thread runs a very long loop".to_owned(),
            "Fencepost does not run loops that count far, or never end, to their end",
        ),
        machine::Cut::States => (
            format!("there are more than {} states", arguments.max_states()),
            "raise --max-states",
        ),
        machine::Cut::Memory => (
            format!(
                "the states take more than {}",
                bytes(arguments.limits.max_bytes() as u64)
            ),
            "raise --max-memory, unless a thread loops forever with ever new values",
        ),
        machine::Cut::Stopped if interrupt::was_requested() => (
            "it was interrupted".to_owned(),
            "the states found so far are shown",
        ),
        machine::Cut::Stopped => ("--max-time was reached".to_owned(), "raise --max-time"),
    };
    format!(
        "warning: {}: {} under {} is incomplete: {what}\n  = help: {help}",
        path.display(),
        test.name,
        model.name()
    )
}

pub(super) fn fail(
    subject: Subject<'_>,
    model: &MemoryModel,
    error: &AnswerError,
    result: &mut FileResult,
) {
    let Subject {
        path, test, source, ..
    } = subject;
    let path = path.display().to_string();
    match error {
        AnswerError::Fault(fault) => {
            result.error += &fault.render(test, source, &path);
            result.is_bad = true;
        }
        AnswerError::Axioms(error) => {
            result.error = format!("error: {path}: {error}");
            result.is_bad = true;
        }
        _ => {
            result.error = format!("{path}: {} under {}: {error}", test.name, model.name());
            result.is_internal = true;
        }
    }
}

/// Whether a test is store-buffer safe, under TSO and PSO.
fn decide(subject: Subject<'_>, inputs: &Inputs<'_>, result: &mut FileResult) {
    let Subject {
        path, test, source, ..
    } = subject;
    let arguments = inputs.arguments;
    let pso = match arguments.pso_locked {
        crate::args::PsoLocked::Everything => MemoryModel::PSO,
        crate::args::PsoLocked::OwnAddress => MemoryModel::PSO_OWN_ADDRESS,
    };
    let models = [MemoryModel::TSO, pso];
    let decided = models.map(|model| {
        let limits = robust::Limits {
            stop: &interrupt::was_requested,
            max_time: arguments.limits.max_time(),
            ..robust::Limits::default()
        };
        let safety = robust::check(test, &model, &limits);
        if arguments.cross_check {
            compare_with_all_executions(path, test, &model, &safety, inputs, result);
        }
        (model, safety)
    });
    let path = path.display().to_string();
    for (model, safety) in &decided {
        result.is_unsafe |= matches!(safety, Safety::Unsafe { .. });
        if let Safety::Contradiction(reason) = safety {
            result.is_internal = true;
            let _ = writeln!(result.error, "{path}: {reason}");
        }
        if let Safety::Unknown(reason) = safety {
            match reason {
                robust::Unfinished::Fault(fault) => {
                    result.is_bad = true;
                    result.error += &fault.render(test, source, &path);
                }
                _ => {
                    result.is_limited = true;
                    let _ = writeln!(
                        result.error,
                        "warning: {path}: a limit was reached before {} was decided under {}",
                        test.name,
                        model.name()
                    );
                }
            }
        }
    }
    if arguments.result.json {
        result.output = json::safety(&path, test, &decided) + "\n";
    } else {
        for (model, safety) in &decided {
            result.output += &safety_text(test, model, safety);
        }
    }
}

fn compare_with_all_executions(
    path: &Path,
    test: &Test,
    model: &MemoryModel,
    safety: &Safety,
    inputs: &Inputs<'_>,
    result: &mut FileResult,
) {
    let deadline = inputs.deadline();
    let is_late = || {
        interrupt::was_requested() || deadline.is_some_and(|deadline| Instant::now() >= deadline)
    };
    let limits = axioms::Limits {
        should_stop: &is_late,
        executions: MOST_EXECUTIONS,
        ..axioms::Limits::default()
    };
    let (cyclic, summary) = match axioms::find_cyclic_trace(test, model, &limits) {
        Ok(found) => found,
        Err(error) => {
            let _ = writeln!(result.error, "error: {}: {error}", path.display());
            result.is_bad = true;
            return;
        }
    };
    if summary.cut.is_some() && cyclic.is_none() {
        result.is_limited = true;
        let _ = writeln!(
            result.error,
            "warning: {}: cross-check of {} under {} is incomplete: not all executions were enumerated",
            path.display(),
            test.name,
            model.name()
        );
    }
    let differs = match (safety, cyclic) {
        (Safety::Safe, Some(_)) => true,
        (Safety::Unsafe { .. }, None) => summary.cut.is_none(),
        _ => false,
    };
    if differs {
        result.is_internal = true;
        let _ = writeln!(
            result.error,
            "internal error: {}: the monitors and the enumeration of all executions disagree on {} under {}; this is a bug in Fencepost, please report it with the test",
            path.display(),
            test.name,
            model.name()
        );
    }
}
