//! Compiles programs, and runs them with and without a check.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::{env, fs, process};

/// A compiler of the system.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Compiler {
    C,
    Cpp,
}

impl Compiler {
    fn command(self) -> Command {
        match self {
            Compiler::C => Command::new("gcc"),
            Compiler::Cpp => {
                let mut command = Command::new("g++");
                command.arg("-std=c++20");
                command
            }
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Compiler::C => "c",
            Compiler::Cpp => "cpp",
        }
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

fn sources(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder of the programs");
    let mut sources: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    sources.sort();
    assert!(!sources.is_empty(), "there are programs");
    sources
}

/// The programs of a language.
pub fn programs(compiler: Compiler) -> Vec<PathBuf> {
    sources(&folder("programs"), compiler.extension())
}

/// The program with this name.
pub fn program(name: &str) -> PathBuf {
    folder("programs").join(name)
}

/// The programs whose exit status is their outcome.
pub fn outcome_programs() -> Vec<PathBuf> {
    sources(&folder("outcomes"), "c")
}

/// What a check is to find.
#[derive(Debug)]
pub enum Expected {
    /// Nothing, after this number of executions, if it is known.
    Verified(Option<u64>),
    /// A problem, with this in its headline.
    Found(String),
}

/// What a check says, as JSON.
pub struct Checked(pub String);

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Checked {
    fn text<'a>(&'a self, field: &str) -> Option<&'a str> {
        let rest = self.0.split(&format!("\"{field}\":\"")).nth(1)?;
        rest.split('"').next()
    }

    pub fn executions(&self) -> Option<u64> {
        let rest = self.0.split("\"executions\":").nth(1)?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    }
}

impl Expected {
    fn read(source: &Path) -> Self {
        let text = fs::read_to_string(source).expect("the source");
        let line = text.lines().next().unwrap_or_default();
        let line = line.trim_start_matches("//").trim();
        let (word, rest) = match line.split_once([' ', ':']) {
            Some((word, rest)) => (word, rest.trim()),
            None => (line, ""),
        };
        match word {
            "verified" => Expected::Verified(rest.parse().ok()),
            "race" => Expected::Found("data race".to_owned()),
            "deadlock" if rest.is_empty() => Expected::Found("deadlock".to_owned()),
            "deadlock" | "finding" | "refused" => Expected::Found(rest.to_owned()),
            _ => panic!("{}: what is expected?", source.display()),
        }
    }

    /// Says what is wrong, if it is not what was found.
    pub fn compare(&self, checked: &Checked) -> Result<(), String> {
        match self {
            Expected::Verified(executions) => {
                if checked.text("outcome") != Some("verified") {
                    return Err("it is not verified".to_owned());
                }
                match executions {
                    Some(expected) if checked.executions() != Some(*expected) => {
                        Err(format!("not {expected} executions"))
                    }
                    _ => Ok(()),
                }
            }
            Expected::Found(part) => match checked.text("headline") {
                Some(headline) if headline.contains(part.as_str()) => Ok(()),
                _ => Err(format!("{part} was not found")),
            },
        }
    }
}

/// A compiled program, which is removed at the end.
pub struct Program {
    source: PathBuf,
    folder: PathBuf,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Program {
    /// Compiles a program; none, with a message, if there is no such compiler.
    pub fn compile(source: &Path, compiler: Compiler) -> Option<Self> {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fencepost-program-{}-{number}", process::id());
        let folder = env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("a folder for the program");
        let program = Program {
            source: source.to_owned(),
            folder,
        };
        let library = library();
        let libraries = library.parent().expect("the library is in a folder");
        let mut command = compiler.command();
        command
            .args(["-O1", "-g", "-fsanitize=thread", "-c", "-o"])
            .arg(program.folder.join("program.o"))
            .arg(source);
        let output = match command.output() {
            Ok(output) => output,
            Err(error) => {
                eprintln!("skipped: {command:?} cannot be run ({error})");
                return None;
            }
        };
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        // Without the flag for ThreadSanitizer: its own library is not to be linked.
        let mut command = compiler.command();
        command
            .arg(program.folder.join("program.o"))
            .args(["-pthread", "-Wl,--no-as-needed", "-Wl,-z,now"])
            .arg(&library)
            .arg(format!("-Wl,-rpath,{}", libraries.display()))
            .arg("-o")
            .arg(program.executable());
        let output = command.output().expect("the compiler ran before");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Some(program)
    }

    fn executable(&self) -> PathBuf {
        self.folder.join("program")
    }

    pub fn expected(&self) -> Expected {
        Expected::read(&self.source)
    }

    /// Checks it, with these arguments.
    pub fn check(&self, arguments: &[&str]) -> Checked {
        self.check_by(Command::new(self.executable()).args(arguments))
    }

    pub fn check_without_spurious_wakeups(&self) -> Checked {
        let mut command = Command::new(self.executable());
        self.check_by(command.env("FENCEPOST_SPURIOUS_WAKEUPS", "off"))
    }

    fn check_by(&self, command: &mut Command) -> Checked {
        let output = command.env("FENCEPOST_NATIVE", "json").output();
        let output = output.expect("the program can be run");
        let errors = String::from_utf8_lossy(&output.stderr);
        Checked(format!(
            "{}{errors}",
            String::from_utf8_lossy(&output.stdout)
        ))
    }

    /// Runs it without a check.
    pub fn run(&self) -> ExitStatus {
        let status = Command::new(self.executable()).status();
        status.expect("the program can be run")
    }

    /// Whether a check finds an execution with this outcome: the program fails if it has the one that it is asked about.
    pub fn reaches(&self, outcome: i32) -> bool {
        let checked = self.check(&[&format!("is:{outcome}")]);
        match checked.text("outcome") {
            Some("verified") => false,
            Some("found") if checked.0.contains("status 99") => true,
            _ => panic!("{}: {checked}", self.source.display()),
        }
    }

    /// The outcome of a run without a check, with delays that depend on a number.
    pub fn outcome(&self, delays: usize) -> i32 {
        let status = Command::new(self.executable())
            .arg(format!("delay:{delays}"))
            .status();
        let status = status.expect("the program can be run");
        status.code().expect("the program exits")
    }
}

/// The library of this crate, as cargo has built it for the test.
fn library() -> PathBuf {
    let test = env::current_exe().expect("the path of the test");
    let folder = test.parent().expect("the test is in a folder");
    let library = folder.join("libfencepost_native.so");
    assert!(library.exists(), "there is no {}", library.display());
    library
}
