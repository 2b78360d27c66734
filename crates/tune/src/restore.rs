//! Restores values: in reverse order, with retries for values that limit each other, and continuing after errors.
//!
//! A knob that shows neither the original nor a value of ours was written by another process since. Its value is kept,
//! and the report gives the value that we would have restored. (The exception is an intent without its done: it is
//! unknown what the kernel made of our last value, so the present value counts as ours.)

use crate::error::TuneError;
use crate::journal::{Entry, Ledger, Parsed};
use crate::owner::{Owner, has_network};
use crate::restored::{RestoreOutcome, Restored};
use crate::roots::Roots;
use crate::state::{StateLock, journals};
use schedlab_sys::durable;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

pub(crate) mod preview;

/// Passes over values that limit each other (`sched_rt_runtime_us` ≤ `sched_rt_period_us`; bytes and ratio).
pub(crate) const PASSES: usize = 3;
/// How long a killed process may take to disappear: with its lock held, it first finishes its current fsync.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

enum Step {
    Unchanged,
    Settled(RestoreOutcome),
    Retry(String),
}

/// The state of a knob before it is restored.
enum Look {
    Unchanged,
    Settled(RestoreOutcome),
    Ours(String),
}

impl Look {
    fn at(entry: &Entry) -> io::Result<Self> {
        match entry.knob.read() {
            Ok(present) => Ok(Self::of(entry, present)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Self::Settled(RestoreOutcome::Gone)),
            Err(e) => Err(e),
        }
    }

    fn of(entry: &Entry, present: String) -> Self {
        if present == entry.original {
            Self::Unchanged
        } else if entry.pending.is_none() && !entry.ours.contains(&present) {
            Self::Settled(RestoreOutcome::LeftForeign(present))
        } else {
            Self::Ours(present)
        }
    }
}

/// Of two files that are one value in the kernel (`vm.dirty_bytes` and `vm.dirty_ratio`), a write to either is one to
/// both: what another process has written into one of them is not undone by restoring the other.
fn look_at_pair(entry: &Entry, all: &[&Entry], at: impl Fn(&Entry) -> io::Result<Look>) -> io::Result<Look> {
    let twin = all.iter().find(|other| entry.knob.twin().is_some_and(|twin| twin == other.knob));
    match (at(entry)?, twin.map(|twin| at(twin))) {
        (Look::Ours(present), Some(Ok(Look::Settled(RestoreOutcome::LeftForeign(_))))) => {
            Ok(Look::Settled(RestoreOutcome::LeftForeign(present)))
        }
        (look, _) => Ok(look),
    }
}

fn attempt(entry: &Entry, all: &[&Entry]) -> Step {
    match look_at_pair(entry, all, Look::at) {
        Ok(Look::Unchanged) => return Step::Unchanged,
        Ok(Look::Settled(outcome)) => return Step::Settled(outcome),
        Ok(Look::Ours(_)) => {}
        Err(e) => return Step::Retry(e.to_string()),
    }
    if let Err(e) = entry.knob.write(&entry.original) {
        return Step::Retry(e.to_string());
    }
    match entry.knob.read() {
        Ok(now) if now == entry.original => Step::Settled(RestoreOutcome::Restored),
        Ok(now) => Step::Retry(format!("it reads `{now}` after the write")),
        Err(e) => Step::Retry(e.to_string()),
    }
}

fn report(entry: &Entry, outcome: RestoreOutcome) -> Restored {
    let (knob, path) = (entry.name.clone(), entry.knob.path().to_owned());
    Restored { knob, path, original: entry.original.clone(), outcome }
}

/// Sets a knob to its unlimited value if we had set it to that value on the way here: values that limit each other may
/// have no other way back.
fn lift(entry: &Entry) {
    let unlimited = entry.knob.unlimited().filter(|value| entry.ours.iter().any(|ours| ours == value));
    // If this is refused, the following pass tries again and reports it.
    let _ = unlimited.map(|value| entry.knob.write(value));
}

/// Restores the chosen entries, the last change first. Knobs that already have their original value are not listed.
pub(crate) fn put_back(ledger: &Ledger, chosen: impl Fn(&Entry) -> bool) -> Vec<Restored> {
    put_back_each(ledger.entries.iter().filter(|entry| chosen(entry)).collect())
}

fn put_back_each(mut open: Vec<&Entry>) -> Vec<Restored> {
    open.reverse();
    let all = open.clone();
    let mut restored = Vec::new();
    for pass in 1..=PASSES {
        if pass > 1 {
            open.iter().for_each(|entry| lift(entry));
        }
        open.retain(|entry| match attempt(entry, &all) {
            Step::Unchanged => false,
            Step::Settled(outcome) => {
                restored.push(report(entry, outcome));
                false
            }
            Step::Retry(why) => {
                if pass == PASSES {
                    restored.push(report(entry, RestoreOutcome::Failed(why)));
                }
                true
            }
        });
    }
    restored
}

/// Which journals of dead processes to restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftovers {
    /// Those of killed processes, whose changes were not meant to stay.
    Killed,
    /// Also those of `tune set`, whose values stay until they are restored on request.
    AlsoSet,
}

impl Leftovers {
    /// Whether a journal is one of them.
    fn includes(self, roots: &Roots, parsed: &Parsed) -> bool {
        self == Self::AlsoSet || !parsed.stays(&roots.proc)
    }
}

