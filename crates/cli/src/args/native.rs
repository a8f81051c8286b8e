//! The options of `fencepost cc` and `fencepost run`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::common::{MaxTime, ResultArguments};
use super::example::ExampleTarget;
use super::values::{stack_size, workers_or_all};

pub(super) const CC_HELP: &str = "\
The program runs as it is, with its own compiler and C library. Files are compiled with the
options after `--`; the environment variables FENCEPOST_* set what no option here does.

Examples:
  fencepost cc queue.c
  fencepost cc --target pso --infer-fences queue.c -- -O2 -DSLOTS=2
  fencepost cc -o queue main.cpp queue.c -- -std=c++20 -lm";

pub(super) const RUN_HELP: &str = "\
The program has to be built with fencepost-cc as its C compiler and fencepost-cxx as its C++ compiler.
The environment variables FENCEPOST_* set what no option here does.

Examples:
  make CC=fencepost-cc && fencepost run ./queue
  fencepost run --max-time 10m ./queue 2 100";

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// All interleavings
    Exhaustive,
    /// All interleavings with few preemptions
    Bounded,
    /// Random interleavings
    Random,
    /// Random priorities
    Pct,
}

impl Strategy {
    /// As the variable takes it.
    pub fn word(self) -> &'static str {
        match self {
            Strategy::Exhaustive => "exhaustive",
            Strategy::Bounded => "bounded",
            Strategy::Random => "random",
            Strategy::Pct => "pct",
        }
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Races {
    /// A data race is an error
    Error,
    /// Racy plain accesses are accesses as others are; the compiler is assumed to have kept them
    Allow,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Switch {
    On,
    Off,
}

impl Switch {
    /// As variables take it.
    pub fn word(self) -> &'static str {
        match self {
            Switch::On => "on",
            Switch::Off => "off",
        }
    }
}

#[derive(Args, Debug)]
pub struct CcArguments {
    /// C and C++ files, objects and libraries
    #[arg(value_name = "FILES", required = true)]
    pub files: Vec<OsString>,

    /// Options of the compiler
    #[arg(value_name = "CFLAGS", last = true, allow_hyphen_values = true)]
    pub flags: Vec<OsString>,

    /// Compile with this compiler, gcc or clang [default: that of CC and CXX, or else the first in PATH]
    #[arg(long, value_name = "COMMAND")]
    pub compiler: Option<OsString>,

    /// Link with this library
    #[arg(short = 'l', value_name = "LIBRARY")]
    pub libraries: Vec<OsString>,

    /// Keep the executable
    #[arg(short = 'o', long = "executable", value_name = "FILE")]
    pub executable: Option<PathBuf>,

    /// Arguments of the program, split as by a shell
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true)]
    pub args: Option<OsString>,

    /// An argument of the program, after those of --args; may be repeated
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub arg: Vec<OsString>,

    #[command(flatten)]
    pub check: CheckArguments,

    /// Print JSON, one object per line
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// Write the result to FILE instead of standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct RunArguments {
    /// The program and its arguments
    #[arg(
        value_name = "PROGRAM",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub program: Vec<OsString>,

    #[command(flatten)]
    pub check: CheckArguments,

    #[command(flatten)]
    pub result: ResultArguments,
}

/// How a program is checked. Each option is a variable of the runtime library.
#[derive(Args, Debug)]
pub struct CheckArguments {
    /// Check for this machine [default: x86]
    #[arg(long, value_enum, hide_default_value = true)]
    pub target: Option<ExampleTarget>,

    /// Run these interleavings [default: exhaustive]
    #[arg(long, value_enum)]
    pub strategy: Option<Strategy>,

    /// Run interleavings with up to N preemptions only
    #[arg(long, value_name = "N")]
    pub preemption_bound: Option<u32>,

    /// Run N executions, if they are random or to confirm a violation [default: 10000]
    #[arg(long, value_name = "N")]
    pub executions: Option<u64>,

    /// Choose random interleavings by this number [default: 0]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Decide whether a data race is an error [default: error]
    #[arg(long, value_enum)]
    pub races: Option<Races>,

    /// Continue from each violation with store buffers, to see whether the program fails
    #[arg(long)]
    pub confirm: bool,

    /// Infer a smallest set of fences that rules out all violations
    #[arg(long)]
    pub infer_fences: bool,

    /// Check with a fence at this place, such as queue.c:31:9 or queue.c:31=release; may be repeated
    #[arg(long, value_name = "PLACE")]
    pub insert_fence: Vec<String>,

    /// Run all executions with store buffers, and report failures of the program only
    #[arg(long, conflicts_with_all = ["confirm", "infer_fences"])]
    pub store_buffers: bool,

    /// Run up to N rounds of each loop that waits
    #[arg(long, value_name = "N")]
    pub spin_bound: Option<u32>,

    /// Give each thread a stack of SIZE, such as 64K or 8M
    #[arg(long, value_name = "SIZE", value_parser = stack_size)]
    pub stack_size: Option<usize>,

    /// Decide whether memory that is not freed is an error [default: on]
    #[arg(long, value_enum)]
    pub leak_check: Option<Switch>,

    /// Continue after the first finding, and count them
    #[arg(long)]
    pub continue_after_failure: bool,

    /// Run one execution again, with the schedule from a report
    #[arg(long, value_name = "SCHEDULE")]
    pub replay: Option<String>,

    /// Keep the progress in PATH, and continue from there
    #[arg(long, value_name = "PATH")]
    pub checkpoint: Option<PathBuf>,

    /// As for other checks; programs in C and C++ are checked by one worker so far
    #[arg(long, short = 'j', value_name = "N", value_parser = workers_or_all)]
    pub workers: Option<String>,

    /// Stop after N executions
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub max_executions: Option<u64>,

    /// Report an execution with more than N steps [default: 100000]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub max_steps: Option<u64>,

    #[command(flatten)]
    max_time: MaxTime,
}

impl CheckArguments {
    pub fn max_time(&self) -> Option<Duration> {
        self.max_time.max_time
    }
}
