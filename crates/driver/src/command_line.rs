//! What the arguments of gcc and clang mean, as far as a wrapper has to know.
//!
//! An argument that is not listed here is an option of every step, without a value of its own.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::error::DriverError;

/// A command line that was read.
#[derive(Debug, Default)]
pub(crate) struct CommandLine {
    /// Options and inputs in their order.
    pub(crate) items: Vec<Item>,
    pub(crate) goal: Goal,
    /// What `-o` says.
    pub(crate) output: Option<OsString>,
    /// What the last `-x` says.
    pub(crate) language: Option<OsString>,
    /// Whether the linker makes one object of several, to be linked later.
    pub(crate) is_partial_link: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    Input(Input),
    /// An option with its values.
    Option(Stage, Vec<OsString>),
}

/// A file to compile or to link, or `-` for standard input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Input {
    pub(crate) path: OsString,
    /// What `-x` says that it is.
    pub(crate) language: Option<OsString>,
}

/// The steps that an option belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    Every,
    /// It says what is done with the result, or how it is called, and must not be in another step.
    Goal,
    /// It says which file with dependencies is written.
    Dependencies,
    Link,
}

/// What a command makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, PartialOrd, Ord)]
pub(crate) enum Goal {
    /// An executable or a shared library.
    #[default]
    Link,
    /// Objects or assembly text.
    Compile,
    /// Text, or a list of dependencies.
    Preprocess,
    /// An answer about the compiler itself.
    Answer,
}

/// What an input is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    C,
    Cxx,
    /// A source in another language that the compiler may know.
    OtherSource,
    Assembly,
    /// A header, to be compiled before others are.
    Header,
    /// For the linker.
    Linked,
}

impl Kind {
    pub(crate) fn is_source(self) -> bool {
        self != Kind::Linked
    }
}

impl Input {
    pub(crate) fn kind(&self) -> Kind {
        let language = self.language.as_ref().map(|language| language.as_bytes());
        match language {
            Some(b"c" | b"cpp-output") => return Kind::C,
            Some(b"c++" | b"c++-cpp-output") => return Kind::Cxx,
            Some(b"assembler" | b"assembler-with-cpp") => return Kind::Assembly,
            Some(language) if language.ends_with(b"-header") => return Kind::Header,
            Some(_) => return Kind::OtherSource,
            None => {}
        }
        let name = self.path.as_bytes();
        let name = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
        let dot = name.iter().rposition(|byte| *byte == b'.');
        match dot.map_or(&b""[..], |dot| &name[dot + 1..]) {
            b"c" | b"i" => Kind::C,
            b"cc" | b"cp" | b"cxx" | b"cpp" | b"CPP" | b"c++" | b"C" | b"ii" => Kind::Cxx,
            b"s" | b"S" | b"sx" => Kind::Assembly,
            b"h" | b"hh" | b"H" | b"hp" | b"hxx" | b"hpp" | b"HPP" | b"h++" | b"tcc" => {
                Kind::Header
            }
            b"m" | b"mi" | b"mm" | b"mii" | b"M" | b"ll" | b"bc" | b"f" | b"F" | b"f90"
            | b"F90" | b"for" | b"go" | b"d" | b"cu" | b"cppm" | b"ixx" => Kind::OtherSource,
            _ if name == b"-" => Kind::OtherSource,
            _ => Kind::Linked,
        }
    }
}

/// Options whose value is the next argument. All else that is one letter has its value in the same argument too.
const WITH_VALUE: [&str; 42] = [
    "-I",
    "-D",
    "-U",
    "-A",
    "-B",
    "-F",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-imultilib",
    "-iframework",
    "-iframeworkwithsysroot",
    "-isystem-after",
    "-include-pch",
    "-ivfsoverlay",
    "-cxx-isystem",
    "-stdlib++-isystem",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xclang",
    "-arch",
    "-target",
    "--target",
    "-gcc-toolchain",
    "--param",
    "-mllvm",
    "-aux-info",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "-wrapper",
    "-specs",
    "--sysroot",
    "-working-directory",
    "--config",
    "-G",
];

