//! The grid of a plan: how each metric changes along one of its settings while the other is constant.

use super::{Kind, Picture, Subject};
use crate::chart::{ArmKey, Panel, PanelRow, Panels};
use crate::labels;
use schedlab_analyze::{MetricFindings, Role};
use std::collections::BTreeMap;

/// With fewer values of a setting there is no curve.
const LEAST: usize = 3;

/// Metrics shown below the primary ones: those that the settings change directly.
pub(super) const BESIDE: [&str; 2] = ["voluntary_switches_per_op", "involuntary_switches_per_op"];

/// Two settings, each with its values, and the arm of every combination.
struct Grid {
    names: [String; 2],
    values: [Vec<String>; 2],
    arms: BTreeMap<(usize, usize), u32>,
}

impl Grid {
    /// Parses the names of arms, which contain their values from a `[[grid]]` (`m=1ms w=3ms`).
    fn of<'n>(arms: impl Iterator<Item = (u32, &'n str)>) -> Option<Self> {
        let (mut names, mut values, mut points) = (None, [Vec::new(), Vec::new()], BTreeMap::new());
        for (arm, name) in arms {
            let parts: Vec<_> = name.split(' ').filter_map(|part| part.split_once('=')).collect();
            let [(first, a), (second, b)] = parts[..] else { continue };
            if *names.get_or_insert([first.to_owned(), second.to_owned()]) != [first, second] {
                return None;
            }
            let at = [a, b].iter().zip(&mut values).map(|(value, known)| place_of(known, value)).collect::<Vec<_>>();
            points.insert((at[0], at[1]), arm);
        }
        let whole =
            values.iter().all(|known| known.len() >= LEAST) && points.len() == values[0].len() * values[1].len();
        whole.then_some(Self { names: names?, values, arms: points })
    }

    /// The chart along one of the settings, 0 or 1.
    fn along(&self, axis: usize, metric: &MetricFindings) -> Panel {
        let other = 1 - axis;
        let median = |step: usize, level: usize| {
            let arm = self.arms.get(&if axis == 0 { (step, level) } else { (level, step) })?;
            metric.values.iter().find(|values| values.arm == *arm)?.median
        };
        let line = |(level, value): (usize, &String)| {
            let values = (0..self.values[axis].len()).map(|step| median(step, level)).collect();
            (ArmKey { arm: level as u32, name: format!("{}={value}", self.names[other]) }, values)
        };
        Panel {
            title: format!("{} along {}", labels::metric_name(&metric.name), self.names[axis]),
            steps: self.values[axis].clone(),
            lines: self.values[other].iter().enumerate().map(line).collect(),
            ..Panel::default()
        }
    }
}

fn place_of(known: &mut Vec<String>, value: &str) -> usize {
    known.iter().position(|there| there == value).unwrap_or_else(|| {
        known.push(value.to_owned());
        known.len() - 1
    })
}

pub(super) fn curves(place: &Subject<'_>) -> Option<Picture> {
    let grid = Grid::of(place.findings.arms.iter().enumerate().map(|(arm, info)| (arm as u32, info.name.as_str())))?;
    let metrics = &place.workload.metrics;
    let primary = metrics.iter().filter(|metric| metric.role == Role::Primary);
    let beside = BESIDE.iter().filter_map(|name| metrics.iter().find(|metric| metric.name == *name));
    let rows = primary.chain(beside).map(|metric| PanelRow {
        unit: metric.unit.clone(),
        panels: vec![grid.along(0, metric), grid.along(1, metric)],
        reference: metric.values.first().and_then(|control| control.median),
    });
    let rows: Vec<PanelRow> = rows.collect();
    let known = |panel: &Panel| panel.lines.iter().flat_map(|line| &line.1).any(Option::is_some);
    rows.iter().any(|row| row.panels.iter().any(known)).then(|| {
        let title = format!("Along {} and {}", grid.names[0], grid.names[1]);
        let caption =
            "Medians of the used trials at each point of the grid, values at equal distances. Dashed: the control. The verdicts are in the table.";
        place.picture(Kind::Forest, "grid", title, caption, Box::new(Panels { rows }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_found_among_other_arms_and_nothing_less_is_one() {
        let points = ["1", "2", "3"].map(|m| ["a", "b", "c"].map(|w| format!("m={m} w={w}"))).concat();
        let others = ["default".to_owned(), "article (m 18, w 7)".to_owned()];
        let all = [&others[..], &points].concat();
        let of = |names: &[String]| Grid::of(names.iter().enumerate().map(|(arm, name)| (arm as u32, name.as_str())));
        let grid = of(&all).expect("a grid");
        assert_eq!(
            (grid.names, grid.values[1].clone()),
            (["m", "w"].map(String::from), ["a", "b", "c"].map(String::from).to_vec())
        );
        assert_eq!((grid.arms[&(0, 0)], grid.arms[&(1, 2)]), (2, 7));
        assert!(of(&all[..10]).is_none(), "a point is missing");
        assert!(of(&others).is_none());
        assert!(of(&["m=1 w=1", "m=1 w=2", "m=2 w=1", "m=2 w=2"].map(String::from)).is_none(), "no curve");
    }
}
