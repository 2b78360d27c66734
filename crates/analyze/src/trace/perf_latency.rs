//! `perf sched latency` by perf's own rules, for a comparison number by number.
//!
//! The rules are those of perf 6.4 and newer (earlier versions drop most wakings): a thread's last *atom* is asleep,
//! waiting, or done; waits after a preemption and after a wakeup are not distinguished; a waking is dropped unless the
//! atom is asleep; a thread first seen at its switch-in has waited 0 ns; nothing is censored. The correct rules are in
//! [`super::latency`](super::latency()).

use schedlab_plan::InOrder;
use schedlab_trace::{Cpu, Event, Kind, Kinds, Reader, Tid, TraceError, What};
use std::collections::BTreeMap;

/// The kinds of events that perf's analysis needs: its run times are those of `sched_stat_runtime`.
pub fn wanted() -> Kinds {
    Kinds::TASKS.with(Kind::SchedStatRuntime)
}

/// A row of perf's table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PerfRow {
    /// The thread's last name.
    pub comm: String,
    /// Its id; for threads merged by name, that of the first.
    pub tid: u32,
    /// Threads in the row.
    pub merged: u64,
    /// From `sched_stat_runtime`; if the trace has none, from switch-in to switch-out, ns.
    pub runtime_ns: u64,
    /// Number of delays.
    pub count: u64,
    /// Sum of the delays, ns.
    pub total_ns: u64,
    /// The longest delay, ns.
    pub max_ns: u64,
    /// Start of the longest delay, ns.
    pub max_start_ns: u64,
    /// End of the longest delay, ns.
    pub max_end_ns: u64,
}

/// The result of `perf sched latency`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PerfLatency {
    /// Rows in perf's default order, without idle threads and rows without a delay.
    pub rows: Vec<PerfRow>,
    /// Wakeups that found their thread asleep.
    pub timestamps: u64,
    /// Those of them that are earlier than the thread's switch-out.
    pub unordered: u64,
    /// Number of events that the recorder lost.
    pub lost: u64,
    /// Number of records that reported these losses.
    pub lost_chunks: u64,
    /// All records of the file, of any type; for formats other than perf.data, its events.
    pub records: u64,
    /// Whether run times come from switches because there is no `sched_stat_runtime`; perf prints 0 there.
    pub runs_by_switches: bool,
    /// Switches away from a thread that was not current.
    pub switch_bugs: u64,
}

/// Reads a trace to its end; `each_task` is perf's `-p`.
pub fn perf_latency(reader: &mut Reader, each_task: bool) -> Result<PerfLatency, TraceError> {
    let kinds = reader.info().kinds;
    let mut machine = Machine { waking: kinds.has(Kind::SchedWaking), ..Machine::default() };
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch)? {
        for event in &batch {
            machine.take(event, reader);
        }
    }
    if let Some(counts) = reader.record_counts() {
        let found = &mut machine.found;
        (found.records, found.lost, found.lost_chunks) = (counts.records, counts.lost, counts.losses);
    }
    Ok(machine.finish(each_task))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum AtomState {
    #[default]
    Sleeping,
    Waiting,
    Done,
}

/// A thread's last atom and the sums over earlier ones.
#[derive(Debug, Clone, Default)]
struct Atoms {
    known: bool,
    /// Time of the last switch-in, if it was seen.
    in_ns: Option<u64>,
    /// Time on a CPU from switch to switch, ns.
    switched_ns: u64,
    state: AtomState,
    out_ns: u64,
    wake_ns: u64,
    row: PerfRow,
}

/// A thread as perf sees it: its name comes from COMM and FORK records, never from a tracepoint.
#[derive(Debug, Clone)]
struct Thread {
    tid: Tid,
    comm: Option<String>,
    atoms: Atoms,
}

#[derive(Debug, Default)]
struct Machine {
    /// Whether wakings are traced, so that wakeups are ignored.
    waking: bool,
    has_runtimes: bool,
    threads: Vec<Thread>,
    /// The last thread of each id: its index in `threads` plus one, or 0.
    by_tid: Vec<u32>,
    /// The thread on each CPU.
    current: Vec<Option<Tid>>,
    found: PerfLatency,
}

impl Machine {
    fn take(&mut self, event: &Event, reader: &Reader) {
        let ts = event.ts;
        self.found.records += u64::from(!event.is_from_before());
        match event.what {
            What::Switch { prev, next, prev_state, .. } => {
                let runnable = reader.states().class(prev_state).is_runnable();
                let follows = self.switch(event.cpu, prev, next);
                let atoms = self.atoms(prev);
                // After a missing switch the start is not known.
                let since = atoms.in_ns.take().filter(|_| follows);
                atoms.switched_ns += since.map_or(0, |since| ts.saturating_sub(since));
                atoms.sched_out(ts, runnable);
                let atoms = self.atoms(next);
                if !atoms.known {
                    atoms.sched_out(ts, true);
                }
                atoms.in_ns = Some(ts);
                atoms.sched_in(ts);
            }
            What::Waking(wake) | What::WakeupNew(wake) => {
                // A text trace does not announce which events it contains.
                self.waking |= matches!(event.what, What::Waking(_));
                self.wakeup(wake.tid, ts);
            }
            What::Wakeup(wake) if !self.waking => self.wakeup(wake.tid, ts),
            What::StatRuntime { tid, runtime, .. } => {
                self.has_runtimes = true;
                let atoms = self.atoms(tid);
                if !atoms.known {
                    atoms.sched_out(ts, true);
                }
                atoms.row.runtime_ns += runtime.get();
            }
            // With the idle thread's id, the kernel does not say whose name it is.
            What::Comm { tid, comm } if tid != Tid::IDLE => {
                self.thread(tid).comm = Some(reader.names().text(comm).to_owned());
            }
            What::Fork { parent, child, .. } => {
                let comm = self.thread(parent).comm.clone();
                self.begin(child).comm = comm;
            }
            What::GapEnd { lost, .. } => {
                self.found.lost += u64::from(lost);
                self.found.lost_chunks += u64::from(lost > 0);
            }
            _ => {}
        }
    }

