//! Where trials run. The loop sees only [`Runner`]: this host ([`crate::HostRunner`]), guests ([`crate::guest`]), or a fake for
//! tests.

use anyhow::Result;
use schedlab_run::{Applied, Setting, TrialOrder, TrialOutcome};
use std::time::Duration;

/// A trial that is about to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// Index in the manifest.
    pub workload: u32,
    /// Index in the manifest; the control's for a trial of all arms.
    pub arm: u32,
    /// Its place in the block.
    pub position: u32,
    /// As it will be ordered.
    pub order: TrialOrder,
    /// What is to be in force on its whole machine.
    pub settings: Vec<Setting>,
    /// For the trial.
    pub timeout: Duration,
}

/// Runs trials in one place.
///
/// Where nothing else is said, every trial is run by itself, on this machine, and nobody else writes.
pub trait Runner {
    /// Whether it wants to know a block as a whole before the first trial of it.
    fn wants_blocks(&self) -> bool {
        false
    }

    /// These trials come next, in their order. Blocks are numbered from 0, the warm-up; some of the trials may not be asked for.
    fn block(&mut self, _number: u64, _trials: Vec<Planned>) {}

    /// Whether the trial at that position of the block has been run with another already.
    fn has_run(&self, _position: u32) -> bool {
        false
    }

    /// Puts the trial's settings in force, takes back those of the one before, and blocks until the trial has ended. The outer
    /// error is the place's; the inner one, a sentence on why the trial failed, is a row of the run.
    fn run(&mut self, trial: &Planned) -> Result<Result<TrialOutcome, String>>;

    /// What the settings of a trial come to, put in force and taken back without its workload, before anything is measured;
    /// empty where only a trial can tell.
    fn try_settings(&mut self, _trial: &Planned) -> Result<Vec<Applied>> {
        Ok(Vec::new())
    }

    /// Makes settings that trials will change by themselves (a switchback's) restorable, and tries each.
    fn cover(&mut self, _settings: &[Setting]) -> Result<Vec<Applied>> {
        Ok(Vec::new())
    }

    /// Leaves the place as it was found; no trial comes after it.
    fn restore(&mut self) -> Result<()> {
        Ok(())
    }

    /// Settings of ours that somebody else has overwritten.
    fn foreign_changes(&self) -> Vec<String> {
        Vec::new()
    }

    /// The boot that the last trial ran in, where that is not this machine's.
    fn boot_id(&self) -> Option<String> {
        None
    }
}
<<<<<<< HEAD
=======

/// Runs a trial between the making and the removal of the cgroups its workload spreads its tasks over, if it does; fresh
/// ones each time, like everything a trial meets. The outer error is the host's, the inner one the trial's.
pub fn run_in_cgroups(
    host: &mut dyn HostSettings,
    runner: &mut dyn Runner,
    order: &mut TrialOrder,
    timeout: Duration,
) -> Result<Result<TrialOutcome, String>> {
    let names = schedlab_bench::parse(&order.workload).map(|w| w.cgroups()).unwrap_or_default();
    if names.is_empty() {
        return Ok(runner.run(order, timeout));
    }
    match host.make_trial_cgroups(names).context("the cgroups of the workload cannot be made restorable")? {
        Ok(procs) => order.workload_cgroups = procs,
        Err(why) => return Ok(Err(format!("{}: {why}", order.workload))),
    }
    let result = runner.run(order, timeout);
    host.remove_trial_cgroups().context("the cgroups of the workload could not be removed")?;
    Ok(result)
}

/// Execs ourselves for each trial: a fresh, small, single-threaded process, whatever the size of this one.
pub struct ExecRunner {
    program: PathBuf,
    /// Ends a trial before its time.
    interrupt: Option<Interrupt>,
}

impl ExecRunner {
    /// Runs `program` (the schedlab binary) as the trial process.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), interrupt: None }
    }

    /// Runs the binary this process was started from.
    pub fn of_this_binary() -> Self {
        Self::new("/proc/self/exe")
    }

    /// Ends the trial that is running when `interrupt` is requested, instead of letting it finish: it has no outcome.
    #[must_use]
    pub fn ended_by(self, interrupt: Interrupt) -> Self {
        Self { interrupt: Some(interrupt), ..self }
    }

    fn is_ended(&self) -> bool {
        self.interrupt.is_some_and(Interrupt::requested)
    }
}

