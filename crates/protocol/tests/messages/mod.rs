//! Each error with its message: source line, position, label and help.

mod names;
mod overrides;
mod statements;
mod syntax;
mod types;
mod warnings;

use fencepost_protocol::{Limits, Model};

/// The model is refused with exactly this message.
#[track_caller]
fn refused(model: &str, message: &str) {
    let error = match Model::read(model.as_bytes(), &[], &Limits::default()) {
        Ok(_) => panic!("the model is accepted"),
        Err(error) => error,
    };
    assert_eq!(error.render("model.m"), message.trim_matches('\n'));
}
