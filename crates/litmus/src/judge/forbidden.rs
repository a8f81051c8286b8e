//! Whether a candidate has the final state that is claimed, and whether each step of the cycle by
//! which it is forbidden is one that its axiom has.
//!
//! If so, no order of memory makes it an execution that the model allows: each step of a cycle of
//! the order says that one access comes before another in memory order, and accesses of one locked
//! instruction are at one place there. A cycle on one cell contradicts what a read sees of its own
//! thread or the order in which the model keeps accesses to one cell.

use fencepost_memory::{Buffering, MemoryModel};

use super::memory_order::kept_because;
use super::rejection::{EventLabel, Rejection};
use super::{are_of_one_instance, initial_content, is_before_in_program, replay};
use crate::event_graph::Relation;
use crate::event_graph::cycle::CycleStep;
use crate::execution::{Action, Candidate, EventId, Execution};
use crate::final_state::FinalState;
use crate::forbidden::{Axiom, Violation};
use crate::test::{CellId, Test};

/// Checks a candidate and why `model` forbids it. If both hold, its final state; if not, the first
/// thing that is wrong.
pub fn check_forbidden(
    test: &Test,
    model: &MemoryModel,
    candidate: &Candidate,
    violation: &Violation,
) -> Result<FinalState, Rejection> {
    let execution = Execution {
        events: candidate.events.clone(),
        reads_from: candidate.reads_from.clone(),
        memory_order: Vec::new(),
    };
    let registers = replay::check(test, &execution)?;
    check_coherence(test, &execution, candidate)?;
    check_sources(test, &execution)?;
    let steps = &violation.cycle.steps;
    if steps.is_empty() {
        return Err(Rejection::NoCycle);
    }
    let checker = StepChecker {
        test,
        model,
        execution: &execution,
        candidate,
        axiom: violation.axiom,
    };
    for (index, step) in steps.iter().enumerate() {
        checker.check(step)?;
        checker.check_meeting(step.to, steps[(index + 1) % steps.len()].from)?;
    }
    let last = |(cell, test_cell): (usize, _)| {
        let last = candidate.writes(CellId(cell as u32)).last();
        match last.map(|&id| candidate.event(id).action) {
            Some(Action::Write(_, value)) => value,
            _ => initial_content(test_cell),
        }
    };
    Ok(FinalState {
        registers,
        cells: test.cells.iter().enumerate().map(last).collect(),
    })
}

/// Each write is in the order of its cell once, and nothing else is.
fn check_coherence(
    test: &Test,
    execution: &Execution,
    candidate: &Candidate,
) -> Result<(), Rejection> {
    let mut seen = vec![0_usize; execution.events.len()];
    for (cell, writes) in candidate.coherence.iter().enumerate() {
        for id in writes {
            let event = execution.events.get(id.index());
            let cell = CellId(cell as u32);
            match event.map(|event| event.action) {
                Some(Action::Write(written, _)) if written == cell => seen[id.index()] += 1,
                _ => return Err(Rejection::BadCoherence { event: id.0 }),
            }
        }
    }
    let wrong = (0..seen.len())
        .find(|&index| seen[index] != usize::from(execution.events[index].action.is_write()));
    match wrong {
        Some(index) => Err(Rejection::NotInMemoryOrder {
            event: EventLabel::of(test, execution, index),
        }),
        None => Ok(()),
    }
}

/// Each read has the value of its source, and a locked instruction does not read its own write.
fn check_sources(test: &Test, execution: &Execution) -> Result<(), Rejection> {
    let label = |index| EventLabel::of(test, execution, index);
    for (index, event) in execution.events.iter().enumerate() {
        let source = execution.reads_from[index];
        let Action::Read(cell, value) = event.action else {
            match source {
                Some(_) => {
                    return Err(Rejection::SourceOfNoRead {
                        event: label(index),
                    });
                }
                None => continue,
            }
        };
        let Some(source) = source else {
            let initial = initial_content(&test.cells[cell.index()]);
            if initial != value {
                let read = label(index);
                return Err(Rejection::NotTheInitialValue { read, initial });
            }
            continue;
        };
        let write = execution.events.get(source.index());
        let is_source = write.is_some_and(|write| {
            write.action == Action::Write(cell, value)
                && !(write.locked && are_of_one_instance(write, event))
        });
        if !is_source {
            return Err(Rejection::NotTheValue {
                read: label(index),
                source_event: match write {
                    Some(write) => EventLabel::new(test, write).to_string(),
                    None => format!("event {}, which there is not", source.0),
                },
            });
        }
    }
    Ok(())
}

