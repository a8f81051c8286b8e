//! The event graph as SVG.
//!
//! Arrow heads are shapes of their own, because markers do not take the colour of
//! their line everywhere.

use std::fmt::Write;

use super::Picture;
use super::contents::REMARK_GAP;
use super::events::describe_events;
use super::frame::{
    Colour, LegendEntry, Span, cycle_lines, final_state_text, legend, reason_text, title,
};
use super::layout::geometry::{Path, Piece, Point};
use super::layout::{Arrow, Layout, NodeBox, lay_out};
use super::metrics::TextStyle;
use crate::svg::{Document, Sheet, escaped, in_both_schemes, number, rectangle, wrapped};
use fencepost_litmus::event_graph::{Edge, EventGraph, Relation, Strength};

const MARGIN: f64 = 24.0;
/// The frame's texts have at least this width.
const NARROWEST: f64 = 420.0;
/// The width and height of an arrow head.
const HEAD: f64 = 4.5;

/// The event graph of an execution or a candidate as an SVG document.
pub fn svg(picture: &Picture<'_>) -> String {
    let graph = picture.drawn();
    let layout = lay_out(
        picture.test,
        &picture.candidate,
        picture.options.run,
        &graph,
    );
    let inner = layout.width.max(NARROWEST);
    let mut above = Frame::default();
    above.title(picture, inner);
    let mut below = Frame::default();
    below.reason(picture, inner);
    below.cycle(&graph, inner);
    below.legend(&legend(picture, &graph), inner);

    let graph_top = MARGIN + above.0.height + 8.0;
    let below_top = graph_top + layout.height + 14.0;
    let (width, height) = (inner + 2.0 * MARGIN, below_top + below.0.height + MARGIN);
    let left = MARGIN + (inner - layout.width) / 2.0;
    let document = Document {
        class: "fencepost-litmus",
        title: &title(picture),
        description: &describe_events(picture),
        style: &style_sheet(),
        width,
        height,
    };
    let parts = [
        above.0.group(MARGIN, MARGIN),
        drawing(&layout, &graph).group(left, graph_top),
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
            let _ = match span.colour {
                Some(colour) => write!(
                    self.0.elements,
                    "{space}<tspan class=\"{} name\">{text}</tspan>",
                    colour.class()
                ),
                None => write!(self.0.elements, "{space}{text}"),
            };
        }
        self.0.elements.push_str("</text>\n");
    }

    fn plain_lines(&mut self, style: TextStyle, text: &str, width: f64) {
        for line in wrapped(text, style.font().columns_in(width)) {
            let colour = None;
            self.line(style, &[Span { text: line, colour }]);
        }
    }

    fn title(&mut self, picture: &Picture<'_>, width: f64) {
        self.plain_lines(TextStyle::Title, &title(picture), width);
        let state = final_state_text(picture);
        self.plain_lines(TextStyle::Caption, &state, width);
    }

    fn reason(&mut self, picture: &Picture<'_>, width: f64) {
        self.plain_lines(TextStyle::Caption, &reason_text(picture), width);
    }

    fn cycle(&mut self, graph: &EventGraph, width: f64) {
        let columns = TextStyle::Caption.font().columns_in(width);
        for spans in cycle_lines(graph, columns) {
            self.line(TextStyle::Caption, &spans);
        }
    }

    fn legend(&mut self, entries: &[LegendEntry], width: f64) {
        const SAMPLE: f64 = 26.0;
        const SPACE: f64 = 20.0;
        let style = TextStyle::Legend;
        if entries.is_empty() {
            return;
        }
        let mut x = 0.0;
        self.0.height += 6.0 + style.line_height();
        for entry in entries {
            let sample = entry.line.map_or(0.0, |_| SAMPLE + 6.0);
            let own = sample + style.width(&entry.text);
            if x > 0.0 && x + own > width {
                x = 0.0;
                self.0.height += style.line_height();
            }
            let y = self.0.height - style.size() * 0.36;
            if let Some((relation, strength)) = entry.line {
                self.line_sample(relation, strength, [x, x + SAMPLE], y - style.size() * 0.34);
            }
            let _ = writeln!(
                self.0.elements,
                "<text class=\"legend\" x=\"{}\" y=\"{}\">{}</text>",
                number(x + sample),
                number(y),
                escaped(&entry.text),
            );
            x += own + SPACE;
        }
    }

    /// A level arrow in the legend.
    fn line_sample(&mut self, relation: Relation, strength: Strength, ends: [f64; 2], y: f64) {
        let neck = Point {
            x: ends[1] - 8.0,
            y,
        };
        let tip = Point { x: ends[1], y };
        let _ = writeln!(
            self.0.elements,
            "<path class=\"{}\" d=\"M{} {}H{}\"/>\n<path class=\"{} head\" d=\"{}\"/>",
            line_class(relation, strength),
            number(ends[0]),
            number(y),
            number(neck.x),
            Colour::of(relation, strength).class(),
            head(neck, tip, HEAD),
        );
    }
}

