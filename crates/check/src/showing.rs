//! Renders reports on demand: most callers only ask for the verdict.

use std::fmt;
use std::sync::{Arc, OnceLock};

use fencepost_memory::{Address, MemoryModel};
use fencepost_report::check::{
    CheckFinding, CheckSummary, FurtherChecks, Reporter, Target as ReportTarget,
};
use fencepost_report::json::check::{FindingObject, SummaryObject};
use fencepost_report::json::fences::FencesObject;
use fencepost_report::json::line;
use rustc_hash::FxHashMap;

use super::naming::{CheckNames, SourceFiles};
use super::replaying::Replaying;
use super::session::Session;
use fencepost_report::ProgramLanguage;
use fencepost_runtime::{Names, Registry, Target, ThreadIdSpace};

/// The context in which findings and summaries are rendered.
pub(super) struct Showing {
    registry: Arc<Registry>,
    stride: Option<ThreadIdSpace>,
    target: Target,
    model: MemoryModel,
    language: ProgramLanguage,
    sources: SourceFiles,
    names: OnceLock<Names>,
    /// Settings that tell the user more about a violation.
    further: FurtherChecks,
    replaying: Replaying,
    /// Whether threads were kept waiting in spin loops.
    has_waits: bool,
}

/// A rendered finding.
#[derive(Clone, Debug)]
pub(super) struct ShownFinding {
    pub(super) headline: String,
    pub(super) text: String,
    pub(super) json: String,
}

/// A rendered summary.
#[derive(Clone, Debug)]
pub(super) struct ShownSummary {
    pub(super) text: String,
    pub(super) json: String,
}

impl Showing {
    /// Shows what `session` finds. `stride` is how the commits of buffered stores are numbered, if stores are buffered.
    pub(super) fn new(
        session: &Session,
        model: MemoryModel,
        stride: Option<ThreadIdSpace>,
    ) -> Self {
        Showing {
            stride,
            registry: Arc::clone(&session.registry),
            target: session.checker.setup.target,
            model,
            language: session.checker.language,
            sources: SourceFiles::new(&session.checker.sources),
            names: OnceLock::new(),
            further: FurtherChecks::default(),
            replaying: Replaying::of(session),
            has_waits: false,
        }
    }

    /// The language of the program.
    pub(super) fn language(&self) -> ProgramLanguage {
        self.language
    }

    /// How a schedule is replayed.
    pub(super) fn replaying(&self) -> &Replaying {
        &self.replaying
    }

    /// The same, for executions in which threads were kept waiting in loops, or were not.
    pub(super) fn with_waits(self, has_waits: bool) -> Self {
        Showing { has_waits, ..self }
    }

    /// Whether threads were kept waiting in spin loops. With a spin bound none is.
    pub(super) fn has_waits(&self) -> bool {
        self.has_waits
    }

    /// The same, with settings that tell the user more about a violation.
    pub(super) fn with_further_checks(self, further: FurtherChecks) -> Self {
        Showing { further, ..self }
    }

    pub(super) fn names(&self) -> &Names {
        self.names
            .get_or_init(|| Names::new(&self.registry, |file, line| self.sources.line(file, line)))
    }

    /// How the commits of buffered stores are numbered, if stores are buffered.
    pub(super) fn stride(&self) -> Option<ThreadIdSpace> {
        self.stride
    }

    pub(super) fn sources(&self) -> &SourceFiles {
        &self.sources
    }

    /// Renders a finding. `first_values` are the initial values of the objects of its execution.
    pub(super) fn finding(
        &self,
        number: usize,
        finding: &CheckFinding,
        first_values: &FxHashMap<Address, u64>,
    ) -> ShownFinding {
        self.with_reporter(first_values, |reporter| ShownFinding {
            headline: reporter.headline(finding),
            text: reporter.finding(finding),
            json: line(&FindingObject::new(number, finding, reporter)),
        })
    }

    pub(super) fn summary(
        &self,
        summary: &CheckSummary,
        fences: Option<FencesObject>,
    ) -> ShownSummary {
        self.with_reporter(&FxHashMap::default(), |reporter| ShownSummary {
            text: reporter.summary(summary),
            json: line(&SummaryObject {
                fences,
                ..SummaryObject::new(summary, reporter)
            }),
        })
    }

    fn with_reporter<R>(
        &self,
        first_values: &FxHashMap<Address, u64>,
        show: impl FnOnce(&Reporter<'_>) -> R,
    ) -> R {
        let names = CheckNames::new(
            self.names(),
            &self.sources,
            self.target,
            first_values,
            self.language,
        );
        let target = ReportTarget::of(self.model);
        show(&Reporter {
            further: self.further,
            ..Reporter::new(target, &names, &self.sources)
        })
    }
}

impl fmt::Debug for Showing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Showing").finish_non_exhaustive()
    }
}
