//! Condition variables. In memory: whether it was destroyed.

use std::ffi::c_int;

use fencepost_memory::ThreadId;
use fencepost_runtime::condvar::{CondvarObject, Return, Waiters, Waiting};

use super::mutex::Mutex;
use super::{How, Kind, Lock, known};
use crate::hooks::look_alike;
use crate::time::{self, Deadline};
use crate::world::inside;

const CONDVAR: Kind = Kind {
    object: "Condvar",
    words: "condition variable",
    size: 48,
};

/// Where the C library counts waiters, and we say that it was destroyed.
const MARK: usize = 36;
const DESTROYED: u32 = u32::MAX;

/// The threads that wait for something at an address.
#[derive(Clone, Copy)]
pub(super) struct WaitersAt(pub(super) usize);

impl Waiters for WaitersAt {
    fn with<R>(self, f: impl FnOnce(&mut Vec<ThreadId>) -> R) -> R {
        known(|known| f(known.waiters.entry(self.0).or_default()))
    }
}

/// A condition variable of the program.
#[derive(Clone, Copy)]
pub(super) struct Condvar(Lock);

impl Condvar {
    #[inline(always)]
    pub(super) fn begin(address: usize, returns_to: usize) -> Self {
        let condvar = Lock::begin(address, CONDVAR, returns_to);
        if condvar.word(MARK) == DESTROYED {
            condvar.invalid();
        }
        Condvar(condvar)
    }

    #[inline(always)]
    fn steps(self) -> CondvarObject<WaitersAt> {
        CondvarObject {
            object: self.0.object_with(0),
            waiters: WaitersAt(self.0.address),
        }
    }

    pub(super) fn signal(self) -> c_int {
        self.steps().notify_one(self.0.current, self.0.location);
        0
    }

    pub(super) fn broadcast(self) -> c_int {
        self.steps().notify_all(self.0.current, self.0.location);
        0
    }

    /// Waits, and releases a mutex meanwhile.
    #[inline(always)] // Its frame is compared.
    pub(super) fn wait(self, mutex: usize, deadline: Option<Deadline>) -> c_int {
        let Lock {
            current,
            location,
            returns_to,
            ..
        } = self.0;
        let mutex = Mutex::begin(mutex, returns_to);
        if let Some(error) = mutex.not_held() {
            return error;
        }
        let steps = self.steps();
        let only_waits = current.only_waits_without(steps.object, location, mutex.object(), &());
        let how = Waiting {
            is_timed: deadline.is_some(),
            only_waits,
        };
        let release = || {
            mutex.unlock();
        };
        let acquire = || {
            mutex.lock(How::Waits);
        };
        match steps.wait(current, how, location, release, acquire) {
            Return::TimedOut => {
                time::pass(current, deadline, location);
                libc::ETIMEDOUT
            }
            Return::Notified | Return::Spurious => 0,
        }
    }

    pub(super) fn destroy(self) -> c_int {
        let steps = self.steps();
        self.0.destroy(steps.object, || {
            let waiting = steps.waiters.with(|waiters| waiters.first().copied());
            self.0.set_word(MARK, DESTROYED);
            waiting.map(|thread| fencepost_runtime::ThreadPlace {
                thread,
                location: None,
            })
        })
    }
}

pub(super) fn initialize(condvar: usize, returns_to: usize) -> c_int {
    let lock = Lock::begin(condvar, CONDVAR, returns_to);
    lock.clear();
    WaitersAt(condvar).with(Vec::clear);
    lock.object(0);
    0
}

look_alike! {
    fn pthread_cond_init(condvar: usize, attributes: usize) -> c_int = init;
    fn pthread_cond_destroy(condvar: usize) -> c_int = destroy;
    fn pthread_cond_wait(condvar: usize, mutex: usize) -> c_int = wait;
    fn pthread_cond_timedwait(condvar: usize, mutex: usize, until: *const libc::timespec) -> c_int = timed_wait;
    fn pthread_cond_clockwait(condvar: usize, mutex: usize, clock: c_int, until: *const libc::timespec) -> c_int = clock_wait;
    fn pthread_cond_signal(condvar: usize) -> c_int = signal;
    fn pthread_cond_broadcast(condvar: usize) -> c_int = broadcast;
    // Those of `std::condition_variable`, so that a wait is where the program calls it.
    fn _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(condvar: usize, lock: *const usize) = wait_of_cpp;
    fn _ZNSt18condition_variable10notify_oneEv(condvar: usize) = notify_one_of_cpp;
    fn _ZNSt18condition_variable10notify_allEv(condvar: usize) = notify_all_of_cpp;
}

unsafe extern "C-unwind" fn init(condvar: usize, _attributes: usize, returns_to: usize) -> c_int {
    inside(|| initialize(condvar, returns_to))
}

unsafe extern "C-unwind" fn destroy(condvar: usize, returns_to: usize) -> c_int {
    inside(|| Condvar::begin(condvar, returns_to).destroy())
}

unsafe extern "C-unwind" fn wait(condvar: usize, mutex: usize, returns_to: usize) -> c_int {
    inside(|| Condvar::begin(condvar, returns_to).wait(mutex, None))
}

unsafe extern "C-unwind" fn timed_wait(
    condvar: usize,
    mutex: usize,
    until: *const libc::timespec,
    returns_to: usize,
) -> c_int {
    inside(|| Condvar::begin(condvar, returns_to).wait(mutex, Some(Deadline::at(until))))
}

unsafe extern "C-unwind" fn clock_wait(
    condvar: usize,
    mutex: usize,
    _clock: c_int,
    until: *const libc::timespec,
    returns_to: usize,
) -> c_int {
    inside(|| Condvar::begin(condvar, returns_to).wait(mutex, Some(Deadline::at(until))))
}

unsafe extern "C-unwind" fn signal(condvar: usize, returns_to: usize) -> c_int {
    inside(|| Condvar::begin(condvar, returns_to).signal())
}

unsafe extern "C-unwind" fn broadcast(condvar: usize, returns_to: usize) -> c_int {
    inside(|| Condvar::begin(condvar, returns_to).broadcast())
}

unsafe extern "C-unwind" fn wait_of_cpp(condvar: usize, lock: *const usize, returns_to: usize) {
    inside(|| {
        // SAFETY: the program has passed a `unique_lock`, which begins with the address of its mutex.
        let mutex = unsafe { lock.read() };
        Condvar::begin(condvar, returns_to).wait(mutex, None);
    });
}

unsafe extern "C-unwind" fn notify_one_of_cpp(condvar: usize, returns_to: usize) {
    inside(|| Condvar::begin(condvar, returns_to).signal());
}

unsafe extern "C-unwind" fn notify_all_of_cpp(condvar: usize, returns_to: usize) {
    inside(|| Condvar::begin(condvar, returns_to).broadcast());
}
