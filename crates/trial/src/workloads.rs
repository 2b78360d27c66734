//! The workloads of a run: each of the plan's workloads as it will run, and one for each value of a swept option.

use anyhow::{Context, Result};
use schedlab_bench::{Limits, Topology, Workload};
use schedlab_plan::manifest::{Design, Manifest, Sweep};
use schedlab_plan::nearest::hint;
use schedlab_plan::plan::{Plan, PlannedWorkload, Stopping};
use schedlab_plan::units::format_ns;
use schedlab_plan::{Arm, MIN_UNITS, PlanError, Setting, Stamping, WorkloadSpec, counted};
use schedlab_tune::Roots;
use std::path::Path;

/// Length of a trial if the plan names none: long compared with set-up, short compared with drift.
const DEFAULT_TRIAL_NS: u64 = 500_000_000;
/// Time kept free in a budget for set-up, teardown and storage of a trial, when its length is chosen.
const OVERHEAD_NS: u64 = 60_000_000;

/// The machine that a plan is checked against.
struct Machine {
    roots: Roots,
    limits: Limits,
    topology: Topology,
}

impl Machine {
    fn read() -> Result<Self> {
        let limits = Limits::of_a_trial(Path::new("/proc"))?;
        Ok(Self { roots: Roots::default(), limits, topology: Topology::read(Path::new("/sys"))? })
    }

    /// The topology limited to the CPUs of the arm. In a round of a study, an impossible arm is left out when it is
    /// run.
    fn left_by(&self, arm: &Arm, plan: &Plan) -> Result<Topology> {
        let cpus = arm.settings.iter().find_map(|setting| match setting {
            Setting::Cpus(cpus) if plan.round_of.is_none() => Some(cpus),
            _ => None,
        });
        Ok(match cpus {
            Some(cpus) => Topology::read_with(Path::new("/sys"), cpus.as_slice())?,
            None => self.topology.clone(),
        })
    }

    /// Checks a workload with an arm for everything that more trials could not fix.
    fn check(&self, workload: &dyn Workload, arm: &Arm, plan: &Plan) -> Result<()> {
        workload.check(&self.limits)?;
        workload.check_placement(&self.left_by(arm, plan)?)?;
        if plan.switchback_window_ns.is_some() && !workload.counts_operations() {
            let spec = workload.spec();
            return Err(PlanError::Inconsistent(format!(
                "{spec}: it counts no operations while it runs, so a switchback has nothing to compare; use blocks"
            ))
            .into());
        }
        if !workload.cgroups().is_empty() {
            schedlab_tune::check_groups(&self.roots, &arm.settings)
                .with_context(|| format!("arm `{}`, {}", arm.name, workload.spec()))?;
        }
        Ok(())
    }
}

/// A workload of the future run, with its options not yet written out.
struct Expanded<'p> {
    planned: &'p PlannedWorkload,
    run: WorkloadSpec,
    /// The number of the sweep to which it belongs.
    swept: Option<usize>,
}

impl Expanded<'_> {
    /// The metrics that it is judged by.
    fn primary(&self, workload: &dyn Workload) -> Vec<String> {
        if self.planned.primary.is_empty() { workload.primary() } else { self.planned.primary.clone() }
    }

    /// Refuses metrics that no trial would have, if no arm changes the workload.
    fn check_metrics(&self, plan: &Plan, workload: &dyn Workload) -> Result<()> {
        let options = plan.arms.iter().filter(|arm| arm.settings.iter().any(Setting::is_workload_option));
        let of_arms = options.map(|arm| schedlab_bench::parse(&workload.spec().with_options(&arm.settings)));
        let of_arms: Vec<_> = of_arms.collect::<Result<_, _>>()?;
        let all = || std::iter::once(workload).chain(of_arms.iter().map(AsRef::as_ref));
        let may = |name: &str, stamping| all().any(|it| schedlab_bench::may_report(it, stamping, name));
        let may_have = |name: &str, stamping| may(name, stamping) || schedlab_record::may_add(name);
        let Some(name) = self.primary(workload).into_iter().find(|name| !may_have(name, plan.stamping)) else {
            return Ok(());
        };
        let known = schedlab_bench::metric_names(workload, plan.stamping);
        let (spec, has) = (&self.run, known.join(", "));
        let why = if plan.stamping == Stamping::Off && may(&name, Stamping::All) {
            format!("{spec}: with latency = \"off\" there are no stamps, and so no `{name}`; it then has {has}")
        } else {
            let hint = hint(&name, known.iter().map(String::as_str));
            format!("{spec} has no metric `{name}`{hint}; it has {has}")
        };
        Err(PlanError::Inconsistent(why).into())
    }
}

