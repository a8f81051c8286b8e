//! Exhaustive exploration: one execution per equivalence class.
//!
//! Optimal dynamic partial-order reduction with wakeup trees (Abdulla, Aronis, Jonsson, Sagonas:
//! *Source sets: a foundation for optimal dynamic partial order reduction*, JACM 2017, algorithm
//! 2). Executions are the paths of a search tree. At the end of each, for every race in it, the
//! execution with the race reversed is inserted into the wakeup tree of the node before the race,
//! unless it is covered: a step that was explored from that node, and could come first there, is in
//! the sleep set.
//!
//! Where we differ:
//! - **Settled races are not examined again.** A race is examined in every execution that has it,
//!   since the rest of the execution decides whether the reversal is covered. But if the reversed
//!   execution begins, in all of them, with the same step that is covered, then it is covered in
//!   all of them: the race is settled.
//! - **Blocking.** An operation that waits, such as acquiring a lock, does not race with the event
//!   that enabled it, before which it could not happen, but with the latest event before which it
//!   could: with the acquisition of the lock, not its release. The operations that are blocked at
//!   the end of a deadlocked execution have races too.
//! - **The effect of an operation may depend on the order.** A compare-exchange that succeeded may
//!   fail in the reversed execution, and is then a read. Conditions on states predict which it will
//!   be. If the state also decides which other objects it touches, the operation is taken to write
//!   to all of them always ([`learned`](crate::dpor::learned)).
//! - **Outcomes.** An operation with several outcomes is explored with each of them from the same
//!   node. Here an execution can turn out to be redundant half-way, and is abandoned then.
//!
//! `sharing` has what workers share, `saving` has checkpoints.

mod saving;
mod sharing;

use std::sync::Arc;

use fencepost_memory::ThreadId;

use crate::dpor::footprint::Footprint;
use crate::dpor::learned::LearnedFootprints;
use crate::dpor::optimal::sharing::plan_at_shared;
use crate::dpor::sleep::{SleepSet, SleepSets};
use crate::dpor::wakeup::{Branch, Forest, LaterEvent, Reversal, Sleeper};
use crate::driver::results::SearchResults;
use crate::execution::fault::Fault;
use crate::execution::log::{NONE, Race};
use crate::execution::run::{End, EndOf, Run};
use crate::parallel::pool::{NodeRef, Pool, Task};
use crate::program::{Effect, Intent, Program, ThreadStatus, TouchKind};
use crate::schedule::Turn;

/// A node of the search tree on the current path.
struct Node {
    sleep: SleepSet,
    /// The wakeup tree: what is still to be explored from here.
    tree: u32,
    /// The number of steps that have been explored from here.
    explored: u32,
}

const EMPTY_NODE: Node = Node {
    sleep: SleepSet::EMPTY,
    tree: NONE,
    explored: 0,
};

/// The search of one worker.
pub(crate) struct Optimal<P: Program> {
    pub(crate) run: Run<P>,
    /// At least one more than there are events. The entries of shared nodes are empty.
    nodes: Vec<Node>,
    sleep: SleepSets,
    forest: Forest,
    reversal: Reversal,
    last_thread: Option<ThreadId>,
    /// Whether the search has restarted at the root.
    has_restarted: bool,
    pool: Arc<Pool>,
    /// The nodes above this worker's subtree.
    shared: Vec<NodeRef>,
    /// The step from the last shared node to this worker's subtree.
    subtree_step: Option<Turn>,
    /// The task that the next execution begins with.
    task: Option<Task>,
    /// Whether the program has operations whose footprint is not known in advance.
    is_single_worker: bool,
    /// Estimated fraction of the search tree under this worker's root.
    estimated_share: f64,
    /// Estimated fraction of the search tree in the subtrees that this worker has finished.
    finished_share: f64,
    /// Executions that ran to their end.
    pub(crate) executions: u64,
    /// Executions that were abandoned as redundant, or run before a restart.
    pub(crate) abandoned: u64,
    /// Whether the spin bound kept a thread from continuing.
    pub(crate) hit_spin_bound: bool,
}

enum Choice {
    /// This step, and the wakeup tree after it.
    Step(Turn, u32),
    /// All enabled threads are asleep.
    AllAsleep,
    /// No thread is enabled.
    Blocked,
    /// All threads have finished.
    Complete,
}

/// The order in which threads are asked for the next step: the one that has taken the last step is
/// the first, or the last one if it `yields`. Numbers of threads, because every thread is asked
/// before every step.
struct Order {
    /// The thread that has taken the last step, or [`NONE`].
    last: u32,
    /// The next one, if it is that thread, or [`NONE`].
    first: u32,
    /// The next one of the others.
    other: u32,
    bound: u32,
    yields: bool,
}

