//! The same programs in C, for checks of C programs.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fencepost::Target;
use fencepost_driver::{Compiler, DriverError, Program, TemporaryFolder, build};
use thiserror::Error;

use super::{Example, Version};

/// What several of them include.
const HEADERS: [(&str, &str); 2] = [
    ("version.h", include_str!("../../c/version.h")),
    ("queue_main.h", include_str!("../../c/queue_main.h")),
];

/// The source of a program, by its name.
const SOURCES: [(&str, &str); 10] = [
    ("store-buffering", include_str!("../../c/store_buffering.c")),
    ("dekker", include_str!("../../c/dekker.c")),
    ("bakery", include_str!("../../c/bakery.c")),
    ("takequeue", include_str!("../../c/take_queue.c")),
    ("idle-consumer", include_str!("../../c/idle_consumer.c")),
    ("msn", include_str!("../../c/msn.c")),
    ("ms2", include_str!("../../c/ms2.c")),
    ("harris", include_str!("../../c/harris.c")),
    ("lazylist", include_str!("../../c/lazylist.c")),
    ("snark", include_str!("../../c/snark.c")),
];

/// Why a program in C was not checked.
#[derive(Debug, Error)]
pub enum CError {
    /// It could not be compiled.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The compiler has said why.
    #[error("the compiler does not compile {0}.c")]
    Compiler(String),
    /// A file of it could not be written.
    #[error("cannot write {0}: {1}")]
    Write(PathBuf, std::io::Error),
    /// It could not be run.
    #[error("cannot run {0}: {1}")]
    Run(String, std::io::Error),
    /// Its check has no result.
    #[error("the check of {0}.c has no result:\n{1}")]
    NoResult(String, String),
}

/// How a program is compiled.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compilation<'a> {
    /// The compiler: that of the user if none is named.
    pub compiler: Option<&'a Compiler>,
    /// More options of it.
    pub options: &'a [&'a str],
}

/// A program that is compiled.
#[derive(Debug)]
pub struct Compiled {
    name: &'static str,
    folder: TemporaryFolder,
}

/// The result of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CResult {
    /// `verified`, `incomplete` or `found`.
    pub outcome: String,
    /// The executions.
    pub executions: u64,
    /// Those with a store-buffer violation.
    pub borderline: u64,
    /// The violations that differ in their source locations, and other failures.
    pub distinct: u64,
    /// The steps of all executions.
    pub steps: u64,
    /// Whether the check has seen loops that wait.
    pub has_waiting_loops: bool,
}

impl Compiled {
    /// Compiles a version of a program.
    ///
    /// # Errors
    /// There is no compiler or no runtime library, or nothing can be written.
    pub fn new(example: &Example, version: Version, how: Compilation<'_>) -> Result<Self, CError> {
        let folder = TemporaryFolder::new()?;
        let source = SOURCES.iter().find(|(name, _)| *name == example.name);
        let (name, text) = *source.expect("each program is there in C");
        let main = folder.path().join(format!("{name}.c"));
        write(&main, text)?;
        for (header, text) in HEADERS {
            write(&folder.path().join(header), text)?;
        }
        let mut options: Vec<OsString> = how.options.iter().map(OsString::from).collect();
        options.push("-w".into());
        if version == Version::Fixed {
            options.push("-DFIXED".into());
        }
        let code = build(
            &Program {
                files: &[main.into()],
                options: &options,
                compiler: how.compiler,
                output: &folder.path().join("program"),
            },
            &mut |_| (),
            &|| false,
        )?;
        match code {
            0 => Ok(Compiled { name, folder }),
            _ => Err(CError::Compiler(name.to_owned())),
        }
    }

    /// Checks it, with more settings: environment variables without `FENCEPOST_`.
    ///
    /// # Errors
    /// The program cannot be run, or ends without a result.
    pub fn check(&self, target: Target, settings: &[(&str, &str)]) -> Result<CResult, CError> {
        let mut command = Command::new(self.folder.path().join("program"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("FENCEPOST_") {
                command.env_remove(name);
            }
        }
        let target = match target {
            Target::Pso => "pso",
            _ => "x86",
        };
        command
            .env("FENCEPOST_NATIVE", "json")
            .env("FENCEPOST_TARGET", target);
        for (name, value) in settings {
            command.env(format!("FENCEPOST_{name}"), value);
        }
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|error| CError::Run(self.name.to_owned(), error))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let objects = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let is_summary = |object: &serde_json::Value| object["type"] == "summary";
        let summary = { objects }.find(is_summary).ok_or_else(|| {
            let said = String::from_utf8_lossy(&output.stderr)
                .trim_end()
                .to_owned();
            CError::NoResult(self.name.to_owned(), said)
        })?;
        let number = |field: &str| summary[field].as_u64().unwrap_or_default();
        Ok(CResult {
            outcome: summary["outcome"].as_str().unwrap_or_default().to_owned(),
            executions: number("executions"),
            borderline: number("borderline"),
            distinct: number("distinct"),
            steps: number("steps"),
            has_waiting_loops: summary["waiting_loops"]
                .as_array()
                .is_some_and(|loops| !loops.is_empty()),
        })
    }
}

fn write(path: &Path, text: &str) -> Result<(), CError> {
    fs::write(path, text).map_err(|error| CError::Write(path.to_owned(), error))
}
