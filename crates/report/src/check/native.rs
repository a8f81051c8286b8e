//! The diagnosis of the failures of programs in C and C++.

use fencepost_memory::{Access, ThreadId};

use super::diagnosis::{Diagnosis, final_access, first_line, one_mark};
use super::native_problem::{
    BadMemory, BadMemoryKind, FailureKind, LeakedBlocks, LockMisuse, Signal, ThreadPlace,
};
use super::snippets::Mark;
use super::words::{Words, tidy};
use crate::names::Naming;
use crate::source::SourcePosition;
use crate::text::counted;

/// The widest name of memory or of a lock in a headline.
const WIDEST_OBJECT: usize = 80;
/// The largest number of places of leaked blocks that are shown.
const MAX_PLACES: usize = 8;

const USE_AFTER_FREE_HELP: &str = "free the block only when no thread can reach it any more: count its references, or \
    defer the free (hazard pointers, epochs, RCU)";

const OUT_OF_BOUNDS_HELP: &str = "compare the index and the size with what was allocated; a free list or a ring may hold a stale index";

const DOUBLE_FREE_HELP: &str = "let exactly one thread free the block: the one that takes it out of the structure with a \
    successful compare-and-swap, or that drops the last reference";

const INVALID_FREE_HELP: &str =
    "free the pointer that `malloc` or `new` returned, without offsets and tag bits";

const LEAK_HELP: &str = "free every block in every execution: look for a branch that returns early, and for a \
    compare-and-swap that fails and forgets its new node";

const SIGNAL_HELP: &str =
    "look for a null, stale or uninitialized pointer, which another thread may have left";

/// Why a program is refused that has such instructions, by name and place, although its compiler announces all that it does.
pub fn unseen_instructions(instructions: &[(String, String)]) -> String {
    let mut text = String::from(
        "the program has instructions that a check does not see: inline assembly, or code that was not compiled by \
         fencepost-cc or fencepost-cxx",
    );
    for (name, place) in instructions {
        text.push_str(&format!("\n  `{name}` at {place}"));
    }
    text.push_str(
        "\nhelp: use atomic operations of the language instead, such as `atomic_thread_fence(memory_order_seq_cst)` or \
         `__atomic_compare_exchange_n`; link libraries that have such instructions as shared libraries",
    );
    text
}

/// A mark that is not the primary one.
fn other_mark(position: &Option<SourcePosition>, label: String) -> Option<Mark> {
    position.clone().map(|position| Mark {
        position: Some(position),
        place: None,
        label,
        is_primary: false,
    })
}

/// The diagnosis of a failure that ends the process.
pub(super) fn failed(
    thread: ThreadId,
    kind: FailureKind,
    message: &str,
    location: &Option<SourcePosition>,
    words: &Words<'_>,
    interleaving: &[Access],
) -> Diagnosis {
    let name = words.thread(thread);
    let (first, notes) = first_line(message);
    let (did, does, label) = match kind {
        FailureKind::Assertion => ("failed an assertion".into(), "fails here", "fails"),
        FailureKind::Abort => ("called `abort`".into(), "aborts here", "aborts"),
        FailureKind::UncaughtException => (
            "threw an exception that nothing catches".into(),
            "throws here",
            "throws",
        ),
        FailureKind::ExitStatus(status) => (
            format!("exited with status {status}"),
            "exits here",
            "exits",
        ),
        FailureKind::VerifierError => {
            ("called `__VERIFIER_error`".into(), "calls it here", "fails")
        }
        FailureKind::Signal(signal) => (received(signal), "fails here", "fails"),
        FailureKind::Other => ("failed".into(), "fails here", "fails"),
    };
    let is_access = matches!(kind, FailureKind::Signal(Signal::Segv(_) | Signal::Bus(_)));
    Diagnosis {
        marks: one_mark(location, format!("{name} {does}")),
        notes,
        help: is_access.then(|| SIGNAL_HELP.into()),
        rows: final_access(interleaving, thread, label),
        ..Diagnosis::new(match first.is_empty() {
            true => format!("{name} {did}"),
            false => format!("{name} {did}: {first}"),
        })
    }
}

fn received(signal: Signal) -> String {
    let meaning = match signal {
        Signal::Segv(_) => "invalid memory access",
        Signal::Bus(_) => "memory access that cannot be performed",
        Signal::Fpe => "arithmetic error, such as a division by zero",
        Signal::Ill => "illegal instruction",
    };
    let address = signal.address();
    let address = address.map_or_else(String::new, |address| format!(" at address {address:#x}"));
    format!("received {} ({meaning}){address}", signal.name())
}

