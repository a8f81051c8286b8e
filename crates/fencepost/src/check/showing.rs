//! How a check is shown: made when someone looks at it, since most callers only ask what it came to.

use std::fmt;
use std::sync::{Arc, OnceLock};

use fencepost_memory::{Address, MemoryModel};
use fencepost_report::check::{CheckFinding, CheckSummary, Reporter, Target as ReportTarget};
use fencepost_report::json::check::{FindingObject, SummaryObject};
use fencepost_report::json::fences::FencesObject;
use fencepost_report::json::line;
use rustc_hash::FxHashMap;

use super::naming::{CheckNames, SourceFiles};
use fencepost_runtime::{Names, Registry, Target, ThreadIdSpace};

/// What is needed to show a check.
pub(super) struct Showing {
    registry: Arc<Registry>,
    stride: Option<ThreadIdSpace>,
    target: Target,
    model: MemoryModel,
    sources: SourceFiles,
    names: OnceLock<Names>,
    /// Where fences are named that rule out all violations.
    all_fences: Option<&'static str>,
    replaying: String,
    /// Whether threads were kept waiting in loops.
    has_waits: bool,
}

/// A finding as it is shown.
#[derive(Clone, Debug)]
pub(super) struct ShownFinding {
    pub(super) headline: String,
    pub(super) text: String,
    pub(super) json: String,
}

/// A summary as it is shown.
#[derive(Clone, Debug)]
pub(super) struct ShownSummary {
    pub(super) text: String,
    pub(super) json: String,
}

impl Showing {
    /// `stride` is how the commits of buffered stores are numbered, if stores are buffered.
    pub(super) fn new(
        registry: Arc<Registry>,
        target: Target,
        model: MemoryModel,
        stride: Option<ThreadIdSpace>,
    ) -> Self {
        Showing {
            stride,
            registry,
            target,
            model,
            sources: SourceFiles::default(),
            names: OnceLock::new(),
            all_fences: None,
            replaying: String::new(),
            has_waits: false,
        }
    }

    /// The same, with the code that replays a schedule, up to `replay(…)`.
    pub(super) fn with_replay(self, replaying: String) -> Self {
        Showing { replaying, ..self }
    }

    /// The code that replays a schedule, up to `replay(…)`.
    pub(super) fn replaying(&self) -> &str {
        &self.replaying
    }

    /// The same, for executions in which threads were kept waiting in loops, or were not.
    pub(super) fn with_waits(self, has_waits: bool) -> Self {
        Showing { has_waits, ..self }
    }

    /// Whether threads were kept waiting in loops. With a spin bound none is.
    pub(super) fn has_waits(&self) -> bool {
        self.has_waits
    }

    /// The same, with how to come by fences that rule out all violations.
    pub(super) fn with_all_fences(self, all_fences: Option<&'static str>) -> Self {
        Showing { all_fences, ..self }
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

    /// With the values with which the objects of the execution were made.
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
        let names = CheckNames::new(self.names(), &self.sources, self.target, first_values);
        let target = ReportTarget::of(self.model);
        show(&Reporter {
            all_fences: self.all_fences,
            ..Reporter::new(target, &names, &self.sources)
        })
    }
}

impl fmt::Debug for Showing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Showing").finish_non_exhaustive()
    }
}
