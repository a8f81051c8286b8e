//! `fencepost reproduce`: the papers' tables, measured by `fencepost-papers`.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use fencepost_papers::reproduce::tso_cc::Searcher;
use fencepost_papers::reproduce::{
    Comparison, Output, ReproduceError, bss, sober, tso_cc, x86_tso,
};
use fencepost_protocol::Model;
use fencepost_protocol::search::{Options, SearchErrorKind, SearchOutcome, resume, search};

use crate::args::{ReproduceCommand, TsoCcArguments};
use crate::commands::protocol::{checkpoint, memory};
use crate::executable;
use crate::exit::{self, Failure};
use crate::files::ResultStream;
use crate::interrupt;
use crate::progress::{RowProgress, SearchProgress};

/// How often an unfinished search is saved.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(600);

/// Reproduces a table.
pub fn run(command: &ReproduceCommand, is_quiet: bool) -> Result<u8, Failure> {
    let mut results = ResultStream::open(command.result().file.output.as_deref(), [])?;
    let mut output = Output {
        results: &mut results,
        is_json: command.result().json,
        console: &RowProgress { quiet: is_quiet },
    };
    let comparison = match command {
        ReproduceCommand::Sober(arguments) => {
            let max_bound = arguments.max_bound;
            sober::reproduce(&sober::Options { max_bound }, &mut output)
        }
        ReproduceCommand::Bss(arguments) => {
            let options = bss::Options {
                executions: arguments.executions,
                seed: arguments.seed,
                with_c: arguments.c,
            };
            bss::reproduce(&options, &mut output)
        }
        ReproduceCommand::X86Tso(_) => x86_tso::reproduce(&mut output),
        ReproduceCommand::TsoCc(arguments) => {
            let options = tso_cc::Options {
                is_full: arguments.full,
                only: arguments.only.clone(),
                max_time: arguments.limits.max_time(),
                cache: arguments.checkpoint.clone(),
                build: match arguments.checkpoint {
                    Some(_) => executable::checksum(),
                    None => 0,
                },
            };
            let searcher = CommandSearcher {
                arguments,
                is_quiet,
            };
            tso_cc::reproduce(&options, &searcher, &mut output)
        }
    };
    let comparison = comparison?;
    results.flush()?;
    match command {
        ReproduceCommand::TsoCc(_) => Ok(report_searches(&comparison)),
        _ => report_measurements(&comparison),
    }
}

/// A measurement that contradicts the paper is a bug, in our programs or in Fencepost.
fn report_measurements(comparison: &Comparison) -> Result<u8, Failure> {
    if !comparison.contradictions.is_empty() {
        let rows = comparison.contradictions.join("\n  ");
        let message = format!("error: results differ from the paper:\n  {rows}");
        return Err(Failure::Internal(message));
    }
    if !comparison.inconclusive.is_empty() {
        let rows = comparison.inconclusive.join("\n  ");
        let message = format!(
            "fewer findings than in the paper:\n  {rows}\n  = help: run more executions with --executions"
        );
        return Err(Failure::Limit(message));
    }
    Ok(exit::NO_VIOLATION)
}

/// Prints the reason for the exit code; the rows are on standard output.
fn report_searches(comparison: &Comparison) -> u8 {
    if !comparison.contradictions.is_empty() {
        let rows = comparison.contradictions.join("\n  ");
        let _ = writeln!(anstream::stderr(), "not as expected:\n  {rows}");
        return exit::VIOLATION;
    }
    if !comparison.inconclusive.is_empty() {
        let rows = comparison.inconclusive.join("\n  ");
        let _ = writeln!(anstream::stderr(), "not finished:\n  {rows}");
        return exit::LIMIT;
    }
    exit::NO_VIOLATION
}

/// Searches with progress, Ctrl-C and checkpoints.
struct CommandSearcher<'a> {
    arguments: &'a TsoCcArguments,
    is_quiet: bool,
}

impl Searcher for CommandSearcher<'_> {
    fn search(
        &self,
        model: &Model,
        max_time: Option<Duration>,
        path: Option<&Path>,
    ) -> Result<SearchOutcome, ReproduceError> {
        let max_memory = self.arguments.limits.max_memory;
        let options = Options {
            workers: self.arguments.workers.count(),
            max_memory: max_memory
                .map(|bytes| bytes as u64)
                .or_else(memory::default_bound),
            max_time,
            checkpoint_interval: path.map(|_| CHECKPOINT_INTERVAL),
            build_id: path.map_or(0, |_| executable::checksum()),
            ..Options::default()
        };
        let progress = SearchProgress::new(self.is_quiet);
        let saving = checkpoint::CheckpointWriter::new(&progress, path);
        let existing = path.filter(|path| path.exists());
        let mut report = match existing {
            Some(path) => {
                let mut file = checkpoint::open(path)
                    .map_err(|failure| ReproduceError::BadInput(failure.to_string()))?;
                resume(model, &options, &saving, &mut file)
            }
            None => search(model, &options, &saving),
        };
        if let (Some(path), Err(error)) = (existing, &report)
            && matches!(
                error.kind,
                SearchErrorKind::Checkpoint | SearchErrorKind::Resources
            )
        {
            let _ = writeln!(
                anstream::stderr(),
                "warning: cannot resume {}; starting over: {error}",
                path.display()
            );
            report = match error.kind {
                // There may be enough memory for it another time, so the checkpoint is not
                // overwritten.
                SearchErrorKind::Resources => search(model, &options, &progress),
                _ => search(model, &options, &saving),
            };
        }
        report_saved(path, &saving.last_write());
        report.map_err(|error| ReproduceError::Internal {
            row: "search".to_owned(),
            message: error.to_string(),
        })
    }

    fn is_interrupted(&self) -> bool {
        interrupt::was_requested()
    }
}

fn report_saved(path: Option<&Path>, saved: &checkpoint::LastWrite) {
    let Some(path) = path.map(Path::display) else {
        return;
    };
    // If standard error is closed, the message is lost.
    let _ = match (&saved.error, saved.states) {
        (Some(error), _) => writeln!(
            anstream::stderr(),
            "warning: cannot save the search to {path}: {error}"
        ),
        (None, Some(states)) => writeln!(
            anstream::stderr(),
            "saved {} to {path}; run the same command to resume",
            fencepost_report::text::counted(states, "state")
        ),
        (None, None) => Ok(()),
    };
}

impl From<ReproduceError> for Failure {
    fn from(error: ReproduceError) -> Self {
        match error {
            ReproduceError::Write(error) => error.into(),
            ReproduceError::BadInput(message) => Failure::BadInput(message),
            error => Failure::Internal(error.to_string()),
        }
    }
}
