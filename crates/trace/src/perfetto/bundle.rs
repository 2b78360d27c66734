//! A bundle: events of one CPU, individually and in columns.

use super::Perfetto;
use super::compact::{Compact, Item};
use super::events::{Raw, what};
use super::losses::{Before, Marks};
use super::schema::{bundle, clock, field};
use super::stats::unread_page;
use super::wire::{Fields, Value};
use crate::event::{Cpu, Event, Prio, Tid, What};
use crate::kind::Kind;
use crate::names::Name;
use crate::prev_state::StateId;
use crate::problem::ProblemKind;
use crate::seconds::Seconds;

/// What is known of a CPU.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CpuState {
    /// The thread on it, which compact switches do not contain.
    current: Option<(Tid, Name, Prio)>,
    /// The trace has events of it.
    has_events: bool,
    /// Some of its events were lost.
    pub(super) has_gap: bool,
}

/// Times of a bundle's events, including those that are not asked for.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: u64,
    last: u64,
}

impl Span {
    fn add(&mut self, ts: u64) {
        (self.first, self.last) = (self.first.min(ts), self.last.max(ts));
    }
}

impl Perfetto {
    /// Reads the events of one CPU, which are in the order of time except for the compact ones, which are stored
    /// separately.
    pub(super) fn bundle(&mut self, bytes: &[u8], sequence: u64, at: u64) {
        let (mut cpu, mut marks, mut clock) = (None, Marks::default(), 0);
        let mut span = Span { first: u64::MAX, last: 0 };
        let mut items: Vec<(u64, Item)> = Vec::new();
        let mut fields = Fields::of(bytes);
        let mut bad = false;
        for (field, value) in fields.by_ref() {
            match (field, value) {
                (bundle::CPU, Value::Number(number)) => cpu = Some(number),
                (bundle::LOST_EVENTS, Value::Number(some)) => marks.lost_events = some != 0,
                (bundle::FTRACE_CLOCK, Value::Number(number)) => clock = number,
                (bundle::LAST_READ_EVENT_TIMESTAMP, Value::Number(ts)) => marks.last_read = Some(ts),
                (bundle::PREVIOUS_BUNDLE_END_TIMESTAMP, Value::Number(ts)) => marks.previous_end = Some(ts),
                (bundle::GENERIC_EVENT_DESCRIPTORS, Value::Bytes(bytes)) => self.event_descriptor(bytes),
                (bundle::ERROR, Value::Bytes(bytes)) => {
                    let ts = self.recorder_error(bytes);
                    marks.error_at = Some(marks.error_at.map_or(ts, |at| at.min(ts)));
                }
                (bundle::EVENT, Value::Bytes(bytes)) => match Raw::of(bytes) {
                    Some(raw) => {
                        span.add(raw.ts);
                        match self.event(&raw, sequence, at) {
                            Ok(what) => items.extend(what.map(|what| (raw.ts, Item::Event(what)))),
                            // Waits and runs do not depend on the other events.
                            Err(kind) if kind.is_of_tasks() && kind != Kind::TaskRename => marks.error_at = Some(0),
                            Err(_) => {}
                        }
                    }
                    None => bad = true,
                },
                (bundle::COMPACT_SCHED, Value::Bytes(bytes)) => match Compact::of(bytes, &mut self.dictionary) {
                    Some(compact) => self.compact(&compact, &mut span, &mut items),
                    None => bad = true,
                },
                (bundle::FTRACE_TIMESTAMP | bundle::BOOT_TIMESTAMP, Value::Number(_)) => {}
                (bundle::CPU..=bundle::GENERIC_EVENT_DESCRIPTORS, _) => bad = true,
                (bundle::BROKEN_ABI_TRACE_PAGE, _) => {}
                (field, _) => self.problems.add(ProblemKind::UnknownEvent, || {
                    format!("byte {at}: field {field} of a bundle, which is not known here; passed over")
                }),
            }
        }
        bad |= fields.broken;
        self.check(bad, at);
        let Some(cpu) = cpu.and_then(|cpu| Cpu::from_raw(cpu as i64)).filter(|cpu| *cpu != Cpu::ANY) else {
            self.problems.add(ProblemKind::ImpossibleNumber, || {
                format!("byte {at}: events of no CPU, or of one that no machine has; skipped")
            });
            return self.losses.unread_packet();
        };
        if bad {
            // What could not be read may have had any time.
            marks.error_at = Some(0);
        }
        items.sort_by_key(|(ts, _)| *ts);
        self.report_clock(clock);
        self.missing_before(sequence, cpu, &marks, span);
        self.hand_on(cpu, &marks, &items);
    }

    /// An `FtraceError`, for a page of the kernel's buffer that the recorder could not parse; returns its time.
    fn recorder_error(&mut self, bytes: &[u8]) -> u64 {
        let (mut ts, mut status) = (0, 0);
        for field in Fields::of(bytes) {
            match field {
                (1, Value::Number(number)) => ts = number,
                (2, Value::Number(number)) => status = number,
                _ => {}
            }
        }
        self.problems.add(ProblemKind::SkippedPart, || format!("{}, at {:.6} s", unread_page(status), Seconds(ts)));
        ts
    }

