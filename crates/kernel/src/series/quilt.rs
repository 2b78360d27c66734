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
pub fn quilt(text: &str) -> impl Iterator<Item = Result<&str, UnsupportedOption>> {
    text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().take_while(|word| !word.starts_with('#')).collect();
        let (name, options) = words.split_first()?;
        Some(match options.iter().find(|option| **option != "-p1") {
            Some(option) => Err(UnsupportedOption { entry: words.join(" "), option: (*option).to_owned() }),
            None => Ok(*name),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_empty_lines_are_no_patches_and_options_are_not_ignored() {
        let text = "# order\n\n b.patch -p1 # why\nsub/a#1.patch\n#c.patch\n";
        assert_eq!(quilt(text).collect::<Result<Vec<_>, _>>(), Ok(vec!["b.patch", "sub/a#1.patch"]));
        let refused = UnsupportedOption { entry: "b.patch -p1 -R".into(), option: "-R".into() };
        let text = "a.patch\nb.patch -p1 -R # reverted\nc.patch";
        assert_eq!(quilt(text).collect::<Vec<_>>(), [Ok("a.patch"), Err(refused), Ok("c.patch")]);
    }
}
