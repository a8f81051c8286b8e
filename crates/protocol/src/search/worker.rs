//! One worker of a search: expands states and stores the new successors.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::options::Symmetry;
use super::symmetric::{AsymmetricItem, SymmetryTester};
use crate::compile::{Context, Program, status};
use crate::model::{Model, PropertyKind};
use crate::outcome::DeadlockRule;
use crate::state::early::Prefetcher;
use crate::state::store::{
    NONE, Number, Store, StoreFull, VisitedTable, Writer, fingerprint, hash,
};
use crate::state::symmetry::Effort;
use crate::state::{Canonical, Multisets, Packer};

/// The number of successors that are looked up together, so that their cache misses overlap.
const BATCH: usize = 32;

/// Why a worker stopped. The reference interpreter determines the exact error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum StopReason {
    /// A rule, a guard or a property of this state failed, or it is a deadlock.
    At(Number),
    /// A start state failed.
    Start { index: usize, parameters: Vec<i64> },
    /// The search was stopped while the state was expanded.
    Stopped,
    /// The store is full.
    StoreFull(StoreFull),
    /// The bound on states was reached.
    States,
    /// The bound on the depth was reached.
    Depth,
    /// A rule or property is not symmetric in the scalarsets.
    AsymmetricItem(AsymmetricItem),
}

type WorkResult<T> = Result<T, StopReason>;

/// The compiled model and the options, which all workers share.
pub(super) struct Plan<'m> {
    pub model: &'m Model,
    pub program: Program,
    pub multisets: Multisets,
    pub packer: Packer,
    pub symmetry: Symmetry,
    pub deadlock: DeadlockRule,
    /// Whether only fingerprints are stored (hash compaction).
    pub is_compact: bool,
    pub states: u64,
    /// The most iterations of a `while` loop.
    pub rounds: u64,
    /// Identifies the build of the searching program.
    pub build_id: u64,
    /// Whether all coverage points are counted.
    pub coverage: bool,
    /// The most bytes for the store.
    pub memory: u64,
    /// The number of workers.
    pub workers: usize,
    /// The indices of the assumptions.
    assumptions: Vec<usize>,
    /// The indices of the invariants and covers.
    checks: Vec<usize>,
    has_priorities: bool,
}

impl<'m> Plan<'m> {
    pub fn new(model: &'m Model, program: Program, options: &super::Options) -> Self {
        let of_kind = |wanted: bool| {
            let properties = model.properties.iter().enumerate();
            let is_assumption = |p: &crate::model::Property| p.kind == PropertyKind::Assumption;
            properties
                .filter(|(_, property)| is_assumption(property) == wanted)
                .map(|(index, _)| index)
                .collect()
        };
        let first = model.rules.first().map_or(0, |rule| rule.priority);
        Plan {
            model,
            multisets: Multisets::new(model, &program.layout),
            packer: Packer::new(&program.layout),
            program,
            symmetry: options.symmetry,
            deadlock: options.deadlock,
            is_compact: options.hash_compaction,
            states: options.max_states,
            rounds: options.max_loop_iterations,
            build_id: options.build_id,
            coverage: options.coverage,
            memory: options.max_memory.unwrap_or(u64::MAX),
            workers: options.workers.max(1),
            assumptions: of_kind(true),
            checks: of_kind(false),
            has_priorities: model.rules.iter().any(|rule| rule.priority != first),
        }
    }

    /// The enabled instances with the least priority, from the result of a scan.
    pub fn instances(&self, enabled: &[i64]) -> Vec<(usize, Vec<i64>)> {
        let mut all = Vec::new();
        let mut rest = enabled;
        while let Some((&rule, after)) = rest.split_first() {
            let (parameters, after) = after.split_at(self.program.rules[rule as usize].parameters);
            all.push((rule as usize, parameters.to_vec()));
            rest = after;
        }
        let priority = |(rule, _): &(usize, Vec<i64>)| self.model.rules[*rule].priority;
        let least = all.iter().map(priority).min();
        all.retain(|instance| Some(priority(instance)) == least);
        all
    }

