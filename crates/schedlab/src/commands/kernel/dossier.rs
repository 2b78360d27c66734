//! `schedlab kernel dossier`: compares two states of a source, from trees, patches or git, and writes a report to a
//! directory.

mod callers;

use super::steps::Steps;
use super::trees::Origin;
use super::{checkout, patched, ran, trees};
use crate::cli::kernel::{Dossier as Arguments, Language, Template};
use crate::commands::{destination, report};
use crate::output::say;
use crate::{exit, input};
use anyhow::{Context, Result, bail};
use schedlab_kernel::dossier::{
    Body, Dossier, Event, File, FileChange, FunctionChange, InterfaceChange, KeyFunction, Maintainers, Mention,
    ModuleCalls, NotAdapted, OutsideCaller, Similar, SkippedPlace, Structure, SubsystemChange, body, by_subsystem,
    compare_in, documented_names, mentions, similar, structures,
};
use schedlab_plan::InOrder;
use schedlab_plan::json::pretty;
use schedlab_report::{
    DossierSubject, Input, Lang, Measured, OldPage, Term, dossier_html, dossier_markdown, dossier_pictures,
    dossier_slots, measured,
};
use schedlab_sys::places;
use schedlab_sys::thread::{side_by_side, usable_cpus};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// `dossier.json`.
#[derive(Serialize)]
struct DossierAnswer<'a> {
    /// Which answer this is.
    schema: &'static str,
    /// The two trees.
    sides: &'a [String; 2],
    /// Folders and files that were compared.
    paths: &'a [String],
    /// Commits between the two.
    events: &'a [Event],
    /// What was left out of the input, a sentence each.
    problems: &'a [String],
    /// Files that differ.
    files: &'a [FileChange],
    /// Tunables, features, tracepoints and the like that differ.
    interfaces: &'a [InterfaceChange],
    /// Functions that differ.
    functions: &'a [FunctionChange],
    /// Those of them that matter most, the first first.
    key_functions: &'a [KeyFunction],
    /// Functions outside of `paths` that call one that is new, gone or has another signature; static ones are not
    /// looked for.
    outside: &'a [OutsideCaller],
    /// Calls that fitted what they call before and do not fit it now, in and outside of `paths`.
    not_adapted: &'a [NotAdapted],
    /// Calls of all functions that differ, between files, or folders if the files are many.
    module_calls: &'a [ModuleCalls],
    /// Places that could not be read as C.
    skipped: &'a [SkippedPlace],
    /// How many files of each tree were read.
    files_read: [usize; 2],
    /// The change by section of MAINTAINERS.
    subsystems: &'a [SubsystemChange],
    /// Interfaces that documents of the tree name.
    mentions: &'a [Mention],
    /// Functions elsewhere that use what the changed ones use.
    similar: &'a [Similar],
    /// Structures that differ; of the template for a term.
    #[serde(skip_serializing_if = "Option::is_none")]
    structures: Option<&'a [Structure]>,
    /// Key functions line by line; of the same template.
    #[serde(skip_serializing_if = "Option::is_none")]
    bodies: Option<&'a [Body]>,
    /// What was written into the page, by slot.
    slots: &'a BTreeMap<String, String>,
}

/// How many key functions are shown line by line.
const BODIES: usize = 10;
/// More pictures of each kind than a dossier can have.
const MAX_PICTURES: usize = 99;
const PAGE: &str = "dossier.md";

/// A file's path in its tree and its bytes.
pub(super) type Raw = (String, Vec<u8>);

/// Two states of a source, not yet parsed.
pub(super) struct Sides {
    pub(super) names: [String; 2],
    pub(super) files: [Vec<Raw>; 2],
    pub(super) paths: Vec<String>,
    /// Commits or patches, the oldest first.
    pub(super) events: Vec<Event>,
    /// The changes of each of them, and patches without a name.
    pub(super) steps: Steps,
    /// Commits after those.
    pub(super) later: Vec<Event>,
    /// Where other files of each state can be read.
    pub(super) origins: [Origin; 2],
    /// What was left out, a sentence each.
    pub(super) problems: Vec<String>,
}

