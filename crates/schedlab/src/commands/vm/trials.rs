//! A plan with a `[guest]` table: every trial in a guest of its own.

use super::guest::{self, Sight};
use super::inside::{BINDER, Inside};
use super::task;
use crate::cli::vm::{GuestOptions, LaneName};
use anyhow::{Context, Result, anyhow, bail};
use schedlab_run::plan::{GuestLane, GuestPlan};
use schedlab_run::{GuestAnswer, GuestResult, GuestTask, Manifest, Plan, Setting};
use schedlab_trial::guest::GuestTrial;
use schedlab_vm::host::initramfs::Added;
use std::time::Duration;

/// Where the guest has its task and leaves its answer.
const TASK: &str = "/schedlab/task.json";
const ANSWER: &str = "/schedlab/answer.json";

/// Boots the guests of one plan.
pub(crate) struct Guests {
    plan: GuestPlan,
    /// What QEMU and KVM can do here, asked once.
    sight: Sight,
    modules: Vec<String>,
}

impl Guests {
    /// For a plan that has a `[guest]` table.
    pub(crate) fn of(plan: &Plan) -> Result<Self> {
        let guest = plan.guest.clone().context("the plan has no [guest] table")?;
        let speaks_of_binder = plan.to_toml().contains("binder");
        Ok(Self { plan: guest, sight: Sight::take(false)?, modules: speaks_of_binder.then(|| BINDER.into()).into_iter().collect() })
    }

    /// The manifest as the control's guest makes it. Every other arm's guest is booted too: a kernel that does not boot,
    /// or that cannot run the plan, is told before anything is measured.
    pub(crate) fn manifest(&self, plan: &Plan, command: &[String]) -> Result<Manifest> {
        let mut manifest: Option<Manifest> = None;
        for arm in &plan.arms {
            let booted_with: Vec<Setting> = arm.settings.iter().filter(|s| s.is_of_guest()).cloned().collect();
            eprintln!("schedlab: trying the guest of arm `{}`", arm.name);
            let task = GuestTask::Prepare { plan_toml: plan.to_toml(), command: command.to_vec() };
            let trial = GuestTrial { task, booted_with, sample: 1, limit: Duration::from_secs(300) };
            let answer = self.boot(&trial).map_err(|why| anyhow!("arm `{}`: {why}", arm.name))?;
            let prepared = match answer.result {
                GuestResult::Prepared(prepared) => *prepared,
                GuestResult::Failed(why) => bail!("arm `{}`: {why}", arm.name),
                GuestResult::Measured(_) => bail!("arm `{}`: its guest answered another question", arm.name),
            };
            let release = &answer.environment.kernel_release;
            let check = |id: &str| answer.environment.checks.iter().find(|c| c.id == id).map_or("", |c| c.value.as_str());
            let note = format!("arm `{}` ran in guests with Linux {release}, {}; domains {}", arm.name, check("topology"), check("sched_domains"));
            let manifest = manifest.get_or_insert_with(|| prepared.clone());
            if manifest.workloads != prepared.workloads {
                bail!("arm `{}`: its guest has other CPUs, and a workload of the plan says ncpu: write the number", arm.name);
            }
            manifest.warnings.push(note);
        }
        manifest.context("the plan has no arms")
    }

    /// One guest from start to end.
    pub(crate) fn boot(&self, trial: &GuestTrial) -> Result<GuestAnswer, String> {
        self.booted(trial).map_err(|error| format!("{error:#}"))
    }

    fn booted(&self, trial: &GuestTrial) -> Result<GuestAnswer> {
        let directory = tempfile::tempdir().context("a directory for the guest's task cannot be made")?;
        let file = directory.path().join("task.json");
        std::fs::write(&file, serde_json::to_vec(&trial.task)?).context("the guest's task cannot be written")?;
        let inside = Inside {
            arguments: [task::ARGUMENT, TASK, ANSWER].map(str::to_owned).to_vec(),
            directory: "/root".into(),
            reads: vec![Added { from: file, to: TASK.into() }],
            collect: vec![ANSWER.into()],
            modules: self.modules.clone(),
        };
        let (kernel, options) = self.options(trial)?;
        let boot = guest::boot(&kernel, &options, &inside, false, &self.sight)?;
        let ended = schedlab_vm::boot(&boot, &mut guest::Quiet)?;
        let (_, answer) = ended.files.first().with_context(|| {
            format!("the guest's command left no answer and ended with {}", ended.exit_code)
        })?;
        serde_json::from_slice(answer).context("the guest's answer cannot be read")
    }

    /// The plan's guest with what the arm changes of it.
    fn options(&self, trial: &GuestTrial) -> Result<(String, GuestOptions)> {
        let GuestPlan { kernel, lane, cpus, topology, memory_bytes, cmdline, shift, quantum_ns } = self.plan.clone();
        let (mut kernel, mut topology, mut words) = (kernel, topology, vec![cmdline]);
        for setting in &trial.booted_with {
            match setting {
                Setting::Kernel(name) => kernel = Some(name.clone()),
                Setting::Topology(text) => topology = Some(text.clone()),
                Setting::BootArgument(word) => words.push(word.clone()),
                other => bail!("{other} is set in a guest, not booted"),
            }
        }
        let options = GuestOptions {
            lane: if lane == GuestLane::Virtual { LaneName::Virtual } else { LaneName::Real },
            cpus,
            topology,
            memory: memory_bytes.map_or_else(|| "1g".into(), |bytes| bytes.to_string()),
            cmdline: words.join(" "),
            add: Vec::new(),
            module: Vec::new(),
            oversubscribe: false,
            no_kvm: false,
            seed: if lane == GuestLane::Virtual { trial.sample } else { 0 },
            shift,
            quantum: quantum_ns.map(|ns| format!("{ns}ns")),
            boot_timeout: None,
            timeout: format!("{}ms", trial.limit.as_millis()),
            verbose: false,
            dry_run: false,
            binary: None,
        };
        Ok((kernel.context("an arm has no kernel")?, options))
    }
}
