//! Whether events of a trace are missing: what the recorder reports about losses, and what the events themselves show.

use super::check::CpuCheck;
use serde::Serialize;

/// Whether events are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Completeness {
    /// Some are.
    Missing,
    /// Nothing says so, but parts of the file could not be read, or what the recorder lost may have held some.
    MayBeMissing,
    /// Nothing says so.
    NoneFoundMissing,
    /// Only some tasks were recorded, so the events cannot show it; the losses are what the recorder reported.
    OnlySomeTasks,
    /// Only some CPUs were recorded, or are in the file; nothing says that events of these are missing.
    OnlySomeCpus,
}

/// What the recorder reported lost: each loss is in one of the three.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// Events, counted by the recorder.
    pub events: u64,
    /// Losses of unknown size.
    pub uncounted: u64,
    /// Events or losses at unknown times, where no loss has a time.
    pub untimed: u64,
}

impl Losses {
    /// From the losses in gaps and the recorder's own total. The total includes the losses in gaps, and also those for
    /// which the recorder gave no number at the gap.
    pub(super) fn new(cpus: &[CpuCheck], reported_lost: u64) -> Self {
        let sum = |of: fn(&CpuCheck) -> u64| cpus.iter().map(of).sum::<u64>();
        let (in_gaps, uncounted) = (sum(|cpu| cpu.lost), sum(|cpu| cpu.uncounted_losses));
        match in_gaps + uncounted {
            0 => Self { untimed: reported_lost, ..Self::default() },
            timed if reported_lost > timed => Self { events: reported_lost, ..Self::default() },
            _ => Self { events: in_gaps, uncounted, untimed: 0 },
        }
    }

    fn are_none(self) -> bool {
        self == Self::default()
    }
}

impl Completeness {
    pub(super) fn new(
        losses: Losses,
        cpus: &[CpuCheck],
        out_of_order: u64,
        unread: u64,
        [some_tasks, some_cpus]: [bool; 2],
    ) -> Self {
        let is_broken = cpus.iter().any(|cpu| cpu.chain_breaks + cpu.clock_backs > 0);
        if some_tasks {
            Self::OnlySomeTasks
        } else if !losses.are_none() || is_broken || out_of_order > 0 {
            Self::Missing
        } else if some_cpus {
            Self::OnlySomeCpus
        } else if unread > 0 {
            Self::MayBeMissing
        } else {
            Self::NoneFoundMissing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(lost: u64, uncounted_losses: u64) -> CpuCheck {
        CpuCheck { lost, uncounted_losses, ..CpuCheck::default() }
    }

    #[test]
    fn a_loss_is_counted_once() {
        let losses = |cpus: &[CpuCheck], reported| {
            let Losses { events, uncounted, untimed } = Losses::new(cpus, reported);
            (events, uncounted, untimed)
        };
        assert_eq!(losses(&[cpu(0, 0)], 0), (0, 0, 0));
        assert_eq!(losses(&[cpu(3, 0), cpu(4, 0)], 7), (7, 0, 0));
        assert_eq!(losses(&[cpu(3, 2)], 5), (3, 2, 0));
        // The total includes the two uncounted losses.
        assert_eq!(losses(&[cpu(3, 2)], 90), (90, 0, 0));
        assert_eq!(losses(&[cpu(0, 1)], 612), (612, 0, 0));
        assert_eq!(losses(&[cpu(0, 0)], 9), (0, 0, 9));
    }

    #[test]
    fn events_that_contradict_each_other_are_a_loss_that_nobody_reported() {
        let of =
            |cpus: &[CpuCheck], late, unread, some| Completeness::new(Losses::new(cpus, 0), cpus, late, unread, some);
        let (all, some_tasks, some_cpus) = ([false; 2], [true, false], [false, true]);
        assert_eq!(of(&[cpu(0, 0)], 0, 0, all), Completeness::NoneFoundMissing);
        assert_eq!(of(&[cpu(0, 0)], 0, 1, all), Completeness::MayBeMissing);
        assert_eq!(of(&[cpu(0, 0)], 1, 1, all), Completeness::Missing);
        assert_eq!(of(&[cpu(0, 1)], 0, 0, all), Completeness::Missing);
        let broken = [CpuCheck { chain_breaks: 1, ..cpu(0, 0) }];
        assert_eq!(of(&broken, 0, 0, all), Completeness::Missing);
        assert_eq!(of(&[cpu(0, 0)], 0, 1, some_cpus), Completeness::OnlySomeCpus);
        assert_eq!(of(&[cpu(1, 0)], 0, 0, some_cpus), Completeness::Missing);
        assert_eq!(of(&broken, 0, 0, some_tasks), Completeness::OnlySomeTasks, "there a break is the rule");
    }
}
