//! Files that survive a crash: a record is on disk when the call returns.
//! Source: fsync(2); a new name is durable only once its directory is synced too.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Syncs a directory, which makes the names in it durable.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Creates `path`, which must not exist, writes `contents` and makes both the data and the name durable. The file is
/// returned open for appending. Only its owner may read it.
pub fn create(path: &Path, contents: &[u8]) -> io::Result<File> {
    let mut file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
    append(&mut file, contents)?;
    sync_directory(parent(path))?;
    Ok(file)
}

/// Like [`create`], but the name appears together with its contents, also after a kill. One process at a time may do this
/// in a directory, because a file without its name yet, `.new`, is replaced.
pub fn create_whole(path: &Path, contents: &[u8]) -> io::Result<File> {
    if path.try_exists()? {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let unnamed = path.with_file_name(".new");
    match std::fs::remove_file(&unnamed) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let file = create(&unnamed, contents)?;
    std::fs::rename(&unnamed, path)?;
    sync_directory(parent(path))?;
    Ok(file)
}

/// Appends `record` and returns when it is on disk.
pub fn append(file: &mut File, record: &[u8]) -> io::Result<()> {
    file.write_all(record)?;
    file.sync_data()
}

/// Removes `path` durably: the name does not come back after a crash.
pub fn remove(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)?;
    sync_directory(parent(path))
}

/// Exchanges two names in one step (renameat2(2), RENAME_EXCHANGE): neither is ever absent. `Unsupported` or
/// `InvalidInput` if the file system cannot.
pub fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    let [a, b] = [a, b].map(|path| CString::new(path.as_os_str().as_bytes()));
    let (a, b) = (a?, b?);
    // SAFETY: reads the two live, NUL-terminated names.
    let done = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            a.as_ptr(),
            libc::AT_FDCWD,
            b.as_ptr(),
            libc::RENAME_EXCHANGE,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_created_appended_and_removed() {
        let directory = std::env::temp_dir().join(format!("schedlab-durable-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("file");
        let mut file = create(&path, b"one\n").unwrap();
        assert_eq!(create(&path, b"").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        append(&mut file, b"two\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one\ntwo\n");
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&path.metadata().unwrap()) & 0o777, 0o600);
        std::fs::write(directory.join(".new"), "of a killed process").unwrap();
        let whole = directory.join("whole");
        append(&mut create_whole(&whole, b"one\n").unwrap(), b"two\n").unwrap();
        assert_eq!(create_whole(&whole, b"").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&whole).unwrap(), b"one\ntwo\n");
        remove(&whole).unwrap();
        let other = directory.join("other");
        create(&other, b"").unwrap();
        exchange(&path, &other).unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), std::fs::read(&other).unwrap()), (vec![], b"one\ntwo\n".to_vec()));
        assert_eq!(exchange(&path, &directory.join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        remove(&other).unwrap();
        remove(&path).unwrap();
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
        std::fs::remove_dir(&directory).unwrap();
    }
}
