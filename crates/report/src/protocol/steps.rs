//! A counterexample as text: the start state, and then the changes of each step.

use std::fmt::Write;

use fencepost_protocol::Model;
use fencepost_protocol::model::types::{TypeId, TypeKind};
use fencepost_protocol::outcome::Trace;
use fencepost_protocol::outcome::Value;
use unicode_width::UnicodeWidthStr;

use super::changes::changes;
use super::instances::{in_parentheses, rule_parameters, startstate_parameters};
use super::values::{compact, keys, shortened};
use crate::style::{DIM, ERROR, HEADING, Styled};
use crate::text::grouped;

/// The largest number of steps; longer traces lose their middle.
const MAX_STEPS: usize = 200;
/// The number of first steps of a long trace that are shown.
const FIRST_STEPS: usize = 20;
/// The largest number of lines for one variable, or for one step.
const MAX_LINES: usize = 24;

/// The trace as text.
pub fn trace(model: &Model, trace: &Trace, width: usize) -> String {
    let width = width.max(40);
    let mut text = String::new();
    let start = in_parentheses(&startstate_parameters(model, &trace.start));
    let name = model.startstate_name(trace.start.index);
    let span = model.startstates[trace.start.index].span;
    heading(
        &mut text,
        "start",
        &format!("{name}{start}"),
        line(model, span),
        width,
    );
    for (value, global) in trace.first.iter().zip(&model.globals) {
        variable(&mut text, model, global.type_id, value, &global.name, width);
    }
    let count = trace.steps.len();
    let digits = count.to_string().len();
    let mut before = &trace.first;
    for (number, step) in trace.steps.iter().enumerate() {
        let is_shown =
            count <= MAX_STEPS || number < FIRST_STEPS || number + MAX_STEPS >= count + FIRST_STEPS;
        if number == FIRST_STEPS && !is_shown {
            let left_out = grouped((count - MAX_STEPS) as u64);
            let _ = writeln!(
                text,
                "… {left_out} steps omitted (use --trace json --output FILE for all of them)"
            );
        }
        if is_shown {
            let parameters = in_parentheses(&rule_parameters(model, &step.rule, before));
            let rule = &model.rules[step.rule.index];
            let name = format!("{}{parameters}", model.rule_name(step.rule.index));
            let number = format!("{:>digits$}.", number + 1);
            heading(&mut text, &number, &name, line(model, rule.span), width);
            changed(&mut text, model, before, &step.state, width);
        }
        before = &step.state;
    }
    if let Some(failed) = &trace.failed {
        let parameters = in_parentheses(&rule_parameters(model, failed, before));
        let rule = &model.rules[failed.index];
        let name = format!("{}{parameters}", model.rule_name(failed.index));
        let number = format!("{:>digits$}.", count + 1);
        heading(&mut text, &number, &name, line(model, rule.span), width);
        let _ = writeln!(text, "     {}", Styled(ERROR, "fails"));
    }
    text
}

fn line(model: &Model, span: fencepost_protocol::Span) -> u32 {
    model.position(span).line
}

fn heading(text: &mut String, number: &str, name: &str, line: u32, width: usize) {
    let line = format!("line {line}");
    let room = width.saturating_sub(number.width() + line.width() + 3);
    let name = shortened(name, room.max(20));
    let _ = writeln!(
        text,
        "{number} {}  {}",
        Styled(HEADING, name),
        Styled(DIM, line)
    );
}

/// A variable of the start state: on one line if it fits, else a line for each part.
fn variable(text: &mut String, model: &Model, id: TypeId, value: &Value, name: &str, width: usize) {
    let whole = compact(&model.types, id, value);
    let room = width.saturating_sub(name.width() + 7);
    let parts = match value {
        Value::Parts(parts) if whole.width() > room => parts,
        _ => {
            let _ = writeln!(text, "     {name}: {}", shortened(&whole, room.max(20)));
            return;
        }
    };
    let names: Vec<(String, TypeId)> = match &model.types[id].kind {
        TypeKind::Record(fields) => fields
            .iter()
            .map(|field| (format!("{name}.{}", field.name), field.type_id))
            .collect(),
        TypeKind::Array { index, element } => keys(&model.types, *index)
            .map(|key| {
                (
                    format!("{name}[{}]", model.types.show(*index, key)),
                    *element,
                )
            })
            .collect(),
        _ => Vec::new(),
    };
    for (number, (part, (name, id))) in parts.iter().zip(names).enumerate() {
        if number == MAX_LINES {
            let more = grouped((parts.len() - number) as u64);
            let _ = writeln!(text, "     … and {more} more of {name}");
            break;
        }
        let shown = compact(&model.types, id, part);
        let room = width.saturating_sub(name.width() + 7).max(20);
        let _ = writeln!(text, "     {name}: {}", shortened(&shown, room));
    }
}

/// The changes of a step.
fn changed(text: &mut String, model: &Model, before: &[Value], after: &[Value], width: usize) {
    let found = changes(model, before, after);
    if found.is_empty() {
        let _ = writeln!(text, "     {}", Styled(DIM, "changes nothing"));
    }
    let mut lines = 0;
    for (number, change) in found.iter().enumerate() {
        let name = change.place().name(model);
        for line in change.lines(model) {
            let room = width.saturating_sub(name.width() + 7).max(20);
            let _ = writeln!(text, "     {name}: {}", shortened(&line, room));
            lines += 1;
        }
        if lines >= MAX_LINES && number + 1 < found.len() {
            let more = grouped((found.len() - number - 1) as u64);
            let _ = writeln!(text, "     … and {more} more changes");
            break;
        }
    }
}