/// The graph: bands of threads, arrows, boxes, and last the names of the arrows.
fn drawing(layout: &Layout, graph: &EventGraph) -> Sheet {
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
        let class = colour_of(&arrow.edge).class();
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
        let class = match arrow.edge.strength {
            Strength::Relaxed => format!("{} struck", colour_of(&arrow.edge).class()),
            _ => colour_of(&arrow.edge).class().to_owned(),
        };
        let middle = arrow.label.centre();
        out += &rectangle("plate", sides(&arrow.label), 4);
        let _ = writeln!(
            out,
            "<text class=\"{class} name arrow\" text-anchor=\"middle\" x=\"{}\" y=\"{}\">{}</text>",
            number(middle.x),
            number(middle.y + 4.0),
            graph.label(&arrow.edge),
        );
    }
    Sheet {
        elements: out,
        height: layout.height,
    }
}

fn write_arrow(out: &mut String, arrow: &Arrow) {
    let line = line_class(arrow.edge.relation, arrow.edge.strength);
    let (cycle, half_width) = match arrow.is_on_cycle {
        true => (" cycle", HEAD + 1.5),
        false => ("", HEAD),
    };
    let neck = end_of(&arrow.path);
    let _ = write!(
        out,
        "<path class=\"{line}{cycle}\" d=\"{}\"/>\n<path class=\"{} head\" d=\"{}\"/>\n",
        path_data(&arrow.path),
        colour_of(&arrow.edge).class(),
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

fn colour_of(edge: &Edge) -> Colour {
    Colour::of(edge.relation, edge.strength)
}

/// Dashed lines are those that say nothing of the order of memory.
fn line_class(relation: Relation, strength: Strength) -> String {
    let class = Colour::of(relation, strength).class();
    let dashes = match strength {
        Strength::Plain | Strength::ByFence(_) => "",
        Strength::Relaxed => " relaxed",
        Strength::FromBuffer => " buffered",
    };
    format!("{class} line{dashes}")
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
/// each relation and for order that a fence keeps.
const LIGHT: [&str; 12] = [
    "#ffffff", "#f3f4f7", "#ffffff", "#8a919e", "#16191f", "#5d6470", "#ffd24a", "#3a3f47",
    "#c8202f", "#1560bd", "#a85a00", "#1a7a3c",
];
const DARK: [&str; 12] = [
    "#15181d", "#1d2128", "#272c35", "#7d8593", "#eceff4", "#a3abb8", "#d9a900", "#c3c9d3",
    "#ff7b78", "#7ab7ff", "#f2a64b", "#5fd083",
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
         .fencepost-litmus .fence.line{stroke-width:2.4}\n\
         .fencepost-litmus .buffered{stroke-dasharray:5 3}\n\
         .fencepost-litmus .relaxed{stroke-dasharray:2 3}\n\
         .fencepost-litmus .struck{text-decoration:line-through}\n\
         .fencepost-litmus .line.cycle{stroke-width:3}\n\
         .fencepost-litmus .halo{fill:none;stroke-width:11;stroke-opacity:.18;stroke-linecap:round}\n\
         .fencepost-litmus .box{stroke-width:1.2}\n\
         .fencepost-litmus .box.cycle{stroke-width:2.4}\n",
    );
    css + &in_both_schemes(&colours(&LIGHT), &colours(&DARK))
}

fn colours(scheme: &[&str; 12]) -> String {
    let [
        paper,
        band,
        node,
        border,
        text,
        faint,
        halo,
        relations @ ..,
        fence,
    ] = *scheme;
    let mut css = format!(
        ".fencepost-litmus .paper,.fencepost-litmus .plate{{fill:{paper}}}\n\
         .fencepost-litmus .band{{fill:{band}}}\n\
         .fencepost-litmus .box{{fill:{node};stroke:{border}}}\n\
         .fencepost-litmus .box.cycle{{stroke:{text}}}\n\
         .fencepost-litmus .box-halo{{fill:{halo};fill-opacity:.4}}\n\
         .fencepost-litmus text{{fill:{text}}}\n\
         .fencepost-litmus .instruction,.fencepost-litmus .remark,.fencepost-litmus .legend{{fill:{faint}}}\n"
    );
    let labels = Relation::ALL
        .map(Relation::label)
        .into_iter()
        .zip(relations);
    // The fence comes last: it also has the class of program order.
    for (label, colour) in labels.chain([("fence", fence)]) {
        let _ = writeln!(
            css,
            ".fencepost-litmus .{label}.line,.fencepost-litmus .{label}.halo{{stroke:{colour}}}\n\
             .fencepost-litmus .{label}.head,.fencepost-litmus .{label}.name{{fill:{colour}}}"
        );
    }
    css
}
