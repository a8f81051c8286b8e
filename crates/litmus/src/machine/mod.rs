//! The x86-TSO abstract machine of section 3.1, explored to the end; SC and PSO as well.
//!
//! Read in this order: `state` (registers, buffers, memory), `expand` (how a state leads to the
//! next ones, and why loads need no interleaving), `choice` (which stores have to be tried first),
//! `facts` (what is known of a test before it runs), `seen` (the states reached).
//!
//! Two reductions keep the search small: see `expand` and `choice`. Neither changes which final
//! states are found; that is tested against the axioms and against all executions that the judge
//! accepts.

mod choice;
mod expand;
mod facts;
mod seen;
mod state;

use fencepost_memory::MemoryModel;

use crate::run::Run;
use crate::test::{Observable, Test};
use crate::thread::Fault;

use expand::{Expander, Halt, Sink};
use facts::Facts;
#[doc(hidden)]
pub use facts::Mutation;
use seen::ByteStrings;
use state::State;

/// Where a search ends early.
pub struct Limits<'a> {
    /// The most states to keep, final states among them.
    pub max_states: usize,
    /// The most bytes of memory that the kept states may take.
    pub max_memory: usize,
    /// How many stores of a thread that loops are buffered at most. Threads that do not loop have
    /// no bound.
    pub loop_buffer: usize,
    /// Asked now and then; `true` ends the search.
    pub stop: &'a dyn Fn() -> bool,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Limits {
            max_states: 4_000_000,
            max_memory: 1 << 30,
            loop_buffer: 8,
            stop: &|| false,
        }
    }
}

/// Why there may be final states that were not found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// A thread loops and may buffer more stores than [`Limits::loop_buffer`].
    Buffer,
    /// A thread runs for very long without a memory access.
    LongLoop,
    /// [`Limits::max_states`] was reached.
    States,
    /// [`Limits::max_memory`] was reached.
    Memory,
    /// [`Limits::stop`] returned true.
    Stopped,
}

impl Cut {
    /// Whether the cut is in a loop of the test, and not in a budget.
    pub fn is_loop(self) -> bool {
        matches!(self, Cut::Buffer | Cut::LongLoop)
    }
}

/// The result of a search.
pub struct Exploration<'a> {
    test: &'a Test,
    model: MemoryModel,
    facts: Facts,
    states: ByteStrings,
    links: Links,
    finals: ByteStrings,
    final_links: Links,
    cut: Option<Cut>,
}

/// How each state was first reached.
#[derive(Default)]
struct Links {
    parents: Vec<u32>,
    trails: Vec<u8>,
    trail_ends: Vec<usize>,
}

impl Links {
    fn push(&mut self, parent: u32, trail: &[u8]) {
        self.parents.push(parent);
        self.trails.extend_from_slice(trail);
        self.trail_ends.push(self.trails.len());
    }

    fn get(&self, index: usize) -> (u32, &[u8]) {
        let begin = if index == 0 {
            0
        } else {
            self.trail_ends[index - 1]
        };
        (
            self.parents[index],
            &self.trails[begin..self.trail_ends[index]],
        )
    }

    fn memory(&self) -> usize {
        4 * self.parents.capacity() + self.trails.capacity() + 8 * self.trail_ends.capacity()
    }
}

const NO_PARENT: u32 = u32::MAX;

/// Explores a test under a model.
///
/// # Errors
/// If a thread does what it cannot do, such as reading where no location is.
pub fn explore<'a>(
    test: &'a Test,
    model: &MemoryModel,
    limits: &Limits<'_>,
) -> Result<Exploration<'a>, Fault> {
    explore_mutated(test, model, limits, None)
}

/// Explores a test on a machine with an error, to see that it is noticed.
#[doc(hidden)]
pub fn explore_mutated<'a>(
    test: &'a Test,
    model: &MemoryModel,
    limits: &Limits<'_>,
    mutation: Option<Mutation>,
) -> Result<Exploration<'a>, Fault> {
    let mut found = Exploration {
        test,
        model: *model,
        facts: Facts::new(test, model, limits.loop_buffer, mutation),
        states: ByteStrings::default(),
        links: Links::default(),
        finals: ByteStrings::default(),
        final_links: Links::default(),
        cut: None,
    };
    let mut state = State::initial(test);
    let mut expander = Expander::new(test, model, &found.facts, ());
    let mut collector = Collector {
        test,
        facts: &found.facts,
        limits,
        states: &mut found.states,
        links: &mut found.links,
        finals: &mut found.finals,
        final_links: &mut found.final_links,
        parent: NO_PARENT,
        bytes: Vec::new(),
        cut: None,
    };
    let mut halted = expander.begin(&state, &mut collector);
    let mut next = 0;
    while halted.is_ok() && next < collector.states.len() {
        collector.parent = next as u32;
        state.decode(&found.facts, collector.states.get(next as u32));
        halted = expander.expand(&state, &mut collector);
        next += 1;
    }
    let cut = collector.cut.or(expander.cut);
    found.cut = cut;
    match halted {
        Ok(()) | Err(Halt::Stopped) => Ok(found),
        Err(Halt::Fault(fault)) => Err(fault),
    }
}

