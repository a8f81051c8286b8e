//! What a user can do wrong.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::compiler::Language;
use crate::runtime::{RUNTIME_FILE, RUNTIME_VARIABLE};

/// Why a program cannot be compiled or linked. As text, it follows "error: ".
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DriverError {
    /// No compiler is installed.
    #[error(
        "no {language} compiler was found in PATH; looked for {}\n\
         help: install gcc or clang, or name a compiler with --compiler or {}",
        .language.usual_names().join(", "), .language.variable()
    )]
    NoCompiler {
        /// The language.
        language: Language,
    },
    /// The named compiler is not there.
    #[error("cannot run the compiler `{name}`: {why}\nhelp: name one that is installed")]
    CannotRun {
        /// The compiler.
        name: String,
        /// Why it does not run.
        why: io::Error,
    },
    /// A compiler that we do not know.
    #[error(
        "`{name}` is neither gcc nor clang\nhelp: only these instrument programs as a check needs it"
    )]
    UnknownCompiler {
        /// The compiler.
        name: String,
    },
    /// The runtime library is nowhere.
    #[error(
        "the runtime library {RUNTIME_FILE} was not found; looked for {}\n\
         help: build it with `cargo build --release -p fencepost-native`, or set {RUNTIME_VARIABLE} to its path",
        list(.looked_for)
    )]
    NoRuntime {
        /// Where it could have been.
        looked_for: Vec<PathBuf>,
    },
    /// The runtime library is not where the variable says.
    #[error("{RUNTIME_VARIABLE}: there is no file {}\nhelp: set it to the path of {RUNTIME_FILE}, or unset it", .path.display())]
    RuntimeNotThere {
        /// The value of the variable.
        path: PathBuf,
    },
    /// The runtime library has a name that the dynamic linker would not find again.
    #[error("{RUNTIME_VARIABLE}: expected a file with the name {RUNTIME_FILE}, found {}", .path.display())]
    RuntimeName {
        /// The value of the variable.
        path: PathBuf,
    },
    /// A static executable was asked for.
    #[error(
        "`{option}`: a program to be checked cannot be linked statically, since the runtime is a shared library\nhelp: leave it out"
    )]
    Static {
        /// The option.
        option: String,
    },
    /// Another sanitizer was asked for.
    #[error(
        "`{option}`: a program to be checked cannot have another sanitizer than `thread`\nhelp: leave it out"
    )]
    OtherSanitizer {
        /// The option.
        option: String,
    },
    /// Parts of the program were to be left out.
    #[error(
        "`{option}`: the check would not see the accesses that it excludes, and could call a wrong program verified\nhelp: leave it out"
    )]
    Excludes {
        /// The option.
        option: String,
    },
    /// Response files that contain each other, or are far too large.
    #[error("`@{}`: response files are nested too deeply, or too large", .path.display())]
    ResponseFile {
        /// The file.
        path: PathBuf,
    },
    /// A file that does not exist, or cannot be opened.
    #[error("cannot read {}: {why}", .path.display())]
    CannotRead {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: io::Error,
    },
    /// A directory where a file is expected.
    #[error("{} is a directory; expected a file", .path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// A file that is no source file, object or library.
    #[error(
        "{}: expected a C file (.c), a C++ file (.cc, .cpp, .cxx, .C), an object (.o) or a library (.a, .so)\n\
         help: `-- -x c` makes the compiler read any file as C",
        .path.display()
    )]
    NotASource {
        /// The file.
        path: PathBuf,
    },
    /// An option that does not make a program.
    #[error(
        "`{option}` among the options of the compiler: `fencepost cc` makes a whole program\nhelp: {help}"
    )]
    NotForAProgram {
        /// The option.
        option: String,
        /// What to do instead.
        help: &'static str,
    },
    /// The output would replace an input.
    #[error("{} is an input, and would be overwritten\nhelp: choose another output", .path.display())]
    Overwritten {
        /// The input.
        path: PathBuf,
    },
    /// A file of our own could not be made.
    #[error("cannot write {}: {why}", .path.display())]
    CannotWrite {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: io::Error,
    },
    /// A quote is not closed.
    #[error("`{text}`: a quote is not closed")]
    OpenQuote {
        /// The text.
        text: String,
    },
}

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    paths.join(", ")
}
