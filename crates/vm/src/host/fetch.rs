//! Fetches a Debian kernel into the cache: asks the archive for the newest build, downloads its packages, unpacks them,
//! and keeps the kernel, its configuration and the requested modules with their dependencies.

use super::program::{command, output, output_bytes};
use super::unpack;
use crate::error::VmError;
use crate::kernel::apt::Apt;
use crate::kernel::cache::{Cache, Entry, Package, Writer};
use crate::kernel::debian::{self, Debian, Record};
use crate::kernel::image::{Architecture, Image};
use crate::kernel::mirrors::Mirrors;
use crate::kernel::modules::{Module, canonical};
use schedlab_plan::OneByOne;
use schedlab_sys::file_system::free_bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Modules that our workloads and a guest's ports need; a kernel may have some of them built in or not at all.
pub const MODULES: &[&str] =
    &["binder_linux", "veth", "sch_tbf", "sch_netem", "sch_htb", "sch_fq", "tcp_bbr", "virtio_pci", "virtio_console"];

/// Fetches `wanted` from `mirrors`, with [`MODULES`] and the `extra` ones, each of which must exist. `say` gets a line
/// at each step.
pub fn fetch(
    cache: &Cache,
    wanted: &Debian,
    of: Architecture,
    extra: &[String],
    mirrors: Mirrors,
    say: &mut dyn FnMut(&str),
) -> Result<(Entry, PathBuf), VmError> {
    let _lock = cache.lock(say)?;
    has_room(&cache.apt_root())?;
    if mirrors.security.is_none() {
        say(
            "no mirror of Debian's security suites is known, so they are not read (a second --mirror URL that ends with -security)",
        );
    }
    let apt = Apt::new(&cache.apt_root(), debian::architecture(of), mirrors)?;
    let (meta, version) = find(&apt, wanted, of, say)?;
    let records = parts(&apt, &meta, &version)?;
    let part = cache.begin()?;
    let entry = assemble(&apt, wanted, &records, extra, &part, say);
    let finished = entry.and_then(|entry| cache.finish(&part, &entry).map(|path| (entry, path)));
    if finished.is_err() {
        // If this fails, the next fetch removes what is left.
        let _ = fs::remove_dir_all(&part);
    }
    finished
}

/// Space for apt's lists and an unpacked kernel with all its modules, with some reserve. On a full disk apt waits for
/// ever.
const ROOM_MIB: u64 = 700;

fn has_room(apt_root: &Path) -> Result<(), VmError> {
    fs::create_dir_all(apt_root).map_err(VmError::file("making", apt_root))?;
    let free_mib = free_bytes(apt_root).map_err(VmError::file("asking for the room of", apt_root))? >> 20;
    if free_mib >= ROOM_MIB {
        return Ok(());
    }
    let fix = "make room, or set SCHEDLAB_CACHE to a directory with more";
    let at = apt_root.display();
    Err(VmError::Refused(format!("{at}: fetching a kernel takes up to {ROOM_MIB} MiB, and {free_mib} are free: {fix}")))
}

/// The meta package and its newest version for that kernel, from the first suites that have it.
fn find(apt: &Apt, wanted: &Debian, of: Architecture, say: &mut dyn FnMut(&str)) -> Result<(String, String), VmError> {
    let meta = wanted.meta_package(of);
    let mut unread = None;
    for suites in wanted.suites() {
        say(&format!("looking for {wanted} in {}", suites.join(", ")));
        match apt.update(&suites) {
            // A suite that no longer exists, or does not exist yet, is not an error at this point; without a network,
            // all of them fail.
            Err(error @ VmError::Program { .. }) => unread = unread.or(Some(error)),
            updated => updated?,
        }
        if let Some(version) = debian::newest(&apt.madison(&meta)?, wanted) {
            return Ok((meta, version.to_owned()));
        }
    }
    Err(unread.unwrap_or_else(|| {
        VmError::Refused(format!("Debian does not, or no longer, ship kernel {wanted} ({meta}); give another version"))
    }))
}

