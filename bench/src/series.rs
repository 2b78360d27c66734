//! Recorded series: ordinary run directories below `bench/series/`, made by `schedlab run`, resumed when interrupted,
//! and cut into disjoint comparisons that the product's own analysis judges.

use crate::program;
use anyhow::{Context, Result, bail};
use schedlab_run::{Manifest, RunReader, TrialRecord};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A series to record.
pub struct Recording<'a> {
    /// Directory name below `bench/series/`.
    pub name: &'a str,
    /// The plan, complete.
    pub plan_toml: &'a str,
    /// Whether a burner is switched on and off beside it.
    pub disturbed: bool,
}

/// Records a series, or continues or reads the one that is there. A series begun with another plan is refused.
pub fn record(recording: &Recording<'_>) -> Result<(Manifest, Vec<TrialRecord>)> {
    let root = Path::new("bench/series");
    std::fs::create_dir_all(root)?;
    let dir = root.join(recording.name);
    let plan = root.join(format!("{}.toml", recording.name));
    let complete = dir.exists() && RunReader::open(&dir).is_ok_and(|run| run.sealed);
    if !complete {
        std::fs::write(&plan, recording.plan_toml)?;
        run_plan(&plan, &dir, recording.disturbed)?;
    }
    let run = RunReader::open(&dir)?;
    if !run.sealed {
        bail!("{} was interrupted: run the benchmark again, it resumes", dir.display());
    }
    Ok((run.manifest, run.trials))
}

fn run_plan(plan: &Path, dir: &PathBuf, disturbed: bool) -> Result<()> {
    let mut command = Command::new(program::schedlab()?);
    command.arg("run").arg(plan).arg("--out").arg(dir).stdout(Stdio::null()).stderr(Stdio::null());
    if dir.exists() {
        command.arg("--resume");
    }
    let mut child = command.spawn().context("schedlab run")?;
    let mut burner = Burner { child: None, coin: 0x5EED };
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if disturbed {
            burner.toggle()?;
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    if status.success() { Ok(()) } else { bail!("schedlab run {}: {status}", plan.display()) }
}

/// One burner on any CPU, on or off; toggled with probability 1/15 at each call: phases of 3 s on average.
struct Burner {
    child: Option<Child>,
    coin: u64,
}

impl Burner {
    fn toggle(&mut self) -> Result<()> {
        self.coin ^= self.coin << 13;
        self.coin ^= self.coin >> 7;
        self.coin ^= self.coin << 17;
        if !self.coin.is_multiple_of(15) {
            return Ok(());
        }
        match self.child.take() {
            Some(child) => stop(child),
            None => {
                let burn = Command::new(program::schedlab()?)
                    .args(["bench", "burn:1,duration=1h"])
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()?;
                self.child = Some(burn);
                Ok(())
            }
        }
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            let _ = stop(child);
        }
    }
}

