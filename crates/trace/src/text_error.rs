//! Errors in text traces: the position, the problem, what was expected, and how to fix it.

use std::fmt;

use fencepost_diagnostics::{Diagnostic, Excerpt, Severity};
use fencepost_memory::OperationKind;
use thiserror::Error;

use crate::names::NameProblem;

/// An error in a text trace, with its position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextError {
    /// The line, from 1.
    pub line: u64,
    /// The column, in characters from 1.
    pub column: usize,
    /// The line itself, shortened around the column if it is long.
    pub excerpt: Excerpt,
    /// The problem.
    pub problem: TextProblem,
}

/// A problem in a line of a text trace.
///
/// The message says what was found, [`TextProblem::expected`] what was expected,
/// and [`TextProblem::hint`] how to fix it.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum TextProblem {
    /// The first line has an unknown version.
    #[error("unknown version `{found}` of the text format")]
    UnsupportedVersion {
        /// The version, empty if there is none.
        found: String,
    },
    /// The first word of a line is not a thread.
    #[error("`{found}` is not a thread")]
    BadThread {
        /// The word.
        found: String,
    },
    /// The number of a thread does not fit into 32 bits.
    #[error("thread number {found} is too large")]
    ThreadTooLarge {
        /// The number.
        found: String,
    },
    /// The word after the colon of a thread is not a number.
    #[error("`{found}` is not an issue index")]
    BadIssue {
        /// The word.
        found: String,
    },
    /// The issue index is not the next one of its thread.
    #[error(
        "issue index {found} out of order: thread T{thread} has had {had} event{}",
        if *had == 1 { "" } else { "s" }
    )]
    IssueOutOfOrder {
        /// The index.
        found: u64,
        /// The number of the thread in the file.
        thread: u32,
        /// The number of earlier events of the thread.
        had: u64,
    },
    /// The line ends after the thread.
    #[error("the line ends after the thread")]
    MissingOperation,
    /// The second word is not an operation.
    #[error("unknown operation `{found}`")]
    UnknownOperation {
        /// The word.
        found: String,
    },
    /// An operation that accesses memory has no address.
    #[error("`{kind}` has no address")]
    MissingAddress {
        /// The operation.
        kind: OperationKind,
    },
    /// A fence or barrier has an address or a value.
    #[error("`{kind}` takes no address and no value, but `{found}` follows")]
    NothingAccessed {
        /// The operation.
        kind: OperationKind,
        /// The word.
        found: String,
    },
    /// The address is malformed.
    #[error("not an address: {problem}")]
    BadAddress {
        /// What is wrong with the name.
        problem: NameProblem,
    },
    /// The source location is malformed.
    #[error("not a source location: {problem}")]
    BadLocation {
        /// What is wrong with the name.
        problem: NameProblem,
    },
    /// The word after `=` is not a number.
    #[error("`{found}` is not a value")]
    BadValue {
        /// The word after `=`.
        found: String,
    },
    /// The value does not fit into 64 bits.
    #[error("value {found} is too large")]
    ValueTooLarge {
        /// The value.
        found: String,
    },
    /// An unexpected word.
    #[error("unexpected `{found}`")]
    Unexpected {
        /// The word.
        found: String,
        /// What is allowed there.
        allowed: &'static str,
    },
    /// The line is longer than [`crate::MAX_LINE_BYTES`].
    #[error("the line is longer than {} bytes", crate::MAX_LINE_BYTES)]
    LineTooLong,
    /// The line is not UTF-8.
    #[error("byte 0x{byte:02x} is not UTF-8")]
    NotUtf8 {
        /// The first invalid byte.
        byte: u8,
    },
    /// A load does not read the last value of its address.
    #[error(
        "not a sequentially consistent interleaving: `{kind} {address}` reads {read}, but line \
         {known_at} {} {held}",
        if *known_by_write { "wrote" } else { "read" }
    )]
    ReadsOtherValue {
        /// The operation.
        kind: OperationKind,
        /// The name of the address.
        address: String,
        /// The value that the load read.
        read: u64,
        /// The value of the address.
        held: u64,
        /// The line that has this value.
        known_at: u64,
        /// Whether that line is a write; otherwise it is an earlier load.
        known_by_write: bool,
    },
}

