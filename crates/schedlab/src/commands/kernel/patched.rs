//! A tree, and what patches make of it in memory.

use super::dossier::Sides;
use super::trees;
use crate::input;
use anyhow::{Result, bail};
use schedlab_kernel::{Change, Patch, Placement, apply, parse, place, split};
use std::collections::BTreeMap;
use std::path::Path;

pub(super) fn sides(tree: &Path, patches: &[String], paths: &[String]) -> Result<Sides> {
    let mut series: Vec<Patch> = Vec::new();
    for file in patches {
        let found = parse(&input::bytes(Path::new(file))?);
        if found.iter().all(|patch| patch.files.is_empty()) {
            bail!("{file} holds no diff; name patches as git format-patch, git diff or diff -u write them");
        }
        series.extend(found);
    }
    let touched = series.iter().flat_map(|p| &p.files).flat_map(|f| [&f.old, &f.new]).flatten().map(String::as_str);
    let paths = if paths.is_empty() { trees::folders(touched) } else { paths.to_vec() };
    let mut problems = Vec::new();
    let before = trees::files(tree, &paths, &mut problems)?;
    let mut after: BTreeMap<String, Vec<u8>> = before.iter().cloned().collect();
    for file in series.iter().flat_map(|patch| &patch.files) {
        let path = file.path();
        let is_in =
            paths.iter().any(|p| path == p || path.strip_prefix(p.as_str()).is_some_and(|r| r.starts_with('/')));
        if !trees::is_read(path) || !is_in {
            continue;
        }
        let text = after.get(path).cloned().unwrap_or_default();
        let lines = split(&text);
        let placements = place(&file.hunks, &lines);
        let missed = placements.iter().filter(|p| !matches!(p, Placement::At { .. })).count();
        if missed > 0 {
            problems.push(format!("{path}: {missed} of {} hunks do not apply and are left out", placements.len()));
        }
        let made = apply(&file.hunks, &placements, &lines);
        if file.change != Change::Copied {
            after.remove(path);
        }
        if let Some(new) = &file.new {
            after.insert(new.clone(), made);
        }
    }
    let name = tree.file_name().map_or("tree".into(), |n| n.to_string_lossy().into_owned());
    let commits = series.iter().filter(|p| !p.subject.is_empty()).map(|p| p.subject.clone()).collect();
    let named = |file: &String| Path::new(file).file_name().map_or(file.clone(), |n| n.to_string_lossy().into_owned());
    let patches: Vec<String> = patches.iter().map(named).collect();
    let names = [name.clone(), format!("{name} with {}", patches.join(", "))];
    Ok(Sides { names, files: [before, after.into_iter().collect()], paths, commits, problems })
}
