//! What an operation records while it is performed: which objects it touches, which events of the machine
//! it is, and what it happens after.

use std::panic::Location;
use std::sync::Arc;

use fencepost_explore::{OptimisticLoad, Touch, TouchKind};
use fencepost_memory::{Access, Address, Operation, ThreadId};

use super::buffers::Waited;
use super::execution::{Execution, Phase};
use super::mapping::{Events, Target};
use super::names::Tokens;
use super::races::Races;
use super::recording::PendingJoin;

/// The operation that is being performed.
pub struct Step<'execution> {
    execution: &'execution mut Execution,
    thread: ThreadId,
    location: &'static Location<'static>,
}

impl<'execution> Step<'execution> {
    /// An operation of a thread, or what goes with a step without being one.
    #[inline]
    pub(crate) fn in_place(
        execution: &'execution mut Execution,
        thread: ThreadId,
        location: &'static Location<'static>,
    ) -> Self {
        Step {
            execution,
            thread,
            location,
        }
    }

    /// Who performs the operation.
    #[inline]
    pub fn thread(&self) -> ThreadId {
        self.thread
    }

    /// Which of the possible outcomes the explorer has chosen.
    #[inline]
    pub fn outcome(&self) -> u32 {
        self.execution.running.outcome
    }

    /// What the program is compiled for.
    #[inline]
    pub fn target(&self) -> Target {
        self.execution.setup.target
    }

    /// Whether the operation is a step that the explorer asked for. If not, the execution is
    /// over (or a static is being initialized): nothing is recorded, there is one outcome, and a
    /// condition that was awaited need not hold.
    #[inline]
    pub fn is_recorded(&self) -> bool {
        self.execution.phase == Phase::Running
    }

    /// The state of an object.
    #[inline]
    pub fn state(&self, object: Address) -> u64 {
        self.execution.state(object)
    }

    /// Changes the state of an object that the step need not be known to touch.
    #[inline]
    pub fn set_state(&mut self, object: Address, state: u64) {
        self.execution.set_state(object, state);
    }

    /// The objects that belong to a thread.
    #[inline]
    pub fn tokens(&self, thread: ThreadId) -> Tokens {
        self.execution.threads.slots[thread.index()].identity.tokens
    }

    /// The address of a part of an object that belongs to a thread. It is the same whoever asks for it
    /// first; no operation is on it, but the monitor may be told of some.
    pub fn part(
        &mut self,
        object: Address,
        thread: ThreadId,
        kind: &'static str,
        created_at: &'static Location<'static>,
    ) -> Address {
        let creator = self.execution.threads.slots[thread.index()]
            .identity
            .creator;
        self.execution.names.part(creator, object, kind, created_at)
    }

    /// The [`part`](Self::part)s of all threads that have not ended, in addition to those that are
    /// there.
    pub fn parts_of_living(
        &mut self,
        object: Address,
        kind: &'static str,
        created_at: &'static Location<'static>,
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

    /// Touches an object by reading it. Returns its state.
    #[inline]
    pub fn read(&mut self, object: Address) -> u64 {
        let state = self.state(object);
        self.touch(object, TouchKind::Read, state, state);
        state
    }

    /// What the thread has stored to a variable and is not in memory.
    #[inline]
    pub fn forwarded(&self, object: Address) -> Option<u64> {
        let buffers = &self.execution.buffers;
        match buffers.are_enabled() && self.is_recorded() {
            true => buffers.forwarded(self.thread, object),
            false => None,
        }
    }

    /// What was committed to a variable that does not know it yet.
    #[inline]
    pub fn take_committed(&mut self, object: Address) -> Option<u64> {
        self.execution.take_committed(object)
    }

    /// Later stores of the thread do not overtake earlier ones.
    pub fn order_stores(&mut self) {
        self.execution.buffers.bar(self.thread);
    }

    /// Touches an object by writing it. Returns its state before.
    #[inline]
    pub fn write(&mut self, object: Address, state: u64) -> u64 {
        let before = self.change(object, TouchKind::Write, state);
        if before != state {
            self.execution.threads.slots[self.thread.index()]
                .waits
                .note_change();
        }
        before
    }

    /// Touches an object by a write that is a part of waiting, and does not count as something that the
    /// thread has done. Returns its state before.
    #[inline]
    pub fn write_in_wait(&mut self, object: Address, state: u64) -> u64 {
        self.change(object, TouchKind::Write, state)
    }

    /// Touches a lock by taking or releasing it.
    #[inline]
    pub fn write_lock(&mut self, object: Address, state: u64) {
        self.change(object, TouchKind::Write, state);
        self.execution.threads.slots[self.thread.index()]
            .waits
            .note_lock(object);
    }

    /// The thread holds the lock for reading, once more.
    #[inline]
    pub fn begin_reading(&mut self, lock: Address) {
        let slot = &mut self.execution.threads.slots[self.thread.index()];
        slot.reading.push(lock);
    }

    /// The thread holds the lock for reading once less.
    #[inline]
    pub fn end_reading(&mut self, lock: Address) {
        let reading = &mut self.execution.threads.slots[self.thread.index()].reading;
        if let Some(at) = reading.iter().rposition(|&held| held == lock) {
            reading.swap_remove(at);
        }
    }

    /// Touches an object by a change that commutes with others. Returns its state before, which
    /// the caller must not learn from.
    #[inline]
    pub fn update(&mut self, object: Address, state: u64) -> u64 {
        self.change(object, TouchKind::Update, state)
    }

    #[inline]
    fn change(&mut self, object: Address, kind: TouchKind, after: u64) -> u64 {
        let before = self.state(object);
        self.set_state(object, after);
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
            self.execution.threads.slots[self.thread.index()]
                .waits
                .note_touch(object);
        }
    }

