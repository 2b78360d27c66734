//! Names by number: comms, interrupt handlers, work functions, workqueues. A name is stored once, made printable, and
//! there are at most [`MAX_NAMES`] of them, whatever a file contains.

use crate::event::Tid;
use std::collections::HashMap;

/// A name's number in its trace's [`Names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(u32);

impl Name {
    /// The source does not contain it.
    pub const UNKNOWN: Self = Self(0);

    /// The name with a number from [`Name::index`].
    #[inline]
    pub(crate) fn numbered(number: u32) -> Self {
        Self(number)
    }

    /// The name as an index: names are numbered from 0 in the order of their first occurrence.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Most different names kept: far more than any machine has comms, and a limit on the memory that a forged file can
/// make us use.
const MAX_NAMES: usize = 1 << 20;

/// Longest name kept, bytes. A comm has 15, a work function's symbol up to 511.
const LONGEST: usize = 512;

/// Slots of the cache of comms by thread: a power of two.
const CACHED: usize = 1024;

/// An entry of the cache: the 16 bytes in a thread's events, and the name that they stand for.
#[derive(Debug, Clone, Copy)]
struct Cached {
    comm: [u8; 16],
    name: Name,
}

/// The names of a trace.
#[derive(Debug)]
pub struct Names {
    by_text: HashMap<Box<str>, Name>,
    by_address: HashMap<u64, Name>,
    texts: Vec<Box<str>>,
    cache: Box<[Cached; CACHED]>,
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Self {
            by_text: HashMap::new(),
            by_address: HashMap::new(),
            texts: Vec::new(),
            // The empty name has this number, which means unknown.
            cache: Box::new([Cached { comm: [0; 16], name: Name::UNKNOWN }; CACHED]),
        };
        names.intern("");
        names
    }
}

impl Names {
    /// The text of a name.
    pub fn text(&self, name: Name) -> &str {
        self.texts.get(name.0 as usize).map_or("", |text| text)
    }

    /// The texts of the names from the given number on, in order.
    pub fn texts_from(&self, first: usize) -> impl Iterator<Item = &str> {
        self.texts.iter().skip(first).map(|text| &**text)
    }

    /// Number of different names, including the unknown one.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether no name has been stored yet.
    pub fn is_empty(&self) -> bool {
        self.texts.len() <= 1
    }

    /// The number of a text. Control characters become `?`, because any program can choose the bytes of a comm, and it
    /// is printed to terminals. Beyond `MAX_NAMES` names, a new name becomes unknown.
    pub fn intern(&mut self, text: &str) -> Name {
        if let Some(name) = self.by_text.get(text) {
            return *name;
        }
        let text: String = text.chars().map(|c| if c.is_control() { '?' } else { c }).take(LONGEST).collect();
        if let Some(name) = self.by_text.get(text.as_str()) {
            return *name;
        }
        if self.texts.len() >= MAX_NAMES {
            return Name::UNKNOWN;
        }
        let name = Name(self.texts.len() as u32);
        self.texts.push(text.as_str().into());
        self.by_text.insert(text.into(), name);
        name
    }

    /// The number of a string as the kernel writes it, up to the first zero byte.
    pub fn intern_bytes(&mut self, bytes: &[u8]) -> Name {
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        self.intern(&String::from_utf8_lossy(&bytes[..end.min(LONGEST)]))
    }

    /// The number for a function's address, which is written in hexadecimal; symbols are in another part of a file.
    pub(crate) fn address(&mut self, address: u64) -> Name {
        if let Some(name) = self.by_address.get(&address) {
            return *name;
        }
        let name = self.intern(&format!("{address:#x}"));
        if self.by_address.len() < MAX_NAMES {
            self.by_address.insert(address, name);
        }
        name
    }

    /// The number of a thread's comm, in the kernel's 16 bytes. A thread seldom changes its name, so most events need
    /// only one comparison of 16 bytes.
    #[inline]
    pub(crate) fn comm(&mut self, tid: Tid, comm: &[u8; 16]) -> Name {
        let slot = tid.0 as usize % CACHED;
        let cached = &self.cache[slot];
        if cached.comm == *comm {
            return cached.name;
        }
        self.comm_anew(slot, comm)
    }

    #[cold]
    fn comm_anew(&mut self, slot: usize, comm: &[u8; 16]) -> Name {
        let name = self.intern_bytes(comm);
        self.cache[slot] = Cached { comm: *comm, name };
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_number() {
        let mut names = Names::default();
        assert!(names.is_empty());
        let (a, b) = (names.intern("sh"), names.intern_bytes(b"bash\0garbage"));
        assert_eq!((names.intern_bytes(b"sh\0\0"), names.intern("bash")), (a, b));
        assert_eq!((names.text(a), names.text(b), names.text(Name::UNKNOWN)), ("sh", "bash", ""));
        assert_eq!(names.intern(""), Name::UNKNOWN);
        assert_eq!(names.len(), 3);
    }

    #[test]
    fn threads_that_share_a_slot_do_not_share_a_name() {
        let mut names = Names::default();
        let comm = |text: &str| {
            let mut bytes = [0; 16];
            bytes[..text.len()].copy_from_slice(text.as_bytes());
            bytes
        };
        let near = names.comm(Tid(5), &comm("near"));
        let far = names.comm(Tid(5 + CACHED as u32), &comm("far"));
        assert_eq!(names.comm(Tid(5), &comm("near")), near);
        assert_eq!((names.text(near), names.text(far)), ("near", "far"));
        assert_eq!(names.comm(Tid(9), &[0; 16]), Name::UNKNOWN);
    }

    #[test]
    fn names_cannot_steer_a_terminal() {
        let mut names = Names::default();
        let name = names.intern_bytes(b"\x1b[2Jx\xff");
        assert_eq!(names.text(name), "?[2Jx\u{fffd}");
    }
}
