//! Sealing or reading a run does not hold it in memory. This is a separate test binary, because the peak is that of the
//! process.

mod records;

use records::{Draw, manifest};
use schedlab_plan::*;
use schedlab_run::*;

/// Peak of this process's memory, kB.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_run_larger_than_memory_may_be_is_sealed_and_read() {
    const TRIALS: u64 = 1_500;
    const BYTES: usize = 120_000;
    let lab = tempfile::tempdir().unwrap();
    let dir = lab.path().join("run");
    drop(RunWriter::create(&dir, &manifest()).unwrap());
    let mut record = Draw::new(3).record(0);
    record.outcome = Some(TrialOutcome { notes: vec!["x".repeat(BYTES)], ..TrialOutcome::default() });
    let held = TRIALS * BYTES as u64 / 1024;
    for trial in 0..TRIALS {
        record.trial = trial;
        let bytes = frame::encode(&record);
        // Not written by the writer, which waits for the disk each time.
        std::fs::write(dir.join(format!("trials/{trial:08}.rec")), bytes).unwrap();
    }
    RunWriter::resume(&dir).unwrap().seal().unwrap();
    let mut read = 0;
    let run = RunReader::open_with(&dir, &mut |_, record| {
        read += record.outcome.map_or(0, |outcome| outcome.notes[0].len());
        None
    })
    .unwrap();
    assert_eq!((run.sealed, read as u64), (true, TRIALS * BYTES as u64));
    let peak = peak_kb();
    assert!(peak < held / 2, "{peak} kB at the peak, and all trials at once are {held} kB");
}
