//! The tools and how they are used: the columns of the table.

use std::time::Duration;

use crate::measure::Run;
use crate::options::{BOUND, Options};
use crate::programs::Program;
use crate::{loom_rows, ours, shuttle_rows};

/// A tool and how it is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tool {
    /// Fencepost as it is if nothing is set: x86, with the monitor, one worker.
    Fencepost,
    /// Without the monitor.
    NoMonitor,
    /// For PSO.
    Pso,
    /// With a preemption bound.
    Bounded,
    /// With two workers.
    TwoWorkers,
    /// Random executions.
    Random,
    /// Random executions without the monitor.
    RandomNoMonitor,
    /// loom, which is exhaustive.
    Loom,
    /// loom with a preemption bound.
    LoomBounded,
    /// shuttle's depth-first search.
    ShuttleDfs,
    /// shuttle's random walk.
    ShuttleRandom,
}

/// A tool that comes to its end gets so many budgets, because it is not expected to need them.
const BUDGETS_OF_OURS: u32 = 6;

impl Tool {
    /// All, in the order of the table.
    pub const ALL: [Tool; 11] = [
        Tool::Fencepost,
        Tool::NoMonitor,
        Tool::Pso,
        Tool::Bounded,
        Tool::TwoWorkers,
        Tool::Random,
        Tool::RandomNoMonitor,
        Tool::Loom,
        Tool::LoomBounded,
        Tool::ShuttleDfs,
        Tool::ShuttleRandom,
    ];

    /// Its name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Fencepost => "fencepost",
            Tool::NoMonitor => "fencepost-no-monitor",
            Tool::Pso => "fencepost-pso",
            Tool::Bounded => "fencepost-bound",
            Tool::TwoWorkers => "fencepost-two-workers",
            Tool::Random => "fencepost-random",
            Tool::RandomNoMonitor => "fencepost-random-no-monitor",
            Tool::Loom => "loom",
            Tool::LoomBounded => "loom-bound",
            Tool::ShuttleDfs => "shuttle-dfs",
            Tool::ShuttleRandom => "shuttle-random",
        }
    }

    /// The two lines of its heading.
    pub fn heading(self) -> [&'static str; 2] {
        match self {
            Tool::Fencepost => ["fencepost", "x86"],
            Tool::NoMonitor => ["no", "monitor"],
            Tool::Pso => ["", "PSO"],
            Tool::Bounded => ["", "bound 2"],
            Tool::TwoWorkers => ["2", "workers"],
            Tool::Random => ["", "random"],
            Tool::RandomNoMonitor => ["random,", "no mon."],
            Tool::Loom => ["loom", ""],
            Tool::LoomBounded => ["loom", "bound 2"],
            Tool::ShuttleDfs => ["shuttle", "dfs"],
            Tool::ShuttleRandom => ["shuttle", "random"],
        }
    }

    /// Whether it is Fencepost.
    pub fn is_ours(self) -> bool {
        use Tool::{Bounded, Fencepost, NoMonitor, Pso, Random, RandomNoMonitor, TwoWorkers};
        matches!(
            self,
            Fencepost | NoMonitor | Pso | Bounded | TwoWorkers | Random | RandomNoMonitor
        )
    }

    /// Whether it runs a given number of executions, and so has no end to come to.
    pub fn is_sample(self) -> bool {
        matches!(
            self,
            Tool::Random | Tool::RandomNoMonitor | Tool::ShuttleRandom
        )
    }

    /// Whether it can run the program.
    pub fn can_run(self, program: Program) -> bool {
        match self {
            Tool::Loom | Tool::LoomBounded => loom_rows::can_run(program),
            _ => true,
        }
    }

    /// The time on the wall after which it is stopped.
    pub fn budget(self, options: &Options) -> Duration {
        match self.is_ours() && !options.is_quick {
            true => options.budget * BUDGETS_OF_OURS,
            false => options.budget,
        }
    }

    /// Runs the program.
    pub fn run(self, program: Program, options: &Options) -> Run {
        let budget = self.budget(options);
        match self {
            Tool::Loom => loom_rows::run(program, None, budget),
            Tool::LoomBounded => loom_rows::run(program, Some(BOUND), budget),
            Tool::ShuttleDfs => shuttle_rows::run_dfs(program, budget),
            Tool::ShuttleRandom => shuttle_rows::run_random(program, options.random, budget),
            _ => ours::run(self, program, options.random, budget),
        }
    }
}
