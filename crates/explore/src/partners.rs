//! Operations that touch more than the object that they say.
//!
//! Partial-order reduction plans executions that have not been run, so it has to know what an operation
//! touches when it comes earlier. If that is guessed, each of two executions may be left to the other one, and
//! neither is run. So it is made known: if an operation that may ([`Effect::WriteIf`],
//! [`Effect::WriteMore`]) has touched other objects besides its own, all operations on that object with such
//! an effect are taken to write to all of them, and to their own, always. Which those are is learnt
//! from executions; what was explored before something was learnt is explored again.
//!
//! More is then dependent than has to be, so some classes are run in several executions.

use fencepost_memory::Address;
use rustc_hash::FxHashMap;

use crate::program::{Effect, Intent, Touch, TouchKind};

/// Operations that are taken to touch the same: those on one object with one effect, whatever its condition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Leader {
    pub(crate) object: Address,
    /// Or it writes in any case.
    pub(crate) has_condition: bool,
}

impl Leader {
    /// None if what the operation touches is known beforehand.
    #[inline]
    pub(crate) fn of(intent: Intent) -> Option<Self> {
        let Intent::Access { object, effect, .. } = intent else {
            return None;
        };
        let has_condition = match effect {
            Effect::WriteIf(_) => true,
            Effect::WriteMore => false,
            Effect::Read | Effect::Write | Effect::Update => return None,
        };
        Some(Leader {
            object,
            has_condition,
        })
    }
}

/// For operations that may touch several objects, those that they touch besides their own.
#[derive(Default)]
pub(crate) struct Partners {
    table: FxHashMap<Leader, Vec<Address>>,
    has_learnt: bool,
}

impl Partners {
    /// Those that were learnt before.
    pub(crate) fn from_pairs(pairs: &[(Leader, Address)]) -> Self {
        let mut partners = Partners::default();
        for &(leader, partner) in pairs {
            partners.add(leader, partner);
        }
        partners.has_learnt = false;
        partners
    }

    /// All pairs. A leader's partners are in their order.
    pub(crate) fn pairs(&self) -> Vec<(Leader, Address)> {
        let mut pairs: Vec<_> = self
            .table
            .iter()
            .flat_map(|(&leader, partners)| partners.iter().map(move |&partner| (leader, partner)))
            .collect();
        pairs.sort_by_key(|&(leader, _)| leader);
        pairs
    }

    #[inline]
    pub(crate) fn of(&self, intent: Intent) -> &[Address] {
        match Leader::of(intent) {
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
        matches!(effect, Effect::WriteIf(_) | Effect::WriteMore)
    }

    fn of_leader(&self, leader: Leader) -> &[Address] {
        self.table.get(&leader).map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, leader: Leader, partner: Address) {
        let partners = self.table.entry(leader).or_default();
        if partner != leader.object && !partners.contains(&partner) {
            partners.push(partner);
            self.has_learnt = true;
        }
    }

    /// Whether something was learnt since the last time.
    pub(crate) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_learnt)
    }

    /// Learns from what an operation has touched, and adds what it is taken to touch.
    pub(crate) fn complete(
        &mut self,
        intent: Intent,
        touches: &mut Vec<Touch>,
        state: impl Fn(Address) -> u64,
    ) {
        if let Some(leader) = Leader::of(intent)
            && (touches.len() > 1 || !self.table.is_empty())
        {
            self.complete_of(leader, touches, state);
        }
    }

    fn complete_of(
        &mut self,
        leader: Leader,
        touches: &mut Vec<Touch>,
        state: impl Fn(Address) -> u64,
    ) {
        let Some((own, others)) = touches.split_first_mut() else {
            return;
        };
        for touch in others {
            self.add(leader, touch.object);
        }
        let partners = self.of_leader(leader);
        if partners.is_empty() {
            return;
        }
        own.kind = TouchKind::Write;
        for touch in &mut touches[1..] {
            touch.kind = TouchKind::Write;
        }
        for &partner in partners {
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
