//! The machine as checks see it: files by their usual names, wherever the roots are, and the kernel's config.

use crate::Roots;
use crate::answers::SystemAnswers;
use crate::kernel_config::KernelConfig;
use crate::rights::BARRED;
use std::path::{Path, PathBuf};

/// What checks read.
pub(crate) struct Machine<'a> {
    pub(crate) roots: &'a Roots,
    pub(crate) answers: &'a SystemAnswers,
    pub(crate) config: Option<KernelConfig>,
}

/// A file by its usual name, and its content if it can be read.
pub(crate) struct Fact {
    name: String,
    content: Result<String, String>,
}

impl Fact {
    /// The content without surrounding white space.
    pub(crate) fn text(&self) -> Option<&str> {
        self.content.as_deref().ok()
    }

    /// `/sys/…: content`, or why there is none.
    pub(crate) fn evidence(&self) -> String {
        let (Ok(text) | Err(text)) = &self.content;
        format!("{}: {text}", self.name)
    }

    /// The word in brackets, which is how the kernel marks the current choice: `always [madvise] never`.
    pub(crate) fn chosen(&self, open: char, close: char) -> Option<&str> {
        let (_, rest) = self.text()?.split_once(open)?;
        Some(rest.split_once(close)?.0)
    }
}

impl<'a> Machine<'a> {
    pub(crate) fn new(roots: &'a Roots, answers: &'a SystemAnswers) -> Self {
        Self { roots, answers, config: KernelConfig::find(roots, &answers.uname.release) }
    }

    /// `/proc/NAME`.
    pub(crate) fn proc(&self, name: &str) -> Fact {
        fact(&self.roots.proc, "/proc", name)
    }

    /// `/sys/NAME`.
    pub(crate) fn sys(&self, name: &str) -> Fact {
        fact(&self.roots.sys, "/sys", name)
    }

    /// The kernel command line's `key=value`, the last one as the kernel takes it.
    pub(crate) fn boot_argument(&self, key: &str) -> Option<String> {
        let cmdline = self.proc("cmdline");
        let words = cmdline.text()?.split_ascii_whitespace();
        words.filter_map(|word| word.strip_prefix(key)?.strip_prefix('=')).next_back().map(str::to_owned)
    }

    /// Whether we are root, so that advice to become root would be pointless.
    pub(crate) fn is_root(&self) -> bool {
        let status = self.proc("self/status");
        let ids = status.text().and_then(|text| text.lines().find_map(|line| line.strip_prefix("Uid:")));
        ids.is_some_and(|ids| ids.split_ascii_whitespace().nth(1) == Some("0"))
    }

    /// Prefixes advice that takes root's rights with `as root: `, unless we are root.
    pub(crate) fn by_root(&self, what: impl std::fmt::Display) -> String {
        if self.is_root() { what.to_string() } else { format!("as root: {what}") }
    }

    /// How to get at a file of debugfs that was not read, with what it shows.
    pub(crate) fn debugfs_fix(&self, shows: impl std::fmt::Display) -> String {
        match self.roots.sys.join("kernel/debug/sched").try_exists() {
            Ok(true) if self.is_root() => BARRED.to_owned(),
            Ok(true) | Err(_) => format!("run as root, who may read debugfs, which shows {shows}"),
            Ok(false) => self.by_root(format_args!("mount -t debugfs none /sys/kernel/debug, which shows {shows}")),
        }
    }

    /// `(number, /sys/devices/system/cpu/cpuN)`, ascending.
    pub(crate) fn cpu_dirs(&self) -> Vec<(u32, PathBuf)> {
        numbered_dirs(&self.roots.sys.join("devices/system/cpu"), "cpu")
    }
}

/// Subdirectories `PREFIXn`, ascending by n.
pub(crate) fn numbered_dirs(parent: &Path, prefix: &str) -> Vec<(u32, PathBuf)> {
    let Ok(entries) = std::fs::read_dir(parent) else { return Vec::new() };
    let mut dirs: Vec<(u32, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok()?, entry.path())))
        .collect();
    dirs.sort_unstable();
    dirs
}

/// A file's content without surrounding white space.
pub(crate) fn text_at(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn fact(root: &Path, shown: &str, name: &str) -> Fact {
    let content = match std::fs::read_to_string(root.join(name)) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err("not there".to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Err("permission denied".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    Fact { name: format!("{shown}/{name}"), content }
}
