//! The command line: one definition for parsing, `--help`, completions and the man page.

mod common;
mod example;
mod litmus;
mod models;
mod monitor;
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    allow(dead_code, reason = "such programs are refused there")
)]
mod native;
mod old_names;
mod protocol;
mod reproduce;
mod trace;
mod values;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

pub use common::ResultArguments;
pub use example::{ExampleArguments, ExampleTarget};
pub use litmus::{LitmusArguments, Witnesses};
pub use models::PsoLocked;
pub use monitor::{DEFAULT_MAX_FINDINGS, MonitorArguments, MonitorChoice};
pub use native::{CcArguments, RunArguments};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use native::{CheckArguments, Races};
pub use protocol::{ConstantArgument, ProtocolArguments, TraceFormat};
pub use reproduce::{ReproduceCommand, TsoCcArguments};
pub use trace::{GenerateArguments, TraceCommand};

use crate::exit;

/// Checks lock-free code, litmus tests and cache-coherence protocols.
#[derive(Parser, Debug)]
#[command(name = "fencepost", version, after_help = exit::HELP, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,

    #[command(flatten)]
    pub display: DisplayArguments,
}

impl Arguments {
    /// The arguments of this process. Leaves it if they are wrong, or ask for help.
    pub fn of_process() -> Self {
        let mut command = old_names::with_old_names(Arguments::command());
        let matches = command.try_get_matches_from_mut(std::env::args_os());
        let mut matches =
            matches.unwrap_or_else(|error| old_names::with_new_suggestion(error).exit());
        Arguments::from_arg_matches_mut(&mut matches)
            .unwrap_or_else(|error| error.format(&mut command).exit())
    }
}

#[derive(Args, Debug)]
pub struct DisplayArguments {
    /// Use colour (NO_COLOR is respected)
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    pub color: Color,

    /// Hide progress
    #[arg(long, short, global = true, help_heading = "Output")]
    pub quiet: bool,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Show what Fencepost does, on a small Rust program and a recorded trace
    Demo,

    /// Find store-buffer violations in a recorded interleaving
    #[command(after_help = format!("{}\n\n{}", monitor::HELP, exit::HELP))]
    Monitor(MonitorArguments),

    /// Convert, summarise and generate traces
    #[command(subcommand)]
    Trace(TraceCommand),

    /// Check one of the papers' programs, as published or fixed; without a name, list them
    #[command(after_help = format!("{}\n\n{}", example::HELP, exit::HELP))]
    Example(ExampleArguments),

    /// Compile a C or C++ program and check it
    #[command(after_help = format!("{}\n\n{}", native::CC_HELP, exit::HELP))]
    Cc(CcArguments),

    /// Check an executable that was made with fencepost-cc or fencepost-cxx
    #[command(after_help = format!("{}\n\n{}", native::RUN_HELP, exit::HELP))]
    Run(RunArguments),

    /// Find all final states of litmus tests under a memory model
    #[command(after_help = format!("{}\n\n{}", litmus::HELP, exit::HELP))]
    Litmus(LitmusArguments),

    /// Search all states of a Murphi model for errors
    #[command(after_help = format!("{}\n\n{}", protocol::HELP, exit::HELP))]
    Protocol(ProtocolArguments),

    /// Reproduce the tables of the papers, next to the papers' figures
    #[command(subcommand)]
    Reproduce(ReproduceCommand),

    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },

    /// Print the manual page of fencepost, or of one of its commands
    #[command(
        after_help = "Examples:\n  fencepost man | man -l -\n  fencepost man trace generate | man -l -"
    )]
    Man {
        /// The command, such as `monitor` or `trace generate`
        command: Vec<String>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
        old_names::with_old_names(Arguments::command()).debug_assert();
    }
}