fn stop(mut child: Child) -> Result<()> {
    // The herd dies with its parent (PR_SET_PDEATHSIG), so killing the one process ends it all.
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// The trials of some blocks and two arms as an A/B run of their own, as if nothing else had been measured.
pub fn cut(
    manifest: &Manifest,
    trials: &[TrialRecord],
    blocks: std::ops::Range<u32>,
    arms: [u32; 2],
) -> (Manifest, Vec<TrialRecord>) {
    let mut manifest = manifest.clone();
    manifest.arms = arms.iter().map(|&a| manifest.arms[a as usize].clone()).collect();
    manifest.design = schedlab_run::manifest::Design::Fixed { blocks: blocks.end - blocks.start };
    manifest.looks.clear();
    let chosen = trials.iter().filter(|t| !t.warm_up && blocks.contains(&t.block));
    let relabelled = chosen.filter_map(|t| {
        let arm = arms.iter().position(|&a| t.arm == Some(a))?;
        let mut t = t.clone();
        t.arm = Some(arm as u32);
        t.block -= blocks.start;
        t.repeats_block = t.repeats_block.and_then(|b| b.checked_sub(blocks.start));
        Some(t)
    });
    let trials = relabelled.collect();
    (manifest, trials)
}

/// Mean log-ratio arm / control of one metric per block, and the wall seconds both arms took in it.
pub fn block_contrasts(trials: &[TrialRecord], metric: &str, arms: [u32; 2]) -> Vec<(f64, f64)> {
    let blocks = trials.iter().filter(|t| !t.warm_up).map(|t| t.block + 1).max().unwrap_or(0);
    (0..blocks)
        .filter_map(|block| {
            let of = |arm| trials.iter().filter(move |t| !t.warm_up && t.block == block && t.arm == Some(arm));
            let mean = |arm| -> Option<f64> {
                let logs: Vec<f64> = of(arm).filter_map(|t| value(t, metric)).map(f64::ln).collect();
                (logs.len() == 2).then(|| logs.iter().sum::<f64>() / 2.0)
            };
            let wall: u64 = arms.iter().flat_map(|&arm| of(arm)).map(|t| t.wall_ns).sum();
            Some((mean(arms[1])? - mean(arms[0])?, wall as f64 / 1e9))
        })
        .collect()
}

/// A metric of a measured trial.
pub fn value(trial: &TrialRecord, metric: &str) -> Option<f64> {
    trial.outcome.as_ref()?.metrics.iter().find(|m| m.name == metric).map(|m| m.value)
}

/// A series that `aa` records and `power` reads again.
pub struct Series {
    /// Directory name below `bench/series/`.
    pub name: &'static str,
    /// The workload.
    pub workload: &'static str,
    /// Its rate.
    pub rate: &'static str,
    /// Length of a trial: long against the workload's herd release, short against the machine's drift.
    pub trial: &'static str,
    /// Blocks in a comparison.
    pub blocks: u32,
    /// Whether a burner is switched on and off beside it.
    pub disturbed: bool,
}

const fn pipe(name: &'static str, disturbed: bool) -> Series {
    Series { name, workload: "pipe:pin=same", rate: "round_trips_per_s", trial: "15ms", blocks: 24, disturbed }
}

const fn messaging(name: &'static str, disturbed: bool) -> Series {
    let workload = "messaging:groups=1,transport=unix";
    Series { name, workload, rate: "msgs_per_s", trial: "40ms", blocks: 10, disturbed }
}

/// The four series.
pub const SERIES: [Series; 4] = [
    pipe("pipe-same-quiet", false),
    messaging("messaging-unix-quiet", false),
    pipe("pipe-same-burner", true),
    messaging("messaging-unix-burner", true),
];

/// Comparisons a series is cut into.
pub const COMPARISONS: u32 = 100;
/// The planted slowdown.
pub const PLANTED: f64 = 0.03;

/// Records (or reads) one of the four series: arms A, A again, and A with the planted slowdown.
pub fn standard(series: &Series) -> Result<(Manifest, Vec<TrialRecord>)> {
    let Series { name, workload, rate, trial, blocks, disturbed } = series;
    let spin = planted_spin_ns(workload, rate)?;
    let plan = format!(
        "title = \"{name}\"\ntrials = {}\ntrial = \"{trial}\"\nlatency = \"off\"\ncounters = \"basic\"\nseed = 1000\n\
         [[workload]]\nrun = \"{workload}\"\n\
         [[arm]]\nname = \"A\"\nset = \"plant=spin:0ns\"\n[[arm]]\nname = \"A again\"\nset = \"plant=spin:0ns\"\n\
         [[arm]]\nname = \"planted\"\nset = \"plant=spin:{spin}ns\"\n",
        COMPARISONS * blocks,
    );
    record(&Recording { name, plan_toml: &plan, disturbed: *disturbed })
}

/// The calibrated spin of a workload, kept beside the series so that a resumed benchmark plants the same.
pub fn planted_spin_ns(workload: &str, rate: &str) -> Result<u64> {
    std::fs::create_dir_all("bench/series")?;
    let file = format!("bench/series/spin-{}.txt", workload.replace([':', ',', '='], "-"));
    if let Ok(text) = std::fs::read_to_string(&file) {
        return text.trim().parse().with_context(|| format!("{file} holds no number; delete it"));
    }
    let spin = crate::plant::calibrate(&format!("{workload},duration=30ms"), rate, PLANTED)?;
    std::fs::write(&file, spin.to_string())?;
    Ok(spin)
}
