//! Semaphores. In memory: the value, and whether it was destroyed.

use std::ffi::c_int;

use fencepost_explore::{Condition, Effect, Intent};
use fencepost_memory::Address;
use fencepost_runtime::Outcomes;

use super::{How, Kind, Lock, timed_out};
use crate::hooks::look_alike;
use crate::locals::set_errno;
use crate::time::Deadline;
use crate::world::inside;

const SEMAPHORE: Kind = Kind {
    object: "Semaphore",
    words: "semaphore",
    size: 32,
};
const VALUE: usize = 0;
/// Behind what the C library uses.
const MARK: usize = 16;
const DESTROYED: u32 = u32::MAX;
const MOST: u32 = i32::MAX as u32;

look_alike! {
    fn sem_init(semaphore: usize, shared: c_int, value: u32) -> c_int = init;
    fn sem_destroy(semaphore: usize) -> c_int = destroy;
    fn sem_wait(semaphore: usize) -> c_int = wait;
    fn sem_trywait(semaphore: usize) -> c_int = try_wait;
    fn sem_timedwait(semaphore: usize, until: *const libc::timespec) -> c_int = timed_wait;
    fn sem_clockwait(semaphore: usize, clock: c_int, until: *const libc::timespec) -> c_int = clock_wait;
    fn sem_post(semaphore: usize) -> c_int = post;
    fn sem_getvalue(semaphore: usize, value: *mut c_int) -> c_int = get_value;
}

#[inline(always)]
fn begin(semaphore: usize, returns_to: usize) -> (Lock, Address) {
    let lock = Lock::begin(semaphore, SEMAPHORE, returns_to);
    if lock.word(MARK) == DESTROYED {
        lock.invalid();
    }
    (lock, lock.object(lock.word(VALUE).into()))
}

/// Takes one. Returns an error number, or 0.
fn take(semaphore: usize, how: How, returns_to: usize) -> c_int {
    let (lock, object) = begin(semaphore, returns_to);
    let (effect, awaits) = match how {
        How::Waits => (Effect::Write, Some(Condition::Differs(0))),
        How::Tries | How::Until(_) => (Effect::WriteIf(Condition::Differs(0)), None),
    };
    let intent = Intent::Access {
        object,
        effect,
        awaits,
    };
    let (current, location) = (lock.current, lock.location);
    let is_taken = current.lock_operation(intent, Outcomes::One, location, |step| {
        match step.state(object) {
            0 => {
                step.read(object);
                step.emit(step.target().failed_lock(object), 0);
                false
            }
            value => {
                lock.set_word(VALUE, value as u32 - 1);
                step.write(object, value - 1);
                step.acquire(object);
                step.emit(step.target().lock(object), value - 1);
                true
            }
        }
    });
    match (is_taken, how) {
        (true, _) => 0,
        (false, How::Tries) => libc::EAGAIN,
        (false, How::Until(deadline)) => timed_out(current, deadline, location),
        (false, How::Waits) => current.cannot_wait(),
    }
}

/// What functions of semaphores return.
fn result(error: c_int) -> c_int {
    match error {
        0 => 0,
        error => {
            set_errno(error);
            -1
        }
    }
}

unsafe extern "C-unwind" fn init(
    semaphore: usize,
    _shared: c_int,
    value: u32,
    returns_to: usize,
) -> c_int {
    let error = inside(|| {
        let lock = Lock::begin(semaphore, SEMAPHORE, returns_to);
        if value > MOST {
            return libc::EINVAL;
        }
        lock.clear();
        lock.set_word(VALUE, value);
        0
    });
    result(error)
}

unsafe extern "C-unwind" fn destroy(semaphore: usize, returns_to: usize) -> c_int {
    inside(|| {
        let (lock, object) = begin(semaphore, returns_to);
        lock.destroy(object, || {
            lock.set_word(MARK, DESTROYED);
            None
        })
    })
}

unsafe extern "C-unwind" fn wait(semaphore: usize, returns_to: usize) -> c_int {
    result(inside(|| take(semaphore, How::Waits, returns_to)))
}

unsafe extern "C-unwind" fn try_wait(semaphore: usize, returns_to: usize) -> c_int {
    result(inside(|| take(semaphore, How::Tries, returns_to)))
}

unsafe extern "C-unwind" fn timed_wait(
    semaphore: usize,
    until: *const libc::timespec,
    returns_to: usize,
) -> c_int {
    result(inside(|| {
        take(semaphore, How::Until(Deadline::at(until)), returns_to)
    }))
}

unsafe extern "C-unwind" fn clock_wait(
    semaphore: usize,
    _clock: c_int,
    until: *const libc::timespec,
    returns_to: usize,
) -> c_int {
    result(inside(|| {
        take(semaphore, How::Until(Deadline::at(until)), returns_to)
    }))
}

unsafe extern "C-unwind" fn post(semaphore: usize, returns_to: usize) -> c_int {
    let error = inside(|| {
        let (lock, object) = begin(semaphore, returns_to);
        let intent = Intent::Access {
            object,
            effect: Effect::Write,
            awaits: None,
        };
        let (current, location) = (lock.current, lock.location);
        current.operation(intent, Outcomes::One, location, |step| {
            let value = step.state(object);
            let is_full = value >= u64::from(MOST);
            let after = if is_full { value } else { value + 1 };
            lock.set_word(VALUE, after as u32);
            step.write(object, after);
            step.release(object);
            step.emit(step.target().unlock(object), after);
            if is_full { libc::EOVERFLOW } else { 0 }
        })
    });
    result(error)
}

unsafe extern "C-unwind" fn get_value(
    semaphore: usize,
    place: *mut c_int,
    returns_to: usize,
) -> c_int {
    let value = inside(|| {
        let (lock, object) = begin(semaphore, returns_to);
        let intent = Intent::Access {
            object,
            effect: Effect::Read,
            awaits: None,
        };
        lock.current.load_operation(intent, lock.location, |step| {
            let value = step.read(object);
            step.emit(step.target().load(object), value);
            value
        })
    });
    // SAFETY: the program has passed the place.
    unsafe { place.write(value as c_int) };
    0
}
