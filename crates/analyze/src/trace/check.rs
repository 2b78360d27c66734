//! Can this trace be trusted? For each CPU: how much of it was recorded, where events are missing, and for which
//! analyses its events are sufficient.

use super::completeness::{Completeness, Losses};
use super::facts::TraceFacts;
use super::map::Nobody;
use super::scope::Scope;
use schedlab_trace::engine::{Counts, Engine};
use schedlab_trace::{Cpu, Event, Kind, Kinds, Missing, ProblemKind, Reader, TraceError, What, for_each_batch};
use serde::Serialize;

/// Version of the JSON document.
pub const SCHEMA: &str = "schedlab/trace-check/1";

/// The kinds of events that it reads.
pub fn wanted() -> Kinds {
    Kinds::ALL
}

/// Most gaps that are listed with their times; the others are only counted.
const MAX_LISTED: usize = 100;

/// The events of one CPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CpuCheck {
    /// Its number; absent for events of no known CPU.
    pub cpu: Option<u16>,
    /// Events traced on it.
    pub events: u64,
    /// `sched_switch` events.
    pub switches: u64,
    /// Time of its first event, ns; 0 where it has none.
    pub first_at_ns: u64,
    /// Time of its last event, ns; 0 where it has none.
    pub last_at_ns: u64,
    /// Stretches with missing events.
    pub gaps: u64,
    /// Their length together, ns.
    pub gaps_ns: u64,
    /// Events that the recorder reported lost, if it counted them.
    pub lost: u64,
    /// Losses that it reported without a count.
    pub uncounted_losses: u64,
    /// Switches away from a thread that was not on the CPU, without a reported loss.
    pub chain_breaks: u64,
    /// Times its clock went back.
    pub clock_backs: u64,
}

/// A stretch of a CPU with missing events.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gap {
    /// The CPU; absent where it is not known.
    pub cpu: Option<u16>,
    /// From, ns.
    pub start_ns: u64,
    /// To, ns.
    pub end_ns: u64,
    /// `lost`, `chain` or `clock`.
    pub why: &'static str,
    /// Events lost; 0 if the number is not known.
    pub lost: u64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The trace.
    pub trace: TraceFacts,
    /// Whether events are missing.
    pub completeness: Completeness,
    /// What the recorder reported lost.
    pub losses: Losses,
    /// CPUs with events.
    pub cpus: Vec<CpuCheck>,
    /// Losses that the recorder reported: events if it counted them, otherwise losses; including those at unknown
    /// times, which are in no gap.
    pub reported_lost: u64,
    /// Parts of the file and records that could not be read.
    pub unread: u64,
    /// The longest gaps, in order.
    pub gaps: Vec<Gap>,
    /// The switches do not record the previous thread, so breaks in their chain cannot be detected.
    pub infers_prev: bool,
    /// Only some tasks were recorded, so a break in the chain of switches does not indicate a loss.
    pub only_some_tasks: bool,
    /// Events that came too late to be sorted; they are processed out of order.
    pub out_of_order: u64,
    /// What the recorded events are not sufficient for, with the event to record.
    pub lacking: Vec<String>,
}

/// Reads a trace to its end.
pub fn check(reader: &mut Reader) -> Result<Check, TraceError> {
    let (mut seen, mut engine) = (Seen::default(), Engine::default());
    for_each_batch(reader, |batch, classes| {
        engine.expect(batch);
        for event in batch {
            seen.take(event);
            engine.take_dyn(event, classes, &mut Nobody);
        }
    })?;
    engine.finish_dyn(&mut Nobody);
    let lacking = lacking(reader.info().kinds);
    let cpus: Vec<CpuCheck> = seen.cpus.into_iter().flatten().map(|open| open.without_noted(reader)).collect();
    let gaps = cpus.iter().map(|c| c.gaps).sum();
    let counts = Counts { events: seen.events, gaps, ..engine.counts() };
    let trace = TraceFacts::new(reader, (&counts, engine.span(reader.noted_in_all())), &|_| true, &Scope::default());
    let problems = reader.problems();
    let reported_lost = problems.count(ProblemKind::Lost);
    let unread = UNREAD.map(|kind| problems.count(kind)).iter().sum();
    let may_be_lost = problems.count(ProblemKind::MayBeLost);
    let infers_prev = reader.info().infers_prev;
    let [only_some_tasks, only_some_cpus] =
        [ProblemKind::SomeTasks, ProblemKind::SomeCpus].map(|kind| problems.count(kind) > 0);
    let out_of_order = problems.count(ProblemKind::Unsorted);
    let gaps = seen.gaps;
    let losses = Losses::new(&cpus, reported_lost);
    Ok(Check {
        schema: SCHEMA,
        trace,
        completeness: Completeness::new(
            losses,
            &cpus,
            out_of_order,
            unread + may_be_lost,
            [only_some_tasks, only_some_cpus],
        ),
        losses,
        cpus,
        reported_lost,
        unread,
        gaps,
        infers_prev,
        only_some_tasks,
        out_of_order,
        lacking,
    })
}

/// Problems that may mean missing events although no loss was reported.
const UNREAD: [ProblemKind; 6] = [
    ProblemKind::Truncated,
    ProblemKind::BadRecord,
    ProblemKind::OtherLayout,
    ProblemKind::ImpossibleNumber,
    ProblemKind::SkippedPart,
    ProblemKind::UnknownEvent,
];

