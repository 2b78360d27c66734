//! `schedlab tune show|restore`.

use crate::cli::TuneAction;
use crate::exit;
use anyhow::Result;
use schedlab_run::counted;
use schedlab_tune::Roots;

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
        println!("{} would be restored", counted(left.len(), "settings"));
        return Ok(exit::DONE);
    }
    let restored = schedlab_tune::restore_leftovers(&roots, &state)?;
    for one in &restored {
        println!("{one}");
    }
    println!("{} restored", counted(restored.len(), "settings"));
    Ok(if restored.iter().all(schedlab_tune::Restored::is_done) { exit::DONE } else { exit::ERROR })
}
