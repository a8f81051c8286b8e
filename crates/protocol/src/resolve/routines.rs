//! Functions, rules, start states and properties.

use super::calls::Signature;
use super::flow::falls_through;
use super::scopes::Symbol;
use super::{Reported, Resolved, Resolver, Returns};
use crate::model::code::{Domain, Frame, SlotKind, Statement};
use crate::model::points::PointKind;
use crate::model::types::TypeKind;
use crate::model::{
    Binding, Function, FunctionId, Parameter, Property, PropertyKind, Rule, Startstate,
};
use crate::model_error_kind::ModelErrorKind;
use crate::source::Span;
use crate::syntax::tree::{self, AliasTree, Body, File, Name, Quantifier, RuleTree};

/// The bindings around rules, start states and properties.
#[derive(Clone, Copy)]
enum Enclosure<'t, 's> {
    Ruleset(&'t [Quantifier<'s>]),
    Alias(&'t [AliasTree<'s>]),
    Choose(Name<'s>, &'t tree::Expr<'s>),
}

/// The rules, start states and properties of a model.
#[derive(Default)]
pub(super) struct Parts {
    pub startstates: Vec<Startstate>,
    pub rules: Vec<Rule>,
    pub properties: Vec<Property>,
    instances: u64,
    /// The total number of parameters and aliases of rules.
    bindings: u64,
}

