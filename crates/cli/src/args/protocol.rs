//! The options of `fencepost protocol`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use fencepost_protocol::outcome::DeadlockRule;
use fencepost_protocol::search::{Options, SearchOrder, Symmetry};

use super::common::{MaxStates, ResourceLimits, ResultArguments, WorkerArguments};
use super::values::{count, time};
use crate::executable;
use crate::files::shell_word;

pub(super) const HELP: &str = "\
Examples:
  fencepost protocol german.m                          all states; a counterexample is shortest
  fencepost protocol german.m --const NODES=3          the same model at another size
  fencepost protocol german.m -o bug.svg               the counterexample as a sequence chart
  fencepost protocol big.m --simulate --walks 100000   random walks, for models that are too large
  fencepost protocol big.m --compact --max-memory 8G   keeps fingerprints of states only
  fencepost protocol german.m --json | tail -n 1       the result for a script

The report lists what is vacuous: rules that never fired, implications whose left side was never
true, assertions that were never reached. A proof that rests on those is empty.";

#[derive(Args, Debug)]
#[command(
    mut_arg("output", |argument| {
        argument.help("Write the counterexample to FILE instead of standard output")
    }),
    mut_arg("max_memory", |argument| {
        argument.help("Stop before more than SIZE of memory is used, such as 500M or 4G [default: 80% of what is available]")
    })
)]
pub struct ProtocolArguments {
    /// The model, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Breadth-first search of all states; counterexamples are shortest (the default)
    #[arg(long, group = "order", help_heading = "Search")]
    pub check: bool,

    /// Depth-first search of all states
    #[arg(long, group = "order", help_heading = "Search")]
    pub dfs: bool,

    /// Random walks from the start states, which store no states and prove nothing
    #[arg(long, group = "order", help_heading = "Search")]
    pub simulate: bool,

