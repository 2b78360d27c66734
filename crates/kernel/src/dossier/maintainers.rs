//! The sections of the kernel's MAINTAINERS, and which files belong to them.

use super::FileChange;
use schedlab_plan::InOrder;
use serde::Serialize;
use std::collections::BTreeMap;

/// What differs in the files of one section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SubsystemChange {
    /// Its heading; empty for files that no section names.
    pub name: String,
    /// `S:` of it.
    pub status: String,
    /// `L:` of it.
    pub lists: Vec<String>,
    /// Files that differ.
    pub files: usize,
    /// Lines that only the second tree has.
    pub added: usize,
    /// Lines that only the first tree has.
    pub removed: usize,
}

/// Sums of the files by section, the largest first; empty if there are no sections.
pub fn by_subsystem(maintainers: &Maintainers, files: &[FileChange]) -> Vec<SubsystemChange> {
    let mut sums: BTreeMap<&str, SubsystemChange> = BTreeMap::new();
    for file in files.iter().filter(|_| !maintainers.0.is_empty()) {
        let section = maintainers.of(&file.path);
        let new = || SubsystemChange {
            name: section.map_or(String::new(), |found| found.name.clone()),
            status: section.map_or(String::new(), |found| found.status.clone()),
            lists: section.map_or(Vec::new(), |found| found.lists.clone()),
            files: 0,
            added: 0,
            removed: 0,
        };
        let sum = sums.entry(section.map_or("", |found| &found.name)).or_insert_with(new);
        (sum.files, sum.added, sum.removed) = (sum.files + 1, sum.added + file.added, sum.removed + file.removed);
    }
    let mut out: Vec<SubsystemChange> = sums.into_values().collect();
    out.in_order_by_key(|sum| usize::MAX - sum.added - sum.removed);
    out
}

/// A section of MAINTAINERS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subsystem {
    /// Its heading: `SCHEDULER`.
    pub name: String,
    /// `S:`, such as `Maintained`; empty if it says none.
    pub status: String,
    /// `L:`, its mailing lists.
    pub lists: Vec<String>,
    /// `F:` and `X:`: the patterns of its files, and of the files excluded from these.
    files: [Vec<String>; 2],
}

/// The sections of a MAINTAINERS file. `N:` and `K:` entries, which are regular expressions, are not read: files that
/// only they match go to the section that matches them by path, in the end to `THE REST`.
#[derive(Debug, Default)]
pub struct Maintainers(Vec<Subsystem>);

impl Maintainers {
    /// Reads the file; any other text gives no sections.
    pub fn read(text: &[u8]) -> Self {
        let (mut out, mut heading): (Vec<Subsystem>, String) = Default::default();
        let mut is_inside = false;
        for line in String::from_utf8_lossy(text).lines() {
            let entry = line.split_once(":\t").filter(|(key, _)| key.len() == 1);
            let Some((key, value)) = entry else {
                is_inside &= !line.trim().is_empty();
                // The last line before the entries is the heading.
                if !line.trim().is_empty() && !is_inside {
                    line.trim().clone_into(&mut heading);
                }
                continue;
            };
            if !is_inside {
                let name = heading.clone();
                out.push(Subsystem { name, status: String::new(), lists: Vec::new(), files: Default::default() });
                is_inside = true;
            }
            let Some(section) = out.last_mut() else { continue };
            let value = value.trim().to_owned();
            match key {
                "S" => section.status = value,
                "L" => section.lists.push(value),
                "F" => section.files[0].push(value),
                "X" => section.files[1].push(value),
                _ => {}
            }
        }
        out.retain(|section| !section.files[0].is_empty());
        Self(out)
    }

    /// The section that names a file most precisely: whose pattern has most characters that are not wildcards.
    pub fn of(&self, path: &str) -> Option<&Subsystem> {
        let precise = |section: &Subsystem| {
            let [files, but] = &section.files;
            let is_excepted = but.iter().any(|pattern| is_in(pattern, path));
            let fitting = files.iter().filter(|pattern| !is_excepted && is_in(pattern, path));
            fitting.map(|pattern| pattern.bytes().filter(|byte| !matches!(byte, b'*' | b'?')).count()).max()
        };
        // Of equally precise sections the first in the file counts: `max_by_key` returns the last.
        let found = self.0.iter().rev().filter_map(|section| Some((precise(section)?, section)));
        found.max_by_key(|one| one.0).map(|one| one.1)
    }
}

/// `F: net/` matches all files below it, `F: net/*` the files directly in it, `F: */net/*` those of `net` in each
/// top-level directory.
fn is_in(pattern: &str, path: &str) -> bool {
    let mut parts = path.split('/');
    let mut wanted = pattern.split('/').peekable();
    while let Some(part) = wanted.next() {
        if part.is_empty() && wanted.peek().is_none() {
            return parts.next().is_some();
        }
        if !parts.next().is_some_and(|name| fits(part.as_bytes(), name.as_bytes())) {
            return false;
        }
    }
    parts.next().is_none()
}

/// `*` matches any characters, `?` one. Only the last star is backtracked, so the time is at most the product of the
/// lengths.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, n));
            p += 1;
        } else if pattern.get(p).is_some_and(|c| *c == b'?' || *c == name[n]) {
            (p, n) = (p + 1, n + 1);
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            (p, n) = (at + 1, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Maintainers List\n================\n\nP: a person\n\nSCHEDULER\nM:\tA <a@example.org>\nL:\tlinux-kernel@vger.kernel.org\n\
        S:\tMaintained\nF:\tinclude/linux/sched.h\nF:\tkernel/sched/\n\nSCHEDULER - DEADLINE\nS:\tSupported\nF:\tkernel/sched/dead*.c\nX:\tkernel/sched/deadpan.c\n\n\
        NET\nF:\tnet/*\n\nALL ARCHES\nF:\t*/net/?.c\n\nBY NAME ONLY\nN:\tsched\n\nTHE REST\nS:\tBuried alive in reporters\nF:\t*\nF:\t*/\n";

    #[test]
    fn the_most_precise_section_has_the_file() {
        let all = Maintainers::read(TEXT.as_bytes());
        for (path, name) in [
            ("kernel/sched/fair.c", "SCHEDULER"),
            ("kernel/sched/deep/x.c", "SCHEDULER"),
            ("kernel/sched/deadline.c", "SCHEDULER - DEADLINE"),
            ("kernel/sched/deadpan.c", "SCHEDULER"),
            ("include/linux/sched.h", "SCHEDULER"),
            ("include/linux/sched.hx", "THE REST"),
            ("net/socket.c", "NET"),
            ("net/ipv4/tcp.c", "THE REST"),
            ("drivers/net/x.c", "ALL ARCHES"),
            ("Makefile", "THE REST"),
        ] {
            assert_eq!(all.of(path).map(|section| section.name.as_str()), Some(name), "{path}");
        }
        let scheduler = all.of("kernel/sched/fair.c").unwrap();
        assert_eq!((scheduler.status.as_str(), scheduler.lists.len()), ("Maintained", 1));
        assert!(Maintainers::read(b"no such file\n").0.is_empty());
    }

    #[test]
    fn stars_do_not_take_for_ever() {
        let stars = "*a".repeat(40);
        assert!(!fits(stars.as_bytes(), "a".repeat(4000).as_bytes()[..39].as_ref()));
        assert!(fits(b"a*b?d", b"a__bxbcd") && !fits(b"a*b?d", b"abd"));
    }
}
