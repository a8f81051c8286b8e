//! What a front end is to the explorer: a program that can be run again and again, one
//! visible operation at a time.
//!
//! A *visible* operation is one that other threads can notice or wait for. Before each of
//! them a thread stops, and says what it is about to do (its [`Intent`]); the explorer
//! chooses a thread and lets it perform that operation and whatever is invisible after it, up
//! to its next one.
//!
//! Everything shared is an *object* with an [`Address`] and, at any time, a state: a number. The
//! state of an atomic variable is its value, that of a mutex whether it is held. Conditions on
//! states say when an operation can be performed ([`Intent::Access`]) and whether it
//! writes. The state is the front end's business, the explorer only compares numbers that it
//! was told.
//!
//! **Names are stable.** A thread or an object has the same number in every execution in which
//! the thread that makes it has done the same: the number may depend on who makes it and on how
//! many its maker has made before, not on when it was made. Otherwise what was learnt from one
//! execution would be wrong in the next.

use fencepost_memory::{Access, Address, LocationId, ThreadId};

/// A condition on the state of an object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Condition {
    /// The state is this number.
    Equals(u64),
    /// The state is another number.
    Differs(u64),
    /// The state is a smaller number.
    Below(u64),
}

impl Condition {
    /// Whether a state meets the condition.
    #[inline]
    pub fn holds(self, state: u64) -> bool {
        match self {
            Condition::Equals(number) => state == number,
            Condition::Differs(number) => state != number,
            Condition::Below(number) => state < number,
        }
    }
}

/// What an operation will do to an object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// It reads.
    Read,
    /// It writes, whether or not it reads too. If it touches other objects as well, they are always
    /// the same.
    Write,
    /// It writes if the condition holds, and then perhaps touches other objects too; else it only
    /// reads this one. A compare-exchange, a `try_lock`, a notification.
    WriteIf(Condition),
    /// It writes, and perhaps touches other objects too, depending on the state.
    WriteMultiple,
    /// It changes the state in a way that commutes with other updates, and learns nothing:
    /// the count of an `Arc`.
    Update,
}

/// What a thread is about to do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Intent {
    /// An operation that touches no object, such as a fence.
    Local,
    /// An operation on an object. It can be performed only while the object meets
    /// `awaits`, if there is such a condition.
    Access {
        /// The object.
        object: Address,
        /// What is done to it.
        effect: Effect,
        /// What it waits for.
        awaits: Option<Condition>,
    },
    /// It waits for the end of a thread.
    Join(ThreadId),
    /// It says that it is waiting in a loop. The explorer decides when it goes on.
    SpinHint,
}

impl Intent {
    /// Whether it is a hint. Cheaper than a comparison.
    #[inline]
    pub(crate) fn is_hint(&self) -> bool {
        matches!(self, Intent::SpinHint)
    }
}

/// Where a thread stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreadStatus {
    /// It has not been spawned in this execution.
    NotSpawned,
    /// It stands before an operation.
    Pending {
        /// What it is about to do.
        intent: Intent,
        /// In how many ways the operation can turn out, if it is performed now: 1, unless
        /// the program leaves something open, such as which waiter is notified.
        outcomes: u32,
    },
    /// It has finished.
    Finished,
}

/// How an operation touched an object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TouchKind {
    /// It read.
    Read,
    /// It changed the object in a way that commutes with other updates.
    Update,
    /// It wrote.
    Write,
}

/// One object that an operation touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// The object.
    pub object: Address,
    /// How.
    pub kind: TouchKind,
    /// Its state before.
    pub before: u64,
    /// Its state after.
    pub after: u64,
}

/// What comes of it if a plain load by which an operation looks at an object comes too early, and
/// sees an earlier state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptimisticLoad {
    /// Nothing: the operation then tries to change the object, waits for the thread's stores, and
    /// looks again.
    Retries,
    /// If this holds of that state the operation gives up. If not, it looks again.
    FailsOnStale(Condition),
    /// The same, but it gives up only if nothing but the last change is missing: what was changed
    /// before, it learns of by a fence.
    FailsOnPrevious(Condition),
}

/// What a step did. The explorer hands the same one to every step, emptied.
#[derive(Clone, Default, Debug)]
pub struct Performed {
    /// The objects that the operation touched, each once. The object of the intent first.
    pub touches: Vec<Touch>,
    /// The threads that had ended and that the thread has joined after the operation and before it
    /// made another thread, without having stopped for it.
    pub joined: Vec<ThreadId>,
    /// The threads that were made during the step, after the operation.
    pub spawned: Vec<ThreadId>,
    /// What the monitor is to see of it, in this order: the accesses of the operation, of
    /// the invisible part of the step, and of threads that began or ended.
    pub accesses: Vec<Access>,
    /// How many of them are inert: nothing that a thread did before, and that others can notice, is
    /// ordered by them. If all are, the monitor need not see them.
    pub unordered_accesses: usize,
    /// Whether a plain load among them only looks whether it is worth while to do more.
    pub optimistic_load: Option<OptimisticLoad>,
    /// Whether a thread may join others without having stopped for it: whether `joined` is looked
    /// at.
    pub allows_inline_joins: bool,
    /// Whether the step was taken before, in an execution that began in the same way. Then its
    /// accesses are known, and may be left out.
    pub is_replayed: bool,
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
    /// What can go wrong in it: a failed assertion, a data race, a leak.
    type Error: Clone + PartialEq + std::fmt::Debug;

    /// What the program can ask the front end to change before the exploration starts over. A
    /// program that never does has [`Infallible`](std::convert::Infallible) here.
    type Restart: Clone + PartialEq + std::fmt::Debug;

    /// Begins an execution. Thread 0 then stands before its first operation (or has ended), and
    /// so do the threads that it has made before. `performed` is told of them and of
    /// accesses; it has no touches.
    fn start(&mut self, performed: &mut Performed) -> Result<(), Stop<Self::Error, Self::Restart>>;

    /// Whether after this error there is no use in going on, even if the caller wants to.
    fn is_fatal(&self, _error: &Self::Error) -> bool {
        false
    }

    /// A number above that of every thread that was ever made.
    fn thread_bound(&self) -> usize;

    /// Where a thread stands. Absent, if there never was a thread with this number.
    fn status(&self, thread: ThreadId) -> ThreadStatus;

    /// The present state of an object. 0 if it has not been made in this execution, or never will
    /// be.
    ///
    /// An operation that waits, and can be performed as soon as its object has been made, waits for
    /// something that also holds for 0.
    fn state(&self, object: Address) -> u64;

    /// Where in the source the thread's next operation is.
    fn location(&self, thread: ThreadId) -> Option<LocationId>;

    /// Whether a thread may ever join this one.
    fn may_be_joined(&self, _thread: ThreadId) -> bool {
        true
    }

    /// Performs the operation that the thread stands before, in one of its outcomes, and runs the
    /// thread to its next operation. Only called if the operation can be performed. What it does is
    /// added to `performed`. A join touches nothing; it is performed as soon as it can be, and is
    /// no step of an execution. A thread need not stop before one that is possible, if it has made
    /// no thread in the step so far and `performed` takes joins.
    fn step(
        &mut self,
        thread: ThreadId,
        outcome: u32,
        performed: &mut Performed,
    ) -> Result<(), Stop<Self::Error, Self::Restart>>;

    /// Ends the execution: takes down the threads that have not ended. If `is_complete`, all
    /// threads have, and what must hold at the end (nothing was leaked) is checked.
    fn finish(&mut self, is_complete: bool) -> Result<(), Stop<Self::Error, Self::Restart>>;
}
