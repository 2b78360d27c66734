//! What must hold for any bytes given to the readers of traces; shared by the fuzz targets and the replay of their
//! corpora. Read as a file and as a pipe, and counted by the state machine.

use schedlab_trace::{BATCH, ByteSource, Forward, Kinds, Reader, Tid, TimeWindow, TraceError, What, tally};

/// `magic` stands at the beginning, so that the fuzzer need not find it; or backwards, as a machine of the other byte
/// order writes it.
pub(crate) fn check(bytes: &[u8], magic: &[u8]) {
    let mut file = magic.to_vec();
    file.extend(bytes.get(magic.len()..).unwrap_or_default());
    if bytes.iter().zip(magic.iter().rev()).take_while(|(a, b)| a == b).count() == magic.len() {
        file[..magic.len()].copy_from_slice(&bytes[..magic.len()]);
    }
    let sources: [Box<dyn ByteSource>; 2] =
        [Box::new(file.clone()), Box::new(Forward::new(std::io::Cursor::new(file.clone())))];
    for source in sources {
        if let Err(error) = read(source) {
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
    let Ok(mut reader) = Reader::open("fuzz", Box::new(file), Kinds::TASKS) else { return };
    let Ok(tally) = tally(&mut reader, &TimeWindow::default(), None, &|_| None) else { return };
    let waits: u64 = tally.tasks.iter().map(|(_, done)| done.wakeup.count() + done.preempt.count()).sum();
    assert!(waits <= tally.counts.switches, "each wait ends with a switch");
    for (task, done) in &tally.tasks {
        assert!(task.tid != Tid::IDLE && task.tid <= Tid::MAX);
        assert_eq!(done.wakeup.count(), done.wakeup.histogram().count());
        assert!(done.wakeup.max_ns() <= done.longest_wakeup.end.saturating_sub(done.longest_wakeup.start));
    }
}

fn read(source: Box<dyn ByteSource>) -> Result<(), TraceError> {
    let mut reader = Reader::open("fuzz", source, Kinds::ALL)?;
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch)? {
        assert!((1..=BATCH).contains(&batch.len()));
        for event in &batch {
            if let What::Switch { prev, next, prev_comm, prev_state, .. } = event.what {
                assert!(prev <= Tid::MAX && next <= Tid::MAX);
                assert!(!reader.names().text(prev_comm).contains(char::is_control));
                assert!(!reader.states().letters(prev_state).is_empty());
            }
        }
    }
    assert!(reader.problems().all().all(|p| !p.to_string().contains('\n')));
    Ok(())
}
