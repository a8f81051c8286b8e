//! Whether a model is as symmetric as it says.
//!
//! Scalarsets promise that their values can be exchanged. A loop that goes through the values in
//! order can break that: `for i: S do last := i; end` always ends with the same value. Then one
//! state does not stand for its permutations, and errors could be missed. So some states are
//! permuted at random, and must have the permutations of the same states after them. This is a
//! test, not a proof: it finds what makes a difference in the states that are looked at.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::worker::Plan;
use crate::compile::{Context, status};
use crate::state::Canonical;
use crate::state::store::Number;
use crate::state::symmetry::Effort;

/// All of the first states are tested.
const FIRST: Number = 256;

/// What a rule leads to: its number, and the state after it, or nothing if it fails.
type After = (usize, Option<Vec<u64>>);

/// Tests whether a model is symmetric.
pub(super) struct Tester {
    canonical: Canonical,
    context: Box<Context>,
    random: u64,
}

impl Tester {
    pub fn new(plan: &Plan<'_>, stop: Arc<AtomicBool>) -> Option<Tester> {
        plan.canonical()?;
        Some(Tester {
            canonical: Canonical::new(plan.model, &plan.program.layout, Effort::Full)?,
            context: plan.program.context(stop),
            random: 0x2545_f491_4f6c_dd1d,
        })
    }

    /// Whether a state is one of those that are tested: one of 128, besides the first.
    pub fn is_due(number: Number) -> bool {
        number < FIRST || number.wrapping_mul(0x9e37_79b9) >> 25 == 0
    }

    /// The rule for which a state and a permutation of it lead to different states.
    pub fn asymmetric_rule(&mut self, plan: &Plan<'_>, state: &[u64]) -> Option<usize> {
        self.random = self.random.wrapping_mul(0xd134_2543_de82_ef95) | 1;
        let mut permuted = state.to_vec();
        self.canonical.shuffle(&mut permuted, self.random);
        let one = self.after(plan, state)?;
        let other = self.after(plan, &permuted)?;
        if one == other {
            return None;
        }
        let differing = one.iter().zip(&other).find(|(one, other)| one != other);
        let longer = one.iter().chain(&other).map(|(rule, _)| *rule).max();
        differing.map(|((rule, _), _)| *rule).or(longer)
    }

    /// What all rules lead to, sorted; nothing if that is not known for sure.
    fn after(&mut self, plan: &Plan<'_>, state: &[u64]) -> Option<Vec<After>> {
        let program = &plan.program;
        let scanned = program.scan_all(&mut state.to_vec(), &mut self.context);
        if scanned != status::DONE {
            return None;
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
                _ => return None,
            }
            plan.multisets.sort(&mut next);
            if !self.canonical.canonicalise(&mut next) {
                return None;
            }
            all.push((rule, Some(next)));
        }
        all.sort_unstable();
        Some(all)
    }
}
