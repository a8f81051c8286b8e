//! The diagnosis of a failure: headline, locations, advice.

use std::fmt;

use fencepost_memory::{Access, ThreadId};
use fencepost_monitor::Repair;

use super::snippets::Mark;
use super::violation;
use super::words::{Words, awaited, leaked, planned, short_list, tidy};
use super::{
    Awaited, PlannedOperation, Problem, ScheduleMismatch, Target, Unreproduced, Wait, native, race,
};
use crate::language::ProgramLanguage;
use crate::names::Naming;
use crate::source::SourcePosition;
use crate::text::counted;

/// The widest message in a headline.
pub(super) const WIDEST_MESSAGE: usize = 160;
/// The widest message of Fencepost that says what to do instead.
const WIDEST_REFUSAL: usize = 400;
/// The largest number of lines of a message that follow the first.
const MAX_MESSAGE_LINES: usize = 12;
/// The largest number of threads that a headline or a label names.
const MAX_THREADS: usize = 4;

const LEAK_HELP: &str = "drop every reference in every execution: look for `mem::forget`, for `into_raw` without \
    `from_raw`, and for a cycle, which a `Weak` breaks; if the leak is intended, use `leak_check(false)`";

fn stack_help(language: ProgramLanguage) -> String {
    format!(
        "look for unbounded recursion and large local variables; otherwise give the threads of the check more stack with \
         `{}`",
        language.setting("stack_size")
    )
}

fn step_limit_help(language: ProgramLanguage) -> String {
    let condvar = match language {
        ProgramLanguage::Rust => "a `Condvar`",
        ProgramLanguage::C => "a condition variable",
    };
    format!(
        "look for an endless loop; a loop that waits for another thread has to come back to the same state, so it must not \
         count its rounds, write or lock (wait on {condvar}, or read an atomic variable first); if the loop ends, raise \
         `{}`",
        language.setting("max_steps")
    )
}

fn non_determinism_help(language: ProgramLanguage) -> &'static str {
    match language {
        ProgramLanguage::Rust => {
            "an execution may depend on nothing but the schedule: not on time, random numbers, addresses, the order of a \
             `HashMap`, or what an earlier execution left in a `static`"
        }
        ProgramLanguage::C => {
            "an execution may depend on nothing but the schedule: not on time, random numbers, files, addresses that the \
             system chooses, or what an earlier execution left in a file or in the memory of a library"
        }
    }
}

/// The diagnosis of a failure.
pub(crate) struct Diagnosis {
    /// The failure, in one line.
    pub headline: String,
    /// Locations in the source, the most important first.
    pub marks: Vec<Mark>,
    /// Where fences are missing.
    pub repair: Option<Repair>,
    /// What to do.
    pub help: Option<String>,
    /// Further facts.
    pub notes: Vec<String>,
    /// Accesses of the interleaving that the text refers to.
    pub rows: Vec<Row>,
}

/// An access of the interleaving that the text refers to.
pub(crate) struct Row {
    /// Its position in the interleaving, from 0.
    pub position: u64,
    /// The label after the access: `(1)`, `then panics`.
    pub label: String,
}

/// The diagnosis of the failure at the end of this interleaving.
pub(super) fn diagnosis(
    problem: &Problem,
    interleaving: &[Access],
    words: &Words<'_>,
    target: &Target,
) -> Diagnosis {
    match problem {
        Problem::StoreBuffer {
            violation,
            explained,
        } => violation::diagnosis(violation, explained, words, target),
        Problem::Panic {
            thread,
            message,
            location,
        } => panic(*thread, message, location, words, interleaving),
        Problem::Deadlock { waits } => deadlock(waits, words, interleaving),
        Problem::Livelock { waits } => livelock(waits, words, interleaving),
        Problem::Race {
            cell,
            first,
            second,
        } => race::diagnosis(cell, first, second, words, interleaving),
        Problem::Failed {
            thread,
            kind,
            message,
            location,
        } => native::failed(*thread, *kind, message, location, words, interleaving),
        Problem::BadMemory(misuse) => native::bad_memory(misuse, words, interleaving),
        Problem::LeakedBlocks(leaks) => native::leaked_blocks(leaks),
        Problem::LockMisuse { misuse, lock, by } => {
            native::lock_misuse(misuse, lock, by, words, interleaving)
        }
        Problem::Leak {
            kind,
            name,
            location,
        } => leak(kind, name.as_deref(), location),
        Problem::StackOverflow { thread, location } => {
            stack_overflow(*thread, location, words, interleaving)
        }
        Problem::StepLimit {
            steps,
            thread,
            location,
        } => step_limit(*steps, *thread, location, words, interleaving),
        Problem::NonDeterminism {
            step,
            expected,
            found,
            thread,
            location,
        } => {
            let operations = (expected, found);
            non_determinism(*step, *thread, operations, location, words, interleaving)
        }
        Problem::InfeasibleSchedule { step, mismatch } => {
            bad_use(&mismatch_sentence(*step, mismatch, words), &None)
        }
        Problem::BadUse { message, location } if words.language() == ProgramLanguage::C => {
            cannot_check(message, location)
        }
        Problem::BadUse { message, location } => bad_use(message, location),
        Problem::Unreproduced(failure) => bad_use(&failure.to_string(), &None),
    }
}

