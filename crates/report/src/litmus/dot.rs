//! The event graph for Graphviz.

use std::fmt::Write;

use super::Picture;
use super::contents::{BoxLine, box_lines};
use super::frame::{Colour, cycle_lines, final_state_text, reason_text, title};
use super::words::thread_name;
use fencepost_litmus::event_graph::{Relation, Strength};

/// The event graph of an execution or a candidate in the DOT language: a cluster for each thread, labels and
/// colours as in [`svg`](super::svg).
pub fn dot(picture: &Picture<'_>) -> String {
    let test = picture.test;
    let graph = picture.drawn();
    let mut out = format!("digraph {} {{\n", quoted(&test.name));
    let heading = [
        title(picture),
        final_state_text(picture),
        reason_text(picture),
    ];
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
                let lines = box_lines(test, &picture.candidate, picture.options.run, node);
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
        let is_on_cycle = cycle.is_some_and(|cycle| cycle.contains(edge));
        let colour = colour(Colour::of(edge.relation, edge.strength));
        let mut style = format!(
            "label=\"{}\", color=\"{colour}\", fontcolor=\"{colour}\"",
            graph.label(edge)
        );
        match edge.relation {
            Relation::ProgramOrder => style += ", weight=10",
            _ => style += ", constraint=false",
        }
        match edge.strength {
            Strength::FromBuffer => style += ", style=dashed",
            Strength::Relaxed => style += ", style=dotted",
            Strength::Plain | Strength::ByFence(_) => {}
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

fn colour(colour: Colour) -> &'static str {
    match colour {
        Colour::Of(Relation::ProgramOrder) => "#3a3f47",
        Colour::Of(Relation::ReadsFrom) => "#c8202f",
        Colour::Of(Relation::Coherence) => "#1560bd",
        Colour::Of(Relation::FromReads) => "#a85a00",
        Colour::Fence => "#1a7a3c",
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
