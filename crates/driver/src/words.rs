//! Text that is split into words as a shell splits it, without any expansion.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// Splits at spaces, except within quotes or after a backslash. None if a quote is not closed.
pub fn split_words(text: &[u8]) -> Option<Vec<OsString>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (Some(open), _) if open == byte => quote = None,
            (None | Some(b'"'), b'\\') => word.get_or_insert_default().extend(bytes.next()),
            (Some(_), _) => word.get_or_insert_default().push(byte),
            (None, b'"' | b'\'') => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (None, _) if byte.is_ascii_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    let words = words.into_iter().map(OsString::from_vec).collect();
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Option<Vec<String>> {
        let words = split_words(text.as_bytes())?;
        Some(
            words
                .into_iter()
                .map(|word| word.into_string().expect("UTF-8"))
                .collect(),
        )
    }

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        assert_eq!(split("").unwrap(), [""; 0]);
        assert_eq!(split("  -O2\n-g ").unwrap(), ["-O2", "-g"]);
        assert_eq!(
            split(r#"-DA="b c" 'd "e' f\ g"#).unwrap(),
            ["-DA=b c", "d \"e", "f g"]
        );
        assert_eq!(split(r#"'' "a\"b" 'c\d'"#).unwrap(), ["", "a\"b", r"c\d"]);
        assert_eq!(split(r"a\").unwrap(), ["a"]);
        assert_eq!(split("a 'b"), None);
        assert_eq!(split("\"b"), None);
    }
}
