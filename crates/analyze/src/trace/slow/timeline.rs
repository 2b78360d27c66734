//! Keeps what threads did during the slow operations: every interval that overlaps one of them, with waits divided.

use crate::trace::follow::{Analysis, BeforeEvent, Follows};
use crate::trace::lanes::CpuActivity;
use crate::trace::run_queues::Stretch;
use schedlab_plan::InOrder;
use schedlab_trace::engine::{Began, Run, TaskId, Wait};
use schedlab_trace::{Context, Cpu, Name, StateClass, Tid};
use std::collections::VecDeque;

/// Most intervals that are kept for an operation, the latest ones: a megabyte or two.
const MAX_PIECES: usize = 1 << 14;

/// A part of a wait: what the CPU did, its thread, and the time, ns.
pub(super) type WaitPart = (Option<CpuActivity<Name>>, Option<Tid>, u64);

/// What a thread did in an interval.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ThreadActivity {
    /// Had a CPU.
    Ran(Cpu),
    /// Waited for one.
    Waited(Waited),
    /// Slept.
    Slept(StateClass),
}

/// A wait for a CPU.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Waited {
    pub(super) cpu: Cpu,
    /// The CPU on which it ran before, if that was another one.
    pub(super) from: Option<Cpu>,
    pub(super) began: Began,
    pub(super) waker: Tid,
    pub(super) context: Context,
    /// Number of moves between queues in this wait.
    pub(super) moves: u32,
    /// What it waited behind; `None` is the placement.
    pub(super) behind: Vec<WaitPart>,
}

/// An interval of a thread; it may begin before the operation and end after it, but the parts of a wait are limited to
/// the operation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    pub(super) tid: Tid,
    pub(super) comm: Name,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) did: ThreadActivity,
}

/// Follows threads while the engine runs.
#[derive(Debug)]
pub(super) struct Timelines {
    /// The operations: from, to, ns.
    windows: Vec<(u64, u64)>,
    /// The time from the first start to the last end.
    span: (u64, u64),
    /// By operation, in order of their ends.
    pub(super) pieces: Vec<VecDeque<Piece>>,
}

impl Timelines {
    pub(super) fn new(windows: Vec<(u64, u64)>) -> Self {
        let from = windows.iter().map(|(from, _)| *from).min().unwrap_or(0);
        let to = windows.iter().map(|(_, to)| *to).max().unwrap_or(0);
        Self { pieces: windows.iter().map(|_| VecDeque::new()).collect(), windows, span: (from, to) }
    }

    /// Keeps an interval for each operation that it overlaps.
    #[inline]
    fn add(
        &mut self,
        before: &BeforeEvent<'_>,
        task: TaskId,
        (start, end): (u64, u64),
        did: &dyn Fn((u64, u64)) -> ThreadActivity,
    ) {
        if end <= self.span.0 || start >= self.span.1 {
            return;
        }
        for number in 0..self.windows.len() {
            let (from, to) = self.windows[number];
            if end <= from || start >= to {
                continue;
            }
            let did = did((start.max(from), end.min(to)));
            let known = before.known.get(task);
            let piece = Piece { tid: known.tid, comm: known.comm, start, end, did };
            let pieces = &mut self.pieces[number];
            if pieces.len() >= MAX_PIECES {
                pieces.pop_front();
            }
            pieces.push_back(piece);
        }
    }

    /// Divides a wait by what the CPU did between two times in it.
    fn divide(before: &BeforeEvent<'_>, task: TaskId, wait: &Wait, (from, to): (u64, u64)) -> Waited {
        let mut behind: Vec<WaitPart> = Vec::new();
        let mut add = |does: Option<CpuActivity<Name>>, tid: Option<Tid>, ns: u64| match behind
            .iter_mut()
            .find(|(known, of, _)| *known == does && *of == tid)
        {
            _ if ns == 0 => {}
            Some((.., sum)) => *sum += ns,
            None => behind.push((does, tid, ns)),
        };
        let mut places = 0_u32;
        before.queues.divide(task, wait, (from, to), |stretch, start, end| match stretch {
            Stretch::Placing => add(None, None, end - start),
            Stretch::WaitPart(does) => {
                let (does, tid) = does.named(before.known);
                add(Some(does), tid, end - start);
            }
            Stretch::Queue => places += 1,
        });
        behind.in_order_by_key(|(.., ns)| std::cmp::Reverse(*ns));
        Waited {
            cpu: wait.cpu,
            from: before.known.get(task).cpu.filter(|last| *last != wait.cpu),
            began: wait.began,
            waker: wait.waker,
            context: wait.context,
            moves: places.saturating_sub(1),
            behind,
        }
    }
}

impl Analysis for Timelines {
    fn follows(&self) -> Follows {
        Follows::Queues
    }

    fn ran(&mut self, before: &BeforeEvent<'_>, task: TaskId, run: &Run) {
        self.add(before, task, (run.start, run.end), &|_| ThreadActivity::Ran(run.cpu));
    }

    fn waited(&mut self, before: &BeforeEvent<'_>, task: TaskId, wait: &Wait) {
        let waited = |part| ThreadActivity::Waited(Self::divide(before, task, wait, part));
        self.add(before, task, (wait.start, wait.end), &waited);
    }

    fn slept(&mut self, before: &BeforeEvent<'_>, task: TaskId, state: StateClass, span: (u64, u64)) {
        self.add(before, task, span, &|_| ThreadActivity::Slept(state));
    }
}
