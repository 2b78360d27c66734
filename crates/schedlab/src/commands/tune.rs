//! `schedlab tune show|catalog|set|export|restore`.

pub(super) mod export;
mod print;
mod set;

use crate::cli::{OutputOptions, Tune, TuneAction};
use crate::exit::{self, usage};
use crate::output::{print_answer, say, to_stdout};
use anyhow::Result;
use schedlab_plan::{Setting, counted, shell_words};
use schedlab_record::tracer;
use schedlab_sys::net_name;
use schedlab_tune::{Knob, Leftovers, Named, Preview, RestoreOutcome, Restored, Roots, named};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The machine or tree whose knobs are changed, and where its journals are.
struct Target {
    roots: Roots,
    state: PathBuf,
    /// A tree of files; `None` for this machine.
    tree: Option<PathBuf>,
}

impl Target {
    /// The command that restores it.
    fn restore(&self) -> String {
        let root = self.tree.as_ref().map(|tree| tree.display().to_string());
        let root = root.map(|tree| format!(" --root {}", shell_words::join([tree.as_str()])));
        format!("schedlab tune restore{}", root.unwrap_or_default())
    }
}

pub(super) fn run(args: &Tune) -> Result<u8> {
    let place = match &args.root {
        Some(root) => {
            // Journals contain absolute paths, because they are also read from other directories.
            let Some(root) = root.canonicalize().ok().filter(|root| root.is_dir()) else {
                usage!("--root {}: it is no directory; give one with `proc` and `sys` in it", root.display());
            };
            Target { roots: Roots::below(&root), state: root.join("run/schedlab"), tree: Some(root) }
        }
        None => Target { roots: Roots::default(), state: schedlab_tune::state_dir(), tree: None },
    };
    match &args.action {
        TuneAction::Show { names, answer } => knobs(&place, names, answer, print::values),
        TuneAction::Catalog { names, answer } => knobs(&place, names, answer, print::catalogue),
        TuneAction::Set { values, dry_run, command, .. } => set::run(&place, values, *dry_run, command),
        TuneAction::Export { values, out } => export::run(&place, values, out.as_deref()),
        TuneAction::Restore { dry_run } => restore(&place, *dry_run),
    }
}

/// The settings that the words NAME=VALUE stand for here, without duplicates.
fn settings(roots: &Roots, values: &[String]) -> Result<Vec<Setting>> {
    let mut settings: Vec<Setting> = Vec::new();
    for text in values {
        let Named { setting, also_called } = named(roots, text).map_err(exit::Usage)?;
        if let Some(name) = also_called {
            say(format_args!("schedlab: {}: one knob with {name}, here {}", text, setting.key()));
        }
        if settings.iter().any(|other| other.key() == setting.key()) {
            usage!("{} is set twice", setting.key());
        }
        settings.push(setting);
    }
    Ok(settings)
}

/// The answer of `tune show` and `tune catalog`.
#[derive(Debug, Serialize)]
struct Knobs {
    /// `uname -r` of the kernel whose files were read.
    kernel: String,
    /// Each, in the order of the catalogue.
    knobs: Vec<Knob>,
}

fn knobs(place: &Target, names: &[String], answer: &OutputOptions, text: print::Printer) -> Result<u8> {
    let mut knobs = schedlab_tune::of_names(&place.roots, names).map_err(exit::Usage)?;
    if place.tree.is_none() && knobs.iter().any(Knob::is_of_network) {
        let places = net_places();
        knobs.iter_mut().for_each(|knob| knob.set_arm(places.as_deref().map_err(String::as_str)));
    }
    report_changed_values(place);
    if answer.json {
        let kernel = schedlab_tune::release(&place.roots);
        print_answer("schedlab/knobs/1", &Knobs { kernel, knobs }, answer.top)?;
    } else {
        to_stdout(|out| text(&knobs, !names.is_empty(), out))?;
    }
    Ok(exit::DONE)
}

