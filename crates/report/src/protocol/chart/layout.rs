//! The layout of a chart.
//!
//! No text overlaps another: every label and note has heights of its own, within the row of its
//! step. From top to bottom, a row has the messages that are received, the notes, and the messages
//! that are sent. An arrow begins level, under its label, and goes down to its receiver beyond the
//! labels of its column; it passes behind notes.

use super::flow::{Flow, Message};
use super::style::TextStyle;
use crate::protocol::values::shortened;
use crate::svg::wrapped;

/// The widest a note or the name of a rule is.
const WIDEST_NOTE: f64 = 270.0;
const WIDEST_RULE: f64 = 210.0;
const WIDEST_LABEL: usize = 26;
/// The largest number of detail lines of a message.
const MAX_DETAILS: usize = 3;
/// The largest number of lines of a note.
const MAX_LINES: usize = 10;
/// The room beside labels for descending arrows.
const SLOPE: f64 = 64.0;
const GAP: f64 = 24.0;
const ROW_PADDING: f64 = 8.0;
pub(super) const NOTE_PADDING: f64 = 6.0;
/// The distance between arrow heads that arrive in one row.
const ARRIVAL: f64 = 16.0;

/// A column.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub title: String,
    /// The x coordinate of its lifeline.
    pub x: f64,
    /// Whether it is a node; the others have no lifeline.
    pub is_node: bool,
}

/// A box with text.
#[derive(Clone, Debug)]
pub(super) struct NoteBox {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
    pub lines: Vec<String>,
}

/// A row.
#[derive(Clone, Debug)]
pub(super) struct RowBox {
    pub top: f64,
    pub height: f64,
    pub number: String,
    pub rule: Vec<String>,
    pub notes: Vec<NoteBox>,
    pub has_failed: bool,
}

/// A message.
#[derive(Clone, Debug)]
pub(super) struct Arrow {
    /// From the sender's lifeline to the receiver's.
    pub points: Vec<(f64, f64)>,
    pub is_received: bool,
    /// The left end and the top of its label.
    pub label_at: (f64, f64),
    pub label: String,
    pub details: Vec<String>,
}

/// Everything, in coordinates that begin at the top left.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub width: f64,
    pub height: f64,
    /// The height of the column titles.
    pub header: f64,
    pub columns: Vec<Column>,
    pub rows: Vec<RowBox>,
    pub arrows: Vec<Arrow>,
}

/// The details of a message, in lines.
fn detail_lines(message: &Message) -> Vec<String> {
    let mut lines = wrapped(&message.details, WIDEST_LABEL - 1);
    if lines.len() > MAX_DETAILS {
        lines.truncate(MAX_DETAILS);
        lines[MAX_DETAILS - 1].push('…');
    }
    lines
}

/// The width of the label of a message.
fn label_width(message: &Message) -> f64 {
    let label = TextStyle::Message.width(&shortened(&message.label, WIDEST_LABEL));
    let details = detail_lines(message);
    let details = details.iter().map(|line| TextStyle::Details.width(line));
    details.fold(label, f64::max) + 14.0
}

fn label_height(message: &Message) -> f64 {
    let details = detail_lines(message).len() as f64 * TextStyle::Details.line_height();
    TextStyle::Message.line_height() + details + 3.0
}

/// The lines of a note as they are shown.
fn note_lines(lines: &[String]) -> Vec<String> {
    let most = TextStyle::Note.columns_in(WIDEST_NOTE - 2.0 * NOTE_PADDING);
    let mut shown: Vec<String> = Vec::new();
    for line in lines {
        for (number, part) in wrapped(line, most - 2).into_iter().enumerate() {
            // Continuation lines are indented.
            let indent = if number > 0 { "  " } else { "" };
            shown.push(format!("{indent}{part}"));
        }
    }
    if shown.len() > MAX_LINES {
        let more = shown.len() - MAX_LINES + 1;
        shown.truncate(MAX_LINES - 1);
        shown.push(format!("… {more} more lines"));
    }
    shown
}

fn note_width(lines: &[String]) -> f64 {
    let widths = lines.iter().map(|line| TextStyle::Note.width(line));
    widths.fold(0.0, f64::max) + 2.0 * NOTE_PADDING
}

fn note_height(lines: &[String]) -> f64 {
    lines.len() as f64 * TextStyle::Note.line_height() + 2.0 * NOTE_PADDING - 2.0
}

/// The direction of a message.
fn is_rightward(flow: &Flow, message: &Message) -> bool {
    column_of(flow, &message.from) <= column_of(flow, &message.to)
}

fn column_of(flow: &Flow, name: &str) -> usize {
    let found = flow.columns.iter().position(|(each, _)| each == name);
    found.unwrap_or(0)
}

