//! The successors of a state at rest.
//!
//! A thread runs by itself as long as other threads cannot observe when it does: it computes, its
//! stores enter its buffer, it passes a fence when its buffer is empty. A load has two successors.
//! Either it reads now, or it waits until another thread has written the cell, and then has the
//! same choice. Loads need no other interleaving: an execution stays the same if each load happens
//! as soon as the value that it reads is in memory. A load that waits for a write that cannot come
//! any more is discarded.
//!
//! A state is *at rest* when every thread has ended, waits, or is before a step that other threads
//! can observe.

use fencepost_memory::{Buffering, LockedDrains, MemoryModel};

use crate::code::Fence;
use crate::run::{RunAction, RunStep};
use crate::test::{CellId, Test};
use crate::thread::{Fault, FaultKind, Pending, Runner, View};

use super::Cut;
use super::choice::{AtRest, Buffers, Choice, Chooser, Front};
use super::facts::{CellSet, Facts, Mutation};
use super::state::{Entry, State};

/// Notes the steps of a run, or does not.
pub(super) trait Record {
    fn step(&mut self, step: RunStep);
    fn mark(&self) -> usize;
    fn truncate(&mut self, mark: usize);
}

impl Record for () {
    fn step(&mut self, _: RunStep) {}
    fn mark(&self) -> usize {
        0
    }
    fn truncate(&mut self, _: usize) {}
}

impl Record for Vec<RunStep> {
    fn step(&mut self, step: RunStep) {
        self.push(step);
    }
    fn mark(&self) -> usize {
        self.len()
    }
    fn truncate(&mut self, mark: usize) {
        Vec::truncate(self, mark);
    }
}

/// Receives the states that are reached. A *trail* describes how a state was reached from the start
/// of the expansion: the choice, and then for each load that could wait whether it read.
pub(super) trait Sink {
    /// Receives a state with several successors. Returns `false` to stop the expansion.
    fn rest(&mut self, state: &State, trail: &[u8]) -> bool;
    /// Receives a final state: all threads have ended and all stores are in memory. Returns `false`
    /// to stop the expansion.
    fn ended(&mut self, state: &State, trail: &[u8]) -> bool;
    /// Asked now and then whether to go on.
    fn should_continue(&mut self) -> bool;
}

/// Why an expansion ended before its end.
pub(super) enum Halt {
    Fault(Fault),
    Stopped,
}

/// A way to go on that was left for later.
struct Task {
    state: State,
    active: Vec<usize>,
    mark: usize,
    trail_mark: usize,
    /// Whether it was left at a load, to wait.
    waits: bool,
    /// How many steps without a choice were taken since a state was kept.
    chain: usize,
    /// How many loads on the way, after the first step, could have waited: each doubles what is
    /// not merged until a state is kept.
    forks: usize,
}

/// How many steps without a choice are taken before the state is kept, so that a run that never
/// ends comes back to a state that is known.
const LONGEST_CHAIN: usize = 64;

/// How many states may be kept for that reason. A test needs that many only if a thread counts
/// far.
const MOST_LONG_CHAINS: u32 = 1 << 15;

/// How many chains may be given up after that. The search is incomplete then; with threads beside
/// the one that counts, there would be such a chain from each of millions of states.
const MOST_LOST_CHAINS: u32 = 1 << 15;

/// How many loads on such a chain may have waited before the state is kept.
const MOST_FORKS: usize = 8;

/// How many loads, stores and fences a thread may perform without waiting, besides one for each of
/// its operations. A loop that takes more with ever new registers is cut.
const MOST_TURNS: u32 = 1 << 12;

