//! `fencepost cc`: compiles a C or C++ program and checks it.

use crate::args::{CcArguments, DisplayArguments};
use crate::exit::Failure;

use super::native;

/// Compiles and checks.
pub fn run(arguments: &CcArguments, display: &DisplayArguments) -> Result<u8, Failure> {
    let output = arguments.output.as_deref();
    native::with_result(arguments.json, output, &arguments.files, |result| {
        native::compile_and_check(arguments, display, result)
    })
}
