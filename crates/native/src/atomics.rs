//! Atomic operations, as compilers call them.

use std::arch::naked_asm;
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};

use fencepost_memory::{Address, ThreadId};
use fencepost_runtime::plain::{AccessKind, MemoryAccess, MemoryFinding};
use fencepost_runtime::{Current, LocationRef, Operand, ProgramError, Step, Variable, fence};

use crate::{failures, memory};

use crate::hooks::hook;
use crate::operations::{begin, variable_at};
use crate::world::{home, outside};

/// The memory of an atomic variable.
#[derive(Clone, Copy)]
pub(crate) struct Memory<W> {
    place: *mut W,
    /// Where the operation returns to.
    returns_to: usize,
    /// Whether its values have a sign.
    has_sign: bool,
}

/// An integer that an atomic variable can have.
pub(crate) trait Word: Copy + PartialEq {
    const SIZE: u8 = size_of::<Self>() as u8;

    fn state(self, has_sign: bool) -> u64;
    fn from_state(state: u64) -> Self;
    /// The operations outside of a check.
    unsafe fn load(place: *mut Self, ordering: Ordering) -> Self;
    unsafe fn store(place: *mut Self, value: Self, ordering: Ordering);
    unsafe fn update(place: *mut Self, change: impl Fn(Self) -> Self) -> Self;
    unsafe fn exchange(place: *mut Self, expected: Self, new: Self) -> Result<Self, Self>;
}

macro_rules! words {
    ($($word:ident $signed:ident $atomic:ident;)*) => {
        $(
            impl Word for $word {
                fn state(self, has_sign: bool) -> u64 {
                    match has_sign {
                        true => self as $signed as u64,
                        false => u64::from(self),
                    }
                }

                fn from_state(state: u64) -> Self {
                    state as $word
                }

                unsafe fn load(place: *mut Self, ordering: Ordering) -> Self {
                    // SAFETY: the program has passed the place of an atomic variable.
                    unsafe { std::sync::atomic::$atomic::from_ptr(place) }.load(ordering)
                }

                unsafe fn store(place: *mut Self, value: Self, ordering: Ordering) {
                    // SAFETY: as above.
                    unsafe { std::sync::atomic::$atomic::from_ptr(place) }.store(value, ordering);
                }

                unsafe fn update(place: *mut Self, change: impl Fn(Self) -> Self) -> Self {
                    // SAFETY: as above.
                    let atomic = unsafe { std::sync::atomic::$atomic::from_ptr(place) };
                    let mut before = atomic.load(Ordering::SeqCst);
                    loop {
                        let new = change(before);
                        match atomic.compare_exchange(before, new, Ordering::SeqCst, Ordering::SeqCst) {
                            Ok(before) => return before,
                            Err(other) => before = other,
                        }
                    }
                }

                unsafe fn exchange(place: *mut Self, expected: Self, new: Self) -> Result<Self, Self> {
                    // SAFETY: as above.
                    unsafe { std::sync::atomic::$atomic::from_ptr(place) }.compare_exchange(
                        expected,
                        new,
                        Ordering::SeqCst,
                        Ordering::SeqCst,
                    )
                }
            }
        )*
    };
}

words! {
    u8 i8 AtomicU8;
    u16 i16 AtomicU16;
    u32 i32 AtomicU32;
    u64 i64 AtomicU64;
}

impl<W: Word> Variable for Memory<W> {
    type Value = W;

    fn get(&self) -> W {
        // SAFETY: the program has passed the place, and runs on this OS thread only.
        unsafe { self.place.read_volatile() }
    }

    fn set(&self, value: W) {
        // SAFETY: as above.
        unsafe { self.place.write_volatile(value) };
    }

    fn state(&self, value: W) -> u64 {
        value.state(self.has_sign)
    }

    fn value_of(&self, state: u64) -> W {
        W::from_state(state)
    }

    fn access(&self, kind: AccessKind) -> Option<MemoryAccess> {
        Some(MemoryAccess {
            address: self.place.addr(),
            place: self.returns_to as u64,
            size: W::SIZE.into(),
            kind,
        })
    }

