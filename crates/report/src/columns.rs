//! Text in aligned columns.

use unicode_width::UnicodeWidthStr;

/// The rows as lines: cells padded to the width of their column, two spaces between, no
/// trailing space. All rows have the same number of cells.
pub fn aligned(rows: &[Vec<String>], indent: &str) -> Vec<String> {
    let columns = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let cells = rows.iter().map(|row| row[column].width());
            cells.max().unwrap_or(0)
        })
        .collect();
    let line = |row: &Vec<String>| {
        let mut line = indent.to_string();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width - cell.width() + 2));
        }
        line.truncate(line.trim_end().len());
        line
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_padded_to_the_width_on_the_screen() {
        let row = |a: &str, b: &str| vec![a.to_string(), b.to_string()];
        let lines = aligned(&[row("→", "x"), row("abc", ""), row("", "yz")], "  ");
        assert_eq!(lines, ["  →    x", "  abc", "       yz"]);
        assert_eq!(
            aligned(&[row("変", "x"), row("ab", "y")], ""),
            ["変  x", "ab  y"]
        );
        assert!(aligned(&[], "").is_empty());
    }
}
