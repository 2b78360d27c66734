//! What a restore did, and what one would do: one line per knob, for people and for `--json`.

use crate::knob::Knob;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

/// What became of one knob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome", content = "detail")]
#[non_exhaustive]
pub enum RestoreOutcome {
    /// The original value is back, and was read back.
    Restored,
    /// Somebody else has written this value since; it is left alone.
    LeftForeign(String),
    /// The knob no longer exists, and nothing of ours with it.
    Gone,
    /// It belongs to a network namespace that is not the caller's: its inode.
    OtherNetwork(u64),
    /// The machine has been started again since: the value was lost with the old boot.
    Rebooted,
    /// It could not be put back; the journal is kept.
    Failed(String),
    /// Not a knob but a journal that cannot be read in full, and why; it is kept.
    Unreadable(String),
}

/// One knob of a restored journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The setting's key, `sysctl:kernel.sched_rt_runtime_us`.
    pub knob: String,
    /// The kernel's file.
    pub path: PathBuf,
    /// The value that belongs there.
    pub original: String,
    /// What became of it.
    pub outcome: RestoreOutcome,
}

impl Restored {
    /// Whether nothing of ours is left in this knob.
    pub fn is_done(&self) -> bool {
        use RestoreOutcome::{Failed, OtherNetwork, Unreadable};
        !matches!(self.outcome, Failed(_) | Unreadable(_) | OtherNetwork(_))
    }
}

impl fmt::Display for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { knob, path, original, outcome } = self;
        match outcome {
            RestoreOutcome::Restored => write!(f, "{knob}: back to `{original}`"),
            RestoreOutcome::LeftForeign(present) => {
                write!(
                    f,
                    "{knob}: left at `{present}`, which somebody else wrote after us; it was `{original}` before"
                )?;
                match Knob::file(path).twin() {
                    // The kernel refuses the 0 of `vm.dirty_bytes`, and shows it again when the other is written.
                    Some(twin) if original == "0" => write!(f, " (a write to {} makes it that)", twin.path().display()),
                    _ => write!(f, " (to put that back: echo '{original}' > {})", path.display()),
                }
            }
            RestoreOutcome::Gone => write!(f, "{knob}: {} is gone, nothing to put back", path.display()),
            RestoreOutcome::OtherNetwork(inode) => write!(
                f,
                "{knob}: `{original}` belongs to the network namespace net:[{inode}], where it was set: run `schedlab tune \
                 restore` in it (ip netns exec, nsenter -n)"
            ),
            RestoreOutcome::Rebooted => write!(f, "{knob}: the machine was restarted since, the change is gone"),
            RestoreOutcome::Unreadable(why) => write!(f, "{}: {why}", path.display()),
            RestoreOutcome::Failed(why) => {
                write!(f, "{knob}: `{original}` could not be put back into {}: {why}", path.display())
            }
        }
    }
}

/// A setting of a dead process that is still in its journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Leftover {
    /// The setting's key.
    pub knob: String,
    /// The kernel's file.
    pub path: PathBuf,
    /// The value that belongs there.
    pub original: String,
    /// The value there now.
    pub present: String,
    /// The process that wrote it, if its journal still names it.
    pub pid: Option<u32>,
    /// Whether it was set to stay until it is asked back.
    pub kept: bool,
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { knob, original, present, pid, kept, .. } = self;
        let by = if *kept { " by `tune set`" } else { "" };
        let who = pid.map_or("a process".to_owned(), |pid| format!("pid {pid}"));
        write!(f, "{knob}: `{present}` now, `{original}` before {who} changed it{by}")
    }
}
