//! The message above the first diff of a patch.

use super::{Patch, encoded};
use crate::lines::without_end;

/// `Fixes: 62470419e993 ("sched: …")`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trailer {
    /// The text before the colon, as written.
    pub key: String,
    /// The text after the colon.
    pub value: String,
}

/// Reads the lines of a message into the patch: subject, trailers, and the commits that it is a copy of.
pub(super) fn read(lines: &[&[u8]], patch: &mut Patch) {
    patch.message = lines.iter().take_while(|line| without_end(line) != b"---").copied().collect::<Vec<_>>().concat();
    let lines: Vec<String> = lines.iter().map(|l| String::from_utf8_lossy(without_end(l)).into_owned()).collect();
    // `git show` indents the message.
    let is_shown = lines.first().is_some_and(|line| line.starts_with("commit "));
    // A long line of a mail header continues on lines that begin with white space.
    let mut open = "";
    for line in lines.iter().take_while(|line| *line != "---") {
        let text = if is_shown { line.strip_prefix("    ").unwrap_or(line) } else { line };
        let folded = text.strip_prefix([' ', '\t']).filter(|_| !open.is_empty() && !is_shown);
        if let Some(more) = folded {
            let author = patch.trailers.last_mut().map(|trailer| &mut trailer.value).filter(|_| open == AUTHOR);
            *author.unwrap_or(&mut patch.subject) += &format!(" {}", more.trim());
            continue;
        }
        open = "";
        match trailer(text) {
            Some(found) if found.key.eq_ignore_ascii_case(SUBJECT) && patch.subject.is_empty() => {
                patch.subject = found.value;
                open = SUBJECT;
            }
            Some(found) if line.starts_with("    ") || !is_shown => {
                open = if found.key.eq_ignore_ascii_case(AUTHOR) { AUTHOR } else { "" };
                patch.trailers.push(found);
            }
            _ if is_shown && patch.subject.is_empty() && line.starts_with("    ") => patch.subject = text.to_owned(),
            _ => patch.copied_from.extend(origin(text)),
        }
    }
    for author in patch.trailers.iter_mut().filter(|trailer| trailer.key.eq_ignore_ascii_case(AUTHOR)) {
        author.value = encoded::decoded(&author.value);
    }
    patch.subject = without_tags(&encoded::decoded(&patch.subject)).to_owned();
}

const SUBJECT: &str = "subject";
const AUTHOR: &str = "from";

/// A key is one word of letters and hyphens that begins with a capital letter.
fn trailer(line: &str) -> Option<Trailer> {
    let (key, value) = line.split_once(": ")?;
    let is_word = key.starts_with(|c: char| c.is_ascii_uppercase())
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    is_word.then(|| Trailer { key: key.to_owned(), value: value.trim().to_owned() })
}

/// The sentences by which stable maintainers and `git cherry-pick -x` name the origin.
pub(crate) fn origin(line: &str) -> Option<String> {
    let line = line.trim();
    let rest = (line.strip_prefix("(cherry picked from commit "))
        .or_else(|| line.strip_prefix("[ Upstream commit "))
        .or_else(|| {
        line.strip_prefix("commit ").filter(|rest| rest.trim_end_matches('.').ends_with(" upstream"))
    })?;
    let hash: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
    (hash.len() >= 7).then_some(hash)
}

/// `[PATCH v2 1/3] x` and `[RT] x`: tags in brackets belong to the mail, not to the commit.
fn without_tags(subject: &str) -> &str {
    let mut rest = subject.trim();
    while let Some((tag, after)) = rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
        if !tag.to_ascii_uppercase().contains("PATCH") {
            break;
        }
        rest = after.trim_start();
    }
    rest
}