    pub fn canonical(&self) -> Option<Canonical> {
        let effort = match self.symmetry {
            Symmetry::Off => return None,
            Symmetry::Fast => Effort::Fast,
            Symmetry::Full => Effort::Full,
        };
        Canonical::new(self.model, &self.program.layout, effort)
    }

    /// The number of words that are stored for a state.
    pub fn width(&self) -> usize {
        match self.is_compact {
            true => 2,
            false => self.packer.words(),
        }
    }
}

/// A successor that waits to be looked up.
#[derive(Clone, Copy)]
struct PendingState {
    hash: u64,
    parent: Number,
}

/// One worker of a search. Aligned so that no two workers share a cache line.
#[repr(align(128))]
pub(super) struct Worker<'p, 'm> {
    plan: &'p Plan<'m>,
    store: &'p Store,
    context: Box<Context>,
    canonical: Option<Canonical>,
    pub writer: Writer,
    /// The state that is being expanded.
    state: Vec<u64>,
    packed: Vec<u64>,
    /// The pending successors, unpacked, and as they are stored.
    next: Vec<u64>,
    keys: Vec<u64>,
    packed_next: Vec<u64>,
    waiting: Vec<PendingState>,
    /// Prefetches their entries in the hash table.
    whereabouts: Prefetcher,
    scratch: Vec<u64>,
    tester: Option<SymmetryTester>,
    stop: Arc<AtomicBool>,
    /// The rules fired in states that were expanded completely.
    pub rules_fired: u64,
    /// The rules fired in the state that is being expanded.
    fired_here: u64,
    /// The states expanded since the last flush, with the rules fired in each.
    recent: Vec<(Number, u64)>,
    /// States that have to be expanded again, because not all of their successors were stored.
    unfinished: Vec<Number>,
    /// The rules fired that were reported as progress.
    reported: u64,
    /// With hash compaction: the packed states that were stored, in order.
    pub queue: Vec<u64>,
}

impl<'p, 'm> Worker<'p, 'm> {
    pub fn new(plan: &'p Plan<'m>, store: &'p Store, stop: Arc<AtomicBool>) -> Self {
        let words = plan.program.layout.masks.len();
        Worker {
            plan,
            store,
            context: plan.program.context(Arc::clone(&stop)),
            canonical: plan.canonical(),
            writer: store.writer(),
            state: vec![0; words],
            packed: vec![0; plan.packer.words()],
            next: vec![0; words * BATCH],
            keys: vec![0; plan.width() * BATCH],
            packed_next: vec![0; plan.packer.words() * BATCH],
            waiting: Vec::with_capacity(BATCH),
            whereabouts: store.seen().whereabouts(),
            scratch: vec![0; words],
            tester: SymmetryTester::new(plan, Arc::clone(&stop)),
            stop,
            rules_fired: 0,
            fired_here: 0,
            recent: Vec::new(),
            unfinished: Vec::new(),
            reported: 0,
            queue: Vec::new(),
        }
    }

    /// The rules fired since the last call.
    pub fn take_new_rules_fired(&mut self) -> u64 {
        let new = self.rules_fired.saturating_sub(self.reported);
        self.reported = self.rules_fired;
        new
    }

    pub fn hits(&self) -> &[u64] {
        self.context.hits()
    }

