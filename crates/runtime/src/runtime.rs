//! The runtime: runs a closure as a [`Program`] of the explorer.
#![allow(unsafe_code)] // Coroutines and their runtime share the execution by pointer.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use corosensei::CoroutineResult;
use fencepost_explore::{Performed, Program, Round, ThreadStatus};
use fencepost_memory::{Address, LocationId, ThreadId};

use super::coroutine::{End, SpawnOptions, add_thread, give_body};
use super::current::{Entered, has_current_execution};
use super::error::{ProgramError, Restart, Stop};
use super::execution::{Execution, Phase};
use super::failures::{FailureKind, ProgramFailure, Signal};
use super::heartbeat::Heartbeat;
use super::location::OwnedLocation;
use super::names::{Registry, SpawnedThread};
use super::operation::Current;
use super::overflow::{CaughtSignal, ForeignCode};
use super::recording::{Attached, Recording};
use super::setup::Setup;
use super::threads::{Outcomes, SlotStatus};
use super::{foreign, overflow, panics};

/// The closure that is checked.
pub type Checked = Arc<dyn Fn() + Send + Sync>;

/// How often a thread is resumed that is suspended again and again while it is unwound.
const MAX_RESUMES: u32 = 100;

/// Runs the executions of one worker of a check. It is not `Send`: it stays on the OS thread that
/// created it.
pub struct Runtime {
    checked: Checked,
    main: SpawnedThread,
    /// Allocated by `Box`, freed when the runtime is dropped. Coroutines use it while they run.
    execution: NonNull<Execution>,
    serial: u64,
    is_begun: bool,
    heartbeat: Arc<Heartbeat>,
    /// How often a thread was resumed.
    turns: u64,
}

impl Runtime {
    /// Creates the runtime of a worker of the check to which `registry` belongs.
    pub fn new(checked: Checked, setup: Setup, registry: Arc<Registry>) -> Self {
        static RUNTIMES: AtomicU64 = AtomicU64::new(1);
        panics::install_hook();
        overflow::install_handler();
        let number = RUNTIMES.fetch_add(1, Ordering::Relaxed);
        foreign::register_runtime(number);
        let execution = Box::new(Execution::new(setup, registry));
        Runtime {
            checked,
            main: execution.names.main_thread(),
            execution: NonNull::from(Box::leak(execution)),
            // 2^40 executions would take a worker more than a week.
            serial: number << foreign::EXECUTION_BITS,
            is_begun: false,
            heartbeat: Arc::default(),
            turns: 0,
        }
    }

    /// Shows other OS threads whether the worker makes progress.
    pub fn heartbeat(&self) -> &Arc<Heartbeat> {
        &self.heartbeat
    }

    /// From the next execution on, the registry records the initial values of objects.
    pub fn keep_first_values(&mut self) {
        self.execution_mut().setup.keeps_first_values = true;
    }

    /// The execution. A reference, and no closure that gets one: a closure that is used in two places
    /// may be a call, and each step is a few of them.
    #[inline]
    fn execution_mut(&mut self) -> &mut Execution {
        // SAFETY: the execution is alive as long as the runtime. References to it come only from this
        // function and from `shared`, which borrow the runtime, and from the code that `enter` runs,
        // which borrows it mutably. So there is none while the runtime is borrowed mutably here.
        unsafe { self.execution.as_mut() }
    }

    /// The execution, to read it.
    #[inline]
    fn shared(&self) -> &Execution {
        // SAFETY: as in `execution_mut`; mutable references exist only while the runtime is borrowed mutably.
        unsafe { self.execution.as_ref() }
    }

    /// Runs code of the program, for which the execution is the current one.
    #[inline(always)] // Each step is a call.
    fn enter<R>(&mut self, code: impl FnOnce() -> R) -> R {
        // SAFETY: the runtime owns the execution. References to it come only from `execution_mut`,
        // which cannot be called while the runtime is borrowed here.
        let _entered = unsafe { Entered::new(self.execution) };
        code()
    }

