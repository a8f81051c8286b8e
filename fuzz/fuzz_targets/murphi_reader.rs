//! Any bytes, read as a Murphi model: an error with its position, or a model that can be searched.
//!
//! ```text
//! cargo +nightly fuzz run murphi_reader fuzz/corpus/murphi_reader models -- -dict=fuzz/murphi.dict
//! ```

#![no_main]

use std::time::Duration;

use fencepost_protocol::reference::{Options, Symmetry, search};
use fencepost_protocol::{Limits, Model};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // A value that is given for a constant is an error in models that have no such constant.
    look_at(bytes, &[]);
    look_at(bytes, &[("N".into(), 3)]);
});

fn look_at(bytes: &[u8], given: &[(String, i64)]) {
    let limits = Limits {
        cells: 10_000,
        instances: 10_000,
        ..Limits::default()
    };
    let model = match Model::read(bytes, given, &limits) {
        Ok(model) => model,
        Err(error) => {
            assert!(!error.errors.is_empty());
            assert!(!error.to_string().is_empty());
            assert!(!error.render("fuzz").is_empty());
            return;
        }
    };
    for warning in &model.warnings {
        assert!(!warning.render_warning("fuzz").is_empty());
    }
    for symmetry in [Symmetry::Off, Symmetry::Exhaustive] {
        let options = Options {
            symmetry,
            max_states: 100,
            max_time: Some(Duration::from_millis(100)),
            ..Options::default()
        };
        let report = search(&model, &options);
        assert!(!report.verdict.describe(&model).is_empty());
        if let Some(trace) = &report.trace {
            assert!(trace.render(&model).starts_with("start: "));
        }
    }
}
