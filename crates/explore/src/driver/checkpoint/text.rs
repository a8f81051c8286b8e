//! Checkpoints as text: a line for each thing, which begins with what it is.
//!
//! The first line names the format and its number, the last one has a CRC-32 of all before. A step is
//! `thread:outcome`. What an operation touches is `r3,w5`: it reads object 3 and writes object 5 (`u`
//! updates); then `!` if it depends on everything, and `?` if that is a guess. What a thread is about to do is `r`, `w`, `c` (writes
//! under a condition), `m` (writes, and perhaps more) or `u`, and the object, and `+` if it waits for
//! something; or `j` and a thread to join, `h` for a hint, `l` for what touches nothing. Conditions are
//! without their numbers, which may be pointers. `learned m3 5`: operations `m` on object 3 are taken to write
//! to object 5 too.
//!
//! Nothing in a text decides how much memory is taken, but its length and the most steps of an execution.

use std::fmt::Write;
use std::iter::Peekable;
use std::str::{FromStr, Lines};
use std::time::Duration;

use fencepost_memory::{Address, LocationId, ThreadId};

use super::{
    Checkpoint, CheckpointError, Path, Place, SavedFinding, SavedKind, SavedNode, Totals, Tree,
    settings_of,
};
use crate::dpor::footprint::Footprint;
use crate::dpor::learned::OperationClass;
use crate::dpor::wakeup::{PlannedStep, Sleeper};
use crate::driver::settings::{Settings, Strategy};
use crate::execution::fingerprint::Fingerprint;
use crate::program::{Condition, Effect, Intent, TouchKind};
use crate::schedule::{Schedule, Turn};

const TITLE: &str = "fencepost-checkpoint";
const FORMAT: u32 = 4;
const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Checkpoint {
    /// The checkpoint as text.
    pub fn to_text(&self) -> String {
        let mut writer = Writer(String::new());
        writer.checkpoint(self);
        let mut text = writer.0;
        let checksum = crc32fast::hash(text.as_bytes());
        text.push_str(&format!("checksum {checksum:08x}\n"));
        text
    }

    /// Reads a checkpoint of an exploration with these settings.
    pub fn read(text: &str, settings: &Settings) -> Result<Self, CheckpointError> {
        let first = text.lines().next().unwrap_or_default();
        let format = first.strip_prefix(TITLE).map(str::trim);
        let format = format.ok_or(CheckpointError::NoCheckpoint)?;
        if format != FORMAT.to_string() {
            return Err(CheckpointError::OtherVersion {
                made: format!("format {}", shortened(format)),
                own: format!("format {FORMAT}"),
            });
        }
        let body = without_checksum(text)?;
        let mut reader = Reader {
            lines: body.lines().peekable(),
            number: 0,
            most_steps: settings.max_steps,
        };
        reader.checkpoint(settings)
    }
}

/// The text before its last line, which must be right.
fn without_checksum(text: &str) -> Result<&str, CheckpointError> {
    let end = text
        .strip_suffix('\n')
        .and_then(|text| text.rfind('\n'))
        .ok_or_else(|| damaged("it is not all there"))?;
    let (body, last) = text.split_at(end + 1);
    let checksum = last
        .strip_prefix("checksum ")
        .ok_or_else(|| damaged("it is not all there"))?;
    let is_right = format!("{:08x}\n", crc32fast::hash(body.as_bytes())) == checksum;
    is_right
        .then_some(body)
        .ok_or_else(|| damaged("its checksum is wrong"))
}

fn damaged(what: impl Into<String>) -> CheckpointError {
    CheckpointError::Damaged { what: what.into() }
}

/// For messages.
fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}

