//! A tree, and what patches make of it in memory.

use super::dossier::Sides;
use super::trees::{self, Origin};
use crate::input;
use anyhow::{Result, bail};
use schedlab_kernel::dossier::{Event, references};
use schedlab_kernel::{Change, FilePatch, Patch, Placement, abbreviated, apply, place, split};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub(super) fn sides(tree: &Path, patches: &[String], paths: &[String]) -> Result<Sides> {
    let (series, mut problems) = series(patches)?;
    let touched = series.iter().flat_map(|p| &p.files).flat_map(|f| [&f.old, &f.new]).flatten().map(String::as_str);
    let touched: BTreeSet<&str> = touched.collect();
    if touched.is_empty() {
        bail!("nothing of the patches can be read: {}", problems.join("; "));
    }
    let paths = if paths.is_empty() { trees::folders(touched.iter().copied()) } else { paths.to_vec() };
    let is_wanted = |path: &str| trees::is_read(path) || touched.contains(path);
    let before = trees::files(tree, &paths, &is_wanted, &mut problems)?;
    let mut after: BTreeMap<String, Vec<u8>> = before.iter().cloned().collect();
    let is_in = |path: &str| {
        paths.iter().any(|p| path == p || path.strip_prefix(&**p).is_some_and(|rest| rest.starts_with('/')))
    };
    for file in series.iter().flat_map(|patch| &patch.files).filter(|file| is_in(file.path())) {
        problems.extend(change(&mut after, file));
    }
    let name = tree.file_name().map_or("tree".into(), |n| n.to_string_lossy().into_owned());
    let events = series.iter().filter(|p| !p.subject.is_empty()).map(event).collect();
    let named = |file: &String| Path::new(file).file_name().map_or(file.clone(), |n| n.to_string_lossy().into_owned());
    let patches: Vec<String> = patches.iter().map(named).collect();
    let names = [name.clone(), format!("{name} with {}", patches.join(", "))];
    let origins = [tree, tree].map(|tree| Origin::Tree(tree.to_owned()));
    let files = [before, after.into_iter().collect()];
    Ok(Sides { names, files, paths, events, later: Vec::new(), origins, problems })
}

/// The patches of these files, and what of them is not read.
fn series(files: &[String]) -> Result<(Vec<Patch>, Vec<String>)> {
    let (mut series, mut problems) = (Vec::new(), Vec::new());
    for file in files {
        let found = super::series::parsed(Path::new(file), &input::bytes(Path::new(file))?)?;
        let refused = found.iter().flat_map(|patch| &patch.refused);
        problems.extend(refused.map(|refused| format!("{file} {refused}; it is left out")));
        series.extend(found);
    }
    Ok((series, problems))
}

/// Makes of a file what the patch does; answers what of it does not apply.
fn change(files: &mut BTreeMap<String, Vec<u8>>, file: &FilePatch) -> Option<String> {
    let path = file.path();
    let text = files.get(path).cloned().unwrap_or_default();
    let lines = split(&text);
    let placements = place(&file.hunks, &lines);
    let made = apply(&file.hunks, &placements, &lines);
    if file.change != Change::Copied {
        files.remove(path);
    }
    if let Some(new) = &file.new {
        files.insert(new.clone(), made);
    }
    let missed = placements.iter().filter(|p| !matches!(p, Placement::At { .. })).count();
    (missed > 0).then(|| format!("{path}: {missed} of {} hunks do not apply and are left out", placements.len()))
}

/// What the head of a mail says.
fn event(patch: &Patch) -> Event {
    let of = |key: &str| {
        let found = patch.trailers.iter().find(|trailer| trailer.key.eq_ignore_ascii_case(key));
        found.map_or("", |trailer| trailer.value.as_str())
    };
    let author = of("From").split('<').next().unwrap_or_default().trim().trim_matches('"').to_owned();
    let commit = abbreviated(patch.commit.as_deref().unwrap_or_default()).to_owned();
    let references = references(&String::from_utf8_lossy(&patch.message));
    let (subject, copied_from) = (patch.subject.clone(), patch.copied_from.clone());
    Event { commit, date: day(of("Date")), author, subject, release: None, references, copied_from }
}

/// `2023-08-17` of `Thu, 17 Aug 2023 11:04:00 +0200`; empty if it is none.
fn day(date: &str) -> String {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let words: Vec<&str> = date.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let read = |part: &[&str]| {
        let [day, month, year] = *part else { return None };
        let month = MONTHS.find(month).filter(|at| month.len() == 3 && at % 3 == 0)? / 3 + 1;
        Some(format!("{:04}-{month:02}-{:02}", year.parse::<u16>().ok()?, day.parse::<u8>().ok()?))
    };
    words.windows(3).find_map(read).unwrap_or_default()
}
