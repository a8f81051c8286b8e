//! Any bytes that are a Murphi model: compiled code finds what the reference interpreter finds.
//!
//! ```text
//! cargo +nightly fuzz run murphi_search fuzz/corpus/murphi_search
//! ```

#![no_main]

use std::time::Duration;

use fencepost_protocol::reference::{self, Verdict};
use fencepost_protocol::search::{Options, Symmetry, search};
use fencepost_protocol::{Limits, Model};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits {
        bytes: 10_000,
        cells: 10_000,
        instances: 10_000,
        ..Limits::default()
    };
    let Ok(model) = Model::read(bytes, &[("N".into(), 3)], &limits) else {
        return;
    };
    let time = Some(Duration::from_millis(500));
    let slow = reference::Options {
        states: 100,
        time,
        ..reference::Options::default()
    };
    let fast = Options {
        symmetry: Symmetry::Off,
        states: 100,
        time,
        coverage: true,
        ..Options::default()
    };
    let expected = reference::search(&model, &slow);
    // Nothing if a range is too wide or the state too large, which is said.
    let Ok(found) = search(&model, &fast, &()) else {
        return;
    };
    let is_late = |verdict: &Verdict| {
        matches!(verdict, Verdict::Incomplete(reference::Bound::Time))
    };
    if is_late(&expected.verdict) || is_late(&found.verdict) {
        return;
    }
    assert_eq!(found.verdict, expected.verdict);
    assert_eq!(found.states, expected.states);
    if found.verdict == Verdict::NoError {
        assert_eq!(found.rules_fired, expected.rules_fired);
        assert_eq!(found.hits, expected.hits);
    }
});
