//! `fencepost run`: checks an executable that was made with the wrappers.

use crate::args::{DisplayArguments, RunArguments};
use crate::exit::Failure;

use super::native;

/// Checks it.
pub fn run(arguments: &RunArguments, display: &DisplayArguments) -> Result<u8, Failure> {
    let output = arguments.result.file.output.as_deref();
    let program = &arguments.program[..1];
    native::with_result(arguments.result.json, output, program, |result| {
        native::check(arguments, display, result)
    })
}
