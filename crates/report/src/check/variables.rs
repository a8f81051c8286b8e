//! What is wrong with an environment variable.

use std::error::Error;
use std::ffi::OsString;
use std::fmt;

use super::BadSchedule;
use super::words::choice;

/// Why an environment variable is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum VariableRefusal {
    /// There is no such variable.
    Unknown {
        /// The name of the variable.
        variable: String,
        /// The variable that may be meant.
        meant: Option<String>,
        /// All variables that exist.
        known: Vec<String>,
    },
    /// The value is not Unicode.
    NotUnicode {
        /// The name of the variable.
        variable: String,
        /// Its value.
        found: OsString,
    },
    /// The variable does not accept the value.
    BadValue {
        /// The name of the variable.
        variable: String,
        /// The values that it accepts.
        expected: Values,
        /// Its value.
        found: String,
        /// What is wrong with a value that is to be a schedule.
        why: Option<Box<BadSchedule>>,
    },
}

/// The values that a variable accepts. As text, they follow "expected".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Values {
    /// `on` or `off`.
    Switch,
    /// One of these words.
    Words(&'static [&'static str]),
    /// A whole number in this range.
    Number {
        /// The least number.
        least: u64,
        /// The greatest number.
        most: u64,
    },
    /// A whole number in this range, or `all`.
    NumberOrAll {
        /// The least number.
        least: u64,
        /// The greatest number.
        most: u64,
    },
    /// A number of bytes in this range.
    Bytes {
        /// The least number.
        least: u64,
        /// The greatest number.
        most: u64,
    },
    /// A time, with or without a unit.
    Time,
    /// The path of a file or folder.
    Path,
    /// Positions of fences in the program.
    FencePositions,
    /// A schedule to replay.
    Schedule,
}

impl Error for VariableRefusal {}

impl fmt::Display for VariableRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VariableRefusal::Unknown {
                variable,
                meant: Some(meant),
                ..
            } => write!(
                f,
                "unknown environment variable {variable}; did you mean {meant}?\n\
                 help: rename it or unset it"
            ),
            VariableRefusal::Unknown {
                variable, known, ..
            } => write!(
                f,
                "unknown environment variable {variable}\nhelp: unset it, or use one of {}",
                known.join(", ")
            ),
            VariableRefusal::NotUnicode { variable, found } => write!(
                f,
                "environment variable {variable}: expected UTF-8, found {found:?}"
            ),
            VariableRefusal::BadValue {
                variable,
                expected,
                found,
                why,
            } => {
                write!(
                    f,
                    "environment variable {variable}: expected {expected}, found `{found}`"
                )?;
                if let Some(why) = why {
                    write!(f, ": {why}")?;
                }
                f.write_str("\nhelp: change it or unset it")
            }
        }
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::Switch => f.write_str("`on` or `off`"),
            Values::Words(words) => f.write_str(&choice(words)),
            Values::Number { least, most } => write!(f, "a whole number from {least} to {most}"),
            Values::NumberOrAll { least, most } => {
                write!(f, "a whole number from {least} to {most}, or `all`")
            }
            Values::Bytes { least, most } => {
                write!(f, "a whole number from {least} to {most} (bytes)")
            }
            Values::Time => f.write_str("a time such as `250ms`, `30s`, `10m`, `2h` or `1d`"),
            Values::Path => f.write_str("a path"),
            Values::FencePositions => f.write_str(
                "places such as `src/lock.rs:31:9` or `src/lock.rs:31`, with commas between them, \
                 each optionally followed by `=release`",
            ),
            Values::Schedule => f.write_str("a schedule such as `0x5.1.0`, as a report prints it"),
        }
    }
}
