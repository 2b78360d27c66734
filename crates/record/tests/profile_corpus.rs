//! Replays the corpus of the fuzz target `profile_records`: complete, truncated, and with random damage. The files are
//! the contents of real rings.

#[path = "../../../fuzz/bodies/profile_records.rs"]
mod profile_records;

use schedlab_record::profile::records::{Record, next};
use schedlab_stats::Random;

fn seeds() -> Vec<Vec<u8>> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/profile_records");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[test]
fn rings_whole_cut_and_damaged() {
    let mut random = Random::new(1);
    let seeds = seeds();
    assert!(seeds.len() >= 2, "seeds of the fuzzer");
    for bytes in seeds {
        profile_records::check(&bytes);
        (0..bytes.len()).step_by(1 + bytes.len() / 50).for_each(|n| profile_records::check(&bytes[..n]));
        for _ in 0..500 {
            let mut damaged = bytes.clone();
            for _ in 0..1 + random.below(8) {
                let at = random.below(damaged.len());
                damaged[at] = random.below(256) as u8;
            }
            let (a, b) = (random.below(bytes.len()), random.below(bytes.len()));
            damaged.drain(a.min(b)..(a.min(b) + random.below(64)).min(damaged.len()));
            profile_records::check(&damaged);
        }
    }
}

#[test]
fn real_rings_hold_what_names_need() {
    let (mut samples, mut execs, mut mappings) = (0, 0, 0);
    for bytes in seeds() {
        let mut rest = bytes.as_slice();
        while let Some(step) = next(rest) {
            match step.record {
                Some(Record::Sample(_)) => samples += 1,
                Some(Record::Comm { exec: true, .. }) => execs += 1,
                Some(Record::Mapped { .. }) => mappings += 1,
                _ => {}
            }
            rest = step.rest;
        }
        assert!(rest.is_empty(), "{} bytes are no record", rest.len());
    }
    assert!(samples > 10 && execs > 0 && mappings > 3, "{samples} samples, {execs} execs, {mappings} mappings");
}