fn on_or_off(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

struct Writer(String);

impl Writer {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{line}");
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) {
        self.line(format_args!("{TITLE} {FORMAT}"));
        self.line(format_args!("version {VERSION}"));
        for (name, value) in &checkpoint.settings {
            self.line(format_args!("setting {name} {value}"));
        }
        let Fingerprint(program) = checkpoint.program;
        self.line(format_args!("program {program:016x}"));
        let front_end = checkpoint.front_end.lines();
        self.line(format_args!("front-end {}", front_end.clone().count()));
        front_end.for_each(|line| self.line(format_args!("{line}")));
        self.totals(&checkpoint.totals);
        for finding in &checkpoint.findings {
            let SavedFinding {
                execution,
                schedule,
                ..
            } = finding;
            match &finding.kind {
                SavedKind::StoreBuffer([a, b, c]) => self.line(format_args!(
                    "violation {execution} {a:x} {b:x} {c:x} {schedule}"
                )),
                SavedKind::Fault(next) => {
                    let next = or_dash(next.map(|thread| thread.0));
                    self.line(format_args!("fault {execution} {next} {schedule}"));
                }
            }
        }
        match &checkpoint.place {
            Place::Sample(next) => self.line(format_args!("next {next}")),
            Place::Tree(tree) => self.tree(tree),
        }
    }

    fn totals(&mut self, totals: &Totals) {
        for (name, number) in [
            ("executions", totals.executions),
            ("abandoned", totals.abandoned),
            ("steps", totals.steps),
            ("faults", totals.faults),
            ("borderline", totals.borderline),
            ("violations", totals.violations),
            ("milliseconds", totals.elapsed.as_millis() as u64),
        ] {
            self.line(format_args!("{name} {number}"));
        }
        self.line(format_args!("cut {}", on_or_off(totals.was_cut)));
        for wait in &totals.waits {
            let wait = or_dash(wait.map(LocationId::index));
            self.line(format_args!("wait {wait}"));
        }
        for ([a, b, c], count) in &totals.tally {
            self.line(format_args!("distinct {a:x} {b:x} {c:x} {count}"));
        }
    }

    fn tree(&mut self, tree: &Tree) {
        for (leader, partner) in &tree.learned {
            let letter = if leader.has_condition { 'c' } else { 'm' };
            let (object, partner) = (leader.object.0, partner.0);
            self.line(format_args!("learned {letter}{object} {partner}"));
        }
        if let Some(path) = &tree.path {
            let Fingerprint(fingerprint) = path.fingerprint;
            self.line(format_args!("path {fingerprint:016x} {}", path.schedule));
            for race in &path.settled {
                self.line(format_args!("settled {race}"));
            }
            path.nodes.iter().for_each(|node| self.node(node));
        }
    }

    fn node(&mut self, node: &SavedNode) {
        self.line(format_args!("at {}", node.done));
        for sleeper in &node.asleep {
            self.line(format_args!(
                "asleep {} {} {}",
                turn_text(sleeper.turn()),
                or_dash(sleeper.intent.map(intent_text)),
                footprint_text(&sleeper.footprint),
            ));
        }
        for step in &node.planned {
            let turn = Turn {
                thread: step.thread,
                outcome: step.outcome,
            };
            self.line(format_args!(
                "planned {} {} {}",
                step.level,
                turn_text(turn),
                footprint_text(&step.footprint),
            ));
        }
    }
}

fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

fn turn_text(turn: Turn) -> String {
    format!("{}:{}", turn.thread.0, turn.outcome)
}

fn footprint_text(footprint: &Footprint) -> String {
    let touches = footprint.touches().map(|(object, kind)| {
        let (letter, object) = (kind.letter(), object.0);
        format!("{letter}{object}")
    });
    let mut text = touches.collect::<Vec<_>>().join(",");
    if text.is_empty() {
        text.push('-');
    }
    if footprint.is_barrier {
        text.push('!');
    }
    if !footprint.is_exact {
        text.push('?');
    }
    text
}

fn intent_text(intent: Intent) -> String {
    match intent {
        Intent::Local => "l".to_owned(),
        Intent::SpinHint => "h".to_owned(),
        Intent::Join(thread) => format!("j{}", thread.0),
        Intent::Access {
            object,
            effect,
            awaits,
        } => {
            let (letter, object) = (effect.letter(), object.0);
            let waits = if awaits.is_some() { "+" } else { "" };
            format!("{letter}{object}{waits}")
        }
    }
}

struct Reader<'a> {
    lines: Peekable<Lines<'a>>,
    /// Of the last line that was read.
    number: usize,
    most_steps: u64,
}

/// Larger counts are made up; and sums of smaller ones do not overflow.
const LARGEST_COUNT: u64 = 1 << 50;
/// Objects are numbered from 0 on, and those that are touched have a place in a table.
const LARGEST_OBJECT: u32 = 1 << 20;
/// As in schedules.
const LARGEST_THREAD: u32 = 1 << 24;

