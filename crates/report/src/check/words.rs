//! Names that fit into a line of text, and short phrases of the report.

use fencepost_memory::{Access, Address, LocationId, ThreadId};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Awaited, PlannedOperation, RacedCell};
use crate::language::ProgramLanguage;
use crate::names::Naming;
use crate::source::SourcePosition;

/// The widest name that is shown in full.
const WIDEST_NAME: usize = 24;
/// The widest operation.
const WIDEST_OPERATION: usize = 36;

/// The caller's names, shortened and without control characters.
pub(super) struct Words<'a>(pub &'a dyn Naming);

impl Naming for Words<'_> {
    fn thread(&self, thread: ThreadId) -> String {
        tidy(&self.0.thread(thread), WIDEST_NAME)
    }

    fn address(&self, address: Address) -> String {
        tidy(&self.0.address(address), WIDEST_NAME)
    }

    fn location(&self, location: LocationId) -> Option<String> {
        self.0.location(location)
    }

    fn position(&self, location: LocationId) -> Option<SourcePosition> {
        self.0.position(location)
    }

    fn value(&self, address: Address, value: u64) -> String {
        tidy(&self.0.value(address, value), WIDEST_NAME)
    }

    fn has_values(&self, address: Address) -> bool {
        self.0.has_values(address)
    }

    fn has_ordering(&self, address: Address) -> bool {
        self.0.has_ordering(address)
    }

    fn first_value(&self, address: Address) -> Option<u64> {
        self.0.first_value(address)
    }

    fn language(&self) -> ProgramLanguage {
        self.0.language()
    }

    fn operation(&self, access: &Access) -> String {
        tidy(&self.0.action(access), WIDEST_OPERATION)
    }
}

impl Words<'_> {
    /// An operation with its value: `store x = 1`.
    pub fn with_value(&self, access: &Access) -> String {
        let value = access.operation.address().zip(access.value);
        match value.filter(|&(address, _)| self.has_values(address)) {
            Some((address, value)) => {
                format!(
                    "{} = {}",
                    self.operation(access),
                    self.value(address, value)
                )
            }
            None => self.operation(access),
        }
    }
}

/// The text on one line, without control characters, and not wider than `widest`: what is too
/// much is left out in the middle, because names differ at their ends.
pub(super) fn tidy(text: &str, widest: usize) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() || is_direction_mark(c) {
            true => clean.extend(c.escape_default()),
            false => clean.push(c),
        }
    }
    if clean.width() <= widest {
        return clean;
    }
    let room = widest.saturating_sub(1);
    let head = prefix_of_width(clean.chars(), room / 2);
    let tail = prefix_of_width(clean.chars().rev(), room - room / 2);
    let head: String = clean.chars().take(head).collect();
    let skipped = clean.chars().count() - tail;
    let tail: String = clean.chars().skip(skipped).collect();
    format!("{head}…{tail}")
}

/// Characters that would show the rest of the line in another order.
fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The number of characters that fit.
fn prefix_of_width(chars: impl Iterator<Item = char>, widest: usize) -> usize {
    let mut width = 0;
    chars
        .take_while(|c| {
            width += c.width().unwrap_or(0);
            width <= widest
        })
        .count()
}

