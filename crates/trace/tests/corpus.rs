//! Replays the corpora of the readers' fuzz targets.

#[path = "../../../fuzz/bodies/trace.rs"]
mod body;

fn replay(corpus: &str, magic: &[u8]) {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(corpus);
    let mut files = 0;
    for entry in std::fs::read_dir(dir).expect("the corpus is in the tree") {
        body::check(&std::fs::read(entry.expect("readable").path()).expect("readable"), magic);
        files += 1;
    }
    assert!(files > 0, "an empty corpus tests nothing");
}

#[test]
fn perf_data() {
    replay("perf_data", b"PERFILE2");
}

#[test]
fn trace_dat() {
    replay("trace_dat", b"\x17\x08\x44tracing");
}

#[test]
fn perfetto() {
    replay("perfetto", b"\n");
}

#[test]
fn ftrace_text() {
    replay("ftrace_text", b"");
}
