//! The boundary between the code of the program and that of Fencepost, on the stack of a thread.
//!
//! [`cross`] runs a function of Fencepost so that everything that the program can depend on lies
//! above one address: its stack frames, the return address, the operands of the operation, and the
//! registers that a function has to preserve, which are pushed first. Two visits of the same
//! operation with the same bytes between that address and the base of the stack are in the same
//! state, as far as the thread's own memory goes.
//!
//! What `cross` calls is out of line and works below that address, so what Fencepost itself keeps
//! there (numbers of steps, clocks) is not compared.
#![allow(unsafe_code)] // Assembly, and the closure is passed by pointer.

use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{Range, RangeFrom};

/// Whether states of threads can be compared on this platform.
pub(crate) const IS_SUPPORTED: bool = cfg!(all(
    any(target_os = "linux", target_os = "macos"),
    any(target_arch = "x86_64", target_arch = "aarch64")
));

/// The lowest address of what belongs to the program on the stack of the calling thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Frame {
    lowest: *const u8,
    /// What was passed to [`cross`]: the operands of the operation.
    operands: *const u8,
    operands_size: usize,
}

/// Parts of a state, as distances from its first byte.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Parts {
    pub(crate) registers: [Range<usize>; 2],
    /// Everything above what is pushed.
    pub(crate) frames: RangeFrom<usize>,
}

impl Frame {
    /// The address as a number.
    #[inline]
    pub(crate) fn address(self) -> usize {
        self.lowest.addr()
    }

    /// Where the operands are in a state, as distances from its first byte.
    pub(crate) fn operands(self) -> Range<usize> {
        let first = self.operands.addr() - self.address();
        first..first + self.operands_size
    }

    /// Where the parts of a state are.
    pub(crate) fn parts() -> Parts {
        Parts {
            registers: REGISTERS.map(|words| words.start * WORD..words.end * WORD),
            frames: PUSHED * WORD..,
        }
    }

    /// What belongs to the program on the stack, which ends at `base`.
    ///
    /// # Safety
    /// The frame must be that of a running [`cross`] on a stack with that base, and nobody may
    /// write to that part of it while the slice is in use.
    #[inline]
    pub(crate) unsafe fn state<'a>(self, base: usize) -> &'a [u8] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.lowest, base - self.address()) }
    }

    /// A hash of the registers and of the return address. Equal states have equal hashes.
    ///
    /// # Safety
    /// The frame must be that of a running [`cross`].
    #[inline]
    pub(crate) unsafe fn hash(self) -> u64 {
        // SAFETY: the assembly below has pushed them there.
        let words = unsafe { &*self.lowest.cast::<[u64; PUSHED]>() };
        let fold = |hash: u64, word: &u64| hash.rotate_left(9) ^ word;
        words.iter().fold(self.address() as u64, fold)
    }
}

/// Calls `function` with the frame of the caller.
#[inline(always)] // So that the operands are in the frame of the caller.
pub(crate) fn cross<R>(function: impl FnOnce(Frame) -> R) -> R {
    struct Call<F, R> {
        function: ManuallyDrop<F>,
        result: MaybeUninit<R>,
    }

    extern "C-unwind" fn run<F: FnOnce(Frame) -> R, R>(call: *mut u8, frame: *const u8) {
        let at = Frame {
            lowest: frame,
            operands: call,
            operands_size: size_of::<Call<F, R>>(),
        };
        // SAFETY: `cross` passes its own call, which it does not use meanwhile.
        let call = unsafe { &mut *call.cast::<Call<F, R>>() };
        // SAFETY: this is the only place where it is taken, and it runs once per call.
        let function = unsafe { ManuallyDrop::take(&mut call.function) };
        call.result.write(function(at));
    }

    fn run_of<F: FnOnce(Frame) -> R, R>(_: &F) -> extern "C-unwind" fn(*mut u8, *const u8) {
        run::<F, R>
    }

    let run = run_of(&function);
    let mut call = Call {
        function: ManuallyDrop::new(function),
        // What the last call left here would make two visits differ.
        result: MaybeUninit::zeroed(),
    };
    let pointer: *mut u8 = (&raw mut call).cast();
    // SAFETY: `run` has the types of the call.
    unsafe { enter(pointer, run) };
    // SAFETY: `run` has returned, so it has written the result, which is read once.
    let result = unsafe { call.result.assume_init_read() };
    // SAFETY: it is a local variable that is not used any more, and nothing in it is dropped.
    unsafe { (&raw mut call).write_bytes(0, 1) };
    // SAFETY: it does nothing; the compiler has to assume that it reads what was written.
    unsafe { std::arch::asm!("/* {} */", in(reg) pointer, options(nostack, preserves_flags)) };
    result
}

