//! Where events are missing, and which intervals a gap may have falsified.
//!
//! A wait or a sleep is false if the thread ran and slept again unseen. That is possible only on a CPU whose events are
//! missing, and the thread is assumed to stay on the CPUs where it was seen or where an event placed it. So a gap
//! taints those intervals of the threads of its CPU, and if a machine loses all events of one CPU, the others can still
//! be analysed. A CPU to which tasks were sent, and which has no event yet, was not recorded: it is in a gap until its
//! first event. A run is on one CPU, and whatever takes the thread off it is an event of that CPU, so only gaps there
//! can falsify it.

use crate::event::Cpu;
use crate::numbered::PerCpu;
use crate::unseen::Sent;

#[derive(Debug, Clone, Copy, Default)]
struct CpuGaps {
    /// So many gaps are open.
    open: u32,
    /// End of the last gap.
    end: u64,
    /// Tasks sent to it before its first event.
    sent: Sent,
    has_events: bool,
}

impl CpuGaps {
    fn is_unseen(&self) -> bool {
        !self.has_events && self.sent.has_any()
    }
}

/// All gaps so far, on all CPUs.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// By CPU; gaps on an unknown CPU are kept separately.
    cpus: PerCpu<CpuGaps>,
    anywhere: CpuGaps,
    /// End of the latest gap on any CPU; `u64::MAX` while one is open. Most intervals begin after it, so one comparison
    /// is enough for them.
    latest: u64,
    /// During waits and sleeps that began before this time, the thread may have run unseen on any CPU.
    waits_from: u64,
}

impl Gaps {
    pub(super) fn begin(&mut self, cpu: Cpu) {
        self.of(cpu).open += 1;
        self.latest = u64::MAX;
    }

    pub(super) fn end(&mut self, cpu: Cpu, ts: u64) {
        let gaps = self.of(cpu);
        (gaps.open, gaps.end) = (gaps.open.saturating_sub(1), ts);
        self.set_latest();
    }

    fn set_latest(&mut self) {
        let all = || self.cpus.all().iter().chain([&self.anywhere]);
        let goes_on = all().any(|c| c.open > 0 || c.is_unseen());
        let latest = if goes_on { u64::MAX } else { all().map(|c| c.end).max().unwrap_or(0) };
        self.latest = latest.max(self.waits_from);
    }

    /// No wait or sleep that begins before `until` is certain; on a known CPU, only those of threads that were there.
    pub(super) fn waits_unknown(&mut self, cpu: Cpu, until: u64) {
        if cpu == Cpu::ANY {
            self.waits_from = self.waits_from.max(until);
        } else {
            let gaps = self.of(cpu);
            gaps.end = gaps.end.max(until);
        }
        self.latest = self.latest.max(until);
    }

    /// An event sends a task to a CPU.
    #[inline]
    pub(super) fn sent(&mut self, cpu: Cpu, ts: u64) {
        if !self.has_events(cpu) && cpu.0 < Cpu::MAX_COUNT {
            self.cpus.of(cpu).sent.take(ts);
            self.latest = u64::MAX;
        }
    }

    #[inline]
    pub(super) fn has_events(&self, cpu: Cpu) -> bool {
        self.cpus.get(cpu).is_some_and(|gaps| gaps.has_events)
    }

    /// The first event of a CPU: the CPU was recorded, and the thread that runs on it has done so all the time.
    #[cold]
    pub(super) fn begins(&mut self, cpu: Cpu) {
        self.of(cpu).has_events = true;
        self.set_latest();
    }

    /// Since when no event is missing on any CPU; `u64::MAX` while one is.
    pub(super) fn complete_since(&self) -> u64 {
        self.latest
    }

    fn of(&mut self, cpu: Cpu) -> &mut CpuGaps {
        if cpu == Cpu::ANY { &mut self.anywhere } else { self.cpus.of(cpu) }
    }

    /// Whether a thread that was seen on the CPUs `seen_on` (bits of their numbers modulo 64) may have run and slept
    /// unseen between `since` and now.
    #[inline]
    pub(super) fn taint(&self, since: u64, now: u64, seen_on: u64) -> bool {
        since < self.latest && (since < self.waits_from || self.taint_of(since, now, seen_on))
    }

    /// Whether events are missing between `since` and now on the CPU where a thread ran.
    #[inline]
    pub(super) fn taint_run(&self, since: u64, cpu: Cpu) -> bool {
        since < self.latest && self.taint_of(since, since, bit(cpu))
    }

    #[cold]
    fn taint_of(&self, since: u64, now: u64, seen_on: u64) -> bool {
        let hit = |gaps: &CpuGaps| gaps.open > 0 || gaps.end > since || gaps.is_unseen() && gaps.sent.is_overdue(now);
        let on = |cpu: usize| seen_on & 1 << (cpu % 64) != 0;
        hit(&self.anywhere) || self.cpus.all().iter().enumerate().any(|(cpu, gaps)| on(cpu) && hit(gaps))
    }
}

/// A CPU as a set, by its number modulo 64; an unknown CPU may be any.
#[inline]
pub(super) fn bit(cpu: Cpu) -> u64 {
    if cpu == Cpu::ANY { u64::MAX } else { 1 << (cpu.0 % 64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_taints_what_overlaps_it_on_its_cpu() {
        let mut gaps = Gaps::default();
        assert!(!gaps.taint(0, 99, u64::MAX));
        gaps.begin(Cpu(1));
        assert!(gaps.taint(10, 99, 0b10) && !gaps.taint(10, 99, 0b01));
        gaps.end(Cpu(1), 20);
        assert!(gaps.taint(19, 99, 0b11));
        assert!(!gaps.taint(20, 99, 0b10), "what begins with the event that ends it is known");
        assert!(!gaps.taint(5, 99, 0b101));
    }

    #[test]
    fn a_gap_inside_another_does_not_end_it() {
        let mut gaps = Gaps::default();
        (0..2).for_each(|_| gaps.begin(Cpu(1)));
        gaps.end(Cpu(1), 20);
        assert!(gaps.taint(30, 99, 0b10));
        gaps.end(Cpu(1), 40);
        assert!(gaps.taint(30, 99, 0b10) && !gaps.taint(40, 99, 0b10));
    }

    #[test]
    fn waits_may_be_unknown_where_runs_are_known() {
        let mut gaps = Gaps::default();
        gaps.waits_unknown(Cpu::ANY, 50);
        assert!(gaps.taint(49, 99, 0) && !gaps.taint(50, 99, u64::MAX));
        assert!(!gaps.taint_run(10, Cpu(0)));
        gaps.begin(Cpu(1));
        gaps.end(Cpu(1), 20);
        assert!(gaps.taint(49, 99, 0) && gaps.taint_run(10, Cpu(1)) && !gaps.taint_run(20, Cpu(1)));
    }

    #[test]
    fn a_gap_nobody_knows_the_cpu_of_taints_all() {
        let mut gaps = Gaps::default();
        gaps.begin(Cpu::ANY);
        gaps.end(Cpu::ANY, 50);
        gaps.begin(Cpu(3));
        gaps.end(Cpu(3), 40);
        assert!(gaps.taint(49, 99, 0) && !gaps.taint(50, 99, u64::MAX));
    }
}