impl Order {
    #[inline]
    fn new(last: Option<ThreadId>, yields: bool, bound: u32) -> Self {
        let last = last.map_or(NONE, |thread| thread.0);
        Order {
            last,
            first: if yields { NONE } else { last },
            other: 0,
            bound,
            yields,
        }
    }

    #[inline(always)] // It is called from one place.
    fn next(&mut self) -> Option<ThreadId> {
        if self.first != NONE {
            return Some(ThreadId(std::mem::replace(&mut self.first, NONE)));
        }
        if self.other == self.last {
            self.other += 1;
        }
        if self.other < self.bound {
            self.other += 1;
            return Some(ThreadId(self.other - 1));
        }
        match std::mem::take(&mut self.yields) {
            true => Some(ThreadId(self.last)),
            false => None,
        }
    }
}

impl<P: Program> Optimal<P> {
    /// A worker that begins at the root, or has no work yet.
    pub(crate) fn new(mut run: Run<P>, pool: Arc<Pool>) -> Self {
        run.learned = Some(LearnedFootprints::default());
        Optimal {
            run,
            nodes: vec![EMPTY_NODE],
            sleep: SleepSets::default(),
            forest: Forest::new(),
            reversal: Reversal::new(),
            last_thread: None,
            has_restarted: false,
            pool,
            shared: Vec::new(),
            subtree_step: None,
            task: None,
            is_single_worker: false,
            estimated_share: 1.0,
            finished_share: 0.0,
            executions: 0,
            abandoned: 0,
            hit_spin_bound: false,
        }
    }

    /// The results so far.
    pub(crate) fn results(&self) -> SearchResults<P::Error, P::Restart> {
        SearchResults {
            has_restarted: self.has_restarted,
            ..SearchResults::snapshot(
                &self.run,
                self.executions,
                self.abandoned,
                self.hit_spin_bound,
            )
        }
    }

    /// The results, and the run of the program.
    pub(crate) fn into_results(mut self) -> (SearchResults<P::Error, P::Restart>, Run<P>) {
        let (executions, abandoned) = (self.executions, self.abandoned);
        let run = &mut self.run;
        let results = SearchResults {
            has_restarted: self.has_restarted,
            ..SearchResults::take(run, executions, abandoned, self.hit_spin_bound)
        };
        (results, self.run)
    }

    /// Runs the next execution. Returns false if none is left in this subtree, or the search should
    /// stop.
    pub(crate) fn next_execution(&mut self) -> bool {
        self.run.findings.begin_execution(self.run.log.len());
        let mut end = self.execute();
        let has_learned = self.run.has_learned_footprints();
        if !matches!(end, End::Stopped) && !has_learned {
            self.reverse_races(&end);
        }
        self.run.finish(&mut end);
        self.count(end);
        if self.run.findings.should_stop {
            return false;
        }
        if has_learned {
            self.restart();
            return true;
        }
        self.backtrack()
    }

    /// Restarts at the root, since an operation touches more than the search had learned. The
    /// executions so far count as abandoned.
    #[cold]
    fn restart(&mut self) {
        self.pool.force_single_worker();
        if !self.shared.is_empty() {
            // All workers stop, and the driver restarts the search with one.
            return;
        }
        self.run.clear();
        self.run.findings.recount();
        self.nodes = vec![EMPTY_NODE];
        self.sleep.clear();
        self.forest = Forest::new();
        self.last_thread = None;
        (self.estimated_share, self.finished_share) = (1.0, 0.0);
        self.abandoned += std::mem::take(&mut self.executions);
        self.hit_spin_bound = false;
        self.has_restarted = true;
    }

    /// The estimated fraction of the search tree that this worker has explored.
    pub(crate) fn explored_share(&self) -> f64 {
        let (mut explored, mut share) = (self.finished_share, self.estimated_share);
        if self.task.is_some() {
            return explored;
        }
        let end = self.run.log.len();
        for depth in self.shared.len()..=end {
            let node = &self.nodes[depth];
            // The step that was taken from here is neither explored nor planned.
            let current = u32::from(depth < end);
            let planned = self.forest.count(node.tree);
            let children = f64::from((node.explored + current + planned).max(1));
            explored += share * f64::from(node.explored) / children;
            share /= children;
        }
        explored
    }

