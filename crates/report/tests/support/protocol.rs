//! Models that were searched.

use std::path::Path;

use fencepost_protocol::outcome::DeadlockRule;
use fencepost_protocol::reference;
use fencepost_protocol::search::{Options, SearchOutcome, Symmetry, search};
use fencepost_protocol::{Limits, Model};
use fencepost_report::protocol::SearchedModel;

/// A model and what came of searching it.
pub struct Searched {
    pub file: String,
    pub model: Model,
    pub report: SearchOutcome,
}

impl Searched {
    /// A model of `tests/data`.
    pub fn file(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        let text = std::fs::read_to_string(path.join(name)).expect("a model");
        Searched::text(name, &text)
    }

    /// A model, without deadlocks.
    #[track_caller]
    pub fn text(file: &str, text: &str) -> Self {
        let options = Options {
            deadlock: DeadlockRule::Off,
            ..Options::default()
        };
        Searched::with(file, text, &options)
    }

    #[track_caller]
    pub fn with(file: &str, text: &str, options: &Options) -> Self {
        let model = match Model::read(text.as_bytes(), &[], &Limits::default()) {
            Ok(model) => model,
            Err(error) => panic!("{}", error.render(file)),
        };
        let mut report = search(&model, options, &()).expect("it can be searched");
        // Of several shortest traces the reference search always finds the same one.
        let found = reference::search(
            &model,
            &reference::Options {
                deadlock: options.deadlock,
                symmetry: match options.symmetry {
                    Symmetry::Off => reference::Symmetry::Off,
                    Symmetry::Fast | Symmetry::Full => reference::Symmetry::Exhaustive,
                },
                ..reference::Options::default()
            },
        );
        (report.verdict, report.trace, report.hits) = (found.verdict, found.trace, found.hits);
        (report.states, report.rules_fired) = (found.states, found.rules_fired);
        (report.depth, report.workers, report.memory) = (found.depth, 1, 0);
        Searched {
            file: file.into(),
            model,
            report,
        }
    }

    pub fn checked(&self) -> SearchedModel<'_> {
        SearchedModel {
            model: &self.model,
            report: &self.report,
            file: &self.file,
            seconds: 0.05,
            replay: "fencepost protocol model.m",
            checkpoint_error: None,
        }
    }
}
