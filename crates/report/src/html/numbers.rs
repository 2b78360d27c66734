//! Tables of what the metrics showed: primary, exploratory, second opinions.

use super::build::{Cell, Page, escape, figure, name, plain};
use crate::chart::RatioCells;
use crate::number::{effect, given, maybe_quantity, p_value};
use crate::words;
use schedlab_analyze::{Contrast, Findings, MetricFindings, Role, Scale, Verdict, WorkloadFindings};
use std::collections::BTreeSet;

const METRIC_HEADER: [(&str, &str); 9] = [
    ("arm", ""),
    ("n", "n"),
    ("median", "n"),
    ("change", "n"),
    ("interval", "n"),
    ("p", "n"),
    ("p\u{a0}adj.", "n"),
    ("units", "n"),
    ("verdict", ""),
];

fn group(metric: &MetricFindings) -> Vec<Cell> {
    let note = metric.note.as_ref().map(|n| format!(" · {n}")).unwrap_or_default();
    vec![(format!("{} · {}{note}", words::metric_name(&metric.name), words::metric_aside(metric)), "group")]
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
    let caption = "Interval: of the change. Units: what the interval is taken over.";
    page.element("p", "class=\"caption\"", caption);
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
            let first = [name(&metric.name), figure(maybe_quantity(median, &metric.unit))];
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
pub(super) fn rests_on(workload: &WorkloadFindings, role: Role) -> Vec<String> {
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
        row.extend((0..5).map(|_| figure("")));
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
    row.push(figure(if c.units > 0 { words::units(c) } else { String::new() }));
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
