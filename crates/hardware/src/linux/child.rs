//! The process of a test: what it may do, its threads, and how it ends.
//!
//! It is forked, so it has the test, the code and the memory already. It may fault, loop for ever
//! or be killed; what it has counted is in shared memory.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::time::Instant;

use super::batch::{Crew, Worker};
use super::shared::{self, Control};
use super::{barrier, confinement};

/// Exit codes.
pub(super) const DONE: i32 = 0;
pub(super) const FAULT: i32 = 1;
pub(super) const FAILURE: i32 = 2;
/// Another process has sent the signal of a fault.
pub(super) const SENT: i32 = 3;

/// Faults of instructions.
pub(super) const FAULTS: [(i32, &str); 5] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGTRAP, "SIGTRAP"),
];

/// Where a fault is written down.
static CONTROL: AtomicPtr<Control> = AtomicPtr::new(std::ptr::null_mut());

/// What the process of a test does; it does not return.
pub(super) fn run(mut crew: Crew<'_>, cpus: &[usize], seed: u64, parent: libc::pid_t) -> ! {
    let control = crew.shared.control();
    CONTROL.store(std::ptr::from_ref(control).cast_mut(), Ordering::Relaxed);
    confinement::limit(crew.time, crew.workers);
    // SAFETY: it always succeeds.
    if unsafe { libc::getppid() } != parent {
        // It ended before the signal for that was asked for.
        exit(FAILURE);
    }
    if !handle_faults() {
        fail(control, shared::SIGNALS);
    }
    crew.started = Instant::now();
    let crew = &crew;
    let never = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for number in 1..crew.workers {
            let cpu = cpus[number % cpus.len()];
            let mut worker = Worker::new(crew, number, seed);
            let never = &never;
            let spawned = std::thread::Builder::new()
                .stack_size(256 << 10)
                .spawn_scoped(scope, move || {
                    settle(crew, number, cpu);
                    meet(crew);
                    meet(crew);
                    worker.run();
                    // To end a thread takes system calls that are not allowed any more.
                    loop {
                        barrier::sleep(never, 0);
                    }
                });
            if spawned.is_err() {
                fail(control, shared::THREADS);
            }
        }
        let mut worker = Worker::new(crew, 0, seed);
        settle(crew, 0, cpus[0]);
        meet(crew);
        // All threads have done what needs system calls.
        let is_confined = confinement::confine();
        control
            .is_confined
            .store(u32::from(is_confined), Ordering::Relaxed);
        meet(crew);
        worker.run();
        exit(DONE)
    })
}

/// Before the first batch.
fn meet(crew: &Crew<'_>) {
    crew.shared
        .control()
        .barrier
        .wait(crew.workers as u32, 0, |_| ());
}

fn exit(code: i32) -> ! {
    // SAFETY: it ends the process at once, without what this process has taken over from its parent.
    unsafe { libc::_exit(code) }
}

/// Ends the process, because it could not do something.
pub(super) fn fail(control: &Control, what: u32) -> ! {
    control.failure.store(what, Ordering::Relaxed);
    exit(FAILURE)
}

/// Binds a thread to a processor, and gives it a stack for signals: a test may use the stack
/// pointer as any other register.
fn settle(crew: &Crew<'_>, number: usize, cpu: usize) {
    // SAFETY: all zeros is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    if cpu < libc::CPU_SETSIZE as usize {
        // SAFETY: the number is in the set.
        unsafe { libc::CPU_SET(cpu, &mut set) };
        // SAFETY: the set is whole. Where it cannot be had, the thread runs anywhere.
        unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) };
    }
    confinement::ask_for_short_slices();
    let (stack, bytes) = crew.shared.signal_stack(number);
    let stack = libc::stack_t {
        ss_sp: stack.cast(),
        ss_flags: 0,
        ss_size: bytes,
    };
    // SAFETY: the memory is this worker's, and lives as long as the process.
    if unsafe { libc::sigaltstack(&stack, std::ptr::null_mut()) } != 0 {
        fail(crew.shared.control(), shared::SIGNALS);
    }
}

fn handle_faults() -> bool {
    // SAFETY: all zeros is no handler and an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // The parent decides about interrupts.
    action.sa_sigaction = libc::SIG_IGN;
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE] {
        // SAFETY: the action is whole.
        unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
    }
    let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    FAULTS.iter().all(|(signal, _)| {
        // SAFETY: the handler only stores numbers and ends the process.
        unsafe { libc::sigaction(*signal, &action, std::ptr::null_mut()) == 0 }
    })
}

extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let control = CONTROL.load(Ordering::Relaxed);
    // SAFETY: the control block lives as long as the process, and is atomic where others use it. The
    // kernel passes what it says it passes.
    unsafe {
        let is_first = (*control).fault_signal.compare_exchange(
            0,
            signal,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        if is_first.is_ok() {
            if (*info).si_code <= 0 {
                // No instruction has raised it: another process has sent it.
                exit(SENT);
            }
            let context = &*context.cast::<libc::ucontext_t>();
            let at = context.uc_mcontext.gregs[libc::REG_RIP as usize];
            (*control).fault_at.store(at as u64, Ordering::Relaxed);
            // The kernel knows no address of an access that is not canonical.
            let has_address = matches!(signal, libc::SIGSEGV | libc::SIGBUS)
                && (*info).si_code != libc::SI_KERNEL;
            if has_address {
                (*control)
                    .fault_address
                    .store((*info).si_addr() as u64, Ordering::Relaxed);
                (*control).fault_has_address.store(1, Ordering::Relaxed);
            }
        }
    }
    exit(FAULT)
}

/// So that a crew can be made before there is a process.
pub(super) fn batch_cell(batch: super::batch::Batch) -> UnsafeCell<super::batch::Batch> {
    UnsafeCell::new(batch)
}
