//! What an operation records while it is performed: the objects that it touches, its memory events,
//! and what it happens after.

use std::sync::Arc;

use fencepost_explore::{OptimisticLoad, Touch, TouchKind};
use fencepost_memory::{Access, Address, Operation, ThreadId};

use super::buffers::Waited;
use super::error::ProgramError;
use super::execution::{Execution, Phase};
use super::location::LocationRef;
use super::mapping::{Events, Target};
use super::names::Tokens;
use super::races::Races;
use super::recording::PendingJoin;

/// The operation that is being performed.
pub struct Step<'execution> {
    execution: &'execution mut Execution,
    thread: ThreadId,
    location: LocationRef,
}

impl<'execution> Step<'execution> {
    /// An operation of a thread.
    #[inline]
    pub(crate) fn in_place(
        execution: &'execution mut Execution,
        thread: ThreadId,
        location: LocationRef,
    ) -> Self {
        Step {
            execution,
            thread,
            location,
        }
    }

    /// Ends the execution after the operation.
    #[cold]
    pub(crate) fn fail(&mut self, error: ProgramError) {
        if self.is_recorded() {
            self.execution.fail(error.into());
        }
    }

    /// The execution, and the thread that performs the operation.
    #[inline]
    pub(crate) fn parts(&mut self) -> (&mut Execution, ThreadId) {
        (self.execution, self.thread)
    }

    /// The thread that performs the operation.
    #[inline]
    pub fn thread(&self) -> ThreadId {
        self.thread
    }

    /// The outcome that the explorer has chosen.
    #[inline]
    pub fn outcome(&self) -> u32 {
        self.execution.running.outcome
    }

    /// The machine that the program is compiled for.
    #[inline]
    pub fn target(&self) -> Target {
        self.execution.setup.target
    }

    /// Whether the operation is a step of the explorer. If not, the execution is over (or a static
    /// is being initialized): what the operation records is discarded, it has one outcome, and a
    /// condition that it awaited need not hold.
    #[inline]
    pub fn is_recorded(&self) -> bool {
        self.execution.phase == Phase::Running
    }

    /// The state of an object.
    #[inline]
    pub fn state(&self, object: Address) -> u64 {
        self.execution.state(object)
    }

    /// Changes the state of an object without recording it.
    #[inline]
    pub fn set_state(&mut self, object: Address, state: u64) {
        self.execution.set_state(object, state);
    }

    /// The objects that belong to a thread.
    #[inline]
    pub fn tokens(&self, thread: ThreadId) -> Tokens {
        self.execution.threads.slots[thread.index()].identity.tokens
    }

    /// The address of the part of an object that belongs to a thread. It does not depend on which
    /// thread asks for it first. No operation touches it, but events may have it as their address.
    pub fn part(
        &mut self,
        object: Address,
        thread: ThreadId,
        kind: &'static str,
        created_at: LocationRef,
    ) -> Address {
        let creator = self.execution.threads.slots[thread.index()]
            .identity
            .creator;
        self.execution.names.part(creator, object, kind, created_at)
    }

    /// Adds the [`part`](Self::part)s of all live threads that `parts` does not have yet.
    pub fn parts_of_living(
        &mut self,
        object: Address,
        kind: &'static str,
        created_at: LocationRef,
        parts: &mut Vec<(ThreadId, Address)>,
    ) {
        for position in 0..self.execution.threads.spawned.len() {
            let thread = self.execution.threads.spawned[position];
            let is_alive = self.execution.threads.is_live(thread);
            if is_alive && !parts.iter().any(|part| part.0 == thread) {
                let part = self.part(object, thread, kind, created_at);
                parts.push((thread, part));
            }
        }
    }

    /// Reads an object. Returns its state.
    #[inline]
    pub fn read(&mut self, object: Address) -> u64 {
        let state = self.state(object);
        self.touch(object, TouchKind::Read, state, state);
        state
    }

    /// The value that a load forwards from the thread's store buffer.
    #[inline]
    pub fn forwarded(&mut self, object: Address) -> Option<u64> {
        match self.execution.buffers.are_enabled() && self.is_recorded() {
            true => self.forwarded_from_buffer(object),
            false => None,
        }
    }

    #[cold]
    fn forwarded_from_buffer(&mut self, object: Address) -> Option<u64> {
        let forwarded = self.execution.buffers.forwarded(self.thread, object);
        if forwarded.is_some() {
            self.note_unknown_read();
        }
        forwarded
    }

    /// The operation reads something else than the states of the objects that it touches.
    #[cold]
    fn note_unknown_read(&mut self) {
        self.execution.threads.slots[self.thread.index()]
            .visits
            .note_unknown_read();
    }

    /// The state that a load has to return instead of the current one, as if it were stale.
    #[inline]
    pub fn take_stale_read(&mut self) -> Option<u64> {
        let stale = self.execution.performed_mut().stale_read.take();
        if stale.is_some() {
            self.note_unknown_read();
        }
        stale
    }

