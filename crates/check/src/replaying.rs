//! Schedules as users see them, and the code that replays them.
//!
//! A schedule counts steps, and what is a step depends on the restarts of the check that recorded it: the end of a
//! thread is one only if the program asks whether a thread has finished. So a schedule of a check that has restarted
//! starts with a header that names what is a step there, and `/`:
//!
//! | word | the steps of the schedule include |
//! | --- | --- |
//! | `ends` | ends of threads |
//! | `statics` | initialization of statics |
//! | `writers` | announcements of writers that wait for an `RwLock` |
//! | `states` | waits in loops that come back to the same state |
//! | `returns` | returns of the functions of threads, before thread-local values are dropped |
//! | `tokens` | choices whether waits take park tokens |
//! | `drops=FILE:LINE:COLUMN` | drops of the `Arc`s created there |
//! | `unseen=FILE:LINE:COLUMN` | no waits before the operation there: its loop depends on memory that is not compared |
//! | `endless=FILE:LINE:COLUMN` | waits before the operation there, whose loop never comes back to the same state |
//! | `wideN` | commits of store buffers, numbered from `N` on |
//!
//! `ends,wide32/1x3.2x2` is an example. Most schedules have no header. Commas, spaces, `%`, quotes and
//! backslashes of a file name are percent-encoded: commas separate words, and schedules are printed in quotes.
//!
//! Threads are numbered in the order in which the execution spawns them. The numbers of a check may be others, since
//! an earlier execution may have spawned its threads in another order, and a replay knows nothing of that one.

use std::fmt;
use std::str::FromStr;

use fencepost_explore::{Schedule, SpinRule, Turn};
use fencepost_memory::{Access, ThreadId};
use fencepost_report::SourcePosition;
use fencepost_report::check::{BadSchedule, Refusal};
use fencepost_runtime::{
    ComparedStates, Insertion, OwnedLocation, Registry, Setup, Target, ThreadIdSpace,
};
use rustc_hash::FxHashMap;

use super::checker::Checker;
use super::fences;
use super::invocation::{Invocation, shell_word};
use super::session::{Counterexample, Session};

/// A schedule with the settings of the runtime that it needs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct ReplaySchedule {
    pub(super) header: Header,
    pub(super) schedule: Schedule,
}

/// What is a step in a schedule, besides what always is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Header {
    ends: bool,
    statics: bool,
    writers: bool,
    states: bool,
    returns: bool,
    tokens: bool,
    /// Where the `Arc`s were created whose drops are steps.
    drops: Vec<OwnedLocation>,
    /// The operations of loops that depend on memory that is not compared.
    unseen: Vec<OwnedLocation>,
    /// The operations of loops that go round without end.
    endless: Vec<OwnedLocation>,
    /// How commits of store buffers are numbered, unless as [`ThreadIdSpace::FIRST`] has it.
    stride: Option<ThreadIdSpace>,
}

const ENDS: &str = "ends";
const STATICS: &str = "statics";
const WRITERS: &str = "writers";
const STATES: &str = "states";
const RETURNS: &str = "returns";
const TOKENS: &str = "tokens";
const DROPS: &str = "drops=";
const UNSEEN: &str = "unseen=";
const ENDLESS: &str = "endless=";
const WIDE: &str = "wide";

/// The words without a value.
const SWITCHES: [&str; 6] = [ENDS, STATICS, WRITERS, STATES, RETURNS, TOKENS];

impl Header {
    /// What the schedules of a session need.
    fn of(session: &Session) -> Self {
        let registry = &session.registry;
        let setup = &session.setup;
        let place = |location| {
            let location = registry.location(location);
            OwnedLocation {
                file: location.file().to_owned(),
                line: location.line(),
                column: location.column(),
            }
        };
        let drops = registry.visible_drops().into_iter().map(place);
        let unseen = registry.unseen_memory().into_iter().map(place);
        let endless = registry.endless_operations().into_iter().map(place);
        Header {
            ends: setup.are_ends_visible,
            statics: setup.are_statics_visible,
            writers: setup.are_writers_announced,
            states: setup.compared_states == ComparedStates::Always,
            returns: setup.are_destructors_late,
            tokens: setup.do_waits_take_tokens,
            drops: drops.collect(),
            unseen: unseen.collect(),
            endless: endless.collect(),
            stride: setup.store_buffers.filter(|&s| s != ThreadIdSpace::FIRST),
        }
    }

