//! What is to be said about a problem: the headline, the places, the advice.

use fencepost_memory::{Access, ThreadId};
use fencepost_monitor::Repair;

use super::snippets::Mark;
use super::story;
use super::words::{Words, short_list, tidy};
use super::{Problem, RaceAccess, Target, Wait};
use crate::names::Naming;
use crate::source::SourcePosition;
use crate::text::grouped;

/// The widest message in a headline.
const WIDEST_MESSAGE: usize = 160;
/// The widest message of ours that says what to do instead.
const WIDEST_REFUSAL: usize = 400;
/// So many lines of a message are shown after the first.
const MOST_MESSAGE_LINES: usize = 12;
/// So many threads are named in a headline or a label.
const MOST_THREADS: usize = 4;

/// What to do about a data race.
const RACE_HELP: &str = "the first has to be published by what comes after it, a `Release` store or the release of a \
    lock, and the second to come after the `Acquire` load of that, or after that lock is taken";

/// What to do about a leak.
const LEAK_HELP: &str = "drop every reference to it in every execution: look for `mem::forget`, for `into_raw` \
without `from_raw`, and for a cycle, which a `Weak` breaks; if it is meant to stay, `leak_check(false)` allows that";

/// What is to be said about a problem.
pub(crate) struct Diagnosis {
    /// What is wrong, in one line.
    pub headline: String,
    /// The places in the source, the most important first.
    pub marks: Vec<Mark>,
    /// Where fences are missing.
    pub repair: Option<Repair>,
    /// What to do.
    pub help: Option<String>,
    /// What else to know.
    pub notes: Vec<String>,
    /// The accesses that matter, by their position in the interleaving.
    pub rows: Vec<Row>,
}

/// An access that matters.
pub(crate) struct Row {
    /// Its position in the interleaving, from 0.
    pub position: u64,
    /// What ties it to the text.
    pub sign: String,
}

/// What is to be said about the problem at the end of this interleaving.
pub(super) fn diagnosis(
    problem: &Problem,
    interleaving: &[Access],
    words: &Words<'_>,
    target: &Target,
) -> Diagnosis {
    let last = |threads: &[ThreadId], sign: &str| last_accesses(interleaving, threads, sign);
    match problem {
        Problem::StoreBuffer {
            violation,
            explained,
        } => story::diagnosis(violation, explained, words, target),
        Problem::Panic {
            thread,
            message,
            location,
        } => {
            let name = words.thread(*thread);
            let (first, notes) = first_line(message);
            Diagnosis {
                marks: one_mark(location, format!("{name} panics here")),
                notes,
                rows: in_the_end(interleaving, *thread, "panics"),
                ..Diagnosis::new(match first.is_empty() {
                    true => format!("{name} panicked"),
                    false => format!("{name} panicked: {first}"),
                })
            }
        }
        Problem::Deadlock { waits } => Diagnosis {
            marks: wait_marks(waits, words),
            rows: last(&waiting(waits), "then waits"),
            ..Diagnosis::new(format!(
                "deadlock: {} {} for ever",
                thread_list(waits.iter(), words),
                verb(waits.len(), "waits", "wait")
            ))
        },
        Problem::Livelock { waits } => {
            let spinning: Vec<&Wait> = waits.iter().filter(|wait| wait.spins).collect();
            let count = spinning.len();
            Diagnosis {
                marks: wait_marks(waits, words),
                notes: vec![format!(
                    "{} the same values again and again, and no other thread is left to change them",
                    verb(count, "it reads", "they read")
                )],
                rows: last(&waiting(waits), ""),
                ..Diagnosis::new(format!(
                    "livelock: {} {} for ever",
                    thread_list(spinning.into_iter(), words),
                    verb(count, "spins", "spin")
                ))
            }
        }
        Problem::Race {
            cell,
            first,
            second,
        } => race(cell, first, second, words, interleaving),
        Problem::Leak { what, location } => {
            let (first, notes) = first_line(what);
            Diagnosis {
                marks: one_mark(location, "made here".into()),
                notes,
                help: Some(LEAK_HELP.into()),
                ..Diagnosis::new(format!("leak: {first} was still there at the end"))
            }
        }
        Problem::StackOverflow { thread, location } => {
            let name = words.thread(*thread);
            Diagnosis {
                marks: one_mark(location, format!("{name} was last seen here")),
                help: Some(
                    "a recursion without end, or large local variables? Otherwise give the threads of \
                     the check more stack (`stack_size`)"
                        .into(),
                ),
                rows: in_the_end(interleaving, *thread, "overflows"),
                ..Diagnosis::new(format!("{name} overflowed its stack"))
            }
        }
        Problem::StepLimit {
            steps,
            thread,
            location,
        } => {
            let name = words.thread(*thread);
            Diagnosis {
                marks: one_mark(location, format!("{name} was about to do this")),
                help: Some(
                    "a loop without end? If it waits for another thread, each round has to call `spin_loop` or \
                     `yield_now`, and to change nothing and take no lock (wait on a `Condvar`, or look at an atomic \
                     variable first); if it ends, allow more steps (`max_steps`)"
                        .into(),
                ),
                rows: last(&[*thread], ""),
                ..Diagnosis::new(format!(
                    "an execution did not end within {} steps",
                    grouped(*steps)
                ))
            }
        }
        Problem::NonDeterminism {
            expected,
            found,
            thread,
            location,
        } => {
            let name = words.thread(*thread);
            let (expected, found) = (tidy(expected, WIDEST_MESSAGE), tidy(found, WIDEST_MESSAGE));
            Diagnosis {
                marks: one_mark(location, format!("this time: {found}")),
                notes: vec![format!("what {name} did before: {expected}")],
                help: Some(
                    "what an execution does may depend on the schedule only: not on time, random \
                     numbers, addresses, the order of a `HashMap`, or what an earlier execution \
                     left in a `static`"
                        .into(),
                ),
                rows: last(&[*thread], ""),
                ..Diagnosis::new(format!(
                    "not deterministic: {name} did something else than before, under the same schedule"
                ))
            }
        }
        Problem::BadUse { message, location } => {
            let (first, notes) = first_line_within(message, WIDEST_REFUSAL);
            Diagnosis {
                marks: one_mark(location, String::new()),
                notes,
                ..Diagnosis::new(first)
            }
        }
    }
}

