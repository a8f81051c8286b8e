//! The part of a line that an error is about, fit for a terminal.

/// Part of a line, and where in it the error is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Excerpt {
    /// The text; control characters are replaced, and `…` stands for what is left out.
    pub text: String,
    /// How many characters precede the error.
    pub caret_at: usize,
    /// How many characters the error is wide, at least 1.
    pub caret_width: usize,
}

const CHARACTERS_BEFORE: usize = 40;
const CHARACTERS_IN_ALL: usize = 100;

impl Excerpt {
    /// The line around the bytes from `start` to `end` of `source`. The line may be as long as the
    /// file; only what is shown of it is copied.
    pub fn around(source: &str, start: usize, end: usize) -> Excerpt {
        let line_start = source[..start].rfind('\n').map_or(0, |feed| feed + 1);
        let line_end = source[start..]
            .find('\n')
            .map_or(source.len(), |length| start + length);
        let before = &source[line_start..start];
        let after = source[start..line_end].trim_end_matches('\r');
        let marked = source[start..end.clamp(start, start + after.len())]
            .chars()
            .count();
        let line = before.chars().chain(after.chars());
        Excerpt::cut(line, before.chars().count(), marked)
    }

    /// The surroundings of the `length` bytes from byte `at` of `line`, which need not be UTF-8,
    /// and the column of the first of them.
    pub fn in_line(line: &[u8], at: usize, length: usize) -> (Excerpt, usize) {
        let at = at.min(line.len());
        let marked = &line[at..(at + length).min(line.len())];
        let characters = |bytes| String::from_utf8_lossy(bytes).chars().count();
        let column = characters(&line[..at]);
        let all = String::from_utf8_lossy(line);
        let excerpt = Excerpt::cut(all.chars(), column, characters(marked));
        (excerpt, column + 1)
    }

    /// What is shown of a line with `marked` characters marked after the first `column`.
    fn cut(line: impl Iterator<Item = char>, column: usize, marked: usize) -> Excerpt {
        let skipped = match column > CHARACTERS_IN_ALL - 20 {
            true => column - CHARACTERS_BEFORE,
            false => 0,
        };
        let mut text = String::new();
        let mut caret_at = column - skipped;
        if skipped > 0 {
            text.push('…');
            caret_at += 1;
        }
        let mut rest = line.skip(skipped);
        text.extend(rest.by_ref().take(CHARACTERS_IN_ALL).map(printable));
        if rest.next().is_some() {
            text.push('…');
        }
        let visible = text.chars().count().saturating_sub(caret_at);
        Excerpt {
            text,
            caret_at,
            caret_width: marked.min(visible).max(1),
        }
    }
}

fn printable(character: char) -> char {
    match character {
        '\t' => ' ',
        _ if character.is_control() => char::REPLACEMENT_CHARACTER,
        _ => character,
    }
}

/// `word`, shortened and without control characters, for a message.
pub fn quoted(word: &str) -> String {
    const LONGEST: usize = 40;
    let mut characters = word.chars().map(printable);
    let mut short: String = characters.by_ref().take(LONGEST).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}
