//! Cycles of executions of litmus tests, against definitions and brute force.

use crate::support;

use std::collections::BTreeSet;

use fencepost_litmus::event_graph::cycle::Cycle;
use fencepost_litmus::event_graph::{EventGraph, Relation};
use fencepost_litmus::execution::{Action, EventId, Execution};
use fencepost_memory::MemoryModel;
use fencepost_memory::random::Random;
use fencepost_report::litmus::cycle_text;

use support::litmus::*;
use support::random_runs::{Size, random_run, shuffled};

fn text(sample: &Sample) -> Option<String> {
    let graph = EventGraph::new(&sample.execution, Some(&sample.model));
    let cycle = graph.cycle.as_ref();
    cycle.map(|cycle| cycle_text(&graph, cycle))
}

#[test]
fn well_known_tests_have_their_cycles() {
    let cycle = |sample: Sample| text(&sample).unwrap_or_default();
    assert_eq!(cycle(store_buffering()), "a →po b →fr c →po d →fr a");
    assert_eq!(cycle(n6()), "a →po c →fr d →po e →co a");
    assert_eq!(cycle(message_passing()), "");
    assert_eq!(cycle(message_passing_pso()), "a →po b →rf c →po d →fr a");
    assert_eq!(cycle(iriw()), "a →rf b →po c →fr d →rf e →po f →fr a");
    assert_eq!(
        cycle(three_threads()),
        "a →po b →fr c →mfence e →fr f →mfence h →fr a"
    );
    assert_eq!(cycle(exchange()), "(a,b) →po c →fr d →po e →fr (a,b)");
}

/// The relations as they are defined, transitive, between events.
fn relations(execution: &Execution) -> BTreeSet<(Relation, EventId, EventId)> {
    let mut all = BTreeSet::new();
    let event = |id: EventId| execution.event(id);
    let place = |id: EventId| execution.memory_order.iter().position(|&other| other == id);
    let writes = |id: EventId, cell| event(id).action.is_write() && event(id).action.cell() == cell;
    for one in execution.ids() {
        for other in execution.ids() {
            if event(one).thread == event(other).thread && one < other {
                all.insert((Relation::ProgramOrder, one, other));
            }
            if execution.reads_from[other.index()] == Some(one) {
                all.insert((Relation::ReadsFrom, one, other));
            }
            let cell = event(one).action.cell();
            if cell.is_none() || !writes(other, cell) {
                continue;
            }
            let seen = match event(one).action {
                Action::Read(..) => execution.reads_from[one.index()],
                _ => Some(one),
            };
            if seen.is_none_or(|seen| place(seen) < place(other)) {
                let relation = match event(one).action {
                    Action::Read(..) => Relation::FromReads,
                    _ => Relation::Coherence,
                };
                all.insert((relation, one, other));
            }
        }
    }
    all
}

/// The length of a shortest cycle over nodes, none of which is a fence: all paths are tried, longer and longer.
fn shortest_by_force(execution: &Execution, graph: &EventGraph) -> Option<usize> {
    let nodes = graph.nodes.len();
    let mut leads = vec![vec![false; nodes]; nodes];
    for (_, from, to) in relations(execution) {
        let (from, to) = (graph.node(from), graph.node(to));
        let is_fence = |node: usize| graph.nodes[node].is_fence;
        leads[from][to] |= from != to && !is_fence(from) && !is_fence(to);
    }
    let mut walks = leads.clone();
    for length in 1..=nodes {
        if (0..nodes).any(|node| walks[node][node]) {
            return Some(length);
        }
        let longer =
            |from: usize, to: usize| (0..nodes).any(|via| walks[from][via] && leads[via][to]);
        walks = (0..nodes)
            .map(|from| (0..nodes).map(|to| longer(from, to)).collect())
            .collect();
    }
    None
}

