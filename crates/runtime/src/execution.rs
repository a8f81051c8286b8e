//! The execution that is being run: its threads, the states of its objects, what it has done.
//!
//! It belongs to a [`Runtime`](super::Runtime), and is shared between that and the coroutines of
//! its threads. Only one of them runs at a time, on one OS thread, and finds the
//! execution through a thread-local pointer, which is set only while a coroutine runs.
#![allow(unsafe_code)] // Coroutines and their runtime share the execution by pointer.

use std::any::Any;
use std::cell::Cell;
use std::ops::RangeInclusive;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;

use corosensei::trap::CoroutineTrapHandler;
use fencepost_explore::{Intent, Performed};
use fencepost_memory::{Address, ThreadId};
use rustc_hash::FxHashMap;

use super::blocks::Blocks;
use super::buffers::{StoreBuffers, Stride};
use super::coroutine::{Coroutines, End, StackPool, Yield};
use super::drops::{FinalDrop, TrackedDrop};
use super::error::Stop;
use super::locals::Locals;
use super::mapping::Target;
use super::names::{LocalNames, MakerId, Registry, Tokens};
use super::races::Races;
use super::statics::{OwnThings, StaticValue};
use super::waits::WaitMemory;
use super::writers::LockUse;

/// The sizes that a thread's stack can have, in bytes.
pub const STACK_SIZES: RangeInclusive<usize> = 16 * 1024..=1 << 30;

/// What a worker is told about how to run programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setup {
    /// What the program is compiled for.
    pub target: Target,
    /// How many bytes of stack a thread has, unless its builder says otherwise.
    pub stack_size: usize,
    /// Whether the end of a thread is a step of its own, which only programs that ask
    /// whether a thread has finished can notice.
    pub are_ends_visible: bool,
    /// Whether waiting on a condition variable may end without a notification, and a park without
    /// its token.
    pub spurious_wakeups: bool,
    /// Whether statics are initialised in steps, which matters only if an initialiser does more than to
    /// make new things.
    pub are_statics_visible: bool,
    /// Whether a writer that waits for an `RwLock` holds up readers, which matters only if a reader waits
    /// while it holds the lock, or does not wait for it.
    pub are_writers_announced: bool,
    /// Whether something that was not dropped by the end is an error.
    pub leak_check: bool,
    /// Whether stores wait in buffers, as on the target; and how many numbers the threads have then.
    pub store_buffers: Option<Stride>,
    /// Whether to tell the registry with which values objects are made.
    pub keeps_first_values: bool,
    /// The most steps of an execution. The explorer counts them; but threads are made without steps, and there
    /// may be no more of them either.
    pub max_steps: u64,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            target: Target::X86,
            stack_size: 256 * 1024,
            are_ends_visible: false,
            are_statics_visible: false,
            are_writers_announced: false,
            spurious_wakeups: true,
            leak_check: true,
            store_buffers: None,
            keeps_first_values: false,
            max_steps: u64::MAX,
        }
    }
}

/// How operations are performed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// In steps, as the explorer says.
    Running,
    /// At once and unseen: a static is being initialised.
    Silent,
    /// At once and unseen: the execution is over, threads are being unwound.
    Dissolving,
}

/// In how many ways an operation can turn out.
#[derive(Clone, Copy)]
pub enum Outcomes {
    /// In one.
    One,
    /// In as many as this.
    Fixed(u32),
    /// In as many as the function says of the object's state, whenever the explorer asks.
    Of(Address, fn(u64) -> u32),
}

/// Where a thread stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    Absent,
    /// It is before its operation, or running.
    Present,
    Ended,
}

/// A thread of the execution.
pub(crate) struct Slot {
    pub(crate) status: Status,
    pub(crate) intent: Intent,
    pub(crate) outcomes: Outcomes,
    /// Where its next operation is; before the first one, where it was spawned.
    pub(crate) location: &'static Location<'static>,
    pub(crate) spawned_at: &'static Location<'static>,
    pub(crate) yielder: *const Yield,
    /// How to end it if it uses up its stack.
    pub(crate) trap: Option<CoroutineTrapHandler<End>>,
    /// The lowest address of its stack: that of the guard page.
    pub(crate) stack_limit: usize,
    /// Who makes what it makes: it, or the static that it is initialising.
    pub(crate) maker: MakerId,
    pub(crate) tokens: Tokens,
    pub(crate) stack_size: usize,
    pub(crate) name: Option<Arc<str>>,
    pub(crate) locals: Locals,
    pub(crate) waits: WaitMemory,
    /// Whether the monitor has heard of nothing that it did, but for inert events.
    pub(crate) is_unheard: bool,
    /// The reader-writer locks that it holds for reading, each as often as it does.
    pub(crate) reading: Vec<Address>,
    /// The drop of the last reference to an `Arc` that it is in, if the order of drops is not known
    /// to matter.
    pub(crate) final_drop: Option<FinalDrop>,
    /// How many drops of our `Arc`s it is in.
    pub(crate) own_arcs: u32,
}

