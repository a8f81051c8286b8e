//! TSO-LB: TSO by load buffers, the specification that the TSO-CC protocol refines
//! (Banks, Elver, Hoffmann, Sarkar, Jackson and Nagarajan 2017, Def. 2).
//!
//! There is one global buffer, and one local buffer per thread; each holds a value for
//! every address. A read takes the local value, a write sets the local and the global
//! one, and at any time all of the global buffer may be copied over a local one
//! (*propagate*). The paper shows that TSO allows everything that this machine emits,
//! and by its Fig. 3 that the converse does not hold.
//!
//! Deviations: values are coherence indices, so that the machine emits traces. The paper
//! has neither fences nor locked operations; as our extension both propagate first, in
//! the same step, and a locked operation then acts on the global buffer. A store-store
//! barrier does nothing, because writes reach the global buffer in program order anyway.

use rustc_hash::FxHashSet;

use crate::candidates::{CandidateKey, ProgramTooLarge};
use crate::event::{Address, Operation};
use crate::program::StraightLineProgram;
use crate::trace::Trace;

/// The traces of all complete runs of the TSO-LB machine.
///
/// ```
/// use fencepost_memory::{Address, Operation, StraightLineProgram, load_buffer};
/// let (x, y) = (Address(0), Address(1));
/// let store_buffering = StraightLineProgram {
///     threads: vec![
///         vec![Operation::Store(x), Operation::Load(y)],
///         vec![Operation::Store(y), Operation::Load(x)],
///     ],
/// };
/// assert_eq!(load_buffer::emitted_traces(&store_buffering)?.len(), 4);
/// # Ok::<(), fencepost_memory::candidates::ProgramTooLarge>(())
/// ```
pub fn emitted_traces(
    program: &StraightLineProgram,
) -> Result<FxHashSet<CandidateKey>, ProgramTooLarge> {
    CandidateKey::check_size(program)?;
    let mut search = Search::new(program, None);
    search.run();
    Ok(search.emitted)
}

/// Whether the TSO-LB machine emits `trace`, as the complete run of a program with
/// exactly these operations. Only runs that agree with the trace are followed.
pub fn emits(trace: &Trace) -> Result<bool, ProgramTooLarge> {
    CandidateKey::of_trace(trace)?;
    let events = |thread: &Vec<usize>| thread.iter().map(|&p| trace.events()[p]).collect();
    let threads: Vec<Vec<_>> = trace.by_thread().iter().map(events).collect();
    let operations = threads.iter().map(|thread| {
        let events = thread.iter();
        events.map(crate::Event::operation).collect()
    });
    let program = StraightLineProgram {
        threads: operations.collect(),
    };
    let wanted = threads
        .iter()
        .flatten()
        .map(|event| event.coherence.0 as u8);
    let mut search = Search::new(&program, Some(wanted.collect()));
    search.run();
    Ok(!search.emitted.is_empty())
}

/// Depth-first search over the states, each visited once. A state is a list of bytes:
/// what [`CandidateKey`] has for each operation, then the global buffer, then the local
/// buffer of each thread.
struct Search {
    /// Operations thread by thread, with the number of their address among those in use.
    operations: Vec<(Operation, usize)>,
    /// The first operation of each thread, and at the end the number of operations.
    starts: Vec<usize>,
    addresses: usize,
    /// The coherence index that each operation must have.
    wanted: Option<Vec<u8>>,
    visited: FxHashSet<Vec<u8>>,
    emitted: FxHashSet<CandidateKey>,
}

impl Search {
    fn new(program: &StraightLineProgram, wanted: Option<Vec<u8>>) -> Self {
        let mut addresses: Vec<Address> = Vec::new();
        let mut operations = Vec::new();
        let mut starts = vec![0];
        for thread in &program.threads {
            for &operation in thread {
                let number = operation.address().map_or(0, |address| {
                    let known = addresses.iter().position(|&a| a == address);
                    known.unwrap_or_else(|| {
                        addresses.push(address);
                        addresses.len() - 1
                    })
                });
                operations.push((operation, number));
            }
            starts.push(operations.len());
        }
        Search {
            operations,
            starts,
            addresses: addresses.len(),
            wanted,
            visited: FxHashSet::default(),
            emitted: FxHashSet::default(),
        }
    }

    fn run(&mut self) {
        let threads = self.starts.len() - 1;
        let size = self.operations.len() + (threads + 1) * self.addresses;
        let mut initial = vec![0; size];
        initial[..self.operations.len()].fill(CandidateKey::NOT_ISSUED);
        let mut open = vec![initial];
        while let Some(state) = open.pop() {
            if !self.visited.insert(state.clone()) {
                continue;
            }
            let mut is_complete = true;
            for thread in 0..threads {
                let is_open = |&index: &usize| state[index] == CandidateKey::NOT_ISSUED;
                let mut indices = self.starts[thread]..self.starts[thread + 1];
                // A finished thread has no use for another propagation.
                let Some(index) = indices.find(is_open) else {
                    continue;
                };
                is_complete = false;
                open.extend(self.issue(state.clone(), thread, index));
                let mut propagated = state.clone();
                self.propagate(&mut propagated, thread);
                if propagated != state {
                    open.push(propagated);
                }
            }
            if is_complete {
                let nibbles = state[..self.operations.len()].iter().copied();
                self.emitted.insert(CandidateKey::of_nibbles(nibbles));
                if self.wanted.is_some() {
                    return;
                }
            }
        }
    }

    /// The state after the thread has performed its operation `index`, unless that is
    /// not what is wanted.
    fn issue(&self, mut state: Vec<u8>, thread: usize, index: usize) -> Option<Vec<u8>> {
        let (operation, address) = self.operations[index];
        let global = self.operations.len() + address;
        let local = global + (thread + 1) * self.addresses;
        if operation.is_locked() || operation == Operation::Fence {
            self.propagate(&mut state, thread);
        }
        let mut coherence = 0;
        if operation.writes() {
            state[global] += 1;
            state[local] = state[global];
            coherence = state[global];
        } else if operation.reads() {
            coherence = state[local];
        }
        if let Some(wanted) = &self.wanted {
            if wanted[index] != coherence {
                return None;
            }
        }
        state[index] = CandidateKey::nibble(coherence.into());
        Some(state)
    }

    /// Copies the global buffer over the thread's local one.
    fn propagate(&self, state: &mut [u8], thread: usize) {
        let (global, local) = state[self.operations.len()..].split_at_mut(self.addresses);
        let local = &mut local[thread * self.addresses..][..self.addresses];
        local.copy_from_slice(global);
    }
}
