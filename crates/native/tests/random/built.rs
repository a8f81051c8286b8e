//! Random programs that are compiled, and what their checks say.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, fs};

use fencepost_driver::{Compiler, Program, TemporaryFolder, build};
use serde_json::Value;

use crate::journal::Results;

/// The parts of `struct outcomes` in `outcomes.h`.
const THREADS: usize = 4;
const RESULTS: usize = 31;
const MOST_OUTCOMES: usize = 4000;
const COUNT: usize = 4;
const OUTCOME: usize = THREADS * (1 + RESULTS);

/// A compiler with an optimization level.
pub struct Configuration {
    compiler: Compiler,
    level: &'static str,
}

impl Configuration {
    pub fn name(&self) -> String {
        format!("{} {}", self.compiler.name(), self.level)
    }
}

/// gcc and clang, with and without optimization. Says which is not there.
pub fn configurations() -> Vec<Configuration> {
    let mut found = Vec::new();
    for name in ["gcc", "clang"] {
        if Command::new(name).arg("--version").output().is_err() {
            eprintln!("skipped: there is no {name}");
            continue;
        }
        found.extend(["-O0", "-O2"].map(|level| Configuration {
            compiler: Compiler::named(name.as_ref()),
            level,
        }));
    }
    found
}

/// A file with many programs, compiled.
pub struct Built {
    folder: TemporaryFolder,
}

/// What a check says.
pub struct Checked {
    pub summary: Value,
    pub findings: Vec<Value>,
    /// What the threads have seen in the executions that have ended.
    pub outcomes: BTreeSet<Results>,
    /// All that was printed, for people.
    pub text: String,
}

impl Checked {
    pub fn outcome(&self) -> &str {
        self.summary["outcome"].as_str().expect("an outcome")
    }

    pub fn number(&self, field: &str) -> u64 {
        self.summary[field].as_u64().unwrap_or_default()
    }
}

impl Built {
    /// Compiles a file as `fencepost cc` does.
    pub fn new(text: &str, how: &Configuration) -> Self {
        let folder = TemporaryFolder::new().expect("a folder");
        let source = folder.path().join("random.c");
        fs::write(&source, text).expect("the source is written");
        let options = [how.level, "-w", "-std=gnu11"].map(OsString::from);
        let code = build(
            &Program {
                files: &[source.into()],
                options: &options,
                compiler: Some(&how.compiler),
                output: &folder.path().join("random"),
            },
            &mut |_| (),
            &|| false,
        );
        match code {
            Ok(0) => Built { folder },
            other => panic!("{other:?}: {} does not compile\n{text}", how.name()),
        }
    }

    /// Checks a program with settings, environment variables without `FENCEPOST_`.
    pub fn check(&self, number: usize, settings: &[(&str, &str)]) -> Checked {
        let size = COUNT + MOST_OUTCOMES * OUTCOME;
        fs::write(self.outcomes(), vec![0; size]).expect("the file for outcomes is written");
        self.check_on(number, settings)
    }

    fn outcomes(&self) -> PathBuf {
        self.folder.path().join("outcomes")
    }

    /// Checks a program, stops after so many executions, and goes on from the checkpoint, until the check has ended. Also
    /// how often that was done.
    pub fn check_in_pieces(
        &self,
        number: usize,
        settings: &[(&str, &str)],
        mut piece: impl FnMut() -> u64,
    ) -> (Checked, u64) {
        let checkpoint = self.folder.path().join("checkpoint");
        let path = checkpoint.to_str().expect("a path").to_owned();
        for resumed in 0.. {
            let piece = piece().to_string();
            let more = [("CHECKPOINT", path.as_str()), ("MAX_EXECUTIONS", &piece)];
            let settings = [settings, &more].concat();
            let checked = match resumed {
                0 => self.check(number, &settings),
                _ => self.check_on(number, &settings),
            };
            if !checkpoint.exists() {
                return (checked, resumed);
            }
        }
        unreachable!("it is resumed until it ends")
    }

    /// Checks a program, and adds to its outcomes.
    fn check_on(&self, number: usize, settings: &[(&str, &str)]) -> Checked {
        let outcomes = self.outcomes();
        let mut command = Command::new(self.folder.path().join("random"));
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with("FENCEPOST_") {
                command.env_remove(name);
            }
        }
        for (name, value) in settings {
            command.env(format!("FENCEPOST_{name}"), value);
        }
        let output = command
            .arg(number.to_string())
            .env("FENCEPOST_NATIVE", "json")
            .env("OUTCOMES", &outcomes)
            .stdin(Stdio::null())
            .output()
            .expect("the program runs");
        let text = format!(
            "{}{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        let objects = String::from_utf8_lossy(&output.stdout);
        let objects = objects
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let (findings, others): (Vec<_>, Vec<_>) =
            objects.partition(|object| object["type"] == "finding");
        let summary = others
            .into_iter()
            .find(|object| object["type"] == "summary");
        Checked {
            summary: summary.unwrap_or_else(|| panic!("no result: {text}")),
            findings,
            outcomes: read_outcomes(&fs::read(&outcomes).expect("the outcomes are there")),
            text,
        }
    }
}

fn read_outcomes(bytes: &[u8]) -> BTreeSet<Results> {
    let (count, all) = bytes.split_at(COUNT);
    let count = u32::from_ne_bytes(count.try_into().expect("four bytes")) as usize;
    let one = |outcome: &[u8]| -> Results {
        let mut results: Results = outcome
            .chunks(1 + RESULTS)
            .map(|of| {
                of[1..=usize::from(of[0])]
                    .iter()
                    .map(|&r| r.into())
                    .collect()
            })
            .collect();
        while results.last().is_some_and(Vec::is_empty) {
            results.pop();
        }
        results
    };
    all.chunks(OUTCOME).take(count).map(one).collect()
}
