//! `schedlab tune set`: sets knobs with journal and read-back, all or none; until restored, or while a command runs.

use super::Target;
use crate::exit::{self, usage};
use crate::output::{print_line, say};
use crate::session::say_restored;
use anyhow::{Context, Result, bail};
use schedlab_plan::{Applied, Setting};
use schedlab_sys::interrupt::Interrupt;
use schedlab_tune::{HostGuard, Leftovers, RestoreOutcome, Restored, check, needs_in_own_network, task};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

pub(super) fn run(place: &Target, values: &[String], dry_run: bool, command: &[String]) -> Result<u8> {
    let settings = super::settings(&place.roots, values)?;
    settings.iter().try_for_each(|setting| refuse(setting, !command.is_empty()))?;
    check(&place.roots, &settings)?;
    if dry_run {
        let needs = needs_in_own_network(&place.roots, &settings);
        needs.iter().try_for_each(print_line)?;
        let would_fail = needs.iter().any(|need| need.met == Some(false));
        return Ok(if would_fail { exit::ERROR } else { exit::DONE });
    }
    schedlab_tune::restore_leftovers(Leftovers::Killed, &place.roots, &place.state)?.iter().for_each(say_restored);
    let interrupt = Interrupt::catch().context("signals cannot be caught")?;
    let mut guard = HostGuard::open(place.roots.clone(), &place.state)?.with_own_network();
    let mut applied = guard.apply(&settings)?;
    if !command.is_empty() {
        applied.extend(task::apply_to_self(&settings));
    }
    report(&applied, &mut guard)?;
    if interrupt.requested() {
        return back(place, &mut guard, exit::ERROR);
    }
    if command.is_empty() {
        let has_changed = !guard.originals().is_empty();
        guard.keep()?;
        if has_changed {
            say(format_args!("schedlab: `{}` puts them back", place.restore()));
        }
        return Ok(exit::DONE);
    }
    let ran = Command::new(&command[0]).args(&command[1..]).status();
    let changed = guard.foreign_changes();
    let code = match &ran {
        Ok(status) => status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1) as u8,
        Err(_) => exit::ERROR,
    };
    for change in &changed {
        say(format_args!("schedlab: changed while the command ran: {change}"));
    }
    let code = back(place, &mut guard, if code == exit::DONE && !changed.is_empty() { exit::VOID } else { code })?;
    ran.with_context(|| format!("`{}` cannot be run", command[0]))?;
    Ok(code)
}

/// Refuses settings of a workload or a guest, which cannot be set on the host.
fn refuse(setting: &Setting, during: bool) -> Result<()> {
    let host = setting.is_host_wide() && !setting.is_of_guest() || setting.is_net_sysctl();
    match setting {
        Setting::CpuWeight(_) | Setting::CpuQuota { .. } => {
            usage!("{setting} is of a group around a workload: `schedlab bench exec --set '{setting}' -- COMMAND`")
        }
        _ if setting.is_per_task() && !during => {
            usage!("{setting} is of tasks: `schedlab exec --{setting} -- COMMAND`")
        }
        _ if host || setting.is_per_task() => Ok(()),
        _ => usage!("{setting} is not a knob of this host"),
    }
}

/// Reports which settings are applied; if one is not, all are reverted.
fn report(applied: &[Applied], guard: &mut HostGuard) -> Result<()> {
    let failed: Vec<String> =
        applied.iter().filter_map(|one| Some(format!("{}: {}", one.setting, one.not_applied.as_ref()?))).collect();
    if failed.is_empty() {
        let originals = guard.originals();
        for one in applied {
            let key = one.setting.key();
            let was = originals.iter().find(|(name, _)| *name == key).map(|(_, was)| format!(" (was {was})"));
            print_line(format_args!("{}{}", one.effective, was.unwrap_or_default()))?;
        }
        return Ok(());
    }
    let restored = guard.restore()?;
    let left = restored.iter().filter(|one| one.outcome != RestoreOutcome::Restored).map(|one| format!("; {one}"));
    let all = if applied.len() > 1 { "; nothing is set" } else { "" };
    bail!("{}{all}{}", failed.join("; "), left.collect::<String>())
}

/// Restores, and reports what is not as it was, as `tune restore` does.
fn back(place: &Target, guard: &mut HostGuard, code: u8) -> Result<u8> {
    let restored = guard.restore()?;
    for one in restored.iter().filter(|one| one.outcome != RestoreOutcome::Restored) {
        let again = if one.is_done() { String::new() } else { format!("; `{}` tries again", place.restore()) };
        say(format_args!("schedlab: {one}{again}"));
    }
    Ok(if restored.iter().all(Restored::is_done) { code } else { exit::ERROR })
}
