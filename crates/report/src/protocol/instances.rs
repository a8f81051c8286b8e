//! Rules, start states and properties with the values of their parameters.

use fencepost_protocol::Model;
use fencepost_protocol::model::Binding;
use fencepost_protocol::model::code::{Domain, Expr, ExprKind, Frame, Root, SlotId, Step};
use fencepost_protocol::model::types::TypeKind;
use fencepost_protocol::outcome::Instance;
use fencepost_protocol::outcome::Value;

use super::values::compact;

/// A parameter and its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value as text. For `choose`, the element.
    pub value: String,
}

/// The parameters of a rule that fires in a state.
pub fn rule_parameters(model: &Model, rule: &Instance, state: &[Value]) -> Vec<Parameter> {
    let found = &model.rules[rule.index];
    parameters(model, &found.bindings, &found.frame, rule, Some(state))
}

/// The parameters of a start state.
pub fn startstate_parameters(model: &Model, startstate: &Instance) -> Vec<Parameter> {
    let found = &model.startstates[startstate.index];
    parameters(model, &found.bindings, &found.frame, startstate, None)
}

/// The parameters of a property.
pub(super) fn property_parameters(model: &Model, property: &Instance) -> Vec<Parameter> {
    let found = &model.properties[property.index];
    parameters(model, &found.bindings, &found.frame, property, None)
}

/// ` (p: Proc_1, q: Proc_2)`; nothing if there are none.
pub(crate) fn in_parentheses(parameters: &[Parameter]) -> String {
    let shown: Vec<String> = parameters
        .iter()
        .map(|parameter| format!("{}: {}", parameter.name, parameter.value))
        .collect();
    match shown.is_empty() {
        true => String::new(),
        false => format!(" ({})", shown.join(", ")),
    }
}

fn parameters(
    model: &Model,
    bindings: &[Binding],
    frame: &Frame,
    instance: &Instance,
    state: Option<&[Value]>,
) -> Vec<Parameter> {
    let mut values = instance.parameters.iter().copied();
    let mut bound: Vec<(SlotId, i64)> = Vec::new();
    let mut found = Vec::new();
    for binding in bindings {
        let (slot, value, shown) = match binding {
            Binding::Alias(_) => continue,
            Binding::Quantified { slot, domain } => {
                let value = values.next().unwrap_or(0);
                let shown = match domain {
                    Domain::Type(id) => model.types.show(*id, value),
                    _ => value.to_string(),
                };
                (*slot, value, shown)
            }
            Binding::Chosen { slot, multiset } => {
                let value = values.next().unwrap_or(0);
                let steps = match multiset.root {
                    Root::Global(id) => Some((id.0 as usize, multiset.steps.as_slice())),
                    Root::Slot(_) => None,
                };
                let element = state
                    .zip(steps)
                    .and_then(|(state, (global, steps))| part(state.get(global)?, steps, &bound))
                    .and_then(|multiset| match multiset {
                        Value::Elements(all) => all.get(usize::try_from(value).ok()?)?.as_ref(),
                        _ => None,
                    });
                let shown = match (element, &model.types[multiset.type_id].kind) {
                    (Some(element), TypeKind::Multiset { element: id, .. }) => {
                        compact(&model.types, *id, element)
                    }
                    _ => format!("element {value}"),
                };
                (*slot, value, shown)
            }
        };
        bound.push((slot, value));
        found.push(Parameter {
            name: frame.slots[slot.0 as usize].name.clone(),
            value: shown,
        });
    }
    found
}

/// The part that some selections lead to, if they depend on parameters only.
fn part<'v>(mut value: &'v Value, steps: &[Step], bound: &[(SlotId, i64)]) -> Option<&'v Value> {
    for step in steps {
        let number = match step {
            Step::Field(number) => *number as usize,
            Step::Index { index, low, .. } => {
                usize::try_from(known(index, bound)?.checked_sub(*low)?).ok()?
            }
            Step::Element(_) => return None,
        };
        value = match value {
            Value::Parts(parts) => parts.get(number)?,
            _ => return None,
        };
    }
    Some(value)
}

/// The value of an expression that is a constant or a parameter.
fn known(expr: &Expr, bound: &[(SlotId, i64)]) -> Option<i64> {
    match &expr.kind {
        ExprKind::Constant(value) => Some(*value),
        ExprKind::Slot(slot) => {
            let mut found = bound.iter().filter(|(each, _)| each == slot);
            found.next().map(|(_, value)| *value)
        }
        ExprKind::Convert { operand, table } => {
            let value = known(operand, bound)?;
            table.get(usize::try_from(value).ok()?).copied()
        }
        _ => None,
    }
}
