//! The events of a file: to which event a sample belongs, and how it is decoded.

use super::attr::{Attr, Layout, TRACEPOINT, Trailer, u16_at, u32_at, u64_at};
use crate::decoder_of_format::decoder_of;
use crate::kind::{Kind, Kinds};
use crate::problem::{ProblemKind, Problems};
use crate::record_decoder::{Dictionary, RecordDecoder, Refused};
use crate::tracing_data::TracingData;
use std::collections::{BTreeSet, HashMap};

/// An event of the file.
pub(super) struct Source {
    pub(super) layout: Layout,
    trailer: Trailer,
    config: u64,
    pub(super) decoder: Option<(Kind, RecordDecoder)>,
    /// Its samples are in rings that overwrite themselves.
    pub(super) is_backward: bool,
    /// How its samples were chosen, where not every event is one.
    sampling: Option<String>,
    name: String,
    pub(super) samples: u64,
}

/// All events of the file.
#[derive(Default)]
pub(super) struct Sources {
    list: Vec<Source>,
    /// Number of the source, by the event's id.
    ids: Ids,
    /// Where the id is in each sample.
    id_at: Option<usize>,
    trailers: Trailers,
    /// Their possible sizes; empty before any event is known.
    pub(super) trailer_sizes: Vec<usize>,
}

/// How records that are not samples end.
#[derive(Debug, Clone, Copy)]
enum Trailers {
    /// All alike.
    Alike(Trailer),
    /// As for the event whose id is their last word.
    ById,
}

impl Default for Trailers {
    fn default() -> Self {
        Self::Alike(Trailer::default())
    }
}

impl Source {
    /// What this event's tracepoint wrote into the sample at `offset`.
    #[inline(always)]
    pub(super) fn raw<'a>(
        &self,
        record: &'a [u8],
        big_endian: bool,
        offset: u64,
        problems: &mut Problems,
    ) -> Result<&'a [u8], Refused> {
        let raw = self.layout.raw(record, big_endian).ok_or(Refused::Short)?;
        if self.layout.is_too_long(record, raw) {
            report_too_long(offset, problems);
        }
        let is_other = self.decoder.is_some() && u64::from(u16_at(raw, 0, big_endian)) != self.config;
        if is_other && !self.is_injected(record, raw, big_endian) { Err(Refused::Event) } else { Ok(raw) }
    }

    /// `perf inject -s` leaves the first field, the tracepoint's number, 0, and does not change the second one, the
    /// thread.
    #[cold]
    fn is_injected(&self, record: &[u8], raw: &[u8], big_endian: bool) -> bool {
        let tid = self.layout.tid.and_then(|at| u32_at(record, at, big_endian));
        u16_at(raw, 0, big_endian) == 0 && tid.is_some() && tid == u32_at(raw, 4, big_endian)
    }
}

/// The size is damaged and may cover the following records.
#[cold]
fn report_too_long(offset: u64, problems: &mut Problems) {
    problems.add(ProblemKind::BadRecord, || {
        format!("byte {offset}: a sample that is longer than what is in it: what it covers was not read")
    });
}

