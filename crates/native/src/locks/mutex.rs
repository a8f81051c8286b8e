//! Mutexes. In memory: whether it is locked, how often more by its owner, the owner, the kind, and where it was locked.

use std::ffi::c_int;

use fencepost_runtime::LockMisuseKind;
use fencepost_runtime::mutex::{FREE, HELD};

use super::{How, Kind, Lock, holder, is_of_unwinder, timed_out};
use crate::hooks::look_alike;
use crate::real;
use crate::time::Deadline;
use crate::world::inside;

const LOCKED: usize = 0;
const COUNT: usize = 4;
const OWNER: usize = 8;
const KIND: usize = 16;
const TAKEN: usize = 24;

pub(super) const MUTEX: Kind = Kind {
    object: "Mutex",
    words: "mutex",
    size: 40,
};

/// The part of the kind that says what a second lock by the owner does. The others are about priorities and processes.
const TYPE: u32 = 3;
const RECURSIVE: u32 = 1;
const ERROR_CHECKING: u32 = 2;
/// It can be locked after its owner has ended.
const ROBUST: u32 = 16;
/// What the C library has as the kind of a mutex that was destroyed.
const DESTROYED: u32 = u32::MAX;
/// Flags that a kind can have: the type, robustness, priorities, shared memory, elision.
const FLAGS: u32 = 0x3ff;

/// A mutex of the program.
#[derive(Clone, Copy)]
pub(super) struct Mutex(Lock);

impl Mutex {
    #[inline(always)]
    pub(super) fn begin(address: usize, returns_to: usize) -> Self {
        let mutex = Mutex(Lock::begin(address, MUTEX, returns_to));
        mutex.check();
        mutex
    }

    fn is_valid(self) -> bool {
        self.0.word(KIND) & !FLAGS == 0
    }

    #[inline(always)]
    fn check(self) {
        if !self.is_valid() {
            self.0.invalid();
        }
        if self.0.word(KIND) & ROBUST != 0 {
            crate::failures::refuse(
                "a robust mutex cannot be checked".to_owned(),
                self.0.returns_to,
            );
        }
    }

    fn is_of_type(self, kind: u32) -> bool {
        self.0.word(KIND) & TYPE == kind
    }

    #[inline(always)]
    pub(super) fn object(self) -> fencepost_memory::Address {
        let is_locked = self.0.word(LOCKED) != 0;
        self.0.object(if is_locked { HELD } else { FREE })
    }

    /// Whether the calling thread holds it. Only that thread changes this.
    fn is_own(self) -> bool {
        self.0.word(LOCKED) != 0 && self.0.word(OWNER) == self.0.own_number()
    }

    fn set_owner(self) {
        self.0.set_word(LOCKED, 1);
        self.0.set_word(OWNER, self.0.own_number());
        self.0.set_place(TAKEN, self.0.returns_to);
    }

    pub(super) fn lock(self, how: How) -> c_int {
        if self.is_own() {
            if self.is_of_type(RECURSIVE) {
                let count = self.0.word(COUNT);
                if count == u32::MAX {
                    return libc::EAGAIN;
                }
                self.0.set_word(COUNT, count + 1);
                return 0;
            }
            if self.is_of_type(ERROR_CHECKING) && !matches!(how, How::Tries) {
                return libc::EDEADLK;
            }
        }
        let object = self.object();
        let Lock {
            current, location, ..
        } = self.0;
        let take = || match self.0.word(LOCKED) {
            0 if self.is_valid() => {
                self.set_owner();
                Some(true)
            }
            0 => Some(false),
            _ => None,
        };
        let taken = match how {
            How::Waits => current.lock_mutex(object, location, take),
            How::Tries | How::Until(_) => current.try_lock_mutex(object, location, take),
        };
        match (taken, how) {
            (Some(true), _) => 0,
            // Another thread has destroyed it meanwhile.
            (Some(false), _) => self.0.invalid(),
            (None, How::Tries) => libc::EBUSY,
            (None, How::Until(deadline)) => timed_out(current, deadline, location),
            (None, How::Waits) => current.cannot_wait(),
        }
    }

    /// What an unlock by the calling thread returns if it does not hold the mutex.
    pub(super) fn not_held(self) -> Option<c_int> {
        if self.is_own() {
            return None;
        }
        if self.is_of_type(RECURSIVE) || self.is_of_type(ERROR_CHECKING) {
            return Some(libc::EPERM);
        }
        self.0.misuse(LockMisuseKind::NotHeld {
            holder: self.holder(),
        })
    }

