//! Single steps of the interpreter, for the compiled search.

use std::time::Instant;

use super::encode::encode;
use super::interruption::Interruption;
use super::machine::Machine;
use super::options::Options;
use super::search::{EarlyEnd, Search, StepResult};
use super::symmetry::Permutation;
use crate::model::Model;
#[cfg(test)]
use crate::outcome::Fault;
use crate::outcome::{DeadlockRule, FaultContext, Instance, Value, Verdict};

/// The reference interpreter, one step at a time.
pub(crate) struct Stepper<'m> {
    search: Search<'m>,
}

/// The error of a state or a step.
#[derive(Clone, Debug)]
pub(crate) struct Judgement {
    pub verdict: Verdict,
    /// The rule that failed, if a rule failed.
    pub failed: Option<Instance>,
}

impl From<Box<EarlyEnd>> for Judgement {
    fn from(ending: Box<EarlyEnd>) -> Self {
        Judgement {
            verdict: ending.verdict,
            failed: ending.failed,
        }
    }
}

impl<'m> Stepper<'m> {
    pub fn new(model: &'m Model, options: &'m Options) -> Self {
        let deadline = options.max_time.map(|time| Instant::now() + time);
        let machine = Machine::new(model, options.max_loop_iterations, deadline);
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

    /// Checks a state and the steps that lead from it.
    pub fn judge(&mut self, state: &[Value]) -> Result<(), Judgement> {
        self.search.judge(state).map_err(Judgement::from)
    }

    /// Checks the assumptions of a state.
    pub fn judge_assumptions(&mut self, state: &[Value]) -> Result<(), Judgement> {
        self.search.machine.state = state.to_vec();
        self.search.assumed(0).map(|_| ()).map_err(Judgement::from)
    }
}

/// For tests that compare single steps.
#[cfg(test)]
impl Stepper<'_> {
    /// The enabled instances of a rule, or the error of its guard.
    pub fn enabled_of(&mut self, state: &[Value], rule: usize) -> Result<Vec<Instance>, Fault> {
        let enabled = self.search.enabled_among(state, rule..rule + 1);
        enabled.map_err(|(stop, _)| fault_of(stop))
    }

    /// The state after a rule, unless an assumption is false, or an error.
    pub fn try_fire(
        &mut self,
        state: &[Value],
        rule: &Instance,
    ) -> Result<Option<Vec<Value>>, Fault> {
        self.search.fire(state, rule).map_err(fault_of)
    }

    /// Whether a property holds, or an error.
    pub fn holds(&mut self, state: &[Value], property: usize) -> Result<bool, Fault> {
        self.search.machine.reset();
        self.search.machine.state = state.to_vec();
        match self.search.first_false(property, 0) {
            Ok(first_false) => Ok(first_false.is_none()),
            Err(ending) => match ending.verdict {
                Verdict::Fault { fault, .. } => Err(fault),
                other => unreachable!("{other:?}"),
            },
        }
    }
}

#[cfg(test)]
fn fault_of(stop: Interruption) -> Fault {
    match stop {
        Interruption::Fault(fault) => fault,
        other => unreachable!("{other:?}"),
    }
}

impl Search<'_> {
    fn judge(&mut self, state: &[Value]) -> StepResult<()> {
        self.machine.reset();
        self.machine.state = state.to_vec();
        self.check(0)?;
        let enabled = self
            .enabled(state)
            .map_err(|(stop, rule)| EarlyEnd::of(stop, FaultContext::Guard(rule), None))?;
        let bytes = encode(self.model, state, &Permutation::default());
        let (mut is_left, mut is_stuck) = (false, true);
        for instance in enabled {
            match self.fire(state, &instance) {
                Ok(Some(next)) => {
                    is_stuck = false;
                    is_left |= encode(self.model, &next, &Permutation::default()) != bytes;
                    self.machine.state = next;
                    self.assumed(0).map_err(|ending| ending.after(&instance))?;
                }
                Ok(None) => {}
                Err(Interruption::Exhausted) => {
                    return Err(EarlyEnd::of(
                        Interruption::Exhausted,
                        FaultContext::Rule(instance),
                        None,
                    ));
                }
                Err(stop) => return Err(EarlyEnd::of(stop, FaultContext::Rule(instance), None)),
            }
        }
        let is_deadlock = match self.options.deadlock {
            DeadlockRule::Stuttering => !is_left,
            DeadlockRule::Stuck => is_stuck,
            DeadlockRule::Off => false,
        };
        match is_deadlock {
            true => Err(EarlyEnd::deadlock()),
            false => Ok(()),
        }
    }
}
