//! `fencepost trace convert`, `stat` and `generate`.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use fencepost_memory::{Access, OperationKind};
use fencepost_report::columns::aligned;
use fencepost_report::json::{self, StatisticsObject, ThreadObject};
use fencepost_report::text::{counted, grouped};
use fencepost_trace::{
    Format, GenerateOptions, Names, OutputFormat, TraceReader, TraceStatistics, TraceWriter,
    WriteError,
};

use super::{open, read_failure};
use crate::args::{GenerateArguments, TraceCommand};
use crate::exit::{self, Failure};
use crate::interrupt;
use crate::progress::Progress;

/// Names of a trace that is only converted or counted may take this much.
const NAME_BYTES: usize = 1 << 30;

/// Runs a `trace` command.
pub fn run(command: &TraceCommand, quiet: bool) -> Result<u8, Failure> {
    match command {
        TraceCommand::Convert { from, to } => convert(from, to, quiet),
        TraceCommand::Stat { file, json } => stat(file, *json, quiet),
        TraceCommand::Generate(arguments) => generate(arguments, quiet),
    }
}

fn write_failure(error: WriteError) -> Failure {
    match error.is_broken_pipe() {
        true => Failure::ClosedOutput(exit::NO_VIOLATION),
        false => Failure::BadInput(format!("error: {error}")),
    }
}

/// Reads the whole trace, with progress, unless there is an interrupt.
fn for_each_batch(
    reader: &mut TraceReader,
    file: &Path,
    quiet: bool,
    mut visit: impl FnMut(&Names, &[Access]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut progress = Progress::over(file, quiet);
    let mut batch = Vec::new();
    loop {
        let next = reader.next_batch(&mut batch);
        interrupt::check()?;
        if !next.map_err(|error| read_failure(&error, file))? {
            return Ok(());
        }
        visit(reader.names(), &batch)?;
        progress.update(reader.bytes_consumed(), reader.events(), None);
    }
}

fn convert(from: &Path, to: &Path, quiet: bool) -> Result<u8, Failure> {
    let is_file = |path: &Path| path.as_os_str() != "-";
    if is_file(from)
        && is_file(to)
        && let (Ok(a), Ok(b)) = (from.canonicalize(), to.canonicalize())
        && a == b
    {
        return Err(Failure::BadInput(format!(
            "error: {} would be overwritten while it is read; choose another output",
            from.display()
        )));
    }
    let mut reader = open(from, NAME_BYTES)?;
    let output = Output::new(to);
    let mut writer = output.writer()?;
    for_each_batch(&mut reader, from, quiet, |names, batch| {
        writer.write(names, batch).map_err(write_failure)
    })?;
    writer.finish().map_err(write_failure)?;
    output.keep()
}

/// A file that is being written: under another name until it is complete, and removed if it
/// never is.
struct Output<'a> {
    path: &'a Path,
    partial: Option<PathBuf>,
}

impl<'a> Output<'a> {
    fn new(path: &'a Path) -> Self {
        // What exists and is no file (a pipe, a device) is written as it is.
        let is_special =
            path.as_os_str() == "-" || path.metadata().is_ok_and(|metadata| !metadata.is_file());
        let partial = (!is_special).then(|| {
            let mut name = path.as_os_str().to_owned();
            name.push(".partial");
            PathBuf::from(name)
        });
        Output { path, partial }
    }

    fn writer(&self) -> Result<TraceWriter, Failure> {
        let Some(partial) = &self.partial else {
            return TraceWriter::create(self.path).map_err(write_failure);
        };
        let format = OutputFormat::of_path(self.path).map_err(write_failure)?;
        let file = File::create(partial).map_err(|error| self.failure(&error))?;
        Ok(TraceWriter::new(file, format))
    }

    fn keep(mut self) -> Result<u8, Failure> {
        if let Some(partial) = self.partial.take() {
            let renamed = std::fs::rename(&partial, self.path);
            renamed.map_err(|error| self.failure(&error))?;
        }
        Ok(exit::NO_VIOLATION)
    }

