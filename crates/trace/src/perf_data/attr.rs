//! `perf_event_attr` as a file stores it, and where the parts of its samples are.

use crate::TraceError;
use crate::bytes::Cursor;

/// `PERF_TYPE_TRACEPOINT`.
pub(crate) const TRACEPOINT: u32 = 2;

/// Bits of `sample_type`, in the order of the parts in a sample, up to the raw data.
mod part {
    pub(super) const IDENTIFIER: u64 = 1 << 16;
    pub(super) const IP: u64 = 1;
    pub(super) const TID: u64 = 1 << 1;
    pub(super) const TIME: u64 = 1 << 2;
    pub(super) const ADDR: u64 = 1 << 3;
    pub(super) const ID: u64 = 1 << 6;
    pub(super) const STREAM_ID: u64 = 1 << 9;
    pub(super) const CPU: u64 = 1 << 7;
    pub(super) const PERIOD: u64 = 1 << 8;
    pub(super) const READ: u64 = 1 << 4;
    pub(super) const CALLCHAIN: u64 = 1 << 5;
    pub(super) const RAW: u64 = 1 << 10;
    /// These come last, in this order; only `AUX` has a variable size.
    pub(super) const CGROUP: u64 = 1 << 21;
    pub(super) const DATA_PAGE_SIZE: u64 = 1 << 22;
    pub(super) const CODE_PAGE_SIZE: u64 = 1 << 23;
    pub(super) const AUX: u64 = 1 << 20;
}

/// The used fields of an event's attributes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Attr {
    pub(crate) kind: u32,
    /// The number of a tracepoint.
    pub(crate) config: u64,
    /// The number of events per sample (`perf record -c`), or the intended number of samples per second.
    pub(crate) period: u64,
    /// The latter: `perf record -F`.
    pub(crate) is_freq: bool,
    pub(crate) sample_type: u64,
    read_format: u64,
    sample_id_all: bool,
    /// Its ring is written from the end to the beginning (`perf record --overwrite`), so it is read newest first.
    pub(crate) is_backward: bool,
    /// The clock asked for with `-k`.
    pub(crate) clockid: Option<i32>,
    pub(crate) ids: Vec<u64>,
}

/// Size of the structure's first version; no file has less.
const SMALLEST: u64 = 64;

impl Attr {
    /// Reads the structure without its ids; it contains its own size.
    pub(crate) fn read(cursor: &mut Cursor<'_>, space: u64) -> Result<Self, TraceError> {
        let start = cursor.at;
        let kind = cursor.u32("the type of an event")?;
        let said = u64::from(cursor.u32("the size of perf_event_attr")?);
        // Version 0 of the structure wrote no size.
        let size = if said == 0 { SMALLEST } else { said };
        if size < SMALLEST || size > space || size % 8 != 0 {
            let found = format!("perf_event_attr of {said} bytes");
            return Err(cursor.input.malformed(start + 4, found, format!("{SMALLEST} to {space} bytes, in eights")));
        }
        let config = cursor.u64("the number of an event")?;
        let period = cursor.u64("the period")?;
        let sample_type = cursor.u64("sample_type")?;
        let read_format = cursor.u64("read_format")?;
        let flags = cursor.u64("the flags of an event")?;
        // The first bit of a bit field is the lowest bit of a little-endian word and the highest of a big-endian one.
        let flags = if cursor.big_endian { flags.reverse_bits() } else { flags };
        let mut clockid = None;
        if size >= 96 && flags & 1 << 25 != 0 {
            cursor.skip(92 - 48, "perf_event_attr")?;
            clockid = Some(cursor.u32("the clock")? as i32);
        }
        cursor.skip((start + size).saturating_sub(cursor.at), "perf_event_attr")?;
        let (is_freq, sample_id_all, is_backward) = (flags & 1 << 10 != 0, flags & 1 << 18 != 0, flags & 1 << 27 != 0);
        Ok(Self {
            kind,
            config,
            period,
            is_freq,
            sample_type,
            read_format,
            sample_id_all,
            is_backward,
            clockid,
            ids: Vec::new(),
        })
    }

