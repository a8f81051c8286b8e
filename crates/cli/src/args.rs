//! The command line: one definition for parsing, `--help`, completions and the man page.

mod protocol;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use fencepost_memory::{LockedDrains, MemoryModel};
use fencepost_trace::{Mix, Shape};

pub use protocol::{ProtocolArguments, TraceFormat};

use crate::exit;

/// Finds store-buffer bugs in low-lock code and explains them.
#[derive(Parser, Debug)]
#[command(name = "fencepost", version, after_help = exit::HELP, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,

    #[command(flatten)]
    pub output: OutputArguments,
}

#[derive(Args, Debug)]
pub struct OutputArguments {
    /// When to use colour (NO_COLOR is respected)
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    pub color: Color,

    /// Show no progress
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
    /// Show what Fencepost does, on a small Rust program and a recorded run
    Demo,

    /// Does this interleaving show that the program can leave sequential consistency?
    #[command(after_help = format!("{MONITOR_HELP}\n\n{}", exit::HELP))]
    Monitor(MonitorArguments),

    /// Convert, summarise and generate traces
    #[command(subcommand)]
    Trace(TraceCommand),

    /// Check one of the papers' programs, as published or fixed; without a name, list them
    #[command(after_help = format!("{EXAMPLE_HELP}\n\n{}", exit::HELP))]
    Example(ExampleArguments),

    /// What does a memory model allow? All final states of litmus tests
    #[command(after_help = format!("{LITMUS_HELP}\n\n{}", exit::HELP))]
    Litmus(LitmusArguments),

    /// Does anything go wrong in a Murphi model? All states, shortest traces
    #[command(after_help = format!("{}\n\n{}", protocol::HELP, exit::HELP))]
    Protocol(ProtocolArguments),

    /// Measure the tables of the papers again, next to the papers' figures
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

#[derive(Args, Debug)]
pub struct TsoCcArguments {
    /// Also what takes minutes to hours: two addresses, and all mutants
    #[arg(long)]
    pub full: bool,

    /// Only rows with TEXT in their names, such as "mutant 4" (which is not in "mutant 40")
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,

    /// The most time for each search that is too large to end, such as 10m or 2h
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = protocol::time, requires = "full")]
    pub max_time: std::time::Duration,

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
    #[arg(value_parser = PossibleValuesParser::new(fencepost_example_papers::EXAMPLES.iter().map(|e| e.name)))]
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
    pub fences: bool,

    /// Run all executions with store buffers: only what goes wrong is a finding
    #[arg(long, requires = "name", conflicts_with_all = ["confirm", "fences"])]
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

const EXAMPLE_HELP: &str = "\
Examples:
  fencepost example
  fencepost example idle-consumer --confirm
  fencepost example msn --target pso --fences
  fencepost example takequeue --fixed";

const MONITOR_HELP: &str = "\
The trace is one sequentially consistent interleaving, one event per line:
    T0 st x =1 @app.c:10
    T0 ld y
or the binary format; either may be compressed (gzip, zstd). See docs/trace-format.md.

One interleaving can show a violation. That it shows none does not prove the program safe:
another interleaving may show one.

Examples:
  fencepost monitor run.trace
  fencepost monitor run.fpt.gz --model pso --max-findings 1
  my-tracer ./app | fencepost monitor - --json | tail -n 1";

/// How many distinct violations are shown in full.
pub const DEFAULT_MAX_FINDINGS: usize = 3;

#[derive(Args, Debug)]
pub struct MonitorArguments {
    /// The trace, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// The memory model to watch for [default: that of the monitor, else tso]
    #[arg(long, value_enum, value_name = "MODEL")]
    pub model: Option<ModelName>,

    /// What a locked operation drains under PSO [default: everything; own-address for bss-pso]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub pso_locked: Option<PsoLocked>,

    /// The monitor
    #[arg(long, value_enum, value_name = "NAME", default_value_t = MonitorName::RelaxedOrder)]
    pub monitor: MonitorName,

