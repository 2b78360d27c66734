//! Whether a record is valid for its type. Nothing in a perf.data file has a checksum, but a sample whose type was
//! damaged mostly has a size that no record of that other type can have. Sizes: include/uapi/linux/perf_event.h; for
//! perf's own types tools/lib/perf/include/perf/event.h.

use super::attr::{u32_at, u64_at};
use crate::event::Tid;

/// The validity of a record, judged by its type and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Fits,
    /// A type that a newer kernel or perf may define.
    Unknown,
    /// No kernel or perf writes such a record.
    Impossible,
}

/// `trailers`: possible sizes of what `sample_id_all` appends to the kernel's records; empty as long as no event is
/// known.
pub(super) fn shape(kind: u32, record: &[u8], big_endian: bool, trailers: &[usize]) -> Shape {
    let body = record.len().saturating_sub(8);
    let is = |fits: bool| if fits { Shape::Fits } else { Shape::Impossible };
    // A size between these, before any trailer.
    let between = |least: usize, most: usize| {
        let fits = |trailer: &usize| body.checked_sub(*trailer).is_some_and(|body| (least..=most).contains(&body));
        trailers.is_empty() || trailers.iter().any(fits)
    };
    let exactly = |size: usize| between(size, size);
    let of_a_thread = || names_a_thread(record, big_endian);
    match kind {
        0 | 128.. => Shape::Impossible,
        1..64 if !body.is_multiple_of(8) => Shape::Impossible,
        // MMAP, MMAP2.
        1 => is(between(40, usize::MAX) && of_a_thread()),
        10 => is(between(64, usize::MAX) && of_a_thread()),
        // LOST, LOST_SAMPLES.
        2 => is(exactly(16)),
        13 => is(exactly(8)),
        // COMM: of at most 16 bytes.
        3 => is(between(16, 24) && of_a_thread()),
        // EXIT, THROTTLE, UNTHROTTLE, FORK, AUX.
        4..=7 | 11 => is(exactly(24)),
        // READ.
        8 => is(between(16, usize::MAX) && of_a_thread()),
        // ITRACE_START, SWITCH_CPU_WIDE, AUX_OUTPUT_HW_ID.
        12 | 15 | 21 => is(exactly(8)),
        // SWITCH.
        14 => is(exactly(0)),
        // KSYMBOL: 16 bytes and a name of up to 512; BPF_EVENT.
        17 => is(between(24, 528)),
        18 => is(exactly(16)),
        // SAMPLE is checked by its decoder; NAMESPACES, CGROUP, TEXT_POKE, CALLCHAIN_DEFERRED.
        9 | 16..=22 => Shape::Fits,
        // EVENT_TYPE: its number and a name of 64 bytes.
        65 => is(body == 72),
        // THREAD_MAP: a number, and as many entries.
        73 => is(u64_at(record, 8, big_endian).is_some_and(|n| (body as u64).checked_sub(8) == n.checked_mul(24))),
        // HEADER_FEATURE: one of the 256 for which a header has bits. COMPRESSED2: no more bytes than there are.
        80 => is(u64_at(record, 8, big_endian).is_some_and(|feature| feature < 256)),
        83 => is(u64_at(record, 8, big_endian).zip((body as u64).checked_sub(8)).is_some_and(|(n, room)| n <= room)),
        // HEADER_ATTR to SCHEDSTAT_DOMAIN.
        64..=86 => Shape::Fits,
        23..64 | 87..128 => Shape::Unknown,
    }
}

/// Whether a record begins with a process and its thread. For one that it cannot name, the kernel writes 0 or −1, and
/// −1 and 0 for itself.
fn names_a_thread(record: &[u8], big_endian: bool) -> bool {
    let (Some(pid), Some(tid)) = (u32_at(record, 8, big_endian), u32_at(record, 12, big_endian)) else { return false };
    let is_one = |id: u32| id <= Tid::MAX.0 || id == u32::MAX;
    is_one(pid) && is_one(tid) && (tid != 0 || pid == 0 || pid == u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: u32, size: usize) -> Shape {
        // Thread 7 of process 7.
        let mut record = vec![0x55; size];
        record[8..size.min(16)].copy_from_slice(&[7, 0, 0, 0, 7, 0, 0, 0][..size.min(16) - 8]);
        shape(kind, &record, false, &[40])
    }

    #[test]
    fn records_of_the_kernel_have_their_sizes() {
        for (kind, size) in
            [(1, 96), (2, 64), (3, 64), (3, 72), (4, 72), (7, 72), (13, 56), (14, 48), (19, 88), (22, 64)]
        {
            assert_eq!(of(kind, size), Shape::Fits, "type {kind}, {size} bytes");
        }
        for (kind, size) in [
            (0, 64),
            (2, 128),
            (3, 128),
            (4, 128),
            (11, 128),
            (13, 128),
            (4, 76),
            (137, 128),
            (73, 128),
            (17, 4096),
            (80, 4096),
            (83, 4096),
        ] {
            assert_eq!(of(kind, size), Shape::Impossible, "type {kind}, {size} bytes");
        }
        assert_eq!([of(25, 128), of(41, 128), of(90, 128)], [Shape::Unknown; 3]);
        assert_eq!(shape(2, &[0; 24], false, &[]), Shape::Fits, "before any event is known");
    }

    #[test]
    fn a_sample_names_no_thread_where_others_do() {
        let begins = |words: [u32; 2]| {
            let mut record = vec![0; 8];
            words.iter().for_each(|word| record.extend(word.to_le_bytes()));
            names_a_thread(&record, false)
        };
        assert!(begins([7, 9]) && begins([0, 0]) && begins([u32::MAX, 0]) && begins([u32::MAX; 2]));
        assert!(!begins([1000, 0]), "the id of an event");
        assert!(!begins([0x81a0_1234, u32::MAX]), "an address of the kernel");
    }
}
