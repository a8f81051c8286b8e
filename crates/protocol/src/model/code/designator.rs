//! Slots, and variables with their parts.

use super::expression::Expr;
use crate::model::GlobalId;
use crate::model::types::TypeId;
use crate::source::Span;

/// A slot of a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SlotId(pub u32);

/// The slots of a routine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    /// The slots.
    pub slots: Vec<Slot>,
}

/// A slot: its name and kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Its name in the model.
    pub name: String,
    /// The kind of its contents.
    pub kind: SlotKind,
}

/// The kind of the contents of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotKind {
    /// A local variable, undefined when the routine begins.
    Variable(TypeId),
    /// A parameter: a reference or a value, as the caller passes it.
    Parameter(TypeId),
    /// A reference that is bound where the alias begins.
    Reference(TypeId),
    /// A value that does not change: a loop variable, or an alias of a value.
    Value(ValueType),
}

/// The type of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueType {
    /// An integer without bounds other than those of 64 bits.
    Integer,
    /// A value of a type, within its bounds; only what was converted from another enum,
    /// scalarset or union may be negative instead.
    Of(TypeId),
    /// The index of an element of a multiset of this type.
    Element(TypeId),
}

/// A variable, or a part of one.
#[derive(Clone, Debug)]
pub struct Designator {
    /// The variable that it is a part of.
    pub root: Root,
    /// The selections, outermost first.
    pub steps: Vec<Step>,
    /// Its type.
    pub type_id: TypeId,
    /// Where it is written.
    pub span: Span,
}

/// The variable that a place is a part of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    /// A variable of the state.
    Global(GlobalId),
    /// The value or the reference in a slot.
    Slot(SlotId),
}

/// One selection within a place.
#[derive(Clone, Debug)]
pub enum Step {
    /// A field of a record, by its number.
    Field(u32),
    /// An element of an array. An index that is undefined or outside of `low..=high` is an error.
    Index {
        /// The index, converted to the index type.
        index: Expr,
        /// The least value of the index type.
        low: i64,
        /// The greatest value of the index type.
        high: i64,
    },
    /// An element of a multiset, by what `choose`, `MultiSetCount` or `MultiSetRemovePred` bound.
    /// An element that was removed is an error.
    Element(SlotId),
}
