//! The basis of findings: waits that are not counted, events that were not recorded, definitions.

use crate::document::{Remark, RemarkKind};
use crate::number::count;
use schedlab_analyze::trace::Definition;

/// The number of waits that were censored and `left` out: overlapping missing events, contradicted, cut off by the end.
pub(super) fn censored(left: &str, [gap, contradiction, unfinished]: [u64; 3]) -> Option<Remark> {
    let text = format!(
        "{left}: {} over missing events, {} that what follows contradicts, {} cut off by the end",
        count(gap),
        count(contradiction),
        count(unfinished)
    );
    (gap + contradiction + unfinished > 0).then(|| Remark::note(text))
}

/// The note that a list of single waits may be incomplete, whatever `--top` is.
pub(super) fn listed(listed: usize, most: usize, what: &str) -> Option<Remark> {
    let text = format!("the list ends at the {most} longest {what}, however many are asked for");
    (listed >= most).then(|| Remark::note(text))
}

/// What the events are not sufficient for, and what the numbers mean.
pub(super) fn basis(lacking: &[String], definitions: &[Definition]) -> impl Iterator<Item = Remark> {
    let definition = |d: &Definition| Remark { kind: RemarkKind::Definition, text: format!("{}: {}", d.id, d.means) };
    lacking.iter().map(Remark::note).chain(definitions.iter().map(definition))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_full_says_where_it_ends() {
        let said = |number| listed(number, 100, "of 52484 waits").map(|remark| remark.text);
        assert_eq!(said(99), None);
        let full = "the list ends at the 100 longest of 52484 waits, however many are asked for";
        assert_eq!(said(100).as_deref(), Some(full));
    }
}
