//! Selection of tasks for an analysis.

use schedlab_trace::engine::Task;
use schedlab_trace::{Ended, Names, Tid};
use std::collections::HashSet;

/// Selects tasks by name and id; without either, all tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Names; a `*` stands for any characters.
    pub comms: Vec<String>,
    /// Thread ids.
    pub tids: Vec<u32>,
    /// Restricts these to the threads in this set: the members of cgroups, from [`super::cgroup_members`]. No
    /// restriction if `None`.
    pub within: Option<HashSet<u32>>,
}

impl TaskFilter {
    /// Whether a task is selected, by its last or its first name, or by its id.
    pub fn has(&self, task: &Task, names: &Names) -> bool {
        if !self.may_be(task.tid) {
            return false;
        }
        if self.is_open() {
            return true;
        }
        let by_name = |name| self.comms.iter().any(|pattern| matches(pattern, names.text(name)));
        self.tids.contains(&task.tid.0) || by_name(task.comm) || task.first_comm.is_some_and(by_name)
    }

    /// Whether a thread with this id and name is selected.
    pub fn has_thread(&self, tid: Tid, comm: &str) -> bool {
        self.may_be(tid) && (self.is_open() || self.names(comm) || self.tids.contains(&tid.0))
    }

    /// Whether neither names nor ids are requested.
    pub(super) fn is_open(&self) -> bool {
        self.comms.is_empty() && self.tids.is_empty()
    }

    /// Whether a thread is in the requested cgroups.
    #[inline]
    pub(super) fn may_be(&self, tid: Tid) -> bool {
        self.within.as_ref().is_none_or(|members| members.contains(&tid.0))
    }

    /// Whether a name matches one of the patterns.
    pub(super) fn names(&self, text: &str) -> bool {
        self.comms.iter().any(|pattern| matches(pattern, text))
    }

    /// The key under which an ended task is counted if there are too many to keep each: its name, and its id if the
    /// filter names it. `None` if the filter cannot select it.
    pub(super) fn ended(&self, task: &Task) -> Option<Ended> {
        let tid = Some(task.tid).filter(|tid| self.tids.contains(&tid.0));
        let selected = tid.is_some() || self.tids.is_empty() || !self.comms.is_empty();
        (selected && self.may_be(task.tid)).then_some(Ended { comm: task.comm, first_comm: task.first_comm, tid })
    }

    /// Whether tasks that are counted under this key are selected.
    pub(super) fn has_ended(&self, ended: &Ended, names: &Names) -> bool {
        let by_name = |name| self.names(names.text(name));
        self.is_open() || ended.tid.is_some() || by_name(ended.comm) || ended.first_comm.is_some_and(by_name)
    }
}

/// The row number of ended tasks if each task has a row: after those that are kept, which have their own numbers.
pub(super) fn ended_row(ended: &Ended) -> u32 {
    ended.tid.map_or(u32::MAX, |tid| u32::MAX - 1 - tid.0)
}

/// Whether a text matches a pattern with `*`.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let tail = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.len() >= tail.len() && text.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, is) in [
            ("sh", "sh", true),
            ("sh", "bash", false),
            ("*sh", "bash", true),
            ("kworker*", "kworker/0:1", true),
            ("k*/0:*", "kworker/0:1", true),
            ("a*a", "a", false),
            ("*", "", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c", false),
        ] {
            assert_eq!(matches(pattern, text), is, "{pattern} {text}");
        }
    }
}
