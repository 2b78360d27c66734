//! Rounds, and overwriting rings: the latter are written backward, so the newest event comes first, and a round from
//! them is held back until it is sorted. If a file has rings of both kinds, everything is held back until its end.

use super::super::attr::{u32_at, u64_at};
use super::{Records, Step, record};
use crate::decoder_of_format::report_refused;
use crate::event::{Cpu, Event, What};
use crate::problem::ProblemKind;
use crate::record_decoder::Refused;

/// Most events held back from rings that are read backward (128 MiB).
const MAX_HELD: usize = 4 << 20;

impl Records {
    pub(super) fn end_of_round(&mut self) -> Option<Step> {
        if let Some(inflate) = &mut self.inflate {
            inflate.end_of_round();
            return None;
        }
        self.release_round();
        self.order.is_ready().then_some(Step::Round)
    }

    pub(super) fn release_round(&mut self) {
        if self.held_forward.is_some() {
            return;
        }
        self.sort_held();
        // An overwriting ring is read at the end, so rounds of other rings do not limit what may be in it.
        if self.sample_type == record::SAMPLE {
            self.order.end_of_round(&mut self.problems);
        }
    }

    /// A ring that is written backward comes newest first. One round contains everything that was in it (perf drains it
    /// once, at the end or on request), so its events can be sorted as a whole.
    pub(super) fn sort_held(&mut self) {
        for (cpu, ts) in std::mem::take(&mut self.rings_begin) {
            self.order.begins_at(cpu, ts);
        }
        // Among events with the same time, the later one came first.
        self.held.reverse();
        self.held.extend(self.held_forward.iter_mut().flat_map(|held| held.drain(..)));
        self.held.sort_by_key(|event| event.ts);
        for event in self.held.drain(..) {
            match event.what {
                What::GapEnd { lost, .. } => self.order.lost(event.cpu, event.ts, lost.into(), &mut self.problems),
                _ => self.order.push_rare(event, &mut self.problems),
            }
        }
    }

    #[cold]
    pub(super) fn sample_held_back(&mut self, record: &[u8], offset: u64) {
        if self.held.len() + self.held_forward.as_ref().map_or(0, Vec::len) >= MAX_HELD {
            self.problems.add(ProblemKind::Unsorted, || {
                format!(
                    "a ring that is read backward has more than {MAX_HELD} events; some get a later time than they have"
                )
            });
            self.sort_held();
        }
        let is_backward = self.sources.of(record, self.big_endian).is_some_and(|source| source.is_backward);
        let Some(event) = self.event(record, offset) else { return };
        match &mut self.held_forward {
            Some(forward) if !is_backward => forward.push(event),
            _ => self.held.push(event),
        }
    }

    /// The event of a sample.
    fn event(&mut self, record: &[u8], offset: u64) -> Option<Event> {
        let big_endian = self.big_endian;
        let Some(source) = self.sources.of(record, big_endian) else {
            self.unknown(offset);
            return None;
        };
        source.samples += 1;
        if let Some(cgroups) = &mut self.cgroups {
            cgroups.sample(&source.layout, record, big_endian);
        }
        let layout = &source.layout;
        let when = layout.time.zip(layout.cpu).filter(|_| source.is_backward);
        if let Some((ts, cpu)) = when
            && let Some(ts) = u64_at(record, ts, big_endian)
            && let Some(cpu) = u32_at(record, cpu, big_endian).and_then(|cpu| Cpu::from_raw(i64::from(cpu)))
        {
            let begin = self.rings_begin.entry(cpu).or_insert(ts);
            *begin = ts.min(*begin);
        }
        let raw = source.raw(record, big_endian, offset, &mut self.problems);
        let (_, decoder) = source.decoder.as_ref()?;
        let time = layout.time.and_then(|at| u64_at(record, at, big_endian)).ok_or(Refused::Short);
        let cpu = layout.cpu.and_then(|at| u32_at(record, at, big_endian)).ok_or(Refused::Short);
        let decoded = raw.and_then(|raw| {
            let cpu = Cpu::from_raw(i64::from(cpu?)).ok_or(Refused::Number)?;
            Ok(Event { ts: time?, cpu, what: decoder.decode(raw, &mut self.dictionary)? })
        });
        decoded.map_err(|refused| report_refused(refused, offset, &mut self.problems)).ok()
    }
}
