//! The functions with which programs for software verifiers speak to them: those of SV-COMP, Nidhugg and GenMC.
//!
//! A program whose assumption does not hold stops there, and the execution does not count against it. What is left open is
//! chosen by the explorer: truth values are, and numbers within the bounds that the user gives.

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

use fencepost_explore::{Condition, Effect, Intent};
use fencepost_memory::Address;
use fencepost_runtime::{Current, FailureKind, LocationRef, Outcomes, ProgramError};

use crate::failures;
use crate::hooks::{hook, ignored};
use crate::operations::{begin, object_at};
use crate::world::outside;

/// The variable with the bounds of open numbers: `0..=3`.
pub const OPEN_VALUES: &str = "FENCEPOST_NONDET";

/// The most numbers between the bounds.
const MOST_VALUES: i64 = 1 << 20;

hook! {
    fn __VERIFIER_assume(condition: c_int) = assume;
    fn __VERIFIER_error() = error;
    fn __VERIFIER_assert(condition: c_int) = assert;
    fn __VERIFIER_assert_fail(assertion: *const c_char, file: *const c_char, line: c_int) = failed_assertion;
    fn __VERIFIER_atomic_begin() = begin_section;
    fn __VERIFIER_atomic_end() = end_section;
    fn __VERIFIER_opt_begin() -> c_int = open_int_of_two;
    fn __VERIFIER_nondet_bool() -> bool = open_bool;
    fn __VERIFIER_nondet_char() -> i8 = open_char;
    fn __VERIFIER_nondet_uchar() -> u8 = open_uchar;
    fn __VERIFIER_nondet_short() -> i16 = open_short;
    fn __VERIFIER_nondet_ushort() -> u16 = open_ushort;
    fn __VERIFIER_nondet_int() -> i32 = open_int;
    fn __VERIFIER_nondet_uint() -> u32 = open_uint;
    fn __VERIFIER_nondet_unsigned() -> u32 = open_uint;
    fn __VERIFIER_nondet_unsigned_int() -> u32 = open_uint;
    fn __VERIFIER_nondet_long() -> i64 = open_long;
    fn __VERIFIER_nondet_longlong() -> i64 = open_long;
    fn __VERIFIER_nondet_loff_t() -> i64 = open_long;
    fn __VERIFIER_nondet_ulong() -> u64 = open_ulong;
    fn __VERIFIER_nondet_ulonglong() -> u64 = open_ulong;
    fn __VERIFIER_nondet_size_t() -> u64 = open_ulong;
    fn __VERIFIER_nondet_float() -> f32 = open_float;
    fn __VERIFIER_nondet_double() -> f64 = open_double;
    fn __VERIFIER_nondet_pointer() -> *mut c_void = open_pointer;
}

// What helps GenMC to explore less: where loops wait, what a write or a compare-exchange is for, where the methods of an
// object begin and end. Fencepost finds out about waits itself, and needs none of the rest.
ignored! {
    __VERIFIER_loop_begin;
    __VERIFIER_spin_start;
    __VERIFIER_spin_end;
    __VERIFIER_annotate_begin;
    __VERIFIER_annotate_end;
    __VERIFIER_method_begin;
    __VERIFIER_method_end;
}

unsafe extern "C" fn assume(condition: c_int, returns_to: usize) {
    if condition == 0 {
        let checked = || {
            let (current, location) = begin(returns_to);
            current.stop_for_assumption(location)
        };
        // Without a check there is nothing else to run.
        outside(checked, || std::process::exit(0));
    }
}

unsafe extern "C" fn error(returns_to: usize) {
    let checked = || {
        begin(returns_to);
        failures::fail(
            FailureKind::VerifierError,
            String::new(),
            failures::place(returns_to),
        )
    };
    outside(checked, || std::process::abort());
}

unsafe extern "C" fn assert(condition: c_int, returns_to: usize) {
    if condition == 0 {
        let checked = || {
            begin(returns_to);
            let message = "__VERIFIER_assert".to_owned();
            failures::fail(FailureKind::Assertion, message, failures::place(returns_to))
        };
        outside(checked, || std::process::abort());
    }
}

unsafe extern "C" fn failed_assertion(
    assertion: *const c_char,
    file: *const c_char,
    line: c_int,
    returns_to: usize,
) {
    // SAFETY: the arguments are passed on.
    unsafe { failures::failed_assertion_of_posix(assertion, file, line, returns_to) };
}

/// The bounds of numbers that the program leaves open.
fn bounds() -> Option<(i64, i64)> {
    static BOUNDS: OnceLock<Option<(i64, i64)>> = OnceLock::new();
    *BOUNDS.get_or_init(|| parse(&std::env::var(OPEN_VALUES).ok()?))
}

/// `0..=3`.
fn parse(text: &str) -> Option<(i64, i64)> {
    let (low, high) = text.split_once("..=")?;
    let (low, high): (i64, i64) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    let is_valid = low <= high && high.checked_sub(low).is_some_and(|most| most < MOST_VALUES);
    is_valid.then_some((low, high))
}

