//! Options that several commands have, each defined once: one name, one syntax and one help text.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{TypedValueParser, UnknownArgumentValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Args, Command, Error};

use super::values::{size, time};

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
    #[arg(long, short = 'j', value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
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

/// A bound on memory.
#[derive(Args, Debug)]
pub struct MaxMemory {
    /// Stop before more than SIZE of memory is used, such as 500M or 4G
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Limits")]
    pub max_memory: Option<usize>,
}

/// A bound on states.
#[derive(Args, Debug)]
pub struct MaxStates {
    /// Stop after N states
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..),
        help_heading = "Limits"
    )]
    pub max_states: Option<u64>,
}

/// An option that has another name now: the error suggests the new one, with or without a value.
pub fn renamed(old: &'static str, new: &'static str) -> Arg {
    Arg::new(old)
        .long(old)
        .hide(true)
        .num_args(0..=1)
        .default_missing_value("")
        .value_parser(RenamedOption { old, new })
}

/// Fails for every value.
#[derive(Clone)]
struct RenamedOption {
    old: &'static str,
    new: &'static str,
}

impl TypedValueParser for RenamedOption {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        option: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        let parser = UnknownArgumentValueParser::suggest_arg(self.new);
        parser
            .parse_ref(command, option, value)
            .map_err(|mut error| {
                // Otherwise it is shown as `--old [<old>]`.
                let name = ContextValue::String(format!("--{}", self.old));
                error.insert(ContextKind::InvalidArg, name);
                error
            })
    }
}
