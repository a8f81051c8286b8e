//! What belongs to a thread of the program: values of keys, `errno`, and what has to run when it ends.

use std::ffi::{c_int, c_void};

use fencepost_runtime::Current;

use crate::hooks::look_alike;
use crate::locks::c11;
use crate::state::state;
use crate::threads::call;
use crate::world::inside;

/// A function that gets a value.
type Destructor = usize;

/// What belongs to a thread.
#[derive(Default)]
pub(crate) struct Locals {
    /// The values of keys that are not null.
    values: Vec<(u32, usize)>,
    /// How many keys it has created.
    keys: u32,
    /// The destructors of its thread-local variables, and what they get.
    destructors: Vec<(Destructor, usize)>,
    /// The buffers of `pthread_cleanup_push` in C, the innermost last.
    pub(crate) cleanups: Vec<usize>,
    /// Whether it has looked at a clock.
    pub(crate) has_read_clock: bool,
    /// How many random numbers it has had.
    pub(crate) random_numbers: u64,
    /// Its name, and zeros.
    pub(crate) name: [u8; 16],
}

impl Locals {
    /// Forgets everything, for a new thread.
    pub(crate) fn reset(&mut self) {
        self.values.clear();
        self.keys = 0;
        self.destructors.clear();
        self.cleanups.clear();
        self.has_read_clock = false;
        self.random_numbers = 0;
        self.name = [0; 16];
    }
}

/// The keys of an execution, with their destructors; 0 for none.
#[derive(Default)]
pub(crate) struct Keys {
    execution: u64,
    destructors: Vec<(u32, Destructor)>,
    /// What `atexit` was given.
    at_exit: Vec<(Destructor, usize)>,
}

/// The keys of this execution.
fn keys<R>(f: impl FnOnce(&mut Keys) -> R) -> R {
    let mut state = state();
    let execution = state.execution;
    let keys = &mut state.keys;
    if keys.execution != execution {
        keys.execution = execution;
        keys.destructors.clear();
        keys.at_exit.clear();
    }
    f(keys)
}

/// What belongs to the calling thread.
pub(crate) fn own<R>(f: impl FnOnce(&mut Locals) -> R) -> R {
    let current = Current::get().expect("a thread of the program runs in an execution");
    f(&mut state().threads[current.thread().index()].locals)
}

/// Sets `errno` of the calling thread of the program.
pub(crate) fn set_errno(error: c_int) {
    // SAFETY: it is that of the calling thread.
    unsafe { libc::__errno_location().write(error) };
}

/// How many keys a thread can create.
const KEYS_OF_THREAD: u32 = 1024;
/// The C library gives lower numbers to the keys that constructors create before `main`.
const FIRST_KEY: u32 = 1024;
/// How often values are looked for that destructors have set again.
const ROUNDS: usize = 4;

look_alike! {
    fn pthread_key_create(key: *mut u32, destructor: Destructor) -> c_int = create_key;
    fn pthread_key_delete(key: u32) -> c_int = delete_key;
    fn pthread_getspecific(key: u32) -> usize = value;
    fn pthread_setspecific(key: u32, value: usize) -> c_int = set_value;
    fn tss_create(key: *mut u32, destructor: Destructor) -> c_int = create_key_of_c11;
    fn tss_delete(key: u32) = delete_key_of_c11;
    fn tss_get(key: u32) -> usize = value;
    fn tss_set(key: u32, value: usize) -> c_int = set_value_of_c11;
    fn __cxa_thread_atexit_impl(destructor: Destructor, value: usize, library: *mut c_void) -> c_int = at_thread_exit;
    fn __cxa_thread_atexit(destructor: Destructor, value: usize, library: *mut c_void) -> c_int = at_thread_exit;
    fn __cxa_atexit(destructor: Destructor, value: usize, library: *mut c_void) -> c_int = at_exit;
}

