//! Signals: a thread that overflows its stack fails the execution instead of killing the process.
//!
//! Below every stack is a guard page. A fault there, while the stack's coroutine is running, makes
//! the coroutine return. Destructors do not run for what was on its stack; the execution is over
//! anyway.
//!
//! Programs in other languages fail like that at every signal that one of their instructions causes: nothing
//! of Fencepost is on the stack above the instruction ([`ForeignCode`]). Every other signal goes to the handler that
//! was installed before ours, after a line that names the thread of the program.
#![allow(unsafe_code)] // Signals.

use std::cell::Cell;
use std::sync::OnceLock;

use super::error::ProgramError;
use super::failures::LeakedBlocks;
use super::location::LocationRef;

/// What a front end for another language knows about the code of the program.
#[derive(Clone, Copy, Debug)]
pub struct ForeignCode {
    /// Called by a signal handler, before anything else: whether the code of the program was interrupted. From then on
    /// Fencepost runs.
    pub leave: fn() -> bool,
    /// The source location of an instruction.
    pub location: fn(usize) -> LocationRef,
    /// The heap blocks that are leaked at the end of a complete execution. Called with the leak check only, when no thread of
    /// the program runs.
    pub leaked_blocks: fn() -> Vec<LeakedBlocks>,
}

static FOREIGN_CODE: OnceLock<ForeignCode> = OnceLock::new();

impl ForeignCode {
    /// Makes it known, once.
    pub fn register(self) {
        let _ = FOREIGN_CODE.set(self);
    }

    pub(crate) fn leaked_blocks() -> Option<ProgramError> {
        let leaks = (FOREIGN_CODE.get()?.leaked_blocks)();
        (!leaks.is_empty()).then_some(ProgramError::LeakedBlocks(leaks))
    }

    pub(crate) fn location_of(instruction: usize) -> Option<LocationRef> {
        let code = FOREIGN_CODE.get()?;
        Some((code.location)(instruction))
    }
}

/// A signal that an instruction of the program has caused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CaughtSignal {
    pub(crate) number: i32,
    /// The address that was accessed, if the signal is about one.
    pub(crate) address: usize,
    pub(crate) instruction: usize,
}

thread_local! {
    /// The last signal that has ended a thread of the program.
    static CAUGHT: Cell<CaughtSignal> = const {
        Cell::new(CaughtSignal {
            number: 0,
            address: 0,
            instruction: 0,
        })
    };
}

impl CaughtSignal {
    /// The signal that has just ended a thread of the program on this OS thread.
    pub(crate) fn last() -> Self {
        CAUGHT.get()
    }
}

