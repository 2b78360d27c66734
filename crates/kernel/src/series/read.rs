//! Reads the patches in one file.

use super::header::Header;
use super::{FilePatch, Patch, PatchError, Refused, hunk, message};
use crate::lines::{split, without_end};

/// The patches in one file: one, or all mails of an mbox. Text that is not a diff gives a patch without files.
pub fn parse(text: &[u8]) -> Vec<Patch> {
    let lines = split(text);
    let mut begins: Vec<usize> = (0..lines.len()).filter(|&at| begins_patch(&lines, at)).collect();
    if begins.first() != Some(&0) {
        begins.insert(0, 0);
    }
    let ends = begins.iter().skip(1).copied().chain([lines.len()]);
    let parts = begins.iter().copied().zip(ends);
    let patches: Vec<Patch> = parts.map(|(from, to)| Reader::read(&lines[..to], from)).collect();
    // Text before the first mail is not a patch.
    let is_something = |p: &Patch| !p.files.is_empty() || !p.refused.is_empty() || !p.subject.is_empty();
    patches.into_iter().filter(is_something).collect()
}

/// Whether a mail of an mbox, or a commit of `git log -p`, begins here.
fn begins_patch(lines: &[&[u8]], at: usize) -> bool {
    let line = without_end(lines[at]);
    let next = lines.get(at + 1).map_or(&b""[..], |l| without_end(l));
    if line.starts_with(b"From ") {
        let key = next.split(|&b| b == b':').next().unwrap_or_default();
        return key.len() < next.len()
            && !key.is_empty()
            && key.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-');
    }
    line.starts_with(b"commit ")
        && commit_of(line).is_some()
        && [&b"Author:"[..], b"Merge:", b"tree "].iter().any(|word| next.starts_with(word))
}

/// The commit id after the first word.
fn commit_of(line: &[u8]) -> Option<String> {
    let hash = line.split(|&b| b == b' ').nth(1)?;
    let is_hash = hash.len() == 40 && hash.iter().all(u8::is_ascii_hexdigit);
    is_hash.then(|| String::from_utf8_lossy(hash).into_owned())
}

struct Reader<'a> {
    lines: &'a [&'a [u8]],
    at: usize,
    header: Option<Header>,
    file: Option<FilePatch>,
    strips_cr: bool,
    patch: Patch,
}

