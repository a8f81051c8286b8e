//! The texts of errors in a model besides their messages: what was expected, and how to fix it.

use crate::model_error_kind::ModelErrorKind;
use crate::syntax::keywords::Keyword;

impl ModelErrorKind {
    /// The name that was probably meant.
    pub fn suggestion(&self) -> Option<&str> {
        match self {
            ModelErrorKind::UnknownName { suggestion, .. }
            | ModelErrorKind::NoField { suggestion, .. }
            | ModelErrorKind::UnknownOverride { suggestion, .. } => suggestion.as_deref(),
            _ => None,
        }
    }

    /// What was expected instead.
    pub fn expected(&self) -> String {
        match self {
            ModelErrorKind::NotUtf8 { .. } => "UTF-8 text".into(),
            ModelErrorKind::Limit { allowed, .. } => format!("at most {allowed}"),
            ModelErrorKind::BadCharacter { .. } => "a name, a number or an operator".into(),
            ModelErrorKind::UnterminatedComment => "`*/`".into(),
            ModelErrorKind::UnterminatedText => "`\"` on the same line".into(),
            ModelErrorKind::BadNumber { .. } => {
                "decimal digits, or hexadecimal ones after `0x`".into()
            }
            ModelErrorKind::NumberTooLarge { .. } => format!("a number up to {}", i64::MAX),
            ModelErrorKind::NotSupported { instead, .. } => (*instead).into(),
            ModelErrorKind::Unexpected { wanted, .. }
            | ModelErrorKind::UnexpectedEnd { wanted } => (*wanted).into(),
            ModelErrorKind::WrongEnd { wanted, .. } => (*wanted).into(),
            ModelErrorKind::Chained { .. } => "parentheses".into(),
            ModelErrorKind::UnknownName { what, .. } => match *what {
                "function" => "a function or procedure of the model".into(),
                _ => format!("a {what} that is declared above"),
            },
            ModelErrorKind::Duplicate { .. } => "another name".into(),
            ModelErrorKind::OtherKind { wanted, .. } => (*wanted).into(),
            ModelErrorKind::TypeMismatch { wanted, .. }
            | ModelErrorKind::WrongIndex { wanted, .. } => wanted.clone(),
            ModelErrorKind::IndexOutside { low, high, .. } => {
                format!("a number from {low} to {high}")
            }
            ModelErrorKind::NotAnArray { .. } => "an array or a multiset before `[`".into(),
            ModelErrorKind::NotARecord { .. } => "a record before `.`".into(),
            ModelErrorKind::NoField { .. } => "a field of the record".into(),
            ModelErrorKind::NotOrdered { .. } => "integers".into(),
            ModelErrorKind::NotComparable { .. } => "two values of one type".into(),
            ModelErrorKind::NotConstant { .. } => "numbers, constants and operators".into(),
            ModelErrorKind::EmptyRange { low, .. } => format!("an end that is {low} or more"),
            ModelErrorKind::BadSize { .. } => "a size from 1".into(),
            ModelErrorKind::BadArithmetic { .. } => "a number of 64 bits".into(),
            ModelErrorKind::ZeroStep => "a number that is not 0".into(),
            ModelErrorKind::OutOfRange { .. } => "a value that fits".into(),
            ModelErrorKind::ReadOnly { .. } => "a variable".into(),
            ModelErrorKind::NotAVariable { used_for } => format!("a variable to {used_for}"),
            ModelErrorKind::ArgumentCount { wanted, .. } => match wanted {
                0 => "no arguments".into(),
                1 => "1 argument".into(),
                _ => format!("{wanted} arguments"),
            },
            ModelErrorKind::VarArgument { wanted, .. } => format!("a variable that is {wanted}"),
            ModelErrorKind::Recursion { .. } => "functions that do not call themselves".into(),
            ModelErrorKind::MissingReturn { .. } => "a `return` on every path".into(),
            ModelErrorKind::NeverReturns { .. } => "a `return` with a value".into(),
            ModelErrorKind::WrongReturn { found } => match *found {
                "with a value" => "`return` without a value".into(),
                _ => "`return` with a value".into(),
            },
            ModelErrorKind::UndefinedValue => "a value".into(),
            ModelErrorKind::UndefinedComposite { .. } => {
                "a boolean, an enum, a range, a scalarset or a union".into()
            }
            ModelErrorKind::BadUnionMember { .. } => "enums and scalarsets".into(),
            ModelErrorKind::UnionMemberTwice { .. } => "each type once".into(),
            ModelErrorKind::NotEnumerable { .. } => {
                "a boolean, an enum, a range, a scalarset or a union".into()
            }
            ModelErrorKind::OtherMultiset { .. } => "an element of this multiset".into(),
            ModelErrorKind::ScalarsetCleared => "`undefine`, or a value".into(),
            ModelErrorKind::NoStartState => "`startstate`".into(),
            ModelErrorKind::NoRule => "`rule`".into(),
            ModelErrorKind::UnknownOverride { .. } => "a constant of the model".into(),
            ModelErrorKind::WrongOverride { found, .. } => match found.as_str() {
                "a boolean" => "0 for false or 1 for true".into(),
                _ => "no value for this constant".into(),
            },
            ModelErrorKind::Misplaced { belongs, .. } => (*belongs).into(),
        }
    }

