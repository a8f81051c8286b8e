//! A shortest cycle of program order, reads-from, coherence and from-reads. There is one if and only
//! if the execution is not sequentially consistent.
//!
//! The nodes are those of the [`EventGraph`], so a locked instruction is one of them. Program order and
//! coherence are transitive, so a step of them may pass over any number of nodes, and so may one of
//! from-reads, to later and later writes; fences are always passed over. What is of one thread and in program
//! order is a step of that. Among cycles with as few steps, one that passes over few nodes is taken, and among
//! those the first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fencepost_litmus::execution::EventId;

use super::graph::{Edge, EventGraph, Relation};
use super::words::letter;

/// A step of a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CycleStep {
    /// The relation.
    pub relation: Relation,
    /// Where the step begins: an event of the node in which the step before ended.
    pub from: EventId,
    /// Where it ends.
    pub to: EventId,
}

impl CycleStep {
    fn contains(&self, graph: &EventGraph, edge: &Edge) -> bool {
        let is_between = |from: EventId, to: EventId| {
            edge.relation == Relation::ProgramOrder
                && graph.thread(from) == graph.thread(edge.from)
                && graph.node(from) <= graph.node(edge.from)
                && graph.node(edge.to) <= graph.node(to)
        };
        let is_edge = (edge.from, edge.to) == (self.from, self.to);
        match self.relation {
            Relation::ProgramOrder => is_between(self.from, self.to),
            Relation::ReadsFrom => edge.relation == self.relation && is_edge,
            Relation::Coherence => self.passes(graph, self.from, edge),
            Relation::FromReads => {
                let Some(first) = graph.next_write[self.from.index()] else {
                    return false;
                };
                let begins = edge.relation == Relation::FromReads && edge.from == self.from;
                // From a read to a later write of its thread there is program order only.
                let is_own = graph.is_program_ordered(self.from, first);
                begins
                    || (is_own && is_between(self.from, first))
                    || self.passes(graph, first, edge)
            }
        }
    }

    /// Whether an arrow is on the way from a write to the end of the step along coherence.
    fn passes(&self, graph: &EventGraph, from: EventId, edge: &Edge) -> bool {
        let mut write = from;
        while write != self.to {
            let Some(next) = graph.next_write[write.index()] else {
                return false;
            };
            if edge.relation == Relation::Coherence && (edge.from, edge.to) == (write, next) {
                return true;
            }
            write = next;
        }
        false
    }
}

/// A cycle: the last step ends in the node in which the first begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cycle {
    /// The steps.
    pub steps: Vec<CycleStep>,
}

impl Cycle {
    /// Whether an arrow of the picture is a part of the cycle: all arrows that lead from where a step
    /// begins to where it ends are.
    pub fn contains(&self, graph: &EventGraph, edge: &Edge) -> bool {
        self.steps.iter().any(|step| step.contains(graph, edge))
    }

    /// Whether a node is on the cycle. One that a step passes over is not.
    pub fn visits(&self, graph: &EventGraph, node: usize) -> bool {
        self.steps.iter().any(|step| graph.node(step.to) == node)
    }

    /// The cycle in words, piece by piece: nodes, and between them the relations.
    pub fn pieces(&self, graph: &EventGraph) -> Vec<CyclePiece> {
        let mut pieces = Vec::new();
        for step in &self.steps {
            pieces.push(CyclePiece::Node(node_name(graph, graph.node(step.from))));
            pieces.push(CyclePiece::Relation(step.relation));
        }
        let first = self
            .steps
            .first()
            .map(|step| node_name(graph, graph.node(step.from)));
        pieces.extend(first.map(CyclePiece::Node));
        pieces
    }

    /// The cycle in words: `a →po b →fr c →po d →fr a`.
    pub fn text(&self, graph: &EventGraph) -> String {
        let pieces = self.pieces(graph);
        let texts: Vec<String> = pieces.iter().map(CyclePiece::text).collect();
        texts.join(" ")
    }
}

/// A part of a cycle in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CyclePiece {
    /// A node, by the letters of its events.
    Node(String),
    /// A relation.
    Relation(Relation),
}

impl CyclePiece {
    /// As text.
    pub fn text(&self) -> String {
        match self {
            CyclePiece::Node(name) => name.clone(),
            CyclePiece::Relation(relation) => format!("→{}", relation.label()),
        }
    }
}

/// A node by the letters of its events: `a`, or `(c,d)` for a locked instruction.
pub fn node_name(graph: &EventGraph, node: usize) -> String {
    let letters: Vec<String> = graph.nodes[node]
        .events
        .iter()
        .map(|&id| letter(id))
        .collect();
    match letters.as_slice() {
        [letter] => letter.clone(),
        _ => format!("({})", letters.join(",")),
    }
}

/// One step costs more than passing over all nodes.
const STEP: u64 = 1 << 32;

