//! The chapters, as blocks that Markdown and HTML share.

use super::{Block, DossierSubject, flow};
use schedlab_kernel::dossier::{Caller, Dossier, FunctionChange, Interface, InterfaceChange, Kind, Place, Status};
use std::collections::BTreeMap;

/// How many characters of a definition a cell shows; the JSON has all.
const SHOWN: usize = 160;
/// How many callers are listed of a function.
const CALLERS: usize = 12;

pub(super) fn blocks(subject: &DossierSubject, dossier: &Dossier) -> Vec<Block> {
    let mut out = vec![Block::Heading(1, subject.title.clone())];
    let limited = if subject.paths.is_empty() { "all files".to_owned() } else { subject.paths.join(", ") };
    let [before, after] = &subject.sides;
    let [read_before, read_after] = dossier.files_read;
    out.push(Block::Text(format!(
        "Before: {before} ({read_before} files read). After: {after} ({read_after} files read). Limited to {limited}."
    )));
    out.push(Block::Heading(2, "1. Feature and principle".into()));
    out.push(Block::Text("[To be written by an engineer: what it is for and how it works.]".into()));
    out.push(Block::Heading(2, "2. Evolution".into()));
    match subject.commits.is_empty() {
        true => out.push(Block::Text("No history was given: commits and releases are unknown.".into())),
        false => out.push(Block::Table(vec!["commit"], subject.commits.iter().map(|c| vec![c.clone()]).collect())),
    }
    differences(dossier, &mut out);
    out.push(Block::Heading(2, "4. Measurement".into()));
    out.push(Block::Text("[To be filled from a measured run.]".into()));
    out.push(Block::Heading(2, "5. Summary".into()));
    out.push(Block::Text(summary(dossier)));
    if !dossier.skipped.is_empty() {
        out.push(Block::Heading(2, "Not read".into()));
        let row = |s: &schedlab_kernel::dossier::SkippedPlace| {
            vec![["before", "after"][s.tree.min(1)].to_owned(), place(&s.place), s.what.clone()]
        };
        out.push(Block::Table(vec!["tree", "place", "what"], dossier.skipped.iter().map(row).collect()));
    }
    out
}

fn differences(dossier: &Dossier, out: &mut Vec<Block>) {
    out.push(Block::Heading(2, "3. Differences".into()));
    out.push(Block::Heading(3, "3.1 Interfaces".into()));
    let mut kinds: BTreeMap<Kind, Vec<&InterfaceChange>> = BTreeMap::new();
    dossier.interfaces.iter().for_each(|c| kinds.entry(c.kind).or_default().push(c));
    if kinds.is_empty() {
        out.push(Block::Text("None differs.".into()));
    }
    for (kind, changes) in kinds {
        out.push(Block::Heading(4, format!("{} ({})", title(kind), changes.len())));
        let rows = changes.iter().map(|c| {
            let side = |i: &Option<Interface>| i.as_ref().map_or(String::new(), said);
            vec![c.name.clone(), c.change.to_owned(), side(&c.before), side(&c.after)]
        });
        out.push(Block::Table(vec!["name", "change", "before", "after"], rows.collect()));
    }
    code(dossier, out);
    flows(dossier, out);
    modules(dossier, out);
}

fn code(dossier: &Dossier, out: &mut Vec<Block>) {
    out.push(Block::Heading(3, "3.2 Code".into()));
    let files = dossier.files.iter();
    let rows =
        files.map(|f| vec![f.path.clone(), f.status.to_owned(), format!("+{}", f.added), format!("-{}", f.removed)]);
    out.push(Block::Table(vec!["file", "", "added", "removed"], rows.collect()));
    out.push(Block::Text("Functions, by lines of code; comments and white space do not count.".into()));
    let rows = dossier.functions.iter().map(|f| {
        let at = |p: &Option<Place>| p.as_ref().map_or(String::new(), place);
        let size = format!("+{} -{}", f.added, f.removed);
        vec![f.name.clone(), status(f), size, at(&f.before), at(&f.after), f.condition.clone()]
    });
    out.push(Block::Table(vec!["function", "change", "lines", "before", "after", "condition"], rows.collect()));
}

