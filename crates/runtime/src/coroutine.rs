//! The coroutines that the threads of the program run on: how a thread is spawned, starts and ends.
//!
//! A spawned thread does not run before its parent is suspended; the runtime then runs it to its
//! first operation. Spawning, starting and ending a thread are not steps of their own. They belong
//! to the step in which they happen.
#![allow(unsafe_code)] // Scoped threads borrow from their parents' stacks.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, Yielder};
use fencepost_explore::{Effect, Intent};
use fencepost_memory::{Operation, ThreadId};

use super::error::{ProgramError, Restart};
use super::execution::Execution;
use super::location::LocationRef;
use super::mapping::{Drains, Events};
use super::names::RETURNED;
use super::names::SpawnedThread;
use super::operation::{Current, Unwound};
use super::setup::{ComparedStates, STACK_SIZES};
use super::step::Step;
use super::threads::{Outcomes, PendingOperation, SlotStatus, ThreadSlot};
use super::visits::Visits;

/// How a thread ended.
pub(crate) enum End {
    /// Its function returned.
    Returned,
    /// The runtime unwound it, because the execution is over.
    Unwound,
    /// It panicked.
    Panicked(Box<dyn Any + Send>),
    /// It overflowed its stack, whose contents are lost.
    Overflowed,
    /// An instruction of the program, which is in another language, has caused a signal. The handler has
    /// stored it ([`CaughtSignal::last`]): each step returns one of these, and a signal would make it larger.
    Signalled,
}

pub(crate) type Yield = Yielder<(), ()>;
pub(crate) type ThreadCoroutine = Coroutine<(), (), End, DefaultStack>;

/// The coroutine of a live thread; otherwise its stack, or nothing.
#[derive(Default)]
pub(crate) struct CoroutineSlot {
    pub(crate) coroutine: Option<ThreadCoroutine>,
    /// Its size is in the thread's slot.
    stack: Option<DefaultStack>,
}

/// The coroutines, by thread. Each is in a slot that is never moved: a thread that runs spawns
/// others, while its own coroutine is in use.
#[derive(Default)]
pub(crate) struct Coroutines {
    /// Allocated by `Box`, freed when the table is dropped.
    slots: Vec<NonNull<CoroutineSlot>>,
}

impl Coroutines {
    /// The slot of a thread of this execution or of an earlier one.
    #[inline]
    pub(crate) fn slot(&self, thread: ThreadId) -> NonNull<CoroutineSlot> {
        self.slots[thread.index()]
    }

    /// Adds slots up to that of the thread.
    fn add_slots(&mut self, thread: ThreadId) {
        if self.slots.len() <= thread.index() {
            let slot = || NonNull::from(Box::leak(Box::default()));
            self.slots.resize_with(thread.index() + 1, slot);
        }
    }
}

impl Drop for Coroutines {
    fn drop(&mut self) {
        for slot in self.slots.drain(..) {
            // SAFETY: it came from a box in `add_slots`. The table is dropped with its execution,
            // when no coroutine runs.
            drop(unsafe { Box::from_raw(slot.as_ptr()) });
        }
    }
}

/// Threads with a smaller id keep their stacks, since the next execution has probably the same
/// threads. There may be many others, and few of them at a time: they share stacks.
const THREADS_WITH_STACKS: usize = 16;

/// Stacks for reuse: a new one costs a hundred times as much.
#[derive(Default)]
pub(crate) struct StackPool {
    free: Vec<(usize, DefaultStack)>,
}

/// Stacks of runtimes that were dropped, for new ones. Small checks have few executions, and tests
/// are many small checks.
static SPARE: Mutex<Vec<(usize, DefaultStack)>> = Mutex::new(Vec::new());

/// How many are kept when no check is running, and how large they may be: at most 8 MiB together.
const MOST_SPARE: usize = 32;
const LARGEST_SPARE: usize = 256 * 1024;

fn spare() -> MutexGuard<'static, Vec<(usize, DefaultStack)>> {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for StackPool {
    fn drop(&mut self) {
        let mut spare = spare();
        for (size, stack) in self.free.drain(..) {
            if spare.len() < MOST_SPARE && size <= LARGEST_SPARE {
                spare.push((size, stack));
            }
        }
    }
}

