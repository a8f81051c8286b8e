//! Programs with their source, executions of them, and expected reports in files.

pub mod litmus;
pub mod markup;
pub mod protocol;
pub mod random_runs;

use std::collections::BTreeMap;
use std::path::PathBuf;

use fencepost_memory::Buffering;
use fencepost_memory::{Access, Address, LocationId, MemoryModel, OperationKind, ThreadId};
use fencepost_monitor::{Monitor, MonitorRunner, RelaxedOrderMonitor};
use fencepost_report::check::{CheckFinding, Problem, Reporter, Target};
use fencepost_report::{Naming, ProgramLanguage, SourcePosition};
use unicode_width::UnicodeWidthChar;

/// The line that replays, in the tests.
pub const REPLAY: &str = "fencepost::Check::new().replay(\"0.1x3.2\", program)";

/// A made-up program: its source, and the names of what occurs in its executions.
#[derive(Default)]
pub struct Program {
    pub sources: BTreeMap<String, String>,
    threads: Vec<String>,
    variables: Vec<String>,
    positions: Vec<SourcePosition>,
    language: ProgramLanguage,
    pub accesses: Vec<Access>,
}

impl Naming for Program {
    fn thread(&self, thread: ThreadId) -> String {
        self.threads[thread.index()].clone()
    }

    fn address(&self, address: Address) -> String {
        self.variables[address.index()].clone()
    }

    fn location(&self, location: LocationId) -> Option<String> {
        self.position(location).map(|position| position.to_string())
    }

    fn position(&self, location: LocationId) -> Option<SourcePosition> {
        Some(self.positions[location.index()].clone())
    }

    fn language(&self) -> ProgramLanguage {
        self.language
    }

    /// What is called a lock is one.
    fn has_ordering(&self, address: Address) -> bool {
        !self.variables[address.index()].starts_with("lock")
    }
}

fn index_of<T: PartialEq>(items: &mut Vec<T>, item: T) -> u32 {
    let known = items.iter().position(|known| *known == item);
    let index = known.unwrap_or_else(|| {
        items.push(item);
        items.len() - 1
    });
    index as u32
}

impl Program {
    pub fn new(file: &str, source: &str) -> Self {
        let mut program = Program::default();
        program.sources.insert(file.into(), source.into());
        program
    }

    /// The same program, in C or C++.
    pub fn in_c(mut self) -> Self {
        self.language = ProgramLanguage::C;
        self
    }

    pub fn thread_id(&mut self, name: &str) -> ThreadId {
        ThreadId(index_of(&mut self.threads, name.to_string()))
    }

    /// Where `marked` occurs in one of the sources. A `|` in it says where the compiler's
    /// column is.
    pub fn find(&self, marked: &str) -> SourcePosition {
        let needle = marked.replacen('|', "", 1);
        let offset = marked.find('|').unwrap_or(0);
        for (file, text) in &self.sources {
            if let Some(at) = text.find(&needle) {
                let before = &text[..at + offset];
                let line = before.matches('\n').count() as u32 + 1;
                let width = |c: char| if c == '\t' { 4 } else { c.width().unwrap_or(0) };
                let start = before.rfind('\n').map_or(0, |newline| newline + 1);
                let column: usize = before[start..].chars().map(width).sum();
                return SourcePosition::new(file, line, column as u32 + 1);
            }
        }
        panic!("{marked} is in no source");
    }

    /// The next access: `T1 st x 1`, and where it is.
    pub fn perform(&mut self, what: &str, position: SourcePosition) -> &mut Self {
        let parts: Vec<&str> = what.split_whitespace().collect();
        let thread = self.thread_id(parts[0]);
        let kind = OperationKind::from_mnemonic(parts[1]).unwrap();
        let variable = parts.get(2).copied().unwrap_or("");
        let address = match variable {
            "" => Address(0),
            name => Address(index_of(&mut self.variables, name.to_string())),
        };
        let mut access = Access::new(thread, kind.at(address));
        access.value = parts.get(3).map(|value| value.parse().unwrap());
        let index = index_of(&mut self.positions, position);
        access.location = Some(LocationId::from_index(index));
        self.accesses.push(access);
        self
    }

    /// Accesses, each with the marked text where it is.
    pub fn run(mut self, steps: &[(&str, &str)]) -> Self {
        for (what, marked) in steps {
            let position = self.find(marked);
            self.perform(what, position);
        }
        self
    }

    /// The accesses and an error at their end.
    pub fn with_problem(&self, problem: Problem) -> CheckFinding {
        CheckFinding {
            problem,
            interleaving: self.accesses.clone(),
            buffers: None,
            consequence: None,
            schedule: "0.1x3.2".into(),
            replay: REPLAY.into(),
            command: None,
            execution: 12,
        }
    }

    /// The first violation of the accesses, as the default monitor sees it.
    pub fn violation(&self, model: MemoryModel) -> CheckFinding {
        match model.buffering() {
            Buffering::Fifo => self.watch(RelaxedOrderMonitor::tso()),
            _ => self.watch(RelaxedOrderMonitor::pso(model.locked_drains())),
        }
    }

    fn watch<M: Monitor>(&self, monitor: M) -> CheckFinding {
        let mut runner = MonitorRunner::new(monitor);
        for access in &self.accesses {
            if let Some(violation) = runner.observe(*access).unwrap() {
                let explained = runner.explain(&violation);
                return self.with_problem(Problem::StoreBuffer {
                    violation,
                    explained,
                });
            }
        }
        panic!("no violation");
    }

    pub fn reporter(&self, model: MemoryModel) -> Reporter<'_> {
        Reporter::new(Target::of(model), self, &self.sources)
    }
}

/// The text without colours.
pub fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// Compares with a file in `tests/expected`, or writes it if `FENCEPOST_BLESS` is set.
pub fn expect(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/expected");
    let path = path.join(name);
    if std::env::var_os("FENCEPOST_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected.replace("\r\n", "\n") == text,
        "{} differs (FENCEPOST_BLESS=1 writes it anew); now it is:\n{text}",
        path.display()
    );
}
