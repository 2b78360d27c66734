//! Events of a block's columns: the other side of [`BlockWriter`](super::block::BlockWriter). Nothing a block says is
//! believed: numbers of threads, names and states are looked up with a check, and what does not fit is an error that
//! names the event.

use super::block::{MOST_EVENTS, Who, strings};
use super::op::{CONTEXT, NAMED, OP_BITS, Op, STATE_SHIFT, STATE_STORED, TARGET};
use super::varint::{take, unfold};
use super::woken::Woken;
use crate::event::{Context, Cpu, Event, Prio, Tid, Wake, What, Wide};
use crate::fields::Dictionary;
use crate::names::Name;
use crate::prev_state::StateId;
use crate::syscall::Syscall;

/// A block that is being read.
pub(super) struct Columns<'a> {
    pub(super) cpu: Cpu,
    ops: &'a [u8],
    times: &'a [u8],
    refs: &'a [u8],
    extra: &'a [u8],
    states: Vec<StateId>,
    names: Vec<Name>,
    threads: Vec<Who>,
    targets: Vec<Cpu>,
    current: Option<Who>,
    woken: Woken,
    now: u64,
    last_work: u64,
    at: usize,
}

/// One entry of a block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Event(Op, Event),
    Lost { ts: u64, events: u64 },
}

impl<'a> Columns<'a> {
    /// Reads the tables in front of the columns.
    pub(super) fn new(content: &'a [u8], dictionary: &mut Dictionary) -> Result<Self, String> {
        let mut rest = content;
        let columns = Self::tables(&mut rest, dictionary);
        let at = content.len() - rest.len();
        columns.ok_or_else(|| format!("byte {at} of its content is not what belongs there"))
    }

    fn tables(rest: &mut &'a [u8], dictionary: &mut Dictionary) -> Option<Self> {
        let cpu = cpu(take(rest)?)?;
        let now = take(rest)?;
        let letters = strings(rest)?;
        let states = letters.iter().map(|l| dictionary.states.of_letters(&String::from_utf8_lossy(l))).collect();
        let names: Vec<Name> = strings(rest)?.into_iter().map(|text| dictionary.names.intern_bytes(text)).collect();
        let count = usize::try_from(take(rest)?).ok().filter(|count| *count <= rest.len())?;
        let mut threads = Vec::new();
        for _ in 0..count {
            let tid = tid(take(rest)?)?;
            let comm = *names.get(usize::try_from(take(rest)?).ok()?)?;
            let (prio, after) = rest.split_first()?;
            *rest = after;
            threads.push(Who { tid, comm, prio: Prio::from_byte(*prio) });
        }
        let mut lengths = [0; 4];
        for length in &mut lengths {
            *length = usize::try_from(take(rest)?).ok()?;
        }
        let mut column = |bytes: usize| {
            let (column, after) = rest.split_at_checked(bytes)?;
            *rest = after;
            Some(column)
        };
        let [ops, times, refs, extra] = lengths;
        let (ops, times, refs, extra) = (column(ops)?, column(times)?, column(refs)?, column(extra)?);
        if ops.len() > MOST_EVENTS || !rest.is_empty() {
            return None;
        }
        let targets = vec![cpu; threads.len()];
        let (current, woken, last_work, at) = (None, Woken::default(), 0, 0);
        Some(Self { cpu, ops, times, refs, extra, states, names, threads, targets, current, woken, now, last_work, at })
    }

