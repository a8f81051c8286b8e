//! Whether a model is as symmetric as it says.
//!
//! Scalarsets promise that their values can be exchanged. A loop that goes through the values in
//! order can break that: `for i: S do last := i; end` always ends with the same value. Then one
//! state does not stand for its permutations, and errors could be missed. So some states are
//! permuted, in every way if there are not too many, and must have the permutations of the same
//! states after them, and the same properties. Each rule is tested in the first states in which it
//! is enabled, and less and less often after that. This is a test, not a proof: it finds what
//! makes a difference in the states that are looked at.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::worker::Plan;
use crate::compile::{Context, status};
use crate::state::Canonical;
use crate::state::store::Number;
use crate::state::symmetry::Effort;

/// All of the first states are tested.
const FIRST: Number = 256;

/// Each rule is tested in so many of the first states in which it is enabled.
const FIRST_OF_RULE: u32 = 16;

/// What a rule leads to: its number, and the state after it, or nothing if it fails.
type Successor = (usize, Option<Vec<u64>>);

/// What comes after a state.
#[derive(PartialEq, Eq, Debug)]
enum Successors {
    /// What all instances of rules lead to, sorted.
    States(Vec<Successor>),
    /// Finding the instances of this rule fails: its guard, say, uses an undefined value.
    Fault(usize),
    /// The search is being stopped, or there are too many orders to tell.
    Unknown,
}

impl Successors {
    /// The rule that leads to something else, if both are known.
    fn differs_in(&self, other: &Successors) -> Option<usize> {
        match (self, other) {
            (Successors::Unknown, _) | (_, Successors::Unknown) => None,
            (Successors::Fault(one), Successors::Fault(other)) => {
                (one != other).then_some(*one.min(other))
            }
            (Successors::Fault(rule), _) | (_, Successors::Fault(rule)) => Some(*rule),
            (Successors::States(one), Successors::States(other)) => {
                let mut both = one.iter().zip(other);
                let differing = both.find(|(one, other)| one != other);
                let longer = match one.len().cmp(&other.len()) {
                    Ordering::Equal => None,
                    Ordering::Less => other.get(one.len()),
                    Ordering::Greater => one.get(other.len()),
                };
                let rule = differing.map(|(one, other)| one.0.min(other.0));
                rule.or(longer.map(|(rule, _)| *rule))
            }
        }
    }
}

/// What is not symmetric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AsymmetricItem {
    Rule(usize),
    Property(usize),
}

/// Tests whether a model is symmetric.
pub(super) struct SymmetryTester {
    canonical: Canonical,
    context: Box<Context>,
    random: u64,
    /// In how many states each rule was enabled.
    enabled: Vec<u32>,
}

impl SymmetryTester {
    /// If there are no more permutations than this, all are tried; otherwise so many at random.
    pub const ALL: u64 = 24;

    pub fn new(plan: &Plan<'_>, stop: Arc<AtomicBool>) -> Option<SymmetryTester> {
        plan.canonical()?;
        Some(SymmetryTester {
            canonical: Canonical::new(plan.model, &plan.program.layout, Effort::Full)?,
            context: plan.program.context(stop),
            random: 0x2545_f491_4f6c_dd1d,
            enabled: vec![0; plan.model.rules.len()],
        })
    }

    /// With how many permutations a state is tested: with all if it is one of the first, and one of
    /// 128 others with one.
    pub fn due(number: Number) -> u64 {
        match number {
            0..FIRST => Self::ALL,
            _ => u64::from(number.wrapping_mul(0x9e37_79b9) >> 25 == 0),
        }
    }

    /// A rule is enabled in a state; with how many permutations that state is tested for it. It is
    /// in the first of them, and whenever there are twice as many.
    pub fn due_for(&mut self, rule: usize) -> u64 {
        let enabled = &mut self.enabled[rule];
        *enabled = enabled.saturating_add(1);
        match *enabled <= FIRST_OF_RULE || enabled.is_power_of_two() {
            true => Self::ALL,
            false => 0,
        }
    }

    /// What is different in a state and in one of so many permutations of it.
    pub fn asymmetric(
        &mut self,
        plan: &Plan<'_>,
        state: &[u64],
        due: u64,
    ) -> Option<AsymmetricItem> {
        if due == 0 {
            return None;
        }
        let properties = self.properties(plan, state);
        let after = self.after(plan, state);
        let permutations = self.canonical.permutations();
        for number in 0..permutations.min(due) {
            let mut permuted = state.to_vec();
            if permutations <= due {
                self.canonical.permute_by_number(&mut permuted, number);
            } else {
                self.random = self.random.wrapping_mul(0xd134_2543_de82_ef95) | 1;
                self.canonical.shuffle(&mut permuted, self.random);
            }
            let others = self.properties(plan, &permuted).into_iter();
            let mut both = properties.iter().zip(others);
            if let Some(property) = both.position(|(one, other)| *one != other) {
                return Some(AsymmetricItem::Property(property));
            }
            let other = self.after(plan, &permuted);
            if let Some(rule) = after.differs_in(&other) {
                return Some(AsymmetricItem::Rule(rule));
            }
        }
        None
    }

    /// What all properties come to. Those that are not known because the search ends are alike.
    fn properties(&mut self, plan: &Plan<'_>, state: &[u64]) -> Vec<Option<i64>> {
        let known = [status::TRUE, status::DONE, status::FAULT];
        let properties = 0..plan.model.properties.len();
        let values = properties.map(|property| {
            let mut state = state.to_vec();
            plan.program
                .property(property, &mut state, &mut self.context)
        });
        values
            .map(|value| Some(value).filter(|value| known.contains(value)))
            .collect()
    }

    /// What all rules lead to.
    fn after(&mut self, plan: &Plan<'_>, state: &[u64]) -> Successors {
        let program = &plan.program;
        match program.scan_all(&mut state.to_vec(), &mut self.context) {
            status::DONE => {}
            status::FAULT => return self.failing_scan(plan, state),
            _ => return Successors::Unknown,
        }
        let mut all = Vec::new();
        for (rule, parameters) in plan.instances(self.context.enabled()) {
            let mut next = state.to_vec();
            match program.fire(rule, &mut next, &mut self.context, &parameters) {
                status::DONE => {}
                status::ASSUMPTION => continue,
                status::FAULT => {
                    all.push((rule, None));
                    continue;
                }
                _ => return Successors::Unknown,
            }
            plan.multisets.sort(&mut next);
            if !self.canonical.canonicalise(&mut next) {
                return Successors::Unknown;
            }
            all.push((rule, Some(next)));
        }
        all.sort_unstable();
        Successors::States(all)
    }

    /// The first rule whose instances cannot be found. Those before it may change the state while they are
    /// looked for, so that they are looked for again.
    fn failing_scan(&mut self, plan: &Plan<'_>, state: &[u64]) -> Successors {
        let mut state = state.to_vec();
        self.context.forget();
        for rule in 0..plan.program.rules.len() {
            match plan.program.scan(rule, &mut state, &mut self.context) {
                status::DONE => {}
                status::FAULT => return Successors::Fault(rule),
                _ => break,
            }
        }
        Successors::Unknown
    }
}
