//! The diagnosis of a store-buffer violation, along its cycle.
//!
//! Every event of the cycle gets a number and a sentence, under its source line. The headline
//! names two accesses of one thread that the witness reorders, not merely two whose order the model
//! does not keep.

use fencepost_memory::{Operation, OperationKind};
use fencepost_monitor::{
    CycleEvent, ExplainError, Finding, PlacedEvent, Relation, Repair, Violation,
};

use super::repair::has_ordering;
use super::snippets::Mark;
use super::words::Words;
use super::{Diagnosis, Row, Target};
use crate::names::{Naming, action_verb};

/// The diagnosis of a violation.
pub(super) fn diagnosis(
    violation: &Violation,
    explained: &Result<Finding, ExplainError>,
    words: &Words<'_>,
    target: &Target,
) -> Diagnosis {
    match explained {
        Ok(finding) => CycleDiagnosis::new(finding, words, target).diagnosis(),
        Err(error) => unexplained(violation, error, words, target),
    }
}

/// `load of`, `store to`: an access, to precede the name of its variable.
fn noun(operation: Operation, words: &Words<'_>) -> String {
    let verb = action_verb(operation.kind(), words.language());
    match operation.kind() {
        OperationKind::Store | OperationKind::LockedStore => format!("{verb} to"),
        OperationKind::Load | OperationKind::Interlocked | OperationKind::LockedLoad => {
            format!("{verb} of")
        }
        OperationKind::Fence | OperationKind::StoreBarrier => verb.to_string(),
    }
}

/// `` `x` ``.
fn variable(placed: &PlacedEvent, words: &Words<'_>) -> String {
    let name = placed.address().map(|address| words.address(address));
    name.map_or(String::new(), |name| format!("`{name}`"))
}

/// `` load of `x` ``.
pub(super) fn access(placed: &PlacedEvent, words: &Words<'_>) -> String {
    let noun = noun(placed.event.operation(), words);
    format!("{noun} {}", variable(placed, words))
}

fn mark(placed: &PlacedEvent, label: String, is_primary: bool, words: &Words<'_>) -> Mark {
    let location = placed.event.access.location;
    Mark {
        position: location.and_then(|location| words.position(location)),
        place: location.and_then(|location| words.location(location)),
        label,
        is_primary,
    }
}

/// A headline that holds for every violation.
fn general_headline(violation: &Violation, words: &Words<'_>, target: &Target) -> String {
    let (event, pending) = (&violation.event, &violation.pending);
    format!(
        "not store-buffer safe: under {}, {}'s {} can come before {}'s {}, which happens before it",
        target.title,
        words.thread(event.thread()),
        access(event, words),
        words.thread(pending.thread()),
        access(pending, words),
    )
}

fn unexplained(
    violation: &Violation,
    error: &ExplainError,
    words: &Words<'_>,
    target: &Target,
) -> Diagnosis {
    let events = [&violation.pending, &violation.last, &violation.event];
    let sentences = [
        pending_sentence(&violation.pending, true, words),
        "this happens after (1)".to_string(),
        overtaking_sentence(&violation.event, words),
    ];
    let marks = events.iter().zip(sentences).enumerate();
    let marks = marks.map(|(index, (event, sentence))| {
        let label = numbered(index, event, &sentence, words);
        mark(event, label, index != 1, words)
    });
    Diagnosis {
        headline: general_headline(violation, words, target),
        marks: marks.collect(),
        repair: None,
        help: None,
        notes: vec![format!("there is no witness for this violation: {error}")],
        rows: rows(events.iter().map(|event| event.position)),
    }
}

fn numbered(index: usize, event: &PlacedEvent, sentence: &str, words: &Words<'_>) -> String {
    let thread = words.thread(event.thread());
    format!("({}) {thread}: {sentence}", index + 1)
}

fn rows(positions: impl Iterator<Item = u64>) -> Vec<Row> {
    let rows = positions.enumerate().map(|(index, position)| Row {
        position,
        label: format!("({})", index + 1),
    });
    rows.collect()
}

fn pending_sentence(pending: &PlacedEvent, can_wait: bool, words: &Words<'_>) -> String {
    let verb = action_verb(pending.event.operation().kind(), words.language());
    match pending.event.operation() {
        Operation::Store(_) if can_wait => {
            let thread = words.thread(pending.thread());
            format!("this {verb} can wait in {thread}'s store buffer")
        }
        _ => format!("this {verb} writes {}", variable(pending, words)),
    }
}

fn overtaking_sentence(event: &PlacedEvent, words: &Words<'_>) -> String {
    let operation = event.event.operation();
    let verb = action_verb(operation.kind(), words.language());
    let variable = variable(event, words);
    match operation {
        Operation::Load(_) | Operation::LockedLoad(_) => {
            format!("this {verb} can read {variable} before (1) is in memory")
        }
        _ => format!("this {verb} can write {variable} before (1) is in memory"),
    }
}

