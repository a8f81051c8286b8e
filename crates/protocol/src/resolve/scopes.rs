//! Scopes and symbols.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{Reported, Resolved, Resolver};
use crate::model::code::{SlotId, ValueType};
use crate::model::types::{TypeId, Types};
use crate::model::{FunctionId, GlobalId};
use crate::model_error_kind::ModelErrorKind;
use crate::source::Span;
use crate::syntax::tree::Name;
use fencepost_diagnostics::Position;
use fencepost_diagnostics::nearest;
use fencepost_diagnostics::quoted;

/// The meaning of a name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Symbol {
    Constant(i64, ValueType),
    Type(TypeId),
    Global(GlobalId),
    Slot(SlotId),
    Function(FunctionId),
    /// Its declaration has an error, which was reported.
    Broken,
}

impl Symbol {
    /// The kind of symbol, for messages.
    pub fn kind(self) -> &'static str {
        match self {
            Symbol::Constant(..) => "a constant",
            Symbol::Type(_) => "a type",
            Symbol::Global(_) | Symbol::Slot(_) => "a variable",
            Symbol::Function(_) => "a function",
            Symbol::Broken => "wrong",
        }
    }
}

type Scope<'s> = HashMap<&'s str, (Symbol, Option<Span>), FxBuildHasher>;

/// The scopes that are open, from the outside to the inside.
#[derive(Debug)]
pub(super) struct Scopes<'s> {
    open: Vec<Scope<'s>>,
}

impl<'s> Scopes<'s> {
    /// The outermost scope, with what is built in.
    pub fn new() -> Self {
        let mut outermost = Scope::default();
        let boolean = ValueType::Of(Types::BOOLEAN);
        outermost.insert("boolean", (Symbol::Type(Types::BOOLEAN), None));
        outermost.insert("false", (Symbol::Constant(0, boolean), None));
        outermost.insert("true", (Symbol::Constant(1, boolean), None));
        Scopes {
            open: vec![outermost],
        }
    }

    pub fn enter(&mut self) {
        self.open.push(Scope::default());
    }

    pub fn leave(&mut self) {
        self.open.pop();
    }

    /// Makes one scope of the innermost ones and the one around them; inner names hide outer ones.
    pub fn merge(&mut self, innermost: usize) {
        for _ in 0..innermost {
            let inner = self.open.pop().unwrap_or_default();
            if let Some(outer) = self.open.last_mut() {
                outer.extend(inner);
            }
        }
    }

    fn find(&self, name: &str) -> Option<Symbol> {
        let innermost_first = self.open.iter().rev();
        let mut found = innermost_first.filter_map(|scope| scope.get(name));
        found.next().map(|(symbol, _)| *symbol)
    }

    /// The meaning of a name. What is built in is found whatever its case.
    pub fn look_up(&self, name: &str) -> Option<Symbol> {
        self.find(name).or_else(|| {
            let built_in = ["boolean", "false", "true"];
            let built_in = built_in
                .into_iter()
                .find(|b| b.eq_ignore_ascii_case(name))?;
            self.find(built_in)
        })
    }

    /// The visible name with the least edit distance, for "did you mean". Names that can be used as
    /// `what` (a function, a type or another name) come first.
    pub fn nearest(&self, name: &str, what: &str) -> Option<String> {
        let fits = |symbol: Symbol| match what {
            "function" => matches!(symbol, Symbol::Function(_)),
            "type" => matches!(symbol, Symbol::Type(_)),
            _ => !matches!(symbol, Symbol::Function(_) | Symbol::Type(_)),
        };
        let visible = self.open.iter().rev().flat_map(|scope| scope.iter());
        let mut visible: Vec<(&str, bool)> = visible
            .map(|(name, (symbol, _))| (*name, fits(*symbol)))
            .collect();
        visible.sort_unstable();
        let fitting = visible.iter().filter(|(_, fits)| *fits);
        nearest(name, fitting.map(|(name, _)| *name))
            .or_else(|| nearest(name, visible.iter().map(|(name, _)| *name)))
    }

    fn declare(&mut self, name: Name<'s>, symbol: Symbol) -> Result<(), Option<Span>> {
        let built_in = ["boolean", "false", "true"];
        if built_in.iter().any(|b| b.eq_ignore_ascii_case(name.text)) {
            return Err(None);
        }
        let innermost = self.open.last_mut();
        let innermost = innermost.expect("the outermost scope is always open");
        match innermost.get(name.text) {
            Some((_, before)) => Err(*before),
            None => {
                innermost.insert(name.text, (symbol, Some(name.span)));
                Ok(())
            }
        }
    }
}

impl<'s> Resolver<'s, '_> {
    /// Declares a name in the innermost scope.
    pub(super) fn declare(&mut self, name: Name<'s>, symbol: Symbol) {
        if let Err(before) = self.scopes.declare(name, symbol)
            && !self.is_full()
        {
            let error = ModelErrorKind::Duplicate {
                name: quoted(name.text),
                before: before.map(|span| Position::of(self.source, span.start as usize)),
            };
            self.report(error, name.span);
        }
    }

    /// Looks up a name that must be declared.
    pub(super) fn look_up(
        &mut self,
        name: &str,
        span: Span,
        what: &'static str,
    ) -> Resolved<Symbol> {
        match self.scopes.look_up(name) {
            Some(Symbol::Broken) => Err(Reported),
            Some(symbol) => Ok(symbol),
            None if self.is_full() => Err(Reported),
            None => {
                let error = ModelErrorKind::UnknownName {
                    found: quoted(name),
                    what,
                    suggestion: self.scopes.nearest(name, what),
                };
                Err(self.report(error, span))
            }
        }
    }

    /// Reports a name of another kind than expected.
    pub(super) fn other_kind(
        &mut self,
        name: &str,
        span: Span,
        symbol: Symbol,
        wanted: &'static str,
    ) -> Reported {
        let error = ModelErrorKind::OtherKind {
            name: quoted(name),
            found: symbol.kind(),
            wanted,
        };
        self.report(error, span)
    }

    /// Runs in a scope of its own.
    pub(super) fn scoped<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.enter();
        let result = run(self);
        self.scopes.leave();
        result
    }
}
