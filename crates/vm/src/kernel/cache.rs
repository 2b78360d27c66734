//! The cache of fetched kernels: a directory for each, named by version and checksum. An entry is written aside and
//! renamed when it is whole; every file is compared with its length and CRC-32 before it is used.

use super::Kernel;
use super::debian;
use super::image::Image;
use super::modules::Module;
use crate::error::VmError;
use schedlab_plan::{InOrder, KernelPackage, KernelSource};
use schedlab_sys::{durable, places};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Version of an entry's description; others are not used.
const FORMAT: u32 = 1;
const DESCRIPTION: &str = "entry.json";
/// Begins the names of directories in the making.
const PART: &str = ".part-";

/// A file of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// Name within the entry.
    pub file: String,
    /// Length.
    pub bytes: u64,
    /// Checksum.
    pub crc32: u32,
}

/// A package that an entry was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its SHA-256; of a build of ours the CRC-32 of the kernel.
    #[serde(alias = "sha256")]
    pub checksum: String,
}

/// What an entry holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    format: u32,
    /// As a user names it: `debian:6.1`.
    pub name: String,
    /// Debian's word for the architecture.
    pub architecture: String,
    /// When it was fetched.
    pub fetched_unix_s: u64,
    /// Where from.
    pub packages: Vec<Package>,
    image: Image,
    kernel: Stored,
    config: Option<Stored>,
    /// System.map, of our own builds: Debian's is empty.
    #[serde(default)]
    symbols: Option<Stored>,
    /// For our own builds: what was applied to the source, in order.
    #[serde(default)]
    patches: Vec<Stored>,
    modules: Vec<(Module, Stored)>,
}

impl Entry {
    /// Version of the kernel's package.
    pub fn version(&self) -> &str {
        self.packages.first().map_or("", |package| package.version.as_str())
    }

    /// Checksum of its kernel, as it was written.
    pub fn kernel_crc32(&self) -> u32 {
        self.kernel.crc32
    }

    /// Names of its modules.
    pub fn modules(&self) -> impl Iterator<Item = &str> {
        self.modules.iter().map(|(module, _)| module.name.as_str())
    }
}

