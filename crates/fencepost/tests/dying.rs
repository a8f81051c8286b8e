//! Checks that end the process, in a process of their own: what they say before.
#![allow(unsafe_code)] // Memory is used as it must not be.

use std::process::{Command, Output};

use fencepost::sync::atomic::{AtomicU32, Ordering::*};
use fencepost::thread;

fn run(test: &str) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]);
    command.output().unwrap()
}

fn read_nowhere() {
    // SAFETY: it is not: that is what is tested.
    unsafe { std::hint::black_box(std::ptr::without_provenance::<u32>(64)).read_volatile() };
}

#[test]
#[ignore = "is run by another"]
fn faults() {
    fencepost::check(|| {
        let data = AtomicU32::new(1);
        thread::scope(|scope| {
            scope.spawn(|| data.load(Relaxed));
            scope.spawn(|| {
                data.load(Relaxed); // The last step.
                read_nowhere();
            });
        });
    });
}

#[test]
#[ignore = "is run by another"]
fn faults_at_once() {
    fencepost::check(|| {
        let named = thread::Builder::new().name("the reader".to_owned());
        named.spawn(read_nowhere).unwrap();
    });
}

#[test]
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
fn a_fault_names_the_thread_and_its_last_step() {
    use std::os::unix::process::ExitStatusExt;

    let output = run("faults");
    let text = String::from_utf8(output.stderr).unwrap();
    let line = 1 + include_str!("dying.rs")
        .lines()
        .position(|line| line.ends_with("// The last step."))
        .unwrap();
    let said = format!(
        "\nfencepost: SIGSEGV in T2, after its step at {}:{line}:22: memory was probably used after it was freed",
        file!()
    );
    assert!(text.contains(&said), "{text}");
    assert_eq!(output.status.signal(), Some(11), "{text}");

    let output = run("faults_at_once");
    let text = String::from_utf8(output.stderr).unwrap();
    let said = "fencepost: SIGSEGV in the reader, which was spawned at ";
    assert!(text.contains(said), "{text}");
    assert_eq!(output.status.signal(), Some(11), "{text}");
}

#[test]
#[ignore = "is run by another"]
fn never_ends() {
    fencepost::check(|| {
        let data = AtomicU32::new(1);
        thread::scope(|scope| {
            scope.spawn(|| {
                data.load(Relaxed); // The last of all.
                loop {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
            });
        });
    });
}

#[test]
fn a_program_that_comes_to_no_step_is_told_of() {
    use std::io::{BufRead, BufReader};

    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "never_ends", "--ignored", "--nocapture"]);
    command.env("FENCEPOST_TEST_PATIENCE", "1");
    let mut child = command
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    let said = lines.find(|line| line.starts_with("fencepost: "));
    child.kill().unwrap();
    child.wait().unwrap();
    let said = said.expect("it says something");
    let line = 1 + include_str!("dying.rs")
        .lines()
        .position(|line| line.ends_with("// The last of all."))
        .unwrap();
    let since = format!(
        "no step for 1 s: T1 has been running since {}:{line}:22",
        file!()
    );
    assert!(said.contains(&since), "{said}");
}
