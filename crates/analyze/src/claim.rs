//! Verdicts as sentences: neutral words, the uncertainty in brackets, the evidence after a colon. Small ratios are
//! given as percentages, large ones as factors.

use crate::findings::*;
use crate::metric_name::metric_name;
use crate::number::percent_within;
use crate::phrase::{Phrase, phrase, times};
use schedlab_plan::{Arm, InOrder, Setting, WorkloadSpec, counted};

/// One claim for each workload, arm and primary metric: differences first, A/A controls last.
pub(crate) fn claims(findings: &Findings) -> Vec<Claim> {
    let mut claims: Vec<(u8, Claim)> = Vec::new();
    for workload in &findings.workloads {
        if !findings.factors.is_empty() {
            // In a factorial, a single arm is not a question of its own.
            claims.extend(main_effects(findings, workload));
            continue;
        }
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
    claims.in_order_by_key(|(rank, _)| *rank);
    claims.into_iter().map(|(_, claim)| claim).collect()
}

fn rank(contrast: &Contrast) -> u8 {
    match &contrast.verdict {
        _ if contrast.is_aa => 5,
        Verdict::Equivalent => 1,
        Verdict::Inconclusive => 2,
        Verdict::NoVerdict { .. } => 4,
        _ => 0,
    }
}

/// The effect of each factor, averaged over the others.
fn main_effects<'f>(findings: &'f Findings, workload: &'f WorkloadFindings) -> impl Iterator<Item = (u8, Claim)> + 'f {
    workload.main_effects.iter().filter_map(move |effect| {
        let metric = workload.metrics.iter().find(|m| m.name == effect.metric)?;
        let factor = findings.factors.get(effect.factor as usize)?;
        let level = |spec: &str| if spec.is_empty() { "the default".to_owned() } else { spec.to_owned() };
        let (high, low) = (level(&factor.high), level(&factor.low));
        let contrast = &effect.contrast;
        let over = format!(", main effect over {} arms", effect.low_arms.len() + effect.high_arms.len());
        let sentence = sentence_of((&high, &low), findings, workload, metric, contrast) + &over;
        let (arm, verdict) = (contrast.arm, contrast.verdict.clone());
        Some((
            rank(contrast),
            Claim { sentence, workload: workload.workload, arm, metric: effect.metric.clone(), verdict },
        ))
    })
}

/// The shortest label of a workload that the plan allows: its name, the options in which it differs from others of that
/// name, and its load if only the load differs.
pub fn workload_label(findings: &Findings, workload: &WorkloadFindings) -> String {
    let Some(own) = shared_spec(findings, workload) else { return workload.spec.clone() };
    let others = findings.workloads.iter().filter(|w| w.workload != workload.workload);
    let others: Vec<WorkloadSpec> = others.filter_map(|other| shared_spec(findings, other)).collect();
    let label = own.label_among(others.iter());
    let has_both_loads = findings.workloads.iter().any(|w| w.spec == workload.spec && w.load != workload.load);
    if has_both_loads { label + &beside(&workload.load) } else { label }
}

/// What all arms run: the workload without the options that an arm sets for itself.
pub fn shared_spec(findings: &Findings, workload: &WorkloadFindings) -> Option<WorkloadSpec> {
    let settings: Vec<Setting> = findings.arms.iter().flat_map(settings).collect();
    Some(workload.spec.parse::<WorkloadSpec>().ok()?.shared_by(&settings))
}

fn settings(arm: &ArmInfo) -> Vec<Setting> {
    Arm::parse(&arm.name, &arm.spec).map(|arm| arm.settings).unwrap_or_default()
}

/// The command that an arm sets for itself.
fn command(arm: &ArmInfo) -> Option<String> {
    settings(arm).into_iter().find_map(|setting| match setting {
        Setting::WorkloadOption { key, value } if key == "command" => Some(value),
        _ => None,
    })
}

/// Whether the arms compare commands, not settings of a workload.
fn is_of_commands(findings: &Findings) -> bool {
    findings.arms.iter().any(|arm| command(arm).is_some())
}

/// ` beside burn:1`, or nothing.
pub fn beside(load: &[String]) -> String {
    if load.is_empty() { String::new() } else { format!(" beside {}", load.join(", ")) }
}

/// The name of an arm. If the arm has its own command, which is then what is compared, the command follows in
/// parentheses: "B (`xz -k FILE`)".
fn arm_name(findings: &Findings, arm: u32) -> String {
    const LONGEST: usize = 48;
    let Some(arm) = findings.arms.get(arm as usize) else { return "?".to_owned() };
    let Some(mut command) = command(arm) else { return arm.name.clone() };
    if let Some((end, _)) = command.char_indices().nth(LONGEST) {
        command.replace_range(end.., "…");
    }
    format!("{} (`{command}`)", arm.name)
}

/// The sentence of one contrast.
pub(crate) fn sentence(
    findings: &Findings,
    workload: &WorkloadFindings,
    metric: &MetricFindings,
    contrast: &Contrast,
) -> String {
    sentence_of(
        (&arm_name(findings, contrast.arm), &arm_name(findings, contrast.control)),
        findings,
        workload,
        metric,
        contrast,
    )
}

/// The sentence of one contrast between two named sides.
fn sentence_of(
    (arm, control): (&str, &str),
    findings: &Findings,
    workload: &WorkloadFindings,
    metric: &MetricFindings,
    contrast: &Contrast,
) -> String {
    let label = workload_label(findings, workload);
    let evidence = evidence(findings, workload, contrast);
    let prefix = if contrast.is_aa { "A/A control: " } else { "" };
    let several = workload.metrics.iter().filter(|m| m.role == Role::Primary).count() > 1;
    let on = if several { format!("{label} ({})", metric_name(&metric.name)) } else { label.clone() };
    let shown = contrast.effect.map(|effect| phrase(metric, &effect));
    let sesoi = percent_within(findings.rules.sesoi, findings.rules.sesoi);
    match (&contrast.verdict, shown) {
        (Verdict::Equivalent, Some(phrase)) => {
            format!(
                "{prefix}{arm} and {control} are within {sesoi} of each other on {on}: {}, {evidence}",
                phrase.short
            )
        }
        (Verdict::Equivalent, None) => format!("{prefix}{arm} and {control} are the same on {on}: {evidence}"),
        (Verdict::Inconclusive, Some(phrase)) => {
            let more = contrast.more_units.map(|more| format!("; {}", more.in_words(&contrast.unit_name)));
            let more = more.unwrap_or_default();
            format!("{prefix}{arm} against {control} on {on} is inconclusive: {}, {evidence}{more}", phrase.short)
        }
        (Verdict::Inconclusive, None) => format!("{prefix}{arm} against {control} on {on} is inconclusive: {evidence}"),
        (Verdict::NoVerdict { reason, .. }, None) => {
            format!("{prefix}no verdict on {arm} against {control} on {on}: {reason}")
        }
        (Verdict::NoVerdict { reason, .. }, Some(phrase)) => {
            format!("{prefix}no verdict on {arm} against {control} on {on}: {reason} (descriptive: {})", phrase.short)
        }
        (_, Some(phrase)) if is_of_commands(findings) => {
            format!("{prefix}{arm} {}: {evidence}", than(&phrase, metric, control, several))
        }
        (_, Some(phrase)) if several && !phrase.names_metric => {
            format!("{prefix}{arm} makes {label} {} by {}: {evidence}", phrase.full, metric_name(&metric.name))
        }
        (_, Some(phrase)) => format!("{prefix}{arm} makes {label} {}: {evidence}", phrase.full),
        (_, None) => format!("{prefix}{arm} differs from {control} on {on}: {evidence}"),
    }
}

/// One command compared with another: `is 7 times slower [6, 8] than A`.
fn than(phrase: &Phrase, metric: &MetricFindings, control: &str, several: bool) -> String {
    let by = if several && !phrase.names_metric { format!(" by {}", metric_name(&metric.name)) } else { String::new() };
    match &phrase.itself {
        None => format!("differs from {control}: {}", phrase.short),
        Some(itself) => format!("{itself} than {control}{by}"),
    }
}

fn evidence(findings: &Findings, workload: &WorkloadFindings, contrast: &Contrast) -> String {
    let level = contrast.effect.map_or(String::new(), |e| format!(", {:.0} % interval", e.level * 100.0));
    let units = counted(contrast.units, &contrast.unit_name);
    // If some blocks were cut or repeated, the number of blocks run is shown as well.
    let blocks = &workload.contamination.blocks;
    let out = workload.warm_up.blocks_cut + blocks.iter().filter(|b| b.repeated_by.is_some()).count();
    let is_of_one_run = !matches!(findings.source, Source::TwoRuns { .. });
    match is_of_one_run && contrast.unit_name == "blocks" && out > 0 {
        true => format!("{} of {}{level}", contrast.units, counted(contrast.units + out, "blocks")),
        false => format!("{units}{level}"),
    }
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
        let evidence = evidence(findings, workload, contrast);
        let control = arm_name(findings, contrast.control);
        let sentence = match is_of_commands(findings) {
            true => format!("{arm} is {phrase} from trial to trial than {control}: {evidence}"),
            false => format!("{arm} makes {label} {phrase} from trial to trial: {evidence}"),
        };
        let metric = workload.metrics.first().map(|m| m.name.clone()).unwrap_or_default();
        let verdict = contrast.verdict.clone();
        Some(Claim { sentence, workload: workload.workload, arm: contrast.arm, metric, verdict })
    })
}
