//! Positions in a text.

/// A line and a column, both from 1; columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl Position {
    /// The position of a byte of `source`. Takes time linear in the bytes before it.
    pub fn of(source: &str, byte: usize) -> Position {
        let mut byte = byte.min(source.len());
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
        let at = |byte: usize| {
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
