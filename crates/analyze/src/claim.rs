//! Verdicts as sentences: neutral words, the uncertainty in brackets, the evidence behind a colon. Small ratios are
//! percentages, large ones factors.

use crate::findings::*;
use crate::words::{percent, phrase, times};

/// One claim per workload, arm and primary metric: A/A controls last, differences first.
pub(crate) fn claims(findings: &Findings) -> Vec<Claim> {
    let mut claims: Vec<(u8, Claim)> = Vec::new();
    for workload in &findings.workloads {
        for metric in workload.metrics.iter().filter(|m| m.role == Role::Primary) {
            for contrast in &metric.contrasts {
                let claim = Claim {
                    sentence: sentence(findings, workload, metric, contrast),
                    workload: workload.workload,
                    arm: contrast.arm,
                    metric: metric.name.clone(),
                    verdict: contrast.verdict.clone(),
                };
                claims.push((rank(contrast), claim));
            }
        }
        claims.extend(steadier(findings, workload).map(|claim| (3, claim)));
    }
    claims.sort_by_key(|(rank, _)| *rank);
    claims.into_iter().map(|(_, claim)| claim).collect()
}

fn rank(contrast: &Contrast) -> u8 {
    match contrast.verdict {
        _ if contrast.is_aa => 5,
        Verdict::Better | Verdict::Worse | Verdict::Higher | Verdict::Lower => 0,
        Verdict::Equivalent => 1,
        Verdict::Inconclusive => 2,
        Verdict::NoVerdict { .. } => 4,
    }
}

/// The workload as short as the plan allows: its name alone when no other has it.
pub(crate) fn workload_label(findings: &Findings, workload: &WorkloadFindings) -> String {
    let name = |w: &WorkloadFindings| w.spec.split([':', '/']).next().unwrap_or_default().to_owned();
    let own = name(workload);
    let alone = findings.workloads.iter().filter(|w| name(w) == own).count() == 1;
    if alone { own } else { workload.spec.clone() }
}

fn arm_name(findings: &Findings, arm: u32) -> &str {
    findings.arms.get(arm as usize).map_or("?", |a| a.name.as_str())
}

/// The sentence of one contrast.
pub(crate) fn sentence(
    findings: &Findings,
    workload: &WorkloadFindings,
    metric: &MetricFindings,
    contrast: &Contrast,
) -> String {
    let (arm, control) = (arm_name(findings, contrast.arm), arm_name(findings, contrast.control));
    let label = workload_label(findings, workload);
    let evidence = evidence(contrast);
    let prefix = if contrast.is_aa { "A/A control: " } else { "" };
    let several = workload.metrics.iter().filter(|m| m.role == Role::Primary).count() > 1;
    let on = if several { format!("{label} ({})", metric.name) } else { label.clone() };
    let shown = contrast.effect.map(|effect| phrase(metric, &effect));
    let sesoi = percent(findings.rules.sesoi, findings.rules.sesoi);
    match (&contrast.verdict, shown) {
        (Verdict::Equivalent, Some(phrase)) => {
            format!(
                "{prefix}{arm} and {control} are within {sesoi} of each other on {on}: {}, {evidence}",
                phrase.short
            )
        }
        (Verdict::Equivalent, None) => format!("{prefix}{arm} and {control} are the same on {on}: {evidence}"),
        (Verdict::Inconclusive, Some(phrase)) => {
            let more = match contrast.more_units {
                Some(n) => format!("; about {n} more {} would decide", unit(contrast, n)),
                None => String::new(),
            };
            format!("{prefix}{arm} against {control} on {on} is inconclusive: {}, {evidence}{more}", phrase.short)
        }
        (Verdict::Inconclusive, None) => format!("{prefix}{arm} against {control} on {on} is inconclusive: {evidence}"),
        (Verdict::NoVerdict { reason }, None) => {
            format!("{prefix}no verdict on {arm} against {control} on {on}: {reason}")
        }
        (Verdict::NoVerdict { reason }, Some(phrase)) => {
            format!("{prefix}no verdict on {arm} against {control} on {on}: {reason} (descriptive: {})", phrase.short)
        }
        (_, Some(phrase)) if several && !phrase.names_metric => {
            format!("{prefix}{arm} makes {label} {} by {}: {evidence}", phrase.full, metric.name)
        }
        (_, Some(phrase)) => format!("{prefix}{arm} makes {label} {}: {evidence}", phrase.full),
        (_, None) => format!("{prefix}{arm} differs from {control} on {on}: {evidence}"),
    }
}

