//! Atomic variables, with store buffers or without; cells, and the data races on them.
//!
//! Data races are those of C++20. Only accesses to cells can race, so happens-before is kept as what each thread knows:
//! the accesses that happen before its next action. An atomic variable carries what a load of its value synchronizes
//! with: what was known at each release operation that heads a release sequence with that value, or at the release fence
//! before each store of the sequence. A sequence goes on with read-modify-writes, and ends with a store.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Release, SeqCst};

use super::state::{Next, State};

/// A set of accesses to cells.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct Known(u64);

impl Known {
    pub fn add(&mut self, other: Known) {
        self.0 |= other.0;
    }

    fn contains(self, access: u32) -> bool {
        self.0 >> access & 1 == 1
    }
}

/// The most accesses to cells that one thread performs.
const MOST_ACCESSES: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Access {
    pub thread: usize,
    pub is_write: bool,
}

/// Two accesses to a cell that are not ordered, the one that came first being first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Race {
    pub cell: usize,
    pub first: Access,
    pub second: Access,
}

/// How an execution fails.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Failure {
    Race(Race),
    /// A panic with this message.
    Panic(String),
}

/// How stores reach memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Buffers {
    None,
    Tso,
    Pso,
}

/// What a thread has for itself.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct Own {
    pub known: Known,
    /// What an acquire fence would add.
    acquirable: Known,
    /// What was known at the last release fence.
    fenced: Known,
    accesses: usize,
    /// Variable, value, and the number of barriers before, oldest first.
    buffer: Vec<(usize, u32, u32)>,
    barriers: u32,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Memory {
    buffers: Buffers,
    values: [u32; 2],
    /// What loads synchronize with.
    released: [Known; 2],
    /// The accesses so far: of each thread, cells and whether it wrote.
    accesses: Vec<Vec<(usize, bool)>>,
    /// How the execution has failed: the races of the last access, or a panic.
    pub failures: Vec<Failure>,
}

/// What must be in memory before an action.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Drain {
    Everything,
    /// What was stored before the last barrier, and to this variable.
    Ordered(Option<usize>),
}

fn acquires(ordering: Ordering) -> bool {
    matches!(ordering, Acquire | AcqRel | SeqCst)
}

fn releases(ordering: Ordering) -> bool {
    matches!(ordering, Release | AcqRel | SeqCst)
}

impl Memory {
    pub fn new(buffers: Buffers) -> Self {
        Memory {
            buffers,
            values: [0; 2],
            released: [Known::default(); 2],
            accesses: Vec::new(),
            failures: Vec::new(),
        }
    }
}

impl<'p> State<'p> {
    fn own(&mut self, thread: usize) -> &mut Own {
        &mut self.threads[thread].own
    }

    /// The thread learns what happens before it.
    pub fn learn(&mut self, thread: usize, known: Known) {
        self.own(thread).known.add(known);
    }

    pub fn known(&self, thread: usize) -> Known {
        self.threads[thread].own.known
    }

    /// Whether the thread's store buffer allows an action now.
    pub fn is_drained(&self, thread: usize, drain: Drain) -> bool {
        let own = &self.threads[thread].own;
        match (self.shared.memory.buffers, drain) {
            (Buffers::Pso, Drain::Ordered(variable)) => own
                .buffer
                .iter()
                .all(|&(other, _, barriers)| Some(other) != variable && barriers == own.barriers),
            _ => own.buffer.is_empty(),
        }
    }

    /// What a locked operation with this ordering needs to have drained.
    pub fn drain_of(ordering: Ordering, variable: Option<usize>) -> Drain {
        match releases(ordering) {
            true => Drain::Everything,
            false => Drain::Ordered(variable),
        }
    }

