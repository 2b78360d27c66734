//! Putting values back: in reverse order, with retries for values that bound each other, going on after an error.
//!
//! A knob that shows neither the original nor a value of ours was written by somebody else since; their decision
//! stands, and the report says what we would have put back. (An intent without its done is the exception: what the
//! kernel made of our last value is unknown, so it is taken for ours.)

use crate::error::TuneError;
use crate::journal::{Entry, Ledger, Parsed, is_journal, parse};
use crate::owner::Owner;
use crate::restored::{Leftover, RestoreOutcome, Restored};
use crate::roots::Roots;
use schedlab_sys::durable;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Passes over values that bound each other (`sched_rt_runtime_us` ≤ `sched_rt_period_us`; bytes and ratio).
const PASSES: usize = 3;

enum Step {
    Unchanged,
    Settled(RestoreOutcome),
    Retry(String),
}

fn attempt(entry: &Entry) -> Step {
    let present = match entry.knob.read() {
        Ok(present) => present,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Step::Settled(RestoreOutcome::Gone),
        Err(e) => return Step::Retry(e.to_string()),
    };
    if present == entry.original {
        return Step::Unchanged;
    }
    if entry.pending.is_none() && !entry.ours.contains(&present) {
        return Step::Settled(RestoreOutcome::LeftForeign(present));
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

/// Puts the chosen entries back, last change first. Knobs that already hold their original are not listed.
pub(crate) fn put_back(ledger: &Ledger, chosen: impl Fn(&Entry) -> bool) -> Vec<Restored> {
    let mut open: Vec<&Entry> = ledger.entries.iter().rev().filter(|e| chosen(e)).collect();
    let mut restored = Vec::new();
    let report = |entry: &Entry, outcome| Restored {
        knob: entry.name.clone(),
        path: entry.knob.path().to_owned(),
        original: entry.original.clone(),
        outcome,
    };
    for pass in 1..=PASSES {
        open.retain(|entry| match attempt(entry) {
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

/// The lock on a state directory: held while values of ours are in force. Released by the kernel when we die.
#[derive(Debug)]
pub(crate) struct StateLock {
    /// Open for the lock's sake.
    _file: File,
}

impl StateLock {
    /// Takes the lock, creating the directory; [`TuneError::Busy`] names the holder.
    pub(crate) fn take(state_dir: &Path) -> Result<Self, TuneError> {
        let path = state_dir.join("lock");
        let failed = |source| TuneError::State { path: path.clone(), source };
        std::fs::create_dir_all(state_dir).map_err(failed)?;
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = std::fs::read_to_string(&path).unwrap_or_default();
                return Err(TuneError::Busy { pid: holder.trim().to_owned() });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        file.set_len(0).map_err(failed)?;
        file.write_all(std::process::id().to_string().as_bytes()).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

fn journals(state_dir: &Path) -> Result<Vec<(PathBuf, Parsed)>, TuneError> {
    let failed = |path: &Path, source| TuneError::State { path: path.to_owned(), source };
    let listing = match std::fs::read_dir(state_dir) {
        Ok(listing) => listing,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(failed(state_dir, e)),
    };
    let mut found = Vec::new();
    for item in listing {
        let path = item.map_err(|e| failed(state_dir, e))?.path();
        if is_journal(&path) {
            let bytes = std::fs::read(&path).map_err(|e| failed(&path, e))?;
            found.push((path, parse(&bytes)));
        }
    }
    // The latest first, as within one journal.
    found.sort_by_key(|(_, parsed)| std::cmp::Reverse(parsed.owner.as_ref().map(|o| (o.start_ticks, o.pid))));
    Ok(found)
}

/// What [`restore_leftovers`] would put back, without touching anything; it needs no lock.
pub fn leftovers(state_dir: &Path) -> Result<Vec<Leftover>, TuneError> {
    leftovers_of(&Roots::default(), state_dir)
}

fn leftovers_of(roots: &Roots, state_dir: &Path) -> Result<Vec<Leftover>, TuneError> {
    let mut all = Vec::new();
    for (_, parsed) in journals(state_dir)? {
        let Some(owner) = parsed.owner else { continue };
        if owner.is_alive(&roots.proc) || !owner.is_of_this_boot(&roots.proc) {
            continue;
        }
        for entry in parsed.ledger.entries.iter().rev() {
            let present = entry.knob.read().unwrap_or_else(|e| format!("unreadable: {e}"));
            if present != entry.original {
                all.push(Leftover {
                    knob: entry.name.clone(),
                    path: entry.knob.path().to_owned(),
                    original: entry.original.clone(),
                    present,
                    pid: owner.pid,
                });
            }
        }
    }
    Ok(all)
}

/// Puts back what dead processes left changed, and removes their journals; called at every start and by `schedlab tune
/// restore`. A journal with a value that could not be put back is kept for the next try. While another schedlab is
/// changing this host nothing is done: it has restored all leftovers before its first change.
pub fn restore_leftovers(roots: &Roots, state_dir: &Path) -> Result<Vec<Restored>, TuneError> {
    if journals(state_dir)?.is_empty() {
        return Ok(Vec::new());
    }
    match StateLock::take(state_dir) {
        Ok(lock) => restore_locked(roots, state_dir, &lock),
        Err(TuneError::Busy { .. }) => Ok(Vec::new()),
        Err(other) => Err(other),
    }
}

pub(crate) fn restore_locked(roots: &Roots, state_dir: &Path, _lock: &StateLock) -> Result<Vec<Restored>, TuneError> {
    let mut restored = Vec::new();
    for (path, parsed) in journals(state_dir)? {
        if parsed.owner.as_ref().is_some_and(|owner| owner.is_alive(&roots.proc)) {
            continue;
        }
        let mut of_this = restore_journal(roots, parsed.owner.as_ref(), &parsed.ledger);
        if of_this.iter().all(Restored::is_done) {
            durable::remove(&path).map_err(|source| TuneError::State { path, source })?;
        }
        restored.append(&mut of_this);
    }
    Ok(restored)
}

fn restore_journal(roots: &Roots, owner: Option<&Owner>, ledger: &Ledger) -> Vec<Restored> {
    // Without a whole header the boot is unknown, but what was journalled after it was journalled in order, and the
    // test for foreign writes protects a newer boot's values.
    if owner.is_none_or(|owner| owner.is_of_this_boot(&roots.proc)) {
        return put_back(ledger, |_| true);
    }
    let gone = ledger.entries.iter().map(|e| Restored {
        knob: e.name.clone(),
        path: e.knob.path().to_owned(),
        original: e.original.clone(),
        outcome: RestoreOutcome::Rebooted,
    });
    gone.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Journal;
    use crate::knob::Knob;

    struct Tree {
        root: tempfile::TempDir,
        roots: Roots,
        state: PathBuf,
    }

    fn tree() -> Tree {
        let root = tempfile::tempdir().unwrap();
        let proc = root.path().join("proc");
        std::fs::create_dir_all(proc.join("sys/kernel/random")).unwrap();
        std::fs::write(proc.join("sys/kernel/random/boot_id"), "this-boot\n").unwrap();
        let roots = Roots { proc, ..Roots::default() };
        let state = root.path().join("state");
        std::fs::create_dir(&state).unwrap();
        Tree { root, roots, state }
    }

    /// A journal of a process that does not exist in the tree's /proc.
    fn dead(boot_id: &str) -> Owner {
        Owner { pid: 4242, start_ticks: 1, boot_id: boot_id.into() }
    }

    impl Tree {
        fn knob(&self, name: &str, value: &str) -> Knob {
            let path = self.root.path().join(name);
            std::fs::write(&path, value).unwrap();
            Knob::file(path)
        }
        fn change(&self, journal: &mut Journal, knob: &Knob, new: &str) {
            let seq = journal.intend("k", knob, &knob.read().unwrap(), new).unwrap();
            knob.write(new).unwrap();
            journal.done(seq, new).unwrap();
        }
        fn restore(&self) -> Vec<RestoreOutcome> {
            let restored = restore_leftovers(&self.roots, &self.state).unwrap();
            restored.into_iter().map(|r| r.outcome).collect()
        }
        fn journals_left(&self) -> usize {
            journals(&self.state).unwrap().len()
        }
    }

    #[test]
    fn values_of_a_dead_process_come_back_once() {
        let tree = tree();
        let (a, b) = (tree.knob("a", "1"), tree.knob("b", "10"));
        let mut journal = Journal::create(&tree.state, dead("this-boot")).unwrap();
        tree.change(&mut journal, &a, "2");
        tree.change(&mut journal, &b, "20");
        tree.change(&mut journal, &a, "3");
        assert_eq!(leftovers_of(&tree.roots, &tree.state).unwrap().len(), 2);
        assert_eq!(tree.restore(), [RestoreOutcome::Restored, RestoreOutcome::Restored]);
        assert_eq!((a.read().unwrap(), b.read().unwrap()), ("1".into(), "10".into()));
        assert_eq!((tree.journals_left(), tree.restore()), (0, vec![]));
    }

    #[test]
    fn a_foreign_value_is_left_and_named() {
        let tree = tree();
        let knob = tree.knob("a", "1");
        let mut journal = Journal::create(&tree.state, dead("this-boot")).unwrap();
        tree.change(&mut journal, &knob, "2");
        knob.write("77").unwrap();
        assert_eq!(tree.restore(), [RestoreOutcome::LeftForeign("77".into())]);
        assert_eq!((knob.read().unwrap(), tree.journals_left()), ("77".into(), 0));
    }

    #[test]
    fn a_rounded_value_whose_done_was_lost_is_taken_for_ours() {
        let tree = tree();
        let knob = tree.knob("a", "1");
        let mut journal = Journal::create(&tree.state, dead("this-boot")).unwrap();
        journal.intend("k", &knob, "1", "1003").unwrap();
        knob.write("1000").unwrap();
        assert_eq!(tree.restore(), [RestoreOutcome::Restored]);
        assert_eq!(knob.read().unwrap(), "1");
    }

    #[test]
    fn after_a_reboot_nothing_is_written() {
        let tree = tree();
        let knob = tree.knob("a", "1");
        let mut journal = Journal::create(&tree.state, dead("an-earlier-boot")).unwrap();
        tree.change(&mut journal, &knob, "2");
        assert_eq!(tree.restore(), [RestoreOutcome::Rebooted]);
        assert_eq!((knob.read().unwrap(), tree.journals_left()), ("2".into(), 0));
    }

    #[test]
    fn an_error_is_reported_the_others_go_on_and_the_journal_stays() {
        let tree = tree();
        let (a, b) = (tree.knob("a", "1"), tree.knob("b", "10"));
        let mut journal = Journal::create(&tree.state, dead("this-boot")).unwrap();
        tree.change(&mut journal, &a, "2");
        tree.change(&mut journal, &b, "20");
        std::fs::remove_file(b.path()).unwrap();
        std::fs::create_dir(b.path()).unwrap(); // reads and writes fail, whoever we are
        let outcomes = tree.restore();
        assert!(matches!(outcomes[..], [RestoreOutcome::Restored, RestoreOutcome::Failed(_)]), "{outcomes:?}");
        assert_eq!((a.read().unwrap(), tree.journals_left()), ("1".into(), 1));
    }

    #[test]
    fn the_journal_of_a_living_process_is_left_alone() {
        let tree = tree();
        let knob = tree.knob("a", "1");
        let alive = Owner::this(Path::new("/proc")).unwrap();
        let mut journal = Journal::create(&tree.state, alive).unwrap();
        tree.change(&mut journal, &knob, "2");
        assert_eq!(restore_leftovers(&Roots::default(), &tree.state).unwrap(), []);
        assert_eq!(knob.read().unwrap(), "2");
    }

    #[test]
    fn the_lock_is_one_persons_and_names_them() {
        let tree = tree();
        let lock = StateLock::take(&tree.state).unwrap();
        let error = StateLock::take(&tree.state).unwrap_err().to_string();
        assert!(error.contains(&std::process::id().to_string()), "{error}");
        drop(lock);
        StateLock::take(&tree.state).unwrap();
    }
}
