//! Witnesses as text, and pictures.

use std::fmt::Write as _;

use fencepost_litmus::answer::Answer;
use fencepost_litmus::execution::Execution;
use fencepost_litmus::log;
use fencepost_litmus::test::Test;
use fencepost_report::litmus::{PictureOptions, dot, event_list, step_table, svg};

use crate::args::{LitmusArguments, Witnesses};
use crate::files;

use super::one::FileResult;

/// Prints the witnesses of the final states that `--witness` selects. They were checked before.
pub(super) fn show_witnesses(
    answer: &Answer<'_>,
    arguments: &LitmusArguments,
    output: &mut String,
) {
    let Some(which) = arguments.witness else {
        return;
    };
    let numbers: Vec<usize> = match which {
        Witnesses::All => (0..answer.states.len()).collect(),
        Witnesses::Condition => answer.most_telling().into_iter().collect(),
    };
    if numbers.is_empty() {
        *output += "No execution: there is no final state.\n\n";
    }
    for number in numbers {
        let (test, run) = (answer.test(), answer.run(number));
        let state = test.format_state(&answer.states[number].contents);
        let _ = write!(
            output,
            "Witness {} {} {state}\n{}\n{}\n",
            test.name,
            answer.model().name(),
            event_list(test, &run.execution()),
            step_table(test, &run),
        );
    }
}

/// The final state that a picture shows.
fn chosen(answer: &Answer<'_>, arguments: &LitmusArguments) -> Result<usize, String> {
    let Some(wanted) = &arguments.state else {
        let telling = answer.most_telling();
        return telling.ok_or_else(|| "error: there is no final state to draw".to_owned());
    };
    let wanted = log::parse_state(wanted).ok_or_else(|| {
        format!("error: expected a state such as `0:EAX=0; [x]=1;`, found `{wanted}`")
    })?;
    let matches = |contents: &[u64]| {
        let state = log::parse_state(&answer.test().format_state(contents));
        state.is_some_and(|state| {
            wanted
                .iter()
                .all(|(name, value)| state.get(name) == Some(value))
        })
    };
    let found = answer
        .states
        .iter()
        .position(|state| matches(&state.contents));
    found.ok_or_else(|| {
        format!(
            "error: {} under {} has no final state with `{}`\n  = help: run without --svg, --dot and --state to list all final states",
            answer.test().name,
            answer.model().name(),
            log::show_logged(&wanted)
        )
    })
}

/// Writes the pictures of `--svg` and `--dot`.
pub(super) fn draw(answer: &Answer<'_>, arguments: &LitmusArguments, result: &mut FileResult) {
    if arguments.svg.is_none() && arguments.dot.is_none() {
        return;
    }
    let number = match chosen(answer, arguments) {
        Ok(number) => number,
        Err(message) => {
            result.error += &message;
            // A missing state may be beyond the limit.
            match answer.cut() {
                Some(_) => result.is_limited = true,
                None => result.is_bad = true,
            }
            return;
        }
    };
    let run = answer.run(number);
    let execution = run.execution();
    let options = PictureOptions {
        model: Some(answer.model()),
        final_state: Some(&answer.states[number].contents),
        run: Some(&run),
    };
    type Paint = fn(&Test, &Execution, &PictureOptions<'_>) -> String;
    let pictures: [(_, Paint); 2] = [(&arguments.svg, svg), (&arguments.dot, dot)];
    for (path, paint) in pictures {
        if let Some(path) = path
            && let Err(failure) = files::write(path, &paint(answer.test(), &execution, &options))
        {
            result.error += &failure.to_string();
            result.is_bad = true;
        }
    }
}
