//! The diagnosis of a data race.

use fencepost_memory::Access;

use super::diagnosis::{Diagnosis, WIDEST_MESSAGE, final_access, last_accesses};
use super::snippets::Mark;
use super::words::{Words, raced_cell, tidy};
use super::{AccessKind, RaceAccess, RacedCell};
use crate::language::ProgramLanguage;
use crate::names::Naming;
use crate::text::counted;

const HELP: &str = "make the first thread publish with a `Release` store (or unlock), and the second read that store \
    with `Acquire` (or lock) before its access";

const ATOMIC_HELP: &str = "make both accesses atomic; or make the first thread publish with a `Release` store (or \
    unlock), and the second read that store with `Acquire` (or lock) before its access";

const FREE_HELP: &str = "free the block only when no thread can reach it any more, and let the other threads tell the \
    one that frees with a `Release` store (or unlock) that it reads with `Acquire` (or lock)";

/// The diagnosis of a race between these accesses.
pub(super) fn diagnosis(
    cell: &RacedCell,
    first: &RaceAccess,
    second: &RaceAccess,
    words: &Words<'_>,
    interleaving: &[Access],
) -> Diagnosis {
    let does = |access: &RaceAccess| access.kind.verb();
    let name = |access: &RaceAccess| words.thread(access.thread);
    let mark = |access: &RaceAccess, is_primary: bool| Mark {
        position: access.location.clone(),
        place: None,
        label: format!("{} {} it here", name(access), does(access)),
        is_primary,
    };
    // The first access may have been at any time before.
    let mut rows = final_access(interleaving, second.thread, &format!("{} it", does(second)));
    if first.thread != second.thread {
        rows.extend(last_accesses(interleaving, &[first.thread], ""));
    }
    Diagnosis {
        marks: vec![mark(second, true), mark(first, false)],
        help: Some(help(first, second, words.language())),
        notes: sizes(first, second, words).into_iter().collect(),
        rows,
        ..Diagnosis::new(format!(
            "data race on {}: {} {} it, {} {} it, and nothing orders the two",
            tidy(&raced_cell(cell), WIDEST_MESSAGE),
            name(first),
            does(first),
            name(second),
            does(second),
        ))
    }
}

fn help(first: &RaceAccess, second: &RaceAccess, language: ProgramLanguage) -> String {
    let either = |is_one: fn(AccessKind) -> bool| is_one(first.kind) || is_one(second.kind);
    let help = if either(|kind| kind == AccessKind::Free) {
        FREE_HELP
    } else if either(|kind| matches!(kind, AccessKind::AtomicRead | AccessKind::AtomicWrite))
        && !either(|kind| kind == AccessKind::Allocation)
    {
        ATOMIC_HELP
    } else {
        HELP
    };
    match language {
        ProgramLanguage::Rust => help.to_owned(),
        ProgramLanguage::C => help
            .replace("`Release`", "release")
            .replace("`Acquire`", "acquire"),
    }
}

/// The sizes of the accesses, if they differ.
fn sizes(first: &RaceAccess, second: &RaceAccess, words: &Words<'_>) -> Option<String> {
    let (one, other) = (first.size?, second.size?);
    (one != other).then(|| {
        format!(
            "{} {} {}, {} {}",
            words.thread(first.thread),
            first.kind.verb(),
            counted(one.into(), "byte"),
            words.thread(second.thread),
            counted(other.into(), "byte"),
        )
    })
}
