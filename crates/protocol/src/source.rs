//! Places in the text of a model.

/// A part of the source, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span {
    /// Its first byte.
    pub start: u32,
    /// The byte after it.
    pub end: u32,
}

impl Span {
    /// From byte `start` to before byte `end`. Sources are smaller than 4 GiB: see
    /// [`Limits::LARGEST_FILE`](crate::Limits::LARGEST_FILE).
    pub(crate) fn new(start: usize, end: usize) -> Span {
        Span {
            start: start as u32,
            end: end as u32,
        }
    }

    /// From the beginning of this to the end of the other.
    pub(crate) fn to(self, last: Span) -> Span {
        Span {
            start: self.start,
            end: last.end.max(self.end),
        }
    }
}

/// A line and a column, both from 1; columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl Position {
    /// The position of a byte of `source`. It takes time in proportion to the bytes before it, so
    /// it is for what is shown, not for what is done often.
    pub fn of(source: &str, byte: u32) -> Position {
        let mut byte = (byte as usize).min(source.len());
        while !source.is_char_boundary(byte) {
            byte -= 1;
        }
        let before = &source[..byte];
        let line_start = before.rfind('\n').map_or(0, |feed| feed + 1);
        Position {
            line: before.bytes().filter(|&b| b == b'\n').count() as u32 + 1,
            column: before[line_start..].chars().count() as u32 + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Position;

    #[test]
    fn lines_and_columns_count_from_one() {
        let source = "a\nä∀x\n";
        let at = |byte| {
            let Position { line, column } = Position::of(source, byte);
            (line, column)
        };
        assert_eq!(at(0), (1, 1));
        assert_eq!(at(2), (2, 1));
        assert_eq!(at(4), (2, 2));
        assert_eq!(at(5), (2, 2), "within a character");
        assert_eq!(at(7), (2, 3));
        assert_eq!(at(99), (3, 1));
    }
}
