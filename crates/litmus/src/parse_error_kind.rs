//! What can be wrong with a litmus file. What to say about it besides is in `help`.

use thiserror::Error;

use crate::parse_error::SpannedError;
use crate::syntax::lexer::Span;
use crate::test::{Architecture, Position};

/// What has no end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unterminated {
    /// A comment.
    Comment,
    /// The text in quotes after the name.
    Documentation,
    /// The initial state.
    InitialState,
}

impl Unterminated {
    fn what(self) -> &'static str {
        match self {
            Unterminated::Comment => "this comment",
            Unterminated::Documentation => "this text in quotes",
            Unterminated::InitialState => "the initial state",
        }
    }
}

/// A part of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    /// Architecture, name and `Key=value` lines.
    Header,
    /// What is in braces.
    InitialState,
    /// The table of instructions.
    Program,
    /// `locations`, `filter` and the condition.
    Condition,
}

/// What is wrong in a file.
///
/// The message says what was found; [`ParseErrorKind::expected`] says what should have been there, and
/// [`ParseErrorKind::hint`] how to get it.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The file is not UTF-8.
    #[error("byte 0x{byte:02x} is not UTF-8")]
    NotUtf8 {
        /// The first byte that is wrong.
        byte: u8,
    },
    /// The file asks for more than the limits allow.
    #[error("more than {allowed} {what}")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// How much is allowed.
        allowed: usize,
    },
    /// The first word is no architecture of ours.
    #[error("`{found}` is not an architecture that Fencepost reads")]
    UnknownArchitecture {
        /// The word.
        found: String,
    },
    /// There is no name after the architecture.
    #[error("the test has no name")]
    MissingName,
    /// Something begins and does not end.
    #[error("{} does not end", .0.what())]
    Unterminated(Unterminated),
    /// There is no initial state.
    #[error("the initial state is missing")]
    MissingInitialState,
    /// A character that has no meaning.
    #[error("unexpected character `{found}`")]
    BadCharacter {
        /// The character.
        found: String,
    },
    /// Something else was wanted.
    #[error("unexpected `{found}`")]
    Unexpected {
        /// What is there.
        found: String,
        /// What was wanted.
        wanted: &'static str,
        /// In which part of the file.
        section: Section,
    },
    /// The file ends too early.
    #[error("the file ends here")]
    UnexpectedEnd {
        /// What was wanted.
        wanted: &'static str,
        /// In which part of the file.
        section: Section,
    },
    /// Digits that are no number.
    #[error("`{found}` is not a number")]
    BadNumber {
        /// The word.
        found: String,
    },
    /// A number that does not fit 64 bits.
    #[error("number {found} is too large")]
    NumberTooLarge {
        /// The number.
        found: String,
    },
    /// A number that does not fit where it is used.
    #[error("{found} does not fit {}", counted(*bytes, "byte"))]
    DoesNotFit {
        /// The number or the location whose address it is.
        found: String,
        /// How many bytes there are.
        bytes: u64,
    },
    /// A type that is not known.
    #[error("unknown type `{found}`")]
    UnknownType {
        /// The words.
        found: String,
    },
    /// An array with another number of contents than elements.
    #[error(
        "`{name}` has {}, but {} given",
        counted(*length as u64, "element"),
        match *found { 1 => "1 content is".into(), found => format!("{found} contents are") }
    )]
    WrongCount {
        /// The array.
        name: String,
        /// Its length.
        length: usize,
        /// How many contents are given.
        found: usize,
    },
    /// An element is initialized by itself.
    #[error("`{name}[{index}]` is initialized by itself")]
    ElementInitialized {
        /// The array.
        name: String,
        /// The element.
        index: u64,
    },
    /// Something is initialized or declared in two ways.
    #[error("`{name}` is initialized twice")]
    InitializedTwice {
        /// What.
        name: String,
        /// Where before.
        before: Position,
    },
    /// A thread has a number that another one has.
    #[error("there are two threads `P{number}`")]
    DuplicateThread {
        /// The number.
        number: u32,
    },
    /// A register of a thread that there is not.
    #[error("there is no thread {number}")]
    NoSuchThread {
        /// The number.
        number: u64,
    },
    /// A row of the program has more or fewer cells than there are threads.
    #[error(
        "the row has {}{}, but there {} {}",
        if found > threads { "at least " } else { "" },
        counted(*found as u64, "cell"),
        if *threads == 1 { "is" } else { "are" },
        counted(*threads as u64, "thread")
    )]
    RowLength {
        /// Its cells.
        found: usize,
        /// The threads.
        threads: usize,
    },
    /// An instruction that is not known.
    #[error("unknown instruction `{found}`")]
    UnknownInstruction {
        /// The word.
        found: String,
        /// What may have been meant.
        meant: Option<String>,
    },
    /// An instruction that exists and is not modelled.
    #[error("`{found}` cannot be checked: {why}")]
    NotModelled {
        /// The word.
        found: String,
        /// Why.
        why: &'static str,
        /// What it would take, or what to write instead.
        needed: &'static str,
    },
    /// An instruction with more or fewer operands than it takes.
    #[error("`{name}` has {}", counted(*found as u64, "operand"))]
    OperandCount {
        /// The instruction.
        name: String,
        /// How many.
        found: usize,
        /// How many it takes.
        wanted: &'static str,
    },
    /// An operand of a kind that the instruction does not take.
    #[error("`{name}` does not take {found} here")]
    OperandKind {
        /// The instruction.
        name: String,
        /// What is there.
        found: &'static str,
        /// What it takes.
        wanted: &'static str,
    },
    /// A constant where the result goes.
    #[error("the destination of `{name}` is a constant")]
    ConstantDestination {
        /// The instruction.
        name: String,
        /// The syntax, which says where the destination is.
        architecture: Architecture,
    },
    /// An instruction with two memory operands.
    #[error("`{name}` has two memory operands")]
    TwoMemoryOperands {
        /// The instruction.
        name: String,
    },
    /// `LOCK` before an instruction that does not take it.
    #[error("`{name}` cannot be locked")]
    LockNotAllowed {
        /// The instruction.
        name: String,
        /// Whether it could be with a memory operand.
        can_lock: bool,
    },
    /// `CMOVcc` of one byte.
    #[error("there is no `{name}` of one byte")]
    ByteMoveIf {
        /// The instruction.
        name: String,
    },
    /// A register of another width than the instruction.
    #[error(
        "`{name}` works on {}, but the register has {register_bytes}",
        counted(*bytes, "byte")
    )]
    WidthMismatch {
        /// The instruction.
        name: String,
        /// Its width.
        bytes: u64,
        /// The register's.
        register_bytes: u64,
    },
    /// A register that is not known.
    #[error("`{found}` is not a register")]
    UnknownRegister {
        /// The word.
        found: String,
        /// What may have been meant.
        meant: Option<String>,
    },
    /// A 64-bit register in an `X86` test.
    #[error("`{found}` is a register of 64-bit code")]
    WideRegister {
        /// The register.
        found: String,
    },
    /// `AH` and the like in a condition.
    #[error("`{found}` cannot be observed")]
    HighByteObserved {
        /// The register.
        found: String,
    },
    /// A symbolic register that several threads have.
    #[error("several threads use `%{found}`")]
    AmbiguousRegister {
        /// Its name.
        found: String,
    },
    /// A symbolic register that the thread does not have.
    #[error("no instruction uses `%{found}`")]
    UnusedRegister {
        /// Its name.
        found: String,
    },
    /// A name as an operand.
    #[error("`{found}` is neither a register nor a memory operand")]
    BareName {
        /// The name.
        found: String,
    },
    /// An address that is a number.
    #[error("there is no location at a fixed address")]
    NumericAddress,
    /// A register of one or two bytes in an address.
    #[error("addresses are made of registers of 4 or 8 bytes")]
    NarrowAddress,
    /// A direct access beside a location.
    #[error("there is no location at `{name}` plus {offset}")]
    NoSuchCell {
        /// The location.
        name: String,
        /// How many bytes away.
        offset: i64,
    },
    /// A jump to a label that the thread does not have.
    #[error("there is no label `{found}` in this thread")]
    UnknownLabel {
        /// The label.
        found: String,
        /// What may have been meant.
        meant: Option<String>,
    },
    /// A label twice.
    #[error("label `{name}` is there twice")]
    DuplicateLabel {
        /// The label.
        name: String,
        /// Where before.
        before: Position,
    },
    /// A location that is accessed in two widths.
    #[error(
        "mixed-size accesses are not modelled: {} of `{name}` here, {other} in line {}, column {}",
        counted(*bytes, "byte"),
        before.line,
        before.column
    )]
    MixedSize {
        /// The location.
        name: String,
        /// The width here.
        bytes: u64,
        /// The width there.
        other: u64,
        /// Where.
        before: Position,
    },
    /// An array as a whole where an element is wanted.
    #[error("`{name}` is an array")]
    ArrayAlone {
        /// The array.
        name: String,
    },
    /// An element of what is no array.
    #[error("`{name}` is not an array")]
    NotAnArray {
        /// The location.
        name: String,
    },
    /// An element that there is not.
    #[error("`{name}` has {}, and none has number {index}", counted(*length as u64, "element"))]
    NoSuchElement {
        /// The array.
        name: String,
        /// Its length.
        length: usize,
        /// The number.
        index: u64,
    },
    /// `fault(…)` in a condition.
    #[error("faults cannot be observed")]
    FaultClaim,
    /// The constants of the test leave no room for locations.
    #[error("the constants of the test leave no addresses for its locations")]
    NoRoom,
}

/// `1 byte`, `2 bytes`.
pub(crate) fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

impl ParseErrorKind {
    pub(crate) fn limit(what: &'static str, allowed: usize) -> ParseErrorKind {
        ParseErrorKind::Limit { what, allowed }
    }

    pub(crate) fn at(self, span: Span) -> SpannedError {
        SpannedError {
            span,
            kind: Box::new(self),
        }
    }

    /// Whether it is a limit that was reached, and not an error.
    pub fn is_limit(&self) -> bool {
        matches!(self, ParseErrorKind::Limit { .. } | ParseErrorKind::NoRoom)
    }

    /// Whether nothing can be said about what follows.
    pub(crate) fn is_last(&self) -> bool {
        self.is_limit() || matches!(self, ParseErrorKind::Unterminated(_))
    }
}
