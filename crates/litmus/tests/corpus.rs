//! Agreement with a corpus of tests whose final states are known, where one is at hand.
//!
//! `FENCEPOST_LITMUS_CORPUS` names a directory with litmus tests and a file `expected.jsonl`, whose
//! lines have `file`, `model`, `states` and `verdict`. Without it there is nothing to do.

use std::collections::BTreeSet;
use std::path::PathBuf;

use fencepost_litmus::answer::{Options, answer};
use fencepost_litmus::log::parse_state;
use fencepost_litmus::{Limits, machine, parse};
use fencepost_memory::MemoryModel;

#[test]
fn final_states_and_verdicts_are_as_expected() {
    let Some(directory) = std::env::var_os("FENCEPOST_LITMUS_CORPUS").map(PathBuf::from) else {
        return;
    };
    let expected = std::fs::read_to_string(directory.join("expected.jsonl")).expect("a list");
    let options = Options {
        limits: machine::Limits::default(),
        cross_check: std::env::var_os("FENCEPOST_CROSS_CHECK").is_some(),
    };
    let mut wrong = Vec::new();
    let mut rows = 0;
    for line in expected.lines() {
        let row: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let file = row["file"].as_str().expect("a file");
        let model = match row["model"].as_str() {
            Some("sc") => MemoryModel::SC,
            Some("tso") => MemoryModel::TSO,
            Some("pso") => MemoryModel::PSO,
            other => panic!("{other:?} is no model"),
        };
        let bytes = std::fs::read(directory.join(file)).expect("a test");
        let test = match parse(&bytes, &Limits::default()) {
            Ok(test) => test,
            Err(error) => panic!("{}", error.render(file)),
        };
        let answer = answer(&test, &model, &options).unwrap_or_else(|e| panic!("{file}: {e}"));
        let states = row["states"].as_array().expect("states").iter();
        let states: BTreeSet<_> = states.map(|s| parse_state(s.as_str().unwrap())).collect();
        let shown = answer
            .states
            .iter()
            .map(|s| parse_state(&test.format_state(&s.contents)));
        let is_same = shown.collect::<BTreeSet<_>>() == states
            && row["verdict"].as_str() == Some(answer.verdict().name())
            && row["observation"].as_str() == Some(answer.observation().name());
        if !is_same {
            wrong.push(format!("{file} under {}", model.name()));
        }
        rows += 1;
    }
    assert!(
        wrong.is_empty(),
        "{} of {rows} differ: {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(20)]
    );
    println!("{rows} rows agree");
}
