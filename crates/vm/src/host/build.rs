//! Builds a small kernel from a source tree, outside that tree, into the cache: `build:NAME`. The objects are kept in
//! the cache too, so that the next build with that name, or with another patch for that tree, compiles only what
//! changed.

use super::make::{Make, cross_prefix};
pub use super::patched::{Content, Files};
use super::patched::{patched, with_files};
pub use super::sync::state;
use crate::error::VmError;
use crate::kernel::cache::{Cache, Entry, wait_for};
use crate::kernel::debian;
use crate::kernel::image::Architecture;
use crate::kernel::own_architecture;
use crate::kernel::small::{self, Request};
use schedlab_sys::places;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A kernel to be built.
#[derive(Debug, Clone)]
pub struct Build {
    /// The source tree.
    pub tree: PathBuf,
    /// What is built: the tree itself, or a modified copy of it.
    pub change: Change,
    /// Configuration lines in addition to ours.
    pub options: Vec<String>,
    /// For which machines.
    pub architecture: Architecture,
    /// It is referred to as `build:NAME`.
    pub name: String,
    /// Compilers at once.
    pub jobs: usize,
}

/// What a copy of the tree has that the tree has not.
#[derive(Debug, Clone)]
pub enum Change {
    /// There is no copy.
    None,
    /// Patches, applied in this order by `patch -p1`.
    Patches(Vec<PathBuf>),
    /// Files, which [`Building::put`] gives it.
    Files,
}

impl Change {
    /// Builds with these patches, if there are any.
    pub fn of(patches: Vec<PathBuf>) -> Self {
        if patches.is_empty() { Self::None } else { Self::Patches(patches) }
    }
}

/// Default name of a user's build, made from the tree's directory and the patches.
pub fn usual_name(tree: &Path, patches: &[PathBuf]) -> String {
    let last = |path: &Path| path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // The end of a version is not an extension.
    let tree = tree.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_else(|| "linux".into());
    patches.iter().fold(tree, |name, patch| format!("{name}+{}", last(patch)))
}

/// Builds it; `say` gets a line at each step. Returns the entry, and the requested options that the tree dropped.
pub fn build(
    cache: &Cache,
    build: &Build,
    say: &mut dyn FnMut(&str),
) -> Result<(Entry, PathBuf, Vec<String>), VmError> {
    let mut building = Building::begin(cache, build, say)?;
    let dropped = building.compile(say)?;
    let (entry, path) = building.keep(cache, say)?;
    Ok((entry, path, dropped))
}

/// A build in progress, with exclusive use of its directory.
#[derive(Debug)]
pub struct Building {
    tree: PathBuf,
    place: PathBuf,
    make: Make,
    requests: Vec<Request>,
    /// The configuration that resulted from the last compilation.
    config: String,
    _lock: File,
}

impl Building {
    /// Waits for exclusive use of its directory, and prepares its sources.
    pub fn begin(cache: &Cache, build: &Build, say: &mut dyn FnMut(&str)) -> Result<Self, VmError> {
        let (tree, requests) = looked_at(build)?;
        cache.make()?;
        has_tools(build.architecture)?;
        let place = place(cache, build, &tree);
        let objects = place.join("objects");
        fs::create_dir_all(&place).map_err(VmError::file("making", &place))?;
        let lock_file = place.join("lock");
        let lock = places::lock_file(&lock_file).map_err(VmError::file("locking", &lock_file))?;
        wait_for(&lock, &lock_file, say)?;
        let name = format!("build:{}", build.name);
        let architecture = debian::architecture(build.architecture);
        let is_this = |entry: &Entry| entry.name == name && entry.architecture == architecture;
        let is_kept = cache.entries()?.iter().any(|(entry, _)| is_this(entry));
        is_of_one_tree(&place, &tree, &name, is_kept)?;
        fs::create_dir_all(&objects).map_err(VmError::file("making", &objects))?;
        let (source, patches) = match &build.change {
            Change::None => (tree.clone(), Vec::new()),
            Change::Patches(patches) => patched(&tree, patches, &place, say)?,
            Change::Files => (with_files(&tree, &Files::new(), &place, say)?, Vec::new()),
        };
        let make = Make { build: build.clone(), source, patches, objects };
        Ok(Self { tree, place, make, requests, config: String::new(), _lock: lock })
    }

    /// Makes the copy have these files in place of the tree's, and otherwise equal the tree. `patch` is the change
    /// since the last time, which is stored with the kernel.
    pub fn put(&mut self, files: &Files, patch: Vec<u8>, say: &mut dyn FnMut(&str)) -> Result<(), VmError> {
        with_files(&self.tree, files, &self.place, say)?;
        self.make.patches.push(patch);
        Ok(())
    }

    /// The directory of the sources that are compiled; compilers' messages name files below it.
    pub fn source(&self) -> &Path {
        &self.make.source
    }

    /// Compiles what has changed. Returns the requested options that the tree dropped.
    pub fn compile(&mut self, say: &mut dyn FnMut(&str)) -> Result<Vec<String>, VmError> {
        say("configuring");
        self.config = self.make.configure(&self.requests)?;
        say(&format!("compiling, {} at once", self.make.build.jobs));
        self.make.compile()?;
        Ok(small::dropped(&self.requests, &self.config))
    }

    /// Which of these files of the tree were used to make the kernel; call it after compiling.
    pub fn used<'a>(&self, files: impl Iterator<Item = &'a str>) -> Result<BTreeSet<String>, VmError> {
        let sources = self.make.sources()?;
        Ok(files.filter(|file| sources.contains(*file)).map(str::to_owned).collect())
    }

    /// Puts the kernel into the cache.
    pub fn keep(&self, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<(Entry, PathBuf), VmError> {
        self.make.keep(cache, &self.config, say)
    }
}

