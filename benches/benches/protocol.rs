//! The time of searches of Murphi models, compared to CMurphi and Rumur:
//! `cargo bench --profile dist -p fencepost-benches --bench protocol [-- DIRECTORY]`.
//!
//! Without a directory, the models of this repository. With one, all models that its
//! `expected.jsonl` has a CMurphi time for: one object per line with `file`, `tool`, `symmetry`,
//! `states`, `rules_fired` and `cpu_seconds`. CMurphi is not run; its times are those of that
//! file. If `rumur` and a C compiler are installed, they run too, on the models that Rumur accepts. Times are
//! processor times for one thread, and wall-clock times for two. The speedup of two threads compares wall-clock times.
//!
//! Each search is a process of its own, so that its memory can be measured: its peak, minus that of a model with one
//! state, divided by the number of states.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use fencepost_protocol::search::{Options, Symmetry, search};
use fencepost_protocol::{Limits, Model};
use rustix::time::{ClockId, clock_gettime};

/// From this number of states on, two threads are compared with one.
const LARGE: u64 = 1_000_000;

/// The cost of one search.
#[derive(Clone, Copy, Debug)]
struct Taken {
    states: u64,
    rules_fired: u64,
    processor: f64,
    wall: f64,
    /// Kilobytes.
    memory: u64,
}

fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The peak memory of this process, in kilobytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let words = line.map(|line| line.split_whitespace().nth(1).unwrap_or("0"));
    words.and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// The search of one process: `--one FILE off|fast|full WORKERS`.