    /// Whether the search tree is unlikely to branch above the first node from which a step is
    /// explored. If it may, its size would be a guess. Nothing may be planned there, and no race
    /// may be reversed there later: a thread may race with an operation that can move before an
    /// earlier step of the thread, although that step races with nothing.
    pub(crate) fn is_share_stable(&self) -> bool {
        let log = &self.run.log;
        let state = |depth: usize| match self.shared.get(depth) {
            Some(shared) => {
                let plans = shared.lock();
                let is_explored = plans.sleep.iter().any(|sleeper| sleeper.is_explored);
                (is_explored, plans.tree != NONE)
            }
            None => (
                self.nodes[depth].explored > 0,
                self.nodes[depth].tree != NONE,
            ),
        };
        let may_move_before = |race: &Race, position: u32| {
            race.earlier > position
                && log.event(race.earlier).thread == log.event(position).thread
                && !log.is_known_before(position, race.later)
        };
        let cannot_branch = |position: u32| {
            let touches = |race: &Race| {
                let mut links = log.links(position).iter();
                links.any(|link| link.touch.object == race.object)
            };
            let mut races = (0..log.race_count()).map(|number| log.race(number));
            !races.any(|race| touches(race) && may_move_before(race, position))
        };
        for depth in 0..=log.len() {
            let (is_explored, is_planned) = state(depth);
            if is_explored {
                return true;
            }
            if is_planned || depth < log.len() && !cannot_branch(depth as u32) {
                return false;
            }
        }
        false
    }

    fn count(&mut self, end: EndOf<P>) {
        if matches!(end, End::Redundant) {
            self.abandoned += 1;
            return;
        }
        self.executions += 1;
        self.hit_spin_bound |= matches!(end, End::SpinBound);
        self.run.conclude(end);
    }

    fn execute(&mut self) -> EndOf<P> {
        if let Err(stop) = self.run.begin() {
            return stop.into();
        }
        if let Some(task) = self.task.take() {
            if let Some(end) = self.begin_task(task) {
                return end;
            }
        }
        self.last_thread = self.run.log.events().last().map(|event| event.thread);
        // Threads in the sleep set have not moved since: they must be about to do the same.
        for sleeper in self.sleep.of(self.nodes[self.run.log.len()].sleep) {
            let expected = sleeper.intent.filter(|_| !sleeper.footprint.is_barrier);
            if let Some(fault) = expected.and_then(|i| self.run.diverges(sleeper.thread, i)) {
                return End::Fault(fault);
            }
        }
        loop {
            if self.run.findings.should_stop {
                return End::Stopped;
            }
            let depth = self.run.log.len();
            if let Some(fault) = self.divergence(depth) {
                return End::Fault(fault);
            }
            let (result, subtree) = match self.choose(depth) {
                Choice::Step(turn, subtree) => {
                    self.last_thread = Some(turn.thread);
                    (self.run.perform(turn), subtree)
                }
                Choice::AllAsleep => return End::Redundant,
                Choice::Complete => return End::Complete,
                Choice::Blocked => match self.run.force() {
                    Some(result) => (result, NONE),
                    None => return self.run.end_of_blocked(),
                },
            };
            if self.run.log.len() > depth {
                self.descend(depth, subtree);
            }
            if let Err(stop) = result {
                return stop.into();
            }
        }
    }

    /// A planned step was seen in another execution. If the thread is not about to do it, the
    /// program is not deterministic.
    #[inline]
    fn divergence(&self, depth: usize) -> Option<Fault<P::Error>> {
        let tree = self.nodes[depth].tree;
        if tree == NONE {
            return None;
        }
        let Branch {
            thread, footprint, ..
        } = self.forest.branch(tree);
        let (object, kind) = footprint.touches().next()?;
        // Whether a thread comes back to a state, and hints, depends on what it reads before.
        if !footprint.is_exact {
            return None;
        }
        let thread = *thread;
        match self.run.status(thread) {
            ThreadStatus::Pending {
                intent:
                    Intent::Access {
                        object: now,
                        effect,
                        ..
                    },
                ..
            } if now == object && effect.may_touch(kind) => None,
            // Whether a hint waits depends on what the thread read last.
            ThreadStatus::Pending {
                intent: Intent::SpinHint,
                ..
            } => None,
            _ => {
                let expected = Intent::Access {
                    object,
                    effect: Effect::Write,
                    awaits: None,
                };
                Some(self.run.divergence(thread, expected))
            }
        }
    }