/// Refuses what cannot be built here, without making anything.
pub fn check(build: &Build) -> Result<(), VmError> {
    looked_at(build)?;
    has_tools(build.architecture)
}

/// The tree and the requested configuration, both checked.
fn looked_at(build: &Build) -> Result<(PathBuf, Vec<Request>), VmError> {
    let tree = source_tree(&build.tree)?;
    let requests = small::requests(build.architecture, &build.options).map_err(VmError::Refused)?;
    Ok((tree, requests))
}

/// The directory of a build's objects: its own, or the one that all patches for a tree share.
fn place(cache: &Cache, build: &Build, tree: &Path) -> PathBuf {
    let name = match build.change {
        Change::None if build.architecture == own_architecture() => build.name.clone(),
        // No build's name begins with this.
        Change::None => format!(".{}-{}", build.architecture, build.name),
        Change::Patches(_) | Change::Files => {
            format!(".patched-{:08x}-{}", crc32fast::hash(tree.as_os_str().as_bytes()), build.architecture)
        }
    };
    cache.builds().join(name)
}

/// Files that every kernel source tree has.
pub const FILES_OF_A_TREE: [&str; 3] = ["Makefile", "Kconfig", "kernel/sched/core.c"];

/// A kernel source tree's absolute path; an error if it is none.
pub fn source_tree(tree: &Path) -> Result<PathBuf, VmError> {
    match fs::canonicalize(tree) {
        Ok(absolute) => {
            if FILES_OF_A_TREE.iter().all(|file| absolute.join(file).is_file()) {
                return Ok(absolute);
            }
        }
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {}
        Err(cause) => return Err(VmError::file("finding the source tree", tree)(cause)),
    }
    Err(VmError::Refused(format!(
        "{} is not a kernel source tree; Debian's: apt-get install linux-source-6.1, then tar xf /usr/src/linux-source-6.1.tar.xz",
        tree.display()
    )))
}

/// Programs of a kernel build and their packages.
const TOOLS: &[(&str, &str)] = &[
    ("make", "make"),
    ("gcc", "gcc"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("patch", "patch"),
    ("xz", "xz-utils"),
];

fn has_tools(architecture: Architecture) -> Result<(), VmError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &str| std::env::split_paths(&path).any(|directory| directory.join(name).is_file());
    let cross = format!("{}gcc", cross_prefix(architecture));
    let mut missing: Vec<(&str, &str)> = TOOLS.iter().filter(|(name, _)| !is_there(name)).copied().collect();
    if !is_there(&cross) {
        missing.push((&cross, "gcc-aarch64-linux-gnu"));
    }
    if missing.is_empty() {
        return Ok(());
    }
    let (names, packages): (Vec<&str>, Vec<&str>) = missing.into_iter().unzip();
    let fix = format!("apt-get install --no-install-recommends {}", packages.join(" "));
    Err(VmError::NoProgram { program: names.join(", "), fix })
}

/// A name stands for one tree, because objects of another tree would be taken for its own. Objects of a kernel that was
/// never finished are removed.
fn is_of_one_tree(place: &Path, tree: &Path, name: &str, is_kept: bool) -> Result<(), VmError> {
    let (file, own) = (place.join("tree"), tree.display().to_string());
    match fs::read_to_string(&file) {
        Ok(other) if other == own => return Ok(()),
        Ok(other) if is_kept => {
            return Err(VmError::Refused(format!(
                "{name} is already a kernel of {other}; give this one another --name"
            )));
        }
        Ok(_) => {
            let objects = place.join("objects");
            match fs::remove_dir_all(&objects) {
                Err(why) if why.kind() != std::io::ErrorKind::NotFound => {
                    return Err(VmError::file("removing", &objects)(why));
                }
                _ => {}
            }
        }
        Err(_) => {}
    }
    fs::write(&file, own).map_err(VmError::file("writing", &file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_named_after_its_tree_and_patch() {
        let name = |tree: &str, patches: &[&str]| {
            usual_name(Path::new(tree), &patches.iter().map(PathBuf::from).collect::<Vec<_>>())
        };
        assert_eq!(name("/usr/src/linux-source-6.1", &[]), "linux-source-6.1");
        assert_eq!(name("linux-6.1/", &["a/no-wake-wide.patch"]), "linux-6.1+no-wake-wide");
        assert_eq!(name("linux-6.1", &["0001-a.patch", "0002-b.patch"]), "linux-6.1+0001-a+0002-b");
    }

    #[test]
    fn what_is_no_source_tree_says_where_one_is() {
        let directory = tempfile::tempdir().unwrap();
        for none in [directory.path(), Path::new("/nowhere")] {
            let why = source_tree(none).unwrap_err().to_string();
            assert!(why.starts_with(&none.display().to_string()), "{why}");
            assert!(why.contains("not a kernel source tree") && why.contains("tar xf"), "{why}");
        }
    }

    #[test]
    fn a_name_is_of_one_tree_once_its_kernel_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let objects = directory.path().join("objects");
        let check = |tree: &str, is_kept| is_of_one_tree(directory.path(), Path::new(tree), "build:a", is_kept);
        fs::create_dir(&objects).unwrap();
        check("/src/a", false).unwrap();
        check("/src/a", true).unwrap();
        let why = check("/other/a", true).unwrap_err().to_string();
        assert!(why.contains("build:a is already a kernel of /src/a") && why.contains("--name"), "{why}");
        assert!(objects.exists());
        check("/other/a", false).unwrap();
        assert!(!objects.exists(), "they are of the other tree");
        check("/other/a", true).unwrap();
        check("/third/a", false).unwrap();
    }
}
