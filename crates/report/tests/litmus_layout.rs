//! Pictures of litmus tests: nothing is drawn over anything else, and every arrow is there once.

use crate::support;

use std::collections::BTreeSet;

use fencepost_litmus::event_graph::{EventGraph, Relation};
use fencepost_litmus::execution::{Action, EventId, Execution};
use fencepost_litmus::run::Run;
use fencepost_litmus::test::Test;
use fencepost_memory::MemoryModel;
use fencepost_memory::random::Random;
use fencepost_report::litmus::layout::geometry::Rectangle;
use fencepost_report::litmus::layout::{Layout, lay_out};

use support::litmus::*;
use support::random_runs::{Size, random_run, shuffled};

/// Where two things are on the same place, in words.
fn collisions(layout: &Layout, graph: &EventGraph) -> Vec<String> {
    let mut found = Vec::new();
    let boxes: Vec<Rectangle> = layout.boxes.iter().map(|node| node.rectangle).collect();
    let paper = Rectangle {
        left: 0.0,
        top: 0.0,
        width: layout.width,
        height: layout.height,
    };
    for (index, one) in boxes.iter().enumerate() {
        for (other_index, other) in boxes.iter().enumerate().skip(index + 1) {
            if one.overlaps(other) {
                found.push(format!("boxes {index} and {other_index}"));
            }
        }
        for thread in &layout.threads {
            if one.overlaps(&thread.header) {
                found.push(format!("box {index} and a header"));
            }
        }
        for (line, _) in &layout.boxes[index].lines {
            if line.width() > one.width {
                found.push(format!("{} is wider than its box", line.text));
            }
        }
    }
    for (index, arrow) in layout.arrows.iter().enumerate() {
        if boxes.iter().any(|node| arrow.label.overlaps(node)) {
            found.push(format!("label {index} and a box"));
        }
        let headers = layout.threads.iter().map(|thread| thread.header);
        if headers
            .into_iter()
            .any(|header| arrow.label.overlaps(&header))
        {
            found.push(format!("label {index} and a header"));
        }
        let others = layout.arrows[index + 1..].iter();
        if others
            .into_iter()
            .any(|other| arrow.label.overlaps(&other.label))
        {
            found.push(format!("label {index} and another"));
        }
        let grown = paper.grown(0.5);
        let (edge, points) = (&arrow.edge, arrow.path.points());
        let corners = [
            (arrow.label.left, arrow.label.top),
            (arrow.label.right(), arrow.label.bottom()),
        ];
        let is_inside = |(x, y): (f64, f64)| {
            grown.contains(fencepost_report::litmus::layout::geometry::Point { x, y })
        };
        if !corners.into_iter().all(is_inside) || !points.iter().all(|p| is_inside((p.x, p.y))) {
            found.push(format!("arrow {index} leaves the picture"));
        }
        for (node, rectangle) in boxes.iter().enumerate() {
            if points
                .iter()
                .any(|&point| rectangle.grown(-0.5).contains(point))
            {
                let (from, to) = (graph.node(edge.from), graph.node(edge.to));
                found.push(format!("arrow {index} ({from} to {to}) and box {node}"));
            }
        }
    }
    found
}

fn check(test: &Test, execution: &Execution, run: Option<&Run>, what: &str) {
    let candidate = execution.candidate();
    let graph = EventGraph::new(execution, Some(&MemoryModel::PSO));
    let layout = lay_out(test, &candidate, run, &graph);
    assert_eq!(layout.boxes.len(), graph.nodes.len());
    let found = collisions(&layout, &graph);
    assert!(found.is_empty(), "{what}: {found:#?}");
    assert_eq!(layout, lay_out(test, &candidate, run, &graph));
    for arrow in &layout.arrows {
        let from = layout.boxes[graph.node(arrow.edge.from)].rectangle;
        let to = layout.boxes[graph.node(arrow.edge.to)].rectangle;
        assert!(is_on_border(&from, arrow.path.start), "{what}");
        assert!(is_on_border(&to, arrow.tip), "{what}");
    }
}

fn is_on_border(
    rectangle: &Rectangle,
    point: fencepost_report::litmus::layout::geometry::Point,
) -> bool {
    rectangle.grown(0.001).contains(point) && !rectangle.grown(-0.001).contains(point)
}

fn samples() -> Vec<Sample> {
    vec![
        store_buffering(),
        n6(),
        message_passing(),
        message_passing_pso(),
        iriw(),
        three_threads(),
        exchange(),
    ]
}

#[test]
fn well_known_tests_have_no_collisions() {
    for sample in samples() {
        check(&sample.test, &sample.execution, None, &sample.test.name);
        check(
            &sample.test,
            &sample.execution,
            Some(&sample.run),
            &sample.test.name,
        );
    }
}