    fn choose(&mut self, depth: usize) -> Choice {
        let node = &mut self.nodes[depth];
        let asleep = self.sleep.of(node.sleep);
        let is_asleep = |thread, outcome| {
            let turn = Turn { thread, outcome };
            asleep.clone().any(|sleeper| sleeper.is(turn))
        };
        let mut is_any_asleep = false;
        while let Some((thread, outcome, subtree)) = self.forest.take_first(&mut node.tree) {
            if let Some(outcomes) = self.run.ready(thread) {
                let outcome = if outcome < outcomes { outcome } else { 0 };
                if !is_asleep(thread, outcome) {
                    return Choice::Step(Turn { thread, outcome }, subtree);
                }
                is_any_asleep = true;
            }
            self.forest.free(subtree);
        }
        // A planned step that is asleep is redundant, but others may be left.
        if is_any_asleep && node.explored > 0 {
            return Choice::AllAsleep;
        }
        // The same thread continues as long as it can, so that executions are easy to read. One that
        // spins in ever new states lets others go first, since it may wait for them. A hint that
        // may block is not put off: it would not be known whether it passes.
        let run = &mut self.run;
        let last = self.last_thread;
        let yields = last.is_some_and(|thread| run.is_at_new_hint(thread));
        let bound = run.program.thread_bound() as u32;
        let mut is_complete = true;
        // Mostly the last thread continues, and no other one is looked at. So there is one loop, and
        // no chain of iterators.
        let mut next = Order::new(last, yields, bound);
        while let Some(thread) = next.next() {
            let ThreadStatus::Pending { intent, outcomes } = run.status(thread) else {
                continue;
            };
            is_complete = false;
            if !run.is_ready(thread, &intent) {
                continue;
            }
            for outcome in 0..outcomes {
                if !is_asleep(thread, outcome) {
                    return Choice::Step(Turn { thread, outcome }, NONE);
                }
            }
            is_any_asleep = true;
        }
        if is_any_asleep {
            Choice::AllAsleep
        } else if is_complete {
            Choice::Complete
        } else {
            Choice::Blocked
        }
    }

    /// Creates the node after the event at `depth`.
    #[inline(always)] // From one place, after each step.
    fn descend(&mut self, depth: usize, tree: u32) {
        if self.nodes.len() == depth + 1 {
            self.nodes.push(EMPTY_NODE);
        }
        let (above, below) = self.nodes.split_at_mut(depth + 1);
        let (node, next) = (&above[depth], &mut below[0]);
        next.tree = tree;
        next.explored = 0;
        let log = &self.run.log;
        let event = log.event(depth as u32);
        if !self.is_single_worker
            && (event.intent.is_hint() || event.outcomes > 1 || log.links(depth as u32).len() > 1)
        {
            self.is_single_worker = true;
            self.pool.force_single_worker();
        }
        let stays_asleep =
            |s: &Sleeper| s.thread != event.thread && !log.depends(depth as u32, &s.footprint);
        next.sleep = self.sleep.inherit(node.sleep, stays_asleep);
    }

    /// Plans the executions in which a race of the current one is reversed.
    fn reverse_races(&mut self, end: &EndOf<P>) {
        for number in 0..self.run.log.race_count() {
            if self.run.log.race(number).is_settled {
                continue;
            }
            let race = self.run.log.race(number).clone();
            let event = self.run.log.event(race.later);
            let later = LaterEvent {
                position: race.later,
                thread: event.thread,
                outcome: if event.outcomes > 1 { 0 } else { event.outcome },
            };
            if self.reverse(&race, later, |run| reversed_footprint(run, &race)) {
                self.run.log.settle(number);
            }
        }
        // In an execution that is over, threads may be blocked that are not in another one.
        if matches!(end, End::Complete) && !self.run.program.is_over() {
            return;
        }
        for thread in self.run.threads() {
            let ThreadStatus::Pending { intent, .. } = self.run.status(thread) else {
                continue;
            };
            // The operations of enabled threads in the sleep set are explored elsewhere.
            if matches!(end, End::Redundant) && self.run.ready(thread).is_some() {
                continue;
            }
            let spin_reads = match intent {
                Intent::SpinHint => self.run.spin_reads_of(thread).to_vec(),
                _ => Vec::new(),
            };
            let mut footprint = Footprint::empty(false);
            match intent {
                Intent::Access { object, effect, .. } => {
                    footprint.push(object, effect.strongest_touch());
                    let learned = self.run.learned_touches_of(intent);
                    learned
                        .iter()
                        .for_each(|&object| footprint.push(object, TouchKind::Write));
                    // It may only read.
                    let is_guessed = matches!(effect, Effect::WriteIf(_)) && learned.is_empty();
                    footprint.is_exact = !is_guessed;
                }
                _ => spin_reads
                    .iter()
                    .for_each(|touch| footprint.push(touch.object, TouchKind::Read)),
            }
            for race in self.run.log.races_of_blocked(thread, intent, &spin_reads) {
                let later = LaterEvent {
                    position: race.later,
                    thread,
                    outcome: 0,
                };
                self.reverse(&race, later, |_| footprint.clone());
            }
        }
    }

