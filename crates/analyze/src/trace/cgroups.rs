//! Which threads are in a cgroup. Our own recordings contain the cgroup of every thread at their start and at their
//! end, and moves in between if `cgroup_attach_task` was recorded. Recordings of `perf record --all-cgroups` contain
//! the cgroup of a thread with each of its samples. A child is in the cgroup of its parent.

use super::filter::matches;
use super::processes::Processes;
use schedlab_trace::recording::{Moment, ThreadState};
use schedlab_trace::{Kind, Kinds, Reader, SeenCgroups, Tid, TraceError, What};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Most groups named in an error.
const MAX_NAMED: usize = 8;

/// A cgroup filter that cannot be used.
#[derive(Debug)]
pub enum CgroupError {
    /// The trace has no cgroups.
    Unknown {
        /// Its format.
        format: &'static str,
    },
    /// No thread was in such a group.
    Nobody {
        /// The groups that were requested.
        request: String,
        /// The groups that exist.
        known: Vec<String>,
    },
    /// The trace has more threads and cgroups than are kept.
    TooMany,
    /// The trace cannot be read.
    Trace(TraceError),
}

impl std::fmt::Display for CgroupError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown { format } => write!(
                f,
                "this trace of format {format} does not say which cgroup a thread is in: recordings of `schedlab record` \
                 and of `perf record --all-cgroups` do; filter by --comm or --tid"
            ),
            Self::Nobody { request, known } => {
                write!(f, "no thread of the recording is in the cgroup `{request}`; there are {}", known.join(", "))
            }
            Self::TooMany => {
                write!(f, "the trace has more threads and cgroups than are kept; filter by --comm or --tid")
            }
            Self::Trace(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CgroupError {}

/// The kinds of events that it needs. Switches are included only because some readers refuse a file from which they
/// read no event.
pub fn wanted() -> Kinds {
    Kinds::of(&[Kind::SchedSwitch, Kind::SchedProcessFork, Kind::TaskNewtask, Kind::CgroupAttachTask])
}

/// The ids of threads that were in one of these cgroups, or below it, at any time: at the start or the end of the
/// recording, after a move, with any of their samples, or as children of such threads. A `*` in a group's path stands
/// for any characters. Reads the trace to its end.
pub fn cgroup_members(reader: &mut Reader, groups: &[String]) -> Result<HashSet<u32>, CgroupError> {
    reader.watch_cgroups();
    let holds = |group: &str| groups.iter().any(|pattern| holds(pattern, group));
    let is_in = |thread: &ThreadState| holds(&thread.cgroup);
    let seen_in = |seen: &SeenCgroups, tid: Tid| seen.of(tid).any(holds);
    let ahead = reader.recording().and_then(|recording| recording.ahead(Kinds::default(), &mut |_| ()));
    let snapshots = ahead.as_deref().unwrap_or(reader.snapshots());
    let starts = snapshots.iter().filter(|snapshot| snapshot.moment == Moment::Start);
    let mut members: HashMap<u32, bool> =
        starts.flat_map(|snapshot| &snapshot.threads).map(|thread| (thread.tid, is_in(thread))).collect();
    let mut ever: HashSet<u32> = members.iter().filter(|(_, is_in)| **is_in).map(|(tid, _)| *tid).collect();
    let mut processes = Processes::default();
    snapshots.iter().for_each(|snapshot| processes.learn(&snapshot.threads));
    let hierarchy = reader.recording().and_then(|recording| recording.about().number("cgroup_hierarchy"));
    let mut moved_to = BTreeSet::new();
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch).map_err(CgroupError::Trace)? {
        for event in &batch {
            let (parent, child) = match event.what {
                What::Fork { parent, child, .. } => (parent, child),
                What::CgroupAttach { tid, dst_root, dst_path, .. } => {
                    // Among the hierarchies of version 1, only the one in the snapshots counts.
                    if hierarchy.is_none_or(|hierarchy| hierarchy == u64::from(dst_root)) {
                        let group = reader.names().text(dst_path);
                        moved_to.insert(group.to_owned());
                        for Tid(tid) in processes.moved(tid) {
                            members.insert(tid, holds(group));
                            ever.extend(holds(group).then_some(tid));
                        }
                    }
                    continue;
                }
                _ => continue,
            };
            processes.fork(parent, child);
            let of_parent = members.get(&parent.0).copied();
            let inherits =
                of_parent.unwrap_or(false) || reader.seen_cgroups().is_some_and(|seen| seen_in(seen, parent));
            members.insert(child.0, inherits);
            if inherits {
                ever.insert(child.0);
            }
        }
    }
    let ends = reader.snapshots().iter().filter(|snapshot| snapshot.moment == Moment::End);
    ever.extend(ends.flat_map(|snapshot| &snapshot.threads).filter(|thread| is_in(thread)).map(|thread| thread.tid));
    if let Some(seen) = reader.seen_cgroups() {
        ever.extend(seen.threads().filter(|tid| seen_in(seen, *tid)).map(|tid| tid.0));
    }
    match known(reader, &moved_to) {
        Err(unknown) => Err(unknown),
        Ok(known) if ever.is_empty() => Err(CgroupError::Nobody { request: groups.join(", "), known: shown(&known) }),
        Ok(_) => Ok(ever),
    }
}

/// The groups that contain threads, and those that threads were moved to, after the trace was read. The group of a
/// thread that ended while the snapshot was taken is not known, nor is a group that has a number but no name.
fn known<'a>(reader: &'a Reader, moved_to: &'a BTreeSet<String>) -> Result<BTreeSet<&'a str>, CgroupError> {
    let threads = reader.snapshots().iter().flat_map(|snapshot| &snapshot.threads);
    let of_snapshots = threads.map(|thread| thread.cgroup.as_str());
    let seen = reader.seen_cgroups();
    let of_samples = seen.iter().flat_map(|seen| seen.threads().flat_map(|tid| seen.of(tid)));
    let found = of_snapshots.chain(of_samples).chain(moved_to.iter().map(String::as_str));
    let known: BTreeSet<&str> = found.filter(|group| !group.is_empty()).collect();
    match seen {
        Some(seen) if seen.is_full() => Err(CgroupError::TooMany),
        _ if known.is_empty() => Err(CgroupError::Unknown { format: reader.info().format }),
        _ => Ok(known),
    }
}

/// The first groups by name, and the number of others.
fn shown(known: &BTreeSet<&str>) -> Vec<String> {
    let more = known.len().saturating_sub(MAX_NAMED);
    let mut shown: Vec<String> = known.iter().take(MAX_NAMED).map(|group| (*group).to_owned()).collect();
    shown.extend((more > 0).then(|| format!("and {more} more")));
    shown
}

/// Whether a group matches a pattern, or is below a group that does.
fn holds(pattern: &str, group: &str) -> bool {
    let pattern = pattern.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(pattern);
    let below = if pattern == "/" { "/*".to_owned() } else { format!("{pattern}/*") };
    matches(pattern, group) || matches(&below, group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_holds_those_below_it() {
        for (pattern, group, is) in [
            ("/a", "/a", true),
            ("/a/", "/a/b", true),
            ("/a", "/ab", false),
            ("/", "/a/b", true),
            ("*/x", "/a/x/y", true),
            ("/a*", "/ab/c", true),
            ("/b", "/a/b", false),
        ] {
            assert_eq!(holds(pattern, group), is, "{pattern} {group}");
        }
    }
}
