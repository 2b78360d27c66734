//! Writes a run directory so that a crash loses no finished trial: each trial is one file, fsynced and renamed before
//! the next trial starts; at the end the files become tables in one atomic rename.

use crate::error::RunError;
use crate::frame;
use crate::reader::{Run, RunReader, read_trial, trial_files};
use crate::stored;
use schedlab_plan::manifest::Manifest;
use schedlab_plan::record::TrialRecord;
use schedlab_plan::self_checked;
use schedlab_plan::units::utc;
use schedlab_sys::places::{self, Draft};
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The manifest's name inside a run directory.
pub const MANIFEST: &str = "manifest.json";
/// Names of the others.
pub(crate) const TRIALS: &str = "trials";
pub(crate) const TABLES: &str = "tables";
/// Trial files that contain no trial, kept for people to look at.
pub(crate) const UNREADABLE: &str = "unreadable";
const LOG: &str = "log.txt";

/// The only writer of a run directory.
#[derive(Debug)]
pub struct RunWriter {
    dir: PathBuf,
    /// Kept for its flock(2) on the directory: two writers would give one number to two trials.
    _lock: File,
}

impl RunWriter {
    /// A new run in a directory that does not exist or is empty.
    pub fn create(dir: &Path, manifest: &Manifest) -> Result<Self, RunError> {
        let occupied = fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some());
        if occupied {
            return Err(RunError::Occupied { dir: dir.to_owned(), is_run: dir.join(MANIFEST).exists() });
        }
        let trials = dir.join(TRIALS);
        let holders = holders_of_new_entries(dir);
        fs::create_dir_all(&trials).map_err(RunError::io(&trials))?;
        // Files synced inside a directory are lost if the directory's own name was never synced.
        holders.iter().try_for_each(|holder| sync_dir(holder))?;
        stored::create(&trials)?;
        let mut writer = Self { dir: dir.to_owned(), _lock: lock(dir)? };
        writer.update_manifest(manifest)?;
        Ok(writer)
    }

    /// Continues an unsealed run. Trial files that contain no trial are moved to `unreadable/`.
    pub fn resume(dir: &Path) -> Result<Self, RunError> {
        let run = RunReader::open_with(dir, &mut |_, _| None)?;
        let _lock = lock(dir)?;
        if run.sealed {
            return Err(RunError::Complete { dir: dir.to_owned() });
        }
        [TRIALS, UNREADABLE].iter().try_for_each(|name| must_be_its_own(&dir.join(name)))?;
        [dir, &dir.join(TRIALS)].into_iter().for_each(places::remove_drafts);
        let mut writer = Self { dir: dir.to_owned(), _lock };
        writer.set_aside(&run)?;
        writer.report_missing(&run)?;
        stored::fix(&dir.join(TRIALS))?;
        Ok(writer)
    }

    /// Stores a finished trial, durable when this returns; returns its file.
    pub fn append(&mut self, record: &TrialRecord) -> Result<PathBuf, RunError> {
        let trials = self.dir.join(TRIALS);
        let file = write_durably(&trials, &format!("{:08}.rec", record.trial), &frame::encode(record))?;
        stored::add(&trials, &file)?;
        Ok(file)
    }

    /// Replaces the manifest, durable when this returns; returns its file.
    pub fn update_manifest(&mut self, manifest: &Manifest) -> Result<PathBuf, RunError> {
        write_durably(&self.dir, MANIFEST, &manifest_bytes(manifest))
    }

    /// The list of the stored trial files.
    pub fn stored(&self) -> PathBuf {
        stored::path(&self.dir.join(TRIALS))
    }

    /// The run's log, for code that reports on the run while this writes it.
    pub fn log(&self) -> RunLog {
        RunLog { path: self.dir.join(LOG) }
    }

    /// Turns the trial files into tables: the tables are written elsewhere, made durable and renamed into place, then
    /// the trial files are removed. After a crash at any point the run can be read.
    pub fn seal(mut self) -> Result<(), RunError> {
        // All of them at once would be the whole run in memory.
        let mut numbers = Vec::new();
        let run = RunReader::open_with(&self.dir, &mut |_, record| {
            numbers.push(record.trial);
            None
        })?;
        if run.sealed {
            return Err(RunError::Complete { dir: self.dir });
        }
        self.set_aside(&run)?;
        self.report_missing(&run)?;
        let part = self.dir.join("tables.part");
        let left = match fs::symlink_metadata(&part) {
            Err(_) => Ok(()),
            Ok(there) if there.is_dir() => fs::remove_dir_all(&part),
            Ok(_) => fs::remove_file(&part),
        };
        left.and_then(|()| fs::create_dir(&part)).map_err(RunError::io(&part))?;
        let trials = self.dir.join(TRIALS);
        let mut files = in_order(&trials, numbers)?.into_iter();
        crate::tables::write(&part, |most| files.by_ref().take(most).map(|file| read_trial(&file)).collect())?;
        sync_dir(&part)?;
        let tables = self.dir.join(TABLES);
        fs::rename(&part, &tables).map_err(RunError::io(&tables))?;
        sync_dir(&self.dir)?;
        fs::remove_dir_all(&trials).map_err(RunError::io(&trials))?;
        sync_dir(&self.dir)
    }

    /// The list that shows which files are missing is removed by sealing; from here on the manifest records it.
    fn report_missing(&mut self, run: &Run) -> Result<(), RunError> {
        let mut manifest = run.manifest.clone();
        let new: Vec<String> = run.missing.iter().filter(|what| !manifest.warnings.contains(what)).cloned().collect();
        if new.is_empty() {
            return Ok(());
        }
        new.iter().try_for_each(|what| self.log().line(what))?;
        manifest.warnings.extend(new);
        self.update_manifest(&manifest).map(drop)
    }

    /// Sealing removes the trial files, and a resumed run reuses their numbers. Unreadable files must be out of the way
    /// of both, because they may be all that is left of a trial.
    fn set_aside(&mut self, run: &Run) -> Result<(), RunError> {
        if run.unreadable.is_empty() {
            return Ok(());
        }
        let aside = self.dir.join(UNREADABLE);
        fs::create_dir_all(&aside).map_err(RunError::io(&aside))?;
        for (file, problem) in run.unreadable.iter().zip(&run.problems) {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let mut names = std::iter::once(name.clone()).chain((2..).map(|n| format!("{name}.{n}")));
            let free = names.find(|n| !aside.join(n).exists()).unwrap_or(name);
            fs::rename(file, aside.join(free)).map_err(RunError::io(file))?;
            self.log().line(problem)?;
        }
        sync_dir(&aside)?;
        sync_dir(&self.dir.join(TRIALS))
    }
}