    /// Lets the runtime run the program as the schedule needs it.
    pub(super) fn apply(&self, setup: &mut Setup, registry: &Registry) {
        setup.are_ends_visible |= self.ends;
        setup.are_statics_visible |= self.statics;
        setup.are_writers_announced |= self.writers;
        if self.states {
            setup.compared_states = ComparedStates::Always;
        }
        setup.are_destructors_late |= self.returns;
        setup.do_waits_take_tokens |= self.tokens;
        if setup.store_buffers.is_some() {
            setup.store_buffers = self.stride.or(setup.store_buffers);
        }
        for place in &self.drops {
            registry.note_visible_drop_at(place);
        }
        for place in &self.unseen {
            registry.note_unseen_memory_at(place);
        }
        for place in &self.endless {
            registry.note_endless_loop_at(place);
        }
    }

    /// What contradicts the settings of a check, if something does.
    pub(super) fn contradiction(&self, setup: &Setup) -> Option<Refusal> {
        let stride = self.stride.filter(|_| setup.store_buffers.is_none())?;
        Some(Refusal::BufferedSchedule { word: wide(stride) })
    }

    fn add(&mut self, word: &str) -> Result<(), BadSchedule> {
        let switch = match word {
            ENDS => Some(&mut self.ends),
            STATICS => Some(&mut self.statics),
            WRITERS => Some(&mut self.writers),
            STATES => Some(&mut self.states),
            RETURNS => Some(&mut self.returns),
            TOKENS => Some(&mut self.tokens),
            _ => None,
        };
        let is_repeated = if let Some(switch) = switch {
            std::mem::replace(switch, true)
        } else if word.starts_with(DROPS) {
            add_place(&mut self.drops, DROPS, word)?
        } else if word.starts_with(UNSEEN) {
            add_place(&mut self.unseen, UNSEEN, word)?
        } else if word.starts_with(ENDLESS) {
            add_place(&mut self.endless, ENDLESS, word)?
        } else if let Some(width) = word.strip_prefix(WIDE) {
            let stride = width.parse().ok().and_then(ThreadIdSpace::with_width);
            let stride = stride.filter(|&stride| stride != ThreadIdSpace::FIRST);
            let stride = stride.ok_or_else(|| BadSchedule::UnknownNumber {
                found: word.to_owned(),
                words: ThreadIdSpace::ALL[1..].iter().copied().map(wide).collect(),
            })?;
            self.stride.replace(stride).is_some()
        } else {
            return Err(BadSchedule::UnknownWord {
                found: word.to_owned(),
                words: &SWITCHES,
                prefixes: &[DROPS, UNSEEN, ENDLESS, WIDE],
                meant: fencepost_diagnostics::nearest(word, SWITCHES),
            });
        };
        match is_repeated {
            true => Err(BadSchedule::Repeated(word.to_owned())),
            false => Ok(()),
        }
    }
}

/// Adds the place of a word with this prefix. Returns whether it was there already.
fn add_place(
    places: &mut Vec<OwnedLocation>,
    prefix: &'static str,
    word: &str,
) -> Result<bool, BadSchedule> {
    let place = fences::parse_position(&word[prefix.len()..]).filter(|place| place.column > 0);
    let mut place = place.ok_or_else(|| BadSchedule::NoPlace {
        found: word.to_owned(),
        prefix,
    })?;
    place.file = percent_decoded(&place.file);
    let is_repeated = places.contains(&place);
    places.push(place);
    Ok(is_repeated)
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let switches = [
            (self.ends, ENDS),
            (self.statics, STATICS),
            (self.writers, WRITERS),
            (self.states, STATES),
            (self.returns, RETURNS),
            (self.tokens, TOKENS),
        ];
        let switches = switches.into_iter().filter(|(is_on, _)| *is_on);
        let mut words: Vec<String> = switches.map(|(_, word)| word.to_owned()).collect();
        let all = [
            (DROPS, &self.drops),
            (UNSEEN, &self.unseen),
            (ENDLESS, &self.endless),
        ];
        for (prefix, places) in all {
            words.extend(places.iter().map(|OwnedLocation { file, line, column }| {
                format!("{prefix}{}:{line}:{column}", percent_encoded(file))
            }));
        }
        words.extend(self.stride.map(wide));
        match words.is_empty() {
            true => Ok(()),
            false => write!(f, "{}/", words.join(",")),
        }
    }
}

/// The word for commits that are numbered like this.
fn wide(stride: ThreadIdSpace) -> String {
    format!("{WIDE}{}", stride.width())
}

/// A file name without the characters that end a word, are trimmed, or are escaped in a string literal.
fn percent_encoded(file: &str) -> String {
    let mut encoded = String::with_capacity(file.len());
    for character in file.chars() {
        if matches!(character, '%' | ',' | '"' | '\\') || character.is_whitespace() {
            let mut bytes = [0; 4];
            for byte in character.encode_utf8(&mut bytes).bytes() {
                encoded.push_str(&format!("%{byte:02X}"));
            }
        } else {
            encoded.push(character);
        }
    }
    encoded
}

