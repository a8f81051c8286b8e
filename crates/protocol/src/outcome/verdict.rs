//! The verdict of a search.

use super::fault::Fault;
use crate::model::points::PointId;
use crate::model::{Binding, Model};

/// A rule, start state or property with the values of its parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instance {
    /// Its index among those of its kind.
    pub index: usize,
    /// The values of its parameters, outermost first; for `choose` the index of the element.
    pub parameters: Vec<i64>,
}

/// Where a fault happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FaultContext {
    /// In a start state.
    Startstate(Instance),
    /// In the guard of a rule, or in an alias around it.
    Guard(usize),
    /// In the body of a rule.
    Rule(Instance),
    /// In a property.
    Property(usize),
}

/// The verdict of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// All states were explored, and none has an error.
    NoError,
    /// An invariant does not hold in the last state of the trace.
    InvariantFailed(Instance),
    /// The last state of the trace, or the step after it, has an error.
    Fault {
        /// The fault.
        fault: Fault,
        /// Where it happened.
        at: FaultContext,
    },
    /// No rule leads from the last state of the trace to another state.
    Deadlock,
    /// All states were explored, and this cover was never true.
    CoverMissed(PointId),
    /// The search stopped at a bound, and found no error before.
    Incomplete(Bound),
}

/// The bound at which a search stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// The number of states.
    States,
    /// The time.
    Time,
    /// The depth: states farther away were not explored.
    Depth,
    /// The memory.
    Memory,
    /// The caller stopped it.
    Stopped,
    /// The number of random walks.
    Walks,
    /// The number of permutations of scalarsets.
    Permutations,
}

impl Verdict {
    /// The verdict in one line.
    pub fn describe(&self, model: &Model) -> String {
        match self {
            Verdict::NoError => "no error".into(),
            Verdict::InvariantFailed(instance) => {
                let name = model.property_name(instance.index);
                let bindings = &model.properties[instance.index].bindings;
                let values = show_parameters(model, bindings, &instance.parameters, |slot| {
                    let slots = &model.properties[instance.index].frame.slots;
                    slots[slot].name.clone()
                });
                format!("invariant failed: {name}{values}")
            }
            Verdict::Fault { fault, .. } => fault.describe(model),
            Verdict::Deadlock => "deadlock".into(),
            Verdict::CoverMissed(point) => {
                let point = &model.points[point.0 as usize];
                match &point.name {
                    Some(name) => format!("cover never true: {name}"),
                    None => {
                        let line = model.position(point.span).line;
                        format!("cover never true: line {line}")
                    }
                }
            }
            Verdict::Incomplete(bound) => match bound {
                Bound::States => "incomplete: too many states".into(),
                Bound::Time => "incomplete: out of time".into(),
                Bound::Depth => "incomplete: the depth bound was reached".into(),
                Bound::Memory => "incomplete: out of memory".into(),
                Bound::Stopped => "incomplete: stopped".into(),
                Bound::Walks => "incomplete: random walks only".into(),
                Bound::Permutations => "incomplete: too many permutations".into(),
            },
        }
    }
}

/// `, i:1, p:Proc_2`, as CMurphi shows parameters.
pub(super) fn show_parameters(
    model: &Model,
    bindings: &[Binding],
    parameters: &[i64],
    name: impl Fn(usize) -> String,
) -> String {
    use crate::model::code::Domain;
    let mut shown = String::new();
    let mut parameters = parameters.iter();
    for binding in bindings {
        let (slot, value) = match binding {
            Binding::Alias(_) => continue,
            Binding::Quantified {
                slot,
                domain: Domain::Type(id),
            } => {
                let value = parameters.next().copied().unwrap_or(0);
                (slot, model.types.show(*id, value))
            }
            Binding::Quantified { slot, .. } | Binding::Chosen { slot, .. } => {
                let value = parameters.next().copied().unwrap_or(0);
                (slot, value.to_string())
            }
        };
        shown += &format!(", {}:{value}", name(slot.0 as usize));
    }
    shown
}

impl Instance {
    /// The name of a rule with the values of its parameters.
    pub fn show_rule(&self, model: &Model) -> String {
        let rule = &model.rules[self.index];
        let name = |slot: usize| rule.frame.slots[slot].name.clone();
        let values = show_parameters(model, &rule.bindings, &self.parameters, name);
        format!("{}{values}", model.rule_name(self.index))
    }

    /// The name of a start state with the values of its parameters.
    pub fn show_startstate(&self, model: &Model) -> String {
        let startstate = &model.startstates[self.index];
        let name = |slot: usize| startstate.frame.slots[slot].name.clone();
        let values = show_parameters(model, &startstate.bindings, &self.parameters, name);
        format!("{}{values}", model.startstate_name(self.index))
    }
}
