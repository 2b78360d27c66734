//! The CPUs that each thread may use, if the trace shows them. Our own recordings contain them for their start and
//! their end. In between, a thread's affinity may have changed. If system calls and moves between cgroups were
//! recorded, the time of the change is known; otherwise start and end may differ, and the affinity in between is
//! unknown. A child inherits the set of its parent, even if it is unknown.

use super::processes::Processes;
use schedlab_plan::units::CpuList;
use schedlab_trace::recording::{Moment, Snapshot, ThreadState};
use schedlab_trace::{Cpu, Event, Kind, Kinds, Reader, Syscall, Tid, What};
use std::collections::{BTreeMap, HashMap};

/// Most distinct sets of CPUs; if a thread has yet another set, it counts as unknown.
const MAX_SETS: usize = 64;

/// Number of a set of CPUs. Number 0 is all CPUs.
pub(super) type SetId = u16;

/// The thread may use any CPU.
pub(super) const ALL: SetId = 0;

/// Not known: the thread may be able to use any CPU.
pub(super) const UNKNOWN: SetId = SetId::MAX;

/// The kinds of events that show when a set changes.
pub(super) const KINDS: [Kind; 2] = [Kind::SysEnter, Kind::CgroupAttachTask];

/// The sets of CPUs of all threads.
#[derive(Debug, Default)]
pub(super) struct Affinity {
    /// By number; the first is empty and stands for all.
    sets: Vec<Vec<u32>>,
    known: bool,
    /// By thread id; threads that are missing have an unknown set.
    now: HashMap<u32, SetId>,
    ahead: Ahead,
}

/// What happens later in the trace, as far as the recording could be read ahead.
#[derive(Debug, Default)]
struct Ahead {
    /// The set of each thread at the end.
    end: HashMap<u32, SetId>,
    /// The same for threads that already existed at the start; other threads may have reused an id.
    since_start: HashMap<u32, SetId>,
    /// Time of the last change of each thread's set, and of the last move of each process.
    last_change: HashMap<u32, u64>,
    last_move: HashMap<u32, u64>,
    /// Time of the fork of each thread; the last one if an id was reused.
    born: HashMap<u32, u64>,
    processes: Processes,
    /// Whether forks were recorded, so that a reused id is recognized.
    forks: bool,
    /// The number of sched_setaffinity(2) on the trace's architecture, if it is known.
    setaffinity: Option<Syscall>,
}

impl Affinity {
    /// Prepares for a trace that is about to be read. Reads a recording once in full, which costs little if no system
    /// calls were recorded.
    pub(super) fn new(reader: &Reader) -> Self {
        let kinds = reader.info().kinds;
        let forks = kinds.has(Kind::SchedProcessFork) || kinds.has(Kind::TaskNewtask);
        let setaffinity = Syscall::named("sched_setaffinity", &reader.info().arch);
        let mut ahead = Ahead { setaffinity, forks, ..Ahead::default() };
        let mut note = |event: &Event| ahead.note(event);
        let seen = reader.recording().and_then(|recording| recording.ahead(Kinds::of(&KINDS), &mut note));
        let seen = seen.as_deref().unwrap_or(reader.snapshots());
        let at = |moment| seen.iter().find(|s| s.moment == moment).map(|snapshot| snapshot.threads.as_slice());
        Self::between(at(Moment::Start), at(Moment::End).unwrap_or_default(), ahead)
    }

    /// From the threads at the start, those at the end (empty if they are not known), and the later changes.
    fn between(start: Option<&[ThreadState]>, end: &[ThreadState], ahead: Ahead) -> Self {
        let known = start.is_some();
        let start = start.unwrap_or_default();
        let mut affinity = Self { sets: vec![Vec::new()], known, ahead, ..Self::default() };
        // The thread with the largest set is assumed to be allowed on all CPUs of this machine.
        let of_all = start.iter().chain(end).filter_map(|thread| cpus(&thread.cpus_allowed));
        let widest = of_all.map(|cpus| cpus.len()).max().unwrap_or(0);
        let mut numbers = BTreeMap::new();
        let mut number = |thread: &ThreadState| set_of(thread, widest, &mut affinity.sets, &mut numbers);
        let before: HashMap<u32, (u64, SetId)> =
            start.iter().map(|thread| (thread.tid, (thread.start_boot_ns, number(thread)))).collect();
        let ahead = &mut affinity.ahead;
        for thread in end {
            let set = number(thread);
            ahead.end.insert(thread.tid, set);
            if before.get(&thread.tid).is_some_and(|(born, _)| *born == thread.start_boot_ns) {
                ahead.since_start.insert(thread.tid, set);
            }
        }
        ahead.processes.learn(start);
        ahead.processes.learn(end);
        for (tid, (_, set)) in before {
            let end = ahead.since_start.get(&tid).copied();
            // Start and end differ and no change in between was traced, so the time of the change is not known. Without
            // forks, neither is the time at which another thread got the id.
            let unseen = end.is_some_and(|end| end != set) && ahead.last_change_of(tid).is_none();
            let unseen = unseen || end.is_none() && ahead.end.contains_key(&tid) && !ahead.forks;
            affinity.now.insert(tid, if unseen { UNKNOWN } else { set });
        }
        affinity
    }