/// The directory of kernels.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// A cache below `root`, which is made with the first entry.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// `$SCHEDLAB_CACHE`, else `schedlab` below `$XDG_CACHE_HOME` or `~/.cache`; without a home a directory of the user's own below
    /// `$TMPDIR`.
    pub fn of_this_user() -> Self {
        let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = from("SCHEDLAB_CACHE")
            .or_else(|| Some(from("XDG_CACHE_HOME")?.join("schedlab")))
            .or_else(|| Some(from("HOME")?.join(".cache/schedlab")))
            .unwrap_or_else(|| std::env::temp_dir().join(format!("schedlab-cache-{}", places::effective_uid())));
        Self::new(root)
    }

    /// apt's private state.
    pub(crate) fn apt_root(&self) -> PathBuf {
        self.root.join("apt")
    }

    /// What guests have shown of this host's KVM.
    pub(crate) fn kvm(&self) -> PathBuf {
        self.root.join("kvm")
    }

    /// Objects of kernels that are built here.
    pub(crate) fn builds(&self) -> PathBuf {
        self.root.join("builds")
    }

    /// States of guests that have booted.
    pub(crate) fn states(&self) -> PathBuf {
        self.root.join("states")
    }

    fn kernels(&self) -> PathBuf {
        self.root.join("kernels")
    }

    /// Held by the process that fetches; unfinished directories that no process holds are removed.
    pub(crate) fn lock(&self, say: &mut dyn FnMut(&str)) -> Result<File, VmError> {
        let kernels = self.kernels();
        self.make()?;
        fs::create_dir_all(&kernels).map_err(VmError::file("making", &kernels))?;
        let path = self.root.join("lock");
        let lock = places::lock_file(&path).map_err(VmError::file("locking", &path))?;
        wait_for(&lock, &path, say)?;
        for name in self.names() {
            if name.starts_with(PART) {
                let path = kernels.join(name);
                fs::remove_dir_all(&path).map_err(VmError::file("removing", &path))?;
            }
        }
        Ok(lock)
    }

    /// Makes the directory where it is missing; one of another user's is refused before anything is written there.
    pub(crate) fn make(&self) -> Result<(), VmError> {
        places::private_directory(&self.root).map_err(VmError::file("making", &self.root))?;
        self.must_be_ours()
    }

    /// Refuses a cache that another user owns or may write to, as root's that was started with the user's home: what is in it
    /// is booted, and written to, by us. None at all is in order.
    fn must_be_ours(&self) -> Result<(), VmError> {
        match places::is_ours(&self.root) {
            Ok(false) => Err(VmError::Refused(format!(
                "the cache {} belongs to another user, or others may write to it: choose one of yours with SCHEDLAB_CACHE (sudo -H \
                 takes root's)",
                self.root.display()
            ))),
            _ => Ok(()),
        }
    }

    /// A directory in the making; call it with the lock held.
    pub(crate) fn begin(&self) -> Result<PathBuf, VmError> {
        let path = self.kernels().join(format!("{PART}{}", std::process::id()));
        fs::create_dir_all(&path).map_err(VmError::file("making", &path))?;
        Ok(path)
    }

    fn names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.kernels()) else { return Vec::new() };
        let mut names: Vec<String> = entries.flatten().filter_map(|e| e.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// Entries with their directories, the newest first. A directory without a readable description is not one.
    pub fn entries(&self) -> Result<Vec<(Entry, PathBuf)>, VmError> {
        self.must_be_ours()?;
        let mut entries: Vec<(Entry, PathBuf)> = self
            .names()
            .iter()
            .filter(|name| !name.starts_with(PART))
            .filter_map(|name| {
                let directory = self.kernels().join(name);
                let text = fs::read(directory.join(DESCRIPTION)).ok()?;
                let entry: Entry = serde_json::from_slice(&text).ok()?;
                (entry.format == FORMAT).then_some((entry, directory))
            })
            .collect();
        entries.in_order_by_key(|(entry, _)| std::cmp::Reverse(entry.fetched_unix_s));
        Ok(entries)
    }

    /// The newest entry of that name, every file checked.
    pub fn find(&self, name: &str, architecture: &str) -> Result<Option<Kernel>, VmError> {
        self.must_be_ours()?;
        let kernels = self.kernels();
        match fs::read_dir(&kernels) {
            Err(why) if why.kind() == io::ErrorKind::PermissionDenied => {
                return Err(VmError::file("reading the cache (SCHEDLAB_CACHE chooses another)", kernels)(why));
            }
            _ => {}
        }
        let mut entries = self.entries()?.into_iter();
        let found = entries.find(|(entry, _)| entry.name == name && entry.architecture == architecture);
        found.map(|(entry, directory)| open(&entry, &directory)).transpose()
    }

    /// Makes the directory `part`, whose files are written, the entry `description` describes.
    pub(crate) fn finish(&self, part: &Path, description: &Entry) -> Result<PathBuf, VmError> {
        let text = schedlab_plan::json::pretty(description).map_err(|e| VmError::Refused(e.to_string()))?;
        let file = part.join(DESCRIPTION);
        durable::create(&file, text.as_bytes()).map_err(VmError::file("writing", &file))?;
        let package = description.packages.first();
        let checksum: String = package.map(|p| p.checksum.chars().take(12).collect()).unwrap_or_default();
        let plain = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric() && !"-.+".contains(c), "_");
        let (kernel, version) = (plain(&description.name.replace(':', "-")), plain(description.version()));
        let name = format!("{kernel}_{version}_{}_{checksum}", description.architecture);
        let target = self.kernels().join(name);
        if target.exists() {
            // Fetched again: with other modules, or because it was damaged. A reader meets the one or the other.
            let old = part;
            durable::exchange(part, &target)
                .or_else(|_| {
                    // A file system without the exchange has a moment with neither.
                    let aside = self.kernels().join(format!("{PART}old-{}", std::process::id()));
                    fs::rename(&target, &aside)?;
                    fs::rename(part, &target)?;
                    fs::rename(&aside, part)
                })
                .map_err(VmError::file("replacing", &target))?;
            fs::remove_dir_all(old).map_err(VmError::file("removing", old))?;
        } else {
            fs::rename(part, &target).map_err(VmError::file("naming", &target))?;
        }
        durable::sync_directory(&self.kernels()).map_err(VmError::file("writing", self.kernels()))?;
        Ok(target)
    }
}

/// Takes a lock for this process; says so where another one has it.
pub(crate) fn wait_for(lock: &File, path: &Path, say: &mut dyn FnMut(&str)) -> Result<(), VmError> {
    if lock.try_lock().is_ok() {
        return Ok(());
    }
    say(&format!("waiting for another schedlab that works there: {}", path.display()));
    lock.lock().map_err(VmError::file("locking", path))
}

/// An entry in the making.
pub(crate) struct Writer<'a> {
    part: &'a Path,
    entry: Entry,
}

