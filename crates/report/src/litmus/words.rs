//! The names of events, threads and values.

use fencepost_litmus::code::Fence;
use fencepost_litmus::execution::{Action, Event, EventId};
use fencepost_litmus::test::{CellId, Test};
use fencepost_memory::MemoryModel;

/// The letter of an event: a to z, then aa, ab and so on.
pub fn letter(event: EventId) -> String {
    let mut rest = event.index() + 1;
    let mut letters = Vec::new();
    while rest > 0 {
        rest -= 1;
        letters.push(char::from(b'a' + (rest % 26) as u8));
        rest /= 26;
    }
    letters.iter().rev().collect()
}

/// The action of an event: `W x=1`, `R y=0`, `MFENCE`. Events of locked instructions have an `L`:
/// `RL x=0`.
pub fn action(test: &Test, event: &Event) -> String {
    let lock = if event.locked { "L" } else { "" };
    match event.action {
        Action::Read(cell, value) => format!("R{lock} {}", content(test, cell, value)),
        Action::Write(cell, value) => format!("W{lock} {}", content(test, cell, value)),
        Action::Fence(fence) => fence_name(fence).to_string(),
    }
}

/// The instruction's name of a fence.
pub fn fence_name(fence: Fence) -> &'static str {
    match fence {
        Fence::Full => "MFENCE",
        Fence::Store => "SFENCE",
        Fence::Load => "LFENCE",
    }
}

/// A cell and its content: `x=1`.
pub fn content(test: &Test, cell: CellId, content: u64) -> String {
    format!(
        "{}={}",
        cell_name(test, cell),
        cell_value(test, cell, content)
    )
}

/// The name of a cell.
pub fn cell_name(test: &Test, cell: CellId) -> &str {
    test.cells
        .get(cell.index())
        .map_or("?", |cell| cell.name.as_str())
}

/// The content of a cell, printed as the cell's type wants it.
pub fn cell_value(test: &Test, cell: CellId, content: u64) -> String {
    match test.cells.get(cell.index()) {
        Some(cell) => test.format_value(content, cell.width, cell.unsigned),
        None => content.to_string(),
    }
}

/// The name of a thread: `P1`.
pub fn thread_name(test: &Test, thread: u32) -> String {
    let number = test
        .threads
        .get(thread as usize)
        .map_or(thread, |t| t.number);
    format!("P{number}")
}

/// The text of an instruction.
pub fn instruction(test: &Test, thread: u32, instruction: u32) -> &str {
    let thread = test.threads.get(thread as usize);
    let found = thread.and_then(|thread| thread.instructions.get(instruction as usize));
    found.map_or("", |instruction| instruction.text.as_str())
}

/// The name of a model in headings.
pub fn model_name(model: &MemoryModel) -> String {
    model.name().to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_go_on_after_z() {
        let letters = [0, 25, 26, 27, 51, 52, 701, 702].map(|index| letter(EventId(index)));
        assert_eq!(letters, ["a", "z", "aa", "ab", "az", "ba", "zz", "aaa"]);
    }
}
