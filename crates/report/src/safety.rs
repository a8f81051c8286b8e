//! Store-buffer safety of a litmus test as text.

use fencepost_litmus::robust::{InstructionId, Safety, Unfinished};
use fencepost_litmus::test::Test;
use fencepost_memory::MemoryModel;

/// The verdict for a test under a model, in one line; a violation with its two instructions.
pub fn safety(test: &Test, model: &MemoryModel, safety: &Safety) -> String {
    let name = &test.name;
    let model = model.name();
    match safety {
        Safety::Safe => format!("{name} {model}: store-buffer safe\n"),
        Safety::Unsafe { pending, event, .. } => {
            let overtaken = place(test, pending, "store ");
            let overtaking = place(test, event, "");
            format!(
                "{name} {model}: NOT store-buffer safe\n  {overtaking} can take effect before {overtaken} reaches memory,\n  although the store happens before it\n"
            )
        }
        Safety::Contradiction(_) => format!("{name} {model}: internal error\n"),
        Safety::Unknown(reason) => {
            let reason = match reason {
                Unfinished::Budget => "a limit was reached",
                Unfinished::TooLong => {
                    "an execution has too many steps (loops that write are unrolled only up to a bound)"
                }
                Unfinished::Fault(_) => "a thread performs an invalid operation",
            };
            format!("{name} {model}: unknown: {reason}\n")
        }
    }
}

/// An instruction: `P0's store `MOV [x],$1` (line 5)`. `kind` comes before its text.
fn place(test: &Test, place: &Option<InstructionId>, kind: &str) -> String {
    let Some(place) = place else {
        return match kind {
            "" => "an event".to_owned(),
            kind => format!("a {}", kind.trim_end()),
        };
    };
    let instruction = place.of(test);
    let thread = test.threads[place.thread].number;
    format!(
        "P{thread}'s {kind}`{}` (line {})",
        instruction.text, instruction.position.line
    )
}