/// The plan's workloads, each sweep expanded to its values.
pub(crate) struct Expansion<'p> {
    plan: &'p Plan,
    /// Length of the workloads that have a length and do not name it.
    trial_ns: u64,
    workloads: Vec<Expanded<'p>>,
    sweeps: Vec<schedlab_bench::Sweep>,
}

impl<'p> Expansion<'p> {
    pub(crate) fn of(plan: &'p Plan) -> Result<Self> {
        let (mut workloads, mut sweeps) = (Vec::new(), Vec::new());
        for planned in &plan.workloads {
            let Some(sweep) = schedlab_bench::sweep(&planned.run, planned.sweep.as_ref())? else {
                workloads.push(Expanded { planned, run: planned.run.clone(), swept: None });
                continue;
            };
            for arm in &plan.arms {
                if let Some(conflict) = sweep.conflict_with(&arm.settings) {
                    return Err(PlanError::Inconsistent(format!("arm `{}`: {conflict}", arm.name)).into());
                }
            }
            let of_value = |run: &WorkloadSpec| Expanded { planned, run: run.clone(), swept: Some(sweeps.len()) };
            workloads.extend(sweep.specs.iter().map(of_value));
            sweeps.push(sweep);
        }
        let trial_ns = trial_ns(plan, workloads.len());
        Ok(Self { plan, trial_ns, workloads, sweeps })
    }

    /// When the run stops.
    pub(crate) fn design(&self) -> Result<Design> {
        let (plan, workloads) = (self.plan, self.workloads.len());
        Ok(match plan.stopping {
            Stopping::Trials { blocks } => Design::Fixed { blocks },
            Stopping::UntilDecided { max_blocks } => Design::OpenEnded { max_blocks },
            Stopping::Budget { budget_ns, looks } => {
                let per_workload = budget_ns / workloads.max(1) as u64;
                let block = if plan.switchback_window_ns.is_some() { 1 } else { 2 * plan.arms.len() as u64 };
                // One block more: the warm-up block.
                let least = ((MIN_UNITS as u64 + 1) * block).saturating_mul(self.trial_ns.saturating_add(OVERHEAD_NS));
                if per_workload < least {
                    return Err(PlanError::Inconsistent(format!(
                        "a budget of {} is too short for {MIN_UNITS} blocks of {} and {}: give at least {}, or a shorter `trial`",
                        format_ns(budget_ns),
                        counted(workloads, "workloads"),
                        counted(plan.arms.len(), "arms"),
                        format_ns(
                            least.saturating_mul(workloads as u64).div_ceil(1_000_000_000).saturating_mul(1_000_000_000)
                        )
                    )).into());
                }
                Design::Budgeted { budget_ns: per_workload, looks }
            }
        })
    }

    /// Whether their options are consistent with each other and with the plan: all that can be checked without the
    /// machine that they will run on, which has its own programs.
    pub(crate) fn check(&self) -> Result<()> {
        let nothing_more = |_: &dyn Workload, _: &Arm| Ok(());
        self.workloads.iter().try_for_each(|it| {
            let workload = self.validated(&it.run, nothing_more)?;
            it.check_metrics(self.plan, workload.as_ref())
        })
    }