/// The diagnosis of a bad use of a heap block.
pub(super) fn bad_memory(
    misuse: &BadMemory,
    words: &Words<'_>,
    interleaving: &[Access],
) -> Diagnosis {
    let name = words.thread(misuse.by.thread);
    let object = match &misuse.name {
        Some(memory) => format!("`{}`", tidy(memory, WIDEST_OBJECT)),
        None => "a heap block".into(),
    };
    let does = if misuse.writes { "writes" } else { "reads" };
    let access = format!("{name} {does} {}", counted(misuse.size, "byte"));
    let by = misuse
        .freed
        .as_ref()
        .map(|freed| words.thread(freed.thread));
    let (headline, does, help) = match misuse.kind {
        BadMemoryKind::UseAfterFree => {
            let by = by.map_or_else(|| "it was freed".into(), |by| format!("{by} has freed it"));
            (
                format!("use after free: {access} of {object} after {by}"),
                format!("{does} it"),
                USE_AFTER_FREE_HELP,
            )
        }
        BadMemoryKind::OutOfBounds => (
            format!("out of bounds: {access} {}", outside(misuse, &object)),
            does.into(),
            OUT_OF_BOUNDS_HELP,
        ),
        BadMemoryKind::DoubleFree => {
            let by = by.map_or_else(|| "was freed".into(), |by| format!("{by} has freed"));
            (
                format!("double free: {name} frees {object}, which {by} before"),
                "frees it again".into(),
                DOUBLE_FREE_HELP,
            )
        }
        BadMemoryKind::InvalidFree => (
            format!(
                "invalid free: {name} frees {}",
                not_a_block(misuse, &object)
            ),
            "frees it".into(),
            INVALID_FREE_HELP,
        ),
    };
    let mut marks = one_mark(&misuse.by.location, format!("{name} {does} here"));
    if let Some(freed) = &misuse.freed {
        let label = format!("{} frees it here", words.thread(freed.thread));
        marks.extend(other_mark(&freed.location, label));
    }
    marks.extend(other_mark(&misuse.allocated, "allocated here".into()));
    Diagnosis {
        marks,
        help: Some(help.into()),
        rows: final_access(interleaving, misuse.by.thread, &does),
        ..Diagnosis::new(headline)
    }
}

/// Where an access outside of a block is, to follow the access.
fn outside(misuse: &BadMemory, object: &str) -> String {
    let Some(block) = misuse.block else {
        return format!("outside of {object}");
    };
    let size = counted(block.size, "byte");
    let of = match misuse.name {
        Some(_) => format!("{object}, a block of {size}"),
        None => format!("a heap block of {size}"),
    };
    format!("at offset {} of {of}", block.offset)
}

/// What is freed that is not the beginning of a block.
fn not_a_block(misuse: &BadMemory, object: &str) -> String {
    let what = match misuse.name {
        Some(_) => format!("{object}, which"),
        None => "memory that".into(),
    };
    match misuse.block {
        Some(block) => format!(
            "{what} is at offset {} of a heap block of {}",
            block.offset,
            counted(block.size, "byte")
        ),
        None => format!("{what} is not a heap block"),
    }
}

/// The diagnosis of heap blocks that were not freed.
pub(super) fn leaked_blocks(leaks: &[LeakedBlocks]) -> Diagnosis {
    let add = |sum: u64, more: u64| sum.saturating_add(more);
    let count = leaks.iter().map(|leak| leak.count).fold(0, add);
    let bytes = leaks.iter().map(|leak| leak.bytes).fold(0, add);
    let shown = leaks.iter().take(MAX_PLACES).filter_map(|leak| {
        let bytes = counted(leak.bytes, "byte");
        let label = match leak.count {
            1 => format!("{bytes} allocated here"),
            count => format!("{bytes} in {} allocated here", counted(count, "block")),
        };
        other_mark(&leak.location, label)
    });
    let mut marks: Vec<Mark> = shown.collect();
    if let Some(first) = marks.first_mut() {
        first.is_primary = true;
    }
    let more = leaks.len().saturating_sub(MAX_PLACES);
    let were = if count == 1 { "was" } else { "were" };
    Diagnosis {
        marks,
        notes: match more {
            0 => Vec::new(),
            1 => vec!["blocks of 1 more place were not freed".into()],
            _ => vec![format!("blocks of {more} more places were not freed")],
        },
        help: Some(LEAK_HELP.into()),
        ..Diagnosis::new(format!(
            "memory leak: {} with {} {were} not freed",
            counted(count, "heap block"),
            counted(bytes, "byte")
        ))
    }
}

/// The diagnosis of a lock that is used wrongly.
pub(super) fn lock_misuse(
    misuse: &LockMisuse,
    lock: &str,
    by: &ThreadPlace,
    words: &Words<'_>,
    interleaving: &[Access],
) -> Diagnosis {
    let (name, lock) = (words.thread(by.thread), tidy(lock, WIDEST_OBJECT));
    let other = misuse.other().map(|other| words.thread(other.thread));
    let other_name = other.as_deref().unwrap_or_default();
    let (headline, does, did) = match misuse {
        LockMisuse::NotHeld(None) => (
            format!("{name} unlocks {lock}, which no thread holds"),
            "unlocks it",
            "",
        ),
        LockMisuse::NotHeld(Some(_)) => (
            format!("{name} unlocks {lock}, which {other_name} holds"),
            "unlocks it",
            "has locked it",
        ),
        LockMisuse::DestroyedWhileHeld(_) => (
            format!("{name} destroys {lock} while {other_name} holds it"),
            "destroys it",
            "has locked it",
        ),
        LockMisuse::Destroyed(_) => (
            format!("{name} uses {lock} after {other_name} has destroyed it"),
            "uses it",
            "has destroyed it",
        ),
        LockMisuse::Uninitialized => (
            format!("{name} uses {lock}, which was never initialized"),
            "uses it",
            "",
        ),
    };
    let mut marks = one_mark(&by.location, format!("{name} {does} here"));
    if let Some(other) = misuse.other() {
        marks.extend(other_mark(
            &other.location,
            format!("{other_name} {did} here"),
        ));
    }
    Diagnosis {
        marks,
        rows: final_access(interleaving, by.thread, does),
        ..Diagnosis::new(headline)
    }
}
