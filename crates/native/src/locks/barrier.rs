//! Barriers. In memory: the number of threads that it waits for, 0 if it was destroyed.

use std::ffi::c_int;

use fencepost_runtime::barrier::BarrierObjects;
use fencepost_runtime::names::{BARRIER_OPENING, OPENING_OF};

use super::{Kind, Lock};
use crate::hooks::look_alike;
use crate::operations::object_named;
use crate::world::inside;

const BARRIER: Kind = Kind {
    object: "Barrier",
    words: "barrier",
    size: 32,
};
const THREADS: usize = 8;

look_alike! {
    fn pthread_barrier_init(barrier: usize, attributes: usize, threads: u32) -> c_int = init;
    fn pthread_barrier_destroy(barrier: usize) -> c_int = destroy;
    fn pthread_barrier_wait(barrier: usize) -> c_int = wait;
}

/// A barrier that is in use, and its objects.
#[inline(always)]
fn begin(barrier: usize, returns_to: usize) -> (Lock, BarrierObjects) {
    let lock = Lock::begin(barrier, BARRIER, returns_to);
    if lock.word(THREADS) == 0 {
        lock.invalid();
    }
    let place = (barrier, BARRIER.size);
    let opening = object_named(lock.current, place, BARRIER_OPENING, OPENING_OF);
    let objects = BarrierObjects {
        arrived: lock.object_with(0),
        opened: opening,
    };
    (lock, objects)
}

unsafe extern "C-unwind" fn init(
    barrier: usize,
    _attributes: usize,
    threads: u32,
    returns_to: usize,
) -> c_int {
    inside(|| {
        let lock = Lock::begin(barrier, BARRIER, returns_to);
        if threads == 0 {
            return libc::EINVAL;
        }
        lock.clear();
        lock.set_word(THREADS, threads);
        lock.object(0);
        0
    })
}

unsafe extern "C-unwind" fn destroy(barrier: usize, returns_to: usize) -> c_int {
    inside(|| {
        let (lock, objects) = begin(barrier, returns_to);
        if lock.current.peek(objects.arrived) != 0 {
            let message = "a barrier is destroyed while threads wait at it".to_owned();
            crate::failures::refuse(message, returns_to);
        }
        lock.destroy(objects.arrived, || {
            lock.set_word(THREADS, 0);
            None
        })
    })
}

unsafe extern "C-unwind" fn wait(barrier: usize, returns_to: usize) -> c_int {
    inside(|| {
        let (lock, objects) = begin(barrier, returns_to);
        let threads = lock.word(THREADS).into();
        match objects.wait(lock.current, threads, lock.location) {
            true => libc::PTHREAD_BARRIER_SERIAL_THREAD,
            false => 0,
        }
    })
}