    fn forbidden(&self, access: &MemoryAccess, thread: ThreadId) -> Option<ProgramError> {
        let wrong = memory::heap().check(access.address, access.size as usize);
        wrong
            .err()
            .map(|wrong| failures::bad_access(thread, access, &wrong))
    }

    fn error(&self, finding: MemoryFinding) -> ProgramError {
        failures::race(finding)
    }
}

/// A word of memory as an atomic variable, for an operation of another kind.
pub(crate) struct AtomicWord {
    memory: Memory<u32>,
    object: Address,
}

/// The word at an address.
pub(crate) fn word_at(current: Current, address: usize, returns_to: usize) -> AtomicWord {
    let place = std::ptr::with_exposed_provenance_mut(address);
    let (memory, object) = Memory::at(place, current, returns_to);
    let word = AtomicWord { memory, object };
    word.operand().bring_up_to_date(current);
    word
}

impl AtomicWord {
    fn operand(&self) -> Operand<'_, Memory<u32>> {
        Operand {
            variable: &self.memory,
            object: self.object,
        }
    }

    /// Its value in a step.
    pub(crate) fn value_in(&self, step: &mut Step<'_>) -> u32 {
        self.operand().in_memory(step)
    }

    /// Records that a step reads it.
    pub(crate) fn read_in(&self, step: &mut Step<'_>) {
        step.read(self.object);
    }
}

/// Exchanges a byte of the program.
pub(crate) fn exchange_byte(
    place: *mut u8,
    value: u8,
    order: Ordering,
    (current, location): (Current, LocationRef),
    returns_to: usize,
) {
    let (memory, object) = Memory::at(place, current, returns_to);
    let operand = Operand {
        variable: &memory,
        object,
    };
    operand.modify(current, order, location, |_| value);
}

/// How the program is about to access a variable by a plain access.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlainAccess {
    Read,
    Write,
    /// It reads, and writes what it makes of that.
    Both,
}

/// A plain access whose operation has been performed, and that the program itself performs next.
#[derive(Clone, Copy)]
pub(crate) enum Unfinished {
    /// The memory has a value that only this access reads. What it had before:
    Read { place: usize, size: u8, value: u64 },
    /// What is written will be there.
    Write {
        place: usize,
        size: u8,
        object: Address,
        has_sign: bool,
    },
}

/// Performs a plain access as an operation. Only the access itself is left to do, and something to
/// [finish](Unfinished::finish) after it.
pub(crate) fn plain_access<W: Word>(
    place: *mut W,
    how: PlainAccess,
    returns_to: usize,
) -> Option<Unfinished> {
    perform(place, returns_to, |operand, current, location| {
        let memory = operand.variable;
        let seen =
            (how != PlainAccess::Write).then(|| operand.load(current, Ordering::Relaxed, location));
        if how != PlainAccess::Read {
            operand.begin_store(current, location);
        }
        let value = memory.get();
        if let Some(seen) = seen.filter(|&seen| seen != value) {
            memory.set(seen);
        }
        match how {
            PlainAccess::Read if memory.get() == value => None,
            PlainAccess::Read => Some(Unfinished::Read {
                place: place.addr(),
                size: W::SIZE,
                value: value.state(false),
            }),
            PlainAccess::Write | PlainAccess::Both => Some(Unfinished::Write {
                place: place.addr(),
                size: W::SIZE,
                object: operand.object,
                has_sign: memory.has_sign,
            }),
        }
    })
}

impl Unfinished {
    /// To be called before the thread does anything else.
    pub(crate) fn finish(self, current: Current) {
        fn in_size<W: Word>(unfinished: Unfinished, current: Current) {
            let (Unfinished::Read { place, .. } | Unfinished::Write { place, .. }) = unfinished;
            let memory = std::ptr::with_exposed_provenance_mut::<W>(place);
            match unfinished {
                // SAFETY: the program has accessed the place since.
                Unfinished::Read { value, .. } => unsafe {
                    memory.write_volatile(W::from_state(value));
                },
                Unfinished::Write {
                    object, has_sign, ..
                } => {
                    // SAFETY: as above.
                    let value = unsafe { memory.read_volatile() };
                    current.finish_store(object, value.state(has_sign));
                }
            }
        }
        let (Unfinished::Read { size, .. } | Unfinished::Write { size, .. }) = self;
        match size {
            1 => in_size::<u8>(self, current),
            2 => in_size::<u16>(self, current),
            4 => in_size::<u32>(self, current),
            _ => in_size::<u64>(self, current),
        }
    }
}

