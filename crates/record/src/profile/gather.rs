//! From records to call chains, while sampling continues: each distinct chain is kept once, a sample is twenty bytes.
//! Records of several rings are put in order first, since a process may be made on one CPU and sampled on another.

use super::records::{Address, RawSample, Record, Task, next};
use super::spaces::{FilePlace, Spaces};
use schedlab_plan::profile::{Sample, TaskIds};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// Values by number, each once.
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

/// Where a task was found, or whence it was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Spot {
    pub(crate) code: Code,
    /// The address is the one a call returns to: the call itself lies before it.
    pub(crate) is_caller: bool,
}

/// Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Code {
    /// An address of the kernel.
    Kernel(u64),
    /// A place in a file.
    File(FilePlace),
    /// A user address at which nothing is known to be mapped.
    Unmapped,
}

/// A chain of spots, the innermost first, and whose it is.
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
    /// Bytes of rings that are no records.
    pub(crate) unreadable_bytes: u64,
    /// Times of samples are relative to this, CLOCK_MONOTONIC.
    start_ns: u64,
    /// The process that samples; its own samples are counted and left out.
    sampler_pid: u32,
    /// Where all tasks are sampled but not all are wanted: the processes that the sampler has started, and theirs.
    descendants: Option<HashSet<u32>>,
    comm_of: HashMap<u32, u32>,
}

impl Gathered {
    pub(crate) fn new(start_ns: u64, sampler_pid: u32) -> Self {
        Self { start_ns, sampler_pid, ..Self::default() }
    }

    /// The same, but samples of other processes than the sampler's descendants are left out.
    pub(crate) fn of_descendants(start_ns: u64, sampler_pid: u32) -> Self {
        Self { descendants: Some(HashSet::new()), ..Self::new(start_ns, sampler_pid) }
    }

    /// A thread that was there before.
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
                    // Its number may have been a descendant's before.
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

    /// The call of a caller lies before the address it returns to, which may be the end of its function and mapping.
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

/// Records that may still have to wait for older ones of another ring.
#[derive(Debug, Default)]
pub(crate) struct InOrder {
    bytes: Vec<u8>,
}

impl InOrder {
    /// Where the next ring's bytes are appended.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Hands over, in order of time, every record from before `until_ns`; later ones wait.
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
mod tests {
    use super::super::records::written;
    use super::*;

    const PARENT: Task = Task { pid: 5, tid: 5 };
    const CHILD: Task = Task { pid: 7, tid: 7 };

    fn user(address: u64) -> Address {
        Address { address, is_kernel: false }
    }

    /// Comm and places of a sample, the innermost first.
    fn told(gathered: &Gathered, sample: &Sample) -> String {
        let chain = &gathered.chains.all()[sample.chain as usize];
        let spot = |number: &u32| match gathered.spots.all()[*number as usize].code {
            Code::Kernel(address) => format!("{address:#x}"),
            Code::File(at) => format!("{}+{}", gathered.spaces.images()[at.image as usize], at.offset),
            Code::Unmapped => "?".into(),
        };
        let places: Vec<String> = chain.spots.iter().map(spot).collect();
        format!("{}: {}", gathered.comms.all()[chain.comm as usize], places.join(" "))
    }

    #[test]
    fn a_sample_of_one_ring_waits_for_the_exec_on_another() {
        let mut order = InOrder::default();
        let mut gathered = Gathered::new(1_000, 99);
        gathered.take(Record::Comm { task: PARENT, exec: true, name: b"sh" });
        // The ring of CPU 0 is read first, but the process was made and given its program on CPU 1.
        order.buffer().extend(written::sample(CHILD, 9_000, 10, &[user(150), user(200)]));
        order.buffer().extend(written::sample(CHILD, 30_000, 10, &[user(150)]));
        order.buffer().extend(written::fork(CHILD, PARENT, 5_000));
        order.buffer().extend(written::comm(CHILD, true, "prog", 6_000));
        order.buffer().extend(written::mmap2(CHILD, [100, 100, 4000], "/bin/prog", 7_000));
        order.hand_over(20_000, &mut gathered);
        assert_eq!(gathered.samples.len(), 1, "the other is not old enough");
        let sample = gathered.samples[0];
        // 200 is the end of the mapping: the call before it is inside.
        assert_eq!(told(&gathered, &sample), "prog: /bin/prog+4050 /bin/prog+4100");
        assert_eq!((sample.at_us, sample.weight), (8, 10));
        let TaskIds { pid, tid } = gathered.tasks.all()[sample.task as usize];
        assert_eq!((pid, tid), (CHILD.pid, CHILD.tid));
        order.hand_over(u64::MAX, &mut gathered);
        order.hand_over(u64::MAX, &mut gathered);
        assert_eq!(gathered.samples.len(), 2, "handed over once");
        assert_eq!(told(&gathered, &gathered.samples[1]), "prog: /bin/prog+4050");
    }

