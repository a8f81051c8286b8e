//! Sharing the search tree with other workers: see [`pool`](crate::parallel::pool).

use std::sync::Arc;

use super::{EMPTY_NODE, Optimal, plan_other_outcomes};
use crate::dpor::sleep::SleepSet;
use crate::dpor::wakeup::{Forest, Insertion, Reversal, Sleeper};
use crate::execution::log::{ExecutionLog, NONE};
use crate::execution::run::{End, EndOf};
use crate::parallel::pool::{NodeRef, Plans, Pool, SharedNode, Task};
use crate::program::Program;
use crate::schedule::Turn;

impl<P: Program> Optimal<P> {
    /// Takes over a subtree that another worker shares. Returns false if none is left.
    pub(crate) fn take_work(&mut self) -> bool {
        self.finished_share += std::mem::take(&mut self.estimated_share);
        self.finish_subtree();
        let only_whole = self.pool.is_full();
        let mut upwards = self.shared.iter().rev();
        let nearest = upwards.find_map(|node| node.reserve(only_whole));
        self.shared.clear();
        let Some(task) = nearest.or_else(|| self.pool.take()) else {
            return false;
        };
        self.take_task(task);
        true
    }

    fn take_task(&mut self, task: Task) {
        self.rewind_to(&task.node.turns());
        let mut above = Some(&task.node);
        while let Some(node) = above {
            self.shared.push(Arc::clone(node));
            above = node.parent.as_ref().map(|(parent, _)| parent);
        }
        self.shared.reverse();
        self.task = Some(task);
    }

    /// Rewinds the execution to its common prefix with one that has these steps.
    fn rewind_to(&mut self, turns: &[Turn]) {
        let common = self.run.log.events().iter().zip(turns);
        let common = common.take_while(|(event, turn)| {
            (event.thread, event.outcome) == (turn.thread, turn.outcome)
        });
        let common = common.count();
        self.run.log.truncate(common);
        // The nodes of the path are shared, and those of an execution that failed are not needed.
        for node in &mut self.nodes {
            self.forest.free(node.tree);
            *node = EMPTY_NODE;
        }
        self.sleep.clear();
    }

    /// Tells the others that this worker's subtree is explored.
    fn finish_subtree(&mut self) {
        let turn = self.subtree_step.take();
        if let Some(node) = self.shared.last() {
            self.pool.finish_step(node, turn);
        }
    }

    /// Replays the path to a shared node, and takes the steps of the first planned sequence there
    /// until the sleep set is empty or the sequence ends. There this worker's subtree begins. The
    /// nodes in between become shared.
    pub(super) fn begin_task(&mut self, task: Task) -> Option<EndOf<P>> {
        let Task {
            node,
            takes_whole_node,
        } = task;
        let turns = node.turns();
        let repeated = self.run.log.len();
        if let Err(stop) = self.run.follow(&turns[repeated..]) {
            node.lock().is_reserved = false;
            return Some(stop.into());
        }
        let depth = turns.len();
        while self.nodes.len() <= depth {
            self.nodes.push(EMPTY_NODE);
        }
        if takes_whole_node {
            self.reclaim(&node, depth);
            return None;
        }
        let mut node = node;
        loop {
            let (end, child) = self.take_step(&node);
            self.pool.queue(&node);
            let Some(child) = child else {
                return end;
            };
            self.shared.push(Arc::clone(&child));
            self.pool.open(&[Arc::clone(&child)]);
            node = child;
        }
    }

    /// Takes over everything that is left at a shared node.
    fn reclaim(&mut self, node: &NodeRef, depth: usize) {
        self.pool.close(node);
        self.shared.pop();
        self.subtree_step = node.parent.as_ref().map(|(_, turn)| *turn);
        let plans = &mut *node.lock();
        self.estimated_share = plans.estimated_share;
        let own = &mut self.nodes[depth];
        let (sleep, tree) = plans.reclaim();
        own.sleep = self.sleep.put(&sleep);
        own.tree = self.forest.copy(&plans.forest, tree);
    }

