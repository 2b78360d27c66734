//! Tables of numbers below the pictures.

use super::build::{Cell, Page, escape};
use crate::chart::{RatioCells, theme::arm_class};
use crate::number::{count, effect, given, maybe_quantity, ns, p_value, percent};
use crate::table::{Align, Table};
use crate::{remarks, tables, words};
use schedlab_analyze::{Contrast, Findings, MetricFindings, Role, Scale, TierSplit, Verdict, WorkloadFindings};
use std::collections::BTreeSet;

fn plain(text: impl Into<String>) -> Cell {
    (text.into(), "")
}

fn figure(text: impl Into<String>) -> Cell {
    (text.into(), "n")
}

const METRIC_HEADER: [(&str, &str); 10] = [
    ("arm", ""),
    ("n", "n"),
    ("median", "n"),
    ("change", "n"),
    ("interval", "n"),
    ("p", "n"),
    ("p\u{a0}adj.", "n"),
    ("units", "n"),
    ("detects", "n"),
    ("verdict", ""),
];

fn group(metric: &MetricFindings) -> Vec<Cell> {
    let note = metric.note.as_ref().map(|n| format!(" · {n}")).unwrap_or_default();
    vec![(format!("{} · {}{note}", metric.name, words::metric_aside(metric)), "group")]
}

fn contrast_of(metric: &MetricFindings, arm: u32) -> Option<&Contrast> {
    metric.contrasts.iter().find(|c| c.arm == arm)
}

/// All primary metrics, a row for each arm.
pub(super) fn primary(page: &mut Page, findings: &Findings, workload: &WorkloadFindings) {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for metric in workload.metrics.iter().filter(|m| m.role == Role::Primary) {
        rows.push(group(metric));
        rows.extend(metric.values.iter().map(|v| metric_row(findings, metric, v, contrast_of(metric, v.arm))));
    }
    if rows.is_empty() {
        return;
    }
    page.table("Primary metrics", &METRIC_HEADER, &rows);
    let caption = "Interval: of the change. Units: what the interval is taken over. Detects: the smallest effect that this many \
                   units of this noise show with 80 % power.";
    page.element("p", "class=\"caption\"", caption);
    page.list("class=\"notes\"", &rests_on(workload, Role::Primary));
}

/// All exploratory metrics, a row for each: the control's median, and each arm's change, its interval printed and drawn.
/// Picture and table in one; two runs have a table for each pair.
pub(super) fn exploratory(page: &mut Page, findings: &Findings, workload: &WorkloadFindings) {
    let metrics: Vec<&MetricFindings> = workload.metrics.iter().filter(|m| m.role == Role::Secondary).collect();
    let contrasts = || metrics.iter().flat_map(|m| &m.contrasts).filter(|c| c.effect.is_some());
    let intervals: Vec<(f64, f64, f64)> = contrasts().filter_map(drawable).collect();
    let cells = RatioCells::new(&intervals, findings.rules.sesoi);
    page.open("div", &format!("style=\"{}\"", cells.ground()));
    let controls: BTreeSet<u32> = contrasts().map(|c| c.control).collect();
    for control in controls {
        let arms: BTreeSet<u32> = contrasts().filter(|c| c.control == control).map(|c| c.arm).collect();
        let mut header = vec![("metric", ""), (words::arm_name(findings, control), "n")];
        header.extend(arms.iter().map(|arm| (words::arm_name(findings, *arm), "")));
        let row = |metric: &&MetricFindings| {
            let median = metric.values.iter().find(|v| v.arm == control).and_then(|v| v.median);
            let cell = |arm: &u32| {
                let contrast = metric.contrasts.iter().find(|c| c.arm == *arm && c.control == control);
                contrast.map_or_else(|| plain(""), |c| change(metric, c, &cells))
            };
            let first = [plain(&metric.name), figure(maybe_quantity(median, &metric.unit))];
            first.into_iter().chain(arms.iter().map(cell)).collect()
        };
        let measured = |m: &&&MetricFindings| m.contrasts.iter().any(|c| c.control == control && c.effect.is_some());
        let mut rows: Vec<Vec<Cell>> = metrics.iter().filter(measured).map(row).collect();
        let axis = [plain(""), plain("")].into_iter().chain(arms.iter().map(|_| (cells.axis(), "drawn"))).collect();
        rows.push(axis);
        page.table("Exploratory metrics", &header, &rows);
    }
    page.close("div");
    let caption = format!(
        "Change against the control, its interval printed and drawn as a ratio; shaded: effects below {}, the smallest of \
         interest. A word: what the metric is judged to be after a correction for looking at all of them, with its p; no \
         word: open.",
        given(findings.rules.sesoi)
    );
    page.element("p", "class=\"caption\"", &caption);
    let notes = unmeasured(&metrics).into_iter().chain(rests_on(workload, Role::Secondary));
    page.list("class=\"notes\"", &notes.collect::<Vec<_>>());
}

