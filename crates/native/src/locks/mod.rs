//! Locks of the program: those of POSIX, of C11, and what the C++ library builds its own from.
//!
//! A lock is recognised by its address. What it is, whether it is held and by whom is in its own memory, laid out as the C
//! library does where a static initializer or an attribute is concerned. So a lock that is copied, overwritten, or in memory that was
//! freed and allocated again, is what its memory says. Who waits is not there, but in `Known`.
//!
//! The steps are those of the runtime's `mutex`, `rwlock`, `condvar`, `barrier` and `once`.

mod barrier;
pub(crate) mod c11;
mod condvar;
pub(crate) mod futex;
mod guard;
mod mutex;
mod once;
mod rwlock;
mod semaphore;
mod spin;

use std::ffi::c_int;

use fencepost_explore::{Effect, Intent};
use fencepost_memory::{Address, ThreadId};
use fencepost_runtime::{
    Current, LocationRef, LockMisuse, LockMisuseKind, Outcomes, ProgramError, ThreadPlace,
};
use rustc_hash::FxHashMap;

use crate::failures::{self, place};
use crate::names::name_of;
use crate::operations::{begin, object_at};
use crate::state::state;
use crate::time::{self, Deadline};

/// What is known about the locks of an execution besides what their memory says.
#[derive(Default)]
pub(crate) struct Known {
    /// The execution.
    number: u64,
    /// Who waits for a condition variable or for a word of memory.
    waiters: FxHashMap<usize, Vec<ThreadId>>,
    /// Who holds a reader-writer lock for reading, and until when it was read.
    readers: FxHashMap<usize, (Vec<ThreadId>, Vec<u32>)>,
    /// The threads that have destroyed locks, and where.
    destroyed: FxHashMap<usize, (ThreadId, usize)>,
}

/// Whether a lock belongs to the library that unwinds stacks. It locks what all threads of the process share, Fencepost's own too,
/// and keeps it over executions.
fn is_of_unwinder(lock: usize) -> bool {
    state().unwinder.contains(&lock)
}

/// What is known about the locks of this execution.
fn known<R>(f: impl FnOnce(&mut Known) -> R) -> R {
    let mut state = state();
    let number = state.execution;
    let known = &mut state.locks;
    if known.number != number {
        known.number = number;
        known.waiters.values_mut().for_each(Vec::clear);
        known.readers.clear();
        known.destroyed.clear();
    }
    f(known)
}

/// How a lock is acquired.
#[derive(Clone, Copy)]
enum How {
    Waits,
    Tries,
    Until(Deadline),
}

/// A kind of lock.
#[derive(Clone, Copy)]
struct Kind {
    /// The kind of its object.
    object: &'static str,
    /// In words.
    words: &'static str,
    /// How many bytes it has.
    size: usize,
}

/// A lock of the program, for an operation of the calling thread.
#[derive(Clone, Copy)]
struct Lock {
    current: Current,
    /// The calling thread: the execution does not say in the middle of a step.
    thread: ThreadId,
    location: LocationRef,
    address: usize,
    kind: Kind,
    returns_to: usize,
}

impl Lock {
    /// Begins an operation on the lock at an address.
    ///
    /// It is a part of its caller, and so are the functions that say what the object is: what they have left on the stack is
    /// cleared, so that it is not in the frames that are compared when the thread comes back.
    #[inline(always)]
    fn begin(address: usize, kind: Kind, returns_to: usize) -> Self {
        let (current, location) = begin(returns_to);
        failures::check_access(current, address, kind.size, returns_to);
        current.clear_stack_below();
        Lock {
            current,
            thread: current.thread(),
            location,
            address,
            kind,
            returns_to,
        }
    }

    /// The object, which has this state now.
    #[inline(always)]
    fn object(self, state: u64) -> Address {
        let object = self.object_with(state);
        self.current.set_state(object, state);
        self.current.clear_stack_below();
        object
    }