fn panic(
    thread: ThreadId,
    message: &str,
    location: &Option<SourcePosition>,
    words: &Words<'_>,
    interleaving: &[Access],
) -> Diagnosis {
    let name = words.thread(thread);
    let (first, notes) = first_line(message);
    let (does, did) = match words.language() {
        ProgramLanguage::Rust => ("panics", "panicked"),
        ProgramLanguage::C => ("fails", "failed"),
    };
    Diagnosis {
        marks: one_mark(location, format!("{name} {does} here")),
        notes,
        rows: final_access(interleaving, thread, does),
        ..Diagnosis::new(match first.is_empty() {
            true => format!("{name} {did}"),
            false => format!("{name} {did}: {first}"),
        })
    }
}

fn deadlock(waits: &[Wait], words: &Words<'_>, interleaving: &[Access]) -> Diagnosis {
    Diagnosis {
        marks: wait_marks(waits, words),
        rows: last_accesses(interleaving, &waiting(waits), "then waits"),
        ..Diagnosis::new(format!(
            "deadlock: {} {} forever",
            thread_list(waits.iter(), words),
            verb(waits.len(), "waits", "wait")
        ))
    }
}

fn livelock(waits: &[Wait], words: &Words<'_>, interleaving: &[Access]) -> Diagnosis {
    let spinning: Vec<&Wait> = waits.iter().filter(|wait| wait.spins).collect();
    let count = spinning.len();
    Diagnosis {
        marks: wait_marks(waits, words),
        notes: vec![format!(
            "{} the same values in every round, and no other thread is left to change them",
            verb(count, "it reads", "they read")
        )],
        rows: last_accesses(interleaving, &waiting(waits), ""),
        ..Diagnosis::new(format!(
            "livelock: {} {} forever",
            thread_list(spinning.into_iter(), words),
            verb(count, "spins", "spin")
        ))
    }
}

fn leak(kind: &str, name: Option<&str>, location: &Option<SourcePosition>) -> Diagnosis {
    let (first, notes) = first_line(&leaked(kind, name));
    Diagnosis {
        marks: one_mark(location, "created here".into()),
        notes,
        help: Some(LEAK_HELP.into()),
        ..Diagnosis::new(format!("leak: {first} was not dropped"))
    }
}

fn stack_overflow(
    thread: ThreadId,
    location: &Option<SourcePosition>,
    words: &Words<'_>,
    interleaving: &[Access],
) -> Diagnosis {
    let name = words.thread(thread);
    let label = format!("{name}'s last checked operation");
    Diagnosis {
        marks: one_mark(location, label),
        help: Some(stack_help(words.language())),
        rows: final_access(interleaving, thread, "overflows"),
        ..Diagnosis::new(format!("{name} overflowed its stack"))
    }
}

fn step_limit(
    steps: u64,
    thread: ThreadId,
    location: &Option<SourcePosition>,
    words: &Words<'_>,
    interleaving: &[Access],
) -> Diagnosis {
    let label = format!("{}'s next operation", words.thread(thread));
    Diagnosis {
        marks: one_mark(location, label),
        help: Some(step_limit_help(words.language())),
        rows: last_accesses(interleaving, &[thread], ""),
        ..Diagnosis::new(format!(
            "an execution did not end within {}",
            counted(steps, "step")
        ))
    }
}