/// The ordering with this number.
fn ordering(number: c_int) -> Ordering {
    // The rest are hints.
    match number & 0x7 {
        0 => Ordering::Relaxed,
        // What compilers make of `consume`.
        1 | 2 => Ordering::Acquire,
        3 => Ordering::Release,
        4 => Ordering::AcqRel,
        _ => Ordering::SeqCst,
    }
}

/// The part of an ordering that a load can have.
fn of_load(ordering: Ordering) -> Ordering {
    match ordering {
        Ordering::Release => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Acquire,
        other => other,
    }
}

/// The part of an ordering that a store can have.
fn of_store(ordering: Ordering) -> Ordering {
    match ordering {
        Ordering::Acquire => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Release,
        other => other,
    }
}

impl<W: Word> Memory<W> {
    /// A variable of the program, and its object.
    #[inline(always)] // It is in the way of every operation.
    pub(crate) fn at(place: *mut W, current: Current, returns_to: usize) -> (Self, Address) {
        // SAFETY: the program has passed the place.
        let value = |has_sign| unsafe { place.read_volatile() }.state(has_sign);
        let known = variable_at(current, place.addr(), W::SIZE, returns_to, value);
        let memory = Memory {
            place,
            returns_to,
            has_sign: known.has_sign,
        };
        (memory, known.object)
    }
}

/// Where the last operation returns to that has touched its variable.
static TOUCHED: AtomicUsize = AtomicUsize::new(0);

/// Reads a byte as a part of the program: if it cannot be read, the program has failed, and not the check.
#[unsafe(naked)]
unsafe extern "C" fn touch_to_read(place: usize, returns_to: usize) {
    naked_asm!(
        "mov qword ptr [rip + {touched}], rsi",
        "movzx eax, byte ptr [rdi]",
        "ret",
        touched = sym TOUCHED,
    );
}

/// Writes a byte that is there, likewise.
#[unsafe(naked)]
unsafe extern "C" fn touch_to_write(place: usize, returns_to: usize) {
    naked_asm!(
        "mov qword ptr [rip + {touched}], rsi",
        "or byte ptr [rdi], 0",
        "ret",
        touched = sym TOUCHED,
    );
}

/// The length of these functions, at most.
const TOUCH: usize = 32;

/// Where the operation returns to that was interrupted at this instruction, while it touched its variable.
pub(crate) fn touching(instruction: usize) -> Option<usize> {
    let functions = [touch_to_read as *const (), touch_to_write as *const ()];
    let is_in =
        |function: &*const ()| (function.addr()..function.addr() + TOUCH).contains(&instruction);
    let is_touching = functions.iter().any(is_in);
    is_touching.then(|| TOUCHED.load(Ordering::Relaxed))
}

/// In a check, fails as the program if the place of a variable is none.
#[inline(always)]
pub(crate) fn touch<W>(place: *mut W, writes: bool, returns_to: usize) {
    if home() == 0 {
        return;
    }
    // SAFETY: the program has passed the place, and runs on this OS thread only. What is written is what is there.
    unsafe {
        match writes {
            true => touch_to_write(place.addr(), returns_to),
            false => touch_to_read(place.addr(), returns_to),
        }
    }
}

