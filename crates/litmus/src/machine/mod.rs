//! The x86-TSO abstract machine of section 3.1, explored to the end; SC and PSO as well.
//!
//! Read in this order: `state` (registers, buffers, memory), `expand` (how a state leads to the next
//! ones, and why loads need no interleaving), `choice` (which stores have to be tried first), `facts`
//! (what is known of a test before it runs), `seen` (the states reached).
//!
//! Two reductions keep the search small: see `expand` and `choice`. Neither changes which final states
//! are found; that is tested against the axioms and against all executions that the judge accepts.

mod choice;
mod expand;
mod facts;
mod seen;
mod state;

use fencepost_memory::MemoryModel;

use crate::run::{Run, RunStep};
use crate::test::{Observable, Test};
use crate::thread::Fault;

use expand::{Expander, Halt, Record, Sink};
use facts::Facts;
use seen::ByteStrings;
use state::State;

/// Where a search ends early.
pub struct Limits<'a> {
    /// The most states to keep, final states among them.
    pub max_states: usize,
    /// The most bytes of memory that the kept states may take.
    pub max_memory: usize,
    /// How many stores of a thread that loops are buffered at most. Threads that do not loop have no bound.
    pub loop_buffer: usize,
    /// Asked now and then; `true` ends the search.
    pub stop: &'a dyn Fn() -> bool,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Limits {
            max_states: 10_000_000,
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
    /// A thread goes on for very long by itself.
    LongLoop,
    /// [`Limits::max_states`] was reached.
    States,
    /// [`Limits::max_memory`] was reached.
    Memory,
    /// [`Limits::stop`] said so.
    Stopped,
}

impl Cut {
    /// Whether the cut is in a loop of the test, and not in a budget.
    pub fn is_loop(self) -> bool {
        matches!(self, Cut::Buffer | Cut::LongLoop)
    }
}

/// What a search found.
pub struct Exploration<'a> {
    test: &'a Test,
    model: MemoryModel,
    facts: Facts,
    states: ByteStrings,
    parents: Vec<u32>,
    finals: ByteStrings,
    final_parents: Vec<u32>,
    cut: Option<Cut>,
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
    let mut found = Exploration {
        test,
        model: *model,
        facts: Facts::new(test, model, limits.loop_buffer),
        states: ByteStrings::default(),
        parents: Vec::new(),
        finals: ByteStrings::default(),
        final_parents: Vec::new(),
        cut: None,
    };
    let mut state = State::initial(test);
    let mut expander = Expander::new(test, model, &found.facts, ());
    let mut collector = Collector {
        test,
        facts: &found.facts,
        limits,
        states: &mut found.states,
        parents: &mut found.parents,
        finals: &mut found.finals,
        final_parents: &mut found.final_parents,
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
        let mut chain = vec![self.final_parents[index]];
        while let Some(&last) = chain.last()
            && last != NO_PARENT
        {
            chain.push(self.parents[last as usize]);
        }
        // From the first state to the last: each link is expanded again, and the steps noted.
        let mut steps = Vec::new();
        for link in (0..chain.len()).rev() {
            let target = if link == 0 {
                Target::Final(self.finals.get(index as u32))
            } else {
                Target::State(self.states.get(chain[link - 1]))
            };
            steps.extend(self.link(chain[link], target));
        }
        Run::new(self.test.threads.len(), steps)
    }

    fn link(&self, from: u32, target: Target<'_>) -> Vec<RunStep> {
        let mut state = State::initial(self.test);
        let mut expander = Expander::new(self.test, &self.model, &self.facts, Vec::new());
        let mut finder = Finder {
            test: self.test,
            facts: &self.facts,
            target,
            bytes: Vec::new(),
            steps: None,
        };
        // It stops as soon as the target is met.
        let _ = if from == NO_PARENT {
            expander.begin(&state, &mut finder)
        } else {
            state.decode(&self.facts, self.states.get(from));
            expander.expand(&state, &mut finder)
        };
        finder
            .steps
            .expect("what was reached once is reached again")
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
    parents: &'s mut Vec<u32>,
    finals: &'s mut ByteStrings,
    final_parents: &'s mut Vec<u32>,
    parent: u32,
    bytes: Vec<u8>,
    cut: Option<Cut>,
}

impl Collector<'_, '_> {
    fn is_full(&mut self) -> bool {
        let full = self.states.len() + self.finals.len() >= self.limits.max_states;
        if full {
            self.cut = Some(Cut::States);
        } else if self.states.memory() + self.finals.memory() >= self.limits.max_memory {
            self.cut = Some(Cut::Memory);
        }
        self.cut.is_some()
    }
}

impl<R: Record> Sink<R> for Collector<'_, '_> {
    fn rest(&mut self, state: &State, _: &R) -> bool {
        state.encode(self.facts, &mut self.bytes);
        if self.states.insert(&self.bytes) {
            self.parents.push(self.parent);
            return !self.is_full();
        }
        true
    }

    fn ended(&mut self, state: &State, _: &R) -> bool {
        observe(self.test, self.facts, state, &mut self.bytes);
        if self.finals.insert(&self.bytes) {
            self.final_parents.push(self.parent);
            return !self.is_full();
        }
        true
    }

    fn go_on(&mut self) -> bool {
        let stop = (self.limits.stop)();
        if stop {
            self.cut = Some(Cut::Stopped);
        }
        !stop
    }
}

enum Target<'s> {
    State(&'s [u8]),
    Final(&'s [u8]),
}

/// Looks for the steps that lead to one state.
struct Finder<'s> {
    test: &'s Test,
    facts: &'s Facts,
    target: Target<'s>,
    bytes: Vec<u8>,
    steps: Option<Vec<RunStep>>,
}

impl Sink<Vec<RunStep>> for Finder<'_> {
    fn rest(&mut self, state: &State, record: &Vec<RunStep>) -> bool {
        state.encode(self.facts, &mut self.bytes);
        if let Target::State(bytes) = self.target
            && bytes == self.bytes
        {
            self.steps = Some(record.clone());
        }
        self.steps.is_none()
    }

    fn ended(&mut self, state: &State, record: &Vec<RunStep>) -> bool {
        observe(self.test, self.facts, state, &mut self.bytes);
        if let Target::Final(bytes) = self.target
            && bytes == self.bytes
        {
            self.steps = Some(record.clone());
        }
        self.steps.is_none()
    }

    fn go_on(&mut self) -> bool {
        true
    }
}