    /// Plans one reversed execution. `footprint` is what the later event touches when it comes
    /// first, computed only if it matters. Returns whether the race is settled.
    fn reverse(
        &mut self,
        race: &Race,
        later: LaterEvent,
        footprint: impl FnOnce(&Run<P>) -> Footprint,
    ) -> bool {
        let (log, reversal) = (&self.run.log, &mut self.reversal);
        reversal.begin(log, race.earlier, later);
        let Some(shared) = self.shared.get(race.earlier as usize) else {
            let node = &mut self.nodes[race.earlier as usize];
            let asleep = self.sleep.of(node.sleep);
            // In most cases this settles the race, and the events after it are not examined.
            let is_first = reversal.is_first();
            if is_first && reversal.is_settled_by(log, asleep.clone()) {
                return true;
            }
            reversal.set_footprint(footprint(&self.run));
            if !is_first && reversal.is_settled_by(log, asleep.clone()) {
                return true;
            }
            reversal.complete(log);
            if reversal.is_covered_without_settling(log, asleep) {
                return false;
            }
            return self
                .forest
                .insert(&mut node.tree, log, reversal)
                .is_settled();
        };
        reversal.set_footprint(footprint(&self.run));
        reversal.complete(log);
        plan_at_shared(shared, log, reversal, &self.pool).is_settled()
    }

    /// Rewinds the execution to the last node from which something is left to explore. Returns
    /// false if there is none.
    fn backtrack(&mut self) -> bool {
        let log = &self.run.log;
        let mut length = log.len();
        let mut has_more = false;
        while length > self.shared.len() && !has_more {
            self.forest.free(self.nodes[length].tree);
            self.nodes[length].tree = NONE;
            length -= 1;
            let node = &mut self.nodes[length];
            node.explored += 1;
            let event = log.event(length as u32);
            let (thread, outcomes) = (event.thread, event.outcomes);
            if node.tree == NONE && outcomes <= 1 {
                // The node is explored, so its sleep set is not needed.
                continue;
            }
            let sleeper = Sleeper {
                thread,
                outcome: event.outcome,
                footprint: log.footprint(length as u32),
                intent: Some(event.intent),
                is_explored: true,
            };
            self.sleep.add(&mut node.sleep, sleeper);
            if outcomes > 1 {
                let (forest, tree) = (&mut self.forest, &mut node.tree);
                let asleep = self.sleep.of(node.sleep);
                plan_other_outcomes(forest, tree, asleep, thread, outcomes);
            }
            has_more = node.tree != NONE;
        }
        self.run.log.truncate(length);
        has_more
    }
}

/// What the later event of a race touches when it comes first. A learned footprint is the same in
/// any order.
fn reversed_footprint<P: Program>(run: &Run<P>, race: &Race) -> Footprint {
    let mut footprint = run.log.footprint(race.later);
    // A hint that was forced is not forced when it comes earlier: it continues because something
    // has changed.
    footprint.is_barrier = false;
    let intent = run.log.event(race.later).intent;
    if let Intent::Access {
        object,
        effect: Effect::WriteIf(condition),
        ..
    } = intent
    {
        if object == race.object && run.learned_touches_of(intent).is_empty() {
            let kind = match condition.holds(race.before) {
                true => TouchKind::Write,
                false => TouchKind::Read,
            };
            footprint.set_kind(object, kind);
        }
    }
    footprint
}

/// Plans an operation of a thread with all its other outcomes.
fn plan_other_outcomes<'a>(
    forest: &mut Forest,
    tree: &mut u32,
    asleep: impl Iterator<Item = &'a Sleeper> + Clone,
    thread: ThreadId,
    outcomes: u32,
) {
    for outcome in 0..outcomes {
        let turn = Turn { thread, outcome };
        let is_explored = asleep.clone().any(|sleeper| sleeper.is(turn));
        if is_explored || forest.has(*tree, thread, outcome) {
            continue;
        }
        // Its footprint is not known, so it commutes with nothing.
        let mut anything = Footprint::empty(true);
        anything.is_exact = false;
        let number = forest.add(thread, outcome, anything);
        forest.set_sibling(number, *tree);
        *tree = number;
    }
}
