//! Operations on objects: what the types of a front end consist of.
//!
//! A shared type holds an [`Object`](super::Object). Its methods ask it for the [`Current`]
//! execution. If there is none, the method does what `std` does. Otherwise it calls
//! [`Current::operation`] with what it is about to do. The thread is suspended there. When the
//! explorer has chosen it, the closure runs atomically, with a [`Step`] in which it records what it
//! does.
//!
//! When an execution is over before its threads have finished, they are unwound, and destructors
//! may call such methods. The closure then runs at once, and what it records is discarded. It must
//! not rely on the condition that it awaited; see [`Step::is_recorded`].
//!
//! Misuse is safe. A [`Current`] holds no pointer: each method finds the execution of the calling
//! thread and borrows it exclusively (`current` has the details). If the execution is over, belongs
//! to another OS thread, or is borrowed already because a callback calls back, the method panics.
#![allow(unsafe_code)] // Coroutines and their runtime share the execution by pointer.

use std::any::Any;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fencepost_explore::{Effect, Intent, Round, TouchKind};
use fencepost_memory::{Access, Address, Operation, ThreadId};

use super::boundary::{Frame, clear_below, cross};
use super::coroutine::{Yield, reserve_stack};
use super::current::{has_current_execution, lend, read};
use super::error::{Restart, Stop};
use super::execution::{Execution, Phase};
use super::location::LocationRef;
use super::mapping::{Drains, Target};
use super::names::{LocalNames, Tokens};
use super::setup::{ComparedStates, Setup};
use super::step::Step;
use super::threads::{Outcomes, PendingOperation, SlotStatus, ThreadSlot};
use super::visits::{Visit, Visits};

/// How many operations a thread may perform while it is unwound. A destructor that spins until
/// another thread does something would never return.
const DIRECT_OPERATIONS: u32 = 10_000;

/// The panic payload that unwinds a thread of an execution that is over.
pub(crate) struct Unwound;

/// The execution that the calling thread belongs to.
///
/// Its methods find the execution through a thread-local pointer whenever they are called. So a
/// value of this type may outlive the execution: then its methods panic, or apply to the next
/// execution.
#[derive(Clone, Copy)]
pub struct Current {
    /// Other OS threads have another execution, or none.
    not_send: PhantomData<*const Execution>,
}

impl Current {
    /// The execution of the calling thread; none outside of a check.
    #[inline]
    pub fn get() -> Option<Self> {
        has_current_execution().then_some(Current::ENTERED)
    }

    /// For the runtime, while its execution is [entered](super::current::Entered).
    pub(crate) const ENTERED: Current = Current {
        not_send: PhantomData,
    };

    /// Lends the execution to `f`. Whatever `f` calls cannot borrow the execution again: it panics.
    ///
    /// # Panics
    /// If the execution is over, or is lent already.
    #[inline]
    pub(crate) fn with<R>(self, f: impl FnOnce(&mut Execution) -> R) -> R {
        match lend(f) {
            Some(result) => result,
            None => not_available(),
        }
    }

    /// Copies something out of the execution.
    ///
    /// # Safety
    /// As of [`read`]: `f` must neither panic nor borrow the execution again.
    ///
    /// # Panics
    /// If the execution is over, or is lent.
    #[inline]
    unsafe fn read<R: Copy>(self, f: impl FnOnce(&Execution) -> R) -> R {
        // SAFETY: the promise of the caller.
        match unsafe { read(f) } {
            Some(result) => result,
            None => not_available(),
        }
    }

    /// How the program is run.
    #[inline]
    pub(crate) fn setup(self) -> Setup {
        // SAFETY: this copies a field.
        unsafe { self.read(|execution| execution.setup) }
    }

    /// How many steps the execution has taken.
    #[inline]
    pub(crate) fn step_count(self) -> u64 {
        // SAFETY: this copies a field.
        unsafe { self.read(|execution| execution.recording.steps) }
    }

    /// Whether stores wait in buffers.
    #[inline]
    pub(crate) fn are_buffers_enabled(self) -> bool {
        // SAFETY: this reads a field.
        unsafe { self.read(|execution| execution.buffers.are_enabled()) }
    }

    /// As [`with`](Self::with), but none if the execution is not available.
    #[inline]
    pub(crate) fn try_with<R>(self, f: impl FnOnce(&mut Execution) -> R) -> Option<R> {
        lend(f)
    }

