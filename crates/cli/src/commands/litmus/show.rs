//! Witnesses as text and JSON, and pictures: of final states, and of what a model forbids.
//!
//! `Asked` is what is shown besides the final states one by one: the state that was given, or what
//! the condition asks for. It has a run, or there is a reason why there is none.

use std::fmt::Write as _;

use fencepost_litmus::answer::{Answer, AnswerError};
use fencepost_litmus::execution::Execution;
use fencepost_litmus::forbidden::{self, Explanation};
use fencepost_litmus::log::{self, LoggedState};
use fencepost_litmus::run::Run;
use fencepost_litmus::test::Proposition;
use fencepost_report::json::executions::{NoWitnessObject, WitnessObject};
use fencepost_report::json::litmus::Witnesses as WitnessObjects;
use fencepost_report::litmus::{
    Picture, PictureOptions, dot, event_list, step_table, svg,
    why::{IMPOSSIBLE, INCOMPLETE, UNKNOWN},
};

use crate::args::{LitmusArguments, Witnesses};
use crate::files;

use super::one::FileResult;
use super::pictures;

/// Why nothing can be shown.
pub(super) enum ShowError {
    /// The state that was given is none of the test.
    BadState(String),
    /// What was found does not check.
    Answer(AnswerError),
}

/// What was found of a state that was asked for.
enum Found {
    /// A final state, by its number.
    State(usize),
    /// There is none, for this reason.
    None(Explanation),
}

/// A state that is asked for, and what was found of it.
struct Asked {
    text: String,
    found: Found,
}

/// What is shown of an answer.
pub(super) struct Shown<'a> {
    answer: &'a Answer<'a>,
    /// The final states of which witnesses are shown.
    numbers: Vec<usize>,
    asked: Option<Asked>,
}

impl<'a> Shown<'a> {
    /// What the arguments ask for.
    pub(super) fn new(
        answer: &'a Answer<'a>,
        arguments: &LitmusArguments,
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, ShowError> {
        let mut shown = Shown {
            answer,
            numbers: Vec::new(),
            asked: None,
        };
        let draws = arguments.svg.is_some() || arguments.dot.is_some();
        if arguments.witness.is_none() && !draws {
            return Ok(shown);
        }
        shown.asked = Some(find_asked(answer, arguments, stop)?);
        if arguments.witness == Some(Witnesses::All) && arguments.state.is_none() {
            shown.numbers = (0..answer.states.len()).collect();
        } else if let Some(number) = shown.state_asked() {
            shown.numbers.push(number);
        }
        Ok(shown)
    }

    /// A state that is asked for, whatever the arguments are.
    pub(super) fn of_state(
        answer: &'a Answer<'a>,
        state: &LoggedState,
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, ShowError> {
        let text = log::show_logged(state);
        let wanted = proposition_of(answer, state)?;
        let number = answer.position(&wanted);
        let found = find(answer, number, &wanted, stop)?;
        Ok(Shown {
            answer,
            numbers: number.into_iter().collect(),
            asked: Some(Asked { text, found }),
        })
    }

    fn state_asked(&self) -> Option<usize> {
        match self.asked.as_ref()?.found {
            Found::State(number) => Some(number),
            Found::None(_) => None,
        }
    }

    /// What was asked for and why there is none.
    fn no_witness(&self) -> Option<(&str, &Explanation)> {
        let asked = self.asked.as_ref()?;
        match &asked.found {
            Found::State(_) => None,
            Found::None(explanation) => Some((&asked.text, explanation)),
        }
    }

    /// The witnesses as text.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let (test, model) = (self.answer.test(), self.answer.model());
        for &number in &self.numbers {
            let run = self.answer.short_run(number);
            let contents = &self.answer.states[number].contents;
            let execution = run.execution();
            let picture = Picture::of_execution(test, &execution, &self.options(number, &run));
            // Writing to a string does not fail.
            let _ = write!(
                text,
                "Witness {} {} {}\n{}\n{}\n",
                test.name,
                model.name(),
                test.format_state(contents),
                event_list(&picture),
                step_table(test, &run),
            );
        }
        let Some((asked, explanation)) = self.no_witness() else {
            return text;
        };
        let (name, model_name) = (&test.name, model.name());
        let _ = match explanation {
            Explanation::Forbidden(found) => write!(
                text,
                "Forbidden {name} {model_name} {}\n{}\n",
                test.format_state(&found.state),
                event_list(&Picture::of_forbidden(test, model, found)),
            ),
            Explanation::Impossible => write!(
                text,
                "Impossible {name} {model_name} {asked}\n{IMPOSSIBLE}\n\n"
            ),
            Explanation::Allowed(_) | Explanation::Unknown => write!(
                text,
                "Unknown {name} {model_name} {asked}\n{}\n\n",
                self.unknown()
            ),
        };
        text
    }

    fn unknown(&self) -> &'static str {
        match self.answer.cut() {
            Some(_) => INCOMPLETE,
            None => UNKNOWN,
        }
    }

