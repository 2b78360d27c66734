//! Writes a plan as text: every key is written out, so that the stored text says what was run.

use super::{Plan, PlannedWorkload, Stopping};
use crate::factorial::PlannedFactor;
use crate::setting::Arm;
use crate::units::{format_ns_exact, parse_share};
use serde::Serialize;

impl Plan {
    /// The plan as canonical TOML, complete; parsing it gives the same plan.
    pub fn to_toml(&self) -> String {
        let top = self.top_table().into_iter().map(|(key, value)| format!("{key} = {value}\n"));
        // The arms of a factorial follow from its factors and the machine.
        let arms = self.arms.iter().filter(|_| self.factors.is_empty()).map(arm_table);
        let tables = self.workloads.iter().map(workload_table).chain(self.factors.iter().map(factor_table)).chain(arms);
        let requirements = self.require.iter().map(|requirement| requirement.to_toml(|text| written(text)));
        let statements = self.statements.iter().map(|statement| statement.to_toml(|text| written(text)));
        let guest = self.guest.iter().map(|guest| guest.to_toml(|text| written(text)));
        let knobs = self.search.iter().map(|search| search.to_toml(|text| written(text)));
        top.chain(guest).chain(tables).chain(knobs).chain(requirements).chain(statements).collect()
    }

    /// Keys outside the tables and their values as TOML, in the order of printing.
    fn top_table(&self) -> Vec<(&'static str, String)> {
        let mut keys = vec![
            ("title", written(&self.title)),
            ("sesoi", written(share(self.sesoi))),
            ("alpha", self.alpha.to_string()),
        ];
        keys.extend(self.round_of.as_ref().map(|study| ("round_of", written(study))));
        keys.extend(self.search.as_ref().map(|search| ("strategy", written(search.strategy.name()))));
        keys.extend(self.seed.map(|seed| ("seed", seed.to_string())));
        match self.stopping {
            Stopping::Trials { blocks } => keys.push(("trials", blocks.to_string())),
            Stopping::Budget { budget_ns, looks } => {
                keys.extend([("budget", written(format_ns_exact(budget_ns))), ("looks", looks.to_string())]);
            }
            Stopping::UntilDecided { max_blocks } => {
                keys.extend([("until_decided", written(true)), ("max_blocks", max_blocks.to_string())]);
            }
        }
        keys.extend(self.trial_ns.map(|ns| ("trial", written(format_ns_exact(ns)))));
        keys.extend(
            self.switchback_window_ns.map(|ns| ("design", written(format!("switchback={}", format_ns_exact(ns))))),
        );
        keys.extend([
            ("latency", written(self.stamping)),
            ("counters", written(self.counters)),
            ("load_group", written(self.load_group)),
        ]);
        if !self.factors.is_empty() {
            keys.push(("max_arms", self.max_arms.to_string()));
        }
        keys
    }
}

fn workload_table(workload: &PlannedWorkload) -> String {
    let mut text = format!("\n[[workload]]\nrun = {}\n", written(workload.run.to_string()));
    if let Some((option, values)) = &workload.sweep {
        text.push_str(&format!("sweep = {}\n", written(format!("{option}={}", values.join(",")))));
    }
    let load: Vec<String> = workload.load.iter().map(ToString::to_string).collect();
    for (key, list) in [("load", &load), ("primary", &workload.primary)] {
        if !list.is_empty() {
            text.push_str(&format!("{key} = {}\n", written(list)));
        }
    }
    text
}

fn factor_table(factor: &PlannedFactor) -> String {
    let (name, low, high) = (written(&factor.name), written(factor.low.spec()), written(factor.high.spec()));
    format!("\n[[factor]]\nname = {name}\nlow = {low}\nhigh = {high}\n")
}

fn arm_table(arm: &Arm) -> String {
    format!("\n[[arm]]\nname = {}\nset = {}\n", written(&arm.name), written(arm.spec()))
}

/// A value in TOML's form.
fn written(value: impl Serialize) -> String {
    toml::Value::try_from(value).expect("words, lists of words and truth values have a TOML form").to_string()
}

/// A share in percent if that reads back as the same number (5 % as 5, not as 5.000000000000001), otherwise as it is.
fn share(x: f64) -> String {
    let percent = format!("{:.12}", x * 100.0);
    let percent = format!("{}%", percent.trim_end_matches('0').trim_end_matches('.'));
    if parse_share(&percent) == Ok(x) { percent } else { x.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_spelled_out_in_a_fixed_order() {
        let text = "budget = \"90s\"\nsesoi = \"5%\"\nseed = 7\ntrial = \"1s\"\ndesign = \"switchback=20ms\"\nlatency = \"all\"\n\
                    [[workload]]\nrun = \"pipe:pin=same\"\nload = [\"burn:2\"]\nprimary = [\"index\", \"spread\"]\n\
                    [[arm]]\nname = \"a \\\"b\\\"\"\n[[arm]]\nname = \"b\"\nset = \"nice=1\"\n";
        let expected = "title = \"Untitled\"\nsesoi = \"5%\"\nalpha = 0.05\nseed = 7\nbudget = \"90s\"\nlooks = 5\n\
                        trial = \"1s\"\ndesign = \"switchback=20ms\"\nlatency = \"all\"\ncounters = \"full\"\n\
                        load_group = \"same\"\n\n[[workload]]\nrun = \"pipe:pin=same\"\nload = [\"burn:2\"]\n\
                        primary = [\"index\", \"spread\"]\n\n[[arm]]\nname = 'a \"b\"'\nset = \"\"\n\n\
                        [[arm]]\nname = \"b\"\nset = \"nice=1\"\n";
        assert_eq!(Plan::parse(text).unwrap().to_toml(), expected);
    }

    #[test]
    fn every_time_is_written_as_a_person_would_and_reads_back_to_the_nanosecond() {
        let rest = "[[workload]]\nrun = \"pipe\"\n[[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\nset = \"nice=1\"\n";
        let read_back = |budget_ns: u64, trial_ns: u64, window_ns: u64| {
            let times = format!(
                "budget = \"{budget_ns}ns\"\ntrial = \"{trial_ns}ns\"\ndesign = \"switchback={window_ns}ns\"\n"
            );
            let plan = Plan::parse(&(times + rest)).unwrap();
            assert_eq!(Plan::parse(&plan.to_toml()).unwrap(), plan, "{budget_ns} {trial_ns} {window_ns}");
            plan.to_toml()
        };
        let mut random = schedlab_stats::Random::new(1);
        let mut next = |least: u64, most: u64| {
            // Short times are drawn as often as long ones.
            least + random.next_u64() % (most - least).min(1 << random.below(63)).max(1)
        };
        for _ in 0..2000 {
            read_back(next(1_000_000_000, 1 << 62), next(2_000_000, 3_600_000_000_000), next(1_000_000, 1_000_000_000));
        }
        let written = read_back(60_000_000_000, 500_000_000, 2_500_000);
        for line in ["budget = \"60s\"", "trial = \"500ms\"", "design = \"switchback=2.5ms\""] {
            assert!(written.contains(line), "{written}");
        }
    }
}
