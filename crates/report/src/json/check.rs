//! The findings and the summary of a checked program as JSON. The kinds of failures are in
//! [`problem`].

pub mod native;
pub mod problem;

use std::collections::HashMap;

use fencepost_memory::{Address, Event, ThreadId};
use fencepost_monitor::PlacedEvent;
use serde::Serialize;

pub use problem::ProblemObject;

use super::fences::FencesObject;
use super::{EventObject, pso_locked};
use crate::check::{
    CheckFinding, CheckSummary, Consequence, Gap, Mark, Outcome, Reporter, assumptions,
    consequence_sentence, gap_name, gap_sentence, notes, shown_sentence,
};
use crate::language::ProgramLanguage;
use crate::names::Naming;
use crate::selection::around;
use crate::source::SourcePosition;

/// The schema of the findings and the summary of a checked program.
pub const CHECK_SCHEMA: &str = "fencepost-check/1";

/// The largest number of accesses of an execution; longer ones are cut to the relevant ones.
const MAX_ACCESSES: usize = 1000;

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PlaceObject {
    /// The file, as the compiler names it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column on the screen, from 1; 0 if it is not known.
    pub column: u32,
}

impl PlaceObject {
    /// A place.
    pub fn new(position: &SourcePosition) -> Self {
        PlaceObject {
            file: position.file.clone(),
            line: position.line,
            column: position.column,
        }
    }

    fn of(location: &Option<SourcePosition>) -> Option<Self> {
        location.as_ref().map(Self::new)
    }
}

/// An access of the execution.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AccessObject {
    /// The event.
    #[serde(flatten)]
    pub event: EventObject,
    /// The location in the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<PlaceObject>,
    /// With store buffers: whether this is the commit of an earlier store.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub commit: bool,
}

impl AccessObject {
    fn new(placed: &PlacedEvent, names: &dyn Naming) -> Self {
        let location = placed.event.access.location;
        let position = location.and_then(|location| names.position(location));
        AccessObject {
            event: EventObject::new(placed, names),
            source: PlaceObject::of(&position),
            commit: false,
        }
    }
}

/// A location and its label.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MarkObject {
    /// The location in the source, or null.
    pub source: Option<PlaceObject>,
    /// The label in the text report.
    pub label: String,
    /// Whether the headline is about this location.
    pub primary: bool,
}

impl MarkObject {
    fn new(mark: &Mark) -> Self {
        MarkObject {
            source: PlaceObject::of(&mark.position),
            label: mark.label.clone(),
            primary: mark.is_primary,
        }
    }
}

/// The execution that shows a problem.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ExecutionObject {
    /// The number of accesses.
    pub length: usize,
    /// The number of accesses that are omitted here.
    pub left_out: usize,
    /// Whether stores wait in buffers: then each store has a later access with `commit`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub store_buffers: bool,
    /// The others, in order.
    pub accesses: Vec<AccessObject>,
}

impl ExecutionObject {
    fn new(finding: &CheckFinding, important: &[usize], names: &dyn Naming) -> Self {
        let (interleaving, buffers) = (&finding.interleaving, finding.buffers.as_ref());
        let ranges = around(interleaving.len(), important, MAX_ACCESSES, true);
        let mut issued: HashMap<ThreadId, u64> = HashMap::new();
        let mut written: HashMap<Address, u64> = HashMap::new();
        let mut accesses = Vec::new();
        let mut ranges = ranges.iter().peekable();
        for (position, access) in interleaving.iter().enumerate() {
            let is_commit = buffers.is_some_and(|buffers| buffers.commits.contains(&position));
            let waits = buffers.is_some_and(|buffers| buffers.stores.contains(&position));
            let issued = issued.entry(access.thread).or_default();
            let writes = access.operation.address();
            let written = writes.map_or(0, |address| {
                let count = written.entry(address).or_default();
                let before = *count;
                *count += u64::from(access.operation.writes() && !waits);
                before
            });
            let event = Event::next(*access, *issued, written);
            *issued += u64::from(!is_commit);
            ranges.next_if(|range| range.end <= position);
            if ranges.peek().is_some_and(|range| range.contains(&position)) {
                let position = position as u64;
                let mut access = AccessObject::new(&PlacedEvent { event, position }, names);
                access.commit = is_commit;
                accesses.push(access);
            }
        }
        ExecutionObject {
            length: interleaving.len(),
            left_out: interleaving.len() - accesses.len(),
            store_buffers: buffers.is_some(),
            accesses,
        }
    }
}

