//! Statements.

use std::sync::Arc;

use super::designator::{Designator, SlotId};
use super::expression::{Call, Domain, Expr};
use crate::model::points::PointId;
use crate::source::Span;

/// The source of an assignment or a `return`.
#[derive(Clone, Debug)]
pub enum Source {
    /// A value. Reading an undefined one is an error as in
    /// [`ExprKind::Read`](super::ExprKind::Read).
    Value(Expr),
    /// The value of a place, which may be undefined.
    Copy {
        /// The place.
        place: Designator,
        /// The converted values, as in [`ExprKind::Convert`](super::ExprKind::Convert).
        table: Option<Arc<[i64]>>,
    },
    /// `undefined`.
    Undefined,
}

/// A name for a place or a value.
#[derive(Clone, Debug)]
pub struct Alias {
    /// Where it is.
    pub slot: SlotId,
    /// The place or value. It is evaluated once, where the alias begins.
    pub meaning: AliasTarget,
}

/// The place or value that an alias names.
#[derive(Clone, Debug)]
pub enum AliasTarget {
    /// A place.
    Designator(Designator),
    /// A value.
    Value(Expr),
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it is.
    pub kind: StatementKind,
    /// Where it is written.
    pub span: Span,
}

/// A kind of statement.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// `:=`. A simple value must be within the bounds of the target's type. The target is
    /// evaluated before the value.
    Assign {
        /// The assigned place.
        target: Designator,
        /// The new value.
        source: Source,
    },
    /// `if`, `elsif` and `else`: the first branch whose test is true.
    If {
        /// The branches; only the last one may be without a test.
        branches: Vec<Branch>,
    },
    /// `switch`: the first arm with an equal value.
    Switch {
        /// What is compared.
        subject: Expr,
        /// The arms.
        arms: Vec<Arm>,
        /// `else`.
        otherwise: Option<(PointId, Vec<Statement>)>,
    },
    /// `for`. Several quantifiers are nested statements.
    For {
        /// Where the value is.
        slot: SlotId,
        /// The values.
        domain: Domain,
        /// The body.
        body: Vec<Statement>,
    },
    /// `while`. Too many iterations are a runtime error.
    While {
        /// The condition.
        test: Expr,
        /// The body.
        body: Vec<Statement>,
    },
    /// A call of a procedure, or of a function whose result is not used.
    Call(Call),
    /// `clear`: the least value to every simple part; multisets become empty.
    Clear(Designator),
    /// `undefine`: every simple part becomes undefined; multisets become empty.
    Undefine(Designator),
    /// `error`.
    Error(String),
    /// `assert`.
    Assert {
        /// What must be true.
        condition: Expr,
        /// The text beside it.
        name: Option<String>,
        /// Counts how often it was evaluated.
        point: PointId,
    },
    /// `assume`: if it is false, the rule has not fired.
    Assume {
        /// What is assumed.
        condition: Expr,
        /// Counts how often it was evaluated.
        point: PointId,
    },
    /// `cover`: must be true once.
    Cover {
        /// What must be true.
        condition: Expr,
        /// Counts how often it was true.
        point: PointId,
    },
    /// `put`: what is printed is evaluated, and nothing else happens.
    Put(Option<Expr>),
    /// `alias`.
    Alias {
        /// The names. Each may use those before it.
        aliases: Vec<Alias>,
        /// The statements in which they are visible.
        body: Vec<Statement>,
    },
    /// `return`, from the function, procedure, rule or start state.
    Return(Option<Source>),
    /// `MultiSetAdd`. A full multiset is a runtime error.
    MultisetAdd {
        /// The element, which is copied.
        element: Source,
        /// The multiset.
        multiset: Designator,
    },
    /// `MultiSetRemove`. An element that was removed before is a runtime error.
    MultisetRemove {
        /// Where the index of the element is.
        slot: SlotId,
        /// The multiset.
        multiset: Designator,
    },
    /// `MultiSetRemovePred`: all elements for which the condition is true are removed, each as
    /// soon as it is seen.
    MultisetRemoveWhere {
        /// Where the index of the element is.
        slot: SlotId,
        /// The multiset.
        multiset: Designator,
        /// The condition.
        condition: Expr,
    },
}

/// A branch of an `if`.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Nothing for `else`.
    pub test: Option<Expr>,
    /// The body.
    pub body: Vec<Statement>,
    /// Counts how often it was taken.
    pub point: PointId,
}

/// An arm of a `switch`.
#[derive(Clone, Debug)]
pub struct Arm {
    /// The values, converted to the type of the subject. They need not be constants.
    pub values: Vec<Expr>,
    /// The body.
    pub body: Vec<Statement>,
    /// Counts how often it was taken.
    pub point: PointId,
}