    /// Records what is performed while the result lives.
    #[inline]
    fn record_in<'record>(&mut self, performed: &'record mut Performed) -> Attached<'record> {
        // SAFETY: the execution is alive.
        let recording: *mut Recording = unsafe { &raw mut (*self.execution.as_ptr()).recording };
        // SAFETY: the recording is alive as long as the runtime, and the callers drop the guard
        // before they return. References to it come only from `execution_mut`, and from code that
        // `enter` runs.
        unsafe { Attached::new(NonNull::new_unchecked(recording), performed) }
    }

    /// Runs `thread` to its next operation, then the threads that it has spawned to their first.
    fn run(&mut self, thread: Option<ThreadId>) -> Result<(), Stop> {
        let mut next = thread;
        loop {
            if let Some(thread) = next {
                self.resume(thread);
            }
            next = match self.start_next() {
                None => break,
                Some(child) => (self.shared().phase == Phase::Running).then_some(child),
            };
        }
        let execution = self.execution_mut();
        // It may have caused whatever else went wrong, such as a panic of the thread that joined the
        // other one.
        if let Some(misuse) = foreign::misuse_of(execution.serial) {
            execution.phase = Phase::Teardown;
            execution.teardown.stop = Some(misuse.into());
        }
        // Whatever stops an execution tears it down.
        if execution.phase == Phase::Running {
            return Ok(());
        }
        match &execution.teardown.stop {
            // It also stays in the execution, so that later errors do not replace it.
            Some(stop) => Err(stop.clone()),
            None => Ok(()),
        }
    }

    /// The next spawned thread that has not run yet. It counts as started now.
    #[inline]
    fn start_next(&mut self) -> Option<ThreadId> {
        let main = self.main.thread;
        let execution = self.execution_mut();
        // Mostly there is none.
        let thread = *execution.threads.spawned.get(execution.threads.started)?;
        execution.threads.started += 1;
        if thread != main {
            execution.performed_mut().spawned.push(thread);
        }
        Some(thread)
    }

    /// Runs a live thread until it is suspended or finished.
    #[inline(always)] // It is a large part of `run`, and each step is one.
    fn resume(&mut self, thread: ThreadId) {
        let execution = self.execution_mut();
        execution.running.thread = thread;
        execution.running.is_in_coroutine = true;
        execution.memory.enter(thread);
        let since = execution.threads.slots[thread.index()].pending.location;
        let mut slot = execution.threads.coroutines.slot(thread);
        self.turns += 1;
        self.heartbeat.begin(self.turns, thread, since);
        // SAFETY: the slot is never moved. While the thread is live, only this function and the two
        // below use it.
        let slot = unsafe { slot.as_mut() };
        let coroutine = slot
            .coroutine
            .as_mut()
            .expect("a live thread has a coroutine");
        // SAFETY: as in `enter`. A closure would be a call.
        let entered = unsafe { Entered::new(self.execution) };
        let result = coroutine.resume(());
        drop(entered);
        self.heartbeat.end();
        let execution = self.execution_mut();
        execution.running.is_in_coroutine = false;
        let is_abandoned = std::mem::take(&mut execution.running.is_abandoned);
        execution.memory.leave();
        match result {
            CoroutineResult::Yield(()) if !is_abandoned => {}
            CoroutineResult::Yield(()) => self.leak(thread),
            CoroutineResult::Return(End::Returned) => {
                execution.end_declared_loops(thread);
                self.end(thread);
            }
            CoroutineResult::Return(end) => self.end_otherwise(thread, end),
        }
    }

    /// Ends a thread whose function has not returned.
    #[cold]
    fn end_otherwise(&mut self, thread: ThreadId, end: End) {
        match end {
            End::Returned | End::Unwound => {}
            End::Overflowed => return self.overflow(thread),
            End::Signalled => return self.signal(thread, CaughtSignal::last()),
            End::Panicked(payload) => {
                let error = panic_error(thread, &*payload);
                self.execution_mut().fail(error.into());
            }
        }
        self.end(thread);
    }

    /// Marks a thread as finished, and keeps its stack.
    #[inline]
    fn end(&mut self, thread: ThreadId) {
        let execution = self.execution_mut();
        execution.threads.set_finished(thread);
        execution.keep_stack(thread);
    }

    /// Records a stack overflow. Other threads may still borrow from the stack, so it is leaked.
    #[cold]
    fn overflow(&mut self, thread: ThreadId) {
        self.leak(thread);
        let execution = self.execution_mut();
        let size = execution.threads.slots[thread.index()].stack.size;
        execution.fail(ProgramError::StackOverflow { thread, size }.into());
    }

    /// Records a signal that an instruction of the program has caused.
    #[cold]
    fn signal(&mut self, thread: ThreadId, caught: CaughtSignal) {
        self.leak(thread);
        let error = ProgramError::Failed(Box::new(ProgramFailure {
            kind: FailureKind::Signal(Signal::of(caught.number, caught.address)),
            thread,
            message: String::new(),
            location: ForeignCode::location_of(caught.instruction).map(OwnedLocation::from),
        }));
        self.execution_mut().fail(error.into());
    }

    /// Leaks a thread that cannot be unwound, with everything on its stack. The stack too, unless the
    /// program is one whose threads are never unwound: then nothing else can know of it.
    #[cold]
    fn leak(&mut self, thread: ThreadId) {
        let execution = self.execution_mut();
        execution.threads.set_finished(thread);
        // SAFETY: no coroutine runs, so the slot is not in use.
        let slot = unsafe { execution.threads.coroutines.slot(thread).as_mut() };
        if !execution.setup.abandons_threads {
            std::mem::forget(slot.coroutine.take());
            return;
        }
        if let Some(coroutine) = &mut slot.coroutine {
            // SAFETY: the frames of the program need no `Drop`, which is what the setting says, and
            // those of this crate own nothing when a coroutine is suspended.
            unsafe { coroutine.force_reset() };
        }
        execution.keep_stack(thread);
    }

    /// Unwinds the live threads, the latest first: a thread may borrow from the stack of the one
    /// that spawned it.
    fn tear_down_threads(&mut self) {
        let threads = &mut self.execution_mut().threads;
        threads.started = threads.spawned.len();
        let count = match threads.live {
            0 => 0,
            _ => threads.spawned.len(),
        };
        for position in (0..count).rev() {
            let threads = &self.shared().threads;
            let thread = threads.spawned[position];
            if threads.is_live(thread) {
                self.tear_down_thread(thread);
            }
        }
    }

    #[cold]
    fn tear_down_thread(&mut self, thread: ThreadId) {
        let execution = self.execution_mut();
        execution.running.thread = thread;
        execution.teardown.direct_operations = 0;
        let mut slot = execution.threads.coroutines.slot(thread);
        // SAFETY: no coroutine runs, so the slot is not in use.
        let Some(coroutine) = &mut unsafe { slot.as_mut() }.coroutine else {
            // Its parent overflowed its stack before it gave the thread a body.
            return self.leak(thread);
        };
        if coroutine.started() && self.shared().setup.abandons_threads {
            return self.leak(thread);
        }
        if !coroutine.started() {
            // Drops the function that it was to run.
            let force_unwind = AssertUnwindSafe(|| coroutine.force_unwind());
            let dropped = self.enter(|| catch_unwind(force_unwind));
            match dropped {
                Ok(()) => self.end(thread),
                Err(_) => self.leak(thread),
            }
            return;
        }
        for _ in 0..MAX_RESUMES {
            self.resume(thread);
            if self.shared().threads.slots[thread.index()].status == SlotStatus::Finished {
                return;
            }
        }
        self.leak(thread);
    }

    /// Drops the thread-local values and the statics that are left.
    fn clear(&mut self) -> Result<(), ProgramError> {
        let mut result = Ok(());
        for position in 0..self.shared().threads.spawned.len() {
            let threads = &mut self.execution_mut().threads;
            let locals = &mut threads.slots[threads.spawned[position].index()].locals;
            if !locals.is_empty() {
                let locals = std::mem::take(locals);
                let dropped = self.enter(|| catch_unwind(AssertUnwindSafe(|| drop(locals))));
                result = result.and(dropped);
            }
        }
        result = result.and(self.enter(|| Current::ENTERED.drop_statics()));
        result.map_err(|payload| panic_error(self.main.thread, &*payload))
    }

    fn leaked(&self) -> Option<ProgramError> {
        let execution = self.shared();
        if !execution.setup.leak_check {
            return None;
        }
        if execution.setup.abandons_threads {
            return ForeignCode::leaked_blocks();
        }
        let mut tracked = execution.tracked_drops.iter();
        let tracked = tracked.find(|value| value.is_alive)?;
        Some(ProgramError::Leak {
            what: tracked.what,
            location: tracked.location.into(),
        })
    }
}

