//! Models that were searched.

use std::path::Path;

use fencepost_protocol::reference::Deadlock;
use fencepost_protocol::search::{Options, Report, search};
use fencepost_protocol::{Limits, Model};
use fencepost_report::protocol::Checked;

/// A model and what came of searching it.
pub struct Searched {
    pub file: String,
    pub model: Model,
    pub report: Report,
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
            deadlock: Deadlock::Off,
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
        let report = search(&model, options, &()).expect("it can be searched");
        Searched {
            file: file.into(),
            model,
            report,
        }
    }

    pub fn checked(&self) -> Checked<'_> {
        Checked {
            model: &self.model,
            report: &self.report,
            file: &self.file,
            seconds: 0.05,
            replay: "fencepost protocol model.m",
        }
    }
}
