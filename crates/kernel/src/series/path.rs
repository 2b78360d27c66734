//! File names in diffs: quoted by git, with a time stamp by diff, with a first component that `-p1` strips.

use super::PatchError;

/// Stands for a missing file.
const NOTHING: &[u8] = b"/dev/null";

/// The name in a `--- NAME` or `+++ NAME` line, or after `rename from`; `None` for `/dev/null`. `strip`: strip the
/// first component (`a/`, `linux-6.1/`).
pub(super) fn read(field: &[u8], strip: bool) -> Result<Option<String>, PatchError> {
    let name = match field.strip_prefix(b"\"") {
        Some(rest) => unquoted(rest),
        // A tab precedes the time stamp; before git, some tools wrote two spaces, which stay part of the name.
        None => field.split(|&b| b == b'\t').next().unwrap_or_default().trim_ascii_end().to_vec(),
    };
    if name == NOTHING {
        return Ok(None);
    }
    checked(&name, strip).map(Some)
}

/// Whether the name is followed by the time stamp of a missing file (`diff -N`): the beginning of 1970. Stamps used to
/// be local times without a zone, so GNU patch 2.7.6 accepts all times less than 25 hours before and less than 26 hours
/// after it. Reads the stamps of GNU diff (`1970-01-01 01:00:00.000000000 +0100`), and of older and BSD diff (`Thu Jan
/// 1 00:00:00 1970`); without a zone as UTC.
pub(super) fn is_stamp_of_none(field: &[u8]) -> bool {
    let text = String::from_utf8_lossy(field);
    let words: Vec<&str> = text.split_once('\t').map_or("", |(_, stamp)| stamp).split_whitespace().collect();
    let (day, time, zone) = match words[..] {
        [day, time] => (day.to_owned(), time, "0"),
        [day, time, zone] => (day.to_owned(), time, zone),
        [_, month, day, time, year] => (format!("{year} {month} {day}"), time, "0"),
        _ => return false,
    };
    let day = match &*day {
        "1969-12-30" | "1969 Dec 30" => -2,
        "1969-12-31" | "1969 Dec 31" => -1,
        "1970-01-01" | "1970 Jan 1" => 0,
        "1970-01-02" | "1970 Jan 2" => 1,
        _ => return false,
    };
    let mut parts = time.splitn(3, ':').map(str::parse::<f64>);
    let (Some(Ok(hour)), Some(Ok(minute)), Some(Ok(second)), Ok(zone)) =
        (parts.next(), parts.next(), parts.next(), zone.parse::<i32>())
    else {
        return false;
    };
    let ahead = f64::from(zone / 100) + f64::from(zone % 100) / 60.0;
    let hours = f64::from(day * 24) + hour + minute / 60.0 + second / 3600.0 - ahead;
    -25.0 < hours && hours < 26.0
}

fn checked(name: &[u8], strip: bool) -> Result<String, PatchError> {
    let shown =
        || String::from_utf8_lossy(name).chars().map(|c| if c.is_control() { '?' } else { c }).collect::<String>();
    let text = std::str::from_utf8(name).ok().filter(|t| !t.is_empty() && !t.chars().any(char::is_control));
    let text = text.ok_or_else(|| PatchError::OddPath(shown()))?;
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let kept = if strip && parts.len() > 1 { &parts[1..] } else { &parts[..] };
    // In `diff -r . ../linux-6.2` the first component is stripped.
    if text.starts_with('/') || kept.contains(&"..") {
        return Err(PatchError::Hostile(shown()));
    }
    if kept.is_empty() { Err(PatchError::OddPath(shown())) } else { Ok(kept.join("/")) }
}

/// A name in C quotes, from after the first quote.
fn unquoted(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => break,
            b'\\' => match bytes.next() {
                Some(digit @ b'0'..=b'7') => {
                    let mut value = u32::from(digit - b'0');
                    for _ in 0..2 {
                        let Some(next) = bytes.next_if(|b| matches!(b, b'0'..=b'7')) else { break };
                        value = value * 8 + u32::from(next - b'0');
                    }
                    out.push(u8::try_from(value).unwrap_or(b'?'));
                }
                Some(b'n') => out.push(b'\n'),
                Some(b't') => out.push(b'\t'),
                Some(other) => out.push(other),
                None => {}
            },
            other => out.push(other),
        }
    }
    out
}

/// Whether git wrote the names of a `diff --git X X` line without prefixes (`--no-prefix`): both are the same.
pub(super) fn is_bare(rest: &[u8]) -> bool {
    let middle = rest.len() / 2;
    rest.get(middle) == Some(&b' ') && rest[..middle] == rest[middle + 1..]
}

/// The name in a `diff --git a/X b/X` line, used only if no other line names the file (a mode change, an empty file, a
/// binary): both halves are the same after their first component.
pub(super) fn of_git_line(rest: &[u8]) -> Option<Result<Option<String>, PatchError>> {
    let is_bare = is_bare(rest);
    if rest.starts_with(b"\"") {
        return Some(read(rest, !is_bare));
    }
    if is_bare {
        return Some(read(&rest[..rest.len() / 2], false));
    }
    let spaces = rest.iter().enumerate().filter(|(_, b)| **b == b' ').map(|(at, _)| at);
    let after = |name: &[u8]| name.iter().position(|&b| b == b'/').map(|at| name[at + 1..].to_vec());
    let same = |at: &usize| after(&rest[..*at]).is_some_and(|name| Some(name) == after(&rest[at + 1..]));
    spaces.into_iter().find(same).map(|at| read(&rest[at + 1..], true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_the_tools_write_them() {
        let name = |field: &str| read(field.as_bytes(), true).unwrap().unwrap();
        assert_eq!(name("a/kernel/sched/fair.c"), "kernel/sched/fair.c");
        assert_eq!(name("linux-6.1.orig/mm/a b.c\t2024-01-01 00:00:00.0 +0000"), "mm/a b.c");
        assert_eq!(name(r#""a/sp\303\244t.c""#), "spät.c");
        assert_eq!(name("a/./x//y.c"), "x/y.c");
        assert_eq!(name("x.c"), "x.c");
        assert_eq!(name("../linux-6.2/mm/x.c"), "linux-6.2/mm/x.c");
        assert_eq!(read(b"/dev/null", true), Ok(None));
    }

    #[test]
    fn what_leads_out_of_the_tree_is_refused_by_name() {
        for hostile in ["../../etc/x", "a/../../etc/x", "/etc/passwd", "a/b/..", "\"a/\\056\\056/x\""] {
            assert!(matches!(read(hostile.as_bytes(), true), Err(PatchError::Hostile(_))), "{hostile}");
        }
        for odd in [&b"a/\xff"[..], b"", b"\"a/\\nx\"", b"./."] {
            assert!(matches!(read(odd, true), Err(PatchError::OddPath(_))), "{odd:?}");
        }
    }

    #[test]
    fn the_line_of_git_names_a_file_once_its_halves_agree() {
        let name = |rest: &str| of_git_line(rest.as_bytes()).map(|name| name.unwrap().unwrap());
        assert_eq!(name("a/x y b/x y").as_deref(), Some("x y"));
        assert_eq!(name("a/x b/y"), None);
        assert_eq!(name("mm/x y.c mm/x y.c").as_deref(), Some("mm/x y.c"));
        assert_eq!(name("Makefile Makefile").as_deref(), Some("Makefile"));
        assert_eq!(name("\"mm/\\303\\244.c\" \"mm/\\303\\244.c\"").as_deref(), Some("mm/ä.c"));
    }
}
