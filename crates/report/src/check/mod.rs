//! The report of a check: every failure in its source, and the summary.
//!
//! The input is [`problem`] (the failures; those of C and C++ in `native_problem`) and [`summary`] (what was explored). A [`Reporter`]
//! renders them as text; [`json::check`](crate::json::check) renders them as JSON.
//!
//! Text and JSON share the `diagnosis` of a failure: its headline, locations and advice. The
//! diagnosis of a store-buffer violation is in `violation`, its fix in `repair`; that of a data race
//! in `race`, those of the failures of C and C++ in `native`. The text of a
//! failure consists of `snippets` (source lines, with `underline`) and `interleaving` (the
//! execution as a table), which `finding` puts in order; `consequence` and `fences` follow it,
//! `summary_text` ends the report. `progress` has the lines that a check prints while it runs.
//! `actions` names operations, and `words` shortens names.
//!
//! A check that is not run has no report: [`Refusal`] says why, [`checkpoint`] what is wrong
//! with its file, [`BadSchedule`] what is wrong with a schedule to replay, and [`variables`] what
//! is wrong with the environment.
//!
//! This module does not know the explorer or the runtime; the caller provides the source text.
//!
//! ```
//! use fencepost_memory::{Address, LocationId, MemoryModel, ThreadId};
//! use fencepost_report::check::{CheckFinding, Problem, Reporter, Target};
//! use fencepost_report::{Naming, NoSources, SourcePosition};
//!
//! struct Names;
//! impl Naming for Names {
//!     fn thread(&self, thread: ThreadId) -> String {
//!         format!("T{}", thread.0)
//!     }
//!     fn address(&self, address: Address) -> String {
//!         format!("x{}", address.0)
//!     }
//!     fn location(&self, _: LocationId) -> Option<String> {
//!         None
//!     }
//! }
//!
//! let finding = CheckFinding {
//!     problem: Problem::Panic {
//!         thread: ThreadId(1),
//!         message: "assertion failed: a || b".into(),
//!         location: Some(SourcePosition::new("src/lib.rs", 31, 9)),
//!     },
//!     interleaving: vec![],
//!     buffers: None,
//!     consequence: None,
//!     schedule: "0.1x3".into(),
//!     replay: "fencepost::replay(\"0.1x3\", program)".into(),
//!     command: None,
//!     execution: 7,
//! };
//! let reporter = Reporter::new(Target::of(MemoryModel::TSO), &Names, &NoSources);
//! assert_eq!(reporter.headline(&finding), "T1 panicked: assertion failed: a || b");
//! let text = reporter.finding(&finding);
//! assert!(text.contains("src/lib.rs:31:9"));
//! ```

mod actions;
pub mod checkpoint;
mod consequence;
mod diagnosis;
pub mod fences;
mod finding;
mod interleaving;
mod native;
mod native_problem;
mod output;
pub mod problem;
pub mod progress;
mod race;
mod refusal;
mod repair;
mod schedule;
mod snippets;
pub mod summary;
mod summary_text;
mod underline;
pub mod variables;
mod violation;
mod words;

use fencepost_memory::{Buffering, MemoryModel};

pub use actions::{Action, BarrierOrigin};
pub use native::unseen_instructions;
pub use native_problem::{
    BadMemory, BadMemoryKind, BlockPosition, FailureKind, LeakedBlocks, LockMisuse, Signal,
    ThreadPlace,
};
pub use output::{program_output, program_output_json};
pub use problem::{
    AccessKind, Awaited, Buffers, CheckFinding, Consequence, Holder, Obstacle, PlannedOperation,
    Problem, RaceAccess, RacedCell, ScheduleMismatch, Unexplored, Unreproduced, Wait,
};
pub use refusal::Refusal;
pub use schedule::BadSchedule;
pub use summary::{Assumption, CheckSummary, Compared, FenceOrdering, Gap, Note, Outcome};

pub(crate) use consequence::consequence_sentence;
pub(crate) use diagnosis::{Diagnosis, Row, mismatch_sentence};
pub(crate) use snippets::Mark;
pub(crate) use summary_text::{assumptions, gap_name, gap_sentence, notes, shown_sentence};
pub(crate) use words::{awaited, leaked, planned, raced_cell};