/// Lays out a chart.
pub(super) fn lay_out(flow: &Flow) -> Layout {
    let rules_width = rules_width(flow);
    let (columns, rooms, width) = place_columns(flow, rules_width);
    let tallest = columns.iter().map(|_| TextStyle::Node.line_height() + 12.0);
    let header = tallest.fold(0.0, f64::max) + 10.0;
    let mut top = header;
    let mut rows = Vec::new();
    let mut departures = vec![0.0; flow.messages.len()];
    let mut arrivals = vec![0.0; flow.messages.len()];
    for (number, row) in flow.rows.iter().enumerate() {
        let rule = wrapped(&row.name, TextStyle::Rule.columns_in(rules_width - 24.0));
        let mut y = top + ROW_PADDING;
        for (index, message) in flow.messages.iter().enumerate() {
            if message.received == Some(number) {
                arrivals[index] = y + ARRIVAL / 2.0;
                y += ARRIVAL;
            }
        }
        let mut notes = Vec::new();
        let mut highest: f64 = 0.0;
        for note in &row.notes {
            let column = match &note.node {
                Some(node) => column_of(flow, node),
                None => columns.len() - 1,
            };
            let lines = note_lines(&note.lines);
            let (width, height) = (note_width(&lines), note_height(&lines));
            highest = highest.max(height + 4.0);
            notes.push(NoteBox {
                left: columns[column].x - width / 2.0,
                top: y,
                width,
                height,
                lines,
            });
        }
        y += highest;
        for (index, message) in flow.messages.iter().enumerate() {
            if message.sent == number {
                y += label_height(message);
                departures[index] = y;
                y += 5.0;
            }
        }
        let text = (rule.len() + 1) as f64 * TextStyle::Rule.line_height() + ROW_PADDING;
        let height = (y - top + ROW_PADDING).max(text);
        rows.push(RowBox {
            top,
            height,
            number: row.number.clone(),
            rule,
            notes,
            has_failed: row.has_failed,
        });
        top += height;
    }
    // Room for the heads of messages that are under way at the end.
    let lost = flow
        .messages
        .iter()
        .any(|message| message.received.is_none());
    let bottom = if lost { top + 26.0 } else { top + 8.0 };
    let arrows = flow.messages.iter().enumerate().map(|(index, message)| {
        let arrival = match message.received {
            Some(_) => arrivals[index],
            None => bottom - 8.0,
        };
        arrow(flow, message, &columns, &rooms, departures[index], arrival)
    });
    Layout {
        width,
        height: bottom,
        header,
        arrows: arrows.collect(),
        columns,
        rows,
    }
}

fn rules_width(flow: &Flow) -> f64 {
    let widths = flow.rows.iter().map(|row| TextStyle::Rule.width(&row.name));
    (widths.fold(90.0, f64::max) + 24.0).min(WIDEST_RULE)
}

/// For each column, how much room labels need to its left and to its right.
fn label_rooms(flow: &Flow) -> Vec<(f64, f64)> {
    let mut rooms = vec![(0.0_f64, 0.0_f64); flow.columns.len()];
    for message in &flow.messages {
        let room = &mut rooms[column_of(flow, &message.from)];
        match is_rightward(flow, message) {
            true => room.1 = room.1.max(label_width(message)),
            false => room.0 = room.0.max(label_width(message)),
        }
    }
    rooms
}

fn place_columns(flow: &Flow, rules_width: f64) -> (Vec<Column>, Vec<(f64, f64)>, f64) {
    let rooms = label_rooms(flow);
    let mut titles: Vec<(String, bool)> = { flow.columns.iter() }
        .map(|(_, title)| (title.clone(), true))
        .collect();
    if flow.has_shared_column {
        let title = if flow.columns.is_empty() {
            "what changed"
        } else {
            "shared"
        };
        titles.push((title.to_owned(), false));
    }
    // Half of what notes and the title need.
    let half = |column: usize, title: &str| {
        let name = flow.columns.get(column).map(|(name, _)| name);
        let notes = flow.rows.iter().flat_map(|row| &row.notes);
        let here = notes.filter(|note| note.node.as_ref() == name);
        let widest = here.map(|note| note_width(&note_lines(&note.lines)));
        let title = TextStyle::Node.width(title) + 24.0;
        widest.fold(title, f64::max) / 2.0
    };
    let none = (0.0, 0.0);
    let mut columns: Vec<Column> = Vec::new();
    let mut edge = rules_width;
    for (number, (title, is_node)) in titles.into_iter().enumerate() {
        let half = half(number, &title);
        let (left_room, _) = rooms.get(number).copied().unwrap_or(none);
        let x = match columns.last() {
            None => edge + GAP + half.max(left_room),
            Some(last) => {
                let (_, right_room) = rooms.get(number - 1).copied().unwrap_or(none);
                let labels = right_room + left_room;
                let sloped = match is_node && labels > 0.0 {
                    true => labels + SLOPE,
                    false => labels,
                };
                (last.x + sloped).max(edge + GAP + half)
            }
        };
        edge = x + half;
        columns.push(Column { title, x, is_node });
    }
    let (_, last_room) = rooms.last().copied().unwrap_or(none);
    let last = columns.last().map_or(rules_width, |column| column.x);
    let loops = match flow
        .messages
        .iter()
        .any(|message| message.from == message.to)
    {
        true => 30.0,
        false => 0.0,
    };
    let width = edge.max(last + last_room + loops) + GAP;
    (columns, rooms, width)
}

fn arrow(
    flow: &Flow,
    message: &Message,
    columns: &[Column],
    rooms: &[(f64, f64)],
    departure: f64,
    arrival: f64,
) -> Arrow {
    let (from, to) = (column_of(flow, &message.from), column_of(flow, &message.to));
    let (start, end) = (columns[from].x, columns[to].x);
    let is_rightward = is_rightward(flow, message);
    let stub = match is_rightward {
        true => start + rooms[from].1,
        false => start - rooms[from].0,
    };
    let points = match from == to {
        true => vec![
            (start, departure),
            (stub + 12.0, departure),
            (stub + 12.0, arrival),
            (start, arrival),
        ],
        false => vec![(start, departure), (stub, departure), (end, arrival)],
    };
    let width = label_width(message);
    let left = match is_rightward {
        true => start + 8.0,
        false => start - width + 6.0,
    };
    Arrow {
        points,
        is_received: message.received.is_some(),
        label_at: (left, departure - label_height(message)),
        label: shortened(&message.label, WIDEST_LABEL),
        details: detail_lines(message),
    }
}