    /// The next entry; `Ok(None)` behind the last one.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<Entry>, String> {
        match self.entry() {
            Some(entry) => Ok(Some(entry)),
            None if self.at == self.ops.len() => self.end(),
            None => Err(format!("event {} of it is not whole or names what it does not define", self.at)),
        }
    }

    fn end(&self) -> Result<Option<Entry>, String> {
        let left = self.times.len() + self.refs.len() + self.extra.len();
        if left == 0 { Ok(None) } else { Err(format!("{left} bytes of its columns belong to no event")) }
    }

    /// `None` at the end, and where something is wrong; `at` then stands on it.
    #[inline]
    fn entry(&mut self) -> Option<Entry> {
        let mut op = *self.ops.get(self.at)?;
        while op & OP_BITS == Op::Back as u8 {
            self.now = self.now.checked_sub(take(&mut self.extra)?)?;
            // A step back stands before an event, so at the end of the block it is wrong.
            op = *self.ops.get(self.at + 1)?;
            self.at += 1;
        }
        let now = self.now.checked_add(take(&mut self.times)?)?;
        let kind = *Op::ALL.get(usize::from(op & OP_BITS))?;
        let what = match kind {
            Op::Switch | Op::SwitchToWoken => self.switch(op, kind)?,
            Op::Waking => What::Waking(self.wake(op)?),
            Op::Wakeup => What::Wakeup(self.wake(op)?),
            Op::WakeupNew => What::WakeupNew(self.wake(op)?),
            Op::Lost => {
                let events = take(&mut self.extra)?;
                self.current = None;
                (self.now, self.at) = (now, self.at + 1);
                return Some(Entry::Lost { ts: now, events });
            }
            Op::SysEnter | Op::SysExit => self.call(op, kind)?,
            _ => self.rare(kind)?,
        };
        (self.now, self.at) = (now, self.at + 1);
        Some(Entry::Event(kind, Event { ts: now, cpu: self.cpu, what }))
    }

    #[inline]
    fn switch(&mut self, op: u8, kind: Op) -> Option<What> {
        let prev = if op & NAMED == 0 { self.current? } else { self.thread()?.1 };
        let state = match u64::from(op >> STATE_SHIFT) {
            STATE_STORED => take(&mut self.extra)?,
            state => state,
        };
        let prev_state = *self.states.get(usize::try_from(state).ok()?)?;
        let (number, next) = match kind {
            Op::SwitchToWoken => {
                let expected = self.woken.expected()?;
                self.numbered(expected as usize)?
            }
            _ => self.thread()?,
        };
        self.woken.came(number as u32);
        self.current = Some(next);
        Some(What::Switch {
            prev: prev.tid,
            next: next.tid,
            prev_comm: prev.comm,
            next_comm: next.comm,
            prev_prio: prev.prio,
            next_prio: next.prio,
            prev_state,
        })
    }

    #[inline]
    fn wake(&mut self, op: u8) -> Option<Wake> {
        let (number, who) = self.thread()?;
        let waker = if op & NAMED == 0 { self.current?.tid } else { tid(take(&mut self.extra)?)? };
        if op & TARGET != 0 {
            self.targets[number] = cpu(take(&mut self.extra)?)?;
        }
        let mut context = Context::NONE;
        if op & CONTEXT != 0 {
            let (bits, rest) = self.extra.split_first()?;
            (context, self.extra) = (Context::from_common_flags(*bits), rest);
        }
        let target_cpu = self.targets[number];
        if target_cpu == self.cpu {
            self.woken.woken(number as u32);
        }
        Some(Wake { tid: who.tid, comm: who.comm, waker, target_cpu, prio: who.prio, context })
    }

    fn call(&mut self, op: u8, kind: Op) -> Option<What> {
        let tid = if op & NAMED == 0 { self.current?.tid } else { self.tid()? };
        let number = Syscall(self.number()?.try_into().ok()?);
        let first = (unfold(self.number()?) as u64).into();
        if kind == Op::SysExit {
            return Some(What::SysExit { tid, number, ret: first });
        }
        // Small for "not known", too.
        let arg1 = self.small()?.wrapping_sub(1);
        Some(What::SysEnter { tid, number, arg0: first, arg1 })
    }

    fn rare(&mut self, op: Op) -> Option<What> {
        Some(match op {
            Op::Migrate => {
                let who = self.thread()?.1;
                let (orig_cpu, dest_cpu) = (self.cpu_number()?, self.cpu_number()?);
                What::Migrate { tid: who.tid, comm: who.comm, prio: who.prio, orig_cpu, dest_cpu }
            }
            Op::StatRuntime => {
                let who = self.thread()?.1;
                What::StatRuntime { tid: who.tid, comm: who.comm, runtime: self.number()?.into() }
            }
            Op::PiSetprio => {
                let who = self.thread()?.1;
                let newprio = Prio::from_byte(self.number()?.try_into().ok()?);
                What::PiSetprio { tid: who.tid, comm: who.comm, oldprio: who.prio, newprio }
            }
            Op::Fork => {
                let who = self.thread()?.1;
                What::Fork { parent: self.tid()?, child: who.tid, comm: who.comm }
            }
            Op::Exit => {
                let who = self.thread()?.1;
                What::Exit { tid: who.tid, comm: who.comm }
            }
            Op::Comm => {
                let who = self.thread()?.1;
                What::Comm { tid: who.tid, comm: who.comm }
            }
            Op::Exec => What::Exec { tid: self.tid()?, old_tid: self.tid()? },
            Op::IrqEntry => What::IrqEntry { irq: self.small()?, name: self.name()? },
            Op::IrqExit => What::IrqExit { irq: self.small()? },
            Op::SoftirqRaise => What::SoftirqRaise { vec: self.small()? },
            Op::SoftirqEntry => What::SoftirqEntry { vec: self.small()? },
            Op::SoftirqExit => What::SoftirqExit { vec: self.small()? },
            Op::CpuIdle => What::CpuIdle { state: self.small()?, cpu: self.cpu_number()? },
            Op::WorkQueued => {
                let (work, function) = (self.work()?, self.name()?);
                What::WorkQueued { work, function, workqueue: self.name()?, cpu: self.cpu_number()? }
            }
            Op::WorkActivated => What::WorkActivated { work: self.work()?, function: self.name()? },
            Op::WorkStarted => What::WorkStarted { work: self.work()?, function: self.name()?, worker: self.tid()? },
            Op::WorkEnded => What::WorkEnded { work: self.work()?, function: self.name()?, worker: self.tid()? },
            Op::CgroupAttach => {
                let who = self.thread()?.1;
                What::CgroupAttach { tid: who.tid, comm: who.comm, dst_root: self.small()?, dst_path: self.name()? }
            }
            // These are read above.
            Op::Switch | Op::SwitchToWoken | Op::Waking | Op::Wakeup | Op::WakeupNew => return None,
            Op::SysEnter | Op::SysExit | Op::Lost | Op::Back => return None,
        })
    }

    #[inline]
    fn thread(&mut self) -> Option<(usize, Who)> {
        let number = usize::try_from(take(&mut self.refs)?).ok()?;
        self.numbered(number)
    }

    #[inline]
    fn numbered(&self, number: usize) -> Option<(usize, Who)> {
        Some((number, *self.threads.get(number)?))
    }

    fn number(&mut self) -> Option<u64> {
        take(&mut self.extra)
    }

    fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    fn tid(&mut self) -> Option<Tid> {
        tid(self.number()?)
    }

    fn cpu_number(&mut self) -> Option<Cpu> {
        cpu(self.number()?)
    }

    fn name(&mut self) -> Option<Name> {
        let number = usize::try_from(self.number()?).ok()?;
        self.names.get(number).copied()
    }

    fn work(&mut self) -> Option<Wide> {
        self.last_work = self.last_work.wrapping_add(unfold(self.number()?) as u64);
        Some(self.last_work.into())
    }
}

fn tid(raw: u64) -> Option<Tid> {
    Tid::from_raw(raw.try_into().ok()?)
}

/// 65535 stands for any.
fn cpu(raw: u64) -> Option<Cpu> {
    u16::try_from(raw).ok().map(Cpu)
}