impl<'s> Resolver<'s, '_> {
    /// All functions. Their names are known in each other, whatever their order.
    pub(super) fn functions(&mut self, file: &File<'s>) -> Vec<Function> {
        for (index, tree) in file.functions.iter().enumerate() {
            let signature = self.signature(tree);
            let id = FunctionId(index as u32);
            self.declare(tree.name, Symbol::Function(id));
            self.signatures.push(signature);
        }
        let mut functions = Vec::new();
        let mut calls = Vec::new();
        for (index, tree) in file.functions.iter().enumerate() {
            let function = self.scoped(|r| r.function(index, tree));
            functions.extend(function);
            calls.push(std::mem::take(&mut self.calls));
            self.assumes.push(self.saw_assume);
        }
        self.check_recursion(&calls);
        if self.errors.is_empty() {
            self.find_assumes(&calls);
        }
        functions
    }

    fn signature(&mut self, tree: &tree::Function<'s>) -> Signature<'s> {
        let mut parameters = Vec::new();
        for group in &tree.parameters {
            let type_id = self.type_id(&group.type_tree);
            for name in &group.names {
                parameters.push((*name, type_id, group.by_reference));
            }
        }
        Signature {
            name: tree.name,
            parameters,
            result: tree.result.as_ref().map(|result| self.type_id(result)),
        }
    }

    fn function(&mut self, index: usize, tree: &tree::Function<'s>) -> Resolved<Function> {
        self.begin_routine();
        let signature = &self.signatures[index];
        let (declared, result) = (signature.parameters.clone(), signature.result);
        let mut parameters = Vec::new();
        let mut failed = false;
        for (name, type_id, is_var) in declared {
            let Ok(type_id) = type_id else {
                self.declare(name, Symbol::Broken);
                failed = true;
                continue;
            };
            let slot = self.slot(name.text, SlotKind::Parameter(type_id), is_var);
            self.declare(name, Symbol::Slot(slot));
            parameters.push(Parameter {
                name: name.text.into(),
                slot,
                type_id,
                is_var,
            });
        }
        self.returns = match result {
            Some(Ok(result)) => Returns::Value(result),
            Some(Err(Reported)) => return Err(Reported),
            None => Returns::Nothing,
        };
        let errors_before = self.errors.len();
        let body = self.body(&tree.body);
        let is_clean = self.errors.len() == errors_before;
        if tree.is_function && is_clean {
            let name = tree.name.text.into();
            if !self.saw_return {
                return Err(self.report(ModelErrorKind::NeverReturns { name }, tree.name.span));
            }
            if falls_through(&self.types, &body) {
                self.warn(ModelErrorKind::MissingReturn { name }, tree.end);
            }
        }
        if failed {
            return Err(Reported);
        }
        Ok(Function {
            name: tree.name.text.into(),
            parameters,
            result: result.transpose()?,
            frame: std::mem::take(&mut self.frame),
            body,
            span: tree.name.span,
        })
    }

    fn begin_routine(&mut self) {
        self.frame = Frame::default();
        self.writable.clear();
        self.local_cells = 0;
        self.returns = Returns::Nothing;
        self.saw_return = false;
        self.saw_assume = false;
        self.calls.clear();
    }

    fn body(&mut self, body: &Body<'s>) -> Vec<Statement> {
        self.scoped(|r| {
            r.locals(&body.declarations);
            r.statements(&body.statements)
        })
    }

    /// All rules, start states and properties.
    pub(super) fn rules(&mut self, file: &File<'s>) -> Parts {
        let mut parts = Parts::default();
        self.rules_within(&file.rules, &mut Vec::new(), &mut parts);
        let is_clean = self.errors.is_empty();
        if is_clean && parts.startstates.is_empty() {
            let rule = parts.rules.first().map(|rule| rule.span);
            self.report(ModelErrorKind::NoStartState, rule.unwrap_or_default());
        }
        if is_clean && parts.rules.is_empty() {
            let startstate = parts.startstates.first().map(|s| s.span);
            self.report(ModelErrorKind::NoRule, startstate.unwrap_or_default());
        }
        parts
    }

    fn rules_within<'t>(
        &mut self,
        trees: &'t [RuleTree<'s>],
        enclosures: &mut Vec<Enclosure<'t, 's>>,
        parts: &mut Parts,
    ) {
        for tree in trees {
            if self.gave_up() {
                return;
            }
            let (enclosure, inner) = match tree {
                RuleTree::Ruleset(quantifiers, rules) => (Enclosure::Ruleset(quantifiers), rules),
                RuleTree::Alias(aliases, rules) => (Enclosure::Alias(aliases), rules),
                RuleTree::Choose {
                    binder,
                    multiset,
                    rules,
                } => (Enclosure::Choose(*binder, multiset), rules),
                leaf => {
                    // The errors are reported; the rule is left out.
                    let _ = self.leaf(leaf, enclosures, parts);
                    continue;
                }
            };
            enclosures.push(enclosure);
            self.rules_within(inner, enclosures, parts);
            enclosures.pop();
        }
    }

    fn leaf(
        &mut self,
        tree: &RuleTree<'s>,
        enclosures: &[Enclosure<'_, 's>],
        parts: &mut Parts,
    ) -> Resolved<()> {
        self.begin_routine();
        self.scopes.enter();
        let result = self.leaf_in_scope(tree, enclosures, parts);
        self.scopes.leave();
        result
    }

    fn leaf_in_scope(
        &mut self,
        tree: &RuleTree<'s>,
        enclosures: &[Enclosure<'_, 's>],
        parts: &mut Parts,
    ) -> Resolved<()> {
        match tree {
            RuleTree::Rule {
                name,
                priority,
                guard,
                body,
                span,
            } => {
                let bindings = self.bindings(enclosures, *span, parts);
                let point = self.point(PointKind::Rule, *name, *span);
                let guard = guard.as_ref().map(|guard| self.condition(guard));
                self.refuse_assumptions("a guard, or an alias around a rule");
                let body = self.body(body);
                parts.rules.push(Rule {
                    name: name.map(Into::into),
                    priority: *priority,
                    bindings: bindings?,
                    guard: guard.transpose()?,
                    body,
                    frame: std::mem::take(&mut self.frame),
                    point,
                    span: *span,
                });
            }
            RuleTree::Startstate { name, body, span } => {
                let bindings = self.bindings(enclosures, *span, parts);
                let point = self.point(PointKind::Startstate, *name, *span);
                let body = self.body(body);
                let bindings = bindings?;
                self.refuse_choose(&bindings, "a start state", *span)?;
                parts.startstates.push(Startstate {
                    name: name.map(Into::into),
                    bindings,
                    body,
                    frame: std::mem::take(&mut self.frame),
                    point,
                    span: *span,
                });
            }
            RuleTree::Property {
                kind,
                name,
                condition,
                span,
            } => {
                let bindings = self.bindings(enclosures, *span, parts);
                let (kind, point) = match kind {
                    tree::PropertyKind::Invariant => {
                        (PropertyKind::Invariant, PointKind::Invariant)
                    }
                    tree::PropertyKind::Assume => (PropertyKind::Assumption, PointKind::Assumption),
                    tree::PropertyKind::Cover => (PropertyKind::Cover, PointKind::Cover),
                };
                let point = self.point(point, *name, *span);
                self.counts_vacuity = kind == PropertyKind::Invariant;
                let condition = self.condition(condition);
                self.counts_vacuity = false;
                self.refuse_assumptions("a property");
                let bindings = bindings?;
                self.refuse_choose(&bindings, "a property", *span)?;
                parts.properties.push(Property {
                    kind,
                    name: name.map(Into::into),
                    bindings,
                    condition: condition?,
                    frame: std::mem::take(&mut self.frame),
                    point,
                    span: *span,
                });
            }
            RuleTree::Ruleset(..) | RuleTree::Alias(..) | RuleTree::Choose { .. } => {}
        }
        Ok(())
    }

    /// Where nothing is done, an assumption that is false would have no meaning.
    fn refuse_assumptions(&mut self, within: &'static str) {
        for (function, span) in std::mem::take(&mut self.calls) {
            if self.assumes.get(function.0 as usize) == Some(&true) {
                let error = ModelErrorKind::Misplaced {
                    what: "a call of a function that has `assume`",
                    within,
                    belongs: "such calls in the statements of rules and start states",
                };
                self.report(error, span);
            }
        }
    }

    fn refuse_choose(
        &mut self,
        bindings: &[Binding],
        what: &'static str,
        span: Span,
    ) -> Resolved<()> {
        let chooses = |binding: &Binding| matches!(binding, Binding::Chosen { .. });
        if !bindings.iter().any(chooses) {
            return Ok(());
        }
        let error = ModelErrorKind::Misplaced {
            what,
            within: "`choose`",
            belongs: "rules within `choose`, and nothing else",
        };
        Err(self.report(error, span))
    }

    /// Resolves the bindings around a rule, in its own frame.
    fn bindings(
        &mut self,
        enclosures: &[Enclosure<'_, 's>],
        span: Span,
        parts: &mut Parts,
    ) -> Resolved<Vec<Binding>> {
        let mut bindings = Vec::new();
        let mut failed = false;
        for enclosure in enclosures {
            // Inner names may hide outer ones.
            self.scopes.enter();
            match self.binding(*enclosure) {
                Ok(more) => bindings.extend(more),
                Err(Reported) => failed = true,
            }
        }
        // The scopes stay open for the rule, as one.
        self.scopes.merge(enclosures.len());
        if failed {
            return Err(Reported);
        }
        parts.bindings += bindings.len() as u64;
        if parts.bindings > self.limits.cells {
            let error = ModelErrorKind::limit("parameters and aliases of rules", self.limits.cells);
            return Err(self.report(error, span));
        }
        self.count_instances(&bindings, span, parts)?;
        Ok(bindings)
    }

    fn binding(&mut self, enclosure: Enclosure<'_, 's>) -> Resolved<Vec<Binding>> {
        match enclosure {
            Enclosure::Ruleset(quantifiers) => {
                let mut bindings = Vec::new();
                let mut failed = false;
                for quantifier in quantifiers {
                    let Ok((slot, domain)) = self.quantifier(quantifier) else {
                        failed = true;
                        continue;
                    };
                    if let Domain::Computed { from, .. } = &domain {
                        let used_as = "the values of a ruleset";
                        let span = from.span;
                        self.report(ModelErrorKind::NotConstant { used_as }, span);
                        failed = true;
                    }
                    bindings.push(Binding::Quantified { slot, domain });
                }
                match failed {
                    true => Err(Reported),
                    false => Ok(bindings),
                }
            }
            Enclosure::Alias(trees) => {
                let aliases = self.aliases(trees)?;
                Ok(aliases.into_iter().map(Binding::Alias).collect())
            }
            Enclosure::Choose(binder, tree) => match self.multiset(tree) {
                Ok(multiset) => {
                    let slot = self.element_slot(binder, &multiset);
                    Ok(vec![Binding::Chosen { slot, multiset }])
                }
                Err(Reported) => {
                    self.declare(binder, Symbol::Broken);
                    Err(Reported)
                }
            },
        }
    }

    fn count_instances(
        &mut self,
        bindings: &[Binding],
        span: Span,
        parts: &mut Parts,
    ) -> Resolved<()> {
        let mut instances = 1_u128;
        for binding in bindings {
            let size = match binding {
                Binding::Quantified { domain, .. } => match domain {
                    Domain::Type(id) => self.types[*id].cardinality().unwrap_or(1),
                    Domain::Steps { from, to, by } => {
                        let reach = i128::from(*to) - i128::from(*from);
                        let steps = reach / i128::from(*by);
                        match reach.signum() * i128::from(by.signum()) {
                            -1 => 0,
                            _ => steps as u128 + 1,
                        }
                    }
                    Domain::Computed { .. } => 1,
                },
                Binding::Chosen { multiset, .. } => match self.types[multiset.type_id].kind {
                    TypeKind::Multiset { capacity, .. } => u128::from(capacity),
                    _ => 1,
                },
                Binding::Alias(_) => 1,
            };
            instances = instances.saturating_mul(size);
        }
        let instances = u64::try_from(instances).unwrap_or(u64::MAX);
        parts.instances = parts.instances.saturating_add(instances);
        let allowed = self.limits.instances;
        match parts.instances > allowed {
            true => Err(self.report(ModelErrorKind::limit("instances of rules", allowed), span)),
            false => Ok(()),
        }
    }
}
