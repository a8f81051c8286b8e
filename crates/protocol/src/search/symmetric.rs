//! Tests that a model is symmetric in its scalarsets.
//!
//! Symmetry reduction is sound only if the values of a scalarset are interchangeable. A loop over
//! the values in order can break that: `for i: S do last := i; end` always ends with the same
//! value. Then a state does not represent its permutations, and errors could be missed. So the
//! search permutes some states (in every way, if there are not too many): the successors must be
//! the same up to the permutation, and so must the properties. Each rule is tested in the first
//! states in which it is enabled, and less and less often after that. This is a test and not a
//! proof: it finds asymmetry only in the states that it permutes.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fencepost_memory::random::SplitMix64;

use super::worker::Plan;
use crate::compile::{Context, status};
use crate::state::Canonical;
use crate::state::store::Number;
use crate::state::symmetry::Effort;

/// The number of first states that are all tested.
const FIRST: Number = 256;

/// The number of first states with a rule enabled in which the rule is tested.
const FIRST_OF_RULE: u32 = 16;

/// A rule and the state after it, or nothing if the rule fails.
type Successor = (usize, Option<Vec<u64>>);

/// The successors of a state.
#[derive(PartialEq, Eq, Debug)]
enum Successors {
    /// The successors by all rule instances, sorted.
    States(Vec<Successor>),
    /// Evaluating the guard of this rule fails, for example because a value is undefined.
    Fault(usize),
    /// The search is being stopped, or there are too many permutations.
    Unknown,
}

impl Successors {
    /// The first rule whose successors differ, if both are known.
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

/// A rule or property that is not symmetric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AsymmetricItem {
    Rule(usize),
    Property(usize),
}

/// Tests whether a model is symmetric.
pub(super) struct SymmetryTester {
    canonical: Canonical,
    context: Box<Context>,
    random: SplitMix64,
    /// The number of states in which each rule was enabled.
    enabled: Vec<u32>,
}

impl SymmetryTester {
    /// The most permutations of a state. If there are more, this many are chosen at random.
    pub const ALL: u64 = 24;

    pub fn new(plan: &Plan<'_>, stop: Arc<AtomicBool>) -> Option<SymmetryTester> {
        plan.canonical()?;
        Some(SymmetryTester {
            canonical: Canonical::new(plan.model, &plan.program.layout, Effort::Full)?,
            context: plan.program.context(stop),
            random: SplitMix64::new(0x2545_f491_4f6c_dd1d),
            enabled: vec![0; plan.model.rules.len()],
        })
    }

    /// The number of permutations to test a state with: all for the first states, and one for every
    /// 128th other state.
    pub fn due(number: Number) -> u64 {
        match number {
            0..FIRST => Self::ALL,
            _ => u64::from(number.wrapping_mul(0x9e37_79b9) >> 25 == 0),
        }
    }

    /// Counts a state in which a rule is enabled. Returns the number of permutations to test that
    /// state with: all for the first such states, and whenever their number has doubled.
    pub fn due_for(&mut self, rule: usize) -> u64 {
        let enabled = &mut self.enabled[rule];
        *enabled = enabled.saturating_add(1);
        match *enabled <= FIRST_OF_RULE || enabled.is_power_of_two() {
            true => Self::ALL,
            false => 0,
        }
    }

    /// The rule or property that distinguishes a state from one of its permutations.
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
                self.canonical.shuffle(&mut permuted, &mut self.random);
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

    /// The values of all properties. Those that are unknown because the search stops are equal.
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

    /// The successors by all rules.
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

    /// The first rule whose guard fails. Guards before it may change the state, so the rules are
    /// scanned again one by one.
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
