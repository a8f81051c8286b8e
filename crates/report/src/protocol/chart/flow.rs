//! The contents of a chart: messages with their sending and receiving, and the changes at nodes.

use fencepost_protocol::Model;
use fencepost_protocol::model::types::TypeKind;
use fencepost_protocol::outcome::Trace;
use fencepost_protocol::outcome::Value;

use super::super::changes::{Change, StatePart, changes};
use super::super::instances::{in_parentheses, rule_parameters, startstate_parameters};
use super::super::values::{compact, is_blank};
use super::MAX_STEPS;
use super::nodes::{HOME, Nodes, nodes};
use super::senders::home_rules;
use super::sites::{Present, Site, is_in_message, present, sites};

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The kind of message.
    pub label: String,
    /// The other fields.
    pub details: String,
    /// The sender.
    pub from: String,
    /// The receiver.
    pub to: String,
    /// In which row it was sent; 0 if it was there at the start.
    pub sent: usize,
    /// In which row it was received, if it was.
    pub received: Option<usize>,
}

/// The changes of a step at a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The node; nothing for what belongs to none.
    pub node: Option<String>,
    /// A line for each change.
    pub lines: Vec<String>,
}

/// A row of the chart: the start, or a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// `start`, or the number of the step.
    pub number: String,
    /// The rule with its parameters.
    pub name: String,
    /// The changes of the step.
    pub notes: Vec<Note>,
    /// Whether the rule failed, so that nothing changed.
    pub has_failed: bool,
}

/// The contents of a chart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flow {
    /// The columns: names of nodes, and their titles.
    pub columns: Vec<(String, String)>,
    /// Whether there is another column for what belongs to no node.
    pub has_shared_column: bool,
    /// Time.
    pub rows: Vec<Row>,
    /// The messages, in the order in which they were sent.
    pub messages: Vec<Message>,
    /// The number of omitted steps at the beginning.
    pub left_out: usize,
}

/// The contents of the chart of a trace.
pub fn flow(model: &Model, trace: &Trace) -> Flow {
    let sites = sites(model);
    let nodes = nodes(model, &sites);
    let left_out = trace.steps.len().saturating_sub(MAX_STEPS);
    let first = match left_out {
        0 => &trace.first,
        _ => &trace.steps[left_out - 1].state,
    };
    let mut follower = Follower {
        model,
        home_rules: home_rules(model),
        sites,
        nodes,
        rows: Vec::new(),
        messages: Vec::new(),
        waiting: Vec::new(),
    };
    follower.start(trace, first, left_out);
    let mut before = first;
    for (number, step) in trace.steps.iter().enumerate().skip(left_out) {
        let parameters = in_parentheses(&short(rule_parameters(model, &step.rule, before)));
        let name = format!("{}{parameters}", model.rule_name(step.rule.index));
        follower.step(number + 1, name, step.rule.index, before, &step.state);
        before = &step.state;
    }
    if let Some(failed) = &trace.failed {
        let parameters = in_parentheses(&short(rule_parameters(model, failed, before)));
        follower.rows.push(Row {
            number: (trace.steps.len() + 1).to_string(),
            name: format!("{}{parameters}", model.rule_name(failed.index)),
            notes: Vec::new(),
            has_failed: true,
        });
    }
    follower.finish(left_out)
}

/// Without messages: an arrow shows those.
fn short(parameters: Vec<super::super::Parameter>) -> Vec<super::super::Parameter> {
    let is_short = |each: &super::super::Parameter| !each.value.contains(['{', '[']);
    parameters.into_iter().filter(is_short).collect()
}

struct Follower<'m, 'v> {
    model: &'m Model,
    sites: Vec<Site>,
    nodes: Nodes,
    home_rules: Vec<bool>,
    rows: Vec<Row>,
    messages: Vec<Message>,
    /// The messages under way, each with its number.
    waiting: Vec<(Present<'v>, usize)>,
}

impl<'v> Follower<'_, 'v> {
    /// The first row shows the initial values that change later, and the initial messages.
    fn start(&mut self, trace: &Trace, first: &'v [Value], left_out: usize) {
        let mut changing: Vec<StatePart> = Vec::new();
        let mut before = first;
        let mut lines = Vec::new();
        for step in trace.steps.iter().skip(left_out) {
            for change in changes(self.model, before, &step.state) {
                let Change::Value { place, type_id, .. } = &change else {
                    continue;
                };
                if changing.contains(place) || is_in_message(self.model, &self.sites, place) {
                    continue;
                }
                changing.push(place.clone());
                if let Some(value) = place.find(self.model, first) {
                    if !is_blank(value) {
                        let (node, name) = self.nodes.owner(self.model, place);
                        let shown = compact(&self.model.types, *type_id, value);
                        lines.push((place.clone(), node, format!("{name}: {shown}")));
                    }
                }
            }
            before = &step.state;
        }
        lines.sort_by_key(|(place, _, _)| place.global);
        let mut notes = Vec::new();
        for (_, node, line) in lines {
            add_line(&mut notes, node, line);
        }
        let parameters = in_parentheses(&startstate_parameters(self.model, &trace.start));
        let name = self.model.startstate_name(trace.start.index);
        let (number, name) = match left_out {
            0 => ("start".to_owned(), format!("{name}{parameters}")),
            _ => (
                format!("after {left_out}"),
                "steps that are left out".to_owned(),
            ),
        };
        self.rows.push(Row {
            number,
            name,
            notes,
            has_failed: false,
        });
        for present in present(self.model, &self.sites, first) {
            self.send(present, None, 0);
        }
    }

