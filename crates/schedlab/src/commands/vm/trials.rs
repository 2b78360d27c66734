//! Plans with a `[guest]` table: runs their trials in guests that are booted for them.

mod booted;
mod trial_host;
mod tried;

use super::guest::{self, Capabilities, USUAL_LIMIT};
use super::guest_command::GuestCommand;
use super::listener::Quiet;
use super::task;
use anyhow::{Context, Result, bail};
use schedlab_plan::factorial::Toggles;
use schedlab_plan::plan::{GuestLane, GuestPlan};
use schedlab_plan::{Arm, GuestAnswer, GuestResult, GuestTask, Manifest, Plan, Setting};
use schedlab_sys::clock;
use schedlab_sys::interrupt::Interrupt;
use schedlab_sys::kernel_facts::available_memory_kib;
use schedlab_sys::thread::usable_cpus;
use schedlab_trial::guest::{GuestTrial, Identity, TO_PREPARE};
use schedlab_trial::prepare;
use schedlab_vm::host::boot::takes_orders;
use schedlab_vm::host::initramfs::{self, Added};
use schedlab_vm::host::restore;
use schedlab_vm::host::scratch::Scratch;
use schedlab_vm::job::Perturbation;
use schedlab_vm::kernel::Kernel;
use schedlab_vm::kernel::cache::Cache;
use schedlab_vm::kernel::reference::Reference;
use schedlab_vm::lane::{Lane, NoKvm, Virtual, WantedAccelerator};
use schedlab_vm::profile::Profiled;
use schedlab_vm::{Boot, Job, RestoredJob, VmError};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// The guest's files for its task and its results.
const TASK: &str = "/schedlab/task.json";
const ANSWERS: &str = "/schedlab/answers";

/// Boots the guests of a plan.
pub(crate) struct Guests {
    plan: GuestPlan,
    /// The host's QEMU and KVM, queried once.
    capabilities: Capabilities,
    /// Kernels by name, as they were when first booted: what is built or fetched meanwhile is not part of this run.
    kernels: Mutex<BTreeMap<String, Kernel>>,
    /// Checksum of the files that the plan adds, taken at the beginning.
    extras: OnceLock<Option<u32>>,
    modules: Vec<String>,
    /// Why each trial or block is booted although the plan says `boots`, once this is known.
    unsaved: OnceLock<String>,
}

impl Guests {
    /// For the `[guest]` table of a plan, if it has one; refuses what no machine can run.
    pub(crate) fn of(plan: &Plan) -> Result<Option<Self>> {
        let Some(guest) = &plan.guest else { return Ok(None) };
        prepare::check_anywhere(plan)?;
        Ok(Some(Self {
            plan: guest.clone(),
            capabilities: Capabilities::default(),
            kernels: Mutex::default(),
            extras: OnceLock::new(),
            modules: super::guest_command::modules_of(plan),
            unsaved: OnceLock::new(),
        }))
    }

    /// Whether they do not depend on the host, not even on its clock.
    fn are_virtual(&self) -> bool {
        self.plan.lane == GuestLane::Virtual
    }

    /// How many guests run at the same time.
    fn at_once(&self) -> usize {
        let free = available_memory_kib(Path::new("/proc")).unwrap_or(0);
        at_once(self.plan.lane, usable_cpus(), free, guest::memory_bytes(&self.plan) / 1024)
    }

    /// Checksum of the files that the plan adds to its guests; an error if they have changed since the beginning.
    fn extras(&self) -> Result<Option<u32>> {
        let GuestPlan { add, binary, .. } = &self.plan;
        let binary = binary.iter().map(|file| Ok(Added { from: file.into(), to: "/init".into() }));
        let added = add.iter().map(|text| Added::parse(text)).chain(binary).collect::<Result<Vec<_>, _>>()?;
        let now = if added.is_empty() { None } else { Some(initramfs::checksum(&added)?) };
        if *self.extras.get_or_init(|| now) != now {
            bail!("the files of [guest] (`add`, `binary`) have changed since the start of the run: restore them");
        }
        Ok(now)
    }

    /// Number of the first sample, and of the first boot.
    fn first_seed(&self) -> u64 {
        self.plan.first_seed.unwrap_or(1)
    }

    /// The configuration and the settings of each arm's guests. Two arms that only differ in spelling are equal, and
    /// their difference is only noise.
    fn identities(&self, arms: &[Arm]) -> Result<Vec<Identity>> {
        let of = |arm: &Arm| {
            let (booted_with, set): (Vec<_>, Vec<_>) = arm.settings.iter().cloned().partition(Setting::is_of_guest);
            let (kernel, guest) = self.of_arm(&booted_with)?;
            let words: Vec<&str> = guest.cmdline.split_whitespace().collect();
            let machine = format!("{:08x} {words:?} {:?}", self.kernel(&kernel)?.crc32, guest.topology);
            Ok(Identity { machine, set: format!("{set:?}") })
        };
        arms.iter().map(of).collect()
    }

