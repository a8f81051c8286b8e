//! The search through all states of a model.
//!
//! Read in this order: [`Options`], [`SearchCallbacks`], [`SearchOutcome`], then `worker` (expands
//! states), `symmetric` (tests that the model is symmetric), `breadth` (breadth-first search),
//! `depth` and `walks` (depth-first search and random walks), `control` (limits and progress),
//! `checkpoint` (saved searches), `retrace` (counterexamples), and [`search`](search()).
//!
//! Every reported error is found twice: by compiled code, and by the reference interpreter, which
//! replays the counterexample. Only "no error" relies on compiled code alone; tests compare that
//! with the reference.

mod breadth;
mod callbacks;
mod checkpoint;
mod control;
mod depth;
mod options;
mod outcome;
pub(crate) mod retrace;
mod symmetric;
mod walks;
mod worker;

pub use callbacks::{SearchCallbacks, SearchProgress};
pub use checkpoint::SearchCheckpoint;
pub use options::{Options, SearchOrder, Symmetry};
pub use outcome::{SearchError, SearchErrorKind, SearchOutcome};

use std::io::Read;

use breadth::{Breadth, SearchEnd, Stage};
use control::Control;
use depth::Depth;
use retrace::{Retrace, RetraceResult};
use symmetric::AsymmetricItem;
use walks::Walks;
use worker::{Plan, StopReason};

use crate::compile::Program;
use crate::model::Model;
use crate::model::points::{PointId, PointKind};
use crate::outcome::{Bound, Instance, Verdict};
use crate::reference::{self, Stepper};
use crate::state::Store;
use crate::state::store::StoreFull;

/// Searches a model.
///
/// ```
/// use fencepost_protocol::outcome::Verdict;
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
pub fn search(
    model: &Model,
    options: &Options,
    callbacks: &dyn SearchCallbacks,
) -> Result<SearchOutcome, SearchError> {
    search_from(model, options, callbacks, None)
}

/// Resumes a breadth-first search that [`SearchCallbacks::checkpoint`] saved.
pub fn resume(
    model: &Model,
    options: &Options,
    callbacks: &dyn SearchCallbacks,
    saved: &mut (dyn Read + Send),
) -> Result<SearchOutcome, SearchError> {
    match options.order {
        SearchOrder::BreadthFirst => search_from(model, options, callbacks, Some(saved)),
        _ => Err(SearchError {
            message: "only a breadth-first search can be resumed".into(),
            span: None,
            help: None,
            kind: SearchErrorKind::Model,
        }),
    }
}

fn search_from(
    model: &Model,
    options: &Options,
    callbacks: &dyn SearchCallbacks,
    saved: Option<&mut (dyn Read + Send)>,
) -> Result<SearchOutcome, SearchError> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(breadth::STACK_BYTES);
        let thread = builder.spawn_scoped(scope, || search_here(model, options, callbacks, saved));
        match thread.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(report)) => report,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(error) => Err(SearchError {
                message: format!("cannot start a thread: {error}"),
                span: None,
                help: None,
                kind: SearchErrorKind::Model,
            }),
        }
    })
}

fn search_here(
    model: &Model,
    options: &Options,
    callbacks: &dyn SearchCallbacks,
    saved: Option<&mut (dyn Read + Send)>,
) -> Result<SearchOutcome, SearchError> {
    let is_breadth_first = options.order == SearchOrder::BreadthFirst;
    let checkpoint_interval = options.checkpoint_interval.filter(|_| is_breadth_first);
    let control = Control::new(callbacks, options.max_time, checkpoint_interval);
    let program = Program::new(model, options.coverage, options.max_loop_iterations)?;
    let plan = Plan::new(model, program, options);
    let store = Store::new(plan.width());
    let slow = reference::Options {
        deadlock: options.deadlock,
        max_loop_iterations: options.max_loop_iterations,
        ..reference::Options::default()
    };
    let mut stepper = Stepper::new(model, &slow);
    let starts = match stepper.startstates() {
        Ok(starts) => starts,
        Err(judgement) => return Ok(failed_start(model, options, judgement.verdict)),
    };
    let numbered: Vec<(usize, Vec<i64>)> = starts
        .iter()
        .map(|start| (start.index, start.parameters.clone()))
        .collect();
    let run = Run {
        plan: &plan,
        store: &store,
        control: &control,
        options,
        starts: &starts,
        numbered: &numbered,
    };
    match options.order {
        SearchOrder::Random { seed, walks, steps } => run.random_walks(seed, walks, steps, stepper),
        SearchOrder::BreadthFirst | SearchOrder::DepthFirst => run.all_states(saved, stepper),
    }
}

/// A search whose model is compiled and whose start states are known.
struct Run<'p, 'm> {
    plan: &'p Plan<'m>,
    store: &'p Store,
    control: &'p Control<'p>,
    options: &'p Options,
    starts: &'p [Instance],
    /// The start states by index and parameters.
    numbered: &'p [(usize, Vec<i64>)],
}

