//! Measuring: processor time, time on the wall, and the peak of memory, in a process of its own.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::options::Options;
use crate::programs::PROGRAMS;
use crate::tools::Tool;

/// Programs with few executions are run again and again until this much processor time is used:
/// otherwise one would measure the beginning of a process.
const LEAST_TIME: Duration = Duration::from_millis(60);

/// The same for a quick run.
const LEAST_TIME_QUICK: Duration = Duration::from_millis(15);

/// One run of a program by a tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The executions that were run to the end.
    pub executions: u64,
    /// The executions that were abandoned.
    pub abandoned: u64,
}

/// The measurement of one process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measurement {
    /// The executions that were run to the end, each time.
    pub executions: u64,
    /// The executions that were abandoned, each time.
    pub abandoned: u64,
    /// Whether it was stopped before it had come to its end.
    pub is_stopped: bool,
    /// How often the program was run from the beginning to the end.
    pub repetitions: u32,
    /// The mean processor time of one repetition.
    pub cpu_seconds: f64,
    /// The mean time on the wall of one repetition.
    pub wall_seconds: f64,
    /// The processor time of the first repetition, in a process that is new.
    pub first_cpu_seconds: f64,
    /// The peak memory of the process, in KiB, if the system reports it.
    pub peak_memory_kib: Option<u64>,
}

impl Measurement {
    /// The processor time of one execution.
    pub fn seconds_per_execution(&self) -> f64 {
        self.cpu_seconds / self.executions as f64
    }
}

/// Measures in this process.
pub fn measure(tool: Tool, number: usize, options: &Options) -> Measurement {
    if tool != Tool::TwoWorkers {
        stay_on_one_core();
    }
    let program = PROGRAMS[number];
    let budget = tool.budget(options);
    let least_time = match options.is_quick {
        true => LEAST_TIME_QUICK,
        false => LEAST_TIME,
    };
    let (start, start_on_wall) = (processor_time(), Instant::now());
    let run = tool.run(program, options);
    let (first, first_on_wall) = (processor_time() - start, start_on_wall.elapsed());
    let is_stopped = first_on_wall >= budget;
    let mut repetitions = 1;
    while !is_stopped && processor_time() - start < least_time {
        // With two workers the number of those that are abandoned differs.
        let executions = tool.run(program, options).executions;
        assert_eq!(executions, run.executions, "{} {program}", tool.name());
        repetitions += 1;
    }
    let cpu = processor_time() - start;
    let wall = start_on_wall.elapsed();
    Measurement {
        executions: run.executions,
        abandoned: run.abandoned,
        is_stopped,
        repetitions,
        cpu_seconds: cpu.as_secs_f64() / f64::from(repetitions),
        wall_seconds: wall.as_secs_f64() / f64::from(repetitions),
        first_cpu_seconds: first.as_secs_f64(),
        peak_memory_kib: peak_memory(),
    }
}

/// Each check of Fencepost has an OS thread of its own. If that is on another core than the waiting thread, or migrates, a
/// small check randomly takes half as long again.
fn stay_on_one_core() {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let Ok(allowed) = sched_getaffinity(None) else {
            return;
        };
        let last = (0..CpuSet::MAX_CPU)
            .rev()
            .find(|&core| allowed.is_set(core));
        if let Some(last) = last {
            let mut one = CpuSet::new();
            one.set(last);
            // Where that is not allowed, the numbers differ more.
            let _ = sched_setaffinity(None, &one);
        }
    }
}

/// Measures in a process of its own, since the tools install panic hooks and keep stacks, and
/// since the peak of memory is that of a process.
pub fn measure_in_process(
    tool: Tool,
    number: usize,
    options: &Options,
) -> Result<Measurement, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["FENCEPOST_", "LOOM_", "SHUTTLE_"]
            .iter()
            .any(|prefix| text.starts_with(prefix))
        {
            command.env_remove(&name);
        }
    }
    let output = command
        .args(["--row", tool.name(), "--program", &number.to_string()])
        .args(options.arguments())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(output.status.to_string());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

/// The processor time of this process so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The peak memory of this process, in KiB. Only on Linux.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
