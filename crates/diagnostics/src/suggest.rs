//! Suggestions for misspelled names ("did you mean …?").

/// Longer words are not compared.
const LONGEST: usize = 24;

/// The candidate with the least edit distance to `word` (letters inserted, deleted, replaced or
/// swapped), if it is at most 2, or 1 for short words. Ignores case, except to choose among several
/// that are equally near. The first of those that are left wins.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<String> {
    let exact = word.as_bytes();
    let word: Vec<u8> = word.bytes().map(|byte| byte.to_ascii_lowercase()).collect();
    if word.len() > LONGEST {
        return None;
    }
    let near = if word.len() <= 3 { 1 } else { 2 };
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= LONGEST)
        .map(|candidate| {
            let lower = candidate.to_ascii_lowercase();
            (distance(&word, lower.as_bytes()), candidate)
        })
        .filter(|(distance, _)| *distance <= near)
        .min_by_key(|(near, candidate)| (*near, distance(exact, candidate.as_bytes())))
        .map(|(_, candidate)| candidate.to_owned())
}

/// The optimal string alignment distance: Levenshtein's, with a swap of neighbours as one edit.
fn distance(left: &[u8], right: &[u8]) -> usize {
    let mut before_last = vec![0; right.len() + 1];
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for i in 1..=left.len() {
        let mut row = vec![i; right.len() + 1];
        for j in 1..=right.len() {
            let changed = usize::from(left[i - 1] != right[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + changed);
            let swapped =
                i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
            if swapped {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn distances_count_letters() {
        for (left, right, expected) in [
            ("", "abc", 3),
            ("abc", "", 3),
            ("seed", "sede", 1),
            ("max_time", "maxtime", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(
                distance(left.as_bytes(), right.as_bytes()),
                expected,
                "{left} {right}"
            );
        }
    }

    #[test]
    fn near_words_are_found() {
        let known = ["MFENCE", "SFENCE", "MOV", "XCHG"];
        assert_eq!(nearest("MFENC", known).as_deref(), Some("MFENCE"));
        assert_eq!(nearest("mefnce", known).as_deref(), Some("MFENCE"));
        assert_eq!(nearest("mvo", known).as_deref(), Some("MOV"));
        assert_eq!(nearest("XCGH", known).as_deref(), Some("XCHG"));
        assert_eq!(nearest("CPUID", known), None);
        let alike = ["Cache", "cache"];
        assert_eq!(nearest("cach", alike).as_deref(), Some("cache"));
        assert_eq!(nearest("Cach", alike).as_deref(), Some("Cache"));
        assert_eq!(nearest(&"M".repeat(1000), known), None);
    }
}