/// Expands states of one test under one model.
pub(super) struct Expander<'a, R> {
    pub(super) test: &'a Test,
    pub(super) model: &'a MemoryModel,
    pub(super) facts: &'a Facts,
    pub(super) record: R,
    /// Why states were left out, if any were.
    pub(super) cut: Option<Cut>,
    later: Vec<Task>,
    spare: Vec<Task>,
    chooser: Chooser,
    at_rest: Vec<AtRest>,
    choices: Vec<Choice>,
    tasks: u32,
    long_chains: u32,
    lost_chains: u32,
    trail: Vec<u8>,
    /// The rest of the trail to follow, its end first.
    to_follow: Option<Vec<u8>>,
}

/// In a trail: the load reads.
const READS: u8 = 1;
/// In a trail: the load waits.
const WAITS: u8 = 0;

/// The result of running a thread by itself.
enum Ran {
    ToRest,
    Nowhere,
}

impl<'a, R: Record> Expander<'a, R> {
    pub(super) fn new(test: &'a Test, model: &'a MemoryModel, facts: &'a Facts, record: R) -> Self {
        Expander {
            test,
            model,
            facts,
            record,
            cut: None,
            later: Vec::new(),
            spare: Vec::new(),
            chooser: Chooser::default(),
            at_rest: Vec::new(),
            choices: Vec::new(),
            tasks: 0,
            long_chains: 0,
            lost_chains: 0,
            trail: Vec::new(),
            to_follow: None,
        }
    }

    /// Begins: every thread runs from its first operation.
    pub(super) fn begin(&mut self, state: &State, sink: &mut impl Sink) -> Result<(), Halt> {
        self.trail.clear();
        let mut task = self.spare_task(state);
        task.active.extend((0..self.test.threads.len()).rev());
        self.later.push(task);
        self.work(sink)
    }

    /// Continues from a state at rest, in every way that has to be tried.
    pub(super) fn expand(&mut self, state: &State, sink: &mut impl Sink) -> Result<(), Halt> {
        self.come_to_rest(state).map_err(Halt::Fault)?;
        self.choose(state);
        let choices = std::mem::take(&mut self.choices);
        for (index, &choice) in choices.iter().enumerate() {
            self.trail.clear();
            self.trail.extend_from_slice(&(index as u32).to_le_bytes());
            self.come_to_rest(state).map_err(Halt::Fault)?;
            let mut task = self.spare_task(state);
            self.apply(&mut task, choice).map_err(Halt::Fault)?;
            task.mark = self.record.mark();
            task.trail_mark = self.trail.len();
            self.later.push(task);
            self.work(sink)?;
            self.record.truncate(0);
        }
        self.choices = choices;
        Ok(())
    }

    /// Follows a trail from a state at rest. Records the steps.
    pub(super) fn follow_trail(
        &mut self,
        from: Option<&State>,
        initial: &State,
        trail: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), Halt> {
        let Some(state) = from else {
            self.to_follow = Some(trail.iter().rev().copied().collect());
            return self.begin(initial, sink);
        };
        let (index, decisions) = trail.split_at(4);
        let index = u32::from_le_bytes(index.try_into().expect("four bytes"));
        self.to_follow = Some(decisions.iter().rev().copied().collect());
        self.come_to_rest(state).map_err(Halt::Fault)?;
        self.choose(state);
        let choice = self.choices[index as usize];
        let mut task = self.spare_task(state);
        self.apply(&mut task, choice).map_err(Halt::Fault)?;
        task.mark = self.record.mark();
        self.later.push(task);
        self.work(sink)
    }

    fn spare_task(&mut self, state: &State) -> Task {
        let (mark, trail_mark) = (self.record.mark(), self.trail.len());
        let mut task = self.spare.pop().unwrap_or_else(|| Task {
            state: State::default(),
            active: Vec::new(),
            mark,
            trail_mark,
            waits: false,
            chain: 0,
            forks: 0,
        });
        task.state.clone_from(state);
        task.active.clear();
        task.mark = mark;
        task.trail_mark = trail_mark;
        task.waits = false;
        task.chain = 0;
        task.forks = 0;
        task
    }

