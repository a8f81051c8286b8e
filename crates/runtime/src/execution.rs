//! One execution of the program: its threads, the states of its objects, and what it has done.
//!
//! An execution belongs to a [`Runtime`](super::Runtime), which shares it with the coroutines of
//! its threads; see `current`. The runtime reuses it, with its memory, for the next execution.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

use fencepost_explore::Performed;
use fencepost_memory::{Address, ThreadId};
use rustc_hash::FxHashMap;

use super::blocks::Blocks;
use super::buffers::StoreBuffers;
use super::coroutine::Yield;
use super::drops::TrackedDrop;
use super::error::Stop;
use super::location::LocationRef;
use super::memory::ComparedMemory;
use super::names::{CreatorId, LocalNames, Registry, SpawnedThread};
use super::plain::PlainMemory;
use super::races::Races;
use super::recording::Recording;
use super::setup::{ComparedStates, Setup};
use super::statics::Statics;
use super::threads::{Outcomes, SlotStatus, ThreadSlot, Threads};
use super::writers::LockUse;

/// How operations are performed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// In steps that the explorer schedules.
    Running,
    /// At once and unrecorded: a static is being initialized.
    StaticInit,
    /// At once and unrecorded: the execution is over, and its threads are being unwound.
    Teardown,
}

/// The thread that runs, and the step that it takes.
pub(crate) struct Running {
    pub(crate) thread: ThreadId,
    /// The thread that the explorer chose for this step. Threads that it spawns start in the same
    /// step.
    pub(crate) stepping: Option<ThreadId>,
    /// The outcome that the explorer chose for this step.
    pub(crate) outcome: u32,
    /// Whether the coroutine of `thread` is running. If not, the runtime runs destructors on its
    /// behalf.
    pub(crate) is_in_coroutine: bool,
    /// Whether `thread` must not be resumed again: see
    /// [`Current::abandon`](super::Current::abandon).
    pub(crate) is_abandoned: bool,
}

/// How many objects and threads a creator has created in this execution.
#[derive(Clone, Copy, Default)]
struct CreationCounts {
    objects: u32,
    threads: u32,
}

/// The objects of an execution.
#[derive(Default)]
pub(crate) struct Objects {
    /// The states of the objects, by address. Objects beyond the end have state 0.
    states: Vec<u64>,
    /// By creator.
    created: Vec<CreationCounts>,
    /// Where objects are in the memory of the program, if they are at addresses of it: the address and the size.
    places: Vec<(usize, u8)>,
    /// What belongs to raw pointers that a front end made from its types, by their addresses.
    pub(crate) by_pointer: FxHashMap<usize, Arc<dyn Any + Send + Sync>>,
}

impl Objects {
    #[inline]
    fn state(&self, object: Address) -> u64 {
        self.states.get(object.index()).copied().unwrap_or(0)
    }

    #[inline]
    fn set_state(&mut self, object: Address, state: u64) {
        match self.states.get_mut(object.index()) {
            Some(known) => *known = state,
            None => self.add_state(object, state),
        }
    }

    /// Remembers where an object is in the memory of the program.
    #[cold]
    fn set_place(&mut self, object: Address, address: usize, size: u8) {
        if self.places.len() <= object.index() {
            self.places.resize(object.index() + 1, (0, 0));
        }
        self.places[object.index()] = (address, size);
    }

    /// Where an object is in the memory of the program, and how large it is, if it is there.
    pub(crate) fn place(&self, object: Address) -> Option<(usize, u8)> {
        let place = self.places.get(object.index()).copied()?;
        (place.1 > 0).then_some(place)
    }

    #[cold]
    fn add_state(&mut self, object: Address, state: u64) {
        self.states.resize(object.index() + 1, 0);
        self.states[object.index()] = state;
    }

    /// Counts an object. Returns how many its creator had created before.
    #[inline]
    fn count_object(&mut self, creator: CreatorId) -> u32 {
        let count = &mut self.created[creator.index()].objects;
        *count += 1;
        *count - 1
    }

    /// Counts a thread. Returns how many its creator had spawned before.
    #[inline]
    fn count_thread(&mut self, creator: CreatorId) -> u32 {
        let count = &mut self.created[creator.index()].threads;
        *count += 1;
        *count - 1
    }

    #[inline]
    fn reset_creator(&mut self, creator: CreatorId) {
        match self.created.get_mut(creator.index()) {
            Some(counts) => *counts = CreationCounts::default(),
            None => self.add_creator(creator),
        }
    }

    #[cold]
    fn add_creator(&mut self, creator: CreatorId) {
        self.created
            .resize(creator.index() + 1, CreationCounts::default());
    }
}

