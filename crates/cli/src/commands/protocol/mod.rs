//! `fencepost protocol`: all states of a Murphi model.
//!
//! `input` reads the model, `memory` bounds the memory, `checkpoint` saves searches, and `show`
//! writes the result.

pub(super) mod checkpoint;
mod input;
pub(super) mod memory;
mod show;

use std::io::Write;
use std::time::Instant;

use fencepost_diagnostics::{Diagnostic, Severity};
use fencepost_protocol::Model;
use fencepost_protocol::outcome::Verdict;
use fencepost_protocol::search::{SearchError, SearchErrorKind, resume, search};
use fencepost_report::json::protocol::PROTOCOL_SCHEMA;
use fencepost_report::protocol::SearchedModel;
use fencepost_report::text::counted;

use super::write_json_failure;
use crate::args::ProtocolArguments;
use crate::exit::{self, Failure};
use crate::files;
use crate::progress::SearchProgress;

/// Searches the model. With `--json`, a failure is a JSON object too.
pub fn run(arguments: &ProtocolArguments, is_quiet: bool) -> Result<u8, Failure> {
    let result = check(arguments, is_quiet);
    if let (true, Err(failure)) = (arguments.result.json, &result) {
        write_json_failure(PROTOCOL_SCHEMA, failure, &mut std::io::stdout());
    }
    result
}

fn check(arguments: &ProtocolArguments, is_quiet: bool) -> Result<u8, Failure> {
    show::check_arguments(arguments)?;
    if let Some(path) = &arguments.checkpoint {
        checkpoint::check_writable(path)?;
    }
    let file = arguments.file.display().to_string();
    let model = input::model(arguments)?;
    for warning in &model.warnings {
        // If standard error is closed, the exit code still tells.
        let _ = writeln!(anstream::stderr(), "{}\n", warning.render_warning(&file));
    }
    let options = arguments.options(memory::default_bound());
    let progress = SearchProgress::new(is_quiet);
    let started = Instant::now();
    let saving = checkpoint::CheckpointWriter::new(&progress, arguments.checkpoint.as_deref());
    let report = match &arguments.resume {
        Some(path) => resume(&model, &options, &saving, &mut checkpoint::open(path)?),
        None => search(&model, &options, &saving),
    };
    let seconds = started.elapsed().as_secs_f64();
    let saved = saving.last_write();
    drop(progress);
    let report = report.map_err(|error| search_failure(&model, &error, arguments))?;
    if report.states == 0 && report.verdict == Verdict::NoError {
        let message = "error: no start state satisfies the assumptions";
        return Err(Failure::BadInput(format!("{message}\n --> {file}")));
    }
    let replay = arguments.replay();
    let checked = SearchedModel {
        model: &model,
        report: &report,
        file: &file,
        seconds,
        replay: &replay,
        checkpoint_error: saved.error.as_deref(),
    };
    let code = exit_code(&report.verdict);
    report_checkpoint(arguments, &saved, code);
    show::show(&checked, arguments).map_err(|failure| match failure {
        Failure::ClosedOutput(_) => Failure::ClosedOutput(code),
        other => other,
    })?;
    Ok(code)
}

/// Prints the command that resumes the search, if it can be resumed.
fn report_checkpoint(arguments: &ProtocolArguments, saved: &checkpoint::LastWrite, code: u8) {
    let Some(path) = &arguments.checkpoint else {
        return;
    };
    // An error was reported when it happened. If standard error is closed, the exit code still
    // tells.
    if let (None, exit::LIMIT, Some(states)) = (&saved.error, code, saved.states) {
        let (command, path) = (arguments.replay(), files::shell_word(path));
        let _ = writeln!(
            anstream::stderr(),
            "saved {}; resume with: {command} --resume {path} --checkpoint {path}",
            counted(states, "state")
        );
    }
}

fn exit_code(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::NoError => exit::NO_VIOLATION,
        Verdict::Incomplete(_) => exit::LIMIT,
        Verdict::InvariantFailed(_)
        | Verdict::Fault { .. }
        | Verdict::Deadlock
        | Verdict::CoverMissed(_) => exit::VIOLATION,
    }
}

/// The message for a search that cannot start or resume.
fn search_failure(model: &Model, error: &SearchError, arguments: &ProtocolArguments) -> Failure {
    let file = arguments.file.display().to_string();
    let Some(span) = error.span else {
        let place = match (error.kind, &arguments.resume) {
            (SearchErrorKind::Checkpoint | SearchErrorKind::Resources, Some(path)) => {
                path.display().to_string()
            }
            _ => file,
        };
        let mut message = format!("error: {}\n --> {place}", error.message);
        if let Some(help) = error.help {
            message.push_str(&format!("\nhelp: {help}"));
        }
        return match error.kind {
            SearchErrorKind::Internal => Failure::Internal(message),
            SearchErrorKind::Model | SearchErrorKind::Checkpoint | SearchErrorKind::Resources => {
                Failure::BadInput(message)
            }
        };
    };
    let position = model.position(span);
    let diagnostic = Diagnostic {
        severity: Severity::Error,
        message: &error.message,
        line: position.line.into(),
        column: position.column.into(),
        excerpt: &model.excerpt(span),
        label: "cannot search this",
        help: error.help.unwrap_or("make the model smaller"),
    };
    Failure::BadInput(diagnostic.render(&file))
}
