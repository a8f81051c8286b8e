//! Entry points: rules, start states and properties; and functions.

use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_module::FuncId;

use super::analysis::Analysis;
use super::context::{field, status};
use super::routine::{Address, FaultCode, Returned, Routine, SlotHome, ValueRange, flags};
use super::unit::Unit;
use crate::model::code::{AliasTarget, Designator, Domain, Expr, ExprKind, Root, SlotId, Step};
use crate::model::{Binding, Function, Property, Rule, Startstate};
use crate::search::SearchError;

/// Routines get the state, the context and the parameters of the instance.
const PARAMETERS: usize = 3;

impl Unit<'_> {
    /// Declares and compiles the functions of the model.
    pub fn compile_functions(&mut self) -> Result<(), SearchError> {
        for (index, function) in self.model.functions.iter().enumerate() {
            let id = self.declare(self.function_parameters(index, function), 2)?;
            self.functions.push(id);
        }
        for (index, function) in self.model.functions.iter().enumerate() {
            let parameters = self.function_parameters(index, function);
            let in_element = self.analysis.in_element[index].clone();
            self.define(self.functions[index], parameters, 2, |routine| {
                routine.function(function, &in_element);
            })?;
        }
        Ok(())
    }

    fn function_parameters(&self, index: usize, function: &Function) -> usize {
        let flags = function
            .parameters
            .iter()
            .filter(|parameter| self.analysis.in_element[index][parameter.slot.0 as usize]);
        2 + function.parameters.len() + flags.count()
    }

    pub fn compile_scan(&mut self, index: usize, rule: &Rule) -> Result<FuncId, SearchError> {
        let id = self.declare(PARAMETERS, 1)?;
        self.define(id, PARAMETERS, 1, |routine| routine.scan(index, rule))?;
        Ok(id)
    }

    pub fn compile_fire(&mut self, rule: &Rule) -> Result<FuncId, SearchError> {
        let id = self.declare(PARAMETERS, 1)?;
        self.define(id, PARAMETERS, 1, |routine| {
            routine.open(&rule.frame, None);
            routine.take_parameters(&rule.bindings);
            if routine.statements(&rule.body) {
                routine.leave(status::DONE, None);
            }
        })?;
        Ok(id)
    }

    pub fn compile_start(&mut self, startstate: &Startstate) -> Result<FuncId, SearchError> {
        let id = self.declare(PARAMETERS, 1)?;
        self.define(id, PARAMETERS, 1, |routine| {
            routine.open(&startstate.frame, None);
            routine.take_parameters(&startstate.bindings);
            if routine.statements(&startstate.body) {
                routine.leave(status::DONE, None);
            }
        })?;
        Ok(id)
    }

    pub fn compile_property(&mut self, property: &Property) -> Result<FuncId, SearchError> {
        let id = self.declare(PARAMETERS, 1)?;
        self.define(id, PARAMETERS, 1, |routine| routine.property(property))?;
        Ok(id)
    }
}

impl<'u, 'm, 'f> Routine<'u, 'm, 'f> {
    fn function(&mut self, function: &Function, in_element: &[bool]) {
        let passed = std::mem::take(&mut self.passed);
        self.result = Some(match function.result {
            None => Returned::Nothing,
            Some(id) if self.unit.model.types[id].is_simple() => Returned::Simple(id),
            Some(id) => Returned::Memory(id, self.unit.reserve(id)),
        });
        self.open(&function.frame, Some(in_element));
        if Analysis::has_calls(&function.body) {
            // Calls of calls are as long as loops.
            self.spend();
        }
        let mut passed = passed.into_iter();
        for parameter in &function.parameters {
            if let SlotHome::Reference(pointer, flag) = self.slots[parameter.slot.0 as usize] {
                if let Some(value) = passed.next() {
                    self.b.def_var(pointer, value);
                }
                if let Some(flag) = flag
                    && let Some(value) = passed.next()
                {
                    self.b.def_var(flag, value);
                }
            }
        }
        if self.statements(&function.body) {
            match function.result {
                None => self.leave(status::DONE, None),
                Some(_) => {
                    let fault = self.fault(FaultCode::MissingReturn, function.span);
                    self.go(fault);
                }
            }
        }
    }

