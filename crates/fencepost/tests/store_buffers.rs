//! Programs that are run with store buffers (`Checker::store_buffers`): what random programs can read is exactly what
//! the machines of `fencepost-memory` let them read, and each of it is run once at least.
//!
//! `FENCEPOST_TEST_SEED` and `FENCEPOST_TEST_PROGRAMS` choose other and more programs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use fencepost::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use fencepost::sync::atomic::{AtomicU64, fence};
use fencepost::{Checker, Outcome, Target, thread};
use fencepost_memory::program::{RandomShape, StraightLine};
use fencepost_memory::{Operation, Random};

fn number_from(variable: &str, otherwise: u64) -> u64 {
    let value = std::env::var(variable).ok();
    value.map_or(otherwise, |text| text.parse().expect("a number"))
}

/// What no variable ever holds.
const NEVER: u64 = u64::MAX;

/// What each thread has read, in order, and what memory holds in the end.
type Seen = (Vec<Vec<u64>>, Vec<u64>);

/// The value that an operation writes is that of no other one.
fn value(thread: usize, index: usize) -> u64 {
    (thread * 100 + index + 1) as u64
}

fn perform(operation: Operation, own: u64, memory: &[AtomicU64]) -> Option<u64> {
    match operation {
        Operation::Load(a) => Some(memory[a.index()].load(Relaxed)),
        Operation::Store(a) => {
            memory[a.index()].store(own, Relaxed);
            None
        }
        Operation::Interlocked(a) => Some(memory[a.index()].swap(own, Relaxed)),
        Operation::LockedLoad(a) => {
            let failed = memory[a.index()].compare_exchange(NEVER, 0, Relaxed, Relaxed);
            Some(failed.unwrap_err())
        }
        Operation::LockedStore(a) => {
            memory[a.index()].store(own, SeqCst);
            None
        }
        Operation::Fence => {
            fence(SeqCst);
            None
        }
        Operation::StoreBarrier => {
            fence(Release);
            None
        }
    }
}

/// Runs the program with store buffers, and collects what is seen.
fn seen(program: &StraightLine, checker: &Checker) -> (BTreeSet<Seen>, Outcome) {
    let all = Arc::new(Mutex::new(BTreeSet::new()));
    let (program, addresses) = (program.clone(), program.address_count());
    let kept = Arc::clone(&all);
    let outcome = checker.run(move || {
        let memory: Arc<Vec<AtomicU64>> = Arc::new((0..addresses).map(|_| AtomicU64::new(0)).collect());
        let threads: Vec<_> = (program.threads.iter().cloned().enumerate())
            .map(|(thread, operations)| {
                let memory = Arc::clone(&memory);
                thread::spawn(move || {
                    let operations = operations.into_iter().enumerate();
                    let reads = operations.filter_map(|(index, operation)| {
                        perform(operation, value(thread, index), &memory)
                    });
                    reads.collect::<Vec<u64>>()
                })
            })
            .collect();
        let reads = threads.into_iter().map(|t| t.join().unwrap()).collect();
        let last = memory.iter().map(|variable| variable.load(Relaxed)).collect();
        kept.lock().unwrap().insert((reads, last));
    });
    let all = std::mem::take(&mut *all.lock().unwrap());
    (all, outcome)
}

/// A machine with store buffers, with values, that knows nothing of the library.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    next: Vec<usize>,
    reads: Vec<Vec<u64>>,
    /// Address, value and how many barriers came before, oldest first.
    buffers: Vec<Vec<(usize, u64, u32)>>,
    barriers: Vec<u32>,
    memory: Vec<u64>,
}

impl State {
    fn new(program: &StraightLine) -> State {
        let threads = program.threads.len();
        State {
            next: vec![0; threads],
            reads: vec![Vec::new(); threads],
            buffers: vec![Vec::new(); threads],
            barriers: vec![0; threads],
            memory: vec![0; program.address_count()],
        }
    }

    /// Which of a thread's buffered stores can go to memory.
    fn committable(&self, thread: usize, target: Target) -> Vec<usize> {
        let buffer = &self.buffers[thread];
        let can_go = |&at: &usize| {
            let (address, _, barriers) = buffer[at];
            buffer[..at].iter().all(|&(other, _, before)| {
                target == Target::Pso && other != address && before == barriers
            })
        };
        (0..buffer.len()).filter(can_go).collect()
    }