/// What a thread waits for, to follow "waits for".
pub(crate) fn awaited(what: &Awaited, names: &dyn Naming) -> String {
    match what {
        Awaited::Unpark => "an `unpark`".to_owned(),
        Awaited::Notification(condvar) => match names.language() {
            ProgramLanguage::Rust => format!("a notification of `{condvar}`"),
            ProgramLanguage::C => format!("a signal of `{condvar}`"),
        },
        Awaited::Wakeup => "a thread that wakes it".to_owned(),
        Awaited::Barrier { name, arrived } => {
            let arrived = match arrived {
                Some(1) => " (1 has arrived)".to_owned(),
                Some(count) => format!(" ({count} have arrived)"),
                None => String::new(),
            };
            format!("more threads at `{name}`{arrived}")
        }
        Awaited::QueuedWriters(writers) => format!("the {writers}, which may block readers"),
        Awaited::Object(object) => match object.contains('`') {
            true => object.clone(),
            false => format!("`{object}`"),
        },
        Awaited::ThreadEnd(thread) => format!("the end of {}", names.thread(*thread)),
        Awaited::Return(thread) => format!("the end of {thread}"),
        Awaited::LeakedHandle => {
            "a thread of the scope, which runs as long as its handle: the handle was leaked"
                .to_owned()
        }
        Awaited::Change => "a change of what it reads".to_owned(),
        Awaited::Turn => "its turn".to_owned(),
        Awaited::Nothing => "nothing: an assumption has stopped it".to_owned(),
    }
}

/// An operation that a thread is about to perform.
pub(crate) fn planned(operation: &PlannedOperation, names: &dyn Naming) -> String {
    match operation {
        PlannedOperation::Access(object) => format!("an operation on `{object}`"),
        PlannedOperation::Join(thread) => format!("a join of {}", names.thread(*thread)),
        PlannedOperation::SpinHint => match names.language() {
            ProgramLanguage::Rust => "a spin hint".to_owned(),
            ProgramLanguage::C => "a yield".to_owned(),
        },
        PlannedOperation::Fence => "a fence".to_owned(),
        PlannedOperation::Stopped => "nothing: an assumption has stopped the thread".to_owned(),
        PlannedOperation::Finished => "the thread has finished".to_owned(),
        PlannedOperation::NotSpawned => "the thread does not exist".to_owned(),
    }
}

/// An object that was not dropped: ``the `Arc` `node` ``.
pub(crate) fn leaked(kind: &str, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("the `{kind}` `{name}`"),
        None => format!("an `{kind}`"),
    }
}

/// The memory of a data race: `` `LOG` ``.
pub(crate) fn raced_cell(cell: &RacedCell) -> String {
    match cell {
        RacedCell::Named(name) => format!("`{name}`"),
        RacedCell::CreatedAt(position) => {
            format!("the cell created at {}", position.file_and_line())
        }
        RacedCell::At(address) => format!("memory at {address:#x}"),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// `` `a` ``, `` `a` or `b` ``, `` `a`, `b` or `c` ``.
pub(super) fn choice<S: std::borrow::Borrow<str>>(words: &[S]) -> String {
    match words {
        [] => String::new(),
        [one] => format!("`{}`", one.borrow()),
        [all @ .., last] => format!("`{}` or `{}`", all.join("`, `"), last.borrow()),
    }
}

/// As [`list`], with at most `most` items.
pub(super) fn short_list(items: &[String], most: usize) -> String {
    if items.len() <= most {
        return list(items);
    }
    let more = format!("{} more", items.len() - most);
    let shown = items[..most].iter().cloned().chain([more]);
    list(&shown.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_tidied() {
        assert_eq!(tidy("queue.head", 12), "queue.head");
        assert_eq!(tidy("a\nb\u{1b}[31m", 40), "a\\nb\\u{1b}[31m");
        assert_eq!(tidy("x\u{202e}y", 40), "x\\u{202e}y");
        assert_eq!(tidy("queue.nodes[12].next", 11), "queue….next");
        assert_eq!(tidy("変変変変変変", 6), "変…変");
        assert!(tidy("変変変変変変", 6).width() <= 6);
    }

    #[test]
    fn lists_read_as_sentences() {
        let items: Vec<String> = ["a", "b", "c", "d"].map(String::from).to_vec();
        assert_eq!(list(&items[..1]), "a");
        assert_eq!(list(&items[..2]), "a and b");
        assert_eq!(list(&items), "a, b, c and d");
        assert_eq!(short_list(&items, 2), "a, b and 2 more");
    }
}
