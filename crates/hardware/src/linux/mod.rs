//! Running on Linux on x86-64.
//!
//! Read in this order: `memory` and `arena`, `counter`, `barrier`, `shared` (what outlives the
//! process of a test), `batch` (what its threads do), `child` and `confinement` (the process), and
//! here, who starts and watches it.
//!
//! This is the corner of the crate where `unsafe` is: memory at fixed addresses, processes, and code
//! that was just made.
#![allow(unsafe_code)] // See above.

mod arena;
mod barrier;
mod batch;
mod child;
mod confinement;
mod counter;
mod memory;
mod shared;

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fencepost_litmus::test::Test;
use fencepost_memory::Random;

use crate::Request;
use crate::error::{NotHere, Refusal};
use crate::machine::Machine;
use crate::program::Program;
use crate::record::{Ending, Record};
use arena::Arena;
use batch::{Batch, Crew};
use memory::Mapping;
use shared::{FAILURES, Shared};

/// How long no batch may end before the process of a test is ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Patience {
    /// How long it may run on processors for that, and in any case may take. Beside other load it gets
    /// little of a processor, and is no endless loop for that.
    processor: Duration,
    /// How long it may take at most.
    wall: Duration,
}

impl Patience {
    fn new(has_loops: bool, is_crowded: bool) -> Self {
        let (processor, wall) = match (has_loops, is_crowded) {
            (true, false) => (1, 20),
            // Threads wait for others that have no processor.
            (true, true) => (5, 60),
            // Only other load can be the reason.
            (false, _) => (20, 60),
        };
        Patience {
            processor: Duration::from_secs(processor),
            wall: Duration::from_secs(wall),
        }
    }

    fn is_over(self, processor: Duration, wall: Duration) -> bool {
        wall > self.wall || processor > self.processor && wall > self.processor
    }
}

/// How long the process has to end its batch when the caller stops it. What it has counted stays.
const GRACE: Duration = Duration::from_secs(1);

/// The longest that a look at the process counts as waiting: who was stopped himself, or slept with the
/// machine, has not waited.
const LONGEST_LOOK: Duration = Duration::from_millis(200);

/// The processors that tests can be run on.
#[derive(Clone, Debug)]
pub struct Processor {
    machine: Machine,
    cpus: Vec<usize>,
}

impl Processor {
    /// Finds out whether tests can be run here.
    pub fn detect() -> Result<Self, NotHere> {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let has = |flag: &str| cpuinfo.split_whitespace().any(|word| word == flag);
        if !has("constant_tsc") && !has_invariant_counter() {
            return Err(NotHere::Counter);
        }
        let cpus = cpus().map_err(|error| NotHere::Affinity(error.to_string()))?;
        let mut machine = Machine::of_cpuinfo(&cpuinfo);
        machine.cores = cpus.len();
        machine.hypervisor = has_hypervisor().then(hypervisor_name);
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok();
        machine.kernel = release.map(|release| format!("Linux {}", release.trim()));
        Ok(Processor { machine, cpus })
    }

    /// The machine that it is in.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// How many processors there are for the threads of a test.
    pub fn cores(&self) -> usize {
        self.cpus.len()
    }

