//! Creates the tasks of `wakeup/2`: each messenger followed by its workers, with the same numbers as their lines.

use super::Run;
use super::arrivals::Arrivals;
use super::config::{Config, INFO};
use super::job::{Compute, CpuLocks, Job, Pages, Pipe};
use super::lines::Lines;
use super::messenger::Messenger;
use super::worker::{Closed, Open, Worker};
use crate::dispatch::LoopOrder;
use crate::error::BenchError;
use crate::herd::Herd;
use crate::placement::{Cpus, Pin, confine};
use crate::recorder::Recorder;
use crate::task::{Step, TaskCells, TaskError, Work};
use crate::topology::Topology;
use schedlab_sys::fd;

/// `(messenger, its workers)` for each messenger.
pub(super) fn places(config: &Config, topology: &Topology) -> Result<Vec<(Cpus, Cpus)>, BenchError> {
    let cpus = if config.cpus.is_empty() { topology.allowed() } else { config.cpus.as_slice() };
    let messengers = config.messengers as usize;
    let place = |messenger: usize| match config.pin {
        Pin::Free => (config.cpus.as_slice().to_vec(), config.cpus.as_slice().to_vec()),
        Pin::Same => (vec![cpus[messenger % cpus.len()]], vec![cpus[messenger % cpus.len()]]),
        Pin::Apart | Pin::Tier(_) => (vec![cpus[messenger]], cpus[messengers..].to_vec()),
    };
    if config.pin == Pin::Apart && cpus.len() <= messengers {
        let (needed, have) = (messengers + 1, cpus.len());
        let reason = format!("pin=apart needs a CPU for each messenger and one for the workers: {needed}, not {have}");
        return Err(BenchError::NotPossibleHere { workload: INFO.name, reason });
    }
    Ok((0..messengers).map(place).collect())
}

/// What a task needs in addition to the shared lines.
#[derive(Clone)]
struct Part {
    config: Config,
    cells: TaskCells,
    lines: Lines,
    locks: Option<CpuLocks>,
    pages: Option<Pages>,
    recorder: Option<Recorder>,
    topology: Topology,
    loops: LoopOrder,
    messenger: usize,
    task: usize,
    cpus: Cpus,
}

impl Part {
    /// Its number among the messenger's workers.
    fn number(&self) -> usize {
        self.task - self.messenger_task() - 1
    }

    fn messenger_task(&self) -> usize {
        self.messenger * (1 + self.config.workers as usize)
    }

    /// Page of the messenger's first worker.
    fn first_page(&self) -> usize {
        self.messenger * self.config.workers as usize
    }

    /// Before the gate: moves to its CPUs, and maps lines, histograms and pages.
    fn prepare(&self) -> Result<(), TaskError> {
        confine(&self.cpus)?;
        self.lines.fault_in();
        if let Some(recorder) = &self.recorder {
            recorder.fault_in(self.task);
        }
        if let Some(locks) = &self.locks {
            locks.fault_in();
        }
        if let Some(pages) = &self.pages {
            let own = if self.task == self.messenger_task() {
                self.first_page()..self.first_page() + self.config.workers as usize
            } else {
                self.first_page() + self.number()..self.first_page() + self.number() + 1
            };
            own.for_each(|page| pages.fault_in(page));
        }
        Ok(())
    }

    /// The period of the whole schedule, ns.
    fn period_ns(&self) -> f64 {
        self.config.rate.map_or(f64::INFINITY, |rate| 1e9 / rate as f64)
    }

    fn messenger(&self) -> Result<Work, TaskError> {
        let messenger = Messenger {
            lines: &self.lines,
            task: self.task,
            workers: self.config.workers as usize,
            counter: self.cells.counter(self.task),
        };
        match (&self.pages, self.config.rate) {
            (Some(pages), _) => messenger.serve_pages(pages, self.first_page()),
            (None, None) => messenger.serve(),
            (None, Some(_)) => {
                let workers = u64::from(self.config.workers);
                let total = self.config.length.loops().map_or(u64::MAX, |loops| loops.saturating_mul(workers));
                let (first, stride) = (self.messenger as u64, u64::from(self.config.messengers));
                let arrivals = Arrivals { epoch_ns: 0, period_ns: self.period_ns(), first, stride };
                messenger.generate(arrivals, total, &self.cells.stop_flag(), self.recorder.as_ref())
            }
        }
    }

