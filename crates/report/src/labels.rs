//! Labels for arms, verdicts, roles, tiers and other parts of findings.

use schedlab_analyze::beside;
pub(crate) use schedlab_analyze::metric_name;
pub(crate) use schedlab_analyze::workload_label;
use schedlab_analyze::{Contrast, Findings, MetricFindings, Role, TradeoffObjective, Verdict, WorkloadFindings};
use schedlab_plan::manifest::Environment;
use schedlab_plan::{CheckState, Direction, Manifest, Tier, counted};

/// The name of an arm.
pub(crate) fn arm_name(findings: &Findings, arm: u32) -> &str {
    findings.arms.get(arm as usize).map_or("?", |a| a.name.as_str())
}

/// The arms for which counters, placement and latencies are known, with their names: all of them, or one that stands
/// for both arms if a trial contains both.
pub(crate) fn fact_arms(findings: &Findings, workload: &WorkloadFindings) -> Vec<(u32, String)> {
    let mut contrasts = workload.metrics.iter().flat_map(|m| &m.contrasts);
    if contrasts.any(|c| c.shares_trials) {
        return vec![(0, "both arms".to_owned())];
    }
    arms(findings)
}

/// A verdict in one or two words.
pub(crate) fn verdict(v: &Verdict) -> &'static str {
    match v {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Higher => "higher",
        Verdict::Lower => "lower",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
        Verdict::NoVerdict { .. } => "no verdict",
    }
}

/// The reason of a missing verdict.
pub(crate) fn reason(v: &Verdict) -> Option<&str> {
    match v {
        Verdict::NoVerdict { reason, .. } => Some(reason),
        _ => None,
    }
}

/// Words with a capital at the beginning.
pub(crate) fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// A sentence with its full stop.
pub(crate) fn full_stop(text: &str) -> String {
    if text.ends_with(['.', '!', '?']) || text.is_empty() { text.to_owned() } else { format!("{text}.") }
}

/// An arm's settings as text.
pub(crate) fn spec<'a>(findings: &Findings, spec: &'a str) -> &'a str {
    match (spec, &findings.source) {
        ("", schedlab_analyze::Source::Imported) => "as imported",
        ("", _) => "the default settings",
        (spec, _) => spec.strip_prefix("option:command=").unwrap_or(spec),
    }
}

/// The full spec of what all arms run.
pub(crate) fn shared_spec(findings: &Findings, workload: &WorkloadFindings) -> String {
    schedlab_analyze::shared_spec(findings, workload).map_or_else(|| workload.spec.clone(), |spec| spec.to_string())
}

/// The heading of a workload in a report, always with its load.
pub(crate) fn workload_heading(findings: &Findings, workload: &WorkloadFindings) -> String {
    let (label, load) = (workload_label(findings, workload), beside(&workload.load));
    if label.ends_with(&load) { label } else { label + &load }
}

/// `messages per second`, and the workload if several objectives have that metric.
pub(crate) fn objective(findings: &Findings, of: &TradeoffObjective, all: &[TradeoffObjective]) -> String {
    let is_shared = all.iter().filter(|other| other.metric == of.metric).count() > 1;
    let workload = findings.workloads.iter().find(|w| is_shared && w.workload == of.workload);
    let label = workload.map(|w| format!(" of {}", workload_heading(findings, w))).unwrap_or_default();
    format!("{}{label}", metric_name(&of.metric))
}

/// The findings of an objective.
pub(crate) fn metric_of<'f>(findings: &'f Findings, of: &TradeoffObjective) -> Option<&'f MetricFindings> {
    let workload = findings.workloads.iter().find(|w| w.workload == of.workload)?;
    workload.metrics.iter().find(|metric| metric.name == of.metric)
}

/// An arm's role: ` (control)`, ` (A/A control)`, or nothing.
pub(crate) fn arm_role(findings: &Findings, arm: u32) -> &'static str {
    let mut contrasts = findings.workloads.iter().flat_map(|w| &w.metrics).flat_map(|m| &m.contrasts);
    match findings.arms.get(arm as usize).map(|a| a.is_aa) {
        _ if arm == 0 || contrasts.any(|c| c.control == arm) => " (control)",
        Some(true) => " (A/A control)",
        _ => "",
    }
}

/// Groups names by what is said about them, each name and each reason once, in order.
pub(crate) fn grouped<'s, R: PartialEq>(said: impl IntoIterator<Item = (R, &'s str)>) -> Vec<(R, Vec<&'s str>)> {
    let mut all: Vec<(R, Vec<&'s str>)> = Vec::new();
    for (reason, name) in said {
        match all.iter_mut().find(|(seen, _)| *seen == reason) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => all.push((reason, vec![name])),
        }
    }
    all
}