    /// Runs a test in a process of its own, and adds what was seen to the record, however it ends.
    ///
    /// The process is forked: other threads of this one should not be busy.
    pub fn run(
        &self,
        test: &Test,
        record: &mut Record,
        request: &Request<'_>,
    ) -> Result<Ending, Refusal> {
        // Two tests at once would disturb each other, and use the same addresses.
        static ONE: Mutex<()> = Mutex::new(());
        let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let program = Program::new(test)?;
        let memory = |error: io::Error| Refusal::Memory(error.to_string());
        let arena = Arena::new(&program.geometry).map_err(memory)?;
        let code = Mapping::code(&program.bytes).map_err(memory)?;
        let threads = test.threads.len();
        // A thread may wait for another one: then all must be there at once.
        let is_crowded = program.has_loops && threads > self.cores();
        let workers = if is_crowded {
            threads
        } else {
            threads.min(self.cores())
        }
        .max(1);
        let mut tuner = record.tuner.unwrap_or_default();
        if record.goal.replace(request.goal) != Some(request.goal) {
            tuner.forget_rewards();
        }
        let shared = Shared::new(test, workers, tuner).map_err(memory)?;
        let seed = request
            .seed
            .wrapping_add(u64::from(record.runs).wrapping_mul(0x9e37_79b9));
        let crew = Crew {
            test,
            program: &program,
            shared: &shared,
            arena: &arena,
            code: code.start(),
            workers,
            is_crowded,
            goal: request.goal,
            fixed: request.fixed,
            time: request.time,
            started: Instant::now(),
            batch: child::batch_cell(Batch::new(test, seed)),
        };
        let cpus = self.shuffled(seed);
        let started = crew.started;
        let _children = WaitableChildren::new();
        let process = Process::start(crew, &cpus, seed)
            .map_err(|error| Refusal::Process(error.to_string()))?;
        let patience = Patience::new(program.has_loops, is_crowded);
        let ending = watch(
            process,
            &shared,
            &program,
            code.start() as u64,
            patience,
            request,
        );
        record.is_confined |= record.runs == 0;
        record.runs += 1;
        let is_collected = shared.collect(record, started.elapsed());
        Ok(match ending {
            ending if is_collected || !ending.is_usual() => ending,
            _ => Ending::Failed {
                what: "keep what it had counted: the test wrote over it",
            },
        })
    }

    /// The processors in another order for each run, so that different pairs meet.
    fn shuffled(&self, seed: u64) -> Vec<usize> {
        let mut cpus = self.cpus.clone();
        let mut random = Random::new(seed);
        for place in (1..cpus.len()).rev() {
            cpus.swap(place, random.below(place as u64 + 1) as usize);
        }
        cpus
    }
}

/// The processors that this process may run on.
fn cpus() -> io::Result<Vec<usize>> {
    // SAFETY: all zeros is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel fills the set.
    if unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the numbers are in the set.
    let is_in = |cpu: &usize| unsafe { libc::CPU_ISSET(*cpu, &set) };
    Ok((0..libc::CPU_SETSIZE as usize).filter(is_in).collect())
}

/// Whether the processor says itself that its counter never changes its rate, where `/proc` is not
/// there to say it.
fn has_invariant_counter() -> bool {
    const LEAF: u32 = 0x8000_0007;
    // SAFETY: every x86-64 processor has the instruction, and the leaf that says how many there are.
    #[allow(unused_unsafe, reason = "safe in newer versions of Rust")]
    unsafe {
        use std::arch::x86_64::__cpuid;
        __cpuid(0x8000_0000).eax >= LEAF && __cpuid(LEAF).edx & 1 << 8 != 0
    }
}

/// Whether this is a virtual machine that says so.
fn has_hypervisor() -> bool {
    // SAFETY: every x86-64 processor has the instruction and this leaf.
    #[allow(unused_unsafe, reason = "safe in newer versions of Rust")]
    let leaf = unsafe { std::arch::x86_64::__cpuid(1) };
    leaf.ecx >> 31 == 1
}

/// The name that a hypervisor gives itself.
fn hypervisor_name() -> String {
    // SAFETY: every x86-64 processor has the instruction; the flag says that the leaf is there.
    #[allow(unused_unsafe, reason = "safe in newer versions of Rust")]
    let leaf = unsafe { std::arch::x86_64::__cpuid(0x4000_0000) };
    let words = [leaf.ebx, leaf.ecx, leaf.edx];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let name: String = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_graphic() || **byte == b' ')
        .map(|byte| char::from(*byte))
        .collect();
    match name.trim() {
        "" => "unknown".into(),
        "KVMKVMKVM" => "KVM".into(),
        "Microsoft Hv" => "Hyper-V".into(),
        "VMwareVMware" => "VMware".into(),
        "XenVMMXenVMM" => "Xen".into(),
        other => other.to_owned(),
    }
}

