//! Combines several run directories into one side of a comparison. A run has one boot, and a verdict between kernels
//! needs five boots per side: five runs of the same experiment, one in each boot.

use schedlab_plan::{Manifest, RunEnd, TrialRecord};

/// Adds the trials of another run of the same experiment on the same kernel. Trials and blocks get new numbers, so that
/// no two blocks become one; each trial keeps its boot and its time.
///
/// # Errors
/// How the runs differ, as part of a sentence; `side` is then unchanged.
pub fn pool(side: &mut (Manifest, Vec<TrialRecord>), run: (Manifest, Vec<TrialRecord>)) -> Result<(), String> {
    let (manifest, trials) = run;
    if let Some(what) = difference(&side.0, &manifest) {
        return Err(what);
    }
    let next_trial = side.1.iter().map(|t| t.trial + 1).max().unwrap_or(0);
    let next_block = side.1.iter().map(|t| t.block + 1).max().unwrap_or(0);
    side.1.extend(trials.into_iter().map(|t| TrialRecord {
        trial: t.trial + next_trial,
        block: t.block + next_block,
        repeats_block: t.repeats_block.map(|block| block + next_block),
        ..t
    }));
    // One void run makes the side void.
    if matches!(manifest.end(), RunEnd::Void(_)) {
        side.0.ended.clone_from(&manifest.ended);
    }
    side.0.warnings.extend(manifest.warnings);
    Ok(())
}

/// The difference between two runs that does not allow to pool them.
fn difference(a: &Manifest, b: &Manifest) -> Option<String> {
    let (env_a, env_b) = (&a.environment, &b.environment);
    let texts = [
        ("machine", &env_a.hostname, &env_b.hostname),
        ("kernel", &env_a.kernel_release, &env_b.kernel_release),
        ("kernel", &env_a.kernel_version, &env_b.kernel_version),
        ("kernel command line", &env_a.cmdline, &env_b.cmdline),
        ("program's CRC-32", &env_a.program_crc32, &env_b.program_crc32),
    ];
    let text = texts.iter().find(|(_, a, b)| a != b).map(|(what, a, b)| format!("its {what} is `{b}`, not `{a}`"));
    let settings = (a.stamping, a.counters, a.load_group) == (b.stamping, b.counters, b.load_group);
    let alike = [
        ("arms", a.arms == b.arms),
        ("workloads", (&a.workloads, &a.workload_ids, &a.load) == (&b.workloads, &b.workload_ids, &b.load)),
        ("stamping, counters or load groups", settings),
        ("switchback windows", a.switchback_window_ns == b.switchback_window_ns),
    ];
    text.or_else(|| alike.iter().find(|(_, same)| !same).map(|(what, _)| format!("its {what} are others")))
}