impl Exploration<'_> {
    /// How many final states there are.
    pub fn len(&self) -> usize {
        self.finals.len()
    }

    /// Whether no execution ends.
    pub fn is_empty(&self) -> bool {
        self.finals.len() == 0
    }

    /// How many states were kept on the way.
    pub fn visited(&self) -> usize {
        self.states.len()
    }

    /// Why the final states may not be all, if so.
    pub fn cut(&self) -> Option<Cut> {
        self.cut
    }

    /// A final state: the content of each observable of the test, in order.
    pub fn final_state(&self, index: usize) -> Vec<u64> {
        let bytes = self.finals.get(index as u32);
        let words = bytes.chunks_exact(8);
        words
            .map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
            .collect()
    }

    /// All final states.
    pub fn final_states(&self) -> impl Iterator<Item = Vec<u64>> + '_ {
        (0..self.len()).map(|index| self.final_state(index))
    }

    /// A run of the machine that ends in a final state.
    pub fn run(&self, index: usize) -> Run {
        let mut link = self.final_links.get(index);
        let mut chain = vec![link];
        while link.0 != NO_PARENT {
            link = self.links.get(link.0 as usize);
            chain.push(link);
        }
        let initial = State::initial(self.test);
        let mut state = initial.clone();
        let mut expander = Expander::new(self.test, &self.model, &self.facts, Vec::new());
        let mut steps = Vec::new();
        for (parent, trail) in chain.into_iter().rev() {
            let from = (parent != NO_PARENT).then(|| {
                state.decode(&self.facts, self.states.get(parent));
                &state
            });
            // It reports that it was stopped, because the sink stops it.
            let _ = expander.follow_trail(from, &initial, trail, &mut EndOfTrail);
            steps.append(&mut expander.record);
        }
        Run::new(self.test.threads.len(), steps)
    }
}

/// Goes no further than the end of a trail.
struct EndOfTrail;

impl Sink for EndOfTrail {
    fn rest(&mut self, _: &State, _: &[u8]) -> bool {
        false
    }

    fn ended(&mut self, _: &State, _: &[u8]) -> bool {
        false
    }

    fn should_continue(&mut self) -> bool {
        true
    }
}

/// Writes the contents of the observables.
fn observe(test: &Test, facts: &Facts, state: &State, bytes: &mut Vec<u8>) {
    bytes.clear();
    for observable in test.observables() {
        let content = match observable {
            Observable::Cell { cell, .. } => state.memory[cell.index()],
            Observable::Register {
                thread,
                register,
                width,
                ..
            } => {
                let first = facts.threads[*thread].first_register;
                state.registers[first + register.index()] & width.mask()
            }
        };
        bytes.extend_from_slice(&content.to_le_bytes());
    }
}

/// Keeps what is reached.
struct Collector<'s, 'l> {
    test: &'s Test,
    facts: &'s Facts,
    limits: &'s Limits<'l>,
    states: &'s mut ByteStrings,
    links: &'s mut Links,
    finals: &'s mut ByteStrings,
    final_links: &'s mut Links,
    parent: u32,
    bytes: Vec<u8>,
    cut: Option<Cut>,
}

impl Collector<'_, '_> {
    fn memory(&self) -> usize {
        let kept = self.states.memory() + self.finals.memory();
        kept + self.links.memory() + self.final_links.memory()
    }

    fn is_full(&mut self) -> bool {
        let full = self.states.len() + self.finals.len() >= self.limits.max_states;
        if full {
            self.cut = Some(Cut::States);
        } else if self.memory() >= self.limits.max_memory {
            self.cut = Some(Cut::Memory);
        }
        self.cut.is_some()
    }
}

impl Sink for Collector<'_, '_> {
    fn rest(&mut self, state: &State, trail: &[u8]) -> bool {
        state.encode(self.facts, &mut self.bytes);
        if self.states.insert(&self.bytes) {
            self.links.push(self.parent, trail);
            return !self.is_full();
        }
        true
    }

    fn ended(&mut self, state: &State, trail: &[u8]) -> bool {
        observe(self.test, self.facts, state, &mut self.bytes);
        if self.finals.insert(&self.bytes) {
            self.final_links.push(self.parent, trail);
            return !self.is_full();
        }
        true
    }

    fn should_continue(&mut self) -> bool {
        let stop = (self.limits.stop)();
        if stop {
            self.cut = Some(Cut::Stopped);
        }
        !stop
    }
}