impl TextProblem {
    /// What was expected.
    pub fn expected(&self) -> String {
        match self {
            TextProblem::UnsupportedVersion { .. } => "`fencepost-trace 1`".into(),
            TextProblem::BadThread { .. } => "a thread number such as `T0` or `4711`".into(),
            TextProblem::ThreadTooLarge { .. } => format!("a number up to {}", u32::MAX),
            TextProblem::BadIssue { .. } => "a number from 1 after the colon".into(),
            TextProblem::IssueOutOfOrder { had, .. } => (had + 1).to_string(),
            TextProblem::MissingOperation | TextProblem::UnknownOperation { .. } => {
                let mnemonics = OperationKind::ALL.map(OperationKind::mnemonic);
                format!("one of {}", mnemonics.join(", "))
            }
            TextProblem::MissingAddress { .. } => "an address such as `x` or `0x7ffe10`".into(),
            TextProblem::NothingAccessed { .. } => "`@LOCATION` or the end of the line".into(),
            TextProblem::BadAddress { .. } => {
                "up to 255 bytes without white space, control characters, `=` and `@`, not \
                 beginning with `#`"
                    .into()
            }
            TextProblem::BadLocation { .. } => {
                "up to 1024 bytes without white space or control characters after `@`".into()
            }
            TextProblem::BadValue { .. } => {
                "a number such as `=17` or `=0x11` after the address".into()
            }
            TextProblem::ValueTooLarge { .. } => format!("a number up to {}", u64::MAX),
            TextProblem::Unexpected { allowed, .. } => (*allowed).into(),
            TextProblem::LineTooLong => "one event per line".into(),
            TextProblem::NotUtf8 { .. } => "UTF-8 text".into(),
            TextProblem::ReadsOtherValue { held, .. } => format!("`={held}`"),
        }
    }

    /// How to fix it.
    pub fn hint(&self) -> String {
        match self {
            TextProblem::UnsupportedVersion { .. } => {
                "this build reads version 1 of the text format; the first line may also be left out"
                    .into()
            }
            TextProblem::BadThread { .. } => {
                "a line is `THREAD[:ISSUE] OP [ADDRESS] [=VALUE] [@LOCATION]`; comments begin with \
                 `#`"
                .into()
            }
            TextProblem::ThreadTooLarge { .. } => {
                "thread numbers are 32 bits wide; number the threads yourself if the system's \
                 identifiers are wider"
                    .into()
            }
            TextProblem::BadIssue { .. } => {
                "`T0:3` is the third event of thread T0; the index may be left out".into()
            }
            TextProblem::IssueOutOfOrder { .. } => {
                "the issue indices of a thread are 1, 2, 3, …; a gap means that events were lost, \
                 and a step back that lines were reordered"
                    .into()
            }
            TextProblem::MissingOperation | TextProblem::MissingAddress { .. } => {
                "a line is `THREAD[:ISSUE] OP [ADDRESS] [=VALUE] [@LOCATION]`".into()
            }
            TextProblem::UnknownOperation { found } => {
                let lower = found.to_ascii_lowercase();
                match OperationKind::from_mnemonic(&lower) {
                    Some(kind) => format!("operations are written in lower case: `{kind}`"),
                    None => {
                        "ld load, st store, il interlocked read-modify-write, lld locked load, \
                             lst locked store, fence full fence, stbar store-store barrier"
                            .into()
                    }
                }
            }
            TextProblem::NothingAccessed { .. } => {
                "a fence or barrier orders all addresses, so it names none".into()
            }
            TextProblem::BadAddress {
                problem: NameProblem::Reserved { character, at: 1.. },
            } => format!("put a blank before the `{character}`, as in `st x =1 @queue.c:17`"),
            TextProblem::BadAddress { .. } => {
                "any word is an address: `x`, `0x7ffe10`, `queue.head`".into()
            }
            TextProblem::BadLocation { .. } => "write `@queue.c:17`, without spaces".into(),
            TextProblem::BadValue { found } if found.starts_with('-') => {
                "values are unsigned 64-bit numbers; write -1 as 0xffffffffffffffff".into()
            }
            TextProblem::BadValue { .. } => {
                "values are unsigned 64-bit numbers, decimal or hexadecimal with `0x`, without a \
                 space after `=`"
                    .into()
            }
            TextProblem::ValueTooLarge { .. } => {
                "values are 64 bits wide; leave the value out if it is wider".into()
            }
            TextProblem::Unexpected { .. } => {
                "the order is `THREAD[:ISSUE] OP [ADDRESS] [=VALUE] [@LOCATION]`; comments begin \
                 with `#`"
                    .into()
            }
            TextProblem::LineTooLong => {
                "check that the file is a trace; lines end with a line feed".into()
            }
            TextProblem::NotUtf8 { .. } => {
                "check that the file is a trace; a binary trace begins with the bytes 89 46 50 54"
                    .into()
            }
            TextProblem::ReadsOtherValue { .. } => {
                "record the events in the order in which they reached memory, or leave the values \
                 out"
                .into()
            }
        }
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column, problem) = (self.line, self.column, &self.problem);
        let expected = problem.expected();
        write!(
            f,
            "line {line}, column {column}: {problem}, expected {expected}"
        )
    }
}

impl std::error::Error for TextError {}

impl TextError {
    /// The error with the offending line and a caret below it, as compilers show it.
    pub fn render(&self, path: &str) -> String {
        let diagnostic = Diagnostic {
            severity: Severity::Error,
            message: &self.problem,
            line: self.line,
            column: self.column as u64,
            excerpt: &self.excerpt,
            label: &format!("expected {}", self.problem.expected()),
            help: &self.problem.hint(),
        };
        diagnostic.render(path)
    }
}
