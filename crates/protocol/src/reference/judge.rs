//! Single steps, and what is wrong with a single state, for those who search by other means.

use std::time::Instant;

use super::encode::encode;
use super::fault::Stop;
use super::machine::Machine;
use super::options::{Deadlock, Options};
use super::search::{Ending, Search, Searched};
use super::symmetry::Permutation;
use super::value::Value;
use super::verdict::{Instance, Verdict, Where};
use crate::model::Model;

/// The reference interpreter, one step at a time.
pub(crate) struct Stepper<'m> {
    search: Search<'m>,
}

/// What is wrong with a state or a step.
#[derive(Clone, Debug)]
pub(crate) struct Judgement {
    pub verdict: Verdict,
    /// The rule that failed, if that is what is wrong.
    pub failed: Option<Instance>,
}

impl From<Box<Ending>> for Judgement {
    fn from(ending: Box<Ending>) -> Self {
        Judgement {
            verdict: ending.verdict,
            failed: ending.failed,
        }
    }
}

impl<'m> Stepper<'m> {
    pub fn new(model: &'m Model, options: &'m Options) -> Self {
        let deadline = options.time.map(|time| Instant::now() + time);
        let machine = Machine::new(model, options.rounds, deadline);
        Stepper {
            search: Search::new(model, options, machine, vec![Permutation::default()]),
        }
    }

    /// All instances of start states.
    pub fn startstates(&mut self) -> Result<Vec<Instance>, Judgement> {
        self.search.startstates().map_err(Judgement::from)
    }

    /// The start state of an instance, unless an assumption is false in it.
    pub fn start(&mut self, instance: &Instance) -> Result<Option<Vec<Value>>, Judgement> {
        self.search.start(instance).map_err(Judgement::from)
    }

    /// The rules that fire in a state.
    pub fn enabled(&mut self, state: &[Value]) -> Vec<Instance> {
        self.search.enabled(state).unwrap_or_default()
    }

    /// The state after a rule, if it does not fail and no assumption is false.
    pub fn fire(&mut self, state: &[Value], rule: &Instance) -> Option<Vec<Value>> {
        self.search.fire(state, rule).ok().flatten()
    }

    /// What is wrong with a state, or with a step that leads from it.
    pub fn judge(&mut self, state: &[Value]) -> Result<(), Judgement> {
        self.search.judge(state).map_err(Judgement::from)
    }

    /// What is wrong with the assumptions of a state.
    pub fn judge_assumptions(&mut self, state: &[Value]) -> Result<(), Judgement> {
        self.search.machine.state = state.to_vec();
        self.search.assumed(0).map(|_| ()).map_err(Judgement::from)
    }
}

impl Search<'_> {
    fn judge(&mut self, state: &[Value]) -> Searched<()> {
        self.machine.reset();
        self.machine.state = state.to_vec();
        self.check(0)?;
        let enabled = self
            .enabled(state)
            .map_err(|(stop, rule)| Ending::of(stop, Where::Guard(rule), None))?;
        let bytes = encode(self.model, state, &Permutation::default());
        let (mut is_left, mut is_stuck) = (false, true);
        for instance in enabled {
            match self.fire(state, &instance) {
                Ok(Some(next)) => {
                    is_stuck = false;
                    is_left |= encode(self.model, &next, &Permutation::default()) != bytes;
                    self.machine.state = next;
                    self.assumed(0)?;
                }
                Ok(None) => {}
                Err(Stop::Exhausted) => {
                    return Err(Ending::of(Stop::Exhausted, Where::Rule(instance), None));
                }
                Err(stop) => return Err(Ending::of(stop, Where::Rule(instance), None)),
            }
        }
        let is_deadlock = match self.options.deadlock {
            Deadlock::Stuttering => !is_left,
            Deadlock::Stuck => is_stuck,
            Deadlock::Off => false,
        };
        match is_deadlock {
            true => Err(Ending::deadlock()),
            false => Ok(()),
        }
    }
}
