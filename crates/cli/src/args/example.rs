//! The options of `fencepost example`.

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

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
pub struct ExampleArguments {
    /// The program
    #[arg(value_parser = PossibleValuesParser::new(fencepost_papers::EXAMPLES.iter().map(|e| e.name)))]
    pub name: Option<String>,

    /// For which machine
    #[arg(long, value_enum, default_value_t = ExampleTarget::X86, requires = "name")]
    pub target: ExampleTarget,

    /// The fixed version, not the original one
    #[arg(long, requires = "name")]
    pub fixed: bool,

    /// Run the program on from a violation, with store buffers, and see what comes of it
    #[arg(long, requires = "name")]
    pub confirm: bool,

    /// Print a smallest set of fences that rules all violations out, instead of a report
    #[arg(long, requires = "name", conflicts_with = "confirm")]
    pub infer_fences: bool,

    /// Run all executions with store buffers: only what goes wrong is a finding
    #[arg(long, requires = "name", conflicts_with_all = ["confirm", "infer_fences"])]
    pub store_buffers: bool,

    /// Stop after so many executions
    #[arg(long, value_name = "N", requires = "name")]
    pub max_executions: Option<u64>,

    /// Print the program's source, and check nothing
    #[arg(long, requires = "name")]
    pub source: bool,

    /// Print JSON, one object per line
    #[arg(long)]
    pub json: bool,
}
