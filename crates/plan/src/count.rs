//! Counts in sentences: `1 trial`, `2 trials`.

/// A count with its noun, which is passed in the plural: `counted(1, "blocks")` is `1 block`.
pub fn counted<N: std::fmt::Display + PartialEq + From<u8>>(n: N, plural: &str) -> String {
    let number = n.to_string();
    format!("{number} {}", noun(n, plural))
}

/// The noun alone, for `3 more blocks`.
pub fn noun<N: PartialEq + From<u8>>(n: N, plural: &str) -> String {
    if n != N::from(1) {
        return plural.to_owned();
    }
    if let Some(stem) = plural.strip_suffix("ies") {
        return format!("{stem}y");
    }
    let hissing = ["sses", "shes", "tches", "xes"].iter().any(|end| plural.ends_with(end));
    plural.strip_suffix(if hissing { "es" } else { "s" }).unwrap_or(plural).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_everything_else_plural() {
        assert_eq!(
            [counted(0u64, "looks"), counted(1, "looks"), counted(2, "looks")],
            ["0 looks", "1 look", "2 looks"]
        );
        let one = |plural| noun(1u32, plural);
        assert_eq!(
            [one("copies"), one("processes"), one("switchback trials"), one("last-level caches"), one("switches")],
            ["copy", "process", "switchback trial", "last-level cache", "switch"]
        );
    }
}
