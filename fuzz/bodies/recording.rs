//! What must hold for any bytes read as a recording of ours, as a page of the kernel's ring buffer, and as records of a
//! ring of perf: refused in words, or events in the order of time with what was wrong beside them. A fuzzer never guesses
//! a CRC, so the same bytes are tried as the content of a part in a well-made frame as well.

use schedlab_trace::recording::BlockWriter;
use schedlab_trace::{Cpu, Event, Kinds, PageDecoder, Reader};

pub(crate) fn check(bytes: &[u8]) {
    recording(bytes.to_vec());
    for tag in [b"EVTS", b"THRD", b"FMTS", b"CMPL", b"END "] {
        recording([&head()[..], &part(b"ABOU", b"clock mono\n"), &part(tag, bytes)].concat());
    }
    page(bytes);
}

fn recording(bytes: Vec<u8>) {
    let longest = bytes.len();
    let Ok(mut reader) = Reader::open("fuzz", Box::new(bytes), Kinds::ALL) else { return };
    let (mut batch, mut events): (Vec<Event>, usize) = (Vec::new(), 0);
    // Memory does not fail; without the first bytes of a recording it is text, in which there may be no event.
    while let Ok(true) = reader.next_batch(&mut batch).inspect_err(|e| assert!(!e.to_string().contains('\n'), "{e}")) {
        events += batch.len();
    }
    // A byte is an event at most, stored or compressed 255 times, and each may need a gap around it.
    assert!(events <= longest.saturating_mul(255 * 3) + 16, "{events} of {longest} bytes");
    reader.problems().all().for_each(|problem| drop(problem.to_string()));
}

fn head() -> [u8; 16] {
    *b"SLTRACE\0\x01\0\0\0\0\0\0\0"
}

fn part(tag: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u32).to_le_bytes();
    [&tag[..], &length, &length, &crc32(content).to_le_bytes(), content].concat()
}

/// CRC-32 of zip and gzip, bit by bit: slow, small, and independent of the one under test.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0u32, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc)))
}

const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
    \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
    \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

const MIGRATE: &str = "name: sched_migrate_task\nID: 371\nformat:\n\
    \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
    \tfield:__data_loc char[] comm;\toffset:8;\tsize:4;\tsigned:0;\n\
    \tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n\
    \tfield:int prio;\toffset:16;\tsize:4;\tsigned:1;\n\
    \tfield:int orig_cpu;\toffset:20;\tsize:4;\tsigned:1;\n\
    \tfield:int dest_cpu;\toffset:24;\tsize:4;\tsigned:1;\n\n\
    print fmt: \"comm=%s\", __get_str(comm)\n";

fn page(bytes: &[u8]) {
    for big_endian in [false, true] {
        let mut decoder = PageDecoder::new(HEADER_PAGE, &[("sched", MIGRATE)], big_endian).expect("a known layout");
        let mut items = 0;
        let _ = decoder.decode(bytes, |_, _| items += 1);
        assert!(items <= decoder.most_events() + 1, "{items} items of one page");
        ring(bytes, &mut decoder);
    }
}

fn ring(bytes: &[u8], decoder: &mut PageDecoder) {
    let (mut block, mut at) = (BlockWriter::new(Cpu(0)), 0);
    while at < bytes.len() {
        let Ok(read) = decoder.decode_ring_into(&bytes[at..], &mut block) else { return };
        assert!(read.bytes >= 8, "an emptied block has room for a record");
        let _ = block.finish(decoder.names(), decoder.states());
        at += read.bytes;
    }
}