impl<'a> Reader<'a> {
    fn wrong(&self, expected: &str) -> CheckpointError {
        damaged(format!("line {}: expected {expected}", self.number))
    }

    /// The rest of the next line, if it begins with this word.
    fn next_if(&mut self, word: &str) -> Option<Fields<'a>> {
        let line = *self.lines.peek()?;
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        if first != word {
            return None;
        }
        self.lines.next();
        self.number += 1;
        Some(Fields {
            rest,
            number: self.number,
        })
    }

    fn next(&mut self, word: &str) -> Result<Fields<'a>, CheckpointError> {
        self.next_if(word).ok_or_else(|| {
            damaged(format!(
                "line {}: expected a line that begins with `{word}`",
                self.number + 1
            ))
        })
    }

    fn count(&mut self, word: &str) -> Result<u64, CheckpointError> {
        let mut fields = self.next(word)?;
        let count = fields.count()?;
        fields.end()?;
        Ok(count)
    }

    fn checkpoint(&mut self, settings: &Settings) -> Result<Checkpoint, CheckpointError> {
        self.lines.next();
        self.number = 1;
        let version = self.next("version")?.rest;
        if version != VERSION {
            return Err(CheckpointError::OtherVersion {
                made: shortened(version),
                own: VERSION.to_owned(),
            });
        }
        let own_settings = settings_of(settings);
        for (name, now) in &own_settings {
            let made = self.next("setting")?.rest;
            let made = made.strip_prefix(name).and_then(|m| m.strip_prefix(' '));
            let made = made.ok_or_else(|| self.wrong(&format!("the setting {name}")))?;
            if made != now {
                return Err(CheckpointError::OtherSetting {
                    name: (*name).to_owned(),
                    made: shortened(made),
                    now: now.clone(),
                });
            }
        }
        let mut fields = self.next("program")?;
        let program = fields.fingerprint()?;
        fields.end()?;
        let lines = self.count("front-end")?;
        let mut front_end = String::new();
        for _ in 0..lines {
            let line = self.lines.next();
            front_end.push_str(line.ok_or_else(|| damaged("it is not all there"))?);
            front_end.push('\n');
            self.number += 1;
        }
        let totals = self.totals()?;
        let findings = self.findings()?;
        // So many violations, and as many faults.
        if findings.len() / 2 > settings.kept_findings.max(1) {
            return Err(self.wrong("fewer findings"));
        }
        let place = match settings.strategy {
            Strategy::Exhaustive => Place::Tree(self.tree()?),
            _ => Place::Sample(self.count("next")?),
        };
        if self.lines.next().is_some() {
            self.number += 1;
            return Err(self.wrong("the end"));
        }
        Ok(Checkpoint {
            front_end,
            settings: own_settings,
            program,
            totals,
            findings,
            place,
        })
    }

    fn totals(&mut self) -> Result<Totals, CheckpointError> {
        let mut totals = Totals {
            executions: self.count("executions")?,
            abandoned: self.count("abandoned")?,
            steps: self.count("steps")?,
            faults: self.count("faults")?,
            borderline: self.count("borderline")?,
            violations: self.count("violations")?,
            elapsed: Duration::from_millis(self.count("milliseconds")?),
            ..Totals::default()
        };
        let mut fields = self.next("cut")?;
        totals.was_cut = fields.either("on", "off")?;
        fields.end()?;
        while let Some(mut fields) = self.next_if("wait") {
            let wait = fields.dash_or(|fields| fields.below(u32::MAX))?;
            fields.end()?;
            totals.waits.push(wait.map(LocationId::from_index));
        }
        while let Some(mut fields) = self.next_if("distinct") {
            let key = fields.key()?;
            let count = fields.count()?;
            fields.end()?;
            totals.tally.push((key, count));
        }
        Ok(totals)
    }

    fn findings(&mut self) -> Result<Vec<SavedFinding>, CheckpointError> {
        let mut findings = Vec::new();
        loop {
            let (execution, kind, fields) = if let Some(mut fields) = self.next_if("violation") {
                let execution = fields.count()?;
                (execution, SavedKind::StoreBuffer(fields.key()?), fields)
            } else if let Some(mut fields) = self.next_if("fault") {
                let execution = fields.count()?;
                let next = fields.dash_or(Fields::thread)?;
                (execution, SavedKind::Fault(next), fields)
            } else {
                return Ok(findings);
            };
            findings.push(SavedFinding {
                execution,
                kind,
                schedule: self.schedule(fields)?,
            });
        }
    }

    fn schedule(&self, fields: Fields<'_>) -> Result<Schedule, CheckpointError> {
        let most = usize::try_from(self.most_steps).unwrap_or(usize::MAX);
        let schedule = Schedule::parse_at_most(fields.rest, most);
        schedule.map_err(|_| self.wrong("a schedule"))
    }

    fn tree(&mut self) -> Result<Tree, CheckpointError> {
        let mut learned = Vec::new();
        while let Some(mut fields) = self.next_if("learned") {
            learned.push((fields.leader()?, fields.partner()?));
            fields.end()?;
        }
        let path = match self.lines.peek() {
            Some(_) => Some(self.path()?),
            None => None,
        };
        Ok(Tree { learned, path })
    }

    fn path(&mut self) -> Result<Path, CheckpointError> {
        let mut fields = self.next("path")?;
        let fingerprint = fields.fingerprint()?;
        let schedule = self.schedule(fields)?;
        let mut settled = Vec::new();
        while let Some(mut fields) = self.next_if("settled") {
            settled.push(fields.below(u32::MAX)?);
            fields.end()?;
        }
        let mut nodes = Vec::new();
        while let Some(mut fields) = self.next_if("at") {
            let done = fields.below(u32::MAX >> 1)?;
            fields.end()?;
            nodes.push(self.node(done)?);
        }
        if nodes.len() != schedule.0.len() + 1 {
            return Err(self.wrong("a node for each step of the path"));
        }
        Ok(Path {
            schedule,
            fingerprint,
            settled,
            nodes,
        })
    }

    fn node(&mut self, done: u32) -> Result<SavedNode, CheckpointError> {
        let (mut asleep, mut planned) = (Vec::new(), Vec::new());
        while let Some(mut fields) = self.next_if("asleep") {
            let Turn { thread, outcome } = fields.turn()?;
            let intent = fields.dash_or(Fields::intent)?;
            let footprint = fields.footprint()?;
            fields.end()?;
            asleep.push(Sleeper {
                thread,
                outcome,
                footprint,
                intent,
                is_firm: true,
            });
        }
        let mut deepest = 0;
        while let Some(mut fields) = self.next_if("planned") {
            let level = fields.below(u32::MAX >> 1)?;
            let Turn { thread, outcome } = fields.turn()?;
            let footprint = fields.footprint()?;
            fields.end()?;
            if level > deepest {
                return Err(self.wrong("a step below the one before"));
            }
            deepest = level + 1;
            planned.push(PlannedStep {
                level,
                thread,
                outcome,
                footprint,
            });
        }
        Ok(SavedNode {
            done,
            asleep,
            planned,
        })
    }
}

