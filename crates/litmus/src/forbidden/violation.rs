//! The axiom that a candidate breaks, and a shortest cycle that shows it.

use fencepost_memory::{Buffering, MemoryModel};

use super::{Axiom, Violation};
use crate::event_graph::cycle::{Cycle, CycleStep};
use crate::event_graph::kept::program_order;
use crate::event_graph::{Relation, Strength, nodes};
use crate::execution::{Action, Candidate, EventId};

/// The cost of a step: more than all that it may skip.
const STEP_COST: u64 = 1 << 32;

/// Why a model does not allow a candidate; `None` if it does.
///
/// Coherence is asked about first, then atomicity, then the order of the model.
pub fn violation(model: &MemoryModel, candidate: &Candidate) -> Option<Violation> {
    let relations = Relations::new(candidate);
    let broken = |axiom, steps| Violation {
        axiom,
        cycle: Cycle { steps },
    };
    let coherence = relations.shortest_cycle(&each_alone(candidate), |step| {
        let cell = |id| candidate.event(id).action.cell();
        step.relation != Relation::ProgramOrder || cell(step.from) == cell(step.to)
    });
    if let Some(mut steps) = coherence {
        // From the read to the write of a locked instruction nothing has to be said.
        steps.retain(|step| !relations.is_one_instruction(step.from, step.to));
        return Some(broken(Axiom::Coherence, steps));
    }
    if let Some(steps) = relations.torn_locked() {
        return Some(broken(Axiom::Atomicity, steps));
    }
    let is_sc = model.buffering() == Buffering::None;
    let order = relations.shortest_cycle(&relations.node_of, |step| {
        let (from, to) = (step.from.index(), step.to.index());
        let events = &candidate.events;
        match step.relation {
            Relation::ProgramOrder => {
                step.strength = program_order(model, events, from, to);
                step.strength != Strength::Relaxed
            }
            Relation::ReadsFrom => is_sc || events[from].thread != events[to].thread,
            Relation::Coherence | Relation::FromReads => true,
        }
    });
    order.map(|steps| broken(Axiom::Order, steps))
}

fn each_alone(candidate: &Candidate) -> Vec<usize> {
    (0..candidate.events.len()).collect()
}

/// The relations of a candidate, each with all pairs.
struct Relations<'a> {
    candidate: &'a Candidate,
    /// For each event its node: a locked instruction is one.
    node_of: Vec<usize>,
    /// For each write its place in coherence; for each read that of the write that it reads from,
    /// both from 1.
    place: Vec<usize>,
}

impl<'a> Relations<'a> {
    fn new(candidate: &'a Candidate) -> Self {
        let mut place = vec![0; candidate.events.len()];
        for writes in &candidate.coherence {
            for (index, write) in writes.iter().enumerate() {
                place[write.index()] = index + 1;
            }
        }
        for read in candidate.ids() {
            if let Some(source) = candidate.reads_from[read.index()] {
                place[read.index()] = place[source.index()];
            }
        }
        Relations {
            candidate,
            node_of: nodes(&candidate.events).1,
            place,
        }
    }

    fn is_one_instruction(&self, one: EventId, other: EventId) -> bool {
        self.node_of[one.index()] == self.node_of[other.index()]
    }

    /// A write between the read and the write of a locked instruction, as a cycle.
    fn torn_locked(&self) -> Option<Vec<CycleStep>> {
        let events = &self.candidate.events;
        let pairs = self.candidate.ids().zip(self.candidate.ids().skip(1));
        for (read, write) in pairs {
            let cell = match (events[read.index()].action, events[write.index()].action) {
                (Action::Read(cell, _), Action::Write(written, _)) if written == cell => cell,
                _ => continue,
            };
            if !self.is_one_instruction(read, write) {
                continue;
            }
            let (first, last) = (self.place[read.index()], self.place[write.index()]);
            let between = self.candidate.writes(cell).get(first);
            if let Some(&between) = between.filter(|_| first + 1 < last) {
                let step = |relation, from, to| CycleStep {
                    relation,
                    from,
                    to,
                    strength: Strength::Plain,
                };
                return Some(vec![
                    step(Relation::FromReads, read, between),
                    step(Relation::Coherence, between, write),
                ]);
            }
        }
        None
    }