/// How an execution ends before its threads have finished.
#[derive(Default)]
pub(crate) struct Teardown {
    /// The first reason to end the execution.
    pub(crate) stop: Option<Stop>,
    /// Whether this OS thread was panicking before the execution, so that `panicking` says nothing
    /// about it.
    pub(crate) began_panicking: bool,
    /// How many operations the unwound thread has performed.
    pub(crate) direct_operations: u32,
}

/// One execution of the program.
pub(crate) struct Execution {
    /// Unique among the executions of this process.
    pub(crate) serial: u64,
    pub(crate) setup: Setup,
    /// Whether there are store buffers, or states are compared: most checks have neither.
    pub(crate) is_special: bool,
    /// Whether the end of a thread is a step, or waits for stores.
    pub(crate) do_ends_wait: bool,
    pub(crate) phase: Phase,
    pub(crate) running: Running,
    pub(crate) threads: Threads,
    pub(crate) objects: Objects,
    pub(crate) names: LocalNames,
    pub(crate) buffers: StoreBuffers,
    pub(crate) races: Races,
    pub(crate) plain: PlainMemory,
    pub(crate) statics: Statics,
    pub(crate) recording: Recording,
    pub(crate) teardown: Teardown,
    /// Whether the program has ended, as a process does when its first thread returns. Its threads are still run, but nothing
    /// waits for those that are blocked.
    pub(crate) is_over: bool,
    /// Values that have to be dropped before the execution ends.
    pub(crate) tracked_drops: Vec<TrackedDrop>,
    /// How the program uses reader-writer locks, if writers are not announced.
    pub(crate) lock_uses: Vec<LockUse>,
    /// Memory that the next execution reuses.
    pub(crate) blocks: Blocks,
    pub(crate) memory: ComparedMemory,
}

impl Execution {
    pub(crate) fn new(setup: Setup, registry: Arc<Registry>) -> Self {
        if let Some(ids) = setup.store_buffers {
            registry.set_thread_id_space(ids);
        }
        Execution {
            serial: 0,
            setup,
            is_special: setup.store_buffers.is_some()
                || setup.compared_states == ComparedStates::Always,
            do_ends_wait: setup.are_destructors_late
                || setup.are_ends_visible
                || setup.store_buffers.is_some(),
            phase: Phase::Teardown,
            running: Running {
                thread: ThreadId(0),
                stepping: None,
                outcome: 0,
                is_in_coroutine: false,
                is_abandoned: false,
            },
            threads: Threads::default(),
            objects: Objects::default(),
            buffers: StoreBuffers::new(setup.store_buffers),
            races: Races::default(),
            plain: PlainMemory::default(),
            statics: Statics::default(),
            recording: Recording::new(!registry.insertions().is_empty()),
            teardown: Teardown::default(),
            is_over: false,
            tracked_drops: Vec::new(),
            lock_uses: Vec::new(),
            blocks: Blocks::default(),
            memory: ComparedMemory::new(setup.compared_states),
            names: LocalNames::new(registry),
        }
    }

    /// Prepares the next execution.
    pub(crate) fn reset(&mut self, serial: u64) {
        self.serial = serial;
        self.phase = Phase::Running;
        self.running.stepping = None;
        self.is_over = false;
        self.threads.reset();
        if self.buffers.are_enabled() {
            self.buffers.reset();
        }
        // The counts of creators are reset when their threads are spawned.
        self.objects.states.fill(0);
        self.objects.by_pointer.clear();
        self.statics.initializer.clear();
        self.races.reset(serial);
        self.plain.reset(serial);
        self.recording.reset();
        self.tracked_drops.clear();
        self.lock_uses.clear();
        self.teardown = Teardown {
            stop: None,
            began_panicking: std::thread::panicking(),
            direct_operations: 0,
        };
        self.names.learn();
        self.memory.begin();
    }

    /// Whether operations of the program are steps. A panic ends the execution; the panic hook has
    /// recorded that already, unless the program has replaced it.
    #[inline]
    pub(crate) fn takes_steps(&mut self) -> bool {
        if self.phase != Phase::Running {
            return false;
        }
        if std::thread::panicking() && !self.teardown.began_panicking {
            self.phase = Phase::Teardown;
            return false;
        }
        true
    }

    /// The number of outcomes of a pending operation now.
    #[cold]
    pub(crate) fn count_outcomes(&self, outcomes: Outcomes) -> u32 {
        match outcomes {
            Outcomes::One => 1,
            Outcomes::Fixed(count) | Outcomes::FirstTime(count) => count,
            Outcomes::Of(object, count) => count(self.state(object)),
        }
    }

    /// The slot of the running thread.
    #[inline]
    pub(crate) fn slot(&self) -> &ThreadSlot {
        &self.threads.slots[self.running.thread.index()]
    }

