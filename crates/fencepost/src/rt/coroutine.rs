//! A thread of the program is a coroutine: how it is made, begins and ends.
//!
//! A spawned thread does not run before its parent stops; the runtime then runs it to
//! its first operation. Spawning, beginning and ending are no steps; they go with the step in
//! which they happen.
#![allow(unsafe_code)] // Scoped threads borrow from their parents' stacks.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;

use corosensei::stack::{DefaultStack, Stack};
use corosensei::trap::CoroutineTrapHandler;
use corosensei::{Coroutine, Yielder};
use fencepost_explore::{Effect, Intent};
use fencepost_memory::{Operation, ThreadId};

use super::error::ProgramError;
use super::execution::{Execution, Outcomes, STACK_SIZES, Slot, Status};
use super::mapping::{Drains, Events};
use super::names::MadeThread;
use super::operation::{Current, Dissolved};
use super::step::Step;
use super::waits::WaitMemory;
use crate::thread::local::Locals;

/// How a thread ended.
pub(crate) enum End {
    /// Its function returned.
    Returned,
    /// It was unwound, because the execution is over.
    Dissolved,
    /// It panicked.
    Panicked(Box<dyn Any + Send>),
    /// It used up its stack, whose contents are lost.
    Overflowed,
}

pub(crate) type Yield = Yielder<(), ()>;
pub(crate) type ThreadCoroutine = Coroutine<(), (), End, DefaultStack>;

/// A thread that has not run yet.
pub(crate) struct Newborn {
    pub(crate) thread: ThreadId,
    pub(crate) coroutine: ThreadCoroutine,
}

/// Stacks to use again: a fresh one costs a hundred times as much.
pub(crate) struct StackPool {
    free: Vec<(usize, DefaultStack)>,
}

thread_local! {
    /// Stacks of runtimes that this OS thread had before. A check has several of them, one after the other: what was
    /// found is run again.
    static SPARE: Cell<Vec<(usize, DefaultStack)>> = const { Cell::new(Vec::new()) };
}

impl Drop for StackPool {
    fn drop(&mut self) {
        let free = std::mem::take(&mut self.free);
        // When the thread ends, they end with it.
        let _ = SPARE.try_with(|spare| {
            let mut all = spare.take();
            all.extend(free);
            spare.set(all);
        });
    }
}

impl StackPool {
    /// With the stacks that this OS thread has to spare.
    pub(crate) fn new() -> Self {
        StackPool { free: SPARE.take() }
    }

    fn take(&mut self, size: usize) -> std::io::Result<DefaultStack> {
        if size > *STACK_SIZES.end() {
            let message = format!("{size} bytes are more than {}", STACK_SIZES.end());
            return Err(std::io::Error::other(message));
        }
        // Nearly always all have the same size.
        match self.free.iter().rposition(|(free, _)| *free == size) {
            Some(index) => Ok(self.free.swap_remove(index).1),
            None => DefaultStack::new(size),
        }
    }

    pub(crate) fn give_back(&mut self, size: usize, stack: DefaultStack) {
        self.free.push((size, stack));
    }
}

/// What a spawn may ask for.
#[derive(Clone, Debug, Default)]
pub struct SpawnOptions {
    /// The thread's name.
    pub name: Option<Arc<str>>,
    /// Its stack size, if not the usual one.
    pub stack_size: Option<usize>,
}

impl Current {
    /// Makes a thread that will run `body`. None if the execution is over; `body` is then dropped.
    ///
    /// # Safety
    /// What `body` borrows must stay valid until the thread has ended or was taken down.
    pub unsafe fn spawn<F: FnOnce()>(
        self,
        options: SpawnOptions,
        location: &'static Location<'static>,
        body: F,
    ) -> Option<ThreadId> {
        if self.is_dissolving() || self.is_ending_in_panic() {
            return None;
        }
        self.depend_on_thread();
        self.note_foreign_use();
        self.drain(Drains::Everything, location);
        let stack_size = options.stack_size;
        let (made, has_room) = self.with(|execution| {
            let made = execution.make_thread(location);
            if let Some(name) = &options.name {
                execution.names.name_thread(made.thread, name);
            }
            let has_room = execution.buffers.has_room_for(made.thread);
            if has_room {
                announce_spawn(execution, made, location);
            }
            (made, has_room)
        });
        if !has_room {
            self.fail(ProgramError::NeedsWiderStride);
        }
        // SAFETY: handed on to the caller.
        let newborn = self
            .with(|execution| unsafe { newborn(execution, made, stack_size, options.name, body) });
        match newborn {
            Ok(()) => Some(made.thread),
            Err(error) => self.fail(ProgramError::BadUse {
                message: format!("there is no stack for another thread: {error}"),
                place: Some(location.into()),
            }),
        }
    }

    fn is_ending_in_panic(self) -> bool {
        std::thread::panicking() && self.with(|execution| !execution.began_panicking)
    }
}

/// The parent's part of a spawn.
fn announce_spawn(
    execution: &mut Execution,
    made: MadeThread,
    location: &'static Location<'static>,
) {
    let parent = execution.thread;
    execution.set_state(made.tokens.start, 1);
    if execution.races.are_watched() {
        execution.races.spawn(parent, made.thread);
    }
    let events = execution
        .setup
        .target
        .draining(Operation::LockedStore(made.tokens.start));
    emit_of_spawn(execution, parent, location, events);
}

