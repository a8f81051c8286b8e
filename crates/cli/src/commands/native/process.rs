//! `fencepost run`: the process in which a program is checked. It has a parent so that a crash of the program, which has the
//! check in its own memory, does not look like a result.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use fencepost_driver::{RUNTIME_FILE, linked_with};
use nix::sys::personality::{self, Persona};
use nix::sys::signal::Signal;

use super::{ResultFile, settings};
use crate::args::{DisplayArguments, RunArguments};
use crate::exit::{self, Failure};
use crate::interrupt;

/// A process to be started and supervised.
pub struct Supervised<'a> {
    pub executable: &'a Path,
    /// What the program is told that it is called.
    pub name: &'a Path,
    pub arguments: &'a [OsString],
    pub variables: Vec<(String, OsString)>,
    /// How the user started the check.
    pub command: String,
    pub is_quiet: bool,
}

/// Checks an executable.
pub fn check(
    arguments: &RunArguments,
    display: &DisplayArguments,
    result: &ResultFile,
) -> Result<u8, Failure> {
    let (program, program_arguments) = arguments
        .program
        .split_first()
        .unwrap_or_else(|| unreachable!());
    let path = PathBuf::from(program);
    // It is not looked for in PATH.
    let executable = match path.components().count() {
        1 => Path::new(".").join(&path),
        _ => path.clone(),
    };
    refuse_others(&executable, &path)?;
    let set = settings::variables(&arguments.check, display, result.is_json);
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let supervised = Supervised {
        executable: &executable,
        name: &path,
        arguments: program_arguments,
        command: settings::command_line(&words, arguments.program.len(), &set),
        variables: set,
        is_quiet: display.quiet,
    };
    run(&supervised, result)
}

/// Fails if the file is no executable with the runtime library.
fn refuse_others(executable: &Path, shown: &Path) -> Result<(), Failure> {
    let shown = shown.display();
    let refused = |message: String| Err(Failure::BadInput(message));
    match executable.metadata() {
        Err(error) => return refused(format!("error: cannot read {shown}: {error}")),
        Ok(metadata) if metadata.is_dir() => {
            return refused(format!("error: {shown} is a directory; expected a program"));
        }
        Ok(_) => {}
    }
    let Some(linked) = linked_with(executable) else {
        return refused(format!(
            "error: {shown}: expected an executable for x86-64\n\
             help: a C or C++ file is checked with `fencepost cc`; a script of libtool is run by\n      \
             libtool --mode=execute fencepost run PROGRAM"
        ));
    };
    let is_runtime = |name: &Vec<u8>| name.ends_with(RUNTIME_FILE.as_bytes());
    if !linked.libraries.iter().any(is_runtime) {
        return refused(format!(
            "error: {shown} was not linked with Fencepost's runtime library\n\
             help: build it anew with fencepost-cc as the C compiler and fencepost-cxx as the C++ compiler, such as\n      \
             make clean && make CC=fencepost-cc CXX=fencepost-cxx"
        ));
    }
    if !linked.starts_as_usual {
        // The runtime library would never come in, and the program's own exit code look like a result.
        return refused(format!(
            "error: {shown} has a start of its own instead of the C library's (`__libc_start_main`)\n\
             help: build it without -nostartfiles and -nostdlib"
        ));
    }
    Ok(())
}

/// Starts the process and waits for it. Its exit code is that of the check.
pub fn run(supervised: &Supervised<'_>, result: &ResultFile) -> Result<u8, Failure> {
    let mut command = Command::new(supervised.executable);
    command.arg0(supervised.name).args(supervised.arguments);
    command.envs(
        supervised
            .variables
            .iter()
            .map(|(name, value)| (name, value)),
    );
    command.env("FENCEPOST_COMMAND", &supervised.command);
    command.env("FENCEPOST_WATCHED", "1");
    // No function is looked up while the program runs: it would be a write that no execution undoes.
    command.env("LD_BIND_NOW", "1");
    // Ctrl-C in a terminal is for a whole group, and would come twice.
    command.process_group(0);
    if io::stdin().is_terminal() {
        // A process of another group may not read from it.
        command.stdin(Stdio::null());
    }
    if let Some(file) = &result.file {
        let file = file
            .try_clone()
            .map_err(|error| cannot_start(supervised, &error))?;
        command.stdout(file);
    }
    note_workers(supervised);
    interrupt::check()?;
    let status = without_randomisation(supervised.is_quiet, || {
        let mut child = command
            .spawn()
            .map_err(|error| cannot_start(supervised, &error))?;
        interrupt::child::set(child.id());
        let status = child.wait();
        interrupt::child::unset();
        status.map_err(|error| {
            Failure::Internal(format!("error: cannot wait for the program: {error}"))
        })
    })?;
    exit_code(status, supervised.name)
}

