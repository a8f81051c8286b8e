//! Why a check is not run.

use std::error::Error;
use std::fmt;
use std::io;

use super::checkpoint::CheckpointRefusal;
use super::{BadSchedule, Obstacle};
use crate::language::ProgramLanguage;

/// Why a check is not run, or not with these settings.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// Something is wrong with the checkpoint file.
    Checkpoint(CheckpointRefusal),
    /// The explorer refuses, and there is no checkpoint file.
    Explorer(Box<dyn Error + Send + Sync>),
    /// The schedule to replay is not one.
    NoSchedule {
        /// The text.
        text: String,
        /// What is wrong with it.
        error: BadSchedule,
    },
    /// The schedule was recorded with store buffers, and the check has none.
    BufferedSchedule {
        /// The word of the schedule that says so.
        word: String,
    },
    /// A setting needs store-buffer violations, and a check with store buffers reports none.
    NoViolations {
        /// The setting.
        setting: &'static str,
    },
    /// A setting needs the monitor.
    NoMonitor {
        /// The setting.
        setting: &'static str,
    },
    /// Plain accesses that race are performed by the program itself, so they cannot wait in store buffers.
    RacesInBuffers {
        /// The setting that needs store buffers.
        setting: &'static str,
    },
    /// Fence inference needs store-buffer violations, and a check with store buffers reports none.
    InferenceWithBuffers,
    /// Fence inference needs more than a sample of the executions.
    InferenceFromSample,
    /// A fence is to be inserted at something that is not a position.
    NoPosition(String),
    /// The check is inside another check.
    InsideCheck,
    /// The operating system has no thread for the check.
    NoThread(io::Error),
    /// There are no more ids for the threads of a program with store buffers.
    TooManyThreads,
}

impl Error for Refusal {}

impl Refusal {
    /// The message for users of a program in this language.
    pub fn in_language(&self, language: ProgramLanguage) -> String {
        let of_c = match (language, self) {
            (ProgramLanguage::C, refusal) => refusal.in_c(),
            (ProgramLanguage::Rust, _) => None,
        };
        of_c.unwrap_or_else(|| self.to_string())
    }

    /// The message where it is about settings, which are options of the command in C.
    fn in_c(&self) -> Option<String> {
        let option = |method| ProgramLanguage::C.setting(method);
        Some(match self {
            Refusal::BufferedSchedule { word } => format!(
                "the schedule was recorded with store buffers (`{word}`)\nhelp: replay it with `--store-buffers`"
            ),
            Refusal::NoViolations { setting } => format!(
                "`{}` needs store-buffer violations, and a check with `--store-buffers` reports none\n\
                 help: use one of the two",
                option(setting)
            ),
            Refusal::NoMonitor { setting } => format!(
                "`{}` needs the monitor, which finds the store-buffer violations\nhelp: unset FENCEPOST_MONITOR",
                option(setting)
            ),
            Refusal::RacesInBuffers { setting } => format!(
                "`{}` needs store buffers, and plain accesses that race cannot be run with them\n\
                 help: leave out `--races allow`, or make the accesses atomic",
                option(setting)
            ),
            Refusal::InferenceWithBuffers => {
                "`--infer-fences` needs store-buffer violations, and a check with `--store-buffers` reports none\n\
                 help: use one of the two"
                    .to_owned()
            }
            Refusal::InferenceFromSample => {
                "`--infer-fences` needs all executions, or all within a preemption bound\n\
                 help: use `--strategy exhaustive` or `--strategy bounded`"
                    .to_owned()
            }
            _ => return None,
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Checkpoint(refusal) => refusal.fmt(f),
            Refusal::Explorer(error) => error.fmt(f),
            Refusal::NoSchedule { text, error } => {
                write!(f, "cannot replay the schedule `{text}`: {error}")
            }
            Refusal::BufferedSchedule { word } => write!(
                f,
                "the schedule was recorded with store buffers (`{word}`); replay it with \
                 `store_buffers(true)` or FENCEPOST_STORE_BUFFERS=on"
            ),
            Refusal::NoViolations { setting } => write!(
                f,
                "`{setting}` needs store-buffer violations, and a check with `store_buffers` \
                 reports none\n\
                 help: unset one of the two"
            ),
            Refusal::NoMonitor { setting } => write!(
                f,
                "`{setting}` needs the monitor, which finds the store-buffer violations\n\
                 help: remove `monitor(false)`, or unset FENCEPOST_MONITOR"
            ),
            Refusal::RacesInBuffers { setting } => write!(
                f,
                "`{setting}` needs store buffers, and plain accesses that race cannot be run with them"
            ),
            Refusal::InferenceWithBuffers => f.write_str(
                "fence inference needs store-buffer violations, and a check with `store_buffers` \
                 reports none\n\
                 help: unset `store_buffers`",
            ),
            Refusal::InferenceFromSample => f.write_str(
                "fence inference needs all executions, or all within a preemption bound\n\
                 help: choose the strategy Exhaustive or Bounded",
            ),
            Refusal::NoPosition(text) => write!(
                f,
                "expected the position of an operation such as `src/lock.rs:31:9` or \
                 `src/lock.rs:31`, found `{text}`"
            ),
            Refusal::InsideCheck => f.write_str(
                "cannot run a check inside a check\n\
                 help: the checked program must not call `fencepost::check`",
            ),
            Refusal::NoThread(error) => write!(f, "cannot spawn the thread of the check: {error}"),
            Refusal::TooManyThreads => {
                f.write_str("the program has too many threads for a check with store buffers")
            }
        }
    }
}

impl From<CheckpointRefusal> for Refusal {
    fn from(refusal: CheckpointRefusal) -> Self {
        Refusal::Checkpoint(refusal)
    }
}

impl From<Refusal> for Obstacle {
    fn from(refusal: Refusal) -> Self {
        Obstacle::Error(refusal.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_programs_in_c_name_options() {
        for (refusal, text) in [
            (
                Refusal::InferenceFromSample,
                "help: use `--strategy exhaustive` or `--strategy bounded`",
            ),
            (
                Refusal::NoMonitor {
                    setting: "infer_fences",
                },
                "`--infer-fences` needs the monitor",
            ),
            (
                Refusal::NoViolations { setting: "confirm" },
                "`--confirm` needs store-buffer violations, and a check with `--store-buffers`",
            ),
            (
                Refusal::RacesInBuffers { setting: "confirm" },
                "help: leave out `--races allow`",
            ),
            (
                Refusal::BufferedSchedule {
                    word: "wide8".into(),
                },
                "replay it with `--store-buffers`",
            ),
            (
                Refusal::InferenceWithBuffers,
                "`--store-buffers` reports none",
            ),
        ] {
            let in_c = refusal.in_language(ProgramLanguage::C);
            assert!(in_c.contains(text), "{in_c}");
            assert_ne!(in_c, refusal.in_language(ProgramLanguage::Rust));
        }
        let other = Refusal::TooManyThreads;
        assert_eq!(other.in_language(ProgramLanguage::C), other.to_string());
    }
}
