//! Wake-affine statistics: which wakers switch between wakees, how often per sleep, and for which wakings
//! `wake_wide()`, the kernel's rule against pulling wakees towards the waker, was true, as far as a trace shows it.

mod flips;

use super::affinity::{self, Affinity};
use super::facts::{Definition, TraceFacts};
use super::follow::{AfterEvent, Analysis, BeforeEvent, follow};
use super::lacking::lacking;
use super::request::AnalysisRequest;
use super::scope::Scope;
use flips::{Flips, is_known_rule, is_wide};
use schedlab_plan::InOrder;
use schedlab_trace::engine::{Engine, Task, TaskId};
use schedlab_trace::{Cpu, Kind, Kinds, Name, PerCpu, PerTask, Reader, Tid, TraceError, Wake, What};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};

/// Version of the JSON document.
pub const SCHEMA: &str = "schedlab/trace-affine/1";

/// Most distinct wakees that are counted for a waker.
pub const MAX_WAKEES: usize = 256;

/// The same for all wakers together.
const MAX_IN_ALL: usize = 1 << 20;

/// What the numbers mean.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        id: "flip/1",
        means: "a sched_waking by a thread that wakes another one than the last time, of the wakings that choose a CPU for \
                their wakee: not of itself, of a thread that is on its CPU still, of a real-time thread, nor of one that \
                may use one CPU only. A waking from an interrupt is charged to the thread that was interrupted, as the \
                kernel does",
    },
    Definition {
        id: "flip-cycle/1",
        means: "flips of a thread by its switches out to sleep: 0 for one that wakes a single partner, N for one that wakes N others each time",
    },
    Definition {
        id: "wide/1",
        means: "an estimate of wake_wide() by the rule of Linux 4.3 and newer: wakee_flips of waker and wakee, counted from \
                the trace and halved by a waking more than a second after the last halving, are at least the CPUs of a \
                last-level cache, and one of them that many times the other. A forked thread begins with its parent's; of \
                one that was there before the trace, flips are not known until it has halved them four times",
    },
];

/// The kinds of events that the analysis needs.
pub fn wanted() -> Kinds {
    affinity::KINDS.into_iter().fold(Kinds::TASKS, Kinds::with)
}

/// A waker, or all wakers of one name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AffineRow {
    /// The name.
    pub comm: String,
    /// The thread's id, where the row is one task.
    pub tid: Option<u32>,
    /// The CPU, where the row is its idle thread.
    pub idle_of: Option<u16>,
    /// Tasks in the row.
    pub tasks: u64,
    /// Wakings that chose a CPU.
    pub wakings: u64,
    /// Those that woke another wakee than the time before.
    pub flips: u64,
    /// Switched out to sleep; 0 for idle threads.
    pub sleeps: u64,
    /// Different wakees of a task, of the one with most of them; no more than [`MAX_WAKEES`] are distinguished.
    pub wakees: u64,
    /// The highest `wakee_flips` that a task reached, as far as the trace shows.
    pub most_flips: u32,
    /// Wakings for which the estimate says wide.
    pub wide: u64,
    /// Wakings without an estimate, because flips of the waker or the wakee before the trace matter.
    pub unsettled: u64,
}

/// Wakings that choose no CPU by the fair class, and so are no flips.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ExcludedWakings {
    /// The thread woke itself before it slept.
    pub itself: u64,
    /// The wakee was still on its CPU, or had never left it.
    pub on_cpu: u64,
    /// The wakee is not in the fair class.
    pub other_class: u64,
    /// The wakee may use one CPU only.
    pub pinned: u64,
    /// The waker, or its CPU, is not known yet: the trace begins while it runs.
    pub by_strangers: u64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Affine {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The trace.
    pub trace: TraceFacts,
    /// What the numbers mean.
    pub definitions: &'static [Definition],
    /// What was not recorded.
    pub lacking: Vec<String>,
    /// CPUs that share a last-level cache, the factor of the rule; without it there is no estimate.
    pub llc_size: Option<u32>,
    /// Assumed to be the number of CPUs.
    pub llc_size_assumed: bool,
    /// The kernel of the trace decides by this rule; otherwise nothing is estimated.
    pub rule_known: bool,
    /// The trace says which CPUs threads may use.
    pub affinity_known: bool,
    /// All that were asked for.
    pub total: AffineRow,
    /// Wakings that are not counted, by reason.
    #[serde(rename = "aside")]
    pub excluded: ExcludedWakings,
    /// Wakers, by number of wakings, most first.
    pub rows: Vec<AffineRow>,
    /// Rows that are not shown.
    pub more_rows: u64,
}

