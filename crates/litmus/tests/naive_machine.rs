//! The machine against a machine without any reduction: every thread and every buffer takes every step at every time.
//!
//! The tests are wider than those that the axioms are compared on: up to five threads and four locations, with many stores and
//! locked instructions. `FENCEPOST_SEED` and `FENCEPOST_PROGRAMS` choose other and more.

use crate::common;

use std::collections::{BTreeSet, HashSet};

use common::read;
use fencepost_litmus::code::Fence;
use fencepost_litmus::machine;
use fencepost_litmus::test::{CellId, Observable, Test};
use fencepost_litmus::thread::{Layout, Pending, Runner};
use fencepost_memory::{Buffering, LockedDrains, MemoryModel, Random};

/// A buffered store, or a barrier.
type Entry = Option<(CellId, u64)>;

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    positions: Vec<u32>,
    registers: Vec<Vec<u64>>,
    memory: Vec<u64>,
    buffers: Vec<Vec<Entry>>,
}

struct Naive<'a> {
    test: &'a Test,
    layout: Layout,
    model: &'a MemoryModel,
}

impl Naive<'_> {
    fn initial(&self) -> State {
        let threads = &self.test.threads;
        let content = |thread: &fencepost_litmus::test::Thread| {
            thread
                .registers
                .iter()
                .map(|register| register.initial)
                .collect()
        };
        State {
            positions: vec![0; threads.len()],
            registers: threads.iter().map(content).collect(),
            memory: self.test.cells.iter().map(|cell| cell.initial).collect(),
            buffers: vec![Vec::new(); threads.len()],
        }
    }

    fn runner<'s>(&'s self, state: &'s mut State, thread: usize) -> Runner<'s> {
        Runner {
            thread,
            test: self.test,
            layout: &self.layout,
            position: &mut state.positions[thread],
            registers: &mut state.registers[thread],
        }
    }

    /// Which stores of a buffer can reach memory: their indices.
    fn ready(&self, buffer: &[Entry]) -> Vec<usize> {
        match self.model.buffering() {
            Buffering::None => Vec::new(),
            Buffering::Fifo => (0..buffer.len().min(1)).collect(),
            Buffering::PerAddress => {
                let stores: Vec<CellId> = buffer
                    .iter()
                    .map_while(|entry| entry.map(|(cell, _)| cell))
                    .collect();
                let is_first = |&index: &usize| !stores[..index].contains(&stores[index]);
                (0..stores.len()).filter(is_first).collect()
            }
        }
    }

    fn successors(&self, state: &State) -> Vec<State> {
        let mut successors = Vec::new();
        for thread in 0..state.positions.len() {
            for index in self.ready(&state.buffers[thread]) {
                let mut next = state.clone();
                let (cell, value) = next.buffers[thread].remove(index).expect("a store");
                next.memory[cell.index()] = value;
                while next.buffers[thread].first() == Some(&None) {
                    next.buffers[thread].remove(0);
                }
                successors.push(next);
            }
            successors.extend(self.step(state.clone(), thread));
        }
        successors
    }

    /// What a thread does next, if it can.
    fn step(&self, mut state: State, thread: usize) -> Option<State> {
        let is_buffered = self.model.buffering() != Buffering::None;
        match self.runner(&mut state, thread).advance().expect("no fault") {
            Pending::Ended | Pending::EndLocked => return None,
            Pending::Load(cell) => {
                let own = state.buffers[thread].iter().rev().flatten();
                let own = own
                    .filter(|(other, _)| *other == cell)
                    .map(|(_, value)| *value);
                let value = own
                    .chain([state.memory[cell.index()]])
                    .next()
                    .expect("a content");
                self.runner(&mut state, thread).loaded(value);
                return Some(state);
            }
            Pending::Store(cell, value) if is_buffered => {
                state.buffers[thread].push(Some((cell, value)));
            }
            Pending::Store(cell, value) => state.memory[cell.index()] = value,
            Pending::Fence(Fence::Full) => {
                if !state.buffers[thread].is_empty() {
                    return None;
                }
            }
            Pending::Fence(Fence::Store) => {
                if !state.buffers[thread].is_empty() {
                    state.buffers[thread].push(None);
                }
            }
            Pending::Fence(Fence::Load) => {}
            Pending::BeginLocked => return self.locked(state, thread),
        }
        self.runner(&mut state, thread).passed();
        Some(state)
    }

    fn locked(&self, mut state: State, thread: usize) -> Option<State> {
        loop {
            match self.runner(&mut state, thread).advance().expect("no fault") {
                Pending::Load(cell) => {
                    let buffer = &state.buffers[thread];
                    let drained = match self.model.locked_drains() {
                        LockedDrains::Everything => buffer.is_empty(),
                        LockedDrains::OwnAddress => buffer
                            .iter()
                            .all(|entry| entry.is_some_and(|(other, _)| other != cell)),
                    };
                    if !drained {
                        return None;
                    }
                    let value = state.memory[cell.index()];
                    self.runner(&mut state, thread).loaded(value);
                    continue;
                }
                Pending::Store(cell, value) => state.memory[cell.index()] = value,
                Pending::EndLocked => {
                    self.runner(&mut state, thread).passed();
                    return Some(state);
                }
                _ => {}
            }
            self.runner(&mut state, thread).passed();
        }
    }

    fn observed(&self, state: &State) -> Vec<u64> {
        let observed = self.test.observables().map(|observable| match observable {
            Observable::Cell { cell, .. } => state.memory[cell.index()],
            Observable::Register {
                thread,
                register,
                width,
                ..
            } => state.registers[*thread][register.index()] & width.mask(),
        });
        observed.collect()
    }

    /// All final states; nothing if there are more than so many states.
    fn final_states(&self, most: usize) -> Option<BTreeSet<Vec<u64>>> {
        let mut seen = HashSet::from([self.initial()]);
        let mut left = vec![self.initial()];
        let mut finals = BTreeSet::new();
        while let Some(mut state) = left.pop() {
            let next = self.successors(&state);
            if next.is_empty() {
                // Computations after the last access change no other thread's state.
                for thread in 0..self.test.threads.len() {
                    let end = self.runner(&mut state, thread).advance();
                    assert_eq!(end, Ok(Pending::Ended), "only ended threads stop");
                }
                finals.insert(self.observed(&state));
            }
            for state in next {
                if seen.insert(state.clone()) {
                    left.push(state);
                }
            }
            if seen.len() > most {
                return None;
            }
        }
        Some(finals)
    }
}