fn non_determinism(
    step: usize,
    thread: ThreadId,
    (expected, found): (&PlannedOperation, &PlannedOperation),
    location: &Option<SourcePosition>,
    words: &Words<'_>,
    interleaving: &[Access],
) -> Diagnosis {
    let name = words.thread(thread);
    let operation = |planned_one| tidy(&planned(planned_one, words), WIDEST_MESSAGE);
    Diagnosis {
        marks: one_mark(location, format!("in this execution: {}", operation(found))),
        notes: vec![format!(
            "in an earlier execution: {} (step {step})",
            operation(expected)
        )],
        help: Some(non_determinism_help(words.language()).into()),
        rows: last_accesses(interleaving, &[thread], ""),
        ..Diagnosis::new(format!(
            "the program is not deterministic: {name} behaves differently under the same schedule"
        ))
    }
}

fn bad_use(message: &str, location: &Option<SourcePosition>) -> Diagnosis {
    let (first, notes) = first_line_within(message, WIDEST_REFUSAL);
    Diagnosis {
        marks: one_mark(location, String::new()),
        notes,
        ..Diagnosis::new(first)
    }
}

/// What a program in C or C++ does keeps it from being checked. What to do is in the message, or else this.
fn cannot_check(message: &str, location: &Option<SourcePosition>) -> Diagnosis {
    let (message, help) = message.split_once("\nhelp: ").unwrap_or((
        message,
        "leave it out of the checked program, or replace it for the check",
    ));
    let mut diagnosis = bad_use(&format!("cannot check this program: {message}"), location);
    for mark in &mut diagnosis.marks {
        mark.label = "here".into();
    }
    Diagnosis {
        help: Some(help.to_owned()),
        ..diagnosis
    }
}

impl fmt::Display for Unreproduced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failure = match self {
            Unreproduced::Violation => "a store-buffer violation",
            Unreproduced::Deadlock => "a deadlock",
            Unreproduced::Error(error) => error,
            Unreproduced::Other => "an error",
        };
        write!(
            f,
            "the program is not deterministic: a replay of the schedule did not reproduce the \
             failure ({failure})"
        )
    }
}

/// Why a schedule cannot be replayed.
pub(crate) fn mismatch_sentence(
    step: usize,
    mismatch: &ScheduleMismatch,
    names: &dyn Naming,
) -> String {
    let language = names.language();
    let reason = match mismatch {
        ScheduleMismatch::Blocked { thread, has_waited } => {
            let hint = match (has_waited, language) {
                (true, ProgramLanguage::C) => {
                    " (if the report replays it with `--spin-bound`, use that too)"
                }
                (true, ProgramLanguage::Rust) => {
                    " (if the report replays it with `spin_bound`, use that too, or set FENCEPOST_SPIN_BOUND)"
                }
                (false, _) => "",
            };
            format!("{} cannot continue{hint}", names.thread(*thread))
        }
        ScheduleMismatch::NoSuchCommit(number) => {
            format!("there is no buffered store with number {number}")
        }
        ScheduleMismatch::NoSuchThread(number) if language == ProgramLanguage::C => format!(
            "there is no thread with number {number} (if it is a commit, replay with `--store-buffers`)"
        ),
        ScheduleMismatch::NoSuchThread(number) => format!(
            "there is no thread with number {number} (if it is a commit, replay with `store_buffers`, or set \
             FENCEPOST_STORE_BUFFERS=on)"
        ),
    };
    format!(
        "the schedule does not fit the program: at step {step} {reason}; has the program changed since the schedule \
         was recorded?"
    )
}

impl Diagnosis {
    pub(super) fn new(headline: String) -> Self {
        Diagnosis {
            headline,
            marks: Vec::new(),
            repair: None,
            help: None,
            notes: Vec::new(),
            rows: Vec::new(),
        }
    }
}

pub(super) fn one_mark(position: &Option<SourcePosition>, label: String) -> Vec<Mark> {
    let mark = position.clone().map(|position| Mark {
        position: Some(position),
        place: None,
        label,
        is_primary: true,
    });
    mark.into_iter().collect()
}

/// The first line of a message, for the headline, and the others as a note.
pub(super) fn first_line(message: &str) -> (String, Vec<String>) {
    first_line_within(message, WIDEST_MESSAGE)
}

fn first_line_within(message: &str, widest: usize) -> (String, Vec<String>) {
    let mut lines = message.trim_end().lines();
    let first = tidy(lines.next().unwrap_or("").trim(), widest);
    let rest: Vec<&str> = lines.collect();
    if rest.is_empty() {
        return (first, Vec::new());
    }
    let shown = rest.iter().take(MAX_MESSAGE_LINES);
    let mut note: Vec<String> = shown.map(|line| tidy(line, WIDEST_MESSAGE)).collect();
    if rest.len() > MAX_MESSAGE_LINES {
        note.push(format!("… {} more lines", rest.len() - MAX_MESSAGE_LINES));
    }
    (first, vec![note.join("\n")])
}