/// Reads a trace to its end.
/// The scope selects wakings by waker, time, the waker's CPU and the waker's priority; states are ignored.
pub fn affine(reader: &mut Reader, request: &AnalysisRequest) -> Result<Affine, TraceError> {
    let mut wakers = Wakers {
        scope: &request.scope,
        affinity: Affinity::new(reader),
        llc_size: request.llc_size.or(reader.info().cpus).filter(|size| *size > 0),
        rule_known: is_known_rule(&reader.info().release),
        tasks: PerTask::default(),
        idle: PerCpu::default(),
        wakees_stored: 0,
        retired: BTreeMap::new(),
        excluded: ExcludedWakings::default(),
    };
    let engine = follow(reader, &request.scope.tasks, &mut [&mut wakers])?;
    Ok(wakers.findings(&engine, reader, request))
}

/// What is known of a thread that wakes others or is woken.
#[derive(Debug, Clone, Default)]
struct Waker {
    flips: Flips,
    row: AffineRow,
    wakees: HashSet<u32>,
}

impl Waker {
    fn finished(&self, comm: &str, tid: Option<u32>) -> AffineRow {
        AffineRow { comm: comm.to_owned(), tid, tasks: 1, wakees: self.wakees.len() as u64, ..self.row.clone() }
    }
}

impl AffineRow {
    fn add(&mut self, other: &Self) {
        self.tasks += other.tasks;
        self.wakings += other.wakings;
        self.flips += other.flips;
        self.sleeps += other.sleeps;
        self.wakees = self.wakees.max(other.wakees);
        self.most_flips = self.most_flips.max(other.most_flips);
        self.wide += other.wide;
        self.unsettled += other.unsettled;
    }

    /// Flips per switch out to sleep; `None` for idle threads and for threads that never slept.
    pub fn flips_per_cycle(&self) -> Option<f64> {
        (self.sleeps > 0).then(|| self.flips as f64 / self.sleeps as f64)
    }

    /// Share of wide wakings among those known to be wide or not; `None` if there are none.
    pub fn wide_share(&self) -> Option<f64> {
        let settled = self.wakings - self.unsettled;
        (settled > 0).then(|| self.wide as f64 / settled as f64)
    }
}

struct Wakers<'a> {
    scope: &'a Scope,
    affinity: Affinity,
    llc_size: Option<u32>,
    rule_known: bool,
    tasks: PerTask<Waker>,
    /// The idle threads, by CPU: wakings by interrupts that arrive while an idle thread runs are charged to it.
    idle: PerCpu<Waker>,
    /// Total size of the wakee sets of all wakers.
    wakees_stored: usize,
    retired: BTreeMap<Name, AffineRow>,
    excluded: ExcludedWakings,
}

