//! All candidates that have a wanted final state, and the one among them that says most.
//!
//! A run is chosen for each thread, a source for each read, and an order of the writes to each cell,
//! the last write first. A choice is given up as soon as the wanted state is out of reach. First
//! only candidates are tried in which a thread sees its own accesses to a cell in order; if there
//! are none, all.

use fencepost_memory::MemoryModel;

use super::partial::{PartialState, may_hold};
use super::runs::{Runs, ThreadRun, Values};
use super::violation::violation;
use super::{Axiom, Explanation, Forbidden, Limits};
use crate::execution::{Action, Candidate, Event, EventId};
use crate::test::{CellId, Observable, Proposition, Test};

/// The number of steps between two polls of the stop function.
const STEPS_BETWEEN_QUESTIONS: u64 = 1 << 12;

/// The most events of a candidate: to find a cycle takes memory for each pair.
const MOST_EVENTS: usize = 2048;

/// The search for a candidate.
pub(super) struct Search<'a> {
    test: &'a Test,
    model: &'a MemoryModel,
    wanted: &'a Proposition,
    limits: &'a Limits<'a>,
    steps: u64,
    /// Whether something was left out.
    is_cut: bool,
    /// Whether only candidates are tried in which threads see their own accesses in order.
    is_orderly: bool,
    best: Option<(Rank, Forbidden)>,
    allowed: Option<Candidate>,
}

/// What makes a candidate say more than another: the axiom, the steps of the cycle, the events. That
/// threads see their own accesses in order counts for more than the steps.
type Rank = (Axiom, usize, usize);

/// A candidate on its way.
struct Draft {
    candidate: Candidate,
    known: PartialState,
}

/// Nothing more has to be tried.
struct Stop;

type Outcome = Result<(), Stop>;

impl<'a> Search<'a> {
    pub(super) fn new(
        test: &'a Test,
        model: &'a MemoryModel,
        wanted: &'a Proposition,
        limits: &'a Limits<'a>,
    ) -> Self {
        Search {
            test,
            model,
            wanted,
            limits,
            steps: 0,
            is_cut: false,
            is_orderly: true,
            best: None,
            allowed: None,
        }
    }

    pub(super) fn explain(mut self) -> Explanation {
        let mut runs = Runs::new(self.test, self.limits);
        let values = runs.values();
        let threads: Vec<Vec<ThreadRun>> = (0..self.test.threads.len())
            .map(|thread| {
                let may_end = |registers: &[u64]| {
                    let mut known = vec![None; self.test.observables().count()];
                    self.observe_registers(thread, registers, &mut known);
                    may_hold(self.test, self.wanted, &known)
                };
                let mut found = runs.of_thread(thread, &values, may_end);
                found.sort_by_key(|run| run.events.len());
                found
            })
            .collect();
        self.is_cut = runs.is_cut;
        for is_orderly in [true, false] {
            self.is_orderly = is_orderly;
            self.steps = 0;
            let mut draft = Draft {
                candidate: Candidate {
                    events: Vec::new(),
                    reads_from: Vec::new(),
                    coherence: vec![Vec::new(); self.test.cells.len()],
                },
                known: vec![None; self.test.observables().count()],
            };
            let sources = possible_writes(&threads, self.test.cells.len());
            let _ = self.choose_runs(0, &threads, &sources, &mut draft);
            if let Some(candidate) = self.allowed {
                return Explanation::Allowed(Box::new(candidate));
            }
            if let Some((_, forbidden)) = self.best {
                return Explanation::Forbidden(Box::new(forbidden));
            }
        }
        match self.is_cut {
            true => Explanation::Unknown,
            false => Explanation::Impossible,
        }
    }

    fn count_step(&mut self) -> Outcome {
        self.steps += 1;
        let asks = self.steps % STEPS_BETWEEN_QUESTIONS == 0;
        if self.steps > self.limits.steps || asks && (self.limits.should_stop)() {
            self.is_cut = true;
            return Err(Stop);
        }
        Ok(())
    }

