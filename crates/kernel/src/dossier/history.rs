//! The commits of a feature and what they refer to.

use crate::series::origin;
use serde::Serialize;

/// A commit, or a patch that has not been committed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Event {
    /// The first digits of its id; empty for a patch.
    pub commit: String,
    /// All of its id; empty if it is not known.
    #[serde(skip)]
    pub id: String,
    /// Day of its author, `2023-08-17`; empty if it is not known.
    pub date: String,
    /// Who wrote it; empty if it is not known.
    pub author: String,
    /// First line of the message.
    pub subject: String,
    /// The first tag that has it; `None`: none has, or no tag is there.
    pub release: Option<String>,
    /// What its message refers to.
    pub references: Vec<Reference>,
    /// Commits that its message says it is a copy of, as in a stable series: others name it by these.
    #[serde(skip)]
    pub copied_from: Vec<String>,
}

/// A line of a message that leads elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reference {
    /// `Fixes`, `Link`, `Closes`, `Reverts`.
    pub kind: &'static str,
    /// An id with its subject, or an address.
    pub to: String,
}

/// The references of a message: its trailers, and the commit that it reverts.
pub fn references(message: &str) -> Vec<Reference> {
    const KINDS: &[(&str, &str)] =
        &[("fixes", "Fixes"), ("link", "Link"), ("closes", "Closes"), ("buglink", "Link"), ("references", "Link")];
    let reference = |line: &str| {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("This reverts commit ") {
            let id: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
            return (id.len() >= 7).then_some(Reference { kind: "Reverts", to: id });
        }
        let (key, value) = line.split_once(':')?;
        let kind = KINDS.iter().find(|(name, _)| key.eq_ignore_ascii_case(name))?.1;
        let to = value.trim().to_owned();
        (!to.is_empty()).then_some(Reference { kind, to })
    };
    let mut out: Vec<Reference> = Vec::new();
    for found in message.lines().filter_map(reference) {
        if !out.contains(&found) {
            out.push(found);
        }
    }
    out
}

/// The commits that a message says it is a copy of.
pub fn copied_from(message: &str) -> Vec<String> {
    message.lines().filter_map(origin).collect()
}

/// The events that a later one fixes or reverts, as indices into the list.
pub fn fixed(later: &Event, events: &[Event]) -> Vec<usize> {
    let names = |to: &str, event: &Event| {
        let id: String = to.chars().take_while(char::is_ascii_hexdigit).collect();
        std::iter::once(&event.commit).chain(&event.copied_from).any(|commit| {
            let shared = id.len().min(commit.len());
            shared >= 7 && id[..shared].eq_ignore_ascii_case(&commit[..shared])
        })
    };
    let is_fixed =
        |event: &Event| later.references.iter().any(|r| matches!(r.kind, "Fixes" | "Reverts") && names(&r.to, event));
    (0..events.len()).filter(|&at| is_fixed(&events[at])).collect()
}

/// Whether two links lead to the same mail, or to mails of one series: `git send-email` and b4 number the mails of a
/// series in their ids, as in `20220405010752.1347437-2-frederic@kernel.org`.
pub(crate) fn is_of_one_series(a: &str, b: &str) -> bool {
    a == b || series(a).is_some_and(|a| Some(a) == series(b))
}

/// The id of a mail without its number in the series.
fn series(link: &str) -> Option<String> {
    let (id, host) = link.trim_end_matches('/').rsplit('/').next()?.split_once('@')?;
    let is_time = |part: &str| part.bytes().take_while(u8::is_ascii_digit).count() >= 8;
    let is_number = |part: &str| part.len() <= 3 && part.bytes().all(|byte| byte.is_ascii_digit());
    let kept: Vec<&str> = id.split('-').filter(|part| !is_number(part)).collect();
    kept.first().is_some_and(|first| is_time(first)).then(|| format!("{}@{host}", kept.join("-")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailers_and_reverts_are_references() {
        let message = "subject\n\nThis reverts commit 0123456789abcdef.\nSee Link: not here\nFixes: 62470419e993 (\"sched: x\")\n\
            Link: https://example.org/1\nLink: https://example.org/1\nlink:\nThis reverts commit deca.\n";
        let found: Vec<_> = references(message).into_iter().map(|r| (r.kind, r.to)).collect();
        let expected = [
            ("Reverts", "0123456789abcdef"),
            ("Fixes", "62470419e993 (\"sched: x\")"),
            ("Link", "https://example.org/1"),
        ];
        assert_eq!(found, expected.map(|(kind, to)| (kind, to.to_owned())));
        let event = |commit: &str| Event { commit: commit.into(), ..Event::default() };
        let later = Event { references: references(message), ..Event::default() };
        assert_eq!(fixed(&later, &[event("62470419e9930"), event("6247"), event(""), event("0123456")]), [0, 3]);
        // In a stable tree, or after a cherry-pick, a commit has a different id from the one its fix names.
        let copy = |line: &str| Event { copied_from: copied_from(line), ..event("fedcba987654") };
        let (stable, picked) =
            ("commit 62470419e993f8d9d93db0effd3af4296ecb79a5 upstream.", "(cherry picked from commit 62470419e993)");
        assert_eq!(fixed(&later, &[copy(stable), copy(picked), copy("commit 62470419e993 is better.")]), [0, 1]);
    }

    #[test]
    fn mails_of_one_series_are_told_by_their_ids() {
        let is = |a: &str, b: &str| {
            is_of_one_series(&format!("https://lore.kernel.org/r/{a}"), &format!("https://patch.msgid.link/{b}/"))
        };
        let send_email = "1667502990-2559-%-git-send-email-longli@linuxonhyperv.com";
        for id in [send_email, "20220405010752.1347437-%-frederic@kernel.org", "20230526-topic-v2-%-abcdef@kernel.org"]
        {
            assert!(is(&id.replace('%', "1"), &id.replace('%', "12")), "{id}");
        }
        assert!(!is("20220405010752.1347437-1-frederic@kernel.org", "20220405010753.1347437-2-frederic@kernel.org"));
        // An id without a time stamp only matches itself.
        assert!(!is("patch-1-a@b", "patch-2-a@b") && !is_of_one_series("https://a.org/b/17", "https://a.org/b/18"));
        assert!(is_of_one_series("x", "x"));
    }
}
