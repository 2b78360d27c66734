//! The longest of the waits that are in no distribution. If it was certainly longer than all measured ones, the maxima
//! in the tables are not the longest waits of the trace, and this is reported.

use super::TaskTally;
use crate::Reader;
use crate::engine::{Censored, CensoredWait, Task, TaskId};
use crate::event::Tid;
use crate::names::Name;
use crate::problem::ProblemKind;
use crate::seconds::Seconds;

/// Problems of a trace from which switches may be missing without a gap.
const WITH_UNKNOWN_SWITCHES: [ProblemKind; 4] =
    [ProblemKind::SomeTasks, ProblemKind::BadRecord, ProblemKind::SkippedPart, ProblemKind::ImpossibleNumber];

/// The censored wait of a kind with the largest lower bound.
#[derive(Debug, Default)]
pub(super) struct LeastWait {
    /// Its last part, in which no events are missing, ns.
    ns: u64,
    /// When that ended, ns.
    end: u64,
    is_unfinished: bool,
    task: Option<TaskId>,
    /// The task, if its number has been reused.
    retired: Option<(Tid, Name)>,
}

impl LeastWait {
    /// A wait was censored now.
    pub(super) fn take(&mut self, task: TaskId, wait: &CensoredWait, now: u64) {
        if wait.at_least > self.ns {
            let is_unfinished = wait.why == Censored::Unfinished;
            *self = Self { ns: wait.at_least, end: now, is_unfinished, task: Some(task), retired: None };
        }
    }

    /// The number of a task is reused.
    pub(super) fn retire(&mut self, task: TaskId, known: &Task) {
        if self.task == Some(task) {
            self.retired.get_or_insert((known.tid, known.comm));
        }
    }

    /// Reports it if no measured wait of its kind was as long.
    pub(super) fn report(
        &self,
        what: &str,
        longest_ns: u64,
        has_switches: bool,
        tasks: &[(Task, TaskTally)],
        reader: &mut Reader,
    ) {
        // If switches are missing, by choice or because they could not be read, it is not known who got a CPU.
        let has_unknown_switches = WITH_UNKNOWN_SWITCHES.iter().any(|kind| reader.problems().count(*kind) > 0);
        if self.ns <= longest_ns || !has_switches || has_unknown_switches {
            return;
        }
        let known = self.task.and_then(|task| tasks.get(task.index())).map(|(task, _)| (task.tid, task.comm));
        let Some((tid, comm)) = self.retired.or(known) else { return };
        let why = if self.is_unfinished { "the trace ends in it" } else { "events are missing before" };
        let sentence = format!(
            "the longest wait after a {what} is in no column: {} {} waited for at least {:.6} s until {:.6} s; {why}",
            reader.names().text(comm),
            tid.0,
            Seconds(self.ns),
            Seconds(self.end)
        );
        reader.add_problem(ProblemKind::Recording, sentence);
    }
}

#[cfg(test)]
mod tests {
    use crate::drawing::Drawing;
    use crate::perf_data::written::LITTLE;
    use crate::{Kinds, ProblemKind, Reader, TimeWindow, tally};

    /// The report about a drawing's waits that are in no column.
    fn observed(drawing: &str) -> Vec<String> {
        let drawing = Drawing::new(drawing);
        let records: Vec<u8> = drawing.lines.iter().flat_map(|line| LITTLE.line(&drawing, line)).collect();
        let mut reader = Reader::open("t", Box::new(LITTLE.file(&records)), Kinds::ALL).unwrap();
        tally(&mut reader, &TimeWindow::default(), None, &|_| None).unwrap();
        let notes = reader.problems().all().filter(|problem| problem.kind == ProblemKind::Recording);
        notes.map(|problem| problem.first).filter(|first| first.contains("is in no column")).collect()
    }

    #[test]
    fn a_wait_is_at_least_its_part_in_which_nothing_is_missing() {
        // B is not seen to leave CPU 0, between 30 and 40 µs.
        let gap = "
            0 10 A S > B
            1 20 waking A by D
            0 30 waking F by B
            0 40 G S > B
            0 90 B S > A
        ";
        assert_eq!(
            observed(gap),
            [
                "the longest wait after a wakeup is in no column: A 10 waited for at least 0.000050 s until 0.000090 s; events are missing before"
            ]
        );
        // A measured wait was longer.
        let measured = "
            0 91 waking E by A
            0 150 A S > E
        ";
        assert_eq!(observed(&format!("{gap}{measured}")), [""; 0]);
    }

    #[test]
    fn who_gets_no_cpu_until_the_end_waited_at_least_until_then() {
        let starved = "
            0 10 A R > B
            0 40 waking C by B
            0 50 B S > C
            1 60 waking E by D
            0 99 C S > .
        ";
        assert_eq!(
            observed(starved),
            [
                "the longest wait after a preemption is in no column: A 10 waited for at least 0.000089 s until 0.000099 s; the trace ends in it"
            ]
        );
    }

    #[test]
    fn what_may_have_slept_or_run_unseen_has_no_length() {
        // E may run on CPU 1 all the time: there are no other events of that CPU.
        assert_eq!(observed("0 10 A S > B\n1 20 waking E by D\n0 99 B S > .\n"), [""; 0]);
        // A is woken while it seems to wait, so it may have slept unseen in the gap.
        let slept = "
            0 10 A R > B
            1 12 . R > C
            1 40 D S > .
            1 80 waking A by D
            0 90 B S > A
        ";
        assert_eq!(observed(slept), [""; 0]);
    }
}
