//! `fencepost cc`: an executable from C and C++ files.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::command_line::{self, CommandLine, Goal, Input, Item, Kind, Stage};
use crate::compiler::{Compiler, Language};
use crate::error::DriverError;
use crate::temporary::TemporaryFolder;
use crate::{response_file, run_steps, runtime, steps};

/// What an executable is made from.
#[derive(Debug)]
pub struct Program<'a> {
    /// Sources, objects and libraries.
    pub files: &'a [OsString],
    /// Options of the compiler, which may have more files among them.
    pub options: &'a [OsString],
    /// The compiler, if the user names one.
    pub compiler: Option<&'a Compiler>,
    /// The executable.
    pub output: &'a Path,
}

/// Makes the executable. Returns the exit code of the compiler: if it is not 0, the compiler has said why. `note` is told of
/// objects whose accesses a check would not see. `was_stopped` says whether a signal asked to end.
///
/// # Errors
///
/// There is no compiler or no runtime library, or something is wrong with the files or the options.
pub fn build(
    program: &Program<'_>,
    note: &mut dyn FnMut(String),
    was_stopped: &dyn Fn() -> bool,
) -> Result<u8, DriverError> {
    let options = command_line::read(response_file::expand(program.options.to_vec())?)?;
    refuse_other_goals(&options)?;
    let files = program.files.iter().map(|path| Input {
        path: path.clone(),
        language: options
            .language
            .clone()
            .filter(|_| !is_linked(path.as_bytes())),
    });
    let inputs: Vec<Input> = files.chain(options.inputs().cloned()).collect();
    for input in &inputs {
        check(input)?;
    }
    let paths = inputs.iter().map(|input| Path::new(&input.path));
    steps::refuse_overwriting(Some(program.output), paths)?;
    let runtime = runtime::find_runtime()?;
    let folder = TemporaryFolder::new()?;
    let headers = folder.path().join("include");
    crate::headers::write(&headers)?;
    let is_cxx = inputs.iter().any(|input| input.kind() == Kind::Cxx);
    let mut linked = Vec::new();
    for (index, input) in inputs.iter().enumerate() {
        if !input.kind().is_source() {
            linked.push(absolute_if_option(&input.path));
            continue;
        }
        let language = match input.kind() {
            Kind::Cxx => Language::Cxx,
            _ => Language::C,
        };
        let object = folder.path().join(format!("{index}.o"));
        let mut words = every_stage(&options, false);
        words.extend(["-c".into(), "-o".into(), object.clone().into()]);
        // After the folders that the user names.
        words.extend(["-idirafter".into(), headers.clone().into()]);
        let compiler = program.compiler(language)?;
        if let Some(name) = input.language.clone().or(compiler.language) {
            words.extend(["-x".into(), name]);
        }
        words.push(absolute_if_option(&input.path));
        let code = run(&compiler.compiler, words, &runtime, was_stopped)?;
        if code != 0 {
            return Ok(code);
        }
        linked.push(object.into());
    }
    let mut words = linked;
    words.extend(every_stage(&options, true));
    words.extend(["-o".into(), program.output.into()]);
    let language = if is_cxx { Language::Cxx } else { Language::C };
    for input in steps::not_instrumented(&command_line::read(words.clone())?) {
        note(format!(
            "{} was not compiled with fencepost-cc: the check does not see its accesses",
            input.path.display()
        ));
    }
    run(
        &program.compiler(language)?.compiler,
        words,
        &runtime,
        was_stopped,
    )
}

/// A compiler, with the language that it has to be told.
struct Chosen {
    compiler: Compiler,
    language: Option<OsString>,
}

impl Program<'_> {
    /// The compiler for a source, or the one that links.
    fn compiler(&self, language: Language) -> Result<Chosen, DriverError> {
        let Some(named) = self.compiler else {
            let compiler = Compiler::find(language)?;
            return Ok(Chosen {
                compiler,
                language: None,
            });
        };
        if let Some(compiler) = named.for_language(language) {
            return Ok(Chosen {
                compiler,
                language: None,
            });
        }
        let name = match language {
            Language::C => "c",
            Language::Cxx => "c++",
        };
        Ok(Chosen {
            compiler: named.clone(),
            language: Some(name.into()),
        })
    }
}

fn run(
    compiler: &Compiler,
    words: Vec<OsString>,
    runtime: &Path,
    was_stopped: &dyn Fn() -> bool,
) -> Result<u8, DriverError> {
    let line = command_line::read(words)?;
    let runtime = || -> Result<PathBuf, DriverError> { Ok(runtime.to_owned()) };
    let steps = steps::plan(&line, compiler.version()?, &runtime)?;
    run_steps::run(compiler, &steps, was_stopped)
}

/// The options for all steps, or also those of the linker.
fn every_stage(options: &CommandLine, is_link: bool) -> Vec<OsString> {
    let options = options.items.iter().filter_map(|item| match item {
        Item::Option(Stage::Every, words) => Some(words),
        Item::Option(Stage::Link, words) if is_link => Some(words),
        _ => None,
    });
    options.flatten().cloned().collect()
}

/// A file whose name begins like an option.
fn absolute_if_option(path: &OsString) -> OsString {
    match path.as_bytes().starts_with(b"-") {
        true => Path::new(".").join(path).into(),
        false => path.clone(),
    }
}

fn refuse_other_goals(options: &CommandLine) -> Result<(), DriverError> {
    let refused = |option: &OsString, help| {
        let option = option.to_string_lossy().into_owned();
        Err(DriverError::NotForAProgram { option, help })
    };
    if options.output.is_some() {
        return refused(&"-o".into(), "`-o FILE` before `--` keeps the executable");
    }
    for item in &options.items {
        if let Item::Option(stage, words) = item {
            let is_other = match stage {
                Stage::Goal => options.goal != Goal::Link,
                Stage::Link => matches!(words[0].as_bytes(), b"-r" | b"-shared" | b"--shared"),
                _ => false,
            };
            if is_other {
                return refused(
                    &words[0],
                    "use `fencepost-cc` as the compiler for anything else",
                );
            }
        }
    }
    match options.static_option() {
        Some(option) => Err(DriverError::Static {
            option: option.to_string_lossy().into_owned(),
        }),
        None => Ok(()),
    }
}

/// Whether a file is for the linker by its name, also where `-x` says what the others are.
fn is_linked(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let is_versioned = name.windows(4).any(|window| window == b".so.");
    is_versioned
        || [&b".o"[..], b".a", b".so"]
            .iter()
            .any(|end| name.ends_with(end))
}

/// What a compiler would say about a file in words of its own, often long after, is said here.
fn check(input: &Input) -> Result<(), DriverError> {
    let path = PathBuf::from(&input.path);
    let metadata = path.metadata().map_err(|why| DriverError::CannotRead {
        path: path.clone(),
        why,
    })?;
    if metadata.is_dir() {
        return Err(DriverError::Directory { path });
    }
    let is_known = match input.kind() {
        Kind::C | Kind::Cxx | Kind::Assembly => true,
        Kind::Linked => is_linked(path.as_os_str().as_bytes()),
        Kind::Header => false,
        Kind::OtherSource => input.language.is_some(),
    };
    if !is_known {
        return Err(DriverError::NotASource { path });
    }
    match metadata.is_file() {
        // To open a pipe may wait for its writer.
        true => File::open(&path)
            .map(drop)
            .map_err(|why| DriverError::CannotRead { path, why }),
        false => Ok(()),
    }
}
