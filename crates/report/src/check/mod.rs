//! The report of checking a program: every problem in its own source, and what the check
//! came to.
//!
//! The input is [`problem`] (what can be found) and [`summary`] (what was covered). A
//! [`Reporter`] makes text of them; JSON is made in [`json::check`](crate::json::check).
//!
//! What is to be said about a problem is decided once, for text and JSON: its `diagnosis`. For
//! a store-buffer violation it is a `story`, with a `repair`, the fences that are missing. How
//! it looks is the business of `snippets` (source lines,
//! with `underline`), `interleaving` (the execution as a table) and `finding` (all of it in order).
//! `words` makes names fit for a line.
//!
//! Nothing here knows the explorer or the runtime, and source text comes from the caller.
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
//!     execution: 7,
//! };
//! let reporter = Reporter::new(Target::of(MemoryModel::TSO), &Names, &NoSources);
//! assert_eq!(reporter.headline(&finding), "T1 panicked: assertion failed: a || b");
//! let text = reporter.finding(&finding);
//! assert!(text.contains("src/lib.rs:31:9"));
//! ```

mod diagnosis;
mod finding;
mod interleaving;
pub mod problem;
mod repair;
mod snippets;
mod story;
pub mod summary;
mod summary_text;
mod underline;
mod words;

use fencepost_memory::{Buffering, MemoryModel};

pub use problem::{Buffers, CheckFinding, Consequence, Problem, RaceAccess, Unexplored, Wait};
pub use summary::{CheckSummary, Gap, Outcome};

pub(crate) use diagnosis::{Diagnosis, Row};
pub(crate) use finding::consequence_sentence;
pub(crate) use snippets::Mark;
pub(crate) use summary_text::{assumptions, gap_name, gap_sentence, shown_sentence};

use crate::names::Naming;
use crate::source::Sources;
use words::Words;

/// The machine for which a program is checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// What people call it.
    pub title: String,
    /// Its memory model.
    pub model: MemoryModel,
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

/// Shows the findings of one check.
pub struct Reporter<'a> {
    /// For which machine was checked.
    pub target: Target,
    /// What threads, variables and places are called.
    pub names: &'a dyn Naming,
    /// The program's source files.
    pub sources: &'a dyn Sources,
    /// How many columns a line should have at most. Sentences are left for the terminal to wrap.
    pub width: usize,
    /// How to come by fences that rule out all cycles of the program, and not only the one that is shown, if there
    /// is a way: to follow "there may be other cycles".
    pub all_fences: Option<&'static str>,
}

impl<'a> Reporter<'a> {
    /// A reporter for a terminal of 100 columns.
    pub fn new(target: Target, names: &'a dyn Naming, sources: &'a dyn Sources) -> Self {
        Reporter {
            target,
            names,
            sources,
            width: 100,
            all_fences: None,
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

    /// The one line that says what is wrong, without colour.
    pub fn headline(&self, finding: &CheckFinding) -> String {
        self.diagnosis(finding).headline
    }

    fn words(&self) -> Words<'_> {
        Words(self.names)
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