fn flows(dossier: &Dossier, out: &mut Vec<Block>) {
    out.push(Block::Heading(3, "3.3 Call flow and 3.4 key functions".into()));
    out.push(Block::Text(
        "Ranked by lines that differ, callers, operation tables and a changed signature. In the pictures a call is green \
         if only the second version makes it and red if only the first did. Calls are found by name; those through a \
         pointer by the name of the member, so other tables of the same member are among them."
            .into(),
    ));
    for (number, f) in dossier.key_functions.iter().enumerate() {
        out.push(Block::Heading(4, format!("{}. {}", number + 1, f.name)));
        let mut text = format!("{}: {}.", place(&f.place), f.reason);
        if !f.registered.is_empty() {
            text += &format!(" Registered as {}.", listed(&f.registered));
        }
        if !f.callers.is_empty() {
            text += &format!(" Called by {}.", listed(&f.callers.iter().map(caller).collect::<Vec<_>>()));
        }
        if !f.dispatched_from.is_empty() {
            text += &format!(" Dispatched from {}.", listed(&f.dispatched_from.iter().map(caller).collect::<Vec<_>>()));
        }
        out.push(Block::Text(text));
        if flow::has_calls(f) {
            out.push(Block::Picture(number));
        }
    }
}

/// Folders whose functions call what changed.
fn modules(dossier: &Dossier, out: &mut Vec<Block>) {
    out.push(Block::Heading(3, "3.5 Affected modules".into()));
    let mut folders: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for f in &dossier.functions {
        let file = f.after.as_ref().or(f.before.as_ref()).map_or("", |p| p.file.as_str());
        folders.entry(folder(file)).or_default().0 += 1;
    }
    for caller in dossier.key_functions.iter().flat_map(|f| f.callers.iter().chain(&f.dispatched_from)) {
        folders.entry(folder(&caller.file)).or_default().1 += 1;
    }
    let rows =
        folders.iter().map(|(f, (changed, calls))| vec![(*f).to_owned(), changed.to_string(), calls.to_string()]);
    out.push(Block::Table(vec!["folder", "functions that differ", "calls of key functions from it"], rows.collect()));
}

fn summary(dossier: &Dossier) -> String {
    let count = |wanted: fn(&Status) -> bool| dossier.functions.iter().filter(|f| wanted(&f.status)).count();
    format!(
        "{} files and {} interfaces differ. Functions: {} changed, {} new, {} removed, {} renamed. [Conclusions: to be \
         written by an engineer.]",
        dossier.files.len(),
        dossier.interfaces.len(),
        count(|s| *s == Status::Changed),
        count(|s| *s == Status::New),
        count(|s| *s == Status::Removed),
        count(|s| matches!(s, Status::RenamedFrom(_))),
    )
}

fn status(f: &FunctionChange) -> String {
    match (&f.status, &f.signatures) {
        (Status::New, _) => "new".into(),
        (Status::Removed, _) => "removed".into(),
        (Status::RenamedFrom(old), _) => format!("renamed from {old}"),
        (Status::Changed, Some([old, new])) => format!("signature: {old} → {new}"),
        (Status::Changed, None) => "changed".into(),
    }
}

fn said(i: &Interface) -> String {
    let detail: String = i.detail.chars().take(SHOWN).collect();
    let more = if detail.len() < i.detail.len() { "…" } else { "" };
    let condition = if i.condition.is_empty() { String::new() } else { format!(" if {}", i.condition) };
    format!("{} {detail}{more}{condition}", place(&i.place))
}

fn listed(names: &[String]) -> String {
    let more = if names.len() > CALLERS { format!(" and {} more", names.len() - CALLERS) } else { String::new() };
    format!("{}{more}", names[..names.len().min(CALLERS)].join(", "))
}

fn caller(caller: &Caller) -> String {
    format!("{} ({})", caller.function, caller.file)
}

fn place(place: &Place) -> String {
    format!("{}:{}", place.file, place.line)
}

fn folder(file: &str) -> &str {
    file.rsplit_once('/').map_or(".", |(folder, _)| folder)
}

fn title(kind: Kind) -> &'static str {
    match kind {
        Kind::Syscall => "System calls",
        Kind::Sysctl => "Sysctls",
        Kind::SysctlDefault => "Defaults of sysctl variables",
        Kind::Debugfs => "Debugfs files",
        Kind::Procfs => "Files in /proc",
        Kind::Sysfs => "Files in /sys",
        Kind::CgroupFile => "Cgroup files",
        Kind::SchedFeature => "Scheduler features",
        Kind::Kconfig => "Kconfig options",
        Kind::BootParameter => "Boot parameters",
        Kind::ModuleParameter => "Module parameters",
        Kind::MibItem => "MIB counters",
        Kind::Tracepoint => "Tracepoints",
        Kind::Kfunc => "Kfuncs",
        Kind::StaticKey => "Static keys",
        Kind::Export => "Exported symbols",
        Kind::UapiConstant => "Constants of the user-space API",
        Kind::Type => "Types",
        Kind::Member => "Members",
        Kind::Operation => "Operations registered in tables",
        Kind::Signature => "Signatures of global functions",
    }
}
