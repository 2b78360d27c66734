//! The recent history of each CPU, by which a wait is divided when it ends. The history is bounded; anything older is
//! reported as unknown, never guessed.

use super::recent::Recent;
use schedlab_trace::engine::TaskId;
use schedlab_trace::{Cpu, Event, Name, PerCpu, Prio, What};

/// Most changes that are kept, over all CPUs: 64 MiB.
const MAX_MARKS: usize = 1 << 22;

/// Most and fewest entries for one CPU: powers of two.
const MAX_OF_A_CPU: usize = 1 << 16;
const MIN_OF_A_CPU: usize = 1 << 12;

/// A thread on a CPU, with its name and priority at the switch-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OnCpu {
    pub(super) task: TaskId,
    pub(super) comm: Name,
    pub(super) prio: Prio,
}

/// What a CPU does; threads are identified by `T`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum CpuActivity<T = OnCpu> {
    /// Not known.
    Unknown,
    /// Nothing.
    Idle,
    /// A thread has it.
    Task(T),
    /// A hard interrupt, by its line and its handler.
    Irq(u32, Name),
    /// A soft interrupt, by its vector.
    Softirq(u32),
}

/// The recent history of one CPU: changes, the latest last.
#[derive(Debug)]
struct CpuHistory {
    marks: Recent<(u64, CpuActivity)>,
    /// The thread that has the CPU when no interrupt runs, and the time of its switch-in.
    thread: CpuActivity,
    switched: u64,
    hard: Option<(u32, Name)>,
    soft: Option<u32>,
}

impl CpuHistory {
    fn new(most: usize) -> Self {
        Self { marks: Recent::new(most), thread: CpuActivity::Unknown, switched: 0, hard: None, soft: None }
    }
}

/// The recent histories of all CPUs.
#[derive(Debug, Default)]
pub(super) struct CpuHistories(Vec<CpuHistory>);

impl CpuHistories {
    /// A switch to a thread; `None` is the idle thread.
    #[inline]
    pub(super) fn switch(&mut self, ts: u64, cpu: Cpu, to: Option<OnCpu>) {
        let lane = self.lane(cpu);
        (lane.thread, lane.switched) = (to.map_or(CpuActivity::Idle, CpuActivity::Task), ts);
        // If an interrupt is still open at a switch, its exit event was lost.
        (lane.hard, lane.soft) = (None, None);
        lane.mark(ts);
    }

    /// Processes interrupts and gaps; other events change nothing.
    pub(super) fn take_rare(&mut self, event: &Event) {
        if event.what == What::GapBegin && event.cpu == Cpu::ANY {
            return self.0.iter_mut().for_each(|lane| lane.lose(event.ts));
        }
        if event.cpu == Cpu::ANY {
            return;
        }
        match event.what {
            What::IrqEntry { irq, name } => self.lane(event.cpu).hard = Some((irq, name)),
            What::IrqExit { .. } => self.lane(event.cpu).hard = None,
            What::SoftirqEntry { vec } => self.lane(event.cpu).soft = Some(vec),
            What::SoftirqExit { .. } => self.lane(event.cpu).soft = None,
            What::GapBegin => return self.lane(event.cpu).lose(event.ts),
            _ => return,
        }
        self.lane(event.cpu).mark(event.ts);
    }

    /// What a CPU does now.
    pub(super) fn now(&self, cpu: Cpu) -> CpuActivity {
        self.0.get(usize::from(cpu.0)).map_or(CpuActivity::Unknown, CpuHistory::does)
    }

    /// Time of the last switch on a CPU, ns; 0 if it is not known.
    pub(super) fn switched(&self, cpu: Cpu) -> u64 {
        self.0.get(usize::from(cpu.0)).map_or(0, |lane| lane.switched)
    }

    /// Calls `each` with what a CPU did between two times, the latest first, without holes.
    #[inline]
    pub(super) fn walk(&self, cpu: Cpu, from: u64, to: u64, mut each: impl FnMut(u64, u64, CpuActivity)) {
        let mut end = to;
        if let Some(CpuHistory { marks, .. }) = self.0.get(usize::from(cpu.0)) {
            let mut serial = marks.next();
            while end > from && serial > 0 {
                serial -= 1;
                let Some(&(ts, does)) = marks.get(serial) else { break };
                if ts < end {
                    let start = from.max(ts);
                    each(start, end, does);
                    end = start;
                }
            }
        }
        if end > from {
            each(from, end, CpuActivity::Unknown);
        }
    }

    #[inline]
    fn lane(&mut self, cpu: Cpu) -> &mut CpuHistory {
        let at = usize::from(cpu.0);
        if at >= self.0.len() {
            self.meet(at);
        }
        &mut self.0[at]
    }

    /// Adds a CPU: the more CPUs there are, the shorter the history of each.
    #[cold]
    fn meet(&mut self, cpu: usize) {
        let share = (MAX_MARKS / (cpu + 1)).clamp(MIN_OF_A_CPU, MAX_OF_A_CPU);
        let most = 1 << share.ilog2();
        self.0.iter_mut().for_each(|lane| lane.marks.keep(most));
        self.0.resize_with(cpu + 1, || CpuHistory::new(most));
    }
}

impl CpuHistory {
    fn does(&self) -> CpuActivity {
        match (self.hard, self.soft) {
            (Some((irq, name)), _) => CpuActivity::Irq(irq, name),
            (None, Some(vec)) => CpuActivity::Softirq(vec),
            (None, None) => self.thread,
        }
    }