pub(super) fn run(args: &Arguments) -> Result<u8> {
    let paths = paths(&args.paths)?;
    check(args)?;
    let (run, hits) = (args.run.as_deref().map(measured_run), args.hits.as_deref().map(ran::read));
    let (measured, hits) = (run.transpose()?, hits.transpose()?);
    let old = old_page(&args.output)?;
    let mut sides = sides(args, &paths)?;
    sides.problems.iter().for_each(|problem| say(format_args!("schedlab: {problem}")));
    let [before, after] = std::mem::take(&mut sides.files).map(read);
    if before.is_empty() && after.is_empty() {
        let places = if sides.paths.is_empty() { "the trees".to_owned() } else { sides.paths.join(", ") };
        bail!(
            "no C file and no Kconfig in {places}: give the root of a source tree, and with --paths directories and \
             files of it, such as kernel/sched"
        );
    }
    let is_whole = args.paths.is_empty() || args.all_callers;
    let mut dossier = with_callers(&sides, [&before, &after], is_whole)?;
    sides.steps.name(&mut dossier.interfaces, &before)?;
    sides.steps.modes(&mut dossier.files, &sides.paths);
    let problems = std::mem::take(&mut sides.problems);
    let (slots, was_changed) = old.map(|page| (page.slots, !page.is_ours)).unwrap_or_default();
    let subject =
        DossierSubject { problems, measured, hits, slots, ..subject(args, sides, &dossier, [&before, &after])? };
    write(&args.output, files(&subject, &dossier)?, was_changed)?;
    say(format_args!(
        "dossier: {}: {} interfaces and {} functions differ; {} places could not be read",
        args.output.join("dossier.html").display(),
        dossier.interfaces.len(),
        dossier.functions.len(),
        dossier.skipped.len()
    ));
    Ok(exit::DONE)
}

/// The comparison; with callers in the rest of the trees if requested, because that takes a few seconds.
fn with_callers(sides: &Sides, [before, after]: [&[File]; 2], is_whole: bool) -> Result<Dossier> {
    let rest = callers::Rest { origins: &sides.origins, steps: &sides.steps, paths: &sides.paths };
    let mut failed = None;
    let mut dossier = compare_in(before, after, &mut |wanted| match is_whole.then(|| rest.with(wanted)).transpose() {
        Ok(found) => found.unwrap_or_default(),
        Err(error) => {
            failed = Some(error);
            Default::default()
        }
    });
    if !is_whole && !sides.paths.is_empty() {
        // A function that is gone from the paths may now be defined elsewhere.
        dossier.not_adapted.retain(|call| call.taken.is_some());
    }
    failed.map_or(Ok(dossier), Err)
}

/// The paths as the tree spells them: `kernel/sched` for `./kernel//sched/`. Empty, for everything, if one is the tree
/// itself.
fn paths(given: &[String]) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for path in given {
        if path.is_empty() || path.starts_with('/') || path.split('/').any(|part| part == "..") {
            bail!("--paths {path}: give directories and files inside the tree, such as kernel/sched");
        }
        let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        out.push(parts.join("/"));
    }
    Ok(if out.iter().any(String::is_empty) { Vec::new() } else { out })
}

/// Refuses early what would be refused at the end.
fn check(args: &Arguments) -> Result<()> {
    if args.output.exists() && !args.output.is_dir() {
        bail!("-o {}: it is not a directory", args.output.display());
    }
    // The input may be two trees.
    let read = || args.input.iter().map(|tree| ("the input", Path::new(tree))).filter(|(_, tree)| tree.is_dir());
    let tree = args.tree.as_deref().map(|tree| ("--tree", tree));
    read().chain(tree).try_for_each(|(option, tree)| destination::outside("-o", &args.output, option, tree))
}

