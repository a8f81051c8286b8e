//! Counterexamples, replayed by the reference interpreter.
//!
//! The search knows the path of states to the error, up to symmetry. The reference interpreter
//! replays it and determines the error in its last state. If it cannot follow the path, or finds no
//! error, the search fails with an internal error.

use super::worker::Plan;
use super::{SearchError, SearchErrorKind};
use crate::compile::Layout;
use crate::model::types::{TypeId, TypeKind, Types};
use crate::outcome::Value;
use crate::outcome::{Instance, Verdict};
use crate::outcome::{Step, Trace};
use crate::reference::{Judgement, Stepper};
use crate::source::Span;
use crate::state::store::{Number, fingerprint};
use crate::state::{Canonical, Store, bytes_of_mut};

/// A verdict and its trace.
pub(super) type RetraceResult = Result<(Verdict, Option<Trace>), SearchError>;

pub(super) struct Retrace<'p, 'm> {
    plan: &'p Plan<'m>,
    store: &'p Store,
    stepper: Stepper<'m>,
    canonical: Option<Canonical>,
    is_compact: bool,
}

/// The error for a disagreement between compiled code and the reference interpreter: a bug.
fn disagreement(what: &str) -> SearchError {
    SearchError {
        message: format!(
            "internal error: {what}. The compiled search and the reference interpreter disagree; \
             please report it with the model"
        ),
        span: None,
        help: None,
        kind: SearchErrorKind::Internal,
    }
}

impl<'p, 'm> Retrace<'p, 'm> {
    pub fn new(plan: &'p Plan<'m>, store: &'p Store, stepper: Stepper<'m>) -> Self {
        Retrace {
            plan,
            store,
            stepper,
            canonical: plan.canonical(),
            is_compact: plan.is_compact,
        }
    }

    /// For random walks, whose states are neither permuted nor replaced by fingerprints.
    pub fn of_unreduced_states(mut self) -> Self {
        self.canonical = None;
        self.is_compact = false;
        self
    }

    pub fn rule_span(&self, rule: usize) -> Span {
        self.plan.model.rules[rule].span
    }

    pub fn property_span(&self, property: usize) -> Span {
        self.plan.model.properties[property].span
    }

    /// The verdict of a start state that failed.
    pub fn start(&mut self, start: &Instance) -> RetraceResult {
        let made = self.stepper.start(start);
        let judged = match made {
            Ok(Some(state)) => self.stepper.judge_assumptions(&state),
            Ok(None) => Ok(()),
            Err(judgement) => Err(judgement),
        };
        match judged {
            Err(judgement) => Ok((judgement.verdict, None)),
            Ok(()) => Err(disagreement(
                "a start state failed, and does not fail when replayed",
            )),
        }
    }

    /// The trace to a state, and its verdict.
    pub fn to(&mut self, last: Number, starts: &[Instance]) -> RetraceResult {
        let mut path = vec![self.stored(last)];
        let mut number = last;
        while let Some(before) = self.store.parent(number) {
            number = before;
            path.push(self.stored(number));
            if path.len() as u64 > self.store.count() {
                return Err(disagreement("the path to a state has a cycle"));
            }
        }
        path.reverse();
        self.along(&path, starts)
    }

    /// Replays a path of stored states, and determines the verdict of the last one.
    pub fn along(&mut self, path: &[Vec<u64>], starts: &[Instance]) -> RetraceResult {
        let Some((first, rest)) = path.split_first() else {
            return Err(disagreement("the path to a state is empty"));
        };
        let (start, first) = self.find_start(first, starts)?;
        let mut state = first.clone();
        let mut steps = Vec::new();
        for wanted in rest {
            let step = self.find_step(&state, wanted)?;
            state.clone_from(&step.state);
            steps.push(step);
        }
        match self.stepper.judge(&state) {
            Err(Judgement { verdict, failed }) => Ok((
                verdict,
                Some(Trace {
                    start,
                    first,
                    steps,
                    failed,
                }),
            )),
            Ok(()) => Err(disagreement(
                "a state failed, and does not fail when replayed",
            )),
        }
    }

    fn stored(&self, number: Number) -> Vec<u64> {
        let mut words = vec![0; self.store.width()];
        self.store.read(number, &mut words);
        words
    }

    fn find_start(
        &mut self,
        wanted: &[u64],
        starts: &[Instance],
    ) -> Result<(Instance, Vec<Value>), SearchError> {
        for start in starts {
            if let Ok(Some(state)) = self.stepper.start(start)
                && self.key(&state) == wanted
            {
                return Ok((start.clone(), state));
            }
        }
        Err(disagreement("a start state cannot be replayed"))
    }

    fn find_step(&mut self, state: &[Value], wanted: &[u64]) -> Result<Step, SearchError> {
        for rule in self.stepper.enabled(state) {
            if let Some(next) = self.stepper.fire(state, &rule)
                && self.key(&next) == wanted
            {
                return Ok(Step { rule, state: next });
            }
        }
        Err(disagreement("a step cannot be replayed"))
    }

    /// The words that are stored for a state.
    fn key(&mut self, state: &[Value]) -> Vec<u64> {
        let layout = &self.plan.program.layout;
        let mut words = vec![0; layout.masks.len()];
        lay_out(self.plan.model, layout, state, &mut words);
        self.plan.multisets.sort(&mut words);
        if let Some(canonical) = &mut self.canonical {
            canonical.canonicalise(&mut words);
        }
        let mut packed = vec![0; self.plan.packer.words()];
        self.plan.packer.pack(&words, &mut packed);
        match self.is_compact {
            true => fingerprint(&packed).to_vec(),
            false => packed,
        }
    }
}

/// Converts a state to the layout of compiled code.
pub(crate) fn lay_out(model: &crate::Model, layout: &Layout, state: &[Value], words: &mut [u64]) {
    let bytes = bytes_of_mut(words);
    for ((value, global), &at) in state.iter().zip(&model.globals).zip(&layout.globals) {
        write(
            &model.types,
            layout,
            global.type_id,
            value,
            &mut bytes[at as usize..],
        );
    }
}

fn write(types: &Types, layout: &Layout, id: TypeId, value: &Value, bytes: &mut [u8]) {
    let shape = layout.shape(id);
    match (value, &types[id].kind) {
        (Value::Parts(parts), TypeKind::Record(fields)) => {
            for ((part, field), &at) in parts.iter().zip(fields).zip(&shape.fields) {
                write(
                    types,
                    layout,
                    field.type_id,
                    part,
                    &mut bytes[at as usize..],
                );
            }
        }
        (Value::Parts(parts), TypeKind::Array { element, .. }) => {
            for (number, part) in parts.iter().enumerate() {
                let at = number * shape.stride as usize;
                write(types, layout, *element, part, &mut bytes[at..]);
            }
        }
        (Value::Elements(elements), TypeKind::Multiset { element, .. }) => {
            for (number, each) in elements.iter().enumerate() {
                if let Some(value) = each {
                    let at = number * shape.stride as usize;
                    bytes[at] = 1;
                    write(types, layout, *element, value, &mut bytes[at + 1..]);
                }
            }
        }
        (Value::Simple(value), _) => {
            let stored = (value.wrapping_sub(shape.low) as u64).wrapping_add(1);
            let wide = shape.bytes as usize;
            bytes[..wide].copy_from_slice(&stored.to_le_bytes()[..wide]);
        }
        _ => {}
    }
}
