//! Forest plots for particular designs: the main effects of a factorial, and how linearly a swept option scales.

use super::contrasts::{forest, good_side, row};
use super::{Kind, Picture, Subject, slug};
use crate::chart::{Forest, ForestRow, Line};
use crate::labels;
use crate::number::{given, maybe_quantity, percent};
use schedlab_analyze::{Findings, MainEffect, Scaling, ScalingRow};

/// The main effects of a workload, a heading for each metric.
pub(super) fn main_effects(place: &Subject<'_>) -> Option<Picture> {
    let mut lines = Vec::new();
    for metric in &place.workload.metrics {
        let effects: Vec<&MainEffect> =
            place.workload.main_effects.iter().filter(|e| e.metric == metric.name).collect();
        if !effects.is_empty() {
            lines.push(Line::Heading(labels::metric_name(&metric.name), good_side(metric.direction).to_owned()));
        }
        for of_factor in effects {
            let label = place.findings.factors.get(of_factor.factor as usize)?.name.clone();
            lines.push(Line::Row(ForestRow { label, ..row(place, metric, &of_factor.contrast) }));
        }
    }
    let caption = format!(
        "Each row: a factor, high against low, averaged over the levels of all others; small dots are the single blocks. \
         Shaded: effects below {}, the smallest of interest. Dashed: no verdict.",
        given(place.findings.rules.sesoi)
    );
    forest(place, Kind::Forest, "main-effects", "Main effects", &caption, lines, false)
}

/// Linearity of a swept option: a heading for each arm, a row for each value.
pub(crate) fn scaling(findings: &Findings, number: usize) -> Option<Picture> {
    let scaling = findings.scalings.get(number)?;
    let mut lines = Vec::new();
    let mut arm = None;
    for of_value in scaling.rows.iter().filter(|row| row.linearity.is_some()) {
        if arm != Some(of_value.arm) {
            arm = Some(of_value.arm);
            lines.push(Line::Heading(labels::arm_name(findings, of_value.arm).to_owned(), "linear is 1".to_owned()));
        }
        lines.push(Line::Row(linearity_row(scaling, of_value)?));
    }
    let title = format!("Linearity over {}", scaling.option);
    let caption = format!(
        "Each row: {} at a value against the first value's times the {}; the words are the score and its spread over runs. \
         Shaded: within {} of linear. Descriptive.",
        scaling.metric,
        scaling.option,
        given(findings.rules.sesoi)
    );
    (!lines.is_empty()).then(|| Picture {
        name: format!("scaling-{}-{}", number + 1, slug(&scaling.option)),
        kind: Kind::Forest,
        description: format!("{title}, workload {}. {caption}", scaling.spec),
        title,
        caption,
        chart: Box::new(Forest { lines, sesoi: findings.rules.sesoi.clamp(0.0, 10.0), dense: true, plain: true }),
    })
}

fn linearity_row(scaling: &Scaling, row: &ScalingRow) -> Option<ForestRow> {
    let effect = row.linearity?;
    let spread = row.spread.map(|s| format!(", ± {}", percent(s))).unwrap_or_default();
    let score = maybe_quantity(row.score, &scaling.unit);
    let usable = effect.value > 0.0 && effect.lo > 0.0 && effect.hi.is_finite();
    Some(ForestRow {
        arm: row.arm,
        label: format!("{} {}", scaling.option, row.value),
        interval: usable.then_some((effect.value, effect.lo, effect.hi)),
        units: Vec::new(),
        value: format!("{:.2}", effect.value),
        bracket: format!("[{:.2}, {:.2}]", effect.lo, effect.hi),
        note: if usable { String::new() } else { "its interval does not end on this axis".into() },
        verdict: format!("{score}{spread}"),
        tone: "none",
        weak: false,
    })
}
