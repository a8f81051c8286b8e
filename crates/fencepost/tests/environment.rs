//! Variables of the environment, in a process of their own: what is printed, and what is refused.

use std::process::Command;

use fencepost::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What the test below prints and comes to, with a variable.
fn with(variable: &str, value: &str) -> (bool, String) {
    of("a_check", variable, value)
}

/// The same, of another test.
fn of(test: &str, variable: &str, value: &str) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]);
    let output = command
        .env(variable, value)
        .env("RUST_BACKTRACE", "1")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    (output.status.success(), text)
}

#[test]
#[ignore = "is run by the others"]
fn a_check() {
    fencepost::check(|| AtomicBool::new(false).store(true, Relaxed));
}

#[test]
fn a_summary_is_printed_if_it_is_asked_for() {
    let (is_fine, text) = with("FENCEPOST_SUMMARY", "on");
    assert!(is_fine, "{text}");
    let first = format!("{}:28: verified for x86-TSO\n", file!());
    assert!(text.contains(&first), "{text}");
    assert!(
        text.contains("1 execution (one per equivalence class), 1 step"),
        "{text}"
    );
    assert!(text.contains("  assumes:  the compiler"), "{text}");
    let (is_fine, text) = with("FENCEPOST_SUMMARY", "off");
    assert!(is_fine && !text.contains("verified"), "{text}");
}

#[test]
#[ignore = "is run by the others"]
fn nothing_of_ours() {
    fencepost::check(|| {
        let flag = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| flag.store(true, Relaxed));
        });
    });
}

#[test]
#[ignore = "is run by the others"]
fn only_our_threads() {
    fencepost::check(|| {
        let flag = std::sync::atomic::AtomicBool::new(false);
        fencepost::thread::scope(|scope| {
            scope.spawn(|| flag.store(true, Relaxed));
        });
    });
}

/// Who has forgotten to set a `cfg`, say, must not take it for a proof.
#[test]
fn that_nothing_was_checked_is_said_without_being_asked() {
    let (is_fine, text) = of("nothing_of_ours", "FENCEPOST_SUMMARY", "off");
    assert!(
        is_fine && text.contains("used no thread, atomic or lock of Fencepost"),
        "{text}"
    );
    let (is_fine, text) = of("only_our_threads", "FENCEPOST_SUMMARY", "off");
    assert!(
        is_fine && text.contains("no thread used a type of Fencepost"),
        "{text}"
    );
}

#[test]
fn a_mistyped_variable_is_refused() {
    let (is_fine, text) = with("FENCEPOST_SUMARY", "on");
    assert!(!is_fine);
    assert!(text.contains("did you mean FENCEPOST_SUMMARY?"), "{text}");
    // Not even if one is wanted.
    assert!(!text.contains("stack backtrace"), "{text}");
}

/// Else a variable that was forgotten would make every check pass.
#[test]
fn a_replay_verifies_nothing() {
    let (is_fine, text) = with("FENCEPOST_REPLAY", "0");
    assert!(!is_fine);
    let left_out = "left out: every execution except the replayed one";
    assert!(text.contains(left_out), "{text}");
}
