//! What keeps the process of a test from doing harm: limits, the death of its parent, seccomp.

use std::time::Duration;

/// Seconds of processor time above what is asked for.
const GRACE: u64 = 10;

/// Sets limits. None of them is needed for a test that behaves.
pub(super) fn limit(time: Duration, workers: usize) {
    // SAFETY: a plain number. Without the parent, nobody would stop this process.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let seconds = time.as_secs().saturating_add(GRACE);
    let seconds = seconds.saturating_mul(workers as u64);
    for (resource, most) in [
        (libc::RLIMIT_CORE, 0),
        (libc::RLIMIT_FSIZE, 0),
        (libc::RLIMIT_CPU, seconds),
    ] {
        let limit = libc::rlimit {
            rlim_cur: most,
            rlim_max: most,
        };
        // SAFETY: the limit is whole.
        unsafe { libc::setrlimit(resource, &limit) };
    }
}

/// The slice that is asked for, in nanoseconds: a few batches.
const SLICE: u64 = 1_000_000;

/// Asks for short slices, which a busy machine gives sooner: then the threads of a test are more
/// often there at the same time. Older kernels know no slices; nothing else depends on it.
pub(super) fn ask_for_short_slices() {
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        slice: u64,
        deadline: u64,
        period: u64,
    }
    // SAFETY: 0 is this thread. Who runs this with another policy wants that one.
    if unsafe { libc::sched_getscheduler(0) } != libc::SCHED_OTHER {
        return;
    }
    // SAFETY: plain numbers; 0 is this thread.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: 0,
        nice,
        priority: 0,
        slice: SLICE,
        deadline: 0,
        period: 0,
    };
    // SAFETY: the attributes are whole, and say how large they are. The nice value stays.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &attributes, 0) };
}

/// The system calls that are left: to wait for each other, to read the clock, and to end.
const ALLOWED: [libc::c_long; 7] = [
    libc::SYS_futex,
    libc::SYS_clock_gettime,
    libc::SYS_sched_yield,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigreturn,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// `AUDIT_ARCH_X86_64`.
const ARCHITECTURE: u32 = 0xc000_003e;

/// Takes all other system calls from all threads. Returns whether the kernel could.
pub(super) fn confine() -> bool {
    // Offsets in `seccomp_data`: the number, and the architecture.
    const NUMBER: u32 = 0;
    const ARCH: u32 = 4;
    let load = |offset| filter(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset);
    let equal =
        |value, yes, no| filter(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, yes, no, value);
    let result = |value| filter(libc::BPF_RET | libc::BPF_K, 0, 0, value);
    let mut program = vec![
        load(ARCH),
        equal(ARCHITECTURE, 1, 0),
        result(libc::SECCOMP_RET_KILL_PROCESS),
        load(NUMBER),
    ];
    for (index, number) in ALLOWED.iter().enumerate() {
        // Over those that follow, and over the end of the process.
        program.push(equal(*number as u32, (ALLOWED.len() - index) as u8, 0));
    }
    program.push(result(libc::SECCOMP_RET_KILL_PROCESS));
    program.push(result(libc::SECCOMP_RET_ALLOW));
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: plain numbers.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return false;
    }
    // Speculation stays as it is: the process has no secrets, and it is what is measured.
    let flags = libc::SECCOMP_FILTER_FLAG_TSYNC | libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    // SAFETY: the program is whole, and the kernel checks it.
    unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &program,
        ) == 0
    }
}

fn filter(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    }
}
