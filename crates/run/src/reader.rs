//! Reads a run directory, sealed or not, finished or torn: what can be read is read, and the rest is reported.

use crate::error::RunError;
use crate::frame;
use crate::writer::{MANIFEST, TABLES, TRIALS, UNREADABLE};
use crate::{regular, stored};
use schedlab_plan::InOrder;
use schedlab_plan::manifest::{CHECKED_SINCE, FORMAT_VERSION, Factorial, Manifest, Sweep};
use schedlab_plan::record::TrialRecord;
use schedlab_plan::self_checked;
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A run as read.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The manifest.
    pub manifest: Manifest,
    /// The trials, in time order.
    pub trials: Vec<TrialRecord>,
    /// Whether the run is complete and its tables are written.
    pub sealed: bool,
    /// What could not be read, as sentences.
    pub problems: Vec<String>,
    /// Trial files that contain no trial; the first of `problems` give the reasons, in the same order.
    pub unreadable: Vec<PathBuf>,
    /// Those of `problems` that concern something that was stored and is missing.
    pub missing: Vec<String>,
}

/// Opens run directories.
#[derive(Debug, Clone, Copy)]
pub struct RunReader;

impl RunReader {
    /// Reads the whole run.
    pub fn open(dir: &Path) -> Result<Run, RunError> {
        Self::open_with(dir, &mut |_, record| Some(record))
    }

    /// The same, but each trial is passed to `take`, which may keep, change or drop it, because nobody wants a long run
    /// in memory as a whole. The trials come in the order of their numbers.
    pub fn open_with(dir: &Path, take: Take<'_>) -> Result<Run, RunError> {
        let manifest = read_manifest(dir)?;
        let mut run = Run {
            manifest,
            trials: Vec::new(),
            sealed: false,
            problems: Vec::new(),
            unreadable: Vec::new(),
            missing: Vec::new(),
        };
        let tables = dir.join(TABLES);
        if !tables.exists() {
            let read = read_trial_files(&dir.join(TRIALS), &mut run, take).and_then(|()| run.note_missing(dir));
            // If a run is sealed while it is read, its trial files disappear the moment it has tables.
            if !tables.exists() {
                read?;
                run.note_set_aside(dir);
                return Ok(run);
            }
            (run.trials, run.problems, run.unreadable, run.missing) = Default::default();
        }
        let unchecked;
        let mut stray = None;
        let mut each = |record: TrialRecord| {
            stray = stray.or((!fits(&run.manifest, &record)).then_some(record.trial));
            take(&run.manifest, record)
        };
        (run.trials, unchecked) = crate::tables::read(&tables, run.manifest.format_version, &mut each)?;
        run.problems.extend(unchecked);
        run.sealed = true;
        if let Some(trial) = stray {
            let why = format!("trial {trial} is of an arm or workload that the manifest does not have");
            return Err(RunError::Damaged { path: tables.join("trials.parquet"), why });
        }
        run.note_set_aside(dir);
        Ok(run)
    }
}

fn read_manifest(dir: &Path) -> Result<Manifest, RunError> {
    let path = dir.join(MANIFEST);
    let bytes = match regular::read(&path) {
        Err(RunError::Io { cause, .. }) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Err(RunError::NotARun { dir: dir.to_owned(), is_there: dir.exists() });
        }
        other => other?,
    };
    checked_manifest(&bytes).map_err(|error| match error {
        ManifestError::Newer(written) => RunError::Newer { path: path.clone(), written, read: FORMAT_VERSION },
        ManifestError::Content(why) => RunError::Damaged { path: path.clone(), why },
    })
}

/// Why bytes are not a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManifestError {
    /// Written by a later format.
    Newer(u32),
    /// Not a manifest, and why.
    Content(String),
}

/// Checks that a manifest's bytes are those that were written. Manifests of older versions have no checksum.
fn checked_manifest(bytes: &[u8]) -> Result<Manifest, ManifestError> {
    let version = version(bytes)?;
    let restore = |what: &str| ManifestError::Content(format!("{what}; restore it from a copy of the run"));
    match self_checked::is_intact(bytes) {
        Some(false) => Err(restore("its content has changed since it was written")),
        None if version >= CHECKED_SINCE => Err(restore("it does not end with its checksum")),
        _ => parse_manifest(bytes),
    }
}

/// The version is checked first: a newer manifest may have any other form.
fn version(bytes: &[u8]) -> Result<u32, ManifestError> {
    #[derive(serde::Deserialize)]
    struct Version {
        format_version: u32,
    }
    let Version { format_version } =
        serde_json::from_slice(bytes).map_err(|e| ManifestError::Content(e.to_string()))?;
    if format_version > FORMAT_VERSION { Err(ManifestError::Newer(format_version)) } else { Ok(format_version) }
}

