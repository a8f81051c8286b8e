//! Schedules: the turns of an execution, with a text form.
//!
//! In `0x5.1.0x2.2:1`, thread 0 takes five steps, thread 1 one, thread 0 two, and thread 2 one with outcome 1 of an
//! operation that has several outcomes. `[0x2.1]x3` repeats the group `0x2.1` three times. The empty schedule is `-`. The
//! brackets are square because a shell does not interpret them.

use std::fmt;
use std::str::FromStr;

use fencepost_memory::ThreadId;
use thiserror::Error;

/// One step of an execution: the thread, and the outcome of its operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Turn {
    /// The thread that takes the step.
    pub thread: ThreadId,
    /// The outcome of its operation, 0 unless the operation has several.
    pub outcome: u32,
}

/// The turns of an execution, in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Schedule(pub Vec<Turn>);

/// The error of a text that is not a schedule.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{kind} (at character {at})", kind = kind.about(part))]
pub struct ScheduleError {
    /// The part that cannot be parsed.
    pub part: String,
    /// The position of the part in the text, in characters from 1.
    pub at: usize,
    /// The kind of the error.
    pub kind: ScheduleErrorKind,
}

/// The kinds of errors in a schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ScheduleErrorKind {
    /// The part is neither a step nor a group.
    NoStep,
    /// The schedule would have more than this many steps.
    TooManySteps(usize),
    /// A group is empty.
    EmptyGroup,
    /// A group is inside another group.
    GroupInGroup,
    /// A group is not closed.
    NotClosed,
    /// A group is closed that was not opened.
    NotOpened,
}

impl ScheduleErrorKind {
    fn about(self, part: &str) -> String {
        match self {
            ScheduleErrorKind::NoStep => format!(
                "expected a step `thread`, `thread:outcome` or `threadxcount` such as `0x5` or `2:1`, or a group \
                 such as `[0x5.2:1]x3`, found `{part}`"
            ),
            ScheduleErrorKind::TooManySteps(most) => {
                format!("the count in `{part}` is too large: a schedule has at most {most} steps")
            }
            ScheduleErrorKind::EmptyGroup => {
                format!("the group `{part}` is empty")
            }
            ScheduleErrorKind::GroupInGroup => {
                format!("`{part}` opens a group inside a group: write the steps out")
            }
            ScheduleErrorKind::NotClosed => {
                format!("the group that `{part}` opens is not closed: `]` is missing")
            }
            ScheduleErrorKind::NotOpened => {
                format!("`{part}` closes a group that is not open: `[` is missing")
            }
        }
    }
}

/// The maximum number of steps of a schedule. No execution has as many.
const MOST_STEPS: usize = 1 << 28;

/// The maximum number of runs in a group. Loops are shorter.
const LONGEST_GROUP: usize = 64;

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("-");
        }
        let runs: Vec<&[Turn]> = self.0.chunk_by(|a, b| a == b).collect();
        let written = Written::new(&runs);
        let mut groups = Groups::new(&runs);
        let mut next = 0;
        while next < runs.len() {
            if next > 0 {
                f.write_str(".")?;
            }
            match groups.best_at(next, &written) {
                Some(Group { length, times }) => {
                    write!(f, "[{}]x{times}", written.part(next, length))?;
                    next += length * times;
                }
                None => {
                    f.write_str(written.part(next, 1))?;
                    next += 1;
                }
            }
        }
        Ok(())
    }
}

/// The text of all runs, without groups.
struct Written {
    text: String,
    /// The offset of each run, and the offset after the last one.
    starts: Vec<usize>,
}

impl Written {
    fn new(runs: &[&[Turn]]) -> Self {
        let (mut text, mut starts) = (String::new(), vec![0]);
        for run in runs {
            text.push_str(&run[0].thread.0.to_string());
            if run[0].outcome > 0 {
                text.push_str(&format!(":{}", run[0].outcome));
            }
            if run.len() > 1 {
                text.push_str(&format!("x{}", run.len()));
            }
            text.push('.');
            starts.push(text.len());
        }
        Written { text, starts }
    }

