//! Which events are read, by the kernel's names for them.

pub use crate::rows::Kind;
use crate::rows::ROWS;
use schedlab_plan::EventGroup;

impl Kind {
    /// The event with a system and a name.
    pub fn of(system: &str, name: &str) -> Option<Self> {
        Self::of_name(name).filter(|kind| kind.system() == system)
    }

    /// The event with a name only, as in text traces; each name belongs to one system.
    pub fn of_name(name: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.name == name).map(|row| row.kind)
    }

    /// Whether it belongs to the systems `sched` and `task`, which the state machine follows.
    pub fn is_of_tasks(self) -> bool {
        matches!(self.system(), "sched" | "task")
    }

    /// The kernel's name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The kernel's name for the event's group, which is a directory in tracefs.
    pub fn system(self) -> &'static str {
        self.row().system
    }

    /// Its number in recordings.
    pub(crate) const fn op(self) -> u8 {
        ROWS[self as usize].op
    }

    /// The event group of a selection that records it.
    pub fn group(self) -> Option<EventGroup> {
        self.row().group
    }
}

/// A set of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kinds(u32);

impl Kinds {
    /// Every kind.
    pub const ALL: Self = Self((1 << ROWS.len()) - 1);

    /// The events from which waits of threads are computed. `sched_stat_runtime` is not among them: it is 40 % of what
    /// `perf sched record` writes, and run times follow from the switches.
    pub const TASKS: Self = Self::of(&[
        Kind::SchedSwitch,
        Kind::SchedWaking,
        Kind::SchedWakeup,
        Kind::SchedWakeupNew,
        Kind::SchedMigrateTask,
        Kind::SchedProcessFork,
        Kind::SchedProcessExit,
        Kind::SchedProcessExec,
        Kind::TaskNewtask,
        Kind::TaskRename,
    ]);

    /// These.
    pub const fn of(kinds: &[Kind]) -> Self {
        let (mut set, mut at) = (0, 0);
        while at < kinds.len() {
            set |= 1 << kinds[at] as u8;
            at += 1;
        }
        Self(set)
    }

    /// These too.
    #[must_use]
    pub fn with(self, kind: Kind) -> Self {
        Self(self.0 | 1 << kind as u8)
    }

    /// Whether it is one of them.
    pub fn has(self, kind: Kind) -> bool {
        self.0 & 1 << kind as u8 != 0
    }

    /// The kinds, in order.
    pub fn iter(self) -> impl Iterator<Item = Kind> {
        ROWS.iter().map(|row| row.kind).filter(move |kind| self.has(*kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_found_by_its_name() {
        for kind in Kinds::ALL.iter() {
            assert_eq!(Kind::of(kind.system(), kind.name()), Some(kind));
        }
        assert_eq!(Kind::of("power", "sched_switch"), None);
        assert_eq!(Kinds::ALL.iter().count(), ROWS.len());
        assert!(Kinds::TASKS.with(Kind::CpuIdle).has(Kind::CpuIdle) && !Kinds::TASKS.has(Kind::CpuIdle));
        assert!(Kinds::TASKS.iter().all(Kind::is_of_tasks));
    }
}