    /// The thread's next operation, unless it has to wait.
    fn issue(&self, program: &StraightLine, thread: usize, target: Target) -> Option<State> {
        let index = self.next[thread];
        let operation = *program.threads[thread].get(index)?;
        let own = value(thread, index);
        let buffer = &self.buffers[thread];
        let address = operation.address().map_or(usize::MAX, |a| a.index());
        let is_own_empty = buffer
            .iter()
            .all(|&(other, _, before)| other != address && before == self.barriers[thread]);
        let can_go = match (operation, target) {
            (Operation::Load(_) | Operation::Store(_) | Operation::StoreBarrier, _) => true,
            // A SeqCst store drains everything.
            (Operation::Fence | Operation::LockedStore(_), _) | (_, Target::X86) => buffer.is_empty(),
            _ => is_own_empty,
        };
        if !can_go {
            return None;
        }
        let mut state = self.clone();
        state.next[thread] += 1;
        let newest = buffer.iter().rfind(|(other, _, _)| *other == address);
        match operation {
            Operation::Load(_) => {
                let read = newest.map_or_else(|| self.memory[address], |&(_, value, _)| value);
                state.reads[thread].push(read);
            }
            Operation::Store(_) => {
                state.buffers[thread].push((address, own, self.barriers[thread]));
            }
            Operation::Interlocked(_) => {
                state.reads[thread].push(self.memory[address]);
                state.memory[address] = own;
            }
            Operation::LockedLoad(_) => state.reads[thread].push(self.memory[address]),
            Operation::LockedStore(_) => state.memory[address] = own,
            Operation::Fence => {}
            Operation::StoreBarrier => state.barriers[thread] += 1,
        }
        Some(state)
    }

    fn commit(&self, thread: usize, at: usize) -> State {
        let mut state = self.clone();
        let (address, value, _) = state.buffers[thread].remove(at);
        state.memory[address] = value;
        state
    }

    fn successors(&self, program: &StraightLine, target: Target) -> Vec<State> {
        let mut all = Vec::new();
        for thread in 0..self.next.len() {
            all.extend(self.issue(program, thread, target));
            let commits = self.committable(thread, target);
            all.extend(commits.into_iter().map(|at| self.commit(thread, at)));
        }
        all
    }
}

/// All that the machine lets the program see.
fn expected(program: &StraightLine, target: Target) -> BTreeSet<Seen> {
    let mut seen = BTreeSet::new();
    let mut known = BTreeSet::from([State::new(program)]);
    let mut open: Vec<State> = known.iter().cloned().collect();
    while let Some(state) = open.pop() {
        let successors = state.successors(program, target);
        if successors.is_empty() {
            seen.insert((state.reads, state.memory));
            continue;
        }
        for next in successors {
            if known.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    seen
}

fn agrees(target: Target, programs: u64) {
    let first = number_from("FENCEPOST_TEST_SEED", 0);
    let programs = number_from("FENCEPOST_TEST_PROGRAMS", programs);
    let mut beyond_sc = 0;
    for seed in first..first + programs {
        let mut random = Random::new(seed);
        let (threads, operations, addresses) = [(2, 4, 2), (3, 3, 3), (2, 5, 3), (4, 2, 2)][random.below(4) as usize];
        let shape = RandomShape {
            threads,
            operations,
            addresses,
        };
        let program = StraightLine::random(&mut random, shape);
        let checker = Checker::new().target(target);
        let with_buffers = checker.clone().store_buffers(true);
        let (found, outcome) = seen(&program, &with_buffers);
        assert!(outcome.is_verified(), "seed {seed}: {outcome}");
        let expected = expected(&program, target);
        assert_eq!(found, expected, "seed {seed}: {program:?}");
        let (without, outcome) = seen(&program, &checker.go_on(true));
        assert!(without.is_subset(&expected), "seed {seed}: {program:?}");
        // What is read says less than the trace.
        let is_safe = outcome.is_verified();
        assert!(!is_safe || without == expected, "seed {seed}: {program:?}");
        beyond_sc += u64::from(without != expected);
    }
    assert!(beyond_sc > 0, "no program shows store buffers");
}

#[test]
fn what_is_seen_on_x86_is_what_the_machine_lets_see() {
    agrees(Target::X86, 600);
}

#[test]
fn what_is_seen_on_pso_is_what_the_machine_lets_see() {
    agrees(Target::Pso, 600);
}
