//! The options of `fencepost litmus`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fencepost_memory::MemoryModel;

use super::models::PsoLocked;

pub(super) const HELP: &str = "\
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