    fn step(
        &mut self,
        number: usize,
        name: String,
        rule: usize,
        before: &'v [Value],
        after: &'v [Value],
    ) {
        let row = self.rows.len();
        let mut notes = Vec::new();
        for change in changes(self.model, before, after) {
            if is_in_message(self.model, &self.sites, change.place()) {
                continue;
            }
            let (node, name) = self.nodes.owner(self.model, change.place());
            for line in self.note_lines(&change, &name) {
                add_line(&mut notes, node.clone(), line);
            }
        }
        self.rows.push(Row {
            number: number.to_string(),
            name,
            notes,
            has_failed: false,
        });
        let mut arrived = present(self.model, &self.sites, after);
        let waiting = std::mem::take(&mut self.waiting);
        for (present, message) in waiting {
            match arrived.iter().position(|other| *other == present) {
                Some(at) => {
                    arrived.remove(at);
                    self.waiting.push((present, message));
                }
                None => self.messages[message].received = Some(row),
            }
        }
        for present in arrived {
            self.send(present, Some(rule), row);
        }
    }

    fn note_lines(&self, change: &Change<'_>, name: &str) -> Vec<String> {
        match change {
            Change::Value {
                type_id,
                before,
                after,
                ..
            } => {
                let show = |value| compact(&self.model.types, *type_id, value);
                vec![match (is_blank(before), is_blank(after)) {
                    (true, _) => format!("{name} := {}", show(after)),
                    (_, true) => format!("{name}: {} → –", show(before)),
                    _ => format!("{name}: {} → {}", show(before), show(after)),
                }]
            }
            Change::Bag { .. } => {
                let lines = change.lines(self.model).into_iter();
                lines.map(|line| format!("{name} {line}")).collect()
            }
        }
    }

    fn end(&self, present: &Present<'_>, field: Option<usize>) -> Option<String> {
        let site = &self.sites[present.site];
        let (Some(field), Value::Parts(parts)) = (field, present.value) else {
            return None;
        };
        match (&parts[field], &self.model.types[site.record].kind) {
            (Value::Simple(value), TypeKind::Record(fields)) => {
                Some(self.model.types.show(fields[field].type_id, *value))
            }
            _ => None,
        }
    }

    fn owner(&self, present: &Present<'_>) -> Option<String> {
        let owner = self.sites[present.site].owner_type()?;
        Some(self.model.types.show(owner, present.owner?))
    }

    fn sender(&self, present: &Present<'_>) -> Option<String> {
        let sender = self.sites[present.site].sender_type()?;
        Some(self.model.types.show(sender, present.sender?))
    }

    /// A message that was not there before. `rule` is nothing at the start.
    fn send(&mut self, present: Present<'v>, rule: Option<usize>, row: usize) {
        let site = &self.sites[present.site];
        let (source, destination) = (site.source, site.destination);
        let home = || self.nodes.home.clone().unwrap_or_else(|| HOME.to_owned());
        let owner = || self.owner(&present).unwrap_or_else(home);
        let (from, to) = match (source, destination) {
            (None, None) if site.sender.is_some() => {
                (self.sender(&present).unwrap_or_else(home), owner())
            }
            (None, None) => match rule.is_some_and(|rule| self.home_rules[rule]) {
                true => (home(), owner()),
                false => (owner(), home()),
            },
            _ => (
                self.end(&present, source).unwrap_or_else(owner),
                self.end(&present, destination).unwrap_or_else(owner),
            ),
        };
        let (label, details) = self.describe(&present);
        self.waiting.push((present, self.messages.len()));
        self.messages.push(Message {
            label,
            details,
            from,
            to,
            sent: row,
            received: None,
        });
    }

    /// The kind of a message, and its other fields.
    fn describe(&self, present: &Present<'_>) -> (String, String) {
        let site = &self.sites[present.site];
        let types = &self.model.types;
        let (TypeKind::Record(fields), Value::Parts(parts)) =
            (&types[site.record].kind, present.value)
        else {
            return (String::new(), String::new());
        };
        let (mut label, mut details) = (String::new(), Vec::new());
        for (number, (field, part)) in fields.iter().zip(parts).enumerate() {
            let number = Some(number);
            if is_blank(part) || number == site.source || number == site.destination {
                continue;
            }
            let shown = compact(types, field.type_id, part);
            match number == site.kind {
                true => label = shown,
                false => details.push(format!("{}: {shown}", field.name)),
            }
        }
        if label.is_empty() && !details.is_empty() {
            label = details.remove(0);
        }
        (label, details.join(", "))
    }

    fn finish(self, left_out: usize) -> Flow {
        let notes = || self.rows.iter().flat_map(|row| &row.notes);
        let mut names = self.nodes.names(self.model);
        let mut used: Vec<&String> = notes().filter_map(|note| note.node.as_ref()).collect();
        for message in &self.messages {
            used.extend([&message.from, &message.to]);
        }
        for name in &used {
            if !names.contains(name) {
                names.push((*name).clone());
            }
        }
        names.retain(|name| used.contains(&name));
        let columns = names.into_iter().map(|name| {
            let title = self.nodes.title(self.model, &name);
            (name, title)
        });
        Flow {
            columns: columns.collect(),
            has_shared_column: notes().any(|note| note.node.is_none()),
            rows: self.rows,
            messages: self.messages,
            left_out,
        }
    }
}

/// Adds a line to the note of a node.
fn add_line(notes: &mut Vec<Note>, node: Option<String>, line: String) {
    match notes.iter_mut().find(|note| note.node == node) {
        Some(note) => note.lines.push(line),
        None => notes.push(Note {
            node,
            lines: vec![line],
        }),
    }
}
