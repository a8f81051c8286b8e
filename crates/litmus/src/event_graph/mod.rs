//! The event graph of an execution: its events, related by program order, reads-from, coherence and
//! from-reads.
//!
//! Edges that follow from others by transitivity are left out, except those of the cycle: each step
//! of a cycle is an edge. [`cycle`] explains why an execution is not sequentially consistent;
//! [`forbidden`](crate::forbidden) why a model does not allow one. `kept` says what a model keeps of
//! program order.

pub mod cycle;
pub(crate) mod kept;

use fencepost_memory::MemoryModel;

use crate::code::Fence;
use crate::execution::{Action, Candidate, Event, EventId, Execution};

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

/// How an edge orders its ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Strength {
    /// As its relation does.
    Plain,
    /// Program order that the model keeps only because of a fence in between.
    ByFence(Fence),
    /// Program order that the model does not keep.
    Relaxed,
    /// Reads-from whose value is forwarded from the thread's own store buffer, before the write
    /// reaches memory.
    FromBuffer,
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
    /// How it orders them.
    pub strength: Strength,
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
    /// does not see, unless that write is later in its own thread; and the steps of the cycle.
    pub edges: Vec<Edge>,
    /// For each event whether it reads.
    pub is_read: Vec<bool>,
    /// For each write the next of its cell in coherence; for each read the first write of the cell
    /// that it does not see.
    pub next_write: Vec<Option<EventId>>,
    /// The cycle that explains the execution: the shortest, so that there is none if it is
    /// sequentially consistent, or the one by which a model forbids it.
    pub cycle: Option<Cycle>,
}

impl EventGraph {
    /// The graph of an execution, with its shortest cycle. The model decides which steps of program
    /// order are [relaxed](Strength::Relaxed) or kept by a fence; without one they are plain.
    pub fn new(execution: &Execution, model: Option<&MemoryModel>) -> Self {
        let candidate = execution.candidate();
        let mut graph = EventGraph::without_cycle(&candidate, model);
        let mut position = vec![usize::MAX; execution.events.len()];
        for (index, id) in execution.memory_order.iter().enumerate() {
            position[id.index()] = index;
        }
        for edge in &mut graph.edges {
            let is_early = position[edge.to.index()] < position[edge.from.index()];
            if edge.relation == Relation::ReadsFrom && is_early {
                edge.strength = Strength::FromBuffer;
            }
        }
        if let Some(mut cycle) = shortest_cycle(&graph) {
            for step in &mut cycle.steps {
                let (from, to) = (step.from.index(), step.to.index());
                if let (Relation::ProgramOrder, Some(model)) = (step.relation, model) {
                    step.strength = kept::program_order(model, &candidate.events, from, to);
                }
            }
            graph.set_cycle(cycle);
        }
        graph
    }

    /// The graph of a candidate with a cycle by which a model forbids it.
    pub fn with_cycle(candidate: &Candidate, model: &MemoryModel, cycle: &Cycle) -> Self {
        let mut graph = EventGraph::without_cycle(candidate, Some(model));
        graph.set_cycle(cycle.clone());
        graph
    }

    fn without_cycle(candidate: &Candidate, model: Option<&MemoryModel>) -> Self {
        let (nodes, node_of) = nodes(&candidate.events);
        let events = candidate.events.iter();
        let mut graph = EventGraph {
            nodes,
            node_of,
            edges: Vec::new(),
            is_read: events.map(|event| event.action.is_read()).collect(),
            next_write: vec![None; candidate.events.len()],
            cycle: None,
        };
        graph.add_program_order(&candidate.events, model);
        graph.add_communication(candidate);
        graph.edges.sort_unstable();
        graph
    }

    /// Adds the cycle, and an edge for each of its steps that is none yet.
    fn set_cycle(&mut self, mut cycle: Cycle) {
        for step in &mut cycle.steps {
            let mut edges = self.edges.iter_mut();
            let same = edges.find(|edge| step.is_edge(edge));
            match same {
                Some(edge) if step.relation == Relation::ProgramOrder => {
                    edge.strength = step.strength;
                }
                Some(edge) => step.strength = edge.strength,
                None => self.edges.push(Edge {
                    relation: step.relation,
                    from: step.from,
                    to: step.to,
                    strength: step.strength,
                }),
            }
        }
        self.edges.sort_unstable();
        self.cycle = Some(cycle);
    }

    /// The name of an edge: that of its relation, or of the fence by which two accesses are in
    /// order.
    pub fn label(&self, edge: &Edge) -> &'static str {
        let is_fence = |event| self.nodes[self.node(event)].is_fence;
        match is_fence(edge.from) || is_fence(edge.to) {
            true => edge.relation.label(),
            false => label(edge.relation, edge.strength),
        }
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

    fn add_program_order(&mut self, events: &[Event], model: Option<&MemoryModel>) {
        for pair in self.nodes.windows(2) {
            if pair[0].thread == pair[1].thread {
                let (from, to) = (pair[0].events[pair[0].events.len() - 1], pair[1].events[0]);
                let strength =
                    model.map(|model| kept::around_fences(model, events, from.index(), to.index()));
                self.edges.push(Edge {
                    relation: Relation::ProgramOrder,
                    from,
                    to,
                    strength: strength.unwrap_or(Strength::Plain),
                });
            }
        }
    }

    fn add_communication(&mut self, candidate: &Candidate) {
        for id in candidate.ids() {
            let Some(cell) = candidate.event(id).action.cell() else {
                continue;
            };
            let mut writes = candidate.writes(cell).iter().copied();
            if candidate.event(id).action.is_write() {
                writes.find(|&write| write == id);
                let next = writes.next();
                self.next_write[id.index()] = next;
                if let Some(next) = next {
                    self.add(Relation::Coherence, id, next);
                }
                continue;
            }
            if let Some(source) = candidate.reads_from[id.index()] {
                self.add(Relation::ReadsFrom, source, id);
                writes.find(|&write| write == source);
            }
            let unseen = writes.next();
            self.next_write[id.index()] = unseen;
            if let Some(unseen) = unseen {
                if !self.is_program_ordered(id, unseen) {
                    self.add(Relation::FromReads, id, unseen);
                }
            }
        }
    }

    /// Adds an edge, unless both ends are of one locked instruction.
    fn add(&mut self, relation: Relation, from: EventId, to: EventId) {
        if self.node(from) != self.node(to) {
            self.edges.push(Edge {
                relation,
                from,
                to,
                strength: Strength::Plain,
            });
        }
    }
}

/// The name of a step between two accesses.
pub(crate) fn label(relation: Relation, strength: Strength) -> &'static str {
    match strength {
        Strength::ByFence(Fence::Full) => "mfence",
        Strength::ByFence(Fence::Store) => "sfence",
        Strength::ByFence(Fence::Load) => "lfence",
        Strength::Plain | Strength::Relaxed | Strength::FromBuffer => relation.label(),
    }
}

pub(crate) fn nodes(events: &[Event]) -> (Vec<Node>, Vec<usize>) {
    let mut nodes: Vec<Node> = Vec::new();
    let mut node_of = Vec::new();
    for (index, event) in events.iter().enumerate() {
        let id = EventId(index as u32);
        let continues = index.checked_sub(1).is_some_and(|before| {
            let before = &events[before];
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
