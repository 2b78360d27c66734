//! A block of one CPU's events as columns. What follows from earlier events is not stored: the thread switched out is
//! the one that was switched in, the waker is the one that runs, a thread is woken where it was woken last. So most
//! events take one byte for what happened, two for the time, and one for the thread. A block is self-contained and
//! defines the names it uses, so blocks can be dropped (a recording that keeps the last seconds), lost on a disk, or
//! decoded on several CPUs.

use super::chunk::{self, Tag};
use super::op::{self, CONTEXT, NAMED, STATE_SHIFT, STATE_STORED, TARGET};
use super::varint::{fold, put, take};
use super::woken::Woken;
use crate::event::{Context, Cpu, Prio, Tid, Wake, What};
use crate::names::{Name, Names};
use crate::prev_state::{PrevStates, StateId};
use crate::rows::{Bits, Holds, Row, Values};
use std::collections::HashMap;

/// Most ops in a block; a reader refuses more.
pub(super) const MAX_EVENTS: usize = 1 << 18;

/// A block is finished when it has this many ops: enough that its tables cost next to nothing, and little to hold in
/// memory.
const FULL: usize = 1 << 16;

/// A block is also finished when it has this many names.
const MAX_NAMES: usize = 16_384;

/// A thread as events name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Who {
    pub(super) tid: Tid,
    pub(super) comm: Name,
    pub(super) prio: Prio,
}

/// A finished block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Its part of a file, framed and compressed.
    pub(super) part: Vec<u8>,
    /// Time of its first event, ns.
    pub first_ns: u64,
    /// Time of its last event, ns.
    pub last_ns: u64,
    /// Events in it.
    pub events: u64,
    /// Bytes of its content before compression.
    pub whole_bytes: u64,
}

impl Block {
    /// Size in a file.
    pub fn stored_bytes(&self) -> u64 {
        self.part.len() as u64
    }
}

/// Slots of the cache of threads: a power of two.
const CACHED: usize = 1024;

/// Collects the events of one CPU and makes blocks of them. It uses the memory for the columns of one block.
#[derive(Debug)]
pub struct BlockWriter {
    cpu: Cpu,
    /// Number of the block, which shows whether entries in the tables below are from an earlier one.
    block: u32,
    ops: Vec<u8>,
    times: Vec<u8>,
    refs: Vec<u8>,
    extra: Vec<u8>,
    first_ns: u64,
    last_ns: u64,
    events: u64,
    threads: Vec<Who>,
    /// The CPU to which each of `threads` was last woken.
    targets: Vec<Cpu>,
    /// By thread id: the block and number under which it was last named.
    cache: Box<[(u32, u32); CACHED]>,
    rest: HashMap<Who, u32>,
    /// By name: the block, and the name's number in it.
    names: Vec<(u32, u32)>,
    named: Vec<Name>,
    states: Vec<StateId>,
    /// The thread switched in last, as a number in `threads`.
    current: Option<u32>,
    woken: Woken,
    last_work: u64,
}

impl BlockWriter {
    /// For the events of `cpu`.
    pub fn new(cpu: Cpu) -> Self {
        Self {
            cpu,
            block: 1,
            ops: Vec::new(),
            times: Vec::new(),
            refs: Vec::new(),
            extra: Vec::new(),
            first_ns: 0,
            last_ns: 0,
            events: 0,
            threads: Vec::new(),
            targets: Vec::new(),
            cache: Box::new([(0, 0); CACHED]),
            rest: HashMap::new(),
            names: Vec::new(),
            named: Vec::new(),
            states: Vec::new(),
            current: None,
            woken: Woken::default(),
            last_work: 0,
        }
    }

    /// Whether this many more events fit into this block; an empty one has room for any page.
    pub fn has_room_for(&self, events: usize) -> bool {
        // An event that goes back in time takes two ops; the limit on names bounds the memory of a reader.
        self.ops.is_empty() || self.ops.len() + 2 * events <= FULL && self.named.len() <= MAX_NAMES
    }

    /// Events collected.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Time of the last event, ns.
    pub fn last_ns(&self) -> u64 {
        self.last_ns
    }

    /// Adds an event at `ts` ns, after the CPU's earlier ones. The caller checks for room first.
    #[inline]
    pub fn push(&mut self, ts: u64, what: What) {
        self.time(ts);
        self.events += 1;
        match what {
            What::Switch { prev, next, prev_comm, next_comm, prev_prio, next_prio, prev_state } => {
                let prev = Who { tid: prev, comm: prev_comm, prio: prev_prio };
                let next = Who { tid: next, comm: next_comm, prio: next_prio };
                self.switch(prev, prev_state, next);
            }
            What::Waking(wake) => self.wake(op::WAKING, &wake),
            What::Wakeup(wake) => self.wake(op::WAKEUP, &wake),
            What::WakeupNew(wake) => self.wake(op::WAKEUP_NEW, &wake),
            rare => self.push_rare(rare),
        }
    }

