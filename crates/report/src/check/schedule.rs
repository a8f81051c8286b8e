//! What is wrong with the text of a schedule.

use std::error::Error;
use std::fmt;

use fencepost_diagnostics::quoted;

use super::words::choice;

/// Why a text is not a schedule. The messages complete "cannot replay the schedule: …".
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BadSchedule {
    /// The header has a word that does not exist.
    UnknownWord {
        /// The word.
        found: String,
        /// The words that exist.
        words: &'static [&'static str],
        /// What the other words start with.
        prefixes: &'static [&'static str],
        /// The word that may be meant.
        meant: Option<String>,
    },
    /// A word of the header has a number that does not exist.
    UnknownNumber {
        /// The word.
        found: String,
        /// The words with the numbers that exist.
        words: Vec<String>,
    },
    /// A word of the header names no place.
    NoPlace {
        /// The word.
        found: String,
        /// What it starts with.
        prefix: &'static str,
    },
    /// A word of the header is repeated, or contradicts an earlier one.
    Repeated(String),
    /// The turns are wrong: the explorer's error, as a clause.
    Turns(String),
}

impl Error for BadSchedule {}

impl fmt::Display for BadSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadSchedule::UnknownWord {
                found,
                words,
                prefixes,
                meant,
            } => {
                let words = words.iter().map(|word| (*word).to_owned());
                let prefixes = prefixes.iter().map(|prefix| format!("{prefix}…"));
                let expected = choice(&words.chain(prefixes).collect::<Vec<_>>());
                let found = quoted(found);
                write!(f, "expected {expected} before the `/`, found `{found}`")?;
                match meant {
                    Some(meant) => write!(f, "; did you mean `{meant}`?"),
                    None => Ok(()),
                }
            }
            BadSchedule::UnknownNumber { found, words } => {
                write!(f, "expected {}, found `{}`", choice(words), quoted(found))
            }
            BadSchedule::NoPlace { found, prefix } => write!(
                f,
                "`{}` names no place: expected `{prefix}FILE:LINE:COLUMN`",
                quoted(found)
            ),
            BadSchedule::Repeated(word) => {
                let word = quoted(word);
                write!(f, "`{word}` is repeated or contradicts an earlier word")
            }
            BadSchedule::Turns(error) => f.write_str(error),
        }
    }
}