    /// Whether the trace contains affinities.
    pub(super) fn is_known(&self) -> bool {
        self.known
    }

    /// The sets except for the first, with their numbers.
    pub(super) fn sets(&self) -> impl Iterator<Item = (SetId, &[u32])> {
        self.sets.iter().enumerate().skip(1).map(|(number, cpus)| (number as SetId, cpus.as_slice()))
    }

    /// The set of a thread.
    #[inline]
    pub(super) fn of(&self, tid: Tid) -> SetId {
        if self.known { self.now.get(&tid.0).copied().unwrap_or(UNKNOWN) } else { UNKNOWN }
    }

    /// Whether a set is a single CPU.
    pub(super) fn is_one(&self, set: SetId) -> bool {
        self.sets.get(usize::from(set)).is_some_and(|cpus| cpus.len() == 1)
    }

    /// Processes an event that may change sets; returns the threads whose set differs from now on, except for a new
    /// thread.
    pub(super) fn take(&mut self, event: &Event) -> Vec<Tid> {
        if !self.known {
            return Vec::new();
        }
        match event.what {
            What::Fork { parent, child, .. } => self.fork(parent, child),
            What::Exec { tid, old_tid } if tid != old_tid => self.fork(old_tid, tid),
            What::CgroupAttach { tid, .. } => {
                // The group may be in a cpuset, which can change without an event, so the set is unknown up to the end.
                let moved = self.ahead.processes.moved(tid);
                moved.iter().for_each(|tid| _ = self.now.insert(tid.0, UNKNOWN));
                return moved;
            }
            _ => {
                let Some(tid) = self.ahead.target(event) else { return Vec::new() };
                self.now.insert(tid.0, self.ahead.settled(tid, event.ts).unwrap_or(UNKNOWN));
                return vec![tid];
            }
        }
        Vec::new()
    }

    /// A child inherits the set of its parent.
    fn fork(&mut self, parent: Tid, child: Tid) {
        let inherited = self.of(parent);
        // If it has another set at the end and no change of its own is traced, the time of the change is not known.
        let end = self.ahead.end.get(&child.0).copied();
        let unseen = end.is_some_and(|end| end != inherited) && self.ahead.last_change_of(child.0).is_none();
        self.now.insert(child.0, if unseen { UNKNOWN } else { inherited });
        self.ahead.processes.fork(parent, child);
    }
}

impl Ahead {
    /// Notes an event that comes later in the trace.
    fn note(&mut self, event: &Event) {
        let latest = |times: &mut HashMap<u32, u64>, tid: Tid| {
            let time = times.entry(tid.0).or_default();
            *time = event.ts.max(*time);
        };
        match event.what {
            What::Fork { child, .. } => latest(&mut self.born, child),
            What::CgroupAttach { tid, .. } => latest(&mut self.last_move, tid),
            _ => {
                if let Some(tid) = self.target(event) {
                    latest(&mut self.last_change, tid);
                }
            }
        }
    }

    /// The thread whose set a system call is about to change: the caller if the call names none. A caller in a pid
    /// namespace names threads by other ids than the trace; then start and end differ without a change, and the set is
    /// unknown.
    fn target(&self, event: &Event) -> Option<Tid> {
        let What::SysEnter { tid, number, arg0, .. } = event.what else { return None };
        if self.setaffinity != Some(number) {
            return None;
        }
        match arg0.get() as i32 {
            0 => Some(tid),
            named => Tid::from_raw(named.into()),
        }
    }

    /// Time of the last change of a thread's set, as far as changes were traced.
    fn last_change_of(&self, tid: u32) -> Option<u64> {
        let process = self.last_move.get(&self.processes.of(Tid(tid)));
        let own = [self.last_change.get(&tid), self.last_move.get(&tid), process];
        own.into_iter().flatten().copied().max()
    }

    /// The set that a thread has from its change at `ts` up to the end. It is known only if this is the last change and
    /// the thread at the end is the same one.
    fn settled(&self, tid: Tid, ts: u64) -> Option<SetId> {
        let end = *self.end.get(&tid.0)?;
        let same = self.since_start.contains_key(&tid.0) || self.born.get(&tid.0).is_some_and(|born| *born <= ts);
        (same && self.last_change_of(tid.0).is_none_or(|last| last <= ts)).then_some(end)
    }
}