/// Performs an operation on a variable of the program.
fn perform<W: Word, R>(
    place: *mut W,
    returns_to: usize,
    operation: impl FnOnce(Operand<'_, Memory<W>>, Current, LocationRef) -> R,
) -> R {
    let (current, location) = begin(returns_to);
    let (memory, object) = Memory::at(place, current, returns_to);
    let operand = Operand {
        variable: &memory,
        object,
    };
    operation(operand, current, location)
}

/// Finds out what an operation has to know of a variable.
pub(crate) extern "C" fn look_up<W: Word>(place: *mut W, returns_to: usize) {
    touch(place, false, returns_to);
    outside(|| perform(place, returns_to, |_, _, _| ()), || ());
}

unsafe extern "C" fn load<W: Word>(place: *mut W, order: c_int, returns_to: usize) -> W {
    let order = of_load(ordering(order));
    touch(place, false, returns_to);
    outside(
        || {
            perform(place, returns_to, |operand, current, location| {
                operand.load(current, order, location)
            })
        },
        // SAFETY: the program has passed the place.
        || unsafe { W::load(place, order) },
    )
}

unsafe extern "C" fn store<W: Word>(place: *mut W, value: W, order: c_int, returns_to: usize) {
    let order = of_store(ordering(order));
    touch(place, true, returns_to);
    outside(
        || {
            perform(place, returns_to, |operand, current, location| {
                operand.store(current, value, order, location);
            });
        },
        // SAFETY: the program has passed the place.
        || unsafe { W::store(place, value, order) },
    );
}

/// A read-modify-write that always writes.
fn modify<W: Word>(place: *mut W, order: c_int, returns_to: usize, change: impl Fn(W) -> W) -> W {
    let order = ordering(order);
    touch(place, true, returns_to);
    outside(
        || {
            perform(place, returns_to, |operand, current, location| {
                operand.modify(current, order, location, &change)
            })
        },
        // SAFETY: the program has passed the place.
        || unsafe { W::update(place, &change) },
    )
}

/// A compare-exchange. Returns the value before.
fn compare<W: Word>(
    place: *mut W,
    values: (W, W),
    orders: (c_int, c_int),
    returns_to: usize,
) -> Result<W, W> {
    let orders = (ordering(orders.0), of_load(ordering(orders.1)));
    touch(place, true, returns_to);
    outside(
        || {
            perform(place, returns_to, |operand, current, location| {
                operand.compare_exchange(current, values, orders, location)
            })
        },
        // SAFETY: the program has passed the place.
        || unsafe { W::exchange(place, values.0, values.1) },
    )
}

/// The functions of a size.
macro_rules! atomic_hooks {
    ($word:ident $module:ident: $load:ident $store:ident $exchange:ident $add:ident $sub:ident $and:ident $or:ident
     $xor:ident $nand:ident $strong:ident $weak:ident $value:ident) => {
        mod $module {
            use super::*;

            type W = $word;

            hook! {
                after look_up::<W>;
                fn $load(place: *mut W, order: c_int) -> W = load::<W>;
                fn $store(place: *mut W, value: W, order: c_int) = store::<W>;
                fn $exchange(place: *mut W, value: W, order: c_int) -> W = exchange;
                fn $add(place: *mut W, value: W, order: c_int) -> W = add;
                fn $sub(place: *mut W, value: W, order: c_int) -> W = sub;
                fn $and(place: *mut W, value: W, order: c_int) -> W = and;
                fn $or(place: *mut W, value: W, order: c_int) -> W = or;
                fn $xor(place: *mut W, value: W, order: c_int) -> W = xor;
                fn $nand(place: *mut W, value: W, order: c_int) -> W = nand;
                fn $strong(place: *mut W, expected: *mut W, new: W, success: c_int, failure: c_int) -> c_int = strong;
                fn $weak(place: *mut W, expected: *mut W, new: W, success: c_int, failure: c_int) -> c_int = strong;
                fn $value(place: *mut W, expected: W, new: W, success: c_int, failure: c_int) -> W = value;
            }

            unsafe extern "C" fn exchange(place: *mut W, value: W, order: c_int, to: usize) -> W {
                modify(place, order, to, |_| value)
            }

            unsafe extern "C" fn add(place: *mut W, value: W, order: c_int, to: usize) -> W {
                modify(place, order, to, |before: W| before.wrapping_add(value))
            }

            unsafe extern "C" fn sub(place: *mut W, value: W, order: c_int, to: usize) -> W {
                modify(place, order, to, |before: W| before.wrapping_sub(value))
            }

            unsafe extern "C" fn and(place: *mut W, value: W, order: c_int, to: usize) -> W {
                modify(place, order, to, |before: W| before & value)
            }

            unsafe extern "C" fn or(place: *mut W, value: W, order: c_int, to: usize) -> W {
                modify(place, order, to, |before: W| before | value)
            }

            unsafe extern "C" fn xor(place: *mut W, value: W, order: c_int, to: usize) -> W {
                modify(place, order, to, |before: W| before ^ value)
            }

            unsafe extern "C" fn nand(place: *mut W, value: W, order: c_int, to: usize) -> W {
                modify(place, order, to, |before: W| !(before & value))
            }

            unsafe extern "C" fn strong(
                place: *mut W,
                expected: *mut W,
                new: W,
                success: c_int,
                failure: c_int,
                to: usize,
            ) -> c_int {
                // SAFETY: the program has passed the place of the expected value, which is its own.
                let wanted = unsafe { expected.read() };
                match compare(place, (wanted, new), (success, failure), to) {
                    Ok(_) => 1,
                    Err(found) => {
                        // SAFETY: as above.
                        unsafe { expected.write(found) };
                        0
                    }
                }
            }

            unsafe extern "C" fn value(
                place: *mut W,
                expected: W,
                new: W,
                success: c_int,
                failure: c_int,
                to: usize,
            ) -> W {
                match compare(place, (expected, new), (success, failure), to) {
                    Ok(before) | Err(before) => before,
                }
            }
        }
    };
}

atomic_hooks!(u8 bytes: __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange __tsan_atomic8_fetch_add
    __tsan_atomic8_fetch_sub __tsan_atomic8_fetch_and __tsan_atomic8_fetch_or __tsan_atomic8_fetch_xor
    __tsan_atomic8_fetch_nand __tsan_atomic8_compare_exchange_strong __tsan_atomic8_compare_exchange_weak
    __tsan_atomic8_compare_exchange_val);
atomic_hooks!(u16 shorts: __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange __tsan_atomic16_fetch_add
    __tsan_atomic16_fetch_sub __tsan_atomic16_fetch_and __tsan_atomic16_fetch_or __tsan_atomic16_fetch_xor
    __tsan_atomic16_fetch_nand __tsan_atomic16_compare_exchange_strong __tsan_atomic16_compare_exchange_weak
    __tsan_atomic16_compare_exchange_val);
atomic_hooks!(u32 words: __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange __tsan_atomic32_fetch_add
    __tsan_atomic32_fetch_sub __tsan_atomic32_fetch_and __tsan_atomic32_fetch_or __tsan_atomic32_fetch_xor
    __tsan_atomic32_fetch_nand __tsan_atomic32_compare_exchange_strong __tsan_atomic32_compare_exchange_weak
    __tsan_atomic32_compare_exchange_val);
atomic_hooks!(u64 doubles: __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange __tsan_atomic64_fetch_add
    __tsan_atomic64_fetch_sub __tsan_atomic64_fetch_and __tsan_atomic64_fetch_or __tsan_atomic64_fetch_xor
    __tsan_atomic64_fetch_nand __tsan_atomic64_compare_exchange_strong __tsan_atomic64_compare_exchange_weak
    __tsan_atomic64_compare_exchange_val);

hook! {
    fn __tsan_atomic_thread_fence(order: c_int) = thread_fence;
    fn __tsan_atomic_signal_fence(order: c_int) = signal_fence;
}

unsafe extern "C" fn thread_fence(order: c_int, returns_to: usize) {
    let order = ordering(order);
    outside(
        || {
            let (current, location) = begin(returns_to);
            if order != Ordering::Relaxed {
                fence(current, order, location);
            }
        },
        || {
            if order != Ordering::Relaxed {
                std::sync::atomic::fence(order);
            }
        },
    );
}

/// It orders nothing but the compiler.
unsafe extern "C" fn signal_fence(_order: c_int, _returns_to: usize) {}