impl<'a> Writer<'a> {
    /// Stores the kernel and its configuration in the directory `part`.
    pub(crate) fn new(
        part: &'a Path,
        name: &str,
        image: Image,
        kernel: &[u8],
        config: Option<&[u8]>,
    ) -> Result<Self, VmError> {
        let entry = Entry {
            format: FORMAT,
            name: name.to_owned(),
            architecture: debian::architecture(image.architecture).to_owned(),
            fetched_unix_s: schedlab_sys::clock::realtime_ns() / 1_000_000_000,
            packages: Vec::new(),
            image,
            kernel: store(part, "kernel", kernel)?,
            config: config.map(|text| store(part, "config", text)).transpose()?,
            symbols: None,
            patches: Vec::new(),
            modules: Vec::new(),
        };
        Ok(Self { part, entry })
    }

    /// Stores a module.
    pub(crate) fn module(&mut self, module: Module, bytes: &[u8]) -> Result<(), VmError> {
        let stored = store(self.part, &format!("{}.ko", module.name), bytes)?;
        self.entry.modules.push((module, stored));
        Ok(())
    }

    /// Stores the kernel's System.map.
    pub(crate) fn symbols(&mut self, text: &[u8]) -> Result<(), VmError> {
        self.entry.symbols = Some(store(self.part, "System.map", text)?);
        Ok(())
    }

    /// Stores a patch of its source, after those before it.
    pub(crate) fn patch(&mut self, bytes: &[u8]) -> Result<(), VmError> {
        let name = format!("{:04}.patch", self.entry.patches.len() + 1);
        self.entry.patches.push(store(self.part, &name, bytes)?);
        Ok(())
    }

    /// The description.
    pub(crate) fn entry(self, packages: Vec<Package>) -> Entry {
        Entry { packages, ..self.entry }
    }
}

fn store(directory: &Path, name: &str, bytes: &[u8]) -> Result<Stored, VmError> {
    let path = directory.join(name);
    durable::create(&path, bytes).map_err(VmError::file("writing", &path))?;
    Ok(Stored { file: name.to_owned(), bytes: bytes.len() as u64, crc32: crc32fast::hash(bytes) })
}

fn open(entry: &Entry, directory: &Path) -> Result<Kernel, VmError> {
    let checked = |stored: &Stored| -> Result<Vec<u8>, VmError> {
        let path = directory.join(&stored.file);
        let read = fs::read(&path);
        if let Err(why) = &read
            && why.kind() == io::ErrorKind::PermissionDenied
        {
            return Err(VmError::file("reading of the cache", path)(io::ErrorKind::PermissionDenied.into()));
        }
        let whole =
            read.ok().filter(|bytes| bytes.len() as u64 == stored.bytes && crc32fast::hash(bytes) == stored.crc32);
        whole.ok_or_else(|| {
            let (path, name) = (path.display(), &entry.name);
            let again = if name.starts_with("debian:") {
                format!("schedlab vm fetch {name}")
            } else {
                "schedlab vm build".into()
            };
            VmError::Refused(format!("{path} of the cache is damaged; get {name} again: {again}"))
        })
    };
    let config = entry.config.as_ref().map(checked).transpose()?;
    for stored in entry.modules.iter().map(|(_, stored)| stored).chain(&entry.symbols) {
        checked(stored)?;
    }
    checked(&entry.kernel)?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let config = config.map(text);
    let patches = entry.patches.iter().map(|stored| checked(stored).map(text)).collect::<Result<Vec<_>, _>>()?;
    let kernel = Kernel {
        name: entry.name.clone(),
        source: source(entry, config.as_deref().unwrap_or_default(), patches),
        path: directory.join(&entry.kernel.file),
        image: entry.image.clone(),
        crc32: entry.kernel.crc32,
        config,
        symbols: entry.symbols.as_ref().map(|stored| directory.join(&stored.file)),
        modules: entry.modules.iter().map(|(m, s)| (m.clone(), directory.join(&s.file))).collect(),
    };
    kernel.check()
}

/// Where an entry's kernel came from.
fn source(entry: &Entry, config: &str, patches: Vec<String>) -> KernelSource {
    if entry.name.starts_with("build:") {
        return KernelSource::Build { version: entry.version().to_owned(), config: config.to_owned(), patches };
    }
    let package = |Package { name, version, checksum }: &Package| KernelPackage {
        name: name.clone(),
        version: version.clone(),
        sha256: checksum.clone(),
    };
    KernelSource::Debian { packages: entry.packages.iter().map(package).collect() }
}

#[cfg(test)]
mod tests;