    /// Adds a start state, unless an assumption is false in it.
    pub fn start(&mut self, index: usize, parameters: &[i64]) -> WorkResult<()> {
        let reason = || StopReason::Start {
            index,
            parameters: parameters.to_vec(),
        };
        let program = &self.plan.program;
        let words = program.layout.masks.len();
        self.next[..words].fill(0);
        let started = program.start(
            index,
            &mut self.next[..words],
            &mut self.context,
            parameters,
        );
        match started {
            status::DONE => {}
            status::ASSUMPTION => return Ok(()),
            status::FAULT => return Err(reason()),
            _ => return Err(StopReason::Stopped),
        }
        let point = self.plan.model.startstates[index].point.0 as usize;
        self.context.hits_mut()[point] += 1;
        self.sort_multisets();
        self.wait(NONE);
        // A fault in an assumption is a fault of the start state, because the state was not stored.
        match self.flush() {
            Err(StopReason::At(NONE)) => Err(reason()),
            other => other,
        }
    }

    /// Sorts the multisets of the latest successor.
    fn sort_multisets(&mut self) {
        let words = self.plan.program.layout.masks.len();
        let at = self.waiting.len() * words;
        let next = &mut self.next[at..at + words];
        if !self.plan.multisets.is_empty() {
            self.plan.multisets.sort(next);
        }
    }

    /// Adds the latest successor to the pending ones.
    fn wait(&mut self, parent: Number) {
        let words = self.plan.program.layout.masks.len();
        let (number, width) = (self.waiting.len(), self.plan.width());
        let next = &mut self.next[number * words..(number + 1) * words];
        if let Some(canonical) = &mut self.canonical {
            canonical.canonicalise(next);
        }
        let packed_words = self.plan.packer.words();
        let key = &mut self.keys[number * width..(number + 1) * width];
        if self.plan.is_compact {
            let packed = &mut self.packed_next[number * packed_words..(number + 1) * packed_words];
            self.plan.packer.pack(next, packed);
            key.copy_from_slice(&fingerprint(packed));
        } else {
            self.plan.packer.pack(next, key);
        }
        let hash = hash(key);
        self.whereabouts.ask_for(hash);
        self.waiting.push(PendingState { hash, parent });
    }

    /// Expands a state: fires all its rules. New successors are stored now or later: see
    /// [`Worker::flush`]. With hash compaction, `packed` is the state.
    pub fn expand(&mut self, number: Number, packed: Option<&[u64]>) -> WorkResult<()> {
        match packed {
            Some(packed) => self.packed.copy_from_slice(packed),
            None => self.store.read(number, &mut self.packed),
        }
        self.plan.packer.unpack(&self.packed, &mut self.state);
        self.fired_here = 0;
        let program = &self.plan.program;
        let mut expanded = program.scan_all(&mut self.state, &mut self.context);
        if expanded == status::DONE {
            let (enabled, used) = self.context.take_enabled();
            let tested = self.test_symmetry(number, &enabled[..used]);
            let fired = tested.and_then(|()| self.fire_all(number, &enabled[..used]));
            self.context.put_back(enabled);
            expanded = fired?;
        } else if expanded == status::FAULT {
            // It is an error only if the permutations of this state have it, too.
            self.test_symmetry_with(SymmetryTester::ALL)?;
        }
        if expanded != status::DONE {
            // Errors of earlier states come first.
            self.flush()?;
            return Err(match expanded {
                status::FAULT => {
                    self.rules_fired += self.fired_here;
                    StopReason::At(number)
                }
                _ => StopReason::Stopped,
            });
        }
        if self.plan.is_compact {
            // Otherwise states that have to be expanded again would have to be kept.
            self.flush()?;
        } else {
            self.recent.push((number, self.fired_here));
        }
        self.rules_fired += self.fired_here;
        Ok(())
    }

    /// The states that a resumed search has to expand again.
    pub fn take_unfinished(&mut self) -> Vec<Number> {
        std::mem::take(&mut self.unfinished)
    }