    /// Print JSON, one object per line; the last line is the summary
    #[arg(long)]
    pub json: bool,

    /// How many distinct violations to show in full; the rest is counted
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_FINDINGS)]
    pub max_findings: usize,

    /// Stop after this many events
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub max_events: Option<u64>,

    /// The most memory for clocks, history and names, such as 500M or 4G
    #[arg(long, value_name = "SIZE", default_value = "4G", value_parser = size, help_heading = "Limits")]
    pub memory_limit: usize,

    /// How many of the latest events are kept for witnesses; if a violation spans more, a file is
    /// read again, a pipe cannot be
    #[arg(
        long,
        value_name = "N",
        default_value_t = 65_536,
        help_heading = "Limits"
    )]
    pub witness_window: usize,
}

const LITMUS_HELP: &str = "\
Examples:
  fencepost litmus sb.litmus                          what x86-TSO allows
  fencepost litmus --model sc,tso,pso tests/          a directory, under three models
  fencepost litmus --witness --svg sb.svg sb.litmus   how the outcome comes about, and a picture
  fencepost litmus --robust sb.litmus                 is it store-buffer safe?
  fencepost litmus --compare herd.log tests/          what differs from an earlier log

Output is as herd7 prints it, except that Positive, Negative and Observation count final states.
A test whose verdict is No is an answer, not an error: the exit code is 0 unless --fail-on-no.";

#[derive(Args, Debug)]
pub struct LitmusArguments {
    /// Litmus tests: files, directories (every *.litmus below), lists (@all), or `-` for standard input
    #[arg(required = true, value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,

