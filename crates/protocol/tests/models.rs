//! The models in `models/`: what they show, how many states they have, and how short the ways to
//! their seeded bugs are.
//!
//! Right models must not be vacuous either: every rule fires, and every assertion, invariant and
//! antecedent is true somewhere.

use std::path::Path;

use fencepost_protocol::model::points::PointKind;
use fencepost_protocol::reference::{Options, Report, Symmetry, Verdict, search};
use fencepost_protocol::{Limits, Model};

type Given<'g> = &'g [(&'g str, i64)];

fn read(file: &str, given: Given) -> Model {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let bytes = std::fs::read(models.join(file)).expect("a model of ours");
    let given: Vec<(String, i64)> = given.iter().map(|(n, v)| ((*n).into(), *v)).collect();
    match Model::read(&bytes, &given, &Limits::default()) {
        Ok(model) => model,
        Err(error) => panic!("{}", error.render(file)),
    }
}

fn run(model: &Model, symmetry: Symmetry) -> Report {
    let options = Options {
        symmetry,
        ..Options::default()
    };
    search(model, &options)
}

/// The points that say nothing, because they were never reached.
fn vacuous(model: &Model, report: &Report) -> Vec<String> {
    use PointKind::{Antecedent, Assertion, Invariant, Rule};
    let counted = model.points.iter().zip(&report.hits);
    let never = counted.filter(|(point, hits)| {
        let matters = matches!(point.kind, Rule | Assertion | Antecedent | Invariant);
        matters && **hits == 0
    });
    never
        .map(|(point, _)| {
            let line = model.position(point.span).line;
            format!("{:?} {:?} in line {line}", point.kind, point.name)
        })
        .collect()
}

/// No error, with this many states without and with symmetry, and nothing vacuous.
fn is_right(file: &str, given: Given, states: [u64; 2]) {
    let model = read(file, given);
    for (symmetry, states) in [Symmetry::Off, Symmetry::Exhaustive]
        .into_iter()
        .zip(states)
    {
        let report = run(&model, symmetry);
        let what = format!("{file} {given:?} {symmetry:?}");
        assert_eq!(report.verdict.describe(&model), "no error", "{what}");
        assert_eq!(report.states, states, "{what}");
        assert_eq!(vacuous(&model, &report), Vec::<String>::new(), "{what}");
    }
}

/// What is wrong, and how many rules lead to it at least. The text of faults is looked for, since
/// they begin with a line and a column.
fn is_wrong(file: &str, given: Given, fault: &str, steps: usize) {
    let model = read(file, given);
    let report = run(&model, Symmetry::Exhaustive);
    let what = format!("{file} {given:?}");
    let shown = report.verdict.describe(&model);
    match report.verdict {
        Verdict::Fault { .. } => assert!(shown.ends_with(fault), "{what}: {shown}"),
        _ => assert_eq!(shown, fault, "{what}"),
    }
    let trace = report.trace.expect("a trace");
    let length = trace.steps.len() + usize::from(trace.failed.is_some());
    assert_eq!(length, steps, "{what}");
}

#[test]
fn peterson() {
    let file = "peterson.m";
    is_right(file, &[], [2559, 457]);
    is_wrong(
        file,
        &[("BUG", 1)],
        "invariant failed: mutual exclusion",
        18,
    );
    is_wrong(
        file,
        &[("BUG", 2)],
        "invariant failed: mutual exclusion",
        11,
    );
}

#[test]
fn german() {
    let file = "german.m";
    is_right(file, &[], [3390, 852]);
    let control = "invariant failed: an exclusive copy is the only copy";
    is_wrong(file, &[("BUG", 1)], control, 8);
    let data = "invariant failed: memory has the value that was written last";
    is_wrong(file, &[("BUG", 2)], data, 10);
}

#[test]
fn msi() {
    let file = "msi.m";
    is_right(file, &[], [1696, 429]);
    let writer = "invariant failed: one writer or any number of readers";
    is_wrong(file, &[("BUG", 1)], writer, 7);
    let memory = "invariant failed: memory has the value that was written last \
                  while no cache owns the line";
    is_wrong(file, &[("BUG", 2)], memory, 8);
    let unexpected = "error: a cache that is evicting does not expect this message";
    is_wrong(file, &[("BUG", 3)], unexpected, 8);
}

#[test]
fn mesi() {
    let file = "mesi.m";
    is_right(file, &[], [2462, 621]);
    let clean = "invariant failed: memory has the value of a clean copy";
    is_wrong(file, &[("BUG", 1)], clean, 4);
    let owner = "invariant failed: one owner or any number of readers";
    is_wrong(file, &[("BUG", 2)], owner, 14);
    let unexpected = "error: a cache that is evicting does not expect this message";
    is_wrong(file, &[("BUG", 3)], unexpected, 8);
}

#[test]
fn dekker_on_sequentially_consistent_memory() {
    let file = "dekker-sc.m";
    is_right(file, &[], [86, 86]);
    is_wrong(file, &[("BUG", 1)], "invariant failed: mutual exclusion", 4);
}

#[test]
fn dekker_with_store_buffers() {
    let file = "dekker-tso.m";
    is_right(file, &[], [324, 324]);
    is_wrong(
        file,
        &[("FENCES", 0)],
        "invariant failed: mutual exclusion",
        6,
    );
}
