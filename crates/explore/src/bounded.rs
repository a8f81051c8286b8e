//! Executions with few preemptions.
//!
//! Iterative context bounding (Musuvathi and Qadeer, 2007): first all executions with no preemption,
//! then those with one, and so on. A *preemption* is a switch away from a thread that could go on
//! and does not say that it spins.
//!
//! Partial-order reduction as for exhaustive exploration is wrong here: the one execution of a
//! class that it runs may need more preemptions than another. So the search goes through the
//! interleavings within the bound, but not twice through the same state: what can follow is
//! determined by the equivalence class of the execution so far, by the thread that ran last if
//! switching away from it would be a preemption, and by the preemptions left. So every class that has an
//! execution within the bound is run once.
//!
//! A class is recognised by 128 bits: the sum, over its events, of a hash of each event with
//! its vector clock. If the table of known states is full, nothing more is put in, which costs time
//! and changes no result.

use fencepost_memory::ThreadId;
use rustc_hash::FxHashMap;

use crate::driver::results::SearchResults;
use crate::execution::log::ExecutionLog;
use crate::execution::run::{End, EndOf, Run};
use crate::program::{Intent, Program, ThreadStatus};
use crate::schedule::Turn;

/// The bytes that one known state takes, about.
const BYTES_PER_STATE: usize = 40;

/// A state on the way to the end of the execution.
#[derive(Clone, Copy)]
struct Node {
    /// The steps that are still to be taken from here, in `plans`.
    plans: (u32, u32),
    /// Where its plans begin.
    first: u32,
    /// The class of the execution up to here.
    class: u128,
    /// The preemptions up to here.
    preemptions: u32,
}

/// The search within a bound.
pub(crate) struct Bounded<P: Program> {
    pub(crate) run: Run<P>,
    bound: u32,
    nodes: Vec<Node>,
    plans: Vec<Plan>,
    /// For each state, one more than the preemptions that were left when it was explored.
    known: FxHashMap<u128, u32>,
    known_limit: usize,
    pub(crate) executions: u64,
    pub(crate) abandoned: u64,
    /// Those that were given up within smaller bounds too.
    pub(crate) abandoned_in_all: u64,
    /// Whether the bound kept anything from being explored.
    pub(crate) is_bound_reached: bool,
    pub(crate) was_cut: bool,
}

#[derive(Clone, Copy)]
struct Plan {
    turn: Turn,
    preempts: bool,
}

impl<P: Program> Bounded<P> {
    pub(crate) fn new(run: Run<P>, bound: u32, memory: usize) -> Self {
        Bounded {
            run,
            bound,
            nodes: Vec::new(),
            plans: Vec::new(),
            known: FxHashMap::default(),
            known_limit: memory / BYTES_PER_STATE,
            executions: 0,
            abandoned: 0,
            abandoned_in_all: 0,
            is_bound_reached: false,
            was_cut: false,
        }
    }

    /// Begins again with a larger bound. What is known stays known where as many preemptions were
    /// left.
    pub(crate) fn raise_bound(&mut self, bound: u32) {
        self.bound = bound;
        self.nodes.clear();
        self.plans.clear();
        self.run.clear();
        self.is_bound_reached = false;
        self.executions = 0;
        self.abandoned = 0;
        self.run.findings.recount();
    }

    /// The bound.
    pub(crate) fn bound(&self) -> u32 {
        self.bound
    }

    /// What it has done so far.
    pub(crate) fn results(&self) -> SearchResults<P::Error, P::Restart> {
        SearchResults::of(&self.run, self.executions, self.abandoned, self.was_cut)
    }

    /// Runs the next execution. False if there is none left within the bound, or enough was found.
    pub(crate) fn next_execution(&mut self) -> bool {
        self.run.findings.begin_execution(self.run.log.len());
        let end = self.execute();
        match self.run.finish(end) {
            End::Known => {
                self.abandoned += 1;
                self.abandoned_in_all += 1;
            }
            end => {
                self.executions += 1;
                self.was_cut |= end == End::Cut;
                self.run.conclude(end);
            }
        }
        !self.run.findings.is_enough && self.backtrack()
    }