    /// Writes them into the manifest: validated, every argument written out, primary metrics named.
    pub(crate) fn fill(&self, manifest: &mut Manifest) -> Result<()> {
        let (plan, machine) = (self.plan, Machine::read()?);
        let sweep = |sweep: &schedlab_bench::Sweep| Sweep {
            option: sweep.option.clone(),
            parallel: sweep.parallel,
            values: sweep.values(),
            workloads: Vec::new(),
        };
        manifest.sweeps = self.sweeps.iter().map(sweep).collect();
        for expanded in &self.workloads {
            let Expanded { planned, run, swept } = expanded;
            let workload = self.validated(run, |workload, arm| machine.check(workload, arm, plan))?;
            expanded.check_metrics(plan, workload.as_ref())?;
            schedlab_bench::load::Load::check(&planned.load).with_context(|| format!("load beside {run}"))?;
            if let Some(number) = swept {
                manifest.sweeps[*number].workloads.push(manifest.workloads.len() as u32);
            }
            let info = workload.info();
            manifest.workload_ids.push(format!("{}/{}", info.name, info.version));
            manifest.workloads.push(workload.spec());
            manifest.primary.push(expanded.primary(workload.as_ref()));
            manifest.load.push(planned.load.clone());
        }
        Ok(())
    }

    /// A workload with its length, checked for every arm: by itself, and by `check`.
    fn validated(
        &self,
        run: &WorkloadSpec,
        check: impl Fn(&dyn Workload, &Arm) -> Result<()>,
    ) -> Result<Box<dyn Workload>> {
        let workload = with_length(self.plan, run, self.trial_ns)?;
        for arm in &self.plan.arms {
            if arm.settings.iter().any(Setting::is_workload_option) {
                let of_arm = || format!("arm `{}` on {run}", arm.name);
                let own = schedlab_bench::parse(&workload.spec().with_options(&arm.settings)).with_context(of_arm)?;
                check(own.as_ref(), arm).with_context(of_arm)?;
            } else {
                check(workload.as_ref(), arm)?;
            }
        }
        Ok(workload)
    }
}

/// The control's values of the options that every arm sets: a workload may lack what each arm provides, such as the
/// command of `exec`.
fn options_of_every_arm(arms: &[Arm]) -> Vec<Setting> {
    let Some((control, others)) = arms.split_first() else { return Vec::new() };
    let has = |arm: &Arm, option: &Setting| arm.settings.iter().any(|setting| setting.key() == option.key());
    let options = control.settings.iter().filter(|setting| setting.is_workload_option());
    options.filter(|option| others.iter().all(|arm| has(arm, option))).cloned().collect()
}

/// Trial length: the plan's, or the default; shorter if the budget could not hold two dozen blocks of it.
fn trial_ns(plan: &Plan, workloads: usize) -> u64 {
    let wanted = plan.trial_ns.unwrap_or(DEFAULT_TRIAL_NS);
    match (&plan.stopping, plan.trial_ns) {
        (Stopping::Budget { budget_ns, .. }, None) if plan.switchback_window_ns.is_none() => {
            let per_workload = budget_ns / workloads.max(1) as u64;
            let trials = 24 * 2 * plan.arms.len() as u64;
            (per_workload / trials).saturating_sub(OVERHEAD_NS).clamp(100_000_000, wanted)
        }
        _ => wanted,
    }
}

/// Whether a workload as it is written ends by itself.
pub(crate) fn says_its_length(run: &WorkloadSpec) -> bool {
    ["loops", "duration"].iter().any(|key| run.args.contains_key(*key))
}

/// A workload with its length, as in the plan, before an arm changes it.
fn with_length(plan: &Plan, run: &WorkloadSpec, trial_ns: u64) -> Result<Box<dyn Workload>> {
    let parsed = schedlab_bench::parse(run);
    let mut workload = parsed.or_else(|lacking| match options_of_every_arm(&plan.arms) {
        options if options.is_empty() => Err(lacking),
        options => schedlab_bench::parse(&run.with_options(&options)),
    })?;
    // A workload that fixes its loops keeps them unless the plan insists on a length; a plan's length is for those of
    // its workloads that have one.
    let takes_length = workload.info().options.iter().any(|option| option.name == "duration");
    let insists = plan.trial_ns.is_some() && (takes_length || plan.workloads.len() == 1);
    if insists || takes_length && !says_its_length(run) {
        workload.set_duration_ns(trial_ns).with_context(|| run.to_string())?;
    }
    Ok(workload)
}