    /// The guest's manifest for the plan, and, if it was emulated after all, the reason.
    fn prepared(&self, trial: &GuestTrial) -> Result<(Manifest, Option<NoKvm>)> {
        let (answer, fell_back) = self.booted(trial)?;
        let idle = |word: &String| answer.words_without_effect.contains(word);
        for setting in &trial.booted_with {
            match setting {
                Setting::BootArgument(word) if idle(word) => bail!(
                    "its kernel does not know {setting}, does not take its value, or shows no such parameter: a difference to \
                     another arm would be none of it"
                ),
                Setting::Topology(_) => {
                    if let Some(other) = &answer.other_machine {
                        bail!("{setting}: {other}");
                    }
                }
                _ => {}
            }
        }
        match answer.result {
            GuestResult::Prepared(prepared) => Ok((*prepared, fell_back)),
            GuestResult::Failed(why) => bail!(why),
            _ => bail!("its guest returned the result of another trial"),
        }
    }

    /// The toggles of the kernel in a guest that is booted with these settings.
    pub(crate) fn toggles(&self, booted_with: &[Setting]) -> Result<Toggles> {
        let (task, booted_with) = (GuestTask::Toggles, booted_with.to_vec());
        let (answer, _) = self.booted(&GuestTrial { task, booted_with, sample: 1, boot: None, limit: TO_PREPARE })?;
        match answer.result {
            GuestResult::Toggles(toggles) => Ok(toggles),
            _ => bail!("its guest returned the result of another trial"),
        }
    }

    /// The instructions that a `bench` command executes in the guest of an arm, as for the first sample; always in the
    /// virtual lane.
    pub(crate) fn instructions(&self, booted_with: &[Setting], words: &[String]) -> Result<Profiled> {
        let (kernel, guest) = self.of_arm(booted_with)?;
        let (first_seed, accelerator) = (Some(self.first_seed()), WantedAccelerator::default());
        let guest = GuestPlan { lane: GuestLane::Virtual, first_seed, accelerator, boots: None, ..guest };
        super::profile::profiled(&kernel, words, false, &guest, &self.capabilities)
    }

    /// The guest's result, and, if it was emulated after all, the reason.
    fn booted(&self, trial: &GuestTrial) -> Result<(GuestAnswer, Option<NoKvm>)> {
        self.extras()?;
        let directory = Scratch::new()?;
        let task = schedlab_plan::json::pretty(&trial.task)?;
        let mut reads = Vec::new();
        let boots = self.boot_of(trial).is_none();
        if boots {
            let file = directory.path().join("task.json");
            std::fs::write(&file, &task).context("the guest's task cannot be written")?;
            reads.push(Added { from: file, to: TASK.into() });
        }
        let mut boot = self.guest(trial, reads)?;
        let interrupt = || Interrupt::catch().context("signals cannot be caught");
        let mut listener = match &trial.task {
            GuestTask::Prepare { .. } | GuestTask::Toggles => {
                guest::advise(&boot);
                // Nothing has been measured yet, so there is nothing to wait for.
                Quiet::at_once(interrupt()?)
            }
            // If told to end, the guest ends its trial and begins no other; a guest that cannot be told runs all of
            // them.
            GuestTask::Trials(ordered) if ordered.len() > 1 && takes_orders(&boot) => {
                boot.grace = boot.limit;
                Quiet::with_something_kept(interrupt()?)
            }
            GuestTask::Trials(_) => Quiet::deaf(),
        };
        let (ended, state) = if boots {
            (schedlab_vm::boot(&boot, &mut listener)?, None)
        } else {
            let perturbation = schedlab_vm::lane::perturbation(of_seed(boot.lane, trial.sample));
            let restored_job = RestoredJob { perturbation, path: TASK.into(), content: task };
            let (ended, state) = restore::from_state(&boot, &restored_job, &Cache::of_this_user(), &mut listener)?;
            (ended, Some(state))
        };
        let mut answer = task::read(&ended.files)?
            .with_context(|| format!("the guest's command wrote no result and ended with {}", ended.exit_code))?;
        if let (Some(why), GuestResult::Measured(outcomes), GuestTask::Trials(ordered)) =
            (&ended.cut, &mut answer.result, &trial.task)
        {
            outcomes.push(Err(why.to_string()));
            let before = format!("not started: its guest had already ended ({})", first_line(why));
            outcomes.resize(ordered.len(), Err(before));
        }
        match state {
            // Guests restored from one state have the same boot.
            Some(crc32) => answer.boot_id += &format!("-{crc32:08x}"),
            // Boots with equal seeds draw equal ids, but are separate boots.
            None if self.are_virtual() => answer.boot_id += &format!("-{:x}", clock::realtime_ns()),
            None => {}
        }
        Ok((answer, ended.fell_back))
    }

