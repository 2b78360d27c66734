//! The trial process: an exec of ourselves that reads one [`TrialOrder`] from standard input, runs it, and writes one
//! [`TrialOutcome`] to standard output. It starts small and single-threaded, so that the workload's tasks inherit the
//! same state in every trial, however large the process that orders the trials has grown.

mod control;
mod switchback;

use anyhow::{Context, Result, anyhow, bail};
use control::Control;
use schedlab_bench::load::Load;
use schedlab_bench::{RunOrder, Stall, Topology};
use schedlab_plan::lane::{Dither, KEPT, Lane, Provenance, Virtual};
use schedlab_plan::{LoadGroup, LoadReport, Setting, TrialOrder, TrialOutcome};
use schedlab_sys::{clock, process};
use schedlab_tune::Roots;
use std::ffi::{CString, OsString};
use std::io::{Read, Write};
use std::path::Path;

/// Reads the order, runs the trial, writes the answer. An error is one sentence for the trial's row. `ordered_by` is
/// the id of the process that ordered the trial, and the trial ends when that process does. This is arranged first, and
/// by that id: if the process was killed before this line, our parent is now init, which would never end.
pub fn main(ordered_by: Option<OsString>, mut input: impl Read, mut output: impl Write) -> Result<()> {
    let parent =
        ordered_by.and_then(|id| id.to_str()?.parse().ok()).context("a trial process is started by schedlab")?;
    process::die_with_parent(parent).context("the trial cannot be tied to its parent process")?;
    let mut text = Vec::new();
    input.read_to_end(&mut text).context("the trial order cannot be read")?;
    let order: TrialOrder = serde_json::from_slice(&text).context("the trial order is not one")?;
    drop(text);
    let outcome = run(&order)?;
    // Serialized into memory, like all JSON of this program: a serializer for each kind of output would make the binary
    // larger.
    let answer = serde_json::to_vec(&outcome).context("the answer cannot be written")?;
    output.write_all(&answer).and_then(|()| output.flush()).context("the answer cannot be written")
}

fn run(order: &TrialOrder) -> Result<TrialOutcome> {
    let mut workload = schedlab_bench::parse(&order.workload)?;
    // The workload's tasks inherit the name: in traces and in ps the tasks of `pipe/1` are called `pipe`, not `exe`
    // after the file that was executed (/proc/self/exe).
    process::set_name(&CString::new(workload.info().name)?);
    workload.check(&schedlab_bench::Limits::raise_and_read(Path::new("/proc"))?)?;
    let mut load = start_load(order)?;
    let started_ns = clock::monotonic_ns();
    let result = run_beside_load(order, workload.as_mut(), load.as_mut());
    // If a load ended early, that is also the reason for what failed after it.
    if let Some(why) = load.as_mut().and_then(Load::trouble) {
        bail!("{why}");
    }
    let loads = load.map(|l| l.stop(clock::monotonic_ns() - started_ns)).unwrap_or_default();
    let mut outcome = result?;
    if let Some(dead) = loads.iter().find(|l: &&LoadReport| !l.alive) {
        bail!("the background load `{}` died during the trial", dead.spec);
    }
    outcome.loads = loads;
    Ok(outcome)
}

/// A separate load starts before this process joins the arm's cgroup; a shared one after.
fn start_load(order: &TrialOrder) -> Result<Option<Load>> {
    let separate = order.load_group == LoadGroup::Separate;
    let start = || -> Result<Option<Load>> {
        if order.load.is_empty() { Ok(None) } else { Ok(Some(Load::start(&order.load, separate)?)) }
    };
    if separate {
        let load = start()?;
        join_cgroups(order)?;
        Ok(load)
    } else {
        join_cgroups(order)?;
        start()
    }
}

fn join_cgroups(order: &TrialOrder) -> Result<()> {
    for procs in &order.cgroup_procs {
        std::fs::write(procs, std::process::id().to_string())
            .with_context(|| format!("the trial cannot join its cgroup through {}", procs.display()))?;
    }
    Ok(())
}

