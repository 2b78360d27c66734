//! Claims the directory of a recording before anything is recorded: of two recorders that start at the same time one
//! gets it, and a recording that could not begin leaves nothing there.

use super::record::{OUTCOME_FILE, TRACE_FILE};
use crate::session;
use anyhow::{Context, Result, bail};
use schedlab_sys::places;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Attempts to create a file in a directory that others may be removing.
const ATTEMPTS: u32 = 100;

/// A file reserved for a recording, still empty. If it is dropped before [`Self::keep`], it is removed, together with
/// the directories that were created for it.
#[derive(Debug)]
pub(super) struct Reservation {
    file: PathBuf,
    /// Directories that were not there before, the deepest first.
    made: Vec<PathBuf>,
    is_kept: bool,
}

/// Refuses a directory with an old recording or outcome: a trace next to the outcome of another run would be joined
/// with it by everything that reads them. (This only gives an early error; [`Reservation::of`] claims the directory.)
pub(in crate::commands) fn must_be_free(dir: &Path, option: &str) -> Result<()> {
    if [TRACE_FILE, OUTCOME_FILE].iter().any(|file| dir.join(file).exists()) {
        bail!("{} already contains a recording: give another {option}", dir.display());
    }
    Ok(())
}

impl Reservation {
    /// Claims the directory given by `option`.
    pub(super) fn of(dir: &Path, option: &str) -> Result<Self> {
        must_be_free(dir, option)?;
        match Self::attempt(dir)? {
            Some(claim) => Ok(claim),
            None => bail!("{} already contains a recording: give another {option}", dir.display()),
        }
    }

    /// Claims `default`, `<default>-2`, … whichever is first empty and not claimed by another process.
    pub(super) fn first_free(default: &Path) -> Result<Self> {
        loop {
            if let Some(claim) = Self::attempt(&session::unused(default.to_owned()))
                .context("no directory for the recording; give one with -o DIR")?
            {
                return Ok(claim);
            }
        }
    }

    /// `None` if another process has it.
    fn attempt(dir: &Path) -> Result<Option<Self>> {
        let file = dir.join(TRACE_FILE);
        let mut made: Vec<PathBuf> = Vec::new();
        for attempt in 1.. {
            let is_missing = |dir: &&Path| *dir != Path::new("") && !dir.exists();
            made.extend(dir.ancestors().take_while(is_missing).map(Path::to_owned));
            places::private_directory(dir).with_context(|| format!("{} cannot be made", dir.display()))?;
            match File::options().write(true).create_new(true).mode(0o600).open(&file) {
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
                // Another process had created the directory for its claim, and removed it again.
                Err(error) if error.kind() == ErrorKind::NotFound && attempt < ATTEMPTS => {}
                Err(error) => {
                    remove_made(&made);
                    return Err(error).with_context(|| format!("{} cannot be written", file.display()));
                }
            }
        }
        Ok(Some(Self { file, made, is_kept: false }))
    }

    /// The file of the recording.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Keeps the file, because something was recorded.
    pub(super) fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Keeps what was recorded before something went wrong, if there is anything.
    pub(super) fn keep_if_recorded(&mut self) {
        self.is_kept = self.file.metadata().is_ok_and(|file| file.len() > 0);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.is_kept {
            // Errors are ignored: the user must see the original error, and others may be using the directories by now.
            _ = std::fs::remove_file(&self.file);
            remove_made(&self.made);
        }
    }
}

fn remove_made(made: &[PathBuf]) {
    _ = made.iter().try_for_each(std::fs::remove_dir);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn lab(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("schedlab-claim-{name}-{}", std::process::id()));
        _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir(&dir).unwrap();
        dir
    }

    /// The results of ten threads at the same time.
    fn at_once<T: Send>(take: impl Fn() -> T + Sync) -> Vec<T> {
        let barrier = std::sync::Barrier::new(10);
        std::thread::scope(|scope| {
            let one = || {
                barrier.wait();
                take()
            };
            let threads: Vec<_> = (0..10).map(|_| scope.spawn(one)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn whoever_claims_at_once_gets_a_place_of_its_own_or_is_refused() {
        let lab = lab("at-once");
        for round in 0..20 {
            let default = lab.join(format!("{round}/record"));
            let claims = at_once(|| Reservation::first_free(&default).unwrap());
            let files: BTreeSet<&Path> = claims.iter().map(Reservation::file).collect();
            assert_eq!(files.len(), 10, "{files:?}");
            assert!(files.contains(&*default.join(TRACE_FILE)) && files.iter().all(|file| file.exists()));
            let asked = lab.join(format!("{round}/asked"));
            let claims = at_once(|| Reservation::of(&asked, "--out").map_err(|error| error.to_string()));
            let refused: BTreeSet<&String> = claims.iter().filter_map(|claim| claim.as_ref().err()).collect();
            assert_eq!(claims.iter().filter(|claim| claim.is_ok()).count(), 1);
            let sentence = format!("{} already contains a recording: give another --out", asked.display());
            assert_eq!(refused, BTreeSet::from([&sentence]));
            assert!(asked.join(TRACE_FILE).exists(), "the refused take nothing from it");
        }
        std::fs::remove_dir_all(lab).unwrap();
    }

    #[test]
    fn what_is_not_kept_leaves_all_as_it_was() {
        let lab = lab("kept");
        drop(Reservation::of(&lab.join("a/b"), "--out").unwrap());
        assert_eq!(std::fs::read_dir(&lab).unwrap().count(), 0);
        std::fs::create_dir(lab.join("a")).unwrap();
        drop(Reservation::of(&lab.join("a"), "--out").unwrap());
        assert_eq!(std::fs::read_dir(lab.join("a")).unwrap().count(), 0, "it was there before");
        let mut claim = Reservation::of(&lab.join("a/b"), "--out").unwrap();
        claim.keep_if_recorded();
        drop(claim);
        assert!(!lab.join("a/b").exists(), "nothing was recorded");
        let mut claim = Reservation::of(&lab.join("a/b"), "--out").unwrap();
        std::fs::write(claim.file(), "an event").unwrap();
        claim.keep_if_recorded();
        drop(claim);
        assert!(lab.join("a/b").join(TRACE_FILE).exists());
        // A file of the user where the directory would be.
        std::fs::write(lab.join("c"), "").unwrap();
        let why = format!("{:#}", Reservation::of(&lab.join("c"), "--out").unwrap_err());
        assert!(why.contains("c cannot be made"), "{why}");
        assert!(format!("{:#}", Reservation::first_free(&lab.join("c")).unwrap_err()).contains("c cannot be made"));
        std::fs::remove_dir_all(lab).unwrap();
    }
}
