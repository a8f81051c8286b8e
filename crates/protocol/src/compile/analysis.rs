//! Static analysis of a model before it is compiled.

use crate::model::code::{
    Alias, AliasTarget, Argument, Call, Designator, Domain, Expr, ExprKind, Root, SlotId, SlotKind,
    Statement, StatementKind, Step,
};
use crate::model::walk::{self, Visitor};
use crate::model::{Binding, Model};

/// The result of the static analysis.
pub(super) struct Analysis {
    /// For each function, whether it may change anything but its own variables.
    pub writes: Vec<bool>,
    /// For each function and slot, whether what it refers to may be in an element of a multiset,
    /// which may go.
    pub in_element: Vec<Vec<bool>>,
}

impl Analysis {
    pub fn new(model: &Model) -> Analysis {
        let functions = &model.functions;
        let mut analysis = Analysis {
            writes: vec![false; functions.len()],
            in_element: functions
                .iter()
                .map(|function| vec![false; function.frame.slots.len()])
                .collect(),
        };
        // Functions are few and not recursive, so the fixed point is reached soon.
        while analysis.find_writes(model) {}
        while analysis.find_in_elements(model) {}
        analysis
    }

    fn find_writes(&mut self, model: &Model) -> bool {
        let mut is_changed = false;
        for (index, function) in model.functions.iter().enumerate() {
            let is_local = |slot: SlotId| {
                let kind = function.frame.slots[slot.0 as usize].kind;
                matches!(kind, SlotKind::Variable(_))
            };
            let mut finder = Writes {
                is_local: &is_local,
                of_functions: &self.writes,
                found: false,
            };
            walk::statements(&function.body, &mut finder);
            is_changed |= finder.found && !self.writes[index];
            self.writes[index] |= finder.found;
        }
        is_changed
    }

    fn find_in_elements(&mut self, model: &Model) -> bool {
        let mut passed = ElementArguments {
            here: Vec::new(),
            to: std::mem::take(&mut self.in_element),
            model,
            is_changed: false,
        };
        for rule in &model.rules {
            passed.enter(&rule.bindings, rule.frame.slots.len());
            if let Some(guard) = &rule.guard {
                walk::expr(guard, &mut passed);
            }
            walk::statements(&rule.body, &mut passed);
        }
        for startstate in &model.startstates {
            passed.enter(&startstate.bindings, startstate.frame.slots.len());
            walk::statements(&startstate.body, &mut passed);
        }
        for property in &model.properties {
            passed.enter(&property.bindings, property.frame.slots.len());
            walk::expr(&property.condition, &mut passed);
        }
        for (index, function) in model.functions.iter().enumerate() {
            passed.here.clone_from(&passed.to[index]);
            walk::statements(&function.body, &mut passed);
            // Aliases within the function are kept for when it is compiled.
            passed.to[index].clone_from(&passed.here);
        }
        self.in_element = passed.to;
        passed.is_changed
    }

    /// Whether an expression calls a function.
    pub fn calls(expr: &Expr) -> bool {
        let mut calls = Calls(false);
        walk::expr(expr, &mut calls);
        calls.0
    }

    /// Whether statements call a function.
    pub fn has_calls(body: &[Statement]) -> bool {
        let mut calls = Calls(false);
        walk::statements(body, &mut calls);
        calls.0
    }

    /// Whether evaluating may change the state.
    pub fn expr_writes(&self, expr: &Expr) -> bool {
        let mut finder = self.finder();
        walk::expr(expr, &mut finder);
        finder.found
    }

    /// Whether evaluating what a routine is within may change the state.
    pub fn bindings_write(&self, bindings: &[Binding]) -> bool {
        let mut finder = self.finder();
        walk::bindings(bindings, &mut finder);
        finder.found
    }

    fn finder(&self) -> Writes<'_> {
        Writes {
            is_local: &|_| false,
            of_functions: &self.writes,
            found: false,
        }
    }

    /// The slots that an expression uses.
    pub fn slots(expr: &Expr) -> Vec<SlotId> {
        struct Slots(Vec<SlotId>);
        impl Visitor for Slots {
            fn expr(&mut self, expr: &Expr) {
                if let ExprKind::Slot(slot) = expr.kind {
                    self.0.push(slot);
                }
            }
            fn place(&mut self, place: &Designator) {
                if let Root::Slot(slot) = place.root {
                    self.0.push(slot);
                }
                for step in &place.steps {
                    if let Step::Element(slot) = step {
                        self.0.push(*slot);
                    }
                }
            }
        }
        let mut slots = Slots(Vec::new());
        walk::expr(expr, &mut slots);
        slots.0
    }

    /// The approximate number of nodes that evaluating an expression visits at most.
    pub fn cost(model: &Model, expr: &Expr) -> u64 {
        let mut cost = Cost::new(model);
        cost.evaluated(expr);
        cost.total
    }

    /// The approximate number of nodes that executing statements visits at most.
    pub fn body_cost(model: &Model, body: &[Statement]) -> u64 {
        let mut cost = Cost::new(model);
        cost.body(body);
        cost.total
    }

    /// The number of values of a domain; a large number if unknown.
    pub fn domain_size(model: &Model, domain: &Domain) -> u64 {
        match domain {
            Domain::Type(id) => {
                let many = model.types[*id].cardinality().unwrap_or(0);
                u64::try_from(many).unwrap_or(u64::MAX)
            }
            Domain::Steps { from, to, by } => {
                let distance = match by > &0 {
                    true => i128::from(*to) - i128::from(*from),
                    false => i128::from(*from) - i128::from(*to),
                };
                match distance < 0 {
                    true => 0,
                    false => {
                        let many = distance as u128 / u128::from(by.unsigned_abs()) + 1;
                        u64::try_from(many).unwrap_or(u64::MAX)
                    }
                }
            }
            Domain::Computed { .. } => u64::MAX,
        }
    }
}

