//! `[[grid]]` of a plan: settings with values; every combination of values is an arm. The report shows how a metric
//! changes along one setting while the others stay, so each arm's name has its values in order.

use super::axes::check_grid;
use super::written::WrittenValue;
use super::{PlanError, inconsistent};
use crate::setting::Arm;
use crate::units::parse_duration_ns;
use serde::Deserialize;

/// Nobody waits for a larger grid.
const MAX_ARMS: usize = 256;

/// One axis, as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenAxis {
    /// Its name in the names of arms.
    name: String,
    /// A setting without its value: `debugfs:sched/min_granularity_ns`, `slice`.
    set: String,
    values: Vec<WrittenValue>,
    /// The `values` at which curves along the other axes are drawn; if not given, all of them.
    fixed: Option<Vec<WrittenValue>>,
}

impl WrittenAxis {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Its first value as an arm.
    pub(super) fn first(&self) -> Result<Arm, PlanError> {
        let (name, spec) = self.point(&self.values.first().map(WrittenValue::text).unwrap_or_default());
        Arm::parse(&name, &spec).map_err(|cause| PlanError::Setting { of: format!("grid point `{name}`"), cause })
    }

    /// A point on the axis: its part of the name, and of the settings.
    fn point(&self, value: &str) -> (String, String) {
        (format!("{}={value}", self.name), written_setting(&self.set, value))
    }

    /// Whether curves along the other axes are drawn at this value.
    fn is_fixed(&self, value: &WrittenValue) -> bool {
        self.fixed.as_ref().is_none_or(|fixed| fixed.iter().any(|one| one.text() == value.text()))
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
        let texts = |of: &[WrittenValue]| of.iter().map(WrittenValue::text).collect::<Vec<_>>();
        let (values, fixed) = (texts(&self.values), texts(self.fixed.as_deref().unwrap_or_default()));
        match fixed.iter().find(|one| !values.contains(one)) {
            Some(one) => {
                inconsistent(format!("grid `{name}`: `fixed` are some of its `values`, and `{one}` is none of them"))
            }
            None if self.fixed.is_some() && fixed.is_empty() => {
                inconsistent(format!("grid `{name}`: `fixed` is empty; leave it out, or give one of its values"))
            }
            None => Ok(()),
        }
    }
}

/// A setting without its value, and the value: a knob in nanoseconds accepts a time with a unit.
pub(super) fn written_setting(set: &str, value: &str) -> String {
    let in_ns = Some(()).filter(|()| set.ends_with("_ns")).and_then(|()| parse_duration_ns(value).ok());
    format!("{set}={}", in_ns.map_or_else(|| value.to_owned(), |ns| ns.to_string()))
}

/// Names and settings of a point, with an entry for each axis, and how many of its values are not `fixed`.
type Point = (Vec<String>, Vec<String>, usize);

/// Every combination; the values of the last axis change fastest. If axes have `fixed` values, only points on a curve
/// along one axis are included, where all other axes are at such a value. Empty without an axis.
pub(super) fn arms(axes: &[WrittenAxis]) -> Result<Vec<Arm>, PlanError> {
    axes.iter().try_for_each(WrittenAxis::check)?;
    check_grid(axes)?;
    let mut points: Vec<Point> = if axes.is_empty() { Vec::new() } else { vec![Default::default()] };
    for axis in axes {
        let longer = |(names, settings, free): &Point| {
            let (names, settings, free) = (names.clone(), settings.clone(), *free);
            axis.values.iter().map(move |value| {
                let (name, setting) = axis.point(&value.text());
                let free = free + usize::from(!axis.is_fixed(value));
                ([&names[..], &[name]].concat(), [&settings[..], &[setting]].concat(), free)
            })
        };
        points = points.iter().flat_map(longer).filter(|(.., free)| *free <= 1).collect();
        if points.len() > MAX_ARMS {
            let count = points.len();
            return inconsistent(format!(
                "the grid has {count} points or more, and {MAX_ARMS} is the most: give fewer values, or `fixed`"
            ));
        }
    }
    let arm = |(names, settings, _): &Point| {
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
    fn a_grid_without_arms_is_compared_with_the_default() {
        let named = Plan::parse(GRID).unwrap();
        let bare = Plan::parse(&GRID.replace("[[arm]]\nname = \"default\"\n", "")).unwrap();
        assert_eq!(bare, named);
        let other = Plan::parse(&GRID.replace("\"default\"", "\"mine\"\nset = \"nice=1\"")).unwrap();
        assert_eq!((other.arms[0].name.as_str(), other.arms.len()), ("mine", 5));
    }

    #[test]
    fn with_fixed_values_there_are_curves_and_no_whole_surface() {
        let axis = |name: &str, fixed: &str| {
            format!("[[grid]]\nname = \"{name}\"\nset = \"debugfs:{name}\"\nvalues = [1, 2, 3, 4]\n{fixed}\n")
        };
        let start = &GRID[..GRID.find("[[grid]]").unwrap()];
        let names = |a: &str, b: &str| {
            let plan = Plan::parse(&format!("{start}{}{}", axis("a", a), axis("b", b))).unwrap();
            plan.arms[1..].iter().map(|arm| arm.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(
            names("fixed = [1]", "fixed = [2, 4]"),
            [
                "a=1 b=1", "a=1 b=2", "a=1 b=3", "a=1 b=4", "a=2 b=2", "a=2 b=4", "a=3 b=2", "a=3 b=4", "a=4 b=2",
                "a=4 b=4"
            ]
        );
        assert_eq!(names("", "fixed = [2]").len(), 16, "every value of `a` is fixed");
        let refused = |fixed: &str| error(&format!("{start}{}{}", axis("a", fixed), axis("b", "")));
        assert!(refused("fixed = [5]").contains("`5` is none of them"));
        assert!(refused("fixed = []").contains("is empty"));
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
        let one_name = error(&GRID.replace("name = \"policy\"", "name = \"m\""));
        assert!(one_name.contains("two grids are named `m`"), "{one_name}");
        let again = "[[grid]]\nname = \"n\"\nset = \"debugfs:sched/min_granularity_ns\"\nvalues = [5, 6]\n";
        let one_knob = error(&format!("{GRID}{again}"));
        assert!(one_knob.contains("grids `m` and `n` both set debugfs:sched/min_granularity_ns"), "{one_knob}");
        let many: Vec<String> = (1..=129).map(|n| format!("\"{n}ms\"")).collect();
        assert!(error(&GRID.replace("\"1ms\", \"2.5ms\"", &many.join(", "))).contains("258 points"));
    }
}