    /// The witnesses as JSON.
    pub(super) fn json(&self) -> WitnessObjects {
        let (test, model) = (self.answer.test(), self.answer.model());
        let witness = |&number: &usize| {
            let contents = &self.answer.states[number].contents;
            WitnessObject::new(test, model, contents, &self.answer.short_run(number))
        };
        let no_witness = self.no_witness();
        WitnessObjects {
            witnesses: Some(self.numbers.iter().map(witness).collect()),
            no_witness: no_witness
                .map(|(asked, explanation)| NoWitnessObject::new(test, asked, explanation)),
        }
    }

    fn options<'o>(&'o self, number: usize, run: &'o Run) -> PictureOptions<'o> {
        PictureOptions {
            model: Some(self.answer.model()),
            final_state: Some(&self.answer.states[number].contents),
            run: Some(run),
        }
    }

    /// Writes the pictures of `--svg` and `--dot`.
    pub(super) fn draw(&self, arguments: &LitmusArguments, name: &str, result: &mut FileResult) {
        if arguments.svg.is_none() && arguments.dot.is_none() {
            return;
        }
        let (test, model) = (self.answer.test(), self.answer.model());
        if let Some(number) = self.state_asked() {
            let run = self.answer.short_run(number);
            let execution: Execution = run.execution();
            let options = self.options(number, &run);
            let picture = Picture::of_execution(test, &execution, &options);
            return self.write(&picture, arguments, name, result);
        }
        let Some((asked, explanation)) = self.no_witness() else {
            return;
        };
        if let Explanation::Forbidden(found) = explanation {
            let picture = Picture::of_forbidden(test, model, found);
            return self.write(&picture, arguments, name, result);
        }
        let reason = match explanation {
            Explanation::Impossible => IMPOSSIBLE,
            _ => self.unknown(),
        };
        let is_one = [&arguments.svg, &arguments.dot].into_iter().flatten();
        let is_one = is_one.into_iter().any(|path| !pictures::is_directory(path));
        let _ = writeln!(
            result.error,
            "{}: no picture of {} under {}: {asked}\n  = help: {reason}",
            if is_one { "error" } else { "note" },
            test.name,
            model.name()
        );
        // A missing state may be beyond the limit.
        let is_limited = !matches!(explanation, Explanation::Impossible);
        result.is_limited |= is_limited;
        result.is_bad |= is_one && !is_limited;
    }

    fn write(
        &self,
        picture: &Picture<'_>,
        arguments: &LitmusArguments,
        name: &str,
        result: &mut FileResult,
    ) {
        let picture = picture.clone().with_edges(arguments.edge_kinds());
        type Paint = fn(&Picture<'_>) -> String;
        let forms: [(_, &str, Paint); 2] =
            [(&arguments.svg, "svg", svg), (&arguments.dot, "dot", dot)];
        for (path, extension, paint) in forms {
            let Some(path) = path else { continue };
            let path = pictures::file(path, name, self.answer.model(), extension);
            if let Err(failure) = files::write(&path, &paint(&picture)) {
                result.error += &failure.to_string();
                result.is_bad = true;
            }
        }
    }
}

/// Finds the state that is asked for: the one of `--state`, or one that decides the condition.
fn find_asked(
    answer: &Answer<'_>,
    arguments: &LitmusArguments,
    stop: &dyn Fn() -> bool,
) -> Result<Asked, ShowError> {
    let (wanted, text) = match &arguments.state {
        Some(state) => (parse_wanted(answer, state)?, state.clone()),
        None => (answer.asked(), answer.test().condition_text.clone()),
    };
    let mut number = answer.position(&wanted);
    let asks_nothing = matches!(answer.test().condition, Proposition::Constant(_));
    if number.is_none() && arguments.state.is_none() && asks_nothing {
        // The test has no condition: any state will do.
        number = (!answer.states.is_empty()).then_some(0);
    }
    let found = find(answer, number, &wanted, stop)?;
    Ok(Asked { text, found })
}

/// The final state with this number; if there is none that is as wanted, why.
fn find(
    answer: &Answer<'_>,
    number: Option<usize>,
    wanted: &Proposition,
    stop: &dyn Fn() -> bool,
) -> Result<Found, ShowError> {
    if let Some(number) = number {
        return Ok(Found::State(number));
    }
    let limits = forbidden::Limits {
        should_stop: stop,
        ..forbidden::Limits::default()
    };
    let explanation = answer.why_not(wanted, &limits);
    Ok(Found::None(explanation.map_err(ShowError::Answer)?))
}

/// The proposition that a final state is as `--state` says.
fn parse_wanted(answer: &Answer<'_>, state: &str) -> Result<Proposition, ShowError> {
    let assignments = log::parse_state(state).ok_or_else(|| {
        ShowError::BadState(format!(
            "error: expected a state such as `0:EAX=0; [x]=1;`, found `{state}`"
        ))
    })?;
    proposition_of(answer, &assignments)
}

fn proposition_of(answer: &Answer<'_>, state: &LoggedState) -> Result<Proposition, ShowError> {
    let test = answer.test();
    test.proposition_of(state).map_err(|name| {
        ShowError::BadState(format!(
            "error: {} does not show `{name}`\n  = help: `locations [{name};]` in the test shows it",
            test.name
        ))
    })
}
