//! `schedlab kernel port`: reads a series and a tree, and prints the findings as text or JSON.

use super::checkout;
use super::trees::Origin;
use super::{adapted, built, history, lacking, prerequisites, series, states};
use crate::cli::kernel::Port;
use crate::commands::destination;
use crate::output::write_file;
use crate::output::{print_answer_lines, say, to_stdout};
use crate::{exit, input};
use anyhow::{Context, Result, bail};
use schedlab_kernel::{FilePatch, Finding, Obstacle, Patch, PatchError, Refused, rehearse_series};
use schedlab_report::port::{Build, Rehearsal};
use schedlab_sys::interrupt::Interrupt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub(super) fn run(args: &Port) -> Result<u8> {
    if !args.onto.is_dir() {
        bail!("--onto {}: it is not a directory; give an unpacked source tree", args.onto.display());
    }
    places(args)?;
    let mut rehearsal = rehearsal(args)?;
    if let Some(dir) = &args.write {
        if args.dry_run { adapted::plan(&rehearsal, dir) } else { adapted::write(&rehearsal, dir)? }
    }
    // The rehearsal is printed even if nothing could be built.
    let mut failed = None;
    if args.build && args.dry_run {
        say(built::plan(args, &rehearsal)?);
    } else if args.build {
        match built::build(args, &rehearsal) {
            Ok(build) => rehearsal.build = Some(build),
            Err(error) => failed = Some(error),
        }
    }
    if let Some(home) = home(args)?.filter(|_| Interrupt::seen().is_none()) {
        rehearsal.prerequisites = prerequisites::find(&home, &args.onto, &rehearsal);
    }
    if args.json.as_deref() == Some("-") {
        let mut lines = Vec::new();
        rehearsal.write_json(&mut lines)?;
        print_answer_lines(&String::from_utf8_lossy(&lines), args.top)?;
    } else {
        match &args.json {
            Some(file) if args.dry_run => say(format_args!("would write {file}: an object a line")),
            Some(file) => write_file(Path::new(file), |out| rehearsal.write_json(out))?,
            None => {}
        }
        to_stdout(|out| rehearsal.write_text(out))?;
    }
    let is_good = rehearsal.build.as_ref().is_none_or(Build::is_good);
    failed.map_or(Ok(if is_good { exit::DONE } else { exit::ERROR }), Err)
}

/// Checks the output files and directories before the work begins.
fn places(args: &Port) -> Result<()> {
    let trees = [("--onto", Some(&args.onto)), ("--from", args.from.as_ref())];
    let trees = || trees.into_iter().filter_map(|(option, tree)| Some((option, tree?)));
    let outside = |option: &str, place: &Path| {
        trees().try_for_each(|(tree_option, tree)| destination::outside(option, place, tree_option, tree))
    };
    if let Some(dir) = &args.write {
        outside("--write", dir)?;
        adapted::check(dir)?;
    }
    if let Some(file) = args.json.as_deref().filter(|file| *file != "-").map(Path::new) {
        outside("--json", file)?;
        let series: Vec<&Path> = args.series.iter().map(PathBuf::as_path).collect();
        destination::check("--json", Some(file), &series, args.dry_run)?;
    }
    if args.build { built::check(args) } else { Ok(()) }
}

