//! Mutexes and condition variables of C11: those of POSIX, with other results.

use std::ffi::c_int;

use super::How;
use super::condvar::{self, Condvar};
use super::mutex::{self, Mutex};
use crate::hooks::look_alike;
use crate::time::Deadline;
use crate::world::inside;

/// `thrd_busy`, `thrd_error` and `thrd_timedout`.
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const TIMED_OUT: c_int = 4;
/// `mtx_recursive`, which is also the kind of such a mutex.
const RECURSIVE: u32 = 1;

/// The result for an error number.
pub(crate) fn result(error: c_int) -> c_int {
    match error {
        0 => 0,
        libc::EBUSY => BUSY,
        libc::ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

look_alike! {
    fn mtx_init(mutex: usize, kind: c_int) -> c_int = mutex_init;
    fn mtx_destroy(mutex: usize) = mutex_destroy;
    fn mtx_lock(mutex: usize) -> c_int = mutex_lock;
    fn mtx_trylock(mutex: usize) -> c_int = mutex_try_lock;
    fn mtx_timedlock(mutex: usize, until: *const libc::timespec) -> c_int = mutex_timed_lock;
    fn mtx_unlock(mutex: usize) -> c_int = mutex_unlock;
    fn cnd_init(condvar: usize) -> c_int = condvar_init;
    fn cnd_destroy(condvar: usize) = condvar_destroy;
    fn cnd_wait(condvar: usize, mutex: usize) -> c_int = condvar_wait;
    fn cnd_timedwait(condvar: usize, mutex: usize, until: *const libc::timespec) -> c_int = condvar_timed_wait;
    fn cnd_signal(condvar: usize) -> c_int = condvar_signal;
    fn cnd_broadcast(condvar: usize) -> c_int = condvar_broadcast;
}

unsafe extern "C-unwind" fn mutex_init(mutex: usize, kind: c_int, returns_to: usize) -> c_int {
    result(inside(|| {
        mutex::initialize(mutex, kind as u32 & RECURSIVE, returns_to)
    }))
}

unsafe extern "C-unwind" fn mutex_destroy(mutex: usize, returns_to: usize) {
    inside(|| Mutex::begin(mutex, returns_to).destroy());
}

unsafe extern "C-unwind" fn mutex_lock(mutex: usize, returns_to: usize) -> c_int {
    result(inside(|| Mutex::begin(mutex, returns_to).lock(How::Waits)))
}

unsafe extern "C-unwind" fn mutex_try_lock(mutex: usize, returns_to: usize) -> c_int {
    result(inside(|| Mutex::begin(mutex, returns_to).lock(How::Tries)))
}

unsafe extern "C-unwind" fn mutex_timed_lock(
    mutex: usize,
    until: *const libc::timespec,
    returns_to: usize,
) -> c_int {
    result(inside(|| {
        Mutex::begin(mutex, returns_to).lock(How::Until(Deadline::at(until)))
    }))
}

unsafe extern "C-unwind" fn mutex_unlock(mutex: usize, returns_to: usize) -> c_int {
    result(inside(|| Mutex::begin(mutex, returns_to).unlock()))
}

unsafe extern "C-unwind" fn condvar_init(condvar: usize, returns_to: usize) -> c_int {
    result(inside(|| condvar::initialize(condvar, returns_to)))
}

unsafe extern "C-unwind" fn condvar_destroy(condvar: usize, returns_to: usize) {
    inside(|| Condvar::begin(condvar, returns_to).destroy());
}

unsafe extern "C-unwind" fn condvar_wait(condvar: usize, mutex: usize, returns_to: usize) -> c_int {
    result(inside(|| {
        Condvar::begin(condvar, returns_to).wait(mutex, None)
    }))
}

unsafe extern "C-unwind" fn condvar_timed_wait(
    condvar: usize,
    mutex: usize,
    until: *const libc::timespec,
    returns_to: usize,
) -> c_int {
    result(inside(|| {
        Condvar::begin(condvar, returns_to).wait(mutex, Some(Deadline::at(until)))
    }))
}

unsafe extern "C-unwind" fn condvar_signal(condvar: usize, returns_to: usize) -> c_int {
    result(inside(|| Condvar::begin(condvar, returns_to).signal()))
}

unsafe extern "C-unwind" fn condvar_broadcast(condvar: usize, returns_to: usize) -> c_int {
    result(inside(|| Condvar::begin(condvar, returns_to).broadcast()))
}