/// How many things a maker has made in this execution.
#[derive(Clone, Copy, Default)]
struct MadeCounts {
    objects: u32,
    threads: u32,
}

/// A thread that was joined.
#[derive(Clone, Copy)]
pub(crate) struct Joined {
    pub(crate) by: ThreadId,
    pub(crate) thread: ThreadId,
    pub(crate) location: &'static Location<'static>,
}

/// One run of the program.
pub(crate) struct Execution {
    /// Unlike that of any other execution in this process.
    pub(crate) serial: u64,
    pub(crate) setup: Setup,
    /// Whether the monitor is told of events that the program does not have.
    pub(crate) has_insertions: bool,
    pub(crate) phase: Phase,
    pub(crate) thread: ThreadId,
    /// The thread whose step it is. Those that it makes begin in the same step.
    pub(crate) stepping: Option<ThreadId>,
    pub(crate) outcome: u32,
    /// Where steps are recorded.
    pub(crate) performed: NonNull<Performed>,
    /// Where operations are recorded that nobody is to see.
    pub(crate) unseen: Box<Performed>,
    pub(crate) slots: Vec<Slot>,
    /// The threads of this execution, in the order of their making.
    pub(crate) present: Vec<ThreadId>,
    /// How many of them the runtime has taken over. Those after them have not run yet.
    pub(crate) adopted: usize,
    /// How many of them have not ended.
    pub(crate) living: usize,
    pub(crate) coroutines: Coroutines,
    pub(crate) states: Vec<u64>,
    pub(crate) buffers: StoreBuffers,
    pub(crate) names: LocalNames,
    counts: Vec<MadeCounts>,
    /// What the static that is being initialised, unseen, has made.
    pub(crate) own_things: OwnThings,
    pub(crate) stacks: StackPool,
    pub(crate) blocks: Blocks,
    pub(crate) races: Races,
    pub(crate) statics: Vec<StaticValue>,
    pub(crate) tracked_drops: Vec<TrackedDrop>,
    /// How reader-writer locks are used, if writers are not announced.
    pub(crate) lock_uses: Vec<LockUse>,
    /// Threads that were joined, of which the monitor has not been told.
    pub(crate) joined: Vec<Joined>,
    pub(crate) stop: Option<Stop>,
    /// Whether a coroutine is running, and not the runtime on their behalf.
    pub(crate) is_in_coroutine: bool,
    /// The thread that stops is not to be resumed again: see [`Current::abandon`](super::Current::abandon).
    pub(crate) is_abandoned: bool,
    /// Whether this OS thread was panicking before, so that panicking means nothing.
    pub(crate) began_panicking: bool,
    pub(crate) direct_operations: u32,
    pub(crate) steps: u64,
    /// Whether a thread remembers what it touches.
    pub(crate) are_touches_noted: bool,
    /// What belongs to pointers that a type was turned into, by their addresses.
    pub(crate) raw: FxHashMap<usize, Arc<dyn Any + Send + Sync>>,
}

thread_local! {
    /// The execution whose coroutine runs on this OS thread, with [`LENT`] added while somebody has a
    /// reference to it; or [`NO_EXECUTION`].
    static CURRENT: Cell<*mut Execution> = const { Cell::new(NO_EXECUTION) };
}

/// The bit that is set if [`CURRENT`] must not be dereferenced. Executions are aligned to more.
const LENT: usize = 1;

const NO_EXECUTION: *mut Execution = std::ptr::without_provenance_mut(LENT);

/// The execution whose coroutine runs on this OS thread, if there is one. For the signal handler, which may
/// have interrupted a change of it.
#[inline]
pub(crate) fn current_execution() -> Option<NonNull<Execution>> {
    let current = CURRENT.get();
    let execution = current.map_addr(|address| address & !LENT);
    NonNull::new(execution)
}

/// Whether a coroutine of an execution runs on this OS thread.
#[inline]
pub(crate) fn has_current_execution() -> bool {
    CURRENT.get() != NO_EXECUTION
}

