//! `[[grid]]` of a plan: settings and the values of each, of which every combination is an arm. What is looked at is how
//! a measure falls along one of them while the others stay, so each arm's name holds its values in order.

use super::written::WrittenValue;
use super::{PlanError, inconsistent};
use crate::setting::Arm;
use crate::units::parse_duration_ns;
use serde::Deserialize;

/// More are no grid that anybody waits for.
const MOST_ARMS: usize = 256;

/// One axis as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenAxis {
    /// In the arms' names.
    name: String,
    /// A setting without its value: `debugfs:sched/min_granularity_ns`, `slice`.
    set: String,
    values: Vec<WrittenValue>,
}

impl WrittenAxis {
    /// A point of it: its part of the name, and of the settings.
    fn point(&self, value: &str) -> (String, String) {
        (format!("{}={value}", self.name), written_setting(&self.set, value))
    }

    fn check(&self) -> Result<(), PlanError> {
        let name = &self.name;
        if self.values.len() < 2 {
            return inconsistent(format!("grid `{name}` needs two values or more"));
        }
        if self.set.contains(['=', ';']) {
            return inconsistent(format!(
                "grid `{name}`: `set` is one setting without its value, and `values` are its values"
            ));
        }
        Ok(())
    }
}

/// A setting without its value, and the value: a knob in nanoseconds takes a time with a unit.
pub(super) fn written_setting(set: &str, value: &str) -> String {
    let in_ns = Some(()).filter(|()| set.ends_with("_ns")).and_then(|()| parse_duration_ns(value).ok());
    format!("{set}={}", in_ns.map_or_else(|| value.to_owned(), |ns| ns.to_string()))
}

/// Every combination, the values of the last axis changing fastest; none without an axis.
pub(super) fn arms(axes: &[WrittenAxis]) -> Result<Vec<Arm>, PlanError> {
    axes.iter().try_for_each(WrittenAxis::check)?;
    let count = axes.iter().map(|axis| axis.values.len()).fold(1usize, usize::saturating_mul);
    if count > MOST_ARMS {
        return inconsistent(format!("the grid has {count} points, more than {MOST_ARMS}: give fewer values"));
    }
    let mut points: Vec<(Vec<String>, Vec<String>)> =
        if axes.is_empty() { Vec::new() } else { vec![Default::default()] };
    for axis in axes {
        let longer = |(names, settings): &(Vec<String>, Vec<String>)| {
            let (names, settings) = (names.clone(), settings.clone());
            axis.values.iter().map(move |value| {
                let (name, setting) = axis.point(&value.text());
                ([&names[..], &[name]].concat(), [&settings[..], &[setting]].concat())
            })
        };
        points = points.iter().flat_map(longer).collect();
    }
    let arm = |(names, settings): &(Vec<String>, Vec<String>)| {
        let name = names.join(" ");
        Arm::parse(&name, &settings.join(";"))
            .map_err(|cause| PlanError::Setting { of: format!("grid point `{name}`"), cause })
    };
    let arms = points.iter().map(arm).collect::<Result<Vec<Arm>, _>>()?;
    for (i, arm) in arms.iter().enumerate() {
        if let Some(other) = arms[..i].iter().find(|other| other.sets_as(arm)) {
            return inconsistent(format!(
                "grid points `{}` and `{}` set the same; give each value once",
                other.name, arm.name
            ));
        }
    }
    Ok(arms)
}

#[cfg(test)]
mod tests {
    use crate::Plan;

    const GRID: &str = "trials = 6\n[[workload]]\nrun = \"pipe\"\n[[arm]]\nname = \"default\"\n\
        [[grid]]\nname = \"m\"\nset = \"debugfs:sched/min_granularity_ns\"\nvalues = [\"1ms\", \"2.5ms\"]\n\
        [[grid]]\nname = \"policy\"\nset = \"policy\"\nvalues = [\"other\", \"batch\"]\n";

    fn error(plan: &str) -> String {
        Plan::parse(plan).unwrap_err().to_string()
    }

    #[test]
    fn every_combination_is_an_arm_after_the_named_ones() {
        let plan = Plan::parse(GRID).unwrap();
        let arms: Vec<(&str, String)> = plan.arms.iter().map(|arm| (arm.name.as_str(), arm.spec())).collect();
        let point = |m: u32, policy: &str| format!("debugfs:sched/min_granularity_ns={m};policy={policy}");
        assert_eq!(
            arms,
            [
                ("default", String::new()),
                ("m=1ms policy=other", point(1_000_000, "other")),
                ("m=1ms policy=batch", point(1_000_000, "batch")),
                ("m=2.5ms policy=other", point(2_500_000, "other")),
                ("m=2.5ms policy=batch", point(2_500_000, "batch")),
            ]
        );
        assert_eq!(Plan::parse(&plan.to_toml()).unwrap(), plan, "written out as its arms");
    }

    #[test]
    fn a_grid_that_is_none_is_refused() {
        assert!(error(&GRID.replace("\"1ms\", \"2.5ms\"", "\"1ms\"")).contains("two values or more"));
        assert!(error(&GRID.replace("set = \"policy\"", "set = \"policy=batch\"")).contains("without its value"));
        assert!(
            error(&GRID.replace("\"other\", \"batch\"", "\"other\", \"bath\""))
                .contains("grid point `m=1ms policy=bath`")
        );
        let twice = error(&GRID.replace("\"2.5ms\"", "\"1000us\""));
        assert!(twice.contains("`m=1ms policy=other` and `m=1000us policy=other` set the same"), "{twice}");
        let many: Vec<String> = (1..=129).map(|n| format!("\"{n}ms\"")).collect();
        assert!(error(&GRID.replace("\"1ms\", \"2.5ms\"", &many.join(", "))).contains("258 points"));
    }
}