/// Says that a value shown may be one of `tune set` or of a killed run; a preview that fails is `tune restore`'s to tell.
fn report_changed_values(place: &Target) {
    let changed = schedlab_tune::preview(&place.roots, &place.state).map_or(0, |preview| preview.back.len());
    if changed > 0 {
        let (settings, restore) = (counted(changed, "settings"), place.restore());
        let (verb, them) = if changed == 1 { ("was", "it") } else { ("were", "them") };
        say(format_args!(
            "schedlab: {settings} {verb} changed by `tune set` or a killed run; `{restore}` puts {them} back"
        ));
    }
}

/// First argument of a helper process that prints the network knobs that an arm can set, one per line.
pub(crate) const NET_KNOBS: &str = "__net_knobs";

/// The helper process: it has one thread, as a user namespace requires, and the namespaces it enters end with it.
pub(crate) fn net_knobs() -> Result<()> {
    let places = schedlab_tune::net_places_of_an_arm()?;
    to_stdout(|out| places.iter().try_for_each(|place| writeln!(out, "{place}")))
}

/// The result of the helper process, or the reason why there is none.
fn net_places() -> Result<Vec<String>, String> {
    let asked = Command::new("/proc/self/exe").arg(NET_KNOBS).stdin(Stdio::null()).output();
    let asked = asked.map_err(|e| e.to_string())?;
    if !asked.status.success() {
        let said = String::from_utf8_lossy(&asked.stderr);
        return Err(said.trim().trim_start_matches("schedlab: ").to_owned());
    }
    Ok(String::from_utf8_lossy(&asked.stdout).lines().map(str::to_owned).collect())
}

fn restore(place: &Target, dry_run: bool) -> Result<u8> {
    let Target { roots, state, tree } = place;
    let ours = tree.is_none();
    if dry_run {
        return preview(place);
    }
    let restored = schedlab_tune::restore_leftovers(Leftovers::AlsoSet, roots, state)?;
    // Everything is done before anything is printed.
    let removed = if ours { crate::session::remove_orphaned_namespaces() } else { Ok(Vec::new()) };
    to_stdout(|out| restored.iter().try_for_each(|one| writeln!(out, "{one}")))?;
    let (removed, traces) = (removed?, if ours { crate::session::remove_orphaned_traces()? } else { Vec::new() });
    let back = restored.iter().filter(|one| one.outcome == RestoreOutcome::Restored).count();
    let failed = restored.iter().filter(|one| !one.is_done()).count();
    to_stdout(|out| {
        for name in &removed {
            writeln!(out, "network namespace {name} of a killed run removed")?;
        }
        for name in &traces {
            writeln!(out, "tracefs instance {name} of a killed run removed")?;
        }
        let not = if failed > 0 { format!(", {failed} NOT restored") } else { String::new() };
        writeln!(out, "{} restored{}{not}", counted(back, "settings"), namespaces(&removed))
    })?;
    Ok(if failed == 0 { exit::DONE } else { exit::ERROR })
}

/// Prints what a restore would do; returns 1 if something could not be restored.
fn preview(Target { roots, state, tree }: &Target) -> Result<u8> {
    let Preview { back, others } = schedlab_tune::preview(roots, state)?;
    // Only for the machine, not for a tree of files.
    let (names, traces) = match tree {
        Some(_) => Default::default(),
        None => (net_name::orphans(Path::new(net_name::RUN_ROOT))?, tracer::orphans(Path::new(net_name::RUN_ROOT))?),
    };
    to_stdout(|out| {
        for one in &back {
            writeln!(out, "{one}")?;
        }
        for one in &others {
            writeln!(out, "{one}")?;
        }
        for name in &names {
            writeln!(out, "network namespace {name} of a killed run")?;
        }
        for name in &traces {
            writeln!(out, "tracefs instance {name} of a killed run")?;
        }
        writeln!(out, "{} would be restored{}", counted(back.len(), "settings"), namespaces(&names))
    })?;
    Ok(if others.iter().all(Restored::is_done) { exit::DONE } else { exit::ERROR })
}

/// The network namespaces of workloads, which few runs have.
fn namespaces(removed: &[String]) -> String {
    if removed.is_empty() {
        String::new()
    } else {
        format!(", {} removed", counted(removed.len(), "network namespaces"))
    }
}
