//! Where packets and events are missing, by the marks that Perfetto leaves. Field names are those of trace_packet.proto
//! and ftrace_event_bundle.proto; their meaning is taken from what traced_probes (cpu_reader.cc) writes and Perfetto's
//! trace processor reads.
//!
//! - `lost_events` in a bundle: the kernel's buffer for the CPU lost events since it was last read.
//! - `previous_bundle_end_timestamp` in a bundle (v47 and newer): time of the last event of this CPU that was written
//!   before it, 0 if there is none. If the trace does not have that event, bundles are missing, and the CPU is complete
//!   from that time on. The service drops the oldest packets of a ring buffer, so each CPU of such a trace begins at
//!   its own time.
//! - `last_read_event_timestamp` (v44 to v46): time of the last event of this CPU that was *read*, even if it was not
//!   written. So it shows since when the CPU is complete; that any events are missing it shows only in the first
//!   bundle, and in one after dropped packets.
//! - `previous_packet_dropped`: packets of this writer (`trusted_packet_sequence_id`) are missing before this one. One
//!   writer writes all CPUs. The service also sets it on the first packet of each writer, which is no loss if the
//!   writer sets `first_packet_on_sequence` (v29 and newer).
//! - `error` in a bundle: a page of the kernel's buffer could not be parsed; it is not known which events it had.

use crate::event::Cpu;
use std::collections::HashMap;

/// Most writers, and CPUs of writers, that are remembered. The rest of a forged file is attributed to one writer.
const MAX_SEQUENCES: usize = 1 << 16;

/// The packets of one writer.
#[derive(Debug, Clone, Copy, Default)]
struct Sequence {
    /// Whether it was seen from its first packet on.
    whole: bool,
    /// How often its packets were dropped.
    drops: u64,
    /// Whether some were dropped after a packet that exists; the mark that an old service puts on every first packet
    /// does not show this.
    lost: bool,
}

/// The events of a CPU from one writer.
#[derive(Debug)]
struct Stream {
    /// Time of the latest.
    last: u64,
    /// The writer's drops up to its last bundle.
    drops: u64,
}

/// What a bundle reports about the time before it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Marks {
    pub(super) lost_events: bool,
    pub(super) previous_end: Option<u64>,
    pub(super) last_read: Option<u64>,
    /// Time of the first page that could not be parsed.
    pub(super) error_at: Option<u64>,
}

/// What is missing between a CPU's events and its next bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    Nothing,
    /// Everything up to the first event of the bundle.
    Lost,
    /// Up to this time.
    Until(u64),
    /// The recorder is too old to report this.
    Unknown,
}

/// What is known of all writers.
#[derive(Debug, Default)]
pub(super) struct Losses {
    sequences: HashMap<u64, Sequence>,
    streams: HashMap<(u64, Cpu), Stream>,
    /// Packets that could not be read, of whichever writer.
    unread: u64,
    /// Some writer marked its first packet, so all of them do.
    marks_first: bool,
}

impl Losses {
    /// Takes a writer's packet, the next one in the file.
    pub(super) fn packet(&mut self, sequence: u64, first: bool, dropped: bool) {
        let known = self.sequences.contains_key(&sequence);
        let of = self.sequences.entry(remembered(sequence, known, self.sequences.len())).or_default();
        let begins = first && !known;
        of.whole |= begins;
        of.drops += u64::from(dropped && !begins);
        of.lost |= dropped && known;
        self.marks_first |= first;
    }

    /// A packet that cannot be read; it may belong to any writer.
    pub(super) fn unread_packet(&mut self) {
        self.unread += 1;
    }

    /// What is missing before a bundle of a CPU. `has_events`: the trace has earlier events of the CPU, from any
    /// writer.
    pub(super) fn before(&mut self, sequence: u64, cpu: Cpu, marks: &Marks, has_events: bool) -> Before {
        let known = self.streams.contains_key(&(sequence, cpu));
        let Sequence { whole, drops, lost } = self.sequences.get(&sequence).copied().unwrap_or_default();
        let drops = drops + self.unread;
        let key = (remembered(sequence, known, self.streams.len()), cpu);
        let last = known.then(|| self.streams[&key].last);
        let stream = self.streams.entry(key).or_insert(Stream { last: 0, drops: 0 });
        let dropped = drops != std::mem::replace(&mut stream.drops, drops);
        // What the writer had read before its own start belonged to another recording.
        let is_its_begin = last.is_none() && whole && !dropped;
        match (marks.previous_end, marks.last_read) {
            _ if marks.lost_events => Before::Lost,
            (None, None) if !dropped => Before::Nothing,
            (None, None) if last.is_some() || has_events => Before::Lost,
            (None, None) if self.marks_first || lost || self.unread > 0 => Before::Lost,
            (None, None) => Before::Unknown,
            _ if is_its_begin => Before::Nothing,
            (Some(end), _) if end > last.unwrap_or(0) => Before::Until(end),
            (None, Some(read)) if (dropped || last.is_none()) && read > last.unwrap_or(0) => Before::Until(read),
            _ => Before::Nothing,
        }
    }