    #[test]
    fn equal_chains_are_one_and_the_samplers_own_are_none() {
        let mut gathered = Gathered::new(0, 99);
        let sampler = Task { pid: 99, tid: 100 };
        let idle = Task { pid: 0, tid: 0 };
        let kernel = Address { address: 1 << 40, is_kernel: true };
        for task in [PARENT, PARENT, sampler, idle] {
            let bytes = written::sample(task, 1, u64::MAX, &[kernel, user(1)]);
            gathered.take(next(&bytes).unwrap().record.unwrap());
        }
        assert_eq!((gathered.samples.len(), gathered.chains.all().len(), gathered.of_the_sampler), (3, 2, 1));
        assert_eq!(told(&gathered, &gathered.samples[0]), "pid 5: 0x10000000000 ?");
        assert_eq!(told(&gathered, &gathered.samples[2]), "swapper: 0x10000000000 ?");
        assert!(gathered.chains.all()[1].idle_task);
        assert_eq!(gathered.samples[0].weight, u32::MAX, "a weight that does not fit is the largest");
    }

    #[test]
    fn of_all_tasks_the_descendants_are_kept() {
        let (sampler, child, grandchild) = (Task { pid: 99, tid: 99 }, CHILD, Task { pid: 8, tid: 8 });
        let bytes = [
            written::sample(child, 1, 1, &[user(1)]),
            written::fork(child, sampler, 2),
            written::fork(Task { pid: 99, tid: 100 }, sampler, 3),
            written::fork(grandchild, child, 4),
            written::sample(grandchild, 5, 1, &[user(2)]),
            written::sample(sampler, 6, 1, &[user(3)]),
            written::sample(Task { pid: 0, tid: 0 }, 7, 1, &[user(4)]),
            written::sample(PARENT, 8, 1, &[user(5)]),
            written::sample(Task { pid: 7, tid: 70 }, 9, 2, &[user(6)]),
            written::fork(child, PARENT, 10),
            written::sample(child, 11, 1, &[user(7)]),
        ];
        let mut order = InOrder::default();
        bytes.iter().for_each(|b| order.buffer().extend(b));
        let mut gathered = Gathered::of_descendants(0, 99);
        order.hand_over(u64::MAX, &mut gathered);
        let weights: Vec<u32> = gathered.samples.iter().map(|sample| sample.weight).collect();
        assert_eq!(weights, [1, 2], "the grandchild's, and a thread's of the child; not those of before and after it");
        assert_eq!(gathered.of_the_sampler, 0);
    }

    #[test]
    fn threads_have_their_makers_name_until_they_take_their_own() {
        let mut gathered = Gathered::new(0, 99);
        let thread = Task { pid: 5, tid: 6 };
        let bytes = [
            written::comm(PARENT, false, "main", 1),
            written::fork(thread, PARENT, 2),
            written::sample(thread, 3, 1, &[user(1)]),
            written::comm(thread, false, "helper", 4),
            written::sample(thread, 5, 1, &[user(1)]),
            written::lost(40, 6),
        ];
        let mut order = InOrder::default();
        bytes.iter().for_each(|b| order.buffer().extend(b));
        order.hand_over(u64::MAX, &mut gathered);
        let names: Vec<String> = gathered.samples.iter().map(|s| told(&gathered, s)).collect();
        assert_eq!(names, ["main: ?", "helper: ?"]);
        assert_eq!((gathered.lost, gathered.unreadable_bytes), (40, 0));
        order.buffer().extend([0; 20]);
        order.hand_over(u64::MAX, &mut gathered);
        assert_eq!(gathered.unreadable_bytes, 20, "a record of no length ends the reading");
    }

    #[test]
    fn damaged_rings_are_gathered_as_far_as_they_can_be_read() {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/profile_records");
        let mut draw = schedlab_stats::Random::new(1);
        for file in std::fs::read_dir(dir).unwrap() {
            let whole = std::fs::read(file.unwrap().path()).unwrap();
            for round in 0..200 {
                let mut bytes = whole.clone();
                for _ in 0..round % 9 {
                    let at = draw.below(bytes.len());
                    bytes[at] = draw.below(256) as u8;
                }
                let mut order = InOrder::default();
                let mut gathered = Gathered::new(u64::MAX, 99);
                order.buffer().extend(&bytes);
                order.hand_over(1 << draw.below(63), &mut gathered);
                order.hand_over(u64::MAX, &mut gathered);
                order.hand_over(u64::MAX, &mut gathered);
                assert!(round > 0 || gathered.samples.len() > 3, "the whole ring");
                for chain in gathered.chains.all() {
                    assert!(chain.spots.iter().all(|spot| (*spot as usize) < gathered.spots.all().len()));
                }
            }
        }
    }
}