    /// Tells the monitor what the operation is on the machine, and the value that it loads or
    /// stores.
    #[inline]
    pub fn emit(&mut self, events: Events, value: u64) {
        if !self.execution.recording.pending_joins.is_empty() {
            self.emit_joins(self.thread);
        }
        self.emit_only(events, value);
    }

    /// As [`emit`](Self::emit), for a load by which the operation only looks whether it is worth while to do more.
    pub fn emit_optimistic_load(
        &mut self,
        object: Address,
        value: u64,
        optimistic_load: OptimisticLoad,
    ) {
        self.emit(self.target().load(object), value);
        self.execution.performed_mut().optimistic_load = Some(optimistic_load);
    }

    /// Whether the monitor has heard of nothing that the thread did, and is to hear of nothing with this event either: it
    /// knows of no other thread's doings.
    #[inline]
    pub(crate) fn is_unordered(&self) -> bool {
        self.execution.recording.pending_joins.is_empty()
            && !self.execution.recording.has_insertions
            && self.execution.threads.slots[self.thread.index()].is_unordered
    }

    /// The operation is a join. It orders what the other thread has done before what this one does
    /// next, so the monitor hears of it when that happens: mostly there is nothing.
    #[inline]
    pub fn join(&mut self, thread: ThreadId) {
        if self.execution.buffers.are_enabled() {
            self.execution.buffers.forget_drain(self.thread);
        }
        if self.execution.setup.are_ends_visible {
            let end = self.tokens(thread).end;
            self.emit(self.target().draining(Operation::LockedLoad(end)), 1);
            return;
        }
        self.execution.recording.pending_joins.push(PendingJoin {
            by: self.thread,
            thread,
            location: self.location,
        });
    }

    /// Tells the monitor of the threads that a thread has joined, and of their ends.
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
            // What it has joined itself comes first.
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
        if !self.is_known() {
            self.tell(events, value);
        }
    }

    /// Whether what the operation is on the machine is known already.
    #[inline]
    fn is_known(&mut self) -> bool {
        // With store buffers the operation is also asked whether it has waited for what it must wait for.
        self.execution.performed_mut().is_replayed && !self.execution.buffers.are_enabled()
    }

    /// Tells the monitor of an event by a thread of which it has heard nothing, and which orders nothing: the thread
    /// has done nothing yet, and nobody but the thread that it makes, or was made by, uses the object.
    #[inline]
    pub(crate) fn emit_unordered(&mut self, events: Events, value: u64) {
        if self.is_known() {
            return;
        }
        let before = self.execution.performed_mut().accesses.len();
        self.tell(events, value);
        let performed = self.execution.performed_mut();
        performed.unordered_accesses += performed.accesses.len() - before;
    }

    fn tell(&mut self, events: Events, value: u64) {
        if self.execution.buffers.are_enabled() {
            self.obey_buffer(events);
        }
        if self.execution.recording.has_insertions {
            return self.emit_with_insertions(events, value);
        }
        let mut tell_of = |operation: Operation| {
            let access = self.access(operation, value);
            self.execution.performed_mut().accesses.push(access);
        };
        if let Some(barrier) = events.barrier {
            tell_of(barrier);
        }
        if let Some(operation) = events.operation {
            tell_of(operation);
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
    fn obey_buffer(&mut self, events: Events) {
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
            let tell = &mut |access| performed.accesses.push(access);
            registry.insertions().apply(target, access, location, tell);
        }
    }

    /// What the thread does from here on happens after what was released to the object.
    #[inline]
    pub fn acquire(&mut self, object: Address) {
        if self.execution.races.are_tracked() {
            self.execution.races.acquire(self.thread, object);
        }
    }

    /// What the thread has done so far is released to the object, with what was released
    /// before.
    #[inline]
    pub fn release(&mut self, object: Address) {
        if self.execution.races.are_tracked() {
            self.execution.races.release(self.thread, object);
        }
    }

    /// What the thread does from here on happens after all that the other thread did.
    #[inline]
    pub fn acquire_end_of(&mut self, ended: ThreadId) {
        if self.execution.races.are_tracked() {
            self.execution.races.join(self.thread, ended);
        }
    }

    /// The happens-before clocks, if the execution has cells: for what `acquire` and `release`
    /// cannot say.
    #[inline]
    pub fn races(&mut self) -> Option<&mut Races> {
        let races = &mut self.execution.races;
        races.are_tracked().then_some(races)
    }
}