fn one(arguments: &[String]) {
    let [file, symmetry, workers] = arguments else {
        panic!("--one FILE off|fast|full WORKERS");
    };
    let options = Options {
        symmetry: match symmetry.as_str() {
            "off" => Symmetry::Off,
            "fast" => Symmetry::Fast,
            _ => Symmetry::Full,
        },
        workers: workers.parse().expect("a number"),
        ..Options::default()
    };
    let begin = Instant::now();
    let text = std::fs::read(file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let model = Model::read(&text, &[], &Limits::default())
        .unwrap_or_else(|error| panic!("{}", error.render(file)));
    let report = search(&model, &options, &()).unwrap_or_else(|refusal| panic!("{refusal}"));
    println!(
        "{} {} {} {} {}",
        report.states,
        report.rules_fired,
        processor_seconds(),
        begin.elapsed().as_secs_f64(),
        peak()
    );
}

fn measure(file: &Path, symmetry: &str, workers: usize) -> Taken {
    let this = std::env::current_exe().expect("this program");
    let output = Command::new(this)
        .arg("--one")
        .arg(file)
        .args([symmetry, &workers.to_string()])
        .stderr(Stdio::inherit())
        .output()
        .expect("this program runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().flat_map(str::parse).collect();
    let [states, rules_fired, processor, wall, memory] = numbers[..] else {
        panic!("{} cannot be searched", file.display());
    };
    Taken {
        states: states as u64,
        rules_fired: rules_fired as u64,
        processor,
        wall,
        memory: memory as u64,
    }
}

/// With one thread and with two, in turn, the best of some rounds: others may use the machine
/// meanwhile. Only large models are compared, in more rounds.
fn best(file: &Path, symmetry: &str) -> [Taken; 2] {
    let mut best = [1, 2].map(|workers| measure(file, symmetry, workers));
    let rounds = match best[0] {
        Taken { states, .. } if states >= LARGE => 5,
        Taken { wall, .. } if wall < 5.0 => 3,
        _ => 1,
    };
    for _ in 1..rounds {
        for (workers, best) in (1..).zip(&mut best) {
            let again = measure(file, symmetry, workers);
            best.processor = best.processor.min(again.processor);
            best.wall = best.wall.min(again.wall);
        }
    }
    best
}

/// The time of Rumur's checker in seconds, without its compilation, if it is installed.
fn rumur(file: &Path, is_symmetric: bool) -> Option<f64> {
    let folder = std::env::temp_dir().join(format!("fencepost-rumur-{}", std::process::id()));
    std::fs::create_dir_all(&folder).ok()?;
    let (code, program) = (folder.join("checker.c"), folder.join("checker"));
    let symmetry = if is_symmetric { "heuristic" } else { "off" };
    let quiet = |command: &mut Command| {
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let is_made = quiet(
        Command::new("rumur")
            .args([
                "--threads",
                "1",
                "--symmetry-reduction",
                symmetry,
                "--output",
            ])
            .arg(&code)
            .arg(file),
    ) && quiet(
        Command::new("cc")
            .args(["-std=c11", "-O3", "-march=native", "-mcx16"])
            .arg(&code)
            .args(["-lpthread", "-o"])
            .arg(&program),
    );
    let begin = Instant::now();
    let is_run = is_made && quiet(&mut Command::new(&program));
    let taken = begin.elapsed().as_secs_f64();
    let _ = std::fs::remove_dir_all(&folder);
    is_run.then_some(taken)
}

/// A model, its symmetry, and the time and states of CMurphi.
struct Row {
    file: PathBuf,
    is_symmetric: bool,
    expected: Option<(f64, u64, u64)>,
}

fn rows_of(directory: &Path) -> Vec<Row> {
    let list = directory.join("expected.jsonl");
    let text = std::fs::read_to_string(&list).unwrap_or_else(|e| panic!("{}: {e}", list.display()));
    let mut rows: BTreeMap<(String, bool), Row> = BTreeMap::new();
    for line in text.lines() {
        let row: serde_json::Value = serde_json::from_str(line).expect("a row of JSON");
        let is_right = row["tool"] == "cmurphi" && row["verdict"] == "no error";
        let (Some(file), Some(is_symmetric)) = (row["file"].as_str(), row["symmetry"].as_bool())
        else {
            continue;
        };
        if !is_right {
            continue;
        }
        let number = |key: &str| row[key].as_u64().unwrap_or(0);
        let seconds = row["cpu_seconds"].as_f64().unwrap_or(0.0);
        // If a model was measured twice, the better time counts.
        let expected = (seconds, number("states"), number("rules_fired"));
        let row = rows.entry((file.to_owned(), is_symmetric)).or_insert(Row {
            file: directory.join(file),
            is_symmetric,
            expected: Some(expected),
        });
        if row.expected.is_some_and(|(before, ..)| seconds < before) {
            row.expected = Some(expected);
        }
    }
    rows.into_values().collect()
}

fn own_rows() -> Vec<Row> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models");
    let files = std::fs::read_dir(folder).expect("the models");
    let mut files: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "m"));
    files.sort();
    let rows = files.into_iter().flat_map(|file| {
        [false, true].map(|is_symmetric| Row {
            file: file.clone(),
            is_symmetric,
            expected: None,
        })
    });
    rows.collect()
}

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo bench` passes this to every benchmark.
    arguments.retain(|argument| argument != "--bench");
    if let Some("--one") = arguments.first().map(String::as_str) {
        return one(&arguments[1..]);
    }
    let rows = match arguments.first() {
        Some(directory) => rows_of(Path::new(directory)),
        None => own_rows(),
    };
    let single = std::env::temp_dir().join(format!("fencepost-one-{}.m", std::process::id()));
    std::fs::write(
        &single,
        "var x: 0..1; startstate x := 0; end; rule x := 0; end;",
    )
    .expect("a temporary file");
    let empty = measure(&single, "off", 1).memory;
    println!(
        "{:24} {:4} {:>9} {:>10} {:>8} {:>8} {:>6} {:>7} {:>9} {:>7} {:>8} {:>7}",
        "model",
        "sym",
        "states",
        "fired",
        "1 thread",
        "2, wall",
        "faster",
        "bytes",
        "CMurphi",
        "ratio",
        "Rumur",
        "ratio"
    );
    let mut logarithms = Vec::new();
    for row in &rows {
        let symmetry = if row.is_symmetric { "full" } else { "off" };
        let [taken, two] = best(&row.file, symmetry);
        assert_eq!(
            (two.states, two.rules_fired),
            (taken.states, taken.rules_fired)
        );
        let is_large = taken.states >= LARGE;
        let bytes = taken.memory.saturating_sub(empty) as f64 * 1024.0 / taken.states as f64;
        let name = row.file.file_stem().unwrap_or_default().to_string_lossy();
        print!(
            "{name:24} {symmetry:4} {:9} {:10} {:8.3} {:8.3} {:>6} {:>7}",
            taken.states,
            taken.rules_fired,
            taken.processor,
            two.wall,
            if is_large {
                format!("{:.2}", taken.wall / two.wall)
            } else {
                "-".into()
            },
            if taken.states > 100_000 {
                format!("{bytes:.0}")
            } else {
                "-".into()
            },
        );
        match row.expected {
            Some((seconds, states, fired)) => {
                let ratio = seconds / taken.processor;
                let same = row.is_symmetric || (states, fired) == (taken.states, taken.rules_fired);
                assert!(
                    same,
                    "CMurphi counts {states} states and {fired} rules fired"
                );
                print!(" {seconds:9.2} {ratio:7.2}");
                if seconds >= 0.5 {
                    logarithms.push(ratio.ln());
                }
            }
            None => print!(" {:>9} {:>7}", "-", "-"),
        }
        match rumur(&row.file, row.is_symmetric) {
            Some(seconds) => println!(" {seconds:8.2} {:7.2}", seconds / taken.processor),
            None => println!(" {:>8} {:>7}", "-", "-"),
        }
    }
    let _ = std::fs::remove_file(&single);
    if !logarithms.is_empty() {
        let mean = (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
        println!(
            "{} rows of half a second or more for CMurphi: {mean:.2} times as fast, geometric mean",
            logarithms.len()
        );
    }
}
