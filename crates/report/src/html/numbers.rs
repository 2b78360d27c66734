//! Tables of numbers below the pictures.

use super::build::{Cell, Page};
use crate::number::{count, effect, maybe_quantity, ns, p_value, percent};
use crate::{tables, words};
use schedlab_analyze::{Contrast, Findings, MetricFindings, Role, TierSplit, WorkloadFindings};

fn plain(text: impl Into<String>) -> Cell {
    (text.into(), "")
}

fn figure(text: impl Into<String>) -> Cell {
    (text.into(), "n")
}

const METRIC_HEADER: [(&str, &str); 9] = [
    ("arm", ""),
    ("n", "n"),
    ("median", "n"),
    ("change", "n"),
    ("interval", "n"),
    ("p", "n"),
    ("p adjusted", "n"),
    ("verdict", ""),
    ("rests on", ""),
];

/// Columns of exploratory metrics: the same without what they rest on, which is said once below the table.
const SHORT: usize = 8;

/// All metrics of a role, a row for each arm.
pub(super) fn metrics(page: &mut Page, findings: &Findings, workload: &WorkloadFindings, role: Role) {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for metric in workload.metrics.iter().filter(|m| m.role == role) {
        let note = metric.note.as_ref().map(|n| format!(" · {n}")).unwrap_or_default();
        rows.push(vec![(format!("{} · {}{note}", metric.name, words::metric_aside(metric)), "group")]);
        for values in &metric.values {
            let contrast = metric.contrasts.iter().find(|c| c.arm == values.arm);
            let mut row = metric_row(findings, metric, values, contrast);
            if role == Role::Secondary {
                row.truncate(SHORT);
            }
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return;
    }
    match role {
        Role::Primary => page.table(&METRIC_HEADER, &rows),
        Role::Secondary => {
            page.table(&METRIC_HEADER[..SHORT], &rows);
            page.list("class=\"notes\"", &rests_on(workload, role));
        }
    }
}

/// Estimators and corrections, each once with how often it was used.
fn rests_on(workload: &WorkloadFindings, role: Role) -> Vec<String> {
    let contrasts = workload.metrics.iter().filter(|m| m.role == role).flat_map(|m| &m.contrasts);
    let mut all: Vec<(String, usize)> = Vec::new();
    for c in contrasts.filter(|c| c.effect.is_some()) {
        let text = [c.estimator.as_str(), c.adjustment.as_str()].map(str::to_owned);
        let text = text.into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join("; ");
        match all.iter_mut().find(|(seen, _)| *seen == text) {
            Some((_, n)) => *n += 1,
            None => all.push((text, 1)),
        }
    }
    all.into_iter().map(|(text, n)| format!("{n} contrasts rest on: {text}")).collect()
}

fn metric_row(
    findings: &Findings,
    metric: &MetricFindings,
    values: &schedlab_analyze::ArmValues,
    contrast: Option<&Contrast>,
) -> Vec<Cell> {
    let name = words::arm_name(findings, values.arm);
    let mut row = vec![plain(name), figure(values.n.to_string()), figure(maybe_quantity(values.median, &metric.unit))];
    let Some(c) = contrast else {
        row.extend([figure(""), figure(""), figure(""), figure(""), (String::from("control"), "none"), plain("")]);
        return row;
    };
    let text = c.effect.map(|e| effect(&e, &metric.unit));
    let (value, interval) = text.map_or_else(Default::default, |t| (t.value, t.interval));
    let said = match words::reason(&c.verdict) {
        Some(reason) => format!("no verdict: {reason}"),
        None => words::verdict(&c.verdict).to_owned(),
    };
    // How much more it would take is planned for primary metrics only.
    let aside = if metric.role == Role::Primary { words::aside(c) } else { String::new() };
    let said = if aside.is_empty() { said } else { format!("{said} ({aside})") };
    row.extend([figure(value), figure(interval), figure(p_value(c.p)), figure(p_value(c.p_adjusted))]);
    row.push((said, words::tone(&c.verdict)));
    let rests = [c.estimator.clone(), words::units(c), c.adjustment.clone()];
    row.push((rests.into_iter().filter(|r| !r.is_empty()).collect::<Vec<_>>().join("; "), "aside"));
    row
}

/// Second opinions on the primary metrics.
pub(super) fn views(page: &mut Page, findings: &Findings, workload: &WorkloadFindings) {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for metric in workload.metrics.iter().filter(|m| m.role == Role::Primary) {
        for c in metric.contrasts.iter().filter(|c| !c.views.is_empty()) {
            rows.push(vec![(format!("{} · {}", words::arm_name(findings, c.arm), metric.name), "group")]);
            for view in &c.views {
                let text = view.effect.map(|e| effect(&e, &metric.unit));
                let (value, interval) = text.map_or_else(Default::default, |t| (t.value, t.interval));
                let n = figure(view.n.to_string());
                rows.push(vec![plain(&view.name), figure(value), figure(interval), figure(p_value(view.p)), n]);
            }
        }
    }
    if !rows.is_empty() {
        page.element("h3", "", "Second opinions, which decide nothing");
        page.table(&[("view", ""), ("change", "n"), ("interval", "n"), ("p", "n"), ("n", "n")], &rows);
    }
}

/// All counters per operation, and those that could not be counted.
pub(super) fn per_operation(page: &mut Page, findings: &Findings, workload: &WorkloadFindings) {
    let arms: Vec<u32> = workload.arms.iter().map(|a| a.arm).collect();
    let table = tables::per_operation_table(findings, workload, &arms);
    if !table.rows.is_empty() {
        let header: Vec<(&str, &str)> =
            table.header.iter().enumerate().map(|(i, h)| (h.as_str(), if i == 0 { "" } else { "n" })).collect();
        let rows: Vec<Vec<Cell>> = table
            .rows
            .iter()
            .map(|row| row.iter().enumerate().map(|(i, c)| (c.text.clone(), if i == 0 { "" } else { "n" })).collect())
            .collect();
        page.table(&header, &rows);
    }
    let missing: Vec<String> = tables::not_counted(workload).into_iter().map(|m| format!("not counted: {m}")).collect();
    page.list("class=\"notes\"", &missing);
}

/// Change of placement and change within tiers.
pub(super) fn tier_splits(page: &mut Page, findings: &Findings, splits: &[TierSplit]) {
    let control = findings.arms.first().map_or("control", |a| a.name.as_str());
    for split in splits {
        let arm = words::arm_name(findings, split.arm);
        page.element("h3", "", &format!("Why the mean {} moved: {arm}", split.histogram));
        let rows: Vec<Vec<Cell>> = split
            .tiers
            .iter()
            .map(|t| {
                let mean = |m: Option<f64>| m.map_or_else(|| crate::number::NONE.to_owned(), ns);
                let shares = [percent(t.control_share), percent(t.arm_share)].map(figure);
                let means = [mean(t.control_mean_ns), mean(t.arm_mean_ns)].map(figure);
                [plain(words::tier(t.tier))].into_iter().chain(shares).chain(means).collect()
            })
            .collect();
        let headers =
            [format!("share, {control}"), format!("share, {arm}"), format!("mean, {control}"), format!("mean, {arm}")];
        let mut header = vec![("tier", "")];
        header.extend(headers.iter().map(|h| (h.as_str(), "n")));
        page.table(&header, &rows);
        page.element("p", "class=\"notes\"", &tables::tier_split(findings, split));
    }
}

/// How steady each arm is, and how many modes its trials have.
pub(super) fn steadiness(page: &mut Page, findings: &Findings, workload: &WorkloadFindings) {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for c in &workload.dispersion {
        let text = c.effect.map(|e| effect(&e, ""));
        let (value, interval) = text.map_or_else(Default::default, |t| (t.value, t.interval));
        let said = match words::reason(&c.verdict) {
            Some(reason) => format!("no verdict: {reason}"),
            None => words::verdict(&c.verdict).to_owned(),
        };
        let p = figure(p_value(c.p_adjusted.or(c.p)));
        let verdict = (said, words::tone(&c.verdict));
        rows.push(vec![plain(words::arm_name(findings, c.arm)), figure(value), figure(interval), p, verdict]);
    }
    if !rows.is_empty() {
        page.element("h3", "", "Steadiness from trial to trial");
        let spread = ("spread against the control", "n");
        page.table(&[("arm", ""), spread, ("interval", "n"), ("p adjusted", "n"), ("verdict", "")], &rows);
    }
    let modes = workload.modes.iter().map(|m| {
        let arm = words::arm_name(findings, m.arm);
        let tiers = |mode: &schedlab_analyze::Mode| {
            let shares = mode.tiers.iter().filter(|t| t.share > 0.005);
            shares.map(|t| format!("{} {}", words::tier(t.tier), percent(t.share))).collect::<Vec<_>>().join(", ")
        };
        let places: Vec<String> = m.modes.iter().filter(|_| m.k > 1).map(tiers).filter(|t| !t.is_empty()).collect();
        let placed = if places.is_empty() { String::new() } else { format!(" (placement: {})", places.join(" | ")) };
        format!("{arm}: {}{placed}", m.sentence)
    });
    page.list("class=\"notes\"", &modes.collect::<Vec<_>>());
}

/// Counts of stamped operations and the cost of stamping, per arm.
pub(super) fn stamping(findings: &Findings, workload: &WorkloadFindings) -> Vec<String> {
    let of_arm = |facts: &schedlab_analyze::ArmFacts| {
        let share = facts.stamping_cost_share?;
        let stamped: u64 = facts.distributions.iter().find(|d| d.name == "latency").map_or(0, |d| d.count);
        let arm = words::arm_name(findings, facts.arm);
        let every = match facts.stamped_every {
            0 | 1 => "every operation".to_owned(),
            n => format!("one operation in {n}"),
        };
        Some(format!(
            "{arm}: {every} stamped, {} in all; stamps cost {} of the run time",
            count(stamped),
            percent(share)
        ))
    };
    workload.arms.iter().filter_map(of_arm).collect()
}
