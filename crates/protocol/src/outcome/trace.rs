//! Paths to a state.

use super::value::Value;
use super::verdict::Instance;
use crate::model::Model;

/// A path of rules from a start state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// The start state.
    pub start: Instance,
    /// The first state.
    pub first: Vec<Value>,
    /// The rules fired, with the states after them.
    pub steps: Vec<Step>,
    /// The rule that failed in the last state, if a rule failed.
    pub failed: Option<Instance>,
}

/// A rule that fires.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The rule.
    pub rule: Instance,
    /// The state after it.
    pub state: Vec<Value>,
}

impl Trace {
    /// The trace as text: the first state in full, then the changes of each step.
    pub fn render(&self, model: &Model) -> String {
        let mut text = format!("start: {}\n", self.start.show_startstate(model));
        let mut before = show(model, &self.first);
        for (name, value) in &before {
            text += &format!("  {name}: {value}\n");
        }
        for step in &self.steps {
            text += &format!("rule: {}\n", step.rule.show_rule(model));
            let after = show(model, &step.state);
            for (name, value) in &after {
                let same = before.iter().any(|(n, v)| n == name && v == value);
                if !same {
                    text += &format!("  {name}: {value}\n");
                }
            }
            for (name, _) in &before {
                if !after.iter().any(|(n, _)| n == name) {
                    text += &format!("  {name} is gone\n");
                }
            }
            before = after;
        }
        if let Some(failed) = &self.failed {
            text += &format!("rule: {}\n", failed.show_rule(model));
        }
        text
    }
}

/// The names and values of all simple places.
fn show(model: &Model, state: &[Value]) -> Vec<(String, String)> {
    let mut shown = Vec::new();
    for (value, global) in state.iter().zip(&model.globals) {
        let mut visit = |name: &str, value| shown.push((name.to_owned(), value));
        value.visit(&model.types, global.type_id, &global.name, &mut visit);
    }
    shown
}
