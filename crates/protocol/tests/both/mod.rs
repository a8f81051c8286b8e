//! Runs the compiled search and the reference on the same model; they must agree.

use fencepost_protocol::reference;
use fencepost_protocol::search::{self, Symmetry};
use fencepost_protocol::{Limits, Model};

/// The result of the compiled search with the reference's options.
#[track_caller]
pub fn compiled(
    model: &Model,
    options: &reference::Options,
    workers: usize,
) -> search::SearchOutcome {
    let options = search::Options {
        deadlock: options.deadlock,
        symmetry: match options.symmetry {
            reference::Symmetry::Off => Symmetry::Off,
            reference::Symmetry::Exhaustive => Symmetry::Full,
        },
        max_states: options.max_states,
        max_time: options.max_time,
        max_loop_iterations: options.max_loop_iterations,
        workers,
        coverage: true,
        ..search::Options::default()
    };
    match search::search(model, &options, &()) {
        Ok(report) => report,
        Err(refusal) => panic!("{refusal}\n{}", model.source),
    }
}

/// The result of both. One worker finds states in the same order, so the errors are the same; but
/// it may have fired more rules before it finds one.
#[track_caller]
pub fn search(model: &Model, options: &reference::Options) -> reference::ReferenceOutcome {
    let expected = reference::search(model, options);
    let found = compiled(model, options, 1);
    assert_eq!(found.verdict, expected.verdict, "{}", model.source);
    assert_eq!(found.states, expected.states, "{}", model.source);
    let length =
        |trace: &Option<fencepost_protocol::outcome::Trace>| trace.as_ref().map(|t| t.steps.len());
    assert_eq!(
        length(&found.trace),
        length(&expected.trace),
        "{}",
        model.source
    );
    if expected.verdict == fencepost_protocol::outcome::Verdict::NoError {
        let of_found = (found.rules_fired, found.depth, found.hits);
        let of_expected = (expected.rules_fired, expected.depth, expected.hits.clone());
        assert_eq!(of_found, of_expected, "{}", model.source);
    }
    expected
}

/// Reads a model that has no errors.
#[track_caller]
pub fn model(text: &str) -> Model {
    match Model::read(text.as_bytes(), &[], &Limits::default()) {
        Ok(model) => model,
        Err(error) => panic!("{}", error.render("model.m")),
    }
}