impl StackPool {
    fn take(&mut self, size: usize) -> std::io::Result<DefaultStack> {
        if size > *STACK_SIZES.end() {
            let message = format!("{size} bytes are more than {}", STACK_SIZES.end());
            return Err(std::io::Error::other(message));
        }
        if let Some(stack) = take_from(&mut self.free, size) {
            return Ok(stack);
        }
        // The lock is released before anything else happens: the spawning thread may be at the end
        // of its stack, and a coroutine that overflows its stack never returns.
        let spare = take_from(&mut spare(), size);
        match spare {
            Some(stack) => Ok(stack),
            None => DefaultStack::new(size),
        }
    }

    fn give_back(&mut self, size: usize, stack: DefaultStack) {
        self.free.push((size, stack));
    }
}

fn take_from(free: &mut Vec<(usize, DefaultStack)>, size: usize) -> Option<DefaultStack> {
    // Nearly always all have the same size.
    let index = free.iter().rposition(|(free, _)| *free == size)?;
    Some(free.swap_remove(index).1)
}

/// The settings of a new thread.
#[derive(Clone, Debug, Default)]
pub struct SpawnOptions {
    /// The thread's name.
    pub name: Option<Arc<str>>,
    /// Its stack size in bytes, if not that of [`Setup`](super::Setup).
    pub stack_size: Option<usize>,
}

impl Current {
    /// Creates a thread. The caller gives it a [body](Self::give_body) before it does anything
    /// else. None if the execution is over.
    pub fn create_thread(self, options: &SpawnOptions, location: LocationRef) -> Option<ThreadId> {
        reserve_stack();
        let mut is_prepared = false;
        let spawned = loop {
            let spawned = self.with(|execution| {
                let spawns = is_prepared || execution.spawns_at_once();
                spawns.then(|| execution.spawn(options, location))
            });
            match spawned {
                Some(spawned) => break spawned,
                None if !self.may_spawn(location) => return None,
                None => is_prepared = true,
            }
        };
        match spawned {
            Ok(thread) => Some(thread),
            Err(None) => self.fail(Restart::WiderThreadIdSpace),
            Err(Some(error)) => self.fail(ProgramError::Misuse {
                message: format!("cannot allocate a stack for another thread: {error}"),
                location: Some(location.into()),
            }),
        }
    }

    /// What has to be done before a thread is spawned, if anything. False if the execution is over.
    #[cold]
    fn may_spawn(self, location: LocationRef) -> bool {
        if self.is_tearing_down() || self.is_ending_in_panic() {
            return false;
        }
        self.note_thread_dependence();
        self.note_shared_use();
        self.note_other_action();
        let is_one_too_many = |execution: &mut Execution| {
            let most = execution.setup.max_steps;
            let is_reached = execution.is_at_thread_limit();
            is_reached.then_some((most, execution.running.thread))
        };
        if let Some((steps, thread)) = self.with(is_one_too_many) {
            self.fail(ProgramError::StepLimit {
                steps,
                thread,
                location: location.into(),
            });
        }
        self.drain(Drains::Everything, location);
        true
    }

    /// Gives a new thread its body. It will run when the calling thread is suspended.
    ///
    /// # Safety
    /// [`create_thread`](Self::create_thread) must have returned the thread in this execution, and
    /// it must not have a body yet. What `body` borrows must stay valid until it has returned or the
    /// thread was torn down.
    #[inline]
    pub unsafe fn give_body<F: FnOnce()>(self, thread: ThreadId, body: F) {
        // SAFETY: the caller's promise.
        self.with(|execution| unsafe { give_body(execution, thread, body) });
    }

    fn is_ending_in_panic(self) -> bool {
        std::thread::panicking() && self.with(|execution| !execution.teardown.began_panicking)
    }
}

impl Execution {
    /// The running thread spawns another one. The error is none if there is no id for its stores.
    #[inline]
    fn spawn(
        &mut self,
        options: &SpawnOptions,
        location: LocationRef,
    ) -> Result<ThreadId, Option<std::io::Error>> {
        let spawned = self.create_thread(location);
        if let Some(name) = &options.name {
            self.names.name_thread(spawned.thread, name);
        }
        if !self.buffers.has_room_for(spawned.thread) {
            return Err(None);
        }
        announce_spawn(self, &spawned, location);
        add_thread(self, &spawned, options).map_err(Some)?;
        Ok(spawned.thread)
    }
}