impl<'m> Run<'_, 'm> {
    fn random_walks(
        &self,
        seed: u64,
        walks: u64,
        steps: u64,
        stepper: Stepper<'m>,
    ) -> Result<SearchOutcome, SearchError> {
        let walks = Walks {
            plan: self.plan,
            control: self.control,
            seed,
            walks,
            steps,
        };
        let walked = self
            .control
            .monitored(self.store, || walks.run(self.numbered));
        let mut retrace = Retrace::new(self.plan, self.store, stepper).of_unreduced_states();
        let (verdict, trace) = match (&walked.path, &walked.reason) {
            (Some(path), _) => retrace.along(path, self.starts)?,
            (None, Some(reason)) => judge_stop(reason, self.control, &mut retrace, self.starts)?,
            (None, None) => (Verdict::Incomplete(Bound::Walks), None),
        };
        Ok(SearchOutcome {
            verdict,
            states: walked.states,
            resumed_states: 0,
            rules_fired: walked.rules_fired,
            depth: walked.depth,
            covered: None,
            symmetry: None,
            workers: self.plan.workers,
            memory: 0,
            omission: None,
            hits: walked.hits,
            trace,
        })
    }

    fn all_states(
        &self,
        saved: Option<&mut (dyn Read + Send)>,
        stepper: Stepper<'m>,
    ) -> Result<SearchOutcome, SearchError> {
        let (plan, store, options) = (self.plan, self.store, self.options);
        let stage = match saved {
            Some(saved) => Some(checkpoint::load(plan, store, saved)?),
            None => None,
        };
        let resumed_states = store.count();
        let ended = self.control.monitored(store, || self.explore(stage));
        let (verdict, trace) = match &ended.reason {
            None => (verdict_without_error(plan.model, &ended.hits), None),
            Some(reason) => {
                let mut retrace = Retrace::new(plan, store, stepper);
                judge_stop(reason, self.control, &mut retrace, self.starts)?
            }
        };
        let SearchEnd {
            depth,
            covered,
            rules_fired,
            hits,
            ..
        } = ended;
        Ok(SearchOutcome {
            verdict,
            states: store.count(),
            resumed_states,
            rules_fired,
            depth,
            covered,
            symmetry: plan.canonical().map(|_| options.symmetry),
            workers: match options.order {
                SearchOrder::DepthFirst => 1,
                _ => plan.workers,
            },
            memory: store.most_bytes(),
            omission: options.hash_compaction.then(|| omission(store.count())),
            hits,
            trace,
        })
    }

    /// Explores all states, from the start states or from a saved stage.
    fn explore(&self, stage: Option<Stage>) -> SearchEnd {
        let (plan, store, control) = (self.plan, self.store, self.control);
        let depth_allowed = self.options.max_depth;
        if self.options.order == SearchOrder::DepthFirst {
            let depth = Depth {
                plan,
                store,
                control,
                depth_allowed,
            };
            return depth.run(self.numbered);
        }
        let breadth = Breadth {
            plan,
            store,
            control,
            depth_allowed,
        };
        match stage {
            Some(stage) => breadth.resume(stage),
            None => breadth.run(self.numbered),
        }
    }
}

/// The verdict and the trace of a search that stopped, according to the reference interpreter.
fn judge_stop(
    reason: &StopReason,
    control: &Control<'_>,
    retrace: &mut Retrace<'_, '_>,
    starts: &[Instance],
) -> RetraceResult {
    match reason {
        StopReason::Start { index, parameters } => retrace.start(&Instance {
            index: *index,
            parameters: parameters.clone(),
        }),
        StopReason::At(number) => retrace.to(*number, starts),
        StopReason::AsymmetricItem(asymmetric) => {
            let (what, span) = match *asymmetric {
                AsymmetricItem::Rule(rule) => ("rule", retrace.rule_span(rule)),
                AsymmetricItem::Property(property) => ("property", retrace.property_span(property)),
            };
            Err(SearchError {
                message: format!(
                    "this {what} is not symmetric: it treats the values of a scalarset differently, \
                     as a loop does that depends on their order"
                ),
                span: Some(span),
                help: Some("search without symmetry: --symmetry off"),
                kind: SearchErrorKind::Model,
            })
        }
        other => Ok((Verdict::Incomplete(bound(other, control)), None)),
    }
}

/// The bound that was reached.
fn bound(reason: &StopReason, control: &Control<'_>) -> Bound {
    match reason {
        StopReason::StoreFull(StoreFull::Memory) => Bound::Memory,
        StopReason::StoreFull(StoreFull::Numbers) | StopReason::States => Bound::States,
        StopReason::Depth => Bound::Depth,
        _ => control.reason(),
    }
}

/// The verdict of a search without errors: a cover property may have been missed.
fn verdict_without_error(model: &Model, hits: &[u64]) -> Verdict {
    let mut points = model.points.iter().zip(hits).enumerate();
    let missed = points.find(|(_, (point, hits))| point.kind == PointKind::Cover && **hits == 0);
    match missed {
        Some((id, _)) => Verdict::CoverMissed(PointId(id as u32)),
        None => Verdict::NoError,
    }
}

/// An upper bound on the probability that two of `states` states have the same 128-bit fingerprint.
fn omission(states: u64) -> f64 {
    let states = states as f64;
    (states * states / 2.0) * 2.0_f64.powi(-128)
}

fn failed_start(model: &Model, options: &Options, verdict: Verdict) -> SearchOutcome {
    SearchOutcome {
        verdict,
        states: 0,
        resumed_states: 0,
        rules_fired: 0,
        depth: 0,
        covered: None,
        symmetry: None,
        workers: options.workers.max(1),
        memory: 0,
        omission: None,
        hits: vec![0; model.points.len()],
        trace: None,
    }
}