/// All arms by index with their names.
pub(crate) fn arms(findings: &Findings) -> Vec<(u32, String)> {
    findings.arms.iter().enumerate().map(|(i, arm)| (i as u32, arm.name.clone())).collect()
}

/// Replaces the full specs of workloads in a sentence by their labels.
pub(crate) fn with_labels(findings: &Findings, text: &str) -> String {
    findings.workloads.iter().fold(text.to_owned(), |text, w| text.replace(&w.spec, &workload_label(findings, w)))
}

/// Combines quantiles of one distribution into one name: `latency_p50/p90/p99_ns`.
pub(crate) fn joined_quantiles(names: &[&str]) -> Vec<String> {
    let mut all: Vec<(String, String, String)> = Vec::new();
    for name in names {
        let number = |tail: &str| tail.chars().take_while(char::is_ascii_digit).count();
        let split = name.match_indices("_p").find(|(i, _)| number(&name[i + 2..]) > 0);
        let (head, quantile, tail) = match split {
            Some((i, _)) => {
                let (quantile, tail) = name[i + 1..].split_at(1 + number(&name[i + 2..]));
                (&name[..=i], quantile, tail)
            }
            None => (*name, "", ""),
        };
        match all.last_mut().filter(|last| !quantile.is_empty() && last.0 == head && last.2 == tail) {
            Some(last) => last.1.push_str(&format!("/{quantile}")),
            None => all.push((head.to_owned(), quantile.to_owned(), tail.to_owned())),
        }
    }
    all.into_iter().map(|(head, quantiles, tail)| head + &quantiles + &tail).collect()
}

/// How a run ended, as a sentence; `None` if there is nothing to report.
pub(crate) fn ended(ended: &str) -> Option<String> {
    Some(match ended {
        "imported" => return None,
        "" => "The run is not finished.".to_owned(),
        "planned" => "The run ended as planned.".to_owned(),
        "decided" => "The run ended when the evidence decided.".to_owned(),
        "budget" => "The run ended when its budget was spent.".to_owned(),
        "interrupted" => "The run was interrupted.".to_owned(),
        other => full_stop(&format!("The run ended: {other}")),
    })
}

/// `primary` or `exploratory`.
pub(crate) fn role(role: Role) -> &'static str {
    match role {
        Role::Primary => "primary",
        Role::Secondary => "exploratory",
    }
}

/// The good direction in words; empty for facts.
pub(crate) fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::HigherIsBetter => "higher is better",
        Direction::LowerIsBetter => "lower is better",
        Direction::Neutral => "",
    }
}

/// The label of a tier.
pub(crate) fn tier(tier: Tier) -> &'static str {
    match tier {
        Tier::SameCpu => "same CPU",
        Tier::Smt => "SMT sibling",
        Tier::Llc => "same LLC",
        Tier::Node => "same node",
        Tier::Remote => "remote node",
    }
}

/// A check's state in one word.
pub(crate) fn check_state(state: CheckState) -> &'static str {
    match state {
        CheckState::Good => "good",
        CheckState::Info => "info",
        CheckState::Warning => "warning",
        CheckState::Unavailable => "unavailable",
    }
}

/// The order of checks: warnings first.
pub(crate) fn check_rank(state: CheckState) -> u8 {
    match state {
        CheckState::Warning => 0,
        CheckState::Unavailable => 1,
        CheckState::Info => 2,
        CheckState::Good => 3,
    }
}

/// The number of units: `12 blocks`, `1 switchback trial`.
pub(crate) fn units(contrast: &Contrast) -> String {
    counted(contrast.units, &contrast.unit_name)
}

/// The number of units behind the contrasts of a metric: `6 blocks`, `5 to 6 blocks`; empty if there are none.
pub(crate) fn units_of(metric: &MetricFindings) -> String {
    let contrasts = || metric.contrasts.iter().filter(|c| c.units > 0);
    let (least, most) = (contrasts().map(|c| c.units).min(), contrasts().map(|c| c.units).max());
    match (least, most, contrasts().next()) {
        (Some(least), Some(most), Some(c)) if least == most => counted(most, &c.unit_name),
        (Some(least), Some(most), Some(c)) => format!("{least} to {most} {}", c.unit_name),
        _ => String::new(),
    }
}

/// The text after a verdict: A/A, or how many more units would decide.
pub(crate) fn verdict_note(contrast: &Contrast) -> String {
    let mut parts = Vec::new();
    if contrast.is_aa {
        parts.push("A/A".to_owned());
    }
    if let Some(more) = contrast.more_units {
        parts.push(more.range(&contrast.unit_name).unwrap_or_else(|| "not within reach".to_owned()));
    }
    parts.join(", ")
}

