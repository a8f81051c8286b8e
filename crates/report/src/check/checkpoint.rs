//! What a check says about its checkpoint file.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use super::words::tidy;
use crate::text::grouped;

/// The widest name or value of a checkpoint that is shown in full.
const WIDEST_VALUE: usize = 60;

/// Why a check with a checkpoint file is not run.
#[derive(Debug)]
#[non_exhaustive]
pub enum CheckpointRefusal {
    /// A check with these settings has no checkpoints.
    Unsupported {
        /// The file or folder that the user has chosen.
        path: PathBuf,
        /// Why it has none.
        why: NoCheckpoints,
    },
    /// The file cannot be written.
    NotWritable {
        /// The file.
        path: PathBuf,
        /// The error of the file system.
        error: io::Error,
    },
    /// The check cannot resume from the file.
    NotResumable {
        /// The file.
        path: PathBuf,
        /// Why it cannot.
        why: NotResumable,
    },
}

/// Why a check has no checkpoints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NoCheckpoints {
    /// The search has a preemption bound.
    PreemptionBound,
    /// Fences are inserted.
    InsertedFences,
    /// The program captures values, and the check has no name.
    CapturedValues,
}

/// Why a check cannot resume from a file.
#[derive(Debug)]
#[non_exhaustive]
pub enum NotResumable {
    /// The file cannot be read, is no checkpoint, or the explorer refuses it.
    Error(Box<dyn Error + Send + Sync>),
    /// The file contradicts itself.
    Damaged(Damage),
    /// The checkpoint is of a check at another source location.
    OtherLocation {
        /// The location of that check.
        made: String,
        /// The location of this check.
        own: String,
    },
    /// The checkpoint is of a check of another program at the same source location.
    OtherProgram,
    /// The checkpoint is of a check with another name.
    OtherName {
        /// The name of that check, in quotes.
        made: String,
    },
    /// Another build of the program made the checkpoint.
    OtherBuild,
    /// The checkpoint was made with another setting.
    OtherSetting {
        /// The setting.
        name: &'static str,
        /// Its value in the checkpoint.
        made: String,
        /// Its value now.
        now: String,
    },
}

/// What is wrong in a damaged checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Damage {
    /// The ids of threads do not fit the settings.
    ThreadIdSpace,
    /// A setting is missing.
    MissingSetting,
    /// The table of these things, such as `threads`.
    Table(&'static str),
}

/// What a check prints about its checkpoint file while it runs. As text, it is one line without a
/// line end.
#[derive(Debug)]
#[non_exhaustive]
pub enum CheckpointLine {
    /// The check resumes from the file.
    Resuming {
        /// The file.
        path: PathBuf,
        /// The number of executions that were explored before.
        executions: u64,
    },
    /// The check ended early, and the file stays.
    Resumable {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be written, and the check continues.
    NotWritten {
        /// The file.
        path: PathBuf,
        /// The error of the file system.
        error: io::Error,
    },
    /// The file is not needed any more, and cannot be removed.
    NotRemoved {
        /// The file.
        path: PathBuf,
        /// The error of the file system.
        error: io::Error,
    },
}

impl Error for CheckpointRefusal {}

impl fmt::Display for CheckpointRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckpointRefusal::Unsupported { path, why } => {
                let (path, help) = (path.display(), why.help());
                write!(
                    f,
                    "cannot save checkpoints to {path}: {why}\nhelp: {help}, or set no checkpoint file"
                )
            }
            CheckpointRefusal::NotWritable { path, error } => {
                write!(
                    f,
                    "cannot write the checkpoint file {}: {error}",
                    path.display()
                )
            }
            CheckpointRefusal::NotResumable { path, why } => write!(
                f,
                "cannot resume from {}: {why}\nhelp: delete the file to check from the beginning",
                path.display()
            ),
        }
    }
}

impl NoCheckpoints {
    fn help(self) -> &'static str {
        match self {
            NoCheckpoints::PreemptionBound => "choose another strategy",
            NoCheckpoints::InsertedFences => "insert no fences",
            NoCheckpoints::CapturedValues => "name the values with `Checker::name`",
        }
    }
}

impl fmt::Display for NoCheckpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoCheckpoints::PreemptionBound => "a search with a preemption bound has no checkpoints",
            NoCheckpoints::InsertedFences => {
                "a check with inserted fences (`insert_fence`) has no checkpoints"
            }
            NoCheckpoints::CapturedValues => {
                "the program captures values, and a checkpoint made with other values would be wrong"
            }
        })
    }
}

impl fmt::Display for NotResumable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotResumable::Error(error) => error.fmt(f),
            NotResumable::Damaged(damage) => write!(f, "the checkpoint is damaged ({damage})"),
            NotResumable::OtherLocation { made, own } => write!(
                f,
                "the checkpoint is of another check, at {} (this one is at {own})",
                tidy(made, WIDEST_VALUE)
            ),
            NotResumable::OtherProgram => {
                f.write_str("the checkpoint is of another check at the same location")
            }
            NotResumable::OtherName { made } => write!(
                f,
                "the checkpoint is of another check with the name {}",
                tidy(made, WIDEST_VALUE)
            ),
            NotResumable::OtherBuild => {
                f.write_str("the checkpoint was made by another build of the program")
            }
            NotResumable::OtherSetting { name, made, now } => write!(
                f,
                "the checkpoint was made with another setting ({name} was {}, now it is {now})",
                tidy(made, WIDEST_VALUE)
            ),
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::ThreadIdSpace => f.write_str("wrong thread id space"),
            Damage::MissingSetting => f.write_str("a setting is missing"),
            Damage::Table(table) => write!(f, "wrong table of {table}"),
        }
    }
}

impl fmt::Display for CheckpointLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fencepost: ")?;
        match self {
            CheckpointLine::Resuming { path, executions } => write!(
                f,
                "resuming from {} after {} executions",
                path.display(),
                grouped(*executions)
            ),
            CheckpointLine::Resumable { path } => write!(
                f,
                "run the same check again to resume from {}",
                path.display()
            ),
            CheckpointLine::NotWritten { path, error } => write!(
                f,
                "cannot write the checkpoint file {}: {error}",
                path.display()
            ),
            CheckpointLine::NotRemoved { path, error } => write!(
                f,
                "cannot remove the checkpoint file {}: {error}",
                path.display()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_of_a_file_are_shortened() {
        let refusal = NotResumable::OtherSetting {
            name: "target",
            made: "x\n".repeat(100),
            now: "x86".to_owned(),
        };
        let text = refusal.to_string();
        assert!(text.chars().count() < 150 && text.contains('…'), "{text}");
        assert!(!text.contains('\n'), "{text}");
    }
}