/// The file name that was encoded. A `%` without two hexadecimal digits after it is left as it is.
fn percent_decoded(encoded: &str) -> String {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        let escaped = match after {
            [high, low, ..] if first == b'%' => digit(*high).zip(digit(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            None => bytes.push(first),
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| encoded.to_owned())
}

impl fmt::Display for ReplaySchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.header, self.schedule)
    }
}

impl FromStr for ReplaySchedule {
    type Err = BadSchedule;

    fn from_str(text: &str) -> Result<Self, BadSchedule> {
        let text = text.trim();
        // Paths of the header have slashes, the turns have none.
        let (header_text, turns) = match text.rsplit_once('/') {
            Some((header, turns)) => (Some(header), turns),
            None => (None, text),
        };
        let mut header = Header::default();
        for word in header_text.into_iter().flat_map(|words| words.split(',')) {
            header.add(word)?;
        }
        let schedule = turns.parse::<Schedule>().map_err(|mut error| {
            error.at += text.chars().count() - turns.chars().count();
            BadSchedule::Turns(error.to_string())
        })?;
        Ok(ReplaySchedule { header, schedule })
    }
}

/// Where the option goes in a command that ends with the arguments of the program.
const REPLAY_MARK: &str = "{replay}";

/// How the findings of a session are replayed.
#[derive(Debug)]
pub(super) struct Replaying {
    header: Header,
    /// How commits of store buffers are numbered, if stores are buffered.
    stride: Option<ThreadIdSpace>,
    /// The code up to `replay(…)`.
    checker: String,
    /// The test that runs the check.
    invocation: Option<Invocation>,
    /// The command that runs the check of a program in another language.
    command: Option<String>,
}

impl Replaying {
    pub(super) fn of(session: &Session) -> Self {
        Replaying {
            header: Header::of(session),
            stride: session.setup.store_buffers,
            checker: checker_code(&session.checker),
            invocation: session.checker.invocation.clone(),
            command: session.checker.command.clone(),
        }
    }

    /// The text of the schedule of a finding, with all that it needs.
    pub(super) fn schedule(&self, found: &Counterexample) -> String {
        let schedule = in_order_of_spawning(&found.schedule, &found.interleaving, self.stride);
        format!("{}{schedule}", self.header)
    }

    /// The code that replays a schedule, given as [`schedule`](Self::schedule) writes it. None for a program in another
    /// language.
    pub(super) fn code(&self, schedule: &str) -> String {
        if self.command.is_some() {
            return String::new();
        }
        format!("{}replay({schedule:?}, program)", self.checker)
    }

    /// The command that replays a schedule by running the test again. None outside of tests.
    pub(super) fn command(&self, schedule: &str) -> Option<String> {
        if let Some(command) = &self.command {
            let replay = format!("--replay {}", shell_word(schedule));
            return Some(match command.contains(REPLAY_MARK) {
                true => command.replacen(REPLAY_MARK, &replay, 1),
                false => format!("{command} {replay}"),
            });
        }
        let invocation = self.invocation.as_ref()?;
        Some(invocation.command(schedule, self.stride.is_some()))
    }
}

/// The schedule with threads numbered in the order in which they begin, which is the order in which they are spawned.
fn in_order_of_spawning(
    schedule: &Schedule,
    interleaving: &[Access],
    stride: Option<ThreadIdSpace>,
) -> Schedule {
    // A commit has the number of its thread and of its store in one.
    let parts = |number: ThreadId| match stride.and_then(|stride| stride.committed(number)) {
        Some((thread, store)) => (thread, Some(store)),
        None => (number, None),
    };
    let mut numbers: FxHashMap<ThreadId, ThreadId> = FxHashMap::default();
    for access in interleaving {
        if let (thread, None) = parts(access.thread) {
            let next = ThreadId(numbers.len() as u32);
            numbers.entry(thread).or_insert(next);
        }
    }
    let renumbered = schedule.0.iter().map(|turn| {
        let (thread, store) = parts(turn.thread);
        let thread = *numbers.get(&thread)?;
        let thread = match (stride, store) {
            (Some(stride), Some(store)) => stride.commit(thread, store),
            _ => thread,
        };
        Some(Turn { thread, ..*turn })
    });
    match renumbered.collect() {
        Some(turns) => Schedule(turns),
        None => schedule.clone(),
    }
}

