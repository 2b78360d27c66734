//! From records to call chains, while sampling continues: each distinct chain is kept once, and a sample takes twenty
//! bytes. Records of several rings are put in order first, since a process may be created on one CPU and sampled on
//! another.

use super::records::{Address, RawSample, Record, Task, next};
use super::spaces::{FilePlace, Spaces};
use schedlab_plan::profile::{Sample, TaskIds};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// Distinct values, numbered.
#[derive(Debug)]
pub(crate) struct Numbered<T> {
    all: Vec<T>,
    number_of: HashMap<T, u32>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { all: Vec::new(), number_of: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    pub(crate) fn number(&mut self, value: T) -> u32 {
        if let Some(number) = self.number_of.get(&value) {
            return *number;
        }
        let number = self.all.len() as u32;
        self.all.push(value.clone());
        self.number_of.insert(value, number);
        number
    }
    pub(crate) fn all(&self) -> &[T] {
        &self.all
    }
    pub(crate) fn into_all(self) -> Vec<T> {
        self.all
    }
}

/// Where a task was found, or where it was called from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Spot {
    pub(crate) code: Code,
    /// The address is a return address: the call itself lies before it.
    pub(crate) is_caller: bool,
}

/// Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Code {
    /// An address of the kernel.
    Kernel(u64),
    /// A place in a file.
    File(FilePlace),
    /// A user address at which no known mapping lies.
    Unmapped,
}

/// A chain of spots, the innermost first, and its task.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Chain {
    pub(crate) comm: u32,
    pub(crate) idle_task: bool,
    pub(crate) spots: Vec<u32>,
}

/// What has been sampled so far.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) spaces: Spaces,
    pub(crate) spots: Numbered<Spot>,
    pub(crate) chains: Numbered<Chain>,
    pub(crate) comms: Numbered<String>,
    pub(crate) tasks: Numbered<TaskIds>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) lost: u64,
    pub(crate) throttled: u64,
    pub(crate) of_the_sampler: u64,
    /// Bytes in rings that are not records.
    pub(crate) unreadable_bytes: u64,
    /// Times of samples are relative to this instant, CLOCK_MONOTONIC.
    start_ns: u64,
    /// The process that samples; its own samples are counted but left out.
    sampler_pid: u32,
    /// If all tasks are sampled but not all are wanted: the processes that the sampler has started, and their
    /// descendants.
    descendants: Option<HashSet<u32>>,
    comm_of: HashMap<u32, u32>,
}

impl Gathered {
    pub(crate) fn new(start_ns: u64, sampler_pid: u32) -> Self {
        Self { start_ns, sampler_pid, ..Self::default() }
    }

    /// The same, but leaves out samples of processes that are not descendants of the sampler.
    pub(crate) fn of_descendants(start_ns: u64, sampler_pid: u32) -> Self {
        Self { descendants: Some(HashSet::new()), ..Self::new(start_ns, sampler_pid) }
    }

    /// A thread that existed before sampling started.
    pub(crate) fn set_comm(&mut self, tid: u32, name: &str) {
        let comm = self.comms.number(name.to_owned());
        self.comm_of.insert(tid, comm);
    }

    pub(crate) fn take(&mut self, record: Record<'_>) {
        match record {
            Record::Sample(sample) => self.sample(&sample),
            Record::Comm { task, exec, name } => {
                if exec {
                    self.spaces.exec(task.pid);
                }
                self.set_comm(task.tid, &String::from_utf8_lossy(name));
            }
            Record::Mapped { pid, mapping } => self.spaces.map(pid, &mapping),
            Record::Forked { task, parent } => self.forked(task, parent),
            Record::Lost(n) => self.lost = self.lost.saturating_add(n),
            Record::Throttled => self.throttled += 1,
        }
    }

    fn forked(&mut self, task: Task, parent: Task) {
        if task.pid != parent.pid {
            self.spaces.fork(task.pid, parent.pid);
            if let Some(descendants) = &mut self.descendants {
                if parent.pid == self.sampler_pid || descendants.contains(&parent.pid) {
                    descendants.insert(task.pid);
                } else {
                    // Its pid may have been that of an earlier descendant.
                    descendants.remove(&task.pid);
                }
            }
        }
        match self.comm_of.get(&parent.tid) {
            Some(comm) => self.comm_of.insert(task.tid, *comm),
            None => self.comm_of.remove(&task.tid),
        };
    }

    fn sample(&mut self, sample: &RawSample) {
        if self.descendants.as_ref().is_some_and(|descendants| !descendants.contains(&sample.task.pid)) {
            return;
        }
        if sample.task.pid == self.sampler_pid {
            self.of_the_sampler += 1;
            return;
        }
        let mut spots = Vec::with_capacity(sample.chain.len());
        for (at, address) in sample.chain.iter().enumerate() {
            let code = self.code(sample.task.pid, *address, at > 0);
            spots.push(self.spots.number(Spot { code, is_caller: at > 0 }));
        }
        let idle_task = sample.task.pid == 0;
        let comm = match self.comm_of.get(&sample.task.tid) {
            _ if idle_task => self.comms.number("swapper".into()),
            Some(comm) => *comm,
            None => self.comms.number(format!("pid {}", sample.task.pid)),
        };
        let chain = self.chains.number(Chain { comm, idle_task, spots });
        let at_us = sample.time_ns.saturating_sub(self.start_ns) / 1_000;
        let weight = u32::try_from(sample.period).unwrap_or(u32::MAX);
        let task = self.tasks.number(TaskIds { pid: sample.task.pid, tid: sample.task.tid });
        let at_us = u32::try_from(at_us).unwrap_or(u32::MAX);
        self.samples.push(Sample { at_us, weight, chain, task, cpu: sample.cpu });
    }

    /// A caller's call lies before the return address, which may be the end of the function and the mapping.
    fn code(&self, pid: u32, at: Address, is_caller: bool) -> Code {
        if at.is_kernel {
            return Code::Kernel(at.address);
        }
        let back = u64::from(is_caller);
        match self.spaces.place(pid, at.address.wrapping_sub(back)) {
            Some(place) => Code::File(FilePlace { offset: place.offset.wrapping_add(back), ..place }),
            None => Code::Unmapped,
        }
    }
}

/// Records that may still have to wait for older ones from another ring.
#[derive(Debug, Default)]
pub(crate) struct InOrder {
    bytes: Vec<u8>,
}

impl InOrder {
    /// Where the next ring's bytes are appended.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Hands over, in order of time, every record before `until_ns`; later ones wait.
    pub(crate) fn hand_over(&mut self, until_ns: u64, gathered: &mut Gathered) {
        let (mut ready, mut waiting) = (Vec::new(), Vec::new());
        let mut rest = self.bytes.as_slice();
        while let Some(step) = next(rest) {
            let whole = &rest[..rest.len() - step.rest.len()];
            match step.record {
                Some(record) if step.time_ns < until_ns => ready.push((step.time_ns, record)),
                Some(_) => waiting.extend_from_slice(whole),
                None => {}
            }
            rest = step.rest;
        }
        gathered.unreadable_bytes += rest.len() as u64;
        ready.sort_by_key(|(time_ns, _)| *time_ns);
        ready.into_iter().for_each(|(_, record)| gathered.take(record));
        self.bytes = waiting;
    }
}

#[cfg(test)]
mod tests;