    /// How to fix the error.
    pub fn hint(&self) -> String {
        use ModelErrorKind as Kind;
        let hint = match self {
            Kind::NotUtf8 { .. } => "convert the file to UTF-8, if it is a Murphi model",
            Kind::Limit { .. } => "the limit bounds the memory that reading a model takes",
            Kind::BadCharacter { .. } => "comments begin with `--`, or stand in `/* … */`",
            Kind::UnterminatedComment => "comments do not nest; this one never ends",
            Kind::UnterminatedText => "put the closing quote before the end of the line",
            Kind::BadNumber { .. } => "names do not begin with a digit",
            Kind::NumberTooLarge { .. } => "numbers are 64 bits wide",
            Kind::NotSupported { .. } => DIALECT_HINT,
            Kind::Unexpected { found, wanted } => unexpected_hint(found, wanted),
            Kind::UnexpectedEnd { .. } => "close every block with `end`; the file may be truncated",
            Kind::WrongEnd { .. } => "`end` alone closes any block",
            Kind::Chained { operator } => chained_hint(operator),
            Kind::UnknownName { what, .. } => unknown_name_hint(what),
            Kind::Duplicate { before, .. } => return duplicate_hint(before.as_ref()),
            Kind::OtherKind { .. } => NAMESPACE_HINT,
            Kind::TypeMismatch { found, wanted } => mismatch_hint(found, wanted),
            Kind::WrongIndex { .. } => "index an array over a scalarset or an enum by its values",
            Kind::IndexOutside { .. } => "this access would fail whenever it is reached",
            Kind::NotAnArray { .. } => "arrays are declared as `array [INDEX] of TYPE`",
            Kind::NotARecord { .. } => "records are declared as `record … end`",
            Kind::NoField { .. } => "names are case-sensitive",
            Kind::NotOrdered { scalarset, .. } => order_hint(*scalarset),
            Kind::NotComparable { .. } => "enums and scalarsets with equal members differ",
            Kind::NotConstant { used_as } => {
                return format!("{used_as} must be known before the search begins");
            }
            Kind::EmptyRange { .. } => "both ends belong to the range",
            Kind::BadSize { .. } => "the size is the number of values",
            Kind::BadArithmetic { .. } => "constants are computed with 64 bits",
            Kind::ZeroStep => "the loop would not end",
            Kind::OutOfRange { .. } => "the assignment would fail whenever it is reached",
            Kind::ReadOnly { instead, .. } => instead,
            Kind::NotAVariable { .. } => "constants, enum members and results are not variables",
            Kind::ArgumentCount { name, .. } => {
                return format!("compare with the declaration of `{name}`");
            }
            Kind::VarArgument { .. } => "a `var` parameter has exactly the type of its argument",
            Kind::Recursion { .. } => "use a loop instead",
            Kind::MissingReturn { .. } => "a call that gets there stops the search with an error",
            Kind::NeverReturns { .. } => "return a value, or declare it as a `procedure`",
            Kind::WrongReturn { found } => return_hint(found),
            Kind::UndefinedValue => "assign it, pass it to a parameter, or test `isundefined(x)`",
            Kind::UndefinedComposite { .. } => "test its fields or elements one by one",
            Kind::BadUnionMember { .. } => "the type of a value tells which member it belongs to",
            Kind::UnionMemberTwice { .. } => "leave one of them out",
            Kind::NotEnumerable { used_for, .. } => {
                return format!("{used_for} goes through all values of a type");
            }
            Kind::OtherMultiset { .. } => "it belongs to the multiset where it is introduced",
            Kind::ScalarsetCleared => SYMMETRY_HINT,
            Kind::NoStartState => "add `startstate … end`: the search begins with its states",
            Kind::NoRule => "add `rule GUARD ==> … end`: rules lead from state to state",
            Kind::UnknownOverride { .. } => "constants are declared in a `const` section",
            Kind::WrongOverride { .. } => "--const sets integer and boolean constants",
            Kind::Misplaced { .. } => "move it there",
        };
        hint.into()
    }
}