impl Diagnosis {
    fn new(headline: String) -> Self {
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

fn one_mark(position: &Option<SourcePosition>, label: String) -> Vec<Mark> {
    let mark = position.clone().map(|position| Mark {
        position: Some(position),
        place: None,
        label,
        is_primary: true,
    });
    mark.into_iter().collect()
}

/// The first line of a message, for the headline, and the others as a note.
fn first_line(message: &str) -> (String, Vec<String>) {
    first_line_within(message, WIDEST_MESSAGE)
}

fn first_line_within(message: &str, widest: usize) -> (String, Vec<String>) {
    let mut lines = message.trim_end().lines();
    let first = tidy(lines.next().unwrap_or("").trim(), widest);
    let rest: Vec<&str> = lines.collect();
    if rest.is_empty() {
        return (first, Vec::new());
    }
    let shown = rest.iter().take(MOST_MESSAGE_LINES);
    let mut note: Vec<String> = shown.map(|line| tidy(line, WIDEST_MESSAGE)).collect();
    if rest.len() > MOST_MESSAGE_LINES {
        note.push(format!("… {} more lines", rest.len() - MOST_MESSAGE_LINES));
    }
    (first, vec![note.join("\n")])
}

fn waiting(waits: &[Wait]) -> Vec<ThreadId> {
    waits.iter().map(|wait| wait.thread).collect()
}

fn thread_list<'a>(waits: impl Iterator<Item = &'a Wait>, words: &Words<'_>) -> String {
    let names: Vec<String> = waits.map(|w| words.thread(w.thread)).collect();
    short_list(&names, MOST_THREADS)
}

fn verb<'a>(count: usize, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

/// One mark for the threads that wait in one place for the same thing. Those who spin come first.
fn wait_marks(waits: &[Wait], words: &Words<'_>) -> Vec<Mark> {
    let somebody_spins = waits.iter().any(|wait| wait.spins);
    let mut groups: Vec<(&Wait, Vec<String>)> = Vec::new();
    let spinning = waits.iter().filter(|wait| wait.spins);
    for wait in spinning.chain(waits.iter().filter(|wait| !wait.spins)) {
        let name = words.thread(wait.thread);
        let same = |other: &Wait| {
            let place = (&other.location, &other.what, other.spins);
            place == (&wait.location, &wait.what, wait.spins)
        };
        match groups.iter_mut().find(|(first, _)| same(first)) {
            Some((_, names)) => names.push(name),
            None => groups.push((wait, vec![name])),
        }
    }
    let marks = groups.into_iter().map(|(wait, names)| {
        let does = match (wait.spins, wait.what.is_empty()) {
            (true, true) => verb(names.len(), "spins here", "spin here"),
            (true, false) => verb(names.len(), "spins on", "spin on"),
            (false, _) => verb(names.len(), "waits for", "wait for"),
        };
        let who = short_list(&names, MOST_THREADS);
        let label = format!("{who} {does} {}", tidy(&wait.what, WIDEST_MESSAGE));
        Mark {
            position: wait.location.clone(),
            place: None,
            label: label.trim_end().to_string(),
            is_primary: wait.spins || !somebody_spins,
        }
    });
    marks.collect()
}

fn race(
    cell: &str,
    first: &RaceAccess,
    second: &RaceAccess,
    words: &Words<'_>,
    interleaving: &[Access],
) -> Diagnosis {
    let does = |access: &RaceAccess| if access.writes { "writes" } else { "reads" };
    let name = |access: &RaceAccess| words.thread(access.thread);
    let mark = |access: &RaceAccess, is_primary: bool| Mark {
        position: access.location.clone(),
        place: None,
        label: format!("{} {} it here", name(access), does(access)),
        is_primary,
    };
    // The first may have been at any time before.
    let mut rows = in_the_end(interleaving, second.thread, &format!("{} it", does(second)));
    if first.thread != second.thread {
        rows.extend(last_accesses(interleaving, &[first.thread], ""));
    }
    Diagnosis {
        marks: vec![mark(second, true), mark(first, false)],
        help: Some(RACE_HELP.into()),
        rows,
        ..Diagnosis::new(format!(
            "data race on `{}`: {} {} it, {} {} it, and nothing orders the two",
            tidy(cell, WIDEST_MESSAGE),
            name(first),
            does(first),
            name(second),
            does(second),
        ))
    }
}

/// The last access of a thread that does something else in the end, perhaps after others.
fn in_the_end(interleaving: &[Access], thread: ThreadId, does: &str) -> Vec<Row> {
    let events = interleaving.len();
    let mut rows = last_accesses(interleaving, &[thread], "");
    for row in &mut rows {
        row.sign = match row.position as usize + 1 == events {
            true => format!("then {does}"),
            false => format!("{does} after event {events}"),
        };
    }
    rows
}

/// The last access of each of these threads, with a sign.
fn last_accesses(interleaving: &[Access], threads: &[ThreadId], sign: &str) -> Vec<Row> {
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
                sign: sign.to_string(),
            });
        }
    }
    rows
}
