//! Recorded series: ordinary run directories below `benches/series/`, made by `schedlab run`, resumed when interrupted,
//! and cut into disjoint comparisons that the product's own analysis judges.

use crate::program::{self, Running};
use anyhow::{Context, Result, bail};
use schedlab_plan::{Manifest, TrialRecord};
use schedlab_run::RunReader;
use schedlab_stats::Random;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A series to record.
pub struct Recording<'a> {
    /// Directory name below `benches/series/`.
    pub name: &'a str,
    /// The plan, complete.
    pub plan_toml: &'a str,
    /// Whether a burner is switched on and off beside it.
    pub disturbed: bool,
}

/// Records a series, or continues or reads the one that is there. A series begun with another plan is refused.
pub fn record(recording: &Recording<'_>) -> Result<(Manifest, Vec<TrialRecord>)> {
    let root = Path::new("benches/series");
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
    let mut burner = Burner { child: None, random: Random::new(0x5EED) };
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

/// A burner on any CPU, switched on or off with probability 1/15 at each call: phases of 3 s on average.
struct Burner {
    child: Option<Running>,
    random: Random,
}

impl Burner {
    fn toggle(&mut self) -> Result<()> {
        if self.random.below(15) != 0 {
            return Ok(());
        }
        self.child = match self.child.take() {
            Some(_) => None,
            None => Some(Running::start(&mut program::bench(None, &["burn:1,duration=1h"])?)?),
        };
        Ok(())
    }
}

/// The trials of some blocks and two arms as a separate A/B run, as if nothing else had been measured.
pub fn cut(
    manifest: &Manifest,
    trials: &[TrialRecord],
    blocks: std::ops::Range<u32>,
    arms: [u32; 2],
) -> (Manifest, Vec<TrialRecord>) {
    let mut manifest = manifest.clone();
    manifest.arms = arms.iter().map(|&a| manifest.arms[a as usize].clone()).collect();
    manifest.design = schedlab_plan::manifest::Design::Fixed { blocks: blocks.end - blocks.start };
    manifest.looks.clear();
    // A switchback trial belongs to no single arm: it contains both.
    let switchback = manifest.switchback_window_ns.is_some();
    let chosen = trials.iter().filter(|t| !t.warm_up && blocks.contains(&t.block));
    let relabelled = chosen.filter_map(|t| {
        let arm = arms.iter().position(|&a| t.arm == Some(a)).map(|arm| arm as u32);
        if arm.is_none() && !switchback {
            return None;
        }
        let mut t = t.clone();
        t.arm = arm;
        t.block -= blocks.start;
        t.repeats_block = t.repeats_block.and_then(|b| b.checked_sub(blocks.start));
        Some(t)
    });
    let trials = relabelled.collect();
    (manifest, trials)
}

/// Mean log-ratio arm / control of one metric per block, and the wall-clock seconds of both arms in it.
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

/// How a series compares its arms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrangement {
    /// Mirrored blocks of three arms: A, A again, and A with the planted slowdown.
    Blocks,
    /// The arms alternate inside each trial, in windows of this length.
    Switchback {
        /// In the form of a plan.
        window: &'static str,
    },
}

/// A series that `aa` records and `power` reads again.
pub struct Series {
    /// Directory name below `benches/series/`.
    pub name: &'static str,
    /// The workload.
    pub workload: &'static str,
    /// Its rate.
    pub rate: &'static str,
    /// Blocks, or alternation inside trials.
    pub arrangement: Arrangement,
    /// Length of a trial: long compared with the release of the workload's tasks, short compared with the machine's
    /// drift.
    pub trial: &'static str,
    /// Blocks (switchback: trials) in a comparison.
    pub units: u32,
    /// Whether a burner is switched on and off beside it.
    pub disturbed: bool,
}

impl Series {
    /// `24 blocks of 15ms`.
    pub fn size(&self) -> String {
        match self.arrangement {
            Arrangement::Blocks => format!("{} blocks of {}", self.units, self.trial),
            Arrangement::Switchback { window } => {
                format!("switchback, {} trials of {}, windows of {window}", self.units, self.trial)
            }
        }
    }
}

const PIPE: (&str, &str) = ("pipe:pin=same", "round_trips_per_s");
/// One group on one CPU: with free placement, two CPUs and forty tasks give a mixture of modes, which dominates the
/// noise.
const MESSAGING: (&str, &str) = ("messaging:cpus=0,groups=1,transport=unix", "msgs_per_s");

