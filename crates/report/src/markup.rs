//! What all pictures need: numbers and text as SVG has them, and lines that are not too long.

use unicode_width::UnicodeWidthStr;

/// A coordinate with at most one digit after the point.
pub(crate) fn number(value: f64) -> String {
    let tenths = (value * 10.0).round() as i64;
    match tenths % 10 {
        0 => (tenths / 10).to_string(),
        _ => format!("{}", tenths as f64 / 10.0),
    }
}

/// A font as style sheets have it: one that readers are likely to have, by weight, size and family.
pub(crate) fn font(is_bold: bool, size: f64, is_monospace: bool) -> String {
    let family = match is_monospace {
        true => "ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace",
        false => "system-ui,'DejaVu Sans','Segoe UI',Helvetica,Arial,sans-serif",
    };
    let weight = if is_bold { "600" } else { "400" };
    format!("{weight} {}px {family}", number(size))
}

/// Text as XML has it. What XML cannot have becomes a replacement character.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' => out.push(letter),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            letter if letter.is_control() => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

/// A text as lines of at most `most` columns. Lines end after a space or a comma if there is one, or
/// between the parts of a long name.
pub fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let words = text.split_inclusive([' ', ',']);
    let pieces = words.flat_map(|word| match word.trim_end().width() > most {
        true => word.split_inclusive(['.', ']', '/']).collect(),
        false => vec![word],
    });
    for piece in pieces {
        if !line.is_empty() && line.width() + piece.trim_end().width() > most {
            lines.push(std::mem::take(&mut line));
        }
        for letter in piece.chars() {
            line.push(letter);
            if line.trim_end().width() > most {
                line.pop();
                lines.push(std::mem::take(&mut line));
                line.push(letter);
            }
        }
    }
    lines.push(line);
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines.retain(|line| !line.is_empty());
    lines
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn long_texts_break_at_spaces_and_commas_or_where_they_must() {
        assert_eq!(wrapped("MOV [x],$1", 20), ["MOV [x],$1"]);
        assert_eq!(wrapped("MOV [x],$1", 9), ["MOV [x],", "$1"]);
        assert_eq!(wrapped("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrapped("変変変", 4), ["変変", "変"]);
        assert_eq!(wrapped("a b.cdef.gh", 6), ["a b.", "cdef.", "gh"]);
        assert!(wrapped("", 4).is_empty());
    }
}
