//! One-time initialization. In memory: its progress, as the C library has it, which is that of the runtime.

use std::ffi::c_int;

use fencepost_runtime::once::{Begin, DONE, NEW, OnceFlag, RUNNING};

use super::{Kind, Lock, is_of_unwinder};
use crate::hooks::look_alike;
use crate::real::{self, Routine};
use crate::world::inside;

const ONCE: Kind = Kind {
    object: "Once",
    words: "once flag",
    size: 4,
};
const PROGRESS: usize = 0;

look_alike! {
    fn pthread_once(once: usize, routine: Routine) -> c_int = run_once;
    fn call_once(once: usize, routine: Routine) = call_once_of_c11;
}

#[inline(always)]
fn begin(once: usize, returns_to: usize) -> (Lock, OnceFlag) {
    let lock = Lock::begin(once, ONCE, returns_to);
    let progress = match u64::from(lock.word(PROGRESS)) {
        progress @ (NEW | RUNNING | DONE) => progress,
        _ => lock.invalid(),
    };
    let object = lock.object(progress);
    let object = lock.current.object_of(object, lock.location);
    (lock, OnceFlag::of(object))
}

fn end(once: usize, progress: u64, returns_to: usize) {
    inside(|| {
        let (lock, flag) = begin(once, returns_to);
        let set = || lock.set_word(PROGRESS, progress as u32);
        match progress {
            DONE => flag.complete(lock.current, lock.location, set),
            _ => {
                flag.give_up(lock.current, lock.location);
                set();
            }
        }
    });
}

/// Gives the initialization up if its routine throws an exception.
struct Running {
    once: usize,
    returns_to: usize,
}

impl Drop for Running {
    fn drop(&mut self) {
        end(self.once, NEW, self.returns_to);
    }
}

unsafe extern "C-unwind" fn run_once(once: usize, routine: Routine, returns_to: usize) -> c_int {
    if is_of_unwinder(once) {
        // SAFETY: the arguments are passed on.
        return unsafe { real::pthread_once(once, routine) };
    }
    let is_first = inside(|| {
        let (lock, flag) = begin(once, returns_to);
        let is_first = flag.begin(lock.current, lock.location) == Begin::Claimed;
        if is_first {
            lock.set_word(PROGRESS, RUNNING as u32);
        }
        is_first
    });
    if is_first {
        let running = Running { once, returns_to };
        // SAFETY: the program has passed it for this.
        unsafe { routine() };
        std::mem::forget(running);
        end(once, DONE, returns_to);
    }
    0
}

unsafe extern "C-unwind" fn call_once_of_c11(flag: usize, routine: Routine, returns_to: usize) {
    // SAFETY: the arguments are passed on.
    unsafe { run_once(flag, routine, returns_to) };
}
