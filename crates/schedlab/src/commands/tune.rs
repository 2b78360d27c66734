//! `schedlab tune show|restore`.

use crate::cli::TuneAction;
use crate::exit;
use anyhow::{Context, Result};
use schedlab_run::counted;
use schedlab_sys::net_name;
use schedlab_tune::Roots;
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
        println!("{}", serde_json::to_string_pretty(&knobs)?);
        return Ok(exit::DONE);
    }
    for knob in knobs {
        println!("{knob}");
    }
    Ok(exit::DONE)
}

fn restore(dry_run: bool) -> Result<u8> {
    let (roots, state) = (Roots::default(), schedlab_tune::state_dir());
    if dry_run {
        let left = schedlab_tune::leftovers(&state)?;
        for one in &left {
            println!("{one}");
        }
        let names = net_name::orphans(Path::new(net_name::RUN_ROOT))?;
        for name in &names {
            println!("network namespace {name} of a killed run");
        }
        let (settings, namespaces) = (counted(left.len(), "settings"), counted(names.len(), "network namespaces"));
        println!("{settings} would be restored, {namespaces} removed");
        return Ok(exit::DONE);
    }
    let restored = schedlab_tune::restore_leftovers(&roots, &state)?;
    for one in &restored {
        println!("{one}");
    }
    let removed = net_name::remove_orphans(Path::new(net_name::RUN_ROOT))
        .context("a network namespace left by a killed run could not be removed")?;
    for name in &removed {
        println!("network namespace {name} of a killed run removed");
    }
    let (settings, namespaces) = (counted(restored.len(), "settings"), counted(removed.len(), "network namespaces"));
    println!("{settings} restored, {namespaces} removed");
    Ok(if restored.iter().all(schedlab_tune::Restored::is_done) { exit::DONE } else { exit::ERROR })
}