impl Runner for ExecRunner {
    fn run(&mut self, order: &TrialOrder, timeout: Duration) -> Result<TrialOutcome, String> {
        let is_ended = || self.is_ended();
        beside_trace(order, &is_ended, |order| self.exec(order, timeout))
    }

    /// By a trial process that puts them on itself and has next to nothing to do. One that fails is no answer: the trial
    /// will say why.
    fn try_settings(&mut self, order: &TrialOrder) -> Vec<Applied> {
        let order = TrialOrder {
            workload: "pipe/1:loops=1".parse().expect("a workload of ours"),
            stamping: Stamping::Off,
            counters: CounterLevel::Basic,
            calls: Vec::new(),
            load: Vec::new(),
            workload_cgroups: Vec::new(),
            // A file is written only of trials.
            trace: order.trace.clone().map(|trace| TraceOrder { out: None, ..trace }),
            switchback: None,
            ..order.clone()
        };
        self.run(&order, TRY).map(|outcome| outcome.applied).unwrap_or_default()
    }
}

impl ExecRunner {
    fn exec(&self, order: &TrialOrder, timeout: Duration) -> Result<TrialOutcome, String> {
        let message = serde_json::to_vec(order).map_err(|e| format!("the trial order cannot be written: {e}"))?;
        let mut child = spawn(&self.program).map_err(|e| format!("the trial process cannot be started: {e}"))?;
        let mut stdin = child.stdin.take().expect("stdin is piped");
        // A process that died at once closes the pipe; its own message says why, so the error here is not the news.
        let _ = stdin.write_all(&message);
        drop(stdin);
        let stdout = drain(child.stdout.take().expect("stdout is piped"));
        let stderr = drain(child.stderr.take().expect("stderr is piped"));
        let status = self.wait(&mut child, timeout)?;
        // The reader threads end with the pipe: the herd is dead with its parent (PR_SET_PDEATHSIG).
        let text = stdout.join().map_err(|_| "the trial's answer could not be read".to_owned())?;
        let complaint = stderr.join().unwrap_or_default();
        if !status.success() {
            // One that was killed could not take back the names of its network namespaces; what fails here, the next
            // start tries again.
            let _ = net_name::remove_orphans(Path::new(net_name::RUN_ROOT));
            if self.is_ended() {
                return Err(format!("interrupted: {} was ended early and has no outcome", order.workload));
            }
            return Err(describe_failure(status, &String::from_utf8_lossy(&complaint)));
        }
        serde_json::from_slice(&text).map_err(|e| format!("the trial's outcome cannot be parsed ({e})"))
    }
}

impl ExecRunner {
    /// Waits with a bound, asleep until the process has ended, its time is over, or it is to end; its herd ends with it.
    fn wait(&self, child: &mut Child, timeout: Duration) -> Result<ExitStatus, String> {
        let deadline = Instant::now() + timeout;
        let why = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let next = if self.interrupt.is_some() { left.min(LOOK) } else { left };
            match schedlab_sys::pidfd::wait_exit(child.id(), next) {
                Ok(has_ended) if has_ended || self.is_ended() => {
                    // Of one that has ended already nothing is left to kill.
                    let _ = child.kill();
                    return child.wait().map_err(|e| format!("the trial process cannot be waited for: {e}"));
                }
                Ok(_) if left > next => {}
                Ok(_) => break format!("the trial did not end within {} s and was killed", timeout.as_secs()),
                Err(e) => break format!("the trial process cannot be watched: {e}"),
            }
        };
        let _ = child.kill();
        let _ = child.wait();
        Err(why)
    }
}

/// Its own process group: a Ctrl-C at the terminal reaches us alone, and the running trial ends as planned.
fn spawn(program: &PathBuf) -> std::io::Result<Child> {
    use std::os::unix::process::CommandExt;
    Command::new(program)
        .args([TRIAL_ARGUMENT, &std::process::id().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
}

fn drain(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

fn describe_failure(status: ExitStatus, complaint: &str) -> String {
    let last = complaint.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("").trim();
    // It is our own program: its name in front of its words is no news.
    let last = last.strip_prefix("schedlab: ").unwrap_or(last);
    match (last.is_empty(), status.code()) {
        (false, _) => last.to_owned(),
        (true, Some(code)) => format!("the trial process ended with exit code {code} and said nothing"),
        (true, None) => format!("the trial process died: {status}"),
    }
}
>>>>>>> w-read
