//! What a workload is: the trait that each implements, and the row with its name, version and options.

use crate::error::BenchError;
use crate::limits::Limits;
use crate::observer::{Observer, RunOrder};
use crate::topology::Topology;
use schedlab_plan::{Policy, TrialOutcome, WorkloadSpec};

/// One option of a workload, as `schedlab list workloads` and the docs show it.
#[derive(Debug)]
pub struct OptionDoc {
    /// The key.
    pub name: &'static str,
    /// The form of its value: `N`, `pipe|unix|tcp`.
    pub form: &'static str,
    /// Its default, in the same form.
    pub default: &'static str,
    /// What it does, in a sentence.
    pub doc: &'static str,
}

/// A row of [`WorkloadInfo::options`] on one line.
pub(crate) const fn option(
    name: &'static str,
    form: &'static str,
    default: &'static str,
    doc: &'static str,
) -> OptionDoc {
    OptionDoc { name, form, default, doc }
}

/// What a workload is.
#[derive(Debug)]
pub struct WorkloadInfo {
    /// The id without its version.
    pub name: &'static str,
    /// Semantic version: any change of what is measured raises it.
    pub version: u32,
    /// The program it is faithful to.
    pub reference: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// What one operation is, such as `message`.
    pub operation: &'static str,
    /// Its primary metrics; a verdict is about the first.
    pub primary: &'static [&'static str],
    /// Its own metrics that a trial may have, with or without stamps; `*` matches anything.
    pub metrics: &'static [&'static str],
    /// Its options.
    pub options: &'static [OptionDoc],
    /// The form of the argument without a key (`SxR`), or empty.
    pub shorthand: &'static str,
    /// Turns a spec whose name and version match into a validated workload.
    pub parse: fn(&WorkloadSpec) -> Result<Box<dyn Workload>, BenchError>,
}

impl WorkloadInfo {
    /// An empty outcome with the workload's name and version.
    pub(crate) fn outcome(&self) -> TrialOutcome {
        TrialOutcome {
            workload: format!("{}/{}", self.name, self.version),
            operation: self.operation.to_owned(),
            ..TrialOutcome::default()
        }
    }
}

/// A validated workload, ready to run once or many times.
pub trait Workload {
    /// What it is.
    fn info(&self) -> &'static WorkloadInfo;
    /// The canonical spec: version pinned, every argument spelled out.
    fn spec(&self) -> WorkloadSpec;
    /// Its primary metrics, if the configuration names others than [`WorkloadInfo::primary`].
    fn primary(&self) -> Vec<String> {
        self.info().primary.iter().map(|name| (*name).to_owned()).collect()
    }
    /// Whether operations are counted while it runs, which a switchback needs.
    fn counts_operations(&self) -> bool {
        true
    }
    /// Sets the length of the steady state, ns; an error if the spec fixes the loops.
    fn set_duration_ns(&mut self, ns: u64) -> Result<(), BenchError>;
    /// Whether its tasks and descriptors fit into the limits; called before anything starts.
    fn check(&self, limits: &Limits) -> Result<(), BenchError>;
    /// Whether the machine has the CPUs that its placement needs; called before anything starts.
    fn check_placement(&self, _topology: &Topology) -> Result<(), BenchError> {
        Ok(())
    }
    /// The CPUs that its tasks are pinned to; empty if they may run anywhere, or if this is not known beforehand.
    fn confined_to(&self, _topology: &Topology) -> Vec<u32> {
        Vec::new()
    }
    /// Names of the cgroups with the cpu controller over which it spreads its tasks; a nested one is written with `/`.
    /// The caller creates them and passes them in [`RunOrder::cgroups`].
    fn cgroups(&self) -> Vec<String> {
        Vec::new()
    }
    /// The policy that the spec requests for its own threads, in place of what an arm sets; a plan reports which
    /// permission that needs.
    fn own_policy(&self) -> Option<Policy> {
        None
    }
    /// Whether the spec asks for the reference's own output: its native lines and nothing else on standard output.
    fn prints_as_its_reference(&self) -> bool {
        false
    }
    /// Moves the calling process into a network namespace of the workload's own, if it needs one, and returns whether
    /// it did. Called before `net.*` settings are written and before [`Self::run`].
    fn enter_own_net(&mut self) -> Result<bool, BenchError> {
        Ok(false)
    }
    /// Runs it once, from a single-threaded process; after an error, all its tasks have ended when this returns.
    fn run(&self, order: &RunOrder, observer: &mut dyn Observer) -> Result<TrialOutcome, BenchError>;
}
