//! The kinds of errors in a model.

use thiserror::Error;

use fencepost_diagnostics::Position;

/// A kind of error in a model.
///
/// The message says what was found, [`ModelErrorKind::expected`] what was expected, and
/// [`ModelErrorKind::hint`] how to fix it.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The file is not UTF-8.
    #[error("byte 0x{byte:02x} is not UTF-8")]
    NotUtf8 {
        /// The first byte that is wrong.
        byte: u8,
    },
    /// The model exceeds a limit.
    #[error("more than {allowed} {what}")]
    Limit {
        /// What is limited, in the plural.
        what: &'static str,
        /// The limit.
        allowed: u64,
    },
    /// A character that has no meaning.
    #[error("unexpected character `{found}`")]
    BadCharacter {
        /// The character.
        found: String,
    },
    /// A comment that does not end.
    #[error("unterminated comment")]
    UnterminatedComment,
    /// A text in quotes that does not end on its line.
    #[error("unterminated string")]
    UnterminatedText,
    /// Digits that are no number, such as `0x` or `12ab`.
    #[error("`{found}` is not a number")]
    BadNumber {
        /// The word.
        found: String,
    },
    /// A number that does not fit 64 bits.
    #[error("number {found} is too large")]
    NumberTooLarge {
        /// The number.
        found: String,
    },
    /// A part of another Murphi dialect that is not supported.
    #[error("{what} are not supported")]
    NotSupported {
        /// What, in the plural.
        what: &'static str,
        /// What to write instead.
        instead: &'static str,
    },
    /// An unexpected token.
    #[error("unexpected `{found}`")]
    Unexpected {
        /// The token.
        found: String,
        /// What was expected.
        wanted: &'static str,
    },
    /// The file ends too early.
    #[error("unexpected end of file")]
    UnexpectedEnd {
        /// What was expected.
        wanted: &'static str,
    },
    /// `endif` where a `for` is to be closed, and the like.
    #[error(
        "`{found}` does not close the `{opened}` of line {}, column {}",
        at.line,
        at.column
    )]
    WrongEnd {
        /// The token.
        found: String,
        /// The keyword of the open block.
        opened: &'static str,
        /// The position where it begins.
        at: Position,
        /// What closes it.
        wanted: &'static str,
    },
    /// `a = b = c`, `a -> b -> c`.
    #[error("`{operator}` cannot be chained")]
    Chained {
        /// The second operator.
        operator: String,
    },
    /// A name that is not declared.
    #[error("{what} `{found}` is not declared")]
    UnknownName {
        /// The name.
        found: String,
        /// What it would be here.
        what: &'static str,
        /// A declared name that is spelled alike.
        suggestion: Option<String>,
    },
    /// A name that is declared twice in one scope.
    #[error("`{name}` is {}", if before.is_some() { "declared twice" } else { "built in" })]
    Duplicate {
        /// The name.
        name: String,
        /// The earlier declaration; nothing if it is built in.
        before: Option<Position>,
    },
    /// A name of another kind than expected.
    #[error("`{name}` is {found}")]
    OtherKind {
        /// The name.
        name: String,
        /// What it is.
        found: &'static str,
        /// What was expected.
        wanted: &'static str,
    },
    /// A value of another type than expected.
    #[error("mismatched types")]
    TypeMismatch {
        /// The actual type.
        found: String,
        /// The expected type.
        wanted: String,
    },
    /// An index of another type than the array's.
    #[error("the index is {found}, but the array is indexed by {wanted}")]
    WrongIndex {
        /// The type of the index.
        found: String,
        /// The index type of the array.
        wanted: String,
    },
    /// A constant index outside of the array.
    #[error("index {found} is out of bounds")]
    IndexOutside {
        /// The index.
        found: i64,
        /// The smallest index.
        low: i64,
        /// The largest index.
        high: i64,
    },
    /// An index of what is no array.
    #[error("this is {found}, which has no elements")]
    NotAnArray {
        /// The actual type.
        found: String,
    },
    /// A field of what is no record.
    #[error("this is {found}, which has no fields")]
    NotARecord {
        /// The actual type.
        found: String,
    },
    /// A field that the record does not have.
    #[error("there is no field `{found}` in this record")]
    NoField {
        /// The name.
        found: String,
        /// A declared name that is spelled alike.
        suggestion: Option<String>,
    },
    /// Arithmetic or order on values that have none.
    #[error("cannot apply `{operator}` to {found}")]
    NotOrdered {
        /// The operator.
        operator: &'static str,
        /// The type of the operand.
        found: String,
        /// Whether it is a scalarset, or a union with one.
        scalarset: bool,
    },
    /// `=` on values that cannot be compared.
    #[error("cannot compare {left} with {right}")]
    NotComparable {
        /// The type on the left.
        left: String,
        /// The type on the right.
        right: String,
    },
    /// A constant was expected.
    #[error("this is not a constant")]
    NotConstant {
        /// What it is used as.
        used_as: &'static str,
    },
    /// A range whose end is before its beginning.
    #[error("the range {low}..{high} is empty")]
    EmptyRange {
        /// Its beginning.
        low: i64,
        /// Its end.
        high: i64,
    },
    /// An invalid size of a scalarset or multiset.
    #[error("invalid size {found} of a {what}")]
    BadSize {
        /// What.
        what: &'static str,
        /// The size.
        found: i64,
    },
    /// A constant that cannot be computed.
    #[error("this constant cannot be computed: {why}")]
    BadArithmetic {
        /// Why.
        why: &'static str,
    },
    /// A step of 0 in a loop.
    #[error("the step is 0")]
    ZeroStep,
    /// A constant value that does not fit the type of its target.
    #[error("{value} is out of range for {wanted}")]
    OutOfRange {
        /// The value.
        value: i64,
        /// The type.
        wanted: String,
    },
    /// An assignment to something that cannot be assigned.
    #[error("cannot assign to {what}")]
    ReadOnly {
        /// What.
        what: String,
        /// How to fix it.
        instead: &'static str,
    },
    /// An expression where a variable is wanted.
    #[error("this is not a variable")]
    NotAVariable {
        /// What it is used for.
        used_for: &'static str,
    },
    /// A call with more or fewer arguments than there are parameters.
    #[error("`{name}` is called with {found} argument{}", if *found == 1 { "" } else { "s" })]
    ArgumentCount {
        /// The function.
        name: String,
        /// How many.
        found: usize,
        /// How many it takes.
        wanted: usize,
    },
    /// A `var` argument whose type is not exactly the parameter's.
    #[error("this is {found}, but the `var` parameter `{parameter}` is {wanted}")]
    VarArgument {
        /// The parameter.
        parameter: String,
        /// The type of the argument.
        found: String,
        /// The type of the parameter.
        wanted: String,
    },
    /// A function that calls itself, directly or through others.
    #[error("`{name}` calls itself{}", if path.is_empty() { String::new() } else { format!(" through {path}") })]
    Recursion {
        /// The function.
        name: String,
        /// The others, in order.
        path: String,
    },
    /// A function whose end can be reached without a value. A warning.
    #[error("the end of function `{name}` may be reached")]
    MissingReturn {
        /// The function.
        name: String,
    },
    /// A function without any `return`.
    #[error("function `{name}` never returns a value")]
    NeverReturns {
        /// The function.
        name: String,
    },
    /// `return` with a value where there is none to return, or without one.
    #[error("unexpected `return` {found}")]
    WrongReturn {
        /// `with a value` or `without a value`.
        found: &'static str,
    },
    /// `undefined` where it is no value.
    #[error("`undefined` is not a value")]
    UndefinedValue,
    /// `isundefined` of a record and the like.
    #[error("cannot apply `isundefined` to {found}")]
    UndefinedComposite {
        /// The type.
        found: String,
    },
    /// A union with a part that is neither enum nor scalarset.
    #[error("{found} cannot be a member of a union")]
    BadUnionMember {
        /// The type.
        found: String,
    },
    /// A type twice in a union.
    #[error("{found} is in this union twice")]
    UnionMemberTwice {
        /// The type.
        found: String,
    },
    /// A composite type where values are enumerated.
    #[error("{found} has no values that can be enumerated")]
    NotEnumerable {
        /// The type.
        found: String,
        /// Where: an array index, a loop.
        used_for: &'static str,
    },
    /// An index of a multiset used on something else.
    #[error("`{name}` is an element of another multiset")]
    OtherMultiset {
        /// The index.
        name: String,
    },
    /// `clear` of scalarset values. A warning.
    #[error("`clear` gives scalarset values their first value")]
    ScalarsetCleared,
    /// There are no start states.
    #[error("the model has no start state")]
    NoStartState,
    /// There are no rules.
    #[error("the model has no rule")]
    NoRule,
    /// A value given for a constant that the model does not have.
    #[error("the model has no constant `{name}`")]
    UnknownOverride {
        /// The name.
        name: String,
        /// A declared name that is spelled alike.
        suggestion: Option<String>,
        /// The constants that the model declares.
        declared: Vec<String>,
    },
    /// A value given for a constant that is of another type.
    #[error("the constant is {found}, and {value} is given for it")]
    WrongOverride {
        /// The type of the constant.
        found: String,
        /// The value.
        value: i64,
    },
    /// A statement or declaration where it has no meaning.
    #[error("{what} is not allowed within {within}")]
    Misplaced {
        /// What.
        what: &'static str,
        /// Where.
        within: &'static str,
        /// Where it belongs.
        belongs: &'static str,
    },
}

impl ModelErrorKind {
    pub(crate) fn limit(what: &'static str, allowed: u64) -> ModelErrorKind {
        ModelErrorKind::Limit { what, allowed }
    }

    /// Whether a limit was reached, so that the model may be correct.
    pub fn is_limit(&self) -> bool {
        matches!(self, ModelErrorKind::Limit { .. })
    }
}
