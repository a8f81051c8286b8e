//! The wrappers: commands that are used as compilers.

use std::ffi::OsString;

use crate::command_line::{self, Goal};
use crate::compiler::{Compiler, Language};
use crate::error::DriverError;
use crate::{response_file, run_steps, runtime, steps};

/// Does what the compiler does with these arguments, but so that the program can be checked. Returns the exit code, unless the
/// compiler runs in place of this process. `was_stopped` says whether a signal asked to end.
///
/// # Errors
///
/// There is no compiler or no runtime library, or the program could not be checked.
pub fn run_wrapper(
    language: Language,
    arguments: Vec<OsString>,
    was_stopped: &dyn Fn() -> bool,
) -> Result<u8, DriverError> {
    let compiler = Compiler::of_wrapper(language)?;
    let line = command_line::read(response_file::expand(arguments.clone())?)?;
    if line.goal == Goal::Answer || !line.has_work() {
        return Err(run_steps::replace(&compiler, &arguments));
    }
    let steps = steps::plan(&line, compiler.version()?, &runtime::find_runtime)?;
    if line.goal == Goal::Link {
        for input in steps::not_instrumented(&line) {
            // Into the log of the build: the check itself cannot tell.
            eprintln!(
                "fencepost: note: {} was not compiled with fencepost-cc: a check does not see its accesses",
                input.path.display()
            );
        }
    }
    run_steps::run(&compiler, &steps, was_stopped)
}
