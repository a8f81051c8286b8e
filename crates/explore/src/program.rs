//! The contract between a front end and the explorer: a program that can be run again and again,
//! one visible operation at a time.
//!
//! A *visible* operation is one that other threads can notice or wait for. A thread stops before
//! each of them and declares what it is about to do (its [`Intent`]); the explorer chooses a thread
//! and lets it perform that operation and the invisible ones after it, up to its next visible one.
//!
//! Everything shared is an *object* with an [`Address`] and a state, which is a number. The state
//! of an atomic variable is its value, that of a mutex is whether it is held. Conditions on states
//! decide when an operation is enabled ([`Intent::Access`]) and whether it writes. The front end
//! defines the states; the explorer only compares them.
//!
//! **Ids are deterministic.** A thread or object gets the same id in every execution that reaches
//! it the same way: the id is derived from the creating thread and a per-thread counter, never from
//! the global order of creation. The explorer relies on this to reuse what it learned from earlier
//! executions.

use fencepost_memory::{Access, Address, LocationId, ThreadId};

/// A condition on the state of an object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Condition {
    /// The state equals this number.
    Equals(u64),
    /// The state differs from this number.
    Differs(u64),
    /// The state is below this number.
    Below(u64),
}

impl Condition {
    /// Whether the condition holds in a state.
    #[inline]
    pub fn holds(self, state: u64) -> bool {
        match self {
            Condition::Equals(number) => state == number,
            Condition::Differs(number) => state != number,
            Condition::Below(number) => state < number,
        }
    }
}

/// The effect of an operation on an object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// It reads.
    Read,
    /// It writes, whether or not it reads too. If it touches other objects as well, they are always
    /// the same.
    Write,
    /// It writes if the condition holds, and may touch other objects then; else it only reads this
    /// one. A compare-exchange, a `try_lock`, a notification.
    WriteIf(Condition),
    /// It writes, and may touch other objects depending on the state.
    WriteMultiple,
    /// It changes the state in a way that commutes with other updates, and does not read it:
    /// incrementing the count of an `Arc`.
    Update,
}

/// What a thread is about to do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Intent {
    /// An operation that touches no object, such as a fence.
    Local,
    /// An operation on an object. It is enabled only while the condition `awaits` holds, if there
    /// is one.
    Access {
        /// The object.
        object: Address,
        /// The effect on the object.
        effect: Effect,
        /// The condition that it waits for.
        awaits: Option<Condition>,
    },
    /// It joins a thread.
    Join(ThreadId),
    /// It hints that it waits in a loop. The explorer decides when it continues.
    SpinHint,
    /// Nothing: the program assumes that an execution does not get here. The thread never
    /// continues. The others do, and that some of them still wait when none can go on is no
    /// deadlock.
    Stopped,
}

impl Intent {
    /// Whether it is a spin hint. Cheaper than a comparison.
    #[inline]
    pub(crate) fn is_hint(&self) -> bool {
        matches!(self, Intent::SpinHint)
    }
}

/// The status of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreadStatus {
    /// It has not been spawned in this execution.
    NotSpawned,
    /// It is about to perform an operation.
    Pending {
        /// What it is about to do.
        intent: Intent,
        /// The number of outcomes of the operation if it is performed now: 1, unless the program
        /// leaves something open, such as which waiter is notified.
        outcomes: u32,
    },
    /// It has finished.
    Finished,
}

/// How an operation touches an object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TouchKind {
    /// It reads.
    Read,
    /// It changes the object in a way that commutes with other updates.
    Update,
    /// It writes.
    Write,
}

/// One object that an operation touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// The object.
    pub object: Address,
    /// How the operation touched it.
    pub kind: TouchKind,
    /// The state before the operation.
    pub before: u64,
    /// The state after the operation.
    pub after: u64,
}

/// The effect of a stale read by an optimistic load: a plain load with which an operation checks an
/// object before it changes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptimisticLoad {
    /// None: the operation then tries to change the object, waits for the thread's stores, and
    /// reads again.
    Retries,
    /// If the condition holds in the stale state, the operation fails. If not, it reads again.
    FailsOnStale(Condition),
    /// As `FailsOnStale`, but only the state before the last change can be read: a fence orders the
    /// load after the earlier ones.
    FailsOnPrevious(Condition),
}

/// Whether a thread that hints that it waits has come back to the state of an earlier visit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Round {
    /// The program does not compare states. A thread that has changed nothing since its last hint
    /// at the same location is assumed to have come back.
    Assumed,
    /// It has not, as far as is known.
    New,
    /// It has: since then it has performed so many events, hints included. It will repeat them as
    /// long as it reads the same values.
    Repeated(u32),
    /// It has not, as far as is known, but goes round without end. Its last round, of so many events,
    /// hints included, has changed nothing. The executions in which it goes on although nothing
    /// has changed are left out, unless no other thread can run.
    Bounded(u32),
}

