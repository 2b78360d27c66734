//! The free space of a file system: statvfs(3).

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes that an unprivileged user may still write to the file system of `path`.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: statvfs is a plain C struct of numbers, for which all zeros is a valid value.
    let mut facts: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: reads the live, NUL-terminated name and writes the live, exclusively borrowed struct.
    if unsafe { libc::statvfs(name.as_ptr(), &raw mut facts) } != 0 {
        return Err(io::Error::last_os_error());
    }
    #[allow(clippy::unnecessary_cast)] // Narrower on other platforms.
    Ok((facts.f_bavail as u64).saturating_mul(facts.f_frsize as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_some_room_and_a_missing_one_is_an_error() {
        assert!(free_bytes(&std::env::temp_dir()).unwrap() > 0);
        assert_eq!(free_bytes(Path::new("/proc")).unwrap(), 0, "nothing can be written there");
        assert_eq!(free_bytes(Path::new("/no/such")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
