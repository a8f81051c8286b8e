//! What the types of this library are made of: objects, and operations on them.
//!
//! A type that can be shared holds an [`Object`]. Its methods ask it for the [`Current`] execution.
//! If there is none the method does what `std` does. Otherwise it calls
//! [`Current::operation`] with what it is about to do; the thread stops there, and when the explorer
//! has chosen it, the closure is performed, atomically, with a [`Step`] in which it records
//! what it did.
//!
//! When an execution is over before its threads have ended, they are unwound, and destructors may
//! call such methods. The closure is then performed at once, and what it records is
//! dropped. It must not rely on the condition that it awaited; see [`Step::is_seen`].
#![allow(unsafe_code)] // Coroutines and their runtime share the execution by pointer.

use std::any::Any;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;

use fencepost_explore::{Intent, Touch, TouchKind};
use fencepost_memory::{Access, Address, Operation, ThreadId};

use super::error::{Place, ProgramError};
use super::execution::{
    Execution, FinalDrop, Joined, LockUse, Outcomes, Phase, Status, Watched, current_execution,
};
use super::foreign;
use super::mapping::{Events, Target};
use super::names::Tokens;

/// How many operations a thread may perform while it is unwound. Destructors that wait for other
/// threads would wait for ever.
const DIRECT_OPERATIONS: u32 = 10_000;

/// What is thrown to unwind a thread of an execution that is over.
pub(crate) struct Dissolved;

/// The execution that the calling thread belongs to.
#[derive(Clone, Copy)]
pub struct Current {
    execution: NonNull<Execution>,
}

/// What a shared thing is to the explorer.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    /// That of the execution that it was made in; 0 outside of a check.
    execution: u64,
    address: Address,
    made_at: &'static Location<'static>,
}

/// The operation that is being performed.
pub struct Step<'execution> {
    execution: &'execution mut Execution,
    thread: ThreadId,
    location: &'static Location<'static>,
}

/// Something that was promised to be dropped.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    execution: u64,
    index: u32,
}

impl Object {
    /// A new object of the running thread (or of the static that is being initialised), of a
    /// type called `kind`. Outside of a check it is known to nobody.
    #[inline]
    pub fn new(kind: &'static str, state: u64, location: &'static Location<'static>) -> Self {
        match Current::get() {
            None => Object {
                execution: 0,
                address: Address(u32::MAX),
                made_at: location,
            },
            Some(current) => current.with(|execution| Object {
                execution: execution.serial,
                address: execution.make_object(kind, state, location),
                made_at: location,
            }),
        }
    }

    /// The object's number. Means nothing outside of a check.
    #[inline]
    pub fn address(&self) -> Address {
        self.address
    }

    /// Where it was made.
    pub fn made_at(&self) -> &'static Location<'static> {
        self.made_at
    }

    /// Whether the object is known to the execution that is running here. Unlike `current` it
    /// never complains: for destructors and `Debug`.
    pub fn is_of_current(&self) -> bool {
        Current::get().is_some_and(|current| current.serial() == self.execution)
    }

    /// The execution in which an operation on the object is to be performed; outside of a check,
    /// none.
    ///
    /// If the object and the caller belong to different worlds, this does not return: it is bad
    /// use, and reported as such.
    #[inline]
    pub fn current(&self, location: &'static Location<'static>) -> Option<Current> {
        match Current::get() {
            Some(current) if current.serial() == self.execution => Some(current),
            None if self.execution == 0 => None,
            current => {
                self.complain(current, location);
                None
            }
        }
    }

    #[cold]
    fn complain(&self, current: Option<Current>, location: &'static Location<'static>) {
        let Some(current) = current else {
            return foreign::used_by_unknown_thread(self.execution, self.made_at, location);
        };
        if current.phase() == Phase::Dissolving {
            return;
        }
        let made_at = Place::from(self.made_at);
        let message = if self.execution == 0 {
            format!(
                "the object made at {made_at}, outside of the check, is used inside of it: make \
                 it in the closure that is checked, or with fencepost::lazy_static!"
            )
        } else {
            format!(
                "the object made at {made_at}, in an earlier execution, is used in this one: \
                 nothing may outlive the closure that is checked; use fencepost::lazy_static! for \
                 statics"
            )
        };
        current.fail(ProgramError::BadUse {
            message,
            place: Some(location.into()),
        })
    }

