//! Finds the known word nearest to a mistyped one. (`schedlab-plan` has this for the product; xtask links none of our
//! crates.)

/// The known word with the fewest single-letter edits, if these are at most a third of its letters.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = |k: &&str| edits(word, k) <= 1 + k.len().max(word.len()) / 3;
    known.into_iter().filter(near).min_by_key(|k| edits(word, k))
}

/// Levenshtein distance, one row at a time.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for j in 1..=b.len() {
            let replaced = diagonal + usize::from(letter != b[j - 1]);
            diagonal = row[j];
            row[j] = replaced.min(row[j] + 1).min(row[j - 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_word_and_nonsense_finds_none() {
        let known = ["fidelity", "aa", "power", "overhead"];
        assert_eq!(nearest("fidelty", known), Some("fidelity"));
        assert_eq!(nearest("overheads", known), Some("overhead"));
        assert_eq!(nearest("a", known), Some("aa"));
        assert_eq!(nearest("messaging", known), None);
    }

    #[test]
    fn edits_are_counted_singly() {
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("same", "same"), 0);
    }
}
