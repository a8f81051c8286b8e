//! Errors of a model at run time.

use std::fmt;

use crate::model::Model;
use crate::source::Span;
use fencepost_diagnostics::Position;

/// A runtime error of a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The kind of error.
    pub kind: FaultKind,
    /// The part of the model that failed.
    pub span: Span,
}

/// A kind of runtime error.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FaultKind {
    /// `error` was reached.
    Error(String),
    /// An assertion is false.
    Assertion(Option<String>),
    /// An undefined value is used.
    Undefined,
    /// The index of an array is undefined.
    UndefinedIndex,
    /// The index of an array is outside of it.
    IndexOutside {
        /// The index.
        index: i64,
        /// The least index.
        low: i64,
        /// The greatest index.
        high: i64,
    },
    /// A value is out of the range of its target.
    OutOfRange {
        /// The value.
        value: i64,
        /// The least value.
        low: i64,
        /// The greatest value.
        high: i64,
    },
    /// Arithmetic that fails: overflow or division by zero.
    Arithmetic(&'static str),
    /// The end of a function is reached without a value.
    MissingReturn(String),
    /// A `while` loop exceeds the bound on iterations.
    LoopTooLong {
        /// The most iterations.
        allowed: u64,
    },
    /// A step of 0 in a loop.
    ZeroStep,
    /// An element is added to a multiset that is full.
    MultisetFull {
        /// The most elements of the multiset.
        capacity: u32,
    },
    /// An element of a multiset is used after it was removed.
    ElementGone,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::Error(message) => write!(f, "error: {message}"),
            FaultKind::Assertion(Some(name)) => write!(f, "assertion failed: {name}"),
            FaultKind::Assertion(None) => write!(f, "assertion failed"),
            FaultKind::Undefined => write!(f, "an undefined value is used"),
            FaultKind::UndefinedIndex => write!(f, "the index is undefined"),
            FaultKind::IndexOutside { index, low, high } => {
                write!(f, "index {index} is outside of {low}..{high}")
            }
            FaultKind::OutOfRange { value, low, high } => {
                write!(f, "{value} is outside of {low}..{high}")
            }
            FaultKind::Arithmetic(why) => write!(f, "the result cannot be computed: {why}"),
            FaultKind::MissingReturn(name) => {
                write!(f, "the end of function {name} is reached without a value")
            }
            FaultKind::LoopTooLong { allowed } => {
                write!(f, "the loop exceeds {allowed} iterations")
            }
            FaultKind::ZeroStep => write!(f, "the step of the loop is 0"),
            FaultKind::MultisetFull { capacity } => {
                write!(f, "the multiset is full with {capacity} elements")
            }
            FaultKind::ElementGone => write!(f, "the element was removed from the multiset"),
        }
    }
}

impl Fault {
    /// The message with line and column.
    pub fn describe(&self, model: &Model) -> String {
        let Position { line, column } = model.position(self.span);
        format!("line {line}, column {column}: {}", self.kind)
    }
}