/// The current execution. None if there is none, or if it is lent to [`lend_current`].
#[inline]
pub(crate) fn available_execution() -> Option<NonNull<Execution>> {
    let execution = CURRENT.get();
    match execution.addr() & LENT {
        0 => NonNull::new(execution),
        _ => None,
    }
}

/// Lends the current execution to `f`, which may be any code: what it finds is that there is none
/// [available](available_execution).
#[inline]
pub(crate) fn lend_current<R>(f: impl FnOnce(&mut Execution) -> R) -> Option<R> {
    let mut execution = available_execution()?;
    let _lent = Lent::new(execution.as_ptr());
    // SAFETY: `Entered::new` was told of a valid execution, which stays the current one while that guard
    // lives. Its runtime has no reference to it meanwhile, and `Lent` keeps others from taking a second one.
    Some(f(unsafe { execution.as_mut() }))
}

/// While it lives, nobody else borrows the current execution.
struct Lent {
    execution: *mut Execution,
}

impl Lent {
    #[inline]
    fn new(execution: *mut Execution) -> Self {
        CURRENT.set(execution.map_addr(|address| address | LENT));
        Lent { execution }
    }
}

impl Drop for Lent {
    #[inline]
    fn drop(&mut self) {
        CURRENT.set(self.execution);
    }
}

/// While it lives, its execution is the current one.
pub(crate) struct Entered {
    execution: *mut Execution,
}

impl Entered {
    /// # Safety
    /// The execution must be valid while the guard lives, and nobody may have a reference to it while one
    /// of its coroutines or a destructor of the program runs.
    #[inline]
    pub(crate) unsafe fn new(execution: NonNull<Execution>) -> Self {
        let execution = execution.as_ptr();
        CURRENT.set(execution);
        Entered { execution }
    }

    /// A coroutine has stopped. If it used up its stack, it may have done so while it had borrowed the
    /// execution, and has never given it back.
    #[inline]
    pub(crate) fn reclaim(&self) {
        CURRENT.set(self.execution);
    }
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        CURRENT.set(NO_EXECUTION);
    }
}

impl Execution {
    pub(crate) fn new(setup: Setup, registry: Arc<Registry>) -> Self {
        let mut unseen = Box::<Performed>::default();
        if let Some(stride) = setup.store_buffers {
            registry.set_stride(stride);
        }
        Execution {
            serial: 0,
            setup,
            has_insertions: !registry.insertions().is_empty(),
            phase: Phase::Dissolving,
            thread: ThreadId(0),
            stepping: None,
            outcome: 0,
            performed: NonNull::from(&mut *unseen),
            unseen,
            slots: Vec::new(),
            present: Vec::new(),
            adopted: 0,
            living: 0,
            coroutines: Coroutines::default(),
            states: Vec::new(),
            buffers: StoreBuffers::new(setup.store_buffers),
            names: LocalNames::new(registry),
            counts: Vec::new(),
            own_things: OwnThings::default(),
            stacks: StackPool::default(),
            blocks: Blocks::default(),
            races: Races::default(),
            statics: Vec::new(),
            tracked_drops: Vec::new(),
            lock_uses: Vec::new(),
            joined: Vec::new(),
            stop: None,
            is_in_coroutine: false,
            is_abandoned: false,
            began_panicking: false,
            direct_operations: 0,
            steps: 0,
            are_touches_noted: false,
            raw: FxHashMap::default(),
        }
    }

    /// Begins anew.
    pub(crate) fn reset(&mut self, serial: u64) {
        self.serial = serial;
        self.phase = Phase::Running;
        self.stepping = None;
        for thread in self.present.drain(..) {
            self.slots[thread.index()].status = Status::Absent;
        }
        self.adopted = 0;
        self.living = 0;
        if self.buffers.are_there() {
            self.buffers.reset();
        }
        // Nobody has made anything yet.
        self.states.fill(0);
        self.own_things.clear();
        self.races.reset(serial);
        self.tracked_drops.clear();
        self.lock_uses.clear();
        self.joined.clear();
        self.stop = None;
        self.began_panicking = std::thread::panicking();
        self.direct_operations = 0;
        self.steps = 0;
        self.are_touches_noted = false;
        self.raw.clear();
        self.names.learn_visible_drops();
    }

