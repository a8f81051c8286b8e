//! The kinds of errors in a litmus file. `help` has what was expected and how to fix it.

use thiserror::Error;

use crate::parse_error::SpannedError;
use crate::syntax::lexer::Span;
use crate::test::{Architecture, Position};

/// A construct that is not terminated.
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

/// A section of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    /// Architecture, name and `Key=value` lines.
    Header,
    /// The initial state, in braces.
    InitialState,
    /// The table of instructions.
    Program,
    /// `locations`, `filter` and the condition.
    Condition,
}

/// An error in a file.
///
/// The message says what was found, [`ParseErrorKind::expected`] what was expected, and
/// [`ParseErrorKind::hint`] how to fix it.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The file is not UTF-8.
    #[error("byte 0x{byte:02x} is not UTF-8")]
    NotUtf8 {
        /// The first invalid byte.
        byte: u8,
    },
    /// The file asks for more than the limits allow.
    #[error("more than {allowed} {what}")]
    Limit {
        /// What is limited.
        what: &'static str,
        /// The limit.
        allowed: usize,
    },
    /// The first word is not a supported architecture.
    #[error("unknown architecture `{found}`")]
    UnknownArchitecture {
        /// The word.
        found: String,
    },
    /// The name after the architecture is missing.
    #[error("the test has no name")]
    MissingName,
    /// A construct is not terminated.
    #[error("{} is not terminated", .0.what())]
    Unterminated(Unterminated),
    /// The initial state is missing.
    #[error("the initial state is missing")]
    MissingInitialState,
    /// A character that no token contains.
    #[error("unexpected character `{found}`")]
    BadCharacter {
        /// The character.
        found: String,
    },
    /// An unexpected token.
    #[error("unexpected `{found}`")]
    Unexpected {
        /// The token.
        found: String,
        /// What was expected.
        wanted: &'static str,
        /// The section of the file.
        section: Section,
    },
    /// The file ends too early.
    #[error("unexpected end of file")]
    UnexpectedEnd {
        /// What was expected.
        wanted: &'static str,
        /// The section of the file.
        section: Section,
    },
    /// A malformed number.
    #[error("`{found}` is not a number")]
    BadNumber {
        /// The word.
        found: String,
    },
    /// A number that does not fit into 64 bits.
    #[error("number {found} is too large")]
    NumberTooLarge {
        /// The number.
        found: String,
    },
    /// A number that does not fit where it is used.
    #[error("{found} does not fit into {}", counted(*bytes, "byte"))]
    DoesNotFit {
        /// The number or the location whose address it is.
        found: String,
        /// The available bytes.
        bytes: u64,
    },
    /// An unknown type.
    #[error("unknown type `{found}`")]
    UnknownType {
        /// The words.
        found: String,
    },
    /// An array with the wrong number of contents.
    #[error(
        "`{name}` has {}, but {} given",
        counted(*length as u64, "element"),
        match *found { 1 => "1 value is".into(), found => format!("{found} values are") }
    )]
    WrongCount {
        /// The array.
        name: String,
        /// Its length.
        length: usize,
        /// The number of contents.
        found: usize,
    },
    /// An element is initialized separately.
    #[error("cannot initialize the element `{name}[{index}]` separately")]
    ElementInitialized {
        /// The array.
        name: String,
        /// The element.
        index: u64,
    },
    /// A register or location is initialized or declared twice.
    #[error("`{name}` is initialized twice")]
    InitializedTwice {
        /// The register or location.
        name: String,
        /// Where it was initialized before.
        before: Position,
    },
    /// Two threads have the same number.
    #[error("thread `P{number}` is defined twice")]
    DuplicateThread {
        /// The number.
        number: u32,
    },
    /// A register of an unknown thread.
    #[error("unknown thread {number}")]
    NoSuchThread {
        /// The number.
        number: u64,
    },
    /// A row of the program does not have one cell per thread.
    #[error(
        "the row has {}{}, but there {} {}",
        if found > threads { "at least " } else { "" },
        counted(*found as u64, "cell"),
        if *threads == 1 { "is" } else { "are" },
        counted(*threads as u64, "thread")
    )]
    RowLength {
        /// The number of cells.
        found: usize,
        /// The number of threads.
        threads: usize,
    },
    /// An unknown instruction.
    #[error("unknown instruction `{found}`")]
    UnknownInstruction {
        /// The word.
        found: String,
        /// A similar name.
        meant: Option<String>,
    },
    /// An instruction that is not modelled.
    #[error("`{found}` cannot be checked: {why}")]
    NotModelled {
        /// The word.
        found: String,
        /// The reason.
        why: &'static str,
        /// What would be needed, or what to write instead.
        needed: &'static str,
    },
    /// An instruction with the wrong number of operands.
    #[error("`{name}` has {}", counted(*found as u64, "operand"))]
    OperandCount {
        /// The instruction.
        name: String,
        /// The number of operands.
        found: usize,
        /// The expected number.
        wanted: &'static str,
    },
    /// An operand of the wrong kind.
    #[error("`{name}` does not take {found} here")]
    OperandKind {
        /// The instruction.
        name: String,
        /// The kind of the operand.
        found: &'static str,
        /// The expected kind.
        wanted: &'static str,
    },
    /// A constant as the destination.
    #[error("the destination of `{name}` is a constant")]
    ConstantDestination {
        /// The instruction.
        name: String,
        /// The syntax, which determines the position of the destination.
        architecture: Architecture,
    },
    /// An instruction with two memory operands.
    #[error("`{name}` has two memory operands")]
    TwoMemoryOperands {
        /// The instruction.
        name: String,
    },
    /// `LOCK` before an instruction that cannot be locked.
    #[error("`{name}` cannot be locked")]
    LockNotAllowed {
        /// The instruction.
        name: String,
        /// Whether it could be locked with a memory destination.
        can_lock: bool,
    },
    /// `CMOVcc` of one byte.
    #[error("there is no `{name}` of one byte")]
    ByteMoveIf {
        /// The instruction.
        name: String,
    },
    /// A register whose width is not that of the instruction.
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
    /// An unknown register.
    #[error("`{found}` is not a register")]
    UnknownRegister {
        /// The word.
        found: String,
        /// A similar name.
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
    /// A symbolic register of several threads.
    #[error("several threads use `%{found}`")]
    AmbiguousRegister {
        /// Its name.
        found: String,
    },
    /// A register that its thread neither uses nor initializes.
    #[error("no instruction uses `{found}`")]
    UnusedRegister {
        /// The register, with its thread if that is given.
        found: String,
        /// A register that was probably meant.
        meant: Option<String>,
    },
    /// A location in the condition that the test does not have.
    #[error("the test has no location `{found}`")]
    UnknownLocation {
        /// The name.
        found: String,
        /// A similar name.
        meant: Option<String>,
        /// The locations that there are, if they are few.
        known: Vec<String>,
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
    /// A jump to an unknown label.
    #[error("unknown label `{found}` in this thread")]
    UnknownLabel {
        /// The label.
        found: String,
        /// A similar name.
        meant: Option<String>,
    },
    /// A label that is defined twice.
    #[error("label `{name}` is defined twice")]
    DuplicateLabel {
        /// The label.
        name: String,
        /// Where it was defined before.
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
        /// The width of this access.
        bytes: u64,
        /// The width of the other access.
        other: u64,
        /// Where the other access is.
        before: Position,
    },
    /// An array where an element is expected.
    #[error("`{name}` is an array")]
    ArrayAlone {
        /// The array.
        name: String,
    },
    /// An element of a location that is not an array.
    #[error("`{name}` is not an array")]
    NotAnArray {
        /// The location.
        name: String,
    },
    /// An index out of bounds.
    #[error("index {index} is out of bounds: `{name}` has {}", counted(*length as u64, "element"))]
    NoSuchElement {
        /// The array.
        name: String,
        /// Its length.
        length: usize,
        /// The index.
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

    /// Whether it is a limit of the reader, and not an error of the test.
    pub fn is_limit(&self) -> bool {
        matches!(self, ParseErrorKind::Limit { .. } | ParseErrorKind::NoRoom)
    }

    /// Whether the rest of the file cannot be parsed.
    pub(crate) fn is_last(&self) -> bool {
        self.is_limit() || matches!(self, ParseErrorKind::Unterminated(_))
    }
}
