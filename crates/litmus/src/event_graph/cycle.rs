//! The shortest cycle of program order, reads-from, coherence and from-reads. An execution has such
//! a cycle if and only if it is not sequentially consistent (Shasha and Snir 1988).
//!
//! The nodes are those of the [`EventGraph`], so a locked instruction is one node. Program order
//! and coherence are transitive: one step may skip any number of nodes. A from-reads step may
//! likewise continue along coherence to later writes. Fences are always skipped. A step between two
//! events of one thread that are in program order is a program-order step. Among cycles with the
//! fewest steps, the search returns one that skips the fewest nodes, and among those the first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Edge, EventGraph, Relation, Strength, label};
use crate::execution::EventId;

/// A step of a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CycleStep {
    /// The relation.
    pub relation: Relation,
    /// The source: an event of the node in which the previous step ends.
    pub from: EventId,
    /// The target.
    pub to: EventId,
    /// How it orders them.
    pub strength: Strength,
}

impl CycleStep {
    /// Whether an edge is this step.
    pub fn is_edge(&self, edge: &Edge) -> bool {
        (self.relation, self.from, self.to) == (edge.relation, edge.from, edge.to)
    }

    /// Its name: that of the relation, or of the fence that keeps program order.
    pub fn label(&self) -> &'static str {
        label(self.relation, self.strength)
    }
}

/// A cycle: the last step ends in the node in which the first one starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cycle {
    /// The steps.
    pub steps: Vec<CycleStep>,
}

impl Cycle {
    /// Whether an edge is a step of the cycle.
    pub fn contains(&self, edge: &Edge) -> bool {
        self.steps.iter().any(|step| step.is_edge(edge))
    }

    /// Whether a node is on the cycle. A node that a step skips is not.
    pub fn visits(&self, graph: &EventGraph, node: usize) -> bool {
        self.steps.iter().any(|step| graph.node(step.to) == node)
    }
}

/// The cost of a step: more than skipping all nodes, which cost 1 each.
const STEP_COST: u64 = 1 << 32;

/// A vertex of Dijkstra's search: a node, or the middle of a transitive step that may end at a node
/// or go further.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Vertex {
    Node(usize),
    AlongProgramOrder(usize),
    AlongCoherence(EventId),
}

/// The cost of a vertex, its predecessor, and, if a step starts at the predecessor, the step's
/// relation and source.
type Reached = Option<(u64, Vertex, Option<(Relation, EventId)>)>;

struct Search<'a> {
    graph: &'a EventGraph,
    /// For each node, the next one in program order that is not a fence.
    next: Vec<Option<usize>>,
    /// For each write, the reads that read from it.
    readers: Vec<Vec<EventId>>,
}

/// The shortest cycle of the graph, if it has one.
pub(super) fn shortest_cycle(graph: &EventGraph) -> Option<Cycle> {
    let mut search = Search {
        graph,
        next: vec![None; graph.nodes.len()],
        readers: vec![Vec::new(); graph.node_of.len()],
    };
    for (index, node) in graph.nodes.iter().enumerate() {
        let mut later = (index + 1..graph.nodes.len())
            .take_while(|&later| graph.nodes[later].thread == node.thread);
        search.next[index] = later.find(|&later| !graph.nodes[later].is_fence);
    }
    for edge in &graph.edges {
        if edge.relation == Relation::ReadsFrom {
            search.readers[edge.from.index()].push(edge.to);
        }
    }
    let mut best: Option<(u64, Vec<CycleStep>)> = None;
    for start in (0..graph.nodes.len()).filter(|&node| !graph.nodes[node].is_fence) {
        let bound = best.as_ref().map_or(u64::MAX, |(cost, _)| *cost);
        best = search.cycle_through(start, bound).or(best);
    }
    let (_, mut steps) = best?;
    let first = (0..steps.len()).min_by_key(|&index| graph.node(steps[index].from));
    steps.rotate_left(first.unwrap_or(0));
    Some(Cycle { steps })
}