/// The same for options that only the linker takes.
const LINK_WITH_VALUE: [&str; 12] = [
    "-l",
    "-L",
    "-Xlinker",
    "-T",
    "-u",
    "-z",
    "-e",
    "--entry",
    "-Tbss",
    "-Tdata",
    "-Ttext",
    "-undefined",
];

/// Options that only the linker takes.
const LINK: [&str; 14] = [
    "-shared",
    "--shared",
    "-shared-libgcc",
    "-static-libgcc",
    "-static-libstdc++",
    "-static-libasan",
    "-rdynamic",
    "-nostartfiles",
    "-nodefaultlibs",
    "-nostdlib",
    "-nostdlib++",
    "-nolibc",
    "-r",
    "-symbolic",
];

/// Reads arguments in which response files are expanded.
pub(crate) fn read(arguments: Vec<OsString>) -> Result<CommandLine, DriverError> {
    let mut line = CommandLine::default();
    let mut language = None;
    let mut are_inputs_only = false;
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let bytes = argument.as_bytes();
        if are_inputs_only || !bytes.starts_with(b"-") || bytes == b"-" {
            line.push_input(argument, &language);
            continue;
        }
        // An option that is not text has its value in the same argument.
        let text = argument.to_str().unwrap_or_default().to_owned();
        let mut value = || arguments.next();
        match text.as_str() {
            "--" => are_inputs_only = true,
            "-o" | "--output" => line.output = value(),
            "-x" | "--language" => language = language_named(value()),
            "-c" | "--compile" | "-S" | "--assemble" | "-fsyntax-only" => {
                line.aim(Goal::Compile, argument)
            }
            "-E" | "--preprocess" | "-M" | "-MM" => line.aim(Goal::Preprocess, argument),
            "-MF" | "-MT" | "-MQ" => line.push(Stage::Dependencies, argument, value()),
            "-MD" | "-MMD" | "-MG" | "-MP" => line.push(Stage::Dependencies, argument, None),
            "-static" | "--static" | "-static-pie" => line.push(Stage::Link, argument, None),
            // It would be all settings again.
            "-g0" | "-s" => {}
            _ if is_question(&text) => line.aim(Goal::Answer, argument),
            "--param" | "-mllvm" => {
                let value = value();
                let is_ours = value.as_ref().is_some_and(|v| is_ours(v));
                if !is_ours {
                    line.push(Stage::Every, argument, value);
                }
            }
            _ if LINK_WITH_VALUE.contains(&text.as_str()) => {
                line.push(Stage::Link, argument, value())
            }
            _ if WITH_VALUE.contains(&text.as_str()) => line.push(Stage::Every, argument, value()),
            _ => line.push_joined(argument, &text, &mut language)?,
        }
    }
    line.language = language;
    Ok(line)
}

impl CommandLine {
    fn push_input(&mut self, path: OsString, language: &Option<OsString>) {
        let path = match path.as_bytes() {
            // It comes after `--`, which is left out.
            [b'-', _, ..] => [b"./", path.as_bytes()].concat(),
            _ => path.into_vec(),
        };
        self.items.push(Item::Input(Input {
            path: OsString::from_vec(path),
            language: language.clone(),
        }));
    }

    fn push(&mut self, stage: Stage, option: OsString, value: Option<OsString>) {
        let words = std::iter::once(option).chain(value).collect();
        self.items.push(Item::Option(stage, words));
    }

    /// Options that end earlier win, as with the compilers.
    fn aim(&mut self, goal: Goal, option: OsString) {
        self.goal = self.goal.max(goal);
        self.push(Stage::Goal, option, None);
    }

