//! `schedlab tune show|restore`.

use crate::cli::TuneAction;
use crate::exit;
use crate::output::{print_line, to_stdout};
use anyhow::Result;
use schedlab_record::tracer;
use schedlab_report::terms_text;
use schedlab_run::counted;
use schedlab_sys::net_name;
use schedlab_tune::{KnobValue, RestoreOutcome, Roots};
use std::path::Path;

pub(super) fn run(action: &TuneAction) -> Result<u8> {
    match action {
        TuneAction::Show { json } => show(*json),
        TuneAction::Restore { dry_run } => restore(*dry_run),
    }
}

fn show(json: bool) -> Result<u8> {
    let knobs = schedlab_tune::show(&Roots::default());
    if json {
        print_line(schedlab_run::json::pretty(&knobs)?)?;
    } else {
        let (here, absent): (Vec<_>, Vec<_>) = knobs.iter().partition(|knob| knob.value.is_some());
        let width = super::report::terminal_width();
        to_stdout(|out| {
            terms_text(
                "Knobs of this kernel, with their values",
                &here.into_iter().map(term).collect::<Vec<_>>(),
                width,
                out,
            )?;
            let absent: Vec<(String, String)> = absent.into_iter().map(term).collect();
            if absent.is_empty() {
                return Ok(());
            }
            writeln!(out)?;
            terms_text("Not here", &absent, width, out)
        })?;
    }
    Ok(exit::DONE)
}

/// What is set and what it means; or what is not here, and why.
fn term(knob: &KnobValue) -> (String, String) {
    let unit = if knob.unit.is_empty() { String::new() } else { format!(" [{}]", knob.unit) };
    match (&knob.value, &knob.reason) {
        (Some(value), _) => (format!("{} = {value}", knob.name), format!("{}{unit}", knob.meaning)),
        (None, reason) => (knob.name.clone(), format!("{}: {}", reason.as_deref().unwrap_or("unknown"), knob.meaning)),
    }
}

fn restore(dry_run: bool) -> Result<u8> {
    let (roots, state) = (Roots::default(), schedlab_tune::state_dir());
    if dry_run {
        return preview(&roots, &state);
    }
    let restored = schedlab_tune::restore_leftovers(&roots, &state)?;
    // All of it is done before any of it is said.
    let removed = crate::session::orphaned_namespaces();
    to_stdout(|out| restored.iter().try_for_each(|one| writeln!(out, "{one}")))?;
    let (removed, traces) = (removed?, crate::session::orphaned_traces()?);
    let back = restored.iter().filter(|one| one.outcome == RestoreOutcome::Restored).count();
    let failed = restored.iter().filter(|one| !one.is_done()).count();
    to_stdout(|out| {
        for name in &removed {
            writeln!(out, "network namespace {name} of a killed run removed")?;
        }
        for name in &traces {
            writeln!(out, "tracefs instance {name} of a killed run removed")?;
        }
        let (settings, namespaces) = (counted(back, "settings"), counted(removed.len(), "network namespaces"));
        let not = if failed > 0 { format!(", {failed} NOT restored") } else { String::new() };
        writeln!(out, "{settings} restored, {namespaces} removed{not}")
    })?;
    Ok(if failed == 0 { exit::DONE } else { exit::ERROR })
}

/// What a restore would do; 1 when there is something it could not.
fn preview(roots: &Roots, state: &Path) -> Result<u8> {
    let left = schedlab_tune::leftovers(state)?;
    let unreadable = schedlab_tune::unreadable_journals(roots, state)?;
    let names = net_name::orphans(Path::new(net_name::RUN_ROOT))?;
    let traces = tracer::orphans(Path::new(net_name::RUN_ROOT))?;
    to_stdout(|out| {
        for one in &left {
            writeln!(out, "{one}")?;
        }
        for one in &unreadable {
            writeln!(out, "{one}")?;
        }
        for name in &names {
            writeln!(out, "network namespace {name} of a killed run")?;
        }
        for name in &traces {
            writeln!(out, "tracefs instance {name} of a killed run")?;
        }
        let (settings, namespaces) = (counted(left.len(), "settings"), counted(names.len(), "network namespaces"));
        writeln!(out, "{settings} would be restored, {namespaces} removed")
    })?;
    Ok(if unreadable.is_empty() { exit::DONE } else { exit::ERROR })
}
