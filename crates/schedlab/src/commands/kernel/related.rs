//! `schedlab kernel related`: finds the commits of a feature in the history of a checkout.

use super::checkout::{self, is_checkout, texts};
use super::{history, prerequisites, trees};
use crate::cli::kernel::Related as Arguments;
use crate::exit;
use crate::output::{print_answer, say, to_stdout};
use anyhow::{Result, bail};
use schedlab_kernel::{Change, Commit, FilePatch, Patch, related, touched};
use schedlab_report::port::{Discovery, Member};
use std::collections::BTreeSet;
use std::path::Path;

/// Commits whose changes are read, the newest first.
const COMMITS: usize = 5_000;
/// Files that are read in all, files of one commit, and commits whose files are read at once.
const FILES: usize = 20_000;
const FILES_OF_ONE: usize = 500;
const AT_ONCE: usize = 20;

pub(super) fn run(args: &Arguments) -> Result<u8> {
    if !is_checkout(&args.tree) {
        bail!("--tree {}: it is not a checkout; commits are read from a checkout's history", args.tree.display());
    }
    if let Some(onto) = args.onto.as_deref().filter(|onto| !onto.is_dir()) {
        bail!("--onto {}: it is not a directory; give a source tree or a checkout", onto.display());
    }
    let found = found(args)?;
    if args.json {
        print_answer("schedlab/kernel-related/1", &found.answer(), args.top)?;
    } else {
        to_stdout(|out| found.write_text(out))?;
    }
    Ok(exit::DONE)
}

fn found(args: &Arguments) -> Result<Discovery> {
    let (mut names, mut ids) = (BTreeSet::new(), Vec::new());
    for word in &args.what {
        match checkout::commit(&args.tree, word) {
            Ok(id) => ids.push(id),
            Err(_) if is_name(word) => _ = names.insert(word.clone()),
            Err(_) => bail!("{word} is not a commit of {} and no name of C", args.tree.display()),
        }
    }
    let mut asked = history::by_id(&args.tree, &ids)?;
    let of_asked = prerequisites::changes(&args.tree, &asked)?;
    let touched = of_asked.iter().flatten().map(schedlab_kernel::FilePatch::path);
    let paths = if args.paths.is_empty() && names.is_empty() { trees::folders(touched) } else { args.paths.clone() };
    let Some((from, to)) = args
        .range
        .split_once("..")
        .filter(|(from, to)| !from.starts_with('-') && !from.is_empty() && !to.starts_with('.'))
    else {
        bail!("--range {}: it is not a range A..B", args.range);
    };
    let commit = |name: &str| checkout::commit(&args.tree, name);
    let (Ok(from), Ok(to)) = (commit(from), commit(if to.is_empty() { "HEAD" } else { to })) else {
        bail!("--range {}: {} has no such commits (a shallow clone has few)", args.range, args.tree.display());
    };
    if let Some(cut) = checkout::cut(&args.tree) {
        say(format_args!("schedlab: {cut}"));
    }
    let range = [to.as_str(), &format!("^{from}")];
    let mut commits = history::commits(&args.tree, COMMITS, &range, &paths)?;
    if commits.is_empty() {
        let below = if paths.is_empty() { String::new() } else { format!(" that touches {}", paths.join(", ")) };
        say(format_args!("schedlab: --range {}: it has no commit{below}; of A..B, A is the older", args.range));
    }
    let is_cut = commits.len() == COMMITS;
    // A given commit outside of the range counts as older than the range.
    asked.retain(|one| commits.iter().all(|other| other.id != one.id));
    commits.append(&mut asked);
    let (commits, changes) = without_plain_merges(&args.tree, commits, &ids)?;
    let seeds: Vec<usize> = (0..commits.len()).filter(|&at| ids.contains(&commits[at].id)).collect();
    let touched = names_of(&args.tree, &commits, &changes, &seeds)?;
    for name in names.iter().filter(|name| touched.iter().all(|of| !of.contains(*name))) {
        say(format_args!("schedlab: {name}: no commit of {} changes anything of that name", args.range));
    }
    let all = related(&names, &seeds, &commits, &touched);
    let patch = |at: usize| prerequisites::as_patch(&commits[at], &changes[at]);
    let patches: Vec<Patch> = all.iter().map(|one| patch(one.candidate)).collect();
    let states = match &args.onto {
        Some(onto) => prerequisites::looked_for(onto, &patches)?,
        None => vec![(None, None); patches.len()],
    };
    let members = all.into_iter().zip(states).map(|(why, (there, alone))| {
        let commit = &commits[why.candidate];
        let (id, subject) = (commit.id.clone(), commit.subject.clone());
        Member { is_asked: ids.contains(&id), commit: id, subject, why, there, alone }
    });
    let (asked, members, has_target) = (args.what.clone(), members.collect(), args.onto.is_some());
    Ok(Discovery { asked, commits: commits.len(), is_cut, members, has_target })
}

/// The commits with their changes, without merges that change nothing themselves, unless they were given.
fn without_plain_merges(
    tree: &Path,
    commits: Vec<Commit>,
    asked: &[String],
) -> Result<(Vec<Commit>, Vec<Vec<FilePatch>>)> {
    let changes = prerequisites::changes(tree, &commits)?;
    let merges = checkout::merges(tree, &commits.iter().map(|commit| commit.id.clone()).collect::<Vec<_>>())?;
    let is_kept = |(Commit { id, .. }, files): &(Commit, Vec<FilePatch>)| {
        !files.is_empty() || !merges.contains(id) || asked.contains(id)
    };
    Ok(commits.into_iter().zip(changes).filter(is_kept).unzip())
}

/// The names that each commit touches. The files of the given commits are read first, then those of the newest; after
/// [`FILES`] files, and for changes to the whole tree, the hunks and their headings are used instead.
fn names_of(
    tree: &Path,
    commits: &[Commit],
    changes: &[Vec<FilePatch>],
    seeds: &[usize],
) -> Result<Vec<BTreeSet<String>>> {
    let mut out = vec![BTreeSet::new(); commits.len()];
    let mut left = FILES;
    let others = (0..commits.len()).filter(|at| !seeds.contains(at));
    let order: Vec<usize> = seeds.iter().copied().chain(others).collect();
    for some in order.chunks(AT_ONCE) {
        let narrow = some.iter().filter(|at| changes[**at].len() <= FILES_OF_ONE);
        let files = narrow.flat_map(|&at| changes[at].iter().enumerate().map(move |(place, file)| (at, place, file)));
        let name = |(at, place, file): (usize, usize, &FilePatch)| {
            // For an added or removed file the diff has the whole text. git reads one name per line.
            let new = file.new.as_ref().filter(|name| file.change != Change::Created && !name.contains('\n'))?;
            (file.is_c() && !file.hunks.is_empty()).then(|| (at, place, format!("{}:{new}", commits[at].id)))
        };
        let names: Vec<(usize, usize, String)> = files.filter_map(name).take(left).collect();
        left -= names.len();
        let mut found = names.iter().zip(texts(tree, names.iter().map(|(.., name)| name.as_str()))?).peekable();
        for &at in some {
            let mut of = vec![None; changes[at].len()];
            while let Some(((_, place, _), text)) = found.next_if(|((of, ..), _)| *of == at) {
                of[*place] = text;
            }
            out[at] = touched(&changes[at], &of);
        }
    }
    Ok(out)
}

fn is_name(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with(|c: char| c.is_ascii_digit())
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
