//! Sentences about a workload, shared by terminal, Markdown and HTML.

use crate::number::{percent, quantity};
use crate::{labels, tables};
use schedlab_analyze::{
    Claim, Contrast, Findings, MetricFindings, Role, TierSplit, VarianceSplit, Verdict, Withheld, WorkloadFindings,
};
use schedlab_plan::{CheckState, counted, noun};

/// Claims without a decision are at the head of a report only up to this total number of claims.
const SHORT: usize = 8;

/// Remarks on a workload that are not in a table. Remarks that [`problems`] contains are not repeated.
pub(crate) fn of_workload(findings: &Findings, workload: &WorkloadFindings) -> Vec<String> {
    let mut all = contrast_notes(findings, workload, Role::Primary);
    all.extend(noise(findings, workload));
    let modes = workload.modes.iter().filter(|m| m.k > 1);
    all.extend(modes.map(|m| format!("{}: {}", labels::arm_name(findings, m.arm), labels::full_stop(&m.sentence))));
    all.extend(placed(workload));
    all.extend(workload.tier_splits.iter().map(|s| tier_split(findings, s)));
    all.extend(tier_split_notes(&workload.tier_splits));
    all.extend(workload.variance.iter().map(variance));
    all.extend([workload.warm_up.sentence.clone(), workload.contamination.sentence.clone()]);
    for facts in &workload.arms {
        let arm = labels::arm_name(findings, facts.arm);
        all.extend(
            facts
                .failed
                .iter()
                .map(|r| labels::full_stop(&format!("{arm}: {} failed: {}", counted(r.count, "trials"), r.text))),
        );
        all.extend(facts.notes.iter().map(|r| format!("{arm}: {}: {}", counted(r.count, "trials"), r.text)));
    }
    all.extend(loads(findings, workload));
    all.retain(|s| !s.is_empty());
    all
}

/// Notes on single contrasts.
pub(crate) fn contrast_notes(findings: &Findings, workload: &WorkloadFindings, role: Role) -> Vec<String> {
    let several = role == Role::Secondary || workload.metrics.iter().filter(|m| m.role == role).count() > 1;
    let metrics = workload.metrics.iter().filter(|m| m.role == role);
    let said = |(metric, contrast): (&MetricFindings, &Contrast)| {
        let arm = labels::arm_name(findings, contrast.arm);
        let on = if several { format!("{arm}, {}", labels::metric_name(&metric.name)) } else { arm.to_owned() };
        contrast.notes.iter().map(|n| format!("{on}: {n}")).collect::<Vec<_>>()
    };
    metrics.flat_map(|m| m.contrasts.iter().map(move |c| (m, c))).flat_map(said).collect()
}

/// Estimators and corrections, each with the number of contrasts that use it.
pub(crate) fn rests_on(workload: &WorkloadFindings, role: Role) -> Vec<String> {
    let contrasts = workload.metrics.iter().filter(|m| m.role == role).flat_map(|m| &m.contrasts);
    let mut all: Vec<(String, usize)> = Vec::new();
    for c in contrasts.filter(|c| c.effect.is_some()) {
        let text = [c.estimator.as_str(), c.adjustment.as_str()];
        let text = text.into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join("; ");
        match all.iter_mut().find(|(seen, _)| *seen == text) {
            Some((_, n)) => *n += 1,
            None => all.push((text, 1)),
        }
    }
    let said = |(text, n): (String, usize)| match n {
        1 => format!("1 contrast rests on: {text}."),
        n => format!("{n} contrasts rest on: {text}."),
    };
    all.into_iter().map(said).collect()
}