/// A manifest from JSON, with a checksum or without.
pub fn parse_manifest(bytes: &[u8]) -> Result<Manifest, ManifestError> {
    let content = |e: serde_json::Error| ManifestError::Content(e.to_string());
    version(bytes)?;
    let manifest: Manifest = serde_json::from_slice(bytes).map_err(content)?;
    // Indices that later code uses without a check.
    let workloads = manifest.workloads.len();
    let lengths = [manifest.workload_ids.len(), manifest.primary.len(), manifest.load.len()];
    if manifest.arms.is_empty() || lengths != [workloads; 3] {
        return Err(ManifestError::Content("its lists of arms and workloads do not match".into()));
    }
    // What no plan may contain, and the statistics cannot handle.
    let (sesoi, alpha) = (manifest.sesoi, manifest.alpha);
    if !((0.0..1.0).contains(&sesoi) && alpha > 0.0 && alpha <= 0.5) {
        let why = format!("sesoi {sesoi} does not lie between 0 and 1, or alpha {alpha} not between 0 and 0.5");
        return Err(ManifestError::Content(why));
    }
    if !design_fits(&manifest) {
        return Err(ManifestError::Content("its sweeps or its factorial do not match its workloads and arms".into()));
    }
    Ok(manifest)
}

fn design_fits(manifest: &Manifest) -> bool {
    let sweep = |sweep: &Sweep| {
        sweep.values.len() == sweep.workloads.len()
            && sweep.workloads.iter().all(|&workload| (workload as usize) < manifest.workloads.len())
    };
    let factorial = |factorial: &Factorial| {
        factorial.levels.len() == manifest.arms.len()
            && factorial.levels.iter().all(|levels| levels.len() == factorial.factors.len())
    };
    manifest.sweeps.iter().all(sweep) && manifest.factorial.as_ref().is_none_or(factorial)
}

/// What to do with a trial that was read.
pub type Take<'a> = &'a mut dyn FnMut(&Manifest, TrialRecord) -> Option<TrialRecord>;

fn read_trial_files(dir: &Path, run: &mut Run, take: Take<'_>) -> Result<(), RunError> {
    let mut numbers = BTreeSet::new();
    for path in trial_files(dir)? {
        let record = match read_trial(&path) {
            Err(RunError::Damaged { why, .. }) => Err(why),
            Err(error @ RunError::NotAFile { .. }) => Err(error.to_string()),
            other => Ok(other?),
        };
        match record {
            Ok(record) if !fits(&run.manifest, &record) => run.skip(path, "it belongs to another run".into()),
            Ok(record) if !numbers.insert(record.trial) => {
                run.skip(path, format!("another file holds trial {} as well", record.trial));
            }
            Ok(record) => run.trials.extend(take(&run.manifest, record)),
            Err(why) => run.skip(path, why),
        }
    }
    run.trials.in_order_by_key(|t| t.trial);
    Ok(())
}

/// The trial files of a directory by their names; empty if the directory does not exist.
pub(crate) fn trial_files(dir: &Path) -> Result<Vec<PathBuf>, RunError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(RunError::io(dir)(e)),
    };
    let mut paths: Vec<PathBuf> =
        entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|x| x == "rec")).collect();
    paths.sort_unstable();
    Ok(paths)
}

/// The trial in a file.
pub(crate) fn read_trial(path: &Path) -> Result<TrialRecord, RunError> {
    let damaged = |error: frame::FrameError| RunError::Damaged { path: path.to_owned(), why: error.to_string() };
    frame::decode(&regular::read(path)?).map_err(damaged)
}

fn fits(manifest: &Manifest, record: &TrialRecord) -> bool {
    let arm = record.arm.is_none_or(|arm| (arm as usize) < manifest.arms.len());
    arm && (record.workload as usize) < manifest.workloads.len()
}

impl Run {
    fn skip(&mut self, path: PathBuf, why: String) {
        self.problems.push(format!("{} was left out: {why}", path.display()));
        self.unreadable.push(path);
    }

    /// What the list of stored trials contains and the directory does not. Files that were set aside are reported
    /// separately.
    fn note_missing(&mut self, dir: &Path) -> Result<(), RunError> {
        if self.manifest.format_version < CHECKED_SINCE {
            return Ok(());
        }
        let trials = dir.join(TRIALS);
        if !trials.exists() {
            let why = "its trials are gone: it has neither tables nor trial files; restore them from a copy of the run";
            return Err(RunError::Damaged { path: dir.to_owned(), why: why.into() });
        }
        let names = |dir: &Path| -> BTreeSet<String> {
            let entries = fs::read_dir(dir).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
        };
        let there = &names(&trials) | &names(&dir.join(UNREADABLE));
        self.missing = stored::problems(&trials, &there)?;
        self.problems.extend(self.missing.iter().cloned());
        Ok(())
    }

    fn note_set_aside(&mut self, dir: &Path) {
        let aside = dir.join(UNREADABLE);
        let files = fs::read_dir(&aside).map_or(0, Iterator::count);
        if files > 0 {
            self.problems.push(format!(
                "trial files that could not be read when the run was resumed or sealed: {files}, kept in {}",
                aside.display()
            ));
        }
    }
}
