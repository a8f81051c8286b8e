//! The event graph as SVG.
//!
//! Arrow heads are shapes of their own, because markers do not take the colour of
//! their line everywhere.

use std::fmt::Write;

use fencepost_litmus::execution::Execution;
use fencepost_litmus::test::Test;

use super::PictureOptions;
use super::contents::REMARK_GAP;
use super::events::describe_events;
use super::frame::{Span, cycle_lines, final_state_text, legend, title};
use super::layout::geometry::{Path, Piece, Point};
use super::layout::{Arrow, Layout, NodeBox, lay_out};
use super::metrics::TextStyle;
use crate::svg::{Document, Sheet, escaped, in_both_schemes, number, rectangle, wrapped};
use fencepost_litmus::event_graph::{EventGraph, Relation};

const MARGIN: f64 = 24.0;
/// The frame's texts have at least this width.
const NARROWEST: f64 = 420.0;
/// The width and height of an arrow head.
const HEAD: f64 = 4.5;

/// The event graph of an execution as an SVG document.
pub fn svg(test: &Test, execution: &Execution, options: &PictureOptions<'_>) -> String {
    let graph = EventGraph::new(execution);
    let layout = lay_out(test, execution, options.run, &graph);
    let inner = layout.width.max(NARROWEST);
    let mut above = Frame::default();
    above.title(test, options, inner);
    let mut below = Frame::default();
    below.cycle(&graph, inner);
    below.legend(&graph, inner);

    let graph_top = MARGIN + above.0.height + 8.0;
    let below_top = graph_top + layout.height + 14.0;
    let (width, height) = (inner + 2.0 * MARGIN, below_top + below.0.height + MARGIN);
    let left = MARGIN + (inner - layout.width) / 2.0;
    let document = Document {
        class: "fencepost-litmus",
        title: &title(test, options),
        description: &describe_events(test, execution, &graph),
        style: &style_sheet(),
        width,
        height,
    };
    let parts = [
        above.0.group(MARGIN, MARGIN),
        picture(&layout).group(left, graph_top),
        below.0.group(MARGIN, below_top),
    ];
    document.with(&parts.concat())
}

/// The lines above or below the graph.
#[derive(Default)]
struct Frame(Sheet);

impl Frame {
    fn line(&mut self, style: TextStyle, spans: &[Span]) {
        self.0.height += style.line_height();
        let y = number(self.0.height - style.size() * 0.36);
        let _ = write!(
            self.0.elements,
            "<text class=\"{}\" y=\"{y}\">",
            class_of(style)
        );
        for (index, span) in spans.iter().enumerate() {
            let space = if index > 0 { " " } else { "" };
            let text = escaped(&span.text);
            let _ = match span.relation {
                Some(relation) => write!(
                    self.0.elements,
                    "{space}<tspan class=\"{} name\">{text}</tspan>",
                    relation.label()
                ),
                None => write!(self.0.elements, "{space}{text}"),
            };
        }
        self.0.elements.push_str("</text>\n");
    }

    fn plain_lines(&mut self, style: TextStyle, text: &str, width: f64) {
        for line in wrapped(text, style.font().columns_in(width)) {
            let relation = None;
            self.line(
                style,
                &[Span {
                    text: line,
                    relation,
                }],
            );
        }
    }

    fn title(&mut self, test: &Test, options: &PictureOptions<'_>, width: f64) {
        self.plain_lines(TextStyle::Title, &title(test, options), width);
        let state = final_state_text(test, options);
        self.plain_lines(TextStyle::Caption, &state, width);
    }

    fn cycle(&mut self, graph: &EventGraph, width: f64) {
        let columns = TextStyle::Caption.font().columns_in(width);
        for spans in cycle_lines(graph, columns) {
            self.line(TextStyle::Caption, &spans);
        }
    }