struct StepChecker<'a> {
    test: &'a Test,
    model: &'a MemoryModel,
    execution: &'a Execution,
    candidate: &'a Candidate,
    axiom: Axiom,
}

impl StepChecker<'_> {
    fn wrong(&self, step: &CycleStep) -> Rejection {
        let label = |id: EventId| match self.execution.events.get(id.index()) {
            Some(event) => EventLabel::new(self.test, event).to_string(),
            None => format!("event {}", id.0),
        };
        Rejection::NoStep {
            relation: step.relation.name(),
            from: label(step.from),
            to: label(step.to),
        }
    }

    /// Whether the relation holds between the ends of a step, and the axiom has it.
    fn check(&self, step: &CycleStep) -> Result<(), Rejection> {
        let (from, to) = (step.from.index(), step.to.index());
        let events = &self.execution.events;
        let (Some(first), Some(second)) = (events.get(from), events.get(to)) else {
            return Err(self.wrong(step));
        };
        let is_one_instruction = first.locked && are_of_one_instance(first, second);
        let is_same_cell = first.action.cell() == second.action.cell();
        let holds = match step.relation {
            Relation::ProgramOrder => {
                is_before_in_program(self.execution, from, to)
                    && match self.axiom {
                        Axiom::Coherence => is_same_cell,
                        Axiom::Atomicity => false,
                        Axiom::Order => {
                            kept_because(self.model, self.execution, from, to).is_some()
                        }
                    }
            }
            Relation::ReadsFrom => {
                let is_sc = self.model.buffering() == Buffering::None;
                self.execution.reads_from[to] == Some(step.from)
                    && match self.axiom {
                        Axiom::Coherence => true,
                        Axiom::Atomicity => false,
                        Axiom::Order => first.thread != second.thread || is_sc,
                    }
            }
            Relation::Coherence => {
                first.action.is_write() && is_same_cell && self.is_overwritten(step.from, step.to)
            }
            Relation::FromReads => {
                let is_newer = match self.execution.reads_from[from] {
                    Some(source) => self.is_overwritten(source, step.to),
                    None => second.action.is_write(),
                };
                first.action.is_read() && is_same_cell && is_newer
            }
        };
        match holds && !is_one_instruction && first.action.cell().is_some() {
            true => Ok(()),
            false => Err(self.wrong(step)),
        }
    }

    /// Whether one write comes before another to the same cell.
    fn is_overwritten(&self, one: EventId, other: EventId) -> bool {
        let Some(cell) = self.execution.event(one).action.cell() else {
            return false;
        };
        let writes = self.candidate.writes(cell);
        let place = |id| writes.iter().position(|&write| write == id);
        matches!((place(one), place(other)), (Some(one), Some(other)) if one < other)
    }

    /// Whether the next step begins where one ends: at the same event, or at another of the same
    /// locked instruction, and if the axiom is about single accesses, not before it.
    fn check_meeting(&self, end: EventId, begin: EventId) -> Result<(), Rejection> {
        let events = &self.execution.events;
        let (Some(one), Some(other)) = (events.get(end.index()), events.get(begin.index())) else {
            return Err(Rejection::NoCycle);
        };
        let is_one_instruction = one.locked && are_of_one_instance(one, other);
        let is_ahead = self.axiom != Axiom::Coherence || end < begin;
        match end == begin || is_one_instruction && is_ahead {
            true => Ok(()),
            false => Err(Rejection::NoCycle),
        }
    }
}