/// Installs the handler, once, and gives this OS thread a stack to run it on.
pub(crate) fn install_handler() {
    #[cfg(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ))]
    linux::install(FOREIGN_CODE.get().is_some());
}

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod linux {
    use std::fmt::Write;
    use std::mem::MaybeUninit;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use corosensei::trap::TrapHandlerRegs;
    use libc::{c_int, c_void, siginfo_t, ucontext_t};

    use super::super::coroutine::End;
    use super::super::current::interrupted_execution;
    use super::{CAUGHT, CaughtSignal, FOREIGN_CODE};

    /// The signals that are handled: the first in every program, the others in those in other languages.
    const SIGNALS: [c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL];

    /// What was installed before, for each of them.
    static PREVIOUS: OnceLock<Vec<libc::sigaction>> = OnceLock::new();
    static PAGE_SIZE: AtomicUsize = AtomicUsize::new(0);

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

    pub(super) fn install(is_foreign: bool) {
        ALTERNATE_STACK.with(|_| ());
        PREVIOUS.get_or_init(|| {
            // SAFETY: `sysconf` has no preconditions.
            let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
            PAGE_SIZE.store(size.try_into().unwrap_or(4096), Ordering::Relaxed);
            let count = if is_foreign { SIGNALS.len() } else { 1 };
            // SAFETY: the handler has the signature that goes with SA_SIGINFO, and all parts of the
            // structures that are read are initialized.
            let install = |&signal: &c_int| unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = handle;
                action.sa_sigaction = handler as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigemptyset(&mut action.sa_mask);
                let mut previous = MaybeUninit::<libc::sigaction>::zeroed();
                libc::sigaction(signal, &action, previous.as_mut_ptr());
                previous.assume_init()
            };
            SIGNALS[..count].iter().map(install).collect()
        });
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

    extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // What comes before this uses no thread-local value.
        let is_foreign = FOREIGN_CODE.get().is_some_and(|code| (code.leave)());
        handle_outside(is_foreign, signal, info, context);
    }

    #[inline(never)] // It looks at thread-local values.
    fn handle_outside(is_foreign: bool, signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // SAFETY: the kernel hands valid pointers to a handler of SA_SIGINFO, and `context` is
        // that of the instruction that faulted.
        let is_handled = unsafe {
            let address = (*info).si_addr() as usize;
            let context = &mut *context.cast::<ucontext_t>();
            let caught = CaughtSignal {
                number: signal,
                address,
                instruction: instruction_pointer(context),
            };
            let is_overflow = signal == libc::SIGSEGV && end_thread(address, context);
            is_overflow || is_foreign && end_foreign_thread(caught, context)
        };
        if !is_handled {
            print_fault();
            pass_on(signal, info, context);
        }
    }

    /// If a thread of a program was running, prints its name and its last step. It must neither
    /// allocate nor lock.
    fn print_fault() {
        static IS_PRINTED: AtomicBool = AtomicBool::new(false);
        let Some(execution) = interrupted_execution() else {
            return;
        };
        // SAFETY: as in `end_thread`.
        let execution = unsafe { execution.as_ref() };
        let Some(slot) = execution
            .threads
            .slots
            .get(execution.running.thread.index())
        else {
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
        let last = match slot.pending.location == slot.identity.spawned_at {
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

    /// If the fault is an overflow of the running thread's stack, makes the thread return.
    ///
    /// # Safety
    /// Called from a signal handler, with the context that it was given.
    unsafe fn end_thread(address: usize, context: &mut ucontext_t) -> bool {
        let Some(execution) = interrupted_execution() else {
            return false;
        };
        // SAFETY: the execution is alive while it is current. The fault interrupted the program on
        // this OS thread, perhaps while it changed the execution. Nothing that a change leaves
        // half-written is read: the slot of the running thread was written before that thread was
        // resumed, and slots are moved only by `Vec`, on the heap.
        let execution = unsafe { execution.as_ref() };
        if !execution.running.is_in_coroutine {
            return false;
        }
        let Some(slot) = execution
            .threads
            .slots
            .get(execution.running.thread.index())
        else {
            return false;
        };
        let Some(trap) = &slot.stack.trap else {
            return false;
        };
        let guard = slot.stack.limit..slot.stack.limit + PAGE_SIZE.load(Ordering::Relaxed);
        if !guard.contains(&address) || !trap.stack_ptr_in_bounds(stack_pointer(context)) {
            return false;
        }
        // SAFETY: the stack pointer is in this coroutine's stack. Its contents are lost without
        // destructors, as by a `longjmp`: what they own is leaked, and the execution is over.
        // A lock that was held (of the allocator, say) stays held, which is the risk that is
        // taken; without this the process would be dead for certain.
        let registers = unsafe { trap.setup_trap_handler(|| End::Overflowed) };
        set_registers(context, registers);
        true
    }

    /// Makes the running thread, whose code was interrupted by a signal that it has caused, return.
    ///
    /// # Safety
    /// As for [`end_thread`]; nothing but the program's frames may be on the thread's stack above the
    /// instruction.
    unsafe fn end_foreign_thread(caught: CaughtSignal, context: &mut ucontext_t) -> bool {
        let Some(execution) = interrupted_execution() else {
            return false;
        };
        // SAFETY: as in `end_thread`.
        let execution = unsafe { execution.as_ref() };
        let running = &execution.running;
        if !execution.setup.abandons_threads || !running.is_in_coroutine {
            return false;
        }
        let slot = execution.threads.slots.get(running.thread.index());
        let Some(trap) = slot.and_then(|slot| slot.stack.trap.as_ref()) else {
            return false;
        };
        if !trap.stack_ptr_in_bounds(stack_pointer(context)) {
            return false;
        }
        CAUGHT.set(caught);
        // SAFETY: the stack pointer is in this coroutine's stack, whose frames are given up.
        let registers = unsafe { trap.setup_trap_handler(|| End::Signalled) };
        set_registers(context, registers);
        true
    }

    /// Calls the handler that was installed before ours.
    fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        let position = SIGNALS.iter().position(|&known| known == signal);
        let previous = PREVIOUS.get().zip(position);
        let Some(previous) = previous.and_then(|(previous, at)| previous.get(at)) else {
            return;
        };
        // SAFETY: the previous action is as `sigaction` returned it, so its handler has the
        // signature that its flags say.
        unsafe {
            match previous.sa_sigaction {
                libc::SIG_DFL | libc::SIG_IGN => {
                    // The instruction faults again, this time for good.
                    let mut action: libc::sigaction = std::mem::zeroed();
                    action.sa_sigaction = libc::SIG_DFL;
                    libc::sigaction(signal, &action, std::ptr::null_mut());
                }
                handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
                    let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                        std::mem::transmute(handler);
                    handler(signal, info, context);
                }
                handler => {
                    let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
                    handler(signal);
                }
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn stack_pointer(context: &ucontext_t) -> usize {
        context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize
    }

    #[cfg(target_arch = "x86_64")]
    fn instruction_pointer(context: &ucontext_t) -> usize {
        context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize
    }

    #[cfg(target_arch = "x86_64")]
    fn set_registers(context: &mut ucontext_t, registers: TrapHandlerRegs) {
        let TrapHandlerRegs {
            rip,
            rsp,
            rbp,
            rdi,
            rsi,
        } = registers;
        let to = &mut context.uc_mcontext.gregs;
        to[libc::REG_RIP as usize] = rip as i64;
        to[libc::REG_RSP as usize] = rsp as i64;
        to[libc::REG_RBP as usize] = rbp as i64;
        to[libc::REG_RDI as usize] = rdi as i64;
        to[libc::REG_RSI as usize] = rsi as i64;
    }

    #[cfg(target_arch = "aarch64")]
    fn stack_pointer(context: &ucontext_t) -> usize {
        context.uc_mcontext.sp as usize
    }

    #[cfg(target_arch = "aarch64")]
    fn instruction_pointer(context: &ucontext_t) -> usize {
        context.uc_mcontext.pc as usize
    }

    #[cfg(target_arch = "aarch64")]
    fn set_registers(context: &mut ucontext_t, registers: TrapHandlerRegs) {
        let TrapHandlerRegs {
            pc,
            sp,
            x0,
            x1,
            x29,
            lr,
        } = registers;
        let to = &mut context.uc_mcontext;
        to.pc = pc;
        to.sp = sp;
        to.regs[0] = x0;
        to.regs[1] = x1;
        to.regs[29] = x29;
        to.regs[30] = lr;
    }
}