    /// Binds the parameters of an instance.
    fn take_parameters(&mut self, bindings: &[Binding]) {
        let parameters = self.passed[0];
        let mut offset = 0;
        for binding in bindings {
            let (slot, known) = match binding {
                Binding::Alias(alias) => {
                    self.bind(alias);
                    continue;
                }
                Binding::Quantified { slot, domain } => (*slot, self.known_domain(domain)),
                Binding::Chosen { slot, multiset } => {
                    let length = self.unit.layout.shape(multiset.type_id).length;
                    (*slot, ValueRange::within(0, i64::from(length) - 1))
                }
            };
            let value = self.b.ins().load(I64, flags(), parameters, offset);
            self.hold(slot, value, known);
            offset += 8;
        }
    }

    fn known_domain(&self, domain: &Domain) -> ValueRange {
        match domain {
            Domain::Type(id) => {
                let (low, high) = self.unit.model.types[*id].bounds().unwrap_or((0, 0));
                ValueRange::within(low, high)
            }
            Domain::Steps { from, to, .. } => ValueRange::within(*from.min(to), *from.max(to)),
            Domain::Computed { .. } => ValueRange::within(i64::MIN, i64::MAX),
        }
    }

    /// Finds all instances of a rule that are enabled.
    fn scan(&mut self, index: usize, rule: &Rule) {
        self.open(&rule.frame, None);
        let mut conjuncts = Vec::new();
        if let Some(guard) = &rule.guard {
            flatten(guard, &mut conjuncts);
        }
        let writes = self.unit.analysis.bindings_write(&rule.bindings)
            || conjuncts
                .iter()
                .any(|conjunct| self.unit.analysis.expr_writes(conjunct));
        let levels = match writes {
            true => vec![rule.bindings.len(); conjuncts.len()],
            false => levels(self, rule, &conjuncts),
        };
        let cost = conjuncts.iter().fold(1_u64, |cost, conjunct| {
            cost.saturating_add(Analysis::cost(self.unit.model, conjunct))
        });
        let scan = Scan {
            index,
            rule,
            conjuncts,
            levels,
            writes,
            cost,
        };
        let on = self.block();
        self.scan_level(&scan, 0, on);
        self.at(on);
        if writes {
            // An alias may have changed the state, and no instance followed.
            self.restore();
        }
        self.leave(status::DONE, None);
    }

    /// Tests what can be tested now, binds one more parameter, and continues; ends by going to
    /// `next`.
    fn scan_level(&mut self, scan: &Scan<'_>, level: usize, next: cranelift_codegen::ir::Block) {
        let is_innermost = level == scan.rule.bindings.len();
        let refused = match scan.writes && is_innermost {
            true => self.block(),
            false => next,
        };
        for (conjunct, &at) in scan.conjuncts.iter().zip(&scan.levels) {
            if at == level {
                let on = self.block();
                self.branch(conjunct, on, refused);
                self.at(on);
            }
        }
        let Some(binding) = scan.rule.bindings.get(level) else {
            if scan.writes {
                self.restore();
            }
            self.push(scan);
            self.go(next);
            if scan.writes {
                self.at(refused);
                self.restore();
                self.go(next);
            }
            return;
        };
        match binding {
            Binding::Alias(alias) => {
                self.bind(alias);
                self.scan_level(scan, level + 1, next);
            }
            Binding::Quantified { slot, domain } => {
                let inner = &scan.rule.bindings[level..];
                let rounds = inner.iter().fold(1_u64, |rounds, binding| match binding {
                    Binding::Quantified { domain, .. } => {
                        rounds.saturating_mul(Analysis::domain_size(self.unit.model, domain))
                    }
                    _ => rounds,
                });
                let cost = scan.cost.saturating_mul(rounds);
                self.each_value(domain, *slot, cost, None, &mut |routine, next| {
                    routine.scan_level(scan, level + 1, next);
                });
                self.go(next);
            }
            Binding::Chosen { slot, multiset } => {
                self.each_element(multiset, *slot, scan.writes, &mut |routine, next| {
                    routine.scan_level(scan, level + 1, next);
                });
                self.go(next);
            }
        }
    }

