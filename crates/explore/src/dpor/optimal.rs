//! Exhaustive exploration: one execution of each equivalence class.
//!
//! Optimal dynamic partial-order reduction with wakeup trees (Abdulla, Aronis, Jonsson, Sagonas:
//! *Source sets: a foundation for optimal dynamic partial order reduction*, JACM 2017, algorithm 2).
//! Executions are the paths of a tree. At the end of each, for every race in it, the execution
//! with the race turned around is put into the wakeup tree of the node before the race, unless it is known:
//! a step that was explored from that node, and could come first there, is asleep.
//!
//! Where we differ:
//! - **Races that are settled are not looked at again.** The race is looked at in every execution
//!   that has it, since what else is in the execution decides what is known. But if the
//!   reversed execution begins, in all of them, with the same step that is taken care of, then it
//!   is known in all of them.
//! - **Blocking.** An operation that waits, such as taking a lock, is in a race not with
//!   the event that let it go on, before which it could not happen, but with the latest one
//!   before which it could: with the taking of the lock, not its release. The operations that are
//!   blocked at the end of a deadlocked execution have races too.
//! - **What an operation does may depend on the order.** A compare-exchange that
//!   succeeded may fail in the reversed execution, and is then a read. Conditions on states tell
//!   which it will be. Where it decides about other objects too, the operation is taken to write to all of
//!   them always ([`learned`](crate::dpor::learned)).
//! - **Outcomes.** An operation with several outcomes is explored with each of them from the same node.
//!   Here an execution can turn out to be known half-way, and is given up then.

use std::sync::Arc;

use fencepost_memory::ThreadId;

use crate::dpor::footprint::Footprint;
use crate::dpor::learned::LearnedFootprints;
use crate::dpor::sleep::{Sleep, SleepSet};
use crate::dpor::wakeup::{Branch, Forest, Insertion, LaterEvent, Reversal, Sleeper};
use crate::driver::checkpoint::{Path, SavedNode, Tree};
use crate::driver::results::SearchResults;
use crate::execution::fault::Fault;
use crate::execution::fingerprint::Fingerprint;
use crate::execution::log::{ExecutionLog, NONE, Race};
use crate::execution::run::{End, EndOf, Run};
use crate::parallel::pool::{NodeRef, Plans, Pool, SharedNode, Task};
use crate::program::{Effect, Intent, Program, Stop, ThreadStatus, TouchKind};
use crate::schedule::Turn;

/// A state of the program on the way to the end of the execution.
struct Node {
    sleep: SleepSet,
    /// What is still to be explored from here.
    tree: u32,
    /// How many steps have been explored from here.
    done: u32,
}

const EMPTY_NODE: Node = Node {
    sleep: SleepSet::EMPTY,
    tree: NONE,
    done: 0,
};

/// The search for one execution of each class, by one worker.
pub(crate) struct Optimal<P: Program> {
    pub(crate) run: Run<P>,
    /// One more than there are events, or more. Those of shared nodes are empty.
    nodes: Vec<Node>,
    sleep: Sleep,
    forest: Forest,
    reversal: Reversal,
    last_thread: Option<ThreadId>,
    /// Whether it has begun again at the root.
    has_begun_again: bool,
    pool: Arc<Pool>,
    /// The nodes above this worker's part of the tree.
    shared: Vec<NodeRef>,
    /// The step from the last of them with which this worker's part begins.
    part: Option<Turn>,
    /// What to begin with.
    task: Option<Task>,
    /// The program has operations of which it is not known beforehand what they touch.
    is_single_worker: bool,
    /// The part of all executions that is in this worker's part of the tree, estimated.
    weight: f64,
    /// The part of all executions in what this worker has explored.
    explored: f64,
    /// Executions that were run to an end.
    pub(crate) executions: u64,
    /// Executions that were given up because what follows was known.
    pub(crate) abandoned: u64,
    /// Whether a bound kept a thread from going on.
    pub(crate) was_cut: bool,
}

enum Choice {
    /// This step, and what to explore after it.
    Step(Turn, u32),
    /// All threads that can go on are asleep.
    AllAsleep,
    /// No thread can go on.
    Nothing,
    /// All threads have ended.
    Complete,
}

