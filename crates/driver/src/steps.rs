//! What is run instead of a command of the compiler.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::command_line::{CommandLine, Goal, Input, Item, Kind, Stage};
use crate::compiler::{Family, Version};
use crate::error::DriverError;
use crate::temporary::TemporaryFolder;

/// The commands of the compiler that are run one after the other, each as its arguments.
#[derive(Debug)]
pub(crate) struct Steps {
    pub(crate) commands: Vec<Vec<OsString>>,
    /// Where objects are until they are linked.
    pub(crate) _folder: Option<TemporaryFolder>,
}

/// Since these versions a compiler tells volatile accesses from others.
const GCC_WITH_VOLATILE: u32 = 11;
const CLANG_WITH_VOLATILE: u32 = 11;

/// What compiles the program so that it can be checked. `runtime` is asked for the library if it is needed.
pub(crate) fn plan(
    line: &CommandLine,
    version: Version,
    runtime: &dyn Fn() -> Result<PathBuf, DriverError>,
) -> Result<Steps, DriverError> {
    let is_header = |input: &Input| input.kind() == Kind::Header;
    let are_headers = line.inputs().next().is_some() && line.inputs().all(is_header);
    if line.goal != Goal::Link || are_headers {
        let commands = vec![one_step(line, version)];
        return Ok(Steps {
            commands,
            _folder: None,
        });
    }
    if let Some(option) = line.static_option() {
        let option = option.to_string_lossy().into_owned();
        return Err(DriverError::Static { option });
    }
    let inputs = line.inputs().map(|input| Path::new(&input.path));
    refuse_overwriting(line.output.as_deref().map(Path::new), inputs)?;
    let runtime = match line.is_partial_link {
        true => None,
        false => Some(runtime()?),
    };
    let has_sources = line.inputs().any(|input| input.kind().is_source());
    let folder = has_sources.then(TemporaryFolder::new).transpose()?;
    let object = |index: usize| {
        let folder = folder.as_ref().map(TemporaryFolder::path);
        folder.unwrap_or(Path::new("")).join(format!("{index}.o"))
    };
    let inputs: Vec<&Input> = line.inputs().collect();
    let sources = inputs
        .iter()
        .enumerate()
        .filter(|(_, input)| input.kind().is_source());
    let mut commands: Vec<Vec<OsString>> = sources
        .clone()
        .map(|(index, input)| {
            let names = Names::of(line, input, sources.clone().count());
            compile_one(line, input, &names, version, &object(index))
        })
        .collect();
    commands.push(link(line, version, runtime.as_deref(), &object));
    Ok(Steps {
        commands,
        _folder: folder,
    })
}

/// Fails if the output is one of the inputs: the compiler itself sees the object in its place.
pub(crate) fn refuse_overwriting<'p>(
    output: Option<&Path>,
    mut inputs: impl Iterator<Item = &'p Path>,
) -> Result<(), DriverError> {
    let Some(output) = output.and_then(|output| output.canonicalize().ok()) else {
        return Ok(());
    };
    match inputs.find(|input| input.canonicalize().is_ok_and(|input| input == output)) {
        Some(path) => Err(DriverError::Overwritten {
            path: path.to_owned(),
        }),
        None => Ok(()),
    }
}

/// Functions that compilers replace by code of their own, which is not instrumented. The runtime library notes what calls of
/// them access.
const CALLED: &[&str] = &[
    "memcpy",
    "memmove",
    "mempcpy",
    "memset",
    "memcmp",
    "memchr",
    "bcmp",
    "bcopy",
    "bzero",
    "strlen",
    "strnlen",
    "strcpy",
    "stpcpy",
    "strncpy",
    "stpncpy",
    "strcat",
    "strncat",
    "strcmp",
    "strncmp",
    "strcasecmp",
    "strncasecmp",
    "strchr",
    "strrchr",
    "strstr",
    "strdup",
    "strndup",
];

