//! Wires an experiment to this host: real clocks, the run directory, the tune guard, signals, the progress line.

use crate::commands::vm::trials::Guests;
use crate::progress::Progress;
use anyhow::{Context, Result, bail};
use schedlab_run::{Applied, Manifest, RunWriter, Setting, TrialRecord};
use schedlab_sys::net_name;
use schedlab_trial::guest::GuestTrial;
use schedlab_trial::{Event, ExecRunner, Experiment, HostSettings, Runner, Store, Watch};
use schedlab_tune::{HostGuard, Roots};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Undoes what a killed run left behind, before anything else is measured; says so when there was something.
pub(crate) fn restore_leftovers() -> Result<()> {
    let restored = schedlab_tune::restore_leftovers(&Roots::default(), &schedlab_tune::state_dir())
        .context("settings left by a killed run could not be restored; `schedlab tune restore` shows each")?;
    for one in &restored {
        eprintln!("schedlab: restored after a killed run: {one}");
    }
    for name in orphaned_namespaces()? {
        eprintln!("schedlab: removed after a killed run: network namespace {name}");
    }
    Ok(())
}

/// Removes the named network namespaces of killed runs. Those of another user's runs are that user's to remove.
fn orphaned_namespaces() -> Result<Vec<String>> {
    match net_name::remove_orphans(Path::new(net_name::RUN_ROOT)) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(Vec::new()),
        removed => removed.context("a network namespace left by a killed run could not be removed"),
    }
}

/// Runs a new or resumed experiment into its run directory and seals it. Returns the complete manifest and rows.
pub(crate) fn run(
    manifest: Manifest,
    mut writer: RunWriter,
    trials: Vec<TrialRecord>,
    guests: Option<&Guests>,
) -> Result<(Manifest, Vec<TrialRecord>)> {
    restore_leftovers()?;
    let (mut manifest, trials) = match guests {
        None => {
            let mut host = Host::default();
            let ran = conduct(manifest, &mut writer, trials, &mut ExecRunner::of_this_binary(), &mut host);
            host.restore()?;
            ran?
        }
        Some(guests) => {
            let mut boot = |trial: &GuestTrial| guests.boot(trial);
            let (mut runner, mut settings) = schedlab_trial::guest::guests(&mut boot, &manifest.arms, &trials);
            conduct(manifest, &mut writer, trials, &mut runner, &mut settings)?
        }
    };
    if guests.is_none() {
        // Without round-trip probes: they would be one more disturbance, and the check is not compared.
        let (roots, probes) = (schedlab_host::Roots::default(), schedlab_host::Probes::default());
        manifest.environment_end = Some(schedlab_host::environment(&roots, probes));
    }
    writer.update_manifest(&manifest)?;
    if manifest.ended != "interrupted" {
        writer.seal().context("the run could not be sealed; it stays readable as it is")?;
    }
    Ok((manifest, trials))
}

/// The loop, with the terminal and the signals of this process.
fn conduct(
    manifest: Manifest,
    writer: &mut RunWriter,
    trials: Vec<TrialRecord>,
    runner: &mut dyn Runner,
    host: &mut dyn HostSettings,
) -> Result<(Manifest, Vec<TrialRecord>)> {
    let interrupt = schedlab_sys::interrupt::Interrupt::catch().context("signals cannot be caught")?;
    let mut progress = Progress::new(&manifest);
    let mut store = Directory(writer);
    let mut experiment = Experiment {
        manifest,
        trials,
        runner,
        host,
        watch: Some(Watch::start(schedlab_host::Roots::default(), schedlab_record::Roots::default())),
        store: &mut store,
        events: &mut |event: Event<'_>| progress.on(&event),
        interrupted: &|| interrupt.requested(),
        clock: &schedlab_sys::clock::monotonic_ns,
        wall_clock: &schedlab_sys::clock::realtime_ns,
        not_covered: Vec::new(),
    };
    let result = experiment.run();
    let (manifest, trials) = (experiment.manifest, experiment.trials);
    progress.finish();
    result.context("the run stopped; what was measured is kept and can be resumed with --resume")?;
    Ok((manifest, trials))
}

/// `out/<name>`, the default place of a run.
pub(crate) fn default_out(name: &str) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    // A command line can be longer than a file name may be.
    Path::new("out").join(name.chars().take(100).map(plain).collect::<String>().trim_matches('-').to_lowercase())
}

/// The directory itself, or `<dir>-2`, `<dir>-3`, … whichever holds nothing yet.
pub(crate) fn unused(dir: PathBuf) -> PathBuf {
    let free = |dir: &Path| std::fs::read_dir(dir).map_or(true, |mut entries| entries.next().is_none());
    let numbered = |n: u32| PathBuf::from(format!("{}-{n}", dir.display()));
    if free(&dir) { dir } else { (2..).map(numbered).find(|d| free(d)).expect("numbers do not run out") }
}

/// The run directory as the loop's store.
struct Directory<'a>(&'a mut RunWriter);

impl Store for Directory<'_> {
    fn trial(&mut self, record: &TrialRecord) -> Result<()> {
        self.0.append(record).context("a finished trial could not be stored")
    }
    fn manifest(&mut self, manifest: &Manifest) -> Result<()> {
        self.0.update_manifest(manifest).context("the manifest could not be stored")
    }
}

/// The tune guard, opened only when an arm has a host-wide setting: most runs need no right and no journal.
#[derive(Default)]
pub(crate) struct Host {
    guard: Option<HostGuard>,
}

impl Host {
    /// Puts everything back; what could not be put back is an error that names it.
    pub(crate) fn restore(&mut self) -> Result<()> {
        let Some(guard) = &mut self.guard else { return Ok(()) };
        let failed: Vec<String> = guard.restore()?.iter().filter(|r| !r.is_done()).map(ToString::to_string).collect();
        if failed.is_empty() {
            Ok(())
        } else {
            bail!("not restored: {}; try `schedlab tune restore`", failed.join("; "))
        }
    }

    fn guard(&mut self) -> Result<&mut HostGuard> {
        if self.guard.is_none() {
            self.guard = Some(HostGuard::open(Roots::default(), &schedlab_tune::state_dir())?);
        }
        Ok(self.guard.as_mut().expect("opened above"))
    }
}

impl HostSettings for Host {
    fn cover(&mut self, settings: &[Setting]) -> Result<Vec<Applied>> {
        Ok(self.guard()?.cover(settings)?)
    }
    fn apply(&mut self, settings: &[Setting]) -> Result<Vec<Applied>> {
        if settings.is_empty() && self.guard.is_none() {
            return Ok(Vec::new());
        }
        Ok(self.guard()?.apply(settings)?)
    }
    fn cgroup_procs(&self) -> Vec<PathBuf> {
        self.guard.as_ref().map(HostGuard::cgroup_procs).unwrap_or_default()
    }
    fn make_trial_cgroups(&mut self, names: &[&str]) -> Result<Result<Vec<PathBuf>, String>> {
        Ok(self.guard()?.make_trial_groups(names)?)
    }
    fn remove_trial_cgroups(&mut self) -> Result<()> {
        Ok(self.guard()?.remove_trial_groups()?)
    }
    fn foreign_changes(&self) -> Vec<String> {
        self.guard.as_ref().map(HostGuard::foreign_changes).unwrap_or_default()
    }
}
