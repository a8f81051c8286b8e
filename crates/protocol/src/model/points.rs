//! What is counted, so that a summary can say what never happened.

use crate::source::Span;

/// Which point. An index into [`Model::points`](super::Model::points).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PointId(pub u32);

/// A place in the model that counts how often it was reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Point {
    /// What happens there.
    pub kind: PointKind,
    /// The text beside it, if there is one.
    pub name: Option<String>,
    /// Where it is; [`Model::position`](super::Model::position) has the line and column.
    pub span: Span,
}

/// What happens at a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PointKind {
    /// A start state was made.
    Startstate,
    /// A rule fired.
    Rule,
    /// An invariant was true.
    Invariant,
    /// An assumption was true.
    Assumption,
    /// A cover was true: the property, or the statement.
    Cover,
    /// The left side of an implication in a property or assertion was true. An invariant whose
    /// antecedent never holds says nothing.
    Antecedent,
    /// The values that a quantifier in a property or assertion goes through, or the elements that
    /// `MultiSetCount` looks at there, were at least one. Only where there may be none: a
    /// condition on all of nothing says nothing.
    Quantifier,
    /// An assertion was evaluated.
    Assertion,
    /// An `assume` was evaluated within a rule.
    LocalAssumption,
    /// A branch of an `if` was taken. An `if` without `else` has no point for that.
    Branch,
    /// An arm of a `switch` was taken.
    Arm,
}
