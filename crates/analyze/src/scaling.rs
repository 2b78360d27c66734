//! The scaling table of a swept option: the score at each value, how linear it is, the spread of the runs, how evenly
//! the copies shared it, and where each pair ran. Descriptive: a value is not an arm, and there is no verdict.

use crate::contrasts::{mean, values_by_unit};
use crate::estimate::effect;
use crate::findings::*;
use crate::metric::MetricKey;
use crate::selection::Selection;
use crate::workload::Workload;
use schedlab_plan::manifest::Sweep;
use schedlab_plan::{Direction, InOrder, Manifest, OneByOne, TaskRecord, TrialOutcome, WorkloadSpec};
use schedlab_stats::{median, welch};
use std::collections::BTreeMap;

/// The tables of every sweep of a run.
pub(crate) fn scalings(manifest: &Manifest, parts: &[Workload<'_>]) -> Vec<Scaling> {
    manifest.sweeps.iter().filter_map(|sweep| of_sweep(manifest, sweep, parts)).collect()
}

fn of_sweep(manifest: &Manifest, sweep: &Sweep, parts: &[Workload<'_>]) -> Option<Scaling> {
    let members: Vec<(&String, &Workload<'_>)> = sweep
        .values
        .iter()
        .zip(&sweep.workloads)
        .filter_map(|(value, &workload)| Some((value, parts.get(workload as usize)?)))
        .collect();
    let key = members.iter().find_map(|(_, part)| part.keys.first())?.clone();
    let first = members.first().filter(|_| sweep.parallel);
    let base = first.map(|(value, part)| (number(value), &part.selection));
    let mut rows = Vec::new();
    for arm in 0..manifest.arms.len() as u32 {
        for (value, part) in &members {
            rows.push(row(value, arm, &part.selection, &key, base, 1.0 - manifest.alpha));
        }
    }
    Some(Scaling {
        option: sweep.option.clone(),
        spec: without(manifest.workloads.get(*sweep.workloads.first()? as usize)?, &sweep.option),
        workloads: sweep.workloads.clone(),
        metric: key.name,
        unit: key.unit,
        rows,
    })
}

/// The table of single trials, one for each value, for `bench` with a list of values. `parallel` says whether the
/// option is a number of things that run at the same time. `None` if the trials have no metric.
pub fn scaling_of_trials(option: &str, parallel: bool, trials: &[(String, TrialOutcome)]) -> Option<Scaling> {
    let (first_value, first) = trials.first()?;
    let metric = first.metrics.first()?;
    let score = |outcome: &TrialOutcome| outcome.stated().find(|m| m.name == metric.name).map(|m| m.value);
    let base = (number(first_value), score(first));
    let row = |(value, outcome): &(String, TrialOutcome)| {
        let mut row = described(value, 0, &[outcome]);
        row.score = score(outcome);
        (row.min, row.max) = (row.score, row.score);
        row.linearity = linear_factor(metric.direction, &metric.unit, number(value), base.0)
            .filter(|_| parallel)
            .and_then(|times| Some(row.score? / (base.1? * times)))
            .filter(|value| value.is_finite())
            .map(|value| Effect { scale: Scale::Ratio, value, lo: value, hi: value, level: 0.0 });
        row
    };
    Some(Scaling {
        option: option.to_owned(),
        spec: first.workload.parse().map_or_else(|_| first.workload.clone(), |spec| without(&spec, option)),
        workloads: Vec::new(),
        metric: metric.name.clone(),
        unit: metric.unit.clone(),
        rows: trials.iter().map(row).collect(),
    })
}

/// The part of the workload that is the same for every value of the option.
fn without(spec: &WorkloadSpec, option: &str) -> String {
    let mut spec = spec.clone();
    spec.args.remove(option);
    spec.to_string()
}

fn number(value: &str) -> Option<f64> {
    value.parse().ok().filter(|n: &f64| *n > 0.0)
}

/// The factor from the first score to this value's if scaling were linear; only for rates over a number of copies.
fn linear_factor(direction: Direction, unit: &str, value: Option<f64>, base: Option<f64>) -> Option<f64> {
    (direction == Direction::HigherIsBetter && unit.ends_with("/s")).then_some(())?;
    Some(value? / base?)
}

fn row(
    value: &str,
    arm: u32,
    selection: &Selection<'_>,
    key: &MetricKey,
    base: Option<(Option<f64>, &Selection<'_>)>,
    level: f64,
) -> ScalingRow {
    let outcomes: Vec<&TrialOutcome> = selection.used(Some(arm)).filter_map(|r| r.outcome.as_ref()).collect();
    let mut row = described(value, arm, &outcomes);
    let blocks = values_by_unit(selection, key, arm).unwrap_or_default();
    let all: Vec<f64> = blocks.values().flatten().copied().collect();
    row.score = (!all.is_empty()).then(|| median(&all));
    row.min = all.iter().copied().reduce(f64::min);
    row.max = all.iter().copied().reduce(f64::max);
    row.spread = spread(&all);
    row.linearity = base.and_then(|(base_value, base)| {
        let times = linear_factor(key.direction, &key.unit, number(value), base_value)?;
        linearity(&blocks, &values_by_unit(base, key, arm).ok()?, times, level)
    });
    row
}

/// What the tasks report, independent of the metric.
fn described(value: &str, arm: u32, outcomes: &[&TrialOutcome]) -> ScalingRow {
    let fairness: Vec<f64> =
        outcomes.iter().filter_map(|o| o.stated().find(|m| m.name == "fairness_jain").map(|m| m.value)).collect();
    ScalingRow {
        value: value.to_owned(),
        arm,
        n: outcomes.len(),
        score: None,
        min: None,
        max: None,
        spread: None,
        linearity: None,
        fairness: (!fairness.is_empty()).then(|| median(&fairness)),
        copies: copies(outcomes),
    }
}

/// Standard deviation over mean.
fn spread(values: &[f64]) -> Option<f64> {
    let centre = mean(values).filter(|m| *m > 0.0 && values.len() > 1)?;
    let squares: f64 = values.iter().map(|v| (v - centre).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt() / centre)
}

/// Score ÷ (first score × factor), with blocks as units. Welch's interval on log block means, because the blocks of two
/// values alternate and are not pairs.
fn linearity(
    blocks: &BTreeMap<u32, Vec<f64>>,
    base: &BTreeMap<u32, Vec<f64>>,
    times: f64,
    level: f64,
) -> Option<Effect> {
    let logs = |blocks: &BTreeMap<u32, Vec<f64>>| -> Option<Vec<f64>> {
        blocks.values().map(|values| mean(&values.iter().map(|v| v.ln()).collect::<Vec<_>>())).collect()
    };
    if times == 1.0 {
        return Some(Effect { scale: Scale::Ratio, value: 1.0, lo: 1.0, hi: 1.0, level });
    }
    let mut estimate = welch(&logs(base)?, &logs(blocks)?, level)?;
    estimate.mean -= times.ln();
    estimate.interval.lo -= times.ln();
    estimate.interval.hi -= times.ln();
    effect(Scale::Ratio, estimate.mean, estimate.interval)
}

/// Each copy's operations and places. A copy is a group with a `parent` and a `child`, as the pipe has them.
fn copies(outcomes: &[&TrialOutcome]) -> Vec<CopyRow> {
    let mut pairs: BTreeMap<u32, Vec<[&TaskRecord; 2]>> = BTreeMap::new();
    for outcome in outcomes {
        let of_role = |role: &'static str| outcome.tasks.iter().filter(move |task| task.role == role);
        let children: BTreeMap<u32, &TaskRecord> = of_role("child").map(|task| (task.group, task)).one_by_one();
        for parent in of_role("parent") {
            if let Some(child) = children.get(&parent.group) {
                pairs.entry(parent.group).or_default().push([parent, child]);
            }
        }
    }
    pairs.into_iter().map(|(copy, pairs)| copy_row(copy, &pairs)).collect()
}

/// One copy, a pair for each trial.
fn copy_row(copy: u32, pairs: &[[&TaskRecord; 2]]) -> CopyRow {
    let operations: Vec<f64> = pairs.iter().map(|[parent, _]| parent.operations as f64).collect();
    let same_cpu: Vec<f64> = pairs.iter().flatten().filter_map(|task| task.same_cpu_share).collect();
    let mut places: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for [parent, child] in pairs {
        if let (Some(parent_cpu), Some(child_cpu)) = (parent.last_cpu, child.last_cpu) {
            *places.entry((parent_cpu, child_cpu)).or_default() += 1;
        }
    }
    let last = |((parent_cpu, child_cpu), runs)| LastCpus { parent_cpu, child_cpu, runs };
    let mut places: Vec<LastCpus> = places.into_iter().map(last).collect();
    places.in_order_by_key(|place| std::cmp::Reverse(place.runs));
    CopyRow { copy, operations: median(&operations), same_cpu_share: mean(&same_cpu), places }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linearity_takes_the_number_of_copies_off() {
        let blocks = |scores: &[f64]| scores.iter().enumerate().map(|(i, &s)| (i as u32, vec![s, s])).collect();
        let found = linearity(&blocks(&[190.0, 200.0, 210.0]), &blocks(&[99.0, 100.0, 101.0]), 2.0, 0.95).unwrap();
        assert!((found.value - 1.0).abs() < 0.01 && found.lo < 1.0 && found.hi > 1.0, "{found:?}");
        let found = linearity(&blocks(&[100.0, 100.0, 101.0]), &blocks(&[99.0, 100.0, 101.0]), 4.0, 0.95).unwrap();
        assert!((found.value - 0.25).abs() < 0.01 && found.hi < 0.3, "{found:?}");
        assert_eq!(linear_factor(Direction::LowerIsBetter, "s", Some(4.0), Some(1.0)), None, "a time is no rate");
        assert_eq!((number("ncpu"), number("0"), number("4")), (None, None, Some(4.0)));
    }

    #[test]
    fn the_spread_is_the_coefficient_of_variation() {
        assert!((spread(&[9.0, 10.0, 11.0]).unwrap() - 0.1).abs() < 1e-12);
        assert_eq!((spread(&[5.0]), spread(&[])), (None, None));
    }
}