/// What is left of a line.
struct Fields<'a> {
    rest: &'a str,
    number: usize,
}

impl<'a> Fields<'a> {
    fn wrong<T>(&self, expected: &str) -> Result<T, CheckpointError> {
        Err(damaged(format!(
            "line {}: expected {expected}",
            self.number
        )))
    }

    fn field(&mut self) -> &'a str {
        let (field, rest) = self.rest.split_once(' ').unwrap_or((self.rest, ""));
        self.rest = rest;
        field
    }

    fn end(&self) -> Result<(), CheckpointError> {
        match self.rest {
            "" => Ok(()),
            _ => self.wrong("the end of the line"),
        }
    }

    fn dash_or<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, CheckpointError>,
    ) -> Result<Option<T>, CheckpointError> {
        if self.rest == "-" || self.rest.starts_with("- ") {
            self.field();
            return Ok(None);
        }
        read(self).map(Some)
    }

    fn either(&mut self, yes: &str, no: &str) -> Result<bool, CheckpointError> {
        match self.field() {
            field if field == yes => Ok(true),
            field if field == no => Ok(false),
            _ => self.wrong(&format!("`{yes}` or `{no}`")),
        }
    }

    fn count(&mut self) -> Result<u64, CheckpointError> {
        match number(self.field()).filter(|&count: &u64| count < LARGEST_COUNT) {
            Some(count) => Ok(count),
            None => self.wrong("a count"),
        }
    }

    fn below(&mut self, limit: u32) -> Result<u32, CheckpointError> {
        match number(self.field()).filter(|&number: &u32| number < limit) {
            Some(number) => Ok(number),
            None => self.wrong("a number"),
        }
    }

    fn thread(&mut self) -> Result<ThreadId, CheckpointError> {
        self.below(LARGEST_THREAD).map(ThreadId)
    }

    fn leader(&mut self) -> Result<OperationClass, CheckpointError> {
        match OperationClass::of(self.intent()?) {
            Some(leader) => Ok(leader),
            None => self.wrong("an operation that may touch several objects"),
        }
    }

    fn partner(&mut self) -> Result<Address, CheckpointError> {
        self.below(LARGEST_OBJECT).map(Address)
    }

    fn hexadecimal(&mut self) -> Result<u64, CheckpointError> {
        let field = self.field();
        let is_plain = field.bytes().all(|b| b.is_ascii_hexdigit());
        match u64::from_str_radix(field, 16) {
            Ok(number) if is_plain => Ok(number),
            _ => self.wrong("a hexadecimal number"),
        }
    }

    fn fingerprint(&mut self) -> Result<Fingerprint, CheckpointError> {
        self.hexadecimal().map(Fingerprint)
    }

    fn key(&mut self) -> Result<[u64; 3], CheckpointError> {
        Ok([
            self.hexadecimal()?,
            self.hexadecimal()?,
            self.hexadecimal()?,
        ])
    }

    fn turn(&mut self) -> Result<Turn, CheckpointError> {
        let turn = self.field().split_once(':').and_then(|(thread, outcome)| {
            let thread = number(thread).filter(|&thread: &u32| thread < LARGEST_THREAD)?;
            Some(Turn {
                thread: ThreadId(thread),
                outcome: number(outcome)?,
            })
        });
        turn.map_or_else(|| self.wrong("a step"), Ok)
    }

    fn footprint(&mut self) -> Result<Footprint, CheckpointError> {
        let field = self.field();
        let (field, is_guessed) = without_suffix(field, '?');
        let (field, is_barrier) = without_suffix(field, '!');
        let mut footprint = Footprint::empty(is_barrier);
        footprint.is_exact = !is_guessed;
        if field == "-" {
            return Ok(footprint);
        }
        for touch in field.split(',') {
            let mut chars = touch.chars();
            let kind = chars.next().and_then(TouchKind::of_letter);
            match kind.zip(number(chars.as_str())) {
                Some((kind, object)) => footprint.push(Address(object), kind),
                None => return self.wrong("what is touched"),
            }
        }
        Ok(footprint)
    }

    fn intent(&mut self) -> Result<Intent, CheckpointError> {
        let mut chars = self.field().chars();
        let intent = match (chars.next(), chars.as_str()) {
            (Some('l'), "") => Some(Intent::Local),
            (Some('h'), "") => Some(Intent::SpinHint),
            (Some('j'), thread) => number(thread)
                .filter(|&thread| thread < LARGEST_THREAD)
                .map(|thread| Intent::Join(ThreadId(thread))),
            (Some(letter), object) => access(letter, object),
            (None, _) => None,
        };
        intent.map_or_else(|| self.wrong("an operation"), Ok)
    }
}

/// The rest, and whether the suffix was there.
fn without_suffix(text: &str, suffix: char) -> (&str, bool) {
    match text.strip_suffix(suffix) {
        Some(text) => (text, true),
        None => (text, false),
    }
}

fn access(letter: char, object: &str) -> Option<Intent> {
    let (object, waits) = without_suffix(object, '+');
    Some(Intent::Access {
        object: Address(number(object)?),
        effect: Effect::of_letter(letter)?,
        awaits: waits.then_some(Condition::Equals(0)),
    })
}

/// A number in plain digits.
fn number<N: FromStr>(digits: &str) -> Option<N> {
    let is_plain = digits.bytes().all(|b| b.is_ascii_digit());
    if is_plain { digits.parse().ok() } else { None }
}
