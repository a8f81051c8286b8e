//! Memory does not grow with the length of a trace.
//!
//! `FENCEPOST_EVENTS=10000000 cargo test --release -p fencepost-cli memory:: -- --nocapture`
//! compares 10 with 100 million events and prints the peaks.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const FENCEPOST: &str = env!("CARGO_BIN_EXE_fencepost");

fn generate(file: &Path, shape: &str, events: u64) {
    let status = Command::new(FENCEPOST)
        .args([
            "trace", "generate", "--seed", "3", "--shape", shape, "--quiet",
        ])
        .args(["--events", &events.to_string(), "--output"])
        .arg(file)
        .status();
    assert!(status.unwrap().success());
}

/// The peak resident set, in KiB, of monitoring the file.
fn peak_memory(file: &Path, model: &str) -> u64 {
    let mut monitor = Command::new(FENCEPOST)
        .args([
            "monitor",
            "--quiet",
            "--max-findings",
            "1",
            "--model",
            model,
        ])
        .arg(file)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", monitor.id());
    let mut peak = 0;
    while monitor.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(kib.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(peak > 0, "the process was never seen");
    peak
}

#[test]
fn ten_times_the_trace_takes_the_same_memory() {
    let events = std::env::var("FENCEPOST_EVENTS").map_or(2_000_000, |text| {
        text.parse().expect("FENCEPOST_EVENTS is a number")
    });
    let directory = std::env::temp_dir().join(format!("fencepost-memory-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    for (shape, model) in [
        ("uniform", "tso"),
        ("stopped-thread", "tso"),
        ("stopped-thread", "pso"),
        ("private", "tso"),
    ] {
        let [short, long] = [events, 10 * events].map(|events| {
            let file = directory.join(format!("{shape}-{events}.fpt"));
            generate(&file, shape, events);
            let peak = peak_memory(&file, model);
            std::fs::remove_file(&file).unwrap();
            peak
        });
        println!("{shape}, {model}: {short} KiB, ten times the trace: {long} KiB");
        assert!(
            long as f64 <= 1.1 * short as f64,
            "{shape}, {model}: {short} KiB for {events} events, {long} KiB for ten times as many"
        );
    }
    std::fs::remove_dir_all(&directory).unwrap();
}
