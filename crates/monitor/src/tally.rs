//! Counts all violations and the distinct ones.

use rustc_hash::FxHashMap;

use crate::violation::{OperationId, Violation};

/// Counts violations; see [`Violation::distinct_key`] for which are the same.
#[derive(Clone, Debug)]
pub struct ViolationTally {
    total: u64,
    numbers: FxHashMap<[OperationId; 3], usize>,
    counts: Vec<u64>,
    capacity: usize,
    takes_room_at_once: bool,
    overflowed: bool,
}

/// The result of recording a violation in a [`ViolationTally`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TallyResult {
    /// A new distinct violation, which got this number.
    New(usize),
    /// Another occurrence of the distinct violation with this number.
    Repeated(usize),
    /// A distinct violation beyond the capacity.
    Untracked,
}

impl Default for ViolationTally {
    /// A tally with a capacity of 65,536 distinct violations, allocated at once, so that memory
    /// does not grow with the trace.
    fn default() -> Self {
        ViolationTally {
            takes_room_at_once: true,
            ..Self::with_capacity(1 << 16)
        }
    }
}

impl ViolationTally {
    /// A tally with this capacity, allocated as needed.
    pub fn with_capacity(capacity: usize) -> Self {
        ViolationTally {
            total: 0,
            numbers: FxHashMap::default(),
            counts: Vec::new(),
            capacity,
            takes_room_at_once: false,
            overflowed: false,
        }
    }

    /// Whether a violation was counted that is not distinct from this one.
    pub fn contains(&self, violation: &Violation) -> bool {
        self.numbers.contains_key(&violation.distinct_key())
    }

    /// Counts a violation.
    pub fn record(&mut self, violation: &Violation) -> TallyResult {
        self.total += 1;
        let key = violation.distinct_key();
        if let Some(&number) = self.numbers.get(&key) {
            self.counts[number] += 1;
            return TallyResult::Repeated(number);
        }
        if self.counts.len() == self.capacity {
            self.overflowed = true;
            return TallyResult::Untracked;
        }
        let number = self.counts.len();
        if number == 0 && self.takes_room_at_once {
            self.numbers.reserve(self.capacity);
            self.counts.reserve(self.capacity);
        }
        self.numbers.insert(key, number);
        self.counts.push(1);
        TallyResult::New(number)
    }

    /// Adds the counts of another tally.
    pub fn merge(&mut self, mut other: ViolationTally) {
        if self.numbers.is_empty() && other.numbers.len() <= self.capacity {
            std::mem::swap(&mut self.numbers, &mut other.numbers);
            std::mem::swap(&mut self.counts, &mut other.counts);
        }
        self.total += other.total;
        self.overflowed |= other.overflowed;
        for (key, &number) in &other.numbers {
            let count = other.counts[number];
            if let Some(&own) = self.numbers.get(key) {
                self.counts[own] += count;
            } else if self.counts.len() < self.capacity {
                self.numbers.insert(*key, self.counts.len());
                self.counts.push(count);
            } else {
                self.overflowed = true;
            }
        }
    }

    /// The keys of the distinct violations in the order of their numbers, each with its count, for
    /// a checkpoint. See [`restore`](Self::restore).
    pub fn entries(&self) -> Vec<([u64; 3], u64)> {
        let mut entries = vec![([0; 3], 0); self.counts.len()];
        for (key, &number) in &self.numbers {
            entries[number] = (key.map(OperationId::to_bits), self.counts[number]);
        }
        entries
    }

    /// Adds [entries](Self::entries) from a checkpoint.
    pub fn restore(&mut self, entries: &[([u64; 3], u64)]) {
        for &(key, count) in entries {
            let key = key.map(OperationId::from_bits);
            let known = self.numbers.get(&key).copied();
            let number = match known {
                Some(number) => number,
                None if self.counts.len() == self.capacity => {
                    self.overflowed = true;
                    continue;
                }
                None => {
                    self.numbers.insert(key, self.counts.len());
                    self.counts.push(0);
                    self.counts.len() - 1
                }
            };
            self.counts[number] = self.counts[number].saturating_add(count);
            self.total = self.total.saturating_add(count);
        }
    }

    /// The number of all violations.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The number of distinct violations; a lower bound if [`overflowed`](Self::overflowed).
    pub fn distinct(&self) -> usize {
        self.counts.len()
    }

    /// Whether there were more distinct violations than the capacity.
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// How often the distinct violation with this number occurred.
    pub fn count(&self, number: usize) -> u64 {
        self.counts[number]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::violation::PlacedEvent;
    use fencepost_memory::{
        Access, Address, CoherenceIndex, Event, IssueIndex, LocationId, MemoryModel, Operation,
        ThreadId,
    };

    fn violation(pending: Access, last: Access, event: Access) -> Violation {
        let place = |access| PlacedEvent {
            event: Event {
                access,
                issue: IssueIndex(1),
                coherence: CoherenceIndex(0),
            },
            position: 0,
        };
        Violation {
            model: MemoryModel::TSO,
            pending: place(pending),
            last: place(last),
            event: place(event),
        }
    }

    #[test]
    fn violations_are_distinct_by_the_set_of_their_operations() {
        let at = |thread, location: Option<u32>| Access {
            location: location.map(LocationId::from_index),
            ..Access::new(ThreadId(thread), Operation::Store(Address(0)))
        };
        let mut tally = ViolationTally::with_capacity(2);
        let (a, b, c) = (at(0, Some(1)), at(1, Some(2)), at(1, Some(3)));
        assert!(!tally.contains(&violation(a, b, c)));
        assert_eq!(tally.record(&violation(a, b, c)), TallyResult::New(0));
        assert!(tally.contains(&violation(a, b, c)));
        // The same source lines in other roles and other threads are the same violation.
        let moved = at(5, Some(1));
        assert_eq!(
            tally.record(&violation(c, b, moved)),
            TallyResult::Repeated(0)
        );
        // Without locations the operations themselves count, threads included.
        let (d, e) = (at(0, None), at(1, None));
        assert_eq!(tally.record(&violation(d, e, e)), TallyResult::New(1));
        let mut restored = ViolationTally::with_capacity(2);
        restored.restore(&tally.entries());
        assert_eq!((restored.total(), restored.distinct()), (3, 2));
        assert_eq!(
            restored.record(&violation(c, b, moved)),
            TallyResult::Repeated(0)
        );
        // It is a set: how often an operation occurs in it does not matter.
        assert_eq!(tally.record(&violation(d, d, e)), TallyResult::Repeated(1));
        assert!(!tally.overflowed());
        // Another operation on the same line makes another violation.
        let mut load = c;
        load.operation = Operation::Load(Address(0));
        assert_eq!(tally.record(&violation(a, b, load)), TallyResult::Untracked);
        assert_eq!((tally.total(), tally.distinct()), (5, 2));
        assert_eq!((tally.count(0), tally.count(1)), (2, 2));
        assert!(tally.overflowed());
    }
}
