//! Where the trials of a plan run: on this host, or in guests that are booted for them. Both turn a plan into a
//! manifest, in which workloads are checked, defaults spelled out, and kernels found; describing, running and resuming
//! only need the manifest.

use crate::commands::doctor::environment;
use crate::commands::vm::trials::Guests;
use crate::output::say;
use crate::session;
use anyhow::{Context, Error, Result, anyhow, bail};
use schedlab_plan::{Environment, Manifest, Plan, TrialRecord};
use schedlab_trial::{HostRunner, Runner, Watch, factors, prepare};
use schedlab_tune::Roots;
use schedlab_vm::VmError;
use std::path::Path;

/// A place where trials run.
pub(crate) trait TrialHost {
    /// The manifest of a run that is about to begin; what cannot work here is refused.
    fn prepare(&self, plan: &Plan) -> Result<Manifest>;

    /// Describes the plan and what would be run here, for `--dry-run`; starts, tries and writes nothing.
    fn describe(&self, plan: &Plan) -> Result<String>;

    /// Reads the environment again to continue the run in `dir`; an error if the run began in another place.
    fn again(&self, dir: &Path, begun: &Manifest, plan: &Plan) -> Result<Environment>;

    /// The runner of trials here, after those of an interrupted run.
    fn runner<'a>(&'a self, manifest: &Manifest, trials: &[TrialRecord]) -> Result<Box<dyn Runner + 'a>>;

    /// Monitors this host during trials; `None` if nothing of this host affects them.
    fn watch(&self) -> Option<Watch>;

    /// The environment at the end of a run; `None` if trials have their own machines.
    fn at_end(&self) -> Option<Environment> {
        None
    }
}

/// Selects this host or guests, as the plan asks.
pub(crate) fn of(plan: &Plan) -> Result<Box<dyn TrialHost>> {
    Ok(match Guests::of(plan)? {
        Some(guests) => Box::new(guests),
        None => Box::new(ThisHost),
    })
}

/// Monitors this host.
pub(crate) fn watch() -> Watch {
    Watch::start(schedlab_host::Roots::default(), schedlab_record::Roots::default())
}

struct ThisHost;

impl TrialHost for ThisHost {
    fn prepare(&self, plan: &Plan) -> Result<Manifest> {
        let manifest = prepare::manifest(&settled(plan)?, std::env::args().collect(), environment(true))?;
        session::ensure_host_is_free(&manifest)?;
        Ok(manifest)
    }

    fn describe(&self, plan: &Plan) -> Result<String> {
        let roots = Roots::default();
        let plan = &plan.settle(&factors::lacking(plan, &roots)).map_err(|why| anyhow!("{why}"))?;
        let manifest = prepare::manifest(plan, std::env::args().collect(), environment(false))?;
        Ok(schedlab_trial::describe(&manifest, plan, &roots))
    }

    fn again(&self, dir: &Path, begun: &Manifest, _plan: &Plan) -> Result<Environment> {
        let now = environment(false);
        if now.boot_id != begun.environment.boot_id {
            bail!(
                "{} was started in another boot, or on another machine: a boot is a unit of its own, so start a new run (--out) \
                 and set the two side by side with `schedlab compare`",
                dir.display()
            );
        }
        Ok(now)
    }

    fn runner<'a>(&'a self, _manifest: &Manifest, _trials: &[TrialRecord]) -> Result<Box<dyn Runner + 'a>> {
        Ok(Box::new(HostRunner::of_this_host()?))
    }

    fn watch(&self) -> Option<Watch> {
        Some(watch())
    }

    /// Without round-trip probes, which would be another disturbance, and are not compared.
    fn at_end(&self) -> Option<Environment> {
        Some(environment(false))
    }
}

/// The plan with the arms of its factorial: its factors are tried on the host first, and those that cannot be set are
/// left out.
fn settled(plan: &Plan) -> Result<Plan> {
    if plan.factors.is_empty() {
        return Ok(plan.clone());
    }
    // Ctrl-C must not end this process while a setting is changed and not yet restored.
    schedlab_sys::interrupt::Interrupt::catch().context("signals cannot be caught")?;
    let mut host = HostRunner::of_this_host()?;
    let refused = factors::refused(plan, &Roots::default(), &mut |settings| host.apply(settings));
    host.restore()?;
    // Not a usage error: the factor cannot be set on this machine.
    let settled = plan.settle(&refused?).map_err(|why| anyhow!("{why}"))?;
    for factor in settled.factorial.iter().flat_map(|factorial| &factorial.factors) {
        if let Some(why) = &factor.not_applied {
            say(format_args!("schedlab: factor `{}` is left out: {why}", factor.name));
        }
    }
    Ok(settled)
}

/// Whether this machine lacks a file, a program or space: every following trial would fail as well, and the error says
/// nothing about the workload.
pub(crate) fn is_of_machine(error: &Error) -> bool {
    error.downcast_ref::<VmError>().is_some_and(VmError::is_of_machine) || error.is::<std::io::Error>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_lacks_is_told_from_what_a_kernel_lacks() {
        let no_program = VmError::NoProgram { program: "qemu".into(), fix: String::new() };
        assert!(is_of_machine(&Error::from(no_program).context("`a`")));
        assert!(is_of_machine(&Error::from(std::io::Error::other("full")).context("the guest's task")));
        let said = "no place is left below /tmp".into();
        assert!(is_of_machine(&VmError::Resources { step: "while it started", said }.into()));
        let died = |said: &str| VmError::QemuDied { when: "", status: String::new(), said: said.into() };
        assert!(is_of_machine(&died("qemu: cannot set up guest memory 'pc.ram': Cannot allocate memory").into()));
        let kernel = |kind| VmError::File { what: "reading the kernel", path: "bzImage".into(), cause: kind };
        assert!(is_of_machine(&kernel(std::io::ErrorKind::PermissionDenied.into()).into()));
        assert!(!is_of_machine(&kernel(std::io::ErrorKind::NotFound.into()).into()));
        assert!(!is_of_machine(&died("Kernel panic - not syncing").into()));
        assert!(!is_of_machine(&VmError::Interrupted.into()));
        assert!(!is_of_machine(&Error::from(VmError::Guest("no such setting".into())).context("`a`")));
    }
}
