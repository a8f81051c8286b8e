//! The sleep sets of the nodes of the current path.
//!
//! A step that is added to the sleep set of a node stays in the sets of the nodes below until a
//! dependent step wakes it. So it is stored once, and the sets below have its index: a node is
//! created for each event, and indices are cheap to copy.
//!
//! Both are on stacks. Steps are added only at the last node of the path, so what belongs to a node
//! lies above what belongs to the nodes before it.

use crate::dpor::wakeup::Sleeper;

/// The sleep set of one node: a slice of [`SleepSets`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct SleepSet {
    /// The range of the indices.
    from: u32,
    to: u32,
    /// The number of sleepers up to and including those of the node.
    sleepers: u32,
}

impl SleepSet {
    pub(crate) const EMPTY: SleepSet = SleepSet {
        from: 0,
        to: 0,
        sleepers: 0,
    };

    pub(crate) fn is_empty(self) -> bool {
        self.from == self.to
    }
}

/// The sleep sets of the nodes of one path.
#[derive(Default, Debug)]
pub(crate) struct SleepSets {
    sleepers: Vec<Sleeper>,
    /// The indices of the sleepers of each node, one node after the other.
    indices: Vec<u32>,
}

impl SleepSets {
    /// The sleepers of a node, in the order in which they were added.
    #[inline]
    pub(crate) fn of(&self, set: SleepSet) -> impl Iterator<Item = &Sleeper> + Clone {
        let indices = &self.indices[set.from as usize..set.to as usize];
        indices.iter().map(|&index| &self.sleepers[index as usize])
    }

    /// Creates the set of the next node, which is the last one, from the sleepers that stay asleep.
    #[inline]
    pub(crate) fn inherit(&mut self, set: SleepSet, stays: impl Fn(&Sleeper) -> bool) -> SleepSet {
        self.indices.truncate(set.to as usize);
        for at in set.from..set.to {
            let index = self.indices[at as usize];
            if stays(&self.sleepers[index as usize]) {
                self.indices.push(index);
            }
        }
        SleepSet {
            from: set.to,
            to: self.indices.len() as u32,
            sleepers: set.sleepers,
        }
    }

    /// Adds a step to the set of the last node.
    pub(crate) fn add(&mut self, set: &mut SleepSet, sleeper: Sleeper) {
        self.indices.truncate(set.to as usize);
        self.sleepers.truncate(set.sleepers as usize);
        self.indices.push(self.sleepers.len() as u32);
        self.sleepers.push(sleeper);
        set.to += 1;
        set.sleepers += 1;
    }

    /// Creates a set on top of all others.
    pub(crate) fn put(&mut self, sleepers: &[Sleeper]) -> SleepSet {
        let from = self.indices.len() as u32;
        for sleeper in sleepers {
            self.indices.push(self.sleepers.len() as u32);
            self.sleepers.push(sleeper.clone());
        }
        SleepSet {
            from,
            to: self.indices.len() as u32,
            sleepers: self.sleepers.len() as u32,
        }
    }

    /// Copies the sleepers of a node.
    pub(crate) fn to_vec(&self, set: SleepSet) -> Vec<Sleeper> {
        self.of(set).cloned().collect()
    }

    /// Removes all sets.
    pub(crate) fn clear(&mut self) {
        self.sleepers.clear();
        self.indices.clear();
    }
}