/// The result of a step. The explorer passes the same one to every step, emptied.
#[derive(Clone, Default, Debug)]
pub struct Performed {
    /// The objects that the operation touched, each once. The object of the intent comes first.
    pub touches: Vec<Touch>,
    /// The finished threads that the thread joined after the operation, before it spawned another
    /// thread and without stopping.
    pub joined: Vec<ThreadId>,
    /// The threads that were spawned during the step, after the operation.
    pub spawned: Vec<ThreadId>,
    /// The accesses for the monitor, in this order: those of the operation, of the invisible part
    /// of the step, and of threads that started or finished.
    pub accesses: Vec<Access>,
    /// The number of accesses that order nothing: nothing that a thread did before, and that others
    /// can notice, is ordered by them. If all are, the monitor skips them.
    pub unordered_accesses: usize,
    /// Whether the plain loads among the accesses are optimistic.
    pub optimistic_load: Option<OptimisticLoad>,
    /// Whether a thread may join finished threads without stopping, and add them to `joined`.
    pub allows_inline_joins: bool,
    /// Whether the step replays one of an earlier execution with the same prefix. Its accesses are
    /// known then, and may be left out.
    pub is_replayed: bool,
    /// The [`Program::round`] of the thread after the step, if it is known from an earlier
    /// execution with the same prefix. It holds here too, whatever the program would find:
    /// addresses may differ between executions.
    pub known_round: Option<Round>,
    /// For a plain load: the state that it is to read instead of the current one. A program that
    /// can do that takes it; one that leaves it here has read the current state.
    pub stale_read: Option<u64>,
}

impl Performed {
    /// Empties it for the next step.
    #[inline]
    pub fn clear(&mut self) {
        self.touches.clear();
        self.joined.clear();
        self.spawned.clear();
        self.accesses.clear();
        self.unordered_accesses = 0;
        self.optimistic_load = None;
        self.known_round = None;
        self.stale_read = None;
    }
}

/// Why a program does not continue an execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop<E, R> {
    /// The execution fails: a failed assertion, a data race, a leak.
    Error(E),
    /// The front end has learned something that every execution depends on. The exploration ends,
    /// and the front end starts another one with other settings
    /// ([`Report::restart`](crate::Report::restart)).
    Restart(R),
}

impl<E, R> From<E> for Stop<E, R> {
    #[inline]
    fn from(error: E) -> Self {
        Stop::Error(error)
    }
}

/// A program under exploration.
pub trait Program {
    /// The errors that the program reports: a failed assertion, a data race, a leak.
    type Error: Clone + PartialEq + std::fmt::Debug;

    /// What the program can ask the front end to change before the exploration starts over. A
    /// program that never does has [`Infallible`](std::convert::Infallible) here.
    type Restart: Clone + PartialEq + std::fmt::Debug;

    /// Starts an execution. Thread 0 is then pending before its first operation or has finished,
    /// and so are the threads that it has spawned before. They and the accesses so far are added to
    /// `performed`; it has no touches.
    fn start(&mut self, performed: &mut Performed) -> Result<(), Stop<Self::Error, Self::Restart>>;

    /// Whether the exploration cannot continue after this error, even if the settings say so.
    fn is_fatal(&self, _error: &Self::Error) -> bool {
        false
    }

    /// A number above the id of every thread that was ever spawned.
    fn thread_bound(&self) -> usize;

    /// The status of a thread. [`ThreadStatus::NotSpawned`] if there never was a thread with this
    /// id.
    fn status(&self, thread: ThreadId) -> ThreadStatus;

    /// The current state of an object. 0 if it does not exist in this execution.
    ///
    /// An operation that waits for its object to exist, and for nothing else, has a condition that
    /// also holds for 0.
    fn state(&self, object: Address) -> u64;

    /// The source location of the thread's next operation.
    fn location(&self, thread: ThreadId) -> Option<LocationId>;

    /// For a thread that hints that it waits: whether it has come back to the same state. A program
    /// that compares states may add hints of its own before other operations.
    fn round(&self, _thread: ThreadId) -> Round {
        Round::Assumed
    }

    /// Whether plain loads take [`Performed::stale_read`].
    fn supports_stale_reads(&self) -> bool {
        false
    }

    /// Whether a thread may ever join this one.
    fn may_be_joined(&self, _thread: ThreadId) -> bool {
        true
    }

    /// Whether nothing waits for the threads that are left. They are still run for as long as they can: until they have
    /// finished or are blocked, or wait in loops for a change that nobody makes. Then the execution is complete, and no
    /// deadlock or livelock. Once it is over, an execution stays so, and whether it is depends on nothing but the steps
    /// that its threads have taken.
    ///
    /// A process ends when its first thread returns, whatever its other threads wait for.
    fn is_over(&self) -> bool {
        false
    }

    /// Performs the pending operation of a thread with one of its outcomes, and runs the thread to
    /// its next operation. The explorer calls it only if the operation is enabled. What the step
    /// does is added to `performed`.
    ///
    /// A join touches nothing. It is performed as soon as it is enabled, and is no step of an
    /// execution. A thread need not stop before an enabled join if it has spawned no thread in the
    /// step so far and `performed` allows inline joins.
    fn step(
        &mut self,
        thread: ThreadId,
        outcome: u32,
        performed: &mut Performed,
    ) -> Result<(), Stop<Self::Error, Self::Restart>>;

    /// Ends the execution and removes the threads that have not finished. If `is_complete`, all
    /// have, or the execution [is over](Self::is_over), and the program checks what must hold at the end, such as that nothing was leaked.
    fn finish(&mut self, is_complete: bool) -> Result<(), Stop<Self::Error, Self::Restart>>;
}
