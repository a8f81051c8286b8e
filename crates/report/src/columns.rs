//! Text in aligned columns.

/// The rows as lines: cells padded to the width of their column, two spaces between, no
/// trailing space. All rows have the same number of cells.
pub fn aligned(rows: &[Vec<String>], indent: &str) -> Vec<String> {
    let columns = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        })
        .collect();
    let line = |row: &Vec<String>| {
        let mut line = indent.to_string();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(&format!("{cell:width$}  "));
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
    fn cells_are_padded_by_characters_not_bytes() {
        let row = |a: &str, b: &str| vec![a.to_string(), b.to_string()];
        let lines = aligned(&[row("→", "x"), row("abc", ""), row("", "yz")], "  ");
        assert_eq!(lines, ["  →    x", "  abc", "       yz"]);
        assert!(aligned(&[], "").is_empty());
    }
}
