//! Recognises the rules of the home node.
//!
//! Where a channel has no addresses, a message in it may come from the node or from home. A rule
//! that uses a variable that belongs to no node is home's; a rule that uses only what is indexed by
//! nodes is that of a node.

use fencepost_protocol::Model;
use fencepost_protocol::model::FunctionId;
use fencepost_protocol::model::code::{Call, Designator, Root, Statement, StatementKind};
use fencepost_protocol::model::types::TypeKind;
use fencepost_protocol::model::walk::{self, Visitor};

/// For each rule, whether it uses a variable of the state that is no array.
pub(super) fn home_rules(model: &Model) -> Vec<bool> {
    let rules = model.rules.iter();
    rules
        .map(|rule| {
            let mut search = Search {
                model,
                entered: Vec::new(),
                found: false,
            };
            walk::bindings(&rule.bindings, &mut search);
            if let Some(guard) = &rule.guard {
                walk::expr(guard, &mut search);
            }
            walk::statements(&rule.body, &mut search);
            search.found
        })
        .collect()
}

struct Search<'m> {
    model: &'m Model,
    entered: Vec<FunctionId>,
    found: bool,
}

impl Visitor for Search<'_> {
    fn place(&mut self, place: &Designator) {
        if let Root::Global(id) = place.root {
            let global = &self.model.globals[id.0 as usize];
            let kind = &self.model.types[global.type_id].kind;
            self.found |= !matches!(kind, TypeKind::Array { .. } | TypeKind::Multiset { .. });
        }
    }

    fn call(&mut self, call: &Call) {
        if !self.entered.contains(&call.function) {
            self.entered.push(call.function);
            let model = self.model;
            walk::statements(&model.functions[call.function.0 as usize].body, self);
        }
    }

    /// Assertions, covers and output do not tell whose rule it is: models assert about
    /// ghost variables everywhere.
    fn leaves_out(&self, statement: &Statement) -> bool {
        matches!(
            statement.kind,
            StatementKind::Assert { .. } | StatementKind::Cover { .. } | StatementKind::Put(_)
        )
    }
}