    /// The slot of the running thread.
    #[inline]
    pub(crate) fn slot_mut(&mut self) -> &mut ThreadSlot {
        &mut self.threads.slots[self.running.thread.index()]
    }

    /// What suspends the running coroutine. None if the runtime runs a destructor, on its own
    /// stack.
    #[inline]
    pub(crate) fn yielder(&self) -> Option<NonNull<Yield>> {
        match self.running.is_in_coroutine {
            true => NonNull::new(self.slot().stack.yielder.cast_mut()),
            false => None,
        }
    }

    /// Creates an object for the running thread, or for the static that it initializes.
    pub(crate) fn create_object(
        &mut self,
        kind: &'static str,
        state: u64,
        location: LocationRef,
    ) -> Address {
        if self.phase == Phase::Teardown {
            // Only unrecorded operations will use it, so it needs no address of its own.
            return Address(0);
        }
        let creator = self.creator();
        let nth = self.objects.count_object(creator);
        let object = self.names.object(creator, nth, kind, location);
        self.set_state(object, state);
        if self.phase == Phase::StaticInit || self.setup.keeps_first_values {
            self.note_object(object, state);
        }
        object
    }

    /// The object at an address of the program's memory. It is the same in all executions.
    pub(crate) fn object_in_memory(
        &mut self,
        (address, size): (usize, u8),
        kind: &'static str,
        name: impl FnOnce() -> String,
        location: LocationRef,
    ) -> Address {
        // It belongs to its address, as what a static creates belongs to the static.
        let creator = match self.names.known_static(address) {
            Some(creator) => creator,
            None => {
                let name = String::leak(name());
                self.names.static_creator(address, name)
            }
        };
        let object = self.names.object(creator, 0, kind, location);
        self.objects.set_place(object, address, size);
        object
    }

    #[cold]
    fn note_object(&mut self, object: Address, state: u64) {
        if self.phase == Phase::StaticInit {
            self.statics.initializer.add_object(object);
        }
        if self.setup.keeps_first_values {
            self.names.registry().note_first_value(object, state);
        }
    }

    /// The id and the objects of the next thread that the running thread spawns.
    #[inline]
    pub(crate) fn create_thread(&mut self, location: LocationRef) -> SpawnedThread {
        let creator = self.creator();
        let nth = self.objects.count_thread(creator);
        self.names.thread(creator, nth, location)
    }

    /// Whether the running thread can spawn another one with nothing to be checked or done before.
    #[inline]
    pub(crate) fn spawns_at_once(&mut self) -> bool {
        self.takes_steps()
            && self.slot().final_drop.is_none()
            && !self.is_at_thread_limit()
            && !self.buffers.are_enabled()
    }

    /// Whether the program has spawned as many threads as an execution may have steps.
    pub(crate) fn is_at_thread_limit(&self) -> bool {
        // The program did not spawn the first one.
        self.threads.spawned.len() as u64 > self.setup.max_steps
    }

    /// Whether the running thread can join another one without being suspended: the explorer would
    /// resume it at once, and what it does next happens after the join and before any thread that
    /// it spawns.
    #[inline]
    pub(crate) fn can_join_inline(&mut self, ended: ThreadId) -> bool {
        let slot = self.slot();
        let is_undisturbed = slot.final_drop.is_none() && slot.reading.is_empty();
        is_undisturbed
            && self.takes_steps()
            && self.threads.slots[ended.index()].status == SlotStatus::Finished
            && self.running.stepping == Some(self.running.thread)
            && !self.threads.has_unstarted()
            && !self.buffers.are_enabled()
            && self.performed_mut().allows_inline_joins
    }

    /// The creator of what the running thread creates: the thread, or the static that it
    /// initializes.
    #[inline]
    pub(crate) fn creator(&self) -> CreatorId {
        self.slot().identity.creator
    }

    /// Marks a creator as having created nothing yet.
    #[inline]
    pub(crate) fn reset_creator(&mut self, creator: CreatorId) {
        self.objects.reset_creator(creator);
    }

    #[inline]
    pub(crate) fn state(&self, object: Address) -> u64 {
        self.objects.state(object)
    }

    #[inline]
    pub(crate) fn set_state(&mut self, object: Address, state: u64) {
        self.objects.set_state(object, state);
    }

    /// Ends the execution. Only the first reason is kept.
    pub(crate) fn fail(&mut self, stop: Stop) {
        self.phase = Phase::Teardown;
        self.teardown.stop.get_or_insert(stop);
    }

    /// The record of the current step.
    #[inline]
    pub(crate) fn performed_mut(&mut self) -> &mut Performed {
        self.recording.performed_mut()
    }
}
