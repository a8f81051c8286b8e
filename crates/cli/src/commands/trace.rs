//! `fencepost trace convert`, `stat` and `generate`.

use std::io::Write;
use std::path::Path;

use fencepost_memory::{Access, OperationKind};
use fencepost_report::columns::aligned;
use fencepost_report::json::{self, StatisticsObject, ThreadObject};
use fencepost_report::text::{counted, grouped};
use fencepost_trace::{
    Format, GenerateOptions, Names, OutputFormat, TraceReader, TraceStatistics, TraceWriter,
    WriteError,
};

use super::{open, read_failure};
use crate::args::{GenerateArguments, ResultArguments, TraceCommand};
use crate::exit::{self, Failure};
use crate::files::{PartialFile, ResultStream, refuse_overwriting};
use crate::interrupt;
use crate::progress::TraceProgress;

/// The most bytes for the names of a trace that is converted or counted.
const NAME_BYTES: usize = 1 << 30;

/// Runs a `trace` command.
pub fn run(command: &TraceCommand, quiet: bool) -> Result<u8, Failure> {
    match command {
        TraceCommand::Convert { from, to } => convert(from, to, quiet),
        TraceCommand::Stat { file, result } => stat(file, result, quiet),
        TraceCommand::Generate(arguments) => generate(arguments, quiet),
    }
}

fn write_failure(error: WriteError) -> Failure {
    match error.is_broken_pipe() {
        true => Failure::ClosedOutput(exit::NO_VIOLATION),
        false => Failure::BadInput(format!("error: {error}")),
    }
}

/// Reads the whole trace and shows progress. Fails at an interrupt.
fn for_each_batch(
    reader: &mut TraceReader,
    file: &Path,
    quiet: bool,
    mut visit: impl FnMut(&Names, &[Access]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let progress = TraceProgress::of_file(file, quiet);
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
    refuse_overwriting(from, to)?;
    let mut reader = open(from, NAME_BYTES)?;
    let output = PartialFile::new(to);
    let mut writer = writer(&output)?;
    for_each_batch(&mut reader, from, quiet, |names, batch| {
        writer.write(names, batch).map_err(write_failure)
    })?;
    writer.finish().map_err(write_failure)?;
    output.keep()?;
    Ok(exit::NO_VIOLATION)
}

/// A writer in the format that the name of the file asks for.
fn writer(output: &PartialFile<'_>) -> Result<TraceWriter, Failure> {
    let path = output.path();
    let format = OutputFormat::of_path(path);
    match output.create()? {
        Some(file) => Ok(TraceWriter::new(file, format.map_err(write_failure)?)),
        None => TraceWriter::create(path).map_err(write_failure),
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
    let output = arguments.file.output.as_deref();
    let output = PartialFile::new(output.unwrap_or(Path::new("-")));
    let mut writer = writer(&output)?;
    let progress = TraceProgress::of_stream(quiet);
    let mut batch = Vec::new();
    let mut events = 0;
    while generator.next_batch(&mut batch) {
        writer.write(&names, &batch).map_err(write_failure)?;
        events += batch.len() as u64;
        progress.update(0, events, None);
        interrupt::check()?;
    }
    writer.finish().map_err(write_failure)?;
    output.keep()?;
    Ok(exit::NO_VIOLATION)
}

/// The most threads that are listed one by one.
const MOST_THREADS: usize = 8;

fn stat(file: &Path, result: &ResultArguments, quiet: bool) -> Result<u8, Failure> {
    let mut output = ResultStream::open(result.file.output.as_deref(), [file])?;
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
    let text = match result.json {
        true => json::line(&object) + "\n",
        false => statistics_text(&object),
    };
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
            "  and {} with fewer events\n",
            counted(more as u64, "thread")
        ));
    }
    text
}
