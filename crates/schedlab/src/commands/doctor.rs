//! `schedlab doctor`: what this host can and cannot measure, why, and how to fix it.

use super::bench::run_once;
use super::report::open;
use crate::cli::{Doctor, OutputOptions};
use crate::exit;
use crate::output::{colour, print_answer, terminal_width, to_stdout};
use anyhow::{Context, Result};
use schedlab_analyze::Change;
use schedlab_host::Probes;
use schedlab_plan::{
    Check, CheckState, CounterLevel, Environment, LoadGroup, Manifest, Stamping, TrialOrder, TrialRecord,
};
use schedlab_trial::{Experiment, HostRunner, Store, prepare};
use serde::Serialize;

/// The answer of `doctor`.
#[derive(Debug, Serialize)]
struct Looked {
    /// The machine and its checks.
    environment: Environment,
    /// With `--noise`: the A/A noise floor, a sentence each.
    noise: Option<Vec<String>>,
}

/// The answer of `doctor --against`.
#[derive(Debug, Serialize)]
struct Against {
    /// What differs between the machine at the start of the run and now.
    changes: Vec<Change>,
}

pub(super) fn run(args: &Doctor) -> Result<u8> {
    let mut environment = environment(true);
    if let Some(dir) = &args.against {
        return against(&open(dir)?.manifest.environment, &environment, &args.answer);
    }
    environment.checks.extend(super::vm::kvm_check(&environment.cmdline));
    environment.checks.push(knobs());
    let noise = if args.noise { Some(noise_floor(&environment)?) } else { None };
    if args.answer.json {
        print_answer("schedlab/doctor/1", &Looked { environment, noise }, args.answer.top)?;
        return Ok(exit::DONE);
    }
    to_stdout(|out| {
        schedlab_report::checks_text(&environment, terminal_width(), colour(), out)?;
        noise.iter().flatten().try_for_each(|line| writeln!(out, "{line}"))
    })?;
    Ok(exit::DONE)
}

/// What differs between the machine at the start of a run and this one now.
fn against(then: &Environment, now: &Environment, answer: &OutputOptions) -> Result<u8> {
    let changes = schedlab_analyze::changes(then, now);
    if answer.json {
        print_answer("schedlab/doctor-against/1", &Against { changes }, answer.top)?;
    } else {
        to_stdout(|out| {
            changes.iter().try_for_each(|c| writeln!(out, "{}: `{}` then, `{}` now", c.what, c.before, c.after))?;
            writeln!(out, "{}", schedlab_plan::counted(changes.len(), "differences"))
        })?;
    }
    Ok(exit::DONE)
}

/// Knobs whose value is not the default of this kernel version.
fn knobs() -> Check {
    let all = schedlab_tune::catalogue(&schedlab_tune::Roots::default());
    let moved = all.iter().filter(|knob| knob.set == "host" && knob.is_default() == Some(false));
    let moved = moved.map(|knob| {
        let value = knob.value.as_deref().unwrap_or_default();
        format!("{}={value} (default {})", knob.name, knob.default.join(" or "))
    });
    let moved: Vec<String> = moved.collect();
    let hidden = all.iter().filter(|knob| knob.set == "host" && knob.path.is_some() && knob.value.is_none()).count();
    let hidden = if hidden > 0 {
        format!("; {} cannot be read", schedlab_plan::counted(hidden, "knobs"))
    } else {
        String::new()
    };
    Check {
        id: "knobs".into(),
        title: "knobs of the kernel".into(),
        state: CheckState::Info,
        value: if moved.is_empty() {
            format!("at their defaults{hidden}")
        } else {
            format!("{}{hidden}", moved.join(", "))
        },
        effect: "results are those of these settings, in all arms that do not name them".into(),
        evidence: "schedlab tune show".into(),
        fix: String::new(),
    }
}

/// The round trip on one CPU and between two, a tenth of a second each. A machine with one CPU has no second figure.
fn probes() -> Probes {
    Probes { round_trip_same_ns: round_trip("same"), round_trip_apart_ns: round_trip("apart") }
}

fn round_trip(pin: &str) -> Option<f64> {
    let order = TrialOrder {
        workload: format!("pipe:pin={pin},duration=100ms").parse().ok()?,
        settings: Vec::new(),
        stamping: Stamping::Off,
        counters: CounterLevel::Basic,
        calls: Vec::new(),
        load: Vec::new(),
        load_group: LoadGroup::Same,
        net_namespace: false,
        cgroup_procs: Vec::new(),
        workload_cgroups: Vec::new(),
        trace: None,
        trace_instance: None,
        switchback: None,
        seed: 1,
    };
    let outcome = run_once(&order, &[]).ok()?;
    outcome.metrics.iter().find(|m| m.name == "round_trips_per_s").map(|m| 1e9 / m.value)
}

/// The current environment; with round-trip probes only if a run is about to begin.
pub(crate) fn environment(probe: bool) -> Environment {
    let probes = if probe { probes() } else { Probes::default() };
    let knobs = schedlab_tune::values(&schedlab_tune::Roots::default());
    Environment { knobs, ..schedlab_host::environment(&schedlab_host::Roots::default(), probes) }
}

/// A store that keeps nothing, because the noise floor is only printed.
struct Forget;

impl Store for Forget {
    fn trial(&mut self, _record: &TrialRecord) -> Result<()> {
        Ok(())
    }
    fn manifest(&mut self, _manifest: &Manifest) -> Result<()> {
        Ok(())
    }
}

/// Compares two equal arms in twelve blocks: the smallest difference that such a comparison can detect, and the
/// difference that it found between equal arms.
fn noise_floor(environment: &Environment) -> Result<Vec<String>> {
    let plan = schedlab_plan::Plan::parse(NOISE_PLAN).context("the built-in noise plan")?;
    let manifest = prepare::manifest(&plan, Vec::new(), environment.clone())?;
    let interrupt = schedlab_sys::interrupt::Interrupt::catch()?;
    let mut experiment = Experiment {
        manifest,
        trials: Vec::new(),
        runner: &mut HostRunner::of_this_host()?,
        watch: Some(crate::trial_host::watch()),
        store: &mut Forget,
        traces: std::env::temp_dir(),
        events: &mut |_| {},
        interrupted: &|| interrupt.requested(),
        clock: &schedlab_sys::clock::monotonic_ns,
        wall_clock: &schedlab_sys::clock::realtime_ns,
        known: Default::default(),
    };
    experiment.run()?;
    let findings = schedlab_analyze::compare(&experiment.manifest, &experiment.trials);
    let noise = |w: &schedlab_analyze::WorkloadFindings| {
        let contrasts = w.metrics.iter().flat_map(|m| &m.contrasts);
        let stated = contrasts.filter_map(|c| Some(c.noise.as_ref()?.sentence.clone()));
        let said = stated.chain(w.aa_comparisons.iter().map(|c| c.sentence.clone()));
        said.map(|sentence| format!("noise, {}: {sentence}", w.spec)).collect::<Vec<_>>()
    };
    Ok(findings.workloads.iter().flat_map(noise).collect())
}

const NOISE_PLAN: &str = r#"
title = "A/A noise floor"
trials = 12
trial = "0.15s"
latency = "off"
counters = "basic"
[[workload]]
run = "pipe:pin=same"
[[workload]]
run = "messaging:groups=2,transport=unix"
[[arm]]
name = "A"
[[arm]]
name = "A again"
"#;
