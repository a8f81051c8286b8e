//! Pictures of one execution of a litmus test.
//!
//! [`svg`] and [`dot`] draw the graph of its events, [`step_table`] shows a run of the store-buffer
//! machine step by step, [`event_list`] is the witness as text. All of them use the same letters
//! for the events.
//!
//! Read in this order: [`words`] (the names of events, threads and values), `cycle_text`,
//! [`contents`] and [`metrics`] (what is written in the boxes, and how large that is), [`layout`]
//! (where everything is), `frame` (title, caption and legend), `svg`, `dot`, `steps`, `events`.
//!
//! The graph and its cycle come from [`event_graph`](fencepost_litmus::event_graph).
//! This module does not judge whether a model allows an execution; that is the task of
//! [`judge`](fencepost_litmus::judge).

pub mod contents;
mod cycle_text;
mod dot;
mod events;
mod frame;
pub mod layout;
pub mod metrics;
mod steps;
mod svg;
pub mod words;

use fencepost_litmus::run::Run;
use fencepost_memory::MemoryModel;

pub use cycle_text::cycle_text;
pub use dot::dot;
pub use events::event_list;
pub use steps::step_table;
pub use svg::svg;

/// The parts of a picture besides the events.
#[derive(Clone, Copy, Default, Debug)]
pub struct PictureOptions<'a> {
    /// The model that the execution is one of, for the title.
    pub model: Option<&'a MemoryModel>,
    /// The contents of [`Test::observables`](fencepost_litmus::test::Test::observables) at the end,
    /// for the title.
    pub final_state: Option<&'a [u64]>,
    /// A run of the machine that is this execution: events then have the numbers of its steps, as
    /// [`step_table`] has them.
    pub run: Option<&'a Run>,
}