    /// Marks what is missing between a CPU's events so far and those of its next bundle.
    fn missing_before(&mut self, sequence: u64, cpu: Cpu, marks: &Marks, span: Span) {
        let at = usize::from(cpu.0);
        if at >= self.cpus.len() {
            self.cpus.resize(at + 1, CpuState::default());
        }
        let state = &mut self.cpus[at];
        let before = self.losses.before(sequence, cpu, marks, state.has_events);
        if span.last > 0 {
            self.losses.seen(sequence, cpu, span.last);
        }
        self.order.hold_gap(cpu, false);
        self.gaps_are_marked &= marks.previous_end.is_some();
        if before == Before::Nothing {
            return;
        }
        state.current = None;
        state.has_gap = before != Before::Unknown;
        // A bundle may have no event, only the mark.
        let noticed = if span.last > 0 { span.first } else { self.order.latest() };
        // Before its first event, a CPU has no event that could be the last before the gap.
        match before {
            Before::Lost if state.has_events => self.order.lost(cpu, noticed, 0, &mut self.problems),
            Before::Until(ts) if state.has_events => self.order.lost_until(cpu, ts, &mut self.problems),
            Before::Lost if span.last > 0 => self.order.begins_at(cpu, span.first),
            Before::Until(ts) => self.order.begins_at(cpu, ts),
            Before::Unknown if span.last > 0 => {
                self.order.may_begin_at(cpu, span.first);
                self.problems.add(ProblemKind::Recording, || {
                    "Perfetto before v44 does not say since when the events of each CPU are complete: as it may have recorded \
                     into a ring buffer, no wait before the first event of the last CPU is measured"
                        .into()
                });
            }
            _ => {}
        }
    }

    /// Passes events on. If a part of the bundle could not be read, the rest up to the next bundle is a gap.
    fn hand_on(&mut self, cpu: Cpu, marks: &Marks, items: &[(u64, Item)]) {
        let Some(error_at) = marks.error_at else { return self.push(cpu, false, items) };
        let at = usize::from(cpu.0);
        let first = usize::from(!self.cpus[at].has_events).min(items.len());
        let split = items.partition_point(|(ts, _)| *ts < error_at).max(first);
        self.push(cpu, false, &items[..split]);
        if !self.cpus[at].has_events {
            return;
        }
        let ts = items.get(split).or(items.last()).map_or(error_at, |(ts, _)| *ts);
        self.order.lost(cpu, ts, 0, &mut self.problems);
        self.order.hold_gap(cpu, true);
        (self.cpus[at].current, self.cpus[at].has_gap) = (None, true);
        self.push(cpu, true, &items[split..]);
    }

    /// Passes events on, and adds what compact ones leave out: the thread on the CPU.
    fn push(&mut self, cpu: Cpu, in_gap: bool, items: &[(u64, Item)]) {
        let state = &mut self.cpus[usize::from(cpu.0)];
        state.has_events |= !items.is_empty();
        for (ts, item) in items {
            let current = state.current;
            let what = match *item {
                Item::Event(what) => what,
                Item::Switch { prev_state, next, next_comm, next_prio } => {
                    self.infers_prev = true;
                    // At the first switch nobody knows who leaves. The next thread is known, and may have waited.
                    let nobody = (Tid::IDLE, Name::UNKNOWN, Prio::UNKNOWN);
                    let prev_state = if current.is_some() { prev_state } else { StateId::UNKNOWN };
                    let (prev, prev_comm, prev_prio) = current.unwrap_or(nobody);
                    What::Switch { prev, next, prev_comm, next_comm, prev_prio, next_prio, prev_state }
                }
                Item::Waking(wake) => What::Waking(crate::Wake { waker: current.map_or(Tid::IDLE, |c| c.0), ..wake }),
            };
            if let What::Switch { next, next_comm, next_prio, .. } = what {
                state.current = (!in_gap).then_some((next, next_comm, next_prio));
            }
            self.order.push(Event { ts: *ts, cpu, what }, &mut self.problems);
        }
    }

    /// An event, if it was asked for; the error is its kind, if it cannot be decoded as that.
    fn event(&mut self, raw: &Raw<'_>, sequence: u64, at: u64) -> Result<Option<What>, Kind> {
        self.count(raw);
        let Some(kind) = raw.kind().filter(|kind| self.wanted.has(*kind)) else { return Ok(None) };
        let what = what(raw, kind, sequence, &self.symbols, &mut self.dictionary);
        match what {
            Some(_) => self.kinds = self.kinds.with(kind),
            None => self.problems.add(ProblemKind::BadRecord, || {
                format!("byte {at}: an event that does not read as {}; skipped", kind.name())
            }),
        }
        what.map(Some).ok_or(kind)
    }

    fn compact(&mut self, compact: &Compact, span: &mut Span, items: &mut Vec<(u64, Item)>) {
        for (kind, events) in [(Kind::SchedSwitch, &compact.switches), (Kind::SchedWaking, &compact.wakings)] {
            let Some(field) = field(kind).filter(|_| !events.is_empty()) else { continue };
            *self.counts.entry(field).or_default() += events.len() as u64;
            [events.first(), events.last()].into_iter().flatten().for_each(|(ts, _)| span.add(*ts));
            if self.wanted.has(kind) {
                self.kinds = self.kinds.with(kind);
                items.extend_from_slice(events);
            }
        }
    }

    /// Reports the limitations of the clock in a bundle's `ftrace_clock`.
    fn report_clock(&mut self, number: u64) {
        const UNKNOWN: u64 = 1;
        const LOCAL: u64 = 3;
        let before = *self.clock.get_or_insert(number);
        let why = match number {
            _ if before != number => {
                "the clock of ftrace was changed while it recorded: times before and after do not compare"
            }
            UNKNOWN => {
                "the recorder does not know the clock of ftrace: times are read as nanoseconds, and may count something else"
            }
            LOCAL => {
                "ftrace's clock is `local`: the times of two CPUs may differ by microseconds and more, so that waits from one CPU to another are as inexact"
            }
            _ => return,
        };
        self.problems.add(ProblemKind::Recording, || format!("{why} (ftrace_clock {})", clock(number)));
    }
}
