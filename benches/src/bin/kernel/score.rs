//! Compares what the rehearsal proposed for each pair with what patch did and with what the maintainers did.

use crate::pairs::{Pair, changed};
use anyhow::{Context, Result};
use schedlab_benches::table;
use schedlab_kernel::{Confidence, Placement, Rehearsed, Source, Verdict, apply, rehearse};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How many of how many.
#[derive(Default, Clone, Copy)]
struct Share {
    hits: usize,
    all: usize,
}

impl Share {
    fn add(&mut self, hit: bool) {
        self.hits += usize::from(hit);
        self.all += 1;
    }

    fn percent(self) -> f64 {
        100.0 * self.hits as f64 / self.all.max(1) as f64
    }

    fn row(self, what: &str, bar: &str, is_met: bool) -> Vec<String> {
        let share = format!("{} of {} ({:.1} %)", self.hits, self.all, self.percent());
        vec![what.into(), share, bar.into(), if bar.is_empty() { String::new() } else { table::met(is_met) }]
    }
}

#[derive(Default)]
pub(crate) struct Score {
    as_patch: Share,
    patch_right: Share,
    /// For the failures of patch: same changes, and adapted ones.
    proposed_right: [Share; 2],
    /// Wrong proposals by confidence.
    wrong: BTreeMap<&'static str, Share>,
    /// Of the wrong ones that are not guesses: those whose lines are all in the counterpart, which has more.
    among_others: Share,
    place: Share,
    place_of_failures: Share,
    flagged_misplaced: Share,
    flagged_right: Share,
    /// The second design: a hunk also counts as flagged if it belongs elsewhere according to more context.
    wide_misplaced: Share,
    wide_right: Share,
    took: Duration,
    /// The details of what went wrong.
    pub(crate) misses: String,
}

impl Score {
    pub(crate) fn add(&mut self, pair: &Pair, scratch: &Path) -> Result<()> {
        let began = Instant::now();
        let source = Source::new(&pair.old);
        let hunks = std::slice::from_ref(&pair.hunk);
        let Some(ours) = rehearse(hunks, &source).pop() else { return Ok(()) };
        self.took += began.elapsed();
        let wide = rehearse(std::slice::from_ref(&pair.wide), &source).pop().and_then(|wide| wide.place);
        let is_elsewhere =
            ours.flagged.is_some() || wide.map(|place| place.line) != ours.place.as_ref().map(|p| p.line);
        let (verdict, by_patch) = patch(pair, scratch)?;
        let ours_by_patch = apply(hunks, &[ours.patch], source.lines());
        let is_as_patch = ours.patch.verdict() == verdict && ours_by_patch == by_patch;
        self.as_patch.add(is_as_patch);
        let is_failure = verdict == Verdict::Fails;
        let is_right = !is_failure && by_patch == pair.right;
        self.patch_right.add(is_right);
        let is_placed = ours.place.as_ref().is_some_and(|place| stands_at(place.line, pair));
        self.place.add(is_placed);
        let proposed = ours.proposal.as_ref().map(|proposal| {
            let line = proposal.hunk.old_start - usize::from(!proposal.hunk.old_side().is_empty());
            apply(std::slice::from_ref(&proposal.hunk), &[Placement::At { line, offset: 0, fuzz: 0 }], source.lines())
        });
        let is_proposed_right = proposed.as_ref() == Some(&pair.right);
        if let Some(proposal) = &ours.proposal {
            self.wrong.entry(name(proposal.confidence)).or_default().add(!is_proposed_right);
            if !is_proposed_right && proposal.confidence < Confidence::Guess {
                self.among_others.add(is_among(&changed(&proposal.hunk), &changed(&pair.counterpart)));
            }
        }
        if is_failure {
            self.proposed_right[usize::from(!pair.is_same)].add(is_proposed_right);
            self.place_of_failures.add(is_placed);
        } else if is_right {
            self.flagged_right.add(ours.flagged.is_some());
            self.wide_right.add(is_elsewhere);
        } else if pair.is_same {
            self.flagged_misplaced.add(ours.flagged.is_some());
            self.wide_misplaced.add(is_elsewhere);
        }
        let is_missed = !is_as_patch
            || !is_placed
            || (ours.proposal.is_some() && !is_proposed_right)
            || (is_failure && !is_proposed_right)
            || (is_right && ours.flagged.is_some())
            || (!is_failure && !is_right && pair.is_same);
        if is_missed {
            self.note(pair, &ours, [is_as_patch, is_placed, is_proposed_right, is_right], verdict);
        }
        Ok(())
    }