/// A failure and the execution that shows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FindingObject {
    /// [`CHECK_SCHEMA`].
    pub schema: &'static str,
    /// `finding`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The number among the distinct failures, from 1.
    pub number: usize,
    /// The name of the machine in reports.
    pub target: String,
    /// The memory model.
    pub model: &'static str,
    /// The stores that locked operations drain, for PSO.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pso_locked: Option<&'static str>,
    /// The failure, in one line.
    pub headline: String,
    /// The failure.
    #[serde(flatten)]
    pub problem: ProblemObject,
    /// The places in the source that it is about.
    pub marks: Vec<MarkObject>,
    /// Further facts.
    pub notes: Vec<String>,
    /// Advice, if it is not in `repair`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The number of the execution, from 1.
    pub execution: u64,
    /// The schedule.
    pub schedule: String,
    /// The code that replays the execution.
    pub replay: String,
    /// A command that replays it without a change of the code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay_command: Option<String>,
    /// The execution.
    pub interleaving: ExecutionObject,
    /// The consequence of a store-buffer violation, if the user asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consequence: Option<ConsequenceObject>,
}

/// The consequence of a store-buffer violation on the machine with store buffers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ConsequenceObject {
    /// `harmful`, `wrong-anyway` (fails without store buffers too), `harmless` (all executions were
    /// explored, and none fails) or `none-found`.
    pub kind: &'static str,
    /// The consequence as a sentence.
    pub sentence: String,
    /// The number of explored executions, if none fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executions: Option<u64>,
    /// The failing execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<Box<FindingObject>>,
}

impl ConsequenceObject {
    fn new(number: usize, consequence: &Consequence, reporter: &Reporter<'_>) -> Self {
        let (executions, finding) = match consequence {
            Consequence::NoFailure { executions, .. } => (Some(*executions), None),
            Consequence::Failure { finding, .. } => (
                None,
                Some(Box::new(FindingObject::new(number, finding, reporter))),
            ),
        };
        ConsequenceObject {
            kind: consequence.kind(),
            sentence: consequence_sentence(consequence, reporter),
            executions,
            finding,
        }
    }
}

impl FindingObject {
    /// The finding as an object.
    pub fn new(number: usize, finding: &CheckFinding, reporter: &Reporter<'_>) -> Self {
        let diagnosis = reporter.diagnosis(finding);
        let names = reporter.names;
        let rows: Vec<usize> = diagnosis.rows.iter().map(|r| r.position as usize).collect();
        FindingObject {
            schema: CHECK_SCHEMA,
            kind: "finding",
            number,
            target: reporter.target.title.clone(),
            model: reporter.target.model.name(),
            pso_locked: pso_locked(&reporter.target.model),
            problem: ProblemObject::new(&finding.problem, &diagnosis.repair, names),
            marks: diagnosis.marks.iter().map(MarkObject::new).collect(),
            headline: diagnosis.headline,
            notes: diagnosis.notes,
            help: diagnosis.help,
            execution: finding.execution,
            schedule: finding.schedule.clone(),
            replay: finding.replay.clone(),
            replay_command: finding.command.clone(),
            interleaving: ExecutionObject::new(finding, &rows, names),
            consequence: finding
                .consequence
                .as_ref()
                .map(|consequence| ConsequenceObject::new(number, consequence, reporter)),
        }
    }
}

/// Why some executions were not explored.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GapObject {
    /// `preemption-bound`, `execution-budget`, `time-budget`, `memory-budget`, `spin-bound`,
    /// `wait-bound`, `random`, `replay`, `interrupted`, `stopped-at-problem`, `unseen-memory`,
    /// `endless-loops` or `other`.
    pub reason: &'static str,
    /// The bound or the budget, in milliseconds or bytes; for `random`, the seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The executions that are left out, as a sentence.
    pub left_out: String,
    /// For `unseen-memory` and `endless-loops`: the loops.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<PlaceObject>,
}

