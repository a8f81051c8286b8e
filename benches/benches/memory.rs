//! The most memory that `fencepost monitor` takes for traces of growing length (Linux):
//! `cargo bench -p fencepost-benches --bench memory`.

use std::path::Path;
use std::process::{Command, Stdio};

fn main() {
    let build = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "-p", "fencepost-cli"])
        .status();
    assert!(
        build.is_ok_and(|status| status.success()),
        "the command does not build"
    );
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/fencepost");
    let target = match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => Path::new(&directory).join("release/fencepost"),
        None => target,
    };
    println!(
        "{:16} {:>13} {:>12} {:>12}",
        "shape", "events", "peak KiB", "ratio"
    );
    for shape in ["uniform", "stopped-thread", "private", "locks"] {
        let mut first = None;
        for events in [10_000_000_u64, 100_000_000] {
            let peak = peak_memory(&target, shape, events);
            let first = *first.get_or_insert(peak);
            let ratio = peak as f64 / first as f64;
            println!("{shape:16} {events:>13} {peak:>12} {ratio:>12.3}");
        }
    }
}

/// Monitors a generated trace and returns the peak resident set in KiB.
fn peak_memory(fencepost: &Path, shape: &str, events: u64) -> u64 {
    let file = std::env::temp_dir().join(format!("fencepost-memory-{}.fpt", std::process::id()));
    let generated = Command::new(fencepost)
        .args([
            "trace",
            "generate",
            "--threads",
            "4",
            "--addresses",
            "64",
            "--seed",
            "1",
        ])
        .args([
            "--quiet",
            "--shape",
            shape,
            "--events",
            &events.to_string(),
            "--output",
        ])
        .arg(&file)
        .status();
    assert!(
        generated.is_ok_and(|status| status.success()),
        "cannot generate a trace"
    );
    let mut monitor = Command::new(fencepost)
        .args(["monitor", "--quiet", "--max-findings", "0", "--json"])
        .arg(&file)
        .stdout(Stdio::null())
        .spawn()
        .expect("fencepost runs");
    let status = format!("/proc/{}/status", monitor.id());
    let mut peak = 0;
    while monitor
        .try_wait()
        .expect("the child can be waited for")
        .is_none()
    {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(kib.unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let _ = std::fs::remove_file(file);
    peak
}
