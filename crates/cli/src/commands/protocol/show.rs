//! The result of a search, on standard output and in files.

use std::io::Write;
use std::path::Path;

use fencepost_report::json::protocol as json;
use fencepost_report::protocol::{self, Checked, chart};

use crate::args::{ProtocolArguments, TraceFormat};
use crate::exit::Failure;
use crate::files;

/// The width of reports.
const WIDTH: usize = 100;

/// Refuses options that contradict each other.
pub fn check_arguments(arguments: &ProtocolArguments) -> Result<(), Failure> {
    let is_svg = arguments.trace_format() == TraceFormat::Svg;
    if arguments.result.json && is_svg && arguments.result.file.output.is_none() {
        let message = "error: --json and --trace svg both go to standard output\nhelp: write the chart to a file with --output";
        return Err(Failure::BadInput(message.into()));
    }
    match &arguments.result.file.output {
        Some(path) => files::check_writable(path),
        None => Ok(()),
    }
}

/// Shows the result, and writes the counterexample if there is a file for it.
pub fn show(checked: &Checked<'_>, arguments: &ProtocolArguments) -> Result<(), Failure> {
    let format = arguments.trace_format();
    let written = match &arguments.result.file.output {
        Some(path) => write_trace(checked, format, path),
        None => Ok(()),
    };
    // The result is shown even if the file cannot be written.
    show_result(checked, arguments, format)?;
    written
}

fn show_result(
    checked: &Checked<'_>,
    arguments: &ProtocolArguments,
    format: TraceFormat,
) -> Result<(), Failure> {
    let mut output = anstream::AutoStream::auto(std::io::stdout());
    if arguments.result.json {
        if arguments.result.file.output.is_none()
            && let Some(trace) = json::trace(checked)
        {
            writeln!(output, "{trace}")?;
        }
        let version = env!("CARGO_PKG_VERSION");
        writeln!(
            output,
            "{}",
            json::summary(checked, arguments.coverage, version)
        )?;
        output.flush()?;
        return Ok(());
    }
    let is_text = format == TraceFormat::Text && arguments.result.file.output.is_none();
    let mut report = protocol::report(checked, is_text, WIDTH);
    if arguments.coverage {
        report += &format!("\n{}", protocol::coverage(checked, WIDTH));
    }
    let trace = match (&arguments.result.file.output, format) {
        (None, TraceFormat::Json) => json::trace(checked).map(|line| line + "\n"),
        (None, TraceFormat::Svg) => chart::svg(checked),
        _ => None,
    };
    match trace {
        // Standard output has nothing but the trace, so that it can be piped on.
        Some(trace) => {
            let _ = write!(anstream::stderr(), "{report}");
            std::io::stdout().write_all(trace.as_bytes())?;
        }
        None => output.write_all(report.as_bytes())?,
    }
    output.flush()?;
    Ok(())
}

/// Writes the counterexample, or a note that there is none.
fn write_trace(checked: &Checked<'_>, format: TraceFormat, path: &Path) -> Result<(), Failure> {
    let trace = match format {
        TraceFormat::Text => {
            let trace = checked.report.trace.as_ref();
            trace.map(|trace| plain(&protocol::trace(checked.model, trace, WIDTH)))
        }
        TraceFormat::Json => json::trace(checked).map(|line| line + "\n"),
        TraceFormat::Svg => chart::svg(checked),
    };
    let Some(trace) = trace else {
        let _ = writeln!(
            anstream::stderr(),
            "note: no counterexample, so {} was not written",
            path.display()
        );
        return Ok(());
    };
    files::write(path, &trace)
}

/// The text without colours, for a file.
fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}