fn evidence(contrast: &Contrast) -> String {
    let level = contrast.effect.map_or(String::new(), |e| format!(", {:.0} % interval", e.level * 100.0));
    format!("{} {}{level}", contrast.units, unit(contrast, contrast.units))
}

/// What so many of a contrast's units are called.
fn unit(contrast: &Contrast, n: usize) -> &str {
    if n == 1 { contrast.unit_name.trim_end_matches('s') } else { &contrast.unit_name }
}

/// "B is not faster, but three times steadier" is a finding.
fn steadier<'f>(findings: &'f Findings, workload: &'f WorkloadFindings) -> impl Iterator<Item = Claim> + 'f {
    let judged = workload.dispersion.iter().filter(|c| !c.is_aa);
    judged.filter_map(move |contrast| {
        let effect = contrast.effect?;
        let turned = Effect { value: 1.0 / effect.value, lo: 1.0 / effect.hi, hi: 1.0 / effect.lo, ..effect };
        let phrase = match contrast.verdict {
            Verdict::Better => times(&turned, "steadier"),
            Verdict::Worse => times(&effect, "less steady"),
            _ => return None,
        };
        let (arm, label) = (arm_name(findings, contrast.arm), workload_label(findings, workload));
        let sentence = format!("{arm} makes {label} {phrase} from trial to trial: {}", evidence(contrast));
        let metric = workload.metrics.first().map(|m| m.name.clone()).unwrap_or_default();
        let verdict = contrast.verdict.clone();
        Some(Claim { sentence, workload: workload.workload, arm: contrast.arm, metric, verdict })
    })
}

/// What the A/A arms say of the noise.
pub(crate) fn certificates(workload: &WorkloadFindings, arms: &[ArmInfo]) -> Vec<NoiseCertificate> {
    let primaries = workload.metrics.iter().filter(|m| m.role == Role::Primary);
    let contrasts = primaries.flat_map(|m| m.contrasts.iter().filter(|c| c.is_aa).map(move |c| (m, c)));
    contrasts
        .map(|(metric, contrast)| {
            let none = |e: &Effect| if e.scale == Scale::Ratio { 1.0 } else { 0.0 };
            let includes = contrast.effect.is_some_and(|e| e.lo <= none(&e) && none(&e) <= e.hi);
            let floor = contrast
                .effect
                .filter(|e| e.scale == Scale::Ratio)
                .map(|e| e.lo.ln().abs().max(e.hi.ln().abs()).exp_m1());
            let name = arms.get(contrast.arm as usize).map_or("?", |a| a.name.as_str());
            let sentence = match (floor, includes) {
                (Some(floor), true) => format!(
                    "{name} has the control's settings and differs by no more than {} on {}: smaller effects are noise here",
                    percent(floor, floor),
                    metric.name
                ),
                (Some(floor), false) => format!(
                    "{name} has the control's settings and yet its interval on {} excludes no effect (up to {}): one time in \
                     twenty that is chance, else something besides the settings differs",
                    metric.name,
                    percent(floor, floor)
                ),
                (None, _) => format!("{name} has the control's settings; no ratio on {}", metric.name),
            };
            NoiseCertificate {
                arm: contrast.arm,
                metric: metric.name.clone(),
                effect: contrast.effect,
                includes_no_effect: includes,
                noise_floor: floor.filter(|f| f.is_finite()),
                sentence,
            }
        })
        .collect()
}