#[cfg(all(
    any(target_os = "linux", target_os = "macos"),
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
unsafe extern "C-unwind" {
    /// Pushes the registers that a function preserves, and calls `run` with `call` and the address
    /// of what was pushed.
    #[link_name = "fencepost_runtime_enter"]
    unsafe fn enter(call: *mut u8, run: extern "C-unwind" fn(*mut u8, *const u8));
}

/// Clears the stack below the caller's frame, so that what earlier calls have left there is not in
/// the frames of an operation that is performed next.
#[cfg(all(
    any(target_os = "linux", target_os = "macos"),
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#[inline(always)] // The frame is that of the program.
pub(crate) fn clear_below() {
    unsafe extern "C" {
        #[link_name = "fencepost_runtime_clear_below"]
        fn clear();
    }
    // SAFETY: nothing is below the frame of a function that calls no other. The stack has room, or
    // it ends in a guard page.
    unsafe { clear() };
}

/// Does nothing: states are not compared here.
#[cfg(not(all(
    any(target_os = "linux", target_os = "macos"),
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
pub(crate) fn clear_below() {}

#[cfg(not(all(
    any(target_os = "linux", target_os = "macos"),
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
#[inline(never)]
unsafe fn enter(call: *mut u8, run: extern "C-unwind" fn(*mut u8, *const u8)) {
    run(call, std::ptr::null());
}

/// The size of what is pushed at once, in bytes.
pub(crate) const WORD: usize = size_of::<u64>();

/// The number of words that are pushed, with the return address.
#[cfg(target_arch = "x86_64")]
const PUSHED: usize = 7;
/// The number of words that are pushed, with the return address.
#[cfg(not(target_arch = "x86_64"))]
const PUSHED: usize = 20;

/// Which of the words are registers, and not the return address.
#[cfg(target_arch = "x86_64")]
const REGISTERS: [Range<usize>; 2] = [0..6, 7..7];
/// Which of the words are registers, and not the return address.
#[cfg(not(target_arch = "x86_64"))]
const REGISTERS: [Range<usize>; 2] = [0..1, 2..20];

/// The start and end of a hidden function. What follows the name is its body.
#[cfg(target_os = "linux")]
macro_rules! function {
    ($name:literal, $($line:literal),* $(,)?) => {
        std::arch::global_asm!(
            ".text",
            ".p2align 4",
            concat!(".globl ", $name),
            concat!(".hidden ", $name),
            concat!(".type ", $name, ",@function"),
            concat!($name, ":"),
            ".cfi_startproc",
            $($line,)*
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
        );
    };
}

/// The start and end of a hidden function. What follows the name is its body.
#[cfg(target_os = "macos")]
macro_rules! function {
    ($name:literal, $($line:literal),* $(,)?) => {
        std::arch::global_asm!(
            ".text",
            ".p2align 4",
            concat!(".globl _", $name),
            concat!(".private_extern _", $name),
            concat!("_", $name, ":"),
            ".cfi_startproc",
            $($line,)*
            ".cfi_endproc",
        );
    };
}

#[cfg(all(any(target_os = "linux", target_os = "macos"), target_arch = "x86_64"))]
function!(
    "fencepost_runtime_enter",
    "push rbp",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_rel_offset rbp, 0",
    "push rbx",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_rel_offset rbx, 0",
    "push r12",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_rel_offset r12, 0",
    "push r13",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_rel_offset r13, 0",
    "push r14",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_rel_offset r14, 0",
    "push r15",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_rel_offset r15, 0",
    "mov rax, rsi",
    "mov rsi, rsp",
    "sub rsp, 8",
    ".cfi_adjust_cfa_offset 8",
    "call rax",
    "add rsp, 8",
    ".cfi_adjust_cfa_offset -8",
    "pop r15",
    ".cfi_adjust_cfa_offset -8",
    "pop r14",
    ".cfi_adjust_cfa_offset -8",
    "pop r13",
    ".cfi_adjust_cfa_offset -8",
    "pop r12",
    ".cfi_adjust_cfa_offset -8",
    "pop rbx",
    ".cfi_adjust_cfa_offset -8",
    "pop rbp",
    ".cfi_adjust_cfa_offset -8",
    "ret",
);

