use super::*;

const TASK: Task = Task { pid: 7, tid: 8 };

fn kernel(address: u64) -> Address {
    Address { address, is_kernel: true }
}
fn user(address: u64) -> Address {
    Address { address, is_kernel: false }
}

fn all(mut bytes: &[u8]) -> Vec<(u64, Option<Record<'_>>)> {
    let mut found = Vec::new();
    while let Some(step) = next(bytes) {
        assert!(step.rest.len() < bytes.len(), "every step goes on");
        found.push((step.time_ns, step.record));
        bytes = step.rest;
    }
    found
}

#[test]
fn what_the_kernel_writes_is_read_back() {
    let chain = [kernel(0xffff_ffff_8100_0010), kernel(0xffff_ffff_8100_0020), user(0x40_0000), user(0x40_1000)];
    let parent = Task { pid: 1, tid: 1 };
    let bytes = [
        written::comm(TASK, true, "worker", 10),
        written::mmap2(TASK, [0x40_0000, 0x2000, 0x1000], "/bin/worker", 11),
        written::fork(TASK, parent, 12),
        written::sample(TASK, 13, 1_003_009, &chain),
        written::lost(5, 14),
        written::record(kind::THROTTLE, 0, &[0; 48]),
        written::record(99, 0, &[0; 32]),
    ]
    .concat();
    let mapping = MappedCode { start: 0x40_0000, length: 0x2000, file_offset: 0x1000, name: b"/bin/worker".as_slice() };
    let sample = RawSample { task: TASK, time_ns: 13, cpu: 3, period: 1_003_009, chain: chain.to_vec() };
    assert_eq!(
        all(&bytes),
        [
            (10, Some(Record::Comm { task: TASK, exec: true, name: b"worker" })),
            (11, Some(Record::Mapped { pid: 7, mapping })),
            (12, Some(Record::Forked { task: TASK, parent })),
            (13, Some(Record::Sample(sample))),
            (14, Some(Record::Lost(5))),
            (0, Some(Record::Throttled)),
            (0, None),
        ]
    );
}

#[test]
fn a_chain_of_nothing_but_contexts_is_the_address_itself() {
    let bytes = written::sample(TASK, 1, 1, &[]);
    let Some(Step { record: Some(Record::Sample(sample)), .. }) = next(&bytes) else { panic!("a sample") };
    assert_eq!(sample.chain, [user(0)]);
}

#[test]
fn bytes_that_end_early_or_lie_about_lengths_give_no_more_than_they_hold() {
    let whole = written::sample(TASK, 13, 9, &[kernel(1 << 40), user(5)]);
    for length in 0..whole.len() {
        assert!(next(&whole[..length]).is_none(), "{length} bytes");
    }
    let mut lying = whole.clone();
    let entries = 8 + 8 + 8 + 8 + 8 + 8;
    lying[entries..entries + 8].copy_from_slice(&u64::MAX.to_ne_bytes());
    assert_eq!(all(&lying), [(0, None)], "a chain longer than its record is left out");
    for size in 0..8u16 {
        let mut short = whole.clone();
        short[6..8].copy_from_slice(&size.to_ne_bytes());
        assert!(next(&short).is_none(), "a record of {size} bytes");
    }
}