    fn holder(self) -> Option<fencepost_runtime::ThreadPlace> {
        let is_locked = self.0.word(LOCKED) != 0;
        is_locked.then(|| holder(self.0.word(OWNER), self.0.place(TAKEN)))
    }

    pub(super) fn unlock(self) -> c_int {
        if let Some(error) = self.not_held() {
            return error;
        }
        match self.0.word(COUNT) {
            0 => {
                let object = self.object();
                let give = || {
                    self.0.set_word(LOCKED, 0);
                    self.0.set_word(OWNER, 0);
                    self.0.set_place(TAKEN, 0);
                };
                self.0.current.unlock_mutex(object, self.0.location, give);
            }
            count => self.0.set_word(COUNT, count - 1),
        }
        0
    }

    pub(super) fn destroy(self) -> c_int {
        self.0.destroy(self.object(), || {
            let holder = self.holder();
            self.0.set_word(KIND, DESTROYED);
            holder
        })
    }
}

/// Initializes a mutex of a kind.
pub(super) fn initialize(mutex: usize, kind: u32, returns_to: usize) -> c_int {
    let lock = Lock::begin(mutex, MUTEX, returns_to);
    lock.clear();
    lock.set_word(KIND, kind);
    0
}

look_alike! {
    fn pthread_mutex_init(mutex: usize, attributes: *const u32) -> c_int = init;
    fn pthread_mutex_destroy(mutex: usize) -> c_int = destroy;
    fn pthread_mutex_lock(mutex: usize) -> c_int = lock;
    fn pthread_mutex_trylock(mutex: usize) -> c_int = try_lock;
    fn pthread_mutex_timedlock(mutex: usize, until: *const libc::timespec) -> c_int = timed_lock;
    fn pthread_mutex_clocklock(mutex: usize, clock: c_int, until: *const libc::timespec) -> c_int = clock_lock;
    fn pthread_mutex_unlock(mutex: usize) -> c_int = unlock;
}

unsafe extern "C-unwind" fn init(mutex: usize, attributes: *const u32, returns_to: usize) -> c_int {
    /// What the C library keeps in attributes besides the type.
    const IS_ROBUST: u32 = 1 << 30;
    // SAFETY: the program has passed attributes, or none.
    let attributes = unsafe { attributes.as_ref() }.copied().unwrap_or(0);
    let robust = if attributes & IS_ROBUST != 0 {
        ROBUST
    } else {
        0
    };
    inside(|| initialize(mutex, attributes & TYPE | robust, returns_to))
}

unsafe extern "C-unwind" fn destroy(mutex: usize, returns_to: usize) -> c_int {
    inside(|| Mutex::begin(mutex, returns_to).destroy())
}

unsafe extern "C-unwind" fn lock(mutex: usize, returns_to: usize) -> c_int {
    if is_of_unwinder(mutex) {
        // SAFETY: it is a mutex.
        return unsafe { real::pthread_mutex_lock(mutex) };
    }
    inside(|| Mutex::begin(mutex, returns_to).lock(How::Waits))
}

unsafe extern "C-unwind" fn try_lock(mutex: usize, returns_to: usize) -> c_int {
    inside(|| Mutex::begin(mutex, returns_to).lock(How::Tries))
}

unsafe extern "C-unwind" fn timed_lock(
    mutex: usize,
    until: *const libc::timespec,
    returns_to: usize,
) -> c_int {
    inside(|| Mutex::begin(mutex, returns_to).lock(How::Until(Deadline::at(until))))
}

unsafe extern "C-unwind" fn clock_lock(
    mutex: usize,
    _clock: c_int,
    until: *const libc::timespec,
    returns_to: usize,
) -> c_int {
    inside(|| Mutex::begin(mutex, returns_to).lock(How::Until(Deadline::at(until))))
}

unsafe extern "C-unwind" fn unlock(mutex: usize, returns_to: usize) -> c_int {
    if is_of_unwinder(mutex) {
        // SAFETY: it is a mutex.
        return unsafe { real::pthread_mutex_unlock(mutex) };
    }
    inside(|| Mutex::begin(mutex, returns_to).unlock())
}