    /// Fires all enabled instances with the least priority. A deadlock counts as a fault.
    fn fire_all(&mut self, number: Number, enabled: &[i64]) -> WorkResult<i64> {
        let plan = self.plan;
        let program = &plan.program;
        let words = program.layout.masks.len();
        let least = match plan.has_priorities {
            true => self.least_priority(enabled),
            false => None,
        };
        let (mut is_left, mut is_stuck) = (false, true);
        let mut rest = enabled;
        while let Some((&rule, after)) = rest.split_first() {
            let rule = rule as usize;
            let (parameters, after) = after.split_at(program.rules[rule].parameters);
            rest = after;
            if least.is_some_and(|least| plan.model.rules[rule].priority != least) {
                continue;
            }
            if self.waiting.len() == BATCH {
                self.flush()?;
                // A state may have very many enabled instances.
                if self.stop.load(Ordering::Relaxed) {
                    return Err(StopReason::Stopped);
                }
            }
            let at = self.waiting.len() * words;
            let next = &mut self.next[at..at + words];
            next.copy_from_slice(&self.state);
            match program.fire(rule, next, &mut self.context, parameters) {
                status::DONE => {}
                status::ASSUMPTION => continue,
                other => return Ok(other),
            }
            is_stuck = false;
            self.fired_here += 1;
            let point = plan.model.rules[rule].point.0 as usize;
            self.context.hits_mut()[point] += 1;
            self.sort_multisets();
            if self.next[at..at + words] != self.state[..] {
                is_left = true;
                self.wait(number);
            }
        }
        let is_deadlock = match plan.deadlock {
            DeadlockRule::Stuttering => !is_left,
            DeadlockRule::Stuck => is_stuck,
            DeadlockRule::Off => false,
        };
        Ok(match is_deadlock {
            true => status::FAULT,
            false => status::DONE,
        })
    }

    /// Tests that the model is symmetric, if the state is one of those to test.
    fn test_symmetry(&mut self, number: Number, enabled: &[i64]) -> WorkResult<()> {
        let Some(tester) = &mut self.tester else {
            return Ok(());
        };
        let mut due = SymmetryTester::due(number);
        let (mut rest, mut last) = (enabled, None);
        while let Some((&rule, after)) = rest.split_first() {
            let rule = rule as usize;
            // The instances of a rule are consecutive.
            if last != Some(rule) {
                due = due.max(tester.due_for(rule));
                last = Some(rule);
            }
            rest = &after[self.plan.program.rules[rule].parameters..];
        }
        self.test_symmetry_with(due)
    }

    /// Tests a state with a number of permutations.
    fn test_symmetry_with(&mut self, permutations: u64) -> WorkResult<()> {
        let Some(tester) = &mut self.tester else {
            return Ok(());
        };
        match tester.asymmetric(self.plan, &self.state, permutations) {
            Some(asymmetric) => Err(StopReason::AsymmetricItem(asymmetric)),
            None => Ok(()),
        }
    }

    fn least_priority(&self, enabled: &[i64]) -> Option<i64> {
        let mut least = None;
        let mut rest = enabled;
        while let Some((&rule, after)) = rest.split_first() {
            let priority = self.plan.model.rules[rule as usize].priority;
            least = Some(least.map_or(priority, |least: i64| least.min(priority)));
            rest = &after[self.plan.program.rules[rule as usize].parameters..];
        }
        least
    }

    /// Looks up the pending successors, and stores and checks the new ones.
    pub fn flush(&mut self) -> WorkResult<()> {
        if self.waiting.is_empty() {
            self.recent.clear();
            return Ok(());
        }
        let store = self.store;
        let room = BATCH * (self.plan.workers + 1);
        let seen = loop {
            let seen = store.seen();
            if seen.has_room(room) {
                break seen;
            }
            drop(seen);
            let allowed = self.plan.memory;
            if let Err(full) = store.make_room(room, allowed, self.plan.workers) {
                self.leave_for_later(0);
                self.waiting.clear();
                self.recent.clear();
                return Err(StopReason::StoreFull(full));
            }
        };
        // The entries were prefetched when the successors were computed. Now the states that they
        // may refer to are, so that their cache misses overlap.
        self.whereabouts = seen.whereabouts();
        for waiting in &self.waiting {
            seen.ask_for_state(waiting.hash);
        }
        let (mut result, queued) = (Ok(()), self.queue.len());
        for number in 0..self.waiting.len() {
            result = self.look_up(&seen, number);
            if let Err(reason) = &result {
                if !matches!(reason, StopReason::At(_)) {
                    self.leave_for_later(number);
                }
                break;
            }
        }
        self.waiting.clear();
        self.recent.clear();
        store.settle(&mut self.writer);
        if self.plan.is_compact {
            store.add_to_queue(8 * (self.queue.len() - queued) as u64);
        }
        if result.is_ok() && store.bytes() > self.plan.memory {
            return Err(StopReason::StoreFull(StoreFull::Memory));
        }
        result
    }

