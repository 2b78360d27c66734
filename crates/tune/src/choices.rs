//! Files that list the words they accept, the current one in brackets: `none voluntary (full)` in `sched/preempt`. The
//! list is that of this kernel, while the table's range covers all kernels: 6.13 added `lazy` on some architectures.

use crate::catalogue::Row;
use crate::knob::{Knob, chosen};
use crate::reason::GUEST_LANE;
use std::path::Path;

/// Why this knob cannot take a value here, in words; `knob` is its file, if there is one.
pub(crate) fn misfit(row: &Row, knob: Option<&Knob>, value: &str) -> Option<String> {
    let is_of_words = !row.range.is_empty() && !row.range.contains("..");
    let listed = match knob {
        Some(Knob::Choice { path }) if is_of_words => listed(path),
        _ => None,
    };
    match listed {
        Some(words) => (!words.iter().any(|word| word == value)).then(|| not_offered(row, &words, value)),
        None => row.out_of_range(value).or_else(|| knob.and_then(|_| row.no_number(value))),
    }
}

/// The words that a file lists, if it is of this kind.
pub(crate) fn listed(path: &Path) -> Option<Vec<String>> {
    let text = crate::file::read(path).ok()?;
    chosen(&text)?;
    let bare = |word: &str| word.trim_matches(['[', ']', '(', ')']).to_owned();
    Some(text.split_whitespace().map(bare).collect())
}

/// The message that this kernel does not have a value that other kernels have.
pub(crate) fn not_offered(row: &Row, words: &[String], value: &str) -> String {
    let here = format!("{} takes {} on this kernel, not `{value}`", row.name, words.join(", "));
    if row.range.split('|').any(|word| word == value) {
        format!("{here}, which other kernels have; {GUEST_LANE}")
    } else {
        here
    }
}

#[cfg(test)]
mod tests {
    use crate::catalogue::named;
    use crate::reason::refused;
    use crate::roots::Roots;
    use std::io;

    /// A tree whose `sched/preempt` has this text.
    fn kernel(preempt: &str) -> (tempfile::TempDir, Roots) {
        let tree = tempfile::tempdir().unwrap();
        let roots = Roots::below(tree.path());
        std::fs::create_dir_all(roots.debugfs.join("sched")).unwrap();
        std::fs::write(roots.debugfs.join("sched/preempt"), format!("{preempt}\n")).unwrap();
        (tree, roots)
    }

    #[test]
    fn what_the_kernel_offers_decides_and_is_told() {
        for (preempt, value, refused) in [
            (
                "none voluntary (full)",
                "lazy",
                Some("takes none, voluntary, full on this kernel, not `lazy`, which other"),
            ),
            ("none voluntary full (lazy)", "lazy", None),
            ("none voluntary (full) lazy", "lazy", None),
            // PREEMPT_RT.
            ("full (lazy)", "none", Some("takes full, lazy on this kernel, not `none`, which other kernels have")),
            ("none voluntary (full)", "lasy", Some("takes none, voluntary, full on this kernel, not `lasy`")),
        ] {
            let (_tree, roots) = kernel(preempt);
            let set = named(&roots, &format!("preempt={value}")).map(|named| named.setting);
            let of_a_spec = format!("debugfs:sched/preempt={value}").parse().unwrap();
            let resolved = crate::resolve::resolve(&roots, &of_a_spec);
            match refused {
                None => assert!(set.is_ok() && resolved.is_ok(), "{preempt} {value}"),
                Some(part) => {
                    let (set, resolved) = (set.unwrap_err(), resolved.unwrap_err());
                    assert!(set.contains(part) && resolved.contains(part), "{set} / {resolved}");
                    assert!(set.contains("vm run") == part.contains("which"), "{set}");
                }
            }
        }
    }

    #[test]
    fn a_refusal_of_the_kernel_names_what_it_offers() {
        let (_tree, roots) = kernel("none voluntary (full)");
        let why = |value| refused(&roots.debugfs.join("sched/preempt"), &io::Error::from_raw_os_error(22), Some(value));
        assert!(why("lazy").contains("(EINVAL): preempt takes none, voluntary, full on this"), "{}", why("lazy"));
        assert!(why("none").ends_with("limited by another knob"), "{}", why("none"));
    }
}
