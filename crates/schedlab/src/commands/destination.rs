//! Checks the files that a command will write before it starts its work: an input file must not be overwritten, and a
//! file that cannot be written must not be noticed only at the end.

use crate::exit::usage;
use crate::output::say;
use anyhow::{Context, Result, bail};
use schedlab_sys::places::Draft;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Refuses a file that cannot be written, or that is among those that are `read`, under any name; in a directory that
/// is read, every file counts except its reports. A dry run does not try to write.
pub(super) fn check(option: &str, file: Option<&Path>, read: &[&Path], is_dry_run: bool) -> Result<()> {
    let Some(file) = file else { return Ok(()) };
    if file == Path::new("-") {
        usage!("{option} writes a file, not standard output; `./-` is a file of this name");
    }
    let unwritten = || format!("{option}: {} cannot be written", file.display());
    let place = std::path::absolute(file).with_context(unwritten)?;
    if let Some(parent) = place.parent().filter(|parent| !parent.is_dir()) {
        bail!("{option}: there is no directory {}", parent.display());
    }
    let there = std::fs::metadata(&place);
    if there.as_ref().is_ok_and(Metadata::is_dir) {
        bail!("{option}: {} is a directory; give a file in it", file.display());
    }
    let is_device = there.as_ref().is_ok_and(|there| !there.is_file());
    if let Some(lost) = read.iter().find(|path| !is_device && holds(path, &place)) {
        usage!("{option} {}: it is read ({}), and would be lost; name another file", file.display(), lost.display());
    }
    if !is_dry_run && !is_device {
        Draft::beside(&place.canonicalize().unwrap_or(place), 0o666).map(drop).with_context(unwritten)?;
    }
    Ok(())
}

/// Renames a file of `dir` that is about to be replaced to `NAME.oldN`, and reports `why`.
pub(super) fn set_aside(dir: &Path, name: &str, why: &str) -> Result<()> {
    let is_free = |kept: &String| std::fs::symlink_metadata(dir.join(kept)).is_err();
    let kept = (1..).map(|n| format!("{name}.old{n}")).find(is_free).unwrap_or_default();
    std::fs::rename(dir.join(name), dir.join(&kept))
        .with_context(|| format!("{} cannot be renamed", dir.join(name).display()))?;
    say(format_args!("schedlab: {name} {why}; the old file is kept as {kept}"));
    Ok(())
}

fn holds(read: &Path, place: &Path) -> bool {
    let Ok(read_as) = std::fs::metadata(read) else { return false };
    if !read_as.is_dir() {
        return std::fs::metadata(place).is_ok_and(|there| is_same(&read_as, &there));
    }
    let is_report = place.file_name().is_some_and(|name| name.to_string_lossy().starts_with("report."));
    place.exists() && !is_report && within(place, read).is_some()
}

/// Whether both are the same file, whatever its names.
pub(super) fn is_same(a: &Metadata, b: &Metadata) -> bool {
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// Refuses a place inside a tree that is only read.
pub(super) fn outside(option: &str, place: &Path, tree_option: &str, tree: &Path) -> Result<()> {
    match within(place, tree) {
        Some(tree) => bail!(
            "{option} {}: it is inside {tree_option} {}, which is not modified; give a path outside of it",
            place.display(),
            tree.display()
        ),
        None => Ok(()),
    }
}

/// The directory, if the place is inside it or is the directory itself. The place need not exist yet.
fn within<'a>(place: &Path, directory: &'a Path) -> Option<&'a Path> {
    let root = directory.canonicalize().ok()?;
    let absolute: PathBuf = std::path::absolute(place).ok()?;
    let there = absolute.ancestors().find_map(|folder| folder.canonicalize().ok())?;
    there.starts_with(root).then_some(directory)
}