impl Sources {
    pub(super) fn new(
        attrs: &[Attr],
        tracing: &TracingData,
        wanted: Kinds,
        dictionary: &mut Dictionary,
        problems: &mut Problems,
    ) -> Self {
        let (mut list, mut pairs) = (Vec::new(), Vec::new());
        for attr in attrs {
            let format = tracing.formats.iter().find(|f| u64::from(f.id) == attr.config && attr.kind == TRACEPOINT);
            pairs.extend(attr.ids.iter().map(|id| (*id, list.len() as u16)));
            let is_again = format.is_some()
                && list.iter().any(|before: &Source| before.config == attr.config && before.decoder.is_some());
            let format_of_first = format.filter(|_| !is_again);
            if let Some(format) = format.filter(|format| is_again && Kind::of(&format.system, &format.name).is_some()) {
                problems.add(ProblemKind::Recording, || {
                    format!(
                        "{}:{} was recorded twice: its events are read as the first -e of it has them (a filter of another is not known here)",
                        format.system, format.name
                    )
                });
            }
            list.push(Source {
                layout: attr.layout(),
                trailer: attr.trailer(),
                config: attr.config,
                decoder: format_of_first.and_then(|f| decoder_of(f, wanted, tracing.big_endian, dictionary, problems)),
                is_backward: attr.is_backward,
                sampling: attr.sampling(),
                name: format.map_or(String::new(), |f| format!("{}:{}", f.system, f.name)),
                samples: 0,
            });
        }
        let id_at = attrs.first().and_then(|a| a.layout().id);
        let first = attrs.first().map(Attr::trailer).unwrap_or_default();
        let trailers = if attrs.iter().all(|attr| attr.trailer() == first) {
            Trailers::Alike(first)
        } else if attrs.iter().all(Attr::has_id_last) {
            Trailers::ById
        } else {
            // It is not known to which of them a record belongs, so it is read as one without a time.
            Trailers::default()
        };
        // Records that perf synthesizes may have none.
        let sizes: BTreeSet<usize> = attrs.iter().map(|attr| attr.trailer().size).chain([0]).collect();
        Self {
            list,
            ids: Ids::new(&pairs),
            id_at,
            trailers,
            trailer_sizes: if attrs.is_empty() { Vec::new() } else { sizes.into_iter().collect() },
        }
    }

    /// How a record that is not a sample ends. perf's synthesized records have zeros there, and belong to no event.
    pub(super) fn trailer(&self, record: &[u8], big_endian: bool) -> Trailer {
        match self.trailers {
            Trailers::Alike(trailer) => trailer,
            Trailers::ById => {
                let id = record.len().checked_sub(8).and_then(|at| u64_at(record, at, big_endian));
                let source = id.and_then(|id| self.ids.get(id)).and_then(|number| self.list.get(number));
                source.map(|source| source.trailer).unwrap_or_default()
            }
        }
    }

    /// The event to which a sample belongs.
    #[inline(always)]
    pub(super) fn of(&mut self, record: &[u8], big_endian: bool) -> Option<&mut Source> {
        let number = match self.id_at {
            Some(at) => self.ids.get(u64_at(record, at, big_endian)?)?,
            None => self.by_type(record, big_endian)?,
        };
        self.list.get_mut(number)
    }

    /// For samples without an id: by the tracepoint's own number, the first field of what it wrote.
    fn by_type(&self, record: &[u8], big_endian: bool) -> Option<usize> {
        let first = self.list.first()?;
        if self.list.len() == 1 {
            return Some(0);
        }
        let number = u64::from(u16_at(first.layout.raw(record, big_endian)?, 0, big_endian));
        self.list.iter().position(|s| s.config == number && s.layout == first.layout)
    }

    /// Whether events that are decoded are in rings that do not overwrite themselves.
    pub(super) fn has_forward_rings(&self) -> bool {
        self.list.iter().any(|source| source.decoder.is_some() && !source.is_backward)
    }

    /// Whether the event with an id is decoded.
    pub(super) fn is_planned(&self, id: u64) -> bool {
        self.ids.get(id).and_then(|number| self.list.get(number)).is_some_and(|source| source.decoder.is_some())
    }

    /// Whether an id belongs to an event of the file that is not decoded.
    pub(super) fn is_unplanned(&self, id: u64) -> bool {
        self.ids.get(id).and_then(|number| self.list.get(number)).is_some_and(|source| source.decoder.is_none())
    }

