//! The options of `fencepost litmus`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use fencepost_hardware::FixedParameters;
use fencepost_litmus::event_graph::Relation;
use fencepost_memory::MemoryModel;
use fencepost_report::litmus::EdgeKinds;

use super::common::{MaxStates, ResourceLimits, ResultArguments, WorkerArguments};
use super::models::PsoLocked;
use super::values::{parameters, small_count, time};

pub(super) const HELP: &str = "\
Examples:
  fencepost litmus sb.litmus                          final states under x86-TSO
  fencepost litmus --model sc,tso,pso tests/          a directory, under three models
  fencepost litmus --witness --svg sb.svg sb.litmus   witnesses, and a picture of one
  fencepost litmus --svg pictures/ tests/             pictures of all tests
  fencepost litmus --robust sb.litmus                 whether it is store-buffer safe
  fencepost litmus --compare herd.log tests/          differences from an earlier log
  fencepost litmus --run --run-time 1m tests/         what this processor does, beside the model

Limits apply to each test under each model. Output is as herd7 prints it, except that Positive, Negative and Observation count final states.
A test whose verdict is No is an answer, not an error: the exit code is 0 unless --fail-on-no.";

#[derive(Args, Debug)]
#[command(
    mut_arg("max_states", |argument| argument.default_value("4000000")),
    mut_arg("max_memory", |argument| argument.default_value("1G"))
)]
pub struct LitmusArguments {
    /// Litmus tests: files, directories (every *.litmus below), lists (@all), or `-` for standard
    /// input
    #[arg(required = true, value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,

    /// Use these memory models, separated by commas
    #[arg(
        long,
        value_enum,
        value_name = "MODEL",
        value_delimiter = ',',
        default_value = "tso"
    )]
    pub model: Vec<LitmusModel>,

    /// Choose what a locked instruction drains under PSO
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = PsoLocked::Everything)]
    pub pso_locked: PsoLocked,

    /// Print a checked witness of each final state, and why the model forbids what the condition
    /// asks for, if it does. With --compare: of the states that only one side has
    #[arg(
        long,
        value_enum,
        value_name = "WHICH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "all",
        conflicts_with = "robust"
    )]
    pub witness: Option<Witnesses>,

    /// Draw the execution that decides the condition, or the one that the model forbids (see
    /// --witness=condition). A directory gets a picture of each test and model
    #[arg(long, value_name = "FILE|DIR/", conflicts_with = "robust")]
    pub svg: Option<PathBuf>,

    /// Write the same picture for Graphviz
    #[arg(long, value_name = "FILE|DIR/", conflicts_with = "robust")]
    pub dot: Option<PathBuf>,

    /// Draw these kinds of edges, separated by commas; those of the cycle are always drawn
    #[arg(long, value_enum, value_name = "KIND", value_delimiter = ',')]
    pub edges: Vec<EdgeKind>,

    /// Show how an execution ends in this state, such as `0:EAX=0; 1:EAX=0;`, or why none does
    #[arg(long, value_name = "STATE", conflicts_with = "robust")]
    pub state: Option<String>,

    /// Compare the final states with those of the axioms, and check all witnesses
    #[arg(long)]
    pub cross_check: bool,

    /// Decide whether the test is store-buffer safe, from sequentially consistent executions only
    #[arg(long)]
    pub robust: bool,

    /// Compare with an earlier log: ours (text or JSON), herd7's or litmus7's
    #[arg(long, value_name = "LOG", conflicts_with = "robust")]
    pub compare: Option<PathBuf>,

    /// Exit with 1 if a verdict is No
    #[arg(long, conflicts_with = "robust")]
    pub fail_on_no: bool,

    #[command(flatten)]
    pub hardware: HardwareArguments,

    #[command(flatten)]
    pub workers: WorkerArguments,

    #[command(flatten)]
    pub result: ResultArguments,

    #[command(flatten)]
    max_states: MaxStates,

    #[command(flatten)]
    pub limits: ResourceLimits,

    /// Buffer at most N stores of a thread that loops
    #[arg(
        long,
        value_name = "N",
        default_value_t = 8,
        value_parser = small_count,
        help_heading = "Limits"
    )]
    pub loop_buffer: u16,
}

/// Options of runs on the processor.
#[derive(Args, Debug)]
pub struct HardwareArguments {
    /// Run the tests on this processor, and compare what is seen with what the model allows
    #[arg(
        long,
        conflicts_with_all = ["witness", "svg", "dot", "state", "robust", "fail_on_no"],
        help_heading = "On the processor"
    )]
    pub run: bool,

    /// Run for TIME in all; tests whose allowed states were not all seen get more of it [default:
    /// 1s for each test, at most 1m]
    #[arg(long, value_name = "TIME", value_parser = time, requires = "run", help_heading = "On the processor")]
    pub run_time: Option<Duration>,

    /// Start random choices from N
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        requires = "run",
        help_heading = "On the processor"
    )]
    pub seed: u64,

    /// Print the best parameters of each test, or fix some, such as `period=300,skew=20`
    #[arg(
        long,
        value_name = "LIST",
        value_parser = parameters,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        requires = "run",
        help_heading = "On the processor"
    )]
    pub parameters: Option<FixedParameters>,
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
    /// Every final state, and the condition's if that is forbidden
    All,
    /// One that satisfies the condition (that violates it, for `forall`), or why there is none
    Condition,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeKind {
    /// Program order
    Po,
    /// Reads from
    Rf,
    /// Coherence
    Co,
    /// From reads
    Fr,
    /// Only those of the cycle
    Cycle,
}

impl LitmusArguments {
    /// The most states to keep of a test under a model.
    pub fn max_states(&self) -> usize {
        let states = self.max_states.max_states;
        states.map_or(usize::MAX, |states| {
            usize::try_from(states).unwrap_or(usize::MAX)
        })
    }

    /// Which edges are drawn.
    pub fn edge_kinds(&self) -> EdgeKinds {
        if self.edges.is_empty() {
            return EdgeKinds::default();
        }
        let relations: Vec<Relation> = self
            .edges
            .iter()
            .filter_map(|kind| match kind {
                EdgeKind::Po => Some(Relation::ProgramOrder),
                EdgeKind::Rf => Some(Relation::ReadsFrom),
                EdgeKind::Co => Some(Relation::Coherence),
                EdgeKind::Fr => Some(Relation::FromReads),
                EdgeKind::Cycle => None,
            })
            .collect();
        EdgeKinds::of(&relations)
    }

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
