//! Names for what the findings hold: arms, verdicts, roles, tiers.

pub(crate) use schedlab_analyze::workload_label;
use schedlab_analyze::{Contrast, Findings, MetricFindings, Role, Verdict, WorkloadFindings};
use schedlab_run::{CheckState, Direction, Tier, counted};

/// The name of an arm.
pub(crate) fn arm_name(findings: &Findings, arm: u32) -> &str {
    findings.arms.get(arm as usize).map_or("?", |a| a.name.as_str())
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

/// A class for colour: `good`, `bad`, `same`, `open`, `none`.
pub(crate) fn tone(v: &Verdict) -> &'static str {
    match v {
        Verdict::Better => "good",
        Verdict::Worse => "bad",
        Verdict::Higher | Verdict::Lower => "moved",
        Verdict::Equivalent => "same",
        Verdict::Inconclusive => "open",
        Verdict::NoVerdict { .. } => "none",
    }
}

/// `primary` or `exploratory`.
pub(crate) fn role(role: Role) -> &'static str {
    match role {
        Role::Primary => "primary",
        Role::Secondary => "exploratory",
    }
}

/// Which way is good, in words; empty for facts.
pub(crate) fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::HigherIsBetter => "higher is better",
        Direction::LowerIsBetter => "lower is better",
        Direction::Neutral => "",
    }
}

/// A tier as read: `same CPU`, `SMT`, `LLC`, `node`, `remote`.
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

/// Checks are read warnings first.
pub(crate) fn check_rank(state: CheckState) -> u8 {
    match state {
        CheckState::Warning => 0,
        CheckState::Unavailable => 1,
        CheckState::Info => 2,
        CheckState::Good => 3,
    }
}

/// What rests on how many: `12 blocks`.
pub(crate) fn units(contrast: &Contrast) -> String {
    let name = match contrast.units {
        1 => contrast.unit_name.trim_end_matches('s'),
        _ => contrast.unit_name.as_str(),
    };
    format!("{} {name}", contrast.units)
}

/// What stands behind a verdict: A/A, or how much more would decide.
pub(crate) fn aside(contrast: &Contrast) -> String {
    let mut parts = Vec::new();
    if contrast.is_aa {
        parts.push("A/A".to_owned());
    }
    if let Some(more) = contrast.more_units {
        parts.push(format!("about {more} more {}", contrast.unit_name));
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
        (c.contaminated, "contaminated and repeated"),
        (c.incomplete, "in an incomplete block"),
    ];
    let mut text = format!("{} of {} used", c.used, counted(c.total, "trials"));
    for (n, what) in others.into_iter().filter(|(n, _)| *n > 0) {
        text.push_str(&format!(", {n} {what}"));
    }
    text
}

/// A metric's sub-line: unit, direction, role.
pub(crate) fn metric_aside(metric: &MetricFindings) -> String {
    let unit = match metric.unit.as_str() {
        "1" => "",
        unit => unit,
    };
    let parts = [role(metric.role), unit, direction(metric.direction)];
    parts.iter().filter(|p| !p.is_empty()).copied().collect::<Vec<_>>().join(", ")
}

/// Seconds since 1970 as `2026-11-21 11:04 UTC`.
pub(crate) fn date(unix_s: u64) -> String {
    let [year, month, day, hour, minute, _] = schedlab_run::units::utc(unix_s);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// A command line that a shell reads back as it was.
pub(crate) fn shell(command: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@%".contains(c);
    let quoted = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    command.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_the_calendars() {
        assert_eq!(date(1_795_259_075), "2026-11-21 11:04 UTC");
    }

    #[test]
    fn a_command_survives_the_shell() {
        let command = ["schedlab", "ab", "--b", "slice=1ms;nice=2", "it's", ""].map(String::from);
        assert_eq!(shell(&command), r"schedlab ab --b 'slice=1ms;nice=2' 'it'\''s' ''");
    }
}
