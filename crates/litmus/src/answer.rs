//! The answer to a test: its final states under a model, and what they say about its condition.
//!
//! The machine finds the states. Each has a run that leads to it, which the judge checks; on
//! request the axioms find the states a second time.

use std::collections::BTreeSet;

use fencepost_memory::MemoryModel;
use thiserror::Error;

use crate::axioms;
use crate::forbidden::{self, Explanation, Forbidden};
use crate::judge::{self, Rejection};
use crate::machine::{self, Cut, Exploration};
use crate::run::Run;
use crate::shorten;
use crate::test::{Proposition, Quantifier, Test};
use crate::thread::Fault;

/// How many final states have their witnesses checked without being asked for.
pub const CHECKED_WITNESSES: usize = 1_000;

/// How many executions the axioms look at before they give up; some tens of seconds.
pub const MOST_EXECUTIONS: u64 = 2_000_000;

/// How to answer.
pub struct Options<'a> {
    /// Where the machine ends early.
    pub limits: machine::Limits<'a>,
    /// Whether the axioms are compared as well, and every witness is checked.
    pub cross_check: bool,
}

/// The answer to the question of the test.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Verdict {
    /// The condition holds as the test claims.
    Ok,
    /// The condition does not hold as the test claims.
    No,
    /// Unknown: there are no final states, or not all were found and the ones that were found do
    /// not decide it.
    Undefined,
}

impl Verdict {
    /// As herd7 prints it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Ok => "Ok",
            Verdict::No => "No",
            Verdict::Undefined => "Undef",
        }
    }
}

/// How often the condition holds in final states.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Observation {
    /// In none.
    Never,
    /// In some.
    Sometimes,
    /// In all.
    Always,
    /// Not all final states were found, and in those that were it is always or never so.
    Undefined,
}

impl Observation {
    /// As herd7 prints it.
    pub fn name(self) -> &'static str {
        match self {
            Observation::Never => "Never",
            Observation::Sometimes => "Sometimes",
            Observation::Always => "Always",
            Observation::Undefined => "Undef",
        }
    }
}

/// A final state that counts: the filter lets it pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FinalContents {
    /// The content of each observable of the test.
    pub contents: Vec<u64>,
    /// Whether the condition holds.
    pub holds: bool,
    /// Its number in the exploration.
    index: usize,
}

/// The result of a test under a model.
pub struct Answer<'a> {
    test: &'a Test,
    model: MemoryModel,
    exploration: Exploration<'a>,
    /// The final states, in order.
    pub states: Vec<FinalContents>,
    /// How many witnesses were checked by the judge.
    pub checked: usize,
    /// Whether the axioms came to the same states, both to the end.
    pub is_cross_checked: bool,
    /// Whether it was stopped while witnesses were checked; states without a checked one are left
    /// out.
    was_stopped: bool,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum AnswerError {
    /// A thread does what it cannot do.
    #[error("a thread does what it cannot do")]
    Fault(Fault),
    /// The axioms cannot have this test.
    #[error(transparent)]
    Axioms(axioms::Error),
    /// The judge does not accept a witness. This is a bug in Fencepost.
    #[error(
        "internal error: the witness of a final state is not accepted ({0}); this is a bug in \
         Fencepost, please report it with the test"
    )]
    Rejected(Box<Rejection>),
    /// A witness ends in another state. This is a bug in Fencepost.
    #[error(
        "internal error: a witness ends in another final state than it should; this is a bug in \
         Fencepost, please report it with the test"
    )]
    WrongWitness,
    /// A candidate that has a state that the machine does not find, is not forbidden for the reason
    /// that is given. This is a bug in Fencepost.
    #[error(
        "internal error: the reason why a final state is forbidden does not hold ({0}); this is a \
         bug in Fencepost, please report it with the test"
    )]
    WrongReason(Box<Rejection>),
    /// The model allows a candidate that has a state that the machine does not find, or the axioms
    /// allow one that is said to be forbidden. This is a bug in Fencepost.
    #[error(
        "internal error: the axioms allow a final state that the machine does not find; this is a \
         bug in Fencepost, please report it with the test"
    )]
    AllowedAfterAll,
    /// The engines differ. This is a bug in Fencepost.
    #[error(
        "internal error: machine and axioms do not agree; this is a bug in Fencepost, please report \
         it with the test\n  only the machine: {only_machine:?}\n  only the axioms: {only_axioms:?}"
    )]
    Disagreement {
        /// The states that only the machine has.
        only_machine: Vec<String>,
        /// The states that only the axioms have.
        only_axioms: Vec<String>,
    },
}

