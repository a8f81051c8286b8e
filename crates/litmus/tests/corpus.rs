//! Both engines against the published results of a directory of tests, if `FENCEPOST_LITMUS_CORPUS` names
//! one. It has a file `expected.jsonl` with a line for each test and model:
//! `{"file": "…", "model": "sc" | "tso" | "pso", "states": ["0:EAX=0; [x]=1;", …], …}`.

use std::collections::BTreeSet;
use std::path::Path;

use fencepost_litmus::test::Test;
use fencepost_litmus::{Limits, axioms, judge, machine, parse};
use fencepost_memory::MemoryModel;

/// The strings of a line of JSON, after a key. Enough for lines without escapes.
fn strings_after<'l>(line: &'l str, key: &str) -> Vec<&'l str> {
    let quoted = format!("\"{key}\":");
    let Some(start) = line.find(&quoted) else {
        return Vec::new();
    };
    let rest = line[start + quoted.len()..].trim_start();
    match rest.strip_prefix('[') {
        None => rest.split('"').skip(1).take(1).collect(),
        Some(list) => {
            let list = &list[..list.find("\"]").map_or(0, |end| end + 1)];
            list.split('"').skip(1).step_by(2).collect()
        }
    }
}

fn formatted(test: &Test, states: impl Iterator<Item = Vec<u64>>) -> BTreeSet<String> {
    states
        .filter(|state| test.passes_filter(state))
        .map(|state| test.format_state(&state))
        .collect()
}

#[test]
fn both_engines_find_the_published_states() {
    let Ok(directory) = std::env::var("FENCEPOST_LITMUS_CORPUS") else {
        return;
    };
    let directory = Path::new(&directory);
    let expected = std::fs::read_to_string(directory.join("expected.jsonl")).expect("readable");
    let mut rows = 0;
    for line in expected.lines() {
        let file = strings_after(line, "file")[0];
        let name = strings_after(line, "model")[0];
        let model = MemoryModel::ALL
            .iter()
            .find(|model| model.name() == name)
            .expect("a model");
        let bytes = std::fs::read(directory.join(file)).expect("readable");
        let test = parse(&bytes, &Limits::default()).unwrap_or_else(|e| panic!("{file}: {e}"));
        let published: BTreeSet<String> = strings_after(line, "states")
            .into_iter()
            .map(str::to_owned)
            .collect();
        let found = machine::explore(&test, model, &machine::Limits::default()).unwrap();
        let of_machine = formatted(&test, found.final_states());
        assert_eq!(of_machine, published, "machine, {file}, {name}");
        let mut states = Vec::new();
        axioms::explore_with(&test, model, &axioms::Limits::default(), |found| {
            let judged = judge::check(&test, model, &found.execution());
            assert_eq!(judged.unwrap().observed(&test), found.observed(), "{file}");
            states.push(found.observed());
        })
        .unwrap();
        let of_axioms = formatted(&test, states.into_iter());
        assert_eq!(of_axioms, published, "axioms, {file}, {name}");
        rows += 1;
    }
    println!("{rows} rows");
    assert!(rows > 0, "nothing to compare");
}
