//! The search through all states of a model.
//!
//! Read in this order: [`Options`], [`Watch`], [`Report`], then `worker` (one thread: a state, its
//! rules, what is new), `breadth` (nearest states first), `control` (time, progress, being told to
//! end), `retrace` (the way to an error), and [`search`](search()).
//!
//! Whatever is reported was found twice: compiled code found it, and the reference interpreter
//! found it again. Only "no error" rests on compiled code alone, which tests compare with the
//! reference.

mod breadth;
mod control;
mod options;
mod report;
pub(crate) mod retrace;
mod worker;

pub use options::{Options, Order, Symmetry};
pub use report::{Progress, Refusal, Report, Watch};

use breadth::{Breadth, Ended};
use control::Control;
use retrace::Retrace;
use worker::{Plan, Trouble};

use crate::compile::Program;
use crate::model::Model;
use crate::model::points::{PointId, PointKind};
use crate::reference::{self, Bound, Instance, Stepper, Verdict};
use crate::state::Store;
use crate::state::store::Full;

/// Searches a model.
///
/// ```
/// use fencepost_protocol::reference::Verdict;
/// use fencepost_protocol::search::{Options, search};
/// use fencepost_protocol::{Limits, Model};
///
/// let text = b"var x: 0..3;
///              startstate x := 0; end;
///              rule \"step\" x < 3 ==> x := x + 1; end;
///              rule \"back\" x := 0; end;";
/// let model = Model::read(text, &[], &Limits::default()).unwrap();
/// let report = search(&model, &Options::default(), &()).unwrap();
/// assert_eq!(report.verdict, Verdict::NoError);
/// assert_eq!((report.states, report.rules_fired, report.depth), (4, 7, 3));
/// ```
pub fn search(model: &Model, options: &Options, watch: &dyn Watch) -> Result<Report, Refusal> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(breadth::STACK_BYTES);
        let thread = builder.spawn_scoped(scope, || search_here(model, options, watch));
        match thread.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(report)) => report,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(error) => Err(Refusal {
                message: format!("no thread can be started: {error}"),
                span: None,
            }),
        }
    })
}

fn search_here(model: &Model, options: &Options, watch: &dyn Watch) -> Result<Report, Refusal> {
    let control = Control::new(watch, options.time);
    let program = Program::new(model, options.coverage, options.rounds)?;
    let plan = Plan::new(model, program, options);
    let store = Store::new(plan.width());
    let slow = reference::Options {
        deadlock: options.deadlock,
        rounds: options.rounds,
        ..reference::Options::default()
    };
    let mut stepper = Stepper::new(model, &slow);
    let starts = match stepper.startstates() {
        Ok(starts) => starts,
        Err(judgement) => return Ok(ended_early(model, options, judgement.verdict)),
    };
    let numbered: Vec<(usize, Vec<i64>)> = starts
        .iter()
        .map(|start| (start.index, start.parameters.clone()))
        .collect();
    let breadth = Breadth {
        plan: &plan,
        store: &store,
        control: &control,
        depth_allowed: options.depth,
    };
    let ended = control.watched(&store, || breadth.run(&numbered));
    let (verdict, trace) = match &ended.trouble {
        None => (no_error(model, &ended.hits), None),
        Some(trouble) => match bound(trouble, &control) {
            Some(bound) => (Verdict::Incomplete(bound), None),
            None => {
                let mut retrace = Retrace::new(&plan, &store, stepper);
                match trouble {
                    Trouble::Start { index, parameters } => retrace.start(&Instance {
                        index: *index,
                        parameters: parameters.clone(),
                    })?,
                    Trouble::At(number) => retrace.to(*number, &starts)?,
                    _ => (Verdict::Incomplete(Bound::Stopped), None),
                }
            }
        },
    };
    let Ended {
        depth,
        rules_fired,
        hits,
        ..
    } = ended;
    Ok(Report {
        verdict,
        states: store.count(),
        rules_fired,
        depth,
        workers: plan.workers,
        memory: store.most_bytes(),
        omission: options.compact.then(|| omission(store.count())),
        hits,
        trace,
    })
}

/// The bound that was reached, unless it is an error of the model.
fn bound(trouble: &Trouble, control: &Control<'_>) -> Option<Bound> {
    match trouble {
        Trouble::At(_) | Trouble::Start { .. } => None,
        Trouble::Stopped => Some(control.reason()),
        Trouble::Full(Full::Memory) => Some(Bound::Memory),
        Trouble::Full(Full::Numbers) | Trouble::States => Some(Bound::States),
        Trouble::Depth => Some(Bound::Depth),
    }
}

/// Nothing is wrong with any state; a cover may be.
fn no_error(model: &Model, hits: &[u64]) -> Verdict {
    let mut points = model.points.iter().zip(hits).enumerate();
    let missed = points.find(|(_, (point, hits))| point.kind == PointKind::Cover && **hits == 0);
    match missed {
        Some((id, _)) => Verdict::CoverMissed(PointId(id as u32)),
        None => Verdict::NoError,
    }
}

/// A bound for the probability that two of so many states have the same 128 bits.
fn omission(states: u64) -> f64 {
    let states = states as f64;
    (states * states / 2.0) * 2.0_f64.powi(-128)
}

fn ended_early(model: &Model, options: &Options, verdict: Verdict) -> Report {
    Report {
        verdict,
        states: 0,
        rules_fired: 0,
        depth: 0,
        workers: options.workers.max(1),
        memory: 0,
        omission: None,
        hits: vec![0; model.points.len()],
        trace: None,
    }
}