impl<P: Program> Optimal<P> {
    /// The worker that begins at the root, or one that has nothing to do yet.
    pub(crate) fn new(mut run: Run<P>, pool: Arc<Pool>) -> Self {
        run.learned = Some(LearnedFootprints::default());
        Optimal {
            run,
            nodes: vec![EMPTY_NODE],
            sleep: Sleep::default(),
            forest: Forest::new(),
            reversal: Reversal::new(),
            last_thread: None,
            has_begun_again: false,
            pool,
            shared: Vec::new(),
            part: None,
            task: None,
            is_single_worker: false,
            weight: 1.0,
            explored: 0.0,
            executions: 0,
            abandoned: 0,
            was_cut: false,
        }
    }

    /// Takes over a part of the tree that another worker shares. False if nothing is left.
    pub(crate) fn take_work(&mut self) -> bool {
        self.explored += std::mem::take(&mut self.weight);
        self.end_part();
        let only_all = self.pool.is_full();
        let mut upwards = self.shared.iter().rev();
        let nearest = upwards.find_map(|node| node.reserve(only_all));
        self.shared.clear();
        let Some(task) = nearest.or_else(|| self.pool.take()) else {
            return false;
        };
        self.take_task(task);
        true
    }

    fn take_task(&mut self, task: Task) {
        self.take_back_to(&task.node.turns());
        let mut above = Some(&task.node);
        while let Some(node) = above {
            self.shared.push(Arc::clone(node));
            above = node.parent.as_ref().map(|(parent, _)| parent);
        }
        self.shared.reverse();
        self.task = Some(task);
    }

    /// Takes back the execution to where it parts from one with these steps.
    fn take_back_to(&mut self, turns: &[Turn]) {
        let same = self.run.log.events().iter().zip(turns);
        let same = same.take_while(|(event, turn)| {
            (event.thread, event.outcome) == (turn.thread, turn.outcome)
        });
        let same = same.count();
        self.run.log.cut(same);
        // The nodes on the way are shared; and what is left here of an execution that failed is not needed.
        for node in &mut self.nodes {
            self.forest.cut(node.tree);
            *node = EMPTY_NODE;
        }
        self.sleep.clear();
    }

    /// This worker's part of the tree is explored.
    fn end_part(&mut self) {
        let turn = self.part.take();
        if let Some(node) = self.shared.last() {
            self.pool.end_of(node, turn);
        }
    }

    /// What it has done so far.
    pub(crate) fn results(&self) -> SearchResults<P::Error, P::Restart> {
        SearchResults {
            is_anew: self.has_begun_again,
            ..SearchResults::of(&self.run, self.executions, self.abandoned, self.was_cut)
        }
    }

    /// What it has done, and with what it ran the program.
    pub(crate) fn end(mut self) -> (SearchResults<P::Error, P::Restart>, Run<P>) {
        let (executions, abandoned) = (self.executions, self.abandoned);
        let run = &mut self.run;
        let results = SearchResults {
            is_anew: self.has_begun_again,
            ..SearchResults::taken_from(run, executions, abandoned, self.was_cut)
        };
        (results, self.run)
    }

    /// Runs the next execution. False if there is none left in this part of the tree, or enough was
    /// found.
    pub(crate) fn next_execution(&mut self) -> bool {
        self.run.findings.begin_execution(self.run.log.len());
        let end = self.execute();
        let has_learned = self.run.has_learned_footprints();
        if end != End::Enough && !has_learned {
            self.reverse_races(&end);
        }
        let end = self.run.finish(end);
        self.count(end);
        if self.run.findings.is_enough {
            return false;
        }
        if has_learned {
            self.begin_again();
            return true;
        }
        self.backtrack()
    }

