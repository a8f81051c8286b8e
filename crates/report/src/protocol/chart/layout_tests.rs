//! Whatever happens in a trace, nothing that is written lies over something else that is written.

use fencepost_memory::random::Random;

use super::flow::{Flow, Message, Note, Row};
use super::layout::{Layout, lay_out};
use super::style::TextStyle;

fn pick(random: &mut Random, count: usize) -> usize {
    random.below(count as u64) as usize
}

fn words(random: &mut Random) -> String {
    let long = "x".repeat(60);
    let all = [
        "GetS",
        "a rule with a long name",
        "i",
        "state: Invalid → Modified",
        "変数",
        &long,
    ];
    all[pick(random, all.len())].to_owned()
}

/// Any columns, rows, notes and messages, also to oneself and never received.
fn random_flow(random: &mut Random) -> Flow {
    let count = 1 + pick(random, 5);
    let names: Vec<String> = (0..count).map(|node| format!("Node_{node}")).collect();
    let has_shared_column = pick(random, 2) == 0;
    let mut rows = Vec::new();
    for number in 0..2 + pick(random, 8) {
        let mut notes = Vec::new();
        for name in &names {
            if pick(random, 3) == 0 {
                let lines = (0..1 + pick(random, 14)).map(|_| words(random));
                notes.push(Note {
                    node: Some(name.clone()),
                    lines: lines.collect(),
                });
            }
        }
        if has_shared_column && pick(random, 2) == 0 {
            notes.push(Note {
                node: None,
                lines: vec![words(random)],
            });
        }
        rows.push(Row {
            number: number.to_string(),
            name: words(random),
            notes,
            has_failed: false,
        });
    }
    let mut messages = Vec::new();
    for sent in 0..rows.len() {
        for _ in 0..pick(random, 4) {
            let later = rows.len() - sent - 1;
            let received =
                (later > 0 && pick(random, 4) > 0).then(|| sent + 1 + pick(random, later));
            messages.push(Message {
                label: words(random),
                details: if pick(random, 2) == 0 {
                    words(random)
                } else {
                    String::new()
                },
                from: names[pick(random, count)].clone(),
                to: names[pick(random, count)].clone(),
                sent,
                received,
            });
        }
    }
    Flow {
        columns: names
            .iter()
            .map(|name| (name.clone(), name.clone()))
            .collect(),
        has_shared_column,
        rows,
        messages,
        left_out: 0,
    }
}

/// Left, top, width, height, and what it is.
type Written = ([f64; 4], String);

fn all_written(layout: &Layout) -> Vec<Written> {
    let mut all = Vec::new();
    for column in &layout.columns {
        let width = TextStyle::Node.width(&column.title) + 20.0;
        let place = [
            column.x - width / 2.0,
            2.0,
            width,
            TextStyle::Node.line_height() + 8.0,
        ];
        all.push((place, column.title.clone()));
    }
    for row in &layout.rows {
        let lines = row.rule.iter().map(|line| TextStyle::Rule.width(line));
        let width = lines.fold(TextStyle::Number.width(&row.number), f64::max);
        let height = (row.rule.len() + 1) as f64 * TextStyle::Rule.line_height();
        all.push(([10.0, row.top + 5.0, width, height], row.rule.join(" ")));
        for note in &row.notes {
            all.push((
                [note.left, note.top, note.width, note.height],
                note.lines.join("|"),
            ));
        }
    }
    for arrow in &layout.arrows {
        let (left, top) = arrow.label_at;
        let mut at = top;
        let details = arrow.details.iter().map(|line| (TextStyle::Details, line));
        for (style, text) in [(TextStyle::Message, &arrow.label)]
            .into_iter()
            .chain(details)
        {
            if !text.is_empty() {
                all.push((
                    [left, at, style.width(text), style.line_height()],
                    text.clone(),
                ));
                at += style.line_height();
            }
        }
    }
    all
}

#[test]
fn nothing_written_lies_over_something_written() {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let flow = random_flow(&mut random);
        let layout = lay_out(&flow);
        let all = all_written(&layout);
        for (number, ([left, top, width, height], what)) in all.iter().enumerate() {
            assert!(
                *left >= 0.0 && left + width <= layout.width && top + height <= layout.height + 0.5,
                "seed {seed}: {what} is outside"
            );
            for ([l, t, w, h], other) in &all[..number] {
                let is_apart =
                    left + width <= *l || l + w <= *left || top + height <= *t || t + h <= *top;
                assert!(is_apart, "seed {seed}: {what} and {other}");
            }
        }
        for (arrow, message) in layout.arrows.iter().zip(&flow.messages) {
            let (first, last) = (arrow.points[0], arrow.points[arrow.points.len() - 1]);
            assert!(first.1 < last.1, "seed {seed}: {} goes up", message.label);
        }
    }
}
