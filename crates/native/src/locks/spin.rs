//! Spin locks. In memory: 1 if it is free, 0 if it is held, as the C library has it on x86.
//!
//! An unlock is a plain store, which may wait in the store buffer.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use fencepost_explore::{Condition, Effect, Intent};
use fencepost_runtime::mutex::{FREE, HELD};
use fencepost_runtime::{Operand, Outcomes, Variable};

use super::{How, Kind, Lock};
use crate::hooks::look_alike;
use crate::world::inside;

const SPIN: Kind = Kind {
    object: "SpinLock",
    words: "spin lock",
    size: 4,
};
const IS_FREE: u32 = 1;
const IS_HELD: u32 = 0;
const DESTROYED: u32 = u32::MAX;

look_alike! {
    fn pthread_spin_init(lock: usize, shared: c_int) -> c_int = init;
    fn pthread_spin_destroy(lock: usize) -> c_int = destroy;
    fn pthread_spin_lock(lock: usize) -> c_int = take_waiting;
    fn pthread_spin_trylock(lock: usize) -> c_int = try_lock;
    fn pthread_spin_unlock(lock: usize) -> c_int = unlock;
}

/// Its memory as a variable. The number of a value is the state of a mutex.
struct Memory(Lock);

impl Variable for Memory {
    type Value = u32;

    fn get(&self) -> u32 {
        self.0.word(0)
    }

    fn set(&self, value: u32) {
        self.0.set_word(0, value);
    }

    fn state(&self, value: u32) -> u64 {
        match value {
            IS_HELD => HELD,
            _ => FREE,
        }
    }

    fn value_of(&self, state: u64) -> u32 {
        match state {
            FREE => IS_FREE,
            _ => IS_HELD,
        }
    }
}

#[inline(always)]
fn begin(lock: usize, returns_to: usize) -> Lock {
    let lock = Lock::begin(lock, SPIN, returns_to);
    if !matches!(lock.word(0), IS_FREE | IS_HELD) {
        lock.invalid();
    }
    lock
}

fn take(lock: usize, how: How, returns_to: usize) -> c_int {
    let lock = begin(lock, returns_to);
    let memory = Memory(lock);
    let object = lock.object_with(memory.state(memory.get()));
    let operand = Operand {
        variable: &memory,
        object,
    };
    operand.bring_up_to_date(lock.current);
    let (effect, awaits) = match how {
        How::Waits => (Effect::Write, Some(Condition::Equals(FREE))),
        How::Tries | How::Until(_) => (Effect::WriteIf(Condition::Equals(FREE)), None),
    };
    let intent = Intent::Access {
        object,
        effect,
        awaits,
    };
    let (current, location) = (lock.current, lock.location);
    let is_taken = current.lock_operation(intent, Outcomes::One, location, |step| {
        let is_free = operand.in_memory(step) != IS_HELD;
        let thread = step.thread();
        if is_free {
            memory.set(IS_HELD);
            step.write_lock(object, HELD);
            step.emit(step.target().lock(object), HELD);
            if let Some(races) = step.races() {
                races.read_modify_write(thread, object, Ordering::Acquire);
            }
        } else {
            step.read(object);
            step.emit(step.target().failed_lock(object), HELD);
        }
        is_free
    });
    match (is_taken, how) {
        (true, _) => 0,
        (false, How::Waits) => current.cannot_wait(),
        (false, _) => libc::EBUSY,
    }
}

unsafe extern "C-unwind" fn init(lock: usize, _shared: c_int, returns_to: usize) -> c_int {
    inside(|| {
        let lock = Lock::begin(lock, SPIN, returns_to);
        lock.clear();
        lock.set_word(0, IS_FREE);
        0
    })
}

unsafe extern "C-unwind" fn destroy(lock: usize, returns_to: usize) -> c_int {
    inside(|| {
        let lock = begin(lock, returns_to);
        let memory = Memory(lock);
        lock.destroy(lock.object_with(memory.state(memory.get())), || {
            lock.set_word(0, DESTROYED);
            None
        })
    })
}

unsafe extern "C-unwind" fn take_waiting(lock: usize, returns_to: usize) -> c_int {
    inside(|| take(lock, How::Waits, returns_to))
}

unsafe extern "C-unwind" fn try_lock(lock: usize, returns_to: usize) -> c_int {
    inside(|| take(lock, How::Tries, returns_to))
}

unsafe extern "C-unwind" fn unlock(lock: usize, returns_to: usize) -> c_int {
    inside(|| {
        let lock = begin(lock, returns_to);
        let memory = Memory(lock);
        let operand = Operand {
            variable: &memory,
            object: lock.object_with(memory.state(memory.get())),
        };
        operand.store(lock.current, IS_FREE, Ordering::Release, lock.location);
        lock.current.note_lock(operand.object);
        0
    })
}
