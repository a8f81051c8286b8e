//! One file: read, answered under each model, and shown.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use fencepost_litmus::answer::{AnswerError, MOST_EXECUTIONS, Options, Verdict, answer};
use fencepost_litmus::log::{self, LogEntry};
use fencepost_litmus::robust::{self, Safety};
use fencepost_litmus::test::Test;
use fencepost_litmus::{Limits, axioms, machine, parse};
use fencepost_memory::MemoryModel;
use fencepost_report::json::litmus as json;
use fencepost_report::safety::safety as safety_text;

use crate::args::LitmusArguments;
use crate::files;
use crate::interrupt;

use super::show;

/// What the tests are run with.
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

    fn deadline(&self) -> Option<Instant> {
        let seconds = self.arguments.timeout?;
        // So long that it cannot be represented is no limit.
        Instant::now().checked_add(Duration::try_from_secs_f64(seconds).ok()?)
    }
}

/// A test under a model, as far as the summary needs it.
pub struct Line {
    pub model: String,
    pub verdict: Verdict,
    pub states: usize,
    pub is_complete: bool,
    pub entry: Option<LogEntry>,
}

/// What a file came to.
#[derive(Default)]
pub struct FileResult {
    /// For standard output.
    pub output: String,
    /// For standard error.
    pub error: String,
    /// The file could not be read, or a thread does what it cannot do.
    pub is_bad: bool,
    /// A limit was reached that leaves nothing to say.
    pub is_limited: bool,
    /// What was found does not check.
    pub is_internal: bool,
    /// Under some model, the test is not store-buffer safe.
    pub is_unsafe: bool,
    /// A verdict is No, and that was to be a failure.
    pub fails_on_no: bool,
    pub lines: Vec<Line>,
}

impl FileResult {
    fn bad(error: String) -> Self {
        FileResult {
            error,
            is_bad: true,
            ..FileResult::default()
        }
    }
}

/// Reads and answers a file.
pub fn run(path: &Path, inputs: &Inputs<'_>) -> FileResult {
    let limits = Limits::default();
    let bytes = match files::read_up_to(path, limits.bytes as u64) {
        Ok(bytes) => bytes,
        Err(error) => return FileResult::bad(format!("error: {}: {error}", path.display())),
    };
    let test = match parse(&bytes, &limits) {
        Ok(test) => test,
        Err(error) => {
            let rendered = error.render(&path.display().to_string());
            let mut result = FileResult {
                error: rendered,
                ..FileResult::default()
            };
            result.is_limited = error.is_limit();
            result.is_bad = !result.is_limited;
            return result;
        }
    };
    let mut result = FileResult::default();
    let source = String::from_utf8_lossy(&bytes);
    let subject = Subject {
        path,
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
    result
}

/// A test that was read.
#[derive(Clone, Copy)]
struct Subject<'t> {
    path: &'t Path,
    test: &'t Test,
    source: &'t str,
}

fn ask(subject: Subject<'_>, model: &MemoryModel, inputs: &Inputs<'_>, result: &mut FileResult) {
    let Subject { path, test, .. } = subject;
    let arguments = inputs.arguments;
    let deadline = inputs.deadline();
    let is_late = || {
        interrupt::was_requested() || deadline.is_some_and(|deadline| Instant::now() >= deadline)
    };
    let options = Options {
        limits: machine::Limits {
            max_states: arguments.max_states,
            loop_buffer: usize::from(arguments.loop_buffer),
            stop: &is_late,
            ..machine::Limits::default()
        },
        cross_check: arguments.cross_check,
    };
    let started = Instant::now();
    let answer = match answer(test, model, &options) {
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
    if arguments.json {
        let line = json::answer(
            &path.display().to_string(),
            &answer,
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
        show::show_witnesses(&answer, arguments, &mut result.output);
    }
    if arguments.cross_check && !answer.is_cross_checked && answer.cut().is_none() {
        result.is_limited = true;
        let _ = writeln!(
            result.error,
            "warning: {}: the axioms did not come to an end for {} under {}; what they found is there, but was not all",
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
    show::draw(&answer, arguments, result);
}

fn explain_cut(
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
            "--loop-buffer allows more",
        ),
        machine::Cut::LongLoop => (
            "a thread goes on for very long by itself".to_owned(),
            "a loop that never ends, or counts far, cannot be followed to its end",
        ),
        machine::Cut::States => (
            format!("there are more than {} states", arguments.max_states),
            "--max-states allows more",
        ),
        machine::Cut::Memory => (
            "the states take more than 1 GiB".to_owned(),
            "does a thread go on for ever, with ever new values?",
        ),
        machine::Cut::Stopped if interrupt::was_requested() => (
            "it was interrupted".to_owned(),
            "states that were found are shown",
        ),
        machine::Cut::Stopped => ("the time was up".to_owned(), "--timeout allows more"),
    };
    format!(
        "warning: {}: {} under {} is not complete: {what}\n  = help: {help}",
        path.display(),
        test.name,
        model.name()
    )
}

fn fail(subject: Subject<'_>, model: &MemoryModel, error: &AnswerError, result: &mut FileResult) {
    let Subject { path, test, source } = subject;
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
    let Subject { path, test, source } = subject;
    let arguments = inputs.arguments;
    let pso = match arguments.pso_locked {
        crate::args::PsoLocked::Everything => MemoryModel::PSO,
        crate::args::PsoLocked::OwnAddress => MemoryModel::PSO_OWN_ADDRESS,
    };
    let models = [MemoryModel::TSO, pso];
    let decided = models.map(|model| {
        let limits = robust::Limits {
            stop: &interrupt::was_requested,
            max_time: arguments
                .timeout
                .and_then(|s| Duration::try_from_secs_f64(s).ok()),
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
                        "warning: {path}: whether {} is safe under {} was not decided within the limits",
                        test.name,
                        model.name()
                    );
                }
            }
        }
    }
    if arguments.json {
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
            "warning: {}: not all executions of {} under {} were enumerated; none that were contradict the answer",
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
            "internal error: {}: the monitors and the enumeration of all executions do not agree on {} under {}; this is a bug in Fencepost, please report it with the test",
            path.display(),
            test.name,
            model.name()
        );
    }
}