/// Trials of a workload by state, in words.
pub(crate) fn counts(workload: &WorkloadFindings) -> String {
    let c = &workload.counts;
    let others = [
        (c.warm_up, "warm-up"),
        (c.failed, "failed"),
        (c.not_applied, "not applied"),
        (c.contaminated, "disturbed and repeated"),
        (c.incomplete, "in an incomplete block"),
    ];
    let mut text = format!("{} of {} used", c.used, counted(c.total, "trials"));
    for (n, what) in others.into_iter().filter(|(n, _)| *n > 0) {
        text.push_str(&format!(", {n} {what}"));
    }
    text
}

/// A metric's second line: its name in JSON and plans, role, unit, direction, and number of units.
pub(crate) fn metric_aside(metric: &MetricFindings) -> String {
    let unit = match metric.unit.as_str() {
        "1" => "",
        unit => unit,
    };
    let units = if metric.role == Role::Primary { units_of(metric) } else { String::new() };
    let id = Some(metric.name.as_str()).filter(|id| metric_name(id) != *id).unwrap_or_default();
    let parts = [id, role(metric.role), unit, direction(metric.direction), &units];
    parts.iter().filter(|p| !p.is_empty()).copied().collect::<Vec<_>>().join(", ")
}

/// A metric's readable name and good direction: `messages per second, higher is better`.
pub(crate) fn metric_title(metric: &MetricFindings) -> String {
    let parts = [metric_name(&metric.name), direction(metric.direction).to_owned()];
    parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The meaning of a metric's changes, which are shown next to medians but are not computed from them.
pub(crate) fn meaning_of_change(findings: &Findings, metric: &MetricFindings) -> Option<String> {
    let contrast = metric.contrasts.iter().find(|c| c.effect.is_some() && c.units > 0)?;
    let units = contrast.unit_name.as_str();
    let is_ratio = contrast.effect?.scale == schedlab_analyze::Scale::Ratio;
    // The two sides have no units in common.
    let is_unpaired = units == "trials" || matches!(findings.source, schedlab_analyze::Source::TwoRuns { .. });
    Some(match (is_unpaired, is_ratio) {
        (true, true) => {
            format!("Change: ratio of the geometric means of the {units}, not of the medians.")
        }
        (true, false) => format!("Change: difference of the means of the {units}, not of the medians."),
        (false, true) => format!("Change: geometric mean of arm/control over {units}, not the ratio of medians."),
        (false, false) => format!("Change: mean of arm − control over {units}, not the difference of medians."),
    })
}

/// An arm's name, and its settings if the name does not contain them: `B: policy=batch`.
pub(crate) fn arm_with_spec(findings: &Findings, arm: u32) -> String {
    const MIN_NAME_CHARS: usize = 4;
    let (name, spec) = (arm_name(findings, arm), findings.arms.get(arm as usize).map_or("", |a| a.spec.as_str()));
    let bare = name.rsplit(": ").next().unwrap_or(name);
    if bare.chars().count() >= MIN_NAME_CHARS || spec.is_empty() {
        return name.to_owned();
    }
    format!("{name}: {}", spec.replace("option:command=", ""))
}

/// Seconds since 1970 as `2026-11-21 11:04 UTC`.
pub(crate) fn date(unix_s: u64) -> String {
    let [year, month, day, hour, minute, _] = schedlab_plan::units::utc(unix_s);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// The host, kernel, CPU and date of a run, as far as they are known.
pub fn provenance(manifest: &Manifest) -> String {
    let Environment { hostname, kernel_release, cpu_model, .. } = &manifest.environment;
    let date = if manifest.created_unix_s > 0 { date(manifest.created_unix_s) } else { String::new() };
    let parts = [hostname, kernel_release, cpu_model, &date];
    parts.into_iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(" · ")
}

/// A command line quoted for a shell.
pub(crate) fn shell(command: &[String]) -> String {
    schedlab_plan::shell_words::join(command.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_the_calendars() {
        assert_eq!(date(1_795_259_075), "2026-11-21 11:04 UTC");
    }

    #[test]
    fn quantiles_of_one_distribution_are_one_name() {
        let names = ["cpu_ns_per_op", "latency_p50_ns", "latency_p99_ns", "latency_p999_ns", "leg_p50_ns", "index"];
        assert_eq!(joined_quantiles(&names), ["cpu_ns_per_op", "latency_p50/p99/p999_ns", "leg_p50_ns", "index"]);
    }

    #[test]
    fn a_command_survives_the_shell() {
        let command = ["schedlab", "ab", "--b", "slice=1ms;nice=2", "it's", ""].map(String::from);
        assert_eq!(shell(&command), r"schedlab ab --b 'slice=1ms;nice=2' 'it'\''s' ''");
    }
}
