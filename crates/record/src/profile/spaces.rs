//! Address spaces over time: which file is mapped where in which process, from /proc at the start and from the kernel's
//! records of execs, forks and mappings after it. Pure.

use super::records::MappedCode;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What is mapped where; the key is the first address.
type Space = BTreeMap<u64, Mapping>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mapping {
    end: u64,
    file_offset: u64,
    image: u32,
}

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FilePlace {
    pub(crate) image: u32,
    pub(crate) offset: u64,
}

/// All processes' code.
#[derive(Debug, Default)]
pub(crate) struct Spaces {
    /// A process shares it with its children as long as these have mapped nothing since the fork.
    of: HashMap<u32, Arc<Space>>,
    images: Vec<String>,
    image_of: HashMap<String, u32>,
}

impl Spaces {
    /// Names of the images met so far, by number.
    pub(crate) fn images(&self) -> &[String] {
        &self.images
    }

    /// Code was mapped; it replaces what was mapped there before.
    pub(crate) fn map(&mut self, pid: u32, mapped: &MappedCode<'_>) {
        let end = mapped.start.saturating_add(mapped.length);
        if end <= mapped.start {
            return;
        }
        let image = self.image(&image_name(mapped.name));
        let space = Arc::make_mut(self.of.entry(pid).or_default());
        let overlapped: Vec<u64> =
            space.range(..end).filter(|(_, old)| old.end > mapped.start).map(|(start, _)| *start).collect();
        for start in overlapped {
            let Some(old) = space.remove(&start) else { continue };
            if start < mapped.start {
                space.insert(start, Mapping { end: mapped.start, ..old });
            }
            if old.end > end {
                space.insert(end, Mapping { file_offset: old.file_offset + (end - start), ..old });
            }
        }
        space.insert(mapped.start, Mapping { end, file_offset: mapped.file_offset, image });
    }

    /// A process runs a new program: nothing of the old one is mapped any more.
    pub(crate) fn exec(&mut self, pid: u32) {
        self.of.remove(&pid);
    }

    /// A process starts as a copy of its parent.
    pub(crate) fn fork(&mut self, pid: u32, parent: u32) {
        match self.of.get(&parent).map(Arc::clone) {
            Some(space) => self.of.insert(pid, space),
            None => self.of.remove(&pid),
        };
    }

    /// What lies at an address.
    pub(crate) fn place(&self, pid: u32, address: u64) -> Option<FilePlace> {
        let (start, mapping) = self.of.get(&pid)?.range(..=address).next_back()?;
        let offset = mapping.file_offset.checked_add(address - start)?;
        (address < mapping.end).then_some(FilePlace { image: mapping.image, offset })
    }

    /// Adds the mappings in /proc/PID/maps.
    pub(crate) fn read_maps(&mut self, pid: u32, maps: &str) {
        for mapped in maps.lines().filter_map(maps_line) {
            self.map(pid, &mapped);
        }
    }

    fn image(&mut self, name: &str) -> u32 {
        if let Some(image) = self.image_of.get(name) {
            return *image;
        }
        let image = self.images.len() as u32;
        self.images.push(name.to_owned());
        self.image_of.insert(name.to_owned(), image);
        image
    }
}

fn image_name(name: &[u8]) -> String {
    match name {
        b"" | b"//anon" => "[anonymous]".into(),
        name => String::from_utf8_lossy(name).into_owned(),
    }
}

/// `start-end perms offset dev inode   name`; `None` for mappings without code.
fn maps_line(line: &str) -> Option<MappedCode<'_>> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let (permissions, rest) = rest.split_once(' ')?;
    if permissions.as_bytes().get(2) != Some(&b'x') {
        return None;
    }
    let (offset, rest) = rest.split_once(' ')?;
    let (_device, rest) = rest.split_once(' ')?;
    // The name follows the inode and spaces, and may itself contain spaces.
    let name = rest.split_once(' ').map_or("", |(_inode, name)| name.trim_start());
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = (hex(start)?, hex(end)?);
    Some(MappedCode { start, length: end.checked_sub(start)?, file_offset: hex(offset)?, name: name.as_bytes() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(start: u64, end: u64, file_offset: u64, name: &str) -> MappedCode<'_> {
        MappedCode { start, length: end - start, file_offset, name: name.as_bytes() }
    }

    /// `image+offset` at an address of process 1.
    fn at(spaces: &Spaces, address: u64) -> String {
        let name = |p: FilePlace| format!("{}+{}", spaces.images()[p.image as usize], p.offset);
        spaces.place(1, address).map_or("nothing".into(), name)
    }

    #[test]
    fn a_new_mapping_hides_the_part_of_the_old_one_that_it_covers() {
        let mut spaces = Spaces::default();
        spaces.map(1, &mapped(100, 200, 1000, "old"));
        spaces.map(1, &mapped(120, 150, 0, "new"));
        let seen = [99, 100, 119, 120, 149, 150, 199, 200].map(|address| at(&spaces, address));
        let expected = ["nothing", "old+1000", "old+1019", "new+0", "new+29", "old+1050", "old+1099", "nothing"];
        assert_eq!(seen, expected);
        spaces.map(1, &mapped(50, 300, 0, "all"));
        assert_eq!([at(&spaces, 100), at(&spaces, 299)], ["all+50", "all+249"]);
    }

    #[test]
    fn a_child_has_its_parents_code_until_its_exec_and_keeps_it_from_the_parents() {
        let mut spaces = Spaces::default();
        spaces.map(7, &mapped(100, 200, 0, "shell"));
        spaces.fork(1, 7);
        spaces.exec(7);
        assert_eq!(at(&spaces, 150), "shell+50");
        spaces.exec(1);
        assert_eq!(at(&spaces, 150), "nothing");
        spaces.map(1, &mapped(100, 200, 0, "//anon"));
        assert_eq!(at(&spaces, 150), "[anonymous]+50");
        spaces.fork(1, 99);
        assert_eq!(at(&spaces, 150), "nothing", "the process before it with this number is gone");
    }

    #[test]
    fn maps_are_read_as_proc_writes_them() {
        let mut spaces = Spaces::default();
        spaces.read_maps(
            1,
            "00400000-00401000 r--p 00000000 fe:00 42   /bin/a b\n\
             00401000-00402000 r-xp 00001000 fe:00 42                         /bin/a b\n\
             00500000-00501000 r-xp 00000000 00:00 0 \n\
             7ffc0000-7ffc1000 r-xp 00000000 00:00 0                          [vdso]\nnonsense\n9-1 r-xp 0 0 0 x\n",
        );
        let seen = [0x40_0000, 0x40_1004, 0x50_0000, 0x7ffc_0001].map(|address| at(&spaces, address));
        assert_eq!(seen, ["nothing", "/bin/a b+4100", "[anonymous]+0", "[vdso]+1"]);
    }

    #[test]
    fn lengths_that_lie_map_nothing_or_up_to_the_end() {
        let mut spaces = Spaces::default();
        spaces.map(1, &MappedCode { start: 5, length: 0, file_offset: 0, name: b"x" });
        assert_eq!(at(&spaces, 5), "nothing");
        spaces.map(1, &MappedCode { start: 5, length: u64::MAX, file_offset: u64::MAX, name: b"x" });
        assert_eq!([at(&spaces, 5), at(&spaces, 6)], [format!("x+{}", u64::MAX), "nothing".into()]);
    }
}
