//! What samples from saved states must show: a plan of the virtual lane is run several times with one seed, every fifth sample's
//! host is busy, and each sample is equal to the byte in all runs; how long it takes from a sample's order to the first instruction
//! of its guest; and what the plan takes with a boot for each trial. A cache of its own, below `benches/series/states/`, and the
//! kernels of the user's. Arguments: numbers of CPUs, for those rows alone; `runs=N` (3); `boots`, for the plan without states
//! as well; `kernel=debian:6.12`. Without arguments: 1, 2 and 4 CPUs.
//! About 12 minutes.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use anyhow::{Context, Result, ensure};
use schedlab_benches::load::Load;
use schedlab_benches::{program, table};
use schedlab_plan::TrialStatus;
use schedlab_run::RunReader;
use schedlab_sys::rusage;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// From the order to the guest's first instruction, s.
const BAR_S: f64 = 0.5;
/// How often the host looks: a fiftieth of the bar.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The warm-up is not among the trials that must be equal.
const BOOTS: usize = 2;
const HEADER: [&str; 8] = [
    "guest",
    "samples compared",
    "beside a loaded host",
    "different",
    "order to first instruction: median (worst)",
    "a sample's CPU time, all of it",
    "wall time of the plan",
    "bar met",
];

fn main() -> Result<()> {
    let started = Instant::now();
    let (mut cpus, mut runs, mut boots, mut kernel) = (Vec::new(), 3, false, "debian:6.1".to_owned());
    for word in std::env::args().skip(1) {
        match word.split_once('=') {
            Some(("runs", number)) => runs = number.parse().context("runs=N: give a number, 2 or more")?,
            Some(("kernel", name)) => name.clone_into(&mut kernel),
            _ if word == "boots" => boots = true,
            _ => {
                cpus.push(word.parse::<u32>().with_context(|| format!("`{word}`: CPUs, runs=N, kernel=NAME or boots"))?)
            }
        }
    }
    ensure!(runs >= 2, "runs={runs}: nothing is compared with fewer than 2");
    if cpus.is_empty() {
        cpus = vec![1, 2, 4];
    }
    let root = std::env::current_dir()?.join("benches/series/states");
    let mut rows = Vec::new();
    for cpus in cpus {
        let place = Place::new(&root.join(format!("{}-{cpus}", kernel.replace(':', "-"))), &kernel)?;
        rows.push(place.states(cpus, runs)?);
        if boots {
            rows.push(place.boots(cpus)?);
        }
    }
    table::print("Samples from saved states", &HEADER, &rows);
    table::closing("states", started.elapsed());
    Ok(())
}

/// A directory for runs, with its own cache.
struct Place {
    directory: PathBuf,
    kernel: String,
}

/// The times of a run.
struct Took {
    wall_s: f64,
    cpu_s: f64,
    /// From the order of a restored sample to the first output of its guest, s.
    starts: Vec<f64>,
}

impl Place {
    fn new(directory: &Path, kernel: &str) -> Result<Self> {
        let _ = std::fs::remove_dir_all(directory);
        for name in ["cache", "tmp"] {
            std::fs::create_dir_all(directory.join(name))?;
        }
        let mut list = Command::new(program::schedlab()?);
        list.args(["vm", "list"]);
        let listed = program::text(list)?;
        let line = listed.lines().find(|line| line.split_whitespace().next() == Some(kernel));
        let line = line.with_context(|| format!("{kernel} is not in the cache: schedlab vm fetch {kernel}"))?;
        let path =
            line.rsplit("  ").next().and_then(|path| Path::new(path).parent()).context("`vm list` names no path")?;
        std::os::unix::fs::symlink(path, directory.join("cache/kernels"))?;
        Ok(Self { directory: directory.to_owned(), kernel: kernel.to_owned() })
    }

