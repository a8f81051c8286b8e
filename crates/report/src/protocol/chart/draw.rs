//! The chart as SVG.

use std::fmt::Write;

use super::flow::{Flow, flow};
use super::layout::{Arrow, Layout, NOTE_PADDING, lay_out};
use super::style::{TextStyle, style_sheet};
use super::title;

use crate::protocol::{SearchedModel, headline};
use crate::svg::{Document, Sheet, escaped, number, rectangle, wrapped};

const MARGIN: f64 = 20.0;
/// The title and the legend have at least this width.
const NARROWEST: f64 = 420.0;

/// The counterexample as an SVG document, if there is one.
pub fn svg(checked: &SearchedModel<'_>) -> Option<String> {
    let trace = checked.report.trace.as_ref()?;
    let flow = flow(checked.model, trace);
    let layout = lay_out(&flow);
    let width = layout.width.max(NARROWEST);
    let title = title(checked);
    let mut above = Texts::default();
    above.lines(TextStyle::Title, &title, width);
    let mut below = Texts::default();
    below.verdict(&headline(checked), width);
    below.legend(&flow, width);
    let chart_top = MARGIN + above.0.height + 10.0;
    let below_top = chart_top + layout.height + 4.0;
    let document = Document {
        class: "fencepost-chart",
        title: &title,
        description: &description(&flow),
        style: &style_sheet(),
        width: width + 2.0 * MARGIN,
        height: below_top + below.0.height + MARGIN,
    };
    let parts = [
        above.0.group(MARGIN, MARGIN),
        picture(&layout, width).group(MARGIN, chart_top),
        below.0.group(MARGIN, below_top),
    ];
    Some(document.with(&parts.concat()))
}

/// The chart in words, for assistive technology.
fn description(flow: &Flow) -> String {
    let mut text = String::new();
    for (number, row) in flow.rows.iter().enumerate() {
        let _ = write!(text, "{} {}", row.number, row.name);
        for message in &flow.messages {
            if message.received == Some(number) {
                let _ = write!(text, "; {} receives {}", message.to, message.label);
            }
        }
        for note in &row.notes {
            let node = note.node.as_deref().unwrap_or("shared");
            let _ = write!(text, "; {node}: {}", note.lines.join(", "));
        }
        for message in &flow.messages {
            if message.sent == number {
                let (from, to) = (&message.from, &message.to);
                let _ = write!(text, "; {from} sends {} to {to}", message.label);
            }
        }
        text.push_str(".\n");
    }
    text
}

fn text(style: TextStyle, x: f64, top: f64, content: &str) -> String {
    format!(
        "<text class=\"{}\" x=\"{}\" y=\"{}\" xml:space=\"preserve\">{}</text>\n",
        style.class(),
        number(x),
        number(top + style.baseline()),
        escaped(content)
    )
}

/// Lines of text, one below the other.
#[derive(Default)]
struct Texts(Sheet);

impl Texts {
    fn lines(&mut self, style: TextStyle, content: &str, width: f64) {
        for line in wrapped(content, style.columns_in(width)) {
            self.0.elements += &text(style, 0.0, self.0.height, &line);
            self.0.height += style.line_height();
        }
    }

    fn verdict(&mut self, content: &str, width: f64) {
        const PADDING: f64 = 8.0;
        let style = TextStyle::Verdict;
        let lines = wrapped(content, style.columns_in(width - 2.0 * PADDING));
        let height = lines.len() as f64 * style.line_height() + 2.0 * PADDING;
        self.0.elements += &rectangle("failed", [0.0, 0.0, width, height], 6);
        for (number, line) in lines.iter().enumerate() {
            let top = PADDING + number as f64 * style.line_height();
            self.0.elements += &text(style, PADDING, top, line);
        }
        self.0.height += height + 10.0;
    }

    fn legend(&mut self, flow: &Flow, width: f64) {
        let is_lost = |received: Option<usize>| received.is_none();
        let mut entries = Vec::new();
        if flow.messages.iter().any(|m| !is_lost(m.received)) {
            entries.push((
                "arrow",
                "a message, from where it is sent to where it is received",
            ));
        }
        if flow.messages.iter().any(|m| is_lost(m.received)) {
            entries.push(("arrow lost", "a message that is still under way at the end"));
        }
        entries.push(("box", "what a step changes"));
        const SAMPLE: f64 = 30.0;
        let style = TextStyle::Legend;
        let mut x = 0.0;
        for (class, words) in entries {
            let own = SAMPLE + 8.0 + style.width(words);
            if x > 0.0 && x + own > width {
                x = 0.0;
                self.0.height += style.line_height() + 2.0;
            }
            let middle = self.0.height + style.line_height() / 2.0;
            self.0.elements += &match class {
                "box" => rectangle("box", [x, middle - 6.0, SAMPLE, 12.0], 3),
                _ => {
                    let (from, to) = ((x, middle), (x + SAMPLE, middle));
                    line(class, &[from, to]) + &end(class == "arrow", from, to)
                }
            };
            self.0.elements += &text(style, x + SAMPLE + 8.0, self.0.height, words);
            x += own + 22.0;
        }
        self.0.height += style.line_height();
    }
}

