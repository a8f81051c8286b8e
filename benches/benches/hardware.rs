//! Litmus tests on this processor: `cargo bench --profile dist -p fencepost-benches --bench hardware [-- DIRECTORY]`.
//!
//! How often per second the relaxed outcomes of store buffering and n6 are seen, when the machine is
//! quiet and beside a load of 15 busy threads, and after how long first; next to litmus7 with its best
//! settings, where it is installed. Then all of `litmus/`, and of DIRECTORY, within a minute, beside
//! what x86-TSO allows.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fencepost_benches::litmus::tests_below;
use fencepost_hardware::{Goal, Processor, Record, Request};
use fencepost_litmus::answer::{Options, answer};
use fencepost_litmus::test::Test;
use fencepost_litmus::{Limits, machine, parse};
use fencepost_memory::MemoryModel;

const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(1);
const LOAD: usize = 15;
const DIRECTORY: Duration = Duration::from_secs(60);

/// litmus7's settings. The first are in all of them; of the others the best for a test is searched.
const LITMUS7: [&str; 4] = ["-affinity", "incr1", "-barrier", "timebase"];
const LITMUS7_PRELOAD: &[&[&str]] = &[
    &[],
    &["-preload", "custom"],
    &["-preload", "custom", "-stride", "1"],
    &["-preload", "custom", "-stride", "7"],
    &["-preload", "custom", "-stride", "31"],
    &["-preload", "custom", "-stride", "63"],
];
/// Instances of a run and runs of litmus7: to find its best settings, and to measure.
struct Size {
    trial: [&'static str; 4],
    round: [&'static str; 4],
}

const QUIET: Size = Size {
    trial: ["-s", "10000", "-r", "20"],
    round: ["-s", "100000", "-r", "5"],
};
/// Beside load an instance takes many times longer.
const LOADED: Size = Size {
    trial: ["-s", "5000", "-r", "4"],
    round: ["-s", "10000", "-r", "5"],
};

fn read(path: &Path) -> Test {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let test = parse(&bytes, &Limits::default());
    test.unwrap_or_else(|error| panic!("{}", error.render(&path.display().to_string())))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Observations of the condition per second, executions per second, and seconds until it is first
/// seen: medians of some rounds.
fn measure(processor: &Processor, test: &Test) -> (f64, f64, f64) {
    let (mut wanted, mut all, mut first) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let mut record = Record::default();
        let request = Request {
            goal: Goal::Condition,
            seed: round as u64,
            ..Request::new(ROUND)
        };
        let ending = processor.run(test, &mut record, &request);
        assert!(
            ending.is_ok_and(|ending| ending.is_usual()),
            "{}",
            test.name
        );
        let hits = || {
            record
                .states
                .iter()
                .filter(|(state, _)| test.condition.holds(state))
        };
        let seconds = record.time.as_secs_f64();
        wanted.push(hits().map(|(_, seen)| seen.count).sum::<u64>() as f64 / seconds);
        all.push(record.executions as f64 / seconds);
        let seen = hits()
            .map(|(_, seen)| seen.first.as_secs_f64())
            .min_by(f64::total_cmp);
        first.push(seen.unwrap_or(f64::INFINITY));
    }
    (median(wanted), median(all), median(first))
}

/// Observations of the condition per second by litmus7 with its best settings; none if it is not
/// installed.
fn measure_litmus7(path: &Path, size: &Size) -> Option<f64> {
    let mut best: Option<(f64, &[&str])> = None;
    for settings in LITMUS7_PRELOAD {
        let rate = litmus7(path, settings, &size.trial)?;
        if best.is_none_or(|(best, _)| rate > best) {
            best = Some((rate, settings));
        }
    }
    let (_, settings) = best?;
    let rates = (0..ROUNDS).map(|_| litmus7(path, settings, &size.round));
    println!("litmus7 {}", [&LITMUS7[..], settings].concat().join(" "));
    Some(median(rates.collect::<Option<_>>()?))
}

/// Observations of the condition per second in one run of litmus7.
fn litmus7(path: &Path, settings: &[&str], size: &[&str]) -> Option<f64> {
    let begin = Instant::now();
    let output = Command::new("litmus7")
        .args(LITMUS7)
        .args(settings)
        .args(size)
        .arg(path)
        .output()
        .ok()?;
    let log = String::from_utf8_lossy(&output.stdout);
    let field = |prefix: &str, index: usize| {
        let line = log.lines().find(|line| line.starts_with(prefix))?;
        line.split_whitespace().nth(index)?.parse::<f64>().ok()
    };
    // Its own time leaves out the compiler's.
    let seconds = field("Time ", 2).unwrap_or_else(|| begin.elapsed().as_secs_f64());
    Some(field("Observation ", 3)? / seconds.max(1e-3))
}

fn table(processor: &Processor, root: &Path, when: &str, size: &Size) {
    for name in ["basic/SB", "x86-tso/n6"] {
        let path = root.join("litmus").join(format!("{name}.litmus"));
        let test = read(&path);
        let (wanted, all, first) = measure(processor, &test);
        let (litmus7, times) = match measure_litmus7(&path, size) {
            Some(rate) => (
                format!("{rate:.0}"),
                format!("{:.1}", wanted / rate.max(1e-9)),
            ),
            None => ("-".into(), "-".into()),
        };
        let first = format!("{:.1}", first * 1e3);
        println!(
            "{:6} {when:8} {wanted:>12.0} {all:>12.0} {first:>10} {litmus7:>12} {times:>8}",
            test.name
        );
    }
}

fn main() {
    let processor = match Processor::detect() {
        Ok(processor) => processor,
        Err(reason) => return println!("not measured: {reason}"),
    };
    println!("{}\n", processor.machine());
    let has_litmus7 = Command::new("litmus7").arg("-version").output().is_ok();
    if !has_litmus7 {
        println!("litmus7 is not installed; its columns are empty\n");
    }
    println!(
        "{:6} {:8} {:>12} {:>12} {:>10} {:>12} {:>8}",
        "test", "", "relaxed/s", "all/s", "first, ms", "litmus7/s", "times"
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    table(&processor, &root, "quiet", &QUIET);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..LOAD {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        table(&processor, &root, &format!("load {LOAD}"), &LOADED);
        is_over.store(true, Ordering::Relaxed);
    });
    println!();
    run_all(&processor, &root.join("litmus"));
    let directory = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    if let Some(directory) = directory {
        run_all(&processor, Path::new(&directory));
    }
}

/// Runs every test below a directory for its share of a minute.
fn run_all(processor: &Processor, directory: &Path) {
    let files = tests_below(directory);
    let options = Options {
        limits: machine::Limits::default(),
        cross_check: false,
    };
    let begin = Instant::now();
    let (mut executions, mut allowed_states, mut seen_states, mut whole, mut refused) =
        (0, 0, 0, 0, 0);
    for file in &files {
        let test = read(file);
        let answer = answer(&test, &MemoryModel::TSO, &options).expect("the tests are right");
        let allowed: BTreeSet<Vec<u64>> = answer
            .states
            .iter()
            .map(|state| state.contents.clone())
            .collect();
        let mut record = Record::default();
        let request = Request::new((DIRECTORY / files.len() as u32).max(Duration::from_millis(2)));
        if processor.run(&test, &mut record, &request).is_err() {
            refused += 1;
            continue;
        }
        for state in record
            .states
            .keys()
            .filter(|state| !allowed.contains(*state))
        {
            println!(
                "FORBIDDEN: {}: {}",
                file.display(),
                test.format_state(state)
            );
        }
        let seen = allowed
            .iter()
            .filter(|state| record.states.contains_key(*state))
            .count();
        executions += record.executions;
        allowed_states += allowed.len();
        seen_states += seen;
        whole += usize::from(seen == allowed.len());
    }
    println!(
        "{} tests in {:.0} s: {executions} executions; {seen_states} of {allowed_states} allowed states seen, all of {whole} tests; {refused} refused",
        files.len(),
        begin.elapsed().as_secs_f64(),
    );
}
