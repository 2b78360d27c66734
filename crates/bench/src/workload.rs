//! What a workload is: the trait that each implements, and the row that says its name, version and options.

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
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// What one operation is: `message`.
    pub operation: &'static str,
    /// Its primary metrics, first the one a verdict is about.
    pub primary: &'static [&'static str],
    /// Metrics of its own that a trial may have, with or without stamps; `*` stands for anything.
    pub metrics: &'static [&'static str],
    /// Its options.
    pub options: &'static [OptionDoc],
    /// The form of the argument without a key (`SxR`), or empty.
    pub shorthand: &'static str,
    /// From a spec whose name and version fit to a validated workload.
    pub parse: fn(&WorkloadSpec) -> Result<Box<dyn Workload>, BenchError>,
}

impl WorkloadInfo {
    /// A trial's outcome that says whose it is, and nothing else yet.
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
    /// Its primary metrics, where the configuration names others than [`WorkloadInfo::primary`].
    fn primary(&self) -> Vec<String> {
        self.info().primary.iter().map(|name| (*name).to_owned()).collect()
    }
    /// Whether operations are counted while it runs, as a switchback needs it.
    fn counts_operations(&self) -> bool {
        true
    }
    /// Sets the length of the steady state, ns; an error when the spec fixes the loops.
    fn set_duration_ns(&mut self, ns: u64) -> Result<(), BenchError>;
    /// Whether its tasks and descriptors fit; called before anything starts.
    fn check(&self, limits: &Limits) -> Result<(), BenchError>;
    /// Whether the machine has the CPUs its placement asks for; called before anything starts.
    fn check_placement(&self, _topology: &Topology) -> Result<(), BenchError> {
        Ok(())
    }
    /// The CPUs that its tasks are pinned to; none where they may run anywhere, or where that is not known beforehand.
    fn confined_to(&self, _topology: &Topology) -> Vec<u32> {
        Vec::new()
    }
    /// Names of the cgroups with the cpu controller that it spreads its tasks over, with `/` before one that is in
    /// another; the caller makes them and passes them in [`RunOrder::cgroups`].
    fn cgroups(&self) -> Vec<String> {
        Vec::new()
    }
    /// The policy that the spec asks for its own threads, over what an arm sets; a plan says what right that needs.
    fn own_policy(&self) -> Option<Policy> {
        None
    }
    /// Whether the spec asks for a reference's own output: its native lines and nothing else on standard output.
    fn prints_as_its_reference(&self) -> bool {
        false
    }
    /// Moves the calling process into a network namespace of the workload's own, where it needs one, and says whether it
    /// did: before `net.*` settings are written, and before [`Self::run`].
    fn enter_own_net(&mut self) -> Result<bool, BenchError> {
        Ok(false)
    }
    /// Runs it once, from a process with one thread; on any error all its tasks have ended before this returns.
    fn run(&self, order: &RunOrder, observer: &mut dyn Observer) -> Result<TrialOutcome, BenchError>;
}