    /// How the recorder chose which events become samples; `None` if each does.
    pub(crate) fn sampling(&self) -> Option<String> {
        match self.period {
            _ if self.is_freq => Some(format!("with a frequency (-F {})", self.period)),
            0 | 1 => None,
            period => Some(format!("with a period (-c {period})")),
        }
    }

    /// Where the parts of this event's samples lie.
    pub(crate) fn layout(&self) -> Layout {
        let mut layout = Layout { read_format: self.read_format, ..Layout::default() };
        let has = |part| self.sample_type & part != 0;
        let mut at = 8;
        let mut next = |part| {
            has(part).then(|| {
                at += 8;
                at - 8
            })
        };
        let identifier = next(part::IDENTIFIER);
        next(part::IP);
        // The thread id follows the process id.
        layout.tid = next(part::TID).map(|at| at + 4);
        layout.time = next(part::TIME);
        next(part::ADDR);
        layout.id = identifier.or(next(part::ID));
        next(part::STREAM_ID);
        layout.cpu = next(part::CPU);
        next(part::PERIOD);
        layout.rest = at;
        layout.has_read = has(part::READ);
        layout.has_callchain = has(part::CALLCHAIN);
        layout.has_raw = has(part::RAW);
        layout.ends_with_raw = layout.has_raw && self.sample_type & !part::IDENTIFIER < part::RAW << 1;
        let after = [part::DATA_PAGE_SIZE, part::CODE_PAGE_SIZE].iter().filter(|part| has(**part)).count();
        layout.cgroup = (has(part::CGROUP) && !has(part::AUX)).then_some(8 * (1 + after));
        layout
    }

    /// Whether the last word of every record other than samples is the id of its event.
    pub(crate) fn has_id_last(&self) -> bool {
        self.sample_id_all && self.sample_type & part::IDENTIFIER != 0
    }

    /// What records other than samples have at their end, as offsets from the end.
    pub(crate) fn trailer(&self) -> Trailer {
        let mut trailer = Trailer::default();
        if !self.sample_id_all {
            return trailer;
        }
        for bit in [part::IDENTIFIER, part::CPU, part::STREAM_ID, part::ID, part::TIME, part::TID] {
            if self.sample_type & bit == 0 {
                continue;
            }
            trailer.size += 8;
            match bit {
                part::CPU => trailer.cpu = Some(trailer.size),
                part::TIME => trailer.time = Some(trailer.size),
                _ => {}
            }
        }
        trailer
    }
}

/// Offsets in a sample, from the start of the record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) id: Option<usize>,
    pub(crate) time: Option<usize>,
    pub(crate) cpu: Option<usize>,
    /// The thread.
    pub(crate) tid: Option<usize>,
    pub(crate) has_raw: bool,
    /// Whether no part of a sample follows the raw data.
    ends_with_raw: bool,
    /// The number of the cgroup, as an offset from the end of the record.
    pub(crate) cgroup: Option<usize>,
    /// Where the parts with variable size begin.
    rest: usize,
    has_read: bool,
    has_callchain: bool,
    read_format: u64,
}

impl Layout {
    /// The raw data in a sample: what the tracepoint wrote.
    #[inline(always)]
    pub(crate) fn raw<'a>(&self, record: &'a [u8], big_endian: bool) -> Option<&'a [u8]> {
        let at = if self.has_read || self.has_callchain { self.after_varying(record, big_endian)? } else { self.rest };
        let size = u32_at(record, at, big_endian)? as usize;
        record.get(at + 4..at + 4 + size)
    }

    /// Whether a sample continues after its last part, the `raw` data, which the kernel pads to a multiple of eight.
    #[inline(always)]
    pub(crate) fn is_too_long(&self, record: &[u8], raw: &[u8]) -> bool {
        self.ends_with_raw && raw.as_ptr_range().end != record.as_ptr_range().end
    }

    #[inline(never)]
    fn after_varying(&self, record: &[u8], big_endian: bool) -> Option<usize> {
        const TIMES: [u64; 2] = [1, 2];
        const ID: u64 = 4;
        const GROUP: u64 = 8;
        const LOST: u64 = 16;
        let has = |bit: u64| usize::from(self.read_format & bit != 0);
        let mut at = self.rest;
        if self.has_read {
            let times = TIMES.iter().map(|bit| has(*bit)).sum::<usize>();
            let value = 1 + has(ID) + has(LOST);
            let (head, values) =
                if has(GROUP) == 1 { (1 + times, u64_at(record, at, big_endian)?) } else { (times, 1) };
            at += 8 * head;
            at = at.checked_add(usize::try_from(values).ok()?.checked_mul(8 * value)?)?;
        }
        if self.has_callchain {
            let entries = usize::try_from(u64_at(record, at, big_endian)?).ok()?;
            at = at.checked_add(8)?.checked_add(entries.checked_mul(8)?)?;
        }
        (at <= record.len()).then_some(at)
    }
}

