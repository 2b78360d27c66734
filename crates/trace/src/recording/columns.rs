//! Decodes the events of a block's columns: the counterpart of [`BlockWriter`](super::block::BlockWriter). Nothing in a
//! block is trusted: numbers of threads, names and states are looked up with a check, and whatever is invalid is an
//! error that names the event.

use super::block::{MAX_EVENTS, Who, strings};
use super::op::{self, BY_OP, CONTEXT, NAMED, OP_BITS, STATE_SHIFT, STATE_STORED, TARGET};
use super::varint::{take, unfold};
use super::woken::Woken;
use crate::event::{Context, Cpu, Event, Prio, Tid, Wake, What};
use crate::names::Name;
use crate::prev_state::StateId;
use crate::record_decoder::Dictionary;
use crate::rows::{Bits, Holds, Row, Values};
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
    /// With its number.
    Event(u8, Event),
    Lost {
        ts: u64,
        events: u64,
    },
}

impl<'a> Columns<'a> {
    /// Reads the tables before the columns.
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
        if ops.len() > MAX_EVENTS || !rest.is_empty() {
            return None;
        }
        let targets = vec![cpu; threads.len()];
        let (current, woken, last_work, at) = (None, Woken::default(), 0, 0);
        Some(Self { cpu, ops, times, refs, extra, states, names, threads, targets, current, woken, now, last_work, at })
    }

    /// The next entry; `Ok(None)` after the last one.
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

    /// `None` at the end, or if something is invalid; `at` is then its position.
    #[inline]
    fn entry(&mut self) -> Option<Entry> {
        let mut op = *self.ops.get(self.at)?;
        while op & OP_BITS == op::BACK {
            self.now = self.now.checked_sub(take(&mut self.extra)?)?;
            // A step back precedes an event, so at the end of the block it is invalid.
            op = *self.ops.get(self.at + 1)?;
            self.at += 1;
        }
        let now = self.now.checked_add(take(&mut self.times)?)?;
        let kind = op & OP_BITS;
        let what = match kind {
            op::SWITCH | op::SWITCH_TO_WOKEN => self.switch(op, kind)?,
            op::WAKING => What::Waking(self.wake(op)?),
            op::WAKEUP => What::Wakeup(self.wake(op)?),
            op::WAKEUP_NEW => What::WakeupNew(self.wake(op)?),
            op::LOST => {
                let events = take(&mut self.extra)?;
                self.current = None;
                (self.now, self.at) = (now, self.at + 1);
                return Some(Entry::Lost { ts: now, events });
            }
            op::SYS_ENTER | op::SYS_EXIT => self.call(op, kind)?,
            _ => self.row(BY_OP[usize::from(kind)]?)?,
        };
        (self.now, self.at) = (now, self.at + 1);
        Some(Entry::Event(kind, Event { ts: now, cpu: self.cpu, what }))
    }

    #[inline]
    fn switch(&mut self, op: u8, kind: u8) -> Option<What> {
        let prev = if op & NAMED == 0 { self.current? } else { self.thread()?.1 };
        let state = match u64::from(op >> STATE_SHIFT) {
            STATE_STORED => take(&mut self.extra)?,
            state => state,
        };
        let prev_state = *self.states.get(usize::try_from(state).ok()?)?;
        let (number, next) = match kind {
            op::SWITCH_TO_WOKEN => {
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

    fn call(&mut self, op: u8, kind: u8) -> Option<What> {
        let tid = if op & NAMED == 0 { self.current?.tid } else { self.tid()? };
        let number = Syscall(self.number()?.try_into().ok()?);
        let first = (unfold(self.number()?) as u64).into();
        if kind == op::SYS_EXIT {
            return Some(What::SysExit { tid, number, ret: first });
        }
        // Small for "not known", too.
        let arg1 = self.small()?.wrapping_sub(1);
        Some(What::SysEnter { tid, number, arg0: first, arg1 })
    }

    /// The counterpart of the writer's `push_row`.
    fn row(&mut self, row: &Row) -> Option<What> {
        let (mut fields, thread) = (Values::default(), row.thread());
        if !thread.is_empty() {
            let who = self.thread()?.1;
            let bits = [who.tid.bits(), who.comm.bits(), who.prio.bits()];
            fields[thread.clone()].copy_from_slice(&bits[..thread.len()]);
        }
        for (at, field) in row.fields.iter().enumerate().filter(|(at, _)| !thread.contains(at)) {
            fields[at] = match field.holds {
                Holds::Thread | Holds::ThreadIfSaid => self.tid()?.bits(),
                Holds::Comm | Holds::Text | Holds::Function => self.name()?.bits(),
                Holds::Prio => u8::try_from(self.number()?).ok()?.into(),
                Holds::Cpu | Holds::Pool => cpu(self.number()?)?.bits(),
                Holds::Number => self.small()?.bits(),
                Holds::Long => self.number()?,
                Holds::Address => {
                    self.last_work = self.last_work.wrapping_add(unfold(self.number()?) as u64);
                    self.last_work
                }
            };
        }
        What::of(row.kind, fields)
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

    fn name(&mut self) -> Option<Name> {
        let number = usize::try_from(self.number()?).ok()?;
        self.names.get(number).copied()
    }
}

fn tid(raw: u64) -> Option<Tid> {
    Tid::from_raw(raw.try_into().ok()?)
}

/// 65535 stands for any.
fn cpu(raw: u64) -> Option<Cpu> {
    u16::try_from(raw).ok().map(Cpu)
}
