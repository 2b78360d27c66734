//! Which events of the kernel a selection names.

use schedlab_run::{EventGroup, TraceEvents};
use schedlab_trace::Kind;

/// The events of a selection.
pub fn kinds(events: TraceEvents) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = events.groups().flat_map(of_group).copied().collect();
    kinds.sort();
    kinds
}

fn of_group(group: EventGroup) -> &'static [Kind] {
    match group {
        EventGroup::Min => &[Kind::SchedSwitch, Kind::SchedWaking],
        EventGroup::Full => &[
            Kind::SchedWakeup,
            Kind::SchedWakeupNew,
            Kind::SchedMigrateTask,
            Kind::SchedProcessFork,
            Kind::SchedProcessExit,
            Kind::SchedProcessExec,
            Kind::TaskRename,
        ],
        EventGroup::Irq => &[Kind::IrqHandlerEntry, Kind::IrqHandlerExit],
        EventGroup::Softirq => &[Kind::SoftirqRaise, Kind::SoftirqEntry, Kind::SoftirqExit],
        EventGroup::Workqueue => &[
            Kind::WorkqueueQueueWork,
            Kind::WorkqueueActivateWork,
            Kind::WorkqueueExecuteStart,
            Kind::WorkqueueExecuteEnd,
        ],
        EventGroup::Pi => &[Kind::SchedPiSetprio],
        EventGroup::Idle => &[Kind::CpuIdle],
    }
}

/// An event's system and name.
pub(super) fn place(kind: Kind) -> (&'static str, &'static str) {
    let (_, system, name) = Kind::ALL[kind as usize];
    (system, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_adds_events_and_none_twice() {
        let all: TraceEvents = "full+irq+softirq+workqueue+pi+idle".parse().unwrap();
        let found = kinds(all);
        assert_eq!(found.len(), 20, "all but sched_stat_runtime and task_newtask: {found:?}");
        assert!(found.is_sorted() && found.windows(2).all(|w| w[0] != w[1]));
        assert_eq!(kinds(TraceEvents::default()), [Kind::SchedSwitch, Kind::SchedWaking]);
        assert_eq!(place(Kind::TaskRename), ("task", "task_rename"));
    }
}