/// The subject of the dossier, before measurements and slots are filled in.
fn subject(args: &Arguments, sides: Sides, dossier: &Dossier, [before, after]: [&[File]; 2]) -> Result<DossierSubject> {
    let maintainers = first(&sides.origins, |origin| origin.there(&["MAINTAINERS".to_owned()]))?;
    let maintainers = Maintainers::read(maintainers.first().map_or(&[], |(_, text)| text));
    let term =
        || Term { structures: structures(&dossier.interfaces, before, after), bodies: bodies(dossier, before, after) };
    Ok(DossierSubject {
        title: args.title.clone().unwrap_or_else(|| format!("{} → {}", sides.names[0], sides.names[1])),
        lang: if args.lang == Language::Zh { Lang::Zh } else { Lang::En },
        is_checkout: matches!(sides.origins[1], Origin::Commit(..)),
        events: sides.events,
        later: sides.later,
        subsystems: by_subsystem(&maintainers, &dossier.files),
        mentions: documentation(dossier, &sides.origins)?,
        similar: similar(&dossier.functions, before, after),
        term: (args.template == Template::Term).then(term),
        sides: sides.names,
        paths: sides.paths,
        problems: Vec::new(),
        measured: None,
        hits: None,
        slots: BTreeMap::new(),
    })
}

/// The page of an earlier dossier. A symbolic link is not followed, because its target is not a page of ours.
fn old_page(dir: &Path) -> Result<Option<OldPage>> {
    let file = dir.join(PAGE);
    if !std::fs::symlink_metadata(&file).is_ok_and(|found| found.is_file()) {
        return Ok(None);
    }
    let text = input::regular(&file).with_context(|| format!("{} cannot be read", file.display()))?;
    let Ok(text) = String::from_utf8(text) else {
        bail!(
            "{}: it is not UTF-8, so its slots cannot be kept: convert it, or name another directory",
            file.display()
        );
    };
    match dossier_slots(&text) {
        Ok(page) => Ok(Some(page)),
        Err(slot) => bail!(
            "{}: the slot `{slot}` has no line `<!-- end of slot -->`, so its text cannot be kept: restore the line, or \
             name another directory",
            file.display()
        ),
    }
}

/// The result for the second state, or for the first if that is empty.
fn first(origins: &[Origin; 2], ask: impl Fn(&Origin) -> Result<Vec<Raw>>) -> Result<Vec<Raw>> {
    let found = ask(&origins[1])?;
    if found.is_empty() { ask(&origins[0]) } else { Ok(found) }
}

/// Where the documentation names what differs; the first state is searched for what only it has.
fn documentation(dossier: &Dossier, origins: &[Origin; 2]) -> Result<Vec<Mention>> {
    let mut names = documented_names(&dossier.interfaces);
    let is_text = |path: &str| path.ends_with(".rst") || path.ends_with(".txt");
    let mut out = Vec::new();
    for origin in origins.iter().rev().take(if dossier.interfaces.is_empty() { 0 } else { 2 }) {
        if names.is_empty() {
            break;
        }
        let texts = origin.files(&["Documentation".to_owned()], &is_text, &mut Vec::new())?;
        let found = mentions(&names, &texts);
        names.retain(|name| found.iter().all(|mention| mention.name != *name));
        out.extend(found);
    }
    out.in_order_by(|a, b| a.name.cmp(&b.name));
    Ok(out)
}

/// The first key functions, line by line.
fn bodies(dossier: &Dossier, before: &[File], after: &[File]) -> Vec<Body> {
    let change = |key: &KeyFunction| {
        let is_it =
            |f: &&FunctionChange| f.name == key.name && f.after.as_ref().or(f.before.as_ref()) == Some(&key.place);
        dossier.functions.iter().find(is_it)
    };
    let changes = dossier.key_functions.iter().take(BODIES).filter_map(change);
    changes.map(|change| body(change, before, after)).collect()
}

fn measured_run(dir: &Path) -> Result<Measured> {
    let run = report::open(dir)?;
    let findings = schedlab_analyze::compare(&run.manifest, &run.trials);
    let name = dir.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    Ok(measured(&name, &Input { manifest: &run.manifest, trials: &run.trials, findings: &findings }))
}

