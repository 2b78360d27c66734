//! Connects an experiment to this host: real clocks, the run directory, the tune guard, signals, the progress line.

use crate::output::say;
use crate::progress::Progress;
use crate::trial_host::TrialHost;
use anyhow::{Context, Result, bail};
use schedlab_analyze::Packer;
use schedlab_plan::lane::Provenance;
use schedlab_plan::{Manifest, RunEnd, Setting, TrialRecord};
use schedlab_record::tracer;
use schedlab_run::{RunError, RunReader, RunWriter};
use schedlab_sys::interrupt::{Answering, Interrupt};
use schedlab_sys::net_name;
use schedlab_trial::{Event, Experiment, Store};
use schedlab_tune::{Leftovers, RestoreOutcome, Restored, Roots, TuneError};
use schedlab_vm::guest::Keeper;
use std::io::{ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Restores what a killed run left behind, before anything is measured, and reports it. What could not be restored is
/// an error, because it would be measured. If another run is changing this host, or if the journals are another user's,
/// that is only reported, once.
pub(crate) fn restore_leftovers() -> Result<()> {
    static SAID: AtomicBool = AtomicBool::new(false);
    if SAID.load(Relaxed) {
        return Ok(());
    }
    match restore_killed_runs() {
        Err(TuneError::Busy { pid }) => {
            SAID.store(true, Relaxed);
            say(format_args!(
                "schedlab: another schedlab (pid {pid}) is changing settings of this host: results measured now are \
                 affected by those settings"
            ));
        }
        // For example with sudo -E. A run that changes settings of this host is refused later, when it opens the
        // journal.
        Err(TuneError::State { path, source }) if source.kind() == ErrorKind::PermissionDenied => {
            SAID.store(true, Relaxed);
            say(format_args!(
                "schedlab: {} may not be read, so whether a killed run left settings behind is not known (HOME is another \
                 user's; XDG_STATE_HOME names a directory of yours)",
                path.display()
            ));
        }
        restored => report_restored(&restored.context("settings left by a killed run cannot be restored")?)?,
    }
    for name in remove_orphaned_namespaces()? {
        say(format_args!("schedlab: removed after a killed run: network namespace {name}"));
    }
    for name in remove_orphaned_traces()? {
        say(format_args!("schedlab: removed after a killed run: tracefs instance {name}"));
    }
    Ok(())
}

fn restore_killed_runs() -> Result<Vec<Restored>, TuneError> {
    schedlab_tune::restore_leftovers(Leftovers::Killed, &Roots::default(), &schedlab_tune::state_dir())
}

/// Reports a knob that was restored. After a reboot nothing had to be cleaned up, and the values may have been meant to
/// stay.
pub(crate) fn say_restored(one: &Restored) {
    let killed = match one.outcome {
        RestoreOutcome::Rebooted => "",
        _ => "cleaned up after a killed run: ",
    };
    say(format_args!("schedlab: {killed}{one}"));
}

fn report_restored(restored: &[Restored]) -> Result<()> {
    let (done, failed): (Vec<_>, Vec<_>) = restored.iter().partition(|one| one.is_done());
    done.into_iter().for_each(say_restored);
    if failed.is_empty() {
        return Ok(());
    }
    let failed: Vec<String> = failed.iter().map(ToString::to_string).collect();
    bail!(
        "a killed run's settings are not all restored: {}; `schedlab tune restore` tries again (to keep the host as it is, \
         delete the journals in {})",
        failed.join("; "),
        schedlab_tune::state_dir().display()
    )
}

/// Refuses a run that changes this host while another one does, before it has a directory.
pub(crate) fn ensure_host_is_free(manifest: &Manifest) -> Result<()> {
    if manifest.arms.iter().any(|arm| arm.settings.iter().any(Setting::is_host_wide)) {
        report_restored(&restore_killed_runs()?)?;
    }
    Ok(())
}

/// Removes the tracefs instances of killed recordings. Another user's are left to that user.
pub(crate) fn remove_orphaned_traces() -> Result<Vec<String>> {
    match tracer::remove_orphans(Path::new(net_name::RUN_ROOT), Path::new("/proc")) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(Vec::new()),
        removed => removed.context("a tracefs instance left by a killed recording could not be removed"),
    }
}