    /// Restores the state after a guard that changed it.
    fn restore(&mut self) {
        let context = self.context;
        let base = self.b.ins().load(I64, flags(), context, field::SAVED);
        let from = Address::at(base);
        let to = Address::at(self.state);
        let bytes = self.unit.layout.bytes as u32;
        self.copy(to, from, bytes);
    }

    /// Records an enabled instance.
    fn push(&mut self, scan: &Scan<'_>) {
        let parameters: Vec<SlotId> = parameter_slots(&scan.rule.bindings).collect();
        let bytes = 8 * (1 + parameters.len() as i64);
        let (room, full, write) = (self.block(), self.block(), self.block());
        self.b.set_cold_block(full);
        self.go(room);
        self.at(room);
        let context = self.context;
        let cursor = self.b.ins().load(I64, flags(), context, field::CURSOR);
        let end = self.b.ins().load(I64, flags(), context, field::END);
        let after = self.add(cursor, bytes);
        let is_full = self.b.ins().icmp(IntCC::UnsignedGreaterThan, after, end);
        self.choose(is_full, full, write);
        self.at(full);
        let grown = self.call_helper(self.unit.helpers.grow, &[context]);
        if let Some(status) = grown {
            self.leave_unless_done(status);
        }
        self.go(room);
        self.at(write);
        let index = self.int(scan.index as i64);
        self.b.ins().store(flags(), index, cursor, 0);
        for (number, slot) in (1..).zip(parameters) {
            let value = self.value_of(slot);
            self.b.ins().store(flags(), value, cursor, 8 * number);
        }
        self.b.ins().store(flags(), after, context, field::CURSOR);
    }

    /// Whether a property is true of all its instances, each of which is evaluated.
    fn property(&mut self, property: &Property) {
        self.open(&property.frame, None);
        let holds = self.b.declare_var(I64);
        let yes = self.int(status::TRUE);
        self.b.def_var(holds, yes);
        let on = self.block();
        self.property_level(property, 0, holds, on);
        self.at(on);
        let holds = self.b.use_var(holds);
        self.leave_with(holds, None);
    }

    fn property_level(
        &mut self,
        property: &Property,
        level: usize,
        holds: cranelift_frontend::Variable,
        next: cranelift_codegen::ir::Block,
    ) {
        let Some(binding) = property.bindings.get(level) else {
            let (yes, no) = (self.block(), self.block());
            self.branch(&property.condition, yes, no);
            self.at(yes);
            self.hit(property.point);
            self.go(next);
            self.at(no);
            let done = self.int(status::DONE);
            self.b.def_var(holds, done);
            self.go(next);
            return;
        };
        match binding {
            Binding::Alias(alias) => {
                self.bind(alias);
                self.property_level(property, level + 1, holds, next);
            }
            Binding::Quantified { slot, domain } => {
                // Properties with very many instances can be stopped.
                let cost = Analysis::domain_size(self.unit.model, domain)
                    .saturating_mul(Analysis::cost(self.unit.model, &property.condition));
                self.each_value(domain, *slot, cost, None, &mut |routine, next| {
                    routine.property_level(property, level + 1, holds, next);
                });
                self.go(next);
            }
            Binding::Chosen { slot, multiset } => {
                self.each_element(multiset, *slot, true, &mut |routine, next| {
                    routine.property_level(property, level + 1, holds, next);
                });
                self.go(next);
            }
        }
    }
}

