//! The forest plots: primary metrics with their units, and all other metrics in low rows.

use super::{Kind, Picture, Subject};
use crate::chart::{Forest, ForestRow, Line};
use crate::document::Tone;
use crate::labels;
use crate::number::{effect, given, p_value};
use schedlab_analyze::{Contrast, MetricFindings, Role, Scale, Verdict};
use schedlab_plan::Direction;

pub(super) fn primary_forest(place: &Subject<'_>) -> Option<Picture> {
    let title = "Effect on the primary metric";
    forest(place, Kind::Forest, "effects", title, &caption(place, false), lines(place, Role::Primary, true), false)
}

fn caption(place: &Subject<'_>, dense: bool) -> String {
    let units = if dense { String::new() } else { format!("; small dots are the single {}", unit_name(place)) };
    let sesoi = given(place.findings.rules.sesoi);
    format!(
        "Each row: an arm against its control, estimate and interval{units}. Shaded: effects below {sesoi}, the smallest of \
         interest. Dashed: no verdict."
    )
}

/// Up to this many questions have rows with their units; with more, rows are low.
const TALL: usize = 10;

/// All questions of a run in one plot, which a reader wants to see first.
pub(super) fn all_questions(places: &[Subject<'_>]) -> Option<Picture> {
    let of_place = |place: &Subject<'_>| {
        let label = labels::workload_label(place.findings, place.workload);
        let mut lines = lines(place, Role::Primary, true);
        for line in &mut lines {
            if let Line::Heading(name, _) = line {
                *name = format!("{label}: {name}");
            }
        }
        lines
    };
    let lines: Vec<Line> = places.iter().flat_map(of_place).collect();
    let dense = lines.iter().filter(|line| matches!(line, Line::Row(_))).count() > TALL;
    let first = places.first()?;
    let picture = forest(first, Kind::Forest, "questions", "Every question", &caption(first, dense), lines, dense)?;
    Some(Picture { name: "questions".into(), ..picture })
}

pub(super) fn other_forest(place: &Subject<'_>) -> Option<Picture> {
    let lines = lines(place, Role::Secondary, false);
    let caption = "Exploratory: judged after a correction for looking at all of them.";
    forest(place, Kind::OtherMetrics, "other-metrics", "Effect on every other metric", caption, lines, true)
}

pub(super) fn forest(
    place: &Subject<'_>,
    kind: Kind,
    name: &str,
    title: &str,
    caption: &str,
    lines: Vec<Line>,
    dense: bool,
) -> Option<Picture> {
    lines.iter().any(|l| matches!(l, Line::Row(_))).then(|| {
        let row = |line: &Line| match line {
            Line::Heading(..) => None,
            Line::Row(row) => {
                let note = if row.note.is_empty() { String::new() } else { format!(" ({})", row.note) };
                Some(format!("{} {} {}, {}{note}", row.label, row.value, row.bracket, row.verdict))
            }
        };
        let said: Vec<String> = lines.iter().filter_map(row).collect();
        let chart = Forest { lines, sesoi: place.findings.rules.sesoi.clamp(0.0, 10.0), dense, plain: false };
        let caption = format!(
            "{caption}{}",
            if chart.reaches_beyond() {
                " Arrow: continues beyond the axis; dots there are counted, with their range."
            } else {
                ""
            }
        );
        let picture = place.picture(kind, name, title.to_owned(), &caption, Box::new(chart));
        if dense { picture } else { picture.described(said.join("; ")) }
    })
}

fn unit_name<'a>(place: &Subject<'a>) -> &'a str {
    let contrasts = place.workload.metrics.first().map(|m| m.contrasts.as_slice()).unwrap_or_default();
    contrasts.first().map_or("blocks", |c| c.unit_name.as_str())
}

fn lines(place: &Subject<'_>, role: Role, with_empty: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    for metric in place.workload.metrics.iter().filter(|m| m.role == role) {
        let contrasts: Vec<&Contrast> = metric.contrasts.iter().filter(|c| with_empty || drawable(c)).collect();
        if contrasts.is_empty() {
            continue;
        }
        lines.push(Line::Heading(labels::metric_name(&metric.name), good_side(metric.direction).to_owned()));
        lines.extend(contrasts.into_iter().map(|c| Line::Row(row(place, metric, c))));
    }
    lines
}

/// The side of the axis that is good.
pub(super) fn good_side(direction: Direction) -> &'static str {
    match direction {
        Direction::LowerIsBetter => "← lower is better",
        Direction::HigherIsBetter => "higher is better →",
        Direction::Neutral => "neither way is better",
    }
}

fn drawable(contrast: &Contrast) -> bool {
    contrast.effect.is_some_and(|e| e.scale == Scale::Ratio && e.value > 0.0 && e.lo > 0.0 && e.hi.is_finite())
}

pub(super) fn row(place: &Subject<'_>, metric: &MetricFindings, contrast: &Contrast) -> ForestRow {
    let text = contrast.effect.map(|e| effect(&e, &metric.unit));
    let (value, bracket) = text.map_or_else(Default::default, |t| (t.value, t.interval));
    let interval = contrast.effect.filter(|_| drawable(contrast)).map(|e| (e.value, e.lo, e.hi));
    let no_verdict = matches!(contrast.verdict, Verdict::NoVerdict { .. });
    let name = place.arm_name(contrast.arm);
    let verdict = verdict_words(contrast);
    ForestRow {
        arm: contrast.arm,
        label: if contrast.is_aa { format!("{name} (A/A)") } else { name },
        units: match interval {
            Some(_) => contrast.unit_effects.iter().map(|u| (u.value, u.far_out)).collect(),
            None => Vec::new(),
        },
        note: if interval.is_some() { String::new() } else { note(contrast) },
        interval,
        value,
        bracket,
        verdict,
        tone: Tone::from(&contrast.verdict).class(),
        weak: no_verdict,
    }
}

/// Why an effect cannot be drawn on an axis of ratios.
fn note(contrast: &Contrast) -> String {
    match contrast.effect {
        None => labels::reason(&contrast.verdict).unwrap_or("it could not be computed").to_owned(),
        Some(effect) if effect.scale == Scale::Difference => "no ratio: a trial measured 0 or less".into(),
        Some(_) => "its interval does not end on this axis".into(),
    }
}

fn verdict_words(contrast: &Contrast) -> String {
    let word = labels::verdict(&contrast.verdict);
    // The reason for a missing value is a sentence; it is in the table and, as far as it fits, in the row's plot.
    if labels::reason(&contrast.verdict).is_some() {
        return word.to_owned();
    }
    let p = contrast.p_adjusted.or(contrast.p).map(|p| format!(", p {}", p_value(Some(p)))).unwrap_or_default();
    format!("{word}{p}, {}", labels::units(contrast))
}
