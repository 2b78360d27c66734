//! What must hold for any bytes given as a series and any text it is placed in; shared by the fuzz target and the replay
//! of its corpus.

use schedlab_kernel::{Placement, Source, apply, parse, place, rehearse, split};

pub(crate) fn check(bytes: &[u8]) {
    // The text is the part before the first zero byte.
    let (text, series) = bytes.split_at(bytes.iter().position(|&b| b == 0).unwrap_or(0));
    let source = Source::new(text);
    let text = split(text);
    for patch in parse(series) {
        for refused in &patch.refused {
            assert!(refused.line >= 1 && !refused.to_string().is_empty());
        }
        for file in &patch.files {
            let names = [&file.old, &file.new].into_iter().flatten();
            assert!(names.clone().all(|name| !name.starts_with('/') && name.split('/').all(|part| part != "..")));
            assert!(!file.path().is_empty());
            let placements = place(&file.hunks, &text);
            assert_eq!(placements.len(), file.hunks.len());
            let out = apply(&file.hunks, &placements, &text);
            if placements.iter().all(|p| !matches!(p, Placement::At { .. })) {
                assert_eq!(out, text.concat());
            }
            for proposal in rehearse(&file.hunks, &source).into_iter().filter_map(|found| found.proposal) {
                let old = proposal.hunk.old_side();
                let at = proposal.hunk.old_start - usize::from(!old.is_empty());
                assert_eq!(old, text[at..at + old.len()], "a proposal fits at its line");
            }
            for hunk in &file.hunks {
                assert_eq!(hunk.reversed().reversed(), *hunk);
            }
        }
    }
}