/// The scan for the enabled instances of a rule.
struct Scan<'a> {
    index: usize,
    rule: &'a Rule,
    conjuncts: Vec<&'a Expr>,
    /// After how many bindings each conjunct is tested.
    levels: Vec<usize>,
    /// Whether the guard may change the state.
    writes: bool,
    cost: u64,
}

fn flatten<'a>(guard: &'a Expr, conjuncts: &mut Vec<&'a Expr>) {
    match &guard.kind {
        ExprKind::And(operands) => operands.iter().for_each(|each| flatten(each, conjuncts)),
        _ => conjuncts.push(guard),
    }
}

pub(super) fn parameter_slots(bindings: &[Binding]) -> impl Iterator<Item = SlotId> {
    bindings.iter().filter_map(|binding| match binding {
        Binding::Quantified { slot, .. } | Binding::Chosen { slot, .. } => Some(*slot),
        Binding::Alias(_) => None,
    })
}

/// After how many bindings each conjunct of a guard can be tested, at the earliest.
///
/// A conjunct that needs only the outer parameters is tested once for all inner ones. That must
/// not show: conjuncts keep their order, and what is bound in between has at least one instance
/// and cannot fail.
fn levels(routine: &Routine<'_, '_, '_>, rule: &Rule, conjuncts: &[&Expr]) -> Vec<usize> {
    let innermost = rule.bindings.len();
    // The outermost level from which on all bindings are harmless.
    let harmless = (0..innermost)
        .rev()
        .take_while(|&at| is_harmless(routine, rule, at))
        .last()
        .unwrap_or(innermost);
    let mut levels = Vec::new();
    let mut least = harmless;
    for conjunct in conjuncts {
        let slots = Analysis::slots(conjunct);
        let bound_after = |slot: &SlotId| {
            let binds = |binding: &Binding| match binding {
                Binding::Quantified { slot: s, .. } | Binding::Chosen { slot: s, .. } => s == slot,
                Binding::Alias(alias) => alias.slot == *slot,
            };
            rule.bindings.iter().position(binds).map_or(0, |at| at + 1)
        };
        let needed = slots.iter().map(bound_after).max().unwrap_or(0);
        least = match Analysis::calls(conjunct) {
            true => innermost,
            false => least.max(needed),
        };
        levels.push(least);
    }
    levels
}

/// Whether a binding has instances always and cannot fail.
fn is_harmless(routine: &Routine<'_, '_, '_>, rule: &Rule, at: usize) -> bool {
    match &rule.bindings[at] {
        Binding::Quantified { domain, .. } => {
            !matches!(domain, Domain::Computed { .. })
                && Analysis::domain_size(routine.unit.model, domain) > 0
        }
        Binding::Chosen { .. } => false,
        Binding::Alias(alias) => match &alias.meaning {
            AliasTarget::Designator(place) => is_always_found(routine, rule, place),
            AliasTarget::Value(_) => false,
        },
    }
}

/// Whether a place is found whatever the state is: its indices are parameters of the rule.
fn is_always_found(routine: &Routine<'_, '_, '_>, rule: &Rule, place: &Designator) -> bool {
    let is_global = matches!(place.root, Root::Global(_));
    is_global
        && place.steps.iter().all(|step| match step {
            Step::Field(_) => true,
            Step::Element(_) => false,
            Step::Index { index, low, high } => match index.kind {
                ExprKind::Constant(value) => (*low..=*high).contains(&value),
                ExprKind::Slot(slot) => rule.bindings.iter().any(|binding| {
                    matches!(binding, Binding::Quantified { slot: s, domain }
                        if *s == slot && routine.known_domain(domain).fits(*low, *high))
                }),
                _ => false,
            },
        })
}
