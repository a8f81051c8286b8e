//! The event graph of an execution: its events, related by program order, reads-from, coherence and
//! from-reads.
//!
//! Edges that follow from others by transitivity are left out. [`cycle`] explains why an execution
//! is not sequentially consistent.

pub mod cycle;

use crate::execution::{Action, EventId, Execution};
use crate::test::CellId;

use cycle::{Cycle, shortest_cycle};

/// A relation between events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Relation {
    /// Program order.
    ProgramOrder,
    /// From a write to a read of its value.
    ReadsFrom,
    /// From a write to a later write of the same cell.
    Coherence,
    /// From a read to a write that overwrites the value that was read.
    FromReads,
}

impl Relation {
    /// All of them.
    pub const ALL: [Relation; 4] = [
        Relation::ProgramOrder,
        Relation::ReadsFrom,
        Relation::Coherence,
        Relation::FromReads,
    ];

    /// The short name that the literature uses.
    pub fn label(self) -> &'static str {
        match self {
            Relation::ProgramOrder => "po",
            Relation::ReadsFrom => "rf",
            Relation::Coherence => "co",
            Relation::FromReads => "fr",
        }
    }

    /// The name in words.
    pub fn name(self) -> &'static str {
        match self {
            Relation::ProgramOrder => "program order",
            Relation::ReadsFrom => "reads from",
            Relation::Coherence => "coherence",
            Relation::FromReads => "from reads",
        }
    }
}

/// An edge of the graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Edge {
    /// The relation.
    pub relation: Relation,
    /// The source.
    pub from: EventId,
    /// The target.
    pub to: EventId,
    /// Whether it is a reads-from edge whose value is forwarded from the thread's own store buffer,
    /// before the write reaches memory.
    pub from_buffer: bool,
}

/// A node: one event, or all events of a locked instruction, which are atomic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// The thread.
    pub thread: u32,
    /// The events, in program order; at least one.
    pub events: Vec<EventId>,
    /// Whether it is a fence.
    pub is_fence: bool,
}

/// The events of an execution and the relations between them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventGraph {
    /// The nodes, those of a thread in program order, threads one after the other.
    pub nodes: Vec<Node>,
    /// For each event its node.
    pub node_of: Vec<usize>,
    /// The edges: from each node to the next in program order, from each write to its readers and
    /// to the next write of the cell, and from each read to the first write of the cell that it
    /// does not see, unless that write is later in its own thread.
    pub edges: Vec<Edge>,
    /// For each event whether it reads.
    pub is_read: Vec<bool>,
    /// For each write the next of its cell in coherence; for each read the first write of the cell
    /// that it does not see.
    pub next_write: Vec<Option<EventId>>,
    /// The shortest cycle; none if the execution is sequentially consistent.
    pub cycle: Option<Cycle>,
}

impl EventGraph {
    /// The graph of an execution.
    pub fn new(execution: &Execution) -> Self {
        let (nodes, node_of) = nodes(execution);
        let mut graph = EventGraph {
            nodes,
            node_of,
            edges: Vec::new(),
            is_read: execution
                .events
                .iter()
                .map(|e| e.action.is_read())
                .collect(),
            next_write: vec![None; execution.events.len()],
            cycle: None,
        };
        graph.add_program_order();
        graph.add_communication(execution);
        graph.edges.sort_unstable();
        graph.cycle = shortest_cycle(&graph);
        graph
    }

    /// The node of an event.
    pub fn node(&self, event: EventId) -> usize {
        self.node_of[event.index()]
    }

    /// The thread of an event.
    pub fn thread(&self, event: EventId) -> u32 {
        self.nodes[self.node(event)].thread
    }

    /// Whether both events are of one thread, `earlier` before `later`.
    pub fn is_program_ordered(&self, earlier: EventId, later: EventId) -> bool {
        self.thread(earlier) == self.thread(later) && self.node(earlier) < self.node(later)
    }

    fn add_program_order(&mut self) {
        for pair in self.nodes.windows(2) {
            if pair[0].thread == pair[1].thread {
                self.edges.push(Edge {
                    relation: Relation::ProgramOrder,
                    from: pair[0].events[pair[0].events.len() - 1],
                    to: pair[1].events[0],
                    from_buffer: false,
                });
            }
        }
    }

    fn add_communication(&mut self, execution: &Execution) {
        let mut position = vec![usize::MAX; execution.events.len()];
        for (index, id) in execution.memory_order.iter().enumerate() {
            position[id.index()] = index;
        }
        for id in execution.ids() {
            let Some(cell) = execution.event(id).action.cell() else {
                continue;
            };
            let order = execution.memory_order.iter().copied();
            let mut writes = order.filter(|&id| is_write_of(execution, id, cell));
            if execution.event(id).action.is_write() {
                writes.find(|&write| write == id);
                let next = writes.next();
                self.next_write[id.index()] = next;
                if let Some(next) = next {
                    self.add(Relation::Coherence, id, next, false);
                }
                continue;
            }
            if let Some(source) = execution.reads_from[id.index()] {
                let from_buffer = position[id.index()] < position[source.index()];
                self.add(Relation::ReadsFrom, source, id, from_buffer);
                writes.find(|&write| write == source);
            }
            let unseen = writes.next();
            self.next_write[id.index()] = unseen;
            if let Some(unseen) = unseen {
                if !self.is_program_ordered(id, unseen) {
                    self.add(Relation::FromReads, id, unseen, false);
                }
            }
        }
    }

    /// Adds an edge, unless both ends are of one locked instruction.
    fn add(&mut self, relation: Relation, from: EventId, to: EventId, from_buffer: bool) {
        if self.node(from) != self.node(to) {
            self.edges.push(Edge {
                relation,
                from,
                to,
                from_buffer,
            });
        }
    }
}

fn is_write_of(execution: &Execution, id: EventId, cell: CellId) -> bool {
    let action = execution.event(id).action;
    action.is_write() && action.cell() == Some(cell)
}

fn nodes(execution: &Execution) -> (Vec<Node>, Vec<usize>) {
    let mut nodes: Vec<Node> = Vec::new();
    let mut node_of = Vec::new();
    for id in execution.ids() {
        let event = execution.event(id);
        let continues = id.index().checked_sub(1).is_some_and(|before| {
            let before = &execution.events[before];
            before.locked
                && event.locked
                && (before.thread, before.instance) == (event.thread, event.instance)
        });
        match nodes.last_mut() {
            Some(node) if continues => node.events.push(id),
            _ => nodes.push(Node {
                thread: event.thread,
                events: vec![id],
                is_fence: matches!(event.action, Action::Fence(_)),
            }),
        }
        node_of.push(nodes.len() - 1);
    }
    (nodes, node_of)
}