/// What is added where a source is compiled.
fn additions(version: Version, goal: Goal) -> Vec<OsString> {
    let words: &[&str] = match (goal, version.family) {
        // The rest decides on code only.
        (Goal::Preprocess, _) => &["-fsanitize=thread"],
        (_, Family::Gcc) if version.major >= GCC_WITH_VOLATILE => &[
            "-g",
            "-fsanitize=thread",
            "--param",
            "tsan-distinguish-volatile=1",
            // It warns of fences, which the compiler's own runtime does not understand.
            "-Wno-tsan",
        ],
        (_, Family::Clang) if version.major >= CLANG_WITH_VOLATILE => &[
            "-g",
            "-fsanitize=thread",
            "-mllvm",
            "-tsan-instrument-read-before-write",
            "-mllvm",
            "-tsan-distinguish-volatile",
        ],
        _ => &["-g", "-fsanitize=thread"],
    };
    let mut words: Vec<OsString> = words.iter().map(OsString::from).collect();
    if goal != Goal::Preprocess {
        let called = CALLED.iter();
        words.extend(called.map(|name| format!("-fno-builtin-{name}").into()));
        if version.family == Family::Gcc {
            // What its headers ask for as `__builtin_memcpy` is called too.
            words.extend(
                ["memcpy", "memset"]
                    .map(|name| format!("-m{name}-strategy=libcall:-1:noalign").into()),
            );
        }
    }
    words
}

/// A command that does not link, with what instruments the program. Additions come first, since `--` may end the options.
fn one_step(line: &CommandLine, version: Version) -> Vec<OsString> {
    let is_assembly = line.inputs().all(|input| input.kind() == Kind::Assembly);
    let mut words = match is_assembly && line.goal == Goal::Compile {
        true => Vec::new(),
        false => additions(version, line.goal),
    };
    let mut language = None;
    for item in &line.items {
        match item {
            Item::Option(_, option) => words.extend(option.iter().cloned()),
            Item::Input(input) => {
                if input.language != language {
                    let name = input.language.clone().unwrap_or_else(|| "none".into());
                    words.extend(["-x".into(), name]);
                    language.clone_from(&input.language);
                }
                words.push(input.path.clone());
            }
        }
    }
    if let Some(output) = &line.output {
        words.extend(["-o".into(), output.clone()]);
    }
    words
}

/// What the files with dependencies are called if they are not named, and the target in them.
struct Names {
    dependencies: PathBuf,
    target: OsString,
}

impl Names {
    /// As gcc does it for a command that compiles and links.
    fn of(line: &CommandLine, input: &Input, sources: usize) -> Self {
        let stem = Path::new(&input.path)
            .file_stem()
            .unwrap_or(OsStr::new("-"));
        match &line.output {
            None => Names {
                dependencies: Path::new(stem).with_extension("d"),
                target: with(stem, ".o"),
            },
            Some(output) if sources == 1 => Names {
                dependencies: Path::new(output).with_extension("d"),
                target: output.clone(),
            },
            Some(output) => {
                let name = with(Path::new(output).with_extension("").as_os_str(), "-");
                Names {
                    dependencies: with(&with(&name, stem), ".d").into(),
                    target: output.clone(),
                }
            }
        }
    }
}

fn with(text: &OsStr, added: impl AsRef<OsStr>) -> OsString {
    let mut text = text.to_owned();
    text.push(added);
    text
}

/// Compiles one source of a command that also links.
fn compile_one(
    line: &CommandLine,
    input: &Input,
    names: &Names,
    version: Version,
    object: &Path,
) -> Vec<OsString> {
    let mut words = match input.kind() {
        Kind::Assembly => Vec::new(),
        _ => additions(version, Goal::Compile),
    };
    if version.family == Family::Clang {
        // Options of the linker are not for this step, and it would say so.
        words.push("-Qunused-arguments".into());
    }
    let options = line.items.iter().filter_map(|item| match item {
        Item::Option(Stage::Every | Stage::Dependencies, option) => Some(option),
        _ => None,
    });
    // It would be beside the object, which is removed.
    let options = options.filter(|option| !option[0].as_bytes().starts_with(b"-gsplit-dwarf"));
    words.extend(options.flatten().cloned());
    let has = |prefixes: &[&[u8]]| {
        line.items.iter().any(|item| match item {
            Item::Option(Stage::Dependencies, option) => prefixes
                .iter()
                .any(|prefix| option[0].as_bytes().starts_with(prefix)),
            _ => false,
        })
    };
    if has(&[b"-MD", b"-MMD"]) {
        if !has(&[b"-MF"]) {
            words.extend(["-MF".into(), names.dependencies.clone().into()]);
        }
        if !has(&[b"-MT", b"-MQ"]) {
            words.extend(["-MQ".into(), names.target.clone()]);
        }
    }
    words.extend(["-c".into(), "-o".into(), object.into()]);
    if let Some(language) = &input.language {
        words.extend(["-x".into(), language.clone()]);
    }
    words.push(input.path.clone());
    words
}

