//! Models of other authors, with the results of CMurphi and Rumur.
//!
//! `FENCEPOST_MURPHI_CORPUS` is a directory with models and `expected.jsonl`: one object per line
//! with `file`, `tool`, `symmetry`, `verdict`, `states` and `rules_fired`. Without it, nothing is
//! tested. The compiled search has to find what they find on every model; the reference has to
//! agree with it wherever it ends within `FENCEPOST_MURPHI_STATES` states and
//! `FENCEPOST_MURPHI_SECONDS` seconds. `FENCEPOST_MURPHI_ONLY` is a part of the names of the models
//! to test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use fencepost_protocol::outcome::Verdict;
use fencepost_protocol::reference::{Options, ReferenceOutcome, Symmetry, search};
use fencepost_protocol::search as fast;
use fencepost_protocol::{Limits, Model};
use serde_json::Value;

struct Expected {
    is_symmetric: bool,
    verdict: String,
    states: u64,
    rules_fired: u64,
    tool: String,
}

fn expectations(directory: &Path) -> BTreeMap<String, Vec<Expected>> {
    let text = std::fs::read_to_string(directory.join("expected.jsonl")).expect("expectations");
    let mut all: BTreeMap<String, Vec<Expected>> = BTreeMap::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).expect("a row of JSON");
        let text = |key: &str| row[key].as_str().expect("a text").to_owned();
        let expected = Expected {
            is_symmetric: row["symmetry"].as_bool().expect("a boolean"),
            verdict: text("verdict"),
            states: row["states"].as_u64().expect("a number"),
            rules_fired: row["rules_fired"].as_u64().expect("a number"),
            tool: text("tool"),
        };
        all.entry(text("file")).or_default().push(expected);
    }
    all
}

/// The kinds of verdicts that the tools' texts can be mapped to.
fn kind_of(text: &str) -> &'static str {
    match text {
        "no error" => "no error",
        "deadlock" => "deadlock",
        _ if text.starts_with("invariant") => "invariant",
        _ => "fault",
    }
}

fn kind(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::NoError => "no error",
        Verdict::InvariantFailed(_) => "invariant",
        Verdict::Deadlock => "deadlock",
        Verdict::Incomplete(_) => "incomplete",
        _ => "fault",
    }
}

fn compiled(model: &Model, symmetry: Symmetry) -> fast::SearchOutcome {
    let options = fast::Options {
        symmetry: match symmetry {
            Symmetry::Off => fast::Symmetry::Off,
            Symmetry::Exhaustive => fast::Symmetry::Full,
        },
        workers: 2,
        // More than any model here has that the tools were run on without symmetry.
        max_states: 4_000_000,
        ..fast::Options::default()
    };
    fast::search(model, &options, &()).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// Where there is no error, everything is the same; otherwise what is found first may differ.
fn agree(found: &fast::SearchOutcome, expected: &ReferenceOutcome) -> bool {
    let counts = (found.states, found.rules_fired, found.depth);
    kind(&found.verdict) == kind(&expected.verdict)
        && (found.verdict != Verdict::NoError
            || counts == (expected.states, expected.rules_fired, expected.depth))
}

#[test]
fn verdicts_and_counts_are_those_of_the_tools() {
    let Some(directory) = std::env::var_os("FENCEPOST_MURPHI_CORPUS") else {
        return;
    };
    let directory = Path::new(&directory);
    let number = |name: &str, default: u64| match std::env::var(name) {
        Ok(number) => number.parse().expect("a number"),
        Err(_) => default,
    };
    let most = number("FENCEPOST_MURPHI_STATES", 60_000);
    let seconds = number("FENCEPOST_MURPHI_SECONDS", 10);
    let only = std::env::var("FENCEPOST_MURPHI_ONLY").unwrap_or_default();
    let mut wrong = BTreeSet::new();
    let expectations = expectations(directory);
    let mut files: BTreeSet<String> = expectations.keys().cloned().collect();
    for folder in std::fs::read_dir(directory).expect("the corpus").flatten() {
        for file in std::fs::read_dir(folder.path())
            .into_iter()
            .flatten()
            .flatten()
        {
            let path = file.path();
            if path.extension().is_some_and(|e| e == "m") {
                let name = path.strip_prefix(directory).expect("within the corpus");
                files.insert(name.to_string_lossy().into_owned());
            }
        }
    }
    for file in files.iter().filter(|file| file.contains(&only)) {
        let bytes = std::fs::read(directory.join(file)).expect("a model");
        let model = match Model::read(&bytes, &[], &Limits::default()) {
            Ok(model) => model,
            Err(error) => {
                println!("{}", error.render(file));
                wrong.insert(file.clone());
                continue;
            }
        };
        let has_scalarsets = !model.types.scalarsets().is_empty();
        for symmetry in [Symmetry::Off, Symmetry::Exhaustive] {
            if symmetry == Symmetry::Exhaustive && !has_scalarsets {
                continue;
            }
            let rows = expectations.get(file).map_or(&[][..], Vec::as_slice);
            let is_exact = |row: &&Expected| {
                symmetry == Symmetry::Off && (!row.is_symmetric || !has_scalarsets)
            };
            let exact: Vec<&Expected> = rows.iter().filter(is_exact).collect();
            let report = compiled(&model, symmetry);
            let shown = report.verdict.describe(&model);
            println!(
                "{file} {symmetry:?}: {shown}: {} states, {} rules fired, depth {}",
                report.states, report.rules_fired, report.depth
            );
            if kind(&report.verdict) == "incomplete" && exact.is_empty() {
                continue;
            }
            let begin = Instant::now();
            let options = Options {
                symmetry,
                max_states: most,
                max_time: Some(Duration::from_secs(seconds)),
                ..Options::default()
            };
            let slow = search(&model, &options);
            let taken = begin.elapsed().as_secs_f64();
            if kind(&slow.verdict) == "incomplete" {
                println!("  too large for the reference, {taken:.1} s");
            } else if !agree(&report, &slow) {
                println!("  the reference says: {}", slow.verdict.describe(&model));
                println!("  and counts {} and {}", slow.states, slow.rules_fired);
                wrong.insert(file.clone());
            }
            let found = kind(&report.verdict);
            for row in rows {
                let other_name =
                    row.tool == "cmurphi" && found == "invariant" && row.verdict != shown;
                if kind_of(&row.verdict) != found || other_name {
                    println!("  {} says: {}", row.tool, row.verdict);
                    wrong.insert(file.clone());
                }
            }
            for row in exact {
                // Where a search ends at an error, the counts depend on its order.
                let counts = (report.states, report.rules_fired);
                if found == "no error" && counts != (row.states, row.rules_fired) {
                    println!(
                        "  {} counts {} and {}",
                        row.tool, row.states, row.rules_fired
                    );
                    wrong.insert(file.clone());
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