    fn legend(&mut self, graph: &EventGraph, width: f64) {
        const SAMPLE: f64 = 26.0;
        const SPACE: f64 = 20.0;
        let style = TextStyle::Legend;
        let entries = legend(graph);
        if entries.is_empty() {
            return;
        }
        let mut x = 0.0;
        self.0.height += 6.0 + style.line_height();
        for (relation, from_buffer, text) in entries {
            let own = SAMPLE + 6.0 + style.width(&text);
            if x > 0.0 && x + own > width {
                x = 0.0;
                self.0.height += style.line_height();
            }
            let y = self.0.height - style.size() * 0.36;
            let middle = y - style.size() * 0.34;
            let class = line_class(relation, from_buffer);
            let neck = Point {
                x: x + SAMPLE - 8.0,
                y: middle,
            };
            let tip = Point {
                x: x + SAMPLE,
                y: middle,
            };
            let _ = write!(
                self.0.elements,
                "<path class=\"{class}\" d=\"M{} {}H{}\"/>\n<path class=\"{} head\" d=\"{}\"/>\n\
                 <text class=\"legend\" x=\"{}\" y=\"{}\">{}</text>\n",
                number(x),
                number(middle),
                number(neck.x),
                relation.label(),
                head(neck, tip, HEAD),
                number(x + SAMPLE + 6.0),
                number(y),
                escaped(&text),
            );
            x += own + SPACE;
        }
    }
}

/// The graph: bands of threads, arrows, boxes, and last the names of the arrows.
fn picture(layout: &Layout) -> Sheet {
    let mut out = String::new();
    for thread in &layout.threads {
        let (band, middle) = (thread.band, thread.header.centre());
        out += &rectangle("band", sides(&band), 8);
        let _ = writeln!(
            out,
            "<text class=\"thread\" text-anchor=\"middle\" x=\"{}\" y=\"{}\">{}</text>",
            number(middle.x),
            number(middle.y + 5.0),
            escaped(&thread.name)
        );
    }
    for node in layout.boxes.iter().filter(|node| node.is_on_cycle) {
        out += &rectangle("box-halo", sides(&node.rectangle.grown(5.0)), 10);
    }
    for arrow in layout.arrows.iter().filter(|arrow| arrow.is_on_cycle) {
        let class = arrow.edge.relation.label();
        let path = path_data(&arrow.path);
        let _ = writeln!(out, "<path class=\"{class} halo\" d=\"{path}\"/>");
    }
    // Arrows of the cycle are on top.
    for is_on_cycle in [false, true] {
        let arrows = layout.arrows.iter();
        for arrow in arrows.filter(|arrow| arrow.is_on_cycle == is_on_cycle) {
            write_arrow(&mut out, arrow);
        }
    }
    for node in &layout.boxes {
        write_box(&mut out, node);
    }
    for arrow in &layout.arrows {
        let class = arrow.edge.relation.label();
        let middle = arrow.label.centre();
        out += &rectangle("plate", sides(&arrow.label), 4);
        let _ = writeln!(
            out,
            "<text class=\"{class} name arrow\" text-anchor=\"middle\" x=\"{}\" y=\"{}\">{class}</text>",
            number(middle.x),
            number(middle.y + 4.0),
        );
    }
    Sheet {
        elements: out,
        height: layout.height,
    }
}

fn write_arrow(out: &mut String, arrow: &Arrow) {
    let line = line_class(arrow.edge.relation, arrow.edge.from_buffer);
    let (cycle, half_width) = match arrow.is_on_cycle {
        true => (" cycle", HEAD + 1.5),
        false => ("", HEAD),
    };
    let neck = end_of(&arrow.path);
    let _ = write!(
        out,
        "<path class=\"{line}{cycle}\" d=\"{}\"/>\n<path class=\"{} head\" d=\"{}\"/>\n",
        path_data(&arrow.path),
        arrow.edge.relation.label(),
        head(neck, arrow.tip, half_width),
    );
}

fn write_box(out: &mut String, node: &NodeBox) {
    let class = match node.is_on_cycle {
        true => "box cycle",
        false => "box",
    };
    out.push_str(&rectangle(class, sides(&node.rectangle), 7));
    let middle = node.rectangle.centre().x;
    for (line, y) in &node.lines {
        let (x, y) = (number(middle), number(*y));
        let class = class_of(line.style);
        let _ = write!(
            out,
            "<text class=\"{class}\" text-anchor=\"middle\" x=\"{x}\" y=\"{y}\">{}",
            escaped(&line.text)
        );
        if let Some(remark) = &line.remark {
            let _ = write!(
                out,
                "<tspan class=\"remark\" dx=\"{}\">{}</tspan>",
                number(REMARK_GAP),
                escaped(remark)
            );
        }
        out.push_str("</text>\n");
    }
}

fn line_class(relation: Relation, from_buffer: bool) -> String {
    let dashed = if from_buffer { " buffered" } else { "" };
    format!("{} line{dashed}", relation.label())
}

