//! `fencepost litmus`: the final states that a memory model allows.
//!
//! `inputs` finds the tests, `one` answers one of them and `show` shows its witnesses, `pictures`
//! says where pictures go, `pool` runs many at once, `compare` compares with an earlier log.
//! `hardware` runs tests on the processor, for as long as `schedule` gives them.

mod compare;
mod hardware;
mod inputs;
mod one;
mod pictures;
mod pool;
mod schedule;
mod show;

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use fencepost_report::columns::aligned;
use fencepost_report::json::litmus::LITMUS_SCHEMA;
use fencepost_report::text::{counted, grouped};

use super::write_json_failure;
use crate::args::LitmusArguments;
use crate::exit::{self, Failure};
use crate::files::ResultStream;
use crate::interrupt;
use crate::progress::TestProgress;

use compare::{Comparison, Explain};
use inputs::Files;
use one::{FileResult, Inputs};

/// Runs the tests. With `--json`, a failure is a JSON object too.
pub fn run(arguments: &LitmusArguments, is_quiet: bool) -> Result<u8, Failure> {
    let result = run_all(arguments, is_quiet);
    if let (true, Err(failure)) = (arguments.result.json, &result) {
        write_json_failure(LITMUS_SCHEMA, failure, &mut std::io::stdout());
    }
    result
}

fn run_all(arguments: &LitmusArguments, is_quiet: bool) -> Result<u8, Failure> {
    let Files {
        paths: files,
        errors,
        ..
    } = inputs::collect(&arguments.paths)?;
    check_arguments(arguments, &files)?;
    let names = pictures::prepare(arguments, &files)?;
    let comparison = arguments
        .compare
        .as_deref()
        .map(|path| Comparison::read(path, &arguments.models()))
        .transpose()?;
    if arguments.hardware.run {
        return hardware::run(arguments, &files, &errors, comparison, is_quiet);
    }
    let inputs = Inputs::new(arguments);
    let started = Instant::now();
    let progress = TestProgress::new(files.len(), is_quiet);
    let mut totals = Totals {
        unreadable_lists: errors.len(),
        ..Totals::default()
    };
    for error in &errors {
        // If standard error is closed, the exit code still tells.
        let _ = writeln!(anstream::stderr(), "{error}");
    }
    let output = arguments.result.file.output.as_deref();
    let mut output = ResultStream::open(output, files.iter().map(PathBuf::as_path))?;
    let mut comparison = comparison;
    pool::in_order(
        files.len(),
        arguments.workers.count(),
        |index| one::run(&files[index], &names[index], &inputs),
        |index, result: FileResult| -> Result<_, Failure> {
            progress.suspend(|| {
                totals.take(
                    &result,
                    comparison.as_mut(),
                    &|entry, difference| {
                        one::explain(&files[index], &result, entry, difference, &inputs)
                    },
                    arguments.result.json,
                    &mut output,
                )
            })?;
            progress.update(index + 1, totals.failed_files());
            if interrupt::was_requested() {
                totals.was_interrupted = true;
                return Ok(ControlFlow::Break(()));
            }
            Ok(ControlFlow::Continue(()))
        },
    )
    .map_err(|failure| match failure {
        Failure::ClosedOutput(_) => Failure::ClosedOutput(totals.exit_code()),
        other => other,
    })?;
    if let Some(comparison) = &comparison {
        totals.is_different |= comparison.finish(arguments.result.json, &mut output)?;
    }
    output.flush()?;
    drop(progress);
    if !is_quiet && files.len() > 1 {
        totals.print(files.len(), started.elapsed().as_secs_f64());
    }
    Ok(totals.exit_code())
}

fn check_arguments(arguments: &LitmusArguments, files: &[PathBuf]) -> Result<(), Failure> {
    let bad = |message: &str| Err(Failure::BadInput(format!("error: {message}")));
    let is_single = files.len() == 1 && arguments.models().len() == 1;
    let pictures = [&arguments.svg, &arguments.dot];
    let mut files = pictures.into_iter().flatten();
    if files.any(|path| !pictures::is_directory(path)) && !is_single {
        return bad(
            "--svg and --dot draw one test under one model into a file\nhelp: name one file, and one model with --model, or a directory for the pictures, such as `pictures/`",
        );
    }
    let is_drawn = pictures.iter().any(|picture| picture.is_some());
    if arguments.state.is_some() && !is_drawn && arguments.witness.is_none() {
        return bad("--state needs --witness, --svg or --dot");
    }
    if !arguments.edges.is_empty() && !is_drawn {
        return bad("--edges needs --svg or --dot");
    }
    Ok(())
}

