//! Options that several commands have, each defined once: one name, one syntax and one help text.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::values::{count, size, time, workers};

/// What a command prints, and where.
#[derive(Args, Debug)]
pub struct ResultArguments {
    /// Print JSON, one object per line
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    #[command(flatten)]
    pub file: OutputFile,
}

/// The file that a command writes its result to.
#[derive(Args, Debug)]
pub struct OutputFile {
    /// Write the result to FILE instead of standard output
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

/// The number of worker threads.
#[derive(Args, Debug)]
pub struct WorkerArguments {
    /// Use N worker threads [default: one per processor]
    #[arg(long, short = 'j', value_name = "N", value_parser = workers)]
    pub workers: Option<u16>,
}

impl WorkerArguments {
    /// The number of workers: as given, or one per processor.
    pub fn count(&self) -> usize {
        self.workers.map_or_else(
            || std::thread::available_parallelism().map_or(1, usize::from),
            usize::from,
        )
    }
}

/// A bound on time.
#[derive(Args, Debug)]
pub struct MaxTime {
    /// Stop after TIME, such as 30s, 10m or 2h
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Limits")]
    pub max_time: Option<Duration>,
}

/// Bounds on time and memory.
#[derive(Args, Debug)]
pub struct ResourceLimits {
    #[command(flatten)]
    time: MaxTime,

    /// Stop before more than SIZE of memory is used, such as 500M or 4G
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Limits")]
    pub max_memory: Option<usize>,
}

impl ResourceLimits {
    pub fn max_time(&self) -> Option<Duration> {
        self.time.max_time
    }

    /// The most bytes, for a command whose default is no bound.
    pub fn max_bytes(&self) -> usize {
        self.max_memory.unwrap_or(usize::MAX)
    }
}

/// A bound on states.
#[derive(Args, Debug)]
pub struct MaxStates {
    /// Stop after N states
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Limits")]
    pub max_states: Option<u64>,
}