fn panic_error(thread: ThreadId, payload: &(dyn Any + Send)) -> ProgramError {
    ProgramError::Panic {
        thread,
        message: panics::message_of(payload),
        location: None,
    }
}

impl Program for Runtime {
    type Error = ProgramError;
    type Restart = Restart;

    fn start(&mut self, performed: &mut Performed) -> Result<(), Stop> {
        if has_current_execution() {
            return Err(Stop::Error(ProgramError::Misuse {
                message: "cannot run a check inside a check".to_owned(),
                location: None,
            }));
        }
        if self.is_begun {
            self.finish(false)?;
        }
        self.serial += 1;
        self.is_begun = true;
        let checked = self.checked.clone();
        let _recording = self.record_in(performed);
        let (serial, main) = (self.serial, self.main);
        let execution = self.execution_mut();
        execution.reset(serial);
        if let Err(error) = add_thread(execution, &main, &SpawnOptions::default()) {
            return Err(Stop::Error(ProgramError::Misuse {
                message: format!("cannot allocate a stack for the first thread: {error}"),
                location: None,
            }));
        }
        // SAFETY: the body borrows nothing.
        unsafe { give_body(execution, main.thread, move || checked()) };
        self.run(None)
    }

    fn is_fatal(&self, error: &ProgramError) -> bool {
        matches!(error, ProgramError::Misuse { .. })
    }

