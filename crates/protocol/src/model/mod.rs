//! Typed models: every name is resolved, every expression typed, every constant computed.
//!
//! Read in this order: [`types`] (the table of types), [`code`] (places, expressions, statements),
//! [`points`] (coverage points), then [`Model`] itself; [`walk`] has visitors. `resolve` turns a
//! syntax tree into a model; [`crate::reference`] defines the semantics.
//!
//! **Values.** A simple value is an integer, whatever its type: `false` and `true` are 0 and 1,
//! members of enums and values of scalarsets count from 0, a range has its own numbers, and the
//! values of a union count through its members in turn. Besides, any simple place can be
//! *undefined*.
//!
//! **Slots.** Each routine (function, rule, start state, property) has a [`Frame`]: its parameters,
//! local variables, aliases and loop variables, each with a slot of its own. Nothing shares a
//! slot, so a slot means the same wherever it is seen.

pub mod code;
pub mod points;
pub mod types;
pub mod walk;

use std::sync::Arc;

use crate::limits::Limits;
use crate::model_error::{ModelError, SourceError};
use crate::source::Span;
use fencepost_diagnostics::Excerpt;
use fencepost_diagnostics::Position;

use code::{Alias, Argument, Designator, Domain, Expr, Frame, SlotId, Statement};
use points::{Point, PointId};
use types::{TypeId, Types};

/// A model that can be searched.
#[derive(Clone, Debug)]
pub struct Model {
    /// The source text.
    pub source: Arc<str>,
    /// All types.
    pub types: Types,
    /// The constants with their values, overridden or not, in the order of the file.
    pub constants: Vec<Constant>,
    /// The state: one variable each.
    pub globals: Vec<Global>,
    /// Functions and procedures. None calls itself, directly or through others.
    pub functions: Vec<Function>,
    /// Start states. There is at least one.
    pub startstates: Vec<Startstate>,
    /// Rules.
    pub rules: Vec<Rule>,
    /// Invariants, assumptions and covers, in the order of the file.
    pub properties: Vec<Property>,
    /// The coverage points; a [`PointId`] is an index into this.
    pub points: Vec<Point>,
    /// Warnings: legal code that is probably a mistake.
    pub warnings: Vec<SourceError>,
}

/// A constant of the model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Constant {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: i64,
    /// Whether the value was overridden.
    pub is_given: bool,
    /// Whether it is a boolean: 0 is false, and 1 is true.
    pub is_boolean: bool,
}

/// A variable of the state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Global {
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_id: TypeId,
    /// Where it is declared.
    pub span: Span,
}

/// Which variable of the state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GlobalId(pub u32);

/// Which function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FunctionId(pub u32);

/// A function or a procedure.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its parameters, in order.
    pub parameters: Vec<Parameter>,
    /// The type of its result; nothing for a procedure.
    pub result: Option<TypeId>,
    /// Its slots.
    pub frame: Frame,
    /// What it does. If the end of a function is reached, that is an error of the model.
    pub body: Vec<Statement>,
    /// Where its name is declared.
    pub span: Span,
}

/// A parameter of a function.
///
/// What is passed for it is an [`Argument`]: a reference to a place whenever the types are the
/// same, also for a parameter that is not `var`, as in CMurphi. So a parameter that is not `var`
/// cannot be assigned, but changes with what was passed for it. Ranges without a name are types of
/// their own, and passed as values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Where it is in the frame.
    pub slot: SlotId,
    /// Its type.
    pub type_id: TypeId,
    /// Whether it is declared `var`.
    pub is_var: bool,
}

/// A `ruleset`, `choose` or `alias` around a rule, start state or property, outermost first. Each
/// may use the slots of those before it.
#[derive(Clone, Debug)]
pub enum Binding {
    /// `ruleset`: one instance for each value. The domain is a type or has constant ends.
    Quantified {
        /// Where the value is.
        slot: SlotId,
        /// The values.
        domain: Domain,
    },
    /// `choose`: one instance for each element that the multiset has in the state.
    Chosen {
        /// Where the index of the element is.
        slot: SlotId,
        /// The multiset.
        multiset: Designator,
    },
    /// `alias`: evaluated before the guard, and again before the body.
    Alias(Alias),
}