    /// An option of one argument.
    fn push_joined(
        &mut self,
        argument: OsString,
        text: &str,
        language: &mut Option<OsString>,
    ) -> Result<(), DriverError> {
        let bytes = argument.as_bytes();
        let rest = |prefix: &str| bytes.strip_prefix(prefix.as_bytes()).map(OsStr::from_bytes);
        if let Some(output) = rest("--output=").or_else(|| rest("-o")) {
            self.output = Some(output.to_owned());
        } else if let Some(name) = rest("--language=").or_else(|| rest("-x")) {
            *language = language_named(Some(name.to_owned()));
        } else if let Some(setting) = rest("-fsanitize=") {
            let mut sanitizers = setting.as_bytes().split(|byte| *byte == b',');
            if !sanitizers.all(|sanitizer| sanitizer == b"thread") {
                return Err(DriverError::OtherSanitizer {
                    option: text.to_owned(),
                });
            }
        } else if rest("-fsanitize-ignorelist=")
            .or_else(|| rest("-fsanitize-blacklist="))
            .is_some()
        {
            return Err(DriverError::Excludes {
                option: text.to_owned(),
            });
        } else if text.starts_with("-fno-sanitize") || text == "-flto" || text.starts_with("-flto=")
        {
            // What is to be instrumented is decided here. With link-time optimisation, gcc would do it without the option.
        } else if rest("--param=").is_some_and(is_ours) {
        } else if ["-MF", "-MT", "-MQ"]
            .iter()
            .any(|option| text.starts_with(option))
        {
            self.push(Stage::Dependencies, argument, None);
        } else if is_link_option(bytes) {
            self.is_partial_link |= bytes == b"-r";
            self.push(Stage::Link, argument, None);
        } else {
            self.push(Stage::Every, argument, None);
        }
        Ok(())
    }

    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Input> {
        self.items.iter().filter_map(|item| match item {
            Item::Input(input) => Some(input),
            Item::Option(..) => None,
        })
    }

    /// The first option that asks for an executable without shared libraries.
    pub(crate) fn static_option(&self) -> Option<&OsStr> {
        let is_static = |option: &&OsString| {
            matches!(option.as_bytes(), b"-static" | b"--static" | b"-static-pie")
        };
        let options = self.items.iter().filter_map(|item| match item {
            Item::Option(Stage::Link, words) => words.first(),
            _ => None,
        });
        options.into_iter().find(is_static).map(OsString::as_os_str)
    }

    /// Whether there is anything for the compiler to do, apart from printing.
    pub(crate) fn has_work(&self) -> bool {
        let is_library = |item: &Item| match item {
            Item::Option(Stage::Link, words) => words[0].as_bytes().starts_with(b"-l"),
            _ => false,
        };
        self.inputs().next().is_some() || self.items.iter().any(is_library)
    }
}

/// A language, unless it ends the effect of an earlier `-x`.
fn language_named(name: Option<OsString>) -> Option<OsString> {
    name.filter(|name| name != "none")
}

/// Whether an option is answered without compiling anything.
fn is_question(text: &str) -> bool {
    let exact = [
        "--version",
        "-dumpmachine",
        "-dumpversion",
        "-dumpfullversion",
        "-dumpspecs",
        "-###",
        "-cc1",
        "-cc1as",
        "--target-help",
    ];
    let prefixes = ["-print-", "--print-", "--help"];
    exact.contains(&text) || prefixes.iter().any(|prefix| text.starts_with(prefix))
}

/// Whether a setting is one of those that decide what is instrumented.
fn is_ours(setting: &OsStr) -> bool {
    let setting = setting.as_bytes();
    setting
        .strip_prefix(b"-")
        .unwrap_or(setting)
        .starts_with(b"tsan-")
}