    /// The boot whose state a trial starts from; `None` if it has its own guest.
    fn boot_of(&self, trial: &GuestTrial) -> Option<u64> {
        trial.boot.filter(|_| self.unsaved.get().is_none())
    }

    /// The guest of a trial, with the files that it reads.
    fn guest(&self, trial: &GuestTrial, reads: Vec<Added>) -> Result<Boot> {
        let command = GuestCommand {
            arguments: [task::ARGUMENT, TASK, ANSWERS].map(str::to_owned).to_vec(),
            directory: "/root".into(),
            reads,
            collect: vec![ANSWERS.into()],
            modules: self.modules.clone(),
        };
        let (kernel, mut guest) = self.of_arm(&trial.booted_with)?;
        guest.first_seed = self.are_virtual().then(|| self.boot_of(trial).unwrap_or(trial.sample));
        let mut boot = guest::boot(self.kernel(&kernel)?, &guest, &command, false, &self.capabilities)
            .context("[guest], whose keys are named as the options of `vm run`")?;
        boot.limit = self.limit(trial);
        if self.boot_of(trial).is_some() {
            // The effects of the sample's seed come after the state was saved.
            boot.job = Job { stops: true, perturbation: Perturbation::default(), ..boot.job };
        }
        Ok(boot)
    }

    /// The workload has its own timeout, which does not help if the guest hangs.
    fn limit(&self, trial: &GuestTrial) -> Duration {
        let GuestTask::Trials(ordered) = &trial.task else { return trial.limit };
        let count = u32::try_from(ordered.len()).unwrap_or(u32::MAX);
        let each = self.plan.timeout_ns.map(Duration::from_nanos);
        each.map_or_else(|| trial.limit.min(USUAL_LIMIT.saturating_mul(count)), |each| each.saturating_mul(count))
    }

    fn kernels(&self) -> MutexGuard<'_, BTreeMap<String, Kernel>> {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kernel(&self, name: &str) -> Result<Kernel> {
        let known = self.kernels().get(name).cloned();
        if let Some(known) = &known
            && !matches!(name.parse()?, Reference::File(_))
        {
            return Ok(known.clone());
        }
        // A kernel file is not in the cache, and may have changed since.
        let found = guest::find(name, super::architecture(self.plan.aarch64))?;
        if known.is_some_and(|known| known.crc32 != found.crc32) {
            bail!("{name} has changed since the start of the run: use a copy that stays the same, or `vm build` it");
        }
        self.kernels().insert(name.to_owned(), found.clone());
        Ok(found)
    }

    /// The plan's guest with the changes of an arm, and its kernel.
    fn of_arm(&self, booted_with: &[Setting]) -> Result<(String, GuestPlan)> {
        let mut guest = self.plan.clone();
        for setting in booted_with {
            match setting {
                Setting::Kernel(name) => guest.kernel = Some(name.clone()),
                Setting::Topology(text) => guest.topology = Some(text.clone()),
                Setting::BootArgument(word) => guest.cmdline += &format!(" {word}"),
                other => bail!("{other} is set in a guest, not booted"),
            }
        }
        Ok((guest.kernel.clone().context("an arm has no kernel")?, guest))
    }
}

/// In the real lane one guest at a time. The virtual lane is not affected by the host's load, so one per CPU, if half
/// of the free memory is enough for them: the other half is for QEMU itself.
fn at_once(lane: GuestLane, cpus: usize, free_kib: u64, of_guest_kib: u64) -> usize {
    match lane {
        GuestLane::Real => 1,
        GuestLane::Virtual => cpus.min((free_kib / 2 / of_guest_kib.max(1)) as usize).max(1),
    }
}

fn first_line(why: &VmError) -> String {
    why.to_string().lines().next().unwrap_or_default().trim_end_matches(':').to_owned()
}

/// The lane with a different seed.
fn of_seed(lane: Lane, seed: u64) -> Lane {
    match lane {
        Lane::Virtual(parameters) => Lane::Virtual(Virtual { seed, ..parameters }),
        real => real,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_of_the_virtual_lane_alone_run_side_by_side_as_far_as_there_is_memory() {
        const GIB: u64 = 1 << 20;
        assert_eq!(at_once(GuestLane::Real, 64, 64 * GIB, GIB), 1);
        assert_eq!(at_once(GuestLane::Virtual, 2, 24 * GIB, GIB), 2);
        assert_eq!(at_once(GuestLane::Virtual, 64, 24 * GIB, GIB), 12);
        assert_eq!(at_once(GuestLane::Virtual, 64, 0, GIB), 1);
    }
}