    /// The text of `runs` runs, starting with the run number `first`.
    fn part(&self, first: usize, runs: usize) -> &str {
        &self.text[self.starts[first]..self.starts[first + runs] - 1]
    }
}

/// A group of `length` runs that is repeated `times` times.
#[derive(Clone, Copy)]
struct Group {
    length: usize,
    times: usize,
}

/// Finds repeated groups of runs, in the order of the schedule.
struct Groups<'a> {
    runs: &'a [&'a [Turn]],
    /// For each length, the first run that was not found equal to the run `length` later. It only grows, so that each
    /// length needs a single pass over the schedule.
    same_until: [usize; LONGEST_GROUP + 1],
}

impl<'a> Groups<'a> {
    fn new(runs: &'a [&'a [Turn]]) -> Self {
        Groups {
            runs,
            same_until: [0; LONGEST_GROUP + 1],
        }
    }

    /// The group at the run `first` that shortens the text most, if one does. `first` never decreases between calls.
    fn best_at(&mut self, first: usize, written: &Written) -> Option<Group> {
        // A group has at least two runs: neighbouring runs differ.
        let groups = (2..=LONGEST_GROUP).map(|length| {
            let until = &mut self.same_until[length];
            *until = (*until).max(first);
            while *until + length < self.runs.len()
                && self.runs[*until] == self.runs[*until + length]
            {
                *until += 1;
            }
            let times = (*until - first) / length + 1;
            Group { length, times }
        });
        let saved = |group: &Group| {
            let Group { length, times } = *group;
            let plain = written.part(first, length * times).len();
            let grouped = written.part(first, length).len() + "[]x".len() + decimals(times);
            plain.saturating_sub(grouped)
        };
        // Of two groups that save as much, the shorter one is easier to read.
        let repeated = groups.filter(|group| group.times > 1);
        let best = repeated.rev().max_by_key(saved)?;
        (saved(&best) > 0).then_some(best)
    }
}

fn decimals(number: usize) -> usize {
    number.max(1).ilog10() as usize + 1
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        Schedule::parse_at_most(text, MOST_STEPS)
    }
}

impl Schedule {
    /// The start of the text, for messages.
    pub(crate) fn shortened(&self) -> String {
        let text = self.to_string();
        match text.char_indices().nth(200) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }

    /// Parses a schedule of at most `most` steps.
    pub(crate) fn parse_at_most(text: &str, most: usize) -> Result<Self, ScheduleError> {
        let text = text.trim();
        if text == "-" {
            return Ok(Schedule::default());
        }
        let mut reader = Reader {
            most: most.min(MOST_STEPS),
            turns: Vec::new(),
            group: None,
        };
        let error = |part: &str, at, kind| ScheduleError {
            part: part.chars().take(40).collect(),
            at,
            kind,
        };
        let mut at = 1;
        for part in text.split('.') {
            let read = reader.read(part, at);
            read.map_err(|kind| error(part, at, kind))?;
            at += part.chars().count() + 1;
        }
        match reader.group {
            Some(Opened { part, at, .. }) => Err(error(part, at, ScheduleErrorKind::NotClosed)),
            None => Ok(Schedule(reader.turns)),
        }
    }
}

/// Parses a schedule, part by part.
struct Reader<'a> {
    most: usize,
    turns: Vec<Turn>,
    /// The open group, if there is one.
    group: Option<Opened<'a>>,
}

/// An open group.
struct Opened<'a> {
    /// The part that opens the group, and its position.
    part: &'a str,
    at: usize,
    /// The index of its first turn.
    first: usize,
}