    /// The states after one more store has reached memory.
    pub fn after_commits(&self) -> Vec<Next<'p>> {
        let mut all = Vec::new();
        for (number, thread) in self.threads.iter().enumerate() {
            let buffer = &thread.own.buffer;
            for (at, &(variable, value, barriers)) in buffer.iter().enumerate() {
                let is_held = buffer[..at].iter().any(|&(other, _, earlier)| {
                    self.shared.memory.buffers == Buffers::Tso
                        || other == variable
                        || earlier < barriers
                });
                if !is_held {
                    let mut state = self.clone();
                    state.own(number).buffer.remove(at);
                    state.shared.memory.values[variable] = value;
                    all.push(Next {
                        state,
                        is_optional: false,
                    });
                }
            }
        }
        all
    }

    /// What memory has.
    pub fn peek(&self, variable: usize) -> u32 {
        self.shared.memory.values[variable]
    }

    pub fn load(&mut self, thread: usize, variable: usize, ordering: Ordering) -> u32 {
        let released = self.shared.memory.released[variable];
        let in_memory = self.shared.memory.values[variable];
        let own = self.own(thread);
        match acquires(ordering) {
            true => own.known.add(released),
            false => own.acquirable.add(released),
        }
        let mut newest = own.buffer.iter().rev();
        let newest = newest.find(|entry| entry.0 == variable);
        newest.map_or(in_memory, |entry| entry.1)
    }

    /// Whether a store with this ordering can be performed now.
    pub fn can_store(&self, thread: usize, ordering: Ordering) -> bool {
        ordering != SeqCst || self.is_drained(thread, Drain::Everything)
    }

    pub fn store(&mut self, thread: usize, variable: usize, value: u32, ordering: Ordering) {
        let own = self.own(thread);
        let released = match releases(ordering) {
            true => own.known,
            false => own.fenced,
        };
        self.shared.memory.released[variable] = released;
        if self.shared.memory.buffers == Buffers::None || ordering == SeqCst {
            self.shared.memory.values[variable] = value;
            return;
        }
        let own = self.own(thread);
        own.barriers += u32::from(releases(ordering) && !own.buffer.is_empty());
        own.buffer.push((variable, value, own.barriers));
        own.barriers_normalized();
    }

    /// A read-modify-write of memory. Returns what was there.
    pub fn exchange(
        &mut self,
        thread: usize,
        variable: usize,
        ordering: Ordering,
        new: impl FnOnce(u32) -> u32,
    ) -> u32 {
        let old = self.load(thread, variable, ordering);
        let own = self.own(thread);
        let released = match releases(ordering) {
            true => own.known,
            false => own.fenced,
        };
        let memory = &mut self.shared.memory;
        memory.released[variable].add(released);
        memory.values[variable] = new(old);
        old
    }

    pub fn can_fence(&self, thread: usize, ordering: Ordering) -> bool {
        ordering != SeqCst || self.is_drained(thread, Drain::Everything)
    }

    pub fn fence(&mut self, thread: usize, ordering: Ordering) {
        let own = self.own(thread);
        if acquires(ordering) {
            own.known.add(own.acquirable);
        }
        if releases(ordering) {
            own.fenced = own.known;
            own.barriers += u32::from(!own.buffer.is_empty());
        }
    }

    /// The thread panics, which ends the execution.
    pub fn panic(&mut self, message: String) {
        self.shared.memory.failures.push(Failure::Panic(message));
    }

    /// An access to a cell. Accesses are numbered by their threads.
    pub fn access(&mut self, thread: usize, cell: usize, is_write: bool) {
        let known = self.known(thread);
        let memory = &mut self.shared.memory;
        if memory.accesses.len() <= thread {
            memory.accesses.resize(thread + 1, Vec::new());
        }
        for (other, accesses) in memory.accesses.iter().enumerate() {
            for (number, &(accessed, wrote)) in accesses.iter().enumerate() {
                let conflicts = other != thread && accessed == cell && (wrote || is_write);
                if conflicts && !known.contains((other * MOST_ACCESSES + number) as u32) {
                    memory.failures.push(Failure::Race(Race {
                        cell,
                        first: Access {
                            thread: other,
                            is_write: wrote,
                        },
                        second: Access { thread, is_write },
                    }));
                }
            }
        }
        memory.accesses[thread].push((cell, is_write));
        let own = self.own(thread);
        assert!(own.accesses < MOST_ACCESSES, "so many accesses of a thread");
        own.known.0 |= 1 << (thread * MOST_ACCESSES + own.accesses);
        own.accesses += 1;
    }
}

impl Own {
    /// Only differences of numbers of barriers matter.
    fn barriers_normalized(&mut self) {
        let least = self.buffer.iter().map(|entry| entry.2).min().unwrap_or(0);
        self.buffer.iter_mut().for_each(|entry| entry.2 -= least);
        self.barriers -= least;
    }
}
