//! Running the released binary and the references, pinned or free.

use anyhow::{Context, Result, bail};
use schedlab_plan::TrialOutcome;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

/// The released schedlab: `$SCHEDLAB_BIN`, or the sibling of this benchmark.
pub fn schedlab() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("SCHEDLAB_BIN") {
        return Ok(path.into());
    }
    let sibling = std::env::current_exe()?.with_file_name("schedlab");
    if sibling.exists() { Ok(sibling) } else { bail!("{} is missing: cargo build --release", sibling.display()) }
}

/// A command that runs on the CPUs of a list (`taskset -c`), or anywhere.
pub fn on_cpus(cpus: Option<&str>, program: &str, arguments: &[&str]) -> Command {
    let mut command = match cpus {
        None => Command::new(program),
        Some(cpus) => {
            let mut taskset = Command::new("taskset");
            taskset.args(["-c", cpus, program]);
            taskset
        }
    };
    command.args(arguments);
    command
}

/// Runs it to the end; a failure is an error with the last lines of the program's output.
pub fn output(mut command: Command) -> Result<Output> {
    let shown = format!("{command:?}");
    let output = command.output().with_context(|| format!("{shown} cannot be started"))?;
    if !output.status.success() {
        bail!("{shown}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output)
}

/// Standard output and standard error of a run as one text, because references differ in where they print results.
pub fn text(command: Command) -> Result<String> {
    let output = output(command)?;
    Ok(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}

/// Whether a program can be started at all.
pub fn exists(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|dir| dir.join(program).exists())
}

/// A sentence about a missing reference, with the command that installs it. A package outside Debian's main section
/// needs an apt source, which the user has to add.
pub fn missing(program: &str, package: &str) -> Option<String> {
    let sentence = || format!("{program} is not installed, so this row is left out: apt install {package}");
    (!exists(program)).then(sentence)
}

/// `schedlab bench` with these arguments.
pub fn bench(cpus: Option<&str>, arguments: &[&str]) -> Result<Command> {
    let program = schedlab()?;
    let program = program.to_str().context("the binary's path is not text")?;
    let all: Vec<&str> = ["bench"].iter().chain(arguments).copied().collect();
    Ok(on_cpus(cpus, program, &all))
}

/// One trial of ours; the outcome as JSON.
pub fn trial(cpus: Option<&str>, arguments: &[&str]) -> Result<serde_json::Value> {
    let arguments: Vec<&str> = arguments.iter().chain(&["--json", "-", "--top", "0"]).copied().collect();
    let output = output(bench(cpus, &arguments)?)?;
    serde_json::from_slice(&output.stdout).context("the trial's JSON")
}

/// One trial of ours, parsed into our own types.
pub fn outcome(cpus: Option<&str>, arguments: &[&str]) -> Result<TrialOutcome> {
    serde_json::from_value(trial(cpus, arguments)?).context("the trial's JSON is not an outcome")
}

/// The median of one of a trial's histograms, ns.
pub fn median_ns(outcome: &TrialOutcome, name: &str) -> Result<f64> {
    let found = outcome.histograms.iter().find(|one| one.name == name);
    found.and_then(|one| one.histogram.quantile_ns(0.5)).with_context(|| format!("the trial has no values of {name}"))
}

/// A metric of a trial's JSON.
pub fn metric(outcome: &serde_json::Value, name: &str) -> Result<f64> {
    let metrics = outcome["metrics"].as_array().context("no metrics")?;
    let found = metrics.iter().find(|m| m["name"] == name).and_then(|m| m["value"].as_f64());
    found.with_context(|| format!("the trial has no metric {name}"))
}

/// A program that runs next to what is measured; it is ended on drop. A workload's tasks die with their parent
/// (PR_SET_PDEATHSIG), so killing one process ends them all.
pub struct Running(Child);

impl Running {
    /// Starts it without its output.
    pub fn start(command: &mut Command) -> Result<Self> {
        Ok(Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Burners of the lowest weight, one on each CPU, so that none is ever idle. On a virtual machine the kernel did not
/// report switches from the idle task: 43 instead of 5361 in a recording of perf, which reported nothing lost.
pub fn keep_cpus_busy() -> Result<Vec<Running>> {
    let cpus = std::thread::available_parallelism()?.get();
    let burn =
        |cpu: usize| Running::start(&mut bench(Some(&cpu.to_string()), &["burn:1,duration=1h", "--set", "nice=19"])?);
    (0..cpus).map(burn).collect()
}