    /// Runs the plan; returns its outcomes by trial, as JSON.
    fn run(&self, out: &str, cpus: u32, guest: &str) -> Result<(Took, BTreeMap<u64, String>)> {
        let kernel = &self.kernel;
        let plan = format!(
            "trials = 6\nlatency = \"off\"\ncounters = \"basic\"\nseed = 7\n[guest]\nkernel = \"{kernel}\"\nlane = \"virtual\"\n\
             cpus = {cpus}\nboot_timeout = \"30min\"\n{guest}\n[[workload]]\nrun = \"messaging:2x2,groups=1,loops=20\"\n\
             [[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\nset = \"policy=batch\"\n"
        );
        let file = self.directory.join("plan.toml");
        std::fs::write(&file, plan)?;
        let (before, began) = (rusage::of_children().cpu_ns, Instant::now());
        let mut child = Command::new(program::schedlab()?)
            .args(["run", "plan.toml", "-o", out])
            .current_dir(&self.directory)
            .env("TMPDIR", self.directory.join("tmp"))
            .env("SCHEDLAB_CACHE", self.directory.join("cache"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut seen = Starts::default();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            seen.look(&self.directory.join("tmp"));
            std::thread::sleep(LOOK_EVERY);
        };
        ensure!(status.success(), "the plan failed: cd {} && schedlab run plan.toml", self.directory.display());
        let cpu_s = (rusage::of_children().cpu_ns - before) as f64 / 1e9;
        let run = RunReader::open(&self.directory.join(out))?;
        ensure!(run.trials.iter().all(|trial| trial.status == TrialStatus::Ok), "a trial of {out} failed");
        let outcomes = run.trials.iter().map(|trial| Ok((trial.trial, serde_json::to_string(&trial.outcome)?)));
        let outcomes = outcomes.collect::<Result<_>>()?;
        Ok((Took { wall_s: began.elapsed().as_secs_f64(), cpu_s, starts: seen.seconds }, outcomes))
    }

    /// The first run makes the states; in the other runs every guest is restored.
    fn states(&self, cpus: u32, runs: usize) -> Result<Vec<String>> {
        let guest = format!("boots = {BOOTS}");
        let (_, first) = self.run("run-0", cpus, &guest)?;
        let (mut starts, mut different, mut compared, mut loaded) = (Vec::new(), BTreeSet::new(), 0, 0);
        let (mut wall_s, mut cpu_s, mut quiet) = (0.0, 0.0, 0);
        for run in 1..=runs {
            let is_loaded = run == runs;
            let load = Load::start(is_loaded);
            let (took, outcomes) = self.run(&format!("run-{run}"), cpus, &guest)?;
            drop(load);
            ensure!(outcomes.len() == first.len(), "run {run} has another number of trials");
            different
                .extend(outcomes.iter().filter(|(trial, text)| first.get(trial) != Some(text)).map(|(t, _)| (run, *t)));
            compared += outcomes.len();
            eprintln!(
                "{cpus} CPUs, run {run}: {:.1} s, {:.1} s of CPU time, loaded: {is_loaded}",
                took.wall_s, took.cpu_s
            );
            if is_loaded {
                loaded += outcomes.len();
            } else {
                starts.extend(took.starts);
                (wall_s, cpu_s, quiet) = (wall_s + took.wall_s, cpu_s + took.cpu_s, quiet + outcomes.len());
            }
        }
        starts.sort_by(f64::total_cmp);
        let (median, worst) = (starts.get(starts.len() / 2), starts.last());
        let (median, worst) = (median.context("no guest was seen")?, worst.context("no guest was seen")?);
        let met = different.is_empty() && *median <= BAR_S;
        Ok(vec![
            format!("{}, {cpus} CPUs, saved states", self.kernel),
            compared.to_string(),
            loaded.to_string(),
            different.len().to_string(),
            format!("{median:.2} s ({worst:.2} s)"),
            format!("{:.2} s", cpu_s / quiet as f64),
            format!("{:.0} s", wall_s / (runs - 1) as f64),
            table::met(met),
        ])
    }

    /// The same plan with a boot for each trial.
    fn boots(&self, cpus: u32) -> Result<Vec<String>> {
        let (took, outcomes) = self.run("boots", cpus, "")?;
        let mut starts = took.starts;
        starts.sort_by(f64::total_cmp);
        let median = starts.get(starts.len() / 2).context("no guest was seen")?;
        Ok(vec![
            format!("{}, {cpus} CPUs, booted", self.kernel),
            "".into(),
            "".into(),
            "".into(),
            format!("{median:.2} s ({:.2} s)", starts.last().unwrap_or(median)),
            format!("{:.2} s", took.cpu_s / outcomes.len() as f64),
            format!("{:.0} s", took.wall_s),
            "".into(),
        ])
    }
}

/// Watches the directories of guests. A directory is created when a sample is ordered, and the guest's first action is
/// an output on its port, which QEMU writes into a file there.
#[derive(Default)]
struct Starts {
    began: BTreeMap<PathBuf, Instant>,
    up: BTreeSet<PathBuf>,
    seconds: Vec<f64>,
}

impl Starts {
    fn look(&mut self, below: &Path) {
        for entry in std::fs::read_dir(below).into_iter().flatten().flatten() {
            let directory = entry.path();
            let began = *self.began.entry(directory.clone()).or_insert_with(Instant::now);
            let speaks = std::fs::metadata(directory.join("port")).is_ok_and(|port| port.len() > 0);
            if speaks && self.up.insert(directory) {
                self.seconds.push(began.elapsed().as_secs_f64());
            }
        }
    }
}