/// `log.txt` of a run directory: for people, never read back.
#[derive(Debug, Clone)]
pub struct RunLog {
    path: PathBuf,
}

impl RunLog {
    /// Adds a line, preceded by the time (UTC).
    pub fn line(&self, line: &str) -> Result<(), RunError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let [year, month, day, hour, minute, second] = utc(now);
        let line = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z {line}\n");
        let file = places::append_to(&self.path);
        // One write, so that a line is complete or absent.
        file.and_then(|mut file| file.write_all(line.as_bytes())).map_err(RunError::io(&self.path))
    }
}

/// The content of `manifest.json`.
pub fn manifest_bytes(manifest: &Manifest) -> Vec<u8> {
    let json = schedlab_plan::json::pretty(manifest).expect("a manifest holds no map with keys that are not strings");
    self_checked::with_crc(&json)
}

/// Locks the run for this process; the kernel releases the lock when the process ends, however it ends.
fn lock(dir: &Path) -> Result<File, RunError> {
    let file = File::open(dir).map_err(RunError::io(dir))?;
    locked(dir, file.try_lock()).map(|()| file)
}

fn locked(dir: &Path, answer: Result<(), TryLockError>) -> Result<(), RunError> {
    match answer {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(RunError::Busy { dir: dir.to_owned() }),
        Err(TryLockError::Error(cause)) => Err(RunError::NoLocks { dir: dir.to_owned(), cause }),
    }
}