/// Who starts this process may have told the kernel not to keep the status of children that end. While
/// this value is there, it does.
struct WaitableChildren {
    before: Option<libc::sigaction>,
}

impl WaitableChildren {
    fn new() -> Self {
        // SAFETY: all zeros is the default handler, an empty mask and no flags.
        let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel fills in what there is.
        let found = unsafe { libc::sigaction(libc::SIGCHLD, std::ptr::null(), &mut before) };
        let is_ignored = found == 0
            && (before.sa_sigaction == libc::SIG_IGN || before.sa_flags & libc::SA_NOCLDWAIT != 0);
        if is_ignored {
            // SAFETY: as above.
            let usual: libc::sigaction = unsafe { std::mem::zeroed() };
            // SAFETY: the action is whole.
            unsafe { libc::sigaction(libc::SIGCHLD, &usual, std::ptr::null_mut()) };
        }
        WaitableChildren {
            before: is_ignored.then_some(before),
        }
    }
}

impl Drop for WaitableChildren {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // SAFETY: it is the action that was there.
            unsafe { libc::sigaction(libc::SIGCHLD, before, std::ptr::null_mut()) };
        }
    }
}

/// The process of a test.
struct Process {
    id: libc::pid_t,
    /// Readable when the process has ended.
    end: io::PipeReader,
}

impl Process {
    fn start(crew: Crew<'_>, cpus: &[usize], seed: u64) -> io::Result<Self> {
        let (end, held) = io::pipe()?;
        // SAFETY: it always succeeds.
        let parent = unsafe { libc::getpid() };
        // SAFETY: the child only uses what it has, starts threads, and ends without returning.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop(end);
                // It stays open as long as the process lives.
                std::mem::forget(held);
                child::run(crew, cpus, seed, parent)
            }
            id => Ok(Process { id, end }),
        }
    }

    /// Waits until it ends, or so long. Returns the status with which it ended.
    fn wait(&self, most: Duration) -> Option<i32> {
        use std::os::fd::AsRawFd as _;
        let mut poll = libc::pollfd {
            fd: self.end.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: there is one entry.
        unsafe { libc::poll(&mut poll, 1, most.as_millis() as i32) };
        let mut status = 0;
        // SAFETY: it is a child of this process that nobody else waits for.
        let found = unsafe { libc::waitpid(self.id, &mut status, libc::WNOHANG) };
        (found == self.id).then_some(status)
    }

    /// How long its threads have had processors; `None` if the kernel does not say.
    fn processor_time(&self) -> Option<Duration> {
        let mut clock = 0;
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the kernel fills in both.
        let is_known = unsafe {
            libc::clock_getcpuclockid(self.id, &mut clock) == 0
                && libc::clock_gettime(clock, &mut time) == 0
        };
        is_known.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    }

    fn kill(&self) {
        let mut status = 0;
        // SAFETY: the child was not waited for, so the number is still its own.
        unsafe {
            libc::kill(self.id, libc::SIGKILL);
            libc::waitpid(self.id, &mut status, 0);
        }
    }
}

/// Watches the process until it ends, and ends it if it does not.
fn watch(
    process: Process,
    shared: &Shared,
    program: &Program,
    code: u64,
    patience: Patience,
    request: &Request<'_>,
) -> Ending {
    let control = shared.control();
    let mut batches = 0;
    let (mut used, mut waited) = (process.processor_time(), Duration::ZERO);
    let mut stopped: Option<Instant> = None;
    loop {
        let look = Instant::now();
        if let Some(status) = process.wait(Duration::from_millis(20)) {
            return ending(status, shared, program, code, stopped.is_some());
        }
        waited += look.elapsed().min(LONGEST_LOOK);
        let now = control.batches.load(Ordering::Relaxed);
        if now != batches {
            batches = now;
            (used, waited) = (process.processor_time(), Duration::ZERO);
        }
        match stopped {
            None if (request.stop)() => {
                stopped = Some(Instant::now());
                control.stop.store(1, Ordering::Relaxed);
            }
            Some(since) if since.elapsed() > GRACE => {
                process.kill();
                return Ending::Stopped;
            }
            _ => {}
        }
        let used_since = match (used, process.processor_time()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => waited,
        };
        if patience.is_over(used_since, waited) {
            process.kill();
            return Ending::NoEnd { after: waited };
        }
    }
}