    /// Whether this is the execution with that serial number.
    #[inline]
    pub(crate) fn is_of(self, execution: u64) -> bool {
        // SAFETY: this reads a field.
        unsafe { self.read(|current| current.serial == execution) }
    }

    #[inline]
    pub(crate) fn phase(self) -> Phase {
        // SAFETY: this copies a field.
        unsafe { self.read(|execution| execution.phase) }
    }

    /// The calling thread.
    #[inline]
    pub fn thread(self) -> ThreadId {
        // SAFETY: this copies a field.
        unsafe { self.read(|execution| execution.running.thread) }
    }

    /// The machine that the program is compiled for.
    #[inline]
    pub fn target(self) -> Target {
        // SAFETY: this copies a field.
        unsafe { self.read(|execution| execution.setup.target) }
    }

    /// Whether the execution is over, so that operations are performed at once and not recorded.
    #[inline]
    pub fn is_tearing_down(self) -> bool {
        self.phase() == Phase::Teardown
    }

    /// The objects that belong to a thread.
    #[inline]
    pub fn tokens(self, thread: ThreadId) -> Tokens {
        self.with(|execution| execution.threads.slots[thread.index()].identity.tokens)
    }

    /// Whether the end of a thread is a step of its own.
    #[inline]
    pub fn are_ends_visible(self) -> bool {
        self.setup().are_ends_visible
    }

    /// Whether a thread may be finished before its thread-local values are dropped.
    #[inline]
    pub fn are_destructors_late(self) -> bool {
        self.setup().are_destructors_late
    }

    /// The state of an object, read without a step: to compute the intent of an operation.
    #[inline]
    pub fn peek(self, object: Address) -> u64 {
        // SAFETY: this reads a table, and an object that is not in it has a default state.
        unsafe { self.read(|execution| execution.state(object)) }
    }

    /// Changes the state of an object without a step. Only for objects that no other thread can
    /// know of or wait for, or that the program has changed through an exclusive reference
    /// (`get_mut`).
    #[inline]
    pub fn set_state(self, object: Address, state: u64) {
        self.with(|execution| execution.set_state(object, state));
    }

    /// What the program has stored in the store that the thread has [begun](super::Operand::begin_store), in the same step.
    pub fn finish_store(self, object: Address, state: u64) {
        self.with(|execution| {
            if !execution.takes_steps() {
                return;
            }
            let performed = execution.performed_mut();
            let mut touches = performed.touches.iter_mut().rev();
            let touch =
                touches.find(|touch| touch.object == object && touch.kind == TouchKind::Write);
            let before = touch.map(|touch| {
                touch.after = state;
                touch.before
            });
            let is_store = |access: &&mut Access| {
                matches!(access.operation, Operation::Store(address) if address == object)
            };
            // There is none if the step is replayed.
            if let Some(access) = performed.accesses.iter_mut().rev().find(is_store) {
                access.value = Some(state);
            }
            execution.set_state(object, state);
            if before.is_some_and(|before| before != state) {
                let thread = execution.running.thread;
                let slot = &mut execution.threads.slots[thread.index()];
                slot.visits.forget();
                slot.waits.note_change();
            }
        });
    }