    fn failure(&self, error: &std::io::Error) -> Failure {
        Failure::BadInput(format!(
            "error: cannot create {}: {error}",
            self.path.display()
        ))
    }
}

impl Drop for Output<'_> {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            let _ = std::fs::remove_file(partial);
        }
    }
}

fn generate(arguments: &GenerateArguments, quiet: bool) -> Result<u8, Failure> {
    let options = GenerateOptions {
        threads: arguments.threads,
        addresses: arguments.addresses,
        events: arguments.events,
        seed: arguments.seed,
        mix: arguments.mix,
        shape: arguments.shape,
    };
    let bad = |error: &dyn std::fmt::Display| Failure::BadInput(format!("error: {error}"));
    let mut generator = options.generate().map_err(|error| bad(&error))?;
    let names = options.names();
    let output = Output::new(arguments.output.as_deref().unwrap_or(Path::new("-")));
    let mut writer = output.writer()?;
    let mut progress = Progress::over(Path::new(""), quiet);
    let mut batch = Vec::new();
    let mut events = 0;
    while generator.next_batch(&mut batch) {
        writer.write(&names, &batch).map_err(write_failure)?;
        events += batch.len() as u64;
        progress.update(0, events, None);
        interrupt::check()?;
    }
    writer.finish().map_err(write_failure)?;
    output.keep()
}

/// How many threads are listed one by one.
const MOST_THREADS: usize = 8;

fn stat(file: &Path, as_json: bool, quiet: bool) -> Result<u8, Failure> {
    let mut reader = open(file, NAME_BYTES)?;
    let mut statistics = TraceStatistics::new();
    for_each_batch(&mut reader, file, quiet, |_, batch| {
        statistics.add(batch);
        Ok(())
    })?;
    let kinds = OperationKind::ALL.into_iter();
    let busiest = statistics.busiest_threads(MOST_THREADS).into_iter();
    let object = StatisticsObject {
        schema: json::STATISTICS_SCHEMA,
        kind: "trace-statistics",
        file: file.display().to_string(),
        format: match reader.format() {
            Format::Text => "text",
            Format::Binary => "binary",
        },
        events: statistics.events(),
        reads: statistics.reads(),
        writes: statistics.writes(),
        operations: kinds
            .map(|kind| (kind.mnemonic(), statistics.of_kind(kind)))
            .collect(),
        threads: statistics.threads(),
        busiest_threads: busiest
            .map(|(thread, events)| ThreadObject {
                thread: reader.names().thread_name(thread),
                events,
            })
            .collect(),
        addresses: statistics.addresses(),
        locations: statistics.locations(),
        with_value: statistics.with_value(),
        with_location: statistics.with_location(),
    };
    let text = match as_json {
        true => json::line(&object) + "\n",
        false => statistics_text(&object),
    };
    let mut output = std::io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(exit::NO_VIOLATION)
}

fn statistics_text(object: &StatisticsObject) -> String {
    let mut rows = Vec::new();
    let mut row = |name: String, count: u64| {
        let share = match object.events {
            0 => String::new(),
            events => format!("{:.1} %", 100.0 * count as f64 / events as f64),
        };
        rows.push(vec![
            name,
            format!("{:>15}", grouped(count)),
            format!("{share:>7}"),
        ]);
    };
    for kind in OperationKind::ALL {
        row(kind.to_string(), object.operations[kind.mnemonic()]);
    }
    for thread in &object.busiest_threads {
        row(thread.thread.clone(), thread.events);
    }
    row("with value".into(), object.with_value);
    row("with location".into(), object.with_location);
    let mut text = format!(
        "{}: {} trace, {}, {}, {}, {}\n",
        object.file,
        object.format,
        counted(object.events, "event"),
        counted(object.threads as u64, "thread"),
        counted(object.addresses as u64, "address"),
        counted(object.locations as u64, "source location"),
    );
    text.push_str(&(aligned(&rows, "  ").join("\n") + "\n"));
    if let Some(more) = object
        .threads
        .checked_sub(MOST_THREADS)
        .filter(|&more| more > 0)
    {
        text.push_str(&format!(
            "  and {} that do less\n",
            counted(more as u64, "thread")
        ));
    }
    text
}
