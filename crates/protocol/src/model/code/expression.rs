//! Expressions.

use std::sync::Arc;

use super::designator::{Designator, SlotId, ValueType};
use super::operator::{Arithmetic, Comparison};
use crate::model::FunctionId;
use crate::model::points::PointId;
use crate::model::types::{TypeId, Types};
use crate::source::Span;

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its type.
    pub value_type: ValueType,
    /// Where it is written.
    pub span: Span,
}

impl Expr {
    /// Whether an undefined value of it can be compared: see
    /// [`Type::reads_undefined`](crate::model::types::Type::reads_undefined). What is converted
    /// keeps this from the type that it had.
    pub fn reads_undefined(&self, types: &Types) -> bool {
        match (&self.kind, self.value_type) {
            (ExprKind::Convert { operand, .. }, _) => operand.reads_undefined(types),
            (_, ValueType::Of(id)) => types[id].reads_undefined(),
            _ => false,
        }
    }
}

/// A kind of expression. Operands are evaluated from left to right.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant.
    Constant(i64),
    /// The value of a place. If it is simple and undefined, that is an error, unless
    /// [`Type::reads_undefined`](crate::model::types::Type::reads_undefined).
    Read(Designator),
    /// The value of a slot of kind [`SlotKind::Value`](super::SlotKind::Value).
    Slot(SlotId),
    /// `!`.
    Not(Box<Expr>),
    /// `-`.
    Negate(Box<Expr>),
    /// `~`.
    Complement(Box<Expr>),
    /// All are true; stops at the first that is not.
    And(Vec<Expr>),
    /// One is true; stops at the first that is.
    Or(Vec<Expr>),
    /// `->`: the right side is evaluated only if the left one is true.
    Implies {
        /// The left side.
        antecedent: Box<Expr>,
        /// The right side.
        consequent: Box<Expr>,
        /// Counts how often the left side was true; only within properties and assertions.
        point: Option<PointId>,
    },
    /// `=` and `!=`. Simple values; an undefined one (of a type that allows reading it) is equal
    /// to an undefined one only.
    Equal {
        /// Whether it is `!=`.
        negated: bool,
        /// The left side.
        left: Box<Expr>,
        /// The right side, converted to the type of the left.
        right: Box<Expr>,
    },
    /// `=` and `!=` of records, arrays and multisets: all parts are equal. Undefined parts are
    /// equal to undefined parts.
    Same {
        /// Whether it is `!=`.
        negated: bool,
        /// The left side.
        left: Box<Expr>,
        /// The right side.
        right: Box<Expr>,
    },
    /// `<` and the like, on integers.
    Compare {
        /// Which.
        operator: Comparison,
        /// The left side.
        left: Box<Expr>,
        /// The right side.
        right: Box<Expr>,
    },
    /// `+` and the like, on integers. What does not fit 64 bits is an error, and so is division
    /// by 0.
    Arithmetic {
        /// Which.
        operator: Arithmetic,
        /// The left side.
        left: Box<Expr>,
        /// The right side.
        right: Box<Expr>,
    },
    /// `? :`.
    Conditional {
        /// The condition.
        test: Box<Expr>,
        /// The value if it is true.
        then: Box<Expr>,
        /// The value if it is false.
        otherwise: Box<Expr>,
    },
    /// `forall` and `exists`; stops at the first value that decides. Several quantifiers are
    /// nested expressions.
    Quantified {
        /// Whether it is `forall`.
        every: bool,
        /// Where the value is.
        slot: SlotId,
        /// The values.
        domain: Box<Domain>,
        /// The condition.
        body: Box<Expr>,
        /// Counts how often there was a value, once for all of them, before the condition is
        /// evaluated; only within properties and assertions, and if there may be none.
        point: Option<PointId>,
    },
    /// A call of a function.
    Call(Call),
    /// `isundefined`, of a simple place.
    IsUndefined(Box<Designator>),
    /// `ismember`: whether the value of a union is one of a member. An undefined one is not.
    IsMember {
        /// The value.
        operand: Box<Expr>,
        /// The first value of the member.
        first: i64,
        /// The last value of the member.
        last: i64,
    },
    /// `MultiSetCount`: for how many elements the condition is true.
    MultisetCount {
        /// Where the index of the element is.
        slot: SlotId,
        /// The multiset.
        multiset: Box<Designator>,
        /// The condition.
        condition: Box<Expr>,
        /// Counts how often there was an element, once for all of them; only within properties
        /// and assertions.
        point: Option<PointId>,
    },
    /// A value of another enum, scalarset or union: `table[value]`. What has no counterpart
    /// becomes negative, and so different from all values; undefined stays undefined.
    Convert {
        /// The value.
        operand: Box<Expr>,
        /// The converted values.
        table: Arc<[i64]>,
    },
}

/// The values of a loop or quantifier, in increasing order unless the step is negative.
#[derive(Clone, Debug)]
pub enum Domain {
    /// All values of a simple type.
    Type(TypeId),
    /// `from`, `from + by`, … up to `to`, which are known.
    Steps {
        /// The first.
        from: i64,
        /// Not beyond this.
        to: i64,
        /// The step; not 0.
        by: i64,
    },
    /// The same with ends that are evaluated once, when the loop begins: `to` first, then `from`,
    /// then `by`. A step of 0 is an error.
    Computed {
        /// The first.
        from: Expr,
        /// Not beyond this.
        to: Expr,
        /// The step.
        by: Expr,
    },
}

impl Domain {
    /// Whether the domain is known not to be empty.
    pub fn is_never_empty(&self) -> bool {
        match self {
            Domain::Type(_) => true,
            Domain::Steps { from, to, by } => match *by > 0 {
                true => from <= to,
                false => from >= to,
            },
            Domain::Computed { .. } => false,
        }
    }
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The function.
    pub function: FunctionId,
    /// One for each parameter.
    pub arguments: Vec<Argument>,
}

/// An argument of a call.
#[derive(Clone, Debug)]
pub enum Argument {
    /// The place itself. The types are the same.
    Reference(Designator),
    /// A value, which must be within the bounds of the parameter's type.
    Value(Expr),
    /// `undefined`.
    Undefined,
}
