//! Statistics of a trace, counted while it is read.

use fencepost_memory::{Access, OperationKind, ThreadId};

/// Counters over the accesses of a trace.
///
/// ```
/// use fencepost_trace::{TraceReader, TraceStatistics};
///
/// let mut reader = TraceReader::open(&b"T0 st x\nT1 ld x\nT1 fence\n"[..])?;
/// let mut statistics = TraceStatistics::new();
/// let mut batch = Vec::new();
/// while reader.next_batch(&mut batch)? {
///     statistics.add(&batch);
/// }
/// assert_eq!((statistics.events(), statistics.reads(), statistics.writes()), (3, 1, 1));
/// # Ok::<(), fencepost_trace::ReadError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct TraceStatistics {
    by_kind: [u64; OperationKind::ALL.len()],
    by_thread: Vec<u64>,
    addresses: BitSet,
    locations: BitSet,
    with_value: u64,
    with_location: u64,
}

impl TraceStatistics {
    /// Nothing counted yet.
    pub fn new() -> Self {
        TraceStatistics::default()
    }

    /// Counts some accesses.
    pub fn add(&mut self, accesses: &[Access]) {
        for access in accesses {
            self.by_kind[access.operation.kind() as usize] += 1;
            let thread = access.thread.index();
            if thread >= self.by_thread.len() {
                self.by_thread.resize(thread + 1, 0);
            }
            self.by_thread[thread] += 1;
            if let Some(address) = access.operation.address() {
                self.addresses.insert(address.index());
            }
            self.with_value += u64::from(access.value.is_some());
            if let Some(location) = access.location {
                self.with_location += 1;
                self.locations.insert(location.index());
            }
        }
    }

    /// How many events there are.
    pub fn events(&self) -> u64 {
        self.by_kind.iter().sum()
    }

    /// How many events of a kind there are.
    pub fn of_kind(&self, kind: OperationKind) -> u64 {
        self.by_kind[kind as usize]
    }

    /// How many events read memory.
    pub fn reads(&self) -> u64 {
        self.of_kind(OperationKind::Load)
            + self.of_kind(OperationKind::LockedLoad)
            + self.of_kind(OperationKind::Interlocked)
    }

    /// How many events write memory. An interlocked operation is a read and a write.
    pub fn writes(&self) -> u64 {
        self.of_kind(OperationKind::Store)
            + self.of_kind(OperationKind::LockedStore)
            + self.of_kind(OperationKind::Interlocked)
    }

    /// How many events a thread has.
    pub fn of_thread(&self, thread: ThreadId) -> u64 {
        self.by_thread.get(thread.index()).copied().unwrap_or(0)
    }

    /// How many threads have events.
    pub fn threads(&self) -> usize {
        self.by_thread.iter().filter(|&&count| count > 0).count()
    }

    /// The threads with the most events, at most `most`, the busiest first.
    pub fn busiest_threads(&self, most: usize) -> Vec<(ThreadId, u64)> {
        let mut threads: Vec<(ThreadId, u64)> = (0..)
            .map(ThreadId)
            .zip(self.by_thread.iter().copied())
            .filter(|&(_, count)| count > 0)
            .collect();
        threads.sort_by_key(|&(thread, count)| (std::cmp::Reverse(count), thread));
        threads.truncate(most);
        threads
    }

    /// How many addresses are accessed.
    pub fn addresses(&self) -> usize {
        self.addresses.count
    }

    /// How many source locations occur.
    pub fn locations(&self) -> usize {
        self.locations.count
    }

    /// How many events have a value.
    pub fn with_value(&self) -> u64 {
        self.with_value
    }

    /// How many events have a source location.
    pub fn with_location(&self) -> u64 {
        self.with_location
    }
}

/// A set of small numbers that knows its size.
#[derive(Clone, Debug, Default)]
struct BitSet {
    words: Vec<u64>,
    count: usize,
}

impl BitSet {
    #[inline]
    fn insert(&mut self, number: usize) {
        let (word, bit) = (number / 64, 1 << (number % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.count += usize::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GenerateOptions, Shape};

    #[test]
    fn counts_are_those_of_a_plain_count() {
        let options = GenerateOptions {
            threads: 5,
            addresses: 300,
            events: 20_000,
            seed: 3,
            shape: Shape::Locks,
            ..GenerateOptions::default()
        };
        let trace: Vec<Access> = options.generate().unwrap().collect();
        let mut statistics = TraceStatistics::new();
        for part in trace.chunks(777) {
            statistics.add(part);
        }
        let count = |wanted: &dyn Fn(&Access) -> bool| trace.iter().filter(|a| wanted(a)).count();
        assert_eq!(statistics.events(), 20_000);
        assert_eq!(statistics.reads() as usize, count(&|a| a.operation.reads()));
        assert_eq!(
            statistics.writes() as usize,
            count(&|a| a.operation.writes())
        );
        for thread in (0..5).map(ThreadId) {
            let counted = count(&|a| a.thread == thread);
            assert_eq!(statistics.of_thread(thread) as usize, counted);
        }
        let mut addresses: Vec<_> = trace.iter().filter_map(|a| a.operation.address()).collect();
        addresses.sort();
        addresses.dedup();
        assert_eq!(statistics.addresses(), addresses.len());
        assert_eq!(statistics.threads(), 5);
        assert_eq!(
            (statistics.with_value(), statistics.with_location()),
            (0, 0)
        );
        let busiest = statistics.busiest_threads(2);
        assert_eq!(busiest.len(), 2);
        assert!(busiest[0].1 >= busiest[1].1);
    }
}