/// Answers a test under a model.
///
/// # Errors
/// If a thread does what it cannot do, or if what was found does not check.
pub fn answer<'a>(
    test: &'a Test,
    model: &MemoryModel,
    options: &Options<'_>,
) -> Result<Answer<'a>, AnswerError> {
    let exploration = machine::explore(test, model, &options.limits).map_err(AnswerError::Fault)?;
    let mut states: Vec<_> = exploration
        .final_states()
        .enumerate()
        .filter(|(_, contents)| test.passes_filter(contents))
        .map(|(index, contents)| {
            let holds = test.condition.holds(&contents);
            FinalContents {
                contents,
                holds,
                index,
            }
        })
        .collect();
    states.sort_by(|one, two| one.contents.cmp(&two.contents));
    // Observables of the filter only are not shown, and do not distinguish states.
    let shown = test.observed.len();
    states.dedup_by(|one, two| one.contents[..shown] == two.contents[..shown]);
    let mut answer = Answer {
        test,
        model: *model,
        exploration,
        states,
        checked: 0,
        is_cross_checked: false,
        was_stopped: false,
    };
    let most = if options.cross_check {
        usize::MAX
    } else {
        CHECKED_WITNESSES
    };
    answer.check_witnesses(most, options.limits.stop)?;
    if options.cross_check {
        answer.compare_with_axioms(options)?;
    }
    Ok(answer)
}

