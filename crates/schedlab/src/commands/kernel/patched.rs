//! A tree, and the result of patches on it, in memory.

use super::dossier::{Raw, Sides};
use super::steps::{Step, Steps};
use super::trees::{self, Origin};
use super::{checkout, history, port, prerequisites, series, timeline};
use anyhow::{Result, bail};
use schedlab_kernel::dossier::{Event, Files, patch_file, references};
use schedlab_kernel::{FilePatch, Patch, abbreviated};
use std::collections::BTreeSet;
use std::path::Path;

/// For patch files and a tree.
pub(super) fn sides(tree: &Path, patches: &[String], paths: &[String]) -> Result<Sides> {
    let (series, problems) = series(tree, patches)?;
    let name = tree.file_name().map_or("tree".into(), |n| n.to_string_lossy().into_owned());
    let file_name =
        |file: &String| Path::new(file).file_name().map_or(file.clone(), |n| n.to_string_lossy().into_owned());
    let with = format!("{name} with {}", patches.iter().map(file_name).collect::<Vec<_>>().join(", "));
    let events = series.iter().filter(|p| !p.subject.is_empty()).map(event).collect();
    let step = |p: &Patch| Step { label: p.subject.clone(), id: String::new(), files: p.files.clone() };
    let steps = series.iter().map(step).collect();
    Patched { origin: Origin::Tree(tree.to_owned()), names: [name, with], steps, events, problems }.sides(paths)
}

/// For commits that need not be consecutive: their changes, applied to the parent of the oldest.
pub(super) fn of_commits(tree: &Path, given: &[String], paths: &[String]) -> Result<Sides> {
    let given = given.iter().map(|name| checkout::given(tree, name)).collect::<Result<Vec<_>>>()?;
    let ids = checkout::oldest_first(tree, &given)?;
    let merges = checkout::merges(tree, &ids)?;
    let said = |id: &String| format!("{} is a merge; it is left out: give it alone", abbreviated(id));
    let problems = merges.iter().map(said).collect();
    let ids: Vec<String> = ids.into_iter().filter(|id| !merges.contains(id)).collect();
    let short: Vec<&str> = ids.iter().map(|id| abbreviated(id)).collect();
    let Some(first) = short.first() else { bail!("all of the commits are merges: give one alone, or a range A..B") };
    let from = checkout::parent(tree, &ids[0])?;
    let changes = prerequisites::changes(tree, &history::by_id(tree, &ids)?)?;
    let names = [format!("{first}^"), format!("{first}^ with {}", short.join(", "))];
    let events = timeline::of(tree, &from, &ids)?;
    let labels = ids.iter().map(|id| abbreviated(id).to_owned());
    let steps = labels.zip(changes).map(|(label, files)| Step { label, id: String::new(), files }).collect();
    Patched { origin: Origin::Commit(tree.to_owned(), from), names, steps, events, problems }.sides(paths)
}

/// A state of the source, and the state with the patches.
struct Patched {
    origin: Origin,
    names: [String; 2],
    steps: Vec<Step>,
    events: Vec<Event>,
    problems: Vec<String>,
}

impl Patched {
    fn sides(mut self, paths: &[String]) -> Result<Sides> {
        let touched: BTreeSet<&str> = self.steps.iter().flat_map(|step| &step.files).flat_map(names).collect();
        if touched.is_empty() {
            match self.problems.is_empty() {
                true => bail!("{}: no file differs", self.names[1]),
                false => bail!("nothing of the patches can be read: {}", self.problems.join("; ")),
            }
        }
        let folders = trees::folders(touched.iter().copied());
        let paths = if paths.is_empty() { folders.clone() } else { paths.to_vec() };
        let is_in = |path: &str| {
            paths.iter().any(|p| path == p || path.strip_prefix(&**p).is_some_and(|rest| rest.starts_with('/')))
        };
        if !touched.iter().any(|path| is_in(path)) {
            bail!(
                "--paths {}: the patches change nothing there, only in {}; leave --paths out for all that they change",
                paths.join(","),
                folders.join(", ")
            );
        }
        let is_wanted = |path: &str| trees::is_read(path) || touched.contains(path);
        let read = self.origin.files(&paths, &is_wanted, &mut self.problems)?;
        let (before, after) = self.patched(read, &is_in)?;
        let Self { origin, names, events, steps, problems } = self;
        let origins = [origin.clone(), origin];
        let steps = Steps { all: steps, checkout: None };
        Ok(Sides { names, files: [before, after], paths, events, steps, later: Vec::new(), origins, problems })
    }

    /// The files inside the paths before and after the patches, sorted by path.
    fn patched(&mut self, read: Vec<Raw>, is_in: &dyn Fn(&str) -> bool) -> Result<(Vec<Raw>, Vec<Raw>)> {
        let mut files: Files = read.into_iter().collect();
        // A file outside of the paths can be renamed into them, and the other way round.
        let outside =
            self.steps.iter().flat_map(|step| &step.files).flat_map(names).filter(|path| !files.contains_key(*path));
        let outside: Vec<String> = outside.collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect();
        files.extend(self.origin.there(&outside)?);
        let before = files.clone().into_iter().filter(|(path, _)| is_in(path)).collect();
        for file in self.steps.iter().flat_map(|step| &step.files) {
            let left_out = patch_file(&mut files, file);
            self.problems.extend(left_out.filter(|_| names(file).any(is_in)));
        }
        Ok((before, files.into_iter().filter(|(path, _)| is_in(path)).collect()))
    }
}

fn names(file: &FilePatch) -> impl Iterator<Item = &str> {
    [&file.old, &file.new].into_iter().flatten().map(String::as_str)
}

/// The patches in these files, and what is skipped: parts that cannot be read, and links in the tree.
fn series(tree: &Path, files: &[String]) -> Result<(Vec<Patch>, Vec<String>)> {
    let (mut series, mut problems) = (Vec::new(), Vec::new());
    let texts = files.iter().map(|file| series::texts(Path::new(file))).collect::<Result<Vec<_>>>()?.concat();
    for (file, mut patch) in series::parsed(&texts)? {
        port::refuse_links(tree, &mut patch);
        let refused = patch.refused.iter().map(|refused| format!("{} {refused}; it is left out", file.display()));
        problems.extend(refused);
        series.push(patch);
    }
    Ok((series, problems))
}

/// From the header of a mail.
fn event(patch: &Patch) -> Event {
    let of = |key: &str| {
        let found = patch.trailers.iter().find(|trailer| trailer.key.eq_ignore_ascii_case(key));
        found.map_or("", |trailer| trailer.value.as_str())
    };
    let author = of("From").split('<').next().unwrap_or_default().trim().trim_matches('"').to_owned();
    let commit = abbreviated(patch.commit.as_deref().unwrap_or_default()).to_owned();
    let references = references(&String::from_utf8_lossy(&patch.message));
    let (subject, copied_from) = (patch.subject.clone(), patch.copied_from.clone());
    let id = String::new();
    Event { commit, id, date: day(of("Date")), author, subject, release: None, references, copied_from }
}

/// `2023-08-17` for `Thu, 17 Aug 2023 11:04:00 +0200`; empty if it is not a date.
fn day(date: &str) -> String {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let words: Vec<&str> = date.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let read = |part: &[&str]| {
        let [day, month, year] = *part else { return None };
        let month = MONTHS.find(month).filter(|at| month.len() == 3 && at % 3 == 0)? / 3 + 1;
        Some(format!("{:04}-{month:02}-{:02}", year.parse::<u16>().ok()?, day.parse::<u8>().ok()?))
    };
    words.windows(3).find_map(read).unwrap_or_default()
}
