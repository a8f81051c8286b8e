//! Traces, by replay.

use std::rc::Rc;

use super::interruption::Interruption;
use super::search::Search;
use super::symmetry::canonical;
use crate::outcome::{Instance, Step, Trace, Value};

impl Search<'_> {
    /// The trace to a state, with the actual states: with symmetry reduction, the stored ones are
    /// representatives of their classes.
    pub fn trace(&mut self, at: usize, failed: Option<Instance>) -> Option<Trace> {
        let mut path = vec![at];
        while let Some(before) = self.found[path[path.len() - 1]].before {
            path.push(before);
        }
        path.reverse();
        let start = self.found[path[0]].by.clone();
        let first = self.start(&start).ok()??;
        let mut state = first.clone();
        let mut steps = Vec::new();
        for &next in &path[1..] {
            let target = Rc::clone(&self.found[next].bytes);
            let step = self.step_to(&state, &target)?;
            state.clone_from(&step.state);
            steps.push(step);
        }
        let failed = match failed {
            Some(_) => Some(self.failing(&state)?),
            None => None,
        };
        Some(Trace {
            start,
            first,
            steps,
            failed,
        })
    }

    fn step_to(&mut self, state: &[Value], target: &[u8]) -> Option<Step> {
        for rule in self.enabled(state).ok()? {
            let Ok(Some(next)) = self.fire(state, &rule) else {
                continue;
            };
            if canonical(self.model, &next, &self.permutations) == target {
                return Some(Step { rule, state: next });
            }
        }
        None
    }

    /// The first rule that fails in a state, or leads to one in which an assumption fails.
    fn failing(&mut self, state: &[Value]) -> Option<Instance> {
        let mut enabled = self.enabled(state).ok()?.into_iter();
        enabled.find(|rule| match self.fire(state, rule) {
            Ok(Some(next)) => {
                self.machine.state = next;
                self.assumed(0).is_err()
            }
            Ok(None) => false,
            Err(stop) => matches!(stop, Interruption::Fault(_)),
        })
    }
}
