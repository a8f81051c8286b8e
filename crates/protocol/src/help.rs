//! What should have been in a model instead of a mistake, and how to mend it.

use crate::problem::Problem;
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

impl Problem {
    /// What should have been there.
    pub fn expected(&self) -> String {
        match self {
            Problem::NotUtf8 { .. } => "UTF-8 text".into(),
            Problem::Limit { allowed, .. } => format!("at most {allowed}"),
            Problem::BadCharacter { .. } => "a name, a number or an operator".into(),
            Problem::UnterminatedComment => "`*/`".into(),
            Problem::UnterminatedText => "`\"` on the same line".into(),
            Problem::BadNumber { .. } => "decimal digits, or hexadecimal ones after `0x`".into(),
            Problem::NumberTooLarge { .. } => format!("a number up to {}", i64::MAX),
            Problem::NotSupported { instead, .. } => (*instead).into(),
            Problem::Unexpected { wanted, .. } | Problem::UnexpectedEnd { wanted } => {
                (*wanted).into()
            }
            Problem::WrongEnd { wanted, .. } => (*wanted).into(),
            Problem::Chained { .. } => "parentheses".into(),
            Problem::UnknownName { meant, what, .. } => match meant {
                Some(meant) => format!("perhaps `{meant}`"),
                None => match *what {
                    "function" => "a function or procedure of the model".into(),
                    _ => format!("a {what} that is declared above"),
                },
            },
            Problem::Duplicate { .. } => "another name".into(),
            Problem::OtherKind { wanted, .. } => (*wanted).into(),
            Problem::TypeMismatch { wanted, .. } | Problem::WrongIndex { wanted, .. } => {
                wanted.clone()
            }
            Problem::IndexOutside { low, high, .. } => format!("a number from {low} to {high}"),
            Problem::NotAnArray { .. } => "an array or a multiset before `[`".into(),
            Problem::NotARecord { .. } => "a record before `.`".into(),
            Problem::NoField { meant, .. } => match meant {
                Some(meant) => format!("perhaps `{meant}`"),
                None => "a field of the record".into(),
            },
            Problem::NotOrdered { .. } => "integers".into(),
            Problem::NotComparable { .. } => "two values of one type".into(),
            Problem::NotConstant { .. } => "numbers, constants and operators".into(),
            Problem::EmptyRange { low, .. } => format!("an end that is {low} or more"),
            Problem::BadSize { .. } => "a size from 1".into(),
            Problem::BadArithmetic { .. } => "a number of 64 bits".into(),
            Problem::ZeroStep => "a number that is not 0".into(),
            Problem::OutOfRange { .. } => "a value that fits".into(),
            Problem::ReadOnly { .. } => "a variable".into(),
            Problem::NotAVariable { used_for } => format!("a variable to {used_for}"),
            Problem::ArgumentCount { wanted, .. } => match wanted {
                0 => "no arguments".into(),
                1 => "1 argument".into(),
                _ => format!("{wanted} arguments"),
            },
            Problem::VarArgument { wanted, .. } => format!("a variable that is {wanted}"),
            Problem::Recursion { .. } => "functions that do not call themselves".into(),
            Problem::MissingReturn { .. } => "a `return` on every path".into(),
            Problem::NeverReturns { .. } => "a `return` with a value".into(),
            Problem::WrongReturn { found } => match *found {
                "with a value" => "`return` without a value".into(),
                _ => "`return` with a value".into(),
            },
            Problem::UndefinedValue => "a value".into(),
            Problem::UndefinedComposite { .. } => {
                "a boolean, an enum, a range, a scalarset or a union".into()
            }
            Problem::BadUnionMember { .. } => "enums and scalarsets".into(),
            Problem::UnionMemberTwice { .. } => "each type once".into(),
            Problem::NotEnumerable { .. } => {
                "a boolean, an enum, a range, a scalarset or a union".into()
            }
            Problem::OtherMultiset { .. } => "an element of this multiset".into(),
            Problem::ScalarsetCleared => "`undefine`, or a value".into(),
            Problem::NoStartState => "`startstate`".into(),
            Problem::NoRule => "`rule`".into(),
            Problem::UnknownOverride { meant, .. } => match meant {
                Some(meant) => format!("perhaps `{meant}`"),
                None => "a constant of the model".into(),
            },
            Problem::WrongOverride { found, .. } => match found.as_str() {
                "a boolean" => "0 for false or 1 for true".into(),
                _ => "no value for this constant".into(),
            },
            Problem::Misplaced { belongs, .. } => (*belongs).into(),
        }
    }