    /// The worker's job, with its matrices allocated; before the gate.
    fn compute(&self) -> Result<Compute, TaskError> {
        let Config { think_ns, work, footprint_bytes, .. } = self.config;
        Compute::new(think_ns, work, footprint_bytes, self.locks.clone(), self.cells.stop_flag())
            .map_err(TaskError::at(Step::Ready))
    }

    fn worker<'a>(&'a self, job: &'a mut dyn Job) -> Worker<'a> {
        Worker {
            own: self.lines.of(self.task),
            messenger: self.lines.of(self.messenger_task()),
            task: self.task,
            job,
            topology: &self.topology,
            recorder: self.recorder.as_ref(),
            counter: self.cells.counter(self.task),
        }
    }

    fn work(&self, mut job: Compute) -> Result<Work, TaskError> {
        match (&self.pages, self.config.rate) {
            (Some(pages), _) => {
                let worker = self.first_page() + self.number();
                self.loops.run(Closed(self.worker(&mut Pipe { pages: pages.clone(), worker })))
            }
            (None, None) => self.loops.run(Closed(self.worker(&mut job))),
            (None, Some(_)) => {
                let (messengers, workers) = (u64::from(self.config.messengers), u64::from(self.config.workers));
                // A worker gets every W-th request of its messenger, which gets every M-th of the schedule.
                let first = self.number() as u64 * messengers + self.messenger as u64;
                let arrivals =
                    Arrivals { epoch_ns: 0, period_ns: self.period_ns(), first, stride: workers * messengers };
                self.loops.run(Open { worker: self.worker(&mut job), arrivals })
            }
        }
    }
}

/// Starts all tasks; `places` holds the CPUs of each messenger and of its workers.
pub(super) fn start(run: &Run<'_>, places: &[(Cpus, Cpus)]) -> Result<Herd, BenchError> {
    let (config, mode) = (run.config, run.config.mode);
    let mut herd = run.shared.herd(config.tasks(), fd::pipe_pair)?;
    for (messenger, (messenger_cpus, worker_cpus)) in places.iter().enumerate() {
        let part = |task: usize, cpus: &Cpus| Part {
            config: config.clone(),
            cells: run.shared.cells.clone(),
            lines: run.lines.clone(),
            locks: run.locks.clone(),
            pages: run.pages.clone(),
            recorder: run.shared.recorder.clone(),
            topology: run.shared.order.topology.clone(),
            loops: run.loops(task),
            messenger,
            task,
            cpus: cpus.clone(),
        };
        let own = herd.next_task();
        run.lines.of(own).set_workers(config.workers);
        let group = messenger as u32;
        let serve = |part: &Part, ()| part.messenger();
        herd.start(mode, "messenger", group, part(own, messenger_cpus), Part::prepare, serve)?;
        for _ in 0..config.workers {
            let prepare = |part: &Part| part.prepare().and_then(|()| part.compute());
            herd.start(mode, "worker", group, part(herd.next_task(), worker_cpus), prepare, Part::work)?;
        }
    }
    Ok(herd)
}

#[cfg(test)]
mod tests {
    use super::super::config::read;
    use super::*;
    use crate::topology::tests::fake;

    #[test]
    fn apart_gives_every_messenger_a_cpu_and_the_workers_the_rest() {
        let alone = ("0", "0-3", 0);
        let root = fake("wakeup", &[alone, ("1", "0-3", 0), ("2", "0-3", 0), ("3", "0-3", 0)]);
        let topology = Topology::read_with(&root, &[0, 1, 2, 3]).unwrap();
        std::fs::remove_dir_all(root).unwrap();
        let of = |text: &str| places(&read(&text.parse().unwrap()).unwrap(), &topology);
        assert_eq!(of("wakeup:2x3,pin=apart").unwrap(), [(vec![0], vec![2, 3]), (vec![1], vec![2, 3])]);
        assert_eq!(of("wakeup:2x1,pin=same").unwrap(), [(vec![0], vec![0]), (vec![1], vec![1])]);
        assert_eq!(of("wakeup:1x1").unwrap(), [(vec![], vec![])]);
        let error = of("wakeup:4x1,pin=apart").unwrap_err().to_string();
        assert!(error.contains("5, not 4"), "{error}");
    }
}