fn ending(status: i32, shared: &Shared, program: &Program, code: u64, is_stopped: bool) -> Ending {
    let control = shared.control();
    if libc::WIFSIGNALED(status) {
        return Ending::Killed {
            signal: libc::WTERMSIG(status),
        };
    }
    match libc::WEXITSTATUS(status) {
        child::DONE if is_stopped => Ending::Stopped,
        child::DONE => Ending::Completed,
        child::SENT => Ending::Killed {
            signal: control.fault_signal.load(Ordering::Relaxed),
        },
        child::FAULT => {
            let signal = control.fault_signal.load(Ordering::Relaxed);
            let name = child::FAULTS.iter().find(|(known, _)| *known == signal);
            let has_address = control.fault_has_address.load(Ordering::Relaxed) == 1;
            let at = control.fault_at.load(Ordering::Relaxed);
            Ending::Fault {
                signal,
                name: name.map_or("a signal", |(_, name)| name),
                address: has_address.then(|| control.fault_address.load(Ordering::Relaxed)),
                instruction: program.instruction_at(at.wrapping_sub(code)),
            }
        }
        _ => {
            let what = control.failure.load(Ordering::Relaxed) as usize;
            Ending::Failed {
                what: FAILURES.get(what).copied().unwrap_or("run"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beside_load_an_endless_loop_is_told_by_the_time_on_processors() {
        let patience = Patience::new(true, false);
        let seconds = Duration::from_secs_f64;
        assert!(!patience.is_over(seconds(0.9), seconds(15.0)));
        assert!(patience.is_over(seconds(1.1), seconds(15.0)));
        assert!(patience.is_over(seconds(0.0), seconds(20.1)));
        // Two threads use two seconds in one.
        assert!(!patience.is_over(seconds(1.8), seconds(0.9)));
    }

    #[test]
    fn a_process_that_has_overwritten_how_it_ended_has_an_ending() {
        let source = b"X86 T\n{ }\n P0 | P1 ;\n MOV [x],$1 | MOV EAX,[x] ;\n";
        let test = fencepost_litmus::parse(source, &Default::default()).expect("a test");
        let program = Program::new(&test).expect("a program");
        let mut random = Random::new(9);
        for _ in 0..1000 {
            let shared = Shared::new(&test, 2, Default::default()).expect("memory");
            let control = shared.control();
            let mut any = || random.next_u64() >> random.below(64);
            control.failure.store(any() as u32, Ordering::Relaxed);
            control.fault_signal.store(any() as i32, Ordering::Relaxed);
            control
                .fault_has_address
                .store(any() as u32 & 1, Ordering::Relaxed);
            control.fault_address.store(any(), Ordering::Relaxed);
            control.fault_at.store(any(), Ordering::Relaxed);
            for status in [child::FAULT, child::FAILURE, child::SENT, child::DONE, 99] {
                let code = any();
                let ending = ending(status << 8, &shared, &program, code, false);
                if let Ending::Fault {
                    instruction: Some((thread, instruction)),
                    ..
                } = ending
                {
                    assert!(instruction < test.threads[thread].instructions.len());
                }
            }
        }
    }

    #[test]
    fn children_can_be_waited_for_whatever_was_inherited() {
        let current = || {
            // SAFETY: all zeros is a whole action, and the kernel fills it.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                libc::sigaction(libc::SIGCHLD, std::ptr::null(), &mut action);
                action.sa_sigaction
            }
        };
        // SAFETY: this process has no children that someone waits for.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
        let guard = WaitableChildren::new();
        assert_eq!(current(), libc::SIG_DFL);
        drop(guard);
        assert_eq!(current(), libc::SIG_IGN);
        // SAFETY: as above.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        assert!(WaitableChildren::new().before.is_none());
    }
}