fn picture(layout: &Layout, width: f64) -> Sheet {
    let mut out = String::new();
    for (number, row) in layout.rows.iter().enumerate() {
        let place = [0.0, row.top, width, row.height];
        if row.has_failed {
            out += &rectangle("failed", place, 4);
        } else if number % 2 == 0 {
            out += &rectangle("band", place, 4);
        }
    }
    for column in layout.columns.iter().filter(|column| column.is_node) {
        let _ = writeln!(
            out,
            "<path class=\"life\" d=\"M{x} {}V{}\"/>",
            number(layout.header - 8.0),
            number(layout.height),
            x = number(column.x),
        );
    }
    for arrow in &layout.arrows {
        out += &line(class_of(arrow), &arrow.points);
        if let [.., before, last] = arrow.points.as_slice() {
            out += &end(arrow.is_received, *before, *last);
        }
    }
    for row in &layout.rows {
        for note in &row.notes {
            out += &rectangle("box", [note.left, note.top, note.width, note.height], 4);
            for (number, line) in note.lines.iter().enumerate() {
                let top = note.top + NOTE_PADDING - 1.0;
                let top = top + number as f64 * TextStyle::Note.line_height();
                out += &text(TextStyle::Note, note.left + NOTE_PADDING, top, line);
            }
        }
        let top = row.top + 5.0;
        out += &text(TextStyle::Number, 10.0, top, &row.number);
        for (number, line) in row.rule.iter().enumerate() {
            let top = top + (number + 1) as f64 * TextStyle::Rule.line_height() - 2.0;
            out += &text(TextStyle::Rule, 10.0, top, line);
        }
    }
    for arrow in &layout.arrows {
        out += &label(arrow, layout);
    }
    for column in &layout.columns {
        let style = TextStyle::Node;
        let width = style.width(&column.title) + 20.0;
        let left = column.x - width / 2.0;
        if column.is_node {
            let height = style.line_height() + 8.0;
            out += &rectangle("head-box", [left, 2.0, width, height], 5);
        }
        let middle = number(column.x);
        let _ = writeln!(
            out,
            "<text class=\"node\" text-anchor=\"middle\" x=\"{middle}\" y=\"{}\">{}</text>",
            number(6.0 + style.baseline()),
            escaped(&column.title)
        );
    }
    Sheet {
        elements: out,
        height: layout.height,
    }
}

fn class_of(arrow: &Arrow) -> &'static str {
    match arrow.is_received {
        true => "arrow",
        false => "arrow lost",
    }
}

fn line(class: &str, points: &[(f64, f64)]) -> String {
    let mut data = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let command = if index == 0 { 'M' } else { 'L' };
        let _ = write!(data, "{command}{} {}", number(*x), number(*y));
    }
    format!("<path class=\"{class}\" d=\"{data}\"/>\n")
}

/// The end of an arrow: a head, or a ring if the message was not received.
fn end(is_received: bool, before: (f64, f64), tip: (f64, f64)) -> String {
    if !is_received {
        return format!(
            "<circle class=\"ring\" cx=\"{}\" cy=\"{}\" r=\"4\" stroke-width=\"1.6\"/>\n",
            number(tip.0),
            number(tip.1)
        );
    }
    let (dx, dy) = (tip.0 - before.0, tip.1 - before.1);
    let length = dx.hypot(dy).max(0.1);
    let (ux, uy) = (dx / length, dy / length);
    let corner = |side: f64| {
        let x = tip.0 - 10.0 * ux - side * 4.5 * uy;
        let y = tip.1 - 10.0 * uy + side * 4.5 * ux;
        format!("{} {}", number(x), number(y))
    };
    format!(
        "<path class=\"head\" d=\"M{} {}L{}L{}Z\"/>\n",
        number(tip.0),
        number(tip.1),
        corner(1.0),
        corner(-1.0)
    )
}

/// The label of a message. Lines that cross it are hidden behind it.
fn label(arrow: &Arrow, layout: &Layout) -> String {
    let (left, top) = arrow.label_at;
    let mut out = String::new();
    let is_on_band = { layout.rows.iter().enumerate() }
        .any(|(number, row)| number % 2 == 0 && row.top <= top && top < row.top + row.height);
    let plate = if is_on_band { "band-plate" } else { "plate" };
    let mut at = top;
    let details = arrow.details.iter().map(|line| (TextStyle::Details, line));
    for (style, content) in [(TextStyle::Message, &arrow.label)]
        .into_iter()
        .chain(details)
    {
        if content.is_empty() {
            continue;
        }
        let place = [
            left - 2.0,
            at,
            style.width(content) + 4.0,
            style.line_height(),
        ];
        out += &rectangle(plate, place, 2);
        out += &text(style, left, at, content);
        at += style.line_height();
    }
    out
}
