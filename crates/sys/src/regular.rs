//! Opens regular files only. Whoever chose what a name refers to, in a run directory or a tree of files, may have put a
//! pipe there, for which we would wait, or a device, whose opening does something. Source: open(2).

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens for reading. `IsADirectory`, or `Unsupported` for a pipe, a socket or a device.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, OpenOptions::new().read(true))
}

/// Opens an existing file for writing, without changing it. The same errors.
pub fn open_for_write(path: &Path) -> io::Result<File> {
    open_with(path, OpenOptions::new().write(true))
}

fn open_with(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    check(&std::fs::metadata(path)?)?;
    // Something else may be there by now.
    let file = options.custom_flags(libc::O_NONBLOCK).open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

fn check(there: &Metadata) -> io::Result<()> {
    if there.is_file() {
        Ok(())
    } else if there.is_dir() {
        Err(io::Error::from_raw_os_error(libc::EISDIR))
    } else {
        let why = "it is a pipe, a socket or a device, and only regular files are opened";
        Err(io::Error::new(ErrorKind::Unsupported, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_devices_and_directories_are_not_opened() {
        let directory = std::env::temp_dir().join(format!("schedlab-regular-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let (pipe, file) = (directory.join("pipe"), directory.join("file"));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        std::fs::write(&file, "60\n").unwrap();
        let kinds = |path: &Path| [open(path), open_for_write(path)].map(|opened| opened.err().map(|why| why.kind()));
        assert_eq!(kinds(&file), [None, None]);
        assert_eq!(kinds(&pipe), [Some(ErrorKind::Unsupported); 2]);
        assert_eq!(kinds(Path::new("/dev/null")), [Some(ErrorKind::Unsupported); 2]);
        assert_eq!(kinds(&directory), [Some(ErrorKind::IsADirectory); 2]);
        assert_eq!(kinds(&directory.join("none")), [Some(ErrorKind::NotFound); 2]);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
