//! What must hold for any bytes of a sampling ring; shared by the fuzz target and the replay of its corpus.

use schedlab_record::profile::records::{Record, next};

pub(crate) fn check(bytes: &[u8]) {
    let mut rest = bytes;
    while let Some(step) = next(rest) {
        let size = rest.len() - step.rest.len();
        assert!((8..=usize::from(u16::MAX)).contains(&size), "a record of {size} bytes");
        match step.record {
            Some(Record::Sample(sample)) => {
                assert!(!sample.chain.is_empty() && sample.chain.len() * 8 <= size, "{sample:?} of {size} bytes");
                assert_eq!(sample.time_ns, step.time_ns);
            }
            Some(Record::Comm { name, .. }) => assert!(name.len() <= size && !name.contains(&0)),
            Some(Record::Mapped { mapping, .. }) => assert!(mapping.name.len() <= size && !mapping.name.contains(&0)),
            Some(Record::Forked { .. } | Record::Lost(_) | Record::Throttled) | None => {}
        }
        rest = step.rest;
    }
    // What is left cannot be a record: too short, or it says so of itself.
    let says = rest.get(6..8).map_or(0, |size| usize::from(u16::from_ne_bytes([size[0], size[1]])));
    assert!(rest.len() < 8 || says < 8 || says > rest.len(), "{} bytes that say {says}", rest.len());
}