/// A finding and the edges that its witness reorders.
struct CycleDiagnosis<'a> {
    finding: &'a Finding,
    words: &'a Words<'a>,
    target: &'a Target,
    /// For each event of the cycle, whether the witness reorders it with the next one.
    is_reordered: Vec<bool>,
}

impl<'a> CycleDiagnosis<'a> {
    fn new(finding: &'a Finding, words: &'a Words<'a>, target: &'a Target) -> Self {
        CycleDiagnosis {
            finding,
            words,
            target,
            is_reordered: finding.reordered_edges(),
        }
    }

    fn diagnosis(&self) -> Diagnosis {
        let cycle = &self.finding.cycle;
        let marks = (0..cycle.len()).map(|index| {
            let event = &cycle[index].event;
            let label = numbered(index, event, &self.sentence(index), self.words);
            mark(event, label, self.is_primary(index), self.words)
        });
        Diagnosis {
            headline: self.headline(),
            marks: marks.collect(),
            repair: Some(Repair::new(self.finding, |access| {
                has_ordering(access, self.words)
            })),
            help: None,
            notes: Vec::new(),
            rows: rows(cycle.iter().map(|step| step.event.position)),
        }
    }

    fn previous(&self, index: usize) -> usize {
        (index + self.finding.cycle.len() - 1) % self.finding.cycle.len()
    }

    fn first_reordered(&self) -> Option<usize> {
        self.is_reordered.iter().position(|&it| it)
    }

    /// Whether the headline is about the event: it names the first two that are reordered, or else
    /// the two ends of the cycle.
    fn is_primary(&self, index: usize) -> bool {
        match self.first_reordered() {
            Some(first) => index == first || self.previous(index) == first,
            None => index == 0 || index + 1 == self.finding.cycle.len(),
        }
    }

    fn headline(&self) -> String {
        let Some(first) = self.first_reordered() else {
            return general_headline(&self.finding.violation, self.words, self.target);
        };
        let cycle = &self.finding.cycle;
        let (from, to) = (&cycle[first].event, &cycle[(first + 1) % cycle.len()].event);
        format!(
            "not store-buffer safe: under {}, {}'s {} can come before its earlier {}",
            self.target.title,
            self.words.thread(from.thread()),
            access(to, self.words),
            access(from, self.words),
        )
    }

    fn sentence(&self, index: usize) -> String {
        let cycle = &self.finding.cycle;
        let event = &cycle[index].event;
        let words = self.words;
        if index == 0 {
            return pending_sentence(event, self.is_reordered[0], words);
        }
        if index + 1 == cycle.len() {
            return overtaking_sentence(event, words);
        }
        let before = &cycle[index - 1];
        let operation = event.event.operation();
        let verb = action_verb(operation.kind(), words.language());
        let variable = variable(event, words);
        let does = match operation.writes() {
            true => "writes",
            false => "reads",
        };
        let waits = match self.is_reordered[index] {
            true => format!(
                ", but can wait in {}'s store buffer",
                words.thread(event.thread())
            ),
            false => String::new(),
        };
        let sentence = match before.relation {
            Relation::ProgramOrder if self.is_reordered[index - 1] => {
                format!(
                    "while this {verb} already {does} {variable}{}",
                    self.value(event)
                )
            }
            Relation::ProgramOrder if operation.address().is_none() => {
                format!("this {verb} comes next")
            }
            Relation::ProgramOrder => {
                format!("then this {verb} {does} {variable}{}", self.value(event))
            }
            Relation::ReadsFrom => format!("this {verb} reads that value of {variable}"),
            Relation::Coherence => format!("this {verb} overwrites {variable} after that"),
            Relation::FromRead => format!("this {verb} writes {variable} after that"),
            Relation::CoherenceThenReadsFrom => {
                format!("this {verb} reads a later value of {variable}")
            }
        };
        sentence + &waits
    }

    fn value(&self, event: &PlacedEvent) -> String {
        let value = event.address().zip(event.event.access.value);
        let value = value.filter(|&(address, _)| self.words.has_values(address));
        value.map_or(String::new(), |(address, value)| {
            format!(" = {}", self.words.value(address, value))
        })
    }
}

/// Why two neighbours of a cycle are ordered.
pub(super) fn reason(
    from: &CycleEvent,
    to: &CycleEvent,
    words: &Words<'_>,
    target: &Target,
) -> String {
    let reader = words.thread(to.event.thread());
    let writer = words.thread(from.event.thread());
    match from.relation {
        Relation::ProgramOrder if from.is_kept => "program order".to_string(),
        Relation::ProgramOrder => format!("program order, not kept by {}", target.title),
        Relation::ReadsFrom => format!("{reader} reads what {writer} wrote"),
        Relation::Coherence => format!("{reader} overwrites what {writer} wrote"),
        Relation::FromRead => format!("{reader} overwrites what {writer} read"),
        Relation::CoherenceThenReadsFrom => {
            format!("{reader} reads what overwrote {writer}'s value")
        }
    }
}
