//! `fencepost demo`: what Fencepost does, on a Rust program that is bundled with the command, and
//! on a recorded run.

use std::io::Write;

use fencepost::{Checker, Outcome};
use fencepost_memory::{Access, StraightLineProgram};
use fencepost_monitor::{MonitorRunner, RelaxedOrderMonitor};
use fencepost_report::columns::aligned;
use fencepost_report::style::{DIM, HEADING, Styled};
use fencepost_report::{Naming, text};
use fencepost_trace::{Names, TraceReader};

use crate::demo_programs::dekker;
use crate::exit::{self, Failure};
use crate::names::TraceNames;

/// Where the part of the program begins that is shown.
const SHOWN_FROM: &str = "struct Dekker";

const TRACE_PATH: &str = "traces/n6.trace";
const TRACE: &str = include_str!("n6.trace");

/// Runs the demonstration.
pub fn run() -> Result<u8, Failure> {
    let mut output = anstream::AutoStream::auto(std::io::stdout());
    show_check(&mut output)?;
    show_monitor(&mut output)?;
    output.flush()?;
    Ok(exit::NO_VIOLATION)
}

fn show_check(output: &mut impl Write) -> Result<(), Failure> {
    let (file, source) = dekker::SOURCE;
    let check = |is_fenced| {
        let program = move || dekker::two_threads_count(is_fenced);
        Checker::new()
            .without_environment()
            .source(file, source)
            .progress(false)
            .run(program)
    };

    heading(
        output,
        "1. A Rust program is checked: Dekker's lock without fences",
    )?;
    let lines = source.lines().enumerate();
    let shown = lines.skip_while(|(_, line)| !line.starts_with(SHOWN_FROM));
    for (index, line) in shown {
        let number = format!("{:4} |", index + 1);
        writeln!(output, "{} {line}", Styled(DIM, number))?;
    }
    let unfenced = check(false);
    if !matches!(unfenced, Outcome::NotStoreBufferSafe(_)) {
        return Err(unexpected("without fences", &unfenced));
    }
    writeln!(output, "\n{}", unfenced.report())?;

    heading(output, "2. The same program with its fences (`is_fenced`)")?;
    let fenced = check(true);
    if !fenced.is_verified() {
        return Err(unexpected("with fences", &fenced));
    }
    writeln!(output, "{}", fenced.report())?;
    Ok(())
}

fn unexpected(which: &str, outcome: &Outcome) -> Failure {
    Failure::Internal(format!("the bundled Dekker {which}: {outcome}"))
}

fn heading(output: &mut impl Write, title: &str) -> Result<(), Failure> {
    Ok(writeln!(output, "{}\n", Styled(HEADING, title))?)
}

fn show_monitor(output: &mut impl Write) -> Result<(), Failure> {
    let title = "3. A recorded run is monitored: n6, a load that reads its own store early";
    heading(output, title)?;
    let (names, accesses) = read()?;
    let names = TraceNames(&names);
    for line in columns(&accesses, &names) {
        writeln!(output, "{line}")?;
    }
    writeln!(output)?;
    show_violation(&accesses, &names, output)
}

fn read() -> Result<(Names, Vec<Access>), Failure> {
    let broken = |error| Failure::Internal(format!("the bundled {TRACE_PATH}: {error}"));
    let mut reader = TraceReader::open(TRACE.as_bytes()).map_err(broken)?;
    let accesses = reader.read_to_end().map_err(broken)?;
    Ok((reader.into_names(), accesses))
}

/// The interleaving with one column per thread.
fn columns(accesses: &[Access], names: &dyn Naming) -> Vec<String> {
    let threads = StraightLineProgram::of_accesses(accesses).threads.len();
    let thread = |number: usize| fencepost_memory::ThreadId(number as u32);
    let mut rows = vec![
        (0..threads)
            .map(|t| names.thread(thread(t)))
            .collect::<Vec<_>>(),
    ];
    for access in accesses {
        let mut row = vec![String::new(); threads];
        row[access.thread.index()] = names.operation(access);
        rows.push(row);
    }
    aligned(&rows, "    ")
}

fn show_violation(
    accesses: &[Access],
    names: &dyn Naming,
    output: &mut impl Write,
) -> Result<(), Failure> {
    let mut runner = MonitorRunner::new(RelaxedOrderMonitor::tso());
    for &access in accesses {
        let violation = runner.observe(access);
        let violation = violation.map_err(|error| Failure::Limit(error.to_string()))?;
        let Some(violation) = violation else { continue };
        let explained = runner.explain(&violation);
        if let Err(error) = &explained {
            return Err(Failure::Internal(error.to_string()));
        }
        let finding = text::finding(1, &violation, &explained, names);
        write!(output, "{finding}")?;
        writeln!(
            output,
            "\n  replay: fencepost monitor {TRACE_PATH} --model tso"
        )?;
        return Ok(());
    }
    Err(Failure::Internal(format!(
        "no violation in the bundled {TRACE_PATH}"
    )))
}
