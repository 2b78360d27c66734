//! The axes of a plan: what its `[[grid]]`, `[[knob]]` and `[[factor]]` tables vary. A plan in arms no longer shows
//! them, and only crate `tune` knows which settings are one knob under two names.

use super::grid::WrittenAxis;
use super::search::WrittenKnob;
use super::{PlanError, inconsistent};
use crate::factorial::PlannedFactor;
use crate::setting::Setting;

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// The table that it is written in: `knob`, `grid` or `factor`.
    pub table: &'static str,
    /// Its name in the names of arms.
    pub name: String,
    /// What it sets, each key once; their values are some of the axis.
    pub sets: Vec<Setting>,
}

impl Axis {
    fn new(table: &'static str, name: &str, settings: impl Iterator<Item = Setting>) -> Self {
        let mut sets: Vec<Setting> = Vec::new();
        for setting in settings {
            if sets.iter().all(|other| other.key() != setting.key()) {
                sets.push(setting);
            }
        }
        Self { table, name: name.to_owned(), sets }
    }
}

pub(super) fn of_tables(
    knobs: &[WrittenKnob],
    grid: &[WrittenAxis],
    factors: &[PlannedFactor],
) -> Result<Vec<Axis>, PlanError> {
    let mut axes = grid_axes(grid)?;
    for knob in knobs {
        let knob = knob.planned()?;
        axes.push(Axis::new("knob", &knob.name, knob.settings()));
    }
    let both = |factor: &PlannedFactor| [&factor.low, &factor.high].map(|arm| arm.settings.clone()).concat();
    axes.extend(factors.iter().map(|factor| Axis::new("factor", &factor.name, both(factor).into_iter())));
    Ok(axes)
}

fn grid_axes(grid: &[WrittenAxis]) -> Result<Vec<Axis>, PlanError> {
    grid.iter().map(|axis| Ok(Axis::new("grid", axis.name(), axis.first()?.settings.into_iter()))).collect()
}

/// Refuses two axes of a grid that have one name or one key: every point of it would set it twice.
pub(super) fn check_grid(grid: &[WrittenAxis]) -> Result<(), PlanError> {
    let axes = grid_axes(grid)?;
    for (i, axis) in axes.iter().enumerate() {
        for other in &axes[..i] {
            if other.name == axis.name {
                return inconsistent(format!("two grids are named `{}`; give each a name of its own", axis.name));
            }
            let keys: Vec<String> = axis.sets.iter().map(Setting::key).collect();
            if let Some(both) = other.sets.iter().find(|setting| keys.contains(&setting.key())) {
                return inconsistent(format!(
                    "grids `{}` and `{}` both set {}; set it by one of them, with all its values",
                    other.name,
                    axis.name,
                    both.key()
                ));
            }
        }
    }
    Ok(())
}