    /// Performs a visible operation: declares it, suspends the thread until the explorer chooses
    /// it, and performs it. Before that, all stores of the thread are committed.
    #[inline]
    pub fn operation<R>(
        self,
        intent: Intent,
        outcomes: Outcomes,
        location: LocationRef,
        perform: impl FnOnce(&mut Step<'_>) -> R,
    ) -> R {
        self.operation_after(Drains::Everything, intent, outcomes, location, perform)
    }

    /// As [`operation`](Self::operation), but waits only for these stores of the thread.
    #[inline]
    pub fn operation_after<R>(
        self,
        drains: Drains<'_>,
        intent: Intent,
        outcomes: Outcomes,
        location: LocationRef,
        perform: impl FnOnce(&mut Step<'_>) -> R,
    ) -> R {
        if self.is_special() {
            self.drain(drains, location);
        }
        self.plain_operation(intent, outcomes, location, perform)
    }

    /// As [`operation`](Self::operation), for an operation that takes a lock.
    #[inline]
    pub fn lock_operation<R>(
        self,
        intent: Intent,
        outcomes: Outcomes,
        location: LocationRef,
        perform: impl FnOnce(&mut Step<'_>) -> R,
    ) -> R {
        let drains = self.target().drained_by_exchange(&[], Ordering::Acquire);
        self.operation_after(drains, intent, outcomes, location, perform)
    }

    /// As [`operation`](Self::operation), for a plain load.
    #[inline]
    pub fn load_operation<R>(
        self,
        intent: Intent,
        location: LocationRef,
        perform: impl FnOnce(&mut Step<'_>) -> R,
    ) -> R {
        // A fence may have been inserted before it.
        self.operation_after(Drains::Nothing, intent, Outcomes::One, location, perform)
    }

    /// Prepares the stack for an operation whose states may be compared: what earlier calls have
    /// left below the frame of the program would be taken for a part of the state.
    #[inline(always)] // The frame is that of the program.
    pub fn clear_stack_below(self) {
        // A copy of the setup would be in that frame.
        if self.compares_states() {
            clear_below();
        }
    }

    /// Whether there are store buffers, or states are compared.
    #[inline]
    fn is_special(self) -> bool {
        // SAFETY: this reads a field.
        unsafe { self.read(|execution| execution.is_special) }
    }

    /// Whether states are compared.
    #[inline]
    fn compares_states(self) -> bool {
        // SAFETY: this compares a field.
        unsafe { self.read(|execution| execution.setup.compared_states == ComparedStates::Always) }
    }

    /// As [`operation`](Self::operation), but does not wait for the store buffer.
    #[inline(always)] // So that the operands are in the frame of the program.
    pub fn plain_operation<R>(
        self,
        intent: Intent,
        outcomes: Outcomes,
        location: LocationRef,
        perform: impl FnOnce(&mut Step<'_>) -> R,
    ) -> R {
        // Crossing the boundary takes time, and without comparisons there is no need to.
        if self.compares_states() {
            return cross(move |frame| {
                self.operation_at(Some(frame), None, intent, outcomes, location, perform)
            });
        }
        self.operation_at(None, None, intent, outcomes, location, perform)
    }

    /// As [`plain_operation`](Self::plain_operation) on a variable whose state is known only to the
    /// front end, since the program may have changed it through an exclusive reference. With store
    /// buffers, `before` is called first.
    #[inline(always)] // So that the operands are in the frame of the program.
    pub fn variable_operation<R>(
        self,
        object: Address,
        before: impl FnOnce(),
        state: impl FnOnce() -> u64,
        effect: Effect,
        location: LocationRef,
        perform: impl FnOnce(&mut Step<'_>) -> R,
    ) -> R {
        let intent = move || Intent::Access {
            object,
            effect,
            awaits: None,
        };
        // The state is no operand: two rounds of a loop may differ in it.
        if self.is_special() {
            if self.are_buffers_enabled() {
                before();
            }
            if self.compares_states() {
                self.set_state(object, state());
                return cross(move |frame| {
                    let intent = intent();
                    self.operation_at(Some(frame), None, intent, Outcomes::One, location, perform)
                });
            }
        }
        // One loan less than with `set_state`.
        let update = Some((object, state()));
        self.operation_at(None, update, intent(), Outcomes::One, location, perform)
    }

    /// Performs a visible operation of the program, whose part of the stack ends at `frame`. Before
    /// that, updates the state of an object.
    #[inline(always)] // It is the body of what `cross` calls.
    fn operation_at<R>(
        self,
        frame: Option<Frame>,
        update: Option<(Address, u64)>,
        intent: Intent,
        outcomes: Outcomes,
        location: LocationRef,
        perform: impl FnOnce(&mut Step<'_>) -> R,
    ) -> R {
        let has_choice = !matches!(outcomes, Outcomes::One);
        let declared = self.with(|execution| {
            if let Some((object, state)) = update {
                execution.set_state(object, state);
            }
            if !execution.takes_steps() {
                return None;
            }
            let may_repeat = may_repeat(intent) || matches!(outcomes, Outcomes::FirstTime(_));
            let in_frame =
                frame.map(|frame| execution.arrive_at(frame, intent, may_repeat, location));
            let Execution {
                setup,
                running,
                threads,
                names,
                ..
            } = execution;
            // The slot is looked up once: each operation of the program gets here.
            let slot = &mut threads.slots[running.thread.index()];
            let arrival = match in_frame {
                Some(arrival) => arrival,
                None if may_repeat => slot.visits.repeat(names, setup, intent, location),
                None => Arrival::New,
            };
            let yielder = match running.is_in_coroutine {
                true => slot.stack.yielder,
                false => std::ptr::null(),
            };
            let round = match setup.compared_states {
                ComparedStates::Never => Round::Assumed,
                _ => Round::New,
            };
            let (outcomes, round, arrival) = match (outcomes, arrival) {
                (Outcomes::FirstTime(_), Arrival::Round(round)) => {
                    (Outcomes::One, round, Arrival::New)
                }
                _ => (outcomes, round, arrival),
            };
            slot.pending = PendingOperation {
                intent,
                outcomes,
                location,
                round,
            };
            slot.visits.events += 1;
            if matches!(outcomes, Outcomes::Fixed(_) | Outcomes::Of(..)) {
                // Another outcome may lead elsewhere.
                slot.visits.forget();
            }
            let is_plain = arrival == Arrival::New
                && slot.reading.is_empty()
                && slot.declared.are_none()
                && slot.final_drop.is_none()
                && !slot.is_in_early_destructor;
            Some((yielder, is_plain, arrival))
        });
        let Some((yielder, is_plain, arrival)) = declared else {
            if self.phase() == Phase::StaticInit {
                self.check_unrecorded(intent, outcomes);
            }
            return self.directly(location, perform);
        };
        // What the step records may have to be allocated.
        reserve_stack();
        if !is_plain {
            self.prepare(intent, location, has_choice);
            self.arrive(arrival);
        }
        let Some(yielder) = NonNull::new(yielder.cast_mut()) else {
            not_available();
        };
        // SAFETY: it is that of the running thread, as of `Execution::yielder`, and the coroutine was
        // not suspended since, or has been resumed.
        unsafe { suspend(yielder) };
        let result = self.with(|execution| {
            if execution.phase != Phase::Running {
                return None;
            }
            let thread = execution.running.thread;
            let result = perform(&mut Step::in_place(execution, thread, location));
            if frame.is_some() {
                execution.note_performed();
            }
            Some(result)
        });
        match result {
            Some(result) => result,
            None => self.leave_execution(),
        }
    }

    /// What has to be noted or requested before the pending operation, if anything.
    #[cold]
    fn prepare(self, intent: Intent, location: LocationRef, has_choice: bool) {
        self.keep_declarations(intent, location, has_choice);
        let (final_drop, is_reading, is_early) = self.with(|execution| {
            let slot = execution.slot();
            let is_reading = !slot.reading.is_empty();
            (slot.final_drop, is_reading, slot.is_in_early_destructor)
        });
        if is_reading && may_wait(intent) {
            self.note_wait_of_reader();
        }
        if let Some(drop) = final_drop {
            self.request_ordered_drops(drop);
        }
        if is_early {
            self.request_late_destructors();
        }
    }

    /// The thread has come back to the pending operation. If it is in the same state as before, it
    /// waits until something that it has read has changed.
    #[cold]
    fn arrive(self, arrival: Arrival) {
        match arrival {
            Arrival::Unknown => self.fail(Restart::ComparedStates),
            Arrival::Endless => self.fail(Restart::EndlessLoop),
            Arrival::Unexpected => self.fail_for_unseen_memory(),
            Arrival::New | Arrival::Round(_) => {}
        }
        let Arrival::Round(round) = arrival else {
            return;
        };
        let hint = self.with(|execution| {
            let slot = execution.slot_mut();
            if slot.pending.intent == Intent::SpinHint {
                slot.pending.round = round;
                return None;
            }
            slot.visits.events += 1;
            let (outcomes, location) = (Outcomes::One, slot.pending.location);
            let hint = PendingOperation {
                intent: Intent::SpinHint,
                outcomes,
                location,
                round,
            };
            let operation = std::mem::replace(&mut slot.pending, hint);
            Some((execution.yielder(), operation))
        });
        let Some((yielder, operation)) = hint else {
            return;
        };
        self.wait_for_turn(yielder);
        self.with(|execution| execution.slot_mut().pending = operation);
    }

    /// Suspends the thread until something has changed that it has read in its last events, or no
    /// other thread is enabled.
    pub fn wait_for_change(self, events: u32, location: LocationRef) {
        if self.is_direct() {
            return;
        }
        let yielder = self.with(|execution| {
            let slot = execution.slot_mut();
            slot.visits.events += 1;
            slot.pending = PendingOperation {
                intent: Intent::SpinHint,
                outcomes: Outcomes::One,
                location,
                round: Round::Repeated(events),
            };
            execution.yielder()
        });
        self.wait_outside(yielder);
    }

    /// Suspends the calling coroutine until the explorer chooses its thread. If the execution is
    /// over by then, unwinds the thread.
    pub(crate) fn wait_for_turn(self, yielder: Option<NonNull<Yield>>) {
        let Some(yielder) = yielder else {
            not_available();
        };
        // SAFETY: the callers got it from `Execution::yielder`, and the coroutine was not suspended
        // since.
        unsafe { suspend(yielder) };
        if self.phase() != Phase::Running {
            self.leave_execution();
        }
    }

    /// As [`wait_for_turn`](Self::wait_for_turn), outside of an operation of the program.
    #[inline(never)] // Its frame is below those of the program.
    pub(crate) fn wait_outside(self, yielder: Option<NonNull<Yield>>) {
        let compares_states = self.compares_states();
        if compares_states {
            let here = 0_u8;
            let low = std::hint::black_box(&raw const here).addr();
            self.with(|execution| {
                execution.note_changes();
                execution.slot_mut().stack.low = low;
            });
        }
        self.wait_for_turn(yielder);
        if compares_states {
            self.with(Execution::watch_changes);
        }
    }

    /// The calling thread does something that is no operation in itself: it ends, or spawns another
    /// one. It may have had to repeat an operation instead.
    #[inline]
    pub(crate) fn note_other_action(self) {
        if self.compares_states() {
            self.check_other_action();
        }
    }

    #[inline(never)]
    fn check_other_action(self) {
        let is_unexpected = |execution: &mut Execution| {
            let slot = execution.slot_mut();
            let location = slot.pending.location;
            let is_running = execution.phase == Phase::Running;
            is_running
                && execution
                    .slot_mut()
                    .visits
                    .is_unexpected(OTHER_ACTION, location)
        };
        if self.with(is_unexpected) {
            self.fail_for_unseen_memory();
        }
    }

    /// The calling thread repeats a round in the same state, has read the same values, and does
    /// something else all the same: it depends on memory that is not compared.
    #[cold]
    fn fail_for_unseen_memory(self) -> ! {
        self.with(|execution| {
            let expected = execution.threads.slots[execution.running.thread.index()]
                .visits
                .expected();
            let mut places = expected.iter().map(|done| done.location);
            let first = places.next().map(|place| execution.names.location(place));
            let Some(first) = first else { return };
            let others: Vec<_> = places
                .map(|place| execution.names.location(place))
                .collect();
            execution
                .names
                .registry()
                .note_unseen_memory(first, &others);
        });
        self.fail(Restart::UnseenMemory)
    }

    /// Suspends the thread until the explorer chooses it, without an operation of the program.
    pub(crate) fn stop_before(self, intent: Intent, location: LocationRef) {
        let yielder = self.with(|execution| {
            let slot = execution.slot_mut();
            slot.pending = PendingOperation {
                intent,
                outcomes: Outcomes::One,
                location,
                round: Round::New,
            };
            execution.yielder()
        });
        self.wait_outside(yielder);
    }

    /// The program leaves a value open. Returns one from `low` to `high`, which the explorer chooses. There are fewer
    /// than 2^31.
    pub fn open_value(self, low: i64, high: i64, location: LocationRef) -> i64 {
        let values = u32::try_from(high.saturating_sub(low)).map_or(u32::MAX, |last| last + 1);
        let outcome = self.operation(Intent::Local, Outcomes::Fixed(values), location, |step| {
            step.outcome()
        });
        low + i64::from(outcome)
    }

    /// Only values from `low` to `high` are tried where the program leaves them open.
    pub fn note_open_value(self, low: i64, high: i64) {
        self.with(|execution| execution.names.registry().note_open_value(low, high));
    }

    /// The program assumes that an execution does not get here: the calling thread stops, and what cannot go on without it
    /// is not at fault.
    pub fn stop_for_assumption(self, location: LocationRef) -> ! {
        self.operation(Intent::Stopped, Outcomes::One, location, |_| ());
        unreachable!("the explorer never lets a stopped thread continue")
    }

    /// The calling thread has changed memory that is not compared, so it is not in an earlier state.
    pub fn note_uncompared_change(self) {
        self.with(|execution| {
            let slot = execution.slot_mut();
            slot.visits.forget();
            slot.waits.note_change();
        });
    }

    /// Whether states are compared, so that what earlier calls have left on the stack matters.
    pub fn compares_stacks(self) -> bool {
        self.compares_states()
    }

    /// Whether the program has spawned no thread yet. What the thread does now happens before
    /// everything that another thread will do.
    #[inline]
    pub fn is_alone(self) -> bool {
        // SAFETY: this compares lengths.
        unsafe { self.read(|execution| execution.threads.is_alone()) }
    }

    /// Joins a finished thread without a step of its own, if the explorer allows that. Returns
    /// whether it did. `perform` records the rest of the join.
    #[inline]
    pub fn try_inline_join(
        self,
        ended: ThreadId,
        location: LocationRef,
        perform: impl FnOnce(&mut Step<'_>),
    ) -> bool {
        self.with(|execution| {
            let joins = execution.can_join_inline(ended);
            if joins {
                execution.performed_mut().joined.push(ended);
                let thread = execution.running.thread;
                perform(&mut Step::in_place(execution, thread, location));
            }
            joins
        })
    }

    /// Whether waiting on a condition variable may end without a notification.
    pub fn has_spurious_wakeups(self) -> bool {
        self.setup().spurious_wakeups
    }

    /// Keeps a value for a raw pointer that a front end has made from one of its types.
    pub fn associate_with_pointer(self, address: usize, kept: Arc<dyn Any + Send + Sync>) {
        self.with(|execution| execution.objects.by_pointer.insert(address, kept));
    }

    /// The value that was kept for a raw pointer.
    pub fn associated_with_pointer(self, address: usize) -> Option<Arc<dyn Any + Send + Sync>> {
        self.with(|execution| execution.objects.by_pointer.get(&address).cloned())
    }

    /// Fails an operation that was performed at once (see [`Step::is_recorded`]) and would have to
    /// wait for something that no thread will do.
    #[cold]
    pub fn cannot_wait(self) -> ! {
        if self.phase() == Phase::StaticInit {
            self.request_visible_statics();
        }
        self.abandon();
        panic!("a destructor waits for another thread after the end of the execution");
    }

    /// Performs an operation that touches no object and is not a step.
    #[inline]
    pub fn local<R>(self, location: LocationRef, perform: impl FnOnce(&mut Step<'_>) -> R) -> R {
        if self.is_direct() {
            return self.directly(location, perform);
        }
        self.note_thread_dependence();
        self.perform(location, perform)
    }

    #[inline]
    fn perform<R>(self, location: LocationRef, perform: impl FnOnce(&mut Step<'_>) -> R) -> R {
        self.with(|execution| {
            let thread = execution.running.thread;
            perform(&mut Step::in_place(execution, thread, location))
        })
    }

    /// Whether operations are performed at once, and not recorded.
    #[inline]
    pub(crate) fn is_direct(self) -> bool {
        self.with(|execution| !execution.takes_steps())
    }

    #[cold]
    fn directly<R>(self, location: LocationRef, perform: impl FnOnce(&mut Step<'_>) -> R) -> R {
        let is_over_limit = self.with(|execution| {
            execution.teardown.direct_operations += u32::from(execution.phase == Phase::Teardown);
            execution.teardown.direct_operations > DIRECT_OPERATIONS
        });
        if is_over_limit {
            self.abandon();
        }
        let was_paused = self.with(|execution| execution.recording.pause());
        let result = self.perform(location, perform);
        self.with(|execution| execution.recording.unpause(was_paused));
        result
    }

    /// Abandons the calling thread, which cannot be unwound: a destructor waits for something that
    /// will not happen. The thread is never resumed, and its stack is leaked. Returns only if no
    /// coroutine is running.
    pub fn abandon(self) {
        let yielder = self.with(|execution| {
            execution.running.is_abandoned |= execution.running.is_in_coroutine;
            execution.yielder()
        });
        if let Some(yielder) = yielder {
            loop {
                // SAFETY: it came from `Execution::yielder`. The runtime does not resume the
                // coroutine any more.
                unsafe { suspend(yielder) };
            }
        }
    }

    /// Whether a thread has neither finished nor was torn down.
    #[inline]
    pub fn is_live(self, thread: ThreadId) -> bool {
        let is_live = |slot: &ThreadSlot| slot.status == SlotStatus::Live;
        // SAFETY: this reads a field, if there is such a thread.
        unsafe {
            self.read(|execution| {
                execution
                    .threads
                    .slots
                    .get(thread.index())
                    .is_some_and(is_live)
            })
        }
    }

    /// Suspends the calling thread until the other threads have finished or were torn down. Threads
    /// that borrow from the stack of the calling thread have to be waited for like this: after the
    /// execution is over, a join returns at once.
    pub fn wait_until_finished(self, threads: &[ThreadId]) {
        let live_yielder = |execution: &mut Execution| {
            let mut threads = threads.iter();
            let is_live = threads.any(|&thread| execution.threads.is_live(thread));
            execution.yielder().filter(|_| is_live)
        };
        while let Some(yielder) = self.with(live_yielder) {
            // SAFETY: it came from `Execution::yielder`, and the coroutine was not suspended since.
            unsafe { suspend(yielder) };
        }
    }

    /// The program ends, as a process does when its first thread returns: from now on, threads of this execution that are
    /// blocked for ever are no deadlock. Whether it had ended before.
    pub fn end_program(self) -> bool {
        self.with(|execution| std::mem::replace(&mut execution.is_over, true))
    }

    /// Ends the execution with an error or a request to restart. The calling thread is unwound.
    pub fn fail(self, stop: impl Into<Stop>) -> ! {
        let stop = stop.into();
        self.with(|execution| execution.fail(stop));
        self.leave_execution()
    }

    /// Ends the calling thread, because the execution is over.
    #[cold]
    #[inline(never)]
    fn leave_execution(self) -> ! {
        if self.setup().abandons_threads {
            self.abandon();
        }
        unwind_thread()
    }
}

/// Suspends the calling coroutine until its runtime resumes it.
///
/// # Safety
/// The yielder must come from [`Execution::yielder`], called by this coroutine since it was last
/// resumed.
#[inline]
unsafe fn suspend(yielder: NonNull<Yield>) {
    // SAFETY: it is that of the running coroutine, and lives at the base of the stack that this
    // runs on.
    unsafe { yielder.as_ref() }.suspend(());
}

#[cold]
#[inline(never)]
fn not_available() -> ! {
    panic!(
        "internal error: an execution is used after its end or while it is borrowed; this is a bug in \
         Fencepost"
    )
}

/// What is known about the state in which a thread arrives at an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Arrival {
    /// Nothing that matters.
    New,
    /// It has been here, and states are not compared.
    Unknown,
    /// It goes round without end.
    Endless,
    /// It should have done something else.
    Unexpected,
    /// It has been here, or the explorer says so.
    Round(Round),
}

/// Whether a loop that repeats the operation may wait.
#[inline]
fn may_repeat(intent: Intent) -> bool {
    match intent {
        // An update alone reads nothing that the loop could wait for.
        Intent::Access { effect, awaits, .. } => awaits.is_none() && effect != Effect::Update,
        Intent::SpinHint => true,
        Intent::Local | Intent::Join(_) | Intent::Stopped => false,
    }
}

/// The number of what is no operation.
const OTHER_ACTION: u64 = u64::MAX;

/// A number for an operation, to compare it with others.
#[inline]
fn number_of(intent: Intent, location: LocationRef) -> u64 {
    let object = match intent {
        Intent::Access { object, .. } => u64::from(object.0),
        _ => u64::MAX,
    };
    object.rotate_left(32) ^ location.addr() as u64
}

impl Execution {
    /// The running thread stops before an operation, and states are compared. Whether it was known to
    /// perform another one.
    fn stop_at(&mut self, frame: Frame, intent: Intent, location: LocationRef) -> bool {
        self.note_changes();
        let slot = self.slot_mut();
        slot.stack.low = frame.address();
        slot.visits
            .is_unexpected(number_of(intent, location), location)
    }

    /// The running thread has performed an operation, and states are compared.
    fn note_performed(&mut self) {
        let outcome = u64::from(self.running.outcome);
        let touches = &self.performed_mut().touches;
        // What an update reads does not influence the program.
        let read = touches
            .iter()
            .filter(|touch| touch.kind != TouchKind::Update)
            .fold(outcome, |read, touch| {
                let touch = touch.before ^ u64::from(touch.object.0).rotate_left(40);
                read.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(touch)
            });
        self.slot_mut().visits.note_done(read);
        self.watch_changes();
    }

    /// The running thread is about to perform an operation, and states are compared. The program's
    /// part of the stack ends at `frame`.
    fn arrive_at(
        &mut self,
        frame: Frame,
        intent: Intent,
        may_repeat: bool,
        location: LocationRef,
    ) -> Arrival {
        if self.stop_at(frame, intent, location) {
            return Arrival::Unexpected;
        }
        if !may_repeat {
            return Arrival::New;
        }
        // SAFETY: `cross`, which is running, has passed the frame.
        unsafe { self.visit_compared(frame, number_of(intent, location), location) }
    }

    /// The running thread is at an operation that it may repeat.
    ///
    /// # Safety
    /// The frame must be that of a running [`cross`] on the stack of the thread.
    #[inline(never)] // Programs without loops do not come here.
    unsafe fn visit_compared(
        &mut self,
        frame: Frame,
        operation: u64,
        location: LocationRef,
    ) -> Arrival {
        let visit = match self.names.is_unseen(location) {
            true => Visit::Changed,
            // SAFETY: the promise of the caller.
            false => unsafe { self.visit_in(frame, operation) },
        };
        let max_steps = self.setup.max_steps;
        let is_endless = self.slot_mut().visits.is_endless(visit, max_steps);
        let is_known = self.names.is_endless(location);
        if is_endless && !is_known {
            let location = self.names.location(location);
            self.names.registry().note_endless_loop(location);
            return Arrival::Endless;
        }
        let bounded = match is_known {
            true => self.slot_mut().visits.bounded_round(operation),
            false => None,
        };
        let round = match (visit, bounded) {
            (Visit::Same(events), _) => {
                self.note_same_state();
                Round::Repeated(events)
            }
            (Visit::Changed, Some(events)) => Round::Bounded(events),
            (Visit::Changed, None) => Round::New,
        };
        let known = match self.running.stepping == Some(self.running.thread) {
            true => self.performed_mut().known_round,
            // A thread that was spawned in the step has not been anywhere.
            false => None,
        };
        match known.unwrap_or(round) {
            Round::New => Arrival::New,
            round => Arrival::Round(round),
        }
    }

    /// Compares the state of the running thread with those at earlier visits.
    ///
    /// # Safety
    /// The frame must be that of a running [`cross`] on the stack of the thread.
    unsafe fn visit_in(&mut self, frame: Frame, operation: u64) -> Visit {
        let mutation = self.setup.state_mutation;
        let slot = self.slot_mut();
        let (base, changes) = (slot.stack.yielder.addr(), &mut slot.changes);
        // SAFETY: the promise of the caller. The stack of the running thread ends at the yielder.
        unsafe { slot.visits.visit(frame, operation, base, changes, mutation) }
    }
}

impl Visits {
    /// The running thread is about to perform an operation that it may repeat, and states are not
    /// compared.
    #[inline(always)] // The caller knows the intent.
    fn repeat(
        &mut self,
        names: &LocalNames,
        setup: &Setup,
        intent: Intent,
        location: LocationRef,
    ) -> Arrival {
        let compared = setup.compared_states;
        if compared == ComparedStates::Never && intent != Intent::Local {
            return Arrival::New;
        }
        match (self.is_repeated(number_of(intent, location)), compared) {
            (false, _) => Arrival::New,
            (true, ComparedStates::Never) => {
                // It may be in another state, in which both outcomes are possible.
                names.registry().note_bounded_wait();
                Arrival::Round(Round::Assumed)
            }
            (true, _) => Arrival::Unknown,
        }
    }
}

/// Whether the operation may block.
fn may_wait(intent: Intent) -> bool {
    match intent {
        Intent::Local => false,
        Intent::Access { awaits, .. } => awaits.is_some(),
        Intent::Join(_) | Intent::SpinHint | Intent::Stopped => true,
    }
}

/// Unwinds the calling thread, past the panic hook.
#[cold]
pub(crate) fn unwind_thread() -> ! {
    std::panic::resume_unwind(Box::new(Unwound))
}
