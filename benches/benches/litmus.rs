//! The time of litmus tests of growing size, compared to herd7:
//! `cargo bench --profile dist -p fencepost-benches --bench litmus [-- DIRECTORY]`.
//!
//! If `herd7` is installed, it runs too. Otherwise its times are those of herd7 7.58, measured once on a machine of
//! this kind (2 cores under KVM); `>` means that it was stopped then. With a directory, all tests below it are answered
//! too, under three models. Times are processor times.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use fencepost_benches::litmus::{self as family, tests_below};
use fencepost_litmus::answer::{Options, answer};
use fencepost_litmus::{Limits, machine, parse};
use fencepost_memory::MemoryModel;
use rustix::time::{ClockId, clock_gettime};

/// A test, and the time of herd7.
struct Row {
    text: String,
    /// Seconds; a lower bound if it was stopped.
    herd: Option<(f64, bool)>,
}

fn row(text: String, herd: impl Into<Option<(f64, bool)>>) -> Row {
    Row {
        text,
        herd: herd.into(),
    }
}

fn rows() -> Vec<Row> {
    let took = |seconds| (seconds, false);
    let stopped = |seconds| (seconds, true);
    vec![
        row(family::writers(9), took(30.8)),
        row(family::locked_increments(5), took(6.8)),
        row(family::locked_increments(6), stopped(39.0)),
        row(family::exchanges(5), took(15.6)),
        row(family::store_buffering(3), took(5.5)),
        row(family::store_buffering(4), stopped(39.0)),
        row(family::independent_reads(7), took(10.7)),
        row(family::independent_reads(8), stopped(39.0)),
        row(family::ring(8), took(0.27)),
        row(family::ring(12), took(7.0)),
        row(family::spinlock(), stopped(38.0)),
        row(family::peterson(true), stopped(38.0)),
        row(family::peterson(false), stopped(38.0)),
        row(family::writers(14), None),
        row(family::exchanges(7), None),
        row(family::ring(16), None),
    ]
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Seconds to read and answer a test, on average over enough repetitions; and how many states.
fn measure(text: &str, model: &MemoryModel) -> (f64, usize, usize) {
    let options = Options {
        limits: machine::Limits::default(),
        cross_check: false,
    };
    let begin = processor_time();
    let mut repetitions = 0;
    loop {
        let test = parse(text.as_bytes(), &Limits::default());
        let test = test.unwrap_or_else(|error| panic!("{}", error.render("a test")));
        let answer = answer(&test, model, &options).expect("the tests are right");
        assert!(answer.cut().is_none(), "{} is not complete", test.name);
        repetitions += 1;
        let taken = (processor_time() - begin).as_secs_f64();
        if taken > 0.2 || repetitions >= 1000 {
            return (
                taken / f64::from(repetitions),
                answer.states.len(),
                answer.visited(),
            );
        }
    }
}

/// The time of herd7, if it is installed: seconds, and whether it was stopped after 40.
fn run_herd(text: &str) -> Option<(f64, bool)> {
    let path = std::env::temp_dir().join(format!("fencepost-bench-{}.litmus", std::process::id()));
    std::fs::write(&path, text).ok()?;
    let begin = children_time();
    let status = Command::new("timeout")
        .args(["40", "herd7", "-model", "x86tso.cat", "-unroll", "2"])
        .arg(&path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let _ = std::fs::remove_file(&path);
    let code = status.ok()?.code()?;
    let is_stopped = code == 124;
    (code == 0 || is_stopped).then(|| (children_time() - begin, is_stopped))
}

/// The processor time of the children that have ended, from `/proc`.
fn children_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or("");
    let field = |index: usize| {
        after_name
            .split_whitespace()
            .nth(index)?
            .parse::<f64>()
            .ok()
    };
    // Clock ticks of a hundredth of a second; fields 16 and 17 of the whole line.
    (field(13).unwrap_or(0.0) + field(14).unwrap_or(0.0)) / 100.0
}

fn main() {
    println!("Seconds of processor time, under TSO, witnesses checked.\n");
    println!(
        "{:18} {:>8} {:>8} {:>10} {:>10} {:>8}",
        "test", "final", "kept", "fencepost", "herd7", "times"
    );
    for Row { text, herd } in rows() {
        let name = text.split_whitespace().nth(1).unwrap_or("").to_owned();
        let (seconds, states, visited) = measure(&text, &MemoryModel::TSO);
        let herd = run_herd(&text).or(herd);
        let (herd, times) = match herd {
            Some((herd, is_stopped)) => {
                let sign = if is_stopped { ">" } else { "" };
                (
                    format!("{sign}{herd:.2}"),
                    format!("{sign}{:.0}", herd / seconds),
                )
            }
            None => ("-".to_owned(), "-".to_owned()),
        };
        println!("{name:18} {states:>8} {visited:>8} {seconds:>10.5} {herd:>10} {times:>8}");
    }
    let directory = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    if let Some(directory) = directory {
        all_below(Path::new(&directory));
    }
}

fn all_below(directory: &Path) {
    let files = tests_below(directory);
    let options = Options {
        limits: machine::Limits::default(),
        cross_check: false,
    };
    let begin = processor_time();
    let mut states = 0;
    for file in &files {
        let bytes = std::fs::read(file).expect("a file that was listed");
        let test = match parse(&bytes, &Limits::default()) {
            Ok(test) => test,
            Err(error) => panic!("{}", error.render(&file.display().to_string())),
        };
        for model in [MemoryModel::SC, MemoryModel::TSO, MemoryModel::PSO] {
            let answer = answer(&test, &model, &options).expect("the tests are right");
            states += answer.states.len();
        }
    }
    let seconds = (processor_time() - begin).as_secs_f64();
    println!(
        "\n{} tests under SC, TSO and PSO: {states} final states, {seconds:.2} s",
        files.len()
    );
}