    /// Marks the predecessors of the pending successors, from this one on, to be expanded again;
    /// their rules are counted then.
    fn leave_for_later(&mut self, first: usize) {
        for &(number, fired) in &self.recent {
            let is_waiting = |waiting: &PendingState| waiting.parent == number;
            if self.waiting[first..].iter().any(is_waiting) {
                self.rules_fired -= fired;
                self.unfinished.push(number);
            }
        }
    }

    /// Stores a state if it is new. It is checked first, so that a search that is stopped meanwhile
    /// stores no unchecked state.
    fn look_up(&mut self, seen: &VisitedTable<'_>, number: usize) -> WorkResult<()> {
        let width = self.plan.width();
        let PendingState { hash, parent } = self.waiting[number];
        let key = number * width..(number + 1) * width;
        if seen.find(&self.keys[key.clone()], hash).is_some() {
            return Ok(());
        }
        if !self.is_assumed(number, parent)? {
            return Ok(());
        }
        if self.store.count() + self.writer.uncounted() >= self.plan.states {
            return Err(StopReason::States);
        }
        let is_right = self.check(number)?;
        let key = &self.keys[key];
        self.writer.set_parent(parent);
        let added = seen
            .add(key, hash, &mut self.writer)
            .map_err(StopReason::StoreFull)?;
        if added.is_some() && self.plan.is_compact {
            let words = self.plan.packer.words();
            let packed = &self.packed_next[number * words..(number + 1) * words];
            self.queue.extend_from_slice(packed);
        }
        match (is_right, added.or_else(|| seen.find(key, hash))) {
            (false, Some(wrong)) => Err(StopReason::At(wrong)),
            _ => Ok(()),
        }
    }

    /// Whether all assumptions hold in a pending successor.
    fn is_assumed(&mut self, number: usize, parent: Number) -> WorkResult<bool> {
        for &property in &self.plan.assumptions {
            match self.property(property, number) {
                status::TRUE => {}
                status::DONE => return Ok(false),
                status::FAULT => return Err(StopReason::At(parent)),
                _ => return Err(StopReason::Stopped),
            }
        }
        Ok(true)
    }

    /// Whether a pending successor has no error.
    fn check(&mut self, number: usize) -> WorkResult<bool> {
        for &property in &self.plan.checks {
            let is_cover = self.plan.model.properties[property].kind == PropertyKind::Cover;
            match self.property(property, number) {
                status::TRUE => {}
                status::DONE if is_cover => {}
                status::DONE | status::FAULT => return Ok(false),
                _ => return Err(StopReason::Stopped),
            }
        }
        Ok(true)
    }

    /// Evaluates a property in a pending successor without changing it.
    fn property(&mut self, property: usize, number: usize) -> i64 {
        let words = self.plan.program.layout.masks.len();
        let state = &mut self.next[number * words..(number + 1) * words];
        let program = &self.plan.program;
        if !program.property_writes[property] {
            return program.property(property, state, &mut self.context);
        }
        self.scratch.copy_from_slice(state);
        program.property(property, &mut self.scratch, &mut self.context)
    }
}