/// Records the parent's part of a spawn.
#[inline]
fn announce_spawn(execution: &mut Execution, spawned: &SpawnedThread, location: LocationRef) {
    let parent = execution.running.thread;
    execution.slot_mut().visits.forget();
    execution.set_state(spawned.tokens.start, 1);
    if execution.setup.tracks_memory {
        execution.races.track();
    }
    if execution.races.are_tracked() {
        execution.races.spawn(parent, spawned.thread);
    }
    let events = execution
        .setup
        .target
        .draining(Operation::LockedStore(spawned.tokens.start));
    emit_of_spawn(execution, parent, location, events);
}

/// Emits an event of a spawn. It orders what the parent did before the child. If the monitor has
/// received only unordered accesses from the parent, it orders nothing.
#[inline]
fn emit_of_spawn(
    execution: &mut Execution,
    thread: ThreadId,
    location: LocationRef,
    events: Events,
) {
    let mut step = Step::in_place(execution, thread, location);
    match step.is_unordered() {
        true => step.emit_unordered(events, 1),
        false => step.emit(events, 1),
    }
}

/// Makes a thread live, and gives it a stack.
#[inline]
pub(crate) fn add_thread(
    execution: &mut Execution,
    spawned: &SpawnedThread,
    options: &SpawnOptions,
) -> std::io::Result<()> {
    let stack_size = options.stack_size.unwrap_or(execution.setup.stack_size);
    let stack_size = stack_size.max(*STACK_SIZES.start());
    let thread = spawned.thread;
    let has_stack = match execution.threads.slots.get(thread.index()) {
        Some(slot) => {
            assert_eq!(
                slot.status,
                SlotStatus::NotSpawned,
                "{thread} exists already"
            );
            // SAFETY: the thread does not exist, so its coroutine slot is not in use.
            let coroutine = unsafe { execution.threads.coroutines.slot(thread).as_ref() };
            slot.stack.size == stack_size && coroutine.stack.is_some()
        }
        None => false,
    };
    // The first thread has no parent.
    let is_first = execution.threads.spawned.is_empty();
    let is_unordered = is_first || execution.slot().is_unordered;
    if !has_stack {
        find_stack(execution, spawned, stack_size)?;
    }
    let slot = &mut execution.threads.slots[thread.index()];
    slot.status = SlotStatus::Live;
    slot.pending = PendingOperation::first(spawned.location());
    slot.identity.spawned_at = spawned.location();
    slot.identity.creator = spawned.creator;
    slot.identity.tokens = spawned.tokens;
    if slot.identity.name.is_some() || options.name.is_some() {
        slot.identity.name.clone_from(&options.name);
    }
    slot.is_unordered = is_unordered;
    slot.waits.reset();
    slot.visits.begin();
    slot.stack.low = 0;
    slot.declared.reset();
    slot.reading.clear();
    slot.has_waited_by_parking = false;
    slot.is_in_early_destructor = false;
    slot.final_drop = None;
    // The states of its tokens are 0, since no thread has used them.
    execution.reset_creator(spawned.creator);
    execution.threads.spawned.push(thread);
    execution.threads.live += 1;
    Ok(())
}

/// Finds a stack for a thread that is new, has returned its stack, or needs one of another size.
#[cold]
fn find_stack(
    execution: &mut Execution,
    spawned: &SpawnedThread,
    stack_size: usize,
) -> std::io::Result<()> {
    let thread = spawned.thread;
    let stack = execution.threads.stacks.take(stack_size)?;
    if execution.threads.slots.len() <= thread.index() {
        add_slots(execution, spawned);
    }
    execution.threads.coroutines.add_slots(thread);
    execution.give_stack_back(thread);
    let slot = &mut execution.threads.slots[thread.index()];
    slot.stack.size = stack_size;
    slot.stack.limit = stack.limit().get();
    slot.visits.forget_lowest();
    // SAFETY: the thread is not live (`add_thread` has checked it), so its coroutine slot is not in
    // use.
    unsafe { execution.threads.coroutines.slot(thread).as_mut() }.stack = Some(stack);
    Ok(())
}

impl Execution {
    /// Keeps the stack of a thread that is finished or was unwound for the next execution.
    #[inline]
    pub(crate) fn keep_stack(&mut self, thread: ThreadId) {
        // SAFETY: only the runtime calls this, while no coroutine runs, so the slot is not in use.
        let slot = unsafe { self.threads.coroutines.slot(thread).as_mut() };
        let coroutine = slot.coroutine.take();
        slot.stack = coroutine.map(ThreadCoroutine::into_stack);
        if thread.index() >= THREADS_WITH_STACKS {
            self.give_stack_back(thread);
        }
    }