    fn work(&mut self, sink: &mut impl Sink) -> Result<(), Halt> {
        while let Some(mut task) = self.later.pop() {
            self.tasks = self.tasks.wrapping_add(1);
            if self.tasks % 1024 == 0 && !sink.should_continue() {
                return Err(Halt::Stopped);
            }
            self.record.truncate(task.mark);
            self.trail.truncate(task.trail_mark);
            if task.waits {
                self.trail.push(WAITS);
            }
            if !self.follow(&mut task, sink).map_err(Halt::Fault)? {
                return Err(Halt::Stopped);
            }
            self.spare.push(task);
        }
        Ok(())
    }

    /// Follows one way to the next state with a choice, to the end, or to nowhere; loads that may
    /// wait leave tasks for later.
    fn follow(&mut self, task: &mut Task, sink: &mut impl Sink) -> Result<bool, Fault> {
        loop {
            while let Some(thread) = task.active.pop() {
                match self.run(task, thread)? {
                    Ran::ToRest => {}
                    Ran::Nowhere => return Ok(true),
                }
            }
            self.come_to_rest(&task.state)?;
            if self.is_hopeless() {
                return Ok(true);
            }
            self.choose(&task.state);
            match self.choices[..] {
                [] => {
                    let ended = self
                        .at_rest
                        .iter()
                        .all(|thread| thread.front == Front::Ended);
                    return Ok(!ended || sink.ended(&task.state, &self.trail));
                }
                [only] if task.chain < LONGEST_CHAIN && task.forks < MOST_FORKS => {
                    task.chain += 1;
                    self.apply(task, only)?;
                }
                [_] if task.chain >= LONGEST_CHAIN && self.long_chains >= MOST_LONG_CHAINS => {
                    // The test runs for ever, or very long.
                    self.cut = Some(Cut::LongLoop);
                    self.lost_chains += 1;
                    return Ok(self.lost_chains < MOST_LOST_CHAINS);
                }
                _ => {
                    self.long_chains += u32::from(task.chain >= LONGEST_CHAIN);
                    self.forget_dead_cells(&mut task.state);
                    return Ok(sink.rest(&task.state, &self.trail));
                }
            }
        }
    }

