//! The corpus of the fuzz target `import`, replayed.

#[path = "../../../fuzz/bodies/import.rs"]
mod import;

#[test]
fn files_of_other_tools() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/import");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 4, "{dir} holds the seeds of the fuzzer");
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        (0..=bytes.len()).step_by(1 + bytes.len() / 200).for_each(|n| import::check(&bytes[..n]));
        import::check(&bytes);
    }
}
