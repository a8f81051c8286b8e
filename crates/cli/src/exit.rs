//! Exit codes, and the errors that lead to them.

use std::io;

use thiserror::Error;

/// No violation was found.
pub const NO_VIOLATION: u8 = 0;
/// A violation was found.
pub const VIOLATION: u8 = 1;
/// The command line or an input is wrong.
pub const BAD_INPUT: u8 = 2;
/// A limit or Ctrl-C stopped the command before the end.
pub const LIMIT: u8 = 3;
/// A check of Fencepost's own result failed: a bug.
pub const INTERNAL: u8 = 70;
/// Ctrl-C ended the command, as shells report it.
pub const INTERRUPTED: u8 = 130;

/// The section of `--help` about them.
pub const HELP: &str = "\
Exit codes:
  0   no violation was found
  1   a violation was found
  2   the command line or an input is wrong
  3   a limit or Ctrl-C stopped it before the end, and no violation was found until then
  70  a check of Fencepost's own result failed: a bug, please report it
  130 interrupted, without a result";

/// Why a command stopped early.
#[derive(Debug, Error)]
pub enum Failure {
    /// The command line or an input was wrong; the message is complete.
    #[error("{0}")]
    BadInput(String),
    /// A limit was reached; the message is complete.
    #[error("{0}")]
    Limit(String),
    /// A check of Fencepost's own result failed.
    #[error("{0}")]
    Internal(String),
    /// Ctrl-C, in a command that has no partial result.
    #[error("interrupted")]
    Interrupted,
    /// Standard output was closed by its reader, which is no error. The exit code is that of the
    /// findings so far.
    #[error("the output was closed")]
    ClosedOutput(u8),
}

impl Failure {
    /// The exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::BadInput(_) => BAD_INPUT,
            Failure::Limit(_) => LIMIT,
            Failure::Internal(_) => INTERNAL,
            Failure::Interrupted => INTERRUPTED,
            Failure::ClosedOutput(code) => *code,
        }
    }
}

impl From<io::Error> for Failure {
    /// For errors of writing to standard output.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedOutput(NO_VIOLATION),
            _ => Failure::BadInput(format!("error: cannot write the result: {error}")),
        }
    }
}