    fn runner<'s>(&self, state: &'s mut State, thread: usize) -> Runner<'s>
    where
        'a: 's,
    {
        let first = self.facts.threads[thread].first_register;
        let count = self.test.threads[thread].registers.len();
        Runner {
            thread,
            test: self.test,
            layout: &self.facts.layout,
            position: &mut state.positions[thread],
            registers: &mut state.registers[first..first + count],
        }
    }

    fn view<'s>(&self, state: &'s State, thread: usize) -> View<'s>
    where
        'a: 's,
    {
        let first = self.facts.threads[thread].first_register;
        let count = self.test.threads[thread].registers.len();
        View {
            thread,
            test: self.test,
            layout: &self.facts.layout,
            position: state.positions[thread],
            registers: &state.registers[first..first + count],
        }
    }

    fn note(&mut self, thread: usize, position: u32, action: RunAction) {
        let instruction = self.test.threads[thread].instruction_of[position as usize];
        self.record.step(RunStep {
            thread: thread as u32,
            instruction,
            instance: 0,
            action,
        });
    }

    /// Lets a thread run by itself until it rests.
    fn run(&mut self, task: &mut Task, thread: usize) -> Result<Ran, Fault> {
        let mut turns = 0u32;
        let most_turns = MOST_TURNS + self.test.threads[thread].operations.len() as u32;
        let mut earlier = Earlier::default();
        loop {
            let pending = match self.runner(&mut task.state, thread).advance() {
                Err(Fault {
                    kind: FaultKind::SilentLoop,
                    ..
                }) => {
                    self.cut = Some(Cut::LongLoop);
                    return Ok(Ran::Nowhere);
                }
                other => other?,
            };
            let position = task.state.positions[thread];
            turns += 1;
            if turns > most_turns {
                self.cut = Some(Cut::LongLoop);
                return Ok(Ran::Nowhere);
            }
            if earlier.comes_again(turns, &task.state, thread, &self.facts.threads[thread]) {
                // It does the same for ever; that its loads wait was left for later.
                return Ok(Ran::Nowhere);
            }
            match pending {
                Pending::Ended | Pending::BeginLocked => return Ok(Ran::ToRest),
                Pending::EndLocked => unreachable!("a locked instruction is one step"),
                Pending::Fence(fence) => {
                    let waits = self.facts.mutation != Some(Mutation::FenceDoesNotWait);
                    if fence == Fence::Full && waits && !task.state.buffers[thread].is_empty() {
                        return Ok(Ran::ToRest);
                    }
                    // One barrier after another adds nothing.
                    let last = task.state.buffers[thread].last();
                    let separates = fence == Fence::Store
                        && self.facts.buffering == Buffering::PerAddress
                        && last.is_some_and(|entry| *entry != Entry::BARRIER);
                    if separates {
                        task.state.buffers[thread].push(Entry::BARRIER);
                    }
                    self.note(thread, position, RunAction::Fence(fence));
                    self.runner(&mut task.state, thread).passed();
                }
                Pending::Store(cell, value) => {
                    if self.facts.buffering == Buffering::None {
                        return Ok(Ran::ToRest);
                    }
                    if task.state.buffers[thread].len() >= self.facts.threads[thread].buffer_bound {
                        self.cut = Some(Cut::Buffer);
                        return Ok(Ran::ToRest);
                    }
                    task.state.buffers[thread].push(Entry::store(cell, value));
                    self.note(thread, position, RunAction::Issue(cell, value));
                    self.runner(&mut task.state, thread).passed();
                }
                Pending::Load(cell) => {
                    if self.may_be_written(&task.state, thread, cell) {
                        task.forks += usize::from(task.chain > 0);
                        if let Some(trail) = &mut self.to_follow {
                            if trail.pop() == Some(WAITS) {
                                return Ok(Ran::ToRest);
                            }
                        } else {
                            let mut waiting = self.spare_task(&task.state);
                            waiting.active.extend_from_slice(&task.active);
                            waiting.waits = true;
                            waiting.chain = task.chain;
                            waiting.forks = task.forks;
                            self.later.push(waiting);
                            self.trail.push(READS);
                        }
                    }
                    let forwards = self.facts.mutation != Some(Mutation::NoForwarding);
                    let own = task.state.buffered(thread, cell).filter(|_| forwards);
                    let (value, action) = match own {
                        Some(value) => (value, RunAction::ReadBuffer(cell, value)),
                        None => {
                            let value = task.state.memory[cell.index()];
                            (value, RunAction::ReadMemory(cell, value))
                        }
                    };
                    self.note(thread, position, action);
                    self.runner(&mut task.state, thread).loaded(value);
                }
            }
        }
    }

    /// Whether another thread may still write the cell.
    fn may_be_written(&self, state: &State, reader: usize, cell: CellId) -> bool {
        (0..self.test.threads.len()).any(|thread| {
            let position = state.positions[thread] as usize;
            thread != reader
                && (self.facts.threads[thread].writes_from[position].has(cell)
                    || state.buffered(thread, cell).is_some())
        })
    }

    /// Looks at what each thread is doing.
    fn come_to_rest(&mut self, state: &State) -> Result<(), Fault> {
        self.at_rest.clear();
        for thread in 0..self.test.threads.len() {
            let facts = &self.facts.threads[thread];
            let operation = state.positions[thread] as usize;
            let view = self.view(state, thread);
            let pending = view
                .pending()?
                .expect("a thread rests before what others can notice");
            let buffer = &state.buffers[thread];
            let mut reads = facts.reads_from[operation];
            let front = match pending {
                Pending::Ended => Front::Ended,
                Pending::Load(cell) => {
                    reads = facts.reads_from[operation + 1];
                    Front::Waiting(cell)
                }
                Pending::Store(cell, _) if self.facts.buffering == Buffering::None => {
                    Front::Ready(cell)
                }
                Pending::BeginLocked => {
                    let inside = View {
                        position: view.position + 1,
                        ..view
                    };
                    match inside.pending()? {
                        Some(Pending::Load(cell)) if self.may_lock(buffer, cell) => {
                            Front::Ready(cell)
                        }
                        Some(Pending::Load(cell)) => match self.model.locked_drains() {
                            LockedDrains::Everything => Front::BlockedByAll,
                            LockedDrains::OwnAddress => Front::BlockedBy(cell),
                        },
                        _ => unreachable!("a locked instruction begins with its load"),
                    }
                }
                Pending::Store(..) => Front::BlockedByLength,
                Pending::Fence(_) | Pending::EndLocked => Front::BlockedByAll,
            };
            let buffered = buffer.iter().filter_map(|entry| entry.cell());
            self.at_rest.push(AtRest {
                front,
                reads,
                writes: facts.writes_from[operation],
                buffered: buffered
                    .fold(CellSet::default(), |set, cell| set.union(CellSet::of(cell))),
            });
        }
        Ok(())
    }

    fn may_lock(&self, buffer: &[Entry], cell: CellId) -> bool {
        if self.facts.mutation == Some(Mutation::LockedDoesNotDrain) {
            return true;
        }
        match self.model.locked_drains() {
            LockedDrains::Everything => buffer.is_empty(),
            LockedDrains::OwnAddress => buffer
                .iter()
                .all(|entry| entry.cell().is_some_and(|other| other != cell)),
        }
    }

    /// Whether a thread waits for a write that cannot come.
    fn is_hopeless(&self) -> bool {
        self.at_rest.iter().enumerate().any(|(reader, thread)| {
            let Front::Waiting(cell) = thread.front else {
                return false;
            };
            let writes = |other: &AtRest| other.writes.has(cell) || other.buffered.has(cell);
            !self
                .at_rest
                .iter()
                .enumerate()
                .any(|(other, at)| other != reader && writes(at))
        })
    }

    fn choose(&mut self, state: &State) {
        let buffers = BuffersOf {
            state,
            buffering: self.facts.buffering,
        };
        let choices = self.chooser.choose(&self.at_rest, &buffers);
        self.choices.clear();
        self.choices.extend_from_slice(choices);
    }

    /// Clears cells that no thread reads or observes any more, so that equivalent states are equal.
    fn forget_dead_cells(&self, state: &mut State) {
        for (index, content) in state.memory.iter_mut().enumerate() {
            let cell = CellId(index as u32);
            let read =
                |thread: &AtRest| thread.reads.has(cell) || thread.front == Front::Waiting(cell);
            if !self.facts.observed_cells[index] && !self.at_rest.iter().any(read) {
                *content = 0;
            }
        }
    }

    /// Performs a chosen step. Returns the threads that run after it.
    fn apply(&mut self, task: &mut Task, choice: Choice) -> Result<(), Fault> {
        let (writer, written) = match choice {
            Choice::Commit(thread, index) => {
                let entry = task.state.buffers[thread].remove(index);
                let cell = entry.cell().expect("a barrier is not committed");
                while task.state.buffers[thread].first() == Some(&Entry::BARRIER) {
                    task.state.buffers[thread].remove(0);
                }
                task.state.memory[cell.index()] = entry.value;
                let position = task.state.positions[thread];
                self.note(thread, position, RunAction::Commit(cell, entry.value));
                if !matches!(self.at_rest[thread].front, Front::Waiting(_) | Front::Ended) {
                    task.active.push(thread);
                }
                (thread, Some(cell))
            }
            Choice::Front(thread) => {
                task.active.push(thread);
                (thread, self.perform(&mut task.state, thread)?)
            }
        };
        let Some(cell) = written else {
            return Ok(());
        };
        for thread in 0..self.at_rest.len() {
            if thread != writer
                && self.at_rest[thread].front == Front::Waiting(cell)
                && task.state.buffered(thread, cell).is_none()
            {
                task.active.push(thread);
            }
        }
        Ok(())
    }

    /// Performs a locked instruction, or a store that is not buffered. The cell that it wrote.
    fn perform(&mut self, state: &mut State, thread: usize) -> Result<Option<CellId>, Fault> {
        let mut written = None;
        let mut locked = false;
        loop {
            let pending = self.runner(state, thread).advance()?;
            let position = state.positions[thread];
            match pending {
                Pending::BeginLocked => locked = true,
                Pending::Load(cell) => {
                    let value = state.memory[cell.index()];
                    self.note(thread, position, RunAction::LockedRead(cell, value));
                    self.runner(state, thread).loaded(value);
                    continue;
                }
                Pending::Store(cell, value) => {
                    state.memory[cell.index()] = value;
                    written = Some(cell);
                    let action = if locked {
                        RunAction::LockedWrite
                    } else {
                        RunAction::Write
                    };
                    self.note(thread, position, action(cell, value));
                }
                Pending::EndLocked | Pending::Fence(_) | Pending::Ended => locked = false,
            }
            self.runner(state, thread).passed();
            if !locked {
                return Ok(written);
            }
        }
    }
}

