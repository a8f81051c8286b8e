//! Who is asleep at the nodes of the path that is being explored.
//!
//! A step that fell asleep at a node is asleep at the nodes below it too, until something wakes it. So it is kept
//! once, and the nodes below have its number: a node is made for each event, and numbers are cheaply copied.
//!
//! Both lie on stacks. Steps fall asleep only at the last node of the path, so what belongs to a node lies above
//! what belongs to those before it.

use crate::dpor::wakeup::Sleeper;

/// Who is asleep at one node: a part of [`Sleep`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct SleepSet {
    /// Where the numbers are.
    from: u32,
    to: u32,
    /// How many sleepers there are with those of the node.
    sleepers: u32,
}

impl SleepSet {
    /// Nobody.
    pub(crate) const EMPTY: SleepSet = SleepSet {
        from: 0,
        to: 0,
        sleepers: 0,
    };

    pub(crate) fn is_empty(self) -> bool {
        self.from == self.to
    }
}

/// Who is asleep at the nodes of one path.
#[derive(Default, Debug)]
pub(crate) struct Sleep {
    sleepers: Vec<Sleeper>,
    /// For each node after the other, its sleepers.
    numbers: Vec<u32>,
}

impl Sleep {
    /// Those of one node, in the order in which they fell asleep.
    #[inline]
    pub(crate) fn of(&self, set: SleepSet) -> impl Iterator<Item = &Sleeper> + Clone {
        let numbers = &self.numbers[set.from as usize..set.to as usize];
        numbers.iter().map(|&n| &self.sleepers[n as usize])
    }

    /// Those of a node that stay asleep at the next one. There is no other after it.
    #[inline]
    pub(crate) fn inherit(&mut self, set: SleepSet, stays: impl Fn(&Sleeper) -> bool) -> SleepSet {
        self.numbers.truncate(set.to as usize);
        for at in set.from..set.to {
            let number = self.numbers[at as usize];
            if stays(&self.sleepers[number as usize]) {
                self.numbers.push(number);
            }
        }
        SleepSet {
            from: set.to,
            to: self.numbers.len() as u32,
            sleepers: set.sleepers,
        }
    }

    /// A step falls asleep at a node, which is the last one.
    pub(crate) fn add(&mut self, set: &mut SleepSet, sleeper: Sleeper) {
        self.numbers.truncate(set.to as usize);
        self.sleepers.truncate(set.sleepers as usize);
        self.numbers.push(self.sleepers.len() as u32);
        self.sleepers.push(sleeper);
        set.to += 1;
        set.sleepers += 1;
    }

    /// Makes the set of a node that has none yet, after those of all others.
    pub(crate) fn put(&mut self, sleepers: &[Sleeper]) -> SleepSet {
        let from = self.numbers.len() as u32;
        for sleeper in sleepers {
            self.numbers.push(self.sleepers.len() as u32);
            self.sleepers.push(sleeper.clone());
        }
        SleepSet {
            from,
            to: self.numbers.len() as u32,
            sleepers: self.sleepers.len() as u32,
        }
    }

    /// Copies those of one node.
    pub(crate) fn to_vec(&self, set: SleepSet) -> Vec<Sleeper> {
        self.of(set).cloned().collect()
    }

    /// Forgets the sets of all nodes.
    pub(crate) fn clear(&mut self) {
        self.sleepers.clear();
        self.numbers.clear();
    }
}