    /// A switch away from a thread that is not current is what perf calls a bug. Returns whether `prev` was current.
    fn switch(&mut self, cpu: Cpu, prev: Tid, next: Tid) -> bool {
        let at = usize::from(cpu.0);
        if at >= self.current.len() {
            self.current.resize(at + 1, None);
        }
        let before = self.current[at].replace(next);
        self.found.switch_bugs += u64::from(before.is_some_and(|current| current != prev));
        before == Some(prev)
    }

    fn thread(&mut self, tid: Tid) -> &mut Thread {
        match self.by_tid.get(tid.0 as usize).copied() {
            Some(number @ 1..) => &mut self.threads[number as usize - 1],
            _ => self.begin(tid),
        }
    }

    /// From now on another thread has the id; the row of the previous one stays.
    fn begin(&mut self, tid: Tid) -> &mut Thread {
        let at = tid.0 as usize;
        if at >= self.by_tid.len() {
            self.by_tid.resize(at + 1, 0);
        }
        self.threads.push(Thread { tid, comm: None, atoms: Atoms::default() });
        self.by_tid[at] = self.threads.len() as u32;
        let last = self.threads.len() - 1;
        &mut self.threads[last]
    }

    fn atoms(&mut self, tid: Tid) -> &mut Atoms {
        &mut self.thread(tid).atoms
    }

    fn wakeup(&mut self, tid: Tid, ts: u64) {
        let atoms = self.atoms(tid);
        if !atoms.known {
            atoms.sched_out(ts, false);
        }
        if atoms.state != AtomState::Sleeping {
            return;
        }
        let unordered = atoms.out_ns > ts;
        if !unordered {
            (atoms.state, atoms.wake_ns) = (AtomState::Waiting, ts);
        }
        self.found.timestamps += 1;
        self.found.unordered += u64::from(unordered);
    }

    fn finish(mut self, each_task: bool) -> PerfLatency {
        let by_switches = !self.has_runtimes;
        self.found.runs_by_switches = by_switches;
        let rows = self.threads.into_iter().filter(|thread| thread.atoms.known).map(|thread| PerfRow {
            comm: match thread.comm {
                _ if thread.tid == Tid::IDLE => "swapper".into(),
                Some(comm) => comm,
                None => format!(":{}", thread.tid.0),
            },
            tid: thread.tid.0,
            merged: 1,
            runtime_ns: if by_switches { thread.atoms.switched_ns } else { thread.atoms.row.runtime_ns },
            ..thread.atoms.row
        });
        let mut merged: BTreeMap<(String, usize), PerfRow> = BTreeMap::new();
        for (number, row) in rows.enumerate() {
            let key = (row.comm.clone(), if each_task { number } else { 0 });
            merged.entry(key).and_modify(|sum| sum.merge(&row)).or_insert(row);
        }
        let mut rows: Vec<PerfRow> = merged.into_values().filter(|r| r.count > 0 && r.comm != "swapper").collect();
        let key = |row: &PerfRow| (row.total_ns / row.count, row.max_ns, row.count, row.runtime_ns);
        rows.in_order_by_key(|row| std::cmp::Reverse(key(row)));
        self.found.rows = rows;
        self.found
    }
}

impl Atoms {
    /// Starts a new atom.
    fn sched_out(&mut self, ts: u64, runnable: bool) {
        self.known = true;
        (self.state, self.out_ns) = (AtomState::Sleeping, ts);
        if runnable {
            (self.state, self.wake_ns) = (AtomState::Waiting, ts);
        }
    }

    fn sched_in(&mut self, ts: u64) {
        if self.state != AtomState::Waiting {
            return;
        }
        self.state = AtomState::Done;
        // The waking is later than the switch-in: perf ignores the atom.
        let Some(delay) = ts.checked_sub(self.wake_ns) else { return };
        let row = &mut self.row;
        row.total_ns += delay;
        row.count += 1;
        if delay > row.max_ns {
            (row.max_ns, row.max_start_ns, row.max_end_ns) = (delay, self.wake_ns, ts);
        }
    }
}

impl PerfRow {
    fn merge(&mut self, other: &Self) {
        self.merged += other.merged;
        self.runtime_ns += other.runtime_ns;
        self.count += other.count;
        self.total_ns += other.total_ns;
        if other.max_ns > self.max_ns {
            (self.max_ns, self.max_start_ns, self.max_end_ns) = (other.max_ns, other.max_start_ns, other.max_end_ns);
        }
    }
}
