//! The options of `fencepost trace`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use fencepost_trace::{Mix, Shape};

use super::common::{OutputFile, ResultArguments};

#[derive(Subcommand, Debug)]
pub enum TraceCommand {
    /// Write a trace in another format: binary for .fpt, else text; compressed for .gz and .zst
    #[command(after_help = "Example:\n  fencepost trace convert run.trace run.fpt.gz")]
    Convert {
        /// The trace to read, or `-` for standard input
        from: PathBuf,
        /// The trace to write, or `-` for standard output (as text)
        to: PathBuf,
    },

    /// Count the events, threads and addresses of a trace
    #[command(after_help = "Example:\n  fencepost trace stat run.fpt --json")]
    Stat {
        /// The trace, or `-` for standard input
        file: PathBuf,
        #[command(flatten)]
        result: ResultArguments,
    },

    /// Generate a trace from a seed: the same options give the same trace everywhere
    #[command(after_help = GENERATE_HELP)]
    Generate(GenerateArguments),
}

const GENERATE_HELP: &str = "\
The trace is binary if FILE ends in .fpt, else text, and compressed if it ends in .gz or .zst.

Shapes:
  uniform          any thread, any address
  private          each thread mostly has addresses of its own
  hot              a few addresses get most accesses
  message-passing  producers write data and then a flag, consumers read the flag and the data
  locks            threads take locks with `il` and release them with `st`
  stopped-thread   as uniform, but the last thread stops after the first event of the trace

Examples:
  fencepost trace generate --events 20
  fencepost trace generate --threads 8 --events 100000000 --seed 7 --output big.fpt
  fencepost trace generate --mix ld=60,st=40 --shape private --events 1000 --output p.trace";

#[derive(Args, Debug)]
pub struct GenerateArguments {
    /// Generate events of N threads
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub threads: u32,

    /// Use A addresses
    #[arg(long, value_name = "A", default_value_t = 64)]
    pub addresses: u32,

    /// Generate E events
    #[arg(long, value_name = "E", default_value_t = 1000)]
    pub events: u64,

    /// Seed the generator with S
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,

    /// Weight the kinds of operations
    #[arg(
        long,
        value_name = "WEIGHTS",
        default_value = "ld=50,st=40,il=4,lld=1,lst=1,fence=3,stbar=1"
    )]
    pub mix: Mix,

    /// Choose threads and addresses by this pattern
    #[arg(long, value_name = "SHAPE", default_value = "uniform", value_parser = shapes())]
    pub shape: Shape,

    #[command(flatten)]
    pub file: OutputFile,
}

/// Parses the name of a shape, and knows all of them for `--help` and completions.
fn shapes() -> impl TypedValueParser<Value = Shape> {
    let names = Shape::ALL.map(Shape::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Shape>())
}