    /// CPUs that may lack events before the end of the trace: packets of their writer were dropped, and no bundle came
    /// afterwards that would show whether it was theirs.
    pub(super) fn at_the_end(&self, end: u64) -> impl Iterator<Item = Cpu> {
        self.streams.iter().filter_map(move |((sequence, cpu), stream)| {
            let drops = self.sequences.get(sequence).map_or(0, |of| of.drops) + self.unread;
            (drops != stream.drops && (1..end).contains(&stream.last)).then_some(*cpu)
        })
    }

    /// Notes an event of the current bundle, even if it was not asked for.
    pub(super) fn seen(&mut self, sequence: u64, cpu: Cpu, ts: u64) {
        if let Some(stream) = self.streams.get_mut(&(sequence, cpu)) {
            stream.last = stream.last.max(ts);
        }
    }
}

/// The number under which a sequence or CPU is remembered if that many are kept.
fn remembered(sequence: u64, known: bool, kept: usize) -> u64 {
    if known || kept < MAX_SEQUENCES { sequence } else { u64::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(previous_end: u64) -> Marks {
        Marks { previous_end: Some(previous_end), ..Marks::default() }
    }

    #[test]
    fn a_writer_that_is_seen_from_its_first_packet_on_lost_nothing() {
        let mut losses = Losses::default();
        // The service marks every first packet as if others had been dropped before it.
        losses.packet(7, true, true);
        assert_eq!(losses.before(7, Cpu(0), &end(0), false), Before::Nothing);
        losses.seen(7, Cpu(0), 500);
        assert_eq!(losses.before(7, Cpu(1), &end(300), false), Before::Nothing, "read for another recording");
        losses.packet(7, false, false);
        assert_eq!(losses.before(7, Cpu(0), &end(500), true), Before::Nothing);
        assert_eq!(losses.before(7, Cpu(0), &end(700), true), Before::Until(700));
        losses.packet(7, false, true);
        losses.seen(7, Cpu(0), 800);
        assert_eq!(losses.before(7, Cpu(0), &end(800), true), Before::Nothing, "packets without this CPU");
        assert_eq!(losses.before(7, Cpu(1), &end(900), false), Before::Until(900));
    }

    #[test]
    fn a_ring_begins_on_each_cpu_at_its_own_time() {
        let mut losses = Losses::default();
        losses.packet(7, false, true);
        assert_eq!(losses.before(7, Cpu(1), &end(9), false), Before::Until(9));
        assert_eq!(losses.before(7, Cpu(0), &end(20), false), Before::Until(20));
        assert_eq!(losses.before(7, Cpu(2), &end(0), false), Before::Nothing, "its first events come now");
    }

    #[test]
    fn what_was_read_and_not_written_is_no_loss() {
        let read = |last_read| Marks { last_read: Some(last_read), ..Marks::default() };
        let mut losses = Losses::default();
        losses.packet(7, false, true);
        assert_eq!(losses.before(7, Cpu(0), &read(20), false), Before::Until(20));
        losses.seen(7, Cpu(0), 30);
        losses.packet(7, false, false);
        assert_eq!(losses.before(7, Cpu(0), &read(40), true), Before::Nothing);
        losses.packet(7, false, true);
        assert_eq!(losses.before(7, Cpu(0), &read(50), true), Before::Until(50));
    }

    #[test]
    fn dropped_packets_without_times_hide_all_cpus_of_their_writer() {
        let plain = Marks::default();
        let mut losses = Losses::default();
        losses.packet(7, false, true);
        assert_eq!(losses.before(7, Cpu(0), &plain, false), Before::Unknown, "every first packet says so");
        assert_eq!(losses.before(7, Cpu(1), &plain, true), Before::Lost, "another writer had events of it");
        // A mark after a packet that exists is different: the first events of a CPU may be among what was dropped.
        losses.packet(7, false, true);
        assert_eq!(losses.before(7, Cpu(2), &plain, false), Before::Lost);
        losses.packet(8, true, true);
        losses.packet(9, false, false);
        assert_eq!(losses.before(9, Cpu(0), &plain, true), Before::Nothing);
        losses.packet(7, false, true);
        for cpu in [0, 1] {
            assert_eq!(losses.before(7, Cpu(cpu), &plain, true), Before::Lost);
            assert_eq!(losses.before(7, Cpu(cpu), &plain, true), Before::Nothing);
        }
        losses.unread_packet();
        assert_eq!(losses.before(9, Cpu(0), &plain, true), Before::Lost);
    }

    #[test]
    fn a_forged_file_does_not_outgrow_the_limit() {
        let mut losses = Losses::default();
        for sequence in 1..3 * MAX_SEQUENCES as u64 {
            losses.packet(sequence, false, true);
            losses.before(sequence, Cpu(sequence as u16), &end(1), false);
        }
        assert!(losses.sequences.len() <= MAX_SEQUENCES + 1 && losses.streams.len() <= 2 * MAX_SEQUENCES);
    }
}
