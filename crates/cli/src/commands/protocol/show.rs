//! What came of a search, on standard output and in files.

use std::io::Write;
use std::path::Path;

use fencepost_report::json::protocol as json;
use fencepost_report::protocol::{self, SearchedModel, chart};

use crate::args::{ProtocolArguments, TraceFormat};
use crate::exit::Failure;

/// How wide reports are.
const WIDTH: usize = 100;

/// Refuses what does not go together.
pub fn check_arguments(arguments: &ProtocolArguments) -> Result<(), Failure> {
    let is_svg = arguments.trace_format() == TraceFormat::Svg;
    if arguments.json && is_svg && arguments.output.is_none() {
        let message =
            "error: a chart does not go between lines of JSON; name a file for it with --output";
        return Err(Failure::BadInput(message.into()));
    }
    match &arguments.output {
        // Before a search that may take hours.
        Some(path) => super::checkpoint::check(path),
        None => Ok(()),
    }
}

/// Shows what came of it.
pub fn show(checked: &SearchedModel<'_>, arguments: &ProtocolArguments) -> Result<(), Failure> {
    let format = arguments.trace_format();
    let written = match &arguments.output {
        Some(path) => write_trace(checked, format, path),
        None => Ok(()),
    };
    // What was found is worth more than a file that cannot be written.
    show_result(checked, arguments, format)?;
    written
}

fn show_result(
    checked: &SearchedModel<'_>,
    arguments: &ProtocolArguments,
    format: TraceFormat,
) -> Result<(), Failure> {
    let mut output = anstream::AutoStream::auto(std::io::stdout());
    if arguments.json {
        if arguments.output.is_none()
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
    let is_text = format == TraceFormat::Text && arguments.output.is_none();
    let mut report = protocol::report(checked, is_text, WIDTH);
    if arguments.coverage {
        report += &format!("\n{}", protocol::coverage(checked, WIDTH));
    }
    let trace = match (&arguments.output, format) {
        (None, TraceFormat::Json) => json::trace(checked).map(|line| line + "\n"),
        (None, TraceFormat::Svg) => chart::svg(checked),
        _ => None,
    };
    match trace {
        // The trace alone is the result then, so that it can be piped on.
        Some(trace) => {
            let _ = write!(anstream::stderr(), "{report}");
            std::io::stdout().write_all(trace.as_bytes())?;
        }
        None => output.write_all(report.as_bytes())?,
    }
    output.flush()?;
    Ok(())
}

/// Writes the way to the error, or says that there is none.
fn write_trace(
    checked: &SearchedModel<'_>,
    format: TraceFormat,
    path: &Path,
) -> Result<(), Failure> {
    let shown = path.display();
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
            "note: there is no way to an error, so {shown} was not written"
        );
        return Ok(());
    };
    std::fs::write(path, trace)
        .map_err(|error| Failure::BadInput(format!("error: cannot write {shown}: {error}")))
}

/// Without colours: a file is no terminal.
fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}