    fn note(
        &mut self,
        pair: &Pair,
        ours: &Rehearsed,
        [as_patch, placed, proposed, right]: [bool; 4],
        verdict: Verdict,
    ) {
        let kind = if pair.is_same { "same" } else { "adapted" };
        let confidence = ours.proposal.as_ref().map_or("none", |p| name(p.confidence));
        let text = |hunk: &schedlab_kernel::Hunk| String::from_utf8_lossy(&hunk.to_bytes()).into_owned();
        self.misses += &format!(
            "===== {} {kind} patch={verdict:?} right={right} as_patch={as_patch} placed={placed} proposed={proposed} \
             confidence={confidence} flagged={:?} present={} place={:?}\n{}--- counterpart\n{}--- proposal\n{}\n",
            pair.file,
            ours.flagged,
            ours.is_present,
            ours.place,
            text(&pair.hunk),
            text(&pair.counterpart),
            ours.proposal.as_ref().map(|p| text(&p.hunk)).unwrap_or_default(),
        );
    }

    /// Prints the table; false if a bar is missed.
    pub(crate) fn print(&self) -> bool {
        let wrong = |name: &str| self.wrong.get(name).copied().unwrap_or_default();
        let [same, adapted] = self.proposed_right;
        let per_hundred = self.took.as_secs_f64() * 100.0 / self.as_patch.all.max(1) as f64;
        let bars = [
            (self.as_patch, "verdict and bytes are GNU patch's", "all", self.as_patch.hits == self.as_patch.all),
            (self.patch_right, "GNU patch alone is right", "", true),
            (same, "patch fails, same change: proposal right", "≥ 95 %", same.percent() >= 95.0),
            (adapted, "patch fails, adapted change: proposal right to the byte", "≥ 15 %", adapted.percent() >= 15.0),
            (self.place, "right place, all pairs", "≥ 95 %", self.place.percent() >= 95.0),
            (self.place_of_failures, "right place where patch fails", "", true),
            (wrong("sure"), "proposals given as sure: wrong", "≤ 3 %", wrong("sure").percent() <= 3.0),
            (wrong("likely"), "proposals given as likely: wrong", "", true),
            (self.among_others, "wrong sure and likely ones: the maintainers have all their lines, and more", "", true),
            (wrong("guess"), "proposals given as guess: wrong", "", true),
            (
                self.flagged_misplaced,
                "patch misplaces a same change: flagged",
                "≥ 90 %",
                self.flagged_misplaced.percent() >= 90.0,
            ),
            (self.flagged_right, "patch is right: flagged", "≤ 1 %", self.flagged_right.percent() <= 1.0),
            (self.wide_misplaced, "with 30 more lines around: misplaced and flagged", "", true),
            (self.wide_right, "with 30 more lines around: right and flagged", "", true),
        ];
        let rows: Vec<Vec<String>> = bars.iter().map(|(share, what, bar, ok)| share.row(what, bar, *ok)).collect();
        table::print("Back-port rehearsal", &["of the pairs", "found", "bar", "met"], &rows);
        println!("\nA hundred hunks take {per_hundred:.3} s, each with its file read anew.");
        bars.iter().all(|(.., ok)| *ok) && per_hundred <= 1.0
    }
}

fn name(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Sure => "sure",
        Confidence::Likely => "likely",
        Confidence::Guess => "guess",
    }
}

/// Whether `lines` are a subsequence of `those`.
fn is_among(lines: &[Vec<u8>], those: &[Vec<u8>]) -> bool {
    let mut those = those.iter();
    lines.iter().all(|line| those.any(|other| other == line))
}

/// Whether the line is within the lines that the maintainers changed, extended by the context of a diff.
fn stands_at(line: usize, pair: &Pair) -> bool {
    let (before, behind) = pair.counterpart.context();
    let first = pair.counterpart.old_start + before;
    let last = pair.counterpart.old_start + pair.counterpart.old_side().len() - behind;
    (first.saturating_sub(3)..=last + 3).contains(&line)
}

/// The verdict and the result of the program `patch`.
fn patch(pair: &Pair, scratch: &Path) -> Result<(Verdict, Vec<u8>)> {
    let file = scratch.join("f");
    std::fs::write(&file, &pair.old)?;
    std::fs::write(scratch.join("p"), [b"--- a/f\n+++ b/f\n", &pair.hunk.to_bytes()[..]].concat())?;
    let out = Command::new("patch")
        .args(["-p1", "-s", "--verbose", "--no-backup-if-mismatch", "-r", "-", "-i", "p"])
        .current_dir(scratch)
        .stdin(Stdio::null())
        .output()
        .context("the program patch")?;
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    let verdict = if !out.status.success() {
        Verdict::Fails
    } else if said.contains("fuzz") {
        Verdict::Fuzz
    } else if said.contains("offset") {
        Verdict::Offset
    } else {
        Verdict::Applies
    };
    Ok((verdict, std::fs::read(&file)?))
}
