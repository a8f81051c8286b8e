//! The syntax tree of a file, before names are resolved.

use crate::code::Width;
use crate::test::{Architecture, Quantifier};
use crate::x86::instruction::WrittenInstruction;

use super::lexer::Span;

/// A number as it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Number {
    /// Its two's complement.
    pub value: u64,
    /// Whether it is less than zero.
    pub is_negative: bool,
}

impl Number {
    /// Whether it can be written in so many bytes, signed or unsigned.
    pub fn fits(self, width: Width) -> bool {
        match self.is_negative {
            true => width.signed(self.value) == self.value as i64,
            false => self.value <= width.mask(),
        }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.is_negative {
            true => write!(f, "{}", self.value as i64),
            false => write!(f, "{}", self.value),
        }
    }
}

/// A location or an element of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MemoryRef<'s> {
    /// The location's name.
    pub name: &'s str,
    /// Which element.
    pub index: Option<u64>,
    /// Where it is written.
    pub span: Span,
}

/// A register in the initial state, a condition or a list of locations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RegisterRef<'s> {
    /// The number of its thread; none for `%name` alone.
    pub thread: Option<u64>,
    /// Its name, without `%`.
    pub name: &'s str,
    /// Whether there was a `%`.
    pub has_percent: bool,
    /// Where it is written.
    pub span: Span,
}

/// A register or location that can be initialized and observed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target<'s> {
    /// A register.
    Register(RegisterRef<'s>),
    /// Memory.
    Memory(MemoryRef<'s>),
}

impl Target<'_> {
    /// Where it is written.
    pub fn span(&self) -> Span {
        match self {
            Target::Register(register) => register.span,
            Target::Memory(reference) => reference.span,
        }
    }
}

/// A value that a target is initialized with or compared to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Value<'s> {
    /// A number.
    Number(Number, Span),
    /// The address of a location.
    Address(MemoryRef<'s>),
}

/// A declared type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DeclaredType {
    /// How many bytes it has.
    pub width: Width,
    /// Whether it has no sign.
    pub is_unsigned: bool,
    /// Whether it is a pointer.
    pub is_pointer: bool,
}

/// An entry of the initial state.
#[derive(Clone, Debug)]
pub(crate) struct Initial<'s> {
    /// The type, if one is given.
    pub declared: Option<DeclaredType>,
    /// Where the words of the type are.
    pub type_at: Option<Span>,
    /// The target that is initialized.
    pub target: Target<'s>,
    /// With what; nothing if only declared. As many as the array has, if it is one.
    pub values: Vec<Value<'s>>,
    /// The length, if it is an array.
    pub length: Option<usize>,
}

/// A thread of the program.
#[derive(Clone, Debug)]
pub(crate) struct Column<'s> {
    /// Its number.
    pub number: u32,
    /// Its labels: the name, the index of the instruction that follows, where.
    pub labels: Vec<(&'s str, usize, Span)>,
    /// Its instructions.
    pub instructions: Vec<WrittenInstruction<'s>>,
}

/// The right side of a comparison.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Compared<'s> {
    /// With a value.
    Value(Value<'s>),
    /// With the content of something.
    Content(Target<'s>),
    /// With the content of a whole array.
    Elements(Vec<Value<'s>>),
}

/// A proposition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Claim<'s> {
    /// `true` or `false`.
    Constant(bool),
    /// `left = right`.
    Equal(Target<'s>, Compared<'s>),
    /// Not.
    Not(Box<Claim<'s>>),
    /// All.
    And(Vec<Claim<'s>>),
    /// One.
    Or(Vec<Claim<'s>>),
    /// If, then.
    Implies(Box<Claim<'s>>, Box<Claim<'s>>),
}

/// A whole file.
#[derive(Clone, Debug)]
pub(crate) struct File<'s> {
    /// The syntax.
    pub architecture: Architecture,
    /// The name.
    pub name: String,
    /// The text in quotes.
    pub documentation: Option<String>,
    /// `Key=value` lines.
    pub info: Vec<(String, String)>,
    /// The initial state.
    pub initial: Vec<Initial<'s>>,
    /// The program.
    pub columns: Vec<Column<'s>>,
    /// The targets that are observed in addition to those of the condition.
    pub locations: Vec<Target<'s>>,
    /// The filter.
    pub filter: Option<Claim<'s>>,
    /// The quantifier of the condition.
    pub quantifier: Quantifier,
    /// About what.
    pub condition: Claim<'s>,
}
