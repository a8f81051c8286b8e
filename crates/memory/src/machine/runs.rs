//! Every run of a machine: the traces that it emits, and whether one is not SC.
//!
//! Runs that have come to the same state with the same events so far are continued
//! once. Steps that touch only a thread's own buffer (putting a store into it, passing a
//! barrier, passing a fence with nothing to wait for) are taken at once and alone: no
//! other step can see when they happened, so nothing is lost. Only the machine and
//! happens-before are used, never the axioms of the store-buffer models.

use std::ops::ControlFlow;

use rustc_hash::FxHashSet;

use super::{Machine, State, Step};
use crate::axioms::AxiomChecker;
use crate::candidates::{CandidateKey, ProgramTooLarge};
use crate::event::CoherenceIndex;
use crate::model::MemoryModel;
use crate::program::StraightLineProgram;
use crate::trace::Trace;

/// The traces of all complete runs: every operation issued, every buffer empty.
///
/// ```
/// use fencepost_memory::machine::emitted_traces;
/// use fencepost_memory::{Address, MemoryModel, Operation, StraightLineProgram};
/// let (x, y) = (Address(0), Address(1));
/// let store_buffering = StraightLineProgram {
///     threads: vec![
///         vec![Operation::Store(x), Operation::Load(y)],
///         vec![Operation::Store(y), Operation::Load(x)],
///     ],
/// };
/// assert_eq!(emitted_traces(&MemoryModel::SC, &store_buffering)?.len(), 3);
/// assert_eq!(emitted_traces(&MemoryModel::TSO, &store_buffering)?.len(), 4);
/// # Ok::<(), fencepost_memory::candidates::ProgramTooLarge>(())
/// ```
pub fn emitted_traces(
    model: &MemoryModel,
    program: &StraightLineProgram,
) -> Result<FxHashSet<CandidateKey>, ProgramTooLarge> {
    let mut keys = FxHashSet::default();
    RunEnumerator::default().emitted_traces_into(model, program, &mut keys)?;
    Ok(keys)
}

/// A trace of a complete run that is not sequentially consistent, if there is one: the
/// oracle of what a monitor should find.
///
/// # Panics
/// If the program is too large for a [`CandidateKey`]; brute force would not end.
pub fn emits_non_sc_trace(model: &MemoryModel, program: &StraightLineProgram) -> Option<Trace> {
    match RunEnumerator::default().non_sc_trace(model, program) {
        Ok(found) => found,
        Err(error) => panic!("{error}"),
    }
}

/// Enumerates the runs of many programs without allocating for each.
#[derive(Clone, Debug, Default)]
pub struct RunEnumerator {
    visited: FxHashSet<CandidateKey>,
    steps: Vec<Step>,
    checker: AxiomChecker,
}

/// Clearing a hash table takes time in proportion to its capacity, so the table of one
/// huge program is not kept for the next ones.
const KEPT_CAPACITY: usize = 1 << 12;

impl RunEnumerator {
    /// As [`emitted_traces`], into a set that is cleared first.
    pub fn emitted_traces_into(
        &mut self,
        model: &MemoryModel,
        program: &StraightLineProgram,
        keys: &mut FxHashSet<CandidateKey>,
    ) -> Result<(), ProgramTooLarge> {
        keys.clear();
        let flow = self.for_each_complete_run(model, program, |_, _, key| {
            keys.insert(key);
            ControlFlow::<()>::Continue(())
        })?;
        debug_assert!(flow.is_continue());
        Ok(())
    }

    /// As [`emits_non_sc_trace`].
    pub fn non_sc_trace(
        &mut self,
        model: &MemoryModel,
        program: &StraightLineProgram,
    ) -> Result<Option<Trace>, ProgramTooLarge> {
        let mut trace: Option<Trace> = None;
        let flow = self.for_each_complete_run(model, program, |machine, checker, _| {
            let trace = match &mut trace {
                None => trace.insert(Trace::of_valid_events(machine.events())),
                Some(trace) => {
                    for position in 0..machine.operation_count() {
                        let coherence = machine.coherence(position);
                        trace.set_coherence(position, CoherenceIndex(coherence.into()));
                    }
                    trace
                }
            };
            match checker.is_sequentially_consistent(trace) {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        Ok(if flow.is_break() { trace } else { None })
    }

    /// Calls `visit` with the machine at the end of each complete run, once per trace.
    fn for_each_complete_run<B>(
        &mut self,
        model: &MemoryModel,
        program: &StraightLineProgram,
        mut visit: impl FnMut(&Machine, &mut AxiomChecker, CandidateKey) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, ProgramTooLarge> {
        CandidateKey::check_size(program)?;
        if self.visited.capacity() > KEPT_CAPACITY {
            self.visited = FxHashSet::default();
        }
        self.visited.clear();
        self.steps.clear();
        let mut machine = Machine::new(model, program);
        Ok(self.extend_run(&mut machine, &mut visit))
    }

    /// Depth first; the depth is at most two steps for each of at most 32 operations.
    fn extend_run<B>(
        &mut self,
        machine: &mut Machine,
        visit: &mut impl FnMut(&Machine, &mut AxiomChecker, CandidateKey) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        if let Some(step) = machine.local_step() {
            return self.take(machine, step, visit);
        }
        let key = state_key(machine);
        if !self.visited.insert(key) {
            return ControlFlow::Continue(());
        }
        let first = self.steps.len();
        machine.push_enabled(&mut self.steps);
        if self.steps.len() == first {
            return visit(machine, &mut self.checker, key);
        }
        while self.steps.len() > first {
            if let Some(step) = self.steps.pop() {
                self.take(machine, step, visit)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn take<B>(
        &mut self,
        machine: &mut Machine,
        step: Step,
        visit: &mut impl FnMut(&Machine, &mut AxiomChecker, CandidateKey) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let index = machine.apply(step).expect("an enabled step can be taken");
        let flow = self.extend_run(machine, visit);
        machine.undo(step, index);
        flow
    }
}

/// The events so far and what is buffered. At the end of a complete run this is the key
/// of its trace.
fn state_key(machine: &Machine) -> CandidateKey {
    CandidateKey::of_nibbles(machine.states().map(|state| match state {
        State::NotIssued => CandidateKey::NOT_ISSUED,
        State::Buffered | State::Forwarded => CandidateKey::PENDING,
        State::Done(coherence) => CandidateKey::nibble(u64::from(coherence)),
    }))
}
