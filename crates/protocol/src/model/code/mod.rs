//! The typed code of rules and functions.
//!
//! Read in this order: `place` (slots, and variables with their parts), `expression` and
//! `operator`, `statement`.

mod designator;
mod expression;
mod operator;
mod statement;

pub use designator::{Designator, Frame, Root, Slot, SlotId, SlotKind, Step, ValueType};
pub use expression::{Argument, Call, Domain, Expr, ExprKind};
pub use operator::{Arithmetic, Comparison};
pub use statement::{Alias, AliasTarget, Arm, Branch, Source, Statement, StatementKind};