/// A number of a type with these limits, which the program leaves open.
fn open_number(least: i64, greatest: i64, returns_to: usize) -> i64 {
    let checked = || {
        let (current, location) = begin(returns_to);
        let Some((low, high)) = bounds() else {
            no_bounds(current, location)
        };
        current.note_open_value(low, high);
        let (low, high) = (low.max(least), high.min(greatest));
        if low > high {
            no_value(current, location);
        }
        current.open_value(low, high, location)
    };
    outside(checked, || 0)
}

fn no_bounds(current: Current, location: LocationRef) -> ! {
    current.fail(ProgramError::Misuse {
        message: format!(
            "the program leaves a number open (__VERIFIER_nondet), and each value would be tried: say which ones, \
             at most 2^20, by the environment variable {OPEN_VALUES}, such as {OPEN_VALUES}=0..=3"
        ),
        location: Some(location.into()),
    })
}

fn no_value(current: Current, location: LocationRef) -> ! {
    current.fail(ProgramError::Misuse {
        message: format!(
            "the program leaves a number open (__VERIFIER_nondet), and {OPEN_VALUES} has none that its type has"
        ),
        location: Some(location.into()),
    })
}

/// One of two values.
fn open_choice(returns_to: usize) -> bool {
    let checked = || {
        let (current, location) = begin(returns_to);
        current.open_value(0, 1, location) == 1
    };
    outside(checked, || false)
}

unsafe extern "C" fn open_bool(returns_to: usize) -> bool {
    open_choice(returns_to)
}

unsafe extern "C" fn open_int_of_two(returns_to: usize) -> c_int {
    open_choice(returns_to).into()
}

/// Functions that return an open number of a type.
macro_rules! open_numbers {
    ($($name:ident $type:ty;)*) => {
        $(
            unsafe extern "C" fn $name(returns_to: usize) -> $type {
                open_number(<$type>::MIN as i64, i64::try_from(<$type>::MAX).unwrap_or(i64::MAX), returns_to) as $type
            }
        )*
    };
}

open_numbers! {
    open_char i8;
    open_uchar u8;
    open_short i16;
    open_ushort u16;
    open_int i32;
    open_uint u32;
    open_long i64;
    open_ulong u64;
}

/// The type has numbers that are not tried: the program cannot be checked.
fn refuse(what: &'static str, returns_to: usize) {
    let checked = || {
        let (current, location) = begin(returns_to);
        current.fail(ProgramError::Misuse {
            message: format!(
                "the program leaves a {what} open (__VERIFIER_nondet): that cannot be checked"
            ),
            location: Some(location.into()),
        })
    };
    outside(checked, || ());
}

unsafe extern "C" fn open_float(returns_to: usize) -> f32 {
    refuse("floating-point number", returns_to);
    0.0
}

unsafe extern "C" fn open_double(returns_to: usize) -> f64 {
    refuse("floating-point number", returns_to);
    0.0
}

unsafe extern "C" fn open_pointer(returns_to: usize) -> *mut c_void {
    refuse("pointer", returns_to);
    std::ptr::null_mut()
}

/// Its address stands for the lock of atomic sections.
static SECTIONS: u8 = 0;
const FREE: u64 = 0;
const HELD: u64 = 1;

/// The lock of all atomic sections: what the program does in one happens at once for those who do it in one too. Others may
/// see it half done, as they would if the section was not atomic: this may find failures that there are not, but misses none.
fn section_lock(current: Current) -> Address {
    object_at(current, (&raw const SECTIONS).addr(), "Mutex", || FREE)
}

unsafe extern "C" fn begin_section(returns_to: usize) {
    let checked = || {
        let (current, location) = begin(returns_to);
        let lock = section_lock(current);
        let intent = Intent::Access {
            object: lock,
            effect: Effect::Write,
            awaits: Some(Condition::Equals(FREE)),
        };
        current.lock_operation(intent, Outcomes::One, location, |step| {
            step.write_lock(lock, HELD);
            step.acquire(lock);
            step.emit(step.target().lock(lock), HELD);
        });
    };
    outside(checked, || ());
}

unsafe extern "C" fn end_section(returns_to: usize) {
    let checked = || {
        let (current, location) = begin(returns_to);
        let lock = section_lock(current);
        let intent = Intent::Access {
            object: lock,
            effect: Effect::Write,
            awaits: None,
        };
        current.operation(intent, Outcomes::One, location, |step| {
            step.write_lock(lock, FREE);
            step.release(lock);
            step.emit(step.target().unlock(lock), FREE);
        });
    };
    outside(checked, || ());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_a_range_that_is_not_too_large() {
        assert_eq!(parse("0..=3"), Some((0, 3)));
        assert_eq!(parse(" -2 ..= 2"), Some((-2, 2)));
        for wrong in [
            "",
            "3",
            "0..3",
            "3..=0",
            "a..=b",
            "0..=1048576",
            "-9223372036854775808..=9223372036854775807",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        assert_eq!(parse("1..=1048576"), Some((1, 1_048_576)));
    }
}
