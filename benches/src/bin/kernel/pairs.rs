//! A hunk of the newer series, paired with the maintainers' version of it in the older one.

use anyhow::{Context, Result};
use schedlab_kernel::{Hunk, Line, Placement, apply, parse, split, widened};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A backport with a known answer.
pub(crate) struct Pair {
    pub(crate) file: String,
    /// Number of the hunk among those of the file, from 0.
    pub(crate) number: usize,
    /// Hunk of the newer series.
    pub(crate) hunk: Hunk,
    /// The same hunk with more context lines from the newer file.
    pub(crate) wide: Hunk,
    /// The maintainers' hunk, at its exact lines.
    pub(crate) counterpart: Hunk,
    /// Both change the same lines, apart from trailing white space.
    pub(crate) is_same: bool,
    /// The older file before and after the counterpart.
    pub(crate) old: Vec<u8>,
    pub(crate) right: Vec<u8>,
}

/// A counterpart shares at least this part of the changed lines, and no other hunk shares as much.
const ALIKE: f64 = 0.6;
const APART: f64 = 0.05;

/// C files that both series changed and that exist in all four trees.
pub(crate) fn files(trees: &[PathBuf; 4]) -> Result<Vec<String>> {
    let newer = differing(&trees[0], &trees[1])?;
    let mut files = differing(&trees[2], &trees[3])?;
    files.retain(|file| newer.contains(file) && (file.ends_with(".c") || file.ends_with(".h")));
    files.retain(|file| trees.iter().all(|tree| tree.join(file).is_file()));
    files.sort();
    Ok(files)
}

/// Files that are in both trees and differ.
pub(crate) fn differing(a: &Path, b: &Path) -> Result<Vec<String>> {
    let out = Command::new("diff").arg("-rq").args([a, b]).output().context("the program diff")?;
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    let prefix = format!("Files {}/", a.display());
    let name = |line: &str| line.strip_prefix(&*prefix)?.split(" and ").next().map(str::to_owned);
    Ok(said.lines().filter_map(name).collect())
}

/// Number of lines in which a file differs between the older and the newer series.
pub(crate) fn difference(trees: &[PathBuf; 4], file: &str) -> Result<usize> {
    let hunks = hunks(&trees[0].join(file), &trees[2].join(file))?;
    Ok(hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| !matches!(line, Line::Context(_))).count())
}

fn hunks(a: &Path, b: &Path) -> Result<Vec<Hunk>> {
    let out = Command::new("diff").args(["-U3", "-p", "--label", "a/f", "--label", "b/f"]).args([a, b]).output()?;
    Ok(parse(&out.stdout).into_iter().flat_map(|patch| patch.files).flat_map(|file| file.hunks).collect())
}

/// The lines that a hunk removes and adds, without trailing white space.
pub(crate) fn changed(hunk: &Hunk) -> Vec<Vec<u8>> {
    let lines = hunk.lines.iter().filter(|l| !matches!(l, Line::Context(_)));
    lines.map(|l| [&[l.sign()], l.text().trim_ascii_end()].concat()).collect()
}

/// The pairs of a file: counterpart and hunk are each other's best match.
pub(crate) fn of_file(trees: &[PathBuf; 4], file: &str) -> Result<Vec<Pair>> {
    let at = |tree: usize| trees[tree].join(file);
    let (newer, counterparts) = (hunks(&at(0), &at(1))?, hunks(&at(2), &at(3))?);
    let old = std::fs::read(at(2)).with_context(|| at(2).display().to_string())?;
    let base = std::fs::read(at(0)).with_context(|| at(0).display().to_string())?;
    let (a, b): (Vec<_>, Vec<_>) = (newer.iter().map(changed).collect(), counterparts.iter().map(changed).collect());
    let ratio: Vec<Vec<f64>> = a.iter().map(|x| b.iter().map(|y| ratio(x, y)).collect()).collect();
    let mut out = Vec::new();
    for (i, row) in ratio.iter().enumerate() {
        let Some(j) = (0..row.len()).rev().max_by(|&x, &y| row[x].total_cmp(&row[y])) else { continue };
        let best = row[j];
        let mut rivals = (0..row.len())
            .filter(|k| *k != j)
            .map(|k| row[k])
            .chain((0..newer.len()).filter(|k| *k != i).map(|k| ratio[k][j]));
        if best < ALIKE || rivals.any(|rival| rival > best - APART) {
            continue;
        }
        let counterpart = counterparts[j].clone();
        let line = counterpart.old_start - usize::from(!counterpart.old_side().is_empty());
        let exactly = Placement::At { line, offset: 0, fuzz: 0 };
        let right = apply(std::slice::from_ref(&counterpart), &[exactly], &split(&old));
        let hunk = newer[i].clone();
        let (file, wide, old) = (
            file.into(),
            widened(&hunk, hunk.old_start - usize::from(!hunk.old_side().is_empty()), &split(&base)),
            old.clone(),
        );
        out.push(Pair { file, number: i, hunk, wide, counterpart, is_same: a[i] == b[j], old, right });
    }
    Ok(out)
}

/// The measure of Ratcliff and Obershelp, as in Python's difflib: twice the lines in matching blocks divided by all
/// lines.
fn ratio(a: &[Vec<u8>], b: &[Vec<u8>]) -> f64 {
    if a.is_empty() && b.is_empty() { 1.0 } else { 2.0 * matching(a, b) as f64 / (a.len() + b.len()) as f64 }
}

fn matching(a: &[Vec<u8>], b: &[Vec<u8>]) -> usize {
    let mut places: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (j, line) in b.iter().enumerate() {
        places.entry(line).or_default().push(j);
    }
    // The longest block; of equally long ones the first in `a`, then in `b`. `lengths` has the blocks that end at each
    // line of `b`.
    let (mut best, mut lengths) = ((0, 0, 0), HashMap::<usize, usize>::new());
    for (i, line) in a.iter().enumerate() {
        let mut next = HashMap::new();
        for &j in places.get(&**line).into_iter().flatten() {
            let length = j.checked_sub(1).and_then(|j| lengths.get(&j)).copied().unwrap_or(0) + 1;
            next.insert(j, length);
            if length > best.0 {
                best = (length, i + 1 - length, j + 1 - length);
            }
        }
        lengths = next;
    }
    let (length, i, j) = best;
    if length == 0 {
        return 0;
    }
    length + matching(&a[..i], &b[..j]) + matching(&a[i + length..], &b[j + length..])
}
