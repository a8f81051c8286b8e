//! The event graph for Graphviz.

use std::fmt::Write;

use fencepost_litmus::execution::Execution;
use fencepost_litmus::test::Test;

use super::PictureOptions;
use super::contents::{BoxLine, box_lines};
use super::frame::{cycle_lines, final_state_text, title};
use super::words::thread_name;
use fencepost_litmus::event_graph::{EventGraph, Relation};

/// The event graph of an execution in the DOT language: a cluster for each thread, labels and
/// colours as in [`svg`](super::svg).
pub fn dot(test: &Test, execution: &Execution, options: &PictureOptions<'_>) -> String {
    let graph = EventGraph::new(execution);
    let mut out = format!("digraph {} {{\n", quoted(&test.name));
    let heading = [title(test, options), final_state_text(test, options)];
    let heading: Vec<String> = heading
        .into_iter()
        .filter(|line| !line.is_empty())
        .collect();
    let mut caption: Vec<String> = heading;
    for spans in cycle_lines(&graph, usize::MAX) {
        let words: Vec<String> = spans.into_iter().map(|span| span.text).collect();
        caption.push(words.join(" "));
    }
    let _ = write!(
        out,
        "  graph [label={}, labelloc=t, fontname=\"sans-serif\", nodesep=0.6, ranksep=0.5, splines=true];\n\
         \x20 node [shape=box, style=\"rounded,filled\", fillcolor=\"#ffffff\", color=\"#8a919e\", fontname=\"monospace\"];\n\
         \x20 edge [fontname=\"monospace\", fontsize=11, arrowsize=0.8];\n",
        quoted_label(&caption.join("\n"))
    );
    let threads = graph.nodes.iter().map(|node| node.thread + 1).max();
    let threads = (test.threads.len() as u32).max(threads.unwrap_or(0));
    for thread in 0..threads {
        let name = thread_name(test, thread);
        let _ = write!(
            out,
            "  subgraph {} {{\n    label={};\n    style=\"rounded,filled\";\n    color=\"#f3f4f7\";\n",
            quoted(&format!("cluster_{name}")),
            quoted_label(&name)
        );
        for (index, node) in graph.nodes.iter().enumerate() {
            if node.thread == thread {
                let lines = box_lines(test, execution, options.run, node);
                let cycle = graph.cycle.as_ref();
                let style = match cycle.is_some_and(|cycle| cycle.visits(&graph, index)) {
                    true => ", penwidth=2.4, color=\"#16191f\", fillcolor=\"#fff2c9\"",
                    false => "",
                };
                let label = quoted_label(&label(&lines));
                let _ = writeln!(out, "    n{index} [label={label}{style}];");
            }
        }
        out.push_str("  }\n");
    }
    for edge in &graph.edges {
        let cycle = graph.cycle.as_ref();
        let is_on_cycle = cycle.is_some_and(|cycle| cycle.contains(&graph, edge));
        let colour = colour(edge.relation);
        let mut style = format!(
            "label=\"{}\", color=\"{colour}\", fontcolor=\"{colour}\"",
            edge.relation.label()
        );
        match edge.relation {
            Relation::ProgramOrder => style += ", weight=10",
            _ => style += ", constraint=false",
        }
        if edge.from_buffer {
            style += ", style=dashed";
        }
        if is_on_cycle {
            style += ", penwidth=3";
        }
        let (from, to) = (graph.node(edge.from), graph.node(edge.to));
        let _ = writeln!(out, "  n{from} -> n{to} [{style}];");
    }
    out.push_str("}\n");
    out
}

fn label(lines: &[BoxLine]) -> String {
    let lines = lines.iter().map(|line| match &line.remark {
        Some(remark) => format!("{} ({remark})", line.text),
        None => line.text.clone(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn colour(relation: Relation) -> &'static str {
    match relation {
        Relation::ProgramOrder => "#3a3f47",
        Relation::ReadsFrom => "#c8202f",
        Relation::Coherence => "#1560bd",
        Relation::FromReads => "#a85a00",
    }
}

/// A label of the DOT language, in which `&` begins an entity.
fn quoted_label(text: &str) -> String {
    quoted(&text.replace('&', "&amp;"))
}

/// A string of the DOT language.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            letter if letter.is_control() => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}
