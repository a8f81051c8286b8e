//! The typed code of rules and functions.
//!
//! Read in this order: `place` (slots, and variables with their parts), `expression` and
//! `operator`, `statement`.

mod expression;
mod operator;
mod place;
mod statement;

pub use expression::{Argument, Call, Domain, Expr, ExprKind};
pub use operator::{Arithmetic, Comparison};
pub use place::{Frame, Place, Root, Slot, SlotId, SlotKind, Step, ValueType};
pub use statement::{Alias, AliasTarget, Arm, Branch, Source, Statement, StatementKind};