fn class_of(style: TextStyle) -> &'static str {
    match style {
        TextStyle::Title => "title",
        TextStyle::Caption => "caption",
        TextStyle::Thread => "thread",
        TextStyle::Event => "event",
        TextStyle::Instruction => "instruction",
        TextStyle::Remark => "remark",
        TextStyle::Arrow => "arrow",
        TextStyle::Legend => "legend",
    }
}

fn end_of(path: &Path) -> Point {
    match path.pieces.last() {
        Some(Piece::Line(end) | Piece::Curve(_, _, end)) => *end,
        None => path.start,
    }
}

fn path_data(path: &Path) -> String {
    let pair = |point: Point| format!("{} {}", number(point.x), number(point.y));
    let mut data = format!("M{}", pair(path.start));
    for piece in &path.pieces {
        data += &match *piece {
            Piece::Line(end) => format!("L{}", pair(end)),
            Piece::Curve(one, two, end) => format!("C{} {} {}", pair(one), pair(two), pair(end)),
        };
    }
    data
}

/// A triangle from the neck of an arrow to its tip. Arrows end level or straight down.
fn head(neck: Point, tip: Point, half_width: f64) -> String {
    let is_level = neck.y == tip.y;
    let corner = |sign: f64| match is_level {
        true => (neck.x, neck.y + sign * half_width),
        false => (neck.x + sign * half_width, neck.y),
    };
    let (one, other) = (corner(1.0), corner(-1.0));
    let points = [(tip.x, tip.y), one, other];
    let [a, b, c] = points.map(|(x, y)| format!("{} {}", number(x), number(y)));
    format!("M{a}L{b}L{c}Z")
}

fn sides(rectangle: &super::layout::geometry::Rectangle) -> [f64; 4] {
    [
        rectangle.left,
        rectangle.top,
        rectangle.width,
        rectangle.height,
    ]
}

/// The colours of a scheme: paper, band, box, border, text, faint text, halo of boxes, and one for
/// each relation.
const LIGHT: [&str; 11] = [
    "#ffffff", "#f3f4f7", "#ffffff", "#8a919e", "#16191f", "#5d6470", "#ffd24a", "#3a3f47",
    "#c8202f", "#1560bd", "#a85a00",
];
const DARK: [&str; 11] = [
    "#15181d", "#1d2128", "#272c35", "#7d8593", "#eceff4", "#a3abb8", "#d9a900", "#c3c9d3",
    "#ff7b78", "#7ab7ff", "#f2a64b",
];

fn style_sheet() -> String {
    let mut css = String::new();
    for style in TextStyle::ALL {
        let font = style.font().css();
        let _ = writeln!(css, ".fencepost-litmus .{}{{font:{font}}}", class_of(style));
    }
    css.push_str(
        ".fencepost-litmus .line{fill:none;stroke-width:1.6}\n\
         .fencepost-litmus .po.line{stroke-width:1.1}\n\
         .fencepost-litmus .buffered{stroke-dasharray:5 3}\n\
         .fencepost-litmus .line.cycle{stroke-width:3}\n\
         .fencepost-litmus .halo{fill:none;stroke-width:11;stroke-opacity:.18;stroke-linecap:round}\n\
         .fencepost-litmus .box{stroke-width:1.2}\n\
         .fencepost-litmus .box.cycle{stroke-width:2.4}\n",
    );
    css + &in_both_schemes(&colours(&LIGHT), &colours(&DARK))
}

fn colours(scheme: &[&str; 11]) -> String {
    let [paper, band, node, border, text, faint, halo, relations @ ..] = *scheme;
    let mut css = format!(
        ".fencepost-litmus .paper,.fencepost-litmus .plate{{fill:{paper}}}\n\
         .fencepost-litmus .band{{fill:{band}}}\n\
         .fencepost-litmus .box{{fill:{node};stroke:{border}}}\n\
         .fencepost-litmus .box.cycle{{stroke:{text}}}\n\
         .fencepost-litmus .box-halo{{fill:{halo};fill-opacity:.4}}\n\
         .fencepost-litmus text{{fill:{text}}}\n\
         .fencepost-litmus .instruction,.fencepost-litmus .remark,.fencepost-litmus .legend{{fill:{faint}}}\n"
    );
    for (relation, colour) in Relation::ALL.into_iter().zip(relations) {
        let label = relation.label();
        let _ = writeln!(
            css,
            ".fencepost-litmus .{label}.line,.fencepost-litmus .{label}.halo{{stroke:{colour}}}\n\
             .fencepost-litmus .{label}.head,.fencepost-litmus .{label}.name{{fill:{colour}}}"
        );
    }
    css
}