    fn lose(&mut self, ts: u64) {
        (self.thread, self.hard, self.soft) = (CpuActivity::Unknown, None, None);
        self.mark(ts);
    }

    #[inline]
    fn mark(&mut self, ts: u64) {
        // A gap is recorded at its beginning, which may be earlier than events that have been processed since.
        let ts = ts.max(self.marks.last().map_or(0, |(last, _)| *last));
        self.marks.push((ts, self.does()));
    }
}

/// How long at least one CPU has been idle: the time in which a thread could have run elsewhere.
#[derive(Debug)]
pub(super) struct IdleTimes {
    idle: PerCpu<bool>,
    number: u32,
    /// Changes between at least one idle CPU and none: the time, the total idle time until then, and whether some are
    /// idle.
    marks: Recent<(u64, u64, bool)>,
}

impl Default for IdleTimes {
    fn default() -> Self {
        Self { idle: PerCpu::default(), number: 0, marks: Recent::new(MAX_OF_A_CPU) }
    }
}

impl IdleTimes {
    /// A CPU became idle, or it is not idle or not known to be.
    #[inline]
    pub(super) fn set(&mut self, ts: u64, cpu: Cpu, idle: bool) {
        if cpu == Cpu::ANY || std::mem::replace(self.idle.of(cpu), idle) == idle {
            return;
        }
        let some = self.number > 0;
        self.number = if idle { self.number + 1 } else { self.number - 1 };
        if some != (self.number > 0) {
            let until = self.at(ts).unwrap_or(0);
            self.marks.push((ts, until, self.number > 0));
        }
    }

    /// All events are lost from here on.
    pub(super) fn lose_all(&mut self, ts: u64) {
        (0..self.idle.all().len()).for_each(|cpu| self.set(ts, Cpu(cpu as u16), false));
    }

    /// The total time with an idle CPU up to `ts`; `None` if that is older than the history.
    #[inline]
    pub(super) fn at(&self, ts: u64) -> Option<u64> {
        match self.marks.newest_where(|(since, ..)| *since <= ts) {
            Some((since, until, some)) => Some(if *some { until + (ts - since) } else { *until }),
            // Before the first change, no CPU was known to be idle.
            None => (self.marks.first() == 0).then_some(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(number: u32) -> OnCpu {
        OnCpu { task: TaskId(number), comm: Name::UNKNOWN, prio: Prio::UNKNOWN }
    }

    fn did(lanes: &CpuHistories, from: u64, to: u64) -> Vec<(u64, u64, CpuActivity)> {
        let mut did = Vec::new();
        lanes.walk(Cpu(0), from, to, |start, end, does| did.push((start, end, does)));
        did
    }

    #[test]
    fn interrupts_are_cut_out_of_what_they_interrupt() {
        let mut lanes = CpuHistories::default();
        let rare = |ts, what| Event { ts, cpu: Cpu(0), what };
        lanes.switch(10, Cpu(0), Some(thread(1)));
        lanes.take_rare(&rare(12, What::SoftirqEntry { vec: 3 }));
        lanes.take_rare(&rare(13, What::IrqEntry { irq: 7, name: Name::UNKNOWN }));
        lanes.take_rare(&rare(14, What::IrqExit { irq: 7 }));
        lanes.take_rare(&rare(16, What::SoftirqExit { vec: 3 }));
        lanes.switch(20, Cpu(0), None);
        let irq = CpuActivity::Irq(7, Name::UNKNOWN);
        let parts = [
            (20, 22, CpuActivity::Idle),
            (16, 20, CpuActivity::Task(thread(1))),
            (14, 16, CpuActivity::Softirq(3)),
            (13, 14, irq),
            (12, 13, CpuActivity::Softirq(3)),
            (10, 12, CpuActivity::Task(thread(1))),
            (5, 10, CpuActivity::Unknown),
        ];
        assert_eq!(did(&lanes, 5, 22), parts);
        assert_eq!(did(&lanes, 17, 18), [(17, 18, CpuActivity::Task(thread(1)))]);
        assert_eq!(did(&lanes, 20, 20), []);
        lanes.take_rare(&rare(25, What::GapBegin));
        assert_eq!(did(&lanes, 24, 30), [(25, 30, CpuActivity::Unknown), (24, 25, CpuActivity::Idle)]);
        assert_eq!(lanes.now(Cpu(9)), CpuActivity::Unknown);
    }

    #[test]
    fn what_is_forgotten_is_unknown() {
        let mut lanes = CpuHistories::default();
        for ts in 0..2 * MAX_OF_A_CPU as u64 {
            lanes.switch(ts, Cpu(0), Some(thread((ts % 2) as u32)));
        }
        let from = MAX_OF_A_CPU as u64 - 5;
        let (last_start, last_end, last) = *did(&lanes, from, from + 100).last().unwrap();
        assert_eq!((last_start, last_end, last), (from, MAX_OF_A_CPU as u64, CpuActivity::Unknown));
    }

    #[test]
    fn some_cpu_is_idle_while_any_is() {
        let mut idle = IdleTimes::default();
        for (ts, cpu, is) in
            [(10, 0, true), (20, 1, true), (30, 0, false), (40, 1, false), (60, 0, true), (65, 0, true)]
        {
            idle.set(ts, Cpu(cpu), is);
        }
        let at = [5, 10, 25, 40, 50, 60, 75].map(|ts| idle.at(ts).unwrap());
        assert_eq!(at, [0, 0, 15, 30, 30, 30, 45]);
        idle.lose_all(80);
        assert_eq!(idle.at(100), Some(50));
    }
}