impl<'a> Reader<'a> {
    fn read(lines: &'a [&'a [u8]], from: usize) -> Patch {
        let mut reader =
            Reader { lines, at: from, header: None, file: None, strips_cr: false, patch: Patch::default() };
        if lines.get(from).is_some_and(|_| begins_patch(lines, from)) {
            reader.patch.commit = commit_of(without_end(lines[from])).filter(|hash| hash.bytes().any(|b| b != b'0'));
        }
        while reader.at < lines.len() && !reader.is_diff() {
            reader.at += 1;
        }
        message::read(&lines[from..reader.at], &mut reader.patch);
        if reader.is_encoded(from) {
            // An encoded text does not contain the lines of the diff.
            return reader.patch;
        }
        while reader.at < lines.len() {
            reader.step();
        }
        reader.close();
        reader.patch
    }

    fn line(&self, ahead: usize) -> &'a [u8] {
        self.lines.get(self.at + ahead).copied().unwrap_or_default()
    }

    fn is_diff(&self) -> bool {
        let line = self.line(0);
        let is_other = other_format(line, self.line(1)).is_some() || self.is_binary_first();
        line.starts_with(b"diff --git ") || self.has_names() || is_other
    }

    /// A binary file that is the first of a plain `diff -r`; in a message it would be followed by text.
    fn is_binary_first(&self) -> bool {
        let next = self.line(1);
        let ends = [&b"diff "[..], b"Binary files ", b"Only in ", b"--- "].iter().any(|begin| next.starts_with(begin));
        is_binary(self.line(0)) && (next.is_empty() || ends)
    }

    /// Whether `--- OLD`, `+++ NEW` and `@@` follow: the first two lines alone could be text.
    fn has_names(&self) -> bool {
        self.line(0).starts_with(b"--- ") && self.line(1).starts_with(b"+++ ") && self.line(2).starts_with(b"@@ -")
    }

    fn refuse(&mut self, line: usize, why: PatchError) {
        self.patch.refused.push(Refused { line, why });
    }

    /// Whether the mail says that its text, or the part that would contain the diff, is encoded; it is then refused.
    fn is_encoded(&mut self, from: usize) -> bool {
        let all = &self.lines[from..self.at];
        let end = all.iter().position(|line| without_end(line).is_empty()).unwrap_or(all.len());
        let is_in_parts =
            all[..end].iter().any(|line| line.to_ascii_lowercase().starts_with(b"content-type: multipart/"));
        let key = b"content-transfer-encoding:";
        let heads = if is_in_parts { all } else { &all[..end] };
        let values = heads.iter().filter(|line| line.to_ascii_lowercase().starts_with(key));
        let values = values.map(|line| String::from_utf8_lossy(&line[key.len()..]).trim().to_ascii_lowercase());
        let is_code = |value: &String| value == "base64" || value == "quoted-printable";
        let mut values: Vec<String> = values.collect();
        // A diff belongs to the last part header above it; without a diff, any part may contain it.
        if self.at == self.lines.len() && is_in_parts {
            values.retain(is_code);
        }
        let Some(value) = values.pop().filter(is_code) else { return false };
        self.refuse(from + 1, PatchError::Encoded(value));
        true
    }

    fn step(&mut self) {
        let line = self.line(0);
        if let Some(rest) = line.strip_prefix(b"diff --git ") {
            self.close();
            self.header = Some(Header::of_git(rest, self.at + 1));
        } else if self.has_names() {
            // A second pair of names without a `diff --git` line begins the next file of a plain diff.
            if self.file.is_some() {
                self.close();
            }
            let mut header = self.header.take().unwrap_or_else(|| Header::at(self.at + 1));
            header.names(&line[4..], &self.line(1)[4..], self.line(2));
            self.strips_cr = header.strips_cr;
            self.header = Some(header);
            self.open();
            self.at += 1;
        } else if line.starts_with(b"@@ -") && self.file.is_some() {
            return self.hunk();
        } else if let Some(kind) = other_format(line, self.line(1)) {
            self.close();
            self.refuse(self.at + 1, PatchError::OtherFormat(kind));
        } else if let Some(header) = &mut self.header {
            header.takes(line);
        } else if is_binary(line) {
            let why = binary(&String::from_utf8_lossy(without_end(line)));
            self.close();
            self.refuse(self.at + 1, why);
        }
        self.at += 1;
    }

    /// The names are complete; hunks follow.
    fn open(&mut self) {
        let Some(header) = self.header.take() else { return };
        let line = header.line;
        match header.into_file() {
            Ok(file) => self.file = Some(file),
            Err(why) => self.refuse(line, why),
        }
    }

    /// Ends the current file.
    fn close(&mut self) {
        self.open();
        self.patch.files.extend(self.file.take().filter(FilePatch::is_change));
    }

    fn hunk(&mut self) {
        let at = self.at + 1;
        let body = match hunk::head(self.line(0)) {
            Some(head) => hunk::body(head, &self.lines[at..], at, self.strips_cr),
            None => Err("its `@@` line cannot be read".into()),
        };
        match (body, &mut self.file) {
            (Ok((hunk, taken)), Some(file)) => {
                file.hunks.push(hunk);
                self.at = at + taken;
            }
            (Err(why), Some(file)) => {
                let path = file.path().to_owned();
                // GNU patch stops here; we skip the rest of this file and look for the next one.
                self.file = None;
                self.refuse(at, PatchError::Malformed { path, why });
                self.at = at;
            }
            (_, None) => self.at = at,
        }
    }
}

fn is_binary(line: &[u8]) -> bool {
    line.starts_with(b"Binary files ") && without_end(line).ends_with(b" differ")
}

/// From `Binary files OLD and NEW differ`.
fn binary(line: &str) -> PatchError {
    let names = line.strip_prefix("Binary files ").and_then(|line| line.strip_suffix(" differ"));
    match names.and_then(|names| names.split_once(" and ")) {
        Some((old, "/dev/null")) => PatchError::BinaryDeleted(old.to_owned()),
        Some((_, new)) => PatchError::Binary(new.to_owned()),
        None => PatchError::Binary("a file".to_owned()),
    }
}

/// Diffs that are not unified.
fn other_format(line: &[u8], next: &[u8]) -> Option<&'static str> {
    if line.starts_with(b"*** ") && next.starts_with(b"--- ") {
        Some("a context diff")
    } else if line.starts_with(b"diff --cc ") || line.starts_with(b"diff --combined ") {
        Some("a combined diff of a merge")
    } else {
        None
    }
}
