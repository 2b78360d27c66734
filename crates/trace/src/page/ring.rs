//! Records in a perf ring that tracepoints write to, each a sample with `PERF_SAMPLE_TIME | PERF_SAMPLE_RAW`: the raw
//! record is the same as on a page of the ring buffer, so the same plans decode it. Layout: perf_event_open(2).

use super::records::number;
use super::{PageDecoder, PageError};
use crate::record_decoder::Refused;
use crate::recording::BlockWriter;

/// `enum perf_event_type`, include/uapi/linux/perf_event.h.
const LOST: u64 = 2;
const THROTTLE: u64 = 5;
const SAMPLE: u64 = 9;

/// Every record begins with its type, 16 bits that are not used here, and its size.
const HEADER_BYTES: usize = 8;

/// What was decoded of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RingRead {
    /// Bytes of the complete records that were read.
    pub bytes: usize,
    /// Records that became events.
    pub events: u64,
    /// Events that found no room.
    pub lost: u64,
    /// Records of events that were not asked for, and records that are no event of the model.
    pub unknown: u64,
    /// Records that contradict their format; they are skipped.
    pub refused: u64,
}

impl PageDecoder {
    /// Decodes records from a CPU's perf ring into its block, until the block is full; an empty block has room for
    /// some. The events before an error's `at` are in the block.
    pub fn decode_ring_into(&mut self, records: &[u8], block: &mut BlockWriter) -> Result<RingRead, PageError> {
        let mut found = RingRead::default();
        while found.bytes < records.len() && block.has_room_for(1) {
            let at = found.bytes;
            let ends = PageError { at, what: "the records of the ring end inside one" };
            let rest = &records[at..];
            let (kind, size) = self.number(rest, 0, 4).zip(self.size(rest)).ok_or(ends)?;
            if size < HEADER_BYTES {
                return Err(PageError { at, what: "a record that is shorter than its header" });
            }
            let record = rest.get(..size).ok_or(ends)?;
            self.ring_record(kind, record, block, &mut found);
            found.bytes += size;
        }
        Ok(found)
    }

    /// The upper half of the header's second word.
    fn size(&self, record: &[u8]) -> Option<usize> {
        let word = self.number(record, 4, 4)?;
        Some(if self.format.big_endian { word & 0xffff } else { word >> 16 } as usize)
    }

    #[inline]
    fn number(&self, record: &[u8], at: usize, size: usize) -> Option<u64> {
        number(record, at, size, self.format.big_endian)
    }

    #[inline]
    fn ring_record(&mut self, kind: u64, record: &[u8], block: &mut BlockWriter, found: &mut RingRead) {
        match kind {
            SAMPLE => match self.sample(record) {
                Ok((ts, what)) => {
                    block.push(ts, what);
                    found.events += 1;
                }
                Err(None | Some(Refused::NoWakeup)) => found.unknown += 1,
                Err(Some(_)) => found.refused += 1,
            },
            // After the header are an id and the number of lost events; at the end is the time of the first event that
            // found room again.
            LOST => {
                let lost = self.number(record, 16, 8).unwrap_or(0);
                block.lost(self.last_word(record).unwrap_or(block.last_ns()), lost);
                found.lost += lost.max(1);
            }
            // The kernel throttles an event; it does not report how many were suppressed.
            THROTTLE => {
                block.lost(self.last_word(record).unwrap_or(block.last_ns()), 0);
                found.lost += 1;
            }
            _ => {}
        }
    }

    #[inline]
    fn sample(&mut self, record: &[u8]) -> Result<(u64, crate::event::What), Option<Refused>> {
        let short = Some(Refused::Short);
        let ts = self.number(record, HEADER_BYTES, 8).ok_or(short)?;
        let bytes = self.number(record, 16, 4).ok_or(short)? as usize;
        let raw = record.get(20..).and_then(|raw| raw.get(..bytes)).ok_or(short)?;
        Ok((ts, self.event(raw)?))
    }