fn run_beside_load(
    order: &TrialOrder,
    workload: &mut dyn schedlab_bench::Workload,
    load: Option<&mut Load>,
) -> Result<TrialOutcome> {
    let own_net = workload.enter_own_net()? || order.net_namespace && enter_new_net()?;
    let net = order.settings.iter().filter(|s| s.is_net_sysctl());
    let applied = net.map(|s| schedlab_tune::net_sysctl(&Roots::default(), s)).collect();
    let per_task: Vec<Setting> = order.settings.iter().filter(|s| s.is_per_task()).cloned().collect();
    let delay = per_task.iter().find_map(|s| match s {
        Setting::PlantSpin { ns } => Some(*ns),
        _ => None,
    });
    let delay_stall = per_task.iter().find_map(|s| match s {
        Setting::PlantStall { ns, period_ns } => Some(Stall { ns: *ns, period_ns: *period_ns }),
        _ => None,
    });
    let switched_delay = order
        .switchback
        .as_ref()
        .is_some_and(|s| s.a.iter().chain(&s.b).any(|s| matches!(s, Setting::PlantSpin { .. })));
    // Before anything is applied, the switchback notes the values to which keys return that an arm does not name.
    let mut control = Control::new(order, per_task, load, own_net);
    control.apply_to_self();
    let run_order = RunOrder {
        stamping: order.stamping,
        seed: order.seed,
        delay_spin_ns: delay.or(switched_delay.then_some(0)),
        delay_stall,
        // Pinning chooses from the CPUs that the arm allows.
        topology: Topology::read(Path::new("/sys"))?,
        cgroups: order.workload_cgroups.clone(),
        trace_instance: order.trace_instance.clone(),
        dither: dither_of(&std::fs::read_to_string("/proc/cmdline").unwrap_or_default(), order.seed),
        keep_slowest: order.trace.as_ref().is_some_and(|trace| trace.out.is_some()),
    };
    let outcome = workload.run(&run_order, &mut control);
    // If the workload could not run because the kernel refused a setting, the refusal is the reason to report.
    let mut outcome = outcome.map_err(|e| anyhow!("{e}"))?;
    control.finish(&mut outcome, applied);
    Ok(outcome)
}

/// What the tasks do before they start, in a guest of the virtual lane. Like the lane it belongs to the machine; in a
/// guest that resumed from a saved state it belongs to the sample.
fn dither_of(command_line: &str, sample_seed: u64) -> Option<Dither> {
    let is_kept = command_line.split_ascii_whitespace().any(|word| word == KEPT);
    match Provenance::of_command_line(command_line)?.lane {
        Lane::Virtual(boot) if is_kept => Virtual { seed: sample_seed, ..boot }.dither(),
        Lane::Virtual(parameters) => parameters.dither(),
        Lane::Real { .. } => None,
    }
}

/// A network namespace for the trial if its workload does not create one; returns `true`.
fn enter_new_net() -> Result<bool> {
    schedlab_sys::namespace::enter_new_net()
        .context("a network namespace of the trial's own was refused (net.* sysctls need root or user namespaces)")?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_dithered_in_guests_of_the_virtual_lane_alone() {
        let line = "quiet schedlab.lane=virtual schedlab.shift=3 schedlab.seed=7 schedlab.dither_us=12000 schedlab.qemu=10.0.2";
        let dither = dither_of(line, 5).unwrap();
        assert!((0..100).all(|task| dither.ns_of(task) < 12_000_000));
        assert_eq!(dither_of(line, 6), Some(dither), "the boot's");
        let kept = |seed| dither_of(&format!("{line} {KEPT}"), seed).unwrap();
        assert!(kept(5) != kept(6) && kept(7) == dither, "the sample's");
        for other in [
            "",
            "quiet ro",
            "schedlab.lane=real schedlab.accelerator=tcg schedlab.dither_us=12000",
            &line.replace("seed=7", "seed=0"),
            &line.replace("schedlab.dither_us=12000", ""),
        ] {
            assert_eq!(dither_of(other, 5), None, "{other}");
        }
    }
}