/// The child knows what its parent knows. If the monitor has heard of nothing that the parent did, that is nothing.
#[inline]
fn emit_of_spawn(
    execution: &mut Execution,
    thread: ThreadId,
    location: &'static Location<'static>,
    events: Events,
) {
    let mut step = Step::in_place(execution, thread, location);
    match step.is_unheard() {
        true => step.emit_inert(events, 1),
        false => step.emit(events, 1),
    }
}

/// Puts a thread into its slot, and its body on a stack.
///
/// # Safety
/// What `body` borrows must stay valid until the thread has ended or was taken down.
pub(crate) unsafe fn newborn<F: FnOnce()>(
    execution: &mut Execution,
    made: MadeThread,
    stack_size: Option<usize>,
    name: Option<Arc<str>>,
    body: F,
) -> std::io::Result<()> {
    let stack_size = stack_size.unwrap_or(execution.setup.stack_size);
    let stack_size = stack_size.max(*STACK_SIZES.start());
    let stack = execution.stacks.take(stack_size)?;
    let limit = stack.limit().get();
    // SAFETY: the caller's promise. The coroutine ends, or is unwound, or is leaked with its
    // stack; it is used only on the OS thread that made it.
    let coroutine = unsafe {
        ThreadCoroutine::with_stack_unchecked(stack, move |yielder: &Yield, ()| {
            run_thread(yielder, body)
        })
    };
    put_in_slot(
        execution,
        made,
        (coroutine.trap_handler(), limit),
        stack_size,
        name,
    );
    execution.newborns.push_back(Newborn {
        thread: made.thread,
        coroutine,
    });
    Ok(())
}

fn put_in_slot(
    execution: &mut Execution,
    made: MadeThread,
    (trap, stack_limit): (CoroutineTrapHandler<End>, usize),
    stack_size: usize,
    name: Option<Arc<str>>,
) {
    let (thread, tokens) = (made.thread, made.tokens);
    // The first thread has no parent, and its children are as unheard of as it is.
    let is_first = execution.present.is_empty();
    let is_unheard = is_first || execution.slots[execution.thread.index()].is_unheard;
    while execution.slots.len() <= thread.index() {
        execution.slots.push(Slot {
            status: Status::Absent,
            intent: Intent::Local,
            outcomes: Outcomes::One,
            location: made.location(),
            spawned_at: made.location(),
            trap: None,
            stack_limit,
            yielder: std::ptr::null(),
            maker: made.maker,
            tokens,
            stack_size,
            name: None,
            locals: Locals::default(),
            is_abandoned: false,
            waits: WaitMemory::default(),
            is_unheard: true,
            reading: Vec::new(),
            final_drop: None,
            own_arcs: 0,
        });
    }
    let slot = &mut execution.slots[thread.index()];
    debug_assert_eq!(slot.status, Status::Absent, "{thread} is there twice");
    slot.status = Status::Present;
    slot.intent = Intent::Local;
    slot.outcomes = Outcomes::One;
    slot.location = made.location();
    slot.spawned_at = made.location();
    slot.trap = Some(trap);
    slot.stack_limit = stack_limit;
    slot.maker = made.maker;
    slot.tokens = tokens;
    slot.stack_size = stack_size;
    slot.name = name;
    slot.is_abandoned = false;
    slot.is_unheard = is_unheard;
    slot.waits.reset();
    slot.reading.clear();
    slot.final_drop = None;
    slot.own_arcs = 0;
    // The states of its tokens are 0: nobody has used them.
    execution.reset_maker(made.maker);
    execution.present.push(thread);
}

/// What runs on the thread's stack.
fn run_thread<F: FnOnce()>(yielder: &Yield, body: F) -> End {
    let current = Current::get().expect("a thread is resumed by its runtime");
    begin(current, yielder);
    let result = catch_unwind(AssertUnwindSafe(|| {
        body();
        crate::thread::local::drop_locals(current);
        end(current);
    }));
    match result {
        Ok(()) => End::Returned,
        Err(payload) if payload.is::<Dissolved>() => End::Dissolved,
        Err(payload) => End::Panicked(payload),
    }
}

/// The child's part of a spawn.
fn begin(current: Current, yielder: &Yield) {
    current.with(|execution| {
        let thread = execution.thread;
        let slot = &mut execution.slots[thread.index()];
        slot.yielder = yielder;
        let (start, location) = (slot.tokens.start, slot.location);
        if thread != ThreadId(0) {
            let events = Events::only(Operation::LockedLoad(start));
            emit_of_spawn(execution, thread, location, events);
        }
    });
}

/// Nobody can wait for the first thread, so its end is no event.
fn end(current: Current) {
    let thread = current.thread();
    if thread == ThreadId(0) {
        return;
    }
    let (object, location, is_visible) = current.with(|execution| {
        let slot = &execution.slots[thread.index()];
        let is_visible = execution.setup.are_ends_visible;
        (slot.tokens.end, slot.spawned_at, is_visible)
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
        // Who joins it tells the monitor.
        current.local(location, |step| step.set_state(object, 1));
    }
}