fn is_link_option(bytes: &[u8]) -> bool {
    let prefixes: [&[u8]; 6] = [b"-l", b"-L", b"-Wl,", b"-fuse-ld=", b"-z", b"-T"];
    LINK.iter().any(|option| bytes == option.as_bytes())
        || prefixes.iter().any(|prefix| bytes.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> CommandLine {
        read(text.split_whitespace().map(OsString::from).collect()).unwrap()
    }

    fn inputs(text: &str) -> Vec<String> {
        let line = line(text);
        line.inputs()
            .map(|input| input.path.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn values_of_options_are_no_inputs() {
        assert_eq!(
            inputs("-I a.c -isystem b.c -o c x.c -MF d -l m -Xlinker -e y.o"),
            ["x.c", "y.o"]
        );
        assert_eq!(inputs("-include a.h -Ib -DX=1 -D Y - --param a=b"), ["-"]);
        assert_eq!(inputs("-O2 -- -x.c y.c"), ["./-x.c", "y.c"]);
    }

    #[test]
    fn the_goal_is_the_earliest_end() {
        for (text, goal) in [
            ("x.c", Goal::Link),
            ("x.c -shared", Goal::Link),
            ("-c x.c", Goal::Compile),
            ("-S x.c -c", Goal::Compile),
            ("-fsyntax-only x.c", Goal::Compile),
            ("-c -E x.c", Goal::Preprocess),
            ("-MM x.c", Goal::Preprocess),
            ("-MD x.c", Goal::Link),
            ("--version", Goal::Answer),
            ("-print-file-name=libc.so", Goal::Answer),
            ("-dumpmachine", Goal::Answer),
        ] {
            assert_eq!(line(text).goal, goal, "{text}");
        }
    }

    #[test]
    fn files_are_what_they_are_called_or_what_x_says() {
        let kinds = |text: &str| -> Vec<Kind> { line(text).inputs().map(Input::kind).collect() };
        assert_eq!(
            kinds("a.c a/b.cpp c.C d.S"),
            [Kind::C, Kind::Cxx, Kind::Cxx, Kind::Assembly]
        );
        assert_eq!(kinds("a.o b.a c.so d.so.1 e f.c/g"), [Kind::Linked; 6]);
        assert_eq!(
            kinds("-x c++ a.c -x none b.c -xc d.o"),
            [Kind::Cxx, Kind::C, Kind::C]
        );
        assert_eq!(kinds("a.h -x c++-header b"), [Kind::Header, Kind::Header]);
    }

    #[test]
    fn outputs_are_read_in_all_forms() {
        for text in [
            "-o prog x.c",
            "-oprog x.c",
            "--output=prog x.c",
            "x.c --output prog",
        ] {
            assert_eq!(line(text).output, Some("prog".into()), "{text}");
        }
    }

    #[test]
    fn what_is_instrumented_is_not_for_the_user_to_say() {
        let text = "-fsanitize=thread -fno-sanitize=all -flto -flto=auto -g0 -s --param tsan-instrument-func-entry-exit=0 \
                    --param=tsan-distinguish-volatile=0 -mllvm -tsan-instrument-atomics=0 x.c";
        assert_eq!(line(text).items.len(), 1);
        let refused = |text: &str| read(vec![text.into()]).unwrap_err();
        assert!(matches!(
            refused("-fsanitize=thread,undefined"),
            DriverError::OtherSanitizer { .. }
        ));
        assert!(matches!(
            refused("-fsanitize-ignorelist=a"),
            DriverError::Excludes { .. }
        ));
    }

    #[test]
    fn options_of_the_linker_are_told_apart() {
        let line = line("-Wl,-rpath,a -lm -L. -shared -O2 -pthread -nostdlib -z now -znow");
        let stages: Vec<Stage> = line
            .items
            .iter()
            .map(|item| match item {
                Item::Option(stage, _) => *stage,
                Item::Input(input) => panic!("{input:?}"),
            })
            .collect();
        let every = stages
            .iter()
            .filter(|stage| **stage == Stage::Every)
            .count();
        assert_eq!((every, stages.len()), (2, 9));
    }
}
