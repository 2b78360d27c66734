//! Reads files of unpacked trees.

use super::dossier::{Raw, Sides};
use super::steps::Steps;
use super::{checkout, port};
use crate::input;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Where a state of the source can be read.
#[derive(Clone)]
pub(super) enum Origin {
    Tree(PathBuf),
    /// A checkout, and a commit in it.
    Commit(PathBuf, String),
}

impl Origin {
    /// The files under `paths`; a missing folder is empty.
    pub(super) fn files(
        &self,
        paths: &[String],
        is_wanted: &dyn Fn(&str) -> bool,
        problems: &mut Vec<String>,
    ) -> Result<Vec<Raw>> {
        match self {
            Self::Tree(tree) => files(tree, paths, is_wanted, problems),
            Self::Commit(tree, commit) => checkout::files(tree, commit, paths, is_wanted, problems),
        }
    }

    /// The path that the user gave.
    pub(super) fn place(&self) -> &Path {
        match self {
            Self::Tree(tree) | Self::Commit(tree, _) => tree,
        }
    }

    /// Reads files one by one; of a commit only `paths`, all at once.
    pub(super) fn reader<'a>(
        &'a self,
        paths: &[String],
    ) -> Result<impl FnMut(&str) -> Result<Option<Vec<u8>>> + use<'a>> {
        let known: BTreeMap<String, Vec<u8>> = match self {
            Self::Tree(_) => BTreeMap::new(),
            Self::Commit(..) => self.there(paths)?.into_iter().collect(),
        };
        Ok(move |path: &str| match self {
            Self::Tree(tree) => port::file(tree, path),
            Self::Commit(..) => Ok(known.get(path).cloned()),
        })
    }

    /// Those of the files that exist.
    pub(super) fn there(&self, paths: &[String]) -> Result<Vec<Raw>> {
        match self {
            _ if paths.is_empty() => Ok(Vec::new()),
            Self::Tree(tree) => {
                let found = paths.iter().filter_map(|path| {
                    let text = port::file(tree, path).transpose()?;
                    Some(text.map(|text| (path.clone(), text)))
                });
                found.collect()
            }
            Self::Commit(tree, commit) => {
                checkout::files(tree, commit, paths, &|path| paths.iter().any(|p| p == path), &mut Vec::new())
            }
        }
    }
}

/// Maximum size of one state. All C files of a kernel have 1.3 GB.
pub(super) const MAX_BYTES: u64 = 2 << 30;

pub(super) fn sides(trees: [&String; 2], paths: &[String]) -> Result<Sides> {
    let mut problems = Vec::new();
    let [before, after] = trees.map(|tree| files(Path::new(tree), paths, &is_read, &mut problems));
    let files = [before?, after?];
    for (tree, files) in trees.into_iter().zip(&files) {
        let Some(lacks) = lacks(tree) else { continue };
        if !files.iter().any(|(path, _)| schedlab_kernel::is_c(path)) && paths.is_empty() {
            bail!("{tree} is no kernel tree: it has no {lacks}, nor any C file");
        }
        problems.push(format!("{tree} is no kernel tree: it has no {lacks}"));
    }
    let names = trees.map(|t| Path::new(t).file_name().map_or(t.clone(), |name| name.to_string_lossy().into_owned()));
    let origins = trees.map(|tree| Origin::Tree(tree.into()));
    Ok(Sides {
        names,
        files,
        paths: paths.to_vec(),
        events: Vec::new(),
        steps: Steps::default(),
        later: Vec::new(),
        origins,
        problems,
    })
}

/// What a kernel's root has and this tree lacks. A part of a tree can be compared all the same.
fn lacks(tree: &str) -> Option<&'static str> {
    let makefile = input::regular(&Path::new(tree).join("Makefile")).unwrap_or_default();
    match makefile.split(|&byte| byte == b'\n').any(|line| line.starts_with(b"VERSION =")) {
        false => Some("Makefile with a VERSION"),
        true => Some("Kconfig").filter(|file| !Path::new(tree).join(file).is_file()),
    }
}

/// Files that a dossier reads: C and Kconfig are parsed; of assembly, makefiles and documentation the lines count.
pub(super) fn is_read(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    schedlab_kernel::is_c(name)
        || [".S", ".rst", ".txt", ".tbl"].iter().any(|end| name.ends_with(end))
        || ["Kconfig", "Makefile", "Kbuild"].iter().any(|start| name.starts_with(start))
}

/// Reports, once for both trees, that a link is not read.
pub(super) fn leave_link(path: &str, problems: &mut Vec<String>) {
    let problem = format!("{path}: it is a symbolic link; it is left out");
    if !problems.contains(&problem) {
        problems.push(problem);
    }
}

/// The files under `paths` of a tree; all files if `paths` is empty. A missing path is a problem, not an error, because
/// the other tree may have it. Links are not followed.
pub(super) fn files(
    tree: &Path,
    paths: &[String],
    is_wanted: &dyn Fn(&str) -> bool,
    problems: &mut Vec<String>,
) -> Result<Vec<Raw>> {
    let mut open: Vec<String> = if paths.is_empty() { vec![String::new()] } else { paths.to_vec() };
    let mut names = std::collections::BTreeSet::new();
    while let Some(path) = open.pop() {
        let at = tree.join(&path);
        let kind = match std::fs::symlink_metadata(&at) {
            Ok(found) => found.file_type(),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                problems.push(format!("{} does not exist", at.display()));
                continue;
            }
            Err(error) => return Err(error).with_context(|| format!("{} cannot be read", at.display())),
        };
        if kind.is_file() && is_wanted(&path) {
            names.insert(path);
        } else if kind.is_symlink() && is_wanted(&path) {
            leave_link(&path, problems);
        } else if kind.is_dir() || path.is_empty() {
            for entry in std::fs::read_dir(&at).with_context(|| format!("{} cannot be read", at.display()))? {
                let entry = entry?;
                let Ok(name) = entry.file_name().into_string() else {
                    problems.push(format!("{}: the name is not UTF-8; it is left out", entry.path().display()));
                    continue;
                };
                open.push(if path.is_empty() { name } else { format!("{path}/{name}") });
            }
        }
    }
    let (mut out, mut sum) = (Vec::with_capacity(names.len()), 0);
    for path in names {
        let at = tree.join(&path);
        let text = input::regular(&at).with_context(|| format!("{} cannot be read", at.display()))?;
        sum += text.len() as u64;
        if sum > MAX_BYTES {
            bail!("{} has more than {} MiB of C: give fewer directories with --paths", tree.display(), MAX_BYTES >> 20);
        }
        out.push((path, text));
    }
    Ok(out)
}

/// The folders of some files, for inputs that name their files.
pub(super) fn folders<'a>(files: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let of = |file: &str| file.rsplit_once('/').map_or(file.to_owned(), |(folder, _)| folder.to_owned());
    let mut out: Vec<String> = files.into_iter().map(of).collect();
    out.sort();
    out.dedup();
    // A folder is read with everything below it.
    let all = out.clone();
    out.retain(|path| {
        !all.iter().any(|other| path.strip_prefix(other.as_str()).is_some_and(|rest| rest.starts_with('/')))
    });
    out
}
