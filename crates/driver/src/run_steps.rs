//! Runs commands of the compiler.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;

use crate::compiler::Compiler;
use crate::error::DriverError;
use crate::response_file;
use crate::steps::Steps;
use crate::temporary::TemporaryFolder;

/// What a shell reports for a command that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// Runs the compiler instead of this process.
pub(crate) fn replace(compiler: &Compiler, arguments: &[OsString]) -> DriverError {
    let why: io::Error = compiler.command().args(arguments).exec();
    compiler.cannot_run(why)
}

/// Runs steps until one fails. Returns the exit code of the last one that ran.
pub(crate) fn run(
    compiler: &Compiler,
    steps: &Steps,
    was_stopped: &dyn Fn() -> bool,
) -> Result<u8, DriverError> {
    for arguments in &steps.commands {
        let code = run_one(compiler, arguments)?;
        if code != 0 {
            return Ok(code);
        }
        if was_stopped() {
            return Ok(INTERRUPTED);
        }
    }
    Ok(0)
}

fn run_one(compiler: &Compiler, arguments: &[OsString]) -> Result<u8, DriverError> {
    let mut command = compiler.command();
    let Some(text) = response_file::for_long(arguments) else {
        return code_of(command.args(arguments), compiler);
    };
    let folder = TemporaryFolder::new()?;
    let path = folder.path().join("arguments");
    std::fs::write(&path, text).map_err(|why| DriverError::CannotWrite {
        path: path.clone(),
        why,
    })?;
    let mut argument = OsString::from("@");
    argument.push(&path);
    code_of(command.arg(argument), compiler)
}

fn code_of(command: &mut Command, compiler: &Compiler) -> Result<u8, DriverError> {
    let status = command.status().map_err(|why| compiler.cannot_run(why))?;
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