/// Links, with each source replaced by its object.
fn link(
    line: &CommandLine,
    version: Version,
    runtime: Option<&Path>,
    object: &dyn Fn(usize) -> PathBuf,
) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    if version.family == Family::Clang {
        words.push("-Qunused-arguments".into());
    }
    if let Some(runtime) = runtime {
        // Before all other libraries, so that its functions are called instead of theirs. By its path, which the dynamic linker
        // follows without looking elsewhere first: LD_LIBRARY_PATH may have another build of it, as under `cargo test`.
        words.push("-Wl,--push-state,--no-as-needed".into());
        words.extend([runtime.into(), "-Wl,--pop-state".into()]);
    }
    let mut inputs = 0;
    for item in &line.items {
        match item {
            Item::Option(Stage::Every | Stage::Link, option) => {
                words.extend(option.iter().cloned())
            }
            Item::Option(Stage::Goal | Stage::Dependencies, _) => {}
            Item::Input(input) => {
                words.push(match input.kind().is_source() {
                    true => object(inputs).into(),
                    false => input.path.clone(),
                });
                inputs += 1;
            }
        }
    }
    if let Some(output) = &line.output {
        words.extend(["-o".into(), output.clone()]);
    }
    if let Some(folder) = runtime.and_then(Path::parent) {
        // A library with a name for the dynamic linker is found by that. A folder may have a comma in its name, which `-Wl`
        // takes for its own.
        words.extend(["-Xlinker", "-rpath", "-Xlinker"].map(OsString::from));
        words.extend([folder.into(), "-Wl,-z,now".into(), "-pthread".into()]);
    }
    words
}