    /// The committed value that a variable has not taken yet.
    #[inline]
    pub fn take_committed(&mut self, object: Address) -> Option<u64> {
        self.execution.take_committed(object)
    }

    /// A store barrier: later stores of the thread do not overtake earlier ones.
    pub fn order_stores(&mut self) {
        self.execution.buffers.bar(self.thread);
    }

    /// Writes an object. Returns its state before.
    #[inline]
    pub fn write(&mut self, object: Address, state: u64) -> u64 {
        let before = self.state(object);
        self.set_state(object, state);
        if before != state {
            let slot = &mut self.execution.threads.slots[self.thread.index()];
            slot.visits.forget();
            slot.waits.note_change();
        }
        self.touch(object, TouchKind::Write, before, state);
        before
    }

    /// Writes an object as a part of waiting, which does not count as progress of the thread.
    /// Returns its state before.
    #[inline]
    pub fn write_in_wait(&mut self, object: Address, state: u64) -> u64 {
        self.change(object, TouchKind::Write, state)
    }

    /// Writes the state of a lock that the thread takes or releases.
    #[inline]
    pub fn write_lock(&mut self, object: Address, state: u64) {
        self.change(object, TouchKind::Write, state);
        self.execution.threads.slots[self.thread.index()]
            .waits
            .note_lock(object);
    }

    /// The thread holds the lock for reading, once more than before.
    #[inline]
    pub fn begin_reading(&mut self, lock: Address) {
        let slot = &mut self.execution.threads.slots[self.thread.index()];
        slot.reading.push(lock);
    }

    /// The thread holds the lock for reading, once less than before.
    #[inline]
    pub fn end_reading(&mut self, lock: Address) {
        let reading = &mut self.execution.threads.slots[self.thread.index()].reading;
        if let Some(at) = reading.iter().rposition(|&held| held == lock) {
            reading.swap_remove(at);
        }
    }

    /// Changes an object by an update that commutes with other updates. Returns its state before,
    /// which must not influence the program.
    #[inline]
    pub fn update(&mut self, object: Address, state: u64) -> u64 {
        self.change(object, TouchKind::Update, state)
    }

    #[inline]
    fn change(&mut self, object: Address, kind: TouchKind, after: u64) -> u64 {
        let before = self.state(object);
        self.set_state(object, after);
        if before != after && kind == TouchKind::Write {
            self.execution.threads.slots[self.thread.index()]
                .visits
                .forget();
        }
        self.touch(object, kind, before, after);
        before
    }

    #[inline]
    fn touch(&mut self, object: Address, kind: TouchKind, before: u64, after: u64) {
        let touches = &mut self.execution.performed_mut().touches;
        touches.push(Touch {
            object,
            kind,
            before,
            after,
        });
        if self.execution.recording.are_touches_noted {
            let slot = &mut self.execution.threads.slots[self.thread.index()];
            slot.waits.note_touch(object);
            slot.declared.note_touch(object, before, after);
        }
    }

    /// Emits the memory events of the operation, with the value that it loads or stores.
    #[inline]
    pub fn emit(&mut self, events: Events, value: u64) {
        if !self.execution.recording.pending_joins.is_empty() {
            self.emit_joins(self.thread);
        }
        self.emit_only(events, value);
    }

    /// As [`emit`](Self::emit), for a load by which the operation only decides whether to attempt
    /// more.
    pub fn emit_optimistic_load(
        &mut self,
        object: Address,
        value: u64,
        optimistic_load: OptimisticLoad,
    ) {
        self.emit(self.target().load(object), value);
        self.execution.performed_mut().optimistic_load = Some(optimistic_load);
    }

    /// Whether the monitor has received only unordered accesses from the thread, so that an event
    /// of a spawn orders nothing.
    #[inline]
    pub(crate) fn is_unordered(&self) -> bool {
        self.execution.recording.pending_joins.is_empty()
            && !self.execution.recording.has_insertions
            && self.execution.threads.slots[self.thread.index()].is_unordered
    }

    /// Records a join. It orders what the other thread has done before what this one does next, so
    /// its events are emitted with the next event of this thread: mostly there is none.
    #[inline]
    pub fn join(&mut self, thread: ThreadId) {
        self.execution.threads.slots[self.thread.index()]
            .visits
            .forget();
        if self.execution.do_ends_wait && self.join_in_step(thread) {
            return;
        }
        self.execution.recording.pending_joins.push(PendingJoin {
            by: self.thread,
            thread,
            location: self.location,
        });
    }

    /// The part of a join that depends on the ends of threads. Whether its events are emitted.
    #[cold]
    fn join_in_step(&mut self, thread: ThreadId) -> bool {
        if self.execution.buffers.are_enabled() {
            self.execution.buffers.forget_drain(self.thread);
        }
        let is_step = self.execution.setup.do_threads_end_in_steps();
        if is_step {
            let end = self.tokens(thread).end;
            self.emit(self.target().draining(Operation::LockedLoad(end)), 1);
        }
        is_step
    }

