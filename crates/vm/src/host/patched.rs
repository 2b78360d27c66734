//! A patched copy of a kernel's source tree. All builds with patches for a tree share one copy, and so one set of
//! objects: only the files that the next patch and the previous one touch are compiled again. The user's tree is not
//! changed.

use super::program::{self, command, not_started};
use super::sync::sync;
use crate::error::VmError;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// Paths in a tree and their replacements; `None`: the path does not exist.
pub type Files = BTreeMap<PathBuf, Option<Content>>;

/// What a path in a tree contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A file.
    File {
        /// Its bytes.
        text: Vec<u8>,
        /// Whether it is executable; `None`: as before, and a new file is not.
        is_executable: Option<bool>,
    },
    /// A symbolic link to this path in the tree.
    Link(PathBuf),
}

/// The copy in `place`, with these files in place of the tree's. An unchanged file keeps its time, so that between two
/// sets of files make sees only the differences.
pub(super) fn with_files(
    tree: &Path,
    files: &Files,
    place: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<PathBuf, VmError> {
    let source = copied(tree, files, place, say)?;
    for (name, content) in files {
        put(tree, &source, name, content.as_ref())?;
    }
    Ok(source)
}

/// Writes one of the files into the copy, unless it is already right.
fn put(tree: &Path, source: &Path, name: &Path, content: Option<&Content>) -> Result<(), VmError> {
    let path = source.join(name);
    let is = |path: &Path| fs::symlink_metadata(path).ok();
    // A link in the tree may lead out of it; a link that only the copy has was made by us earlier.
    let is_link = |root: &Path| is(&root.join(name)).is_some_and(|file| file.is_symlink());
    let folders = name.ancestors().skip(1).map(|folder| source.join(folder));
    let is_plain = !is_link(tree)
        && is(&path).is_none_or(|file| file.is_file() || file.is_symlink())
        && folders.into_iter().all(|folder| is(&folder).is_none_or(|folder| folder.is_dir()));
    if !is_plain {
        return Err(VmError::Refused(format!("{} is not a plain file of the tree", name.display())));
    }
    let is_ours = match content {
        Some(Content::Link(to)) => is_link(source) && fs::read_link(&path).ok().as_ref() == Some(to),
        Some(Content::File { .. }) => !is_link(source),
        None => false,
    };
    if !is_ours && is(&path).is_some() {
        fs::remove_file(&path).map_err(VmError::file("removing", &path))?;
    }
    let folder = path.parent().unwrap_or(source);
    match content {
        None => return Ok(()),
        Some(_) => fs::create_dir_all(folder).map_err(VmError::file("making", folder))?,
    }
    match content {
        Some(Content::Link(to)) if !is_ours => {
            if !stays_inside(name, to) {
                let (name, to) = (name.display(), to.display());
                return Err(VmError::Refused(format!("the link {name} to {to} leads out of the tree")));
            }
            symlink(to, &path).map_err(VmError::file("making", &path))
        }
        Some(Content::File { text, is_executable }) => file(&path, text, *is_executable),
        _ => Ok(()),
    }
}

/// Writes a file that has changed, and its mode.
fn file(path: &Path, text: &[u8], is_executable: Option<bool>) -> Result<(), VmError> {
    if fs::read(path).ok().as_deref() != Some(text) {
        fs::write(path, text).map_err(VmError::file("writing", path))?;
    }
    let Some(is_executable) = is_executable else { return Ok(()) };
    let mode = fs::metadata(path).map_err(VmError::file("reading", path))?.permissions().mode();
    let wanted = if is_executable { mode | 0o111 } else { mode & !0o111 };
    if wanted == mode {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(wanted)).map_err(VmError::file("setting the mode of", path))
}

/// Whether a link with this name and target never leaves the tree on its way.
fn stays_inside(name: &Path, to: &Path) -> bool {
    let mut depth = name.components().count().saturating_sub(1);
    to.components().all(|part| match part {
        Component::Normal(_) => {
            depth += 1;
            true
        }
        Component::ParentDir => depth.checked_sub(1).map(|less| depth = less).is_some(),
        Component::CurDir => true,
        _ => false,
    })
}

/// Makes the copy in `place` equal to the tree, except for these files, which are not touched in the copy.
fn copied(tree: &Path, but: &Files, place: &Path, say: &mut dyn FnMut(&str)) -> Result<PathBuf, VmError> {
    let source = place.join("source");
    if fs::canonicalize(place).is_ok_and(|place| place.starts_with(tree)) {
        let (place, tree) = (place.display(), tree.display());
        return Err(VmError::Refused(format!("the cache {place} is inside the tree {tree}: copy the tree elsewhere")));
    }
    if source.is_dir() {
        // Also repairs a copy that was interrupted, and reverts what the previous patch changed.
        say("bringing the copy of the source tree up to date");
        sync(tree, &source, but)?;
    } else {
        say("copying the source tree");
        let mut copy = command("cp");
        // Times are preserved, so that the next sync can recognise unchanged files.
        copy.args(["-aT", "--reflink=auto"]).arg(tree).arg(&source);
        let step = "copying the source tree";
        let (status, said) = program::step(step, &mut copy, "apt-get install coreutils")?;
        if !status.success() {
            return Err(program::failed(step, &copy, status, &said));
        }
    }
    Ok(source)
}

/// The copy in `place` with only these patches, and the patches as they were applied. If a patch fails, the copy has
/// those before it.
pub(super) fn patched(
    tree: &Path,
    patches: &[PathBuf],
    place: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<(PathBuf, Vec<Vec<u8>>), VmError> {
    let read = |patch: &PathBuf| fs::read(patch).map_err(VmError::file("reading the patch", patch));
    let texts = patches.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let source = copied(tree, &Files::new(), place, say)?;
    say("patching it");
    for (patch, text) in patches.iter().zip(&texts) {
        // Stores exactly what was applied, even if the patch comes from a pipe.
        let file = place.join("patch");
        fs::write(&file, text).map_err(VmError::file("writing", &file))?;
        let file = fs::canonicalize(&file).map_err(VmError::file("finding", &file))?;
        one(&source, patch, &file, say)?;
    }
    Ok((source, texts))
}

/// Applies a patch, which the user knows as `patch` and which is stored in `file`.
fn one(source: &Path, patch: &Path, file: &Path, say: &mut dyn FnMut(&str)) -> Result<(), VmError> {
    let would = apply(source, patch, file, true)?;
    if !would.lines().any(|line| line.starts_with("checking file ")) {
        let patch = patch.display();
        return Err(VmError::Refused(format!(
            "the patch {patch} changes no file: give --patch the output of `git diff`"
        )));
    }
    let mut changed = "";
    for line in would.lines() {
        changed = line.strip_prefix("checking file ").unwrap_or(changed);
        if line.contains("(offset ") {
            say(&format!("{changed}: {line}"));
        }
    }
    apply(source, patch, file, false).map(drop)
}

/// Applies the patch, or tries whether it applies; returns the program's output.
fn apply(source: &Path, patch: &Path, file: &Path, try_only: bool) -> Result<String, VmError> {
    let mut apply: Command = command("patch");
    // No fuzz: a hunk whose context does not match might change a different place from the one that its author meant.
    apply.env("LC_ALL", "C").args([
        "-p1",
        "--fuzz=0",
        "--batch",
        "--forward",
        "--no-backup-if-mismatch",
        "--reject-file=-",
        "-d",
    ]);
    apply.arg(source).arg("-i").arg(file).args(try_only.then_some("--dry-run"));
    let output = apply.output().map_err(|e| not_started("patching", &apply, e, "apt-get install patch"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(said);
    }
    let said = match hunks_that_failed(&said) {
        said if said.is_empty() => program::last_lines(&String::from_utf8_lossy(&output.stderr), 3).replace('\n', "; "),
        said => said,
    };
    Err(VmError::Program { step: "patching", command: format!("patch -p1 -i {}", patch.display()), said })
}

/// `kernel/sched/fair.c: Hunk #2 FAILED at 6200.`
fn hunks_that_failed(said: &str) -> String {
    let mut file = "";
    let mut found = Vec::new();
    for line in said.lines() {
        match line.strip_prefix("patching file ").or_else(|| line.strip_prefix("checking file ")) {
            Some(name) => file = name.trim(),
            None if line.contains("FAILED at")
                || line.contains("No file to patch")
                || line.contains("previously applied") =>
            {
                found.push(if file.is_empty() { line.trim().to_owned() } else { format!("{file}: {}", line.trim()) });
            }
            None => {}
        }
    }
    if found.is_empty() { program::last_lines(said, 3).replace('\n', "; ") } else { found.join("; ") }
}

#[cfg(test)]
mod tests;
