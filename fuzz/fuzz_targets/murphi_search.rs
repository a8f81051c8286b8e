//! Any bytes that are a Murphi model: compiled code finds what the reference interpreter finds.
//!
//! Few bytes are a model, so that inputs are also changed word by word, and made by the generator
//! of the tests: see `words`.
//!
//! ```text
//! cargo +nightly fuzz run murphi_search fuzz/corpus/murphi_search models -- -max_len=6000 -mutate_depth=2
//! ```

#![no_main]

// The tests make two kinds of models with it, this target makes one.
#[path = "../../crates/protocol/src/compile/tests/generate.rs"]
mod generate;
mod words;

use std::time::Duration;

use fencepost_protocol::model::{Binding, Rule};
use fencepost_protocol::outcome::{Bound, DeadlockRule, Verdict};
use fencepost_protocol::reference;
use fencepost_protocol::search::{Options, SearchErrorKind, Symmetry, search};
use fencepost_protocol::{Limits, Model};
use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target, fuzzer_mutate};

/// In bytes. Larger models are searched too slowly to learn much.
const LARGEST_MODEL: usize = 10_000;

fuzz_target!(|bytes: &[u8]| -> Corpus {
    // What is no model is not changed further: `murphi_reader` does that.
    let Some(model) = read(bytes) else {
        return Corpus::Reject;
    };
    // Most models have a deadlock soon; what is behind it matters, too.
    if compare(&model, DeadlockRule::Stuttering) == Some(Verdict::Deadlock) {
        compare(&model, DeadlockRule::Off);
    }
    Corpus::Keep
});

fn read(bytes: &[u8]) -> Option<Model> {
    let limits = Limits {
        bytes: LARGEST_MODEL,
        cells: 10_000,
        instances: 10_000,
        ..Limits::default()
    };
    Model::read(bytes, &[], &limits).ok()
}

/// The results of both engines; none if one of them did not finish.
fn compare(model: &Model, deadlock: DeadlockRule) -> Option<Verdict> {
    let time = Some(Duration::from_millis(500));
    let (states, rounds) = (100, 20);
    let slow = reference::Options {
        deadlock,
        max_states: states,
        max_time: time,
        max_loop_iterations: rounds,
        ..reference::Options::default()
    };
    let fast = Options {
        symmetry: Symmetry::Off,
        deadlock,
        max_states: states,
        max_time: time,
        max_loop_iterations: rounds,
        coverage: true,
        ..Options::default()
    };
    let expected = reference::search(model, &slow);
    let found = match search(model, &fast, &()) {
        Ok(found) => found,
        // A range is too wide or the state too large, which is said.
        Err(refusal) => {
            assert_eq!(refusal.kind, SearchErrorKind::Model, "{refusal}");
            return None;
        }
    };
    let is_late = |verdict: &Verdict| *verdict == Verdict::Incomplete(Bound::Time);
    if is_late(&expected.verdict) || is_late(&found.verdict) {
        return None;
    }
    // Which element of a multiset is first differs between states that are equal otherwise, and
    // with it the first fault of several.
    match model.rules.iter().any(chooses) {
        true => assert_eq!(
            std::mem::discriminant(&found.verdict),
            std::mem::discriminant(&expected.verdict)
        ),
        false => assert_eq!(found.verdict, expected.verdict),
    }
    assert_eq!(found.states, expected.states);
    let length =
        |trace: &Option<fencepost_protocol::outcome::Trace>| trace.as_ref().map(|t| t.steps.len());
    assert_eq!(length(&found.trace), length(&expected.trace));
    if found.verdict == Verdict::NoError {
        assert_eq!(found.rules_fired, expected.rules_fired);
        assert_eq!(found.depth, expected.depth);
        assert_eq!(found.hits, expected.hits);
    }
    Some(found.verdict)
}

fn chooses(rule: &Rule) -> bool {
    let mut bindings = rule.bindings.iter();
    bindings.any(|binding| matches!(binding, Binding::Chosen { .. }))
}

/// How often a model is changed again if the result is not a model.
const ATTEMPTS: u64 = 16;

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let changed = match std::str::from_utf8(&data[..size]) {
        _ if seed % 64 == 0 => Some(generate::Generator::new(seed.into(), false).model()),
        // Now and then anything.
        Ok(text) if seed % 16 != 1 => (0..ATTEMPTS)
            .filter_map(|attempt| words::change(text, attempt << 32 | u64::from(seed)))
            .find(|text| text.len() <= max_size && read(text.as_bytes()).is_some()),
        _ => None,
    };
    match changed {
        Some(text) if text.len() <= max_size => {
            data[..text.len()].copy_from_slice(text.as_bytes());
            text.len()
        }
        _ => fuzzer_mutate(data, size, max_size),
    }
});
