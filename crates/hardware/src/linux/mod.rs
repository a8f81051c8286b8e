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

/// How long no batch may end before the process of a test is ended: with a loop in the test, with one
/// and more threads than processors, and without, when only other load can be the reason.
const PATIENCE_WITH_LOOPS: Duration = Duration::from_secs(1);
const PATIENCE_WITH_CROWDS: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(20);

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
        if !has("constant_tsc") {
            return Err(NotHere::Counter);
        }
        let cpus = cpus().map_err(|error| NotHere::Affinity(error.to_string()))?;
        let mut machine = Machine::of_cpuinfo(&cpuinfo);
        machine.cores = cpus.len();
        if let Some(hypervisor) = &mut machine.hypervisor {
            *hypervisor = hypervisor_name();
        }
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
        let process = Process::start(crew, &cpus, seed)
            .map_err(|error| Refusal::Process(error.to_string()))?;
        let patience = match (program.has_loops, is_crowded) {
            (true, true) => PATIENCE_WITH_CROWDS,
            (true, false) => PATIENCE_WITH_LOOPS,
            (false, _) => PATIENCE,
        };
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
        shared.collect(record);
        Ok(ending)
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

/// The name that a hypervisor gives itself.
fn hypervisor_name() -> String {
    // SAFETY: every x86-64 processor has the instruction; the flag says that the leaf is there.
    #[allow(unused_unsafe, reason = "safe in newer versions of Rust")]
    let leaf = unsafe { std::arch::x86_64::__cpuid(0x4000_0000) };
    let words = [leaf.ebx, leaf.ecx, leaf.edx];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let name: String = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_graphic())
        .map(|byte| char::from(*byte))
        .collect();
    match name.as_str() {
        "" => "unknown".into(),
        "KVMKVMKVM" => "KVM".into(),
        "VMwareVMware" => "VMware".into(),
        "XenVMMXenVMM" => "Xen".into(),
        _ => name,
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
        // SAFETY: the child only uses what it has, starts threads, and ends without returning.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop(end);
                // It stays open as long as the process lives.
                std::mem::forget(held);
                child::run(crew, cpus, seed)
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
    patience: Duration,
    request: &Request<'_>,
) -> Ending {
    let control = shared.control();
    let mut batches = 0;
    let mut progress = Instant::now();
    let mut is_stopped = false;
    loop {
        if let Some(status) = process.wait(Duration::from_millis(20)) {
            return ending(status, shared, program, code, is_stopped);
        }
        let now = control.batches.load(Ordering::Relaxed);
        if now != batches {
            batches = now;
            progress = Instant::now();
        }
        if !is_stopped && (request.stop)() {
            is_stopped = true;
            control.stop.store(1, Ordering::Relaxed);
        }
        if progress.elapsed() > patience {
            process.kill();
            return Ending::NoEnd {
                after: progress.elapsed(),
            };
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
