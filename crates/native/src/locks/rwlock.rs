//! Reader-writer locks. In memory: the number of readers, the writer, which of both comes first, and where the writer has taken it.
//!
//! Readers wait for a waiting writer only if the lock prefers writers (`PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`), as in
//! the C library.

use std::ffi::c_int;

use fencepost_memory::ThreadId;
use fencepost_runtime::names::{FREE, WAITING_WRITERS, WRITTEN};
use fencepost_runtime::rwlock::{ReadUntil, RwLockObjects};
use fencepost_runtime::{LockMisuseKind, ThreadPlace};

use super::{How, Kind, Lock, holder, known, timed_out};
use crate::hooks::look_alike;
use crate::operations::object_named;
use crate::time::Deadline;
use crate::world::inside;

const RWLOCK: Kind = Kind {
    object: "RwLock",
    words: "reader-writer lock",
    size: 56,
};
const READERS: usize = 0;
const WRITER: usize = 24;
const TAKEN: usize = 40;
const PREFERENCE: usize = 48;

/// Writers come first, and readers do not read again.
const PREFERS_WRITERS: u32 = 2;
const DESTROYED: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct RwLock(Lock);

impl ReadUntil for RwLock {
    fn with(self, f: impl FnOnce(&mut Vec<u32>)) {
        known(|known| f(&mut known.readers.entry(self.0.address).or_default().1));
    }
}

impl RwLock {
    #[inline(always)]
    fn begin(address: usize, returns_to: usize) -> Self {
        let lock = RwLock(Lock::begin(address, RWLOCK, returns_to));
        if !lock.is_valid() {
            lock.0.invalid();
        }
        lock
    }

    fn is_valid(self) -> bool {
        self.0.word(PREFERENCE) <= PREFERS_WRITERS
    }

    #[inline(always)]
    fn steps(self) -> RwLockObjects<RwLock> {
        let state = match self.0.word(WRITER) {
            0 => self.0.word(READERS).into(),
            _ => WRITTEN,
        };
        let may_block_readers = self.0.word(PREFERENCE) == PREFERS_WRITERS;
        let is_announced = may_block_readers && self.0.current.are_writers_announced();
        let (current, place) = (self.0.current, (self.0.address, RWLOCK.size));
        RwLockObjects {
            object: self.0.object(state),
            waiting: is_announced
                .then(|| object_named(current, place, WAITING_WRITERS, WAITING_WRITERS)),
            may_block_readers,
            read_until: self,
        }
    }

    fn is_writer(self) -> bool {
        self.0.word(WRITER) == self.0.own_number()
    }

    /// The threads that hold it for reading.
    fn with_readers<R>(self, f: impl FnOnce(&mut Vec<ThreadId>) -> R) -> R {
        known(|known| f(&mut known.readers.entry(self.0.address).or_default().0))
    }

    fn result(self, taken: Option<bool>, how: How) -> c_int {
        match (taken, how) {
            (Some(true), _) => 0,
            // Another thread has destroyed it meanwhile.
            (Some(false), _) => self.0.invalid(),
            (None, How::Tries) => libc::EBUSY,
            (None, How::Until(deadline)) => timed_out(self.0.current, deadline, self.0.location),
            (None, How::Waits) => self.0.current.cannot_wait(),
        }
    }

    fn read(self, how: How) -> c_int {
        if self.is_writer() && !matches!(how, How::Tries) {
            return libc::EDEADLK;
        }
        let (steps, thread) = (self.steps(), self.0.thread);
        let take = || {
            if !self.is_valid() {
                return Some(false);
            }
            (self.0.word(WRITER) == 0).then(|| {
                self.0.set_word(READERS, self.0.word(READERS) + 1);
                self.with_readers(|readers| readers.push(thread));
                true
            })
        };
        let (current, location) = (self.0.current, self.0.location);
        let taken = match how {
            How::Waits => steps.read(current, location, take),
            How::Tries | How::Until(_) => steps.try_read(current, location, take),
        };
        self.result(taken, how)
    }

    fn write(self, how: How) -> c_int {
        if self.is_writer() && !matches!(how, How::Tries) {
            return libc::EDEADLK;
        }
        let steps = self.steps();
        let take = || {
            if !self.is_valid() {
                return Some(false);
            }
            (self.0.word(WRITER) == 0 && self.0.word(READERS) == 0).then(|| {
                self.0.set_word(WRITER, self.0.own_number());
                self.0.set_place(TAKEN, self.0.returns_to);
                true
            })
        };
        let (current, location) = (self.0.current, self.0.location);
        let taken = match how {
            How::Waits => steps.write(current, location, take),
            How::Tries | How::Until(_) => steps.try_write(current, location, take),
        };
        self.result(taken, how)
    }

    fn holder(self) -> Option<ThreadPlace> {
        match self.0.word(WRITER) {
            0 => self
                .with_readers(|readers| readers.first().copied())
                .map(|thread| ThreadPlace {
                    thread,
                    location: None,
                }),
            writer => Some(holder(writer, self.0.place(TAKEN))),
        }
    }

