//! Makes a copy of a directory equal to it again, without touching what is already equal. `cp -u` would miss a file
//! whose time went backwards, as with a restored one, and deleted files.

use super::patched::Files;
use crate::error::VmError;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file that differs is copied with the current time, because make must see that it is not the one from which the
/// objects were made. Files in `but` are not touched in the copy.
pub(super) fn sync(tree: &Path, copy: &Path, but: &Files) -> Result<(), VmError> {
    Sync { but }.directory(tree, copy, Path::new(""))
}

struct Sync<'a> {
    but: &'a Files,
}

impl Sync<'_> {
    fn directory(&self, tree: &Path, copy: &Path, at: &Path) -> Result<(), VmError> {
        let wanted = names(tree)?;
        for name in names(copy)?.difference(&wanted) {
            self.gone(&copy.join(name), &at.join(name))?;
        }
        wanted.iter().try_for_each(|name| self.entry(&tree.join(name), &copy.join(name), &at.join(name)))
    }

    /// Removes what the tree lacks, except for files that are to stay.
    fn gone(&self, copy: &Path, at: &Path) -> Result<(), VmError> {
        let below = self.but.range(at.to_owned()..).next().is_some_and(|(name, _)| name.starts_with(at));
        if self.but.contains_key(at) {
            return Ok(());
        }
        let is_directory = fs::symlink_metadata(copy).is_ok_and(|is| is.is_dir());
        if !(below && is_directory) {
            return remove(copy);
        }
        names(copy)?.iter().try_for_each(|name| self.gone(&copy.join(name), &at.join(name)))
    }

    fn entry(&self, from: &Path, to: &Path, at: &Path) -> Result<(), VmError> {
        if self.but.contains_key(at) {
            return Ok(());
        }
        let is = fs::symlink_metadata(from).map_err(VmError::file("reading", from))?;
        let kind = is.file_type();
        let was = fs::symlink_metadata(to).ok();
        // If the kind differs, nothing that was there can be kept.
        let kept = was.as_ref().filter(|was| was.file_type() == kind);
        // Removed before it is written again, because it may be read-only, or a hard link to another file.
        let clear = || if was.is_some() { remove(to) } else { Ok(()) };
        if kind.is_dir() {
            if kept.is_none() {
                clear()?;
                fs::create_dir(to).map_err(VmError::file("making", to))?;
            }
            self.directory(from, to, at)?;
        } else if kind.is_symlink() {
            let target = fs::read_link(from).map_err(VmError::file("reading", from))?;
            if kept.is_none() || fs::read_link(to).ok().as_ref() != Some(&target) {
                clear()?;
                std::os::unix::fs::symlink(target, to).map_err(VmError::file("making", to))?;
            }
            return Ok(());
        } else if !kind.is_file() {
            // Sockets and the like are not sources.
            return Ok(());
        } else if !kept.map_or(Ok(false), |was| same((from, &is), (to, was)))? {
            clear()?;
            fs::copy(from, to).map_err(VmError::file("copying", from))?;
        }
        // The executable bit matters, because the build runs scripts.
        if kept.is_none_or(|was| was.permissions() != is.permissions()) {
            fs::set_permissions(to, is.permissions()).map_err(VmError::file("setting the mode of", to))?;
        }
        Ok(())
    }
}

/// A checksum of the tree without its repository: names, kinds, sizes, modes, times, and link targets. Editing a file
/// changes its time; the content of 80 000 files is not read.
pub fn state(tree: &Path) -> Result<u32, VmError> {
    let mut sum = crc32fast::Hasher::new();
    add(&mut sum, tree)?;
    Ok(sum.finalize())
}

fn add(sum: &mut crc32fast::Hasher, directory: &Path) -> Result<(), VmError> {
    for name in names(directory)?.iter().filter(|name| *name != ".git") {
        let path = directory.join(name);
        let is = fs::symlink_metadata(&path).map_err(VmError::file("reading", &path))?;
        sum.update(name.as_encoded_bytes());
        sum.update(&[0]);
        sum.update(&is.mode().to_le_bytes());
        if is.is_dir() {
            add(sum, &path)?;
            // Separates a directory from the names that follow and are not in it.
            sum.update(b"/");
        } else if is.is_symlink() {
            let target = fs::read_link(&path).map_err(VmError::file("reading", &path))?;
            sum.update(target.as_os_str().as_encoded_bytes());
            sum.update(&[0]);
        } else {
            [is.size() as i64, is.mtime(), is.mtime_nsec()].iter().for_each(|part| sum.update(&part.to_le_bytes()));
        }
    }
    Ok(())
}

fn names(directory: &Path) -> Result<BTreeSet<OsString>, VmError> {
    let names = || -> io::Result<_> { fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name())).collect() };
    names().map_err(VmError::file("reading", directory))
}

fn remove(path: &Path) -> Result<(), VmError> {
    let remove = || match fs::symlink_metadata(path)?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
    remove().map_err(VmError::file("removing", path))
}

/// Equal in size, and in time or in content; for most files the time decides, because the first copy preserved it.
fn same((from, is): (&Path, &Metadata), (to, was): (&Path, &Metadata)) -> Result<bool, VmError> {
    if is.len() != was.len() {
        return Ok(false);
    }
    let same_time = matches!((is.modified(), was.modified()), (Ok(is), Ok(was)) if is == was);
    Ok(same_time || same_content(from, to).map_err(VmError::file("comparing with its copy", from))?)
}