    /// Begins again at the root, since operations touch more than was known. What was run is as if it had been
    /// given up.
    #[cold]
    fn begin_again(&mut self) {
        self.pool.force_single_worker();
        if !self.shared.is_empty() {
            // All workers stop, and one begins again.
            return;
        }
        self.run.clear();
        self.run.findings.recount();
        self.nodes = vec![EMPTY_NODE];
        self.sleep.clear();
        self.forest = Forest::new();
        self.last_thread = None;
        (self.weight, self.explored) = (1.0, 0.0);
        self.abandoned += std::mem::take(&mut self.executions);
        self.was_cut = false;
        self.has_begun_again = true;
    }

    /// The part of all executions that has been explored, estimated.
    pub(crate) fn fraction(&self) -> f64 {
        let (mut fraction, mut weight) = (self.explored, self.weight);
        if self.task.is_some() {
            return fraction;
        }
        let end = self.run.log.len();
        for depth in self.shared.len()..=end {
            let node = &self.nodes[depth];
            // The step that was taken from here is neither explored nor planned.
            let begun = u32::from(depth < end);
            let all = f64::from((node.done + begun + self.forest.count(node.tree)).max(1));
            fraction += weight * f64::from(node.done) / all;
            weight /= all;
        }
        fraction
    }

    /// Whether the tree branches nowhere above the first node from which a step is explored, as far as can be told:
    /// how large the rest of it is would be a guess. Nothing is planned there, and nothing is likely to be. A step
    /// may be in no race although its thread is in one later, with an operation that could come before both: that
    /// becomes known only when it has come nearer.
    pub(crate) fn is_firm(&self) -> bool {
        let log = &self.run.log;
        let state = |depth: usize| match self.shared.get(depth) {
            Some(shared) => {
                let plans = shared.lock();
                let is_explored = plans.sleep.iter().any(|sleeper| sleeper.is_firm);
                (is_explored, plans.tree != NONE)
            }
            None => (self.nodes[depth].done > 0, self.nodes[depth].tree != NONE),
        };
        let may_move_before = |race: &Race, position: u32| {
            race.earlier > position
                && log.event(race.earlier).thread == log.event(position).thread
                && !log.is_known_before(position, race.later)
        };
        let is_left_alone = |position: u32| {
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
            if is_planned || depth < log.len() && !is_left_alone(depth as u32) {
                return false;
            }
        }
        false
    }