/// A test of straight lines: stores above all, and what waits for them.
fn random_test(random: &mut Random) -> String {
    let threads = 3 + random.below(3) as usize;
    let cells = ["a", "b", "c", "d"];
    let registers = ["EAX", "EBX", "ECX"];
    let mut columns: Vec<Vec<String>> = Vec::new();
    for _ in 0..threads {
        let mut read = 0;
        let mut column = Vec::new();
        for _ in 0..1 + random.below(4) {
            let cell = cells[random.below(cells.len() as u64) as usize];
            let register = registers[read.min(registers.len() - 1)];
            column.push(match random.below(10) {
                0..=3 => format!("MOV [{cell}],${}", 1 + random.below(2)),
                4..=6 => {
                    read += 1;
                    format!("MOV {register},[{cell}]")
                }
                7 => {
                    read += 1;
                    format!("XCHG [{cell}],{register}")
                }
                8 => format!("LOCK INC [{cell}]"),
                _ => ["MFENCE", "SFENCE"][random.below(2) as usize].to_owned(),
            });
        }
        columns.push(column);
    }
    let heads: Vec<String> = (0..threads).map(|thread| format!("P{thread}")).collect();
    let mut text = format!("X86 random\n{{ }}\n {} ;\n", heads.join(" | "));
    for row in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
        let cell = |column: &Vec<String>| column.get(row).cloned().unwrap_or_default();
        let cells: Vec<String> = columns.iter().map(cell).collect();
        text += &format!(" {} ;\n", cells.join(" | "));
    }
    let observed = (0..threads).flat_map(|t| registers.map(|register| format!("{t}:{register};")));
    let observed: String = observed
        .chain(cells.map(|cell| format!("{cell};")))
        .collect();
    text + &format!("locations [{observed}]\nexists (true)\n")
}

#[test]
fn the_machine_finds_what_a_machine_without_reductions_finds() {
    let (mut compared, mut skipped) = (0, 0);
    for seed in common::seeds(60) {
        let text = random_test(&mut Random::new(seed));
        let test = read(&text);
        for model in &MemoryModel::ALL {
            let naive = Naive {
                test: &test,
                layout: Layout::new(&test),
                model,
            };
            let Some(expected) = naive.final_states(10_000) else {
                skipped += 1;
                continue;
            };
            let found = machine::explore(&test, model, &machine::Limits::default());
            let found: BTreeSet<_> = found.expect("no faults").final_states().collect();
            assert_eq!(found, expected, "seed {seed}, {model:?}\n{text}");
            compared += 1;
        }
    }
    assert!(
        compared > skipped,
        "{compared} compared, {skipped} too large"
    );
}
