//! Statements.

use std::sync::Arc;

use super::expression::{Call, Domain, Expr};
use super::place::{Place, SlotId};
use crate::model::points::PointId;
use crate::source::Span;

/// What is assigned or returned.
#[derive(Clone, Debug)]
pub enum Source {
    /// A value. Reading an undefined one is an error as in [`ExprKind::Read`](super::ExprKind::Read).
    Value(Expr),
    /// What a place holds, also if it is undefined.
    Copy {
        /// The place.
        place: Place,
        /// What becomes of each value, as in [`ExprKind::Convert`](super::ExprKind::Convert).
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
    /// What it stands for. It is evaluated once, where the alias begins.
    pub meaning: AliasTarget,
}

/// What an alias stands for.
#[derive(Clone, Debug)]
pub enum AliasTarget {
    /// A place.
    Place(Place),
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

/// What a statement is.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// `:=`. A simple value must be within the bounds of the target's type. The target is
    /// evaluated before the value.
    Assign {
        /// What is changed.
        target: Place,
        /// What it becomes.
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
        /// What is done for each.
        body: Vec<Statement>,
    },
    /// `while`. Too many rounds are an error of the model.
    While {
        /// What decides.
        test: Expr,
        /// What is done as long as it is true.
        body: Vec<Statement>,
    },
    /// A call of a procedure, or of a function whose result is not used.
    Call(Call),
    /// `clear`: the least value to every simple part; multisets become empty.
    Clear(Place),
    /// `undefine`: every simple part becomes undefined; multisets become empty.
    Undefine(Place),
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
        /// Where they mean that.
        body: Vec<Statement>,
    },
    /// `return`, from the function, procedure, rule or start state.
    Return(Option<Source>),
    /// `MultiSetAdd`. No room is an error of the model.
    MultisetAdd {
        /// The element, which is copied.
        element: Source,
        /// Where it is put.
        multiset: Place,
    },
    /// `MultiSetRemove`. An element that is not there any more is an error of the model.
    MultisetRemove {
        /// Where the index of the element is.
        slot: SlotId,
        /// What it is taken from.
        multiset: Place,
    },
    /// `MultiSetRemovePred`: all elements for which the condition is true are removed, each as
    /// soon as it is seen.
    MultisetRemoveWhere {
        /// Where the index of the element is.
        slot: SlotId,
        /// What they are taken from.
        multiset: Place,
        /// The condition.
        condition: Expr,
    },
}

/// A branch of an `if`.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Nothing for `else`.
    pub test: Option<Expr>,
    /// What is done.
    pub body: Vec<Statement>,
    /// Counts how often it was taken.
    pub point: PointId,
}

/// An arm of a `switch`.
#[derive(Clone, Debug)]
pub struct Arm {
    /// The values, converted to the type of the subject. They need not be constants.
    pub values: Vec<Expr>,
    /// What is done.
    pub body: Vec<Statement>,
    /// Counts how often it was taken.
    pub point: PointId,
}