impl Wakers<'_> {
    fn waking(&mut self, after: &AfterEvent<'_>, wake: &Wake) {
        let Some(wakee) = after.woken else { return };
        let waker = if wake.waker == Tid::IDLE { None } else { after.engine.task(wake.waker) };
        let (cpu, selected) = (after.event.cpu, self.is_selected(after, waker));
        if let Some(excluded) = self.excluded(after, wake, wakee) {
            *excluded += u64::from(selected);
            return;
        }
        if waker.is_none() && (wake.waker != Tid::IDLE || cpu == Cpu::ANY) {
            self.excluded.by_strangers += u64::from(selected);
            return;
        }
        let wakee_flips = self.tasks.of(wakee).flips;
        let of_waker = match waker {
            Some(waker) => self.tasks.of(waker),
            None => self.idle.of(cpu),
        };
        let flip = of_waker.flips.record(wakee, after.event.ts);
        if !selected {
            return;
        }
        let (row, flips) = (&mut of_waker.row, of_waker.flips);
        row.wakings += 1;
        row.flips += u64::from(flip);
        row.most_flips = row.most_flips.max(flips.count);
        if flip && of_waker.wakees.len() < MAX_WAKEES && self.wakees_stored < MAX_IN_ALL {
            self.wakees_stored += usize::from(of_waker.wakees.insert(wakee.0));
        }
        let settled = self.rule_known && flips.is_settled() && wakee_flips.is_settled();
        match self.llc_size.filter(|_| settled) {
            None => row.unsettled += 1,
            Some(llc_size) => row.wide += u64::from(is_wide(flips, wakee_flips, llc_size)),
        }
    }

    /// Whether a waking is selected: by its waker, its time and its CPU.
    fn is_selected(&self, after: &AfterEvent<'_>, waker: Option<TaskId>) -> bool {
        let all = self.scope.tasks.is_open() && self.scope.tasks.within.is_none();
        let by_waker = match waker.map(|waker| after.known.get(waker)) {
            Some(known) => (all || known.chosen) && self.scope.has_prio(known.prio),
            None => all && self.scope.prios.is_empty(),
        };
        by_waker && self.scope.window.has(after.event.ts, after.event.cpu)
    }

    /// The counter for a waking for which the fair class chooses no CPU; `None` for others.
    fn excluded(&mut self, after: &AfterEvent<'_>, wake: &Wake, wakee: TaskId) -> Option<&mut u64> {
        if wake.tid == wake.waker {
            Some(&mut self.excluded.itself)
        } else if wake.prio.get().is_some_and(|prio| !(100..=139).contains(&prio)) {
            Some(&mut self.excluded.other_class)
        } else if !after.known.get(wakee).left_asleep() {
            Some(&mut self.excluded.on_cpu)
        } else if self.affinity.is_one(self.affinity.of(wake.tid)) {
            Some(&mut self.excluded.pinned)
        } else {
            None
        }
    }

    fn findings(self, engine: &Engine, reader: &Reader, request: &AnalysisRequest) -> Affine {
        let names = reader.names();
        let mut rows: Vec<AffineRow> = Vec::new();
        for (task, waker) in engine.tasks().iter().zip(self.tasks.all()) {
            rows.push(waker.finished(names.text(task.comm), Some(task.tid.0)));
        }
        let idle = self.idle.all().iter().enumerate();
        rows.extend(idle.map(|(cpu, waker)| AffineRow {
            idle_of: Some(cpu as u16),
            ..waker.finished(&format!("(idle of CPU {cpu})"), Some(0))
        }));
        rows.extend(self.retired.into_iter().map(|(comm, row)| AffineRow { comm: names.text(comm).to_owned(), ..row }));
        rows.retain(|row| row.wakings > 0);
        if !request.each_task {
            let mut by_name: BTreeMap<String, AffineRow> = BTreeMap::new();
            for row in rows {
                let sum = by_name.entry(row.comm.clone()).or_default();
                sum.idle_of = row.idle_of;
                sum.add(&row);
            }
            rows = by_name.into_iter().map(|(comm, row)| AffineRow { comm, ..row }).collect();
        }
        let mut total = AffineRow::default();
        rows.iter().for_each(|row| total.add(row));
        rows.in_order_by(|a, b| (b.wakings, &a.comm, a.tid).cmp(&(a.wakings, &b.comm, b.tid)));
        let more_rows = rows.len().saturating_sub(request.top.unwrap_or(usize::MAX)) as u64;
        rows.truncate(rows.len() - more_rows as usize);
        let needs = [
            (Kind::SchedSwitch, "it is not known which wakees slept, nor how often wakers did"),
            (Kind::SchedWaking, "it is not known who woke whom"),
        ];
        Affine {
            schema: SCHEMA,
            trace: TraceFacts::of(reader, engine, &request.scope),
            definitions: DEFINITIONS,
            lacking: lacking(reader.info().kinds, &needs),
            llc_size: self.llc_size,
            llc_size_assumed: request.llc_size.is_none(),
            rule_known: self.rule_known,
            affinity_known: self.affinity.is_known(),
            total,
            excluded: self.excluded,
            rows,
            more_rows,
        }
    }
}

impl Analysis for Wakers<'_> {
    fn take(&mut self, after: &AfterEvent<'_>) {
        match after.event.what {
            What::Waking(wake) => self.waking(after, &wake),
            What::Switch { .. } => {
                let Some(out) = after.prev.filter(|_| !after.class.is_runnable()) else { return };
                if self.scope.window.has(after.event.ts, after.event.cpu) {
                    self.tasks.of(out).row.sleeps += 1;
                }
            }
            What::Fork { parent, child, .. } => {
                self.affinity.take(after.event);
                let Some(child) = after.engine.task(child) else { return };
                let parent = after.engine.task(parent).map(|parent| self.tasks.of(parent).flips);
                self.tasks.of(child).flips = Flips::inherit(parent.unwrap_or_default());
            }
            _ => _ = self.affinity.take(after.event),
        }
    }

    fn retired(&mut self, _before: &BeforeEvent<'_>, task: TaskId, as_known: &Task) {
        let waker = std::mem::take(self.tasks.of(task));
        self.wakees_stored -= waker.wakees.len();
        if waker.row.wakings > 0 {
            self.retired.entry(as_known.comm).or_default().add(&waker.finished("", None));
        }
    }
}