    fn count(&mut self, end: EndOf<P>) {
        if end == End::Known {
            self.abandoned += 1;
            return;
        }
        self.executions += 1;
        self.was_cut |= end == End::Cut;
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
        // Threads that are asleep have not moved since: they must stand where they stood.
        for sleeper in self.sleep.of(self.nodes[self.run.log.len()].sleep) {
            let expected = sleeper.intent.filter(|_| !sleeper.footprint.is_barrier);
            if let Some(fault) = expected.and_then(|i| self.run.diverges(sleeper.thread, i)) {
                return End::Fault(fault);
            }
        }
        loop {
            if self.run.findings.is_enough {
                return End::Enough;
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
                Choice::AllAsleep => return End::Known,
                Choice::Complete => return End::Complete,
                Choice::Nothing => match self.run.force() {
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

    /// What was planned was seen in another execution. If the thread is not about to do that, the
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
            // BlockedThread in loops is decided from what was read last.
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

    /// Goes to a shared node, and on along the first sequence that is planned there to where nothing
    /// is asleep or the sequence ends. There this worker's part begins. The nodes on the way
    /// become shared ones.
    fn begin_task(&mut self, task: Task) -> Option<EndOf<P>> {
        let Task { node, is_all } = task;
        let turns = node.turns();
        let repeated = self.run.log.len();
        if let Err(stop) = self.run.follow(&turns[repeated..]) {
            node.lock().is_busy = false;
            return Some(stop.into());
        }
        let depth = turns.len();
        while self.nodes.len() <= depth {
            self.nodes.push(EMPTY_NODE);
        }
        if is_all {
            self.take_back(&node, depth);
            return None;
        }
        let mut node = node;
        loop {
            let (end, child) = self.take_step(&node);
            self.pool.list(&node);
            let Some(child) = child else {
                return end;
            };
            self.shared.push(Arc::clone(&child));
            self.pool.open(&[Arc::clone(&child)]);
            node = child;
        }
    }

    /// All that is left at a shared node is for this worker.
    fn take_back(&mut self, node: &NodeRef, depth: usize) {
        self.pool.close(node);
        self.shared.pop();
        self.part = node.parent.as_ref().map(|(_, turn)| *turn);
        let plans = &mut *node.lock();
        self.weight = plans.weight;
        let own = &mut self.nodes[depth];
        let (sleep, tree) = plans.take_back();
        own.sleep = self.sleep.put(&sleep);
        own.tree = self.forest.copy(&plans.forest, tree);
    }

    /// Takes the first step that is planned at a shared node. Returns the shared node after it,
    /// unless this worker's part begins there, or there is no such step.
    fn take_step(&mut self, node: &NodeRef) -> (Option<EndOf<P>>, Option<NodeRef>) {
        let depth = self.run.log.len();
        // What others plan here must not come between the step and the node after it.
        let plans = &mut *node.lock();
        plans.is_busy = false;
        let left = plans.forest.count(plans.tree);
        let (turn, outcomes, subtree) = loop {
            let first = plans.forest.take_first(&mut plans.tree);
            let Some((thread, outcome, subtree)) = first else {
                return (Some(End::Known), None);
            };
            // Only waits in loops and choices can turn out otherwise. Then nothing begins with the
            // step, or it is known.
            if let Some(outcomes) = self.run.ready(thread) {
                let outcome = if outcome < outcomes { outcome } else { 0 };
                let turn = Turn { thread, outcome };
                if !plans.sleep.iter().any(|s| s.is(turn)) {
                    break (turn, outcomes, subtree);
                }
            }
            plans.forest.cut(subtree);
        };
        let result = self.run.perform(turn);
        if self.run.log.len() == depth {
            plans.forest.cut(subtree);
            return (result.err().map(End::from), None);
        }
        let weight = plans.weight / f64::from(left);
        plans.weight -= weight;
        self.nodes[depth].sleep = self.sleep.put(&plans.sleep);
        plans.sleep.push(Sleeper {
            thread: turn.thread,
            outcome: turn.outcome,
            footprint: self.run.log.footprint(depth as u32),
            intent: Some(self.run.log.event(depth as u32).intent),
            is_firm: false,
        });
        self.descend(depth, NONE);
        self.nodes[depth].sleep = SleepSet::EMPTY;
        let next = &mut self.nodes[depth + 1];
        let mut child = None;
        if subtree == NONE || next.sleep.is_empty() || result.is_err() {
            next.tree = self.forest.copy(&plans.forest, subtree);
            self.part = Some(turn);
            self.weight = weight;
        } else {
            let mut forest = Forest::new();
            let tree = forest.copy(&plans.forest, subtree);
            let sleep = self.sleep.to_vec(next.sleep);
            next.sleep = SleepSet::EMPTY;
            let inherited = sleep.len();
            let mut below = Plans::new(sleep, inherited, forest, tree, weight);
            below.is_busy = true;
            let shared = SharedNode::new(Some((Arc::clone(node), turn)), below);
            plans.children.push((turn, Arc::downgrade(&shared)));
            child = Some(shared);
        }
        plans.forest.cut(subtree);
        if plans.tree == NONE {
            // Nothing else may ever be planned here.
            plans.forest = Forest::new();
        }
        if outcomes > 1 {
            let (forest, tree) = (&mut plans.forest, &mut plans.tree);
            plan_other_outcomes(forest, tree, plans.sleep.iter(), turn.thread, outcomes);
        }
        (result.err().map(End::from), child)
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
            self.forest.cut(subtree);
        }
        // What was planned may turn out to be known. Something else may be left all the same.
        if is_any_asleep && node.done > 0 {
            return Choice::AllAsleep;
        }
        // A thread goes on as long as it can: that makes for executions that are easy to read.
        let mut is_complete = true;
        let last = self.last_thread;
        let others = self.run.threads().filter(|&thread| Some(thread) != last);
        let found = last.into_iter().chain(others).find_map(|thread| {
            let ThreadStatus::Pending { intent, outcomes } = self.run.status(thread) else {
                return None;
            };
            is_complete = false;
            if !self.run.is_ready(thread, &intent) {
                return None;
            }
            let outcome = (0..outcomes).find(|&outcome| !is_asleep(thread, outcome));
            is_any_asleep |= outcome.is_none();
            outcome.map(|outcome| Turn { thread, outcome })
        });
        if let Some(turn) = found {
            return Choice::Step(turn, NONE);
        }
        if is_any_asleep {
            Choice::AllAsleep
        } else if is_complete {
            Choice::Complete
        } else {
            Choice::Nothing
        }
    }

    /// Makes the node after the event at `depth`.
    fn descend(&mut self, depth: usize, tree: u32) {
        if self.nodes.len() == depth + 1 {
            self.nodes.push(EMPTY_NODE);
        }
        let (above, below) = self.nodes.split_at_mut(depth + 1);
        let (node, next) = (&above[depth], &mut below[0]);
        next.tree = tree;
        next.done = 0;
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

    /// Plans the executions in which a race of the present one is turned around.
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
        if *end == End::Complete {
            return;
        }
        for thread in self.run.threads() {
            let ThreadStatus::Pending { intent, .. } = self.run.status(thread) else {
                continue;
            };
            // Threads that are asleep could go on; their operations are explored elsewhere.
            if *end == End::Known && self.run.ready(thread).is_some() {
                continue;
            }
            let watched = match intent {
                Intent::SpinHint => self.run.watched_by(thread).to_vec(),
                _ => Vec::new(),
            };
            let mut footprint = Footprint::empty(false);
            match intent {
                Intent::Access { object, effect, .. } => {
                    footprint.push(object, effect.strongest_touch());
                    let learned = self.run.learned_touches_of(intent);
                    learned
                        .iter()
                        .for_each(|&partner| footprint.push(partner, TouchKind::Write));
                    // It may turn out to read only.
                    let is_guessed = matches!(effect, Effect::WriteIf(_)) && learned.is_empty();
                    footprint.is_exact = !is_guessed;
                }
                _ => watched
                    .iter()
                    .for_each(|touch| footprint.push(touch.object, TouchKind::Read)),
            }
            for race in self.run.log.races_of_blocked(thread, intent, &watched) {
                let later = LaterEvent {
                    position: race.later,
                    thread,
                    outcome: 0,
                };
                self.reverse(&race, later, |_| footprint.clone());
            }
        }
    }

    /// Plans one execution. What the later event touches when it comes first is asked for only if it
    /// matters. Whether the race needs no further look.
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
            // Mostly this is the end of it, and then what comes after the race is not looked at.
            let is_first = reversal.is_first();
            if is_first && reversal.is_settled_by(log, asleep.clone()) {
                return true;
            }
            reversal.set_footprint(footprint(&self.run));
            if !is_first && reversal.is_settled_by(log, asleep.clone()) {
                return true;
            }
            reversal.complete(log);
            if reversal.is_known_otherwise(log, asleep) {
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

    /// Takes back the execution to the last node from which something is left to explore. False
    /// if there is none.
    fn backtrack(&mut self) -> bool {
        let log = &self.run.log;
        let mut length = log.len();
        let mut is_any_left = false;
        while length > self.shared.len() && !is_any_left {
            self.forest.cut(self.nodes[length].tree);
            self.nodes[length].tree = NONE;
            length -= 1;
            let node = &mut self.nodes[length];
            node.done += 1;
            let event = log.event(length as u32);
            let (thread, outcomes) = (event.thread, event.outcomes);
            if node.tree == NONE && outcomes <= 1 {
                // It is explored, and nobody will ask what is asleep there.
                continue;
            }
            let sleeper = Sleeper {
                thread,
                outcome: event.outcome,
                footprint: log.footprint(length as u32),
                intent: Some(event.intent),
                is_firm: true,
            };
            self.sleep.add(&mut node.sleep, sleeper);
            if outcomes > 1 {
                let (forest, tree) = (&mut self.forest, &mut node.tree);
                let asleep = self.sleep.of(node.sleep);
                plan_other_outcomes(forest, tree, asleep, thread, outcomes);
            }
            is_any_left = node.tree != NONE;
        }
        self.run.log.cut(length);
        is_any_left
    }

    /// Shares nodes with a worker that has nothing to do: those down to the first from which
    /// something is left to explore.
    pub(crate) fn share(&mut self) {
        let end = self.run.log.len();
        let is_worth_it = |depth: &usize| {
            let tree = self.nodes[*depth].tree;
            tree != NONE && (*depth < end || self.forest.count(tree) > 1)
        };
        if let Some(depth) = (self.shared.len()..=end).find(is_worth_it) {
            self.share_down_to(depth);
        }
    }

    fn share_down_to(&mut self, depth: usize) {
        let first = self.shared.len();
        for at in first..=depth {
            let parent = self.shared.last().map(|parent| {
                let event = self.run.log.event(at as u32 - 1);
                let (thread, outcome) = (event.thread, event.outcome);
                (Arc::clone(parent), Turn { thread, outcome })
            });
            let node = &mut self.nodes[at];
            let mut forest = Forest::new();
            let mut tree = forest.copy(&self.forest, node.tree);
            self.forest.cut(std::mem::replace(&mut node.tree, NONE));
            let mut sleep = self.sleep.to_vec(node.sleep);
            node.sleep = SleepSet::EMPTY;
            let left = forest.count(tree);
            let mut weight = self.weight;
            let is_in_progress = at < self.run.log.len();
            if is_in_progress {
                let event = self.run.log.event(at as u32);
                let (thread, outcome, outcomes) = (event.thread, event.outcome, event.outcomes);
                sleep.push(Sleeper {
                    thread,
                    outcome,
                    footprint: self.run.log.footprint(at as u32),
                    intent: Some(event.intent),
                    is_firm: false,
                });
                if outcomes > 1 {
                    plan_other_outcomes(&mut forest, &mut tree, sleep.iter(), thread, outcomes);
                }
                self.weight /= f64::from(left + 1);
                weight -= self.weight;
                self.part = Some(Turn { thread, outcome });
            } else {
                self.weight = 0.0;
                self.part = None;
            }
            let plans = Plans::new(sleep, 0, forest, tree, weight);
            self.shared.push(SharedNode::new(parent, plans));
        }
        self.pool.open(&self.shared[first..]);
    }

    /// Whether there is an execution to run in this worker's own part of the tree.
    pub(crate) fn has_own_work(&self) -> bool {
        self.shared.len() <= self.run.log.len()
    }
}

/// Checkpoints, of one worker that shares nothing.
impl<P: Program> Optimal<P> {
    /// What is left of the tree, between two executions.
    pub(crate) fn left(&self, has_work: bool) -> Tree {
        Tree {
            learned: self
                .run
                .learned
                .as_ref()
                .map_or(Vec::new(), LearnedFootprints::pairs),
            path: has_work.then(|| self.path()),
        }
    }

    fn path(&self) -> Path {
        let log = &self.run.log;
        let settled = (0..log.race_count()).filter(|&race| log.race(race).is_settled);
        let saved = |node: &Node| SavedNode {
            done: node.done,
            asleep: self.sleep.to_vec(node.sleep),
            planned: self.forest.walk(node.tree),
        };
        Path {
            schedule: self.run.schedule(),
            fingerprint: Fingerprint::of(log),
            settled: settled.map(|race| race as u32).collect(),
            nodes: self.nodes[..=log.len()].iter().map(saved).collect(),
        }
    }

    /// Goes on after so many executions. False if nothing is left.
    pub(crate) fn go_on(&mut self, tree: &Tree, begun: u64) -> bool {
        self.run.learned = Some(LearnedFootprints::from_pairs(&tree.learned));
        self.run.findings.execution = begun;
        if let Some(path) = &tree.path {
            self.go_to(path);
        }
        tree.path.is_some()
    }

    /// Goes to the end of a path. The next execution begins from there.
    fn go_to(&mut self, path: &Path) {
        let turns = &path.schedule.0;
        let mut result = match turns.is_empty() {
            // The program may fail before its first operation.
            true => Ok(()),
            false => self.run.begin().and_then(|()| self.run.follow(turns)),
        };
        if result.is_ok() && Fingerprint::of(&self.run.log) != path.fingerprint {
            // It was another one when the checkpoint was looked at.
            let last = turns.last().map_or(ThreadId(0), |turn| turn.thread);
            let step = turns.len();
            result = Err(Fault::InfeasibleSchedule { step, thread: last }.into());
        }
        let end = self.run.finish(match result {
            Ok(()) => End::Known,
            Err(Stop::Restart(_) | Stop::Error(Fault::Program(_))) => {
                End::Fault(Fault::InfeasibleSchedule {
                    step: self.run.log.len(),
                    thread: ThreadId(0),
                })
            }
            Err(Stop::Error(fault)) => End::Fault(fault),
        });
        if let End::Fault(fault) = end {
            let schedule = self.run.schedule();
            self.run.findings.fault(fault, schedule, &[]);
            self.run.findings.is_enough = true;
            return;
        }
        for &race in &path.settled {
            if (race as usize) < self.run.log.race_count() {
                self.run.log.settle(race as usize);
            }
        }
        let (forest, sleep) = (&mut self.forest, &mut self.sleep);
        sleep.clear();
        let restored = path.nodes.iter().map(|node| Node {
            sleep: sleep.put(&node.asleep),
            tree: forest.plant(&node.planned),
            done: node.done,
        });
        self.nodes = restored.collect();
    }
}

/// What the later event of a race touches when it comes first. With learned that is the same.
fn reversed_footprint<P: Program>(run: &Run<P>, race: &Race) -> Footprint {
    let mut footprint = run.log.footprint(race.later);
    // A hint that was forced is not when it comes earlier: it goes on since something has changed.
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

/// Plans a reversed execution at a shared node, or at the shared node after the steps that it
/// begins with and that were taken.
fn plan_at_shared(
    node: &NodeRef,
    log: &ExecutionLog,
    reversal: &mut Reversal,
    pool: &Pool,
) -> Insertion {
    let mut below = None;
    let mut is_first_settled = None;
    let mut is_last_settled = true;
    loop {
        let node = below.as_ref().unwrap_or(node);
        let mut guard = node.lock();
        let plans = &mut *guard;
        if plans.is_gone {
            // Whoever explores it needs nothing from here.
            let is_settled = is_first_settled.unwrap_or(true) && is_last_settled;
            return Insertion::Done { is_settled };
        }
        let Some((is_settled, step)) = reversal.is_taken(log, &plans.sleep) else {
            let insertion = plans.forest.insert(&mut plans.tree, log, reversal);
            drop(guard);
            pool.list(node);
            return match (insertion, is_first_settled) {
                (Insertion::Added { .. }, Some(is_settled)) => Insertion::Added { is_settled },
                (Insertion::Done { .. }, Some(is_settled)) => Insertion::Done { is_settled },
                (insertion, None) => insertion,
            };
        };
        let Some(child) = step.and_then(|step| plans.child(step)) else {
            let is_settled = is_first_settled.unwrap_or(true) && is_settled;
            return Insertion::Done { is_settled };
        };
        is_first_settled.get_or_insert(is_settled);
        is_last_settled = is_settled;
        drop(guard);
        below = Some(child);
    }
}

/// Plans to explore an operation of a thread with all its other outcomes.
fn plan_other_outcomes<'a>(
    forest: &mut Forest,
    tree: &mut u32,
    asleep: impl Iterator<Item = &'a Sleeper> + Clone,
    thread: ThreadId,
    outcomes: u32,
) {
    for outcome in 0..outcomes {
        let turn = Turn { thread, outcome };
        let is_done = asleep.clone().any(|sleeper| sleeper.is(turn));
        if is_done || forest.has(*tree, thread, outcome) {
            continue;
        }
        // What it will touch is not known, so nothing is compatible with it.
        let mut anything = Footprint::empty(true);
        anything.is_exact = false;
        let number = forest.add(thread, outcome, anything);
        forest.set_sibling(number, *tree);
        *tree = number;
    }
}