/// The files to write, by name.
fn files(subject: &DossierSubject, dossier: &Dossier) -> Result<Vec<(String, Vec<u8>)>> {
    let (mut md, mut html) = (Vec::new(), Vec::new());
    dossier_markdown(subject, dossier, &mut md)?;
    dossier_html(subject, dossier, &mut html)?;
    let answer = DossierAnswer {
        schema: "schedlab/dossier/1",
        sides: &subject.sides,
        paths: &subject.paths,
        events: &subject.events,
        problems: &subject.problems,
        files: &dossier.files,
        interfaces: &dossier.interfaces,
        functions: &dossier.functions,
        key_functions: &dossier.key_functions,
        outside: &dossier.outside,
        not_adapted: &dossier.not_adapted,
        module_calls: &dossier.module_calls,
        skipped: &dossier.skipped,
        files_read: dossier.files_read,
        subsystems: &subject.subsystems,
        mentions: &subject.mentions,
        similar: &subject.similar,
        structures: subject.term.as_ref().map(|term| &term.structures[..]),
        bodies: subject.term.as_ref().map(|term| &term.bodies[..]),
        slots: &subject.slots,
    };
    let json = pretty(&answer)?.into_bytes();
    let mut out = vec![(PAGE.to_owned(), md), ("dossier.html".to_owned(), html), ("dossier.json".to_owned(), json)];
    out.extend(dossier_pictures(subject, dossier).into_iter().map(|(name, svg)| (name, svg.into_bytes())));
    Ok(out)
}

/// `was_changed`: the existing page was edited outside of its slots.
fn write(dir: &Path, files: Vec<(String, Vec<u8>)>, was_changed: bool) -> Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("{} cannot be made", dir.display()))?;
    // Removes pictures of an earlier dossier, which may have had others; numbers may be missing.
    let numbered = |kind| (1..=MAX_PICTURES).map(move |number| format!("{kind}-{number}.svg"));
    let pictures = numbered("flow").chain(numbered("entry")).chain(["flow-modules.svg".to_owned()]);
    let is_there = |name: &String| std::fs::symlink_metadata(dir.join(name)).is_ok();
    for name in pictures.filter(is_there).filter(|name| files.iter().all(|(other, _)| other != name)) {
        std::fs::remove_file(dir.join(&name)).with_context(|| format!("{name} cannot be removed"))?;
    }
    if was_changed {
        destination::set_aside(dir, PAGE, "was edited outside of its slots")?;
    }
    // Our file names in a directory of the user: an existing link is replaced, not followed.
    for (name, bytes) in files {
        let file = dir.join(name);
        places::write_whole(&file, 0o666, &bytes).with_context(|| format!("{} cannot be written", file.display()))?;
    }
    Ok(())
}

fn sides(args: &Arguments, paths: &[String]) -> Result<Sides> {
    match (&args.tree, &args.input[..]) {
        (None, [a, b]) => {
            for tree in [a, b] {
                if !Path::new(tree).is_dir() {
                    bail!("{tree} is not a directory; give two source trees, or patches or a range with --tree TREE");
                }
            }
            trees::sides([a, b], paths)
        }
        (None, _) => bail!("give two source trees, or --tree TREE for patches, a commit or a range"),
        (Some(tree), _) if !tree.is_dir() => {
            bail!("--tree {}: it is not a directory; give a source tree or a checkout", tree.display())
        }
        (Some(tree), [range]) if !Path::new(range).exists() => {
            checkout::sides(tree, range, paths, args.template == Template::Term)
        }
        (Some(tree), commits) if !commits.iter().any(|commit| Path::new(commit).exists()) => {
            patched::of_commits(tree, commits, paths)
        }
        (Some(tree), patches) => patched::sides(tree, patches, paths),
    }
}

/// Parses the files on all CPUs; the result is sorted by path.
pub(super) fn read(files: Vec<Raw>) -> Vec<File> {
    let files = files.into_iter().map(|(path, text)| (path, Some(text))).collect();
    side_by_side_sorted(files, &|(path, text)| text.map(|text| File::read(path, text)))
}

fn side_by_side_sorted(
    files: Vec<callers::Unread>,
    read: &(dyn Fn(callers::Unread) -> Option<File> + Sync),
) -> Vec<File> {
    let left = Mutex::new(files.into_iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let some = |_| std::iter::from_fn(next).filter_map(read).collect::<Vec<_>>();
    let mut out: Vec<File> = side_by_side(usable_cpus(), some).into_iter().flatten().collect();
    out.in_order_by(|a, b| a.path.cmp(&b.path));
    out
}
