//! Moves: what a patch removes in one place and adds in another is one change, taken as a whole or not at all. Half of
//! it would lose a function, or define it twice.

use super::series::Finding;
use crate::contract::alike;
use crate::series::{FilePatch, Hunk, Line, Patch};
use crate::source::{code_lines, scan};
use crate::split;

/// Percent of a definition's lines that must be moved too: unrelated definitions can have the same name, as `probe`.
const SAME: usize = 60;

/// A definition that a patch moves; the hunks are numbered within the patch.
pub(super) struct Move {
    name: String,
    from: usize,
    to: usize,
}

/// What a move means for one of its two hunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MoveEnd {
    /// The hunk, numbered within the patch.
    pub(super) hunk: usize,
    /// The tree already has the move; otherwise the hunk is left out.
    pub(super) is_present: bool,
    /// The reason.
    pub(super) why: String,
}

impl MoveEnd {
    /// Records it in the finding of the hunk.
    pub(super) fn mark(&self, found: &mut Finding) {
        found.half = Some(self.why.clone());
        if self.is_present {
            found.is_present = true;
            if let Some(seen) = &mut found.rehearsed {
                (seen.flagged, seen.proposal) = (None, None);
            }
        }
    }
}

/// A function, type or macro, and its code.
type Definition = (String, Vec<String>);

/// The definitions that a patch moves from one hunk to another.
pub(super) fn moves(patch: &Patch) -> Vec<Move> {
    let (mut gone, mut come) = (Vec::new(), Vec::new());
    for (number, (file, hunk)) in hunks(patch).enumerate() {
        if !file.is_c() {
            continue;
        }
        let [old, new] = [hunk.old_side(), hunk.new_side()].map(|side| defined(&whole(&side)));
        let lacks = |other: &[Definition], one: &Definition| !other.iter().any(|(name, _)| *name == one.0);
        gone.extend(old.iter().filter(|one| lacks(&new, one)).map(|one| (number, one.clone())));
        come.extend(new.iter().filter(|one| lacks(&old, one)).map(|one| (number, one.clone())));
    }
    let mut out = Vec::new();
    for (from, (name, code)) in gone {
        let is_it = |(_, (other, there)): &&(usize, Definition)| *other == name && alike(&code, there) >= SAME;
        out.extend(come.iter().filter(is_it).map(|(to, _)| Move { name: name.clone(), from, to: *to }));
    }
    out
}

fn hunks(patch: &Patch) -> impl Iterator<Item = (&FilePatch, &Hunk)> {
    patch.files.iter().flat_map(|file| file.hunks.iter().map(move |hunk| (file, hunk)))
}

/// A side of a hunk from its first line that begins in column 0: before that there may be half of a function or
/// comment.
fn whole(side: &[&[u8]]) -> Vec<u8> {
    let is_inner = |line: &&&[u8]| line.first().is_none_or(u8::is_ascii_whitespace);
    side.iter().skip_while(is_inner).copied().collect::<Vec<_>>().concat()
}

fn defined(text: &[u8]) -> Vec<Definition> {
    let unit = scan(text);
    let functions = unit.functions.iter().map(|one| (one.name.clone(), code_lines(text, one)));
    let types = unit.types.iter().filter(|one| !one.name.is_empty());
    let types = types.map(|one| {
        let members = one.members.iter().map(|member| member.text.clone());
        (format!("{} {}", one.keyword, one.name), members.collect())
    });
    let macros = unit.macros.iter().map(|one| (one.name.clone(), vec![one.text.clone()]));
    functions.chain(types).chain(macros).collect()
}

/// What the moves of a patch mean for their hunks, unless a finding says so already. `before` has the files of the
/// patch as the earlier patches leave them, if the tree has them.
pub(super) fn halves(
    patch: &Patch,
    moves: &[Move],
    findings: &[Finding],
    before: &[(String, Vec<u8>)],
) -> Vec<MoveEnd> {
    let hunks: Vec<&Hunk> = hunks(patch).map(|(_, hunk)| hunk).collect();
    let text = |file: &str| before.iter().find(|(path, _)| path == file).map(|(_, text)| &text[..]);
    let mut out: Vec<MoveEnd> = Vec::new();
    for one in moves {
        let pair = [one.from, one.to].map(|at| &findings[at]);
        let texts = pair.map(|found| text(&found.file));
        for (is_new, is_present, why) in judged(&one.name, pair, texts) {
            let (hunk, finding) = (if is_new { one.to } else { one.from }, pair[usize::from(is_new)]);
            let is_present = is_present && texts[1].is_some_and(|there| stands(hunks[hunk], there));
            if !finding.is_present && finding.half.is_none() && !out.iter().any(|half| half.hunk == hunk) {
                out.push(MoveEnd { hunk, is_present, why });
            }
        }
    }
    out
}

/// What to report for the two hunks of a move: whether it is the one at the new place, whether the tree may already
/// have it, and why.
fn judged(name: &str, [from, to]: [&Finding; 2], texts: [Option<&[u8]>; 2]) -> Vec<(bool, bool, String)> {
    let [here, there] = [&from.file, &to.file];
    let is_in_file = here == there;
    let [was_here, was_there] =
        texts.map(|text| text.map_or(0, |text| defined(text).iter().filter(|(other, _)| other == name).count()));
    let [is_gone, is_come] = [from, to].map(|half| half.is_taken || half.is_present);
    let not_there = || format!("moves {name} to {there}, where it does not go in: both are left out");
    let not_here = || format!("moves {name} here from {here}, where it cannot be removed: both are left out");
    match () {
        () if is_in_file && to.is_present && from.is_taken && was_here == 1 => {
            vec![(false, true, format!("moves {name}, which is at its new place already"))]
        }
        () if !is_in_file && was_here == 0 && was_there > 0 => {
            let why = format!("moves {name} from {here} to {there}: it is there already, and not here");
            vec![(false, true, why.clone()), (true, true, why.replace("there already, and not here", "here already"))]
        }
        () if from.is_taken && !is_come => vec![(false, false, not_there())],
        () if is_gone || was_here == 0 => Vec::new(),
        // The patch creates the file, which has more than this definition, so it is taken.
        () if to.is_taken && texts[1].is_none() => {
            vec![(false, false, format!("moves {name} to {there}, which has it now: take it out here by hand"))]
        }
        () if to.is_taken => vec![(true, false, not_here())],
        () if is_come => Vec::new(),
        () => vec![(false, false, not_there()), (true, false, not_here())],
    }
}

/// Whether a text contains all lines that a hunk adds or removes.
fn stands(hunk: &Hunk, text: &[u8]) -> bool {
    let there = split(text);
    let is_there = |line: &Line| there.iter().any(|other| other.trim_ascii() == line.text().trim_ascii());
    let is_distinctive = |line: &&Line| line.text().iter().any(u8::is_ascii_alphanumeric);
    hunk.lines.iter().filter(|line| !matches!(line, Line::Context(_))).filter(is_distinctive).all(is_there)
}
