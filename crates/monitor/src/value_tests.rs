//! The monitor against brute force on programs whose next step depends on what they read.
//!
//! In a straight-line program it makes no difference which value a read-modify-write reads. Here
//! instructions are skipped or not by the last value read, and a compare-exchange writes or not.
//! The machine is the test's own: it carries values, and is run in every possible way.

use fencepost_memory::{
    Access, Address, CoherenceIndex, Event, IssueIndex, LockedDrains, MemoryModel, Operation,
    Random, ThreadId, Trace, order,
};

use crate::runner::MonitorRunner;
use crate::{Monitor, RelaxedOrderMonitor};

#[derive(Clone, Copy, Debug)]
enum Instruction {
    Load(u32),
    Store(u32, u64),
    CompareExchange(u32, u64, u64),
    Add(u32),
    Fence,
}

/// An instruction, and the value that must have been read last for it to be performed.
type Guarded = (Instruction, Option<u64>);

type Program = Vec<Vec<Guarded>>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Buffers {
    None,
    Fifo,
    PerAddress,
}

/// An event by thread and number within the thread.
type Name = (usize, usize);

#[derive(Clone)]
struct State {
    program_counter: Vec<usize>,
    last_read: Vec<u64>,
    buffers: Vec<Vec<(u32, u64, Name)>>,
    /// Per address the value and the writes in coherence order.
    memory: Vec<(u64, Vec<Name>)>,
    /// Per thread its operations, and the write that each one read.
    performed: Vec<Vec<(Operation, Option<Name>)>>,
    interleaving: Vec<Access>,
}

impl State {
    fn perform(&mut self, thread: usize, operation: Operation, source: Option<Name>) -> Name {
        self.performed[thread].push((operation, source));
        let access = Access::new(ThreadId(thread as u32), operation);
        self.interleaving.push(access);
        (thread, self.performed[thread].len() - 1)
    }

    fn write(&mut self, address: u32, value: u64, name: Name) {
        let (current, order) = &mut self.memory[address as usize];
        *current = value;
        order.push(name);
    }

    /// Performs the next instruction of a thread; false if it must wait for its buffer.
    fn issue(&mut self, thread: usize, instruction: Instruction, drains: LockedDrains) -> bool {
        let pending = &self.buffers[thread];
        let locked = |address: u32| match drains {
            LockedDrains::Everything => pending.is_empty(),
            LockedDrains::OwnAddress => pending.iter().all(|store| store.0 != address),
        };
        let read = |address: u32| {
            let (value, order) = &self.memory[address as usize];
            (*value, order.last().copied())
        };
        match instruction {
            Instruction::Load(a) => {
                let forwarded = pending.iter().rev().find(|store| store.0 == a);
                let (value, source) = match forwarded {
                    Some(&(_, value, name)) => (value, Some(name)),
                    None => read(a),
                };
                self.last_read[thread] = value;
                self.perform(thread, Operation::Load(Address(a)), source);
            }
            Instruction::Store(a, value) => {
                let name = self.perform(thread, Operation::Store(Address(a)), None);
                self.buffers[thread].push((a, value, name));
            }
            Instruction::CompareExchange(a, ..) | Instruction::Add(a) => {
                if !locked(a) {
                    return false;
                }
                let (value, source) = read(a);
                self.last_read[thread] = value;
                let new = match instruction {
                    Instruction::CompareExchange(_, old, _) if value != old => None,
                    Instruction::CompareExchange(_, _, new) => Some(new),
                    _ => Some(value + 1),
                };
                match new {
                    None => {
                        self.perform(thread, Operation::LockedLoad(Address(a)), source);
                    }
                    Some(new) => {
                        let operation = Operation::Interlocked(Address(a));
                        let name = self.perform(thread, operation, source);
                        self.write(a, new, name);
                    }
                }
            }
            Instruction::Fence => {
                if !pending.is_empty() {
                    return false;
                }
                self.perform(thread, Operation::Fence, None);
            }
        }
        true
    }

    fn commit(&mut self, thread: usize, index: usize) {
        let (address, value, name) = self.buffers[thread].remove(index);
        self.write(address, value, name);
    }

    fn trace(&self) -> Trace {
        let number_of = |operation: Operation, name: Name| {
            let address = operation.address().expect("it is written").index();
            let writes = self.memory[address].1.iter();
            writes.take_while(|write| **write != name).count() as u64 + 1
        };
        let mut events = Vec::new();
        for (thread, list) in self.performed.iter().enumerate() {
            for (index, &(operation, source)) in list.iter().enumerate() {
                let coherence = match operation.writes() {
                    true => number_of(operation, (thread, index)),
                    false => source.map_or(0, |write| number_of(operation, write)),
                };
                events.push(Event {
                    access: Access::new(ThreadId(thread as u32), operation),
                    issue: IssueIndex(index as u64 + 1),
                    coherence: CoherenceIndex(coherence),
                });
            }
        }
        Trace::new(events).expect("a run has a trace")
    }
}

