//! What should have been in a model instead of an error, and how to mend it.

use crate::model_error_kind::ModelErrorKind;
use crate::syntax::keywords::Keyword;

fn line_of(before: &Option<crate::Position>) -> String {
    match before {
        Some(at) => format!(
            "it is declared in line {}, column {} too; give one of them another name",
            at.line, at.column
        ),
        None => "this name is built in; choose another one".into(),
    }
}

impl ModelErrorKind {
    /// What should have been there.
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
            ModelErrorKind::UnknownName { meant, what, .. } => match meant {
                Some(meant) => format!("perhaps `{meant}`"),
                None => match *what {
                    "function" => "a function or procedure of the model".into(),
                    _ => format!("a {what} that is declared above"),
                },
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
            ModelErrorKind::NoField { meant, .. } => match meant {
                Some(meant) => format!("perhaps `{meant}`"),
                None => "a field of the record".into(),
            },
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
            ModelErrorKind::UnknownOverride { meant, .. } => match meant {
                Some(meant) => format!("perhaps `{meant}`"),
                None => "a constant of the model".into(),
            },
            ModelErrorKind::WrongOverride { found, .. } => match found.as_str() {
                "a boolean" => "0 for false or 1 for true".into(),
                _ => "no value for this constant".into(),
            },
            ModelErrorKind::Misplaced { belongs, .. } => (*belongs).into(),
        }
    }

    /// How to mend it.
    pub fn hint(&self) -> String {
        match self {
            ModelErrorKind::NotUtf8 { .. } => {
                "is this a Murphi model? Convert it to UTF-8 if it is in an older encoding".into()
            }
            ModelErrorKind::Limit { .. } => {
                "the limit keeps a model from taking all memory; nothing is known about the model"
                    .into()
            }
            ModelErrorKind::BadCharacter { .. } => {
                "comments begin with `--` or stand between `/*` and `*/`".into()
            }
            ModelErrorKind::UnterminatedComment => {
                "comments do not nest; the comment goes from here to the end of the file".into()
            }
            ModelErrorKind::UnterminatedText => {
                "put the closing quote before the end of the line".into()
            }
            ModelErrorKind::BadNumber { .. } => "names do not begin with a digit".into(),
            ModelErrorKind::NumberTooLarge { .. } => "numbers are 64 bits wide".into(),
            ModelErrorKind::NotSupported { .. } => {
                "models are read as CMurphi and Rumur read them, but without floating-point \
                 numbers, probabilities, liveness and functions in C++"
                    .into()
            }
            ModelErrorKind::Unexpected { found, wanted } => unexpected_hint(found, wanted),
            ModelErrorKind::UnexpectedEnd { .. } => {
                "is the file complete? Every block needs its `end`".into()
            }
            ModelErrorKind::WrongEnd { .. } => "`end` alone closes any block".into(),
            ModelErrorKind::Chained { operator } => match operator.as_str() {
                "->" => "write `a -> (b -> c)` or `(a -> b) -> c`".into(),
                "?" => "write `a ? b : (c ? d : e)`".into(),
                _ => "comparisons do not chain; write `a = b & b = c`".into(),
            },
            ModelErrorKind::UnknownName { what, .. } => match *what {
                "type" => "types are declared in a `type` section before they are used".into(),
                "function" | "procedure" => {
                    "functions and procedures stand beside the rules, in any order".into()
                }
                _ => "names are case-sensitive, keywords are not".into(),
            },
            ModelErrorKind::Duplicate { before, .. } => line_of(before),
            ModelErrorKind::OtherKind { .. } => {
                "constants, types, variables, enum members and functions \
                                          share one set of names"
                    .into()
            }
            ModelErrorKind::TypeMismatch { found, wanted } => mismatch_hint(found, wanted),
            ModelErrorKind::WrongIndex { .. } => {
                "an array over a scalarset or an enum is indexed by its values only".into()
            }
            ModelErrorKind::IndexOutside { .. } => {
                "this access would fail whenever it is reached".into()
            }
            ModelErrorKind::NotAnArray { .. } => {
                "arrays are declared as `array [INDEX] of TYPE`".into()
            }
            ModelErrorKind::NotARecord { .. } => "records are declared as `record … end`".into(),
            ModelErrorKind::NoField { .. } => "names are case-sensitive".into(),
            ModelErrorKind::NotOrdered {
                scalarset: true, ..
            } => "scalarset values can only be compared with `=` and `!=`, because they may be \
                 permuted; use a range if they have an order"
                .into(),
            ModelErrorKind::NotOrdered { .. } => {
                "only integers have arithmetic and an order".into()
            }
            ModelErrorKind::NotComparable { .. } => {
                "enums and scalarsets are different types even if they look alike".into()
            }
            ModelErrorKind::NotConstant { used_as } => {
                format!("{used_as} must be known before the search begins")
            }
            ModelErrorKind::EmptyRange { .. } => "both ends belong to the range".into(),
            ModelErrorKind::BadSize { .. } => "the size is the number of values".into(),
            ModelErrorKind::BadArithmetic { .. } => "constants are computed with 64 bits".into(),
            ModelErrorKind::ZeroStep => "the loop would not end".into(),
            ModelErrorKind::OutOfRange { .. } => {
                "the assignment would fail whenever it is reached".into()
            }
            ModelErrorKind::ReadOnly { instead, .. } => (*instead).into(),
            ModelErrorKind::NotAVariable { .. } => {
                "constants, enum members and results of functions have no place in memory".into()
            }
            ModelErrorKind::ArgumentCount { name, .. } => {
                format!("compare with the declaration of `{name}`")
            }
            ModelErrorKind::VarArgument { .. } => {
                "a `var` parameter is the variable itself, so the types must be the same".into()
            }
            ModelErrorKind::Recursion { .. } => "use a loop instead".into(),
            ModelErrorKind::MissingReturn { .. } => {
                "a call that gets there stops the search with an error".into()
            }
            ModelErrorKind::NeverReturns { .. } => {
                "return a value, or declare it as a `procedure`".into()
            }
            ModelErrorKind::WrongReturn { found } => match *found {
                "with a value" => "only functions return values".into(),
                _ => "a function returns a value of its type".into(),
            },
            ModelErrorKind::UndefinedValue => {
                "assign `undefined`, pass it to a parameter, or ask `isundefined(x)`".into()
            }
            ModelErrorKind::UndefinedComposite { .. } => {
                "ask for its fields or elements one by one".into()
            }
            ModelErrorKind::BadUnionMember { .. } => {
                "values of a union are told apart by their type, and integers have no type of \
                 their own"
                    .into()
            }
            ModelErrorKind::UnionMemberTwice { .. } => "leave one of them out".into(),
            ModelErrorKind::NotEnumerable { used_for, .. } => {
                format!("{used_for} goes through all values of a type")
            }
            ModelErrorKind::OtherMultiset { .. } => {
                "it belongs to the multiset after the colon, where it is introduced".into()
            }
            ModelErrorKind::ScalarsetCleared => {
                "scalarset values are interchangeable, and choosing the first one breaks the \
                 symmetry: a search with symmetry reduction may miss states"
                    .into()
            }
            ModelErrorKind::NoStartState => {
                "the search begins with the states that `startstate … end` makes".into()
            }
            ModelErrorKind::NoRule => "the search goes on with `rule GUARD ==> … end`".into(),
            ModelErrorKind::UnknownOverride { .. } => {
                "constants are declared in a `const` section; names are case-sensitive".into()
            }
            ModelErrorKind::WrongOverride { .. } => {
                "integers can be given for any integer constant".into()
            }
            ModelErrorKind::Misplaced { .. } => "move it there".into(),
        }
    }
}

/// The most frequent slips have hints of their own.
fn unexpected_hint(found: &str, wanted: &str) -> String {
    let hint = match found {
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
    };
    hint.into()
}

fn mismatch_hint(found: &str, wanted: &str) -> String {
    let named = |text: &str| text.contains("enum") || text.contains("scalarset");
    let hint = if wanted == "a boolean" {
        "only booleans are conditions; compare other values, as in `x != 0`"
    } else if named(found) && named(wanted) {
        "enums and scalarsets are different types even if they look alike"
    } else {
        "integers of all ranges go together, a union goes with its members, and every other type \
         with itself only"
    };
    hint.into()
}