/// The results of all tests.
#[derive(Default)]
struct Totals {
    files: usize,
    /// Directories and lists of files that could not be read.
    unreadable_lists: usize,
    /// Files that could not be read.
    unreadable_files: usize,
    /// Files without an answer because of what is in them, readable or not.
    bad_files: usize,
    /// Files that were read, and whose tests have no answer.
    faulty_files: usize,
    limited_files: usize,
    is_different: bool,
    was_interrupted: bool,
    internal_errors: usize,
    unsafe_tests: usize,
    fails_on_no: bool,
    rows: Vec<Row>,
}

/// The results of the tests under one model.
struct Row {
    model: String,
    tests: usize,
    ok: usize,
    no: usize,
    undefined: usize,
    incomplete: usize,
    states: usize,
}

impl Totals {
    fn take(
        &mut self,
        result: &FileResult,
        comparison: Option<&mut Comparison>,
        explain: Explain<'_>,
        is_json: bool,
        output: &mut impl Write,
    ) -> Result<(), Failure> {
        self.files += 1;
        if !result.error.is_empty() {
            // If standard error is closed, the exit code still tells.
            let _ = writeln!(anstream::stderr(), "{}", result.error);
        }
        self.bad_files += usize::from(result.is_bad);
        self.unreadable_files += usize::from(result.is_unreadable);
        self.faulty_files += usize::from(result.is_bad && !result.is_unreadable);
        self.limited_files += usize::from(result.is_limited);
        self.internal_errors += usize::from(result.is_internal);
        self.unsafe_tests += usize::from(result.is_unsafe);
        self.fails_on_no |= result.fails_on_no;
        for line in &result.lines {
            self.row(&line.model).add(line);
            self.limited_files += usize::from(!line.is_complete);
        }
        match comparison {
            Some(comparison) => {
                self.is_different |= comparison.take(result.entries(), explain, is_json, output)?;
            }
            None => output.write_all(result.output.as_bytes())?,
        }
        Ok(())
    }

    fn row(&mut self, model: &str) -> &mut Row {
        let index = self.rows.iter().position(|row| row.model == model);
        let index = index.unwrap_or_else(|| {
            self.rows.push(Row {
                model: model.to_owned(),
                tests: 0,
                ok: 0,
                no: 0,
                undefined: 0,
                incomplete: 0,
                states: 0,
            });
            self.rows.len() - 1
        });
        &mut self.rows[index]
    }

    fn failed_files(&self) -> usize {
        self.bad_files + self.internal_errors
    }

    fn exit_code(&self) -> u8 {
        if self.internal_errors > 0 {
            exit::INTERNAL
        } else if self.bad_files > 0 || self.unreadable_lists > 0 {
            exit::BAD_INPUT
        } else if self.is_different || self.unsafe_tests > 0 || self.fails_on_no {
            exit::VIOLATION
        } else if self.limited_files > 0 || self.was_interrupted {
            exit::LIMIT
        } else {
            exit::NO_VIOLATION
        }
    }

    /// The summary, on standard error: standard output is for the tools around herd7.
    fn print(&self, total: usize, seconds: f64) {
        let mut table = vec![
            [
                "",
                "tests",
                "Ok",
                "No",
                "Undef",
                "incomplete",
                "final states",
            ]
            .map(str::to_owned)
            .to_vec(),
        ];
        for row in &self.rows {
            let numbers = [
                row.tests,
                row.ok,
                row.no,
                row.undefined,
                row.incomplete,
                row.states,
            ];
            let mut cells = vec![row.model.clone()];
            cells.extend(numbers.map(|number| grouped(number as u64)));
            table.push(cells);
        }
        let mut text = String::new();
        if !self.rows.is_empty() {
            text = aligned(&table, "").join("\n") + "\n";
        }
        text += &format!("{}, {seconds:.1} s", counted(self.files as u64, "file"));
        let mut add = |count: usize, what: &str| {
            if count > 0 {
                text += &format!("; {} {what}", grouped(count as u64));
            }
        };
        add(self.unreadable_files, "could not be read");
        add(self.faulty_files, "could not be answered");
        match self.unreadable_lists {
            1 => add(1, "directory or list could not be read"),
            count => add(count, "directories or lists could not be read"),
        }
        if self.unsafe_tests > 0 {
            let count = grouped(self.unsafe_tests as u64);
            let verb = match self.unsafe_tests {
                1 => "is",
                _ => "are",
            };
            text += &format!("; {count} {verb} not store-buffer safe");
        }
        if self.was_interrupted {
            let left = match total - self.files {
                1 => "1 file was".to_owned(),
                left => format!("{} files were", grouped(left as u64)),
            };
            text += &format!("; interrupted, {left} not run");
        }
        let _ = writeln!(anstream::stderr(), "{text}");
    }
}

impl Row {
    fn add(&mut self, line: &one::Line) {
        use fencepost_litmus::answer::Verdict;
        self.tests += 1;
        self.states += line.states;
        self.incomplete += usize::from(!line.is_complete);
        match line.verdict {
            Verdict::Ok => self.ok += 1,
            Verdict::No => self.no += 1,
            Verdict::Undefined => self.undefined += 1,
        }
    }
}