/// Says that there is one worker, if there should be more.
fn note_workers(supervised: &Supervised<'_>) {
    let mut variables = supervised.variables.iter();
    let workers = variables.find(|(name, _)| name == "FENCEPOST_WORKERS");
    match workers {
        Some((_, workers)) if workers != "1" && !supervised.is_quiet => eprintln!(
            "note: one worker checks a C or C++ program, since there is one copy of its memory; asked for: {}",
            workers.display()
        ),
        _ => {}
    }
}

/// Processes that are started meanwhile have the same addresses every time, so that executions that depend on addresses can be
/// repeated.
fn without_randomisation<T>(is_quiet: bool, start: impl FnOnce() -> T) -> T {
    let before = personality::get();
    let set = before.and_then(|before| personality::set(before | Persona::ADDR_NO_RANDOMIZE));
    if let (Err(error), false) = (set, is_quiet) {
        eprintln!(
            "note: addresses are randomised, since this system does not let it be switched off ({}): a schedule may mean \
             another execution in a program that depends on addresses",
            error.desc()
        );
    }
    let started = start();
    if let Ok(before) = before {
        // Nothing else is started that depends on it.
        let _ = personality::set(before);
    }
    started
}

fn cannot_start(supervised: &Supervised<'_>, error: &io::Error) -> Failure {
    Failure::BadInput(format!(
        "error: cannot run {}: {error}",
        supervised.executable.display()
    ))
}

/// What the exit codes of a supervised check have in addition.
const RESULT: u8 = 128 + 32;

/// The exit code of the check, unless the process ended without a result.
fn exit_code(status: ExitStatus, name: &Path) -> Result<u8, Failure> {
    let name = name.display();
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    // The library adds it, so that a program that ends by itself does not look like a result.
    let of_check = code.and_then(|code| code.checked_sub(RESULT));
    if let Some(
        code @ (exit::NO_VIOLATION
        | exit::VIOLATION
        | exit::BAD_INPUT
        | exit::LIMIT
        | exit::INTERNAL
        | exit::INTERRUPTED),
    ) = of_check
    {
        return Ok(code);
    }
    match code {
        Some(127) => {
            return Err(Failure::BadInput(format!(
                "error: {name} did not start: see the message of the dynamic linker above\n\
                 help: build it anew, if Fencepost or its build directory was moved"
            )));
        }
        Some(code) => {
            return Err(Failure::Internal(format!(
                "error: the check of {name} ended without a result, with exit code {code}: this is a bug of Fencepost, please \
                 report it"
            )));
        }
        None => {}
    }
    if interrupt::was_requested() {
        return Err(Failure::Interrupted);
    }
    let number = status.signal().unwrap_or_default();
    let signal =
        Signal::try_from(number).map_or_else(|_| number.to_string(), |s| s.as_str().to_owned());
    match number {
        number if number == Signal::SIGKILL as i32 => Err(Failure::Limit(format!(
            "error: the check of {name} was killed (SIGKILL) before it had a result\n\
             help: the system does so if memory runs out: use fewer workers, or a bound such as --preemption-bound 2"
        ))),
        _ => Err(Failure::Internal(format!(
            "error: the check of {name} was ended by {signal} without a result: this is a bug of Fencepost, unless the \
             program destroys the memory of others; please report it"
        ))),
    }
}
