//! The commands. Each returns the exit code, or why it stopped early.

use std::path::Path;

use fencepost_trace::{Limits, ReadError, TraceReader};

use crate::exit::Failure;

pub mod demo;
pub mod example;
pub mod litmus;
pub mod monitor;
pub mod protocol;
pub mod reproduce;
pub mod shell;
pub mod trace;

/// Opens a trace; names may take this many bytes.
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