    /// Gives the object a name for reports.
    pub fn set_name(&self, name: &str) {
        if let Some(current) = Current::get()
            && current.serial() == self.execution
            && current.phase() != Phase::Dissolving
        {
            current.with(|execution| execution.names.name_object(self.address, name));
        }
    }
}

impl Current {
    /// The execution whose thread is calling; none outside of a check.
    #[inline]
    pub fn get() -> Option<Self> {
        current_execution().map(|execution| Current { execution })
    }

    #[inline]
    pub(crate) fn of(execution: NonNull<Execution>) -> Self {
        Current { execution }
    }

    /// Lends the execution to `f`, which must not call code of the user.
    #[inline]
    pub(crate) fn with<R>(self, f: impl FnOnce(&mut Execution) -> R) -> R {
        // SAFETY: the pointer is that of the execution whose coroutine is running on this OS
        // thread, or that of a runtime none of whose coroutines is running. Nobody holds a
        // reference to it meanwhile, and `f` calls nothing that could come here again.
        f(unsafe { &mut *self.execution.as_ptr() })
    }

    #[inline]
    fn serial(self) -> u64 {
        self.with(|execution| execution.serial)
    }

    /// Whether this is the execution with that serial number.
    #[inline]
    pub(crate) fn is_of(self, execution: u64) -> bool {
        self.serial() == execution
    }

    #[inline]
    pub(crate) fn phase(self) -> Phase {
        self.with(|execution| execution.phase)
    }

    /// The calling thread.
    #[inline]
    pub fn thread(self) -> ThreadId {
        self.with(|execution| execution.thread)
    }

    /// What the program is compiled for.
    pub fn target(self) -> Target {
        self.with(|execution| execution.setup.target)
    }

    /// Whether the execution is over, and operations are performed at once and unseen.
    pub fn is_dissolving(self) -> bool {
        self.phase() == Phase::Dissolving
    }

    /// The objects that belong to a thread.
    pub fn tokens(self, thread: ThreadId) -> Tokens {
        self.with(|execution| execution.slots[thread.index()].tokens)
    }

    /// The name that a thread was given.
    pub fn thread_name(self, thread: ThreadId) -> Option<Arc<str>> {
        self.with(|execution| execution.slots[thread.index()].name.clone())
    }

    /// A thread's park token, for handles that may outlive the execution.
    pub fn park_token(self, thread: ThreadId) -> Object {
        self.with(|execution| Object {
            execution: execution.serial,
            address: execution.slots[thread.index()].tokens.park,
            made_at: execution.slots[thread.index()].spawned_at,
        })
    }

    /// Whether the end of a thread is a step of its own.
    pub fn are_ends_visible(self) -> bool {
        self.with(|execution| execution.setup.are_ends_visible)
    }

    /// The state of an object, as invisible code may know it: to find out what to announce.
    pub fn peek(self, object: Address) -> u64 {
        self.with(|execution| execution.state(object))
    }

    /// Changes the state of an object, unseen. Only for what no other thread can know of or wait
    /// for, or for what was changed behind the explorer's back (`get_mut`).
    #[inline]
    pub fn set_state(self, object: Address, state: u64) {
        self.with(|execution| execution.set_state(object, state));
    }

