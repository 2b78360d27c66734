//! The `series` file of quilt: one patch per line, with options for patch(1), and comments. Source: quilt(1), "The
//! series file".

/// An option with which the patch would apply differently.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{entry}`: the patch option {option} is not supported (only -p1); rewrite the patch for -p1")]
pub struct UnsupportedOption {
    /// The line, without its comment.
    pub entry: String,
    /// The first option that is not supported.
    pub option: String,
}

/// The patches that a `series` file names, in order.
pub fn quilt(text: &str) -> Result<Vec<&str>, UnsupportedOption> {
    let mut patches = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().take_while(|word| !word.starts_with('#')).collect();
        let Some((name, options)) = words.split_first() else { continue };
        if let Some(option) = options.iter().find(|option| **option != "-p1") {
            return Err(UnsupportedOption { entry: words.join(" "), option: (*option).to_owned() });
        }
        patches.push(*name);
    }
    Ok(patches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_empty_lines_are_no_patches_and_options_are_not_ignored() {
        let text = "# order\n\n b.patch -p1 # why\nsub/a#1.patch\n#c.patch\n";
        assert_eq!(quilt(text), Ok(vec!["b.patch", "sub/a#1.patch"]));
        let refused = quilt("a.patch\nb.patch -p1 -R # reverted\n").unwrap_err();
        assert_eq!((&*refused.entry, &*refused.option), ("b.patch -p1 -R", "-R"));
    }
}
