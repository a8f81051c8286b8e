//! Footprints: what an operation touches, and when two operations depend on each other.
//!
//! Two operations of different threads are *dependent* if they touch the same object and do not
//! commute there: two reads commute, and so do two updates. Executions that differ only in the
//! order of independent neighbours are equivalent (Mazurkiewicz), which for atomic variables
//! is: the same reads-from and the same coherence order.

use fencepost_memory::Address;

use crate::program::{Effect, TouchKind};

impl TouchKind {
    /// Whether the order of two touches of one object matters.
    #[inline]
    pub fn conflicts_with(self, other: TouchKind) -> bool {
        self == TouchKind::Write || self != other
    }
}

impl Effect {
    /// The strongest way in which an operation with this effect may touch its object.
    pub fn strongest_touch(self) -> TouchKind {
        match self {
            Effect::Read => TouchKind::Read,
            Effect::Update => TouchKind::Update,
            Effect::Write | Effect::WriteIf(_) | Effect::WriteMultiple => TouchKind::Write,
        }
    }
}

impl Effect {
    /// Whether an operation with this effect can touch its object in this way.
    pub(crate) fn may_touch(self, kind: TouchKind) -> bool {
        match self {
            Effect::WriteIf(_) => kind != TouchKind::Update,
            _ => kind == self.strongest_touch(),
        }
    }
}

/// The objects that an operation touches.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Footprint {
    /// The first two touches; most operations have no more.
    inline: [Option<(Address, TouchKind)>; 2],
    /// The others: a thread that spins depends on all that it has read in the loop.
    more: Vec<(Address, TouchKind)>,
    /// A filter of the objects: see [`bit_of`].
    objects: u64,
    /// Whether the operation depends on everything.
    pub(crate) is_barrier: bool,
    /// Whether these are the objects that the operation will touch, and not a guess.
    pub(crate) is_exact: bool,
}

impl Clone for Footprint {
    #[inline]
    fn clone(&self) -> Self {
        let mut more = Vec::new();
        // In most cases it is empty, and there is nothing to call.
        if !self.more.is_empty() {
            more.clone_from(&self.more);
        }
        Footprint { more, ..*self }
    }
}

impl Footprint {
    /// A footprint without objects. A barrier depends on everything.
    #[inline]
    pub(crate) fn empty(is_barrier: bool) -> Self {
        Footprint {
            inline: [None; 2],
            more: Vec::new(),
            objects: 0,
            is_barrier,
            is_exact: true,
        }
    }

    /// Removes all objects; the footprint is no barrier then.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.inline = [None; 2];
        self.more.clear();
        self.objects = 0;
        self.is_barrier = false;
        self.is_exact = true;
    }

    #[inline]
    pub(crate) fn push(&mut self, object: Address, kind: TouchKind) {
        self.objects |= bit_of(object);
        match self.inline.iter_mut().find(|slot| slot.is_none()) {
            Some(slot) => *slot = Some((object, kind)),
            None => self.more.push((object, kind)),
        }
    }

    #[inline]
    pub(crate) fn touches(&self) -> impl Iterator<Item = (Address, TouchKind)> + '_ {
        let more = self.more.iter().copied();
        self.inline.iter().map_while(|touch| *touch).chain(more)
    }

    /// Changes how an object is touched.
    pub(crate) fn set_kind(&mut self, object: Address, kind: TouchKind) {
        let inline = self.inline.iter_mut().flatten();
        for touch in inline.chain(&mut self.more) {
            if touch.0 == object {
                touch.1 = kind;
            }
        }
    }

    /// Whether it may have an object in this filter.
    #[inline]
    pub(crate) fn may_meet(&self, objects: u64) -> bool {
        self.objects & objects != 0
    }

    /// Whether an operation with this footprint depends on a touch.
    #[inline]
    pub(crate) fn conflicts_with(&self, object: Address, kind: TouchKind) -> bool {
        self.is_barrier
            || self
                .touches()
                .any(|(own, own_kind)| own == object && own_kind.conflicts_with(kind))
    }

    #[inline]
    pub(crate) fn depends_on(&self, other: &Footprint) -> bool {
        self.is_barrier
            || other.is_barrier
            || self.may_meet(other.objects)
                && other.touches().any(|(o, k)| self.conflicts_with(o, k))
    }
}

/// The bit of an object in a filter. Two filters without a common bit have no common object.
#[inline]
pub(crate) fn bit_of(object: Address) -> u64 {
    1 << (object.0 % 64)
}
