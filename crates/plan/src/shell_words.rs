//! A command line as words, split and joined by the quoting rules of sh(1): `'…'` is literal; in `"…"` a backslash
//! escapes `"`, `\`, `$` and the back quote, and elsewhere it escapes anything. Nothing is expanded: there is no shell.

/// A command line that cannot be split.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WordsError {
    /// A quote without an end, or a trailing backslash.
    #[error("`{0}`: a quote is not closed")]
    Unclosed(String),
    /// An operator that only a shell understands, outside quotes.
    #[error("`{text}`: no shell reads this line, so `{operator}` would be a plain word; quote it, or write sh -c '…'")]
    ShellOperator {
        /// The whole line.
        text: String,
        /// The operator.
        operator: char,
    },
}

/// Splits a command line into its words.
pub fn split(text: &str) -> Result<Vec<String>, WordsError> {
    let unclosed = || WordsError::Unclosed(text.to_owned());
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next().ok_or_else(unclosed)? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => double_quoted(&mut chars, word.get_or_insert_default()).ok_or_else(unclosed)?,
            '\\' => word.get_or_insert_default().push(chars.next().ok_or_else(unclosed)?),
            '|' | '&' | ';' | '<' | '>' | '$' | '`' => {
                return Err(WordsError::ShellOperator { text: text.to_owned(), operator: c });
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// Up to the closing quote; `None` if there is none.
fn double_quoted(chars: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match chars.next()? {
            '"' => return Some(()),
            '\\' => match chars.next()? {
                c @ ('"' | '\\' | '$' | '`') => word.push(c),
                c => word.extend(['\\', c]),
            },
            c => word.push(c),
        }
    }
}

/// The words as one line that [`split`] splits into the same words, as a shell would.
pub fn join<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    // What a shell would expand or group is quoted too, so that the line can be pasted into one.
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,@%^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        for (line, expected) in [
            ("pgbench -c 4 -T 5", vec!["pgbench", "-c", "4", "-T", "5"]),
            ("sh -c 'a; b \"c\" $d'", vec!["sh", "-c", "a; b \"c\" $d"]),
            (r#"printf "%s\n" "a\"b\\c""#, vec!["printf", r"%s\n", r#"a"b\c"#]),
            (r"a\ b ''  c", vec!["a b", "", "c"]),
            ("  ", vec![]),
        ] {
            assert_eq!(split(line).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn a_shells_operators_and_open_quotes_are_refused_with_the_fix() {
        let error = split("make -j2 > log").unwrap_err().to_string();
        assert!(error.contains("`>`") && error.contains("sh -c"), "{error}");
        for bad in ["echo 'a", "echo \"a", "echo a\\", "a && b", "echo $HOME"] {
            assert!(split(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn joined_words_split_into_the_same_words() {
        let words = ["sh", "-c", "echo 'it''s' > \"x\" && y \\ $z", "", "a b", "{}", "µ", "--x=1,2"];
        assert_eq!(split(&join(words)).unwrap(), words);
        assert_eq!(join(["make", "-j2", "CC=gcc"]), "make -j2 CC=gcc");
    }
}
