//! Checks of C and C++ programs. The check itself runs in the program, by the runtime library that it is linked with: this
//! builds the program, starts it with its settings, and watches it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use fencepost_report::json::check::CHECK_SCHEMA;

use crate::exit::Failure;
use crate::files::refuse_overwriting;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod build;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod process;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod settings;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use build::compile_and_check;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use process::check;

/// Where the program writes its report.
pub struct ResultFile {
    is_json: bool,
    file: Option<File>,
}

/// Runs a command with the file of its result. With JSON, a failure becomes the last object.
pub fn with_result(
    is_json: bool,
    output: Option<&Path>,
    inputs: &[OsString],
    run: impl FnOnce(&ResultFile) -> Result<u8, Failure>,
) -> Result<u8, Failure> {
    let output = output.filter(|path| *path != Path::new("-"));
    let create = |path: &Path| {
        for input in inputs {
            refuse_overwriting(Path::new(input), path)?;
        }
        File::create(path).map_err(|error| {
            Failure::BadInput(format!("error: cannot create {}: {error}", path.display()))
        })
    };
    let file = output.map(create).transpose()?;
    let result = ResultFile { is_json, file };
    let code = run(&result);
    if is_json && let Err(failure) = &code {
        let mut output: Box<dyn Write> = match result.file {
            Some(file) => Box::new(file),
            None => Box::new(io::stdout()),
        };
        super::write_json_failure(CHECK_SCHEMA, failure, &mut output);
    }
    code
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod elsewhere {
    use super::ResultFile;
    use crate::args::{CcArguments, DisplayArguments, RunArguments};
    use crate::exit::Failure;

    fn refuse() -> Result<u8, Failure> {
        let message = "error: C and C++ programs can be checked on Linux on x86-64 only";
        Err(Failure::BadInput(message.to_owned()))
    }

    pub fn compile_and_check(
        _: &CcArguments,
        _: &DisplayArguments,
        _: &ResultFile,
    ) -> Result<u8, Failure> {
        refuse()
    }

    pub fn check(_: &RunArguments, _: &DisplayArguments, _: &ResultFile) -> Result<u8, Failure> {
        refuse()
    }
}
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub use elsewhere::{check, compile_and_check};