fn lacking(kinds: Kinds) -> Vec<String> {
    let without_waking = match kinds.has(Kind::SchedWakeup) {
        true => "waits begin at sched_wakeup, without the placement",
        false => "nor was sched_wakeup, so only waits of preempted tasks are seen",
    };
    let needs = [
        (Kind::SchedSwitch, "nothing is known about tasks"),
        (Kind::SchedWaking, without_waking),
        (Kind::SchedWakeup, "placement and queueing cannot be separated"),
        (Kind::SchedWakeupNew, "the first wait of new threads is not seen"),
        (Kind::SchedMigrateTask, "moves between queues while waiting are not seen"),
        (Kind::SchedProcessFork, "reuse of a thread id is seen late"),
        (Kind::SchedProcessExit, "the end of a thread is seen only by its last switch"),
        (Kind::TaskRename, "renames are not seen"),
        (Kind::IrqHandlerEntry, "time in interrupts counts for what they interrupt"),
        (Kind::WorkqueueExecuteStart, "the work of kworkers is not known"),
    ];
    // Either event shows that a thread is new.
    let kinds = if kinds.has(Kind::TaskNewtask) { kinds.with(Kind::SchedProcessFork) } else { kinds };
    let is_said = |kind| kind == Kind::SchedWakeup && !kinds.has(Kind::SchedWaking);
    let lacks = needs.into_iter().filter(|(kind, _)| !kinds.has(*kind) && !is_said(*kind));
    lacks.map(|(kind, then)| format!("{} was not recorded: {then}", kind.name())).collect()
}

#[derive(Default)]
struct OpenCpu {
    check: CpuCheck,
    gap_since: Option<u64>,
    /// Time of its first event that cannot be perf's own record of a thread.
    begun_at: Option<u64>,
}

impl OpenCpu {
    /// What was seen of the CPU, without perf's own records of threads.
    fn without_noted(self, reader: &Reader) -> CpuCheck {
        let mut check = self.check;
        let noted = reader.noted(check.cpu.map_or(Cpu::ANY, Cpu)).min(check.events);
        check.events -= noted;
        check.first_at_ns = self.begun_at.filter(|_| noted > 0).unwrap_or(check.first_at_ns);
        check
    }
}

#[derive(Default)]
struct Seen {
    /// By number; the unknown CPU last.
    cpus: Vec<Option<OpenCpu>>,
    gaps: Vec<Gap>,
    events: u64,
}

impl Seen {
    fn take(&mut self, event: &Event) {
        let Event { ts, cpu, what } = *event;
        if matches!(what, What::WaitsUnknown { .. }) || event.is_from_before() && !what.is_mark() {
            // Names of threads that existed before the trace are not events of the trace.
            return;
        }
        let at = usize::from(cpu.0);
        if at >= self.cpus.len() {
            self.cpus.resize_with(at + 1, || None);
        }
        let number = (cpu != Cpu::ANY).then_some(cpu.0);
        let of_cpu = self.cpus[at].get_or_insert_with(|| OpenCpu {
            check: CpuCheck { cpu: number, ..CpuCheck::default() },
            ..OpenCpu::default()
        });
        match what {
            What::GapBegin => of_cpu.gap_since = Some(ts),
            What::GapEnd { missing, lost } => {
                let since = of_cpu.gap_since.take().unwrap_or(ts);
                let gap = of_cpu.check.close_gap((since, ts), missing, u64::from(lost));
                self.list(gap);
            }
            _ => {
                self.events += 1;
                if of_cpu.check.events == 0 {
                    of_cpu.check.first_at_ns = ts;
                }
                if of_cpu.begun_at.is_none() && event.begins_its_cpu() {
                    of_cpu.begun_at = Some(ts);
                }
                of_cpu.check.events += 1;
                of_cpu.check.switches += u64::from(matches!(what, What::Switch { .. }));
                of_cpu.check.last_at_ns = ts;
            }
        }
    }

    fn list(&mut self, gap: Gap) {
        let length = |g: &Gap| g.end_ns.saturating_sub(g.start_ns);
        let at = self.gaps.partition_point(|g| length(g) >= length(&gap));
        if at < MAX_LISTED {
            self.gaps.insert(at, gap);
            self.gaps.truncate(MAX_LISTED);
        }
    }
}

impl CpuCheck {
    fn close_gap(&mut self, (start, end): (u64, u64), missing: Missing, lost: u64) -> Gap {
        self.gaps += 1;
        self.gaps_ns += end.saturating_sub(start);
        self.lost += lost;
        self.uncounted_losses += u64::from(missing == Missing::Lost && lost == 0);
        let why = match missing {
            Missing::Lost => "lost",
            Missing::Chain => "chain",
            Missing::Clock => "clock",
        };
        self.chain_breaks += u64::from(missing == Missing::Chain);
        self.clock_backs += u64::from(missing == Missing::Clock);
        Gap { cpu: self.cpu, start_ns: start, end_ns: end, why, lost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_event_of_a_new_thread_is_enough() {
        let says = |kinds: &[Kind]| lacking(Kinds::of(kinds)).iter().any(|s| s.starts_with("sched_process_fork"));
        assert!(says(&[Kind::SchedSwitch]));
        assert!(!says(&[Kind::SchedSwitch, Kind::SchedProcessFork]) && !says(&[Kind::SchedSwitch, Kind::TaskNewtask]));
    }

    #[test]
    fn without_wakeups_no_wait_is_said_to_begin_at_one() {
        let says = |kinds: &[Kind]| lacking(Kinds::of(kinds)).into_iter().filter(|s| s.contains("sched_wak"));
        let [neither, new] = says(&[Kind::SchedSwitch]).collect::<Vec<_>>().try_into().expect("two sentences");
        assert!(neither.starts_with("sched_waking was not recorded: nor was sched_wakeup"), "{neither}");
        assert!(new.starts_with("sched_wakeup_new"), "{new}");
        let begins = says(&[Kind::SchedSwitch, Kind::SchedWakeup]).next().unwrap();
        assert!(begins.contains("waits begin at sched_wakeup"), "{begins}");
    }
}
