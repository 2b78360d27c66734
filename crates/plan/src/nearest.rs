//! The nearest known word to a mistyped one.

/// The known word nearest to a mistyped one, if it is near enough to be what was meant (Damerau–Levenshtein ≤ a third
/// of its length), else the shortest one that begins with it or has it after an underscore.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    let spelled = |k: &'a str| {
        let distance = edit_distance(word, k);
        (distance <= 1 + k.chars().count().max(word.chars().count()) / 3).then_some((distance, k))
    };
    let has_it = |k: &&str| word.len() > 2 && (k.starts_with(word) || k.contains(&format!("_{word}")));
    let longer = || known.iter().copied().filter(|k| has_it(k)).min_by_key(|k| k.len());
    known.iter().copied().filter_map(spelled).min().map(|(_, k)| k).or_else(longer)
}

/// The hint after a mistyped word: ` (did you mean `known`?)`, or nothing if no word is near enough.
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    hint_at(nearest(word, known))
}

/// The same hint for a word that was found before.
pub fn hint_at(nearest: Option<&str>) -> String {
    nearest.map(|known| format!(" (did you mean `{known}`?)")).unwrap_or_default()
}

fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let substitute = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = substitute.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_comes_first_and_then_longer_names() {
        let known = ["wakeup_granularity", "sched_wakeup_granularity", "base_slice", "rt_period"];
        for (word, found) in [
            ("base_slcie", Some("base_slice")),
            ("wakeup", Some("wakeup_granularity")),
            ("period", Some("rt_period")),
            ("up_gran", None),
            ("ba", None),
            ("é", None),
        ] {
            assert_eq!(nearest(word, known), found, "{word}");
        }
    }
}
