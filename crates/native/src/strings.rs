//! Functions of the C library that read and write memory on behalf of the program: of bytes and of texts.
//!
//! The C library is not instrumented. What it is asked to access is noted here, as if the program did it, and done by the C
//! library itself.

use std::ffi::{c_char, c_int, c_void};

use fencepost_runtime::plain::AccessKind::{Read, Write};

use crate::accesses;
use crate::hooks::{hook, look_alike};
use crate::real::real;
use crate::state::state;
use crate::world::home;

type Bytes = *mut c_void;
type Text = *mut c_char;

/// Declares functions, each with what it accesses.
macro_rules! memory_functions {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty { $($kind:ident $place:expr, $size:expr;)* })*) => {
        look_alike! {
            $(fn $name($($argument: $type),*) -> $result = noted::$name;)*
        }
        /// The functions of the C library.
        mod behind {
            use super::*;
            real! {
                $(fn $name($($argument: $type),*) -> $result;)*
            }
        }
        /// The functions for threads of a checked program.
        mod noted {
            use super::*;
            $(
                pub(super) unsafe extern "C-unwind" fn $name($($argument: $type,)* returns_to: usize) -> $result {
                    if is_of_program(returns_to) {
                        $(accesses::add_of_library($place.addr(), $size, $kind, returns_to);)*
                    }
                    // SAFETY: the promise of the program.
                    unsafe { behind::$name($($argument),*) }
                }
            )*
        }
    };
}

memory_functions! {
    fn memcpy(to: Bytes, from: Bytes, size: usize) -> Bytes { Read from, size; Write to, size; }
    fn memmove(to: Bytes, from: Bytes, size: usize) -> Bytes { Read from, size; Write to, size; }
    fn mempcpy(to: Bytes, from: Bytes, size: usize) -> Bytes { Read from, size; Write to, size; }
    fn memset(to: Bytes, byte: c_int, size: usize) -> Bytes { Write to, size; }
    fn bzero(to: Bytes, size: usize) -> () { Write to, size; }
    fn explicit_bzero(to: Bytes, size: usize) -> () { Write to, size; }
    fn bcopy(from: Bytes, to: Bytes, size: usize) -> () { Read from, size; Write to, size; }
    fn memcmp(one: Bytes, other: Bytes, size: usize) -> c_int { Read one, size; Read other, size; }
    fn bcmp(one: Bytes, other: Bytes, size: usize) -> c_int { Read one, size; Read other, size; }
    fn memchr(from: Bytes, byte: c_int, size: usize) -> Bytes { Read from, until_byte(from, byte, size); }
    fn memrchr(from: Bytes, byte: c_int, size: usize) -> Bytes { Read from, size; }

    fn strlen(from: Text) -> usize { Read from, whole(from); }
    fn strnlen(from: Text, most: usize) -> usize { Read from, at_most(from, most); }
    fn strcpy(to: Text, from: Text) -> Text { Read from, whole(from); Write to, whole(from); }
    fn stpcpy(to: Text, from: Text) -> Text { Read from, whole(from); Write to, whole(from); }
    fn strncpy(to: Text, from: Text, size: usize) -> Text { Read from, at_most(from, size); Write to, size; }
    fn stpncpy(to: Text, from: Text, size: usize) -> Text { Read from, at_most(from, size); Write to, size; }
    fn strcat(to: Text, from: Text) -> Text {
        Read to, whole(to); Read from, whole(from); Write end_of(to), whole(from);
    }
    fn strncat(to: Text, from: Text, most: usize) -> Text {
        Read to, whole(to); Read from, at_most(from, most);
        Write end_of(to), at_most(from, most.saturating_add(1));
    }
    fn strcmp(one: Text, other: Text) -> c_int {
        Read one, until_difference(one, other, usize::MAX); Read other, until_difference(one, other, usize::MAX);
    }
    fn strncmp(one: Text, other: Text, most: usize) -> c_int {
        Read one, until_difference(one, other, most); Read other, until_difference(one, other, most);
    }
    fn strcasecmp(one: Text, other: Text) -> c_int { Read one, whole(one); Read other, whole(other); }
    fn strncasecmp(one: Text, other: Text, most: usize) -> c_int {
        Read one, at_most(one, most); Read other, at_most(other, most);
    }
    fn strchr(from: Text, byte: c_int) -> Text { Read from, until_byte(from.cast(), byte, whole(from)); }
    fn strchrnul(from: Text, byte: c_int) -> Text { Read from, until_byte(from.cast(), byte, whole(from)); }
    fn strrchr(from: Text, byte: c_int) -> Text { Read from, whole(from); }
    fn strstr(from: Text, part: Text) -> Text { Read from, whole(from); Read part, whole(part); }
    fn strdup(from: Text) -> Text { Read from, whole(from); }
    fn strndup(from: Text, most: usize) -> Text { Read from, at_most(from, most); }

    // What these are with `_FORTIFY_SOURCE`.
    fn __memcpy_chk(to: Bytes, from: Bytes, size: usize, room: usize) -> Bytes { Read from, size; Write to, size; }
    fn __memmove_chk(to: Bytes, from: Bytes, size: usize, room: usize) -> Bytes { Read from, size; Write to, size; }
    fn __mempcpy_chk(to: Bytes, from: Bytes, size: usize, room: usize) -> Bytes { Read from, size; Write to, size; }
    fn __memset_chk(to: Bytes, byte: c_int, size: usize, room: usize) -> Bytes { Write to, size; }
    fn __strcpy_chk(to: Text, from: Text, room: usize) -> Text { Read from, whole(from); Write to, whole(from); }
    fn __stpcpy_chk(to: Text, from: Text, room: usize) -> Text { Read from, whole(from); Write to, whole(from); }
    fn __strncpy_chk(to: Text, from: Text, size: usize, room: usize) -> Text {
        Read from, at_most(from, size); Write to, size;
    }
    fn __strcat_chk(to: Text, from: Text, room: usize) -> Text {
        Read to, whole(to); Read from, whole(from); Write end_of(to), whole(from);
    }

    fn read(descriptor: c_int, to: Bytes, size: usize) -> isize { Write to, size; }
    fn fread(to: Bytes, size: usize, count: usize, file: Bytes) -> usize { Write to, size.saturating_mul(count); }
    fn fwrite(from: Bytes, size: usize, count: usize, file: Bytes) -> usize {
        Read from, size.saturating_mul(count);
    }
    fn fputs(from: Text, file: Bytes) -> c_int { Read from, whole(from); }
    fn puts(from: Text) -> c_int { Read from, whole(from); }
}