/// A rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The text after `rule`.
    pub name: Option<String>,
    /// The number after `rule`, 0 if there is none. Only the enabled rules with the least
    /// priority of a state fire in it.
    pub priority: i64,
    /// The bindings around it.
    pub bindings: Vec<Binding>,
    /// Whether it can fire; always, if there is none.
    pub guard: Option<Expr>,
    /// What it does.
    pub body: Vec<Statement>,
    /// Its slots.
    pub frame: Frame,
    /// Counts how often it fired.
    pub point: PointId,
    /// `rule` with its name.
    pub span: Span,
}

/// A start state. All variables are undefined when its body begins.
#[derive(Clone, Debug)]
pub struct Startstate {
    /// The text after `startstate`.
    pub name: Option<String>,
    /// The bindings around it.
    pub bindings: Vec<Binding>,
    /// What it does.
    pub body: Vec<Statement>,
    /// Its slots.
    pub frame: Frame,
    /// Counts how often it was made.
    pub point: PointId,
    /// `startstate` with its name.
    pub span: Span,
}

/// An invariant, assumption or cover.
#[derive(Clone, Debug)]
pub struct Property {
    /// What it is.
    pub kind: PropertyKind,
    /// The text beside it.
    pub name: Option<String>,
    /// The bindings around it. Without `choose`.
    pub bindings: Vec<Binding>,
    /// The condition.
    pub condition: Expr,
    /// Its slots.
    pub frame: Frame,
    /// Counts how often it was true.
    pub point: PointId,
    /// All of it.
    pub span: Span,
}

/// The kind of a property.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PropertyKind {
    /// Must hold in every state.
    Invariant,
    /// States in which it does not hold are dropped.
    Assumption,
    /// Must hold in some state.
    Cover,
}

impl Model {
    /// Reads a model. A constant in `given` overrides the one in the file.
    ///
    /// ```
    /// use fencepost_protocol::{Limits, Model};
    ///
    /// let text = b"const N: 3; var x: 0..N;
    ///              startstate x := 0; end;
    ///              rule x < N ==> x := x + 1; end;
    ///              rule x = N ==> x := 0; end;";
    /// let model = Model::read(text, &[("N".into(), 5)], &Limits::default()).unwrap();
    /// assert_eq!(model.constants[0].value, 5);
    /// assert_eq!(model.rules.len(), 2);
    /// ```
    pub fn read(
        bytes: &[u8],
        given: &[(String, i64)],
        limits: &Limits,
    ) -> Result<Model, ModelError> {
        crate::read::read(bytes, given, limits)
    }

    /// The line and column where a part begins.
    pub fn position(&self, span: Span) -> Position {
        Position::of(&self.source, span.start as usize)
    }

    /// The source line of a span, fit for a terminal.
    pub fn excerpt(&self, span: Span) -> Excerpt {
        Excerpt::around(&self.source, span.start as usize, span.end as usize)
    }

    /// The name of an invariant in messages: its text, or which one it is among those of its
    /// kind, as CMurphi calls it.
    pub fn property_name(&self, index: usize) -> String {
        let property = &self.properties[index];
        if let Some(name) = &property.name {
            return name.clone();
        }
        let before = &self.properties[..index];
        let before = before.iter().filter(|p| p.kind == property.kind).count();
        let kind = match property.kind {
            PropertyKind::Invariant => "Invariant",
            PropertyKind::Assumption => "Assumption",
            PropertyKind::Cover => "Cover",
        };
        format!("{kind} {before}")
    }

    /// The name of a rule in messages.
    pub fn rule_name(&self, index: usize) -> String {
        match &self.rules[index].name {
            Some(name) => name.clone(),
            None => format!("Rule {index}"),
        }
    }

    /// The name of a start state in messages.
    pub fn startstate_name(&self, index: usize) -> String {
        match &self.startstates[index].name {
            Some(name) => name.clone(),
            None => format!("Startstate {index}"),
        }
    }

    /// The number of bits of a packed state.
    pub fn state_bits(&self) -> u64 {
        let globals = self.globals.iter();
        globals.map(|g| self.types[g.type_id].bits).sum()
    }
}

impl Argument {
    /// Whether the place itself is passed.
    pub fn is_reference(&self) -> bool {
        matches!(self, Argument::Reference(_))
    }
}
