//! Operations of a checked program, as an execution lists them: `lock a`, `spawn T1`.

use fencepost_memory::OperationKind;

use crate::language::ProgramLanguage;
use crate::names::action_verb;

/// An operation of a thread. Strings are names of threads, objects and functions.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Action {
    /// The thread spawns this one.
    Spawn(String),
    /// The thread starts.
    Begin,
    /// The function of the thread has returned, and its thread-local values are dropped next.
    Return,
    /// The thread ends.
    End,
    /// The thread joins this one.
    Join(String),
    /// The thread unparks this one.
    Unpark(String),
    /// The thread parks, and was unparked.
    Park,
    /// The thread parks until a timeout.
    ParkTimeout,
    /// The thread wakes this one, which waits on a condition variable.
    Wake(String),
    /// The thread is woken.
    WakeUp,
    /// The thread acquires this lock.
    Lock(String),
    /// The thread does not acquire this lock, because it is held.
    FailedLock(String),
    /// The thread releases this lock.
    Unlock(String),
    /// The thread is the last to arrive at this barrier.
    OpenBarrier(String),
    /// The thread leaves this barrier.
    LeaveBarrier(String),
    /// The thread drops this reference.
    Drop(String),
    /// The thread calls a function on an object.
    Call {
        /// The function: `notify_one`.
        function: String,
        /// The object.
        object: String,
    },
    /// An access whose kind says it all.
    Access {
        /// The kind of the access.
        kind: OperationKind,
        /// The object.
        object: String,
    },
    /// A fence or a store barrier.
    Barrier {
        /// Its kind.
        kind: OperationKind,
        /// The operation that contains it.
        origin: BarrierOrigin,
    },
    /// This function, which waits, returns without being notified.
    SpuriousReturn(String),
}

/// The operation that contains a fence or a store barrier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BarrierOrigin {
    /// The fence is in the source.
    Source,
    /// The drop of an `Arc`.
    ArcDrop,
    /// The release of a lock.
    Unlock,
    /// A call of this function.
    Call(String),
}

impl Action {
    /// The operation in a few words.
    pub fn describe(&self, language: ProgramLanguage) -> String {
        match self {
            Action::Spawn(thread) => format!("spawn {thread}"),
            Action::Begin => "begin".to_owned(),
            Action::Return => "return".to_owned(),
            Action::End => "end".to_owned(),
            Action::Join(thread) => format!("join {thread}"),
            Action::Unpark(thread) => format!("unpark {thread}"),
            Action::Park => "park".to_owned(),
            Action::ParkTimeout => "park, timed out".to_owned(),
            Action::Wake(thread) => format!("wake {thread}"),
            Action::WakeUp => "wake up".to_owned(),
            Action::Lock(lock) => format!("lock {lock}"),
            Action::FailedLock(lock) => format!("fail to lock {lock}"),
            Action::Unlock(lock) => format!("unlock {lock}"),
            Action::OpenBarrier(barrier) => format!("open {barrier}"),
            Action::LeaveBarrier(barrier) => format!("leave {barrier}"),
            Action::Drop(reference) => format!("drop {reference}"),
            Action::Call { function, object } => format!("{function} {object}"),
            Action::Access { kind, object } => format!("{} {object}", action_verb(*kind, language)),
            Action::Barrier { kind, origin } => {
                let verb = action_verb(*kind, language);
                match origin {
                    BarrierOrigin::Source => verb.to_owned(),
                    BarrierOrigin::ArcDrop => format!("{verb} (drop of an Arc)"),
                    BarrierOrigin::Unlock => format!("{verb} (in unlock)"),
                    BarrierOrigin::Call(function) => format!("{verb} (in {function})"),
                }
            }
            Action::SpuriousReturn(function) => format!("{function} returns spuriously"),
        }
    }
}
