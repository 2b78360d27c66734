//! A guest's files at its start: our binary as its init process, the job, modules, and the user's files.

use crate::cpio::{Archive, CpioError};
use crate::error::VmError;
use crate::job::{JOB_FILE, Job, MODULES_FILE};
use crate::kernel::modules::Module;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A file or directory on the host, and its path in the guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// On the host.
    pub from: PathBuf,
    /// In the guest, absolute.
    pub to: String,
}

impl Added {
    /// `PATH` (the guest has it in the same place) or `PATH:GUEST_PATH`.
    pub fn parse(text: &str) -> Result<Self, VmError> {
        // A path on the host may contain a colon, too.
        let is_whole = text.starts_with('/') && Path::new(text).exists();
        let (from, to) = text.rsplit_once(':').filter(|_| !is_whole).unwrap_or((text, text));
        if from.is_empty() || !to.starts_with('/') {
            return Err(VmError::Refused(format!(
                "`{text}`: give HOST_PATH:GUEST_PATH with an absolute path in the guest, or one absolute path for both"
            )));
        }
        Ok(Self { from: from.into(), to: to.to_owned() })
    }
}

/// Device nodes that a program needs before devtmpfs is mounted, or without it: Documentation/admin-guide/devices.txt.
const DEVICES: &[(&str, u32, u32)] = &[
    ("/dev/null", 1, 3),
    ("/dev/zero", 1, 5),
    ("/dev/kmsg", 1, 11),
    ("/dev/urandom", 1, 9),
    ("/dev/console", 5, 1),
    ("/dev/ttyS0", 4, 64),
    ("/dev/ttyS1", 4, 65),
    ("/dev/ttyAMA0", 204, 64),
];

const DIRECTORIES: &[(&str, u32)] =
    &[("/proc", 0o555), ("/sys", 0o555), ("/tmp", 0o1777), ("/run", 0o755), ("/root", 0o700), ("/mnt", 0o755)];

/// The initramfs without the user's files; pure.
pub fn archive(program: Vec<u8>, job: &Job, modules: &[(Module, Vec<u8>)]) -> Result<Archive, CpioError> {
    let mut archive = Archive::default();
    archive.file("/init", 0o755, program)?;
    archive.link("/bin/schedlab", "/init")?;
    // The program that the kernel starts when it wants a module.
    archive.link("/sbin/modprobe", "/init")?;
    for (path, mode) in DIRECTORIES {
        archive.directory(path, *mode)?;
    }
    for (path, major, minor) in DEVICES {
        archive.character_device(path, *major, *minor)?;
    }
    archive.file("/etc/passwd", 0o644, b"root:x:0:0:root:/root:/bin/sh\n".to_vec())?;
    archive.file("/etc/group", 0o644, b"root:x:0:\n".to_vec())?;
    archive.file(JOB_FILE, 0o644, schedlab_plan::json::pretty(job).unwrap_or_default().into_bytes())?;
    let described: Vec<&Module> = modules.iter().map(|(module, _)| module).collect();
    archive.file(MODULES_FILE, 0o644, schedlab_plan::json::pretty(&described).unwrap_or_default().into_bytes())?;
    for (module, bytes) in modules {
        archive.file(&module_path(&module.name), 0o644, bytes.clone())?;
    }
    Ok(archive)
}

/// Checksum of files as a guest would have them.
pub fn checksum(added: &[Added]) -> Result<u32, VmError> {
    let mut archive = Archive::default();
    added.iter().try_for_each(|one| add(&mut archive, one))?;
    Ok(crc32fast::hash(&archive.to_bytes()))
}

/// The path of a module's file in the guest.
pub fn module_path(name: &str) -> String {
    format!("/lib/modules/{name}.ko")
}

/// Adds a file, or a directory with all its contents, to the archive. Links are followed, because the guest does not
/// have the host's other files.
pub fn add(archive: &mut Archive, added: &Added) -> Result<(), VmError> {
    let metadata = fs::metadata(&added.from).map_err(VmError::file("adding", &added.from))?;
    let mode = metadata.permissions().mode() & 0o7777;
    if !metadata.is_dir() && !metadata.is_file() {
        // Reading a pipe or a device might never end.
        let why = format!("{} cannot be added: it is neither a file nor a directory", added.from.display());
        return Err(VmError::Refused(why));
    }
    if metadata.is_file() {
        let content = fs::read(&added.from).map_err(VmError::file("adding", &added.from))?;
        return Ok(archive.file(&added.to, mode, content)?);
    }
    // The root is there already.
    if !added.to.trim_matches('/').is_empty() {
        archive.directory(&added.to, mode)?;
    }
    let listed = fs::read_dir(&added.from).map_err(VmError::file("adding", &added.from))?;
    let mut names: Vec<_> = listed.flatten().map(|entry| entry.file_name()).collect();
    names.sort_unstable();
    for name in names {
        let to = format!("{}/{}", added.to.trim_end_matches('/'), text(&name)?);
        add(archive, &Added { from: added.from.join(&name), to })?;
    }
    Ok(())
}

fn text(name: &OsStr) -> Result<&str, VmError> {
    name.to_str().ok_or_else(|| {
        VmError::Refused(format!("`{}` cannot be added: its name is not UTF-8", Path::new(name).display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_contents_give_equal_bytes() {
        let build = || archive(b"ELF".to_vec(), &Job::default(), &[(Module::default(), vec![1])]).unwrap().to_bytes();
        assert_eq!(build(), build());
        let other = archive(b"ELF".to_vec(), &Job { shell: true, ..Job::default() }, &[]).unwrap();
        assert_ne!(other.to_bytes(), build());
    }

    #[test]
    fn files_and_directories_are_added_with_their_modes() {
        let directory = tempfile::tempdir().unwrap();
        let tree = directory.path().join("tree");
        fs::create_dir_all(tree.join("sub")).unwrap();
        fs::write(tree.join("sub/script"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(tree.join("sub/script"), fs::Permissions::from_mode(0o750)).unwrap();
        let (mut added, mut expected) = (Archive::default(), Archive::default());
        add(&mut added, &Added { from: tree.clone(), to: "/opt/t".into() }).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        expected.directory("/opt/t", mode(&tree)).unwrap();
        expected.directory("/opt/t/sub", mode(&tree.join("sub"))).unwrap();
        expected.file("/opt/t/sub/script", 0o750, b"#!/bin/sh\n".to_vec()).unwrap();
        assert_eq!(added, expected);
        let pipe = Added { from: "/dev/null".into(), to: "/n".into() };
        assert!(add(&mut added, &pipe).unwrap_err().to_string().contains("neither a file nor a directory"));
        let absent = Added { from: tree.join("none"), to: "/n".into() };
        assert!(add(&mut added, &absent).unwrap_err().to_string().contains("tree/none"));
    }

    #[test]
    fn places_are_written_as_pairs() {
        let pair = |text: &str| Added::parse(text).map(|a| (a.from.display().to_string(), a.to)).ok();
        assert_eq!(pair("a/b:/opt/b"), Some(("a/b".into(), "/opt/b".into())));
        assert_eq!(pair("/bin/sh"), Some(("/bin/sh".into(), "/bin/sh".into())));
        assert_eq!((pair("a/b"), pair(":/x"), pair("a:b")), (None, None, None));
    }
}
