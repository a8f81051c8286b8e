//! Between the code of the program and that of Fencepost: whose thread-local storage is current.
//!
//! A thread of the program is a coroutine. It has thread-local storage of its own: the block of an OS thread that does
//! nothing else than own it (`blocks`). While its code runs, the thread pointer (the base of `fs`) is that of its block;
//! while Fencepost runs on its behalf, it is that of the worker. So Fencepost's own thread-local values, and what libc
//! keeps for it, are never mixed up with those of the program.
//!
//! One word of each block says which of the two it is: in a block of the program it has the base of the worker's.
//!
//! What Rust's compiler knows about thread-local values of a function is wrong if the thread pointer changes in the
//! middle. So it changes only in [`outside`] and in the assembly of `enter`, and what runs in between is never inlined.

use std::arch::{asm, global_asm};

global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".p2align 3",
    ".globl fencepost_native_home",
    ".hidden fencepost_native_home",
    ".type fencepost_native_home,@tls_object",
    ".size fencepost_native_home, 8",
    "fencepost_native_home:",
    ".zero 8",
    ".previous",
);

/// Whether the processor and the kernel let a program change the base of `fs` by an instruction: any processor since 2012,
/// and Linux since 5.9.
pub(crate) fn is_supported() -> bool {
    /// `HWCAP2_FSGSBASE`
    const FSGSBASE: u64 = 2;
    // SAFETY: it has no preconditions.
    let capabilities = unsafe { libc::getauxval(libc::AT_HWCAP2) };
    capabilities & FSGSBASE != 0
}

/// In a block of the program, the base of the worker's block; 0 in any other.
#[inline(always)]
pub(crate) fn home() -> usize {
    let home;
    // SAFETY: it reads a word of the current block.
    unsafe {
        asm!(
            "mov {home}, qword ptr [rip + fencepost_native_home@GOTTPOFF]",
            "mov {home}, qword ptr fs:[{home}]",
            home = out(reg) home,
            options(nostack, readonly, preserves_flags),
        );
    }
    home
}

/// Makes a block one of the program, for threads that the OS thread with the block `home` runs.
///
/// # Safety
/// The block must be one whose thread does not run.
unsafe fn set_home_of(block: usize, home: usize) {
    let offset: isize;
    // SAFETY: it reads a constant of the process.
    unsafe {
        asm!(
            "mov {offset}, qword ptr [rip + fencepost_native_home@GOTTPOFF]",
            offset = out(reg) offset,
            options(nostack, readonly, preserves_flags),
        );
    }
    let place = std::ptr::with_exposed_provenance_mut::<usize>(block.wrapping_add_signed(offset));
    // SAFETY: the word of the block belongs to this module, and the block is in no use.
    unsafe { place.write(home) };
}

/// Makes the current block one of the program.
pub(crate) fn set_home(home: usize) {
    // SAFETY: it writes the word that belongs to this module.
    unsafe {
        asm!(
            "mov {at}, qword ptr [rip + fencepost_native_home@GOTTPOFF]",
            "mov qword ptr fs:[{at}], {home}",
            at = out(reg) _,
            home = in(reg) home,
            options(nostack, preserves_flags),
        );
    }
}

/// The thread pointer. The first word of a block is its own address.
#[inline(always)]
pub(crate) fn thread_pointer() -> usize {
    let base;
    // SAFETY: on x86-64, glibc has the address of the thread control block there.
    unsafe {
        asm!("mov {}, qword ptr fs:[0]", out(reg) base, options(nostack, readonly, preserves_flags));
    }
    base
}

/// Changes the thread pointer.
///
/// # Safety
/// It must be that of a block that is not in use, and the machine must [have](is_supported) the instruction. The caller
/// must not have looked at thread-local values of the block before, nor look at those of this one after it, as
/// [`outside`] makes sure.
#[inline(always)]
pub(crate) unsafe fn set_thread_pointer(base: usize) {
    // SAFETY: the promise of the caller.
    unsafe { asm!("wrfsbase {}", in(reg) base, options(nostack, preserves_flags)) };
}

/// Runs `checked` as Fencepost if the calling thread is one of the program. Otherwise (before `main`, in an OS thread of
/// Fencepost, without a check) runs `unchecked`.
#[inline(always)]
pub(crate) fn outside<R>(checked: impl FnOnce() -> R, unchecked: impl FnOnce() -> R) -> R {
    let home = home();
    if home == 0 {
        return unchecked();
    }
    let back = thread_pointer();
    // SAFETY: the worker does not run while its coroutine does. `apart` is not inlined, so this function looks at no
    // thread-local values of either block.
    unsafe { set_thread_pointer(home) };
    let result = apart(checked);
    // SAFETY: as above. The coroutine may have been suspended meanwhile, and its block is that of no other.
    unsafe { set_thread_pointer(back) };
    result
}