/// Why metrics have no numbers or no verdict, each reason once.
fn unmeasured(metrics: &[&MetricFindings]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for metric in metrics {
        let Some(note) = metric.note.as_deref() else { continue };
        match reasons.iter_mut().find(|(text, _)| *text == note) {
            Some((_, names)) => names.push(&metric.name),
            None => reasons.push((note, vec![&metric.name])),
        }
    }
    let said = |(note, names): (&str, Vec<&str>)| format!("{}: {}", names.join(", "), words::full_stop(note));
    reasons.into_iter().map(said).collect()
}

/// A change in a cell: numbers, the verdict when there is one, and the interval drawn.
fn change(metric: &MetricFindings, c: &Contrast, cells: &RatioCells) -> Cell {
    let Some(text) = c.effect.map(|e| effect(&e, &metric.unit)) else { return plain("") };
    let said = match &c.verdict {
        Verdict::Inconclusive | Verdict::NoVerdict { .. } => String::new(),
        verdict => {
            let p =
                c.p_adjusted.filter(|_| *verdict != Verdict::Equivalent).map(|p| format!(", p {}", p_value(Some(p))));
            format!(" {}{}", words::verdict(verdict), p.unwrap_or_default())
        }
    };
    let (value, interval, said) = (escape(&text.value), escape(&text.interval), escape(&said));
    let said = if said.is_empty() { said } else { format!("<b class={}>{said}</b>", words::tone(&c.verdict)) };
    let drawn = drawable(c).map(|interval| cells.row(words::tone(&c.verdict), interval)).unwrap_or_default();
    (format!("{value} {interval}{said}{drawn}"), "drawn")
}

/// A contrast as a ratio with its interval; `None` where it is a difference or has none.
fn drawable(contrast: &Contrast) -> Option<(f64, f64, f64)> {
    let e = contrast.effect.filter(|e| e.scale == Scale::Ratio && e.value > 0.0 && e.lo > 0.0 && e.hi.is_finite())?;
    e.value.is_finite().then_some((e.value, e.lo, e.hi))
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
    let said = |(text, n): (String, usize)| match n {
        1 => format!("1 contrast rests on: {text}."),
        n => format!("{n} contrasts rest on: {text}."),
    };
    all.into_iter().map(said).collect()
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
        row.extend((0..6).map(|_| figure("")));
        row.push((String::from("control"), "none"));
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
    let detectable = c.minimum_detectable.map(given).unwrap_or_default();
    row.extend([figure(if c.units > 0 { words::units(c) } else { String::new() }), figure(detectable)]);
    row.push((said, words::tone(&c.verdict)));
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
        page.table(
            "Second opinions",
            &[("view", ""), ("change", "n"), ("interval", "n"), ("p", "n"), ("n", "n")],
            &rows,
        );
    }
}

/// Width of the longest bar beside a counter, px.
const GAUGE: f64 = 60.0;

/// All counters per operation, each with a bar on the scale of its row: picture and table in one. Then those that could
/// not be counted.
pub(super) fn per_operation(page: &mut Page, findings: &Findings, workload: &WorkloadFindings) {
    let arms = words::fact_arms(findings, workload);
    let rows = tables::per_operation(workload, &arms);
    if !rows.is_empty() {
        let what = if workload.operation.is_empty() { "operation" } else { &workload.operation };
        page.element("h3", "", &format!("What the scheduler did, per {what}"));
        let mut header = vec![("median of a trial", "")];
        header.extend(arms.iter().map(|(_, name)| (name.as_str(), "n")));
        let row = |(name, values): &(&str, Vec<Option<f64>>)| {
            let largest = values.iter().flatten().filter(|v| v.is_finite()).fold(0.0f64, |m, v| m.max(*v));
            let cell = |(value, (arm, _)): (&Option<f64>, &(u32, String))| {
                let text = escape(&tables::counter_value(name, *value));
                let share = value.filter(|v| v.is_finite() && largest > 0.0).map(|v| v.max(0.0) / largest);
                let bar = |s: f64| format!("<i class={} style=width:{:.0}px></i>", arm_class(*arm), s * GAUGE);
                (text + &share.map(bar).unwrap_or_default(), "drawn")
            };
            [plain(*name)].into_iter().chain(values.iter().zip(&arms).map(cell)).collect()
        };
        page.table("Counters per operation", &header, &rows.iter().map(row).collect::<Vec<_>>());
    }
    let missing: Vec<String> =
        tables::not_counted(workload).into_iter().map(|m| format!("Not counted: {m}.")).collect();
    page.list("class=\"notes\"", &missing);
}