    /// What is running makes an object.
    pub(crate) fn make_object(
        &mut self,
        kind: &'static str,
        state: u64,
        location: &'static Location<'static>,
    ) -> Address {
        if self.phase == Phase::Dissolving {
            // It will be used only by operations that nobody sees. No name is wasted on it.
            return Address(0);
        }
        let maker = self.maker();
        let count = &mut self.counts[maker.index()].objects;
        let nth = *count;
        *count += 1;
        let object = self.names.object(maker, nth, kind, location);
        self.set_state(object, state);
        if self.phase == Phase::Silent || self.setup.keeps_first_values {
            self.note_object(object, state);
        }
        object
    }

    /// Somebody else wants to know of an object that was made.
    #[cold]
    fn note_object(&mut self, object: Address, state: u64) {
        if self.phase == Phase::Silent {
            self.own_things.add_object(object);
        }
        if self.setup.keeps_first_values {
            self.names.registry().note_first_value(object, state);
        }
    }

    /// What is running makes a thread: its number and what belongs to it.
    #[inline]
    pub fn make_thread(
        &mut self,
        location: &'static Location<'static>,
    ) -> super::names::MadeThread {
        let maker = self.maker();
        let count = &mut self.counts[maker.index()].threads;
        let nth = *count;
        *count += 1;
        self.names.thread(maker, nth, location)
    }

    /// Whether as many threads were made as there may be steps.
    pub fn has_made_most_threads(&self) -> bool {
        // The first one was not made by the program.
        self.present.len() as u64 > self.setup.max_steps
    }

    /// A thread has ended.
    #[inline]
    pub(crate) fn set_ended(&mut self, thread: ThreadId) {
        let slot = &mut self.slots[thread.index()];
        slot.status = Status::Ended;
        slot.trap = None;
        self.living -= 1;
    }

    /// Whether no other thread was made yet.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        self.present.len() == 1 && !self.has_newborns()
    }

    /// Whether threads were made that have not run yet.
    #[inline]
    pub(crate) fn has_newborns(&self) -> bool {
        self.adopted < self.present.len()
    }

    /// Whether the running thread can join another one without stopping before: it would be let go on at once, and
    /// what it does next happens after the join and before any thread that it makes.
    #[inline]
    pub fn joins_at_once(&mut self, ended: ThreadId) -> bool {
        let allows_inline_joins = self.performed_mut().allows_inline_joins;
        let slot = &self.slots[self.thread.index()];
        allows_inline_joins
            && self.slots[ended.index()].status == Status::Ended
            && self.stepping == Some(self.thread)
            && !self.has_newborns()
            && !self.buffers.are_there()
            && slot.final_drop.is_none()
            && slot.reading.is_empty()
    }

    /// Who makes what is made now: the thread that is running, or the static that it initialises.
    #[inline]
    pub(crate) fn maker(&self) -> MakerId {
        self.slots[self.thread.index()].maker
    }

    /// The maker has made nothing yet.
    #[inline]
    pub(crate) fn reset_maker(&mut self, maker: MakerId) {
        match self.counts.get_mut(maker.index()) {
            Some(counts) => *counts = MadeCounts::default(),
            None => self.add_maker(maker),
        }
    }

    #[cold]
    fn add_maker(&mut self, maker: MakerId) {
        self.counts.resize(maker.index() + 1, MadeCounts::default());
    }

    #[inline]
    pub(crate) fn state(&self, object: Address) -> u64 {
        self.states.get(object.index()).copied().unwrap_or(0)
    }

    #[inline]
    pub(crate) fn set_state(&mut self, object: Address, state: u64) {
        match self.states.get_mut(object.index()) {
            Some(place) => *place = state,
            None => self.add_state(object, state),
        }
    }

    #[cold]
    fn add_state(&mut self, object: Address, state: u64) {
        self.states.resize(object.index() + 1, 0);
        self.states[object.index()] = state;
    }

    /// Ends the execution. Only the first reason is kept.
    pub(crate) fn fail(&mut self, stop: impl Into<Stop>) {
        self.phase = Phase::Dissolving;
        self.stop.get_or_insert(stop.into());
    }

    /// Where steps are recorded.
    #[inline]
    pub(crate) fn performed_mut(&mut self) -> &mut Performed {
        // SAFETY: it is either the record that `Runtime::start` or `step` was given, which is
        // borrowed until that returns, or the execution's own. Nobody else uses it meanwhile.
        unsafe { self.performed.as_mut() }
    }

    /// Operations from here on are not recorded in what a step did.
    pub(crate) fn hide(&mut self) {
        self.unseen.clear();
        self.performed = NonNull::from(&mut *self.unseen);
    }
}
