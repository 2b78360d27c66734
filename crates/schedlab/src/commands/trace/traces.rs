//! The traces of a run directory, by arm.

use crate::session;
use anyhow::{Context, Result, bail};
use schedlab_plan::TrialRecord;
use schedlab_run::RunReader;
use schedlab_trial::trace_file;
use std::path::{Path, PathBuf};

/// The traced trials of one arm; if there are several workloads, those of one workload.
pub(super) struct Traced {
    /// The arm's name, preceded by that of the workload if there are several.
    pub(super) name: String,
    /// Its trials with their files, in the order in which they ran.
    pub(super) files: Vec<(TrialRecord, PathBuf)>,
}

/// The label of a picture: where and when the run was made, or the file.
pub(super) fn place(path: &Path) -> String {
    let run = if path.is_dir() { RunReader::open(path).ok() } else { None };
    let made = run.map(|run| format!(" · {}", schedlab_report::provenance(&run.manifest))).unwrap_or_default();
    format!("{}{made}", path.display())
}

/// Arms with traces, in the order of the plan, with the trials that the run's verdict uses. A warm-up that only shows
/// in the values is not cut off yet.
pub(super) fn by_arm(dir: &Path) -> Result<Vec<Traced>> {
    let run = RunReader::open(dir).with_context(|| format!("{} is neither a trace nor a run", dir.display()))?;
    let (workloads, arms) = (&run.manifest.workloads, &run.manifest.arms);
    let mut all = Vec::new();
    for (w, workload) in workloads.iter().enumerate() {
        for (a, arm) in arms.iter().enumerate() {
            let used = schedlab_analyze::used_trials(&run.manifest, &run.trials, w as u32, a as u32);
            let file = |trial: &TrialRecord| trace_file(&dir.join(session::TRACES), trial.trial);
            let files = used.into_iter().map(|trial| (trial.clone(), file(trial)));
            let files: Vec<_> = files.filter(|(_, file)| file.exists()).collect();
            if !files.is_empty() {
                let name = if workloads.len() > 1 { format!("{workload} · {}", arm.name) } else { arm.name.clone() };
                all.push(Traced { name, files });
            }
        }
    }
    if all.is_empty() {
        bail!(
            "{} has no trace of a measured trial; run the plan with --trace, or with trace=on in its arms",
            dir.display()
        );
    }
    Ok(all)
}
