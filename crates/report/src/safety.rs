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
            let overtaken = place(test, pending);
            let overtaking = place(test, event);
            format!(
                "{name} {model}: NOT store-buffer safe\n  {overtaking}\n  can take effect before this reaches memory, although it happens after it:\n  {overtaken}\n"
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

fn place(test: &Test, place: &Option<InstructionId>) -> String {
    let Some(place) = place else {
        return "an event".to_owned();
    };
    let instruction = place.of(test);
    let thread = test.threads[place.thread].number;
    format!(
        "P{thread} `{}` (line {})",
        instruction.text, instruction.position.line
    )
}