    #[inline]
    fn thread_bound(&self) -> usize {
        let execution = self.shared();
        execution.threads.slots.len().max(execution.buffers.bound())
    }

    #[inline]
    fn status(&self, thread: ThreadId) -> ThreadStatus {
        let execution = self.shared();
        if execution.buffers.is_commit(thread) {
            return execution.buffers.status(thread);
        }
        let Some(slot) = execution.threads.slots.get(thread.index()) else {
            return ThreadStatus::NotSpawned;
        };
        match slot.status {
            SlotStatus::NotSpawned => ThreadStatus::NotSpawned,
            SlotStatus::Finished => ThreadStatus::Finished,
            SlotStatus::Live => {
                // Before the intent, which is copied once then.
                let outcomes = match slot.pending.outcomes {
                    Outcomes::One => 1,
                    other => execution.count_outcomes(other),
                };
                ThreadStatus::Pending {
                    intent: slot.pending.intent,
                    outcomes,
                }
            }
        }
    }

    #[inline]
    fn state(&self, object: Address) -> u64 {
        self.shared().state(object)
    }

    #[inline]
    fn location(&self, thread: ThreadId) -> Option<LocationId> {
        let execution = self.shared();
        let location = match execution.buffers.is_commit(thread) {
            true => execution.buffers.location(thread)?,
            false => {
                let slot = execution.threads.slots.get(thread.index())?;
                let is_live = slot.status == SlotStatus::Live;
                is_live.then_some(slot.pending.location)?
            }
        };
        // SAFETY: as in `execution_mut`: the runtime is borrowed, so no code of the program runs. The
        // references of `shared` end in the functions of this file that call it, and here above.
        // The runtime is not `Sync`, so no other thread is in one of them.
        let names = unsafe { &mut (*self.execution.as_ptr()).names };
        Some(names.location(location))
    }

    #[inline]
    fn round(&self, thread: ThreadId) -> Round {
        let slot = self.shared().threads.slots.get(thread.index());
        slot.map_or(Round::New, |slot| slot.pending.round)
    }

    fn supports_stale_reads(&self) -> bool {
        true
    }

    #[inline]
    fn may_be_joined(&self, thread: ThreadId) -> bool {
        // In C, any thread can join the first one, which may end before the program does.
        thread != self.main.thread || self.shared().setup.abandons_threads
    }

    fn is_over(&self) -> bool {
        self.shared().is_over
    }

    #[inline]
    fn step(
        &mut self,
        thread: ThreadId,
        outcome: u32,
        performed: &mut Performed,
    ) -> Result<(), Stop> {
        let _recording = self.record_in(performed);
        let execution = self.execution_mut();
        execution.running.outcome = outcome;
        execution.running.stepping = Some(thread);
        execution.recording.steps += 1;
        if execution.buffers.is_commit(thread) {
            execution.step_commit(thread);
            return Ok(());
        }
        self.run(Some(thread))
    }

    fn finish(&mut self, is_complete: bool) -> Result<(), Stop> {
        if !self.is_begun {
            return Ok(());
        }
        self.is_begun = false;
        let execution = self.execution_mut();
        execution.phase = Phase::Teardown;
        execution.recording.discard();
        self.tear_down_threads();
        let cleared = self.clear();
        if !is_complete {
            return Ok(());
        }
        match self.leaked() {
            None => Ok(cleared?),
            Some(leak) => {
                let misuse = foreign::misuse_of(self.serial);
                cleared?;
                Err(misuse.unwrap_or(leak).into())
            }
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // An execution that was not completed is not checked for leaks.
        let _ = self.finish(false);
        foreign::deregister_runtime(self.serial >> foreign::EXECUTION_BITS);
        self.execution_mut().give_all_stacks_back();
        // SAFETY: it came from a box in `new`, and no coroutine is left that could use it.
        drop(unsafe { Box::from_raw(self.execution.as_ptr()) });
    }
}
