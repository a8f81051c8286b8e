//! A closure as a program that an explorer can run.
#![allow(unsafe_code)] // Coroutines and their runtime share the execution by pointer.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use corosensei::CoroutineResult;
use fencepost_explore::{Performed, Program, Standing};
use fencepost_memory::{Address, LocationId, ThreadId};

use super::coroutine::{End, SpawnOptions, add_thread, give_body};
use super::error::ProgramError;
use super::execution::{Entered, Execution, Outcomes, Phase, Setup, Status, current_execution};
use super::names::{MadeThread, Registry};
use super::operation::Current;
use super::pulse::Pulse;
use super::{foreign, overflow, panics};

/// What is checked.
pub type Checked = Arc<dyn Fn() + Send + Sync>;

/// How often a thread is resumed that stops again and again while it is unwound.
const MAX_RESUMES: u32 = 100;

/// One worker of a check. It stays on the OS thread that made it.
pub struct Runtime {
    checked: Checked,
    main: MadeThread,
    /// Made by `Box`, freed when the runtime is dropped. Coroutines use it while they run.
    execution: NonNull<Execution>,
    serial: u64,
    is_begun: bool,
    pulse: Arc<Pulse>,
    /// How often a thread was let run.
    turns: u64,
}

impl Runtime {
    /// A worker of the check whose numbers are in `registry`.
    pub fn new(checked: Checked, setup: Setup, registry: Arc<Registry>) -> Self {
        static RUNTIMES: AtomicU64 = AtomicU64::new(1);
        panics::install_hook();
        overflow::install_handler();
        let number = RUNTIMES.fetch_add(1, Ordering::Relaxed);
        foreign::expect_notes(number);
        let execution = Box::new(Execution::new(setup, registry));
        Runtime {
            checked,
            main: execution.names.main_thread(),
            execution: NonNull::from(Box::leak(execution)),
            // 2^40 executions would take a worker more than a week.
            serial: number << foreign::EXECUTION_BITS,
            is_begun: false,
            pulse: Arc::default(),
            turns: 0,
        }
    }

    /// Where others can see whether the worker is getting on.
    pub fn pulse(&self) -> &Arc<Pulse> {
        &self.pulse
    }

    /// From the next execution on, the registry is told with which values objects are made.
    pub fn keep_first_values(&mut self) {
        let keep = |execution: &mut Execution| execution.setup.keeps_first_values = true;
        self.current().with(keep);
    }

    /// The execution, as its threads know it. Used while no coroutine is running.
    #[inline]
    fn current(&self) -> Current {
        Current::of(self.execution)
    }

    /// Runs `thread` to its next operation, then the threads that it has spawned to their first.
    fn run(&mut self, thread: Option<ThreadId>) -> Result<(), ProgramError> {
        let entered = Entered::new(self.execution);
        let mut next = thread;
        loop {
            if let Some(thread) = next {
                self.resume(thread);
            }
            next = match self.adopt_newborn() {
                None => break,
                Some(child) => (self.current().phase() == Phase::Running).then_some(child),
            };
        }
        drop(entered);
        self.current().with(|execution| {
            // Whatever else went wrong may come of it: a panic of the thread, for example, that was
            // joined.
            if let Some(complaint) = foreign::complaint_about(execution.serial) {
                execution.phase = Phase::Dissolving;
                execution.error = Some(complaint);
            }
            match &execution.error {
                // It stays where it is too, so that nothing that happens from here on replaces it.
                Some(error) => Err(error.clone()),
                None => Ok(()),
            }
        })
    }

    /// Takes over the next thread that was spawned.
    #[inline]
    fn adopt_newborn(&mut self) -> Option<ThreadId> {
        self.current().with(|execution| {
            // Mostly there is none.
            let thread = *execution.present.get(execution.adopted)?;
            execution.adopted += 1;
            if thread != self.main.thread {
                execution.performed_mut().spawned.push(thread);
            }
            Some(thread)
        })
    }

