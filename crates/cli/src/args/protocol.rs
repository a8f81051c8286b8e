//! The options of `fencepost protocol`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use fencepost_protocol::outcome::DeadlockRule;
use fencepost_protocol::search::{Options, SearchOrder, Symmetry};

use super::values::{size, time};
use crate::executable;

pub(super) const HELP: &str = "\
Examples:
  fencepost protocol german.m                          is any state wrong? with the shortest way there
  fencepost protocol german.m --const NODE_NUM=3       the same model at another size
  fencepost protocol german.m -o bug.svg               the way to the error as a sequence chart
  fencepost protocol big.m --simulate --walks 100000   random walks, for models that are too large
  fencepost protocol big.m --compact --max-memory 8G   keeps fingerprints of states only
  fencepost protocol german.m --json | tail -n 1       the result for a script

The summary always says what never happened: rules that never fired, implications whose left side was never true,
assertions that were never reached. A proof that rests on those is empty.";

#[derive(Args, Debug)]
pub struct ProtocolArguments {
    /// The model, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Look at all states, nearest first: a way to an error is as short as possible (the default)
    #[arg(long, group = "order", help_heading = "Search")]
    pub check: bool,

    /// Look at all states, farthest first
    #[arg(long, group = "order", help_heading = "Search")]
    pub dfs: bool,

    /// Random walks from the start states, without keeping states; never a proof
    #[arg(long, group = "order", help_heading = "Search")]
    pub simulate: bool,

    /// Where the random numbers of --simulate begin
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        requires = "simulate",
        help_heading = "Search"
    )]
    pub seed: u64,

    /// How many random walks
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1000,
        requires = "simulate",
        value_parser = clap::value_parser!(u64).range(1..),
        help_heading = "Search"
    )]
    pub walks: u64,

    /// How many rules a random walk fires at most
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1000,
        requires = "simulate",
        value_parser = clap::value_parser!(u64).range(1..),
        help_heading = "Search"
    )]
    pub steps: u64,

    /// Whether states that differ by a permutation of scalarsets only are one
    #[arg(long, value_enum, value_name = "HOW", default_value_t = SymmetryName::Full, help_heading = "Search")]
    pub symmetry: SymmetryName,

    /// Which states are deadlocks
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = DeadlockName::Stuttering, help_heading = "Search")]
    pub deadlock: DeadlockName,

    /// How many threads search [default: as many as there are processors]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Search")]
    pub workers: Option<u16>,

    /// Keep fingerprints of states only; the summary says how likely it is that states were missed
    #[arg(long, conflicts_with = "simulate", help_heading = "Search")]
    pub compact: bool,

    /// Save the search in FILE when it ends early, and every now and then while it runs
    #[arg(long, value_name = "FILE", conflicts_with_all = ["simulate", "dfs"], help_heading = "Search")]
    pub checkpoint: Option<PathBuf>,

    /// How often a search with --checkpoint is saved, such as 30s, 10m or 2h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time, requires = "checkpoint", help_heading = "Search")]
    pub checkpoint_every: Duration,

    /// Go on with a search that --checkpoint saved; model, constants and options must be the same
    #[arg(long, value_name = "FILE", conflicts_with_all = ["simulate", "dfs"], help_heading = "Search")]
    pub resume: Option<PathBuf>,

    /// A value for a constant of the model; may be given several times
    #[arg(long = "const", value_name = "NAME=VALUE", value_parser = constant)]
    pub constants: Vec<(String, i64)>,

    /// How to show the way to an error [default: text, or what the name of --output ends in]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub trace: Option<TraceFormat>,

    /// Where to write the way to an error
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Count how often each rule fired and each branch and arm was taken
    #[arg(long)]
    pub coverage: bool,

    /// Print JSON, one object per line: the way to an error, and last the summary
    #[arg(long)]
    pub json: bool,

    /// The most states to look at
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Limits")]
    pub max_states: Option<u64>,

    /// The most rules in a row
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "simulate",
        help_heading = "Limits"
    )]
    pub max_depth: Option<u64>,

    /// The most time, such as 30s, 10m or 2h
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Limits")]
    pub max_time: Option<Duration>,

    /// The most memory for states, such as 500M or 4G [default: 80% of what is available]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Limits")]
    pub max_memory: Option<usize>,

    /// The most rounds of a `while` loop
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1000,
        value_parser = clap::value_parser!(u64).range(1..),
        help_heading = "Limits"
    )]
    pub while_rounds: u64,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymmetryName {
    /// They are different states
    Off,
    /// Most are one, as far as it is cheap to see; the verdict is the same
    Fast,
    /// They are one, always
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
    /// How to search, with so much memory if nothing else was asked for.
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
            workers: self.workers.map_or_else(
                || std::thread::available_parallelism().map_or(1, usize::from),
                usize::from,
            ),
            max_states: self.max_states.unwrap_or(u64::MAX),
            max_depth: self.max_depth.unwrap_or(u64::MAX),
            max_time: self.max_time,
            max_memory: self.max_memory.map(|bytes| bytes as u64).or(memory),
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

    /// How to show the way to an error.
    pub fn trace_format(&self) -> TraceFormat {
        let extension = self.output.as_deref().and_then(|path| path.extension());
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
        words.push(quoted(&self.file.display().to_string()));
        for (name, value) in &self.constants {
            words.push(format!("--const {name}={value}"));
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
        if let Some(workers) = self.workers {
            chosen("--workers", &workers);
        }
        if self.compact {
            words.push("--compact".into());
        }
        words.join(" ")
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Parses `NAME=VALUE`.
fn constant(text: &str) -> Result<(String, i64), String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err("expected a name and a value, such as N=3".into());
    };
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() {
        return Err("expected the name of a constant before `=`".into());
    }
    let value = match value.to_ascii_lowercase().as_str() {
        "true" => 1,
        "false" => 0,
        _ => value
            .parse()
            .map_err(|_| format!("`{value}` is no integer of 64 bits, and not true or false"))?,
    };
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_a_name_and_a_value() {
        assert_eq!(constant("N=3"), Ok(("N".into(), 3)));
        assert_eq!(constant("N = -3"), Ok(("N".into(), -3)));
        assert_eq!(constant("Fast=True"), Ok(("Fast".into(), 1)));
        assert!(constant("N").unwrap_err().contains("N=3"));
        assert!(constant("=3").unwrap_err().contains("before `=`"));
        assert!(constant("N=x").unwrap_err().contains("`x` is no integer"));
        assert!(constant("N=9223372036854775808").is_err());
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("models/german.m"), "models/german.m");
        assert_eq!(quoted("my model.m"), "'my model.m'");
        assert_eq!(quoted("it's.m"), "'it'\\''s.m'");
        assert_eq!(quoted(""), "''");
    }
}