/// Whether some interleaving of whole instructions explains what was read and the order of writes.
fn is_sequentially_consistent(execution: &Execution, graph: &EventGraph) -> bool {
    fn go(
        execution: &Execution,
        graph: &EventGraph,
        done: &mut Vec<bool>,
        written: &mut Vec<EventId>,
    ) -> bool {
        if done.iter().all(|&done| done) {
            let order = execution.memory_order.iter().copied();
            let writes: Vec<EventId> = order
                .filter(|&id| execution.event(id).action.is_write())
                .collect();
            let cell = |id: &EventId| execution.event(*id).action.cell();
            let cells: BTreeSet<_> = writes.iter().map(cell).collect();
            return cells.into_iter().all(|wanted| {
                let own = |id: &&EventId| cell(id) == wanted;
                writes.iter().filter(own).eq(written.iter().filter(own))
            });
        }
        for node in 0..graph.nodes.len() {
            let is_first = node == 0
                || graph.nodes[node - 1].thread != graph.nodes[node].thread
                || done[node - 1];
            if done[node] || !is_first {
                continue;
            }
            let before = written.len();
            let mut explained = true;
            for &id in &graph.nodes[node].events {
                match execution.event(id).action {
                    Action::Read(cell, _) => {
                        let mut latest = written.iter().rev().copied();
                        let latest =
                            latest.find(|&w| execution.event(w).action.cell() == Some(cell));
                        explained &= latest == execution.reads_from[id.index()];
                    }
                    Action::Write(..) => written.push(id),
                    Action::Fence(_) => {}
                }
            }
            done[node] = true;
            if explained && go(execution, graph, done, written) {
                return true;
            }
            done[node] = false;
            written.truncate(before);
        }
        false
    }
    let mut done = vec![false; graph.nodes.len()];
    go(execution, graph, &mut done, &mut Vec::new())
}

fn check_cycle(execution: &Execution, graph: &EventGraph, cycle: &Cycle) {
    let relations = relations(execution);
    let length = cycle.steps.len();
    let mut visited = BTreeSet::new();
    for (index, step) in cycle.steps.iter().enumerate() {
        assert!(relations.contains(&(step.relation, step.from, step.to)));
        let next = cycle.steps[(index + 1) % length];
        assert_eq!(graph.node(step.to), graph.node(next.from));
        assert!(visited.insert(graph.node(step.to)), "visited twice");
        assert!(cycle.visits(graph, graph.node(step.to)));
    }
    // Each step is an arrow, and no other arrow is highlighted.
    let edges = graph.edges.iter().filter(|edge| cycle.contains(edge));
    let drawn: BTreeSet<_> = edges.map(|e| (e.relation, e.from, e.to)).collect();
    let steps = cycle.steps.iter();
    let steps: BTreeSet<_> = steps.map(|s| (s.relation, s.from, s.to)).collect();
    assert_eq!(drawn, steps);
    let edges: BTreeSet<_> = graph
        .edges
        .iter()
        .map(|e| (e.relation, e.from, e.to))
        .collect();
    assert_eq!(edges.len(), graph.edges.len(), "an arrow is there twice");
}

#[test]
fn cycles_are_shortest_and_there_is_one_exactly_if_no_interleaving_explains_the_execution() {
    let seed = 21;
    let mut random = Random::new(seed);
    let (mut cyclic, mut acyclic) = (0, 0);
    for round in 0..3_000 {
        let size = Size {
            threads: 1 + random.below(3),
            cells: 1 + random.below(2),
            instructions: 1 + random.below(7),
        };
        let (_, run) = random_run(&mut random, size);
        let mut execution = run.execution();
        if round % 2 == 1 {
            execution = shuffled(&mut random, &execution);
        }
        let graph = EventGraph::new(&execution, Some(&MemoryModel::TSO));
        let expected = shortest_by_force(&execution, &graph);
        let found = graph.cycle.as_ref().map(|cycle| cycle.steps.len());
        // What a locked instruction reads and writes is one node: it cannot be before itself. That it reads
        // its own write is no cycle over other nodes.
        let reads_itself = execution.ids().any(|id| {
            let source = execution.reads_from[id.index()];
            source.is_some_and(|write| graph.node(write) == graph.node(id))
        });
        if reads_itself {
            continue;
        }
        assert_eq!(found, expected, "seed {seed} round {round}: {execution:?}");
        let explained = is_sequentially_consistent(&execution, &graph);
        assert_eq!(
            explained,
            found.is_none(),
            "seed {seed} round {round}: {execution:?}"
        );
        match &graph.cycle {
            Some(cycle) => {
                cyclic += 1;
                check_cycle(&execution, &graph, cycle);
            }
            None => acyclic += 1,
        }
    }
    assert!(cyclic > 500 && acyclic > 500, "{cyclic} {acyclic}");
}