    /// Returns the stack of a thread that is not live to the pool.
    #[cold]
    fn give_stack_back(&mut self, thread: ThreadId) {
        // SAFETY: the thread is not live, so its coroutine does not run and the slot is not in use.
        let slot = unsafe { self.threads.coroutines.slot(thread).as_mut() };
        if let Some(stack) = slot.stack.take() {
            let size = self.threads.slots[thread.index()].stack.size;
            self.threads.stacks.give_back(size, stack);
        }
    }

    /// Returns the stacks of all threads to the pool.
    pub(crate) fn give_all_stacks_back(&mut self) {
        for index in 0..self.threads.coroutines.slots.len() {
            self.give_stack_back(ThreadId(index as u32));
        }
    }
}

#[cold]
fn add_slots(execution: &mut Execution, spawned: &SpawnedThread) {
    let slot = || ThreadSlot::unused(spawned);
    let slots = &mut execution.threads.slots;
    slots.resize_with(spawned.thread.index() + 1, slot);
}

/// Puts a thread's body on its stack.
///
/// # Safety
/// The thread must be live and have no body yet. What `body` borrows must stay valid until it has
/// returned or the thread was torn down.
#[inline]
pub(crate) unsafe fn give_body<F: FnOnce()>(execution: &mut Execution, thread: ThreadId, body: F) {
    if size_of::<F>() <= LARGEST_ON_STACK {
        // SAFETY: the caller's promise.
        unsafe { put_on_stack(execution, thread, body) }
    } else {
        reserve_stack();
        // As an object, so that the coroutine of a boxed body is compiled once.
        let body: Box<dyn FnOnce() + '_> = Box::new(body);
        // SAFETY: the caller's promise.
        unsafe { put_on_stack(execution, thread, body) }
    }
}

/// Overflows the stack here if there is little left of it. An overflow ends the thread at once: if
/// that happened inside of the allocator, its locks would never be released, and other threads
/// would wait forever.
#[inline]
pub(crate) fn reserve_stack() {
    // SAFETY: this reads one byte, which is part of the stack or of the guard page below it.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!("test byte ptr [rsp - 4096], 0", options(nostack, readonly));
    }
    #[cfg(not(target_arch = "x86_64"))]
    touch_below();
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(never)]
fn touch_below() {
    let mut reserve = std::mem::MaybeUninit::<[u8; 4096]>::uninit();
    // SAFETY: the first byte is part of the array.
    unsafe { reserve.as_mut_ptr().cast::<u8>().write_volatile(0) };
}

/// A larger body is boxed: it might not fit on the stack, and an overflow is noticed only while a
/// thread runs.
const LARGEST_ON_STACK: usize = 1024;

/// # Safety
/// As for [`give_body`].
#[inline]
unsafe fn put_on_stack<F: FnOnce()>(execution: &mut Execution, thread: ThreadId, body: F) {
    // SAFETY: the thread has no body yet, so its coroutine does not run and the slot is not in use.
    let slot = unsafe { execution.threads.coroutines.slot(thread).as_mut() };
    let stack = slot.stack.take().expect("a new thread has a stack");
    if execution.setup.compared_states == ComparedStates::Always {
        clear(&stack, &mut execution.threads.slots[thread.index()].visits);
    }
    // SAFETY: the caller promises that what `body` borrows is valid until it has returned or the
    // thread is torn down. `run_thread` consumes it. The coroutine returns, or is unwound, or is
    // leaked with its stack. The runtime is not `Send`, so the coroutine is used only on this OS thread.
    let coroutine = unsafe {
        ThreadCoroutine::with_stack_unchecked(stack, move |yielder: &Yield, ()| {
            run_thread(yielder, body)
        })
    };
    execution.threads.slots[thread.index()].stack.trap = Some(coroutine.trap_handler());
    slot.coroutine = Some(coroutine);
}

/// How much is cleared of a stack whose earlier use is not known.
const USED_STACK: usize = 16 * 1024;

