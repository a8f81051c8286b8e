//! Which compiler compiles a program.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::DriverError;
use crate::words::split_words;

/// The language of a source file, or of the driver that links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cxx,
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Language::C => "C",
            Language::Cxx => "C++",
        })
    }
}

impl Language {
    /// The names that are looked for in PATH, in this order.
    pub(crate) fn usual_names(self) -> [&'static str; 3] {
        match self {
            Language::C => ["cc", "gcc", "clang"],
            Language::Cxx => ["c++", "g++", "clang++"],
        }
    }

    /// The variable that names the compiler.
    pub(crate) fn variable(self) -> &'static str {
        match self {
            Language::C => "FENCEPOST_COMPILER",
            Language::Cxx => "FENCEPOST_COMPILER_CXX",
        }
    }

    /// The variable of build systems that names the compiler.
    fn usual_variable(self) -> &'static str {
        match self {
            Language::C => "CC",
            Language::Cxx => "CXX",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    Gcc,
    Clang,
}

/// A command that compiles, perhaps with arguments of its own, as in `ccache gcc`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compiler {
    words: Vec<OsString>,
}

/// What a compiler says that it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Version {
    pub(crate) family: Family,
    pub(crate) major: u32,
}

impl Compiler {
    /// The compiler that a user names, or one with arguments.
    pub fn named(name: &OsStr) -> Self {
        let is_file = Path::new(name).is_file();
        let words = split_words(name.as_bytes()).filter(|words| !is_file && !words.is_empty());
        Compiler {
            words: words.unwrap_or_else(|| vec![name.to_owned()]),
        }
    }

    /// The compiler of the wrappers: the one of our variable, or the first in PATH.
    pub(crate) fn of_wrapper(language: Language) -> Result<Self, DriverError> {
        let named = env::var_os(language.variable()).filter(|name| !name.is_empty());
        let Some(name) = named else {
            return Compiler::in_path(language);
        };
        let compiler = Compiler::named(&name);
        match compiler.is_wrapper() {
            true => Err(compiler.cannot_run(io::Error::other("it is one of our own commands"))),
            false => Ok(compiler),
        }
    }