    /// What prevents the file from being analysed at all, once its events are known.
    pub(super) fn unfit(&self) -> Option<(String, String)> {
        let decoded: Vec<&Source> = self.list.iter().filter(|s| s.decoder.is_some()).collect();
        let lacking = |what: &str| {
            let what = format!("the scheduler events were recorded without {what}");
            Some((what, "record with `perf sched record`, or with -R, -T and -a".to_owned()))
        };
        if let Some((source, how)) = decoded.iter().find_map(|s| Some((s, s.sampling.as_ref()?))) {
            let what = format!("{} was recorded {how}: not every event of it is in the file", source.name);
            return Some((
                what,
                "record every event: with `perf sched record`, or with -c 1 and without -F".to_owned(),
            ));
        }
        if decoded.iter().any(|s| s.layout.time.is_none()) {
            return lacking("time stamps");
        }
        if decoded.iter().any(|s| s.layout.cpu.is_none()) {
            return lacking("the CPU");
        }
        if decoded.iter().any(|s| !s.layout.has_raw) {
            return lacking("their data");
        }
        None
    }

    /// The events of the file, with their samples so far.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&str, u64)> {
        self.list.iter().map(|s| (s.name.as_str(), s.samples))
    }

    /// Samples of a kind so far; `None` if it is not decoded.
    pub(super) fn samples(&self, kind: Kind) -> Option<u64> {
        let of_kind =
            self.list.iter().filter(|source| source.decoder.as_ref().is_some_and(|decoder| decoder.0 == kind));
        of_kind.map(|source| source.samples).reduce(|all, more| all + more)
    }

    /// Whether `sched_waking` was asked for and has no sample, though threads were woken; then it counts as not
    /// recorded. perf opens the event where it never fires (`:u`), or only counts it (a group with `:S`).
    pub(super) fn lose_wakings(&mut self) -> bool {
        const MANY: u64 = 1000;
        let of = |kind| self.samples(kind).unwrap_or(0);
        let must_be = of(Kind::SchedWakeup) > 0 || of(Kind::SchedSwitch) >= MANY;
        let is_lost = must_be && self.samples(Kind::SchedWaking) == Some(0);
        let is_it =
            |source: &&mut Source| source.decoder.as_ref().is_some_and(|decoder| decoder.0 == Kind::SchedWaking);
        self.list.iter_mut().filter(is_it).filter(|_| is_lost).for_each(|source| source.decoder = None);
        is_lost
    }

    /// Whether samples contain the cgroup of the tracing thread.
    pub(super) fn have_cgroups(&self) -> bool {
        self.list.iter().any(|source| source.layout.cgroup.is_some())
    }

    /// The kinds that are in the file and were asked for.
    pub(super) fn kinds(&self) -> Kinds {
        let kinds: Vec<Kind> = self.list.iter().filter_map(|s| s.decoder.as_ref().map(|p| p.0)).collect();
        Kinds::of(&kinds)
    }
}

/// A counter in the kernel assigns ids, so those of a recording are close together.
#[derive(Default)]
struct Ids {
    first: u64,
    sources: Vec<u16>,
    sparse: HashMap<u64, u16>,
}

const NO_SOURCE: u16 = u16::MAX;

/// Widest range of ids that is stored as an array.
const DENSE: u64 = 1 << 20;

impl Ids {
    fn new(pairs: &[(u64, u16)]) -> Self {
        let first = pairs.iter().map(|p| p.0).min().unwrap_or(0);
        let last = pairs.iter().map(|p| p.0).max().unwrap_or(0);
        let mut ids = Self { first, ..Self::default() };
        if last - first < DENSE {
            ids.sources = vec![NO_SOURCE; (last - first + 1) as usize];
            // If a stream describes an event twice, the first one counts.
            for (id, source) in pairs.iter().rev() {
                ids.sources[(id - first) as usize] = *source;
            }
        } else {
            ids.sparse = pairs.iter().rev().copied().collect();
        }
        ids
    }

    #[inline]
    fn get(&self, id: u64) -> Option<usize> {
        let source = match self.sources.get(id.wrapping_sub(self.first) as usize) {
            Some(source) => *source,
            None => *self.sparse.get(&id)?,
        };
        (source != NO_SOURCE).then_some(usize::from(source))
    }
}