/// How large an estimate must be to count as a difference: a sentence for each primary verdict.
fn noise(findings: &Findings, workload: &WorkloadFindings) -> Vec<String> {
    let primaries = workload.metrics.iter().filter(|m| m.role == Role::Primary);
    let of_arms = primaries.flat_map(|m| m.contrasts.iter().map(move |c| (m, c)));
    let of_arms = of_arms.map(|(m, c)| (labels::arm_name(findings, c.arm), &m.name, c));
    let of_factors = workload.main_effects.iter().filter_map(|effect| {
        let factor = findings.factors.get(effect.factor as usize)?;
        Some((factor.name.as_str(), &effect.metric, &effect.contrast))
    });
    // The questions of a factorial are its main effects, not its arms.
    let asked: Vec<_> = if findings.factors.is_empty() { of_arms.collect() } else { of_factors.collect() };
    let said = |(name, metric, c): (&str, &String, &Contrast)| {
        let sentence = &c.noise.as_ref()?.sentence;
        Some(format!("Noise of {name} on {}: {sentence}.", labels::metric_name(metric)))
    };
    asked.into_iter().filter_map(said).collect()
}

/// The placement if there is only one tier, which no table and no picture shows.
fn placed(workload: &WorkloadFindings) -> Option<String> {
    match tables::tiers(workload).as_slice() {
        [tier] => Some(format!("Placement: {} in every operation of every arm.", labels::tier(*tier))),
        _ => None,
    }
}

/// The claims at the head of a report, and the rest, which are only in the tables. All claims of a difference or an
/// equivalence are at the head, plus as many of the others as keep it short.
pub(crate) fn claims(findings: &Findings) -> (Vec<&Claim>, Vec<&Claim>) {
    let is_aa = |c: &Claim| findings.arms.get(c.arm as usize).is_some_and(|a| a.is_aa);
    let open = |c: &Claim| c.verdict.is_open() || is_aa(c);
    let (mut head, mut rest) = (Vec::new(), Vec::new());
    for (i, claim) in findings.claims.iter().enumerate() {
        if i < SHORT || !open(claim) { head.push(claim) } else { rest.push(claim) }
    }
    (head, rest)
}

/// Replaces the claims that are not at the head.
pub(crate) fn more_claims(n: usize) -> String {
    format!("{n} more {}: inconclusive, without a verdict, or of the A/A control", noun(n, "comparisons"))
}

/// What a reader must know before any number.
pub(crate) fn problems(findings: &Findings) -> Vec<String> {
    let problems = findings.problems.iter().map(|p| p.to_string()).chain(findings.environment.warnings.iter().cloned());
    problems.map(|text| labels::full_stop(&labels::with_labels(findings, &text))).collect()
}

/// What weakens a comparison, the most important first, each with its fix: disturbances of the run, reasons why
/// questions have no verdict, checks that warn, and problems without a known fix. A problem of several workloads is
/// listed once.
pub(crate) fn weighed(findings: &Findings) -> Vec<(String, String)> {
    let mut all: Vec<(String, String, Vec<&str>)> = Vec::new();
    let mut add = |text: String, fix: &str, place| match all.iter_mut().find(|(seen, ..)| *seen == text) {
        Some((.., places)) => places.extend(place),
        None => all.push((text, fix.to_owned(), Vec::from_iter(place))),
    };
    for p in &findings.problems {
        add(p.text.clone(), &p.fix, Some(p.place.as_str()).filter(|place| !place.is_empty()));
    }
    for workload in &findings.workloads {
        for c in workload.metrics.iter().filter(|m| m.role == Role::Primary).flat_map(|m| &m.contrasts) {
            let Verdict::NoVerdict { why, reason } = &c.verdict else { continue };
            if let Some(fix) = fix(*why) {
                let arm = labels::arm_name(findings, c.arm);
                add(format!("no verdict on {arm}: {reason}"), fix, Some(workload.spec.as_str()));
            }
        }
    }
    for c in findings.environment.checks.iter().filter(|c| c.state == CheckState::Warning) {
        add(format!("{} ({}): {}", c.title, c.value, c.effect), &c.fix, None);
    }
    findings.environment.warnings.iter().for_each(|text| add(text.clone(), "", None));
    let several = findings.workloads.len() > 1;
    let found = |(text, fix, places): (String, String, Vec<&str>)| {
        let place = if several && places.len() == 1 { format!("{}: ", places[0]) } else { String::new() };
        (labels::with_labels(findings, &format!("{place}{text}")), fix)
    };
    all.into_iter().map(found).collect()
}