    /// How to mend it.
    pub fn hint(&self) -> String {
        match self {
            Problem::NotUtf8 { .. } => {
                "is this a Murphi model? Convert it to UTF-8 if it is in an older encoding".into()
            }
            Problem::Limit { .. } => {
                "the limit keeps a model from taking all memory; nothing is known about the model"
                    .into()
            }
            Problem::BadCharacter { .. } => {
                "comments begin with `--` or stand between `/*` and `*/`".into()
            }
            Problem::UnterminatedComment => {
                "comments do not nest; the comment goes from here to the end of the file".into()
            }
            Problem::UnterminatedText => "put the closing quote before the end of the line".into(),
            Problem::BadNumber { .. } => "names do not begin with a digit".into(),
            Problem::NumberTooLarge { .. } => "numbers are 64 bits wide".into(),
            Problem::NotSupported { .. } => {
                "models are read as CMurphi and Rumur read them, but without floating-point \
                 numbers, probabilities, liveness and functions in C++"
                    .into()
            }
            Problem::Unexpected { found, wanted } => unexpected_hint(found, wanted),
            Problem::UnexpectedEnd { .. } => {
                "is the file complete? Every block needs its `end`".into()
            }
            Problem::WrongEnd { .. } => "`end` alone closes any block".into(),
            Problem::Chained { operator } => match operator.as_str() {
                "->" => "write `a -> (b -> c)` or `(a -> b) -> c`".into(),
                "?" => "write `a ? b : (c ? d : e)`".into(),
                _ => "comparisons do not chain; write `a = b & b = c`".into(),
            },
            Problem::UnknownName { what, .. } => match *what {
                "type" => "types are declared in a `type` section before they are used".into(),
                "function" | "procedure" => {
                    "functions and procedures stand beside the rules, in any order".into()
                }
                _ => "names are case-sensitive, keywords are not".into(),
            },
            Problem::Duplicate { before, .. } => line_of(before),
            Problem::OtherKind { .. } => "constants, types, variables, enum members and functions \
                                          share one set of names"
                .into(),
            Problem::TypeMismatch { found, wanted } => mismatch_hint(found, wanted),
            Problem::WrongIndex { .. } => {
                "an array over a scalarset or an enum is indexed by its values only".into()
            }
            Problem::IndexOutside { .. } => "this access would fail whenever it is reached".into(),
            Problem::NotAnArray { .. } => "arrays are declared as `array [INDEX] of TYPE`".into(),
            Problem::NotARecord { .. } => "records are declared as `record … end`".into(),
            Problem::NoField { .. } => "names are case-sensitive".into(),
            Problem::NotOrdered {
                scalarset: true, ..
            } => "scalarset values can only be compared with `=` and `!=`, because they may be \
                 permuted; use a range if they have an order"
                .into(),
            Problem::NotOrdered { .. } => "only integers have arithmetic and an order".into(),
            Problem::NotComparable { .. } => {
                "enums and scalarsets are different types even if they look alike".into()
            }
            Problem::NotConstant { used_as } => {
                format!("{used_as} must be known before the search begins")
            }
            Problem::EmptyRange { .. } => "both ends belong to the range".into(),
            Problem::BadSize { .. } => "the size is the number of values".into(),
            Problem::BadArithmetic { .. } => "constants are computed with 64 bits".into(),
            Problem::ZeroStep => "the loop would not end".into(),
            Problem::OutOfRange { .. } => "the assignment would fail whenever it is reached".into(),
            Problem::ReadOnly { instead, .. } => (*instead).into(),
            Problem::NotAVariable { .. } => {
                "constants, enum members and results of functions have no place in memory".into()
            }
            Problem::ArgumentCount { name, .. } => {
                format!("compare with the declaration of `{name}`")
            }
            Problem::VarArgument { .. } => {
                "a `var` parameter is the variable itself, so the types must be the same".into()
            }
            Problem::Recursion { .. } => "use a loop instead".into(),
            Problem::MissingReturn { .. } => {
                "a call that gets there stops the search with an error".into()
            }
            Problem::NeverReturns { .. } => "return a value, or declare it as a `procedure`".into(),
            Problem::WrongReturn { found } => match *found {
                "with a value" => "only functions return values".into(),
                _ => "a function returns a value of its type".into(),
            },
            Problem::UndefinedValue => {
                "assign `undefined`, pass it to a parameter, or ask `isundefined(x)`".into()
            }
            Problem::UndefinedComposite { .. } => {
                "ask for its fields or elements one by one".into()
            }
            Problem::BadUnionMember { .. } => {
                "values of a union are told apart by their type, and integers have no type of \
                 their own"
                    .into()
            }
            Problem::UnionMemberTwice { .. } => "leave one of them out".into(),
            Problem::NotEnumerable { used_for, .. } => {
                format!("{used_for} goes through all values of a type")
            }
            Problem::OtherMultiset { .. } => {
                "it belongs to the multiset after the colon, where it is introduced".into()
            }
            Problem::ScalarsetCleared => {
                "scalarset values are interchangeable, and choosing the first one breaks the \
                 symmetry: a search with symmetry reduction may miss states"
                    .into()
            }
            Problem::NoStartState => {
                "the search begins with the states that `startstate … end` makes".into()
            }
            Problem::NoRule => "the search goes on with `rule GUARD ==> … end`".into(),
            Problem::UnknownOverride { .. } => {
                "constants are declared in a `const` section; names are case-sensitive".into()
            }
            Problem::WrongOverride { .. } => {
                "integers can be given for any integer constant".into()
            }
            Problem::Misplaced { .. } => "move it there".into(),
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