#[cfg(all(any(target_os = "linux", target_os = "macos"), target_arch = "aarch64"))]
function!(
    "fencepost_runtime_enter",
    "stp x29, x30, [sp, #-160]!",
    ".cfi_def_cfa_offset 160",
    ".cfi_offset w29, -160",
    ".cfi_offset w30, -152",
    "stp x19, x20, [sp, #16]",
    ".cfi_offset w19, -144",
    ".cfi_offset w20, -136",
    "stp x21, x22, [sp, #32]",
    ".cfi_offset w21, -128",
    ".cfi_offset w22, -120",
    "stp x23, x24, [sp, #48]",
    ".cfi_offset w23, -112",
    ".cfi_offset w24, -104",
    "stp x25, x26, [sp, #64]",
    ".cfi_offset w25, -96",
    ".cfi_offset w26, -88",
    "stp x27, x28, [sp, #80]",
    ".cfi_offset w27, -80",
    ".cfi_offset w28, -72",
    "stp d8, d9, [sp, #96]",
    ".cfi_offset b8, -64",
    ".cfi_offset b9, -56",
    "stp d10, d11, [sp, #112]",
    ".cfi_offset b10, -48",
    ".cfi_offset b11, -40",
    "stp d12, d13, [sp, #128]",
    ".cfi_offset b12, -32",
    ".cfi_offset b13, -24",
    "stp d14, d15, [sp, #144]",
    ".cfi_offset b14, -16",
    ".cfi_offset b15, -8",
    "mov x2, x1",
    "mov x1, sp",
    "blr x2",
    "ldp d14, d15, [sp, #144]",
    "ldp d12, d13, [sp, #128]",
    "ldp d10, d11, [sp, #112]",
    "ldp d8, d9, [sp, #96]",
    "ldp x27, x28, [sp, #80]",
    "ldp x25, x26, [sp, #64]",
    "ldp x23, x24, [sp, #48]",
    "ldp x21, x22, [sp, #32]",
    "ldp x19, x20, [sp, #16]",
    "ldp x29, x30, [sp], #160",
    ".cfi_def_cfa_offset 0",
    "ret",
);

#[cfg(all(any(target_os = "linux", target_os = "macos"), target_arch = "x86_64"))]
function!(
    "fencepost_runtime_clear_below",
    "lea rdi, [rsp - 4096]",
    "mov ecx, 512",
    "xor eax, eax",
    "rep stosq",
    "ret",
);

#[cfg(all(any(target_os = "linux", target_os = "macos"), target_arch = "aarch64"))]
function!(
    "fencepost_runtime_clear_below",
    "mov x1, sp",
    "sub x0, x1, #1, lsl #12",
    "2:",
    "stp xzr, xzr, [x0], #16",
    "cmp x0, x1",
    "b.lo 2b",
    "ret",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_and_panics_pass_the_boundary() {
        let text = String::from("operand");
        let length = cross(|frame| {
            assert!(!IS_SUPPORTED || frame.address() != 0);
            text.len()
        });
        assert_eq!(length, 7);
        let dropped = std::cell::Cell::new(0);
        struct Drops<'a>(&'a std::cell::Cell<u32>);
        impl Drop for Drops<'_> {
            fn drop(&mut self) {
                self.0.set(self.0.get() + 1);
            }
        }
        let guard = Drops(&dropped);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _outer = Drops(&dropped);
            cross::<()>(move |_| {
                let _inner = guard;
                panic!("inside")
            });
        }));
        assert!(result.is_err());
        assert_eq!(dropped.get(), 2, "what was on the stack was dropped, once");
    }
}