    fn last_word(&self, record: &[u8]) -> Option<u64> {
        self.number(record, record.len().checked_sub(8)?, 8)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{HEADER_PAGE, decoder, switch, waking};
    use super::*;
    use crate::event::{Context, Cpu, Prio, Tid, Wake, What};

    fn record(kind: u64, body: &[u8], big_endian: bool) -> Vec<u8> {
        let kind = kind as u32;
        let size = (HEADER_BYTES + body.len()) as u16;
        let (kind, size) = if big_endian {
            (kind.to_be_bytes(), size.to_be_bytes())
        } else {
            (kind.to_le_bytes(), size.to_le_bytes())
        };
        // In between are 16 bits for the mode of the CPU.
        [&kind[..], &[0xff, 0xff], &size, body].concat()
    }

    fn words(words: &[u64], big_endian: bool) -> Vec<u8> {
        words.iter().flat_map(|w| if big_endian { w.to_be_bytes() } else { w.to_le_bytes() }).collect()
    }

    /// Padded as by the kernel: the length includes the padding.
    fn sample(ts: u64, raw: &[u8], big_endian: bool) -> Vec<u8> {
        let bytes = (raw.len() + 4).next_multiple_of(8) - 4;
        let length = (bytes as u32).to_le_bytes();
        let length = if big_endian { (bytes as u32).to_be_bytes() } else { length };
        let mut body = [&words(&[ts], big_endian)[..], &length, raw].concat();
        body.resize(12 + bytes, 0);
        record(SAMPLE, &body, big_endian)
    }

    fn wake(tid: u32, waker: u32, comm: crate::Name) -> What {
        let context = Context::from_common_flags(0x10);
        What::Waking(Wake {
            tid: Tid(tid),
            comm,
            waker: Tid(waker),
            target_cpu: Cpu(1),
            prio: Prio::from_raw(98),
            context,
        })
    }

    #[test]
    fn a_ring_gives_the_block_that_pushing_its_events_gives() {
        for big_endian in [false, true] {
            let be = big_endian;
            let mut ring = sample(1_000, &waking(11, 10, 1, 0x10, be), be);
            ring.extend(record(LOST, &words(&[77, 3, 2_000], be), be));
            // An event that was not asked for, and a record type without meaning here.
            ring.extend(sample(2_000, &[0xee, 0xee, 0, 0, 0, 0, 0, 0], be));
            ring.extend(record(3, &words(&[1, 2, 3], be), be));
            ring.extend(sample(2_500, &waking(12, 10, 1, 0x10, be), be));
            ring.extend(record(THROTTLE, &words(&[1, 2, 3, 2_600], be), be));
            let mut decoder = decoder(HEADER_PAGE, be);
            let mut block = BlockWriter::new(Cpu(1));
            let read = decoder.decode_ring_into(&ring, &mut block).unwrap();
            let expected = RingRead { bytes: ring.len(), events: 2, lost: 4, unknown: 1, refused: 0 };
            assert_eq!(read, expected);
            let mut by_hand = BlockWriter::new(Cpu(1));
            let name = decoder.dictionary.names.intern("b");
            by_hand.push(1_000, wake(11, 10, name));
            by_hand.lost(2_000, 3);
            by_hand.push(2_500, wake(12, 10, name));
            by_hand.lost(2_600, 0);
            let (names, states) = (decoder.names(), decoder.states());
            assert_eq!(block.finish(names, states), by_hand.finish(names, states));
        }
    }

    #[test]
    fn a_full_block_stops_the_reading_and_an_emptied_one_goes_on() {
        let one = sample(5, &switch(("a", 10), 1, ("b", 11), false), false);
        let ring = one.repeat(70_000);
        let (mut decoder, mut block) = (decoder(HEADER_PAGE, false), BlockWriter::new(Cpu(0)));
        let (mut at, mut events, mut blocks) = (0, 0, 0);
        while at < ring.len() {
            let read = decoder.decode_ring_into(&ring[at..], &mut block).unwrap();
            (at, events) = (at + read.bytes, events + read.events);
            blocks += u64::from(block.finish(decoder.names(), decoder.states()).is_some());
        }
        assert_eq!((events, blocks), (70_000, 2));
    }

    #[test]
    fn records_that_lie_are_refused_and_what_came_before_is_kept() {
        let good = sample(5, &switch(("a", 10), 1, ("b", 11), false), false);
        let mut decoder = decoder(HEADER_PAGE, false);
        let mut read = |bytes: &[u8]| {
            let mut block = BlockWriter::new(Cpu(0));
            let read = decoder.decode_ring_into(bytes, &mut block);
            (read.map_err(|e| e.at), block.events())
        };
        for end in good.len() + 1..2 * good.len() {
            assert_eq!(read(&good.repeat(2)[..end]), (Err(good.len()), 1), "{end} bytes");
        }
        let mut no_size = good.clone();
        no_size.extend(record(SAMPLE, &[], false));
        no_size[good.len() + 6] = 7;
        assert_eq!(read(&no_size), (Err(good.len()), 1));
        // If a length reaches beyond its record, only that record is lost.
        let mut long = good.clone();
        long[16] = 0xff;
        long.extend(&good);
        assert_eq!(read(&long).1, 1);
        for bit in 0..good.len() * 8 {
            let mut flipped = good.repeat(2);
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&flipped).1 <= 2);
        }
    }
}
