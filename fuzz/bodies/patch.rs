//! What must hold for any bytes given as a series and any text it is placed in; shared by the fuzz target and the replay
//! of its corpus.

use schedlab_kernel::{Placement, Source, Verdict, apply, parse, place, rehearse, rehearse_series, split};

pub(crate) fn check(bytes: &[u8]) {
    // The text is the part before the first zero byte.
    let (text, series) = bytes.split_at(bytes.iter().position(|&b| b == 0).unwrap_or(0));
    adapted(text, series);
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

/// What is adapted applies to the same tree as it is written, hunk by hunk at its line.
fn adapted(text: &[u8], series: &[u8]) {
    // Some files are there and some are not.
    let mut read = |path: &str| Ok::<_, ()>((path.len().is_multiple_of(2)).then(|| text.to_vec()));
    let Ok(port) = rehearse_series(&parse(series), &[], &mut read) else { return };
    // Patch by patch, as a change of a file that is then renamed away must stay before the renaming.
    let mail = |n: usize| format!("From {n:040} Mon Sep 17 00:00:00 2001\nSubject: {n}\n\n").into_bytes();
    let mut again = Vec::new();
    for (n, files) in port.adapted.iter().flatten().enumerate() {
        again.extend(mail(n));
        again.extend(files.to_bytes());
    }
    let patches = parse(&again);
    assert!(patches.iter().all(|patch| patch.refused.is_empty()), "{patches:?}");
    let files = patches.iter().map(|patch| patch.files.len()).sum::<usize>();
    assert_eq!(files, port.adapted.concat().len(), "{}", String::from_utf8_lossy(&again));
    let Ok(second) = rehearse_series(&patches, &[], &mut read) else { return };
    assert!(second.findings.iter().all(|found| found.verdict == Verdict::Applies), "{second:?}");
    assert_eq!(second.adapted.concat().len(), port.adapted.concat().len());
}