/// Where a search is: at a node, or on the way of a step that may end at it, of program order or to a later write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    At(usize),
    InProgram(usize),
    InCoherence(EventId),
}

/// How a place was reached: what it cost, the place before, and if a step began there, its relation and its event.
type Reached = Option<(u64, Place, Option<(Relation, EventId)>)>;

struct Search<'a> {
    graph: &'a EventGraph,
    /// The next node in program order that is no fence.
    next: Vec<Option<usize>>,
    /// Which reads get their value from each event.
    readers: Vec<Vec<EventId>>,
}

/// A shortest cycle of the graph, if it has one.
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
    fn number(&self, place: Place) -> usize {
        match place {
            Place::At(node) => node,
            Place::InProgram(node) => self.next.len() + node,
            Place::InCoherence(write) => 2 * self.next.len() + write.index(),
        }
    }

    /// A cheapest cycle through a node that costs less than `bound`, with its cost.
    fn cycle_through(&self, start: usize, bound: u64) -> Option<(u64, Vec<CycleStep>)> {
        let mut reached: Vec<Reached> = vec![None; 2 * self.next.len() + self.readers.len()];
        let mut queue = BinaryHeap::from([Reverse((0, Place::At(start)))]);
        while let Some(Reverse((cost, place))) = queue.pop() {
            if cost > 0 && place == Place::At(start) {
                break;
            }
            if reached[self.number(place)].is_some_and(|(known, ..)| known < cost) {
                continue;
            }
            self.leave(place, |target, more, begun| {
                let cost = cost + more;
                let known = &mut reached[self.number(target)];
                if cost < bound && known.is_none_or(|(known, ..)| cost < known) {
                    *known = Some((cost, place, begun));
                    queue.push(Reverse((cost, target)));
                }
            });
        }
        let (cost, ..) = reached[start]?;
        Some((cost, self.steps_to(start, &reached)))
    }

    /// Where a place leads to: for each, what it costs, and the step that begins.
    fn leave(&self, place: Place, mut reach: impl FnMut(Place, u64, Option<(Relation, EventId)>)) {
        let node = match place {
            Place::At(node) => node,
            Place::InProgram(node) => {
                reach(Place::At(node), 0, None);
                if let Some(next) = self.next[node] {
                    reach(Place::InProgram(next), 1, None);
                }
                return;
            }
            Place::InCoherence(write) => {
                reach(Place::At(self.graph.node(write)), 0, None);
                if let Some(next) = self.graph.next_write[write.index()] {
                    reach(Place::InCoherence(next), 1, None);
                }
                return;
            }
        };
        let events = &self.graph.nodes[node].events;
        if let Some(next) = self.next[node] {
            let begun = (Relation::ProgramOrder, events[events.len() - 1]);
            reach(Place::InProgram(next), STEP, Some(begun));
        }
        for &event in events {
            for &read in &self.readers[event.index()] {
                let begun = (Relation::ReadsFrom, event);
                reach(Place::At(self.graph.node(read)), STEP, Some(begun));
            }
            let Some(write) = self.graph.next_write[event.index()] else {
                continue;
            };
            let relation = match self.graph.is_read[event.index()] {
                true => Relation::FromReads,
                false => Relation::Coherence,
            };
            // From a locked instruction's read to writes before its own write there is one step each: further
            // on, the step would come to where it began. To later writes there is coherence.
            let target = match relation == Relation::FromReads && events.len() > 1 {
                true if self.graph.node(write) == node => continue,
                true => Place::At(self.graph.node(write)),
                false => Place::InCoherence(write),
            };
            reach(target, STEP, Some((relation, event)));
        }
    }

    /// Goes back from `start` to `start`.
    fn steps_to(&self, start: usize, reached: &[Reached]) -> Vec<CycleStep> {
        let mut steps = Vec::new();
        let mut place = Place::At(start);
        // Where the step ends that is being gone back.
        let mut end = place;
        while let Some((_, before, begun)) = reached[self.number(place)] {
            if let Place::At(_) = place {
                end = match before {
                    Place::At(_) => place,
                    _ => before,
                };
            }
            if let Some((relation, from)) = begun {
                steps.push(self.step(relation, from, end));
            }
            place = before;
            if place == Place::At(start) {
                break;
            }
        }
        steps.reverse();
        steps
    }

    fn step(&self, relation: Relation, from: EventId, end: Place) -> CycleStep {
        let to = match end {
            Place::InProgram(node) => self.graph.nodes[node].events[0],
            Place::InCoherence(write) => write,
            Place::At(node) => match relation {
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
            return CycleStep { relation, from, to };
        }
        let from = &self.graph.nodes[self.graph.node(from)].events;
        CycleStep {
            relation: Relation::ProgramOrder,
            from: from[from.len() - 1],
            to: self.graph.nodes[self.graph.node(to)].events[0],
        }
    }
}
