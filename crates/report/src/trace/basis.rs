//! What findings rest on: waits that are in no number, events that were not recorded, definitions.

use super::Page;
use crate::number::count;
use schedlab_analyze::trace::Definition;
use std::io;

impl Page<'_> {
    /// What is counted and in no number: overlapping missing events, contradicted, cut off by the end.
    pub(super) fn censored(&mut self, what: &str, censored: [u64; 3]) -> io::Result<()> {
        let [gap, contradiction, unfinished] = censored;
        if gap + contradiction + unfinished == 0 {
            return Ok(());
        }
        let text = format!(
            "{what} that are in no number: {} over missing events, {} that what follows contradicts, {} cut off by the end",
            count(gap),
            count(contradiction),
            count(unfinished)
        );
        self.paragraph("  - ", &text)
    }

    /// Where a list of single waits ends that may have gone on, whatever `--top` says.
    pub(super) fn listed(&mut self, listed: usize, most: usize, what: &str) -> io::Result<()> {
        if listed < most {
            return Ok(());
        }
        self.paragraph("  - ", &format!("the list ends at the {most} longest {what}, however many are asked for"))
    }

    /// What the events are not enough for, and what the numbers mean.
    pub(super) fn basis(&mut self, lacking: &[String], definitions: &[Definition]) -> io::Result<()> {
        for sentence in lacking {
            self.paragraph("  - ", sentence)?;
        }
        for Definition { id, means } in definitions {
            self.paragraph("  = ", &format!("{id}: {means}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_full_says_where_it_ends() {
        let page = |listed| {
            let mut out = Vec::new();
            Page::new(&mut out, 240, false).listed(listed, 100, "of 52484 waits").expect("a Vec takes every byte");
            String::from_utf8(out).expect("UTF-8")
        };
        assert_eq!(page(99), "");
        assert_eq!(page(100), "  - the list ends at the 100 longest of 52484 waits, however many are asked for\n");
    }
}