impl Answer<'_> {
    /// Checks up to so many witnesses, and in any case one for which the condition holds and one
    /// for which it does not.
    fn check_witnesses(&mut self, most: usize, stop: &dyn Fn() -> bool) -> Result<(), AnswerError> {
        let first = |holds| self.states.iter().position(|state| state.holds == holds);
        let needed = [first(true), first(false)];
        for number in 0..self.states.len() {
            if stop() {
                self.was_stopped = true;
                self.states.truncate(number);
                return Ok(());
            }
            if number < most || needed.contains(&Some(number)) {
                let run = self.run(number);
                let execution = run.execution();
                let judged = judge::check(self.test, &self.model, &execution);
                let judged =
                    judged.map_err(|rejection| AnswerError::Rejected(Box::new(rejection)))?;
                if judged.observed(self.test) != self.states[number].contents {
                    return Err(AnswerError::WrongWitness);
                }
                self.checked += 1;
            }
        }
        Ok(())
    }

    fn compare_with_axioms(&mut self, options: &Options<'_>) -> Result<(), AnswerError> {
        let limits = axioms::Limits {
            should_stop: options.limits.stop,
            executions: MOST_EXECUTIONS,
            ..axioms::Limits::default()
        };
        let found = axioms::explore(self.test, &self.model, &limits);
        let found = found.map_err(AnswerError::Axioms)?;
        if let Some(fault) = found.summary.faults.first() {
            return Err(AnswerError::Fault(*fault));
        }
        let machine: BTreeSet<Vec<u64>> = self.exploration.final_states().collect();
        let axioms: BTreeSet<Vec<u64>> = found.states.into_iter().collect();
        let machine_is_whole = self.exploration.cut().is_none();
        let axioms_are_whole = found.summary.cut.is_none();
        // A state that one engine found must be among those of the other only if that search was
        // complete.
        let missing = |one: &BTreeSet<Vec<u64>>, two: &BTreeSet<Vec<u64>>, is_whole| {
            let missing = one.difference(two).filter(|_| is_whole);
            missing
                .map(|state| self.test.format_state(state))
                .collect::<Vec<_>>()
        };
        let only_machine = missing(&machine, &axioms, axioms_are_whole);
        let only_axioms = missing(&axioms, &machine, machine_is_whole);
        if !only_machine.is_empty() || !only_axioms.is_empty() {
            return Err(AnswerError::Disagreement {
                only_machine,
                only_axioms,
            });
        }
        self.is_cross_checked = machine_is_whole && axioms_are_whole;
        Ok(())
    }

    /// The test.
    pub fn test(&self) -> &Test {
        self.test
    }

    /// The model.
    pub fn model(&self) -> &MemoryModel {
        &self.model
    }

    /// Why the final states may not be all, if so.
    pub fn cut(&self) -> Option<Cut> {
        let stopped = self.was_stopped.then_some(Cut::Stopped);
        self.exploration.cut().or(stopped)
    }

    /// How many states of the machine were kept on the way.
    pub fn visited(&self) -> usize {
        self.exploration.visited()
    }

    /// A run of the machine that ends in the final state with this number.
    pub fn run(&self, number: usize) -> Run {
        self.exploration.run(self.states[number].index)
    }

    /// A run of the machine that ends in the final state with this number, without turns of loops
    /// that say nothing.
    pub fn short_run(&self, number: usize) -> Run {
        let state = &self.states[number].contents;
        shorten::shortened(self.test, &self.model, self.run(number), state)
    }

    /// What the test asks about: final states for which the condition holds or, for `forall`, does
    /// not hold.
    pub fn asked(&self) -> Proposition {
        match self.test.quantifier {
            Quantifier::ForAll => Proposition::Not(Box::new(self.test.condition.clone())),
            _ => self.test.condition.clone(),
        }
    }

    /// The first final state that is as wanted.
    pub fn position(&self, wanted: &Proposition) -> Option<usize> {
        let mut states = self.states.iter();
        states.position(|state| wanted.holds(&state.contents))
    }

    /// Why there is no final state that is as wanted. The reason is checked: the judge follows the
    /// candidate and its cycle, and the axioms of the memory models forbid it too.
    ///
    /// # Errors
    /// If the reason does not hold, or if the model allows such a state after all.
    pub fn why_not(
        &self,
        wanted: &Proposition,
        limits: &forbidden::Limits<'_>,
    ) -> Result<Explanation, AnswerError> {
        if self.cut().is_some() {
            return Ok(Explanation::Unknown);
        }
        let explanation = forbidden::explain(self.test, &self.model, wanted, limits);
        match &explanation {
            Explanation::Forbidden(found) => self.check_reason(wanted, found)?,
            Explanation::Allowed(_) => return Err(AnswerError::AllowedAfterAll),
            Explanation::Impossible | Explanation::Unknown => {}
        }
        Ok(explanation)
    }

    fn check_reason(&self, wanted: &Proposition, found: &Forbidden) -> Result<(), AnswerError> {
        let Forbidden {
            candidate,
            state,
            violation,
        } = found;
        let judged = judge::check_forbidden(self.test, &self.model, candidate, violation);
        let judged = judged.map_err(|rejection| AnswerError::WrongReason(Box::new(rejection)))?;
        let observed = judged.observed(self.test);
        let is_wanted = wanted.holds(&observed) && self.test.passes_filter(&observed);
        if observed != *state || !is_wanted {
            return Err(AnswerError::WrongWitness);
        }
        match candidate.is_allowed_trace(&self.model) {
            Some(true) => Err(AnswerError::AllowedAfterAll),
            Some(false) | None => Ok(()),
        }
    }

    /// In how many final states the condition holds.
    pub fn positive(&self) -> usize {
        self.states.iter().filter(|state| state.holds).count()
    }

    /// In how many final states it does not hold.
    pub fn negative(&self) -> usize {
        self.states.len() - self.positive()
    }

    /// How often the condition holds.
    pub fn observation(&self) -> Observation {
        match (self.positive(), self.negative()) {
            (0, _) | (_, 0) if self.cut().is_some() => Observation::Undefined,
            (0, _) => Observation::Never,
            (_, 0) => Observation::Always,
            _ => Observation::Sometimes,
        }
    }

    /// Whether the claim of the test about its condition holds.
    pub fn verdict(&self) -> Verdict {
        let is_whole = self.cut().is_none();
        let (one_for, one_against) = match self.test.quantifier {
            Quantifier::Exists | Quantifier::Observed => (self.positive() > 0, false),
            Quantifier::NotExists => (false, self.positive() > 0),
            Quantifier::ForAll => (false, self.negative() > 0),
        };
        if one_for {
            return Verdict::Ok;
        }
        if one_against {
            return Verdict::No;
        }
        if !is_whole || self.states.is_empty() {
            return Verdict::Undefined;
        }
        match self.test.quantifier {
            Quantifier::Exists | Quantifier::Observed => Verdict::No,
            Quantifier::NotExists | Quantifier::ForAll => Verdict::Ok,
        }
    }
}