    fn observe_registers(&self, thread: usize, registers: &[u64], known: &mut PartialState) {
        for (observable, content) in self.test.observables().zip(known) {
            match observable {
                Observable::Register {
                    thread: of,
                    register,
                    width,
                    ..
                } if *of == thread => *content = Some(registers[register.index()] & width.mask()),
                _ => {}
            }
        }
    }

    fn observe_cell(&self, cell: CellId, value: u64, known: &mut PartialState) {
        let width = self.test.cells[cell.index()].width;
        for (observable, content) in self.test.observables().zip(known) {
            match observable {
                Observable::Cell { cell: of, .. } if *of == cell => {
                    *content = Some(value & width.mask());
                }
                _ => {}
            }
        }
    }

    fn initial(&self, cell: CellId) -> u64 {
        let cell = &self.test.cells[cell.index()];
        cell.initial & cell.width.mask()
    }

    /// Chooses a run for each thread from this one on.
    fn choose_runs(
        &mut self,
        thread: usize,
        threads: &[Vec<ThreadRun>],
        later: &[Values],
        draft: &mut Draft,
    ) -> Outcome {
        self.count_step()?;
        if !self.can_read(&draft.candidate.events, &later[thread]) {
            return Ok(());
        }
        let Some(runs) = threads.get(thread) else {
            if draft.candidate.events.len() > MOST_EVENTS {
                self.is_cut = true;
                return Ok(());
            }
            draft.candidate.reads_from = vec![None; draft.candidate.events.len()];
            return self.choose_source(0, draft);
        };
        let known = draft.known.clone();
        for run in runs {
            self.observe_registers(thread, &run.registers, &mut draft.known);
            if may_hold(self.test, self.wanted, &draft.known) {
                let before = draft.candidate.events.len();
                draft.candidate.events.extend(&run.events);
                self.choose_runs(thread + 1, threads, later, draft)?;
                draft.candidate.events.truncate(before);
            }
            draft.known.clone_from(&known);
        }
        Ok(())
    }

    /// Whether the value of each read is an initial one, written by one of the events, or by a later
    /// thread.
    fn can_read(&self, events: &[Event], later: &Values) -> bool {
        events.iter().all(|event| match event.action {
            Action::Read(cell, value) => {
                value == self.initial(cell)
                    || later[cell.index()].contains(&value)
                    || events
                        .iter()
                        .any(|other| other.action == Action::Write(cell, value))
            }
            Action::Write(..) | Action::Fence(_) => true,
        })
    }

    /// Chooses a source for each read from this event on.
    fn choose_source(&mut self, index: usize, draft: &mut Draft) -> Outcome {
        self.count_step()?;
        let Some(event) = draft.candidate.events.get(index) else {
            draft.candidate.coherence = vec![Vec::new(); self.test.cells.len()];
            return self.choose_order(0, draft);
        };
        let Action::Read(cell, value) = event.action else {
            return self.choose_source(index + 1, draft);
        };
        let ids = (0..draft.candidate.events.len() as u32).map(EventId);
        let writes =
            ids.filter(|id| draft.candidate.event(*id).action == Action::Write(cell, value));
        let initial = (value == self.initial(cell)).then_some(None);
        let sources: Vec<Option<EventId>> = writes.map(Some).chain(initial).collect();
        for source in sources {
            if self.may_read_from(&draft.candidate.events, index, source) {
                draft.candidate.reads_from[index] = source;
                self.choose_source(index + 1, draft)?;
            }
        }
        Ok(())
    }

    /// Whether a read may have this source, as far as its own thread is concerned.
    fn may_read_from(&self, events: &[Event], read: usize, source: Option<EventId>) -> bool {
        let event = &events[read];
        let is_own = |other: &Event| other.thread == event.thread;
        if let Some(source) = source {
            let write = &events[source.index()];
            if event.locked && is_own(write) && write.instance == event.instance {
                return false;
            }
        }
        if !self.is_orderly {
            return true;
        }
        // The last write of its own thread before it.
        let latest = (0..read).rev().find(|&other| {
            is_own(&events[other])
                && events[other].action.is_write()
                && events[other].action.cell() == event.action.cell()
        });
        match source {
            None => latest.is_none(),
            Some(source) if is_own(&events[source.index()]) => Some(source.index()) == latest,
            Some(_) => true,
        }
    }