    fn execute(&mut self) -> EndOf<P> {
        if let Err(stop) = self.run.begin() {
            return stop.into();
        }
        loop {
            if self.run.findings.is_enough {
                return End::Enough;
            }
            let depth = self.run.log.len();
            if self.nodes.len() == depth && !self.add_node() {
                return End::Known;
            }
            let (next, end) = self.nodes[depth].plans;
            let result = if next < end {
                self.nodes[depth].plans.0 += 1;
                self.run.perform(self.plans[next as usize].turn)
            } else {
                match self.run.force() {
                    Some(result) => result,
                    None => return self.run.end_of_blocked(),
                }
            };
            if let Err(stop) = result {
                let is_new_state = self.run.log.len() > depth;
                return match is_new_state && self.is_known_failure() {
                    true => End::Known,
                    false => stop.into(),
                };
            }
        }
    }

    /// The class of the execution after the last step, and its preemptions.
    fn after_last_step(&self) -> (u128, u32) {
        let Some(parent) = self.nodes.last() else {
            return (0, 0);
        };
        let position = self.nodes.len() as u32 - 1;
        let event = self.run.log.event(position);
        let class = parent
            .class
            .wrapping_add(hash_of_event(&self.run.log, position));
        let taken = parent.plans.0.checked_sub(1);
        let preempts = |plan: u32| !event.is_forced && self.plans[plan as usize].preempts;
        let preemptions = parent.preemptions + u32::from(taken.is_some_and(preempts));
        (class, preemptions)
    }

    /// Whether the same execution has failed before.
    fn is_known_failure(&mut self) -> bool {
        let (class, preemptions) = self.after_last_step();
        self.is_known(!class, None, self.bound - preemptions)
    }

    /// Makes the node for where the execution is now, with the steps that can be taken. False
    /// if the state is known.
    fn add_node(&mut self) -> bool {
        let (class, preemptions) = self.after_last_step();
        let last = self.run.log.events().last().map(|event| event.thread);
        let first = self.plans.len() as u32;
        let mut can_continue = None;
        if let Some(thread) = last {
            if let Some(outcomes) = self.run.ready(thread) {
                if !self.hints(thread) {
                    can_continue = Some(thread);
                }
                self.plan(thread, outcomes, false);
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
                self.plan(thread, outcomes, can_continue.is_some());
            }
        }
        let plans = (first, self.plans.len() as u32);
        if self.is_known(class, can_continue, self.bound - preemptions) {
            self.plans.truncate(first as usize);
            return false;
        }
        self.nodes.push(Node {
            plans,
            first,
            class,
            preemptions,
        });
        true
    }

    fn plan(&mut self, thread: ThreadId, outcomes: u32, preempts: bool) {
        for outcome in 0..outcomes {
            let turn = Turn { thread, outcome };
            self.plans.push(Plan { turn, preempts });
        }
    }

    fn hints(&self, thread: ThreadId) -> bool {
        let standing = self.run.status(thread);
        matches!(standing, ThreadStatus::Pending { intent, .. } if intent == Intent::SpinHint)
    }

    /// Whether the state was explored with as many preemptions left. From now on it is known.
    fn is_known(&mut self, class: u128, running: Option<ThreadId>, left: u32) -> bool {
        let running = running.map_or(0, |thread| u64::from(thread.0) + 1);
        let state = class ^ mix(running);
        let is_full = self.known.len() >= self.known_limit;
        match self.known.get_mut(&state) {
            Some(explored) if *explored > left => true,
            Some(explored) => {
                *explored = left + 1;
                false
            }
            None => {
                if !is_full {
                    self.known.insert(state, left + 1);
                }
                false
            }
        }
    }

    /// Takes back the execution to the last node from which a step is left. False if there is
    /// none.
    fn backtrack(&mut self) -> bool {
        loop {
            while self.run.log.len() > self.nodes.len().saturating_sub(1) {
                self.run.log.pop();
            }
            match self.nodes.last() {
                None => return false,
                Some(node) if node.plans.0 < node.plans.1 => return true,
                Some(node) => {
                    self.plans.truncate(node.first as usize);
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

/// A hash of an event and of what happens before it.
fn hash_of_event(log: &ExecutionLog, position: u32) -> u128 {
    let event = log.event(position);
    hash_of(event.thread, event.outcome, log.clock(position))
}

fn hash_of(thread: ThreadId, outcome: u32, clock: &[u32]) -> u128 {
    // Entries of clocks are other numbers: what is mixed from equal ones would cancel out.
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

    /// Also the small numbers that programs are made of have hashes of their own, and so do sums of a few.
    #[test]
    fn events_have_hashes_of_their_own() {
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
