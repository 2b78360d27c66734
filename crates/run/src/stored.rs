//! `trials/stored.txt`: the names of the stored trial files, one per line, so that a missing one is noticed. A trial
//! file has a checksum of its own, but only a list can show that the file once existed.

use crate::error::RunError;
use crate::regular::read_text;
use crate::writer::write_durably;
use schedlab_sys::places;
use std::collections::BTreeSet;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Its name in the directory of the trial files.
const FILE: &str = "stored.txt";

/// Where it is.
pub(crate) fn path(trials: &Path) -> PathBuf {
    trials.join(FILE)
}

/// Writes an empty list: from here on, a directory without a list has lost it.
pub(crate) fn create(trials: &Path) -> Result<(), RunError> {
    write_durably(trials, FILE, b"").map(drop)
}

/// Adds a file that is durable. The line itself is not synced: if a power cut loses it, a missing file may go
/// unnoticed.
pub(crate) fn add(trials: &Path, file: &Path) -> Result<(), RunError> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let path = path(trials);
    places::append_to(&path)
        .and_then(|mut list| list.write_all(format!("{name}\n").as_bytes()))
        .map_err(RunError::io(&path))
}

/// Ends the last line, which a full disk or a power cut may have torn.
pub(crate) fn fix(trials: &Path) -> Result<(), RunError> {
    let path = path(trials);
    match read_text(&path) {
        Ok(list) if whole_lines(&list).len() == list.len() => Ok(()),
        Ok(list) => write_durably(trials, FILE, whole_lines(&list).as_bytes()).map(drop),
        Err(RunError::Io { cause, .. }) if cause.kind() == ErrorKind::NotFound => create(trials),
        Err(error) => Err(error),
    }
}

/// What is wrong, as sentences: the list is missing, names a file that is not in `there`, or is not a list.
pub(crate) fn problems(trials: &Path, there: &BTreeSet<String>) -> Result<Vec<String>, RunError> {
    let path = path(trials);
    let list = match read_text(&path) {
        Err(RunError::Io { cause, .. }) if cause.kind() == ErrorKind::NotFound => {
            let why = "is missing, so whether trial files are missing as well is not known";
            return Ok(vec![format!("{} {why}", path.display())]);
        }
        other => other?,
    };
    let (names, others): (BTreeSet<&str>, BTreeSet<&str>) =
        whole_lines(&list).lines().partition(|line| line.ends_with(".rec"));
    // A run that is still going stores files after `there` was listed.
    let is_gone = |name: &&str| !there.contains(*name) && !trials.join(name).exists();
    let gone: Vec<&str> = names.into_iter().filter(is_gone).collect();
    let mut problems = Vec::new();
    if let Some(first) = gone.first() {
        let more = if gone.len() > 1 { format!(" and {} more", gone.len() - 1) } else { String::new() };
        problems.push(format!(
            "{}{more} had been stored and is gone: its trials are not in the results",
            trials.join(first).display()
        ));
    }
    if let Some(line) = others.first() {
        problems.push(format!("{} is damaged: `{line}` is not a trial file", path.display()));
    }
    Ok(problems)
}

fn whole_lines(list: &str) -> &str {
    list.rfind('\n').map_or("", |end| &list[..=end])
}