/// The packages that make up the kernel: follows the dependencies of the meta package.
fn parts(apt: &Apt, meta: &str, version: &str) -> Result<Vec<Record>, VmError> {
    let mut open = vec![(meta.to_owned(), Some(version.to_owned()))];
    let mut seen = BTreeSet::new();
    let mut records = Vec::new();
    while let Some((package, version)) = open.pop() {
        if !seen.insert(package.clone()) {
            continue;
        }
        let shown = apt.show(&package, version.as_deref())?;
        let record = Record::parse(&shown)
            .ok_or_else(|| VmError::Refused(format!("Debian's record of {package} cannot be read: {shown}")))?;
        open.extend(record.kernel_parts.iter().cloned());
        records.push(record);
    }
    // The meta package itself is empty.
    records.remove(0);
    Ok(records)
}

fn assemble(
    apt: &Apt,
    wanted: &Debian,
    records: &[Record],
    extra: &[String],
    part: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<Entry, VmError> {
    let unpacked = part.join("unpacked");
    fs::create_dir(&unpacked).map_err(VmError::file("making", &unpacked))?;
    for record in records {
        say(&format!("downloading {} {}", record.package, record.version));
        apt.download(&record.package, &record.version, &unpacked)?;
    }
    say("unpacking");
    for package in files_below(&unpacked)?.iter().filter(|path| path.extension() == Some(OsStr::new("deb"))) {
        let mut unpack = command("dpkg-deb");
        output("unpacking the kernel", unpack.arg("-x").arg(package).arg(&unpacked), "apt-get install dpkg")?;
        fs::remove_file(package).map_err(VmError::file("removing", package))?;
    }
    let files = files_below(&unpacked)?;
    let kernel = read_named(&files, "vmlinuz")?
        .ok_or_else(|| VmError::Refused(format!("Debian's package of {wanted} holds no vmlinuz")))?;
    let image = Image::of_bytes(&kernel).map_err(|why| VmError::Refused(format!("{wanted}: its vmlinuz is {why}")))?;
    let config = read_named(&files, "config")?;
    let release = image.release.clone();
    let kernel = unpack::vmlinux(&kernel).unwrap_or(kernel);
    let mut writer = Writer::new(part, &wanted.to_string(), image, &kernel, config.as_deref())?;
    for (module, bytes) in wanted_modules(&files, &release, extra)? {
        writer.module(module, &bytes)?;
    }
    fs::remove_dir_all(&unpacked).map_err(VmError::file("removing", &unpacked))?;
    let package =
        |r: &Record| Package { name: r.package.clone(), version: r.version.clone(), checksum: r.sha256.clone() };
    Ok(writer.entry(records.iter().map(package).collect()))
}

/// All regular files, in order.
fn files_below(directory: &Path) -> Result<Vec<PathBuf>, VmError> {
    let (mut open, mut files) = (vec![directory.to_owned()], Vec::new());
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).map_err(VmError::file("reading", &directory))? {
            let entry = entry.map_err(VmError::file("reading", &directory))?;
            let kind = entry.file_type().map_err(VmError::file("reading", entry.path()))?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// `boot/config-RELEASE` before 7.x, `usr/lib/modules/RELEASE/config` since.
fn read_named(files: &[PathBuf], name: &str) -> Result<Option<Vec<u8>>, VmError> {
    let is_named = |path: &&PathBuf| {
        let file = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        file == name || file.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'))
    };
    let place =
        |path: &&PathBuf| path.components().any(|part| part.as_os_str() == "boot" || part.as_os_str() == "modules");
    let found = files.iter().filter(place).find(is_named);
    found.map(|path| fs::read(path).map_err(VmError::file("reading", path))).transpose()
}

/// The requested modules and all their dependencies, unpacked.
fn wanted_modules(files: &[PathBuf], release: &str, extra: &[String]) -> Result<Vec<(Module, Vec<u8>)>, VmError> {
    let by_name: BTreeMap<String, &PathBuf> =
        files.iter().filter_map(|path| Some((module_name(path)?, path))).one_by_one();
    let absent = extra.iter().find(|name| !by_name.contains_key(&canonical(name)));
    if let Some(name) = absent {
        return Err(VmError::Refused(format!("this kernel has no module `{name}` (it may be built in)")));
    }
    let known = MODULES.iter().map(|name| (*name).to_owned()).filter(|name| by_name.contains_key(name));
    let mut open: Vec<String> = known.chain(extra.iter().map(|name| canonical(name))).collect();
    let mut found: BTreeMap<String, (Module, Vec<u8>)> = BTreeMap::new();
    while let Some(name) = open.pop() {
        if found.contains_key(&name) {
            continue;
        }
        let path = by_name
            .get(&name)
            .ok_or_else(|| VmError::Refused(format!("the module `{name}` is needed, and is not there")))?;
        let bytes = unpacked(path)?;
        let module = Module::of_bytes(&bytes).map_err(|why| VmError::Refused(format!("{}: {why}", path.display())))?;
        if module.release() != release {
            let (path, built) = (path.display(), module.release());
            return Err(VmError::Refused(format!("{path} was built for {built}, the kernel is {release}")));
        }
        open.extend(module.depends.iter().cloned());
        found.insert(name, (module, bytes));
    }
    Ok(found.into_values().collect())
}

/// `binder_linux` for `…/binder_linux.ko` and its compressed forms.
fn module_name(path: &Path) -> Option<String> {
    let file = path.file_name()?.to_str()?;
    let (stem, ending) = file.split_once(".ko")?;
    matches!(ending, "" | ".xz" | ".zst" | ".gz").then(|| canonical(stem))
}

/// A module's bytes; a compressed one is unpacked by the program that belongs to its format.
fn unpacked(path: &Path) -> Result<Vec<u8>, VmError> {
    let (program, package) = match path.extension().and_then(OsStr::to_str) {
        Some("xz") => ("xz", "xz-utils"),
        Some("zst") => ("zstd", "zstd"),
        Some("gz") => ("gzip", "gzip"),
        _ => return fs::read(path).map_err(VmError::file("reading", path)),
    };
    output_bytes("unpacking a module", command(program).arg("-dc").arg(path), &format!("apt-get install {package}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_files_are_known_by_name() {
        let name = |file: &str| module_name(Path::new(file));
        assert_eq!(name("/a/virtio-pci.ko").as_deref(), Some("virtio_pci"));
        assert_eq!(name("veth.ko.xz").as_deref(), Some("veth"));
        assert_eq!((name("modules.order"), name("a.ko.sig"), name("a.kobj")), (None, None, None));
    }

    #[test]
    fn the_kernel_is_found_in_old_and_new_packages() {
        let directory = tempfile::tempdir().unwrap();
        for (file, content) in [
            ("usr/share/doc/config-notes", "no"),
            ("boot/config-6.1.0-50-amd64", "old"),
            ("boot/vmlinuz-6.1.0-50-amd64", "kernel"),
        ] {
            let path = directory.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let files = files_below(directory.path()).unwrap();
        assert_eq!(read_named(&files, "config").unwrap().unwrap(), b"old");
        assert_eq!(read_named(&files, "vmlinuz").unwrap().unwrap(), b"kernel");
        assert_eq!(read_named(&files, "System.map").unwrap(), None);
    }

    #[test]
    fn a_compressed_module_is_unpacked_by_its_program() {
        let directory = tempfile::tempdir().unwrap();
        let plain = directory.path().join("a.ko");
        fs::write(&plain, b"module").unwrap();
        output("packing", command("gzip").arg(&plain), "apt-get install gzip").unwrap();
        assert_eq!(unpacked(&directory.path().join("a.ko.gz")).unwrap(), b"module");
        assert!(unpacked(&directory.path().join("b.ko.gz")).unwrap_err().to_string().contains("b.ko.gz"));
    }
}
