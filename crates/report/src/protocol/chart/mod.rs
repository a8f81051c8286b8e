//! The way to an error as a picture: a sequence chart.
//!
//! Nodes are columns and time goes down. A message is an arrow from the step that sends it to the
//! step that receives it, and what a step changes at a node is a note in the node's column. Where a
//! model has no messages, the notes are left: a table of what changed, step by step.
//!
//! A model does not say what its messages and nodes are. `sites` finds messages by their type, and
//! `nodes` then decides what is a node; `senders` tells the two ends of a channel without addresses
//! apart; `flow` follows messages through a trace; `layout` says where all is, and `draw` writes it
//! as SVG.

mod draw;
mod flow;
mod layout;
#[cfg(test)]
mod layout_tests;
mod nodes;
mod senders;
mod sites;
mod style;

use super::SearchedModel;

pub use draw::svg;
pub use flow::{Flow, Message, Note, flow};

/// The largest number of steps; longer traces lose their beginning.
pub const MAX_STEPS: usize = 150;

/// The title of a chart.
fn title(checked: &SearchedModel<'_>) -> String {
    let given = checked.model.constants.iter().filter(|each| each.is_given);
    let given: Vec<String> = given
        .map(|each| format!("{}={}", each.name, each.value))
        .collect();
    let with = match given.is_empty() {
        true => String::new(),
        false => format!(" with {}", given.join(", ")),
    };
    format!("{}{with}: {}", checked.file, super::headline(checked))
}