/// Removes the named network namespaces of killed runs. Another user's are left to that user.
pub(crate) fn remove_orphaned_namespaces() -> Result<Vec<String>> {
    match net_name::remove_orphans(Path::new(net_name::RUN_ROOT)) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(Vec::new()),
        removed => removed.context("a network namespace left by a killed run could not be removed"),
    }
}

/// Subdirectory of a run directory with the traces of trials, each named by its trial's number.
pub(crate) const TRACES: &str = "traces";

/// A run that has ended.
pub(crate) struct Ended {
    /// The complete manifest.
    pub(crate) manifest: Manifest,
    /// All rows.
    pub(crate) trials: Vec<TrialRecord>,
    /// Whether the run directory could be sealed: the results must be reported even if the disk is full.
    pub(crate) sealed: Result<()>,
}

/// A run that has a directory.
pub(crate) struct Begun {
    /// The manifest at the beginning, or on resuming.
    pub(crate) manifest: Manifest,
    /// Writer of its directory.
    pub(crate) writer: RunWriter,
    /// Trials of the interrupted run.
    pub(crate) trials: Vec<TrialRecord>,
}

/// Runs a new or resumed experiment into its run directory and seals it.
pub(crate) fn run(dir: &Path, begun: Begun, place: &dyn TrialHost) -> Result<Ended> {
    let Begun { manifest, mut writer, trials } = begun;
    let mut manifest = conduct(dir, manifest, trials, &mut writer, place)?;
    manifest.environment_end = place.at_end();
    let stored = writer.update_manifest(&manifest);
    let sealed =
        if manifest.end() == RunEnd::Interrupted { stored.map(drop) } else { stored.and_then(|_| writer.seal()) };
    let sealed = sealed.context("the run could not be sealed; it stays readable as it is");
    // The loop keeps only what the stopping rule needs of a trial; the report needs everything that was stored.
    let trials = packed(dir).context("the run cannot be read again for its report")?.trials;
    Ok(Ended { manifest, trials, sealed })
}

/// Whether this is a guest of schedlab. Its run cannot be resumed, because the next boot is a different one.
pub(crate) fn is_guest() -> bool {
    Provenance::of_command_line(&std::fs::read_to_string("/proc/cmdline").unwrap_or_default()).is_some()
}

/// A run for a report, with only the parts of its trials that reports need.
pub(crate) fn packed(dir: &Path) -> Result<schedlab_run::Run, RunError> {
    let mut packer = Packer::default();
    RunReader::open_with(dir, &mut |manifest, record| Some(packer.pack(manifest, record)))
}

/// Runs the trial loop, with the terminal and the signals of this process.
fn conduct(
    dir: &Path,
    manifest: Manifest,
    trials: Vec<TrialRecord>,
    writer: &mut RunWriter,
    place: &dyn TrialHost,
) -> Result<Manifest> {
    let mut runner = place.runner(&manifest, &trials)?;
    let watch = place.watch();
    let interrupt = Interrupt::catch().context("signals cannot be caught")?;
    let _answered = answered(interrupt, &manifest);
    let mut progress = Progress::new(&manifest, &trials, writer.log());
    let mut store = Directory { writer, keeper: Keeper::of_this_guest() };
    if store.keeper.is_some() {
        // Trials without a manifest are not a run.
        store.manifest(&manifest)?;
    }
    let mut experiment = Experiment {
        manifest,
        trials,
        runner: &mut *runner,
        watch,
        store: &mut store,
        traces: dir.join(TRACES),
        events: &mut |event: Event<'_>| progress.on(&event),
        interrupted: &|| interrupt.requested(),
        clock: &schedlab_sys::clock::monotonic_ns,
        wall_clock: &schedlab_sys::clock::realtime_ns,
        known: Default::default(),
    };
    let result = experiment.run();
    let manifest = experiment.manifest;
    progress.finish();
    if let Err(error) = &result {
        progress.note(&format!("the run stopped: {error:#}"));
    }
    result.context("the run stopped; what was measured is kept and can be resumed with --resume")?;
    Ok(manifest)
}

