//! Randomness, which is the same in each execution.
//!
//! `rand` and its relatives have one state, so the order in which threads call them matters. What the kernel would give is
//! different for each thread and each call, and does not depend on the order.

use std::ffi::{c_int, c_long, c_uint};

use fencepost_explore::{Effect, Intent};
use fencepost_memory::random::mix;
use fencepost_runtime::{Current, Outcomes};

use crate::hooks::look_alike;
use crate::operations::{begin, object_global};
use crate::state::state;
use crate::world::inside;

look_alike! {
    fn rand() -> c_int = next;
    fn srand(seed: c_uint) = set_seed;
    fn random() -> c_long = next_long;
    fn srandom(seed: c_uint) = set_seed;
    fn lrand48() -> c_long = next_long;
    fn mrand48() -> c_long = next_signed;
    fn drand48() -> f64 = next_float;
    fn srand48(seed: c_long) = seed_of_48_bits;
    fn getrandom(place: usize, size: usize, flags: c_uint) -> isize = of_kernel;
    fn getentropy(place: usize, size: usize) -> c_int = entropy;
    fn arc4random() -> u32 = word;
    fn arc4random_uniform(bound: u32) -> u32 = word_below;
    fn arc4random_buf(place: usize, size: usize) = buffer;
    // `std::random_device::_M_getval`: the instruction that it would use cannot be seen.
    fn _ZNSt13random_device9_M_getvalEv(device: usize) -> u32 = word_of_cpp;
    fn sched_getcpu() -> c_int = processor;
}

/// Changes the state that threads share, and returns what it was before.
fn change(returns_to: usize, change: impl FnOnce(u64) -> u64) -> u64 {
    inside(|| {
        let (current, location) = begin(returns_to);
        let object = object_global(current, "rand");
        let intent = Intent::Access {
            object,
            effect: Effect::Write,
            awaits: None,
        };
        current.plain_operation(intent, Outcomes::One, location, |step| {
            let before = step.state(object);
            step.write(object, change(before));
            before
        })
    })
}

fn draw(returns_to: usize) -> u64 {
    let increment = |state: u64| state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mix(increment(change(returns_to, increment)))
}

unsafe extern "C-unwind" fn next(returns_to: usize) -> c_int {
    (draw(returns_to) >> 33) as c_int
}

unsafe extern "C-unwind" fn next_long(returns_to: usize) -> c_long {
    (draw(returns_to) >> 33) as c_long
}

unsafe extern "C-unwind" fn next_signed(returns_to: usize) -> c_long {
    c_long::from((draw(returns_to) >> 32) as i32)
}

unsafe extern "C-unwind" fn next_float(returns_to: usize) -> f64 {
    (draw(returns_to) >> 11) as f64 / (1_u64 << 53) as f64
}

unsafe extern "C-unwind" fn set_seed(seed: c_uint, returns_to: usize) {
    change(returns_to, |_| mix(seed.into()));
}

unsafe extern "C-unwind" fn seed_of_48_bits(seed: c_long, returns_to: usize) {
    change(returns_to, |_| mix(seed as u64));
}

/// A number that the calling thread has not had yet in this execution.
fn of_thread() -> u64 {
    let current = Current::get().expect("a thread of the program runs in an execution");
    let thread = current.thread();
    let count = &mut state().threads[thread.index()].locals.random_numbers;
    *count += 1;
    mix(mix(u64::from(thread.0) + 1).wrapping_add(*count))
}

/// Fills memory of the program.
pub(crate) fn fill(place: usize, size: usize) {
    let bytes: *mut u8 = std::ptr::with_exposed_provenance_mut(place);
    for at in (0..size).step_by(8) {
        let number = of_thread().to_ne_bytes();
        // SAFETY: the program has passed memory of this size.
        unsafe {
            bytes
                .add(at)
                .copy_from_nonoverlapping(number.as_ptr(), (size - at).min(8));
        }
    }
}

unsafe extern "C-unwind" fn of_kernel(
    place: usize,
    size: usize,
    _flags: c_uint,
    _returns_to: usize,
) -> isize {
    inside(|| fill(place, size));
    size as isize
}

unsafe extern "C-unwind" fn entropy(place: usize, size: usize, _returns_to: usize) -> c_int {
    inside(|| fill(place, size));
    0
}

unsafe extern "C-unwind" fn buffer(place: usize, size: usize, _returns_to: usize) {
    inside(|| fill(place, size));
}

unsafe extern "C-unwind" fn word(_returns_to: usize) -> u32 {
    inside(of_thread) as u32
}

unsafe extern "C-unwind" fn word_of_cpp(_device: usize, _returns_to: usize) -> u32 {
    inside(of_thread) as u32
}

unsafe extern "C-unwind" fn word_below(bound: u32, _returns_to: usize) -> u32 {
    match bound {
        0 => 0,
        bound => inside(of_thread) as u32 % bound,
    }
}

unsafe extern "C-unwind" fn processor(_returns_to: usize) -> c_int {
    0
}
