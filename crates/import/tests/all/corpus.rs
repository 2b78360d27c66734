//! Replays the corpus of the fuzz target `import` and the logs of these tests: complete, truncated, and with random
//! damage.

#[path = "../../../../fuzz/bodies/import.rs"]
mod import;

use crate::lab::Draw;

#[test]
fn files_of_other_tools() {
    let fuzz = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/import");
    let logs = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/logs");
    let files = |dir: &str| std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect::<Vec<_>>();
    let mut files: Vec<_> = files(fuzz).into_iter().chain(files(logs)).collect();
    files.sort();
    assert!(files.len() >= 30, "{fuzz} and {logs} hold the seeds of the fuzzer");
    let mut draw = Draw::new(20_240_307);
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        import::check(&bytes);
        (0..bytes.len()).step_by(1 + bytes.len() / 6).for_each(|n| import::check(&bytes[..n]));
        (0..6).for_each(|_| import::check(&damaged(&bytes, &mut draw)));
    }
}

/// Replaces some bytes, or removes or doubles a range, as editors, copies and torn writes do.
fn damaged(bytes: &[u8], draw: &mut Draw) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let n = out.len() as u64 + 1;
    let (a, b) = (draw.below(n) as usize, draw.below(n) as usize);
    let stretch = a.min(b)..a.max(b);
    match draw.below(3) {
        0 => {
            let odd = b"0,.-;:\"{}<>()#%'|\n \t9eE";
            (0..4).filter_map(|_| out.get_mut(draw.below(n) as usize).map(|at| *at = *draw.of(odd))).count();
        }
        1 => drop(out.drain(stretch)),
        _ => out.extend_from_within(stretch),
    }
    out
}
