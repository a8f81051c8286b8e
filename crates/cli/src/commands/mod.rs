//! The commands. Each returns the exit code, or why it stopped early.

use std::io::Write;
use std::path::Path;

use fencepost_report::json;
use fencepost_trace::{Limits, ReadError, TraceReader};

use crate::exit::Failure;

pub mod cc;
pub mod demo;
pub mod example;
pub mod litmus;
pub mod monitor;
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    allow(dead_code, reason = "such programs are refused there")
)]
mod native;
pub mod protocol;
pub mod reproduce;
pub mod run;
pub mod shell;
pub mod trace;

/// Ends JSON output with an object for the failure of a command.
fn write_json_failure(schema: &'static str, failure: &Failure, output: &mut impl Write) {
    if matches!(failure, Failure::ClosedOutput(_)) {
        return;
    }
    let object = json::ErrorObject {
        schema,
        kind: "error",
        exit_code: failure.exit_code(),
        message: failure.to_string(),
    };
    // If this cannot be written, the exit code still tells.
    let _ = writeln!(output, "{}", json::line(&object)).and_then(|()| output.flush());
}

/// Opens a trace whose names may take this many bytes.
fn open(path: &Path, name_bytes: usize) -> Result<TraceReader, Failure> {
    let limits = Limits {
        max_name_bytes: name_bytes as u64,
        ..Limits::default()
    };
    TraceReader::open_path(path, &limits).map_err(|error| read_failure(&error, path))
}

fn read_failure(error: &ReadError, path: &Path) -> Failure {
    let message = error.render(path);
    match error.is_limit() {
        true => Failure::Limit(message),
        false => Failure::BadInput(message),
    }
}
