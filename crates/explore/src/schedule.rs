//! Schedules: which thread went when, as text that can be copied.
//!
//! `0x5.1.0x2.2:1` is: thread 0 five times, thread 1 once, thread 0 twice, thread 2 once with outcome 1
//! (where an operation can turn out in several ways). The empty schedule is `-`.

use std::fmt;
use std::str::FromStr;

use fencepost_memory::ThreadId;
use thiserror::Error;

/// One step: who, and how the operation turns out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Turn {
    /// The thread.
    pub thread: ThreadId,
    /// Which outcome of its operation.
    pub outcome: u32,
}

/// The steps of an execution.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Schedule(pub Vec<Turn>);

/// Text that is no schedule.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("`{part}` {flaw} (at character {at}): {}", .flaw.expected())]
pub struct ScheduleError {
    /// What cannot be read.
    pub part: String,
    /// Where it is, from 1.
    pub at: usize,
    /// What is wrong with it.
    pub flaw: ScheduleFlaw,
}

/// What is wrong with a part of a schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ScheduleFlaw {
    /// It is something else.
    #[error("is no step of a schedule")]
    NoStep,
    /// The schedule is too long with it.
    #[error("makes the schedule too long")]
    TooLong,
}

impl ScheduleFlaw {
    fn expected(self) -> &'static str {
        match self {
            ScheduleFlaw::NoStep => {
                "expected a thread number, then perhaps `:` and an outcome, then perhaps `x` and how often, \
                 such as `0x5` or `2:1`"
            }
            ScheduleFlaw::TooLong => "no execution has so many steps",
        }
    }
}

/// More steps than any execution may have.
const MOST_STEPS: usize = 1 << 28;

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("-");
        }
        for (number, run) in self.0.chunk_by(|a, b| a == b).enumerate() {
            if number > 0 {
                f.write_str(".")?;
            }
            write!(f, "{}", run[0].thread.0)?;
            if run[0].outcome > 0 {
                write!(f, ":{}", run[0].outcome)?;
            }
            if run.len() > 1 {
                write!(f, "x{}", run.len())?;
            }
        }
        Ok(())
    }
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        Schedule::parse_at_most(text, MOST_STEPS)
    }
}

impl Schedule {
    /// Its beginning as text, for messages.
    pub(crate) fn shortened(&self) -> String {
        let text = self.to_string();
        match text.char_indices().nth(200) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }

    /// Reads a schedule of at most so many steps.
    pub(crate) fn parse_at_most(text: &str, most: usize) -> Result<Self, ScheduleError> {
        let text = text.trim();
        if text == "-" {
            return Ok(Schedule::default());
        }
        let mut turns = Vec::new();
        let mut at = 1;
        for part in text.split('.') {
            let error = |flaw| ScheduleError {
                part: part.chars().take(40).collect(),
                at,
                flaw,
            };
            let (turn, count) = parse_run(part).ok_or_else(|| error(ScheduleFlaw::NoStep))?;
            if count > most.min(MOST_STEPS) - turns.len() {
                return Err(error(ScheduleFlaw::TooLong));
            }
            turns.extend(std::iter::repeat_n(turn, count));
            at += part.chars().count() + 1;
        }
        Ok(Schedule(turns))
    }
}

fn parse_run(part: &str) -> Option<(Turn, usize)> {
    let (step, count) = part.split_once('x').unwrap_or((part, "1"));
    let (thread, outcome) = step.split_once(':').unwrap_or((step, "0"));
    let is_plain = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let number = |digits: &str| -> Option<u32> {
        if is_plain(digits) {
            digits.parse().ok()
        } else {
            None
        }
    };
    let thread = ThreadId(number(thread).filter(|&number| number < 1 << 24)?);
    let outcome = number(outcome)?;
    // What does not fit is too much in any case.
    let count = is_plain(count).then(|| count.parse().unwrap_or(usize::MAX));
    let count = count.filter(|&count| count > 0)?;
    Some((Turn { thread, outcome }, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_memory::Random;

    #[test]
    fn schedules_are_read_as_they_are_written() {
        let mut random = Random::new(1);
        for length in 0..200 {
            let mut turns = Vec::new();
            for _ in 0..length {
                turns.push(Turn {
                    thread: ThreadId(random.below(3) as u32),
                    outcome: (random.below(5) / 4) as u32,
                });
            }
            let schedule = Schedule(turns);
            assert_eq!(schedule.to_string().parse(), Ok(schedule));
        }
    }

    #[test]
    fn what_is_no_schedule_is_refused_with_its_place() {
        for text in [
            "",
            "0x",
            "0x0",
            "a",
            "0..1",
            "1:",
            "-1",
            "0x999999999",
            "0 .1",
            "+1",
        ] {
            assert!(text.parse::<Schedule>().is_err(), "{text}");
        }
        let error = "0x5.1.zwei.2".parse::<Schedule>().unwrap_err();
        assert_eq!((error.part.as_str(), error.at), ("zwei", 7));
        assert_eq!(
            error.to_string(),
            "`zwei` is no step of a schedule (at character 7): expected a thread number, then perhaps `:` and an \
             outcome, then perhaps `x` and how often, such as `0x5` or `2:1`"
        );
        for text in ["0.1x1000000000", "0.1x99999999999999999999999"] {
            let error = text.parse::<Schedule>().unwrap_err();
            let expected = format!(
                "`{}` makes the schedule too long (at character 3): no execution has so many steps",
                &text[2..]
            );
            assert_eq!(error.to_string(), expected);
        }
        assert_eq!("0x2.1:3".parse::<Schedule>().unwrap().0.len(), 3);
    }
}
