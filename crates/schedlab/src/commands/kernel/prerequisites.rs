//! The prerequisite commits of a series in the source's history that the target may lack, if `--from` is a checkout.

use super::checkout::{git, is_checkout};
use super::trees::Origin;
use super::{history, port, states, trees};
use crate::output::say;
use anyhow::Result;
use schedlab_kernel::{
    Commit, FilePatch, Outcome, Patch, Present, missed, parse, parse_combined, present, rehearse_series,
};
use schedlab_report::port::{Prerequisites, Rehearsal, Step, Wanted};
use std::path::Path;

/// Commits whose changes are read, the newest first, and how many of the result are searched in the target.
const COMMITS: usize = 5_000;
const LOOKED_FOR: usize = 40;

/// Searches for what the rehearsal, and the compiler if used, found missing. Finds nothing in a tree without history.
pub(super) fn find(from: &Origin, onto: &Path, rehearsal: &Rehearsal) -> Option<Prerequisites> {
    let (place, newest) = match from {
        Origin::Tree(tree) => (tree, "HEAD"),
        Origin::Commit(tree, id) => (tree, id.as_str()),
    };
    if !is_checkout(place) {
        return None;
    }
    let found = found(place, newest, onto, rehearsal);
    found.map_err(|error| say(format_args!("the history of {} cannot be read: {error:#}", place.display()))).ok()
}

fn found(from: &Path, newest: &str, onto: &Path, rehearsal: &Rehearsal) -> Result<Prerequisites> {
    let built = rehearsal.build.iter().flat_map(|build| &build.steps).flat_map(Step::needs).collect::<Vec<_>>();
    let mut read = |path: &str| port::file(onto, path);
    let missed = missed(&rehearsal.patches, &rehearsal.port, &rehearsal.needs, &built, &mut read)?;
    if missed.is_empty() {
        return Ok(Prerequisites::default());
    }
    let touched = rehearsal.port.findings.iter().map(|found| states::folder(&found.file));
    let paths = trees::folders(touched.chain(["include/"]));
    let commits = before_the_series([from, onto], newest, &paths, &rehearsal.patches)?;
    let changes = changes(from, &commits)?;
    let all = missed.prerequisites(&changes);
    let patch = |at: usize| as_patch(&commits[at], &changes[at]);
    let patches: Vec<Patch> = all.iter().take(LOOKED_FOR).map(|one| patch(one.candidate)).collect();
    let more = all.len() - patches.len();
    let wanted = all.into_iter().zip(&patches).zip(looked_for(onto, &patches)?);
    let wanted = wanted.map(|((why, patch), (there, alone))| Wanted {
        commit: commits[why.candidate].id.clone(),
        subject: patch.subject.clone(),
        there,
        alone,
        why,
    });
    Ok(Prerequisites { commits: commits.len(), wanted: wanted.collect(), more })
}

/// For each commit, the commit in the target's history that it is, and the outcome of applying it there alone.
pub(super) fn looked_for(onto: &Path, patches: &[Patch]) -> Result<Vec<(Option<Present>, Option<Outcome>)>> {
    let mut there = history::read(onto, patches).present.into_iter();
    let mut read = |path: &str| port::file(onto, path);
    let one = |patch: &Patch| {
        let alone = rehearse_series(std::slice::from_ref(patch), &[], &mut read)?;
        let outcome = alone.outcomes(std::slice::from_ref(patch)).first().map(|(outcome, _)| *outcome);
        Ok((there.next().flatten(), outcome))
    };
    patches.iter().map(one).collect()
}

/// A commit as a patch.
pub(super) fn as_patch(commit: &Commit, files: &[FilePatch]) -> Patch {
    let Commit { id, subject, .. } = commit;
    Patch { subject: subject.clone(), commit: Some(id.clone()), files: files.to_vec(), ..Patch::default() }
}

/// The newest commits that touch the paths and that the target does not have, if the histories share a commit; without
/// the series itself and later commits. `newest` is the commit of the source to begin with.
fn before_the_series(
    [from, onto]: [&Path; 2],
    newest: &str,
    paths: &[String],
    series: &[Patch],
) -> Result<Vec<Commit>> {
    let but = shared(from, onto).map(|id| format!("^{id}"));
    let revisions: Vec<&str> = ["--no-merges", newest].into_iter().chain(but.as_deref()).collect();
    let mut commits = history::commits(from, COMMITS, &revisions, paths)?;
    let last = series.iter().filter_map(|patch| {
        let found = present(patch, None, &commits)?;
        commits.iter().position(|commit| commit.id == found.commit)
    });
    let last = last.max().map_or(0, |at| at + 1);
    commits.drain(..last);
    Ok(commits)
}

/// The merge base: the newest commit of the target's history that the source also has.
fn shared(from: &Path, onto: &Path) -> Option<String> {
    let target = is_checkout(onto).then(|| git(onto, &["rev-list", "-n20000", "HEAD"], &[], vec![]).ok()).flatten()?;
    let said = git(from, &["cat-file", "--batch-check=%(objectname) %(objecttype)"], &[], target).ok()?;
    let said = String::from_utf8_lossy(&said);
    said.lines().find_map(|line| line.strip_suffix(" commit")).map(str::to_owned)
}

/// The changes of each commit, in the order of the commits.
pub(super) fn changes(tree: &Path, commits: &[Commit]) -> Result<Vec<Vec<FilePatch>>> {
    let asked: String = commits.iter().map(|commit| format!("{}\n", commit.id)).collect();
    let said = history::diffs(tree, &[], asked.into_bytes())?;
    let mut out = vec![Vec::new(); commits.len()];
    let (mut begin, mut of) = (0, None);
    let lines = said.split_inclusive(|&byte| byte == b'\n').scan(0, |at, line| {
        *at += line.len();
        Some((*at - line.len(), line))
    });
    let mut take = |of: Option<usize>, text: &[u8]| {
        if let Some(place) = of.and_then(|at| out.get_mut(at)) {
            *place = parse(text).into_iter().flat_map(|patch| patch.files).chain(parse_combined(text)).collect();
        }
    };
    let mut next = 0;
    for (at, line) in lines {
        // A commit without text changes is missing in the output.
        let id = line.trim_ascii_end();
        if let Some(step) = commits[next.min(commits.len())..].iter().position(|commit| commit.id.as_bytes() == id) {
            take(of, &said[begin..at]);
            (of, begin, next) = (Some(next + step), at + line.len(), next + step + 1);
        }
    }
    take(of, &said[begin..]);
    Ok(out)
}