/// Restores what dead processes left changed, and removes their journals; called at every start for [`Leftovers::Killed`], and
/// by `schedlab tune restore` for [`Leftovers::AlsoSet`]. A journal with a value that could not be restored is kept for the next
/// try. While another schedlab is changing this host nothing is done: the result is [`TuneError::Busy`] after two
/// seconds, within which a killed one would be gone. The other one has restored all leftovers before its first change.
pub fn restore_leftovers(which: Leftovers, roots: &Roots, state_dir: &Path) -> Result<Vec<Restored>, TuneError> {
    restore_within(PATIENCE, which, roots, state_dir)
}

fn restore_within(
    patience: Duration,
    which: Leftovers,
    roots: &Roots,
    state_dir: &Path,
) -> Result<Vec<Restored>, TuneError> {
    let (began, mut restored) = (Instant::now(), Vec::new());
    if which == Leftovers::Killed && is_closed_to_us(state_dir) {
        return Ok(restored);
    }
    loop {
        if !journals(state_dir)?.iter().any(|(_, parsed)| which.includes(roots, parsed)) {
            return Ok(restored);
        }
        let busy = match StateLock::take(state_dir) {
            Ok(lock) => {
                // Checked before the others are restored: a process that dies later was alive.
                let living = living_owner(roots, state_dir)?;
                restored.append(&mut restore_locked(which, roots, state_dir, &lock)?);
                match living {
                    Some(owner) => TuneError::Busy { pid: owner.pid.to_string() },
                    None => return Ok(restored),
                }
            }
            Err(busy @ TuneError::Busy { .. }) => busy,
            Err(other) => return Err(other),
        };
        if began.elapsed() >= patience {
            return Err(busy);
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// For example if HOME is another user's: a directory that the caller cannot read holds none of its journals. A change
/// of the host that needs a journal fails there later.
fn is_closed_to_us(state_dir: &Path) -> bool {
    std::fs::read_dir(state_dir).is_err_and(|e| e.kind() == io::ErrorKind::PermissionDenied)
}

fn living_owner(roots: &Roots, state_dir: &Path) -> Result<Option<Owner>, TuneError> {
    let mut owners = journals(state_dir)?.into_iter().filter_map(|(_, parsed)| parsed.owner);
    Ok(owners.find(|owner| owner.is_alive(&roots.proc)))
}

pub(crate) fn restore_locked(
    which: Leftovers,
    roots: &Roots,
    state_dir: &Path,
    _lock: &StateLock,
) -> Result<Vec<Restored>, TuneError> {
    let mut restored = Vec::new();
    for (path, parsed) in journals(state_dir)? {
        if !which.includes(roots, &parsed) || parsed.owner.as_ref().is_some_and(|owner| owner.is_alive(&roots.proc)) {
            continue;
        }
        let unreadable = unreadable(roots, &path, &parsed);
        let mut of_this = Vec::new();
        if parsed.is_understood() {
            of_this = restore_journal(roots, parsed.owner.as_ref(), &parsed.ledger);
        }
        of_this.extend(unreadable);
        if of_this.iter().all(Restored::is_done) {
            durable::remove(&path).map_err(|source| TuneError::State { path, source })?;
        }
        // A run does not affect knobs of another network namespace, so they are only reported on request.
        of_this.retain(|one| which == Leftovers::AlsoSet || !matches!(one.outcome, RestoreOutcome::OtherNetwork(_)));
        restored.append(&mut of_this);
    }
    Ok(restored)
}

/// The report for an unreadable journal. After a reboot none of its values can still be set.
fn unreadable(roots: &Roots, path: &Path, parsed: &Parsed) -> Option<Restored> {
    let this_boot = parsed.owner.as_ref().is_none_or(|owner| owner.is_of_this_boot(&roots.proc));
    let why = parsed.trouble().filter(|_| this_boot)?;
    let outcome = RestoreOutcome::Unreadable(why);
    Some(Restored { knob: "journal".into(), path: path.to_owned(), original: String::new(), outcome })
}

fn restore_journal(roots: &Roots, owner: Option<&Owner>, ledger: &Ledger) -> Vec<Restored> {
    let (here, elsewhere) = divided(roots, owner, ledger);
    let mut restored = put_back_each(here);
    restored.extend(elsewhere);
    restored
}

/// The entries whose files the caller sees, and the outcome of the others.
fn divided<'l>(roots: &Roots, owner: Option<&Owner>, ledger: &'l Ledger) -> (Vec<&'l Entry>, Vec<Restored>) {
    // Without a complete header the boot is unknown. But the entries that follow are in order, and the check for
    // foreign writes protects the values of a newer boot.
    if !owner.is_none_or(|owner| owner.is_of_this_boot(&roots.proc)) {
        let gone = ledger.entries.iter().map(|entry| report(entry, RestoreOutcome::Rebooted));
        return (Vec::new(), gone.collect());
    }
    let Some(network) = owner.and_then(|owner| owner.other_network(&roots.proc)) else {
        return (ledger.entries.iter().collect(), Vec::new());
    };
    // The caller sees files of the same name, but they belong to another network namespace.
    let is_theirs = |entry: &&Entry| entry.knob.path().starts_with(roots.proc.join("sys/net"));
    let (theirs, here): (Vec<&Entry>, _) = ledger.entries.iter().partition(is_theirs);
    let outcome = match has_network(&roots.proc, network) {
        true => RestoreOutcome::OtherNetwork(network),
        false => RestoreOutcome::Gone,
    };
    (here, theirs.into_iter().map(|entry| report(entry, outcome.clone())).collect())
}

#[cfg(test)]
mod tests;