    /// The object, which has this state if it was not used in this execution.
    #[inline(always)]
    fn object_with(self, state: u64) -> Address {
        let place = (self.address, self.kind.size);
        let object = object_at(self.current, place, self.kind.object, || state);
        self.current.clear_stack_below();
        object
    }

    /// A word of its memory.
    fn word(self, offset: usize) -> u32 {
        // SAFETY: the program has passed the address of a lock, which has room for the word.
        unsafe { self.pointer::<u32>(offset).read_volatile() }
    }

    fn set_word(self, offset: usize, value: u32) {
        // SAFETY: as above, and no thread of the program runs.
        unsafe { self.pointer::<u32>(offset).write_volatile(value) };
    }

    /// A place in the program, in its memory.
    fn place(self, offset: usize) -> usize {
        // SAFETY: as above.
        unsafe { self.pointer::<usize>(offset).read_volatile() }
    }

    fn set_place(self, offset: usize, place: usize) {
        // SAFETY: as above.
        unsafe { self.pointer::<usize>(offset).write_volatile(place) };
    }

    fn pointer<T>(self, offset: usize) -> *mut T {
        std::ptr::with_exposed_provenance_mut(self.address + offset)
    }

    /// Sets all its memory to zero.
    fn clear(self) {
        // SAFETY: as above.
        unsafe { self.pointer::<u8>(0).write_bytes(0, self.kind.size) };
        known(|known| known.destroyed.remove(&self.address));
    }

    /// What a lock has in its memory for the calling thread.
    fn own_number(self) -> u32 {
        number_of(self.thread)
    }

    /// Destroys it in a step, which calls `mark`. It returns who holds the lock, if anybody does.
    fn destroy(self, object: Address, mark: impl FnOnce() -> Option<ThreadPlace>) -> c_int {
        let Lock {
            current, location, ..
        } = self;
        let intent = Intent::Access {
            object,
            effect: Effect::Write,
            awaits: None,
        };
        let holder = current.plain_operation(intent, Outcomes::One, location, |step| {
            let state = step.state(object);
            step.write(object, state);
            mark()
        });
        if let Some(holder) = holder {
            self.misuse(LockMisuseKind::DestroyedWhileHeld { holder });
        }
        let by = (self.thread, self.returns_to);
        known(|known| known.destroyed.insert(self.address, by));
        0
    }

    /// The lock was destroyed, or never initialized.
    fn invalid(self) -> ! {
        let destroyed = known(|known| known.destroyed.get(&self.address).copied());
        self.misuse(match destroyed {
            Some((thread, returns_to)) => LockMisuseKind::Destroyed {
                destroyed: ThreadPlace {
                    thread,
                    location: place(returns_to),
                },
            },
            None => LockMisuseKind::Uninitialized,
        })
    }

    fn misuse(self, kind: LockMisuseKind) -> ! {
        self.current
            .fail(ProgramError::LockMisuse(Box::new(LockMisuse {
                kind,
                lock: format!(
                    "{} `{}`",
                    self.kind.words,
                    name_of(self.address, self.kind.size)
                ),
                thread: self.thread,
                location: place(self.returns_to),
            })))
    }
}

/// What a lock has in its memory for a thread that holds it.
fn number_of(thread: ThreadId) -> u32 {
    thread.0 + 1
}

/// The thread with a number, which has taken a lock somewhere.
fn holder(number: u32, taken: usize) -> ThreadPlace {
    ThreadPlace {
        thread: ThreadId(number.saturating_sub(1)),
        location: (taken != 0).then(|| place(taken)).flatten(),
    }
}

/// A wait until a deadline did not get what it waits for: mostly it is in a loop.
fn timed_out(current: Current, deadline: Deadline, location: LocationRef) -> c_int {
    time::pass(current, Some(deadline), location);
    current.operation(Intent::SpinHint, Outcomes::One, location, |_| ());
    libc::ETIMEDOUT
}