/// Shares of the tiers.
pub(super) fn placement(page: &mut Page, findings: &Findings, workload: &WorkloadFindings) {
    let table = tables::tiers_table(workload, &words::fact_arms(findings, workload));
    if !table.rows.is_empty() {
        page.element("h3", "", "Placement");
        set(page, "Placement", &table);
    }
}

/// A table of terminal and Markdown; what stands flush right there are numbers.
pub(super) fn set(page: &mut Page, name: &str, table: &Table) {
    if !table.rows.is_empty() {
        let classes: Vec<&str> = table.align.iter().map(|a| if *a == Align::Right { "n" } else { "" }).collect();
        let header: Vec<(&str, &str)> = table.header.iter().map(String::as_str).zip(classes.iter().copied()).collect();
        let row = |row: &Vec<crate::table::Cell>| -> Vec<Cell> {
            row.iter().zip(&classes).map(|(cell, class)| (cell.text.clone(), *class)).collect()
        };
        page.table(name, &header, &table.rows.iter().map(row).collect::<Vec<_>>());
    }
}

/// Change of placement and change within tiers: the control's shares and means, then each arm's.
pub(super) fn tier_splits(page: &mut Page, findings: &Findings, splits: &[TierSplit]) {
    let Some(first) = splits.first() else { return };
    page.element("h3", "", &format!("Why the mean {} moved", first.histogram));
    let mean = |m: Option<f64>| figure(m.map_or_else(|| crate::number::NONE.to_owned(), ns));
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for split in splits {
        rows.push(vec![(remarks::tier_split(findings, split), "group")]);
        rows.extend(split.tiers.iter().map(|t| {
            let shares = [percent(t.control_share), percent(t.arm_share)].map(figure);
            let means = [mean(t.control_mean_ns), mean(t.arm_mean_ns)];
            [plain(words::tier(t.tier))].into_iter().chain(shares).chain(means).collect()
        }));
    }
    let header =
        [("tier", ""), ("share, control", "n"), ("share, arm", "n"), ("mean, control", "n"), ("mean, arm", "n")];
    page.table("Shares and means by tier", &header, &rows);
    page.list("class=\"notes\"", &remarks::tier_split_notes(splits));
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
        page.table(
            "Steadiness",
            &[("arm", ""), spread, ("interval", "n"), ("p\u{a0}adj.", "n"), ("verdict", "")],
            &rows,
        );
    }
    let mut modes: Vec<(String, Vec<&str>)> = Vec::new();
    for m in &workload.modes {
        let (said, arm) = (modes_of(m), words::arm_name(findings, m.arm));
        match modes.iter_mut().find(|(text, _)| *text == said) {
            Some((_, arms)) => arms.push(arm),
            None => modes.push((said, vec![arm])),
        }
    }
    let modes = modes.into_iter().map(|(said, arms)| words::full_stop(&format!("{}: {said}", arms.join(", "))));
    page.list("class=\"notes\"", &modes.collect::<Vec<_>>());
}

/// Modes of an arm, and where the trials of each ran.
fn modes_of(m: &schedlab_analyze::ModeFindings) -> String {
    let tiers = |mode: &schedlab_analyze::Mode| {
        let shares = mode.tiers.iter().filter(|t| t.share > 0.005);
        shares.map(|t| format!("{} {}", words::tier(t.tier), percent(t.share))).collect::<Vec<_>>().join(", ")
    };
    let places: Vec<String> = m.modes.iter().filter(|_| m.k > 1).map(tiers).filter(|t| !t.is_empty()).collect();
    let placed = if places.is_empty() { String::new() } else { format!(" (placement: {})", places.join(" | ")) };
    format!("{}{placed}", m.sentence)
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