const DIALECT_HINT: &str = "models are read as by CMurphi and Rumur, but without floating-point \
     numbers, probabilities, liveness and functions in C++";

const NAMESPACE_HINT: &str =
    "constants, types, variables, enum members and functions share one namespace";

const SYMMETRY_HINT: &str = "scalarset values are interchangeable, and choosing the first one \
     breaks the symmetry: a search with symmetry reduction may miss states";

fn duplicate_hint(before: Option<&crate::Position>) -> String {
    match before {
        Some(at) => format!(
            "it is declared in line {}, column {} too; rename one of them",
            at.line, at.column
        ),
        None => "this name is built in; choose another one".into(),
    }
}

fn chained_hint(operator: &str) -> &'static str {
    match operator {
        "->" => "write `a -> (b -> c)` or `(a -> b) -> c`",
        "?" => "write `a ? b : (c ? d : e)`",
        _ => "comparisons do not chain; write `a = b & b = c`",
    }
}

fn unknown_name_hint(what: &str) -> &'static str {
    match what {
        "type" => "types are declared in a `type` section before they are used",
        "function" | "procedure" => "functions and procedures stand beside the rules, in any order",
        _ => "names are case-sensitive, keywords are not",
    }
}

fn order_hint(is_scalarset: bool) -> &'static str {
    match is_scalarset {
        true => {
            "scalarset values can only be compared with `=` and `!=`, because they may be permuted; \
             use a range if they have an order"
        }
        false => "only integers have arithmetic and an order",
    }
}

fn return_hint(found: &str) -> &'static str {
    match found {
        "with a value" => "only functions return values",
        _ => "a function returns a value of its type",
    }
}

/// The most frequent mistakes have hints of their own.
fn unexpected_hint(found: &str, wanted: &str) -> &'static str {
    match found {
        "=" | "==" if wanted.contains(":=") => "`:=` assigns, `=` compares",
        ":=" => "`:=` assigns, `=` compares",
        _ if wanted.starts_with("`;`") => {
            "statements are separated by `;`; the one before may be unfinished"
        }
        _ if Keyword::of(found).is_some() => {
            "it is a keyword: the text before may be unfinished, or it is used as a name"
        }
        ";" | ")" | "]" | "," => "something is missing before it",
        _ => "the text before may be unfinished",
    }
}

fn mismatch_hint(found: &str, wanted: &str) -> &'static str {
    let named = |text: &str| text.contains("enum") || text.contains("scalarset");
    if wanted == "a boolean" {
        "only booleans are conditions; compare other values, as in `x != 0`"
    } else if named(found) && named(wanted) {
        "enums and scalarsets with equal members differ"
    } else {
        "integers of all ranges are compatible, and so are a union and its members"
    }
}