/// Clears what earlier threads have left on a stack. Parts of a frame may never be written: if they
/// had other contents in each execution, so would the comparison of states.
#[cold]
fn clear(stack: &DefaultStack, visits: &mut Visits) {
    let (base, limit) = (stack.base().get(), stack.limit().get());
    let unknown = base.saturating_sub(USED_STACK);
    let from = visits.take_lowest().unwrap_or(unknown).max(limit);
    if from < base {
        let length = base - from;
        // SAFETY: the range is the upper part of the stack, on which no coroutine runs.
        unsafe { std::ptr::with_exposed_provenance_mut::<u8>(from).write_bytes(0, length) };
    }
}

/// What runs on the thread's stack.
fn run_thread<F: FnOnce()>(yielder: &Yield, body: F) -> End {
    let current = Current::get().expect("a thread is resumed by its runtime");
    begin(current, yielder);
    let result = catch_unwind(AssertUnwindSafe(|| {
        body();
        current.note_other_action();
        if !end_at_once(current) {
            return_late(current);
            current.drop_locals();
            end(current);
        }
    }));
    match result {
        Ok(()) => End::Returned,
        Err(payload) if payload.is::<Unwound>() => End::Unwound,
        Err(payload) => End::Panicked(payload),
    }
}

/// Records the child's part of a spawn.
#[inline]
fn begin(current: Current, yielder: &Yield) {
    current.with(|execution| {
        let thread = execution.running.thread;
        let slot = &mut execution.threads.slots[thread.index()];
        slot.stack.yielder = yielder;
        let (start, location) = (slot.identity.tokens.start, slot.pending.location);
        if thread != ThreadId(0) {
            let events = Events::only(Operation::LockedLoad(start));
            emit_of_spawn(execution, thread, location, events);
        }
    });
}

/// Records the end of a thread if it is not a step, waits for nothing, and there is nothing to drop,
/// which is mostly so. Returns whether it did.
#[inline]
fn end_at_once(current: Current) -> bool {
    current.with(|execution| {
        let slot = execution.slot();
        let is_simple = slot.locals.is_empty() && slot.final_drop.is_none();
        let is_done = is_simple && !execution.do_ends_wait;
        if is_done && execution.running.thread != ThreadId(0) {
            // The join tells the monitor.
            let end = slot.identity.tokens.end;
            execution.set_state(end, 1);
        }
        is_done
    })
}

/// Records that the function of a thread has returned, if that is a step. Scopes wait for it, and
/// then the thread is finished, though it has not dropped its thread-local values.
#[cold]
fn return_late(current: Current) {
    let (is_step, object, location) = current.with(|execution| {
        let identity = &execution.slot().identity;
        let is_step =
            execution.setup.are_destructors_late && execution.running.thread != ThreadId(0);
        (is_step, identity.tokens.start, identity.spawned_at)
    });
    if !is_step {
        return;
    }
    let intent = Intent::Access {
        object,
        effect: Effect::Write,
        awaits: None,
    };
    current.operation(intent, Outcomes::One, location, |step| {
        step.write(object, RETURNED);
        step.release(object);
        let events = step.target().draining(Operation::LockedStore(object));
        step.emit(events, RETURNED);
    });
}

/// Records the end of a thread. The first thread cannot be joined, so its end is not an event.
#[cold]
fn end(current: Current) {
    let is_done = current.with(|execution| {
        let slot = execution.slot();
        let is_step = execution.setup.do_threads_end_in_steps()
            || execution.buffers.are_enabled()
            || slot.final_drop.is_some();
        let end = slot.identity.tokens.end;
        if !is_step && execution.running.thread != ThreadId(0) {
            // The join tells the monitor.
            execution.set_state(end, 1);
        }
        !is_step || execution.running.thread == ThreadId(0)
    });
    if !is_done {
        end_in_step(current);
    }
}

#[cold]
fn end_in_step(current: Current) {
    let (object, location, is_visible) = current.with(|execution| {
        let slot = execution.slot();
        let is_visible = execution.setup.do_threads_end_in_steps();
        (
            slot.identity.tokens.end,
            slot.identity.spawned_at,
            is_visible,
        )
    });
    current.drain(Drains::Everything, location);
    if is_visible {
        let intent = Intent::Access {
            object,
            effect: Effect::Write,
            awaits: None,
        };
        current.operation(intent, Outcomes::One, location, |step| {
            step.write(object, 1);
            step.release(object);
            let events = step.target().draining(Operation::LockedStore(object));
            step.emit(events, 1);
        });
    } else {
        // The join tells the monitor.
        current.local(location, |step| step.set_state(object, 1));
    }
}
