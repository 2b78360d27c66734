//! The noise certificate of a run: how far two things that are equal by design were measured apart, so that a reader knows
//! which effects are no larger than noise. From an A/A arm where the plan has one; else the control against itself, since
//! a block holds it twice.

use crate::contrasts::control_twice;
use crate::findings::*;
use crate::selection::{Fate, Selection};
use crate::words::percent;
use crate::workload::Workload;
use schedlab_run::LEAST_UNITS;
use schedlab_run::manifest::OrderKnown;
use std::collections::{BTreeMap, BTreeSet};

/// One certificate for each primary metric and A/A arm, or for each primary metric from the control's own trials.
pub(crate) fn certificates(
    part: &Workload<'_>,
    workload: &WorkloadFindings,
    arms: &[ArmInfo],
) -> Vec<NoiseCertificate> {
    let primaries = || workload.metrics.iter().filter(|m| m.role == Role::Primary);
    let of_arms = primaries().flat_map(|m| m.contrasts.iter().filter(|c| c.is_aa).map(move |c| (m, c)));
    let of_arms: Vec<NoiseCertificate> = of_arms
        .map(|(metric, contrast)| {
            let name = arms.get(contrast.arm as usize).map_or("?", |a| a.name.as_str());
            certificate(Equals::AaArm, metric, contrast, |floor, includes| aa_arm(name, &metric.name, floor, includes))
        })
        .collect();
    // Who knows what order imported rows of a "block" had.
    if !of_arms.is_empty() || part.manifest.order == OrderKnown::Unknown {
        return of_arms;
    }
    let order = Within::of(&part.selection);
    let of_control = part.keys.iter().zip(&workload.metrics).filter(|(key, _)| key.role == Role::Primary);
    of_control
        .filter_map(|(key, metric)| {
            let contrast = part.equal_units(key, &control_twice(&part.selection, key, 0).ok()?);
            let told = contrast.units >= LEAST_UNITS && contrast.effect.is_some();
            let say = |floor, includes| control_alone(&metric.name, floor, includes, order);
            told.then(|| certificate(Equals::ControlTwice, metric, &contrast, say))
        })
        .collect()
}

fn certificate(
    equals: Equals,
    metric: &MetricFindings,
    contrast: &Contrast,
    say: impl Fn(Option<f64>, bool) -> String,
) -> NoiseCertificate {
    let none = |e: &Effect| if e.scale == Scale::Ratio { 1.0 } else { 0.0 };
    let includes = contrast.effect.is_some_and(|e| e.lo <= none(&e) && none(&e) <= e.hi);
    let ratio = contrast.effect.filter(|e| e.scale == Scale::Ratio);
    let floor = ratio.map(|e| e.lo.ln().abs().max(e.hi.ln().abs()).exp_m1());
    NoiseCertificate {
        equals,
        arm: contrast.arm,
        metric: metric.name.clone(),
        units: contrast.units,
        effect: contrast.effect,
        includes_no_effect: includes,
        noise_floor: floor.filter(|f| f.is_finite()),
        sentence: say(floor, includes),
    }
}

fn aa_arm(name: &str, metric: &str, floor: Option<f64>, includes: bool) -> String {
    match (floor.map(|f| percent(f, f)), includes) {
        (Some(floor), true) => format!(
            "{name} has the control's settings and differs on average by no more than {floor} on {metric}: smaller effects are noise here"
        ),
        (Some(floor), false) => format!(
            "{name} has the control's settings and yet its interval on {metric} excludes no effect (up to {floor}): one \
             time in twenty that is chance, else something besides the settings differs"
        ),
        (None, _) => format!("{name} has the control's settings; no ratio on {metric}"),
    }
}

/// How the arms of a block follow each other in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// A permutation and its mirror: a linear drift is no part of the verdict.
    Mirrored,
    /// Both trials of an arm in a boot of their own, one boot after the other (`[guest] per = "block"` with arms that
    /// are different machines).
    BootEach,
}

impl Within {
    /// By the boots that the used trials ran under: whether there is an arm that never shares a boot with a control whose
    /// trials of the block share one. (A block that was interrupted and resumed may look so once.)
    fn of(selection: &Selection<'_>) -> Self {
        let control: BTreeMap<u32, BTreeSet<&str>> =
            selection.used(Some(0)).fold(BTreeMap::new(), |mut boots, trial| {
                boots.entry(trial.block).or_default().insert(&trial.boot_id);
                boots
            });
        let mut apart: BTreeMap<Option<u32>, bool> = BTreeMap::new();
        for trial in selection.rows.iter().filter(|row| row.fate == Fate::Used).map(|row| row.record) {
            let own = control.get(&trial.block);
            let elsewhere = own.is_some_and(|own| own.len() == 1 && !own.contains(trial.boot_id.as_str()));
            *apart.entry(trial.arm).or_insert(true) &= elsewhere;
        }
        if apart.into_values().any(|always| always) { Self::BootEach } else { Self::Mirrored }
    }
}

/// A mirrored block takes a linear drift out of the verdict, but not out of "first against second": a figure from the
/// control alone errs towards too much noise.
fn control_alone(metric: &str, floor: Option<f64>, includes: bool, order: Within) -> String {
    let twice = "the control's first and second trial of a block";
    let (drift, cause) = match order {
        Within::Mirrored => (
            "drift within a block is part of this figure and not of the verdict, so it errs on the safe side",
            "the machine drifts within a block, which the mirrored order takes out of the verdict",
        ),
        Within::BootEach => (
            "they are of one boot: what differs from boot to boot is noise of the verdict and no part of this figure",
            "a boot's second trial is not like its first, in the other arms' boots as well",
        ),
    };
    match (floor.map(|f| percent(f, f)), includes) {
        (Some(floor), true) => format!(
            "{twice} differ on average by no more than {floor} on {metric}: smaller effects may be noise here ({drift})"
        ),
        (Some(floor), false) => {
            format!("{twice} differ on {metric} (up to {floor}): {cause}, or one time in twenty it is chance")
        }
        (None, _) => format!("{twice} have no ratio on {metric}"),
    }
}