    /// Runs a thread that is there until it stops.
    #[inline(always)] // It is a large part of `run`, and each step is one.
    fn resume(&mut self, thread: ThreadId) {
        let current = self.current();
        let (mut place, since) = current.with(|execution| {
            execution.thread = thread;
            execution.is_in_coroutine = true;
            let since = execution.slots[thread.index()].location;
            (execution.coroutines.place(thread), since)
        });
        self.turns += 1;
        self.pulse.begin(self.turns, thread, since);
        // SAFETY: the place stays where it is, and only this runtime uses it while there is a coroutine in it.
        let place = unsafe { place.as_mut() };
        let coroutine = place
            .coroutine
            .as_mut()
            .expect("a thread that is there has a coroutine");
        let result = coroutine.resume(());
        self.pulse.end();
        let is_abandoned = current.with(|execution| {
            execution.is_in_coroutine = false;
            std::mem::take(&mut execution.is_abandoned)
        });
        match result {
            CoroutineResult::Yield(()) if !is_abandoned => {}
            CoroutineResult::Yield(()) => self.leak(thread),
            CoroutineResult::Return(End::Returned | End::Dissolved) => self.end(thread),
            CoroutineResult::Return(End::Overflowed) => self.overflow(thread),
            CoroutineResult::Return(End::Panicked(payload)) => {
                let error = panic_error(thread, &*payload);
                self.current().with(|execution| execution.fail(error));
                self.end(thread);
            }
        }
    }

    /// A thread has ended, or has been unwound.
    #[inline]
    fn end(&mut self, thread: ThreadId) {
        self.current().with(|execution| {
            execution.set_ended(thread);
            execution.keep_stack(thread);
        });
    }

    /// A thread has used up its stack. What is left of it may still be referred to.
    #[cold]
    fn overflow(&mut self, thread: ThreadId) {
        self.leak(thread);
        self.current().with(|execution| {
            let size = execution.slots[thread.index()].stack_size;
            execution.fail(ProgramError::StackOverflow { thread, size });
        });
    }

    /// A thread cannot be unwound. What it owns stays as it is, for ever.
    #[cold]
    fn leak(&mut self, thread: ThreadId) {
        self.current().with(|execution| {
            execution.set_ended(thread);
            // SAFETY: the thread is not running, so nobody else uses its place.
            let place = unsafe { execution.coroutines.place(thread).as_mut() };
            std::mem::forget(place.coroutine.take());
        });
    }

    /// Unwinds the threads that have not ended, the latest first: they may borrow from those
    /// that spawned them.
    fn dissolve(&mut self) {
        let current = self.current();
        let count = current.with(|execution| {
            execution.adopted = execution.present.len();
            match execution.living {
                0 => 0,
                _ => execution.present.len(),
            }
        });
        for position in (0..count).rev() {
            let thread = current.with(|execution| {
                let thread = execution.present[position];
                let is_there = execution.slots[thread.index()].status == Status::Present;
                is_there.then_some(thread)
            });
            if let Some(thread) = thread {
                self.dissolve_thread(thread);
            }
        }
    }

    #[cold]
    fn dissolve_thread(&mut self, thread: ThreadId) {
        let current = self.current();
        let mut place = current.with(|execution| {
            execution.thread = thread;
            execution.direct_operations = 0;
            execution.coroutines.place(thread)
        });
        // SAFETY: no thread is running, so nobody else uses the place.
        let Some(coroutine) = &mut unsafe { place.as_mut() }.coroutine else {
            // Who made it used up its stack before it gave the thread a body.
            return self.leak(thread);
        };
        if !coroutine.started() {
            // Drops the function that it was to run.
            let dropped = catch_unwind(AssertUnwindSafe(|| coroutine.force_unwind()));
            match dropped {
                Ok(()) => self.end(thread),
                Err(_) => self.leak(thread),
            }
            return;
        }
        for _ in 0..MAX_RESUMES {
            self.resume(thread);
            let is_over =
                |execution: &mut Execution| execution.slots[thread.index()].status == Status::Ended;
            if current.with(is_over) {
                return;
            }
        }
        self.leak(thread);
    }

    /// Drops what belongs to the execution and to none of its threads.
    fn clear(&mut self) -> Result<(), ProgramError> {
        let current = self.current();
        let mut result = Ok(());
        for position in 0..current.with(|execution| execution.present.len()) {
            let locals = current.with(|execution| {
                let thread = execution.present[position];
                let locals = &mut execution.slots[thread.index()].locals;
                (!locals.is_empty()).then(|| std::mem::take(locals))
            });
            if let Some(locals) = locals {
                result = result.and(catch_unwind(AssertUnwindSafe(|| drop(locals))));
            }
        }
        result = result.and(current.drop_statics());
        result.map_err(|payload| panic_error(self.main.thread, &*payload))
    }

    fn leaked(&self) -> Option<ProgramError> {
        self.current().with(|execution| {
            let mut watched = execution.watched.iter();
            let watched = watched.find(|w| w.is_alive && execution.setup.leak_check)?;
            Some(ProgramError::Leak {
                what: watched.what,
                place: watched.location.into(),
            })
        })
    }
}

fn panic_error(thread: ThreadId, payload: &(dyn Any + Send)) -> ProgramError {
    ProgramError::Panic {
        thread,
        message: panics::message_of(payload),
        place: None,
    }
}

