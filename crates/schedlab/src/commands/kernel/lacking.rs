//! What the hunks of a series need and the tree lacks: reads the headers that are visible to them.

use super::checkout::{git, is_checkout};
use crate::input;
use crate::output::say;
use anyhow::Result;
use schedlab_kernel::needs::{Headers, Need, NeedKind, Paths, needs};
use schedlab_kernel::{Patch, Port, Read, is_c};
use schedlab_sys::thread::{side_by_side, usable_cpus};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// For each finding; empty for a tree without an `include` folder, which is not a whole kernel.
pub(super) fn find(
    tree: &Path,
    patches: &[Patch],
    port: &mut Port,
    read: &mut Read<'_, anyhow::Error>,
) -> Result<Vec<Vec<Need>>> {
    if !tree.join("include").is_dir() {
        say(format_args!(
            "{} has no directory `include`, so the names that the series needs are not checked",
            tree.display()
        ));
        return Ok(port.findings.iter().map(|_| Vec::new()).collect());
    }
    let files: BTreeSet<String> = port.findings.iter().map(|found| found.file.clone()).collect();
    let folder_of = |file: &String| file.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
    // The names in other files are not checked.
    let folders: BTreeSet<String> = files.iter().filter(|file| is_c(file)).map(folder_of).collect();
    let mut names = BTreeSet::new();
    walk(tree, "include", true, &mut names);
    for architecture in folders_of(tree, "arch") {
        walk(tree, &format!("{architecture}/include"), true, &mut names);
    }
    let is_header = |name: &&String| !folders.is_empty() && name.ends_with(".h");
    let mut headers: BTreeSet<String> = names.iter().filter(is_header).cloned().collect();
    for folder in &folders {
        let mut beside = BTreeSet::new();
        walk(tree, folder, false, &mut beside);
        headers.extend(joined(tree, folder, &beside));
        // `#include "../common/x.h"`: neighbouring folders count too, unless these are all drivers. Beside a DRM driver
        // lie the register headers of AMD's, 480 MB in 6.12.
        let above = folder.rsplit_once('/').map_or("", |(above, _)| above);
        if matches!(above, "" | "drivers" | "drivers/gpu/drm" | "arch" | "sound") {
            walk(tree, folder, true, &mut beside);
        } else {
            walk(tree, above, true, &mut beside);
        }
        headers.extend(beside.into_iter().filter(|name| name.ends_with(".h")));
    }
    // For headers and files of other folders only their names are read: `-I` in a Makefile may lead there, or a file
    // has moved.
    let all: BTreeSet<String> = files.iter().map(folder_of).collect();
    let tops: BTreeSet<&str> = all.iter().map(|folder| top(folder)).collect();
    tops.iter().for_each(|top| walk(tree, top, true, &mut names));
    let headers = contents(tree, headers.into_iter().collect());
    let mut out = needs(patches, port, &headers, &Paths(names.into_iter().collect()), read)?;
    let looked_in: Vec<String> =
        tops.into_iter().chain(["include"]).filter(|top| !top.is_empty()).map(str::to_owned).collect();
    releases(tree, &looked_in, &mut out);
    Ok(out)
}

/// How many missing things are searched for, and in how many releases.
const LOOKED_FOR: usize = 40;
const RELEASES: usize = 20;

/// The last release with each thing that the tree once had. `folders` are the folders that names are searched in.
fn releases(tree: &Path, folders: &[String], needs: &mut [Vec<Need>]) {
    if !is_checkout(tree) {
        return;
    }
    let mut known: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut names = BTreeSet::new();
    for need in needs.iter_mut().flatten() {
        let path = match need.kind {
            NeedKind::File => need.name.clone(),
            NeedKind::Header => format!("include/{}", need.name),
            _ => {
                names.extend(Some(need.name.clone()).filter(|_| names.len() < LOOKED_FOR));
                continue;
            }
        };
        if known.len() < LOOKED_FOR || known.contains_key(&path) {
            need.last_in = known.entry(path).or_insert_with_key(|path| last_release(tree, path)).clone();
        }
    }
    let last = last_with(tree, folders, names);
    for need in needs.iter_mut().flatten() {
        need.last_in = need.last_in.take().or_else(|| last.get(&need.name).cloned());
    }
}

/// The output of git, if it succeeds.
fn said(tree: &Path, words: &[&str], paths: &[String]) -> Option<String> {
    Some(String::from_utf8_lossy(&git(tree, words, paths, vec![]).ok()?).trim().to_owned())
}

