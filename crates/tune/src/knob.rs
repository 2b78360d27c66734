//! The places that we change, as named in the journal, and how each is read and written.
//!
//! A kernel control file is written with one write(2) and never created. Values are compared with white space
//! normalised, because many sysctls use tabs.

use schedlab_sys::audit;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// One place on the host whose value can be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Knob {
    /// A control file that holds one value.
    File { path: PathBuf },
    /// One word of `sched/features`; values are `WORD` and `NO_WORD`.
    Feature { path: PathBuf, word: String },
    /// The cpu controller in a cgroup v2 `cgroup.subtree_control`; values are `+cpu` and `-cpu`.
    CpuController { path: PathBuf },
    /// A control file that lists its choices, with the current one in brackets: `always [madvise] never`.
    Choice { path: PathBuf },
    /// Files that are set together; the value has one word for each.
    Files { paths: Vec<PathBuf> },
    /// Whether new tasks are audited; values are `on` and `off`. The path is [`AUDIT_RULES`], used in messages.
    Audit { path: PathBuf },
    /// A cgroup directory that we create; values are `made` and `absent`.
    Group { path: PathBuf },
}

/// The place of [`Knob::Audit`] in messages.
pub(crate) const AUDIT_RULES: &str = "the kernel's list of audit rules";
/// Why auditing is not switched on where it is off.
pub(crate) const AUDITING_STAYS_OFF: &str = "auditing that is on: once it has been, every task keeps a slower system call \
     path until the next boot, so it is not switched on here, but in a guest (`schedlab vm run`)";

/// Value of a [`Knob::Group`] that exists.
pub(crate) const MADE: &str = "made";
/// Value of a [`Knob::Group`] that does not exist.
pub(crate) const ABSENT: &str = "absent";

