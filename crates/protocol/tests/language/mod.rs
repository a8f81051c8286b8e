//! Small models, each with numbers that were worked out by hand. The reference and the compiled
//! search both find them.

use crate::both;
mod expressions;
mod faults;
mod multisets;
mod properties;
mod statements;
mod symmetry;
mod syntax;
mod traces;

use both::{model, search};
use fencepost_protocol::outcome::DeadlockRule;
use fencepost_protocol::reference::{Options, ReferenceOutcome};

fn run(text: &str, options: &Options) -> ReferenceOutcome {
    search(&model(text), options)
}

/// Without deadlocks.
const NO_DEADLOCK: Options = Options {
    deadlock: DeadlockRule::Off,
    symmetry: fencepost_protocol::reference::Symmetry::Off,
    max_states: 100_000,
    max_time: None,
    max_loop_iterations: 1000,
};

/// There is no error, and the numbers of states and of rules fired are these.
#[track_caller]
fn counts(text: &str, states: u64, rules_fired: u64) {
    let model = model(text);
    let report = search(&model, &NO_DEADLOCK);
    let found = (
        report.verdict.describe(&model),
        report.states,
        report.rules_fired,
    );
    assert_eq!(found, ("no error".into(), states, rules_fired));
}

/// The search ends with this verdict.
#[track_caller]
fn ends_with(text: &str, verdict: &str) {
    let model = model(text);
    let report = search(&model, &NO_DEADLOCK);
    assert_eq!(report.verdict.describe(&model), verdict);
}

/// The condition is true in the one state of a model with these declarations and start state.
#[track_caller]
fn holds(declarations: &str, start: &str, condition: &str) {
    let text = format!(
        "{declarations}\nvar done_: boolean;\nstartstate {start}\n done_ := true; end;\n\
         rule done_ := true; end;\ninvariant {condition};\n"
    );
    counts(&text, 1, 1);
}