    /// Performs a visible operation: says what it will be, stops until the explorer has
    /// chosen this thread, and performs it.
    #[inline]
    pub fn operation<R>(
        self,
        intent: Intent,
        outcomes: Outcomes,
        location: &'static Location<'static>,
        perform: impl FnOnce(&mut Step<'_>) -> R,
    ) -> R {
        if self.is_direct() {
            if self.phase() == Phase::Silent {
                self.check_unseen(intent, outcomes);
            }
            return self.directly(location, perform);
        }
        let (yielder, final_drop, is_reading) = self.with(|execution| {
            let slot = &mut execution.slots[execution.thread.index()];
            slot.intent = intent;
            slot.outcomes = outcomes;
            slot.location = location;
            (slot.yielder, slot.final_drop, !slot.reading.is_empty())
        });
        if is_reading && may_wait(intent) {
            self.note_wait_of_reader();
        }
        if let Some(drop) = final_drop {
            self.complain_of_drop(drop);
        }
        // SAFETY: the yielder lives at the base of the stack that this is running on.
        unsafe { &*yielder }.suspend(());
        if self.phase() != Phase::Running {
            dissolve_thread();
        }
        self.perform(location, perform)
    }

    /// The calling thread is about to do what is no step but depends on which thread does it, or tells
    /// the monitor or others of it. A destructor that does so has to be that of an `Arc` whose drops
    /// are ordered.
    #[inline]
    pub(crate) fn depend_on_thread(self) {
        let final_drop =
            self.with(|execution| execution.slots[execution.thread.index()].final_drop);
        if let Some(drop) = final_drop
            && !self.is_direct()
        {
            self.complain_of_drop(drop);
        }
    }

    /// A destructor is about to do what others can notice, and the drop that called it was taken to
    /// be nothing that matters.
    #[cold]
    pub(crate) fn complain_of_drop(self, drop: FinalDrop) -> ! {
        self.with(|execution| {
            let location = execution.names.location(drop.made_at);
            execution.names.registry().note_visible_drop(location);
        });
        self.fail(ProgramError::NeedsOrderedDrops)
    }

    /// Runs a destructor because the last reference to an `Arc` is gone. If it does what
    /// others can notice, the check has to begin again.
    ///
    /// The destructor happens after all the other drops. What the thread does then does not: another
    /// thread could as well have been the last, and that is not explored. A cell that the destructor
    /// has accessed must therefore not be accessed later: see [`CheckedCell`](super::cells::CheckedCell).
    pub(crate) fn drop_last(self, counts: &Object, destructor: impl FnOnce()) {
        let (before, known) = self.with(|execution| {
            let thread = execution.thread;
            let known = execution.races.are_watched().then(|| {
                let known = execution.races.known_by(thread);
                execution.races.acquire(thread, counts.address);
                known
            });
            let slot = &mut execution.slots[thread.index()];
            let drop = FinalDrop {
                counts: counts.address,
                made_at: counts.made_at,
            };
            (slot.final_drop.replace(drop), known)
        });
        destructor();
        self.with(|execution| {
            let thread = execution.thread;
            execution.slots[thread.index()].final_drop = before;
            if let Some(known) = known {
                execution.races.restore(thread, known);
            }
        });
    }

    /// Whether drops of what is made there matter to other threads.
    pub(crate) fn is_drop_visible(self, made_at: &'static Location<'static>) -> bool {
        self.with(|execution| execution.names.is_drop_visible(made_at))
    }

    /// Whether no other thread was made yet. What is done now comes before everything that
    /// another thread will do.
    #[inline]
    pub fn is_alone(self) -> bool {
        self.with(|execution| execution.is_alone())
    }

    /// Whether waiting on a condition variable may end without a notification.
    pub fn has_spurious_wakeups(self) -> bool {
        self.with(|execution| execution.setup.spurious_wakeups)
    }

    /// The calling thread changes something that is no object: what a lock protects.
    #[inline]
    pub(crate) fn note_change(self) {
        self.with(|execution| {
            if execution.phase == Phase::Running {
                execution.slots[execution.thread.index()]
                    .waits
                    .note_change();
            }
        });
    }

    /// The calling thread holds a lock again, or no longer, that a step was said to release or
    /// take.
    pub(crate) fn note_lock(self, lock: Address) {
        self.with(|execution| {
            let slot = &mut execution.slots[execution.thread.index()];
            slot.waits.note_lock(lock);
        });
    }

    /// The calling thread is about to wait on a condition variable. Whether it is in a loop that
    /// does nothing else, as far as can be told; if so, the place is noted.
    pub(crate) fn only_waits(self, condvar: Address, location: &'static Location<'static>) -> bool {
        self.with(|execution| {
            let waits = &mut execution.slots[execution.thread.index()].waits;
            let only_waits = waits.only_waits(condvar, location);
            if only_waits {
                let location = execution.names.location(location);
                execution.names.registry().note_wait(location);
            }
            only_waits
        })
    }

    /// What the calling thread has touched since it last returned from a wait without being notified.
    pub(crate) fn touched_since_wait(self) -> Vec<Address> {
        self.with(|execution| {
            let slot = &execution.slots[execution.thread.index()];
            slot.waits.touched().to_vec()
        })
    }

    /// The calling thread returns from a wait.
    pub(crate) fn note_return(
        self,
        condvar: Address,
        was_notified: bool,
        location: &'static Location<'static>,
    ) {
        self.with(|execution| {
            if execution.phase != Phase::Running {
                return;
            }
            let waits = &mut execution.slots[execution.thread.index()].waits;
            match was_notified {
                true => waits.notified(),
                false => waits.returned(condvar, location),
            }
            execution.are_touches_noted |= !was_notified;
        });
    }

    /// Whether readers know of writers that wait.
    pub(crate) fn are_writers_announced(self) -> bool {
        self.with(|execution| execution.setup.are_writers_announced)
    }

    /// A thread takes the lock for writing, and waits if it has to.
    pub(crate) fn note_writer(self, lock: Address) {
        self.note_lock_use(lock, |used| used.has_writers = true);
    }

    /// A writer that waits could hold up a reader of the lock in a way that matters.
    #[cold]
    pub(crate) fn note_held_up(self, lock: Address) {
        self.note_lock_use(lock, |used| used.can_hold_up = true);
    }

    fn note_lock_use(self, lock: Address, note: impl FnOnce(&mut LockUse)) {
        let is_needed = self.with(|execution| {
            if execution.setup.are_writers_announced || execution.phase == Phase::Dissolving {
                return false;
            }
            let uses = &mut execution.lock_uses;
            let at = uses.iter().position(|used| used.lock == lock);
            let at = at.unwrap_or_else(|| {
                uses.push(LockUse::of(lock));
                uses.len() - 1
            });
            note(&mut uses[at]);
            uses[at].has_writers && uses[at].can_hold_up
        });
        if is_needed {
            self.fail(ProgramError::NeedsAnnouncedWriters);
        }
    }

    /// The calling thread may wait while it holds locks for reading.
    #[cold]
    fn note_wait_of_reader(self) {
        let held = self.with(|execution| {
            let slot = &execution.slots[execution.thread.index()];
            slot.reading.clone()
        });
        for lock in held {
            self.note_held_up(lock);
        }
    }

    /// Keeps what belongs to a pointer that something was turned into.
    pub(crate) fn keep_for_pointer(self, address: usize, kept: Arc<dyn Any + Send + Sync>) {
        self.with(|execution| execution.raw.insert(address, kept));
    }

    /// What belongs to a pointer.
    pub(crate) fn kept_for_pointer(self, address: usize) -> Option<Arc<dyn Any + Send + Sync>> {
        self.with(|execution| execution.raw.get(&address).cloned())
    }

    /// An operation was performed at once (see [`Step::is_seen`]) that would have to wait for what
    /// no one will do.
    #[cold]
    pub(crate) fn cannot_wait(self) -> ! {
        if self.phase() == Phase::Silent {
            self.need_visible_statics();
        }
        self.abandon();
        panic!("a destructor waits, after the end of the check, for what will not happen");
    }

    /// Performs an operation that touches no object, and that no thread has to stop for.
    #[inline]
    pub fn local<R>(
        self,
        location: &'static Location<'static>,
        perform: impl FnOnce(&mut Step<'_>) -> R,
    ) -> R {
        if self.is_direct() {
            return self.directly(location, perform);
        }
        self.depend_on_thread();
        self.perform(location, perform)
    }

    #[inline]
    fn perform<R>(
        self,
        location: &'static Location<'static>,
        perform: impl FnOnce(&mut Step<'_>) -> R,
    ) -> R {
        self.with(|execution| {
            let thread = execution.thread;
            perform(&mut Step {
                execution,
                thread,
                location,
            })
        })
    }

    #[inline]
    fn is_direct(self) -> bool {
        self.phase() != Phase::Running || (std::thread::panicking() && self.is_panicking())
    }

    /// A panic is the end of the execution. The hook has said so already, unless the user has
    /// replaced it.
    #[cold]
    fn is_panicking(self) -> bool {
        self.with(|execution| {
            if !execution.began_panicking {
                execution.phase = Phase::Dissolving;
            }
            execution.phase != Phase::Running
        })
    }

    #[cold]
    fn directly<R>(
        self,
        location: &'static Location<'static>,
        perform: impl FnOnce(&mut Step<'_>) -> R,
    ) -> R {
        let is_stuck = self.with(|execution| {
            execution.direct_operations += u32::from(execution.phase == Phase::Dissolving);
            execution.direct_operations > DIRECT_OPERATIONS
        });
        if is_stuck {
            self.abandon();
        }
        let seen = self.with(|execution| {
            let seen = execution.performed;
            execution.hide();
            seen
        });
        let result = self.perform(location, perform);
        self.with(|execution| execution.performed = seen);
        result
    }

    /// Gives up a thread that cannot be unwound: a destructor waits for what will not happen. It
    /// is never resumed, and its stack is leaked. Returns only if no thread is running.
    pub fn abandon(self) {
        let yielder = self.with(|execution| {
            let slot = &mut execution.slots[execution.thread.index()];
            slot.is_abandoned |= execution.is_in_coroutine;
            execution.is_in_coroutine.then_some(slot.yielder)
        });
        if let Some(yielder) = yielder {
            loop {
                // SAFETY: as in `operation`.
                unsafe { &*yielder }.suspend(());
            }
        }
    }

    /// Stops a panicking thread, which the caller has caught, until all of the threads have been
    /// taken down: they borrow from its stack.
    pub(crate) fn wait_for_dissolution_of(self, threads: &[ThreadId]) {
        let yielder = self.with(|execution| {
            let are_there = threads
                .iter()
                .any(|thread| execution.slots[thread.index()].status == Status::Present);
            (are_there && execution.is_in_coroutine)
                .then(|| execution.slots[execution.thread.index()].yielder)
        });
        if let Some(yielder) = yielder {
            // SAFETY: as in `operation`.
            unsafe { &*yielder }.suspend(());
        }
    }

    /// Ends the execution with an error of the program. The calling thread is unwound.
    pub fn fail(self, error: ProgramError) -> ! {
        self.with(|execution| execution.fail(error));
        dissolve_thread()
    }

    /// Something has to be dropped before the execution ends, or it was leaked.
    pub fn watch(self, what: &'static str, location: &'static Location<'static>) -> Watch {
        self.with(|execution| {
            execution.watched.push(Watched {
                what,
                location,
                is_alive: true,
            });
            Watch {
                execution: execution.serial,
                index: execution.watched.len() as u32 - 1,
            }
        })
    }
}

impl Watch {
    /// It was dropped.
    pub fn end(self) {
        if let Some(current) = Current::get()
            && current.serial() == self.execution
        {
            current.with(|execution| execution.watched[self.index as usize].is_alive = false);
        }
    }
}

/// Whether a thread may have to wait for others here.
fn may_wait(intent: Intent) -> bool {
    match intent {
        Intent::Local => false,
        Intent::Access { awaits, .. } => awaits.is_some(),
        Intent::Join(_) | Intent::Hint => true,
    }
}

/// Unwinds the calling thread, past the panic hook.
#[cold]
pub(crate) fn dissolve_thread() -> ! {
    std::panic::resume_unwind(Box::new(Dissolved))
}

impl<'execution> Step<'execution> {
    /// For what goes with a step without being an operation.
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
        self.execution.outcome
    }

    /// What the program is compiled for.
    #[inline]
    pub fn target(&self) -> Target {
        self.execution.setup.target
    }

    /// Whether the operation is a step that the explorer asked for. If not, the execution is
    /// over (or a static is being initialised): nothing is recorded, there is one outcome, and a
    /// condition that was awaited need not hold.
    #[inline]
    pub fn is_seen(&self) -> bool {
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
        self.execution.slots[thread.index()].tokens
    }

    /// The address of a part of an object that belongs to a thread. It is the same whoever asks for it
    /// first; no operation is on it, but the monitor may be told of some.
    pub(crate) fn part(
        &mut self,
        object: Address,
        thread: ThreadId,
        kind: &'static str,
        made_at: &'static Location<'static>,
    ) -> Address {
        let maker = self.execution.slots[thread.index()].maker;
        self.execution.names.part(maker, object, kind, made_at)
    }

    /// The [`part`](Self::part)s of all threads that have not ended, in addition to those that are
    /// there.
    pub(crate) fn parts_of_living(
        &mut self,
        object: Address,
        kind: &'static str,
        made_at: &'static Location<'static>,
        parts: &mut Vec<(ThreadId, Address)>,
    ) {
        for position in 0..self.execution.present.len() {
            let thread = self.execution.present[position];
            let is_alive = self.execution.slots[thread.index()].status == Status::Present;
            if is_alive && !parts.iter().any(|part| part.0 == thread) {
                let part = self.part(object, thread, kind, made_at);
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

    /// Touches an object by writing it. Returns its state before.
    #[inline]
    pub fn write(&mut self, object: Address, state: u64) -> u64 {
        let before = self.change(object, TouchKind::Write, state);
        if before != state {
            self.execution.slots[self.thread.index()]
                .waits
                .note_change();
        }
        before
    }

    /// Touches an object by a write that is a part of waiting, and does not count as something that the
    /// thread has done. Returns its state before.
    #[inline]
    pub(crate) fn write_in_wait(&mut self, object: Address, state: u64) -> u64 {
        self.change(object, TouchKind::Write, state)
    }

    /// Touches a lock by taking or releasing it.
    #[inline]
    pub(crate) fn write_lock(&mut self, object: Address, state: u64) {
        self.change(object, TouchKind::Write, state);
        self.execution.slots[self.thread.index()]
            .waits
            .note_lock(object);
    }

    /// The thread holds the lock for reading, once more.
    #[inline]
    pub(crate) fn begin_reading(&mut self, lock: Address) {
        let slot = &mut self.execution.slots[self.thread.index()];
        slot.reading.push(lock);
    }

    /// The thread holds the lock for reading once less.
    #[inline]
    pub(crate) fn end_reading(&mut self, lock: Address) {
        let reading = &mut self.execution.slots[self.thread.index()].reading;
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
        if self.execution.are_touches_noted {
            self.execution.slots[self.thread.index()]
                .waits
                .note_touch(object);
        }
    }

    /// Tells the monitor what the operation is on the machine, and the value that it loads or
    /// stores.
    #[inline]
    pub fn emit(&mut self, events: Events, value: u64) {
        if !self.execution.joined.is_empty() {
            self.emit_joins(self.thread);
        }
        self.emit_only(events, value);
    }

    /// The operation is a join. It orders what the other thread has done before what this one does
    /// next, so the monitor hears of it when that happens: mostly there is nothing.
    pub fn join(&mut self, thread: ThreadId) {
        if self.execution.setup.are_ends_visible {
            let end = self.tokens(thread).end;
            self.emit(self.target().draining(Operation::LockedLoad(end)), 1);
            return;
        }
        self.execution.joined.push(Joined {
            by: self.thread,
            thread,
            location: self.location,
        });
    }

    /// Tells the monitor of the threads that a thread has joined, and of their ends.
    #[cold]
    fn emit_joins(&mut self, by: ThreadId) {
        let mut at = 0;
        while at < self.execution.joined.len() {
            let joined = self.execution.joined[at];
            if joined.by != by {
                at += 1;
                continue;
            }
            self.execution.joined.remove(at);
            // What it has joined itself comes first.
            self.emit_joins(joined.thread);
            at = 0;
            let slot = &self.execution.slots[joined.thread.index()];
            let (end, spawned_at) = (slot.tokens.end, slot.spawned_at);
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
        let location = Some(self.execution.names.location(self.location));
        let thread = self.thread;
        let accesses = &mut self.execution.performed_mut().accesses;
        if let Some(operation) = events.barrier {
            accesses.push(Access {
                thread,
                operation,
                value: None,
                location,
            });
        }
        if let Some(operation) = events.operation {
            accesses.push(Access {
                thread,
                operation,
                value: operation.address().map(|_| value),
                location,
            });
        }
    }

    /// What the thread does from here on happens after what was released to the object.
    #[inline]
    pub fn acquire(&mut self, object: Address) {
        if self.execution.races.are_watched() {
            self.execution.races.acquire(self.thread, object);
        }
    }

    /// What the thread has done so far is released to the object, with what was released
    /// before.
    #[inline]
    pub fn release(&mut self, object: Address) {
        if self.execution.races.are_watched() {
            self.execution.races.release(self.thread, object);
        }
    }

    /// What the thread does from here on happens after all that the other thread did.
    #[inline]
    pub fn acquire_end_of(&mut self, ended: ThreadId) {
        if self.execution.races.are_watched() {
            self.execution.races.join(self.thread, ended);
        }
    }

    /// The happens-before clocks, if the execution has cells: for what `acquire` and `release`
    /// cannot say.
    #[inline]
    pub fn races(&mut self) -> Option<&mut super::races::Races> {
        let races = &mut self.execution.races;
        races.are_watched().then_some(races)
    }
}
