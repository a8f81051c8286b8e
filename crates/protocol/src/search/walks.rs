//! Random walks from the start states, which remember nothing but their own way.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use fencepost_memory::SplitMix64;

use super::breadth::STACK_BYTES;
use super::control::Control;
use super::worker::{Plan, Trouble};
use crate::compile::{Context, status};
use crate::model::PropertyKind;
use crate::outcome::DeadlockRule;

/// What all walks came to.
pub(super) struct Walked {
    /// The way to what is wrong, as states are stored; nothing if nothing was found.
    pub way: Option<Vec<Vec<u64>>>,
    /// What a start state failed with, or why the walks ended early.
    pub trouble: Option<Trouble>,
    /// How many states were looked at, counted as often as they were reached.
    pub states: u64,
    pub rules_fired: u64,
    /// The longest walk.
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

/// What a walk found. Of all walks, the first one counts, whichever thread took it.
struct Found {
    walk: u64,
    way: Option<Vec<Vec<u64>>>,
    trouble: Option<Trouble>,
}

impl Walks<'_, '_> {
    pub fn run(&self, starts: &[(usize, Vec<i64>)]) -> Walked {
        if self.walks < u64::MAX {
            self.control.expect_walks(self.walks);
        }
        let next = AtomicU64::new(0);
        let found: Mutex<Option<Found>> = Mutex::new(None);
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
        let mut walked = Walked {
            way: None,
            trouble: None,
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
            Some(found) => (walked.way, walked.trouble) = (found.way, found.trouble),
            None if self.control.is_stopped() => walked.trouble = Some(Trouble::Stopped),
            None => {}
        }
        walked
    }

    fn work(
        &self,
        starts: &[(usize, Vec<i64>)],
        next: &AtomicU64,
        found: &Mutex<Option<Found>>,
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
            let is_later = |found: &Option<Found>| found.as_ref().is_some_and(|f| f.walk < walk);
            let lock = |found: &Mutex<Option<Found>>| match found.lock() {
                Ok(found) => is_later(&found),
                Err(_) => true,
            };
            if walk >= self.walks || lock(found) {
                break;
            }
            let mut random = random_of_walk(self.seed, walk);
            let mut way = Vec::new();
            let before = (walker.states, walker.rules_fired);
            let ended = self.walk(&mut walker, starts, &mut random, &mut way);
            self.control
                .walked(walker.states - before.0, walker.rules_fired - before.1);
            let Err(trouble) = ended else { continue };
            if trouble == Trouble::Stopped {
                break;
            }
            let is_way = matches!(trouble, Trouble::At(_));
            let new = Found {
                walk,
                way: is_way.then_some(way),
                trouble: (!is_way).then_some(trouble),
            };
            if let Ok(mut found) = found.lock()
                && !is_later(&found)
            {
                *found = Some(new);
            }
        }
        walker
    }

    /// One walk. What is wrong is wrong with the last state of the way.
    fn walk(
        &self,
        walker: &mut Walker,
        starts: &[(usize, Vec<i64>)],
        random: &mut SplitMix64,
        way: &mut Vec<Vec<u64>>,
    ) -> Result<(), Trouble> {
        let program = &self.plan.program;
        let (index, parameters) = &starts[random.below(starts.len() as u64) as usize];
        walker.state.fill(0);
        let wrong = |found: i64, trouble: Trouble| match found {
            status::FAULT => trouble,
            _ => Trouble::Stopped,
        };
        match program.start(*index, &mut walker.state, &mut walker.context, parameters) {
            status::DONE => {}
            status::ASSUMPTION => return Ok(()),
            other => {
                return Err(wrong(
                    other,
                    Trouble::Start {
                        index: *index,
                        parameters: parameters.clone(),
                    },
                ));
            }
        }
        let point = self.plan.model.startstates[*index].point.0 as usize;
        walker.context.hits_mut()[point] += 1;
        self.plan.multisets.sort(&mut walker.state);
        if !self.accept(walker, true, way)? {
            return Ok(());
        }
        for step in 0..self.steps {
            if self.control.is_stopped() {
                return Err(Trouble::Stopped);
            }
            if !self.step(walker, random, way)? {
                break;
            }
            walker.depth = walker.depth.max(step + 1);
        }
        Ok(())
    }

    /// Fires one rule, if one leads anywhere.
    fn step(
        &self,
        walker: &mut Walker,
        random: &mut SplitMix64,
        way: &mut Vec<Vec<u64>>,
    ) -> Result<bool, Trouble> {
        let program = &self.plan.program;
        let here = Trouble::At(0);
        match program.scan_all(&mut walker.state, &mut walker.context) {
            status::DONE => {}
            status::FAULT => return Err(here),
            _ => return Err(Trouble::Stopped),
        }
        let mut enabled = self.plan.instances(walker.context.enabled());
        let (mut is_stuck, mut is_left) = (true, false);
        while !enabled.is_empty() {
            let (rule, parameters) =
                enabled.swap_remove(random.below(enabled.len() as u64) as usize);
            walker.next.copy_from_slice(&walker.state);
            match program.fire(rule, &mut walker.next, &mut walker.context, &parameters) {
                status::DONE => {}
                status::ASSUMPTION => continue,
                status::FAULT => return Err(here),
                _ => return Err(Trouble::Stopped),
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
            if self.accept(walker, false, way)? {
                return Ok(true);
            }
        }
        match self.plan.deadlock {
            DeadlockRule::Stuttering if !is_left => Err(here),
            DeadlockRule::Stuck if is_stuck => Err(here),
            _ => Ok(false),
        }
    }

    /// Goes to a state, unless an assumption is false in it, and checks it.
    fn accept(
        &self,
        walker: &mut Walker,
        is_start: bool,
        way: &mut Vec<Vec<u64>>,
    ) -> Result<bool, Trouble> {
        if is_start {
            walker.next.copy_from_slice(&walker.state);
        }
        for (index, property) in self.plan.model.properties.iter().enumerate() {
            if property.kind == PropertyKind::Assumption {
                match self.property(walker, index) {
                    status::TRUE => {}
                    status::DONE => return Ok(false),
                    status::FAULT => return Err(Trouble::At(0)),
                    _ => return Err(Trouble::Stopped),
                }
            }
        }
        std::mem::swap(&mut walker.state, &mut walker.next);
        walker.states += 1;
        let mut packed = vec![0; self.plan.packer.words()];
        self.plan.packer.pack(&walker.state, &mut packed);
        way.push(packed);
        walker.next.copy_from_slice(&walker.state);
        for (index, property) in self.plan.model.properties.iter().enumerate() {
            if property.kind == PropertyKind::Assumption {
                continue;
            }
            match self.property(walker, index) {
                status::TRUE => {}
                status::DONE if property.kind == PropertyKind::Cover => {}
                status::DONE | status::FAULT => return Err(Trouble::At(0)),
                _ => return Err(Trouble::Stopped),
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

/// What one thread walks with.
struct Walker {
    context: Box<Context>,
    state: Vec<u64>,
    next: Vec<u64>,
    states: u64,
    rules_fired: u64,
    depth: u64,
}

/// The random numbers of a walk, which depend only on the seed and the number of the walk.
fn random_of_walk(seed: u64, walk: u64) -> SplitMix64 {
    // Each is mixed before they are combined: otherwise a walk would use the numbers of the
    // previous one, shifted by one.
    let seed = SplitMix64::new(seed).next_u64();
    let walk = SplitMix64::new(walk ^ 0x5851_f42d_4c95_7f2d).next_u64();
    SplitMix64::new(seed ^ walk.rotate_left(17))
}
