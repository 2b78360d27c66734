//! What is said of a workload in sentences, shared by terminal, Markdown and page.

use crate::number::{given, percent, quantity};
use crate::words;
use schedlab_analyze::{Findings, Role, TierSplit, VarianceSplit, WorkloadFindings};
use schedlab_run::{CheckState, counted};

/// Remarks on a workload that no table holds. What [`problems`] says is not said again.
pub(crate) fn of_workload(findings: &Findings, workload: &WorkloadFindings) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let several = workload.metrics.iter().filter(|m| m.role == Role::Primary).count() > 1;
    for metric in workload.metrics.iter().filter(|m| m.role == Role::Primary) {
        for contrast in &metric.contrasts {
            let arm = words::arm_name(findings, contrast.arm);
            let on = if several { format!("{arm}, {}", metric.name) } else { arm.to_owned() };
            all.extend(contrast.notes.iter().map(|n| format!("{on}: {n}")));
        }
    }
    let kept = workload.certificates.iter().filter(|c| c.includes_no_effect);
    all.extend(kept.map(|c| words::full_stop(&format!("Noise certificate: {}", c.sentence))));
    all.extend(
        workload
            .modes
            .iter()
            .filter(|m| m.k > 1)
            .map(|m| format!("{}: {}", words::arm_name(findings, m.arm), words::full_stop(&m.sentence))),
    );
    all.extend(workload.tier_splits.iter().map(|s| tier_split(findings, s)));
    all.extend(tier_split_notes(&workload.tier_splits));
    all.extend(workload.variance.iter().map(variance));
    all.push(workload.warm_up.sentence.clone());
    for facts in &workload.arms {
        let arm = words::arm_name(findings, facts.arm);
        all.extend(facts.notes.iter().map(|r| format!("{arm}: {}: {}", counted(r.count, "trials"), r.text)));
    }
    all.extend(loads(findings, workload));
    all.retain(|s| !s.is_empty());
    all
}

/// What must be known before a number is read.
pub(crate) fn problems(findings: &Findings) -> Vec<String> {
    let said = findings.problems.iter().chain(&findings.environment.warnings);
    said.map(|text| words::full_stop(&words::with_labels(findings, text))).collect()
}

/// CPU time of each background load in a trial: the arms beside each other, in one sentence per load.
pub(crate) fn loads(findings: &Findings, workload: &WorkloadFindings) -> Vec<String> {
    let mut all: Vec<(&str, bool, Vec<String>)> = Vec::new();
    for facts in &workload.arms {
        for load in &facts.loads {
            let died = match load.died {
                0 => String::new(),
                n => format!(", died early in {}", counted(n, "trials")),
            };
            let arm = words::arm_name(findings, facts.arm);
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

/// Change of placement + change within tiers, in a sentence.
pub(crate) fn tier_split(findings: &Findings, s: &TierSplit) -> String {
    let ns = |x: f64| {
        let text = crate::number::ns(x);
        if x > 0.0 { format!("+{text}") } else { text }
    };
    let (arm, total) = (words::arm_name(findings, s.arm), ns(s.total_ns));
    let (between, within) = (ns(s.between_shares_ns), ns(s.within_ns));
    format!("{arm}: mean {} {total} = {between} by placement and {within} within tiers.", s.histogram)
}

/// How to read the splits, each way once.
pub(crate) fn tier_split_notes(splits: &[TierSplit]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for split in splits {
        if !notes.contains(&split.note) {
            notes.push(split.note.clone());
        }
    }
    notes
}

/// Where the variance comes from, in a sentence.
pub(crate) fn variance(v: &VarianceSplit) -> String {
    let mut text = format!(
        "Noise of {}: a trial varies by {}; {} of its variance is between blocks, {} between trials of a block",
        v.metric,
        percent(v.trial_sd),
        percent(v.block_share),
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

/// Checks that warn: value, what it does, what to do.
pub(crate) fn warnings(findings: &Findings) -> Vec<String> {
    let checks = findings.environment.checks.iter().filter(|c| c.state == CheckState::Warning);
    checks
        .map(|c| {
            let effect = c.effect.trim_end_matches('.');
            let mend =
                if c.mend.is_empty() { String::new() } else { format!("; mend: {}", c.mend.trim_end_matches('.')) };
            format!("{} ({}): {effect}{mend}.", c.title, c.value)
        })
        .collect()
}

/// Design, rules, and how the run ended.
pub(crate) fn rules(findings: &Findings) -> Vec<String> {
    let rules = &findings.rules;
    let mut all = vec![format!(
        "Design: {}; smallest effect of interest {}; stamping: {}; seed {}.",
        rules.design,
        given(rules.sesoi),
        rules.stamping,
        rules.seed
    )];
    all.extend(words::ended(&findings.ended));
    all
}
