//! The corpus of the fuzz target `recording`, replayed: what once was found stays found.

#[path = "../../../fuzz/bodies/recording.rs"]
mod recording;

#[test]
fn recordings_and_pages() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/recording");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 4, "{dir} holds the seeds of the fuzzer");
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        // Every cut too: a parser's worst inputs are the beginnings of good ones.
        (0..=bytes.len()).step_by(1 + bytes.len() / 200).for_each(|n| recording::check(&bytes[..n]));
        recording::check(&bytes);
    }
}
