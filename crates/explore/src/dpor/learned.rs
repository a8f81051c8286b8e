//! Footprints that are learned: operations that touch more objects than the one that they declare.
//!
//! Partial-order reduction plans executions that have not been run, so it has to know what an
//! operation touches when it comes earlier. With a guess, each of two executions may be left to the
//! other one, and neither is run. So if an operation with [`Effect::WriteIf`] or
//! [`Effect::WriteMultiple`] has touched other objects besides its own, all operations on that
//! object with the same effect are taken to write to all of them, and to their own, always. The
//! explorer learns them from executions, and restarts when it learns a new one.
//!
//! More operations are dependent then than have to be, so some classes are run in several
//! executions.

use fencepost_memory::Address;
use rustc_hash::FxHashMap;

use crate::program::{Effect, Intent, Touch, TouchKind};

/// A class of operations with the same learned footprint: those on one object with one effect,
/// whatever its condition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct OperationClass {
    pub(crate) object: Address,
    /// Whether the effect is [`Effect::WriteIf`], not [`Effect::WriteMultiple`].
    pub(crate) has_condition: bool,
}

impl OperationClass {
    /// The class of an operation. `None` if its footprint is known in advance.
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

/// The objects that each class of operations touches besides its own.
#[derive(Default)]
pub(crate) struct LearnedFootprints {
    table: FxHashMap<OperationClass, Vec<Address>>,
    has_learned: bool,
}

impl LearnedFootprints {
    /// Restores what was learned before.
    pub(crate) fn from_pairs(pairs: &[(OperationClass, Address)]) -> Self {
        let mut learned = LearnedFootprints::default();
        for &(class, object) in pairs {
            learned.add(class, object);
        }
        learned.has_learned = false;
        learned
    }

    /// All pairs of a class and an object, in a deterministic order.
    pub(crate) fn pairs(&self) -> Vec<(OperationClass, Address)> {
        let mut pairs: Vec<_> = self
            .table
            .iter()
            .flat_map(|(&class, learned)| learned.iter().map(move |&object| (class, object)))
            .collect();
        pairs.sort_by_key(|&(class, _)| class);
        pairs
    }

    /// The learned objects of an operation.
    #[inline]
    pub(crate) fn of(&self, intent: Intent) -> &[Address] {
        match OperationClass::of(intent) {
            Some(class) if !self.table.is_empty() => self.of_class(class),
            _ => &[],
        }
    }

    /// Whether an operation may have learned objects.
    #[inline]
    pub(crate) fn may_be_of(intent: &Intent) -> bool {
        let Intent::Access { effect, .. } = intent else {
            return false;
        };
        matches!(effect, Effect::WriteIf(_) | Effect::WriteMultiple)
    }

    fn of_class(&self, class: OperationClass) -> &[Address] {
        self.table.get(&class).map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, class: OperationClass, object: Address) {
        let learned = self.table.entry(class).or_default();
        if object != class.object && !learned.contains(&object) {
            learned.push(object);
            self.has_learned = true;
        }
    }

    /// Whether something was learned since the last call.
    pub(crate) fn take_has_learned(&mut self) -> bool {
        std::mem::take(&mut self.has_learned)
    }

    /// Learns from the touches of an operation, and adds those of its learned footprint.
    pub(crate) fn complete(
        &mut self,
        intent: Intent,
        touches: &mut Vec<Touch>,
        state: impl Fn(Address) -> u64,
    ) {
        if let Some(class) = OperationClass::of(intent) {
            if touches.len() > 1 || !self.table.is_empty() {
                self.complete_class(class, touches, state);
            }
        }
    }

    fn complete_class(
        &mut self,
        class: OperationClass,
        touches: &mut Vec<Touch>,
        state: impl Fn(Address) -> u64,
    ) {
        let Some((own, others)) = touches.split_first_mut() else {
            return;
        };
        for touch in others {
            self.add(class, touch.object);
        }
        let learned = self.of_class(class);
        if learned.is_empty() {
            return;
        }
        own.kind = TouchKind::Write;
        for touch in &mut touches[1..] {
            touch.kind = TouchKind::Write;
        }
        for &object in learned {
            if !touches.iter().any(|touch| touch.object == object) {
                let now = state(object);
                touches.push(Touch {
                    object,
                    kind: TouchKind::Write,
                    before: now,
                    after: now,
                });
            }
        }
    }
}
