//! What rules and functions do: places, expressions and statements.

use std::sync::Arc;

use crate::model::points::PointId;
use crate::model::types::TypeId;
use crate::model::{FunctionId, GlobalId};
use crate::source::Span;

/// A slot of a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SlotId(pub u32);

/// The slots of a routine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    /// What each slot holds.
    pub slots: Vec<Slot>,
}

/// What a slot is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Its name in the model.
    pub name: String,
    /// What it holds.
    pub kind: SlotKind,
}

/// What a slot holds.
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
    /// A value of a type. For ranges the bounds hold unless it is the result of a function.
    Of(TypeId),
    /// The index of an element of a multiset of this type.
    Element(TypeId),
}

/// A variable, or a part of one.
#[derive(Clone, Debug)]
pub struct Place {
    /// What it is a part of.
    pub root: Root,
    /// Which part, from the outside to the inside.
    pub steps: Vec<Step>,
    /// Its type.
    pub type_id: TypeId,
    /// Where it is written.
    pub span: Span,
}

/// What a place is a part of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    /// A variable of the state.
    Global(GlobalId),
    /// What a slot holds or refers to.
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

/// What an expression is. Operands are evaluated from left to right.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A value that is known.
    Constant(i64),
    /// What a place holds. If it is simple and undefined, that is an error, unless
    /// [`Type::reads_undefined`](super::types::Type::reads_undefined).
    Read(Place),
    /// What a slot of kind [`SlotKind::Value`] holds.
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
        /// What decides.
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
    },
    /// A call of a function.
    Call(Call),
    /// `isundefined`, of a simple place.
    IsUndefined(Box<Place>),
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
        multiset: Box<Place>,
        /// The condition.
        condition: Box<Expr>,
    },
    /// A value of another enum, scalarset or union: `table[value]`. What has no counterpart
    /// becomes negative, and so different from all values; undefined stays undefined.
    Convert {
        /// The value.
        operand: Box<Expr>,
        /// What becomes of each value.
        table: Arc<[i64]>,
    },
}

/// An order of integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
}

impl Comparison {
    /// Whether it holds.
    pub fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Comparison::Less => left < right,
            Comparison::LessOrEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterOrEqual => left >= right,
        }
    }
}

/// An operation on integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`, towards 0.
    Divide,
    /// `%`, with the sign of the left side.
    Remainder,
    /// `&` on integers.
    BitAnd,
    /// `|` on integers.
    BitOr,
    /// `^`.
    BitXor,
    /// `<<`; by a negative number it is `>>`.
    ShiftLeft,
    /// `>>`, which keeps the sign; by a negative number it is `<<`.
    ShiftRight,
}

impl Arithmetic {
    /// The result, or why there is none.
    pub fn apply(self, left: i64, right: i64) -> Result<i64, &'static str> {
        const OVERFLOW: &str = "it does not fit 64 bits";
        let result = match self {
            Arithmetic::Add => left.checked_add(right),
            Arithmetic::Subtract => left.checked_sub(right),
            Arithmetic::Multiply => left.checked_mul(right),
            Arithmetic::Divide | Arithmetic::Remainder if right == 0 => {
                return Err("division by 0");
            }
            Arithmetic::Divide => left.checked_div(right),
            Arithmetic::Remainder => left.checked_rem(right),
            Arithmetic::BitAnd => Some(left & right),
            Arithmetic::BitOr => Some(left | right),
            Arithmetic::BitXor => Some(left ^ right),
            Arithmetic::ShiftLeft => Some(shifted(left, right)),
            Arithmetic::ShiftRight => Some(shifted(left, right.saturating_neg())),
        };
        result.ok_or(OVERFLOW)
    }
}

/// To the left, or to the right if `by` is negative. Bits that fall out are lost.
fn shifted(value: i64, by: i64) -> i64 {
    match by {
        0..=63 => value << by,
        64.. => 0,
        -63..=-1 => value >> -by,
        _ => value >> 63,
    }
}

/// Values to go through, in increasing order unless the step is negative.
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

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is called.
    pub function: FunctionId,
    /// One for each parameter.
    pub arguments: Vec<Argument>,
}

/// What is passed for a parameter.
#[derive(Clone, Debug)]
pub enum Argument {
    /// The place itself. The types are the same.
    Reference(Place),
    /// A value, which must be within the bounds of the parameter's type.
    Value(Expr),
    /// `undefined`.
    Undefined,
}

/// What is assigned or returned.
#[derive(Clone, Debug)]
pub enum Source {
    /// A value. Reading an undefined one is an error as in [`ExprKind::Read`].
    Value(Expr),
    /// What a place holds, also if it is undefined.
    Copy {
        /// The place.
        place: Place,
        /// What becomes of each value, as in [`ExprKind::Convert`].
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
    pub meaning: Meaning,
}

/// What an alias stands for.
#[derive(Clone, Debug)]
pub enum Meaning {
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
