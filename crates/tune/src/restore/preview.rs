//! Previews a restore.

use super::{Look, divided, look_at_pair, report, unreadable};
use crate::error::TuneError;
use crate::journal::Entry;
use crate::knob::Knob;
use crate::resolve::resolve;
use crate::restored::{Leftover, RestoreOutcome, Restored};
use crate::roots::Roots;
use crate::state::journals;
use schedlab_plan::Setting;
use std::io;
use std::path::Path;

/// What [`restore_leftovers`](crate::restore_leftovers) would do for [`Leftovers::AlsoSet`](crate::Leftovers::AlsoSet).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Preview {
    /// The settings that would be put back, in that order.
    pub back: Vec<Leftover>,
    /// The others: of an earlier boot, of another network namespace, written by another process since, unreadable.
    pub others: Vec<Restored>,
}

/// Reads the journals of dead processes, and the files that they name, without changing anything; needs no lock.
pub fn preview(roots: &Roots, state_dir: &Path) -> Result<Preview, TuneError> {
    let (mut preview, mut put) = (Preview::default(), Vec::new());
    for (path, parsed) in journals(state_dir)? {
        let owner = parsed.owner.as_ref();
        if owner.is_some_and(|owner| owner.is_alive(&roots.proc)) {
            continue;
        }
        if parsed.is_understood() {
            let (here, elsewhere) = divided(roots, owner, &parsed.ledger);
            let (pid, kept) = (owner.map(|owner| owner.pid), parsed.stays(&roots.proc));
            for entry in here.iter().rev() {
                let found = look_at_pair(entry, &here, |entry| found(entry, &put));
                if let Ok(Look::Ours(_)) = found {
                    put.push((entry.knob.clone(), entry.original.clone()));
                }
                preview.add(entry, found, pid, kept);
            }
            preview.others.extend(elsewhere);
        }
        preview.others.extend(unreadable(roots, &path, &parsed));
    }
    Ok(preview)
}

/// The first of these settings whose knob now has a value of ours, also one of a living process: the value that a file
/// of exports should undo to is the one before.
pub fn set_by_us(roots: &Roots, state_dir: &Path, settings: &[Setting]) -> Result<Option<Leftover>, TuneError> {
    let journals = match journals(state_dir) {
        // Another user's journals are of knobs that this user cannot look up.
        Err(TuneError::NotOurs { .. }) => return Ok(None),
        Err(TuneError::State { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        other => other?,
    };
    let knobs: Vec<Knob> = settings.iter().filter_map(|s| Some(resolve(roots, s).ok()?.knob)).collect();
    let mut found = Preview::default();
    for (_, parsed) in journals {
        let (pid, kept) = (parsed.owner.as_ref().map(|owner| owner.pid), parsed.stays(&roots.proc));
        let (here, _) = divided(roots, parsed.owner.as_ref(), &parsed.ledger);
        for entry in here.into_iter().filter(|entry| knobs.contains(&entry.knob)) {
            found.add(entry, Look::at(entry), pid, kept);
        }
    }
    Ok(found.back.into_iter().next())
}

/// For a knob in two journals: the earlier journal will find the value that the later one has restored.
fn found(entry: &Entry, put: &[(Knob, String)]) -> io::Result<Look> {
    match put.iter().rfind(|(knob, _)| *knob == entry.knob) {
        Some((_, value)) => Ok(Look::of(entry, value.clone())),
        None => Look::at(entry),
    }
}

impl Preview {
    fn add(&mut self, entry: &Entry, found: io::Result<Look>, pid: Option<u32>, kept: bool) {
        match found {
            Ok(Look::Unchanged) => {}
            Ok(Look::Ours(present)) => self.back.push(Leftover {
                knob: entry.name.clone(),
                path: entry.knob.path().to_owned(),
                original: entry.original.clone(),
                present,
                pid,
                kept,
            }),
            Ok(Look::Settled(outcome)) => self.others.push(report(entry, outcome)),
            Err(e) => self.others.push(report(entry, RestoreOutcome::Failed(e.to_string()))),
        }
    }
}