    /// Orders the writes to each cell from this one on, the last write first.
    fn choose_order(&mut self, cell: usize, draft: &mut Draft) -> Outcome {
        self.count_step()?;
        if cell == self.test.cells.len() {
            return self.judge(draft);
        }
        let id = CellId(cell as u32);
        let is_of_cell = |event: &Event| event.action.is_write() && event.action.cell() == Some(id);
        let writes: Vec<EventId> = draft
            .candidate
            .ids()
            .filter(|id| is_of_cell(draft.candidate.event(*id)))
            .collect();
        if writes.is_empty() {
            return self.with_last(cell, self.initial(id), draft, |search, draft| {
                search.choose_order(cell + 1, draft)
            });
        }
        self.choose_last(cell, writes, draft)
    }

    /// Chooses which of the rest of the writes to a cell is the last of them.
    fn choose_last(&mut self, cell: usize, rest: Vec<EventId>, draft: &mut Draft) -> Outcome {
        self.count_step()?;
        if rest.is_empty() {
            draft.candidate.coherence[cell].reverse();
            let result = self.choose_order(cell + 1, draft);
            draft.candidate.coherence[cell].reverse();
            return result;
        }
        let is_first = draft.candidate.coherence[cell].is_empty();
        for index in (0..rest.len()).rev() {
            let last = rest[index];
            let thread = draft.candidate.event(last).thread;
            let is_followed = rest[index + 1..]
                .iter()
                .any(|other| draft.candidate.event(*other).thread == thread);
            if self.is_orderly && is_followed {
                continue;
            }
            let Action::Write(_, value) = draft.candidate.event(last).action else {
                continue;
            };
            let mut others = rest.clone();
            others.remove(index);
            draft.candidate.coherence[cell].push(last);
            let proceed =
                |search: &mut Self, draft: &mut Draft| search.choose_last(cell, others, draft);
            match is_first {
                true => self.with_last(cell, value, draft, proceed)?,
                false => proceed(self, draft)?,
            }
            draft.candidate.coherence[cell].pop();
        }
        Ok(())
    }

    /// Continues with the final content of a cell, if the wanted state is still possible.
    fn with_last(
        &mut self,
        cell: usize,
        value: u64,
        draft: &mut Draft,
        proceed: impl FnOnce(&mut Self, &mut Draft) -> Outcome,
    ) -> Outcome {
        let known = draft.known.clone();
        self.observe_cell(CellId(cell as u32), value, &mut draft.known);
        if may_hold(self.test, self.wanted, &draft.known) {
            proceed(self, draft)?;
        }
        draft.known = known;
        Ok(())
    }

    /// Compares a whole candidate with the best so far.
    fn judge(&mut self, draft: &Draft) -> Outcome {
        // What it costs to find the cycle.
        let events = draft.candidate.events.len() as u64;
        self.steps += events * events;
        let Some(violation) = violation(self.model, &draft.candidate) else {
            self.allowed = Some(draft.candidate.clone());
            return Err(Stop);
        };
        let length = violation.cycle.steps.len();
        let rank = (violation.axiom, length, draft.candidate.events.len());
        if self.best.as_ref().is_none_or(|(best, _)| rank < *best) {
            let state = draft
                .known
                .iter()
                .map(|content| content.unwrap_or_default());
            let forbidden = Forbidden {
                candidate: draft.candidate.clone(),
                state: state.collect(),
                violation,
            };
            self.best = Some((rank, forbidden));
        }
        Ok(())
    }
}

/// For each number of threads, what the threads from there on may write to each cell.
fn possible_writes(threads: &[Vec<ThreadRun>], cells: usize) -> Vec<Values> {
    let mut possible = vec![Values::new(); threads.len() + 1];
    possible[threads.len()].resize_with(cells, Default::default);
    for (thread, runs) in threads.iter().enumerate().rev() {
        let mut values = possible[thread + 1].clone();
        for event in runs.iter().flat_map(|run| &run.events) {
            if let Action::Write(cell, value) = event.action {
                values[cell.index()].insert(value);
            }
        }
        possible[thread] = values;
    }
    possible
}
