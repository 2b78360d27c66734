//! Words of a line of C, the similarity of two lines, and a word-by-word merge of two edits of the same text.

use crate::names::hash;

/// The words of a text: names and numbers, runs of white space, other bytes one by one. Concatenated they give the
/// text.
pub(super) fn words(text: &[u8]) -> Vec<&[u8]> {
    let kind = |byte: u8| match byte {
        b' ' | b'\t' => 1,
        b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => 2,
        _ => 0,
    };
    text.chunk_by(|&a, &b| kind(a) == kind(b) && kind(a) != 0).collect()
}

/// Whether the word is a name.
pub(super) fn is_name(word: &[u8]) -> bool {
    word.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
}

fn is_blank(word: &[u8]) -> bool {
    word.iter().all(u8::is_ascii_whitespace)
}

/// Words that count for similarity: all but white space, with names split into their parts (`page_cache_page` is
/// similar to `page_cache_folio`).
pub(super) fn distinctive(text: &[u8]) -> Vec<&[u8]> {
    let parts = |word| <[u8]>::split(word, |&b| b == b'_').filter(|part| !part.is_empty());
    words(text).into_iter().filter(|word| !is_blank(word)).flat_map(parts).collect()
}

/// One bit per word: lines without common bits share no word.
pub(super) fn mask(words: &[&[u8]]) -> u64 {
    words.iter().filter(|word| is_name(word)).fold(0, |mask, word| mask | 1 << (hash(word) >> 58))
}

/// At most this many pairs of words are compared: lines of a hundred thousand words are not code.
const CELLS: usize = 1 << 23;

/// Similarity of two lines, 0 to 1: the share of words that they have in common in the same order.
pub(super) fn likeness(a: &[&[u8]], b: &[&[u8]]) -> f32 {
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    if a.len().saturating_mul(b.len()) > CELLS {
        return f32::from(u8::from(a == b));
    }
    let mut row = vec![0u32; b.len() + 1];
    for x in a {
        let mut diagonal = 0;
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = if x == y { diagonal + 1 } else { above.max(row[j]) };
            diagonal = above;
        }
    }
    of_common(row[b.len()], a.len() + b.len())
}

/// The share of their words that two lines have in common.
pub(super) fn of_common(common: u32, words: usize) -> f32 {
    2.0 * common as f32 / words as f32
}

/// Pairs of equal words, or lines, of `a` and `b` in a longest common subsequence; `None` if the texts are too long to
/// compare.
pub(crate) fn common(a: &[&[u8]], b: &[&[u8]]) -> Option<Vec<(usize, usize)>> {
    let width = b.len() + 1;
    if (a.len() + 1).checked_mul(width)? > CELLS {
        return None;
    }
    let mut best = vec![0u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            best[i * width + j] = if a[i] == b[j] {
                best[(i + 1) * width + j + 1] + 1
            } else {
                best[(i + 1) * width + j].max(best[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut out) = (0, 0, Vec::new());
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            out.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if best[(i + 1) * width + j] >= best[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    Some(out)
}

/// A range of a text and its replacement.
struct Edit<'a> {
    from: usize,
    to: usize,
    words: Vec<&'a [u8]>,
}

fn edits<'a>(base: &[&[u8]], other: &[&'a [u8]]) -> Option<Vec<Edit<'a>>> {
    let mut pairs = common(base, other)?;
    pairs.push((base.len(), other.len()));
    let (mut i, mut j, mut out) = (0, 0, Vec::new());
    for (a, b) in pairs {
        if i < a || j < b {
            out.push(Edit { from: i, to: a, words: other[j..b].to_vec() });
        }
        (i, j) = (a + 1, b + 1);
    }
    Some(out)
}

/// Whether two edits conflict. Edits that touch conflict, unless one of them only deletes, because the order of their
/// words is unknown.
fn meet(a: &Edit<'_>, b: &Edit<'_>) -> bool {
    let is_apart = if a.words.is_empty() || b.words.is_empty() {
        a.to <= b.from || b.to <= a.from
    } else {
        a.to < b.from || b.to < a.from
    };
    !is_apart
}

/// Applies the edits that lead from `base` to `ours` and those that lead to `theirs`; `None` if two of them conflict
/// and differ.
pub(super) fn merged(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    let (base, ours, theirs) = (words(base), words(ours), words(theirs));
    let (mine, other) = (edits(&base, &ours)?, edits(&base, &theirs)?);
    let (mut mine, mut other) = (mine.into_iter().peekable(), other.into_iter().peekable());
    let (mut at, mut out) = (0, Vec::new());
    loop {
        let edit = match (mine.peek(), other.peek()) {
            (Some(m), Some(o)) if m.from == o.from && m.to == o.to && m.words == o.words => {
                mine.next();
                other.next()
            }
            (Some(m), Some(o)) if meet(m, o) => return None,
            (Some(m), Some(o)) if (m.from, m.to) < (o.from, o.to) => mine.next(),
            (Some(_), Some(_)) => other.next(),
            (Some(_), None) => mine.next(),
            (None, _) => other.next(),
        };
        let Some(edit) = edit else { break };
        out.extend(base[at..edit.from].concat());
        out.extend(edit.words.concat());
        at = edit.to;
    }
    out.extend(base[at..].concat());
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_edits_of_one_line_are_joined_and_two_of_one_word_are_not() {
        let merge = |a: &str, b: &str, c: &str| {
            merged(a.as_bytes(), b.as_bytes(), c.as_bytes()).map(|m| String::from_utf8(m).unwrap())
        };
        assert_eq!(merge("f(a, b, c);", "g(a, b, c);", "f(a, b, d);").as_deref(), Some("g(a, b, d);"));
        assert_eq!(merge("f(a);", "f(b);", "f(c);"), None);
        assert_eq!(merge("f(a);", "f(b);", "f(b);").as_deref(), Some("f(b);"));
    }

    #[test]
    fn likeness_is_the_share_of_common_words() {
        let of = |a: &str, b: &str| likeness(&distinctive(a.as_bytes()), &distinctive(b.as_bytes()));
        assert_eq!(of("\tx = 1;", "  x=1;"), 1.0);
        assert_eq!(of("a b", "c d"), 0.0);
        assert_eq!(of("a b", "a c"), 0.5);
        // Too long to be compared word by word: only equality is checked.
        let (long, other) = ("x ".repeat(4000), "x ".repeat(4001));
        assert_eq!([of(&long, &long), of(&long, &other)], [1.0, 0.0]);
    }
}
