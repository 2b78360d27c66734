//! An entry of the cache: the files of one kernel with their checksums, written once and checked before each use.

use super::super::Kernel;
use super::super::debian;
use super::super::image::Image;
use super::super::modules::Module;
use crate::error::VmError;
use schedlab_plan::{KernelPackage, KernelSource};
use schedlab_sys::durable;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;

/// Format version of an entry's description; other versions are ignored.
const FORMAT: u32 = 1;
pub(super) const DESCRIPTION: &str = "entry.json";

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

impl Stored {
    /// The file's content, if it is still what was written; `name` is the kernel's, to be fetched again.
    fn checked(&self, directory: &Path, name: &str) -> Result<Vec<u8>, VmError> {
        let path = directory.join(&self.file);
        let read = fs::read(&path);
        if let Err(why) = &read
            && why.kind() == io::ErrorKind::PermissionDenied
        {
            return Err(VmError::file("reading of the cache", path)(io::ErrorKind::PermissionDenied.into()));
        }
        let whole = read.ok().filter(|bytes| bytes.len() as u64 == self.bytes && crc32fast::hash(bytes) == self.crc32);
        whole.ok_or_else(|| {
            let path = path.display();
            let again = if name.starts_with("debian:") {
                format!("schedlab vm fetch {name}")
            } else {
                "schedlab vm build".into()
            };
            VmError::Refused(format!("{path} of the cache is damaged; get {name} again: {again}"))
        })
    }
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

    /// Checksum of its kernel when it was written.
    pub fn kernel_crc32(&self) -> u32 {
        self.kernel.crc32
    }

    /// Names of its modules.
    pub fn modules(&self) -> impl Iterator<Item = &str> {
        self.modules.iter().map(|(module, _)| module.name.as_str())
    }

    /// Reads the description in this directory; `None` if there is none that can be read.
    pub(super) fn of(directory: &Path) -> Option<Self> {
        let text = fs::read(directory.join(DESCRIPTION)).ok()?;
        serde_json::from_slice(&text).ok().filter(|entry: &Self| entry.format == FORMAT)
    }

    /// Its kernel, with every file checked.
    pub(super) fn open(&self, directory: &Path) -> Result<Kernel, VmError> {
        let checked = |stored: &Stored| stored.checked(directory, &self.name);
        let config = self.config.as_ref().map(checked).transpose()?;
        for stored in self.modules.iter().map(|(_, stored)| stored).chain(&self.symbols) {
            checked(stored)?;
        }
        checked(&self.kernel)?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let config = config.map(text);
        let patches = self.patches.iter().map(|stored| checked(stored).map(text)).collect::<Result<Vec<_>, _>>()?;
        let kernel = Kernel {
            name: self.name.clone(),
            source: self.source(config.as_deref().unwrap_or_default(), patches),
            path: directory.join(&self.kernel.file),
            image: self.image.clone(),
            crc32: self.kernel.crc32,
            config,
            symbols: self.symbols.as_ref().map(|stored| directory.join(&stored.file)),
            modules: self.modules.iter().map(|(m, s)| (m.clone(), directory.join(&s.file))).collect(),
        };
        kernel.check()
    }

    /// Where its kernel came from.
    fn source(&self, config: &str, patches: Vec<String>) -> KernelSource {
        if self.name.starts_with("build:") {
            return KernelSource::Build { version: self.version().to_owned(), config: config.to_owned(), patches };
        }
        let package = |Package { name, version, checksum }: &Package| KernelPackage {
            name: name.clone(),
            version: version.clone(),
            sha256: checksum.clone(),
        };
        KernelSource::Debian { packages: self.packages.iter().map(package).collect() }
    }
}

/// An entry under construction.
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

    /// Stores a patch for its source, after the earlier ones.
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