/// Number of threads whose affinity at the end of a recording differs from that at its start, after both were read.
pub(super) fn changed(snapshots: &[Snapshot]) -> u64 {
    let at = |moment| snapshots.iter().filter(move |s| s.moment == moment).flat_map(|snapshot| &snapshot.threads);
    let start: HashMap<(u32, u64), &str> =
        at(Moment::Start).map(|thread| ((thread.tid, thread.start_boot_ns), thread.cpus_allowed.as_str())).collect();
    let before = |thread: &ThreadState| start.get(&(thread.tid, thread.start_boot_ns)).copied();
    at(Moment::End).filter(|thread| before(thread).is_some_and(|cpus| cpus != thread.cpus_allowed)).count() as u64
}

/// The number of a thread's set.
fn set_of(
    thread: &ThreadState,
    widest: usize,
    sets: &mut Vec<Vec<u32>>,
    numbers: &mut BTreeMap<Vec<u32>, SetId>,
) -> SetId {
    match cpus(&thread.cpus_allowed) {
        None => UNKNOWN,
        Some(cpus) if cpus.len() == widest => ALL,
        Some(cpus) => match numbers.get(&cpus) {
            Some(number) => *number,
            None if sets.len() >= MAX_SETS => UNKNOWN,
            None => {
                sets.push(cpus.clone());
                *numbers.entry(cpus).or_insert(sets.len() as SetId - 1)
            }
        },
    }
}

/// The CPUs of a list; `None` if it is not a list, or has numbers that no machine has.
fn cpus(list: &str) -> Option<Vec<u32>> {
    let list: CpuList = list.parse().ok()?;
    Some(list.as_slice().to_vec()).filter(|cpus| cpus.iter().all(|cpu| *cpu < u32::from(Cpu::ANY.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(of: &[(u32, &str)]) -> Vec<ThreadState> {
        let thread = |(tid, cpus): &(u32, &str)| ThreadState {
            tid: *tid,
            pid: *tid,
            cpus_allowed: (*cpus).to_owned(),
            ..ThreadState::default()
        };
        of.iter().map(thread).collect()
    }

    fn sets(affinity: &Affinity, tids: &[u32]) -> Vec<SetId> {
        tids.iter().map(|tid| affinity.of(Tid(*tid))).collect()
    }

    #[test]
    fn threads_have_sets_and_children_inherit_them() {
        let start = threads(&[(1, "0-3"), (2, "1"), (3, "0,2-3"), (4, "1"), (5, "")]);
        let mut affinity = Affinity::between(Some(&start), &[], Ahead::default());
        assert_eq!(sets(&affinity, &[1, 2, 3, 4, 5, 99]), [0, 1, 2, 1, UNKNOWN, UNKNOWN]);
        assert_eq!(affinity.sets().map(|(_, cpus)| cpus.to_vec()).collect::<Vec<_>>(), [vec![1], vec![0, 2, 3]]);
        assert!(affinity.is_known() && affinity.is_one(1) && !affinity.is_one(2));
        assert!(!affinity.is_one(ALL) && !affinity.is_one(UNKNOWN));
        affinity.fork(Tid(3), Tid(9));
        affinity.fork(Tid(1), Tid(4));
        affinity.fork(Tid(5), Tid(6));
        assert_eq!(sets(&affinity, &[9, 4, 6]), [2, 0, UNKNOWN]);
        assert!(!Affinity::between(None, &[], Ahead::default()).is_known());
    }

    #[test]
    fn a_start_and_an_end_that_differ_leave_the_time_between_unknown() {
        let start = threads(&[(1, "0-3"), (2, "1"), (3, "2"), (4, "3")]);
        // 4 is another thread at the end; 9 and 8 are children, and the affinity of one of them was changed.
        let mut end = threads(&[(1, "0-3"), (2, "0,2-3"), (3, "2"), (4, "2"), (8, "2"), (9, "1")]);
        end[3].start_boot_ns = 5;
        let of = |forks| Affinity::between(Some(&start), &end, Ahead { forks, ..Ahead::default() });
        let mut affinity = of(true);
        assert_eq!(sets(&affinity, &[1, 2, 3, 4]), [ALL, UNKNOWN, 2, 3]);
        let snapshot = |moment, threads: &[ThreadState]| Snapshot { moment, at_ns: 0, threads: threads.to_vec() };
        assert_eq!(changed(&[snapshot(Moment::Start, &start), snapshot(Moment::End, &end)]), 1);
        assert_eq!(affinity.sets().count(), 4, "those at the end have numbers, too");
        affinity.fork(Tid(3), Tid(8));
        affinity.fork(Tid(3), Tid(9));
        assert_eq!(sets(&affinity, &[8, 9]), [2, UNKNOWN]);
        assert_eq!(sets(&of(false), &[3, 4]), [2, UNKNOWN], "when the id became another's is not told without forks");
    }

    #[test]
    fn lists_of_cpus_are_the_kernels() {
        assert_eq!(cpus("0-2,8"), Some(vec![0, 1, 2, 8]));
        assert_eq!([cpus(""), cpus("3-1"), cpus("0-99999999"), cpus("x")], [None, None, None, None]);
    }
}