const fn blocks(
    name: &'static str,
    (workload, rate): (&'static str, &'static str),
    trial: &'static str,
    units: u32,
    disturbed: bool,
) -> Series {
    Series { name, workload, rate, arrangement: Arrangement::Blocks, trial, units, disturbed }
}

const fn switchback(
    name: &'static str,
    (workload, rate): (&'static str, &'static str),
    trial: &'static str,
    units: u32,
    disturbed: bool,
) -> Series {
    let arrangement = Arrangement::Switchback { window: "1500us" };
    Series { name, workload, rate, arrangement, trial, units, disturbed }
}

/// All series; `power` finds the switchback for a quiet series in blocks by its name. Units were chosen from an earlier
/// recording: the pipe needed 33 blocks for 80 % power, messaging 44, whose blocks would take an hour; six are the
/// fewest that give a verdict. For the same reason, messaging beside the burner only has its switchback.
pub const SERIES: [Series; 7] = [
    blocks("pipe-same-quiet", PIPE, "15ms", 42, false),
    switchback("pipe-same-quiet-switchback", PIPE, "25ms", 20, false),
    blocks("messaging-unix-quiet", MESSAGING, "40ms", 6, false),
    switchback("messaging-unix-quiet-switchback", MESSAGING, "200ms", 10, false),
    blocks("pipe-same-burner", PIPE, "15ms", 42, true),
    switchback("pipe-same-burner-switchback", PIPE, "25ms", 20, true),
    switchback("messaging-unix-burner-switchback", MESSAGING, "200ms", 10, true),
];

/// Comparisons a series is cut into.
pub const COMPARISONS: u32 = 100;
/// The planted slowdown.
pub const PLANTED: f64 = 0.03;

/// The recordings of a series.
pub struct Recorded {
    /// Records of the run with A and A again.
    pub equal: (Manifest, Vec<TrialRecord>),
    /// Records of the run with A and the injected slowdown; with blocks it is the same run.
    pub planted: (Manifest, Vec<TrialRecord>),
    /// The arms to compare in each of the two.
    pub arms: [[u32; 2]; 2],
}

/// Records (or reads) a series.
pub fn standard(series: &Series) -> Result<Recorded> {
    let spin = planted_spin_ns(series.workload, series.rate)?;
    match series.arrangement {
        Arrangement::Blocks => {
            let run = record_arms(series, series.name, &[("A", 0), ("A again", 0), ("planted", spin)])?;
            Ok(Recorded { equal: run.clone(), planted: run, arms: [[0, 1], [0, 2]] })
        }
        Arrangement::Switchback { .. } => {
            let equal = record_arms(series, &format!("{}-aa", series.name), &[("A", 0), ("A again", 0)])?;
            let planted = record_arms(series, &format!("{}-planted", series.name), &[("A", 0), ("planted", spin)])?;
            Ok(Recorded { equal, planted, arms: [[0, 1], [0, 1]] })
        }
    }
}

fn record_arms(series: &Series, name: &str, arms: &[(&str, u64)]) -> Result<(Manifest, Vec<TrialRecord>)> {
    let Series { workload, trial, units, disturbed, .. } = series;
    let mut plan = format!(
        "title = \"{name}\"\ntrials = {}\ntrial = \"{trial}\"\nlatency = \"off\"\ncounters = \"basic\"\nseed = 1000\n",
        COMPARISONS * units,
    );
    if let Arrangement::Switchback { window } = series.arrangement {
        plan += &format!("design = \"switchback={window}\"\n");
    }
    plan += &format!("[[workload]]\nrun = \"{workload}\"\n");
    for (arm, spin) in arms {
        plan += &format!("[[arm]]\nname = \"{arm}\"\nset = \"plant=spin:{spin}ns\"\n");
    }
    record(&Recording { name, plan_toml: &plan, disturbed: *disturbed })
}

/// The calibrated spin of a workload, stored next to the series so that a resumed benchmark plants the same.
pub fn planted_spin_ns(workload: &str, rate: &str) -> Result<u64> {
    std::fs::create_dir_all("benches/series")?;
    let file = format!("benches/series/spin-{}.txt", workload.replace([':', ',', '='], "-"));
    if let Ok(text) = std::fs::read_to_string(&file) {
        return text.trim().parse().with_context(|| format!("{file} holds no number; delete it"));
    }
    let spin = crate::plant::calibrate(workload, rate, PLANTED)?;
    std::fs::write(&file, spin.to_string())?;
    Ok(spin)
}