impl<'a> Reader<'a> {
    fn read(&mut self, part: &'a str, at: usize) -> Result<(), ScheduleErrorKind> {
        let mut step = part;
        if let Some(inside) = part.strip_prefix('[') {
            if self.group.is_some() || inside.starts_with('[') {
                return Err(ScheduleErrorKind::GroupInGroup);
            }
            if inside.starts_with(']') {
                return Err(ScheduleErrorKind::EmptyGroup);
            }
            let first = self.turns.len();
            self.group = Some(Opened { part, at, first });
            step = inside;
        }
        let (step, end) = match step.split_once(']') {
            Some((step, end)) => (step, Some(end)),
            None => (step, None),
        };
        if end.is_some() && self.group.is_none() {
            return Err(ScheduleErrorKind::NotOpened);
        }
        let (turn, count) = parse_run(step, self.most)?;
        self.allow(1, count)?;
        self.turns.extend(std::iter::repeat_n(turn, count));
        let (Some(end), Some(group)) = (end, self.group.take_if(|_| end.is_some())) else {
            return Ok(());
        };
        let times = match end.strip_prefix('x') {
            Some(times) => parse_count(times, self.most)?,
            None if end.is_empty() => 1,
            None => return Err(ScheduleErrorKind::NoStep),
        };
        let length = self.turns.len() - group.first;
        self.allow(length, times - 1)?;
        for _ in 1..times {
            self.turns
                .extend_from_within(group.first..group.first + length);
        }
        Ok(())
    }

    /// Returns an error if adding `turns` turns `times` times exceeds the maximum.
    fn allow(&self, turns: usize, times: usize) -> Result<(), ScheduleErrorKind> {
        let left = self.most - self.turns.len();
        let more = turns.checked_mul(times);
        match more.is_some_and(|more| more <= left) {
            true => Ok(()),
            false => Err(ScheduleErrorKind::TooManySteps(self.most)),
        }
    }
}

fn parse_run(part: &str, most: usize) -> Result<(Turn, usize), ScheduleErrorKind> {
    let (step, count) = part.split_once('x').unwrap_or((part, "1"));
    let (thread, outcome) = step.split_once(':').unwrap_or((step, "0"));
    let number = |digits: &str| digits.parse().ok().filter(|_| is_number(digits));
    let thread = number(thread).filter(|&number| number < 1 << 24);
    let thread = ThreadId(thread.ok_or(ScheduleErrorKind::NoStep)?);
    let outcome = number(outcome).ok_or(ScheduleErrorKind::NoStep)?;
    Ok((Turn { thread, outcome }, parse_count(count, most)?))
}

/// Parses a repeat count, which is at least 1. A number that overflows is too large a count.
fn parse_count(digits: &str, most: usize) -> Result<usize, ScheduleErrorKind> {
    match digits.parse() {
        _ if !is_number(digits) => Err(ScheduleErrorKind::NoStep),
        Ok(0) => Err(ScheduleErrorKind::NoStep),
        Ok(count) => Ok(count),
        Err(_) => Err(ScheduleErrorKind::TooManySteps(most)),
    }
}