    /// Emits the events of the pending joins of a thread, and of the ends of the joined threads.
    #[cold]
    fn emit_joins(&mut self, by: ThreadId) {
        let mut at = 0;
        while at < self.execution.recording.pending_joins.len() {
            let joined = self.execution.recording.pending_joins[at];
            if joined.by != by {
                at += 1;
                continue;
            }
            self.execution.recording.pending_joins.remove(at);
            // The joins of the joined thread come first.
            self.emit_joins(joined.thread);
            at = 0;
            let slot = &self.execution.threads.slots[joined.thread.index()];
            let (end, spawned_at) = (slot.identity.tokens.end, slot.identity.spawned_at);
            let target = self.target();
            let store = target.draining(Operation::LockedStore(end));
            let execution = &mut *self.execution;
            Step::in_place(execution, joined.thread, spawned_at).emit_only(store, 1);
            let load = target.draining(Operation::LockedLoad(end));
            let execution = &mut *self.execution;
            Step::in_place(execution, by, joined.location).emit_only(load, 1);
        }
    }

    #[inline]
    fn emit_only(&mut self, events: Events, value: u64) {
        self.execution.threads.slots[self.thread.index()].is_unordered = false;
        if !self.is_replayed() {
            self.record_events(events, value);
        }
    }

    /// Whether the explorer replays the step and has its accesses already.
    #[inline]
    fn is_replayed(&mut self) -> bool {
        // With store buffers, the events are also checked against what the operation has waited
        // for.
        self.execution.performed_mut().is_replayed && !self.execution.buffers.are_enabled()
    }

    /// Emits an event that orders nothing: the thread has done nothing before, and only the thread
    /// that it spawns, or that spawned it, uses the object.
    #[inline]
    pub(crate) fn emit_unordered(&mut self, events: Events, value: u64) {
        if self.is_replayed() {
            return;
        }
        let before = self.execution.performed_mut().accesses.len();
        self.record_events(events, value);
        let performed = self.execution.performed_mut();
        performed.unordered_accesses += performed.accesses.len() - before;
    }

    fn record_events(&mut self, events: Events, value: u64) {
        if self.execution.buffers.are_enabled() {
            self.check_buffer(events);
        }
        if self.execution.recording.has_insertions {
            return self.emit_with_insertions(events, value);
        }
        let mut record = |operation: Operation| {
            let access = self.access(operation, value);
            self.execution.performed_mut().accesses.push(access);
        };
        if let Some(barrier) = events.barrier {
            record(barrier);
        }
        if let Some(operation) = events.operation {
            record(operation);
        }
    }

    #[inline]
    fn access(&mut self, operation: Operation, value: u64) -> Access {
        Access {
            thread: self.thread,
            operation,
            value: operation.address().map(|_| value),
            location: Some(self.execution.names.location(self.location)),
        }
    }

    #[cold]
    fn check_buffer(&mut self, events: Events) {
        let (thread, target) = (self.thread, self.target());
        match self.execution.buffers.check(thread, events, target) {
            Waited::TooLittle if self.is_recorded() => panic!(
                "internal error: an operation did not wait for the store buffer; this is a bug in Fencepost"
            ),
            Waited::TooMuch => self.execution.names.registry().note_excess_drain(),
            _ => {}
        }
    }

    #[cold]
    fn emit_with_insertions(&mut self, events: Events, value: u64) {
        let registry = Arc::clone(self.execution.names.registry());
        let (target, location) = (self.target(), self.location.into());
        for operation in [events.barrier, events.operation].into_iter().flatten() {
            let access = self.access(operation, value);
            let performed = self.execution.performed_mut();
            let emit = &mut |access| performed.accesses.push(access);
            registry.insertions().apply(target, access, location, emit);
        }
    }

    /// What the thread does next happens after what was released to the object.
    #[inline]
    pub fn acquire(&mut self, object: Address) {
        if self.execution.races.are_tracked() {
            self.execution.races.acquire(self.thread, object);
        }
    }

    /// Releases what the thread has done so far to the object, in addition to what was released
    /// before.
    #[inline]
    pub fn release(&mut self, object: Address) {
        if self.execution.races.are_tracked() {
            self.execution.races.release(self.thread, object);
        }
    }

    /// What the thread does next happens after everything that the other thread did.
    #[inline]
    pub fn acquire_end_of(&mut self, ended: ThreadId) {
        if self.execution.races.are_tracked() {
            self.execution.races.join(self.thread, ended);
        }
    }

    /// The happens-before clocks, if they advance: for orders that `acquire` and
    /// `release` cannot express.
    #[inline]
    pub fn races(&mut self) -> Option<&mut Races> {
        let races = &mut self.execution.races;
        races.are_tracked().then_some(races)
    }
}