struct BuffersOf<'s> {
    state: &'s State,
    buffering: Buffering,
}

impl Buffers for BuffersOf<'_> {
    fn first_towards(&self, thread: usize, cell: CellId) -> usize {
        if self.buffering != Buffering::PerAddress {
            return 0;
        }
        for (index, entry) in self.state.buffers[thread].iter().enumerate() {
            match entry.cell() {
                None => return 0,
                Some(other) if other == cell => return index,
                Some(_) => {}
            }
        }
        // Another cell shares the bit of this one.
        0
    }

    fn cell(&self, thread: usize, index: usize) -> CellId {
        self.state.buffers[thread][index]
            .cell()
            .expect("a barrier is not committed")
    }

    fn ready(&self, thread: usize, into: &mut Vec<Choice>) {
        let buffer = &self.state.buffers[thread];
        if self.buffering != Buffering::PerAddress {
            if !buffer.is_empty() {
                into.push(Choice::Commit(thread, 0));
            }
            return;
        }
        for (index, entry) in buffer.iter().enumerate() {
            let Some(cell) = entry.cell() else {
                return;
            };
            if !buffer[..index]
                .iter()
                .any(|earlier| earlier.cell() == Some(cell))
            {
                into.push(Choice::Commit(thread, index));
            }
        }
    }
}

/// Notices a thread that comes back to where it was, by Brent's method: the state at one turn is
/// kept and compared with those after it, a newer one being kept each time the number of turns has
/// doubled.
#[derive(Default)]
struct Earlier {
    position: u32,
    registers: Vec<u64>,
    buffer: Vec<Entry>,
}

impl Earlier {
    fn comes_again(
        &mut self,
        turns: u32,
        state: &State,
        thread: usize,
        facts: &super::facts::ThreadFacts,
    ) -> bool {
        // Straight-line code never does, and is not to pay for it.
        if turns < 4 {
            return false;
        }
        let position = state.positions[thread];
        let live = facts.live[position as usize].iter();
        let registers =
            live.map(|&register| state.registers[facts.first_register + register as usize]);
        if turns > 4
            && position == self.position
            && registers.clone().eq(self.registers.iter().copied())
            && state.buffers[thread] == self.buffer
        {
            return true;
        }
        if turns.is_power_of_two() {
            self.position = position;
            self.registers.clear();
            self.registers.extend(registers);
            self.buffer.clone_from(&state.buffers[thread]);
        }
        false
    }
}
