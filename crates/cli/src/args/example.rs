//! The options of `fencepost example`.

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use super::common::{MaxTime, ResultArguments, WorkerArguments};

pub(super) const HELP: &str = "\
Examples:
  fencepost example
  fencepost example idle-consumer --confirm
  fencepost example msn --target pso --infer-fences
  fencepost example takequeue --fixed";

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExampleTarget {
    /// Total store order
    X86,
    /// Partial store order
    Pso,
}

#[derive(Args, Debug)]
#[command(
    mut_arg("workers", |argument| argument.requires("name").help("Use N worker threads [default: 1]")),
    mut_arg("max_time", |argument| argument.requires("name")),
)]
pub struct ExampleArguments {
    /// Name of the program
    #[arg(value_parser = PossibleValuesParser::new(fencepost_papers::EXAMPLES.iter().map(|e| e.name)))]
    pub name: Option<String>,

    /// Check for this machine
    #[arg(long, value_enum, default_value_t = ExampleTarget::X86, requires = "name")]
    pub target: ExampleTarget,

    /// Check the fixed version instead of the original one
    #[arg(long, requires = "name")]
    pub fixed: bool,

    /// Continue from each violation with store buffers, to see whether the program fails
    #[arg(long, requires = "name")]
    pub confirm: bool,

    /// Infer a smallest set of fences that rules out all violations
    #[arg(long, requires = "name", conflicts_with = "confirm")]
    pub infer_fences: bool,

    /// Run all executions with store buffers, and report failures of the program only
    #[arg(long, requires = "name", conflicts_with_all = ["confirm", "infer_fences"])]
    pub store_buffers: bool,

    #[command(flatten)]
    pub workers: WorkerArguments,

    /// Stop after N executions
    #[arg(long, value_name = "N", requires = "name", help_heading = "Limits")]
    pub max_executions: Option<u64>,

    #[command(flatten)]
    pub max_time: MaxTime,

    /// Print the source of the program instead of checking it
    #[arg(long, requires = "name")]
    pub source: bool,

    #[command(flatten)]
    pub result: ResultArguments,
}
