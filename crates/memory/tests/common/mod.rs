//! What the tests share: small programs by the million, spread over the processors,
//! and the axioms written straight from the definition.

pub mod definition;

use std::sync::atomic::{AtomicUsize, Ordering};

use fencepost_memory::{Address, Event, Operation, OperationKind, StraightLineProgram, Trace};
use fencepost_memory::{CoherenceIndex, candidates};

pub const X: Address = Address(0);
pub const Y: Address = Address(1);
pub const Z: Address = Address(2);
pub const W: Address = Address(3);

pub fn ld(address: Address) -> Operation {
    Operation::Load(address)
}

pub fn st(address: Address) -> Operation {
    Operation::Store(address)
}

pub fn il(address: Address) -> Operation {
    Operation::Interlocked(address)
}

pub const FENCE: Operation = Operation::Fence;
pub const STBAR: Operation = Operation::StoreBarrier;

/// The threads' operations as text, one thread after the other.
pub fn show(program: &StraightLineProgram) -> String {
    let thread = |list: &Vec<Operation>| {
        let list: Vec<String> = list.iter().map(Operation::to_string).collect();
        list.join("; ")
    };
    let threads: Vec<String> = program.threads.iter().map(thread).collect();
    threads.join(" || ")
}

pub fn show_trace(trace: &Trace) -> String {
    let events: Vec<String> = trace.events().iter().map(Event::to_string).collect();
    events.join("; ")
}

/// The trace of `program` whose operations have these coherence indices.
pub fn outcome(program: &StraightLineProgram, coherence: &[&[u64]]) -> Trace {
    let mut found = None;
    candidates::for_each_candidate(program, |trace, _| {
        let wanted = coherence.iter().copied().flatten();
        let actual = trace.events().iter().map(|event| event.coherence);
        if actual.eq(wanted.map(|&index| CoherenceIndex(index))) {
            found = Some(trace.clone());
        }
    })
    .unwrap();
    found.unwrap_or_else(|| panic!("{}: no trace with {coherence:?}", show(program)))
}

/// Calls `visit` with the numbers below `count`, on every processor. Each worker has a
/// state of its own; the states are returned.
pub fn in_parallel<S: Send>(
    count: usize,
    state: impl Fn() -> S + Sync,
    visit: impl Fn(&mut S, usize) + Sync,
) -> Vec<S> {
    const BATCH: usize = 64;
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        let work = || {
            let mut state = state();
            loop {
                let first = next.fetch_add(BATCH, Ordering::Relaxed);
                if first >= count {
                    return state;
                }
                for index in first..count.min(first + BATCH) {
                    visit(&mut state, index);
                }
            }
        };
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let join = |handle: std::thread::ScopedJoinHandle<'_, S>| match handle.join() {
            Ok(state) => state,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        handles.into_iter().map(join).collect()
    })
}

/// Every program of 2 threads with at most `operations` operations each on 2 addresses,
/// one of each class that differs only in the names of threads and addresses.
pub struct SmallPrograms {
    lists: Vec<Vec<Operation>>,
    /// The number of each list with its addresses exchanged.
    exchanged: Vec<u32>,
    pairs: Vec<(u32, u32)>,
}

impl SmallPrograms {
    pub fn up_to(operations: usize) -> Self {
        let alphabet: Vec<Operation> = OperationKind::ALL
            .into_iter()
            .flat_map(|kind| match kind.has_address() {
                true => vec![kind.at(X), kind.at(Y)],
                false => vec![kind.at(X)],
            })
            .collect();
        let mut lists: Vec<Vec<Operation>> = vec![vec![]];
        let mut longest = lists.clone();
        for _ in 0..operations {
            let longer = longest.iter().flat_map(|list| {
                alphabet.iter().map(|&operation| {
                    let mut list = list.clone();
                    list.push(operation);
                    list
                })
            });
            longest = longer.collect();
            lists.extend(longest.iter().cloned());
        }
        let exchange = |operation: &Operation| match operation.address() {
            Some(a) => operation.kind().at(Address(1 - a.0)),
            None => *operation,
        };
        let number = |list: &Vec<Operation>| {
            let image: Vec<Operation> = list.iter().map(exchange).collect();
            lists.iter().position(|list| *list == image).unwrap() as u32
        };
        let exchanged: Vec<u32> = lists.iter().map(number).collect();
        let mut pairs = Vec::new();
        for first in 0..lists.len() as u32 {
            // The class is named by its least pair.
            for second in first..lists.len() as u32 {
                let (a, b) = (exchanged[first as usize], exchanged[second as usize]);
                if (first, second) <= (a.min(b), a.max(b)) {
                    pairs.push((first, second));
                }
            }
        }
        SmallPrograms {
            lists,
            exchanged,
            pairs,
        }
    }

    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    pub fn get(&self, index: usize) -> StraightLineProgram {
        let (first, second) = self.pairs[index];
        let list = |number: u32| self.lists[number as usize].clone();
        StraightLineProgram {
            threads: vec![list(first), list(second)],
        }
    }

    /// The number of classes by Burnside's lemma, from the symmetries alone.
    pub fn expected_len(&self) -> usize {
        let lists = self.lists.len();
        let fixed = |&(list, image): &(usize, u32)| list == image as usize;
        let images = self.exchanged.iter().copied().enumerate();
        let unchanged = images.filter(|pair| fixed(pair)).count();
        (lists * lists + unchanged * unchanged + lists + lists) / 4
    }
}
