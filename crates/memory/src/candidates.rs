//! Every trace that a program could have, allowed or not.
//!
//! A candidate trace of a straight-line program chooses for each address an order of
//! its writes, and for each operation that only reads one of the values of its address,
//! the initial one included. What (E1) to (E3) of SOBER Def. 1 leave open is exactly
//! this; an interlocked operation has no further choice, because it reads the value
//! before the one that it writes.

use std::fmt;

use thiserror::Error;

use crate::event::{Access, CoherenceIndex, Event, IssueIndex, ThreadId};
use crate::program::StraightLineProgram;
use crate::trace::Trace;

/// A trace of a known program in 128 bits: the coherence index of each operation,
/// thread by thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CandidateKey(u128);

/// The program is too large for its candidates to be told apart by [`CandidateKey`] (and
/// for brute force).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error(
    "a program of {operations} operations, up to {writes} of them writes to one address, is too \
     large to enumerate: at most {} operations and {} writes to one address",
    CandidateKey::MAX_OPERATIONS,
    CandidateKey::MAX_WRITES
)]
pub struct ProgramTooLarge {
    /// The number of operations.
    pub operations: usize,
    /// The largest number of writes to one address.
    pub writes: usize,
}

impl CandidateKey {
    /// The most operations that a program may have.
    pub const MAX_OPERATIONS: usize = 32;
    /// The most writes to one address that a program may have.
    pub const MAX_WRITES: usize = 13;

    pub(crate) const NOT_ISSUED: u8 = 0;
    pub(crate) const PENDING: u8 = 15;

    /// The four bits of an operation that has its coherence index.
    #[inline]
    pub(crate) fn nibble(coherence: u64) -> u8 {
        debug_assert!(coherence <= Self::MAX_WRITES as u64);
        coherence as u8 + 1
    }

    #[inline]
    pub(crate) fn of_nibbles(nibbles: impl Iterator<Item = u8>) -> Self {
        let mut key = 0;
        for (index, nibble) in nibbles.enumerate() {
            key |= u128::from(nibble) << (4 * index);
        }
        CandidateKey(key)
    }

    /// The key of a trace that has every operation of its program.
    ///
    /// Fails if the trace is too large; keys are comparable for traces of one program.
    pub fn of_trace(trace: &Trace) -> Result<Self, ProgramTooLarge> {
        let positions = trace.by_thread();
        let positions = positions.iter().flatten();
        let writes = trace.writes_by_address();
        check_size(
            trace.events().len(),
            writes.iter().map(Vec::len).max().unwrap_or(0),
        )?;
        let events = positions.map(|&position| &trace.events()[position]);
        Ok(Self::of_nibbles(
            events.map(|event| Self::nibble(event.coherence.0)),
        ))
    }

    /// Whether the program's candidates have keys.
    pub fn check_size(program: &StraightLineProgram) -> Result<(), ProgramTooLarge> {
        let operations = program.len();
        if operations > Self::MAX_WRITES {
            let writes = writes_by_address(program).into_iter().max();
            return check_size(operations, writes.unwrap_or(0));
        }
        Ok(())
    }
}

fn check_size(operations: usize, writes: usize) -> Result<(), ProgramTooLarge> {
    match operations > CandidateKey::MAX_OPERATIONS || writes > CandidateKey::MAX_WRITES {
        true => Err(ProgramTooLarge { operations, writes }),
        false => Ok(()),
    }
}

impl fmt::Debug for CandidateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CandidateKey({:x})", self.0)
    }
}

/// The number of writes to each address in use, in the order of the addresses.
fn writes_by_address(program: &StraightLineProgram) -> Vec<usize> {
    let mut addresses: Vec<_> = written_addresses(program).collect();
    addresses.sort_unstable();
    let same = |runs: &[_]| runs.len();
    addresses.chunk_by(|a, b| a == b).map(same).collect()
}

fn written_addresses(program: &StraightLineProgram) -> impl Iterator<Item = crate::Address> + '_ {
    let operations = program.threads.iter().flatten();
    operations
        .filter(|operation| operation.writes())
        .filter_map(|operation| operation.address())
}

/// The number of candidate traces, saturating at `u64::MAX`.
///
/// ```
/// use fencepost_memory::candidates::candidate_count;
/// use fencepost_memory::{Address, Operation, StraightLineProgram};
/// let x = Address(0);
/// let threads = vec![vec![Operation::Store(x), Operation::Load(x)], vec![Operation::Store(x)]];
/// // Two orders of the stores, and three values for the load.
/// assert_eq!(candidate_count(&StraightLineProgram { threads }), 6);
/// ```
pub fn candidate_count(program: &StraightLineProgram) -> u64 {
    let mut written: Vec<_> = written_addresses(program).collect();
    written.sort_unstable();
    let mut count: u64 = 1;
    for run in written.chunk_by(|a, b| a == b) {
        for factor in 1..=run.len() as u64 {
            count = count.saturating_mul(factor);
        }
    }
    for operation in program.threads.iter().flatten() {
        if let (true, false, Some(address)) =
            (operation.reads(), operation.writes(), operation.address())
        {
            let first = written.partition_point(|&a| a < address);
            let writes = written[first..].partition_point(|&a| a == address);
            count = count.saturating_mul(writes as u64 + 1);
        }
    }
    count
}