/// Calls `visit` with the final state of every run.
fn for_each_run(
    program: &Program,
    buffers: Buffers,
    drains: LockedDrains,
    visit: &mut impl FnMut(&State),
) {
    let threads = program.len();
    let state = State {
        program_counter: vec![0; threads],
        last_read: vec![0; threads],
        buffers: vec![Vec::new(); threads],
        memory: vec![(0, Vec::new()); 3],
        performed: vec![Vec::new(); threads],
        interleaving: Vec::new(),
    };
    extend_run(program, buffers, drains, state, visit);
}

fn extend_run(
    program: &Program,
    buffers: Buffers,
    drains: LockedDrains,
    mut state: State,
    visit: &mut impl FnMut(&State),
) {
    // What is skipped is no step.
    for thread in 0..program.len() {
        while let Some((_, Some(guard))) = program[thread].get(state.program_counter[thread]) {
            if *guard == state.last_read[thread] {
                break;
            }
            state.program_counter[thread] += 1;
        }
    }
    let mut is_final = true;
    for thread in 0..program.len() {
        for index in 0..state.buffers[thread].len() {
            let address = state.buffers[thread][index].0;
            let mut older = state.buffers[thread][..index].iter();
            let is_first = match buffers {
                Buffers::PerAddress => older.all(|store| store.0 != address),
                _ => index == 0,
            };
            if is_first {
                is_final = false;
                let mut next = state.clone();
                next.commit(thread, index);
                extend_run(program, buffers, drains, next, visit);
            }
        }
        let Some(&(instruction, _)) = program[thread].get(state.program_counter[thread]) else {
            continue;
        };
        let mut next = state.clone();
        if next.issue(thread, instruction, drains) {
            is_final = false;
            next.program_counter[thread] += 1;
            if buffers == Buffers::None && !next.buffers[thread].is_empty() {
                next.commit(thread, 0);
            }
            extend_run(program, buffers, drains, next, visit);
        }
    }
    if is_final {
        visit(&state);
    }
}

fn random_program(random: &mut Random) -> Program {
    let (threads, length) = [(2, 3), (3, 2)][random.below(2) as usize];
    let mut instruction = || {
        let address = random.below(3) as u32;
        let instruction = match random.below(10) {
            0..3 => Instruction::Load(address),
            3..6 => Instruction::Store(address, 1 + random.below(2)),
            6..8 => Instruction::CompareExchange(address, random.below(2), 1 + random.below(2)),
            8 => Instruction::Add(address),
            _ => Instruction::Fence,
        };
        let guard = (random.below(3) == 0).then(|| random.below(3));
        (instruction, guard)
    };
    let mut thread = |_| (0..length).map(|_| instruction()).collect();
    (0..threads).map(&mut thread).collect()
}

/// What the monitor says over all interleavings.
fn is_reported<M: Monitor>(program: &Program, monitor: M) -> bool {
    let mut runner = MonitorRunner::new(monitor);
    let mut is_reported = false;
    for_each_run(
        program,
        Buffers::None,
        LockedDrains::Everything,
        &mut |run| {
            runner.reset();
            for &access in &run.interleaving {
                let violation = runner.observe(access).expect("no memory limit");
                is_reported |= violation.is_some();
            }
        },
    );
    is_reported
}

fn leaves_sc(program: &Program, buffers: Buffers, drains: LockedDrains) -> bool {
    let mut leaves = false;
    for_each_run(program, buffers, drains, &mut |run| {
        leaves = leaves || order::happens_before_cycle(&run.trace()).is_some();
    });
    leaves
}

#[test]
fn relaxed_order_is_exact_where_values_matter() {
    let mut random = Random::new(11);
    let mut unsafe_ones = [0; 3];
    const PROGRAMS: usize = 1500;
    for _ in 0..PROGRAMS {
        let program = random_program(&mut random);
        let (everything, own) = (LockedDrains::Everything, LockedDrains::OwnAddress);
        let expected = [
            leaves_sc(&program, Buffers::Fifo, everything),
            leaves_sc(&program, Buffers::PerAddress, everything),
            leaves_sc(&program, Buffers::PerAddress, own),
        ];
        let found = [
            is_reported(&program, RelaxedOrderMonitor::tso()),
            is_reported(&program, RelaxedOrderMonitor::pso(everything)),
            is_reported(&program, RelaxedOrderMonitor::pso(own)),
        ];
        assert_eq!(found, expected, "TSO, PSO, PSO own address: {program:?}");
        for (count, unsafe_) in unsafe_ones.iter_mut().zip(expected) {
            *count += usize::from(unsafe_);
        }
    }
    for count in unsafe_ones {
        assert!(
            (PROGRAMS / 100..PROGRAMS / 2).contains(&count),
            "{unsafe_ones:?}"
        );
    }
}

/// A store cannot be put before a compare-exchange that succeeded: it would fail then.
#[test]
fn a_store_does_not_overtake_a_compare_exchange() {
    let interleaving = [
        (0, Operation::Interlocked(Address(0))),
        (0, Operation::Load(Address(1))),
        (1, Operation::Store(Address(1))),
        (1, Operation::Store(Address(0))),
    ];
    let mut runner = MonitorRunner::new(RelaxedOrderMonitor::pso(LockedDrains::Everything));
    for (thread, operation) in interleaving {
        let access = Access::new(ThreadId(thread), operation);
        assert_eq!(runner.observe(access), Ok(None));
    }
    assert_eq!(runner.monitor().model(), MemoryModel::PSO);
}