    /// The compiler of `fencepost cc`: one of our variables, CC or CXX, or else the first in PATH.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn find(language: Language) -> Result<Self, DriverError> {
        let variables = [language.variable(), language.usual_variable()];
        let named = variables.into_iter().filter_map(env::var_os);
        let named = named
            .filter(|name| !name.is_empty())
            .map(|name| Compiler::named(&name));
        match named.into_iter().find(|compiler| !compiler.is_wrapper()) {
            Some(compiler) => Ok(compiler),
            None => Compiler::in_path(language),
        }
    }

    fn in_path(language: Language) -> Result<Self, DriverError> {
        let names = language.usual_names().into_iter();
        let found = names.filter_map(|name| in_path(OsStr::new(name)).map(|path| (name, path)));
        let mut found = found.filter(|(_, path)| !is_ours(path));
        match found.next() {
            Some((name, _)) => Ok(Compiler {
                words: vec![name.into()],
            }),
            None => Err(DriverError::NoCompiler { language }),
        }
    }

    /// Whether this is one of our own commands, which would call itself for ever.
    fn is_wrapper(&self) -> bool {
        let name = &self.words[0];
        let path = in_path(name).unwrap_or_else(|| PathBuf::from(name));
        is_ours(&path)
    }

    /// The compiler of the same kind for another language: `clang++-14` for `clang-14`. None if its name does not tell, or
    /// if it is not there.
    pub fn for_language(&self, language: Language) -> Option<Self> {
        let path = Path::new(self.words.last()?);
        let name = path.file_name()?.to_str()?;
        let named = renamed(name, language)?;
        let word = path.with_file_name(named);
        let mut words = self.words.clone();
        *words.last_mut()? = word.clone().into_os_string();
        in_path(word.as_os_str()).map(|_| Compiler { words })
    }

    /// How it was named.
    pub fn name(&self) -> String {
        let words: Vec<_> = self
            .words
            .iter()
            .map(|word| word.to_string_lossy())
            .collect();
        words.join(" ")
    }

    /// A command that runs it.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        command
    }

    pub(crate) fn cannot_run(&self, why: io::Error) -> DriverError {
        DriverError::CannotRun {
            name: self.name(),
            why,
        }
    }

    /// Asks it what it is.
    pub(crate) fn version(&self) -> Result<Version, DriverError> {
        if self.is_wrapper() {
            return Err(self.cannot_run(io::Error::other("it is one of our own commands")));
        }
        let unknown = || DriverError::UnknownCompiler { name: self.name() };
        let family = family_of(&self.answer("--version")?).ok_or_else(unknown)?;
        // Other programs of GNU have similar texts, but do not answer this.
        let major = leading_number(&self.answer("-dumpversion")?).ok_or_else(unknown)?;
        Ok(Version { family, major })
    }

    fn answer(&self, question: &str) -> Result<String, DriverError> {
        let mut command = self.command();
        command
            .arg(question)
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        let output = command.output().map_err(|why| self.cannot_run(why))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// The name of the same compiler for another language.
fn renamed(name: &str, language: Language) -> Option<String> {
    // A version or a target may be around it. The longer names come first: they contain the shorter ones.
    let names = [("clang", "clang++"), ("gcc", "g++"), ("cc", "c++")];
    for (c, cxx) in names {
        let (from, to) = match language {
            Language::C => (cxx, c),
            Language::Cxx => (c, cxx),
        };
        let [own, other] = [to, from].map(|word| word_at(name, word));
        match (language, own, other) {
            // `clang` is within `clang++`.
            (Language::Cxx, Some(_), _) => return Some(name.to_owned()),
            (Language::C, Some(_), None) => return Some(name.to_owned()),
            (_, _, Some(at)) => {
                return Some(format!("{}{to}{}", &name[..at], &name[at + from.len()..]));
            }
            _ => {}
        }
    }
    None
}

/// Where a name has this word, which letters must not surround.
fn word_at(name: &str, word: &str) -> Option<usize> {
    let mut places = name.match_indices(word).map(|(at, _)| at);
    places.find(|at| {
        let before = name[..*at].chars().next_back();
        let after = name[at + word.len()..].chars().next();
        before.is_none_or(|c| !c.is_ascii_alphanumeric())
            && after.is_none_or(|c| !c.is_ascii_alphabetic())
    })
}

/// The executable that a name stands for.
fn in_path(name: &OsStr) -> Option<PathBuf> {
    let is_executable = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    if name.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(is_executable);
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(is_executable)
}

/// Whether a file is one of our commands, under any name.
fn is_ours(path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else {
        return false;
    };
    let own = env::current_exe().and_then(|own| own.canonicalize());
    let names = ["fencepost", "fencepost-cc", "fencepost-cxx"];
    own.is_ok_and(|own| own == path)
        || names
            .iter()
            .any(|name| path.file_name() == Some(OsStr::new(name)))
}

/// Reads what `--version` prints.
fn family_of(text: &str) -> Option<Family> {
    if text.lines().next()?.contains("clang version ") {
        return Some(Family::Clang);
    }
    text.contains("Free Software Foundation")
        .then_some(Family::Gcc)
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_say_what_they_are() {
        let fsf = "\nCopyright (C) 2022 Free Software Foundation, Inc.\n";
        for (text, family) in [
            ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0", Family::Gcc),
            ("x86_64-linux-gnu-gcc (Gentoo 9.3.0 p2) 9.3.0", Family::Gcc),
        ] {
            assert_eq!(family_of(&format!("{text}{fsf}")), Some(family), "{text}");
        }
        for text in [
            "Debian clang version 14.0.6",
            "clang version 21.0.0git (https://github.com/llvm)",
        ] {
            assert_eq!(family_of(text), Some(Family::Clang), "{text}");
        }
        for text in [
            "tcc version 0.9.27 (x86_64 Linux)",
            "",
            "icc (ICC) 2021.10.0 20230609",
        ] {
            assert_eq!(family_of(text), None, "{text}");
        }
        assert_eq!(leading_number("12.2.0\n"), Some(12));
        assert_eq!(leading_number("12\n"), Some(12));
        assert_eq!(leading_number(""), None);
    }

    #[test]
    fn the_compiler_for_the_other_language_has_a_similar_name() {
        for (c, cxx) in [
            ("cc", "c++"),
            ("gcc", "g++"),
            ("gcc-12", "g++-12"),
            ("clang", "clang++"),
            ("clang-14", "clang++-14"),
            ("x86_64-linux-gnu-gcc-12", "x86_64-linux-gnu-g++-12"),
        ] {
            assert_eq!(renamed(c, Language::Cxx).as_deref(), Some(cxx));
            assert_eq!(renamed(cxx, Language::C).as_deref(), Some(c));
            assert_eq!(renamed(c, Language::C).as_deref(), Some(c));
            assert_eq!(renamed(cxx, Language::Cxx).as_deref(), Some(cxx));
        }
        assert_eq!(renamed("tcc", Language::Cxx), None);
        assert_eq!(renamed("mycompiler", Language::C), None);
    }

    #[test]
    fn a_compiler_may_have_arguments() {
        let words = |name: &str| Compiler::named(OsStr::new(name)).words;
        assert_eq!(words("ccache gcc"), ["ccache", "gcc"]);
        assert_eq!(words("gcc-12"), ["gcc-12"]);
        assert_eq!(words("'a"), ["'a"]);
    }
}
