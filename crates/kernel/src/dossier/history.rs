//! The commits of a feature and what they refer to.

use serde::Serialize;

/// A commit, or a patch that has not been committed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Event {
    /// The first digits of its id; empty for a patch.
    pub commit: String,
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
}

/// A line of a message that leads elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reference {
    /// `Fixes`, `Link`, `Closes`, `Reverts`.
    pub kind: &'static str,
    /// An id with its subject, or an address.
    pub to: String,
}

/// The references of a message: its trailers, and the commit that it takes back.
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

/// The events that a later one fixes or reverts, as their places in the list.
pub fn fixed(later: &Event, events: &[Event]) -> Vec<usize> {
    let names = |to: &str, event: &Event| {
        let id: String = to.chars().take_while(char::is_ascii_hexdigit).collect();
        let shared = id.len().min(event.commit.len());
        shared >= 7 && id[..shared].eq_ignore_ascii_case(&event.commit[..shared])
    };
    let is_fixed =
        |event: &Event| later.references.iter().any(|r| matches!(r.kind, "Fixes" | "Reverts") && names(&r.to, event));
    (0..events.len()).filter(|&at| is_fixed(&events[at])).collect()
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
    }
}