impl GapObject {
    fn new(gap: &Gap, language: ProgramLanguage) -> Self {
        let limit = match gap {
            Gap::PreemptionBound(bound) | Gap::SpinBound(bound) | Gap::WaitBound(bound) => {
                Some(u64::from(*bound))
            }
            Gap::EndlessLoops(rounds, _) => Some(u64::from(*rounds)),
            Gap::ExecutionBudget(budget)
            | Gap::FurtherExecutions(budget)
            | Gap::MemoryBudget(budget) => Some(*budget),
            Gap::TimeBudget(budget) => Some(budget.as_millis().try_into().unwrap_or(u64::MAX)),
            Gap::Random { seed } => Some(*seed),
            Gap::Replay
            | Gap::Interrupted
            | Gap::StoppedAtProblem
            | Gap::EarlyDrain
            | Gap::UnseenMemory(_) => None,
        };
        let loops = match gap {
            Gap::UnseenMemory(loops) | Gap::EndlessLoops(_, loops) => {
                loops.iter().map(PlaceObject::new).collect()
            }
            _ => Vec::new(),
        };
        GapObject {
            reason: gap_name(gap),
            limit,
            left_out: gap_sentence(gap, language),
            loops,
        }
    }
}

/// The result of a check.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SummaryObject {
    /// [`CHECK_SCHEMA`].
    pub schema: &'static str,
    /// `summary`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// `verified`, `incomplete` or `found`.
    pub outcome: &'static str,
    /// The name of the machine in reports.
    pub target: String,
    /// The memory model.
    pub model: &'static str,
    /// The stores that locked operations drain, for PSO.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pso_locked: Option<&'static str>,
    /// The number of explored executions.
    pub executions: u64,
    /// The number of these that an assumption of the program has ended; absent if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub pruned: u64,
    /// The number of executions with a store-buffer violation; absent if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub borderline: u64,
    /// The steps of all executions.
    pub steps: u64,
    /// The number of executions that were abandoned early.
    pub abandoned: u64,
    /// All failures, with repetitions.
    pub problems: u64,
    /// The distinct failures.
    pub distinct: u64,
    /// Whether `distinct` is only a lower bound.
    pub distinct_is_lower_bound: bool,
    /// Why some executions were not explored; empty if all were.
    pub gaps: Vec<GapObject>,
    /// The preemption bound within which every execution was explored, or null.
    pub covered_preemptions: Option<u32>,
    /// For an incomplete check: the claim that it proves, as a sentence. Absent if nothing was
    /// explored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// Spin loops that are assumed to only wait.
    pub waiting_loops: Vec<PlaceObject>,
    /// The assumptions of the result, each a clause.
    pub assumptions: Vec<String>,
    /// Remarks; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The missing fences, if the user asked for fence inference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fences: Option<FencesObject>,
    /// The version of Fencepost.
    pub version: &'static str,
}

impl SummaryObject {
    /// The summary as an object, without fences: the caller adds them.
    pub fn new(summary: &CheckSummary, reporter: &Reporter<'_>) -> Self {
        let target = &reporter.target;
        let language = reporter.language();
        let outcome = summary.outcome();
        let is_incomplete = outcome == Outcome::Incomplete;
        SummaryObject {
            schema: CHECK_SCHEMA,
            kind: "summary",
            outcome: outcome.name(),
            target: target.title.clone(),
            model: target.model.name(),
            pso_locked: pso_locked(&target.model),
            executions: summary.executions,
            pruned: summary.pruned,
            borderline: summary.borderline,
            steps: summary.steps,
            abandoned: summary.abandoned,
            problems: summary.problems,
            distinct: summary.distinct,
            distinct_is_lower_bound: summary.distinct_is_lower_bound,
            gaps: summary
                .gaps
                .iter()
                .map(|gap| GapObject::new(gap, language))
                .collect(),
            covered_preemptions: summary.covered_preemptions,
            shown: shown_sentence(summary, target).filter(|_| is_incomplete),
            waiting_loops: summary
                .waiting_loops
                .iter()
                .chain(&summary.repeated_waits)
                .chain(&summary.declared_waits)
                .map(PlaceObject::new)
                .collect(),
            assumptions: assumptions(summary, language),
            notes: notes(summary, language),
            fences: None,
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // What serde calls.
fn is_zero(number: &u64) -> bool {
    *number == 0
}