    /// Notes that events of this CPU were lost before `ts`; 0 if they were not counted.
    pub fn lost(&mut self, ts: u64, events: u64) {
        self.time(ts);
        self.ops.push(op::LOST);
        put(&mut self.extra, events);
        self.current = None;
    }

    #[inline]
    fn time(&mut self, ts: u64) {
        if self.ops.is_empty() {
            (self.first_ns, self.last_ns) = (ts, ts);
        }
        if ts < self.last_ns {
            self.ops.push(op::BACK);
            put(&mut self.extra, self.last_ns - ts);
            self.last_ns = ts;
        }
        put(&mut self.times, ts - self.last_ns);
        self.last_ns = ts;
    }

    #[inline]
    fn switch(&mut self, prev: Who, prev_state: StateId, next: Who) {
        let mut bits = 0;
        if self.current.is_none_or(|current| self.threads[current as usize] != prev) {
            bits |= NAMED;
            let number = self.thread(prev);
            put(&mut self.refs, number.into());
        }
        let state = self.state(prev_state);
        bits |= (state.min(STATE_STORED) as u8) << STATE_SHIFT;
        if state >= STATE_STORED {
            put(&mut self.extra, state);
        }
        let next = self.thread(next);
        let op = if self.woken.expected() == Some(next) {
            op::SWITCH_TO_WOKEN
        } else {
            put(&mut self.refs, next.into());
            op::SWITCH
        };
        self.woken.came(next);
        self.current = Some(next);
        self.ops.push(op | bits);
    }

    #[inline]
    fn wake(&mut self, mut op: u8, wake: &Wake) {
        let number = self.thread(Who { tid: wake.tid, comm: wake.comm, prio: wake.prio });
        put(&mut self.refs, number.into());
        if self.current.is_none_or(|current| self.threads[current as usize].tid != wake.waker) {
            op |= NAMED;
            put(&mut self.extra, wake.waker.0.into());
        }
        if self.targets[number as usize] != wake.target_cpu {
            op |= TARGET;
            put(&mut self.extra, wake.target_cpu.0.into());
            self.targets[number as usize] = wake.target_cpu;
        }
        if wake.target_cpu == self.cpu {
            self.woken.woken(number);
        }
        if wake.context != Context::NONE {
            op |= CONTEXT;
            self.extra.push(wake.context.bits());
        }
        self.ops.push(op);
    }

    fn push_rare(&mut self, what: What) {
        let op = match what {
            What::SysEnter { tid, number, arg0, arg1 } => {
                let op = self.caller(op::SYS_ENTER, tid);
                self.extra([number.0.into(), fold(arg0.get() as i64), u64::from(arg1.wrapping_add(1))]);
                op
            }
            What::SysExit { tid, number, ret } => {
                let op = self.caller(op::SYS_EXIT, tid);
                self.extra([number.0.into(), fold(ret.get() as i64)]);
                op
            }
            what => match what.fields() {
                Some((row, fields)) => self.push_row(row, &fields),
                // Readers detect gaps; a recording contains the losses.
                None => {
                    self.extra([0]);
                    op::LOST
                }
            },
        };
        self.ops.push(op);
    }

    /// The thread whose name the event has, then its other fields in order.
    fn push_row(&mut self, row: &Row, fields: &Values) -> u8 {
        let thread = row.thread();
        if let [tid, comm, prio @ ..] = &fields[thread.clone()] {
            let prio = prio.first().map_or(Prio::UNKNOWN, |prio| Bits::of(*prio));
            let number = self.thread(Who { tid: Bits::of(*tid), comm: Bits::of(*comm), prio });
            put(&mut self.refs, number.into());
        }
        for (_, (field, bits)) in row.fields.iter().zip(fields).enumerate().filter(|(at, _)| !thread.contains(at)) {
            let number = match field.holds {
                Holds::Text | Holds::Function => self.name(Bits::of(*bits)),
                // Work items are in neighbouring structures, so the distance from the last one is shorter than the
                // address.
                Holds::Address => fold(bits.wrapping_sub(std::mem::replace(&mut self.last_work, *bits)) as i64),
                _ => *bits,
            };
            put(&mut self.extra, number);
        }
        row.op
    }

