//! Random walks from the start states. They store no states but those of the current walk.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::breadth::STACK_BYTES;
use super::control::Control;
use super::worker::{Plan, StopReason};
use crate::compile::{Context, status};
use crate::model::PropertyKind;
use crate::outcome::DeadlockRule;

/// The result of all walks.
pub(super) struct WalkResult {
    /// The path of packed states to an error, if there is one.
    pub path: Option<Vec<Vec<u64>>>,
    /// The failure of a start state, or why the walks ended early.
    pub reason: Option<StopReason>,
    /// The states visited, counted as often as they were reached.
    pub states: u64,
    pub rules_fired: u64,
    /// The length of the longest walk.
    pub depth: u64,
    pub hits: Vec<u64>,
}

pub(super) struct Walks<'p, 'm> {
    pub plan: &'p Plan<'m>,
    pub control: &'p Control<'p>,
    pub seed: u64,
    pub walks: u64,
    pub steps: u64,
}

/// The error that a walk found. The one of the first walk counts, whichever worker ran it.
struct WalkFinding {
    walk: u64,
    path: Option<Vec<Vec<u64>>>,
    reason: Option<StopReason>,
}

impl Walks<'_, '_> {
    pub fn run(&self, starts: &[(usize, Vec<i64>)]) -> WalkResult {
        if self.walks < u64::MAX {
            self.control.expect_walks(self.walks);
        }
        let next = AtomicU64::new(0);
        let found: Mutex<Option<WalkFinding>> = Mutex::new(None);
        let work = || self.work(starts, &next, &found);
        let results: Vec<Walker> = std::thread::scope(|scope| {
            let threads: Vec<_> = (1..self.plan.workers)
                .map(|_| {
                    let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
                    builder.spawn_scoped(scope, work)
                })
                .collect();
            let mut results = vec![work()];
            for thread in threads.into_iter().flatten() {
                match thread.join() {
                    Ok(result) => results.push(result),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            results
        });
        let mut walked = WalkResult {
            path: None,
            reason: None,
            states: 0,
            rules_fired: 0,
            depth: 0,
            hits: vec![0; self.plan.model.points.len()],
        };
        for walker in results {
            walked.states += walker.states;
            walked.rules_fired += walker.rules_fired;
            walked.depth = walked.depth.max(walker.depth);
            for (total, hits) in walked.hits.iter_mut().zip(walker.context.hits()) {
                *total += hits;
            }
        }
        let found = match found.into_inner() {
            Ok(found) => found,
            Err(poisoned) => poisoned.into_inner(),
        };
        match found {
            Some(found) => (walked.path, walked.reason) = (found.path, found.reason),
            None if self.control.is_stopped() => walked.reason = Some(StopReason::Stopped),
            None => {}
        }
        walked
    }

    fn work(
        &self,
        starts: &[(usize, Vec<i64>)],
        next: &AtomicU64,
        found: &Mutex<Option<WalkFinding>>,
    ) -> Walker {
        let mut walker = Walker {
            context: self.plan.program.context(self.control.stop_flag()),
            state: vec![0; self.plan.program.layout.masks.len()],
            next: vec![0; self.plan.program.layout.masks.len()],
            states: 0,
            rules_fired: 0,
            depth: 0,
        };
        while !self.control.is_stopped() && !starts.is_empty() {
            let walk = next.fetch_add(1, Ordering::Relaxed);
            let is_later =
                |found: &Option<WalkFinding>| found.as_ref().is_some_and(|f| f.walk < walk);
            let lock = |found: &Mutex<Option<WalkFinding>>| match found.lock() {
                Ok(found) => is_later(&found),
                Err(_) => true,
            };
            if walk >= self.walks || lock(found) {
                break;
            }
            let mut random = Random::new(self.seed, walk);
            let mut path = Vec::new();
            let before = (walker.states, walker.rules_fired);
            let ended = self.walk(&mut walker, starts, &mut random, &mut path);
            self.control
                .walked(walker.states - before.0, walker.rules_fired - before.1);
            let Err(reason) = ended else { continue };
            if reason == StopReason::Stopped {
                break;
            }
            let is_way = matches!(reason, StopReason::At(_));
            let new = WalkFinding {
                walk,
                path: is_way.then_some(path),
                reason: (!is_way).then_some(reason),
            };
            if let Ok(mut found) = found.lock()
                && !is_later(&found)
            {
                *found = Some(new);
            }
        }
        walker
    }

    /// Runs one walk. An error is in the last state of its path.
    fn walk(
        &self,
        walker: &mut Walker,
        starts: &[(usize, Vec<i64>)],
        random: &mut Random,
        path: &mut Vec<Vec<u64>>,
    ) -> Result<(), StopReason> {
        let program = &self.plan.program;
        let (index, parameters) = &starts[random.below(starts.len())];
        walker.state.fill(0);
        let wrong = |found: i64, reason: StopReason| match found {
            status::FAULT => reason,
            _ => StopReason::Stopped,
        };
        match program.start(*index, &mut walker.state, &mut walker.context, parameters) {
            status::DONE => {}
            status::ASSUMPTION => return Ok(()),
            other => {
                return Err(wrong(
                    other,
                    StopReason::Start {
                        index: *index,
                        parameters: parameters.clone(),
                    },
                ));
            }
        }
        let point = self.plan.model.startstates[*index].point.0 as usize;
        walker.context.hits_mut()[point] += 1;
        self.plan.multisets.sort(&mut walker.state);
        if !self.accept(walker, true, path)? {
            return Ok(());
        }
        for step in 0..self.steps {
            if self.control.is_stopped() {
                return Err(StopReason::Stopped);
            }
            if !self.step(walker, random, path)? {
                break;
            }
            walker.depth = walker.depth.max(step + 1);
        }
        Ok(())
    }

    /// Fires one rule at random, if one leads to another state.
    fn step(
        &self,
        walker: &mut Walker,
        random: &mut Random,
        path: &mut Vec<Vec<u64>>,
    ) -> Result<bool, StopReason> {
        let program = &self.plan.program;
        let here = StopReason::At(0);
        match program.scan_all(&mut walker.state, &mut walker.context) {
            status::DONE => {}
            status::FAULT => return Err(here),
            _ => return Err(StopReason::Stopped),
        }
        let mut enabled = self.plan.instances(walker.context.enabled());
        let (mut is_stuck, mut is_left) = (true, false);
        while !enabled.is_empty() {
            let (rule, parameters) = enabled.swap_remove(random.below(enabled.len()));
            walker.next.copy_from_slice(&walker.state);
            match program.fire(rule, &mut walker.next, &mut walker.context, &parameters) {
                status::DONE => {}
                status::ASSUMPTION => continue,
                status::FAULT => return Err(here),
                _ => return Err(StopReason::Stopped),
            }
            is_stuck = false;
            walker.rules_fired += 1;
            let point = self.plan.model.rules[rule].point.0 as usize;
            walker.context.hits_mut()[point] += 1;
            self.plan.multisets.sort(&mut walker.next);
            if walker.next == walker.state {
                continue;
            }
            is_left = true;
            if self.accept(walker, false, path)? {
                return Ok(true);
            }
        }
        match self.plan.deadlock {
            DeadlockRule::Stuttering if !is_left => Err(here),
            DeadlockRule::Stuck if is_stuck => Err(here),
            _ => Ok(false),
        }
    }

    /// Moves to a state, unless an assumption is false in it, and checks it.
    fn accept(
        &self,
        walker: &mut Walker,
        is_start: bool,
        path: &mut Vec<Vec<u64>>,
    ) -> Result<bool, StopReason> {
        if is_start {
            walker.next.copy_from_slice(&walker.state);
        }
        for (index, property) in self.plan.model.properties.iter().enumerate() {
            if property.kind == PropertyKind::Assumption {
                match self.property(walker, index) {
                    status::TRUE => {}
                    status::DONE => return Ok(false),
                    status::FAULT => return Err(StopReason::At(0)),
                    _ => return Err(StopReason::Stopped),
                }
            }
        }
        std::mem::swap(&mut walker.state, &mut walker.next);
        walker.states += 1;
        let mut packed = vec![0; self.plan.packer.words()];
        self.plan.packer.pack(&walker.state, &mut packed);
        path.push(packed);
        walker.next.copy_from_slice(&walker.state);
        for (index, property) in self.plan.model.properties.iter().enumerate() {
            if property.kind == PropertyKind::Assumption {
                continue;
            }
            match self.property(walker, index) {
                status::TRUE => {}
                status::DONE if property.kind == PropertyKind::Cover => {}
                status::DONE | status::FAULT => return Err(StopReason::At(0)),
                _ => return Err(StopReason::Stopped),
            }
        }
        Ok(true)
    }

    /// Evaluates a property of the next state.
    fn property(&self, walker: &mut Walker, index: usize) -> i64 {
        let program = &self.plan.program;
        if !program.property_writes[index] {
            return program.property(index, &mut walker.next, &mut walker.context);
        }
        let mut scratch = walker.next.clone();
        program.property(index, &mut scratch, &mut walker.context)
    }
}

/// The buffers of one worker.
struct Walker {
    context: Box<Context>,
    state: Vec<u64>,
    next: Vec<u64>,
    states: u64,
    rules_fired: u64,
    depth: u64,
}

/// Random numbers that depend only on the seed and the walk.
struct Random(u64);

impl Random {
    fn new(seed: u64, walk: u64) -> Random {
        // Both are mixed before they are combined: otherwise the numbers of a walk would be those
        // of the walk before it, shifted by one.
        let mut of_seed = Random(seed);
        let mut of_walk = Random(walk ^ 0x5851_f42d_4c95_7f2d);
        Random(of_seed.next() ^ of_walk.next().rotate_left(17))
    }

    /// SplitMix64 (Steele, Lea and Flood).
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, many: usize) -> usize {
        ((u128::from(self.next()) * many as u128) >> 64) as usize
    }
}
