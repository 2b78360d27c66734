//! Creates the tasks of `pipe/1`: for each copy two pipes and two tasks, which close the ends they do not use.

use super::config::{Config, Tokens};
use super::loops::{Shared, Side, StrictChild, StrictParent, TwoTokens};
use crate::dispatch::LoopOrder;
use crate::error::BenchError;
use crate::herd::{Herd, Mode};
use crate::placement::{Cpus, confine};
use crate::prepared::Prepared;
use crate::recorder::Recorder;
use crate::task::{Step, TaskCells, TaskError, Work};
use crate::topology::Topology;
use schedlab_sys::fd;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// What a task needs in addition to its descriptors.
#[derive(Clone)]
struct Part {
    cells: TaskCells,
    task: usize,
    copy: usize,
    bytes: usize,
    wide: bool,
    tokens: Tokens,
    is_parent: bool,
    cpus: Cpus,
    cgroup_procs: Option<PathBuf>,
    loops: LoopOrder,
    topology: Topology,
    recorder: Option<Recorder>,
}

impl Part {
    /// Before the gate: enters its cgroup, moves to its CPU, maps the histograms and allocates the buffer.
    fn prepare(&self) -> Result<Vec<u8>, TaskError> {
        if let Some(procs) = &self.cgroup_procs {
            std::fs::write(procs, "0").map_err(TaskError::at(Step::Cgroup))?;
        }
        confine(&self.cpus)?;
        if let Some(recorder) = &self.recorder {
            recorder.fault_in(self.copy);
        }
        Ok(vec![0; self.bytes])
    }

    fn run(&self, input: &OwnedFd, output: &OwnedFd, message: Vec<u8>) -> Result<Work, TaskError> {
        if self.wide {
            self.run_width::<true>(input, output, message)
        } else {
            self.run_width::<false>(input, output, message)
        }
    }

    fn run_width<const WIDE: bool>(
        &self,
        input: &OwnedFd,
        output: &OwnedFd,
        mut message: Vec<u8>,
    ) -> Result<Work, TaskError> {
        let side = Side { input, output, message: &mut message };
        let shared = Shared {
            topology: &self.topology,
            recorder: self.recorder.as_ref(),
            copy: self.copy,
            line: self.cells.group(self.copy),
            counter: self.cells.counter(self.task),
        };
        match (self.tokens, self.is_parent) {
            (Tokens::One, true) => self.loops.run(StrictParent::<WIDE> { side, shared }),
            (Tokens::One, false) => self.loops.run(StrictChild::<WIDE> { side, shared }),
            (Tokens::Two, is_parent) => self.loops.run(TwoTokens::<WIDE> { side, shared, is_parent }),
        }
    }
}

/// Starts all copies; `places` holds the CPUs of each copy's parent and child, `sides` the `cgroup.procs` of all
/// parents and of all children.
pub(super) fn start(
    config: &Config,
    run: &Prepared<'_>,
    places: &[(Cpus, Cpus)],
    sides: Option<[&PathBuf; 2]>,
) -> Result<Herd, BenchError> {
    let mut herd = run.herd(2 * places.len(), fd::pipe_pair)?;
    for (copy, (parent_cpus, child_cpus)) in (0..).zip(places) {
        let part = |task: usize, is_parent: bool, cpus: &Cpus| Part {
            cells: run.cells.clone(),
            task,
            copy: copy as usize,
            bytes: config.bytes,
            wide: config.is_wide(),
            tokens: config.tokens,
            is_parent,
            cpus: cpus.clone(),
            cgroup_procs: sides.map(|[parents, children]| if is_parent { parents } else { children }.clone()),
            // Both tasks of a copy stamp the same operations.
            loops: run.loops(copy as usize, config.length.loops()),
            topology: run.order.topology.clone(),
            recorder: run.recorder.clone(),
        };
        let first = herd.next_task();
        let (parent, child) = (part(first, true, parent_cpus), part(first + 1, false, child_cpus));
        start_copy(&mut herd, config.mode, copy, parent, child)?;
    }
    Ok(herd)
}

fn start_copy(herd: &mut Herd, mode: Mode, copy: u32, parent: Part, child: Part) -> Result<(), BenchError> {
    let open = || fd::pipe_pair().map_err(BenchError::io(format!("opening the pipes of copy {copy}")));
    let (there, back) = (open()?, open()?);
    match mode {
        Mode::Process => {
            let (mut there_read, mut back_write) = (Some(there.read), Some(back.write));
            let (back_read, there_write) = (back.read, there.write);
            let ends = "taken in the forked child only";
            let prepare = || {
                // In the child only; context1 closes the unused ends too.
                there_read.take();
                back_write.take();
                parent.prepare()
            };
            let body = |message| parent.run(&back_read, &there_write, message);
            herd.fork("parent", copy, prepare, body)?;
            drop((back_read, there_write));
            let (input, output) = (there_read.expect(ends), back_write.expect(ends));
            herd.fork("child", copy, || child.prepare(), |message| child.run(&input, &output, message))
        }
        Mode::Thread => {
            let mine = parent.clone();
            let body = move |message| parent.run(&back.read, &there.write, message);
            herd.spawn("parent", copy, move || mine.prepare(), body)?;
            let mine = child.clone();
            let body = move |message| child.run(&there.read, &back.write, message);
            herd.spawn("child", copy, move || mine.prepare(), body)
        }
    }
}
