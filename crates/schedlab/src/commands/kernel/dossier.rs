//! `schedlab kernel dossier`: two states of a source, from trees, patches or git, to a report in a directory.

use super::{checkout, patched, trees};
use crate::cli::kernel::Dossier as Arguments;
use crate::exit;
use crate::output::say;
use anyhow::{Context, Result, bail};
use schedlab_kernel::dossier::{File, FileChange, FunctionChange, InterfaceChange, KeyFunction, SkippedPlace, compare};
use schedlab_report::{DossierSubject, dossier_html, dossier_markdown, dossier_pictures};
use schedlab_run::InOrder;
use schedlab_run::json::pretty;
use schedlab_sys::places;
use serde::Serialize;
use std::path::Path;
use std::thread;

/// `dossier.json`.
#[derive(Serialize)]
struct Answer<'a> {
    sides: &'a [String; 2],
    paths: &'a [String],
    commits: &'a [String],
    /// What was left out of the input, a sentence each.
    problems: &'a [String],
    files: &'a [FileChange],
    interfaces: &'a [InterfaceChange],
    functions: &'a [FunctionChange],
    key_functions: &'a [KeyFunction],
    skipped: &'a [SkippedPlace],
    files_read: [usize; 2],
}

/// A file's path in its tree and its bytes.
pub(super) type Raw = (String, Vec<u8>);

/// Two states of a source, not yet read as C.
pub(super) struct Sides {
    pub(super) names: [String; 2],
    pub(super) files: [Vec<Raw>; 2],
    pub(super) paths: Vec<String>,
    pub(super) commits: Vec<String>,
    /// What was left out, a sentence each.
    pub(super) problems: Vec<String>,
}

pub(super) fn run(args: &Arguments) -> Result<u8> {
    for path in &args.paths {
        if path.is_empty() || path.starts_with('/') || path.split('/').any(|part| part == "..") {
            bail!("--paths {path}: name folders and files inside the tree, such as kernel/sched");
        }
    }
    let sides = sides(args)?;
    let problems = sides.problems;
    problems.iter().for_each(|problem| say(format_args!("schedlab: {problem}")));
    let [before, after] = sides.files.map(read);
    if before.is_empty() && after.is_empty() {
        let places = if sides.paths.is_empty() { "the trees".to_owned() } else { sides.paths.join(", ") };
        bail!("no C file and no Kconfig in {places}; see --paths");
    }
    let dossier = compare(&before, &after);
    let title = args.title.clone().unwrap_or_else(|| format!("{} → {}", sides.names[0], sides.names[1]));
    let subject = DossierSubject { title, sides: sides.names, paths: sides.paths, commits: sides.commits };
    let dir = &args.output;
    std::fs::create_dir_all(dir).with_context(|| format!("{} cannot be made", dir.display()))?;
    let (mut md, mut html) = (Vec::new(), Vec::new());
    dossier_markdown(&subject, &dossier, &mut md)?;
    dossier_html(&subject, &dossier, &mut html)?;
    let mut whole = vec![("dossier.md".to_owned(), md), ("dossier.html".to_owned(), html)];
    let DossierSubject { sides, paths, commits, .. } = &subject;
    let answer = Answer {
        sides,
        paths,
        commits,
        problems: &problems,
        files: &dossier.files,
        interfaces: &dossier.interfaces,
        functions: &dossier.functions,
        key_functions: &dossier.key_functions,
        skipped: &dossier.skipped,
        files_read: dossier.files_read,
    };
    whole.push(("dossier.json".to_owned(), pretty(&answer)?.into_bytes()));
    whole.extend(dossier_pictures(&dossier).into_iter().map(|(name, svg)| (name, svg.into_bytes())));
    // Names of ours in a directory that may be anybody's: a link there is replaced, not followed.
    for (name, bytes) in whole {
        let file = dir.join(name);
        places::write_whole(&file, 0o666, &bytes).with_context(|| format!("{} cannot be written", file.display()))?;
    }
    say(format_args!(
        "dossier: {}: {} interfaces and {} functions differ; {} places could not be read",
        dir.join("dossier.html").display(),
        dossier.interfaces.len(),
        dossier.functions.len(),
        dossier.skipped.len()
    ));
    Ok(exit::DONE)
}

fn sides(args: &Arguments) -> Result<Sides> {
    match (&args.tree, &args.input[..]) {
        (None, [a, b]) => {
            for tree in [a, b] {
                if !Path::new(tree).is_dir() {
                    bail!("{tree} is no directory; name two source trees, or patches or a range with --tree TREE");
                }
            }
            trees::sides([a, b], &args.paths)
        }
        (None, _) => bail!("name two source trees, or --tree TREE for patches, a commit or a range"),
        (Some(tree), _) if !tree.is_dir() => {
            bail!("--tree {}: it is no directory; name a source tree or a checkout", tree.display())
        }
        (Some(tree), [range]) if !Path::new(range).exists() => checkout::sides(tree, range, &args.paths),
        (Some(tree), patches) => patched::sides(tree, patches, &args.paths),
    }
}

/// Reads the files on all CPUs; the answer is sorted by path.
fn read(files: Vec<Raw>) -> Vec<File> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut shares: Vec<Vec<Raw>> = (0..workers).map(|_| Vec::new()).collect();
    for (at, file) in files.into_iter().enumerate() {
        shares[at % workers].push(file);
    }
    let mut out: Vec<File> = thread::scope(|scope| {
        let work =
            |share: Vec<Raw>| scope.spawn(|| share.into_iter().map(|(p, t)| File::read(p, t)).collect::<Vec<_>>());
        let threads: Vec<_> = shares.into_iter().map(work).collect();
        threads.into_iter().flat_map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    out.in_order_by(|a, b| a.path.cmp(&b.path));
    out
}
