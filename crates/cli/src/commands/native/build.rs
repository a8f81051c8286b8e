//! `fencepost cc`: from files to a process.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use fencepost_driver::{Compiler, DriverError, Program, TemporaryFolder, build, split_words};

use super::process::{self, Supervised};
use super::{ResultFile, settings};
use crate::args::{CcArguments, DisplayArguments};
use crate::exit::{self, Failure};
use crate::interrupt;

/// Compiles the program, and checks it.
pub fn compile_and_check(
    arguments: &CcArguments,
    display: &DisplayArguments,
    result: &ResultFile,
) -> Result<u8, Failure> {
    let program_arguments = program_arguments(arguments).map_err(failure)?;
    let folder = TemporaryFolder::new().map_err(failure)?;
    let name = Path::new(&arguments.files[0])
        .file_stem()
        .unwrap_or(OsStr::new("program"));
    let executable = match &arguments.executable {
        Some(path) if path.components().count() == 1 => Path::new(".").join(path),
        Some(path) => path.clone(),
        None => folder.path().join(name),
    };
    if let Some(code) = compile(arguments, display, &executable)? {
        return fail_quietly(result, code);
    }
    interrupt::check()?;
    let set = settings::variables(&arguments.check, display, result.is_json);
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let command = settings::command_line(&words, arguments.flags.len(), &set);
    let supervised = Supervised {
        executable: &executable,
        // The path in the temporary folder is another one each time, and its length could decide where the stack begins.
        name: arguments.executable.as_deref().unwrap_or(Path::new(name)),
        arguments: &program_arguments,
        variables: set,
        command,
        is_quiet: display.quiet,
    };
    process::run(&supervised, result)
}

/// Compiles. Returns the compiler's exit code if it failed.
fn compile(
    arguments: &CcArguments,
    display: &DisplayArguments,
    executable: &PathBuf,
) -> Result<Option<u8>, Failure> {
    let compiler = arguments.compiler.as_deref().map(Compiler::named);
    let mut options = arguments.flags.clone();
    for library in &arguments.libraries {
        let mut option = OsString::from("-l");
        option.push(library);
        options.push(option);
    }
    let program = Program {
        files: &arguments.files,
        options: &options,
        compiler: compiler.as_ref(),
        output: executable,
    };
    let mut note = |note: String| {
        if !display.quiet {
            eprintln!("note: {note}");
        }
    };
    let code = build(&program, &mut note, &interrupt::was_requested).map_err(failure)?;
    Ok(Some(code).filter(|code| *code != 0))
}

/// The compiler has said on standard error what is wrong; only JSON needs a word about it.
fn fail_quietly(result: &ResultFile, code: u8) -> Result<u8, Failure> {
    interrupt::check()?;
    match result.is_json {
        true => Err(Failure::BadInput(format!(
            "error: the compiler failed with exit code {code}"
        ))),
        false => Ok(exit::BAD_INPUT),
    }
}

fn program_arguments(arguments: &CcArguments) -> Result<Vec<OsString>, DriverError> {
    let text = arguments.args.clone().unwrap_or_default();
    let words = split_words(text.as_bytes());
    let mut words = words.ok_or_else(|| DriverError::OpenQuote {
        text: text.to_string_lossy().into_owned(),
    })?;
    words.extend(arguments.arg.iter().cloned());
    Ok(words)
}

fn failure(error: DriverError) -> Failure {
    Failure::BadInput(format!("error: {error}"))
}