/// The code of a checker that replays a schedule: with all settings that decide what the program does.
fn checker_code(checker: &Checker) -> String {
    let (setup, usual) = (&checker.setup, Checker::new());
    let mut code = String::new();
    let mut set = |is_set: bool, call: String| {
        if is_set {
            code.push_str(&call);
        }
    };
    let is_pso = setup.target == Target::Pso;
    set(is_pso, ".target(fencepost::Target::Pso)".to_owned());
    set(
        setup.store_buffers.is_some(),
        ".store_buffers(true)".to_owned(),
    );
    if let SpinRule::Bound(rounds) = checker.settings.spin {
        set(true, format!(".spin_bound({rounds})"));
    }
    let steps = checker.settings.max_steps;
    set(
        steps != usual.settings.max_steps,
        format!(".max_steps({steps})"),
    );
    set(
        !setup.spurious_wakeups,
        ".spurious_wakeups(false)".to_owned(),
    );
    set(!setup.leak_check, ".leak_check(false)".to_owned());
    let bytes = setup.stack_size;
    set(
        bytes != usual.setup.stack_size,
        format!(".stack_size({bytes})"),
    );
    for (place, insertion) in &checker.inserted_fences {
        let strength = match insertion {
            Insertion::StoreBarrier => "Release",
            _ => "SeqCst",
        };
        let place = SourcePosition::new(&place.file, place.line, place.column);
        set(
            true,
            format!(
                ".insert_fence({:?}, fencepost::FenceStrength::{strength})",
                place.to_string()
            ),
        );
    }
    match code.is_empty() {
        true => "fencepost::".to_owned(),
        false => format!("fencepost::Checker::new(){code}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_read_as_they_are_written() {
        for text in [
            "-",
            "0x5.1.0x2.2:1",
            "ends/1x3.2x2",
            "statics,wide32/-",
            "ends,statics,writers,states,drops=src/list.rs:3:14,drops=a/b.rs:1:2,wide512/[1x3.2]x4",
            "states,drops=src/list.rs:3:14,unseen=a/b.rs:1:2,unseen=a/b.rs:3:2,endless=c.rs:1:1/1x3.2",
        ] {
            let read: ReplaySchedule = text.parse().unwrap();
            assert_eq!(read.to_string(), text);
        }
    }

    #[test]
    fn any_file_name_can_be_replayed() {
        let files = [
            "src/a,b.rs",
            "a,ends/b.rs",
            "/home/me/50%/my list.rs",
            " x , y .rs",
            "C:\\src\\a:b:7.rs",
            "a:1:2,drops=b/1x2.rs",
            "%2C%20%/é\u{a0}\u{2003}\n,\"'.rs",
            "%FF.rs",
            ",",
        ];
        let place = |file: &str| OwnedLocation {
            file: file.to_owned(),
            line: 3,
            column: 14,
        };
        let read_again = |files: &[&str]| {
            let written = ReplaySchedule {
                header: Header {
                    ends: true,
                    drops: files.iter().map(|file| place(file)).collect(),
                    stride: Some(ThreadIdSpace::ALL[1]),
                    ..Header::default()
                },
                schedule: "1x3.2x2".parse().unwrap(),
            };
            let text = written.to_string();
            assert_eq!(text.parse(), Ok(written), "{text}");
            assert_eq!(format!("{text:?}"), format!("\"{text}\""));
        };
        read_again(&files);
        for file in files {
            read_again(&[file]);
        }
        // Not encoded, as a user might write it.
        let read: ReplaySchedule = "drops=my list 50%.rs:3:14/1".parse().unwrap();
        assert_eq!(read.header.drops, [place("my list 50%.rs")]);
    }

    #[test]
    fn a_wrong_header_is_refused() {
        let refused = |text: &str| text.parse::<ReplaySchedule>().unwrap_err().to_string();
        let unknown = "expected `ends`, `statics`, `writers`, `states`, `returns`, `tokens`, `drops=…`, `unseen=…`, `endless=…` or `wide…` before the `/`, found";
        assert_eq!(
            refused("end/1.2"),
            format!("{unknown} `end`; did you mean `ends`?")
        );
        assert_eq!(refused("/1.2"), format!("{unknown} ``"));
        assert_eq!(refused("coffee/1.2"), format!("{unknown} `coffee`"));
        assert_eq!(
            refused("wide33/1.2"),
            "expected `wide32`, `wide512` or `wide8192`, found `wide33`"
        );
        assert_eq!(
            refused("drops=list.rs:3/1.2"),
            "`drops=list.rs:3` names no place: expected `drops=FILE:LINE:COLUMN`"
        );
        for repeated in ["ends,ends/1", "wide32,wide512/1"] {
            assert!(refused(repeated).contains("repeated or contradicts"));
        }
        assert!(refused("ends/1.y").ends_with("(at character 8)"));
    }

    #[test]
    fn a_header_with_store_buffers_needs_store_buffers() {
        let read: ReplaySchedule = "wide32/1.2".parse().unwrap();
        let without = Setup::default();
        assert!(read.header.contradiction(&without).is_some());
        let with = Setup {
            store_buffers: Some(ThreadIdSpace::FIRST),
            ..without
        };
        assert!(read.header.contradiction(&with).is_none());
    }
}