/// The objects and archives whose accesses a check would not see.
pub(crate) fn not_instrumented(line: &CommandLine) -> Vec<&Input> {
    let is_object = |input: &Input| {
        let path = input.path.as_bytes();
        !input.kind().is_source() && (path.ends_with(b".o") || path.ends_with(b".a"))
    };
    // Each object that was instrumented calls it.
    let is_instrumented = |bytes: &[u8]| bytes.windows(11).any(|window| window == b"__tsan_init");
    let is_plain =
        |input: &&Input| std::fs::read(&input.path).is_ok_and(|bytes| !is_instrumented(&bytes));
    line.inputs()
        .filter(|input| is_object(input))
        .filter(is_plain)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line;
    use crate::runtime::RUNTIME_FILE;

    const GCC: Version = Version {
        family: Family::Gcc,
        major: 12,
    };
    const CLANG: Version = Version {
        family: Family::Clang,
        major: 14,
    };
    const COMPILED: &str = "-g -fsanitize=thread --param tsan-distinguish-volatile=1 -Wno-tsan ";
    const LINKED: &str =
        "-Wl,--push-state,--no-as-needed /lib,1/libfencepost_native.so -Wl,--pop-state ";
    const LINKED_AT_END: &str = " -Xlinker -rpath -Xlinker /lib,1 -Wl,-z,now -pthread";

    /// The commands for one, without what makes the compiler call functions; temporary objects are in `T`.
    fn commands(text: &str, version: Version) -> Vec<String> {
        let line =
            command_line::read(text.split_whitespace().map(OsString::from).collect()).unwrap();
        let runtime = || Ok(Path::new("/lib,1").join(RUNTIME_FILE));
        let steps = plan(&line, version, &runtime).unwrap();
        let folder = steps
            ._folder
            .as_ref()
            .map(|folder| folder.path().display().to_string());
        let commands = steps.commands.iter().map(|words| {
            let words = words.iter().map(|word| word.to_str().unwrap());
            let words: Vec<_> = words.filter(|word| !is_for_calls(word)).collect();
            let text = words.join(" ");
            folder
                .as_ref()
                .map_or(text.clone(), |folder| text.replace(folder, "T"))
        });
        commands.collect()
    }

    fn is_for_calls(word: &str) -> bool {
        word.starts_with("-fno-builtin-") || word.ends_with("-strategy=libcall:-1:noalign")
    }

    #[test]
    fn functions_that_access_memory_are_called() {
        let count = |version, goal| {
            let words = additions(version, goal);
            let words = words.iter().map(|word| word.to_str().unwrap());
            words.filter(|word| is_for_calls(word)).count()
        };
        assert_eq!(count(GCC, Goal::Compile), CALLED.len() + 2);
        assert_eq!(count(CLANG, Goal::Compile), CALLED.len());
        assert_eq!(count(GCC, Goal::Preprocess), 0);
    }

    #[test]
    fn a_step_that_compiles_is_instrumented() {
        assert_eq!(
            commands("-O2 -c a.c -o a.o", GCC),
            [format!("{COMPILED}-O2 -c a.c -o a.o")]
        );
        assert_eq!(commands("-S a.c", GCC), [format!("{COMPILED}-S a.c")]);
        let clang = "-g -fsanitize=thread -mllvm -tsan-instrument-read-before-write -mllvm -tsan-distinguish-volatile -c a.c";
        assert_eq!(commands("-c a.c", CLANG), [clang]);
        assert_eq!(
            commands("-c a.c", Version { major: 10, ..GCC }),
            ["-g -fsanitize=thread -c a.c"]
        );
        assert_eq!(
            commands("-E -x c - -MD", GCC),
            ["-fsanitize=thread -E -x c - -MD"]
        );
        assert_eq!(commands("-c a.s", CLANG), ["-c a.s"]);
        assert_eq!(commands("a.h", GCC), [format!("{COMPILED}a.h")]);
        assert_eq!(
            commands("-c -x c a -x none b.cc", GCC),
            [format!("{COMPILED}-c -x c a -x none b.cc")]
        );
    }

    #[test]
    fn a_step_that_links_gets_the_runtime_before_other_libraries() {
        assert_eq!(
            commands("a.o -lfoo -o a", GCC),
            [format!("{LINKED}a.o -lfoo -o a{LINKED_AT_END}")]
        );
        assert_eq!(
            commands("-shared a.o -fsanitize=thread -o a.so", CLANG),
            [format!(
                "-Qunused-arguments {LINKED}-shared a.o -o a.so{LINKED_AT_END}"
            )]
        );
        assert_eq!(commands("-r a.o b.o -o c.o", GCC), ["-r a.o b.o -o c.o"]);
    }

    #[test]
    fn a_command_that_does_both_is_taken_apart() {
        assert_eq!(
            commands("-O2 -Wl,-s a.c b.o -x c++ c.c -lm -o prog", GCC),
            [
                format!("{COMPILED}-O2 -c -o T/0.o a.c"),
                format!("{COMPILED}-O2 -c -o T/2.o -x c++ c.c"),
                format!("{LINKED}-O2 -Wl,-s T/0.o b.o T/2.o -lm -o prog{LINKED_AT_END}"),
            ]
        );
    }

    #[test]
    fn files_with_dependencies_are_called_as_without_us() {
        let first = |text: &str| {
            commands(text, GCC)[0]
                .strip_prefix(COMPILED)
                .unwrap()
                .to_owned()
        };
        assert_eq!(
            first("-MD a.c -o b/p.x"),
            "-MD -MF b/p.d -MQ b/p.x -c -o T/0.o a.c"
        );
        assert_eq!(first("-MMD a.c"), "-MMD -MF a.d -MQ a.o -c -o T/0.o a.c");
        assert_eq!(
            first("-MD a.c b.c -o p"),
            "-MD -MF p-a.d -MQ p -c -o T/0.o a.c"
        );
        assert_eq!(
            first("-MD -MFx -MT y a.c -o p"),
            "-MD -MFx -MT y -c -o T/0.o a.c"
        );
    }

    #[test]
    fn static_executables_are_refused() {
        for text in ["-static a.c", "a.o --static", "-static-pie a.o"] {
            let line =
                command_line::read(text.split_whitespace().map(OsString::from).collect()).unwrap();
            let refused = plan(&line, GCC, &|| Ok(PathBuf::new()));
            assert!(matches!(refused, Err(DriverError::Static { .. })), "{text}");
        }
        assert_eq!(
            commands("-static -c a.c", GCC),
            [format!("{COMPILED}-static -c a.c")]
        );
    }
}