fn waiting(waits: &[Wait]) -> Vec<ThreadId> {
    waits.iter().map(|wait| wait.thread).collect()
}

fn thread_list<'a>(waits: impl Iterator<Item = &'a Wait>, words: &Words<'_>) -> String {
    let names: Vec<String> = waits.map(|w| words.thread(w.thread)).collect();
    short_list(&names, MAX_THREADS)
}

fn verb<'a>(count: usize, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

/// One mark for the threads that wait at one location for the same thing. Spinning ones come first.
fn wait_marks(waits: &[Wait], words: &Words<'_>) -> Vec<Mark> {
    let somebody_spins = waits.iter().any(|wait| wait.spins);
    let mut groups: Vec<(&Wait, Vec<String>)> = Vec::new();
    let spinning = waits.iter().filter(|wait| wait.spins);
    for wait in spinning.chain(waits.iter().filter(|wait| !wait.spins)) {
        let name = words.thread(wait.thread);
        let same = |other: &Wait| {
            let place = (&other.location, &other.awaited, other.spins, &other.holders);
            place == (&wait.location, &wait.awaited, wait.spins, &wait.holders)
        };
        match groups.iter_mut().find(|(first, _)| same(first)) {
            Some((_, names)) => names.push(name),
            None => groups.push((wait, vec![name])),
        }
    }
    let marks = groups.into_iter().map(|(wait, names)| {
        let count = names.len();
        let what = format!("{}{}", awaited_object(wait, words), held_by(wait, words));
        let does = match (wait.spins, &wait.awaited) {
            (true, Awaited::Change) => verb(count, "spins here", "spin here").to_string(),
            (true, _) => format!("{} {what}", verb(count, "spins on", "spin on")),
            (false, _) => format!("{} {what}", verb(count, "waits for", "wait for")),
        };
        let who = short_list(&names, MAX_THREADS);
        Mark {
            position: wait.location.clone(),
            place: None,
            label: format!("{who} {does}"),
            is_primary: wait.spins || !somebody_spins,
        }
    });
    marks.chain(holder_marks(waits, words)).collect()
}

fn awaited_object(wait: &Wait, words: &Words<'_>) -> String {
    tidy(&awaited(&wait.awaited, words), WIDEST_MESSAGE)
}

/// Who holds the lock for which a thread waits, to follow its name.
fn held_by(wait: &Wait, words: &Words<'_>) -> String {
    let mut names: Vec<String> = Vec::new();
    for holder in &wait.holders {
        let name = words.thread(holder.thread);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.is_empty() {
        true => String::new(),
        false => format!(", held by {}", short_list(&names, MAX_THREADS)),
    }
}

/// Where the locks were taken for which threads wait.
fn holder_marks(waits: &[Wait], words: &Words<'_>) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    for wait in waits {
        let lock = awaited_object(wait, words);
        for holder in &wait.holders {
            let mark = Mark {
                position: holder.location.clone(),
                place: None,
                label: format!("{} has locked {lock} here", words.thread(holder.thread)),
                is_primary: false,
            };
            let is_new = marks
                .iter()
                .all(|other| (&other.position, &other.label) != (&mark.position, &mark.label));
            if mark.position.is_some() && is_new && marks.len() < MAX_THREADS {
                marks.push(mark);
            }
        }
    }
    marks
}

/// The last access of a thread that fails at the end, perhaps after accesses of other threads.
pub(super) fn final_access(interleaving: &[Access], thread: ThreadId, does: &str) -> Vec<Row> {
    let events = interleaving.len();
    let mut rows = last_accesses(interleaving, &[thread], "");
    for row in &mut rows {
        row.label = match row.position as usize + 1 == events {
            true => format!("then {does}"),
            false => format!("{does} after event {events}"),
        };
    }
    rows
}

/// The last access of each of these threads, with a label.
pub(super) fn last_accesses(
    interleaving: &[Access],
    threads: &[ThreadId],
    label: &str,
) -> Vec<Row> {
    let mut missing = threads.to_vec();
    missing.sort_unstable();
    missing.dedup();
    let mut rows = Vec::new();
    for (position, access) in interleaving.iter().enumerate().rev() {
        if missing.is_empty() {
            break;
        }
        if let Ok(index) = missing.binary_search(&access.thread) {
            missing.remove(index);
            rows.push(Row {
                position: position as u64,
                label: label.to_string(),
            });
        }
    }
    rows
}
