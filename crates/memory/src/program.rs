//! Straight-line programs: a list of operations per thread.
//!
//! The machines run them, the candidate traces and the interleavings are
//! enumerated from them, and the brute-force oracles are built on all three.

use crate::event::{Access, Address, Operation, OperationKind, ThreadId};
use crate::random::Random;

/// Operations per thread, without control flow.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct StraightLineProgram {
    /// The operations of each thread, in program order.
    pub threads: Vec<Vec<Operation>>,
}

/// The shape of random programs.
#[derive(Clone, Copy, Debug)]
pub struct ProgramShape {
    /// The number of threads.
    pub threads: u32,
    /// The most operations that a thread has; each has at least half as many.
    pub operations: u32,
    /// The number of addresses.
    pub addresses: u32,
}

impl StraightLineProgram {
    /// The number of operations of all threads.
    pub fn len(&self) -> usize {
        self.threads.iter().map(Vec::len).sum()
    }

    /// Whether no thread has an operation.
    pub fn is_empty(&self) -> bool {
        self.threads.iter().all(Vec::is_empty)
    }

    /// One more than the highest address used.
    pub fn address_count(&self) -> usize {
        let addresses = self.threads.iter().flatten().filter_map(|op| op.address());
        addresses.map(|a| a.index() + 1).max().unwrap_or(0)
    }

    /// The program whose threads perform these accesses in this order.
    pub fn of_accesses(accesses: &[Access]) -> Self {
        let mut program = StraightLineProgram::default();
        for access in accesses {
            let index = access.thread.index();
            if program.threads.len() <= index {
                program.threads.resize(index + 1, Vec::new());
            }
            program.threads[index].push(access.operation);
        }
        program
    }

    /// A random program. Every kind of operation occurs, and plain loads and stores are
    /// three quarters of all, since few programs with more fences are unsafe.
    pub fn random(random: &mut Random, shape: ProgramShape) -> Self {
        use OperationKind::*;
        let mut operation = || {
            let kind = match random.below(20) {
                0..8 => Load,
                8..15 => Store,
                15 => Interlocked,
                16 => LockedLoad,
                17 => LockedStore,
                18 => Fence,
                _ => StoreBarrier,
            };
            kind.at(Address(random.below(shape.addresses.into()) as u32))
        };
        let lists: Vec<Vec<Operation>> = (0..shape.threads)
            .map(|_| (0..shape.operations).map(|_| operation()).collect())
            .collect();
        let threads = lists
            .into_iter()
            .map(|mut list| {
                let shortest = shape.operations / 2 + shape.operations % 2;
                let spread = u64::from(shape.operations - shortest) + 1;
                list.truncate(shortest as usize + random.below(spread) as usize);
                list
            })
            .collect();
        StraightLineProgram { threads }
    }

    /// Calls `visit` with every interleaving of the program, each exactly once.
    ///
    /// ```
    /// use fencepost_memory::{Address, Operation, StraightLineProgram};
    /// let load = Operation::Load(Address(0));
    /// let program = StraightLineProgram { threads: vec![vec![load; 2], vec![load; 2]] };
    /// let mut count = 0;
    /// program.for_each_interleaving(|_| count += 1);
    /// assert_eq!(count, 6);
    /// ```
    pub fn for_each_interleaving(&self, mut visit: impl FnMut(&[Access])) {
        let mut issued = vec![0; self.threads.len()];
        let mut accesses = Vec::with_capacity(self.len());
        self.extend_interleaving(&mut issued, &mut accesses, &mut visit);
    }

    fn extend_interleaving(
        &self,
        issued: &mut [usize],
        accesses: &mut Vec<Access>,
        visit: &mut impl FnMut(&[Access]),
    ) {
        let mut complete = true;
        for thread in 0..self.threads.len() {
            let Some(&operation) = self.threads[thread].get(issued[thread]) else {
                continue;
            };
            complete = false;
            issued[thread] += 1;
            accesses.push(Access::new(ThreadId(thread as u32), operation));
            self.extend_interleaving(issued, accesses, visit);
            accesses.pop();
            issued[thread] -= 1;
        }
        if complete {
            visit(accesses);
        }
    }

    /// The number of interleavings: a multinomial coefficient, saturating.
    pub fn interleaving_count(&self) -> u64 {
        let mut count: u64 = 1;
        let mut placed: u64 = 0;
        for list in &self.threads {
            for k in 1..=list.len() as u64 {
                placed += 1;
                match count.checked_mul(placed) {
                    Some(product) => count = product / k,
                    None => return u64::MAX,
                }
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleavings_are_counted_and_distinct() {
        let mut random = Random::new(1);
        for _ in 0..50 {
            let shape = ProgramShape {
                threads: 3,
                operations: 3,
                addresses: 2,
            };
            let program = StraightLineProgram::random(&mut random, shape);
            let mut schedules = std::collections::BTreeSet::new();
            program.for_each_interleaving(|accesses| {
                let schedule: Vec<_> = accesses.iter().map(|a| a.thread).collect();
                assert!(schedules.insert(schedule));
                assert_eq!(StraightLineProgram::of_accesses(accesses), program);
            });
            assert_eq!(schedules.len() as u64, program.interleaving_count());
        }
    }
}