    /// Seed the random walks with N
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        requires = "simulate",
        help_heading = "Search"
    )]
    pub seed: u64,

    /// Run N random walks
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1000,
        requires = "simulate",
        value_parser = count,
        help_heading = "Search"
    )]
    pub walks: u64,

    /// Fire at most N rules in a random walk
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1000,
        requires = "simulate",
        value_parser = count,
        help_heading = "Search"
    )]
    pub steps: u64,

    /// Reduce states that differ only by a permutation of scalarsets
    #[arg(long, value_enum, value_name = "HOW", default_value_t = SymmetryName::Full, help_heading = "Search")]
    pub symmetry: SymmetryName,

    /// Report these states as deadlocks
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = DeadlockName::Stuttering, help_heading = "Search")]
    pub deadlock: DeadlockName,

    #[command(flatten)]
    pub workers: WorkerArguments,

    /// Store fingerprints instead of states (hash compaction); the report estimates the omission
    /// probability
    #[arg(long, conflicts_with = "simulate", help_heading = "Search")]
    pub compact: bool,

    /// Save the search to FILE periodically, and when it ends early
    #[arg(long, value_name = "FILE", conflicts_with_all = ["simulate", "dfs"], help_heading = "Search")]
    pub checkpoint: Option<PathBuf>,

    /// Save the search every TIME, such as 30s, 10m or 2h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time, requires = "checkpoint", help_heading = "Search")]
    pub checkpoint_every: Duration,

    /// Resume a search that --checkpoint saved, with the same model, constants and options
    #[arg(long, value_name = "FILE", conflicts_with_all = ["simulate", "dfs"], help_heading = "Search")]
    pub resume: Option<PathBuf>,

    /// Set a constant of the model; may be given several times
    #[arg(long = "const", value_name = "NAME=VALUE", value_parser = constant)]
    pub constants: Vec<ConstantArgument>,

    /// Show the counterexample in this format [default: text, or the extension of --output]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub trace: Option<TraceFormat>,

    /// Report how often each rule fired and each branch and arm was taken
    #[arg(long)]
    pub coverage: bool,

    #[command(flatten)]
    pub result: ResultArguments,

    #[command(flatten)]
    pub max_states: MaxStates,

    /// Stop at depth N: states that take more than N rules to reach are not searched
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "simulate",
        help_heading = "Limits"
    )]
    pub max_depth: Option<u64>,

    #[command(flatten)]
    pub limits: ResourceLimits,

    /// Report a `while` loop that runs for more than N iterations as an error
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1000,
        value_parser = count,
        help_heading = "Limits"
    )]
    pub while_rounds: u64,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymmetryName {
    /// No reduction
    Off,
    /// A cheap normal form: some equivalent states are stored twice, the verdict is the same
    Fast,
    /// One state per equivalence class
    Full,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeadlockName {
    /// States that no rule leaves, as in CMurphi
    Stuttering,
    /// States in which no rule is enabled
    Stuck,
    /// None
    Off,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceFormat {
    /// What each step changed
    Text,
    /// Each step with its rule, what it changed, and the whole state
    Json,
    /// A sequence chart: nodes, messages, and what changed
    Svg,
}

impl ProtocolArguments {
    /// The options of the search. `memory` is the default of `--max-memory`.
    pub fn options(&self, memory: Option<u64>) -> Options {
        Options {
            order: match (self.dfs, self.simulate) {
                (true, _) => SearchOrder::DepthFirst,
                (_, true) => SearchOrder::Random {
                    seed: self.seed,
                    walks: self.walks,
                    steps: self.steps,
                },
                _ => SearchOrder::BreadthFirst,
            },
            deadlock: match self.deadlock {
                DeadlockName::Stuttering => DeadlockRule::Stuttering,
                DeadlockName::Stuck => DeadlockRule::Stuck,
                DeadlockName::Off => DeadlockRule::Off,
            },
            symmetry: match self.symmetry {
                SymmetryName::Off => Symmetry::Off,
                SymmetryName::Fast => Symmetry::Fast,
                SymmetryName::Full => Symmetry::Full,
            },
            workers: self.workers.count(),
            max_states: self.max_states.max_states.unwrap_or(u64::MAX),
            max_depth: self.max_depth.unwrap_or(u64::MAX),
            max_time: self.limits.max_time(),
            max_memory: self.limits.max_memory.map(|bytes| bytes as u64).or(memory),
            max_loop_iterations: self.while_rounds,
            hash_compaction: self.compact,
            checkpoint_interval: self.checkpoint.as_ref().map(|_| self.checkpoint_every),
            coverage: self.coverage,
            build_id: match self.checkpoint.is_some() || self.resume.is_some() {
                true => executable::checksum(),
                false => 0,
            },
        }
    }

    /// The format of the counterexample.
    pub fn trace_format(&self) -> TraceFormat {
        let extension = self
            .result
            .file
            .output
            .as_deref()
            .and_then(|path| path.extension());
        let by_name = match extension.and_then(|extension| extension.to_str()) {
            Some("svg") => TraceFormat::Svg,
            Some("json") => TraceFormat::Json,
            _ => TraceFormat::Text,
        };
        self.trace.unwrap_or(by_name)
    }

    /// The command that searches the same model in the same way.
    pub fn replay(&self) -> String {
        let mut words = vec!["fencepost protocol".to_owned()];
        words.push(shell_word(&self.file));
        for ConstantArgument { name, text, .. } in &self.constants {
            words.push(format!("--const {name}={text}"));
        }
        if self.dfs {
            words.push("--dfs".into());
        }
        if self.simulate {
            let (seed, walks, steps) = (self.seed, self.walks, self.steps);
            let random = format!("--simulate --seed {seed} --walks {walks} --steps {steps}");
            words.push(random);
        }
        let mut chosen = |option: &str, value: &dyn std::fmt::Debug| {
            let value = format!("{value:?}").to_ascii_lowercase();
            words.push(format!("{option} {value}"));
        };
        if self.symmetry != SymmetryName::Full {
            chosen("--symmetry", &self.symmetry);
        }
        if self.deadlock != DeadlockName::Stuttering {
            chosen("--deadlock", &self.deadlock);
        }
        if self.while_rounds != 1000 {
            chosen("--while-rounds", &self.while_rounds);
        }
        if let Some(workers) = self.workers.workers {
            chosen("--workers", &workers);
        }
        if self.compact {
            words.push("--compact".into());
        }
        words.join(" ")
    }
}

/// A value of `--const`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConstantArgument {
    pub name: String,
    pub value: i64,
    /// The value as it was given.
    pub text: String,
    /// It was given as `true` or `false`.
    pub is_boolean: bool,
}

/// Parses `NAME=VALUE`.
fn constant(text: &str) -> Result<ConstantArgument, String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err("expected a name and a value, such as N=3".into());
    };
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() {
        return Err("expected the name of a constant before `=`".into());
    }
    let text = value;
    let (value, is_boolean) = match text.to_ascii_lowercase().as_str() {
        "true" => (1, true),
        "false" => (0, true),
        _ => match text.parse() {
            Ok(value) => (value, false),
            Err(_) => {
                return Err(format!(
                    "expected a 64-bit integer, true or false, found `{text}`"
                ));
            }
        },
    };
    Ok(ConstantArgument {
        name: name.to_owned(),
        value,
        text: text.to_owned(),
        is_boolean,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_a_name_and_a_value() {
        let parsed = |name: &str, value, text: &str, is_boolean| {
            let (name, text) = (name.to_owned(), text.to_owned());
            Ok(ConstantArgument {
                name,
                value,
                text,
                is_boolean,
            })
        };
        assert_eq!(constant("N=3"), parsed("N", 3, "3", false));
        assert_eq!(constant("N = -3"), parsed("N", -3, "-3", false));
        assert_eq!(constant("Fast=True"), parsed("Fast", 1, "True", true));
        assert!(constant("N").unwrap_err().contains("N=3"));
        assert!(constant("=3").unwrap_err().contains("before `=`"));
        assert!(constant("N=x").unwrap_err().contains("found `x`"));
        assert!(constant("N=9223372036854775808").is_err());
    }
}