/// White space normalised: one space between words, none around.
pub(crate) fn normalise(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Knob {
    pub(crate) fn file(path: impl Into<PathBuf>) -> Self {
        Self::File { path: path.into() }
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::File { path }
            | Self::Feature { path, .. }
            | Self::CpuController { path }
            | Self::Choice { path }
            | Self::Audit { path }
            | Self::Group { path } => path,
            Self::Files { paths } => paths.first().map_or(Path::new(""), PathBuf::as_path),
        }
    }

    /// For the journal.
    pub(crate) fn to_json(&self) -> Value {
        let kind = match self {
            Self::File { .. } => "file",
            Self::Feature { path, word } => return json!({"kind": "feature", "path": path, "word": word}),
            Self::CpuController { .. } => "cpu_controller",
            Self::Choice { .. } => "choice",
            Self::Files { paths } => return json!({"kind": "files", "paths": paths}),
            Self::Audit { .. } => "audit",
            Self::Group { .. } => "group",
        };
        json!({"kind": kind, "path": self.path()})
    }

    /// From the journal.
    pub(crate) fn of_json(value: &Value) -> Option<Self> {
        let path = || Some(PathBuf::from(value["path"].as_str()?));
        Some(match value["kind"].as_str()? {
            "file" => Self::File { path: path()? },
            "feature" => Self::Feature { path: path()?, word: value["word"].as_str()?.to_owned() },
            "cpu_controller" => Self::CpuController { path: path()? },
            "choice" => Self::Choice { path: path()? },
            "files" => {
                let paths = value["paths"].as_array()?.iter().map(|path| path.as_str().map(PathBuf::from));
                Self::Files { paths: paths.collect::<Option<_>>()? }
            }
            "audit" => Self::Audit { path: path()? },
            "group" => Self::Group { path: path()? },
            _ => return None,
        })
    }

    /// Whether it holds a setting of an arm (and is not a cgroup of ours).
    pub(crate) fn is_setting(&self) -> bool {
        !matches!(self, Self::CpuController { .. } | Self::Group { .. })
    }

    /// The present value, normalised.
    pub(crate) fn read(&self) -> io::Result<String> {
        match self {
            Self::File { path } => Ok(normalise(&crate::file::read(path)?)),
            Self::Feature { path, word } => {
                let text = crate::file::read(path)?;
                let off = format!("NO_{word}");
                let found = text.split_whitespace().find(|w| *w == word || *w == off);
                found.map(str::to_owned).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
            }
            Self::CpuController { path } => {
                let text = crate::file::read(path)?;
                Ok(if text.split_whitespace().any(|w| w == "cpu") { "+cpu" } else { "-cpu" }.into())
            }
            Self::Choice { path } => {
                let text = crate::file::read(path)?;
                Ok(chosen(&text).map_or_else(|| normalise(&text), str::to_owned))
            }
            Self::Files { paths } => {
                let texts: io::Result<Vec<String>> = paths.iter().map(crate::file::read).collect();
                Ok(normalise(&texts?.join(" ")))
            }
            Self::Audit { .. } => {
                let state = audit::audit_state()?;
                Ok(if state.enabled == 0 || state.task_never { "off" } else { "on" }.into())
            }
            Self::Group { path } => Ok(if path.is_dir() { MADE } else { ABSENT }.into()),
        }
    }

    /// Opens the control file for writing, without changing anything, to see before a journal is written whether that
    /// is permitted.
    pub(crate) fn open_for_write(&self) -> io::Result<Option<File>> {
        match self {
            Self::Group { .. } | Self::Audit { .. } => Ok(None),
            Self::Files { paths } => {
                let opened: io::Result<Vec<File>> =
                    paths.iter().map(|path| crate::file::open_for_write(path)).collect();
                Ok(opened?.pop())
            }
            _ => crate::file::open_for_write(self.path()).map(Some),
        }
    }

    /// Writes a value; for a slice in debugfs, the kernel then recomputes the normalised value.
    pub(crate) fn write(&self, value: &str) -> io::Result<()> {
        match self {
            Self::Group { path } if value == ABSENT => crate::cgroup::remove_group(path),
            Self::Group { path } => match std::fs::create_dir(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                other => other,
            },
            Self::Audit { .. } if audit::audit_state()?.enabled > 0 => audit::set_task_never(value == "off"),
            Self::Audit { .. } => Err(io::Error::other(format!("it needs {AUDITING_STAYS_OFF}"))),
            Self::Files { paths } => {
                let words: Vec<&str> = value.split_whitespace().collect();
                if words.len() != paths.len() {
                    return Err(io::ErrorKind::InvalidInput.into());
                }
                // Only files that differ: the kernel may refuse a write to an idle state, which may not be needed.
                let differs = |path: &Path, word: &str| crate::file::read(path).map_or(true, |t| normalise(&t) != word);
                let mut changed = paths.iter().zip(words).filter(|(path, word)| differs(path, word));
                changed.try_for_each(|(path, word)| write_control(path, word))
            }
            _ => {
                match self.in_plain_text(value) {
                    Some(text) => write_whole(self.path(), &text?)?,
                    None => write_control(self.path(), value)?,
                }
                renormalise(self.path());
                Ok(())
            }
        }
    }

    /// The new content of a plain file (in a copied tree) where the kernel would keep a list: the other words stay.
    /// `None` for a control file and for a file with a single value; the kernel's error for a word that is not in the
    /// list.
    fn in_plain_text(&self, value: &str) -> Option<io::Result<String>> {
        let text = crate::file::read(self.path()).ok()?;
        // The size of a control file differs from the length of its text; it is mostly 0.
        let is_plain = std::fs::metadata(self.path()).ok()?.len() == text.len() as u64;
        let was = match self {
            Self::Feature { .. } => self.read().ok()?,
            Self::Choice { .. } => chosen(&text)?.to_owned(),
            _ => return None,
        };
        let is_choice = matches!(self, Self::Choice { .. });
        let (mut out, mut is_known) = (String::new(), false);
        for piece in text.split_inclusive(char::is_whitespace) {
            let word = piece.trim_end();
            let bare = word.trim_start_matches(['[', '(']).trim_end_matches([']', ')']);
            let [open, close] = if text.contains('[') { ["[", "]"] } else { ["(", ")"] };
            let new = match is_choice {
                true if bare == value => format!("{open}{value}{close}"),
                true => bare.to_owned(),
                false if word == was => value.to_owned(),
                false => word.to_owned(),
            };
            is_known |= if is_choice { bare == value } else { word == was };
            out += &new;
            out += &piece[word.len()..];
        }
        is_plain.then(|| if is_known { Ok(out) } else { Err(io::ErrorKind::InvalidInput.into()) })
    }

    /// For a knob that limits others, the value that limits none: kernel/sched/rt.c `sched_rt_global_validate`.
    pub(crate) fn unlimited(&self) -> Option<&'static str> {
        self.path().ends_with("kernel/sched_rt_runtime_us").then_some("-1")
    }

    /// The other file of a pair that is one value in the kernel.
    pub(crate) fn twin(&self) -> Option<Self> {
        self.partner().filter(|partner| partner.partner().as_ref() == Some(self))
    }

    /// The file that changes as a side effect of writing this one: both are one value in the kernel, or one widens the
    /// other.
    pub(crate) fn partner(&self) -> Option<Self> {
        // The other one becomes 0: mm/page-writeback.c `dirty_bytes_handler` and similar, mm/util.c
        // `overcommit_kbytes_handler`.
        const PAIRS: &[(&str, &str)] = &[
            ("dirty_bytes", "dirty_ratio"),
            ("dirty_background_bytes", "dirty_background_ratio"),
            ("overcommit_kbytes", "overcommit_ratio"),
        ];
        let Self::File { path } = self else { return None };
        let name = path.file_name()?.to_str()?;
        // The default is always added to the allowed ones, and stays there (`tcp_set_default_congestion_control`,
        // net/ipv4/tcp_cong.c).
        if name == "tcp_congestion_control" {
            return Some(Self::file(path.with_file_name("tcp_allowed_congestion_control")));
        }
        let other = PAIRS.iter().find_map(|&(a, b)| (a == name).then_some(b).or((b == name).then_some(a)))?;
        Some(Self::file(path.with_file_name(other)))
    }
}