/// A signal ends a run of this host after its current trial, which may be long, so the first signal gets an answer.
/// Guests answer themselves.
fn answered(interrupt: Interrupt, manifest: &Manifest) -> Option<Answering> {
    const ANSWER: &str = "\nschedlab: the run ends after this trial, and can be resumed; another signal ends it now\n";
    // Below the progress line.
    let line = if std::io::stderr().is_terminal() { ANSWER } else { &ANSWER[1..] };
    (manifest.kernels.is_empty() && !is_guest()).then(|| interrupt.answer_with(line))
}

/// The directory of a run or study: `out`, or its default; a new one gets the first directory of that name that is
/// still empty.
pub(crate) fn directory(out: Option<&Path>, name: &str, resume: bool) -> PathBuf {
    match out {
        Some(out) => out.to_owned(),
        None if resume => default_out(name),
        None => unused(default_out(name)),
    }
}

/// The name of a run of this file.
pub(crate) fn name_of(file: &Path) -> String {
    file.file_stem().map_or_else(|| "run".into(), |stem| stem.to_string_lossy().into_owned())
}

/// `out/<name>`, the default place of a run.
pub(crate) fn default_out(name: &str) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    // A command line can be longer than a file name may be.
    let name = name.chars().take(100).map(plain).collect::<String>();
    // `日本` and `..` leave no usable characters: use a fixed name, never `out` itself.
    let name = name.trim_matches(['-', '.']).to_lowercase();
    Path::new("out").join(if name.is_empty() { "run" } else { &name })
}

/// The first empty one of `<dir>`, `<dir>-2`, `<dir>-3`, …
pub(crate) fn unused(dir: PathBuf) -> PathBuf {
    let free = |dir: &Path| std::fs::read_dir(dir).map_or(true, |mut entries| entries.next().is_none());
    let numbered = |n: u32| PathBuf::from(format!("{}-{n}", dir.display()));
    if free(&dir) { dir } else { (2..).map(numbered).find(|d| free(d)).expect("numbers do not run out") }
}

/// The run directory as the loop's store.
struct Directory<'a> {
    writer: &'a mut RunWriter,
    /// Used in a guest, which may die: what is stored is sent to the host at once.
    keeper: Option<Keeper>,
}

impl Directory<'_> {
    fn keep(&mut self, file: &Path) -> Result<()> {
        let Some(keeper) = &mut self.keeper else { return Ok(()) };
        keeper.keep(file).with_context(|| format!("{} cannot be sent to the host", file.display()))
    }
}

impl Store for Directory<'_> {
    fn trial(&mut self, record: &TrialRecord) -> Result<()> {
        let file = self.writer.append(record).context("a finished trial could not be stored")?;
        self.keep(&file)
    }
    fn manifest(&mut self, manifest: &Manifest) -> Result<()> {
        let file = self.writer.update_manifest(manifest).context("the manifest could not be stored")?;
        self.keep(&file)?;
        // The list is sent here and not with each trial, because it would then be most of what the guest sends.
        self.keep(&self.writer.stored())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_tune::RestoreOutcome;

    #[test]
    fn every_name_of_a_run_is_a_directory_of_its_own_below_out() {
        let dir = |name: &str| default_out(name).display().to_string();
        assert_eq!(dir("ab-pipe:pin=same"), "out/ab-pipe-pin-same");
        assert_eq!(dir("Quick start"), "out/quick-start");
        for nameless in ["", "日 本", "..", "--"] {
            assert_eq!(dir(nameless), "out/run");
        }
    }

    fn left(outcome: RestoreOutcome) -> Restored {
        Restored {
            knob: "sysctl:vm.swappiness".into(),
            path: "/state/journal-1-1".into(),
            original: "60".into(),
            outcome,
        }
    }

    #[test]
    fn what_a_killed_run_left_in_force_stops_the_next_one() {
        let fine = [left(RestoreOutcome::Restored), left(RestoreOutcome::LeftForeign("10".into()))];
        report_restored(&fine).unwrap();
        for bad in [RestoreOutcome::Failed("EIO".into()), RestoreOutcome::Unreadable("1 line of it".into())] {
            let all: Vec<Restored> = fine.iter().cloned().chain([left(bad)]).collect();
            let why = report_restored(&all).unwrap_err().to_string();
            assert!(why.contains("tune restore") && !why.contains("swappiness: back"), "{why}");
        }
    }
}
