//! The A/A comparison of a run: how far two things that are equal by design were measured apart, as an estimate whose
//! interval should include no effect. It uses an A/A arm if the plan has one, otherwise the control against itself,
//! because each block contains the control twice.

use crate::contrasts::control_twice;
use crate::findings::*;
use crate::metric_name::metric_name;
use crate::phrase::phrase;
use crate::selection::{Fate, Selection};
use crate::workload::Workload;
use schedlab_plan::manifest::OrderKnown;
use schedlab_plan::{MIN_UNITS, counted};
use std::collections::{BTreeMap, BTreeSet};

/// One A/A comparison for each primary metric and A/A arm; without A/A arms, one for each primary metric from the
/// control's own trials.
pub(crate) fn aa_comparisons(part: &Workload<'_>, workload: &WorkloadFindings, arms: &[ArmInfo]) -> Vec<AaComparison> {
    let primaries = || workload.metrics.iter().filter(|m| m.role == Role::Primary);
    let of_arms = primaries().flat_map(|m| m.contrasts.iter().filter(|c| c.is_aa).map(move |c| (m, c)));
    let of_arms: Vec<AaComparison> = of_arms
        .map(|(metric, contrast)| {
            let name = |arm: u32| arms.get(arm as usize).map_or("?", |a| a.name.as_str());
            let pair =
                format!("{} against {}, which have the same settings", name(contrast.arm), name(contrast.control));
            aa_comparison(Equals::AaArm, metric, contrast, &pair, ("", "something besides the settings differs"))
        })
        .collect();
    // The order of the imported rows within a "block" is unknown.
    if !of_arms.is_empty() || part.manifest.order == OrderKnown::Unknown {
        return of_arms;
    }
    let order = Within::of(&part.selection);
    let of_control = part.keys.iter().zip(&workload.metrics).filter(|(key, _)| key.role == Role::Primary);
    of_control
        .filter_map(|(key, metric)| {
            let contrast = part.equal_units(key, &control_twice(&part.selection, key, 0).ok()?);
            let seen = contrast.units >= MIN_UNITS && contrast.effect.is_some();
            let pair = "the control's second trial of a block against its first";
            seen.then(|| aa_comparison(Equals::ControlTwice, metric, &contrast, pair, order.words()))
        })
        .collect()
}

/// `known` says what else is part of the figure; `cause` is the possible cause if the interval excludes no effect.
fn aa_comparison(
    equals: Equals,
    metric: &MetricFindings,
    contrast: &Contrast,
    pair: &str,
    (known, cause): (&str, &str),
) -> AaComparison {
    let none = |e: &Effect| if e.scale == Scale::Ratio { 1.0 } else { 0.0 };
    let includes = contrast.effect.is_none_or(|e| e.lo <= none(&e) && none(&e) <= e.hi);
    let units = counted(contrast.units, &contrast.unit_name);
    let mut sentence = match &contrast.effect {
        Some(effect) => format!("{pair}: {} on {}, {units}", phrase(metric, effect).short, metric_name(&metric.name)),
        None => format!("{pair}: no numbers on {}", metric_name(&metric.name)),
    };
    if !includes {
        sentence.push_str(&format!("; this excludes no effect: {cause}, or one time in twenty it is chance"));
    } else if !known.is_empty() && contrast.effect.is_some() {
        sentence.push_str(&format!(" ({known})"));
    }
    AaComparison {
        equals,
        arm: contrast.arm,
        metric: metric.name.clone(),
        units: contrast.units,
        effect: contrast.effect,
        includes_no_effect: includes,
        sentence,
    }
}

/// How the arms of a block follow each other in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// A permutation and its mirror: a linear drift is not part of the verdict.
    Mirrored,
    /// Each arm has a boot of its own for both its trials, one boot after the other (`[guest] per = "block"` with arms
    /// that are different machines).
    BootEach,
}

impl Within {
    /// Decides by the boots of the used trials: whether some arm never shares a boot with the control, in blocks where
    /// the control's trials share one. (A single block may look so if it was interrupted and resumed.)
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

    /// What else is part of the control against itself, and the possible cause of a difference. A mirrored block
    /// removes a linear drift from the verdict, but not from "second against first".
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Mirrored => (
                "this figure includes drift within a block; the mirrored order takes it out of the verdict",
                "the machine drifts within a block, which the mirrored order takes out of the verdict",
            ),
            Self::BootEach => (
                "they are of one boot: what differs from boot to boot is in the verdict and not in this figure",
                "a boot's second trial is not like its first, in the other arms' boots as well",
            ),
        }
    }
}