    /// The memory models
    #[arg(
        long,
        value_enum,
        value_name = "MODEL",
        value_delimiter = ',',
        default_value = "tso"
    )]
    pub model: Vec<LitmusModel>,

    /// What a locked instruction drains under PSO
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = PsoLocked::Everything)]
    pub pso_locked: PsoLocked,

    /// Print JSON, one object per line, for each test and model
    #[arg(long)]
    pub json: bool,

    /// Print how each final state comes about, or only the one that says most about the condition; checked by the judge
    #[arg(
        long,
        value_enum,
        value_name = "WHICH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "all",
        conflicts_with_all = ["json", "robust"]
    )]
    pub witness: Option<Witnesses>,

    /// Write a picture of an execution: the one that says most about the condition (see --witness=condition)
    #[arg(long, value_name = "FILE", conflicts_with = "robust")]
    pub svg: Option<PathBuf>,

    /// Write the same for Graphviz
    #[arg(long, value_name = "FILE", conflicts_with = "robust")]
    pub dot: Option<PathBuf>,

    /// Of which final state --svg and --dot show an execution, such as `0:EAX=0; 1:EAX=0;`
    #[arg(long, value_name = "STATE")]
    pub state: Option<String>,

    /// Find everything a second time, from the axioms, and check all witnesses
    #[arg(long)]
    pub cross_check: bool,

    /// Decide whether the test is store-buffer safe, from sequentially consistent executions only
    #[arg(long)]
    pub robust: bool,

    /// Compare with an earlier log: ours (text or JSON), herd7's or litmus7's
    #[arg(long, value_name = "LOG", conflicts_with_all = ["robust", "json", "witness"])]
    pub compare: Option<PathBuf>,

    /// Exit with 1 if a verdict is No
    #[arg(long, conflicts_with = "robust")]
    pub fail_on_no: bool,

    /// How many tests to run at once [default: as many as there are processors]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// The most states of a test to keep
    #[arg(
        long,
        value_name = "N",
        default_value_t = 4_000_000,
        help_heading = "Limits"
    )]
    pub max_states: usize,

    /// The most seconds for a test under a model
    #[arg(
        long,
        value_name = "SECONDS",
        allow_negative_numbers = true,
        help_heading = "Limits"
    )]
    pub timeout: Option<f64>,

    /// How many stores of a thread that loops are buffered at most
    #[arg(
        long,
        value_name = "N",
        default_value_t = 8,
        value_parser = clap::value_parser!(u16).range(1..),
        help_heading = "Limits"
    )]
    pub loop_buffer: u16,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum LitmusModel {
    /// Sequential consistency
    Sc,
    /// x86-TSO
    Tso,
    /// Partial store order
    Pso,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Witnesses {
    /// One for every final state
    All,
    /// One for which the condition holds; for `forall`, one for which it does not; else any
    Condition,
}

impl LitmusArguments {
    /// The models, in order and each once.
    pub fn models(&self) -> Vec<MemoryModel> {
        let mut models = Vec::new();
        for name in &self.model {
            let model = match (name, self.pso_locked) {
                (LitmusModel::Sc, _) => MemoryModel::SC,
                (LitmusModel::Tso, _) => MemoryModel::TSO,
                (LitmusModel::Pso, PsoLocked::Everything) => MemoryModel::PSO,
                (LitmusModel::Pso, PsoLocked::OwnAddress) => MemoryModel::PSO_OWN_ADDRESS,
            };
            if !models.contains(&model) {
                models.push(model);
            }
        }
        models
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModelName {
    /// Total store order: x86, SPARC TSO
    Tso,
    /// Partial store order
    Pso,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum PsoLocked {
    /// The whole buffer of the thread
    Everything,
    /// Only the stores to its own address (Burnim, Sen and Stergiou)
    OwnAddress,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum MonitorName {
    /// The default: exact, for TSO and PSO
    RelaxedOrder,
    /// As printed by Burckhardt and Musuvathi 2008; misses some violations; TSO
    Sober,
    /// As printed by Burnim, Sen and Stergiou 2010; TSO
    BssTso,
    /// As printed by Burnim, Sen and Stergiou 2010; PSO
    BssPso,
    /// No monitor, only the happens-before clock (the baseline of the benchmarks)
    HappensBefore,
}

/// A monitor and the model that it watches for, resolved from the arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MonitorChoice {
    RelaxedTso,
    RelaxedPso(LockedDrains),
    Sober,
    BssTso,
    BssPso,
    HappensBefore(MemoryModel),
}

impl MonitorArguments {
    /// The monitor that these arguments ask for, or why there is none.
    pub fn choice(&self) -> Result<MonitorChoice, String> {
        let model = self.model.unwrap_or(match (self.monitor, self.pso_locked) {
            (MonitorName::BssPso, _) => ModelName::Pso,
            _ => ModelName::Tso,
        });
        if let (ModelName::Tso, Some(_)) = (model, self.pso_locked) {
            return Err("--pso-locked is about PSO; add --model pso".into());
        }
        let locked = match self.pso_locked {
            Some(PsoLocked::OwnAddress) => LockedDrains::OwnAddress,
            Some(PsoLocked::Everything) | None => LockedDrains::Everything,
        };
        let only = |name: &str, model: &str| {
            Err(format!(
                "the monitor {name} knows only {model}; leave out --model, or use --monitor relaxed-order"
            ))
        };
        Ok(match (self.monitor, model) {
            (MonitorName::RelaxedOrder, ModelName::Tso) => MonitorChoice::RelaxedTso,
            (MonitorName::RelaxedOrder, ModelName::Pso) => MonitorChoice::RelaxedPso(locked),
            (MonitorName::Sober, ModelName::Tso) => MonitorChoice::Sober,
            (MonitorName::BssTso, ModelName::Tso) => MonitorChoice::BssTso,
            (MonitorName::BssPso, ModelName::Pso) => match self.pso_locked {
                Some(PsoLocked::Everything) => {
                    return Err("the monitor bss-pso knows only locked operations that drain their own address; leave out --pso-locked, or use --monitor relaxed-order".into());
                }
                _ => MonitorChoice::BssPso,
            },
            (MonitorName::HappensBefore, ModelName::Tso) => {
                MonitorChoice::HappensBefore(MemoryModel::TSO)
            }
            (MonitorName::HappensBefore, ModelName::Pso) => {
                MonitorChoice::HappensBefore(match locked {
                    LockedDrains::Everything => MemoryModel::PSO,
                    LockedDrains::OwnAddress => MemoryModel::PSO_OWN_ADDRESS,
                })
            }
            (MonitorName::Sober, ModelName::Pso) => return only("sober", "TSO"),
            (MonitorName::BssTso, ModelName::Pso) => return only("bss-tso", "TSO"),
            (MonitorName::BssPso, ModelName::Tso) => return only("bss-pso", "PSO"),
        })
    }
}

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

    /// Count what is in a trace
    #[command(after_help = "Example:\n  fencepost trace stat run.fpt --json")]
    Stat {
        /// The trace, or `-` for standard input
        file: PathBuf,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },

    /// Make a trace from a seed: the same options give the same trace everywhere
    #[command(after_help = GENERATE_HELP)]
    Generate(GenerateArguments),
}

const GENERATE_HELP: &str = "\
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
    /// How many threads
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub threads: u32,

    /// How many addresses
    #[arg(long, value_name = "A", default_value_t = 64)]
    pub addresses: u32,

    /// How many events
    #[arg(long, value_name = "E", default_value_t = 1000)]
    pub events: u64,

    /// The seed
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,

    /// How often each kind of operation occurs
    #[arg(
        long,
        value_name = "WEIGHTS",
        default_value = "ld=50,st=40,il=4,lld=1,lst=1,fence=3,stbar=1"
    )]
    pub mix: Mix,

    /// Who accesses what
    #[arg(long, value_name = "SHAPE", default_value = "uniform", value_parser = shapes())]
    pub shape: Shape,

    /// Where to write it: binary for .fpt, else text; compressed for .gz and .zst; standard
    /// output (as text) if not given
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Parses the name of a shape, and knows all of them for `--help` and completions.
fn shapes() -> impl TypedValueParser<Value = Shape> {
    let names = Shape::ALL.map(Shape::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Shape>())
}

/// Parses a number of bytes with an optional unit.
fn size(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        unit => return Err(format!("unknown unit `{unit}`, expected K, M, G or T")),
    };
    let number: usize = digits
        .parse()
        .map_err(|_| "expected a number of bytes such as 500M or 4G".to_string())?;
    number
        .checked_mul(1 << shift)
        .ok_or_else(|| "more than this machine can address".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(arguments: &[&str]) -> Result<MonitorChoice, String> {
        let words = ["fencepost", "monitor", "x"].iter().chain(arguments);
        match Arguments::try_parse_from(words).unwrap().command {
            Command::Monitor(arguments) => arguments.choice(),
            _ => unreachable!(),
        }
    }

    #[test]
    fn monitor_and_model_are_resolved_together() {
        use MonitorChoice::*;
        let own = LockedDrains::OwnAddress;
        assert_eq!(choice(&[]), Ok(RelaxedTso));
        assert_eq!(
            choice(&["--model", "pso"]),
            Ok(RelaxedPso(LockedDrains::Everything))
        );
        assert_eq!(
            choice(&["--model", "pso", "--pso-locked", "own-address"]),
            Ok(RelaxedPso(own))
        );
        assert_eq!(choice(&["--monitor", "bss-pso"]), Ok(BssPso));
        assert_eq!(
            choice(&["--monitor", "bss-pso", "--model", "pso"]),
            Ok(BssPso)
        );
        assert_eq!(choice(&["--monitor", "sober"]), Ok(Sober));
        for wrong in [
            &["--monitor", "sober", "--model", "pso"][..],
            &["--monitor", "bss-tso", "--model", "pso"],
            &["--monitor", "bss-pso", "--model", "tso"],
            &["--monitor", "bss-pso", "--pso-locked", "everything"],
            &["--pso-locked", "everything"],
        ] {
            assert!(choice(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("12"), Ok(12));
        assert_eq!(size("4G"), Ok(4 << 30));
        assert_eq!(size("500MiB"), Ok(500 << 20));
        assert!(size("4X").unwrap_err().contains("unknown unit `X`"));
        assert!(size("G").is_err());
        assert!(size("99999999999T").is_err());
    }

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
