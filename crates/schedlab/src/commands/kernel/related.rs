//! `schedlab kernel related`: the commits of a history that belong to one of them, or to names.

use super::checkout::git;
use super::{history, prerequisites, trees};
use crate::cli::kernel::Related as Arguments;
use crate::exit;
use crate::output::to_stdout;
use anyhow::{Result, bail};
use schedlab_kernel::{Patch, related};
use schedlab_report::port::{Discovery, Member};
use std::collections::BTreeSet;
use std::path::Path;

/// Commits whose changes are read, the newest first.
const COMMITS: usize = 5_000;

pub(super) fn run(args: &Arguments) -> Result<u8> {
    if !args.tree.join(".git").exists() {
        bail!("--tree {}: it is no checkout; commits are read from its history", args.tree.display());
    }
    if let Some(onto) = args.onto.as_deref().filter(|onto| !onto.is_dir()) {
        bail!("--onto {}: it is no directory; name a source tree or a checkout", onto.display());
    }
    let found = found(args)?;
    to_stdout(|out| if args.json { found.write_json(out) } else { found.write_text(out) })?;
    Ok(exit::DONE)
}

fn found(args: &Arguments) -> Result<Discovery> {
    let (mut names, mut ids) = (BTreeSet::new(), Vec::new());
    for word in &args.what {
        match commit(&args.tree, word) {
            Some(id) => ids.push(id),
            None if is_name(word) => _ = names.insert(word.clone()),
            None => bail!("{word} is no commit of {} and no name of C", args.tree.display()),
        }
    }
    let mut asked = history::by_id(&args.tree, &ids)?;
    let of_asked = prerequisites::changes(&args.tree, &asked)?;
    let touched = of_asked.iter().flatten().map(schedlab_kernel::FilePatch::path);
    let paths = if args.paths.is_empty() && names.is_empty() { trees::folders(touched) } else { args.paths.clone() };
    let Some((from, to)) = args.range.split_once("..").filter(|(from, _)| !from.starts_with('-') && !from.is_empty())
    else {
        bail!("--range {}: it is no range A..B", args.range);
    };
    let (Some(from), Some(to)) =
        (commit(&args.tree, from), commit(&args.tree, if to.is_empty() { "HEAD" } else { to }))
    else {
        bail!("--range {}: {} has no such commits (a shallow clone has few)", args.range, args.tree.display());
    };
    let mut commits = history::commits(&args.tree, COMMITS, &[&to, &format!("^{from}")], &paths)?;
    let is_cut = commits.len() == COMMITS;
    // One that was asked for and lies outside of the range is taken for older than it.
    asked.retain(|one| commits.iter().all(|other| other.id != one.id));
    commits.append(&mut asked);
    let changes = prerequisites::changes(&args.tree, &commits)?;
    let seeds: Vec<usize> = (0..commits.len()).filter(|&at| ids.contains(&commits[at].id)).collect();
    let all = related(&names, &seeds, &commits, &changes);
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

fn commit(tree: &Path, name: &str) -> Option<String> {
    let asked = format!("{name}^{{commit}}");
    let said = git(tree, &["rev-parse", "--verify", "--quiet", "--end-of-options", &asked], &[], vec![]).ok()?;
    Some(String::from_utf8_lossy(&said).trim().to_owned())
}

fn is_name(word: &str) -> bool {
    !word.starts_with(|c: char| c.is_ascii_digit()) && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