use crate::language::ProgramLanguage;
use crate::names::Naming;
use crate::source::Sources;
use words::Words;

/// The machine for which a program is checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// The name in reports: `x86-TSO`.
    pub title: String,
    /// The memory model.
    pub model: MemoryModel,
}

/// Settings that tell the user more about a store-buffer violation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FurtherChecks {
    /// How to get fences that rule out all cycles of the program, and not only one.
    pub all_fences: FenceAdvice,
    /// How to find out whether a violation can make the test fail.
    pub confirm: Option<SetBy>,
}

/// How to get fences that rule out all cycles of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FenceAdvice {
    /// They cannot be inferred.
    #[default]
    None,
    /// They are at the end of the report.
    InReport,
    /// With fence inference.
    Infer(SetBy),
}

/// How the user changes a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetBy {
    /// With an environment variable.
    Environment,
    /// With a method of `Checker`, because the check ignores the environment.
    Checker,
}

impl FurtherChecks {
    fn lines(self, language: ProgramLanguage) -> impl Iterator<Item = &'static str> {
        let is_c = language == ProgramLanguage::C;
        let fences = match self.all_fences {
            FenceAdvice::None => None,
            FenceAdvice::InReport => {
                Some("fences that rule out all cycles are at the end of the report")
            }
            FenceAdvice::Infer(_) if is_c => {
                Some("use `--infer-fences` to infer fences that rule out all cycles")
            }
            FenceAdvice::Infer(SetBy::Environment) => {
                Some("set FENCEPOST_INFER_FENCES=on to infer fences that rule out all cycles")
            }
            FenceAdvice::Infer(SetBy::Checker) => {
                Some("use `Checker::infer_fences` to infer fences that rule out all cycles")
            }
        };
        let confirm = self.confirm.map(|by| match by {
            _ if is_c => "use `--confirm` to see whether this can make the program fail",
            SetBy::Environment => {
                "set FENCEPOST_CONFIRM=on to see whether this can make the test fail"
            }
            SetBy::Checker => "use `Checker::confirm` to see whether this can make the test fail",
        });
        fences.into_iter().chain(confirm)
    }
}

impl Target {
    /// The model under its usual name.
    pub fn of(model: MemoryModel) -> Self {
        let title = match model.buffering() {
            Buffering::None => "sequential consistency".to_string(),
            Buffering::Fifo => "x86-TSO".to_string(),
            Buffering::PerAddress => model.name().to_uppercase(),
        };
        Target { title, model }
    }
}

/// Renders the findings of one check.
pub struct Reporter<'a> {
    /// The machine for which the program was checked.
    pub target: Target,
    /// The names of threads, variables and locations.
    pub names: &'a dyn Naming,
    /// The program's source files.
    pub sources: &'a dyn Sources,
    /// The width of a line, in columns. The terminal wraps sentences.
    pub width: usize,
    /// Settings that tell the user more about a store-buffer violation.
    pub further: FurtherChecks,
}

impl<'a> Reporter<'a> {
    /// A reporter for a terminal of 100 columns.
    pub fn new(target: Target, names: &'a dyn Naming, sources: &'a dyn Sources) -> Self {
        Reporter {
            target,
            names,
            sources,
            width: 100,
            further: FurtherChecks::default(),
        }
    }

    /// A finding as text, in colour.
    pub fn finding(&self, finding: &CheckFinding) -> String {
        finding::text(self, finding)
    }

    /// A summary as text, in colour.
    pub fn summary(&self, summary: &CheckSummary) -> String {
        summary_text::text(self, summary)
    }

    /// The headline of a finding, without colour.
    pub fn headline(&self, finding: &CheckFinding) -> String {
        self.diagnosis(finding).headline
    }

    fn words(&self) -> Words<'_> {
        Words(self.names)
    }

    /// The language of the program.
    pub fn language(&self) -> ProgramLanguage {
        self.names.language()
    }

    pub(crate) fn diagnosis(&self, finding: &CheckFinding) -> Diagnosis {
        let words = self.words();
        diagnosis::diagnosis(
            &finding.problem,
            &finding.interleaving,
            &words,
            &self.target,
        )
    }
}
