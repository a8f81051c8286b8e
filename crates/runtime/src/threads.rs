//! The threads of an execution: a slot for each, and their coroutines.

use std::sync::Arc;

use corosensei::trap::CoroutineTrapHandler;
use fencepost_explore::{Intent, Round};
use fencepost_memory::{Address, ThreadId};

use super::coroutine::{Coroutines, End, StackPool, Yield};
use super::declared::DeclaredLoops;
use super::drops::FinalDrop;
use super::locals::Locals;
use super::location::LocationRef;
use super::memory::Changes;
use super::names::{CreatorId, SpawnedThread, Tokens};
use super::visits::Visits;
use super::waits::WaitMemory;

/// In how many ways an operation can turn out.
#[derive(Clone, Copy)]
pub enum Outcomes {
    /// One.
    One,
    /// A fixed number.
    Fixed(u32),
    /// So many, but one if the thread has come back to the operation in the same state.
    FirstTime(u32),
    /// A number that the function computes from the state of the object, whenever the explorer
    /// asks.
    Of(Address, fn(u64) -> u32),
}

/// Whether a thread exists in this execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SlotStatus {
    NotSpawned,
    /// The thread runs, or is suspended before an operation.
    Live,
    Finished,
}

/// The operation before which a thread is suspended.
pub(crate) struct PendingOperation {
    pub(crate) intent: Intent,
    pub(crate) outcomes: Outcomes,
    /// The source location of the operation; before the first one, that of the spawn.
    pub(crate) location: LocationRef,
    /// Whether the thread has come back to the operation in the same state.
    pub(crate) round: Round,
}

impl PendingOperation {
    /// What a new thread has before its first operation.
    pub(crate) fn first(spawned_at: LocationRef) -> Self {
        PendingOperation {
            intent: Intent::Local,
            outcomes: Outcomes::One,
            location: spawned_at,
            round: Round::New,
        }
    }
}

/// What identifies a thread in the registry and in reports.
pub(crate) struct ThreadIdentity {
    pub(crate) spawned_at: LocationRef,
    /// The creator of the objects and threads that this thread creates: the thread itself, or the
    /// static that it initializes.
    pub(crate) creator: CreatorId,
    pub(crate) tokens: Tokens,
    pub(crate) name: Option<Arc<str>>,
}

/// The stack that the coroutine of a thread runs on.
pub(crate) struct ThreadStack {
    /// Suspends the coroutine. It points to the base of the stack, and is valid while the coroutine
    /// runs.
    pub(crate) yielder: *const Yield,
    /// Makes the coroutine return when it overflows its stack.
    pub(crate) trap: Option<CoroutineTrapHandler<End>>,
    /// The lowest address of the stack: that of the guard page.
    pub(crate) limit: usize,
    pub(crate) size: usize,
    /// While the thread is suspended and states are compared: where the frames of the program end,
    /// or below. 0 if the thread has not run yet.
    pub(crate) low: usize,
}

/// One thread of the execution.
pub(crate) struct ThreadSlot {
    pub(crate) status: SlotStatus,
    pub(crate) pending: PendingOperation,
    pub(crate) identity: ThreadIdentity,
    pub(crate) stack: ThreadStack,
    pub(crate) locals: Locals,
    pub(crate) waits: WaitMemory,
    pub(crate) visits: Visits,
    /// If states are compared: how it has changed memory other than its stack.
    pub(crate) changes: Changes,
    pub(crate) declared: DeclaredLoops,
    /// The reader-writer locks that the thread holds for reading, one entry per guard.
    pub(crate) reading: Vec<Address>,
    /// Whether the thread drops its thread-local values, and it was not asked yet whether destructors
    /// have to be late.
    pub(crate) is_in_early_destructor: bool,
    /// Whether the thread has waited by parking inside of `std`, or may have.
    pub(crate) has_waited_by_parking: bool,
    /// The drop of the last reference to an `Arc` that the thread is in, unless the order of drops
    /// is known to matter.
    pub(crate) final_drop: Option<FinalDrop>,
    /// Whether the monitor has received only unordered accesses from the thread.
    pub(crate) is_unordered: bool,
}

impl ThreadSlot {
    /// An unused slot. The identity is overwritten when the thread is spawned.
    pub(crate) fn unused(made: &SpawnedThread) -> Self {
        ThreadSlot {
            status: SlotStatus::NotSpawned,
            pending: PendingOperation::first(made.location()),
            identity: ThreadIdentity {
                spawned_at: made.location(),
                creator: made.creator,
                tokens: made.tokens,
                name: None,
            },
            stack: ThreadStack {
                yielder: std::ptr::null(),
                trap: None,
                limit: 0,
                size: 0,
                low: 0,
            },
            locals: Locals::default(),
            waits: WaitMemory::default(),
            visits: Visits::default(),
            changes: Changes::default(),
            declared: DeclaredLoops::default(),
            reading: Vec::new(),
            is_in_early_destructor: false,
            has_waited_by_parking: false,
            final_drop: None,
            is_unordered: true,
        }
    }

    /// Whether a later state of the thread may be compared with an earlier one.
    #[inline]
    pub(crate) fn is_compared(&self) -> bool {
        self.visits.are_there() || self.waits.are_compared()
    }
}

/// The threads of an execution, and the memory that the next execution reuses for its threads.
#[derive(Default)]
pub(crate) struct Threads {
    /// By thread id.
    pub(crate) slots: Vec<ThreadSlot>,
    /// The threads of this execution, in the order in which they were spawned.
    pub(crate) spawned: Vec<ThreadId>,
    /// How many of `spawned` the runtime has started. The others have not run yet.
    pub(crate) started: usize,
    /// How many of `spawned` have not finished.
    pub(crate) live: usize,
    pub(crate) coroutines: Coroutines,
    pub(crate) stacks: StackPool,
}

impl Threads {
    /// Forgets the threads of the previous execution.
    pub(crate) fn reset(&mut self) {
        for thread in self.spawned.drain(..) {
            self.slots[thread.index()].status = SlotStatus::NotSpawned;
        }
        self.started = 0;
        self.live = 0;
    }

    /// Marks a thread as finished.
    #[inline]
    pub(crate) fn set_finished(&mut self, thread: ThreadId) {
        let slot = &mut self.slots[thread.index()];
        slot.status = SlotStatus::Finished;
        slot.stack.trap = None;
        self.live -= 1;
    }

    /// Whether the program has spawned no thread yet.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        self.spawned.len() == 1 && !self.has_unstarted()
    }

    /// Whether there are threads that have not run yet.
    #[inline]
    pub(crate) fn has_unstarted(&self) -> bool {
        self.started < self.spawned.len()
    }

    pub(crate) fn is_live(&self, thread: ThreadId) -> bool {
        self.slots[thread.index()].status == SlotStatus::Live
    }
}