    /// The op of a system call; its caller is named if another thread was switched in last.
    fn caller(&mut self, op: u8, tid: Tid) -> u8 {
        if self.current.is_some_and(|current| self.threads[current as usize].tid == tid) {
            return op;
        }
        put(&mut self.extra, tid.0.into());
        op | NAMED
    }

    fn extra<const N: usize>(&mut self, numbers: [u64; N]) {
        numbers.into_iter().for_each(|number| put(&mut self.extra, number));
    }

    /// The number of a thread in this block.
    #[inline]
    fn thread(&mut self, who: Who) -> u32 {
        let (block, number) = self.cache[who.tid.0 as usize % CACHED];
        if block == self.block && self.threads[number as usize] == who {
            return number;
        }
        self.thread_anew(who)
    }

    #[cold]
    fn thread_anew(&mut self, who: Who) -> u32 {
        let next = self.threads.len() as u32;
        let number = *self.rest.entry(who).or_insert(next);
        if number == next {
            self.threads.push(who);
            self.targets.push(self.cpu);
            self.name(who.comm);
        }
        self.cache[who.tid.0 as usize % CACHED] = (self.block, number);
        number
    }

    /// The number of a name in this block.
    fn name(&mut self, name: Name) -> u64 {
        if self.names.len() <= name.index() {
            self.names.resize(name.index() + 1, (0, 0));
        }
        let slot = &mut self.names[name.index()];
        if slot.0 != self.block {
            *slot = (self.block, self.named.len() as u32);
            self.named.push(name);
        }
        slot.1.into()
    }

    #[inline]
    fn state(&mut self, state: StateId) -> u64 {
        if let Some(at) = self.states.iter().position(|s| *s == state) {
            return at as u64;
        }
        self.states.push(state);
        self.states.len() as u64 - 1
    }

    /// Makes a block of the collected events, `None` if there are none; the next event starts a new one. `names` and
    /// `states` are those with which the events were made.
    pub fn finish(&mut self, names: &Names, states: &PrevStates) -> Option<Block> {
        if self.ops.is_empty() {
            return None;
        }
        let columns = [&self.ops, &self.times, &self.refs, &self.extra];
        let mut content = Vec::with_capacity(columns.iter().map(|c| c.len()).sum::<usize>() + 4096);
        put(&mut content, self.cpu.0.into());
        put(&mut content, self.first_ns);
        let letters: Vec<&[u8]> = self.states.iter().map(|s| states.letters(*s).as_bytes()).collect();
        put_strings(&mut content, &letters);
        let texts: Vec<&[u8]> = self.named.iter().map(|n| names.text(*n).as_bytes()).collect();
        put_strings(&mut content, &texts);
        put(&mut content, self.threads.len() as u64);
        for who in &self.threads {
            put(&mut content, who.tid.0.into());
            put(&mut content, self.names[who.comm.index()].1.into());
            content.push(who.prio.byte());
        }
        for column in columns {
            put(&mut content, column.len() as u64);
        }
        columns.iter().for_each(|column| content.extend_from_slice(column));
        let mut part = Vec::new();
        chunk::frame(Tag::Events, &content, &mut part);
        let (first_ns, last_ns, whole_bytes) = (self.first_ns, self.last_ns, content.len() as u64);
        let block = Block { part, first_ns, last_ns, events: self.events, whole_bytes };
        self.clear();
        Some(block)
    }

    fn clear(&mut self) {
        [&mut self.ops, &mut self.times, &mut self.refs, &mut self.extra].into_iter().for_each(Vec::clear);
        self.threads.clear();
        self.targets.clear();
        self.rest.clear();
        self.named.clear();
        self.states.clear();
        self.woken.clear();
        (self.current, self.last_work, self.events) = (None, 0, 0);
        self.block = self.block.wrapping_add(1);
        if self.block == 0 {
            // After 2^32 blocks an old entry could seem current.
            self.cache.fill((0, 0));
            self.names.clear();
            self.block = 1;
        }
    }
}

fn put_strings(out: &mut Vec<u8>, strings: &[&[u8]]) {
    put(out, strings.len() as u64);
    for text in strings {
        put(out, text.len() as u64);
        out.extend_from_slice(text);
    }
}

/// A list of strings; it has at most as many as there are bytes.
pub(super) fn strings<'a>(rest: &mut &'a [u8]) -> Option<Vec<&'a [u8]>> {
    let count = usize::try_from(take(rest)?).ok().filter(|count| *count <= rest.len())?;
    let mut found = Vec::new();
    for _ in 0..count {
        let bytes = usize::try_from(take(rest)?).ok()?;
        let (text, after) = rest.split_at_checked(bytes)?;
        found.push(text);
        *rest = after;
    }
    Some(found)
}