struct Calls(bool);

impl Visitor for Calls {
    fn call(&mut self, _: &Call) {
        self.0 = true;
    }
}

struct Writes<'a> {
    is_local: &'a dyn Fn(SlotId) -> bool,
    of_functions: &'a [bool],
    found: bool,
}

impl Visitor for Writes<'_> {
    fn written(&mut self, place: &Designator) {
        self.found |= match place.root {
            Root::Global(_) => true,
            Root::Slot(slot) => !(self.is_local)(slot),
        };
    }

    fn call(&mut self, call: &Call) {
        self.found |= self.of_functions[call.function.0 as usize];
    }
}

/// Which references that are passed or bound may be in elements of multisets.
struct ElementArguments<'m> {
    here: Vec<bool>,
    to: Vec<Vec<bool>>,
    model: &'m Model,
    is_changed: bool,
}

impl ElementArguments<'_> {
    fn enter(&mut self, bindings: &[Binding], slots: usize) {
        self.here.clear();
        self.here.resize(slots, false);
        walk::bindings(bindings, self);
    }
}

/// Whether a place may be in an element of a multiset.
pub(super) fn is_in_element(place: &Designator, of_slots: &[bool]) -> bool {
    let of_root = match place.root {
        Root::Global(_) => false,
        Root::Slot(slot) => of_slots[slot.0 as usize],
    };
    of_root
        || place
            .steps
            .iter()
            .any(|step| matches!(step, Step::Element(_)))
}

impl Visitor for ElementArguments<'_> {
    fn alias(&mut self, alias: &Alias) {
        if let AliasTarget::Designator(place) = &alias.meaning {
            let is_in_element = is_in_element(place, &self.here);
            self.here[alias.slot.0 as usize] |= is_in_element;
        }
    }

    fn call(&mut self, call: &Call) {
        let function = &self.model.functions[call.function.0 as usize];
        let to = &mut self.to[call.function.0 as usize];
        for (argument, parameter) in call.arguments.iter().zip(&function.parameters) {
            if let Argument::Reference(place) = argument
                && is_in_element(place, &self.here)
                && !to[parameter.slot.0 as usize]
            {
                to[parameter.slot.0 as usize] = true;
                self.is_changed = true;
            }
        }
    }
}

/// Adds up the visited nodes, with the bodies of loops as often as they iterate.
struct Cost<'m> {
    model: &'m Model,
    total: u64,
    depth: u32,
}

impl<'m> Cost<'m> {
    fn new(model: &'m Model) -> Self {
        Cost {
            model,
            total: 0,
            depth: 0,
        }
    }

    fn add(&mut self, more: u64) {
        self.total = self.total.saturating_add(more);
    }

    fn times(&mut self, times: u64, run: impl FnOnce(&mut Self)) {
        let before = std::mem::take(&mut self.total);
        run(self);
        self.total = self
            .total
            .saturating_mul(times.max(1))
            .saturating_add(before);
    }

    fn evaluated(&mut self, expr: &Expr) {
        walk::expr(expr, self);
    }

    fn quantified(&mut self, times: u64, body: &Expr) {
        // The body is visited once more besides, so what is deep would be visited very often.
        self.depth += 1;
        match self.depth > DEEP {
            true => self.add(MUCH),
            false => self.times(times, |cost| cost.evaluated(body)),
        }
        self.depth -= 1;
    }

    fn called(&mut self, call: &Call) {
        self.depth += 1;
        match self.depth > DEEP {
            true => self.add(MUCH),
            false => self.body(&self.model.functions[call.function.0 as usize].body),
        }
        self.depth -= 1;
    }

    fn body(&mut self, body: &[Statement]) {
        for statement in body {
            if self.total > MUCH {
                return;
            }
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        self.add(1);
        match &statement.kind {
            StatementKind::For { domain, body, .. } => {
                let times = Analysis::domain_size(self.model, domain);
                self.times(times, |cost| cost.body(body));
            }
            StatementKind::While { .. } => self.add(MUCH),
            StatementKind::If { branches } => {
                for branch in branches {
                    if let Some(test) = &branch.test {
                        self.evaluated(test);
                    }
                    self.body(&branch.body);
                }
            }
            StatementKind::Switch {
                subject,
                arms,
                otherwise,
            } => {
                self.evaluated(subject);
                arms.iter().for_each(|arm| self.body(&arm.body));
                if let Some((_, body)) = otherwise {
                    self.body(body);
                }
            }
            StatementKind::Alias { body, .. } => self.body(body),
            _ => walk::statements(std::slice::from_ref(statement), self),
        }
    }
}

impl Visitor for Cost<'_> {
    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Quantified { domain, body, .. } => {
                self.quantified(Analysis::domain_size(self.model, domain), body);
            }
            ExprKind::MultisetCount {
                condition,
                multiset,
                ..
            } => self.quantified(self.model.types[multiset.type_id].cells, condition),
            _ => self.add(1),
        }
    }

    fn call(&mut self, call: &Call) {
        self.called(call);
    }
}

/// Larger costs are not computed exactly.
pub(super) const MUCH: u64 = 1 << 12;

/// Deeper nesting counts as the maximal cost.
const DEEP: u32 = 8;
