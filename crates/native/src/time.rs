//! Time, which passes only when the program reads a clock, or a wait times out.
//!
//! There is one clock for an execution. It begins with the same time in each, and advances by `TICK` whenever a thread reads it. A
//! wait that returns because of its time-out sets it to the deadline, if the thread has read a clock before. To sleep is to let
//! others run, for any time. So a program can be in any order with what others do meanwhile, but does not see all times that would
//! be possible.

use std::ffi::c_int;

use fencepost_explore::{Effect, Intent};
use fencepost_memory::Address;
use fencepost_runtime::{Current, LocationRef, Outcomes};

use crate::hooks::look_alike;
use crate::operations::{begin, object_global};
use crate::state::state;
use crate::threads::yield_here;
use crate::world::inside;

const SECOND: u64 = 1_000_000_000;
/// How much time passes between two looks at a clock, in nanoseconds.
const TICK: u64 = SECOND / 1000;
/// The time of day at the start of an execution, in seconds: 2023-11-14. Other clocks begin with 0.
const START: u64 = 1_700_000_000;

/// A time until which a thread waits.
#[derive(Clone, Copy)]
pub(crate) enum Deadline {
    /// A time of the clock.
    At(u64),
    /// So long.
    After(u64),
}

impl Deadline {
    /// The deadline that the program has passed.
    pub(crate) fn at(time: *const libc::timespec) -> Self {
        let time = nanoseconds(time);
        Deadline::At(time.checked_sub(START * SECOND).unwrap_or(time))
    }

    /// The deadline of a futex operation, if there is one.
    pub(crate) fn of_futex(time: usize, operation: c_int) -> Option<Self> {
        if time == 0 {
            return None;
        }
        let time: *const libc::timespec = std::ptr::with_exposed_provenance(time);
        let is_relative = operation & 0x7f == libc::FUTEX_WAIT;
        Some(match is_relative {
            true => Deadline::After(nanoseconds(time)),
            false => Deadline::at(time),
        })
    }
}

fn nanoseconds(time: *const libc::timespec) -> u64 {
    // SAFETY: the program has passed a time, or nothing.
    let Some(time) = (unsafe { time.as_ref() }) else {
        return 0;
    };
    let (seconds, rest) = (time.tv_sec.max(0) as u64, time.tv_nsec.max(0) as u64);
    seconds.saturating_mul(SECOND).saturating_add(rest)
}

/// Reads the clock, or changes it.
fn change(current: Current, location: LocationRef, change: impl FnOnce(u64) -> u64) -> u64 {
    let object: Address = object_global(current, "clock");
    let intent = Intent::Access {
        object,
        effect: Effect::Write,
        awaits: None,
    };
    current.plain_operation(intent, Outcomes::One, location, |step| {
        let now = change(step.state(object));
        step.write(object, now);
        now
    })
}

/// A wait has ended because of its deadline.
pub(crate) fn pass(current: Current, deadline: Option<Deadline>, location: LocationRef) {
    let has_read = state().threads[current.thread().index()]
        .locals
        .has_read_clock;
    let Some(deadline) = deadline.filter(|_| has_read) else {
        return;
    };
    change(current, location, |now| match deadline {
        Deadline::At(time) => now.max(time),
        Deadline::After(time) => now.saturating_add(time),
    });
}

/// The time now.
fn now(returns_to: usize) -> u64 {
    inside(|| {
        let (current, location) = begin(returns_to);
        state().threads[current.thread().index()]
            .locals
            .has_read_clock = true;
        change(current, location, |now| now.saturating_add(TICK))
    })
}

look_alike! {
    fn clock_gettime(clock: c_int, time: *mut libc::timespec) -> c_int = read;
    fn timespec_get(time: *mut libc::timespec, base: c_int) -> c_int = read_of_c11;
    fn gettimeofday(time: *mut libc::timeval, zone: usize) -> c_int = read_time_of_day;
    fn time(time: *mut libc::time_t) -> libc::time_t = read_seconds;
    fn clock() -> libc::c_long = read_processor_time;
    fn sleep(seconds: u32) -> u32 = sleep_seconds;
    fn usleep(microseconds: u32) -> c_int = sleep_microseconds;
    fn nanosleep(time: usize, rest: usize) -> c_int = sleep_nanoseconds;
    fn clock_nanosleep(clock: c_int, flags: c_int, time: usize, rest: usize) -> c_int = sleep_until;
    fn thrd_sleep(time: usize, rest: usize) -> c_int = sleep_nanoseconds;
}

fn is_time_of_day(clock: c_int) -> bool {
    matches!(
        clock,
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI
    )
}

unsafe extern "C-unwind" fn read(
    clock: c_int,
    time: *mut libc::timespec,
    returns_to: usize,
) -> c_int {
    let now = now(returns_to);
    let start = if is_time_of_day(clock) { START } else { 0 };
    let time_now = libc::timespec {
        tv_sec: (start + now / SECOND) as libc::time_t,
        tv_nsec: (now % SECOND) as libc::c_long,
    };
    // SAFETY: the program has passed the place.
    unsafe { time.write(time_now) };
    0
}

unsafe extern "C-unwind" fn read_of_c11(
    time: *mut libc::timespec,
    base: c_int,
    returns_to: usize,
) -> c_int {
    // SAFETY: the arguments are passed on.
    unsafe { read(libc::CLOCK_REALTIME, time, returns_to) };
    base
}

unsafe extern "C-unwind" fn read_time_of_day(
    time: *mut libc::timeval,
    _zone: usize,
    returns_to: usize,
) -> c_int {
    let now = now(returns_to);
    let time_now = libc::timeval {
        tv_sec: (START + now / SECOND) as libc::time_t,
        tv_usec: (now % SECOND / 1000) as libc::suseconds_t,
    };
    // SAFETY: the program has passed the place.
    unsafe { time.write(time_now) };
    0
}

unsafe extern "C-unwind" fn read_seconds(
    place: *mut libc::time_t,
    returns_to: usize,
) -> libc::time_t {
    let seconds = (START + now(returns_to) / SECOND) as libc::time_t;
    if !place.is_null() {
        // SAFETY: the program has passed the place.
        unsafe { place.write(seconds) };
    }
    seconds
}

unsafe extern "C-unwind" fn read_processor_time(returns_to: usize) -> libc::c_long {
    (now(returns_to) / 1000) as libc::c_long
}

unsafe extern "C-unwind" fn sleep_seconds(_seconds: u32, returns_to: usize) -> u32 {
    inside(|| yield_here(returns_to));
    0
}

unsafe extern "C-unwind" fn sleep_microseconds(_microseconds: u32, returns_to: usize) -> c_int {
    inside(|| yield_here(returns_to));
    0
}

unsafe extern "C-unwind" fn sleep_nanoseconds(
    _time: usize,
    _rest: usize,
    returns_to: usize,
) -> c_int {
    inside(|| yield_here(returns_to));
    0
}

unsafe extern "C-unwind" fn sleep_until(
    _clock: c_int,
    _flags: c_int,
    _time: usize,
    _rest: usize,
    returns_to: usize,
) -> c_int {
    inside(|| yield_here(returns_to));
    0
}