impl Search<'_> {
    fn number(&self, vertex: Vertex) -> usize {
        match vertex {
            Vertex::Node(node) => node,
            Vertex::AlongProgramOrder(node) => self.next.len() + node,
            Vertex::AlongCoherence(write) => 2 * self.next.len() + write.index(),
        }
    }

    /// The cheapest cycle through a node, with its cost, if it costs less than `bound`.
    fn cycle_through(&self, start: usize, bound: u64) -> Option<(u64, Vec<CycleStep>)> {
        let mut reached: Vec<Reached> = vec![None; 2 * self.next.len() + self.readers.len()];
        let mut queue = BinaryHeap::from([Reverse((0, Vertex::Node(start)))]);
        while let Some(Reverse((cost, vertex))) = queue.pop() {
            if cost > 0 && vertex == Vertex::Node(start) {
                break;
            }
            if reached[self.number(vertex)].is_some_and(|(known, ..)| known < cost) {
                continue;
            }
            self.successors(vertex, |target, more, step_start| {
                let cost = cost + more;
                let known = &mut reached[self.number(target)];
                if cost < bound && known.is_none_or(|(known, ..)| cost < known) {
                    *known = Some((cost, vertex, step_start));
                    queue.push(Reverse((cost, target)));
                }
            });
        }
        let (cost, ..) = reached[start]?;
        Some((cost, self.steps_of_cycle(start, &reached)))
    }

    /// Calls `reach` with each successor of a vertex, the cost of the edge, and the step that
    /// starts there, if any.
    fn successors(
        &self,
        vertex: Vertex,
        mut reach: impl FnMut(Vertex, u64, Option<(Relation, EventId)>),
    ) {
        let node = match vertex {
            Vertex::Node(node) => node,
            Vertex::AlongProgramOrder(node) => {
                reach(Vertex::Node(node), 0, None);
                if let Some(next) = self.next[node] {
                    reach(Vertex::AlongProgramOrder(next), 1, None);
                }
                return;
            }
            Vertex::AlongCoherence(write) => {
                reach(Vertex::Node(self.graph.node(write)), 0, None);
                if let Some(next) = self.graph.next_write[write.index()] {
                    reach(Vertex::AlongCoherence(next), 1, None);
                }
                return;
            }
        };
        let events = &self.graph.nodes[node].events;
        if let Some(next) = self.next[node] {
            let step_start = (Relation::ProgramOrder, events[events.len() - 1]);
            reach(Vertex::AlongProgramOrder(next), STEP_COST, Some(step_start));
        }
        for &event in events {
            for &read in &self.readers[event.index()] {
                let step_start = (Relation::ReadsFrom, event);
                reach(
                    Vertex::Node(self.graph.node(read)),
                    STEP_COST,
                    Some(step_start),
                );
            }
            let Some(write) = self.graph.next_write[event.index()] else {
                continue;
            };
            let relation = match self.graph.is_read[event.index()] {
                true => Relation::FromReads,
                false => Relation::Coherence,
            };
            // A from-reads step from the read of a locked instruction ends at the next write:
            // continued along coherence, it would return to its own node. Coherence leads to the
            // writes after the instruction's own.
            let target = match relation == Relation::FromReads && events.len() > 1 {
                true if self.graph.node(write) == node => continue,
                true => Vertex::Node(self.graph.node(write)),
                false => Vertex::AlongCoherence(write),
            };
            reach(target, STEP_COST, Some((relation, event)));
        }
    }

    /// The steps of the cycle, reconstructed by following predecessors from `start` back to
    /// `start`.
    fn steps_of_cycle(&self, start: usize, reached: &[Reached]) -> Vec<CycleStep> {
        let mut steps = Vec::new();
        let mut vertex = Vertex::Node(start);
        // The target of the step whose source has not been reached yet.
        let mut end = vertex;
        while let Some((_, before, step_start)) = reached[self.number(vertex)] {
            if let Vertex::Node(_) = vertex {
                end = match before {
                    Vertex::Node(_) => vertex,
                    _ => before,
                };
            }
            if let Some((relation, from)) = step_start {
                steps.push(self.step(relation, from, end));
            }
            vertex = before;
            if vertex == Vertex::Node(start) {
                break;
            }
        }
        steps.reverse();
        steps
    }

    fn step(&self, relation: Relation, from: EventId, end: Vertex) -> CycleStep {
        let to = match end {
            Vertex::AlongProgramOrder(node) => self.graph.nodes[node].events[0],
            Vertex::AlongCoherence(write) => write,
            Vertex::Node(node) => match relation {
                Relation::FromReads => {
                    self.graph.next_write[from.index()].unwrap_or(self.graph.nodes[node].events[0])
                }
                _ => {
                    let mut readers = self.readers[from.index()].iter().copied();
                    let reader = readers.find(|&read| self.graph.node(read) == node);
                    reader.unwrap_or(self.graph.nodes[node].events[0])
                }
            },
        };
        if !self.graph.is_program_ordered(from, to) {
            let strength = Strength::Plain;
            return CycleStep {
                relation,
                from,
                to,
                strength,
            };
        }
        let from = &self.graph.nodes[self.graph.node(from)].events;
        CycleStep {
            relation: Relation::ProgramOrder,
            from: from[from.len() - 1],
            to: self.graph.nodes[self.graph.node(to)].events[0],
            strength: Strength::Plain,
        }
    }
}