/// Calls `visit` with every candidate trace and its key, each exactly once. The events
/// stand thread by thread.
pub fn for_each_candidate(
    program: &StraightLineProgram,
    visit: impl FnMut(&Trace, CandidateKey),
) -> Result<(), ProgramTooLarge> {
    CandidateKey::check_size(program)?;
    let mut events = Vec::with_capacity(program.len());
    let mut choices = Vec::with_capacity(program.len());
    let mut placed: Vec<(crate::Address, u16)> = Vec::new();
    let mut key = 0;
    for (thread, operations) in program.threads.iter().enumerate() {
        for (index, &operation) in operations.iter().enumerate() {
            let position = events.len();
            key |= u128::from(CandidateKey::nibble(0)) << (4 * position);
            let mut coherence = 0;
            if let Some(address) = operation.address() {
                let slot = placed.iter().position(|&(a, _)| a == address);
                let slot = slot.unwrap_or_else(|| {
                    placed.push((address, 0));
                    placed.len() - 1
                });
                if operation.writes() {
                    placed[slot].1 += 1;
                    coherence = placed[slot].1.into();
                }
                choices.push(Choice {
                    position,
                    slot,
                    is_write: operation.writes(),
                });
            }
            events.push(Event {
                access: Access::new(ThreadId(thread as u32), operation),
                issue: IssueIndex(index as u64 + 1),
                coherence: CoherenceIndex(coherence),
            });
        }
    }
    let writes: Vec<u16> = placed.iter().map(|&(_, writes)| writes).collect();
    // Writes first, so that half-made coherence orders are not repeated per read.
    choices.sort_by_key(|choice| !choice.is_write);
    let mut enumeration = Enumeration {
        trace: Trace::of_valid_events(events),
        choices,
        taken: vec![0; writes.len()],
        writes,
        visit,
    };
    enumeration.choose(0, key);
    Ok(())
}

/// An operation that has a choice: a write its place in the coherence order, a read the
/// value that it reads.
struct Choice {
    position: usize,
    /// The number of its address among those in use.
    slot: usize,
    is_write: bool,
}

struct Enumeration<Visit> {
    trace: Trace,
    choices: Vec<Choice>,
    writes: Vec<u16>,
    /// Per address, the coherence indices that are taken, as a set of bits.
    taken: Vec<u16>,
    visit: Visit,
}

impl<Visit: FnMut(&Trace, CandidateKey)> Enumeration<Visit> {
    /// Makes the choices from number `index` on in every way; the depth is at most 32.
    fn choose(&mut self, index: usize, key: u128) {
        let Some(&Choice {
            position,
            slot,
            is_write,
        }) = self.choices.get(index)
        else {
            (self.visit)(&self.trace, CandidateKey(key));
            return;
        };
        for coherence in u16::from(is_write)..=self.writes[slot] {
            let bit = 1 << coherence;
            if is_write && self.taken[slot] & bit != 0 {
                continue;
            }
            self.trace
                .set_coherence(position, CoherenceIndex(coherence.into()));
            let key = key + (u128::from(coherence) << (4 * position));
            if is_write {
                self.taken[slot] |= bit;
            }
            self.choose(index + 1, key);
            if is_write {
                self.taken[slot] &= !bit;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Address, Operation};
    use crate::program::ProgramShape;
    use crate::random::Random;
    use rustc_hash::FxHashSet;

    #[test]
    fn candidates_are_counted_distinct_and_traces() {
        let mut random = Random::new(5);
        for _ in 0..300 {
            let shape = ProgramShape {
                threads: 3,
                operations: 3,
                addresses: 2,
            };
            let program = StraightLineProgram::random(&mut random, shape);
            if candidate_count(&program) > 20_000 {
                continue;
            }
            let mut keys = FxHashSet::default();
            for_each_candidate(&program, |trace, key| {
                assert_eq!(Trace::new(trace.events().to_vec()).as_ref(), Ok(trace));
                assert_eq!(CandidateKey::of_trace(trace), Ok(key));
                assert!(keys.insert(key));
            })
            .unwrap();
            assert_eq!(keys.len() as u64, candidate_count(&program));
        }
    }

    #[test]
    fn a_large_program_is_refused() {
        let program = |operations| StraightLineProgram {
            threads: vec![vec![Operation::Store(Address(0)); operations]],
        };
        assert_eq!(CandidateKey::check_size(&program(13)), Ok(()));
        let error = for_each_candidate(&program(14), |_, _| ()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a program of 14 operations, up to 14 of them writes to one address, is too large to \
             enumerate: at most 32 operations and 13 writes to one address"
        );
        assert_eq!(candidate_count(&program(1_000)), u64::MAX);
        let fences = StraightLineProgram {
            threads: vec![vec![Operation::Fence; 33]],
        };
        assert!(CandidateKey::check_size(&fences).is_err());
        assert_eq!(candidate_count(&fences), 1);
    }
}