/// What makes a verdict possible; `None` if the problems of the run already contain the reason.
fn fix(why: Withheld) -> Option<&'static str> {
    Some(match why {
        Withheld::Void | Withheld::NotApplied | Withheld::Confounded => return None,
        Withheld::MarksDiffer => "measure on an idle machine: `schedlab doctor` names what runs",
        Withheld::LossesDiffer => "--full has the reasons of the failures",
        Withheld::CarryOver => "a longer window (--design switchback=200ms), or whole trials",
        Withheld::TooFewUnits => {
            "more blocks (--trials, or a plan's `trials`; where boots are the units, its `boots`), or more time (--budget)"
        }
        Withheld::NoLook => "more time (--budget)",
        Withheld::NotPerOperation | Withheld::OfMachine | Withheld::NoNumbers => "",
    })
}

/// CPU time of each background load in a trial: all arms in one sentence per load.
fn loads(findings: &Findings, workload: &WorkloadFindings) -> Vec<String> {
    let mut all: Vec<(&str, bool, Vec<String>)> = Vec::new();
    for facts in &workload.arms {
        for load in &facts.loads {
            let died = match load.died {
                0 => String::new(),
                n => format!(", died early in {}", counted(n, "trials")),
            };
            let arm = labels::arm_name(findings, facts.arm);
            let share = load.achieved_share.map(|s| format!(" ({})", percent(s))).unwrap_or_default();
            let got = format!("{}{share} beside {arm}{died}", quantity(load.cpu_s, "s"));
            match all.iter_mut().find(|(spec, ..)| *spec == load.spec) {
                Some((.., arms)) => arms.push(got),
                None => all.push((&load.spec, load.achieved_share.is_some(), vec![got])),
            }
        }
    }
    let said = |(spec, asks, arms): (&str, bool, Vec<String>)| {
        let share = if asks { " and its share of what was asked for" } else { "" };
        format!("CPU time of the load {spec} in a trial{share}: {}.", arms.join("; "))
    };
    all.into_iter().map(said).collect()
}

/// Change of placement + change within tiers, as a sentence.
pub(crate) fn tier_split(findings: &Findings, s: &TierSplit) -> String {
    let ns = |x: f64| {
        let text = crate::number::ns(x);
        if x > 0.0 { format!("+{text}") } else { text }
    };
    let (arm, total) = (labels::arm_name(findings, s.arm), ns(s.total_ns));
    let (between, within) = (ns(s.between_shares_ns), ns(s.within_ns));
    format!("{arm}: mean {} {total} = {between} by placement and {within} within tiers.", s.histogram)
}

/// How to read the splits, each explanation once.
pub(crate) fn tier_split_notes(splits: &[TierSplit]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for split in splits {
        if !notes.contains(&split.note) {
            notes.push(split.note.clone());
        }
    }
    notes
}

/// The sources of the variance, as a sentence.
pub(crate) fn variance(v: &VarianceSplit) -> String {
    let mut text = format!(
        "Spread of {}: a trial varies by {}; {}{} of its variance is between blocks{}, {} between trials of a block",
        labels::metric_name(&v.metric),
        percent(v.trial_sd),
        v.boot_share.map_or(String::new(), |share| format!("{} is between boots, ", percent(share))),
        percent(v.block_share),
        if v.boot_share.is_some() { " of a boot" } else { "" },
        percent(v.trial_share)
    );
    for (share, what) in [(v.tier_explained, "placement"), (v.steal_explained, "steal")] {
        if let Some(share) = share {
            text.push_str(&format!("; {what} goes with {} of it", percent(share)));
        }
    }
    text.push('.');
    text
}

/// Checks that warn: value, effect, fix.
pub(crate) fn warnings(findings: &Findings) -> Vec<String> {
    let checks = findings.environment.checks.iter().filter(|c| c.state == CheckState::Warning);
    checks
        .map(|c| {
            let effect = c.effect.trim_end_matches('.');
            let fix = if c.fix.is_empty() { String::new() } else { format!("; fix: {}", c.fix.trim_end_matches('.')) };
            format!("{} ({}): {effect}{fix}.", c.title, c.value)
        })
        .collect()
}
