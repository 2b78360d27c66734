//! Alternates two arms' settings on running tasks and counts operations per window.
//!
//! A window begins when its settings are in force on every task; its first part is not counted, because the run queue
//! still holds decisions made under the other arm. Counting reads the tasks' own operation counters, so the timed loops
//! know nothing of windows. The controller runs under SCHED_FIFO if it may: a late boundary only shortens a window, and
//! the recorded instants are the actual ones, not the planned ones.

use schedlab_bench::{DelayCell, HerdTask, Progress};
use schedlab_plan::{Applied, Policy, Setting, SwitchbackOrder, Window};
use schedlab_sys::clock::monotonic_ns;
use schedlab_tune::{Roots, task};

/// Where the current window stands.
enum Stage {
    /// Settings are applied; nothing is counted yet.
    Settling,
    /// Operations are counted from this value on.
    Counting { from_operations: u64 },
}

/// The state of the alternation.
pub(super) struct Switchback {
    order: SwitchbackOrder,
    /// Settings to write for an A window and for a B window: every key of either arm, so that each undoes the other.
    sides: [Vec<Setting>; 2],
    tids: Vec<u32>,
    delay: Option<DelayCell>,
    t0_ns: u64,
    window: usize,
    stage: Stage,
    current: Option<Window>,
    windows: Vec<Window>,
    failures: Vec<Applied>,
}

impl Switchback {
    pub(super) fn new(order: SwitchbackOrder) -> Self {
        let sides = [complete(&order.a, &order.b), complete(&order.b, &order.a)];
        let windows = Vec::with_capacity(2 * order.b_first.len());
        Self {
            order,
            sides,
            tids: Vec::new(),
            delay: None,
            t0_ns: 0,
            window: 0,
            stage: Stage::Settling,
            current: None,
            windows,
            failures: Vec::new(),
        }
    }

    /// Tries both sides on every task, with read-back: a setting that has no effect must be known before t0.
    pub(super) fn herd_ready(&mut self, tasks: &[HerdTask]) {
        self.tids = tasks.iter().map(|t| t.tid).collect();
        for side in [1, 0] {
            for &tid in &self.tids {
                for applied in task::apply_to_tid(tid, &self.sides[side]) {
                    if applied.not_applied.is_some() && !self.failures.iter().any(|f| f.setting == applied.setting) {
                        self.failures.push(applied);
                    }
                }
            }
        }
    }

    pub(super) fn delay_cell(&mut self, cell: DelayCell) {
        self.delay = Some(cell);
    }

    pub(super) fn released(&mut self, t0_ns: u64) {
        self.t0_ns = t0_ns;
        // Refused without rights; then windows begin a little later, as recorded.
        let _ = task::set_tid(0, &Setting::Policy(Policy::Fifo(1)));
    }

    /// One step of the state machine; returns the next wanted instant, CLOCK_MONOTONIC ns.
    pub(super) fn tick(&mut self, progress: &Progress<'_>) -> u64 {
        let now = monotonic_ns();
        if self.current.is_none() {
            return self.begin_window();
        }
        let window = self.current.as_mut().expect("checked above");
        let window_end = self.t0_ns + (self.window as u64 + 1) * self.order.window_ns;
        match self.stage {
            Stage::Settling => {
                let counted_from = window.start_ns + (self.order.window_ns as f64 * self.order.discard_share) as u64;
                if now < self.t0_ns + counted_from {
                    return self.t0_ns + counted_from;
                }
                window.counted_from_ns = now - self.t0_ns;
                self.stage = Stage::Counting { from_operations: progress.operations() };
                window_end
            }
            Stage::Counting { .. } if now < window_end => window_end,
            Stage::Counting { from_operations } => {
                window.operations = progress.operations() - from_operations;
                window.end_ns = monotonic_ns() - self.t0_ns;
                // A controller that came late counted too little for a comparison with full windows.
                let least_ns = self.order.window_ns as f64 * (1.0 - self.order.discard_share) / 2.0;
                let window = self.current.take().filter(|w| (w.end_ns - w.counted_from_ns) as f64 >= least_ns);
                self.windows.extend(window);
                // The window that contains the present instant: a delay must not shorten the following windows.
                let passed = (monotonic_ns() - self.t0_ns) / self.order.window_ns;
                self.window = (self.window + 1).max(passed as usize);
                self.begin_window()
            }
        }
    }

    fn begin_window(&mut self) -> u64 {
        let pair = self.window / 2;
        let Some(&b_first) = self.order.b_first.get(pair) else { return u64::MAX };
        let is_b = b_first != (self.window % 2 == 1);
        self.put_in_force(is_b);
        let start_ns = monotonic_ns() - self.t0_ns;
        self.current = Some(Window { pair: pair as u32, is_b, start_ns, counted_from_ns: 0, end_ns: 0, operations: 0 });
        self.stage = Stage::Settling;
        self.t0_ns + start_ns + (self.order.window_ns as f64 * self.order.discard_share) as u64
    }

    fn put_in_force(&mut self, is_b: bool) {
        for setting in &self.sides[usize::from(is_b)] {
            match setting {
                Setting::PlantSpin { ns } => {
                    if let Some(delay) = &self.delay {
                        delay.set_ns(*ns as f64);
                    }
                }
                Setting::Sysctl { .. } => {
                    // Journalled by the process that ordered the trial; here only the value changes.
                    if let Err(why) = schedlab_tune::write_sysctl(&Roots::default(), setting) {
                        self.failures.push(Applied {
                            setting: setting.clone(),
                            effective: String::new(),
                            not_applied: Some(why.to_string()),
                        });
                    }
                }
                per_task => {
                    for &tid in &self.tids {
                        let _ = task::set_tid(tid, per_task);
                    }
                }
            }
        }
    }

    /// Returns to A's settings and to an ordinary policy.
    pub(super) fn stopped(&mut self) {
        self.put_in_force(false);
        let _ = task::set_tid(0, &Setting::Policy(Policy::Other));
    }

    /// The complete windows, and settings that had no effect.
    pub(super) fn finish(self) -> (Vec<Window>, Vec<Applied>) {
        (self.windows, self.failures)
    }
}

/// `own`, and for each key that only the other arm names, the value to return to.
fn complete(own: &[Setting], other: &[Setting]) -> Vec<Setting> {
    let missing = other.iter().filter(|o| !own.iter().any(|s| s.key() == o.key()));
    own.iter().cloned().chain(missing.map(task::default_of)).collect()
}
