//! Search under a preemption bound.
//!
//! Iterative context bounding (Musuvathi and Qadeer, 2007): first all executions without a
//! preemption, then those with one, and so on. A *preemption* is a switch away from a thread that
//! is enabled and does not hint that it spins.
//!
//! Partial-order reduction as in the exhaustive search is unsound here: the one execution of a
//! class that it runs may need more preemptions than another. So the search goes through the
//! interleavings within the bound, but visits no state twice. What can follow is determined by the
//! equivalence class of the prefix, by the thread that ran last if switching away from it would be
//! a preemption, and by the preemptions left. So every class that has an execution within the bound
//! is run once.
//!
//! A class is recognised by 128 bits: the sum, over its events, of a hash of each event with its
//! vector clock. When the table of visited states is full, no more states are added, which costs
//! time and changes no result.

use fencepost_memory::ThreadId;
use rustc_hash::FxHashMap;

use crate::driver::results::SearchResults;
use crate::execution::log::ExecutionLog;
use crate::execution::run::{End, EndOf, Run};
use crate::program::Program;
use crate::schedule::Turn;

/// The approximate size of a visited state in the table.
const BYTES_PER_STATE: usize = 40;

/// A node of the current path.
#[derive(Clone, Copy)]
struct Node {
    /// The range in `choices` of the steps that are still to be taken from here.
    choices: (u32, u32),
    /// The index of its first choice.
    first: u32,
    /// The class of the prefix.
    class: u128,
    /// The preemptions in the prefix.
    preemptions: u32,
}

/// The search under a bound.
pub(crate) struct Bounded<P: Program> {
    pub(crate) run: Run<P>,
    bound: u32,
    nodes: Vec<Node>,
    choices: Vec<Choice>,
    /// For each state, one more than the preemptions that were left when it was explored.
    visited: FxHashMap<u128, u32>,
    visited_limit: usize,
    pub(crate) executions: u64,
    pub(crate) abandoned: u64,
    /// Executions abandoned under this and all smaller bounds.
    pub(crate) total_abandoned: u64,
    /// Whether the bound excluded a step.
    pub(crate) is_bound_reached: bool,
    pub(crate) hit_spin_bound: bool,
}

#[derive(Clone, Copy)]
struct Choice {
    turn: Turn,
    preempts: bool,
}

impl<P: Program> Bounded<P> {
    pub(crate) fn new(run: Run<P>, bound: u32, memory: usize) -> Self {
        Bounded {
            run,
            bound,
            nodes: Vec::new(),
            choices: Vec::new(),
            visited: FxHashMap::default(),
            visited_limit: memory / BYTES_PER_STATE,
            executions: 0,
            abandoned: 0,
            total_abandoned: 0,
            is_bound_reached: false,
            hit_spin_bound: false,
        }
    }

    /// Starts over with a larger bound. Visited states stay visited with the preemptions that were
    /// left.
    pub(crate) fn raise_bound(&mut self, bound: u32) {
        self.bound = bound;
        self.nodes.clear();
        self.choices.clear();
        self.run.clear();
        self.is_bound_reached = false;
        self.executions = 0;
        self.abandoned = 0;
        self.run.findings.recount();
    }

    pub(crate) fn bound(&self) -> u32 {
        self.bound
    }

    /// The results so far.
    pub(crate) fn results(&self) -> SearchResults<P::Error, P::Restart> {
        SearchResults::snapshot(
            &self.run,
            self.executions,
            self.abandoned,
            self.hit_spin_bound,
        )
    }

    /// Runs the next execution. Returns false if none is left within the bound, or the search
    /// should stop.
    pub(crate) fn next_execution(&mut self) -> bool {
        self.run.findings.begin_execution(self.run.log.len());
        let mut end = self.execute();
        self.run.finish(&mut end);
        match end {
            End::Redundant => {
                self.abandoned += 1;
                self.total_abandoned += 1;
            }
            end => {
                self.executions += 1;
                self.hit_spin_bound |= matches!(end, End::SpinBound);
                self.run.conclude(end);
            }
        }
        !self.run.findings.should_stop && self.backtrack()
    }

    fn execute(&mut self) -> EndOf<P> {
        if let Err(stop) = self.run.begin() {
            return stop.into();
        }
        loop {
            if self.run.findings.should_stop {
                return End::Stopped;
            }
            let depth = self.run.log.len();
            if self.nodes.len() == depth && !self.add_node() {
                return End::Redundant;
            }
            let (next, end) = self.nodes[depth].choices;
            let result = if next < end {
                self.nodes[depth].choices.0 += 1;
                self.run.perform(self.choices[next as usize].turn)
            } else {
                match self.run.force() {
                    Some(result) => result,
                    None => return self.run.end_of_blocked(),
                }
            };
            if let Err(stop) = result {
                let is_new_state = self.run.log.len() > depth;
                return match is_new_state && self.is_visited_failure() {
                    true => End::Redundant,
                    false => stop.into(),
                };
            }
        }
    }

    /// The class and the preemptions of the prefix after the last step.
    fn after_last_step(&self) -> (u128, u32) {
        let Some(parent) = self.nodes.last() else {
            return (0, 0);
        };
        let position = self.nodes.len() as u32 - 1;
        let event = self.run.log.event(position);
        let class = parent
            .class
            .wrapping_add(hash_of_event(&self.run.log, position));
        let taken = parent.choices.0.checked_sub(1);
        let preempts = |choice: u32| !event.is_forced && self.choices[choice as usize].preempts;
        let preemptions = parent.preemptions + u32::from(taken.is_some_and(preempts));
        (class, preemptions)
    }