/// The newest tags in the tree's history; `which` are more arguments for `git for-each-ref`.
fn tags(tree: &Path, which: &[&str]) -> Vec<String> {
    let sorted = ["-c", "versionsort.suffix=-rc", "for-each-ref", "--sort=-version:refname", "--sort=-creatordate"];
    let words = [&sorted[..], &["--format=%(refname)", "--merged", "HEAD"], which, &["refs/tags"]].concat();
    said(tree, &words, &[]).unwrap_or_default().lines().take(RELEASES).map(str::to_owned).collect()
}

fn short(tag: &str) -> String {
    tag.strip_prefix("refs/tags/").unwrap_or(tag).to_owned()
}

fn last_release(tree: &Path, path: &str) -> Option<String> {
    // The last commit that touched it removed it.
    let gone = said(tree, &["rev-list", "-1", "HEAD", "--"], &[path.to_owned()]).filter(|id| !id.is_empty())?;
    let has = |tag: &String| said(tree, &["cat-file", "-e", &format!("{tag}:{path}")], &[]).is_some();
    tags(tree, &["--no-contains", &gone]).iter().find(|tag| has(tag)).map(|tag| short(tag))
}

/// For names that are not in these folders now, the last release in which they were. A name that still occurs, such as
/// a member of another struct, is not searched for.
fn last_with(tree: &Path, folders: &[String], mut names: BTreeSet<String>) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let older = std::iter::once_with(|| tags(tree, &[])).flatten();
    for tag in std::iter::once("HEAD".to_owned()).chain(older) {
        if names.is_empty() {
            break;
        }
        let asked: Vec<&str> = names.iter().flat_map(|name| ["-e", name]).collect();
        let words = ["grep", "--no-color", "--no-textconv", "-h", "-o", "-w", "-F"];
        let found = said(tree, &[&words[..], &asked, &[&tag, "--"]].concat(), folders).unwrap_or_default();
        for name in found.lines().filter_map(|name| names.take(name)) {
            out.insert(name, short(&tag));
        }
    }
    out.retain(|_, tag| tag != "HEAD");
    out
}

/// `net` of `net/ipv4`, `drivers/net` of `drivers/net/ethernet/intel`.
fn top(folder: &str) -> &str {
    let parts = if folder.starts_with("drivers/") || folder.starts_with("arch/") { 2 } else { 1 };
    folder.match_indices('/').nth(parts - 1).map_or(folder, |(at, _)| &folder[..at])
}

/// Files below a folder of the tree, without links; folders that cannot be read count as empty.
fn walk(tree: &Path, folder: &str, is_deep: bool, out: &mut BTreeSet<String>) {
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(tree.join(&folder)).into_iter().flatten().flatten() {
            let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else { continue };
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            if kind.is_dir() && is_deep {
                open.push(path);
            } else if kind.is_file() {
                out.insert(path);
            }
        }
    }
}

fn folders_of(tree: &Path, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(tree.join(folder)).into_iter().flatten().flatten();
    let entries = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    entries.filter_map(|entry| Some(format!("{folder}/{}", entry.file_name().to_str()?))).collect()
}

/// C files that are compiled as one: those that a neighbour includes, and that neighbour.
fn joined(tree: &Path, folder: &str, beside: &BTreeSet<String>) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for file in beside.iter().filter(|name| name.ends_with(".c")) {
        let Ok(text) = input::regular(&tree.join(file)) else { continue };
        let lines = text.split(|&byte| byte == b'\n').filter_map(|line| line.strip_prefix(b"#include \""));
        let names =
            lines.filter_map(|rest| rest.strip_suffix(b".c\"")).filter_map(|name| std::str::from_utf8(name).ok());
        let included: Vec<String> =
            names.map(|name| format!("{folder}/{name}.c")).filter(|name| beside.contains(name)).collect();
        if !included.is_empty() {
            out.insert(file.clone());
            out.extend(included);
        }
    }
    out
}

/// Reads the files on all CPUs.
fn contents(tree: &Path, files: Vec<String>) -> Headers {
    let workers = usable_cpus();
    let share = files.len().div_ceil(workers).max(1);
    let shares: Vec<&[String]> = files.chunks(share).collect();
    let work = |number: usize| {
        let mut out = Headers::default();
        for file in shares[number] {
            if let Ok(text) = input::regular(&tree.join(file)) {
                out.join(Headers::read(file, &text));
            }
        }
        out
    };
    let mut out = Headers::default();
    side_by_side(shares.len(), work).into_iter().for_each(|read| out.join(read));
    out.seal();
    out
}
