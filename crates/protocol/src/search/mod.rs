//! The search through all states of a model, as it is used.
//!
//! Read in this order: [`Options`], [`Watch`], [`Report`], then [`search`](search()).

mod options;
mod report;

pub use options::{Options, Order, Symmetry};
pub use report::{Progress, Refusal, Report, Watch};

use crate::model::Model;
use crate::reference;

/// Searches a model.
pub fn search(model: &Model, options: &Options, watch: &dyn Watch) -> Result<Report, Refusal> {
    let _ = watch;
    let slow = reference::Options {
        deadlock: options.deadlock,
        symmetry: match options.symmetry {
            Symmetry::Off => reference::Symmetry::Off,
            Symmetry::Fast | Symmetry::Full => reference::Symmetry::Exhaustive,
        },
        states: options.states,
        time: options.time,
        rounds: options.rounds,
    };
    let found = reference::search(model, &slow);
    Ok(Report {
        verdict: found.verdict,
        states: found.states,
        rules_fired: found.rules_fired,
        depth: found.depth,
        workers: 1,
        memory: 0,
        omission: None,
        hits: found.hits,
        trace: found.trace,
    })
}
