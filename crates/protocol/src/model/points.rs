//! Coverage points: what a search counts.

use crate::source::Span;

/// The id of a point: an index into [`Model::points`](super::Model::points).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PointId(pub u32);

/// A coverage point: a part of the model whose hits are counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Point {
    /// The event that is counted.
    pub kind: PointKind,
    /// Its name in the model, if it has one.
    pub name: Option<String>,
    /// Its span; [`Model::position`](super::Model::position) has the line and column.
    pub span: Span,
}

/// The event that a point counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PointKind {
    /// A start state was reached.
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