/// Where the time and CPU of other records are, as offsets from their end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Trailer {
    pub(crate) size: usize,
    pub(crate) time: Option<usize>,
    pub(crate) cpu: Option<usize>,
}

/// A number at an offset; 0 if there are not enough bytes.
#[inline(always)]
pub(crate) fn u16_at(bytes: &[u8], at: usize, big_endian: bool) -> u16 {
    let array = bytes.get(at..at + 2).and_then(|b| b.try_into().ok()).unwrap_or([0; 2]);
    if big_endian { u16::from_be_bytes(array) } else { u16::from_le_bytes(array) }
}

#[inline(always)]
pub(crate) fn u32_at(bytes: &[u8], at: usize, big_endian: bool) -> Option<u32> {
    let array = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
    Some(if big_endian { u32::from_be_bytes(array) } else { u32::from_le_bytes(array) })
}

#[inline(always)]
pub(crate) fn u64_at(bytes: &[u8], at: usize, big_endian: bool) -> Option<u64> {
    let array = bytes.get(at..at.checked_add(8)?)?.try_into().ok()?;
    Some(if big_endian { u64::from_be_bytes(array) } else { u64::from_le_bytes(array) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attr(sample_type: u64, read_format: u64) -> Attr {
        Attr { sample_type, read_format, sample_id_all: true, ..Attr::default() }
    }

    #[test]
    fn parts_lie_in_the_order_of_the_kernel() {
        // What perf sched record asks for: IDENTIFIER IP TID TIME CPU PERIOD RAW.
        let layout =
            attr(part::IDENTIFIER | part::IP | part::TID | part::TIME | part::CPU | part::PERIOD | part::RAW, 0);
        let layout = layout.layout();
        assert_eq!((layout.id, layout.time, layout.cpu, layout.rest), (Some(8), Some(32), Some(40), 56));
        let by_id = attr(part::TIME | part::ID | part::CPU | part::STREAM_ID, 0).layout();
        assert_eq!((by_id.time, by_id.id, by_id.cpu, by_id.rest), (Some(8), Some(16), Some(32), 40));
    }

    #[test]
    fn the_cgroup_is_counted_from_the_end() {
        let cgroup = |more: u64| attr(part::TIME | part::RAW | part::CGROUP | more, 0).layout().cgroup;
        assert_eq!((cgroup(0), cgroup(part::DATA_PAGE_SIZE), cgroup(part::AUX)), (Some(8), Some(16), None));
        assert_eq!(attr(part::RAW, 0).layout().cgroup, None);
    }

    #[test]
    fn raw_data_is_found_after_counts_and_call_chains() {
        let layout = attr(part::READ | part::CALLCHAIN | part::RAW, 1 | 4).layout();
        let mut record = vec![0; 8];
        for word in [7u64, 8, 9, 2, 0xaa, 0xbb] {
            record.extend(word.to_le_bytes());
        }
        record.extend(3u32.to_le_bytes());
        record.extend([1, 2, 3, 0]);
        assert_eq!(layout.raw(&record, false), Some(&[1u8, 2, 3][..]));
        record[8 + 24] = 200;
        assert_eq!(layout.raw(&record, false), None);
        let group = attr(part::READ | part::RAW, 8).layout();
        assert_eq!(group.raw(&[0xff; 64], false), None);
    }

    #[test]
    fn the_trailer_is_counted_from_the_end() {
        let trailer = attr(part::TID | part::TIME | part::ID | part::CPU | part::IDENTIFIER, 0).trailer();
        assert_eq!(trailer, Trailer { size: 40, time: Some(32), cpu: Some(16) });
        assert_eq!(Attr { sample_type: part::TIME, ..Attr::default() }.trailer(), Trailer::default());
    }
}