    /// Whether an equivalent execution has failed before.
    fn is_visited_failure(&mut self) -> bool {
        let (class, preemptions) = self.after_last_step();
        self.is_visited(!class, None, self.bound - preemptions)
    }

    /// Adds a node for the current state with its enabled steps. Returns false if the state was
    /// visited.
    fn add_node(&mut self) -> bool {
        let (class, preemptions) = self.after_last_step();
        let last = self.run.log.events().last().map(|event| event.thread);
        let first = self.choices.len() as u32;
        let mut can_continue = None;
        // A thread that hints that it waits lets others go first: it may wait for them.
        let mut yielding = None;
        if let Some(thread) = last {
            match self.run.ready(thread) {
                Some(outcomes) if self.run.is_at_hint(thread) => {
                    yielding = Some((thread, outcomes));
                }
                Some(outcomes) => {
                    can_continue = Some(thread);
                    self.add_choices(thread, outcomes, false);
                }
                None => {}
            }
        }
        for thread in self.run.threads() {
            if Some(thread) == last {
                continue;
            }
            if let Some(outcomes) = self.run.ready(thread) {
                if can_continue.is_some() && preemptions == self.bound {
                    self.is_bound_reached = true;
                    break;
                }
                self.add_choices(thread, outcomes, can_continue.is_some());
            }
        }
        if let Some((thread, outcomes)) = yielding {
            self.add_choices(thread, outcomes, false);
        }
        let choices = (first, self.choices.len() as u32);
        if self.is_visited(class, can_continue, self.bound - preemptions) {
            self.choices.truncate(first as usize);
            return false;
        }
        self.nodes.push(Node {
            choices,
            first,
            class,
            preemptions,
        });
        true
    }

    fn add_choices(&mut self, thread: ThreadId, outcomes: u32, preempts: bool) {
        for outcome in 0..outcomes {
            let turn = Turn { thread, outcome };
            self.choices.push(Choice { turn, preempts });
        }
    }

    /// Whether the state was visited with as many preemptions left. Marks it as visited.
    fn is_visited(&mut self, class: u128, running: Option<ThreadId>, remaining: u32) -> bool {
        let running = running.map_or(0, |thread| u64::from(thread.0) + 1);
        let state = class ^ mix(running);
        let is_full = self.visited.len() >= self.visited_limit;
        match self.visited.get_mut(&state) {
            Some(explored) if *explored > remaining => true,
            Some(explored) => {
                *explored = remaining + 1;
                false
            }
            None => {
                if !is_full {
                    self.visited.insert(state, remaining + 1);
                }
                false
            }
        }
    }

    /// Rewinds to the last node that has a step left. Returns false if there is none.
    fn backtrack(&mut self) -> bool {
        loop {
            while self.run.log.len() > self.nodes.len().saturating_sub(1) {
                self.run.log.pop();
            }
            match self.nodes.last() {
                None => return false,
                Some(node) if node.choices.0 < node.choices.1 => return true,
                Some(node) => {
                    self.choices.truncate(node.first as usize);
                    self.nodes.pop();
                }
            }
        }
    }
}

/// Spreads a number over 128 bits.
fn mix(number: u64) -> u128 {
    let half = |mut x: u64, salt: u64| {
        x = (x ^ salt).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 32)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 29)
    };
    let low = half(number, 0x9e37_79b9_7f4a_7c15);
    let high = half(number, 0xc2b2_ae3d_27d4_eb4f);
    u128::from(high) << 64 | u128::from(low)
}

/// A hash of an event and its vector clock.
fn hash_of_event(log: &ExecutionLog, position: u32) -> u128 {
    let event = log.event(position);
    hash_of(event.thread, event.outcome, log.clock(position))
}

fn hash_of(thread: ThreadId, outcome: u32, clock: &[u32]) -> u128 {
    // Bit 63 separates this from the entries of clocks: equal numbers would cancel out.
    let mut hash = mix(1 << 63 | u64::from(thread.0) << 32 | u64::from(outcome));
    for (thread, &index) in clock.iter().enumerate() {
        if index > 0 {
            let number = (thread as u64) << 32 | u64::from(index);
            hash = (hash ^ mix(number)).wrapping_mul(0x2d99_7879_26d4_6932_a4c1_f326_80f7_0c55);
            hash ^= hash >> 61;
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use rustc_hash::FxHashSet;

    use super::*;

    /// Hashes of small numbers are distinct, and so are sums of two.
    #[test]
    fn hashes_of_events_are_distinct() {
        let mut hashes = Vec::new();
        for (thread, outcome) in (0..4).flat_map(|t| (0..4).map(move |o| (t, o))) {
            for clock in 0..4_u32.pow(4) {
                let clock = [clock % 4, clock / 4 % 4, clock / 16 % 4, clock / 64];
                hashes.push(hash_of(ThreadId(thread), outcome, &clock));
            }
        }
        let mut sums = FxHashSet::from_iter([0]);
        sums.extend(&hashes);
        assert_eq!(sums.len(), hashes.len() + 1);
        let some: Vec<u128> = hashes.iter().step_by(13).copied().collect();
        let mut expected = sums.len();
        for (index, one) in some.iter().enumerate() {
            for other in &some[..index] {
                sums.insert(one.wrapping_add(*other));
                expected += 1;
            }
        }
        assert_eq!(sums.len(), expected);
    }
}