    /// The step from one access to another, if there is one, and what it skips.
    fn step(&self, from: EventId, to: EventId) -> impl Iterator<Item = (CycleStep, u64)> + use<> {
        let events = &self.candidate.events;
        let (first, second) = (&events[from.index()], &events[to.index()]);
        let (mut steps, mut count) = ([None; 2], 0);
        let mut add = |relation, skipped: usize| {
            let step = CycleStep {
                relation,
                from,
                to,
                strength: Strength::Plain,
            };
            steps[count] = Some((step, skipped as u64));
            count += 1;
        };
        if first.thread == second.thread && from < to {
            add(Relation::ProgramOrder, to.index() - from.index() - 1);
        }
        let is_same_cell = first.action.cell() == second.action.cell();
        let (place, other) = (self.place[from.index()], self.place[to.index()]);
        match (first.action, second.action) {
            (Action::Write(..), Action::Read(..))
                if self.candidate.reads_from[to.index()] == Some(from) =>
            {
                add(Relation::ReadsFrom, 0);
            }
            (Action::Write(..), Action::Write(..)) if is_same_cell && place < other => {
                add(Relation::Coherence, other - place - 1);
            }
            (Action::Read(..), Action::Write(..)) if is_same_cell && place < other => {
                add(Relation::FromReads, other - place - 1);
            }
            _ => {}
        }
        steps.into_iter().flatten()
    }

    /// The shortest cycle of the steps that are `wanted`, over the nodes to which events belong;
    /// among those of one length, one that skips the least.
    fn shortest_cycle(
        &self,
        node_of: &[usize],
        mut wanted: impl FnMut(&mut CycleStep) -> bool,
    ) -> Option<Vec<CycleStep>> {
        let count = node_of.iter().max().map_or(0, |last| last + 1);
        let mut edges: Vec<Option<(u64, CycleStep)>> = vec![None; count * count];
        let is_access = |id: &EventId| self.candidate.event(*id).action.cell().is_some();
        for from in self.candidate.ids().filter(is_access) {
            for to in self.candidate.ids().filter(is_access) {
                let (one, other) = (node_of[from.index()], node_of[to.index()]);
                if one == other {
                    continue;
                }
                for (mut step, skipped) in self.step(from, to) {
                    let cost = STEP_COST + skipped;
                    let known = &mut edges[one * count + other];
                    if known.is_none_or(|(known, _)| cost < known) && wanted(&mut step) {
                        *known = Some((cost, step));
                    }
                }
            }
        }
        let mut best: Option<(u64, Vec<CycleStep>)> = None;
        for start in 0..count {
            let bound = best.as_ref().map_or(u64::MAX, |(cost, _)| *cost);
            best = cycle_through(start, count, &edges, bound).or(best);
        }
        let (_, mut steps) = best?;
        let first = (0..steps.len()).min_by_key(|&index| node_of[steps[index].from.index()]);
        steps.rotate_left(first.unwrap_or(0));
        Some(steps)
    }
}

/// The cheapest cycle through a node over nodes that are not before it, if it costs less than
/// `bound`: Dijkstra's search.
fn cycle_through(
    start: usize,
    count: usize,
    edges: &[Option<(u64, CycleStep)>],
    bound: u64,
) -> Option<(u64, Vec<CycleStep>)> {
    let mut costs = vec![u64::MAX; count];
    let mut by: Vec<Option<(usize, CycleStep)>> = vec![None; count];
    let mut is_done = vec![false; count];
    // The start is reached again, so its first cost is kept apart.
    let (mut node, mut cost) = (start, 0);
    loop {
        for next in start..count {
            let Some((more, step)) = edges[node * count + next] else {
                continue;
            };
            if cost + more < costs[next] && cost + more < bound {
                costs[next] = cost + more;
                by[next] = Some((node, step));
            }
        }
        let open = (start..count).filter(|&node| !is_done[node] && costs[node] < u64::MAX);
        node = open.min_by_key(|&node| costs[node])?;
        if node == start {
            break;
        }
        is_done[node] = true;
        cost = costs[node];
    }
    let mut steps = Vec::new();
    let mut node = start;
    while let Some((before, step)) = by[node] {
        steps.push(step);
        node = before;
        if node == start {
            break;
        }
    }
    steps.reverse();
    Some((costs[start], steps))
}