    /// Takes the first step that is planned at a shared node. Returns the shared node after it,
    /// unless this worker's subtree begins there or there is no such step.
    fn take_step(&mut self, node: &NodeRef) -> (Option<EndOf<P>>, Option<NodeRef>) {
        let depth = self.run.log.len();
        // Others must not insert between the step and the creation of the node after it.
        let plans = &mut *node.lock();
        plans.is_reserved = false;
        let planned = plans.forest.count(plans.tree);
        let (turn, outcomes, subtree) = loop {
            let first = plans.forest.take_first(&mut plans.tree);
            let Some((thread, outcome, subtree)) = first else {
                return (Some(End::Redundant), None);
            };
            // A step that is not enabled or asleep is redundant. Only spin loops and operations
            // with several outcomes have such steps.
            if let Some(outcomes) = self.run.ready(thread) {
                let outcome = if outcome < outcomes { outcome } else { 0 };
                let turn = Turn { thread, outcome };
                if !plans.sleep.iter().any(|s| s.is(turn)) {
                    break (turn, outcomes, subtree);
                }
            }
            plans.forest.free(subtree);
        };
        let result = self.run.perform(turn);
        if self.run.log.len() == depth {
            plans.forest.free(subtree);
            return (result.err().map(End::from), None);
        }
        let estimated_share = plans.estimated_share / f64::from(planned);
        plans.estimated_share -= estimated_share;
        self.nodes[depth].sleep = self.sleep.put(&plans.sleep);
        plans.sleep.push(Sleeper {
            thread: turn.thread,
            outcome: turn.outcome,
            footprint: self.run.log.footprint(depth as u32),
            intent: Some(self.run.log.event(depth as u32).intent),
            is_explored: false,
        });
        self.descend(depth, NONE);
        self.nodes[depth].sleep = SleepSet::EMPTY;
        let next = &mut self.nodes[depth + 1];
        let mut child = None;
        if subtree == NONE || next.sleep.is_empty() || result.is_err() {
            next.tree = self.forest.copy(&plans.forest, subtree);
            self.subtree_step = Some(turn);
            self.estimated_share = estimated_share;
        } else {
            let mut forest = Forest::new();
            let tree = forest.copy(&plans.forest, subtree);
            let sleep = self.sleep.to_vec(next.sleep);
            next.sleep = SleepSet::EMPTY;
            let inherited = sleep.len();
            let mut below = Plans::new(sleep, inherited, forest, tree, estimated_share);
            below.is_reserved = true;
            let shared = SharedNode::new(Some((Arc::clone(node), turn)), below);
            plans.children.push((turn, Arc::downgrade(&shared)));
            child = Some(shared);
        }
        plans.forest.free(subtree);
        if plans.tree == NONE {
            // Frees the memory, since nothing else may ever be planned here.
            plans.forest = Forest::new();
        }
        if outcomes > 1 {
            let (forest, tree) = (&mut plans.forest, &mut plans.tree);
            plan_other_outcomes(forest, tree, plans.sleep.iter(), turn.thread, outcomes);
        }
        (result.err().map(End::from), child)
    }

    /// Shares nodes with an idle worker: those down to the first one from which something is left
    /// to explore.
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
            self.forest.free(std::mem::replace(&mut node.tree, NONE));
            let mut sleep = self.sleep.to_vec(node.sleep);
            node.sleep = SleepSet::EMPTY;
            let planned = forest.count(tree);
            let mut estimated_share = self.estimated_share;
            let is_in_progress = at < self.run.log.len();
            if is_in_progress {
                let event = self.run.log.event(at as u32);
                let (thread, outcome, outcomes) = (event.thread, event.outcome, event.outcomes);
                sleep.push(Sleeper {
                    thread,
                    outcome,
                    footprint: self.run.log.footprint(at as u32),
                    intent: Some(event.intent),
                    is_explored: false,
                });
                if outcomes > 1 {
                    plan_other_outcomes(&mut forest, &mut tree, sleep.iter(), thread, outcomes);
                }
                self.estimated_share /= f64::from(planned + 1);
                estimated_share -= self.estimated_share;
                self.subtree_step = Some(Turn { thread, outcome });
            } else {
                self.estimated_share = 0.0;
                self.subtree_step = None;
            }
            let plans = Plans::new(sleep, 0, forest, tree, estimated_share);
            self.shared.push(SharedNode::new(parent, plans));
        }
        self.pool.open(&self.shared[first..]);
    }

    /// Whether this worker's own subtree has another execution.
    pub(crate) fn has_own_work(&self) -> bool {
        self.shared.len() <= self.run.log.len()
    }
}

/// Plans a reversed execution at a shared node, or at the shared node below it after the steps that
/// the execution begins with and that were taken.
pub(super) fn plan_at_shared(
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
        if plans.is_closed {
            // The worker that explores it finds the reversal itself.
            let is_settled = is_first_settled.unwrap_or(true) && is_last_settled;
            return Insertion::Covered { is_settled };
        }
        let Some((is_settled, step)) = reversal.take_covering_step(log, &plans.sleep) else {
            let insertion = plans.forest.insert(&mut plans.tree, log, reversal);
            drop(guard);
            pool.queue(node);
            return match (insertion, is_first_settled) {
                (Insertion::Added { .. }, Some(is_settled)) => Insertion::Added { is_settled },
                (Insertion::Covered { .. }, Some(is_settled)) => Insertion::Covered { is_settled },
                (insertion, None) => insertion,
            };
        };
        let Some(child) = step.and_then(|step| plans.child(step)) else {
            let is_settled = is_first_settled.unwrap_or(true) && is_settled;
            return Insertion::Covered { is_settled };
        };
        is_first_settled.get_or_insert(is_settled);
        is_last_settled = is_settled;
        drop(guard);
        below = Some(child);
    }
}
