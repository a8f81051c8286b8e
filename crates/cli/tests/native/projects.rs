//! The projects in C and C++ among the examples, built with their Makefiles and checked with the runtime library itself. Those that
//! need a library are skipped where it is not installed.

use std::path::Path;
use std::process::{Command, Output};

use super::is_there;
use crate::support::{Scratch, root, stdout};

struct Project {
    scratch: Scratch,
    name: &'static str,
}

impl Project {
    /// Builds a project with options of the compilers. None, with a message, if something that it needs is not there.
    fn build(name: &'static str, needs: &[&str], options: &str) -> Option<Self> {
        if !["gcc", "g++", "make"]
            .iter()
            .all(|command| is_there(command))
        {
            return None;
        }
        if let Some(header) = needs.iter().find(|header| !has_header(header)) {
            eprintln!("skipped: there is no {header}");
            return None;
        }
        let scratch = Scratch::new(&format!("native-project-{name}"));
        let project = Project { scratch, name };
        let status = Command::new("cp")
            .arg("-r")
            .arg(root().join("examples").join(name).join("."))
            .arg(project.scratch.directory())
            .status();
        assert!(status.expect("cp runs").success());
        let mut make = project.command("make");
        make.arg("-B")
            .arg(format!(
                "CC={} {options}",
                env!("CARGO_BIN_EXE_fencepost-cc")
            ))
            .arg(format!(
                "CXX={} {options}",
                env!("CARGO_BIN_EXE_fencepost-cxx")
            ));
        make.env("FENCEPOST_COMPILER", "gcc")
            .env("FENCEPOST_COMPILER_CXX", "g++");
        let output = make.output().expect("make runs");
        assert!(output.status.success(), "{output:?}");
        Some(project)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.scratch.directory());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("FENCEPOST_") {
                command.env_remove(name);
            }
        }
        command.env("NO_COLOR", "1");
        command
    }

    fn check(&self, words: &[&str]) -> Output {
        let mut command = self.command(env!("CARGO_BIN_EXE_fencepost"));
        let output = command.args(["run", "-q"]).args(words).output();
        output.expect("the command starts")
    }

    /// The program is verified in so many executions, and runs without a check.
    #[track_caller]
    fn is_verified(&self, words: &[&str], executions: &str) {
        let output = self.check(words);
        let text = stdout(&output);
        assert!(
            text.starts_with("verified for "),
            "{}: {output:?}",
            self.name
        );
        let explored = format!("  explored: {executions} executions");
        assert!(text.contains(&explored), "{}: {output:?}", self.name);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }

    #[track_caller]
    fn fails(&self, words: &[&str], headline: &str) {
        let output = self.check(words);
        assert_eq!(output.status.code(), Some(1), "{}: {output:?}", self.name);
        let text = stdout(&output);
        assert!(text.contains(headline), "{}: {output:?}", self.name);
    }

    #[track_caller]
    fn runs(&self, program: &str) {
        let status = self.command(program).status().expect("it runs");
        assert!(status.success(), "{program}: {status}");
    }
}

/// Whether the C++ compiler finds a header.
fn has_header(header: &str) -> bool {
    let folders = [
        "/usr/include",
        "/usr/local/include",
        "/usr/include/x86_64-linux-gnu",
    ];
    folders
        .iter()
        .any(|folder| Path::new(folder).join(header).exists())
}

#[test]
fn the_sequence_lock() {
    let Some(project) = Project::build("c-seqlock", &[], "") else {
        return;
    };
    project.runs("./seqlock");
    for target in ["x86", "pso"] {
        project.is_verified(&["--target", target, "./seqlock"], "608");
    }
    project.is_verified(
        &["--store-buffers", "--target", "pso", "./seqlock"],
        "2,043",
    );
    let Some(project) = Project::build("c-seqlock", &[], "-DWITHOUT_RELEASE") else {
        return;
    };
    project.is_verified(&["./seqlock"], "608");
    let pso = ["--target", "pso", "--confirm", "./seqlock"];
    project.fails(
        &pso,
        "harmful: continuing from the witness, main failed an assertion: x == y",
    );
}

#[test]
fn the_ring() {
    let Some(project) = Project::build("c-spsc", &[], "") else {
        return;
    };
    project.runs("./spsc");
    project.fails(
        &["./spsc"],
        "not store-buffer safe: under x86-TSO, main's load of `main::ring.tail_` can come before",
    );
    project.fails(
        &["--confirm", "./spsc"],
        "note: benign: no execution under x86-TSO fails",
    );
    project.is_verified(&["--store-buffers", "./spsc"], "851");
    let Some(project) = Project::build("c-spsc", &[], "-DRELAXED") else {
        return;
    };
    project.fails(&["./spsc"], "data race on `main::ring.slots_");
}

#[test]
fn concurrentqueue() {
    let needs = ["concurrentqueue/concurrentqueue.h"];
    let Some(project) = Project::build("c-concurrentqueue", &needs, "") else {
        return;
    };
    project.runs("./queue");
    project.is_verified(&["./queue"], "6");
    project.is_verified(&["--target", "pso", "./queue", "1", "3"], "24");
    project.fails(
        &["./queue", "2", "2"],
        "not store-buffer safe: under x86-TSO, ",
    );
}

#[test]
fn liburcu() {
    let needs = ["urcu/wfcqueue.h", "urcu/lfstack.h"];
    let Some(project) = Project::build("c-liburcu", &needs, "") else {
        return;
    };
    for program in ["./queue", "./stack"] {
        project.runs(program);
    }
    for target in ["x86", "pso"] {
        project.is_verified(&["--target", target, "./queue"], "168");
        project.is_verified(&["--target", target, "./stack"], "49");
    }
    // The pointer to a node is then published before what is in it.
    let Some(project) = Project::build("c-liburcu", &needs, "-DRELAXED") else {
        return;
    };
    project.fails(&["./stack"], "data race on ");
}
