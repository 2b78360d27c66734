//! Creates the tasks of `messaging/1` in hackbench's order: for each group, a pair and a receiver at a time, then the
//! senders; then the parent closes the group's write ends. In process mode a receiver closes its write end and the
//! parent each read end, as in hackbench; in thread mode nothing is closed.

use super::config::Config;
use super::loops::{FILL, Receive, Send, send_end};
use crate::dispatch::{Length, LoopOrder};
use crate::error::BenchError;
use crate::herd::{Herd, Mode};
use crate::prepared::Prepared;
use crate::recorder::Recorder;
use crate::task::{TaskCells, TaskError, Work};
use crate::topology::Topology;
use schedlab_sys::{affinity, sched_attr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// Policy and affinity that the tasks inherit from the control process; restored on drop.
pub(super) struct Placed {
    affinity: Option<Vec<u32>>,
    fifo: bool,
}

const SCHED_OTHER: u32 = 0;
const SCHED_FIFO: u32 = 1;

impl Placed {
    pub(super) fn enter(config: &Config) -> Result<Self, BenchError> {
        let mut placed = Self { affinity: None, fifo: false };
        if !config.cpus.is_empty() {
            let doing = || BenchError::io(format!("confining the tasks to CPUs {}", config.cpus));
            let before = affinity::allowed_cpus(0).map_err(doing())?;
            affinity::set_affinity(0, config.cpus.as_slice()).map_err(doing())?;
            placed.affinity = Some(before);
        }
        if config.fifo {
            let doing = "fifo=yes: setting SCHED_FIFO priority 1 (CAP_SYS_NICE or `ulimit -r 1`)";
            sched_attr::set_policy(0, SCHED_FIFO, 1).map_err(BenchError::io(doing))?;
            placed.fifo = true;
        }
        Ok(placed)
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        if self.fifo {
            let _ = sched_attr::set_policy(0, SCHED_OTHER, 0);
        }
        if let Some(before) = &self.affinity {
            let _ = affinity::set_affinity(0, before);
        }
    }
}

/// What a task needs in addition to its descriptors.
#[derive(Clone)]
struct Part {
    cells: TaskCells,
    task: usize,
    group: usize,
    bytes: usize,
    header: bool,
    loops: LoopOrder,
    topology: Topology,
    recorder: Option<Recorder>,
}

impl Part {
    fn new(config: &Config, run: &Prepared<'_>, task: usize, group: u32, loops: Option<u64>) -> Self {
        Self {
            cells: run.cells.clone(),
            task,
            group: group as usize,
            bytes: config.bytes,
            header: config.has_header(),
            loops: run.loops(task, loops),
            topology: run.order.topology.clone(),
            recorder: run.recorder.clone(),
        }
    }

    /// Before the gate: allocates the message buffer and maps the histograms.
    fn prepare(&self) -> Result<Vec<u8>, TaskError> {
        if let Some(recorder) = &self.recorder {
            recorder.fault_in(self.group);
        }
        Ok(vec![FILL; self.bytes])
    }

    fn send(&self, outs: &[OwnedFd], mut message: Vec<u8>) -> Result<Work, TaskError> {
        let message = message.as_mut_slice();
        let counter = self.cells.counter(self.task);
        let sent = if self.header {
            self.loops.run(Send::<true> { outs, message: &mut *message, counter })?
        } else {
            self.loops.run(Send::<false> { outs, message: &mut *message, counter })?
        };
        if self.loops.loops.is_none() {
            send_end(outs, message, &self.cells.group(self.group)[0])?;
        }
        Ok(Work { operations: sent, ..Work::default() })
    }

    fn receive(&self, input: &OwnedFd, mut message: Vec<u8>) -> Result<Work, TaskError> {
        macro_rules! receive {
            ($header:literal) => {
                self.loops.run(Receive::<$header> {
                    input,
                    message: &mut message,
                    topology: &self.topology,
                    recorder: self.recorder.as_ref(),
                    group: self.group,
                    counter: self.cells.counter(self.task),
                    senders_left: &self.cells.group(self.group)[0],
                })
            };
        }
        if self.header { receive!(true) } else { receive!(false) }
    }
}

/// Messages that each sender sends and each receiver gets; a receiver without a number runs until the end marker.
fn loops(config: &Config) -> (Option<u64>, Option<u64>) {
    match config.length {
        Length::Loops(loops) => {
            (Some(loops.saturating_mul(config.receivers.into())), Some(loops.saturating_mul(config.senders.into())))
        }
        Length::DurationNs(_) => (None, Some(u64::MAX)),
    }
}

/// Starts all groups; every task is at its gate or on its way there.
pub(super) fn start(config: &Config, run: &Prepared<'_>) -> Result<Herd, BenchError> {
    let mut herd = run.herd(config.tasks(), config.transport.maker())?;
    for group in 0..config.groups {
        // In loops mode no marker ever ends the run: the count stays above 0.
        run.cells.group(group as usize)[0].store(config.senders.into(), Release);
        match config.mode {
            Mode::Process => start_processes(config, run, &mut herd, group)?,
            Mode::Thread => start_threads(config, run, &mut herd, group)?,
        }
    }
    Ok(herd)
}

fn open_pair(config: &Config, group: u32) -> Result<schedlab_sys::fd::Pair, BenchError> {
    let transport = config.transport;
    (transport.maker())().map_err(BenchError::io(format!("opening a {} pair for group {group}", transport.name())))
}

fn start_processes(config: &Config, run: &Prepared<'_>, herd: &mut Herd, group: u32) -> Result<(), BenchError> {
    let (to_send, to_receive) = loops(config);
    let mut outs = Vec::with_capacity(config.receivers as usize);
    for _ in 0..config.receivers {
        let pair = open_pair(config, group)?;
        let (input, mut own_out) = (pair.read, Some(pair.write));
        let part = Part::new(config, run, herd.next_task(), group, to_receive);
        let prepare = || {
            // In the child only: like hackbench's, a receiver closes its own write end and inherits the earlier ones.
            own_out.take();
            part.prepare()
        };
        herd.fork("receiver", group, prepare, |message| part.receive(&input, message))?;
        outs.extend(own_out);
    }
    for _ in 0..config.senders {
        let part = Part::new(config, run, herd.next_task(), group, to_send);
        herd.fork("sender", group, || part.prepare(), |message| part.send(&outs, message))?;
    }
    Ok(())
}

fn start_threads(config: &Config, run: &Prepared<'_>, herd: &mut Herd, group: u32) -> Result<(), BenchError> {
    let (to_send, to_receive) = loops(config);
    let pairs = (0..config.receivers).map(|_| open_pair(config, group)).collect::<Result<Vec<_>, _>>()?;
    let (inputs, outs): (Vec<OwnedFd>, Vec<OwnedFd>) = pairs.into_iter().map(|pair| (pair.read, pair.write)).unzip();
    let outs = Arc::new(outs);
    for input in inputs {
        let part = Arc::new(Part::new(config, run, herd.next_task(), group, to_receive));
        // Every thread keeps the write ends open, as in the reference: a receiver that ends early must not break a
        // sender's pipe before the counts are compared.
        let (mine, kept) = (Arc::clone(&part), Arc::clone(&outs));
        let body = move |message| {
            let _kept = kept;
            part.receive(&input, message)
        };
        herd.spawn("receiver", group, move || mine.prepare(), body)?;
    }
    for _ in 0..config.senders {
        let part = Arc::new(Part::new(config, run, herd.next_task(), group, to_send));
        let (mine, outs) = (Arc::clone(&part), Arc::clone(&outs));
        herd.spawn("sender", group, move || mine.prepare(), move |message| part.send(&outs, message))?;
    }
    Ok(())
}

/// Number of senders in all groups that have not stopped; 0 after a clean run by duration.
pub(super) fn senders_left(config: &Config, run: &Prepared<'_>) -> u64 {
    (0..config.groups as usize).map(|group| run.cells.group(group)[0].load(Relaxed)).sum()
}