/// One write(2) to an existing control file.
fn write_control(path: &Path, value: &str) -> io::Result<()> {
    write_whole(path, &format!("{value}\n"))
}

fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    #[cfg(test)]
    let before = crate::file::read(path)?;
    let mut file = crate::file::open_for_write(path)?;
    file.write_all(text.as_bytes())?;
    // Truncates a plain file of a copied tree; a control file ignores this. Not before the write, because a kill
    // between the two would leave an empty file.
    if file.metadata().is_ok_and(|m| m.len() > text.len() as u64) {
        let _ = file.set_len(text.len() as u64);
    }
    #[cfg(test)]
    KERNEL.with_borrow_mut(|kernel| kernel.iter_mut().for_each(|kernel| kernel(path, &before)));
    Ok(())
}

#[cfg(test)]
thread_local! {
    /// A fake kernel behind the plain files of a test: it is given each write with the old text.
    pub(crate) static KERNEL: std::cell::RefCell<Option<FakeKernel>> = const { std::cell::RefCell::new(None) };
}

#[cfg(test)]
pub(crate) type FakeKernel = Box<dyn FnMut(&Path, &str)>;

/// The word in brackets: `[madvise]`, and `(full)` of `sched/preempt`.
pub(crate) fn chosen(text: &str) -> Option<&str> {
    let bracketed = |word: &'_ str| word.starts_with(['[', '(']) && word.ends_with([']', ')']) && word.len() > 2;
    text.split_whitespace().find(|word| bracketed(word)).map(|word| &word[1..word.len() - 1])
}

/// A write to these debugfs files changes only the effective value. The normalised value, from which every CPU hot-plug
/// recomputes the effective one (and with which newer kernels protect slices), follows when `tunable_scaling` is
/// written with its own value (`sched_update_scaling`, kernel/sched/fair.c). Failure is harmless: the value holds until
/// the next CPU hot-plug.
fn renormalise(path: &Path) {
    const SCALED: &[&str] = &["latency_ns", "min_granularity_ns", "wakeup_granularity_ns", "base_slice_ns"];
    if !path.file_name().and_then(|n| n.to_str()).is_some_and(|name| SCALED.contains(&name)) {
        return;
    }
    let scaling = path.with_file_name("tunable_scaling");
    if let Ok(mode) = crate::file::read(&scaling) {
        let _ = write_control(&scaling, mode.trim_end());
    }
}

#[cfg(test)]
mod tests;
