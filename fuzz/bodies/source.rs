//! What must hold for any bytes given as a C file; shared by the fuzz target and the replay of its corpus.

use schedlab_kernel::source::scan;

pub(crate) fn check(bytes: &[u8]) {
    let unit = scan(bytes);
    let lines = bytes.iter().filter(|&&b| b == b'\n').count() + 1;
    for function in &unit.functions {
        assert!(1 <= function.first_line && function.first_line <= function.line);
        assert!(function.line <= function.last_line && function.last_line <= lines);
        assert!(!function.name.is_empty());
        for call in &function.calls {
            assert!(function.first_line <= call.line && call.line <= function.last_line);
        }
    }
    for skipped in &unit.skipped {
        assert!(1 <= skipped.line && skipped.line <= lines && !skipped.what.is_empty());
    }
}