hook! {
    // What compilers since clang 15 call instead.
    fn __tsan_memcpy(to: Bytes, from: Bytes, size: usize) -> Bytes = copied;
    fn __tsan_memmove(to: Bytes, from: Bytes, size: usize) -> Bytes = moved;
    fn __tsan_memset(to: Bytes, byte: c_int, size: usize) -> Bytes = filled;
}

unsafe extern "C" fn copied(to: Bytes, from: Bytes, size: usize, returns_to: usize) -> Bytes {
    match home() {
        // SAFETY: the promise of the program.
        0 => unsafe { behind::memcpy(to, from, size) },
        // SAFETY: the promise of the program.
        _ => unsafe { noted::memcpy(to, from, size, returns_to) },
    }
}

unsafe extern "C" fn moved(to: Bytes, from: Bytes, size: usize, returns_to: usize) -> Bytes {
    match home() {
        // SAFETY: the promise of the program.
        0 => unsafe { behind::memmove(to, from, size) },
        // SAFETY: the promise of the program.
        _ => unsafe { noted::memmove(to, from, size, returns_to) },
    }
}

unsafe extern "C" fn filled(to: Bytes, byte: c_int, size: usize, returns_to: usize) -> Bytes {
    match home() {
        // SAFETY: the promise of the program.
        0 => unsafe { behind::memset(to, byte, size) },
        // SAFETY: the promise of the program.
        _ => unsafe { noted::memset(to, byte, size, returns_to) },
    }
}

/// Whether a call is one of the program's own code: what libraries do is their own business.
fn is_of_program(returns_to: usize) -> bool {
    state().code.contains(&returns_to)
}

/// The size of a text, with the zero at its end.
fn whole(text: Text) -> usize {
    // SAFETY: the program has passed a text.
    unsafe { behind::strlen(text) }.saturating_add(1)
}

/// How much of a text is read if at most so many bytes are.
fn at_most(text: Text, most: usize) -> usize {
    // SAFETY: the program has passed a text, or at least so many bytes.
    unsafe { behind::strnlen(text, most) }
        .saturating_add(1)
        .min(most)
}

/// The zero at the end of a text.
fn end_of(text: Text) -> Text {
    text.wrapping_add(whole(text) - 1)
}

/// How much is read by a search for a byte.
fn until_byte(from: Bytes, byte: c_int, size: usize) -> usize {
    // SAFETY: the program has passed as many bytes as a search for this byte reads.
    let found = unsafe { behind::memchr(from, byte, size) };
    match found.is_null() {
        true => size,
        false => found.addr() - from.addr() + 1,
    }
}

/// How much of two texts is read by a comparison of them.
fn until_difference(one: Text, other: Text, most: usize) -> usize {
    let mut length = 0;
    while length < most {
        // SAFETY: the program has passed texts, which have been equal and without an end so far.
        let (a, b) = unsafe {
            (
                one.add(length).read_volatile(),
                other.add(length).read_volatile(),
            )
        };
        length += 1;
        if a != b || a == 0 {
            break;
        }
    }
    length
}