unsafe extern "C-unwind" fn create_key(
    place: *mut u32,
    destructor: Destructor,
    _returns_to: usize,
) -> c_int {
    let key = inside(|| {
        let current = Current::get()?;
        // The number depends on the thread alone, and not on what others do meanwhile.
        let number = own(|own| {
            own.keys += 1;
            own.keys - 1
        });
        if number >= KEYS_OF_THREAD {
            return None;
        }
        let key = FIRST_KEY + current.thread().0 * KEYS_OF_THREAD + number;
        keys(|keys| keys.destructors.push((key, destructor)));
        Some(key)
    });
    match key {
        Some(key) => {
            // SAFETY: the program has passed the place.
            unsafe { place.write(key) };
            0
        }
        None => libc::EAGAIN,
    }
}

unsafe extern "C-unwind" fn delete_key(key: u32, _returns_to: usize) -> c_int {
    inside(|| keys(|keys| keys.destructors.retain(|(other, _)| *other != key)));
    0
}

unsafe extern "C-unwind" fn value(key: u32, _returns_to: usize) -> usize {
    inside(|| {
        own(|own| {
            let value = own.values.iter().find(|(other, _)| *other == key);
            value.map_or(0, |(_, value)| *value)
        })
    })
}

unsafe extern "C-unwind" fn set_value(key: u32, value: usize, _returns_to: usize) -> c_int {
    inside(|| {
        own(|own| {
            own.values.retain(|(other, _)| *other != key);
            if value != 0 {
                own.values.push((key, value));
            }
        });
    });
    0
}

unsafe extern "C-unwind" fn create_key_of_c11(
    place: *mut u32,
    destructor: Destructor,
    returns_to: usize,
) -> c_int {
    // SAFETY: the arguments are passed on.
    c11::result(unsafe { create_key(place, destructor, returns_to) })
}

unsafe extern "C-unwind" fn delete_key_of_c11(key: u32, returns_to: usize) {
    // SAFETY: the argument is passed on.
    unsafe { delete_key(key, returns_to) };
}

unsafe extern "C-unwind" fn set_value_of_c11(key: u32, value: usize, returns_to: usize) -> c_int {
    // SAFETY: the arguments are passed on.
    unsafe { set_value(key, value, returns_to) }
}

unsafe extern "C-unwind" fn at_thread_exit(
    destructor: Destructor,
    value: usize,
    _library: *mut c_void,
    _returns_to: usize,
) -> c_int {
    inside(|| own(|own| own.destructors.push((destructor, value))));
    0
}

unsafe extern "C-unwind" fn at_exit(
    destructor: Destructor,
    value: usize,
    _library: *mut c_void,
    _returns_to: usize,
) -> c_int {
    inside(|| keys(|keys| keys.at_exit.push((destructor, value))));
    0
}

/// Runs the destructors of the thread-local variables of the calling thread, the latest first.
pub(crate) fn drop_variables(current: Current) {
    while let Some((destructor, value)) = own(|own| own.destructors.pop()) {
        call(current, destructor, value);
    }
}

/// Runs the destructors of the keys for which the calling thread has values.
pub(crate) fn drop_values(current: Current) {
    for _ in 0..ROUNDS {
        let mut key = 0;
        let mut was_there_one = false;
        while let Some((next, value)) = own(|own| {
            let later = own.values.iter().filter(|(other, _)| *other >= key);
            later.min().copied()
        }) {
            key = next + 1;
            own(|own| own.values.retain(|(other, _)| *other != next));
            let destructor = keys(|keys| {
                let known = keys.destructors.iter().find(|(other, _)| *other == next);
                known.map_or(0, |(_, destructor)| *destructor)
            });
            if destructor != 0 {
                was_there_one = true;
                call(current, destructor, value);
            }
        }
        if !was_there_one {
            break;
        }
    }
}

/// Runs what was to be run when the program ends, the latest first.
pub(crate) fn run_at_exit(current: Current) {
    while let Some((destructor, value)) = keys(|keys| keys.at_exit.pop()) {
        call(current, destructor, value);
    }
}