/// Compares in chunks, because a tree's repository may have packs of gigabytes.
fn same_content(a: &Path, b: &Path) -> io::Result<bool> {
    let (mut a, mut b) = (BufReader::new(File::open(a)?), BufReader::new(File::open(b)?));
    loop {
        let (left, right) = (a.fill_buf()?, b.fill_buf()?);
        let length = left.len().min(right.len());
        if length == 0 || left[..length] != right[..length] {
            return Ok(left.is_empty() && right.is_empty());
        }
        a.consume(length);
        b.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;
    use std::time::{Duration, SystemTime};

    /// A directory with a tree and an equal copy, whose files have the time `old()`.
    fn tree() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let (tree, copy) = (directory.path().join("tree"), directory.path().join("copy"));
        for root in [&tree, &copy] {
            fs::create_dir_all(root.join("kernel")).unwrap();
            for name in ["Makefile", "kernel/fair.c"] {
                fs::write(root.join(name), "one\n").unwrap();
                set_time(&root.join(name), old());
            }
            symlink("Makefile", root.join("link")).unwrap();
        }
        (directory, tree, copy)
    }

    fn old() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)
    }

    fn set_time(file: &Path, time: SystemTime) {
        File::options().append(true).open(file).unwrap().set_modified(time).unwrap();
    }

    #[test]
    fn the_state_is_another_after_an_edit_and_equal_for_an_equal_copy() {
        let (_directory, tree, copy) = tree();
        let now = || state(&tree).unwrap();
        let before = now();
        assert_eq!(before, state(&copy).unwrap(), "wherever it is");
        fs::create_dir(tree.join(".git")).unwrap();
        fs::write(tree.join(".git/index"), "new\n").unwrap();
        assert_eq!(now(), before, "a repository is no source");
        fs::write(tree.join("kernel/fair.c"), "two\n").unwrap();
        assert_ne!(now(), before, "as long as it was, at another time");
        set_time(&tree.join("kernel/fair.c"), old());
        fs::rename(tree.join("kernel/fair.c"), tree.join("fair.c")).unwrap();
        assert_ne!(now(), before, "in another directory");
        fs::rename(tree.join("fair.c"), tree.join("kernel/fair.c")).unwrap();
        assert_eq!(now(), before);
    }

    fn time(file: &Path) -> SystemTime {
        fs::metadata(file).unwrap().modified().unwrap()
    }

    #[test]
    fn a_restored_older_file_arrives_with_the_time_of_now() {
        let (_directory, tree, copy) = tree();
        // The copy has an edit of the same length as the original.
        fs::write(copy.join("Makefile"), "two\n").unwrap();
        let before = SystemTime::now() - Duration::from_secs(1);
        set_time(&copy.join("Makefile"), before - Duration::from_secs(60));
        sync(&tree, &copy, &Files::new()).unwrap();
        assert_eq!(fs::read_to_string(copy.join("Makefile")).unwrap(), "one\n");
        assert!(time(&copy.join("Makefile")) > before, "make must see that it is another file");
    }

    #[test]
    fn what_is_equal_keeps_its_time() {
        let (_directory, tree, copy) = tree();
        let later = old() + Duration::from_secs(60);
        set_time(&tree.join("kernel/fair.c"), later);
        set_time(&copy.join("Makefile"), old() - Duration::from_secs(60));
        sync(&tree, &copy, &Files::new()).unwrap();
        assert_eq!(time(&copy.join("kernel/fair.c")), old(), "touched, and still the same");
        assert_eq!(time(&copy.join("Makefile")), old() - Duration::from_secs(60));
    }

    #[test]
    fn what_the_tree_lacks_goes_and_what_is_new_comes() {
        let (_directory, tree, copy) = tree();
        fs::remove_dir_all(tree.join("kernel")).unwrap();
        fs::create_dir_all(tree.join("new/below")).unwrap();
        fs::write(tree.join("new/below/file.c"), "new\n").unwrap();
        // A file where the copy has a directory, and vice versa.
        fs::create_dir(copy.join("swapped")).unwrap();
        fs::write(copy.join("swapped/file"), "x").unwrap();
        fs::write(tree.join("swapped"), "a file\n").unwrap();
        sync(&tree, &copy, &Files::new()).unwrap();
        assert!(!copy.join("kernel").exists());
        assert_eq!(fs::read_to_string(copy.join("new/below/file.c")).unwrap(), "new\n");
        assert_eq!(fs::read_to_string(copy.join("swapped")).unwrap(), "a file\n");
    }

    #[test]
    fn links_follow_their_targets_and_modes_their_files() {
        let (_directory, tree, copy) = tree();
        fs::remove_file(tree.join("link")).unwrap();
        symlink("kernel", tree.join("link")).unwrap();
        let mode = |file: &Path| fs::metadata(file).unwrap().permissions().mode() & 0o777;
        // A script becomes executable, and a read-only file changes.
        fs::set_permissions(tree.join("kernel/fair.c"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(tree.join("Makefile"), "longer than before\n").unwrap();
        for root in [&tree, &copy] {
            fs::set_permissions(root.join("Makefile"), fs::Permissions::from_mode(0o444)).unwrap();
        }
        sync(&tree, &copy, &Files::new()).unwrap();
        assert_eq!(fs::read_link(copy.join("link")).unwrap(), Path::new("kernel"));
        assert_eq!((mode(&copy.join("kernel/fair.c")), time(&copy.join("kernel/fair.c"))), (0o755, old()));
        assert_eq!(fs::read_to_string(copy.join("Makefile")).unwrap(), "longer than before\n");
        assert_eq!(mode(&copy.join("Makefile")), 0o444);
        assert_eq!(fs::read_to_string(tree.join("Makefile")).unwrap(), "longer than before\n");
    }
}