/// Runs `checked` as Fencepost, for a thread of the program.
#[inline(always)]
pub(crate) fn inside<R>(checked: impl FnOnce() -> R) -> R {
    outside(checked, || {
        unreachable!("only threads of the program come here")
    })
}

#[inline(never)]
fn apart<R>(run: impl FnOnce() -> R) -> R {
    run()
}

/// For a signal handler: makes the worker's block current if a thread of the program was interrupted. Returns whether one
/// was.
pub(crate) fn leave_interrupted() -> bool {
    let home = home();
    if home != 0 {
        // SAFETY: the worker does not run, since its coroutine did. Neither this function nor its caller look at
        // thread-local values.
        unsafe { set_thread_pointer(home) };
    }
    home != 0
}

/// A call into the program, on the stack of its coroutine.
#[repr(C)]
pub(crate) struct Call {
    function: *const (),
    arguments: [usize; 3],
    /// The thread pointers of the program's thread and of the worker.
    block: usize,
    home: usize,
    /// The stack pointer with which it is left.
    stack: usize,
}

impl Call {
    /// A call of a function of the program by the thread with this block.
    pub(crate) fn new(function: *const (), arguments: [usize; 3], block: usize) -> Self {
        Call {
            function,
            arguments,
            block,
            home: 0,
            stack: 0,
        }
    }

    /// Runs it. Returns what the function returns, or what [`leave`](Self::leave) is given.
    ///
    /// # Safety
    /// The function must be one of the program with such parameters, and the block one that no other coroutine has.
    /// `self` must not move, and frames between this one and a call of `leave` are given up.
    #[inline(never)]
    pub(crate) unsafe fn run(&mut self) -> usize {
        self.home = thread_pointer();
        // Checks run executions on several OS threads, one after the other.
        // SAFETY: the block is that of this thread of the program, which does not run yet.
        unsafe { set_home_of(self.block, self.home) };
        // SAFETY: the promise of the caller. The assembly keeps what a function has to keep.
        unsafe { enter(self) }
    }

    /// Leaves a running call from a function that the program has called, as if its function had returned this.
    ///
    /// # Safety
    /// The call must be running on this stack, and Fencepost be running on its behalf.
    pub(crate) unsafe fn leave(call: *mut Call, result: usize) -> ! {
        // SAFETY: the promise of the caller.
        unsafe { leave(call, result) }
    }
}

unsafe extern "C" {
    #[link_name = "fencepost_native_enter"]
    unsafe fn enter(call: *mut Call) -> usize;
    #[link_name = "fencepost_native_leave"]
    unsafe fn leave(call: *mut Call, result: usize) -> !;
}

// The offsets in `Call`: function 0, arguments 8, 16, 24, block 32, home 40, stack 48. What `enter` leaves on the stack is
// the address of the call. There is no information for unwinding: an exception that nobody has caught ends here.
global_asm!(
    ".text",
    ".p2align 4",
    ".type fencepost_native_enter,@function",
    ".hidden fencepost_native_enter",
    ".globl fencepost_native_enter",
    "fencepost_native_enter:",
    "push rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "push rdi",
    "mov [rdi + 48], rsp",
    "mov r11, [rdi]",
    "mov rsi, [rdi + 16]",
    "mov rdx, [rdi + 24]",
    "mov rax, [rdi + 32]",
    "wrfsbase rax",
    "mov rdi, [rdi + 8]",
    // What the last execution has left on this stack must not look like a part of the state.
    "cmp byte ptr [rip + {clears}], 0",
    "je 3f",
    "lea rax, [rsp - 8192]",
    "pxor xmm0, xmm0",
    "2:",
    "movups xmmword ptr [rax], xmm0",
    "add rax, 16",
    "cmp rax, rsp",
    "jb 2b",
    "3:",
    "xor ebp, ebp",
    "xor ebx, ebx",
    "xor r12d, r12d",
    "xor r13d, r13d",
    "xor r14d, r14d",
    "xor r15d, r15d",
    "call r11",
    "pop rdi",
    "mov rdx, [rdi + 40]",
    "wrfsbase rdx",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    "ret",
    ".size fencepost_native_enter, . - fencepost_native_enter",
    // The worker's block is current already.
    ".p2align 4",
    ".type fencepost_native_leave,@function",
    ".hidden fencepost_native_leave",
    ".globl fencepost_native_leave",
    "fencepost_native_leave:",
    "mov rax, rsi",
    "mov rsp, [rdi + 48]",
    "pop rdi",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    "ret",
    ".size fencepost_native_leave, . - fencepost_native_leave",
    clears = sym crate::operations::CLEARS_STACK,
);
