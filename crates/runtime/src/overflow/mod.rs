//! Stack overflow: a thread that overflows its stack fails the execution instead of killing the
//! process.
//!
//! Below every stack are a reserve and a guard page (see `stack`). A fault there, while the stack's
//! coroutine is running, makes the coroutine return. Destructors do not run for what was on its
//! stack; the execution is over anyway. Every other fault goes to the handler that was installed
//! before ours, after a line that names the thread of the program.
//!
//! Some code must not be left in the middle, since it may hold a lock that others wait for: that of
//! the C library (the allocator, above all), and that of this crate while it has borrowed the
//! execution. If such code faults in the reserve, it gets the page and goes on, and the coroutine
//! returns when that code is done:
//!
//! - On x86-64 it goes on instruction by instruction, until it is left.
//! - If that is not possible (on aarch64, or before some system calls), until the next fault
//!   outside of such code, or the next time that the thread is suspended.
//!
//! In the guard page there is nothing left to go on with, and the coroutine returns in any case.
#![allow(unsafe_code)] // Signals.

/// Installs the handler, once, and gives this OS thread a stack to run it on.
pub(crate) fn install_handler() {
    #[cfg(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ))]
    linux::install();
}

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod library;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod registers;

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod linux {
    use std::fmt::Write;
    use std::mem::MaybeUninit;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    use corosensei::trap::CoroutineTrapHandler;
    use libc::{c_int, c_void, siginfo_t, ucontext_t};

    use super::super::coroutine::End;
    use super::super::current::{interrupted_execution, is_lent};
    use super::super::execution::Execution;
    use super::super::stack::{Below, open_page};
    use super::super::threads::ThreadSlot;
    use super::{library, registers};

    type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

    /// The actions for SIGSEGV and SIGTRAP before ours.
    static BEFORE_FAULT: OnceLock<libc::sigaction> = OnceLock::new();
    #[cfg(target_arch = "x86_64")]
    static BEFORE_TRAP: OnceLock<libc::sigaction> = OnceLock::new();

    /// The stack of the handler, if `std` did not create the OS thread.
    struct AlternateStack(#[allow(dead_code)] Vec<u8>);

    impl Drop for AlternateStack {
        fn drop(&mut self) {
            let disabled = libc::stack_t {
                ss_sp: std::ptr::null_mut(),
                ss_flags: libc::SS_DISABLE,
                ss_size: 0,
            };
            // SAFETY: the structure is complete, and no handler is running on this OS thread.
            unsafe { libc::sigaltstack(&disabled, std::ptr::null_mut()) };
        }
    }

    thread_local! {
        static ALTERNATE_STACK: Option<AlternateStack> = make_alternate_stack();
    }

    pub(super) fn install() {
        ALTERNATE_STACK.with(|_| ());
        library::find();
        #[cfg(target_arch = "x86_64")]
        BEFORE_TRAP.get_or_init(|| set_handler(libc::SIGTRAP, handle_trap));
        BEFORE_FAULT.get_or_init(|| set_handler(libc::SIGSEGV, handle_fault));
    }

    /// Sets the handler of a signal, and returns the action before.
    fn set_handler(signal: c_int, handler: Handler) -> libc::sigaction {
        // SAFETY: the handler has the signature that goes with SA_SIGINFO, and all parts of the
        // structures that are read are initialized.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut action.sa_mask);
            let mut previous = MaybeUninit::<libc::sigaction>::zeroed();
            libc::sigaction(signal, &action, previous.as_mut_ptr());
            previous.assume_init()
        }
    }

    fn make_alternate_stack() -> Option<AlternateStack> {
        // SAFETY: both structures are complete, and the memory lives until the OS thread's end.
        unsafe {
            let mut present = MaybeUninit::<libc::stack_t>::zeroed();
            if libc::sigaltstack(std::ptr::null(), present.as_mut_ptr()) != 0
                || present.assume_init().ss_flags & libc::SS_DISABLE == 0
            {
                return None;
            }
            let mut memory = vec![0_u8; 64 * 1024];
            let stack = libc::stack_t {
                ss_sp: memory.as_mut_ptr().cast(),
                ss_flags: 0,
                ss_size: memory.len(),
            };
            libc::sigaltstack(&stack, std::ptr::null_mut());
            Some(AlternateStack(memory))
        }
    }

    extern "C" fn handle_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // SAFETY: the kernel hands valid pointers to a handler of SA_SIGINFO, and `context` is
        // that of the instruction that faulted.
        let is_handled = unsafe {
            let address = (*info).si_addr() as usize;
            handle_overflow(address, &mut *context.cast::<ucontext_t>())
        };
        if !is_handled {
            print_fault();
            pass_on(&BEFORE_FAULT, signal, info, context);
        }
    }

    #[cfg(target_arch = "x86_64")]
    extern "C" fn handle_trap(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // SAFETY: as in `handle_fault`.
        let is_handled = unsafe {
            (*info).si_code == libc::TRAP_TRACE && handle_step(&mut *context.cast::<ucontext_t>())
        };
        if !is_handled {
            pass_on(&BEFORE_TRAP, signal, info, context);
        }
    }

    /// The execution that was interrupted, and the slot of its running thread.
    fn interrupted() -> Option<(&'static Execution, &'static ThreadSlot)> {
        // SAFETY: the execution is alive while it is current, which it is until the handler
        // returns. The signal interrupted the program on this OS thread, perhaps while it changed
        // the execution. Nothing that a change leaves half-written is read: the slot of the running
        // thread was written before that thread was resumed, and slots are moved only by `Vec`, on
        // the heap. What is written is atomic.
        let execution = unsafe { interrupted_execution()?.as_ref() };
        let index = execution.running.thread.index();
        let slot = execution.threads.slots.get(index)?;
        Some((execution, slot))
    }

    /// If a thread of a program was running, prints its name and its last step. It must neither
    /// allocate nor lock.
    fn print_fault() {
        static IS_PRINTED: AtomicBool = AtomicBool::new(false);
        let Some((execution, slot)) = interrupted() else {
            return;
        };
        if IS_PRINTED.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut line = Line::default();
        // What does not fit is left out.
        let _ = match (&slot.identity.name, execution.running.thread.0) {
            (Some(name), _) => write!(line, "\nfencepost: SIGSEGV in {name}"),
            (None, 0) => write!(line, "\nfencepost: SIGSEGV in main"),
            (None, number) => write!(line, "\nfencepost: SIGSEGV in T{number}"),
        };
        let last = match std::ptr::eq(slot.pending.location, slot.identity.spawned_at) {
            true => "which was spawned at",
            false => "after its step at",
        };
        let at = slot.pending.location;
        let _ = writeln!(
            line,
            ", {last} {}:{}:{}: memory was probably used after it was freed, which Fencepost checks \
             for cells only",
            at.file(),
            at.line(),
            at.column()
        );
        // SAFETY: `length` bytes of the array were written.
        unsafe { libc::write(2, line.bytes.as_ptr().cast(), line.length) };
    }

    /// A line of text that is not allocated.
    struct Line {
        bytes: [u8; 1024],
        length: usize,
    }

    impl Default for Line {
        fn default() -> Self {
            Line {
                bytes: [0; 1024],
                length: 0,
            }
        }
    }

    impl Write for Line {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            let end = self.length + text.len();
            let free = self.bytes.get_mut(self.length..end);
            free.ok_or(std::fmt::Error)?
                .copy_from_slice(text.as_bytes());
            self.length = end;
            Ok(())
        }
    }

    /// If the fault is an overflow of the running thread's stack, makes the thread return, or go
    /// on for a little while. Returns whether it is one.
    ///
    /// # Safety
    /// Called from a signal handler, with the context that it was given.
    unsafe fn handle_overflow(address: usize, context: &mut ucontext_t) -> bool {
        let Some((execution, slot)) = interrupted() else {
            return false;
        };
        let Some(trap) = trap_of_running(execution, slot, context) else {
            return false;
        };
        let Some(part) = Below::at(address, slot.stack.limit) else {
            return false;
        };
        // SAFETY: the address is in the reserve. The stack is not used again, since the thread is
        // abandoned.
        if part == Below::Reserve && must_go_on(context) && unsafe { open_page(address) } {
            slot.stack.is_reserve_used.store(true, Ordering::Relaxed);
            let is_abandoned = &execution.running.is_abandoned;
            is_abandoned.store(true, Ordering::Relaxed);
            registers::start_stepping(context);
        } else {
            // SAFETY: the stack pointer is in the stack of this coroutine.
            unsafe { end_thread(trap, context) };
        }
        true
    }

    /// After an instruction of a thread that uses its reserve: makes the thread return if it may be
    /// ended now. Returns false if there is no such thread.
    ///
    /// # Safety
    /// Called from a signal handler, with the context that it was given.
    #[cfg(target_arch = "x86_64")]
    unsafe fn handle_step(context: &mut ucontext_t) -> bool {
        let Some((execution, slot)) = interrupted() else {
            return false;
        };
        if !slot.stack.is_reserve_used.load(Ordering::Relaxed) {
            return false;
        }
        let Some(trap) = trap_of_running(execution, slot, context) else {
            return false;
        };
        if !must_go_on(context) {
            // SAFETY: the stack pointer is in the stack of this coroutine.
            unsafe { end_thread(trap, context) };
        // SAFETY: it is the context of the instruction that runs next.
        } else if unsafe { !registers::can_step(context) } {
            registers::stop_stepping(context);
        }
        true
    }

    /// What makes the running coroutine return. None if no coroutine runs, or not on its own stack.
    fn trap_of_running<'slot>(
        execution: &Execution,
        slot: &'slot ThreadSlot,
        context: &ucontext_t,
    ) -> Option<&'slot CoroutineTrapHandler<End>> {
        let trap = slot.stack.trap.as_ref()?;
        let is_running = execution.running.is_in_coroutine
            && trap.stack_ptr_in_bounds(registers::stack_pointer(context));
        is_running.then_some(trap)
    }

    /// Whether the interrupted code must not be left in the middle.
    fn must_go_on(context: &ucontext_t) -> bool {
        is_lent() || library::contains(registers::program_counter(context))
    }

    /// Makes a coroutine return when the handler returns.
    ///
    /// # Safety
    /// The stack pointer of the context must be in the coroutine's stack.
    unsafe fn end_thread(trap: &CoroutineTrapHandler<End>, context: &mut ucontext_t) {
        // SAFETY: the caller's promise. The contents of the stack are lost without destructors, as
        // by a `longjmp`: what they own is leaked, and the execution is over. A lock of the program
        // that was held stays held, which is the risk that is taken; without this the process would
        // be dead for certain.
        let after = unsafe { trap.setup_trap_handler(|| End::Overflowed) };
        registers::set_registers(context, after);
    }

    /// Calls the handler that was installed before ours.
    fn pass_on(
        previous: &OnceLock<libc::sigaction>,
        signal: c_int,
        info: *mut siginfo_t,
        context: *mut c_void,
    ) {
        let Some(previous) = previous.get() else {
            return;
        };
        // SAFETY: the previous action is as `sigaction` returned it, so its handler has the
        // signature that its flags say.
        unsafe {
            match previous.sa_sigaction {
                libc::SIG_DFL | libc::SIG_IGN => {
                    // An instruction that faulted faults again, this time for good. One that
                    // trapped is over.
                    let mut action: libc::sigaction = std::mem::zeroed();
                    action.sa_sigaction = libc::SIG_DFL;
                    libc::sigaction(signal, &action, std::ptr::null_mut());
                    if signal == libc::SIGTRAP {
                        libc::raise(signal);
                    }
                }
                handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
                    let handler: Handler = std::mem::transmute(handler);
                    handler(signal, info, context);
                }
                handler => {
                    let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
                    handler(signal);
                }
            }
        }
    }
}
