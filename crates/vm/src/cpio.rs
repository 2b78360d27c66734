//! The initramfs: a cpio archive in the `newc` format, a pure function of its contents. All owners are root, times are
//! 0, and names are in order, so equal contents give equal bytes. Source:
//! Documentation/driver-api/early-userspace/buffer-format.rst.

use std::collections::BTreeMap;

/// Why something cannot be archived.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CpioError {
    /// Not a plain path below the root directory.
    #[error("`{0}` is not a place in an initramfs: give a path below /, without `..`")]
    Name(String),
    /// The format has 32 bits for a file's length.
    #[error("`{name}` has {bytes} bytes; a file in an initramfs must be smaller than 4 GiB")]
    Length {
        /// Its path.
        name: String,
        /// Its length.
        bytes: usize,
    },
    /// A file and a directory have the same path.
    #[error("`{0}` is both a file and a directory")]
    Conflict(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Directory { mode: u32 },
    File { mode: u32, content: Vec<u8> },
    Link { target: String },
    CharacterDevice { major: u32, minor: u32 },
}

/// The contents of an initramfs; paths may begin with `/`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Archive {
    entries: BTreeMap<String, Entry>,
}

const S_IFCHR: u32 = 0o020_000;
const S_IFDIR: u32 = 0o040_000;
const S_IFREG: u32 = 0o100_000;
const S_IFLNK: u32 = 0o120_000;

impl Archive {
    /// Adds a directory with the permissions `mode`, and missing parents.
    pub fn directory(&mut self, path: &str, mode: u32) -> Result<(), CpioError> {
        self.put(path, Entry::Directory { mode })
    }

    /// Adds a regular file with the permissions `mode`.
    pub fn file(&mut self, path: &str, mode: u32, content: Vec<u8>) -> Result<(), CpioError> {
        if u32::try_from(content.len()).is_err() {
            return Err(CpioError::Length { name: path.into(), bytes: content.len() });
        }
        self.put(path, Entry::File { mode, content })
    }

    /// A symbolic link.
    pub fn link(&mut self, path: &str, target: &str) -> Result<(), CpioError> {
        self.put(path, Entry::Link { target: target.into() })
    }

    /// Adds a character device that only root may use.
    pub fn character_device(&mut self, path: &str, major: u32, minor: u32) -> Result<(), CpioError> {
        self.put(path, Entry::CharacterDevice { major, minor })
    }

    fn put(&mut self, path: &str, entry: Entry) -> Result<(), CpioError> {
        let name = plain_name(path).ok_or_else(|| CpioError::Name(path.into()))?;
        for (end, _) in name.match_indices('/') {
            let above = self.entries.entry(name[..end].to_owned()).or_insert(Entry::Directory { mode: 0o755 });
            if !matches!(above, Entry::Directory { .. }) {
                return Err(CpioError::Conflict(name[..end].to_owned()));
            }
        }
        let is_directory = matches!(entry, Entry::Directory { .. });
        let taken = self.entries.get(&name).is_some_and(|old| matches!(old, Entry::Directory { .. }) != is_directory);
        if taken {
            return Err(CpioError::Conflict(name));
        }
        self.entries.insert(name, entry);
        Ok(())
    }

    /// The archive's bytes. A directory sorts before its contents, as the kernel's unpacker requires.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (number, (name, entry)) in self.entries.iter().enumerate() {
            append(&mut bytes, number as u32 + 1, name, entry);
        }
        let end = Entry::File { mode: 0, content: Vec::new() };
        append_raw(&mut bytes, 0, "TRAILER!!!", 0, (0, 0), &end);
        bytes
    }
}

/// The path without the first `/`; `None` for the root, empty parts, `.` and `..`.
fn plain_name(path: &str) -> Option<String> {
    let name = path.trim_start_matches('/').trim_end_matches('/');
    let plain = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\0');
    (!name.is_empty() && name.split('/').all(plain)).then(|| name.to_owned())
}

fn append(bytes: &mut Vec<u8>, inode: u32, name: &str, entry: &Entry) {
    let (mode, device) = match entry {
        Entry::Directory { mode } => (S_IFDIR | mode, (0, 0)),
        Entry::File { mode, .. } => (S_IFREG | mode, (0, 0)),
        Entry::Link { .. } => (S_IFLNK | 0o777, (0, 0)),
        Entry::CharacterDevice { major, minor } => (S_IFCHR | 0o600, (*major, *minor)),
    };
    append_raw(bytes, inode, name, mode, device, entry);
}

fn append_raw(bytes: &mut Vec<u8>, inode: u32, name: &str, mode: u32, device: (u32, u32), entry: &Entry) {
    let content: &[u8] = match entry {
        Entry::File { content, .. } => content,
        Entry::Link { target } => target.as_bytes(),
        Entry::Directory { .. } | Entry::CharacterDevice { .. } => &[],
    };
    let links = if matches!(entry, Entry::Directory { .. }) { 2 } else { 1 };
    let named = name.len() as u32 + 1;
    let (uid, gid, time, check) = (0, 0, 0, 0);
    let fields = [inode, mode, uid, gid, links, time, content.len() as u32, 0, 0, device.0, device.1, named, check];
    bytes.extend_from_slice(b"070701");
    for field in fields {
        bytes.extend_from_slice(format!("{field:08x}").as_bytes());
    }
    bytes.extend_from_slice(name.as_bytes());
    bytes.push(0);
    pad(bytes);
    bytes.extend_from_slice(content);
    pad(bytes);
}

/// The header with the name, and the content, are each padded to a multiple of four.
fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests;