#[test]
fn random_executions_of_any_size_have_no_collisions() {
    let seed = 5;
    let mut random = Random::new(seed);
    for round in 0..100 {
        let size = Size {
            threads: 1 + random.below(16),
            cells: 1 + random.below(6),
            instructions: 1 + random.below(56),
        };
        let (test, run) = random_run(&mut random, size);
        let execution = run.execution();
        let what = format!("seed {seed} round {round}");
        check(&test, &execution, Some(&run), &what);
        let wild = shuffled(&mut random, &execution);
        check(&test, &wild, None, &format!("{what}, shuffled"));
    }
}

#[test]
fn instructions_and_names_may_be_of_any_length() {
    let mut sample = store_buffering();
    sample.test.threads[0].instructions[0].text = "lock cmpxchgq %rax, ".repeat(12);
    sample.test.threads[1].instructions[0].text = "x".repeat(200);
    sample.test.threads[1].instructions[1].text = String::new();
    sample.test.cells[0].name = "a_location_with_quite_a_long_name[17]".into();
    sample.test.threads[1].number = u32::MAX;
    check(&sample.test, &sample.execution, Some(&sample.run), "long");
}

#[test]
fn threads_without_events_and_tests_without_threads_have_pictures() {
    let mut sample = store_buffering();
    sample.test.threads.push(empty_thread(2));
    check(&sample.test, &sample.execution, None, "an idle thread");
    let nothing = Execution {
        events: Vec::new(),
        reads_from: Vec::new(),
        memory_order: Vec::new(),
    };
    check(&sample.test, &nothing, None, "no events");
    check(&empty_test("empty"), &nothing, None, "no threads");
}

/// What arrows there must be, from the definitions.
fn expected_edges(execution: &Execution) -> BTreeSet<(Relation, EventId, EventId)> {
    let mut expected = BTreeSet::new();
    let event = |id: EventId| execution.event(id);
    let is_same_node = |one: EventId, other: EventId| {
        let (one, other) = (event(one), event(other));
        one.locked && other.locked && one.thread == other.thread && one.instance == other.instance
    };
    let place = |id: EventId| execution.memory_order.iter().position(|&other| other == id);
    let is_coherent = |one: EventId, other: EventId| {
        let (first, second) = (event(one).action, event(other).action);
        first.is_write()
            && second.is_write()
            && first.cell() == second.cell()
            && place(one) < place(other)
    };
    for one in execution.ids() {
        for other in execution.ids() {
            let is_next = one.0 + 1 == other.0 && event(one).thread == event(other).thread;
            if is_next && !is_same_node(one, other) {
                expected.insert((Relation::ProgramOrder, one, other));
            }
            let is_source = execution.reads_from[other.index()] == Some(one);
            if is_source && !is_same_node(one, other) {
                expected.insert((Relation::ReadsFrom, one, other));
            }
            let mut between = execution.ids();
            if is_coherent(one, other)
                && !between.any(|id| is_coherent(one, id) && is_coherent(id, other))
                && !is_same_node(one, other)
            {
                expected.insert((Relation::Coherence, one, other));
            }
            let is_unseen = |read: EventId, write: EventId| {
                matches!(event(read).action, Action::Read(cell, _)
                    if event(write).action.is_write() && event(write).action.cell() == Some(cell))
                    && match execution.reads_from[read.index()] {
                        None => true,
                        Some(source) => is_coherent(source, write),
                    }
            };
            let is_later = event(one).thread == event(other).thread && one < other;
            let mut between = execution.ids();
            if is_unseen(one, other)
                && !between.any(|id| is_unseen(one, id) && is_coherent(id, other))
                && !is_later
            {
                expected.insert((Relation::FromReads, one, other));
            }
        }
    }
    expected
}

#[test]
fn every_arrow_is_drawn_once() {
    let mut random = Random::new(8);
    let size = Size {
        threads: 4,
        cells: 2,
        instructions: 14,
    };
    let mut executions: Vec<Execution> = samples().into_iter().map(|s| s.execution).collect();
    for _ in 0..200 {
        let (_, run) = random_run(&mut random, size);
        let execution = run.execution();
        executions.push(shuffled(&mut random, &execution));
        executions.push(execution);
    }
    for execution in executions {
        let graph = EventGraph::new(&execution, None);
        let edges = graph.edges.iter();
        let drawn: BTreeSet<_> = edges.map(|e| (e.relation, e.from, e.to)).collect();
        assert_eq!(drawn.len(), graph.edges.len());
        // Within one locked instruction the order of events is none of program order.
        let mut expected = expected_edges(&execution);
        let cycle = graph.cycle.iter().flat_map(|cycle| &cycle.steps);
        expected.extend(cycle.map(|step| (step.relation, step.from, step.to)));
        assert_eq!(drawn, expected);
    }
}
