//! Guesses the name of an object from the source line that creates it.
//!
//! `let flag = AtomicBool::new(false)` creates `flag`, and so does a field
//! `flag: AtomicBool::new(false)`. It is a guess about text, not a parser. An object whose name it
//! does not recognise is reported with its source location.

/// The name of the object that is created at `column` (from 1, in characters) of a source line.
pub fn derive_name(line: &str, column: u32) -> Option<String> {
    let column = usize::try_from(column.checked_sub(1)?).ok()?;
    let before: Vec<char> = line.chars().take(column).collect();
    if before.len() < column {
        return None;
    }
    let binding = find_binding(&before)?;
    let left: String = before[..binding.sign].iter().collect();
    match before[binding.sign] {
        ':' => field_name(&left),
        _ => bound_name(&left, binding.position),
    }
}

/// The `=` or `:` that binds the value under the cursor.
struct Binding {
    sign: usize,
    /// Which element of the tuple or array on the right the value is.
    position: Option<usize>,
}

/// Walks to the left, out of calls, tuples and arrays, to the sign that binds them.
fn find_binding(before: &[char]) -> Option<Binding> {
    let mut depth = 0;
    let mut commas = 0;
    let mut position = None;
    for sign in (0..before.len()).rev() {
        let at = |offset: isize| {
            let index = sign.checked_add_signed(offset)?;
            before.get(index).copied()
        };
        match before[sign] {
            ')' | ']' | '}' => depth += 1,
            '(' | '[' if depth > 0 => depth -= 1,
            '{' if depth > 0 => depth -= 1,
            // The parenthesis of a call is not a tuple: its elements are not bound by position.
            '(' | '[' => {
                let is_call = at(-1).is_some_and(|c| c.is_alphanumeric() || "_!>".contains(c));
                if !is_call && position.is_none() {
                    position = Some(commas);
                }
                commas = 0;
            }
            '{' => return None,
            _ if depth > 0 => {}
            ',' => commas += 1,
            // Another statement, or a closure's arrow.
            ';' => return None,
            ':' if at(-1) != Some(':') && at(1) != Some(':') && commas == 0 => {
                let left: String = before[..sign].iter().collect();
                // In `let flag: Flag = …` the `=` was met first.
                return field_name(&left).map(|_| Binding { sign, position });
            }
            '=' if !matches!(at(1), Some('=' | '>'))
                && !matches!(at(-1), Some('=' | '!' | '<' | '>' | '+' | '-')) =>
            {
                return (commas == 0).then_some(Binding { sign, position });
            }
            _ => {}
        }
    }
    None
}

/// `Queue { head` and `pub head` are `head`.
fn field_name(left: &str) -> Option<String> {
    last_identifier(left.trim_end())
}

/// `let mut flag: Flag`, `let (a, b)` and `self.head`.
fn bound_name(left: &str, position: Option<usize>) -> Option<String> {
    let left = left.trim_end();
    let pattern = ["let ", "static ref ", "static ", "const "]
        .iter()
        .filter_map(|word| left.rfind(word).map(|at| (at, &left[at + word.len()..])))
        .max_by_key(|&(at, rest)| (at, std::cmp::Reverse(rest.len())))
        .map(|(_, rest)| rest.trim());
    let Some(pattern) = pattern else {
        return last_identifier(left);
    };
    if let Some(inner) = pattern.strip_prefix(['(', '[']) {
        let inner = inner.split([')', ']']).next()?;
        return first_identifier(inner.split(',').nth(position?)?);
    }
    first_identifier(pattern)
}

fn first_identifier(text: &str) -> Option<String> {
    let text = text.trim_start();
    let text = text.strip_prefix("ref ").unwrap_or(text);
    let text = text.strip_prefix("mut ").unwrap_or(text).trim_start();
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    is_name(&text[..end]).then(|| text[..end].to_owned())
}

fn last_identifier(text: &str) -> Option<String> {
    let start = text
        .rfind(|c: char| !c.is_alphanumeric() && c != '_')
        .map_or(0, |at| {
            at + text[at..].chars().next().map_or(1, char::len_utf8)
        });
    is_name(&text[start..]).then(|| text[start..].to_owned())
}

fn is_name(text: &str) -> bool {
    text != "_"
        && text
            .chars()
            .next()
            .is_some_and(|c| c.is_alphabetic() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::derive_name;

    /// The name of the object that is created at the `^`, which stands before the call.
    fn derived(marked: &str) -> Option<String> {
        let column = marked.find('^').expect("a mark") as u32 + 1;
        derive_name(&marked.replacen('^', "", 1), column)
    }

    #[test]
    fn names_come_from_bindings_and_fields() {
        let cases = [
            ("let flag = ^AtomicBool::new(false);", "flag"),
            ("    let mut flag = ^AtomicBool::new(false);", "flag"),
            ("let flag: AtomicBool = ^AtomicBool::new(false);", "flag"),
            ("let flag = Arc::new(^AtomicBool::new(false));", "flag"),
            (
                "let flag: Arc<[AtomicBool; 2]> = Arc::new([^AtomicBool::new(false)]);",
                "flag",
            ),
            ("head: ^AtomicPtr::new(null_mut()),", "head"),
            (
                "Queue { head: ^AtomicPtr::new(node), tail: AtomicPtr::new(node) }",
                "head",
            ),
            (
                "Queue { head: AtomicPtr::new(node), tail: ^AtomicPtr::new(node) }",
                "tail",
            ),
            (
                "let queue = Queue { head: CachePadded::new(^AtomicPtr::new(node)) };",
                "head",
            ),
            (
                "static ref COUNTER: AtomicUsize = ^AtomicUsize::new(0);",
                "COUNTER",
            ),
            ("self.head = ^AtomicUsize::new(0);", "head"),
            (
                "let (x, y) = (^AtomicU8::new(f(1, 2)), AtomicU8::new(0));",
                "x",
            ),
            (
                "let (x, mut y) = (AtomicU8::new(f(1, 2)), ^AtomicU8::new(0));",
                "y",
            ),
            ("let [x, y] = [AtomicU8::new(0), ^AtomicU8::new(0)];", "y"),
            (
                "let cells = vec![AtomicU8::new(0), ^AtomicU8::new(0)];",
                "cells",
            ),
            (
                "let slots: Vec<_> = (0..4).map(|_| ^AtomicU8::new(0)).collect();",
                "slots",
            ),
            ("let a = AtomicU8::new(0); let b = ^AtomicU8::new(0);", "b"),
            ("let größe = ^AtomicU8::new(0);", "größe"),
        ];
        for (line, name) in cases {
            // Columns count characters; the mark is found by bytes.
            if line.is_ascii() {
                assert_eq!(derived(line).as_deref(), Some(name), "{line}");
            }
        }
        assert_eq!(
            derive_name("let größe = AtomicU8::new(0);", 13).as_deref(),
            Some("größe")
        );
    }

    #[test]
    fn what_is_not_bound_has_no_name() {
        for line in [
            "^AtomicBool::new(false)",
            "    ^AtomicBool::new(false),",
            "f(^AtomicBool::new(false));",
            "let _ = ^AtomicBool::new(false);",
            "if a == b { ^AtomicBool::new(false) }",
            "None => ^AtomicBool::new(false),",
            "let a = f(); ^AtomicBool::new(false)",
            "let x = Foo { ^AtomicBool::new(false) }",
        ] {
            assert_eq!(derived(line), None, "{line}");
        }
        assert_eq!(derive_name("", 5), None);
        assert_eq!(derive_name("let a = 1", 0), None);
        assert_eq!(derive_name("let a = 1", 100), None);
    }
}
