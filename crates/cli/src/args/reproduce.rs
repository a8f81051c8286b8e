//! The options of `fencepost reproduce`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::values::time;

#[derive(Subcommand, Debug)]
pub enum ReproduceCommand {
    /// Fig. 4 of SOBER (Burckhardt and Musuvathi, 2008): executions within preemption bounds
    #[command(
        after_help = "Examples:\n  fencepost reproduce sober\n  fencepost reproduce sober --max-bound 3 --json"
    )]
    Sober(SoberArguments),

    /// Table 1 of BSS (Burnim, Sen and Stergiou, 2010): random executions
    #[command(
        after_help = "Examples:\n  fencepost reproduce bss\n  fencepost reproduce bss --seed 7 --json"
    )]
    Bss(BssArguments),

    /// Section A.9 of x86-TSO (Owens, Sarkar and Sewell, 2009): the verdicts of 24 litmus tests
    #[command(
        name = "x86-tso",
        after_help = "Examples:\n  fencepost reproduce x86-tso\n  fencepost reproduce x86-tso --json"
    )]
    X86Tso(X86TsoArguments),

    /// TSO-CC against TSO-LB (Banks and others, 2017): the protocol, its mutants, any number of caches
    #[command(
        name = "tso-cc",
        after_help = "Examples:\n  fencepost reproduce tso-cc\n  fencepost reproduce tso-cc --only \"mutant 4\"\n  fencepost reproduce tso-cc --full --checkpoint tso-cc-results\n\nExit codes:\n  0   everything is as expected\n  1   something is not\n  3   something did not end, and was expected to"
    )]
    TsoCc(TsoCcArguments),
}

impl ReproduceCommand {
    /// Whether rows are printed as JSON.
    pub fn is_json(&self) -> bool {
        match self {
            ReproduceCommand::Sober(arguments) => arguments.json,
            ReproduceCommand::Bss(arguments) => arguments.json,
            ReproduceCommand::X86Tso(arguments) => arguments.json,
            ReproduceCommand::TsoCc(arguments) => arguments.json,
        }
    }
}

#[derive(Args, Debug)]
pub struct TsoCcArguments {
    /// Also what takes minutes to hours: two addresses, and all mutants
    #[arg(long)]
    pub full: bool,

    /// Only rows with TEXT in their names, such as "mutant 4" (which is not in "mutant 40")
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,

    /// The most time for each search that is too large to end, such as 10m or 2h
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = time, requires = "full")]
    pub max_time: Duration,

    /// Keep results and searches in DIR; the same command goes on with them
    #[arg(long, value_name = "DIR", requires = "full")]
    pub checkpoint: Option<PathBuf>,

    /// Print JSON, one object per row
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct X86TsoArguments {
    /// Print JSON, one object per test
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct SoberArguments {
    /// Leave out larger preemption bounds
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub max_bound: u32,

    /// Print JSON, one object per row
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct BssArguments {
    /// How many random executions of each program
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub executions: u64,

    /// Where the random numbers begin
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Print JSON, one object per row
    #[arg(long)]
    pub json: bool,
}