fn rehearsal(args: &Port) -> Result<Rehearsal> {
    let (mut patches, mut from) = (Vec::new(), Vec::new());
    for (file, mut patch) in series::parsed(&files(&args.series, args.from.as_deref())?)? {
        refuse_links(&args.onto, &mut patch);
        from.push(file);
        patches.push(patch);
    }
    let mut read = |path: &str| file(&args.onto, path);
    let history = history::read(&args.onto, &patches);
    if let Some(cut) = checkout::is_checkout(&args.onto).then(|| checkout::cut(&args.onto)).flatten() {
        say(format_args!("{cut}"));
    }
    let mut port = rehearse_series(&patches, &history.present, &mut read)?;
    let is_missing = |found: &Finding| found.obstacle == Some(Obstacle::NoFile);
    if !port.findings.is_empty() && port.findings.iter().all(is_missing) {
        let onto = args.onto.display();
        say(format_args!(
            "{onto} has none of the files that the series changes: give the root of a kernel source tree, and patches with \
             names for -p1 (`a/mm/slub.c`)"
        ));
    }
    let needs = lacking::find(&args.onto, &patches, &mut port, &mut read)?;
    let contract = home(args)?.map(|from| states::find(&from, &args.onto, &patches, &mut port)).transpose()?;
    Ok(Rehearsal { patches, from, history, port, needs, contract, build: None, prerequisites: None })
}

/// Removes files that are symbolic links in the tree, or below a link that leads out of the tree or that the patch
/// creates.
pub(super) fn refuse_links(tree: &Path, patch: &mut Patch) {
    let root = tree.canonicalize();
    let made =
        patch.files.iter().filter(|file| file.new_mode == Some(checkout::LINK)).filter_map(|file| file.new.clone());
    let made: Vec<String> = made.collect();
    let is_link = |name: &String| {
        if Path::new(name).ancestors().skip(1).any(|folder| made.iter().any(|link| Path::new(link) == folder)) {
            return true;
        }
        let path = tree.join(name);
        let folder = path.ancestors().skip(1).find_map(|folder| folder.canonicalize().ok());
        let is_outside = root.as_ref().is_ok_and(|root| folder.is_some_and(|folder| !folder.starts_with(root)));
        is_outside || path.is_symlink()
    };
    let (kept, links): (Vec<_>, Vec<_>) = std::mem::take(&mut patch.files).into_iter().partition(|file| {
        let mut names = file.old.iter().chain(&file.new);
        !names.any(is_link)
    });
    patch.files = kept;
    let refused = |file: FilePatch| Refused { line: file.line, why: PatchError::Link(file.path().to_owned()) };
    patch.refused.extend(links.into_iter().map(refused));
}

/// A file of a tree. The parser has made sure that its name is relative and without `..`.
pub(super) fn file(tree: &Path, path: &str) -> Result<Option<Vec<u8>>> {
    match input::regular(&tree.join(path)) {
        Ok(text) => Ok(Some(text)),
        Err(error)
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", tree.join(path).display())),
    }
}

/// The files of the series in order, with their contents. A name that is not a file may be a commit or a range of the
/// checkout given with `--from`.
fn files(named: &[PathBuf], from: Option<&Path>) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut out = Vec::new();
    for path in named {
        if let Some((from, range)) = of_checkout(path, from) {
            out.push((path.clone(), series::mails(from, range)?));
            continue;
        }
        if path.try_exists().is_ok_and(|is_there| !is_there) {
            bail!("{} is no file; for a commit or a range A..B give its checkout with --from", path.display());
        }
        out.extend(series::texts(path)?);
    }
    Ok(out)
}

/// The checkout and the commit or range in it, if a name of the series is no file.
fn of_checkout<'a>(named: &'a Path, from: Option<&'a Path>) -> Option<(&'a Path, &'a str)> {
    from.filter(|from| !named.exists() && checkout::is_checkout(from)).zip(named.to_str())
}

/// The source that the series was written for. If the series is commits of the checkout, this is the last of them,
/// whatever is checked out.
fn home(args: &Port) -> Result<Option<Origin>> {
    let Some(from) = args.from.as_deref() else { return Ok(None) };
    let commits: Option<Vec<_>> = args.series.iter().map(|named| of_checkout(named, Some(from))).collect();
    Ok(Some(match commits.and_then(|commits| commits.last().copied()) {
        Some((from, range)) => Origin::Commit(from.to_owned(), series::last_of(from, range)?),
        None => Origin::Tree(from.to_owned()),
    }))
}