    fn unlock(self) -> c_int {
        let thread = self.0.thread;
        let (steps, current, location) = (self.steps(), self.0.current, self.0.location);
        let is_reader = self.with_readers(|readers| readers.contains(&thread));
        if self.is_writer() {
            let give = || {
                self.0.set_word(WRITER, 0);
                self.0.set_place(TAKEN, 0);
            };
            steps.release(current, location, give, |_| FREE);
        } else if is_reader {
            let give = || {
                self.0
                    .set_word(READERS, self.0.word(READERS).saturating_sub(1));
                self.with_readers(|readers| {
                    let own = readers.iter().position(|&reader| reader == thread);
                    own.map(|own| readers.remove(own));
                });
            };
            steps.release(current, location, give, |state| state.saturating_sub(1));
        } else {
            self.0.misuse(LockMisuseKind::NotHeld {
                holder: self.holder(),
            });
        }
        0
    }

    fn destroy(self) -> c_int {
        self.0.destroy(self.steps().object, || {
            let holder = self.holder();
            self.0.set_word(PREFERENCE, DESTROYED);
            holder
        })
    }
}

look_alike! {
    fn pthread_rwlock_init(lock: usize, attributes: *const u32) -> c_int = init;
    fn pthread_rwlock_destroy(lock: usize) -> c_int = destroy;
    fn pthread_rwlock_rdlock(lock: usize) -> c_int = read;
    fn pthread_rwlock_tryrdlock(lock: usize) -> c_int = try_read;
    fn pthread_rwlock_timedrdlock(lock: usize, until: *const libc::timespec) -> c_int = timed_read;
    fn pthread_rwlock_clockrdlock(lock: usize, clock: c_int, until: *const libc::timespec) -> c_int = clock_read;
    fn pthread_rwlock_wrlock(lock: usize) -> c_int = write;
    fn pthread_rwlock_trywrlock(lock: usize) -> c_int = try_write;
    fn pthread_rwlock_timedwrlock(lock: usize, until: *const libc::timespec) -> c_int = timed_write;
    fn pthread_rwlock_clockwrlock(lock: usize, clock: c_int, until: *const libc::timespec) -> c_int = clock_write;
    fn pthread_rwlock_unlock(lock: usize) -> c_int = unlock;
}

unsafe extern "C-unwind" fn init(lock: usize, attributes: *const u32, returns_to: usize) -> c_int {
    // SAFETY: the program has passed attributes, which begin with the preference, or none.
    let preference = unsafe { attributes.as_ref() }.copied().unwrap_or(0);
    inside(|| {
        let lock = RwLock(Lock::begin(lock, RWLOCK, returns_to));
        lock.0.clear();
        lock.0.set_word(PREFERENCE, preference);
        lock.with_readers(Vec::clear);
        0
    })
}

unsafe extern "C-unwind" fn destroy(lock: usize, returns_to: usize) -> c_int {
    inside(|| RwLock::begin(lock, returns_to).destroy())
}

unsafe extern "C-unwind" fn read(lock: usize, returns_to: usize) -> c_int {
    inside(|| RwLock::begin(lock, returns_to).read(How::Waits))
}

unsafe extern "C-unwind" fn try_read(lock: usize, returns_to: usize) -> c_int {
    inside(|| RwLock::begin(lock, returns_to).read(How::Tries))
}

unsafe extern "C-unwind" fn timed_read(
    lock: usize,
    until: *const libc::timespec,
    returns_to: usize,
) -> c_int {
    inside(|| RwLock::begin(lock, returns_to).read(How::Until(Deadline::at(until))))
}

unsafe extern "C-unwind" fn clock_read(
    lock: usize,
    _clock: c_int,
    until: *const libc::timespec,
    returns_to: usize,
) -> c_int {
    inside(|| RwLock::begin(lock, returns_to).read(How::Until(Deadline::at(until))))
}

unsafe extern "C-unwind" fn write(lock: usize, returns_to: usize) -> c_int {
    inside(|| RwLock::begin(lock, returns_to).write(How::Waits))
}

unsafe extern "C-unwind" fn try_write(lock: usize, returns_to: usize) -> c_int {
    inside(|| RwLock::begin(lock, returns_to).write(How::Tries))
}

unsafe extern "C-unwind" fn timed_write(
    lock: usize,
    until: *const libc::timespec,
    returns_to: usize,
) -> c_int {
    inside(|| RwLock::begin(lock, returns_to).write(How::Until(Deadline::at(until))))
}

unsafe extern "C-unwind" fn clock_write(
    lock: usize,
    _clock: c_int,
    until: *const libc::timespec,
    returns_to: usize,
) -> c_int {
    inside(|| RwLock::begin(lock, returns_to).write(How::Until(Deadline::at(until))))
}

unsafe extern "C-unwind" fn unlock(lock: usize, returns_to: usize) -> c_int {
    inside(|| RwLock::begin(lock, returns_to).unlock())
}
