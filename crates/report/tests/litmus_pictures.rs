//! Pictures of litmus tests as SVG, DOT and text.

use crate::support;

use std::collections::BTreeSet;

use fencepost_litmus::event_graph::{Relation, Strength};
use fencepost_memory::random::Random;
use fencepost_report::litmus::{Picture, PictureOptions, dot, event_list, step_table, svg};

use support::litmus::*;
use support::markup::{dot_statements, elements};
use support::random_runs::{Size, random_run};
use support::{expect, plain};

fn options(sample: &Sample) -> PictureOptions<'_> {
    PictureOptions {
        model: Some(&sample.model),
        final_state: Some(&sample.final_state),
        run: Some(&sample.run),
    }
}

fn shown(sample: &Sample) -> Picture<'_> {
    Picture::of_execution(&sample.test, &sample.execution, &options(sample))
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
fn svg_of_known_tests() {
    let sample = store_buffering();
    let without_run = PictureOptions {
        run: None,
        ..options(&sample)
    };
    let picture = svg(&Picture::of_execution(
        &sample.test,
        &sample.execution,
        &without_run,
    ));
    expect("litmus-store-buffering.svg", &picture);
    let sample = n6();
    let picture = svg(&shown(&sample));
    expect("litmus-n6.svg", &picture);
}

#[test]
fn dot_of_a_known_test() {
    let sample = exchange();
    let graph = dot(&shown(&sample));
    expect("litmus-exchange.dot", &graph);
}

#[test]
fn text_of_known_tests() {
    let sample = n6();
    expect("litmus-n6-events.txt", &plain(&event_list(&shown(&sample))));
    expect(
        "litmus-n6-steps.txt",
        &plain(&step_table(&sample.test, &sample.run)),
    );
    let sample = exchange();
    expect(
        "litmus-exchange-events.txt",
        &plain(&event_list(&shown(&sample))),
    );
    expect(
        "litmus-exchange-steps.txt",
        &plain(&step_table(&sample.test, &sample.run)),
    );
}

#[test]
fn pictures_have_each_arrow_and_box_once_and_halos_for_the_cycle() {
    for sample in samples() {
        let shown = shown(&sample);
        let graph = shown.graph();
        let found = elements(&svg(&shown));
        let legend = |relation: Relation| {
            let edges = graph.edges.iter().filter(|e| e.relation == relation);
            let kinds: BTreeSet<Strength> = edges.map(|e| e.strength).collect();
            kinds.len()
        };
        for relation in Relation::ALL {
            let own = |class: &str| {
                let both = found.iter().filter(|e| e.has_class(relation.label()));
                both.filter(|e| e.name == "path" && e.has_class(class))
                    .count()
            };
            let edges = graph.edges.iter().filter(|e| e.relation == relation);
            let edges: Vec<_> = edges.collect();
            assert_eq!(own("line"), edges.len() + legend(relation));
            assert_eq!(own("head"), edges.len() + legend(relation));
            let cycle = graph.cycle.as_ref();
            let on_cycle = |e: &&&_| cycle.is_some_and(|cycle| cycle.contains(e));
            assert_eq!(own("halo"), edges.iter().filter(on_cycle).count());
        }
        let count = |class: &str| found.iter().filter(|e| e.has_class(class)).count();
        assert_eq!(count("box"), graph.nodes.len());
        assert_eq!(count("thread"), sample.test.threads.len());
        let steps = graph.cycle.as_ref().map_or(0, |cycle| cycle.steps.len());
        assert_eq!(count("box-halo"), steps);
        assert_eq!(found[1].name, "title");
        assert_eq!(found[2].name, "desc");
    }
}

#[test]
fn odd_names_do_not_break_the_formats() {
    let odd = "</text>&\"'<x>\\N\u{1}\u{ffff}\n\t\u{7f}é変";
    let mut sample = n6();
    sample.test.name = odd.into();
    sample.test.cells[0].name = odd.into();
    sample.test.threads[0].instructions[0].text = odd.into();
    let picture = svg(&shown(&sample));
    assert!(elements(&picture).len() > 20);
    assert!(picture.contains("&lt;/text&gt;&amp;&quot;'"));
    let graph = dot(&shown(&sample));
    assert!(graph.contains("digraph \"</text>&\\\"'<x>\\\\N\u{fffd}"));
    assert!(graph.contains("label=\"</text>&amp;\\\"'<x>\\\\N"));
    dot_statements(&graph);
}

#[test]
fn large_pictures_are_well_formed_and_always_the_same() {
    let mut random = Random::new(2);
    for _ in 0..20 {
        let size = Size {
            threads: 1 + random.below(16),
            cells: 1 + random.below(4),
            instructions: 60,
        };
        let (test, run) = random_run(&mut random, size);
        let execution = run.execution();
        let options = PictureOptions {
            run: Some(&run),
            ..PictureOptions::default()
        };
        let shown = Picture::of_execution(&test, &execution, &options);
        let picture = svg(&shown);
        elements(&picture);
        assert_eq!(picture, svg(&shown));
        let graph = shown.graph();
        let statements = dot_statements(&dot(&shown));
        let arrows = statements
            .iter()
            .filter(|s| s.get(1).is_some_and(|w| w == "->"));
        assert_eq!(arrows.count(), graph.edges.len());
        let clusters = statements.iter().filter(|s| s[0] == "subgraph");
        assert_eq!(clusters.count(), test.threads.len());
        let table = plain(&step_table(&test, &run));
        assert_eq!(table.lines().count(), run.steps.len() + 2);
        let list = plain(&event_list(&shown));
        assert!(list.lines().count() >= execution.events.len() + 3);
    }
}

#[test]
fn the_last_line_of_a_table_is_the_final_state() {
    for sample in samples().iter().filter(|sample| sample.test.name != "IRIW") {
        let table = plain(&step_table(&sample.test, &sample.run));
        let cells = sample
            .test
            .cells
            .iter()
            .zip(&sample.final_state[sample.final_state.len() - sample.test.cells.len()..]);
        let memory: Vec<String> = cells
            .map(|(c, value)| format!("{}={value}", c.name))
            .collect();
        let last = table.lines().last().unwrap();
        assert!(last.ends_with(&memory.join(" ")), "{table}");
        assert!(
            !last.contains("P0:"),
            "buffers are empty at the end: {table}"
        );
    }
}

#[test]
fn values_are_printed_as_their_cells_want_them() {
    let mut sample = store_buffering();
    let minus_one = u64::from(u32::MAX);
    for event in &mut sample.execution.events {
        use fencepost_litmus::execution::Action::Write;
        if let Write(cell, value) = &mut event.action {
            *value = if cell.0 == 0 {
                minus_one
            } else {
                sample.test.cells[0].address
            };
        }
    }
    let list = plain(&event_list(&shown(&sample)));
    assert!(list.contains("W x=-1") && list.contains("W y=x"), "{list}");
    sample.test.cells[0].unsigned = true;
    let list = plain(&event_list(&shown(&sample)));
    assert!(list.contains("W x=4294967295"), "{list}");
}