impl Program for Runtime {
    type Error = ProgramError;

    fn start(&mut self, performed: &mut Performed) -> Result<(), ProgramError> {
        if current_execution().is_some() {
            return Err(ProgramError::BadUse {
                message: "a check is run inside of a check".to_owned(),
                place: None,
            });
        }
        self.finish(false)?;
        self.serial += 1;
        self.is_begun = true;
        let checked = self.checked.clone();
        let begun = self.current().with(|execution| {
            execution.reset(self.serial);
            execution.performed = NonNull::from(&mut *performed);
            add_thread(execution, &self.main, &SpawnOptions::default())?;
            // SAFETY: the body borrows nothing.
            unsafe { give_body(execution, self.main.thread, move || checked()) };
            Ok(())
        });
        begun.map_err(|error: std::io::Error| ProgramError::BadUse {
            message: format!("there is no stack for a thread: {error}"),
            place: None,
        })?;
        self.run(None)
    }

    fn is_fatal(&self, error: &ProgramError) -> bool {
        matches!(
            error,
            ProgramError::BadUse { .. }
                | ProgramError::NeedsVisibleEnds
                | ProgramError::NeedsOrderedDrops
                | ProgramError::NeedsVisibleStatics
                | ProgramError::NeedsAnnouncedWriters
                | ProgramError::NeedsWiderStride
        )
    }

    fn thread_bound(&self) -> usize {
        let bound =
            |execution: &mut Execution| execution.slots.len().max(execution.buffers.bound());
        self.current().with(bound)
    }

    fn standing(&self, thread: ThreadId) -> Standing {
        self.current().with(|execution| {
            if execution.buffers.is_commit(thread) {
                return execution.buffers.standing(thread);
            }
            let Some(slot) = execution.slots.get(thread.index()) else {
                return Standing::Absent;
            };
            match slot.status {
                Status::Absent => Standing::Absent,
                Status::Ended => Standing::Ended,
                Status::Present => Standing::Before {
                    intent: slot.intent,
                    outcomes: match slot.outcomes {
                        Outcomes::One => 1,
                        Outcomes::Fixed(count) => count,
                        Outcomes::Of(object, count) => count(execution.state(object)),
                    },
                },
            }
        })
    }

    fn state(&self, object: Address) -> u64 {
        self.current().with(|execution| execution.state(object))
    }

    fn location(&self, thread: ThreadId) -> Option<LocationId> {
        self.current().with(|execution| {
            if execution.buffers.is_commit(thread) {
                let location = execution.buffers.location(thread)?;
                return Some(execution.names.location(location));
            }
            let slot = execution.slots.get(thread.index())?;
            let location = slot.location;
            (slot.status == Status::Present).then(|| execution.names.location(location))
        })
    }

    fn may_be_joined(&self, thread: ThreadId) -> bool {
        thread != self.main.thread
    }

    fn step(
        &mut self,
        thread: ThreadId,
        outcome: u32,
        performed: &mut Performed,
    ) -> Result<(), ProgramError> {
        let is_commit = self.current().with(|execution| {
            execution.outcome = outcome;
            execution.stepping = Some(thread);
            execution.steps += 1;
            execution.performed = NonNull::from(performed);
            let is_commit = execution.buffers.is_commit(thread);
            if is_commit {
                execution.step_commit(thread);
            }
            is_commit
        });
        match is_commit {
            true => Ok(()),
            false => self.run(Some(thread)),
        }
    }

    fn finish(&mut self, is_complete: bool) -> Result<(), ProgramError> {
        if !self.is_begun {
            return Ok(());
        }
        self.is_begun = false;
        let current = self.current();
        current.with(|execution| {
            execution.phase = Phase::Dissolving;
            execution.hide();
        });
        let entered = Entered::new(self.execution);
        self.dissolve();
        let cleared = self.clear();
        drop(entered);
        match (is_complete, self.leaked()) {
            (false, _) => Ok(()),
            (true, None) => cleared,
            (true, Some(leak)) => {
                let complaint = foreign::complaint_about(self.serial);
                cleared.and(Err(complaint.unwrap_or(leak)))
            }
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // An execution that was not finished is not asked for leaks.
        let _ = self.finish(false);
        foreign::forget_notes(self.serial >> foreign::EXECUTION_BITS);
        self.current().with(Execution::give_all_stacks_back);
        // SAFETY: it came from a box in `new`, and no coroutine is left that could use it.
        drop(unsafe { Box::from_raw(self.execution.as_ptr()) });
    }
}