fn is_number(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
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

    fn turn(thread: usize) -> Turn {
        Turn {
            thread: ThreadId(thread as u32),
            outcome: 0,
        }
    }

    #[test]
    fn what_comes_again_and_again_is_written_once() {
        let (one, two) = (turn(1), turn(2));
        let mut livelock = vec![one, one, one, two, two, two];
        for _ in 0..1000 {
            livelock.extend([one, one, two, two]);
        }
        let text = Schedule(livelock).to_string();
        assert_eq!(text, "1x3.2x3.[1x2.2x2]x1000");

        // Where it makes nothing shorter, it is left alone; and so is a group that is too long.
        for (text, is_same) in [("1.2.1.2", true), ("1.2.1.2.1.2", false)] {
            let schedule: Schedule = text.parse().unwrap();
            assert_eq!(schedule.to_string() == text, is_same, "{text}");
        }
        for (length, has_group) in [(LONGEST_GROUP, true), (LONGEST_GROUP + 1, false)] {
            let once = (0..length).map(turn);
            let schedule = Schedule(once.clone().chain(once).collect());
            assert_eq!(schedule.to_string().contains('['), has_group, "{length}");
            assert_eq!(schedule.to_string().parse(), Ok(schedule));
        }
    }

    #[test]
    fn schedules_with_periods_are_read_as_they_are_written() {
        let mut random = Random::new(2);
        let mut shorter = 0;
        for case in 0..2000 {
            let mut turns = Vec::new();
            let mut plain = 0;
            for _ in 0..=random.below(4) {
                let length = 1 + random.below(70) as usize;
                let once: Vec<Turn> = (0..length)
                    .map(|_| turn(random.below(3) as usize))
                    .collect();
                for _ in 0..=random.below(20) {
                    turns.extend_from_slice(&once);
                }
            }
            for run in turns.chunk_by(|a, b| a == b) {
                plain += "1".len() + ".".len();
                plain += if run.len() > 1 {
                    1 + decimals(run.len())
                } else {
                    0
                };
            }
            let schedule = Schedule(turns);
            let text = schedule.to_string();
            // With one `.` less than runs.
            assert!(text.len() < plain, "case {case} of seed 2: {text}");
            shorter += u32::from(text.len() + 1 < plain);
            assert_eq!(text.parse(), Ok(schedule), "case {case} of seed 2");
        }
        assert!(shorter > 1800, "{shorter}");
    }

    #[test]
    fn long_schedules_are_written_soon() {
        let mut random = Random::new(3);
        for kinds in [1, 2, 3] {
            let turns = (0..100_000).map(|_| turn(random.below(kinds) as usize));
            let schedule = Schedule(turns.collect());
            let started = std::time::Instant::now();
            assert_eq!(schedule.to_string().parse(), Ok(schedule));
            assert!(started.elapsed().as_secs() < 5, "{kinds} threads");
        }
    }

    #[test]
    fn it_is_said_what_is_wrong_with_a_count_or_a_group() {
        for (text, message) in [
            (
                "1x1000000000",
                "the count in `1x1000000000` is too large: a schedule has at most 268435456 steps (at character 1)",
            ),
            (
                "0.1x99999999999999999999999",
                "the count in `1x99999999999999999999999` is too large: a schedule has at most 268435456 steps (at \
                 character 3)",
            ),
            (
                "[0x3.1]x100000000",
                "the count in `1]x100000000` is too large: a schedule has at most 268435456 steps (at character 6)",
            ),
            (
                "0.[1x2]x18446744073709551615",
                "the count in `[1x2]x18446744073709551615` is too large: a schedule has at most 268435456 steps (at \
                 character 3)",
            ),
            (
                "0.[1.2x5",
                "the group that `[1` opens is not closed: `]` is missing (at character 3)",
            ),
            (
                "0.1]x2",
                "`1]x2` closes a group that is not open: `[` is missing (at character 3)",
            ),
            ("[]x3", "the group `[]x3` is empty (at character 1)"),
            (
                "[1.[2]x2]x3",
                "`[2]x2]x3` opens a group inside a group: write the steps out (at character 4)",
            ),
            (
                "[[2.1]x2]x3",
                "`[[2` opens a group inside a group: write the steps out (at character 1)",
            ),
        ] {
            let error = text.parse::<Schedule>().unwrap_err();
            assert_eq!(error.to_string(), message, "{text}");
        }
        for text in [
            "[1]x", "[1]x0", "[1]2", "[1]x2]x3", "[1..2]x2", "1[2", "x3", "[", "[1.]x2",
        ] {
            let error = text.parse::<Schedule>().unwrap_err();
            assert_eq!(error.kind, ScheduleErrorKind::NoStep, "{text}");
        }
        let whole = Schedule::parse_at_most("[0.1]x5", 10);
        assert_eq!(whole, "0.1.0.1.0.1.0.1.0.1".parse());
        assert!(Schedule::parse_at_most("[0.1]x5", 9).is_err());
        assert_eq!("[0.1]".parse::<Schedule>(), "0.1".parse());
    }

    #[test]
    fn any_text_is_refused_or_read() {
        let mut random = Random::new(4);
        for _ in 0..200_000 {
            let letters = b"0129x:.[]-x.";
            let length = random.below(16);
            let letter = |_| char::from(letters[random.below(letters.len() as u64) as usize]);
            let text: String = (0..length).map(letter).collect();
            if let Ok(schedule) = Schedule::parse_at_most(&text, 1000) {
                assert!(schedule.0.len() <= 1000, "{text}");
                assert_eq!(schedule.to_string().parse(), Ok(schedule), "{text}");
            }
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
        assert_eq!("0x2.1:3".parse::<Schedule>().unwrap().0.len(), 3);
    }
}
