//! A litmus test as the engines see it: threads of operations over cells of memory, what is
//! observed at the end, and what is asked about it.

use crate::assembly::AssemblyInstruction;
use crate::code::{Operation, Register, Width};

/// The syntax that a test is written in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Architecture {
    /// `X86`: Intel's operand order, 32-bit registers.
    X86,
    /// `X86_64`: AT&T's operand order, 64-bit registers.
    X86_64,
}

pub use fencepost_diagnostics::Position;

/// A cell of memory: a location, or an element of an array. Numbered densely from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CellId(pub u32);

impl CellId {
    /// The cell's number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A cell of memory. All accesses to a cell have its width; tests that access one cell in
/// several widths are refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cell {
    /// As it is printed: `x`, or `x[1]`.
    pub name: String,
    /// Its address. The front end chooses addresses that are no constants of the test.
    pub address: u64,
    /// How many bytes it has.
    pub width: Width,
    /// Its first content.
    pub initial: u64,
    /// Whether its content is printed as a number without a sign.
    pub unsigned: bool,
}

/// An instruction of the source, for messages and pictures.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// As it was written, without label, with spaces tidied: `MOV [x],$1`.
    pub text: String,
    /// Where.
    pub position: Position,
    /// The instruction itself, for those who encode it.
    pub assembly: AssemblyInstruction,
}

/// A register of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegisterInfo {
    /// Its name, as the architecture prints it (`EAX`, `rax`); empty for the flags and for
    /// registers that hold values within an instruction.
    pub name: String,
    /// Its first content.
    pub initial: u64,
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    /// Its number in the source: `P1` has 1.
    pub number: u32,
    /// Its operations. The last is [`Operation::End`]; there are at most `u16::MAX` operations.
    pub operations: Vec<Operation>,
    /// For each operation, the instruction that it comes from: an index into `instructions`.
    /// The final `End` has the number of instructions.
    pub instruction_of: Vec<u32>,
    /// The instructions in source order.
    pub instructions: Vec<Instruction>,
    /// The register file. Register 0 has the flags. At most 255.
    pub registers: Vec<RegisterInfo>,
}

/// Something whose final content is observed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Observable {
    /// A part of a register.
    Register {
        /// The thread: an index into [`Test::threads`].
        thread: usize,
        /// The register.
        register: Register,
        /// How many low bytes of it are observed.
        width: Width,
        /// Whether it is printed as a number without a sign.
        unsigned: bool,
        /// How it is printed: `0:EAX`.
        name: String,
    },
    /// A cell of memory.
    Cell {
        /// Which.
        cell: CellId,
        /// How it is printed: `[x]`.
        name: String,
    },
}

/// An operand of a comparison in a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Term {
    /// The content of an observable: an index into [`Test::observed`].
    Observed(usize),
    /// A constant, compared in the width of the other side.
    Constant(u64),
}

/// A proposition over a final state.
///
/// Those that were read are at most [`Limits::nesting`](crate::Limits::nesting) deep, so that
/// walking and dropping them by recursion is safe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Proposition {
    /// `true` or `false`.
    Constant(bool),
    /// `left = right`.
    Equal(Term, Term),
    /// Not.
    Not(Box<Proposition>),
    /// All of them (`/\`).
    And(Vec<Proposition>),
    /// One of them (`\/`).
    Or(Vec<Proposition>),
    /// `left => right`.
    Implies(Box<Proposition>, Box<Proposition>),
}

/// The quantifier of the condition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Quantifier {
    /// `exists`, and as in herd7 `final`: there is such a final state.
    Exists,
    /// `~exists`: there is no such final state.
    NotExists,
    /// `forall`, and no condition at all: every final state is such.
    ForAll,
    /// `observed`: herd7 takes it as `exists`.
    Observed,
}

/// A litmus test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Test {
    /// The syntax that it was written in.
    pub architecture: Architecture,
    /// Its name.
    pub name: String,
    /// The text in quotes after the name.
    pub documentation: Option<String>,
    /// `Key=value` lines, in order.
    pub info: Vec<(String, String)>,
    /// The threads.
    pub threads: Vec<Thread>,
    /// The memory.
    pub cells: Vec<Cell>,
    /// The observables of a final state, in the order in which they are printed: registers by
    /// thread, then cells.
    pub observed: Vec<Observable>,
    /// The observables of the filter only, which are not printed. Follows `observed` in
    /// the numbering of [`Term::Observed`].
    pub observed_by_filter: Vec<Observable>,
    /// Final states for which this is false do not count.
    pub filter: Option<Proposition>,
    /// The quantifier of the condition.
    pub quantifier: Quantifier,
    /// The condition.
    pub condition: Proposition,
    /// The condition as it is printed: `exists (0:EAX=0 /\ 1:EAX=0)`.
    pub condition_text: String,
    /// The checksum of initial state, program and observed locations by which the tools around
    /// herd7 tell tests of one name apart; none if herd7 could not read the test.
    pub hash: Option<String>,
}

impl Test {
    /// Everything observed, the filter's observables last.
    pub fn observables(&self) -> impl Iterator<Item = &Observable> {
        self.observed.iter().chain(&self.observed_by_filter)
    }

    /// The cell at an address, if one begins there. Few cells: a search by halves over
    /// [`Layout`](crate::thread::Layout) is for the engines.
    pub fn cell_at(&self, address: u64) -> Option<CellId> {
        let index = self.cells.iter().position(|cell| cell.address == address)?;
        Some(CellId(index as u32))
    }
}