/// Refuses a link where trials are written or moved to: whoever gave us the run chose its target. A missing path is
/// fine.
fn must_be_its_own(dir: &Path) -> Result<(), RunError> {
    match fs::symlink_metadata(dir) {
        Ok(there) if !there.is_dir() => Err(RunError::NotADirectory { path: dir.to_owned() }),
        Err(error) if error.kind() != ErrorKind::NotFound => Err(RunError::io(dir)(error)),
        _ => Ok(()),
    }
}

/// The trial files by their trials' numbers, which have the order of the files' names.
fn in_order(trials: &Path, numbers: Vec<u64>) -> Result<Vec<PathBuf>, RunError> {
    let paths = trial_files(trials)?;
    if paths.len() != numbers.len() {
        let why = "trial files came or went while the run was sealed; seal it again with --resume".to_owned();
        return Err(RunError::Damaged { path: trials.to_owned(), why });
    }
    let mut files: Vec<(u64, PathBuf)> = numbers.into_iter().zip(paths).collect();
    files.sort_unstable();
    Ok(files.into_iter().map(|(_, path)| path).collect())
}

/// The directories that get a new entry when `dir` and its missing parents are created, innermost first. `dir` itself
/// is synced with its manifest.
fn holders_of_new_entries(dir: &Path) -> Vec<PathBuf> {
    let here = |path: &Path| if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() };
    let mut holders = Vec::new();
    for new in dir.ancestors().take_while(|path| !here(path).is_dir()) {
        holders.extend(new.parent().map(here));
    }
    holders
}

/// Writes under an unguessable name, then fsync, rename, and fsync of the directory: after a power cut the file is
/// complete or absent.
pub(crate) fn write_durably(dir: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, RunError> {
    let path = dir.join(name);
    let mut draft = Draft::beside(&path, 0o666).map_err(RunError::io(&path))?;
    draft.file.write_all(bytes).and_then(|()| draft.file.sync_all()).map_err(RunError::io(&path))?;
    draft.finish(&path).map_err(RunError::io(&path))?;
    sync_dir(dir)?;
    Ok(path)
}

pub(crate) fn sync_dir(dir: &Path) -> Result<(), RunError> {
    File::open(dir).and_then(|d| d.sync_all()).map_err(RunError::io(dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_without_locks_is_told_with_another_place() {
        // ENOLCK, for example from an NFS server without lockd: locally, nothing refuses flock(2).
        let message = locked(Path::new("out/run"), Err(TryLockError::Error(std::io::Error::from_raw_os_error(37))));
        let message = message.unwrap_err().to_string();
        assert!(
            message.contains("out/run is on a file system without locks") && message.contains("--out"),
            "{message}"
        );
    }

    #[test]
    fn every_directory_that_gets_an_entry_is_synced() {
        let tree = tempfile::tempdir().unwrap();
        let at = |path: &str| tree.path().join(path);
        assert_eq!(holders_of_new_entries(&at("out/lab/run")), [at("out/lab"), at("out"), tree.path().to_owned()]);
        fs::create_dir_all(at("out/lab/run")).unwrap();
        assert_eq!(holders_of_new_entries(&at("out/lab/run")), [] as [PathBuf; 0]);
        assert_eq!(holders_of_new_entries(&at("out/lab/again")), [at("out/lab")]);
        let relative = format!("schedlab-no-such-{}/run", std::process::id());
        let (top, _) = relative.split_once('/').unwrap();
        assert_eq!(holders_of_new_entries(Path::new(&relative)), [Path::new(top), Path::new(".")]);
    }
}
