//! A tree, and what patches make of it in memory.

use super::dossier::{Raw, Sides};
use super::trees::{self, Origin};
use super::{port, series};
use crate::input;
use anyhow::{Result, bail};
use schedlab_kernel::dossier::{Event, Files, patch_file, references};
use schedlab_kernel::{FilePatch, Patch, abbreviated};
use std::collections::BTreeSet;
use std::path::Path;

pub(super) fn sides(tree: &Path, patches: &[String], paths: &[String]) -> Result<Sides> {
    let (series, mut problems) = series(tree, patches)?;
    let touched: BTreeSet<&str> = series.iter().flat_map(|p| &p.files).flat_map(names).collect();
    if touched.is_empty() {
        bail!("nothing of the patches can be read: {}", problems.join("; "));
    }
    let folders = trees::folders(touched.iter().copied());
    let paths = if paths.is_empty() { folders.clone() } else { paths.to_vec() };
    let is_in = |path: &str| {
        paths.iter().any(|p| path == p || path.strip_prefix(&**p).is_some_and(|rest| rest.starts_with('/')))
    };
    if !touched.iter().any(|path| is_in(path)) {
        bail!(
            "--paths {}: the patches change nothing there, only in {}; leave --paths out for all that they change",
            paths.join(","),
            folders.join(", ")
        );
    }
    let is_wanted = |path: &str| trees::is_read(path) || touched.contains(path);
    let before = trees::files(tree, &paths, &is_wanted, &mut problems)?;
    let (before, after) = patched(tree, before, &series, &is_in, &mut problems)?;
    let name = tree.file_name().map_or("tree".into(), |n| n.to_string_lossy().into_owned());
    let events = series.iter().filter(|p| !p.subject.is_empty()).map(event).collect();
    let named = |file: &String| Path::new(file).file_name().map_or(file.clone(), |n| n.to_string_lossy().into_owned());
    let patches: Vec<String> = patches.iter().map(named).collect();
    let names = [name.clone(), format!("{name} with {}", patches.join(", "))];
    let origins = [tree, tree].map(|tree| Origin::Tree(tree.to_owned()));
    Ok(Sides { names, files: [before, after], paths, events, later: Vec::new(), origins, problems })
}

/// The files inside the paths before and after the series, by path.
fn patched(
    tree: &Path,
    read: Vec<Raw>,
    series: &[Patch],
    is_in: &dyn Fn(&str) -> bool,
    problems: &mut Vec<String>,
) -> Result<(Vec<Raw>, Vec<Raw>)> {
    let mut files: Files = read.into_iter().collect();
    // A file outside of the paths can get a name in them, and the other way round.
    for path in series.iter().flat_map(|patch| &patch.files).flat_map(names) {
        if !files.contains_key(path) {
            files.extend(port::file(tree, path)?.map(|text| (path.to_owned(), text)));
        }
    }
    let before = files.clone().into_iter().filter(|(path, _)| is_in(path)).collect();
    for file in series.iter().flat_map(|patch| &patch.files) {
        let left_out = patch_file(&mut files, file);
        problems.extend(left_out.filter(|_| names(file).any(is_in)));
    }
    Ok((before, files.into_iter().filter(|(path, _)| is_in(path)).collect()))
}

fn names(file: &FilePatch) -> impl Iterator<Item = &str> {
    [&file.old, &file.new].into_iter().flatten().map(String::as_str)
}

/// The patches of these files, and what of them is not read or names a link in the tree.
fn series(tree: &Path, files: &[String]) -> Result<(Vec<Patch>, Vec<String>)> {
    let (mut series, mut problems) = (Vec::new(), Vec::new());
    for file in files {
        let mut found = series::parsed(Path::new(file), &input::bytes(Path::new(file))?)?;
        found.iter_mut().for_each(|patch| port::refuse_links(tree, patch));
        let refused = found.iter().flat_map(|patch| &patch.refused);
        problems.extend(refused.map(|refused| format!("{file} {refused}; it is left out")));
        series.extend(found);
    }
    Ok((series, problems))
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
