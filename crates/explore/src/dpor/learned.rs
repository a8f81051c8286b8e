//! Operations that touch more than the object that they say.
//!
//! Partial-order reduction plans executions that have not been run, so it has to know what an operation
//! touches when it comes earlier. If that is guessed, each of two executions may be left to the other one, and
//! neither is run. So it is made known: if an operation that may ([`Effect::WriteIf`],
//! [`Effect::WriteMultiple`]) has touched other objects besides its own, all operations on that object with such
//! an effect are taken to write to all of them, and to their own, always. Which those are is learnt
//! from executions; what was explored before something was learnt is explored again.
//!
//! More is then dependent than has to be, so some classes are run in several executions.

use fencepost_memory::Address;
use rustc_hash::FxHashMap;

use crate::program::{Effect, Intent, Touch, TouchKind};

/// Operations that are taken to touch the same: those on one object with one effect, whatever its condition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct OperationClass {
    pub(crate) object: Address,
    /// Or it writes in any case.
    pub(crate) has_condition: bool,
}

impl OperationClass {
    /// None if what the operation touches is known beforehand.
    #[inline]
    pub(crate) fn of(intent: Intent) -> Option<Self> {
        let Intent::Access { object, effect, .. } = intent else {
            return None;
        };
        let has_condition = match effect {
            Effect::WriteIf(_) => true,
            Effect::WriteMultiple => false,
            Effect::Read | Effect::Write | Effect::Update => return None,
        };
        Some(OperationClass {
            object,
            has_condition,
        })
    }
}

/// For operations that may touch several objects, those that they touch besides their own.
#[derive(Default)]
pub(crate) struct LearnedFootprints {
    table: FxHashMap<OperationClass, Vec<Address>>,
    has_learned: bool,
}

impl LearnedFootprints {
    /// Those that were learnt before.
    pub(crate) fn from_pairs(pairs: &[(OperationClass, Address)]) -> Self {
        let mut learned = LearnedFootprints::default();
        for &(leader, partner) in pairs {
            learned.add(leader, partner);
        }
        learned.has_learned = false;
        learned
    }

    /// All pairs. A leader's learned are in their order.
    pub(crate) fn pairs(&self) -> Vec<(OperationClass, Address)> {
        let mut pairs: Vec<_> = self
            .table
            .iter()
            .flat_map(|(&leader, learned)| learned.iter().map(move |&partner| (leader, partner)))
            .collect();
        pairs.sort_by_key(|&(leader, _)| leader);
        pairs
    }

    #[inline]
    pub(crate) fn of(&self, intent: Intent) -> &[Address] {
        match OperationClass::of(intent) {
            Some(leader) if !self.table.is_empty() => self.of_leader(leader),
            _ => &[],
        }
    }

    /// Whether an operation may have some.
    #[inline]
    pub(crate) fn may_be_of(intent: &Intent) -> bool {
        let Intent::Access { effect, .. } = intent else {
            return false;
        };
        matches!(effect, Effect::WriteIf(_) | Effect::WriteMultiple)
    }

    fn of_leader(&self, leader: OperationClass) -> &[Address] {
        self.table.get(&leader).map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, leader: OperationClass, partner: Address) {
        let learned = self.table.entry(leader).or_default();
        if partner != leader.object && !learned.contains(&partner) {
            learned.push(partner);
            self.has_learned = true;
        }
    }

    /// Whether something was learnt since the last time.
    pub(crate) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_learned)
    }

    /// Learns from what an operation has touched, and adds what it is taken to touch.
    pub(crate) fn complete(
        &mut self,
        intent: Intent,
        touches: &mut Vec<Touch>,
        state: impl Fn(Address) -> u64,
    ) {
        if let Some(leader) = OperationClass::of(intent) {
            if touches.len() > 1 || !self.table.is_empty() {
                self.complete_of(leader, touches, state);
            }
        }
    }

    fn complete_of(
        &mut self,
        leader: OperationClass,
        touches: &mut Vec<Touch>,
        state: impl Fn(Address) -> u64,
    ) {
        let Some((own, others)) = touches.split_first_mut() else {
            return;
        };
        for touch in others {
            self.add(leader, touch.object);
        }
        let learned = self.of_leader(leader);
        if learned.is_empty() {
            return;
        }
        own.kind = TouchKind::Write;
        for touch in &mut touches[1..] {
            touch.kind = TouchKind::Write;
        }
        for &partner in learned {
            if !touches.iter().any(|touch| touch.object == partner) {
                let now = state(partner);
                touches.push(Touch {
                    object: partner,
                    kind: TouchKind::Write,
                    before: now,
                    after: now,
                });
            }
        }
    }
}
