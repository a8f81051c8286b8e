//! The options of `fencepost reproduce`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::common::{ResourceLimits, ResultArguments, WorkerArguments};

#[derive(Subcommand, Debug)]
pub enum ReproduceCommand {
    /// Fig. 4 of SOBER (Burckhardt and Musuvathi, 2008): executions within preemption bounds
    #[command(
        after_help = "Examples:\n  fencepost reproduce sober\n  fencepost reproduce sober --max-bound 3 --json"
    )]
    Sober(SoberArguments),

    /// Table 1 of BSS (Burnim, Sen and Stergiou, 2010): random executions
    #[command(
        after_help = "Examples:\n  fencepost reproduce bss\n  fencepost reproduce bss --seed 7 --json\n  fencepost reproduce bss --c"
    )]
    Bss(BssArguments),

    /// Section A.9 of x86-TSO (Owens, Sarkar and Sewell, 2009): the verdicts of 24 litmus tests
    #[command(
        name = "x86-tso",
        after_help = "Examples:\n  fencepost reproduce x86-tso\n  fencepost reproduce x86-tso --json"
    )]
    X86Tso(X86TsoArguments),

    /// TSO-CC against TSO-LB (Banks and others, 2017): the protocol, its mutants, any number of
    /// caches
    #[command(
        name = "tso-cc",
        after_help = "Examples:\n  fencepost reproduce tso-cc\n  fencepost reproduce tso-cc --only \"mutant 4\"\n  fencepost reproduce tso-cc --full --checkpoint tso-cc-results\n\nExit codes:\n  0   all rows have the expected result\n  1   a row has another result\n  3   a search that was expected to finish did not"
    )]
    TsoCc(TsoCcArguments),
}

impl ReproduceCommand {
    /// What is printed, and where.
    pub fn result(&self) -> &ResultArguments {
        match self {
            ReproduceCommand::Sober(arguments) => &arguments.result,
            ReproduceCommand::Bss(arguments) => &arguments.result,
            ReproduceCommand::X86Tso(arguments) => &arguments.result,
            ReproduceCommand::TsoCc(arguments) => &arguments.result,
        }
    }
}

#[derive(Args, Debug)]
#[command(mut_arg("max_time", |argument| {
    argument
        .help("Stop each search that is too large to finish after TIME, such as 30s, 10m or 2h")
        .default_value("1h")
        .requires("full")
}))]
pub struct TsoCcArguments {
    /// Run the rows that take minutes to hours too: two addresses, and all mutants
    #[arg(long)]
    pub full: bool,

    /// Run only rows with TEXT in their names, such as "mutant 4" (which does not match "mutant
    /// 40")
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,

    #[command(flatten)]
    pub workers: WorkerArguments,

    #[command(flatten)]
    pub limits: ResourceLimits,

    /// Save results and unfinished searches in DIR; the same command resumes them
    #[arg(long, value_name = "DIR", requires = "full")]
    pub checkpoint: Option<PathBuf>,

    #[command(flatten)]
    pub result: ResultArguments,
}

#[derive(Args, Debug)]
pub struct X86TsoArguments {
    #[command(flatten)]
    pub result: ResultArguments,
}

#[derive(Args, Debug)]
pub struct SoberArguments {
    /// Run preemption bounds up to N
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub max_bound: u32,

    #[command(flatten)]
    pub result: ResultArguments,
}

#[derive(Args, Debug)]
pub struct BssArguments {
    /// Run N random executions of each program
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub executions: u64,

    /// Seed the random scheduler with N
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Measure the same programs in C too, compiled by the compiler of CC, or the first in PATH
    #[arg(long)]
    pub c: bool,

    #[command(flatten)]
    pub result: ResultArguments,
}
