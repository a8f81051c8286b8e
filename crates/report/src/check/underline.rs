//! The part of a source line that a column refers to.
//!
//! The compiler gives the place of a call as the column where the name of the function or
//! macro begins. What is underlined is the whole call, with the receiver before it. This looks at
//! one line only and understands Rust no further than its brackets, so the end of a call may be
//! guessed wrong; the beginning of the name is always inside.

use std::ops::Range;

use unicode_width::UnicodeWidthChar;

/// The bytes of the line to underline. Never empty, if the line has anything but spaces; within
/// the line, and on the boundaries of characters.
pub(super) fn underline(line: &str, column: u32) -> Range<usize> {
    let Some(start) = byte_of_column(line, column) else {
        return without_spaces(line);
    };
    let name_end = name_end(line, start);
    if name_end == start {
        let width = line[start..].chars().next().map_or(0, char::len_utf8);
        return start..start + width;
    }
    receiver_start(line, start)..call_end(line, name_end)
}

fn without_spaces(line: &str) -> Range<usize> {
    let start = line.len() - line.trim_start().len();
    start..line.trim_end().len().max(start)
}

/// The byte at which a screen column begins, counted as the compiler does. None beyond the line,
/// and for column 0.
fn byte_of_column(line: &str, column: u32) -> Option<usize> {
    let target = (column as usize).checked_sub(1)?;
    let mut width = 0;
    for (byte, c) in line.char_indices() {
        let own = match c {
            '\t' => 4,
            _ => c.width().unwrap_or(1),
        };
        // A column inside a wide character is that character's.
        if width >= target || width + own > target {
            return Some(byte);
        }
        width += own;
    }
    None
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The end of a path such as `AtomicU32::new` or `assert_eq!` that begins at `start`.
fn name_end(line: &str, start: usize) -> usize {
    let mut end = start;
    loop {
        let rest = &line[end..];
        end += rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let rest = &line[end..];
        if let Some(path) = rest.strip_prefix("::") {
            if path.starts_with(is_name) && end > start {
                end += 2;
                continue;
            }
        }
        let is_macro = end > start && rest.starts_with('!') && !rest.starts_with("!=");
        return end + usize::from(is_macro);
    }
}

/// The end of the arguments that begin at `at`, or `at` if there are none; the end of the
/// line if they go on after it.
fn call_end(line: &str, at: usize) -> usize {
    if !line[at..].starts_with(['(', '[', '{']) {
        return at;
    }
    let mut depth = 0;
    let mut in_string = false;
    let mut chars = line[at..].char_indices();
    while let Some((byte, c)) = chars.next() {
        match c {
            '\\' if in_string => {
                chars.next();
            }
            '"' => in_string = !in_string,
            _ if in_string => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => {
                depth -= 1;
                if depth == 0 {
                    return at + byte + c.len_utf8();
                }
            }
            _ => {}
        }
    }
    line.trim_end().len()
}

/// The beginning of the expression on which a method is called whose name begins at `name`.
fn receiver_start(line: &str, name: usize) -> usize {
    let mut start = name;
    while let Some(before) = line[..start].strip_suffix('.') {
        match operand_start(before) {
            Some(operand) => start = operand,
            None => break,
        }
    }
    start
}

/// The start of the operand at the end of the text: a path with calls and indices after it.
fn operand_start(text: &str) -> Option<usize> {
    let mut start = text.len();
    loop {
        let rest = &text[..start];
        match rest.chars().next_back() {
            Some(close @ (')' | ']')) => start = opening_bracket(rest, close)?,
            Some('?') => start -= 1,
            Some(c) if is_name(c) => {
                start = rest
                    .char_indices()
                    .rev()
                    .take_while(|&(_, c)| is_name(c))
                    .last()
                    .map_or(start, |(byte, _)| byte);
                match text[..start].strip_suffix("::") {
                    Some(path) if path.ends_with(is_name) => start = path.len(),
                    _ => return Some(start),
                }
            }
            _ if start < text.len() => return Some(start),
            _ => return None,
        }
    }
}

/// The bracket that the last character of the text closes.
fn opening_bracket(text: &str, close: char) -> Option<usize> {
    let open = if close == ')' { '(' } else { '[' };
    let mut depth = 0;
    for (byte, c) in text.char_indices().rev() {
        if c == close {
            depth += 1;
        } else if c == open {
            depth -= 1;
            if depth == 0 {
                return Some(byte);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Underlines what stands at `|`, which is not part of the line.
    fn underlined(marked: &str) -> String {
        let byte = marked.find('|').unwrap();
        let line = marked.replacen('|', "", 1);
        let width = |c: char| if c == '\t' { 4 } else { c.width().unwrap() };
        let column: usize = line[..byte].chars().map(width).sum();
        line[underline(&line, column as u32 + 1)].to_string()
    }

    #[test]
    fn calls_are_underlined_with_their_receiver() {
        assert_eq!(
            underlined("    x.|store(1, Relaxed);"),
            "x.store(1, Relaxed)"
        );
        assert_eq!(
            underlined("\tlet r = self.flag[1 - me].|load(Relaxed);"),
            "self.flag[1 - me].load(Relaxed)"
        );
        assert_eq!(
            underlined("foo(Q::HEAD.get().|load(a(b)), c)"),
            "Q::HEAD.get().load(a(b))"
        );
        assert_eq!(underlined("while !x.|load(SeqCst) {}"), "x.load(SeqCst)");
        assert_eq!(underlined("let a = 変数.|load(\"(\");"), "変数.load(\"(\")");
    }

    #[test]
    fn functions_macros_and_names_are_underlined() {
        assert_eq!(
            underlined("    |fence(Ordering::SeqCst);"),
            "fence(Ordering::SeqCst)"
        );
        assert_eq!(
            underlined("|thread::spawn(move || {"),
            "thread::spawn(move || {"
        );
        assert_eq!(
            underlined("  |assert!(a || b, \"{}\", c); d"),
            "assert!(a || b, \"{}\", c)"
        );
        assert_eq!(underlined("|a != b"), "a");
        assert_eq!(underlined("a |+ b"), "+");
        assert_eq!(underlined("        .|store(1);"), "store(1)");
        assert_eq!(underlined("f(x)?.|store(1);"), "f(x)?.store(1)");
    }

    #[test]
    fn a_column_beyond_the_line_is_the_whole_line() {
        assert_eq!(&"  a = b;"[underline("  a = b;", 99)], "a = b;");
        assert_eq!(&"  a = b;"[underline("  a = b;", 0)], "a = b;");
        assert_eq!(underline("", 3), 0..0);
        assert_eq!(underline("   ", 9), 3..3);
    }

    #[test]
    fn every_line_and_column_is_safe() {
        let lines = [
            "x.store(1)",
            "\t変.é(",
            "))).f()",
            "a\u{301}::b![",
            ".x",
            "::::",
            "\"\\",
            "?.x",
        ];
        for line in lines {
            for column in 0..20 {
                let range = underline(line, column);
                assert!(line.get(range.clone()).is_some(), "{line} {column}");
                assert!(!range.is_empty());
            }
        }
    }
}
