//! Shared code of the benchmarks: traces in memory, and candidates that are compared within one run of
//! the benchmark, because machines are noisy.

pub mod litmus;

use std::time::{Duration, Instant};

use fencepost_memory::Access;
use fencepost_monitor::{Monitor, MonitorLimits, MonitorRunner};
use fencepost_trace::{BinaryWriter, GenerateOptions, TraceReader};

/// A generated trace in the binary format.
pub fn binary_trace(options: &GenerateOptions) -> Vec<u8> {
    let names = options.names();
    let mut generator = options.generate().expect("the options of a benchmark fit");
    let mut writer = BinaryWriter::new(Vec::new());
    let mut batch: Vec<Access> = Vec::new();
    while generator.next_batch(&mut batch) {
        let written = writer.write(&names, &batch);
        written.expect("a generated trace can be written to memory");
    }
    writer.finish().expect("a trace can be written to memory")
}

/// Decodes the trace and feeds it to the monitor, as `fencepost monitor` does; returns how
/// many violations were reported.
pub fn monitor_trace<M: Monitor>(trace: &[u8], monitor: M, witness_window: usize) -> u64 {
    let limits = MonitorLimits {
        witness_window,
        memory: usize::MAX,
    };
    let mut runner = MonitorRunner::with_limits(monitor, limits);
    let mut violations = 0;
    decode_trace(trace, |access| {
        let violation = runner.observe(access).expect("there is no limit");
        violations += u64::from(violation.is_some());
    });
    violations
}

/// Decodes the trace.
pub fn decode_trace(trace: &[u8], mut visit: impl FnMut(Access)) {
    let input = std::io::Cursor::new(trace.to_vec());
    let mut reader = TraceReader::open(input).expect("a generated trace can be read");
    let mut batch = Vec::new();
    while reader
        .next_batch(&mut batch)
        .expect("a generated trace can be read")
    {
        batch.iter().copied().for_each(&mut visit);
    }
}

/// A candidate to measure.
pub struct Candidate<'a> {
    /// Its name in the table.
    pub name: &'static str,
    /// Performs one run.
    pub run: Box<dyn FnMut() + 'a>,
}

impl<'a> Candidate<'a> {
    /// Creates a candidate.
    pub fn new(name: &'static str, run: impl FnMut() + 'a) -> Self {
        Candidate {
            name,
            run: Box::new(run),
        }
    }
}

/// Runs the candidates in turn, `rounds` times, and returns the best time of each: other load on the
/// machine can only make a run slower.
pub fn best_times(candidates: &mut [Candidate], rounds: usize) -> Vec<Duration> {
    let mut best = vec![Duration::MAX; candidates.len()];
    for _ in 0..rounds {
        for (candidate, best) in candidates.iter_mut().zip(&mut best) {
            let start = Instant::now();
            (candidate.run)();
            *best = start.elapsed().min(*best);
        }
    }
    best
}
