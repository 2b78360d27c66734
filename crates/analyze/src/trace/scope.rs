//! The scope of an analysis: which tasks, time, CPUs, states and priorities. All analyses use this type; those without
//! waits document what a state or a priority selects.

use super::filter::{TaskFilter, matches};
use schedlab_plan::counted;
use schedlab_trace::{Cpu, Name, Names, Prio, Reader, StateClass, Tid, TimeWindow};
use std::collections::HashSet;
use std::fmt;

/// What is analysed; by default everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Tasks whose waits count.
    pub tasks: TaskFilter,
    /// Time and CPUs on which waits end.
    pub window: TimeWindow,
    /// States in which the thread had left its CPU; all if empty.
    pub states: Vec<StateClass>,
    /// Ranges of priorities, as the kernel numbers them, both ends included; all if empty.
    pub prios: Vec<(i16, i16)>,
}

/// An invalid filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeError(String);

impl fmt::Display for ScopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScopeError {}

impl Scope {
    /// Sets the states from letters with commas: `R` preempted, `R+` only inside the kernel, `S`, `D`, `I`, `T`.
    pub fn set_states(&mut self, text: &str) -> Result<(), ScopeError> {
        for letter in text.split(',') {
            match letter.trim() {
                "R" => self.states.extend([StateClass::Runnable, StateClass::Preempted]),
                "R+" => self.states.push(StateClass::Preempted),
                "S" => self.states.push(StateClass::Interruptible),
                "D" => self.states.push(StateClass::Uninterruptible),
                "I" => self.states.push(StateClass::Idle),
                "T" => self.states.push(StateClass::Stopped),
                other => {
                    let known = "R (preempted), R+ (inside the kernel), S, D, I, T";
                    return Err(ScopeError(format!(
                        "`{other}` is not a state of a thread that waits; there are {known}"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Sets the priorities from `rt`, `deadline`, `fair`, numbers and ranges with commas, in the kernel's numbers.
    pub fn set_prios(&mut self, text: &str) -> Result<(), ScopeError> {
        for part in text.split(',') {
            let range = match part.trim() {
                "deadline" => Some((-1, -1)),
                "rt" => Some((-1, 99)),
                "fair" => Some((100, 139)),
                other => {
                    let (from, to) =
                        other.split_once('-').filter(|(from, _)| !from.is_empty()).unwrap_or((other, other));
                    from.parse().ok().zip(to.parse().ok()).filter(|(from, to): &(i16, i16)| from <= to)
                }
            };
            let Some(range) = range else {
                let known = "rt, deadline, fair, or the kernel's numbers as in 0-49,120 (-1 deadline, 0 to 99 real time, 120 nice 0)";
                return Err(ScopeError(format!("`{part}` is not a priority; write {known}")));
            };
            self.prios.push(range);
        }
        Ok(())
    }

    /// The parts of the scope that nothing in the trace matches, one sentence each: names and ids that no task has, a
    /// time without events, CPUs that the machine does not have (if the trace contains their number). Call this after
    /// the trace was read.
    pub(super) fn unmatched(
        &self,
        reader: &Reader,
        may_have: &dyn Fn(Tid) -> bool,
        (start_ns, end_ns): (u64, u64),
    ) -> Vec<String> {
        let names = reader.names();
        let unknown = |pattern: &&String| !names.texts_from(0).any(|text| matches(pattern, text));
        let no_task = |pattern: &String| format!("no task of the trace is called `{pattern}`");
        let mut notes: Vec<String> = self.tasks.comms.iter().filter(unknown).map(no_task).collect();
        let strangers = self.tasks.tids.iter().filter(|tid| !may_have(Tid(**tid)));
        notes.extend(strangers.map(|tid| format!("no task of the trace has the id {tid}")));
        let TimeWindow { from_ns, to_ns, cpus } = &self.window;
        if *from_ns > end_ns || to_ns.is_some_and(|to| to < start_ns) {
            notes.push("no event lies in the time asked for".into());
        }
        let most = reader.info().cpus.filter(|most| *most > 0);
        let absent = |cpus: &&Vec<Cpu>, most: u32| cpus.iter().all(|cpu| u32::from(cpu.0) >= most);
        if cpus.as_ref().zip(most).is_some_and(|(cpus, most)| absent(&cpus, most)) {
            notes.push("no CPU asked for is in the trace".into());
        }
        notes
    }

    /// Whether only some states or priorities are selected.
    pub(super) fn is_partial(&self) -> bool {
        !self.states.is_empty() || !self.prios.is_empty()
    }

    /// Whether waits of threads that left their CPU in this state are selected.
    pub(super) fn has_state(&self, state: StateClass) -> bool {
        self.states.is_empty() || self.states.contains(&state)
    }

    /// Whether waits of this priority are selected; an unknown priority is selected only if all are.
    pub(super) fn has_prio(&self, prio: Prio) -> bool {
        let within = |prio: i16| self.prios.iter().any(|(from, to)| (*from..=*to).contains(&prio));
        self.prios.is_empty() || prio.get().is_some_and(within)
    }

    /// Whether a wait is left out because its priority is not in the trace.
    pub(super) fn lacks_prio(&self, prio: Prio) -> bool {
        !self.prios.is_empty() && prio == Prio::UNKNOWN
    }
}

/// The note if only some priorities are selected and this many waits have an unknown one.
pub(super) fn without_prio(waits: u64) -> Option<String> {
    let of = counted(waits, "waits");
    (waits > 0)
        .then(|| format!("the trace does not say the priority of {of}, of whichever task: --prio leaves out these"))
}

/// Which threads are selected while a trace is read, when only the names so far are known.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    tids: Vec<Tid>,
    /// By name; empty if names are not used.
    by_name: Vec<bool>,
    all: bool,
    /// Members of the requested cgroups.
    within: Option<HashSet<u32>>,
}

impl Chosen {
    pub(super) fn new(filter: &TaskFilter) -> Self {
        let tids = filter.tids.iter().copied().map(Tid).collect();
        Self { tids, by_name: Vec::new(), all: filter.is_open(), within: filter.within.clone() }
    }

    /// Checks the names that are new.
    pub(super) fn learn(&mut self, filter: &TaskFilter, names: &Names) {
        let known = self.by_name.len();
        self.by_name.extend(names.texts_from(known).map(|text| filter.names(text)));
    }

    #[inline]
    pub(super) fn has(&self, tid: Tid, comm: Name) -> bool {
        let named = || self.tids.contains(&tid) || self.by_name.get(comm.index()).copied().unwrap_or(false);
        self.within.as_ref().is_none_or(|members| members.contains(&tid.0)) && (self.all || named())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_letters() {
        let mut scope = Scope::default();
        assert!(scope.has_state(StateClass::Uninterruptible));
        scope.set_states("D,R").unwrap();
        assert!(scope.has_state(StateClass::Uninterruptible) && scope.has_state(StateClass::Preempted));
        assert!(!scope.has_state(StateClass::Interruptible));
        let error = Scope::default().set_states("S,Q").unwrap_err().to_string();
        assert!(error.starts_with("`Q` is not a state"), "{error}");
    }

    #[test]
    fn priorities_are_classes_and_ranges() {
        let has = |text: &str, prio: i64| {
            let mut scope = Scope::default();
            scope.set_prios(text).unwrap();
            scope.has_prio(Prio::from_raw(prio))
        };
        assert!(has("rt", -1) && has("rt", 99) && !has("rt", 100));
        assert!(has("fair", 120) && has("0-9,50", 50) && has("-1", -1) && !has("0-9,50", 10));
        assert!(!has("fair", 200), "a priority that is not known is in no range");
        for bad in ["", "high", "9-1", "1-x"] {
            assert!(Scope::default().set_prios(bad).is_err(), "{bad}");
        }
    }
}
