//! The machine as printed, and the changes between two readings of it.

use crate::findings::{Change, CheckRow, EnvironmentFindings};
use schedlab_plan::manifest::FLUCTUATING;
use schedlab_plan::{Check, Environment, Manifest};
use std::collections::BTreeMap;

/// The environment of a run and its changes from start to end.
pub(crate) fn environment(manifest: &Manifest) -> EnvironmentFindings {
    let start = &manifest.environment;
    let checks = start.checks.iter().map(|c| CheckRow {
        id: c.id.clone(),
        title: c.title.clone(),
        state: c.state,
        value: c.value.clone(),
        effect: c.effect.clone(),
        evidence: c.evidence.clone(),
        fix: c.fix.clone(),
    });
    EnvironmentFindings {
        facts: facts(start).into_iter().filter(|(_, v)| !v.is_empty()).map(|(n, v)| (n.to_owned(), v)).collect(),
        checks: checks.collect(),
        changes: manifest.environment_end.as_ref().map(|end| changes(start, end)).unwrap_or_default(),
        warnings: manifest.warnings.clone(),
    }
}

fn facts(e: &Environment) -> [(&'static str, String); 13] {
    [
        ("host", e.hostname.clone()),
        ("kernel", e.kernel_release.clone()),
        ("kernel build", e.kernel_version.clone()),
        ("machine", e.machine.clone()),
        ("CPU", e.cpu_model.clone()),
        ("online CPUs", e.online_cpus.clone()),
        ("command line", e.cmdline.clone()),
        ("kernel config CRC-32", e.config_crc32.clone()),
        ("boot id", e.boot_id.clone()),
        ("cgroup", e.cgroup.clone()),
        ("autogroup", e.autogroup.clone()),
        ("allowed CPUs", e.allowed_cpus.clone()),
        ("program CRC-32", e.program_crc32.clone()),
    ]
}

/// The differences: facts by name, checks by id, knobs. A check that only one side has counts; one whose value changes
/// by itself never does, nor one that only repeats a knob that differs.
pub fn changes(before: &Environment, after: &Environment) -> Vec<Change> {
    let change = |what: &str, before: &str, after: &str| Change {
        what: what.to_owned(),
        before: before.to_owned(),
        after: after.to_owned(),
    };
    let pairs = facts(before).into_iter().zip(facts(after));
    let mut all: Vec<Change> = pairs.filter(|(a, b)| a.1 != b.1).map(|(a, b)| change(a.0, &a.1, &b.1)).collect();
    let value = |e: &Environment, id: &str| e.value(id).map(str::to_owned);
    let knobs = knobs(before, after);
    let steady = |check: &&Check| !FLUCTUATING.contains(&check.id.as_str()) && !repeats(&check.id, &knobs);
    for check in before.checks.iter().filter(steady) {
        let now = value(after, &check.id).unwrap_or_else(|| "not checked".into());
        if now != check.value {
            all.push(change(&check.id, &check.value, &now));
        }
    }
    for check in after.checks.iter().filter(steady).filter(|c| value(before, &c.id).is_none()) {
        all.push(change(&check.id, "not checked", &check.value));
    }
    all.extend(knobs);
    all
}

/// Checks whose value is that of a knob.
const OF_A_KNOB: [(&str, &str); 12] = [
    ("autogroup", "autogroup"),
    ("audit", "audit"),
    ("cpuidle", "cpuidle"),
    ("default_slice", "base_slice"),
    ("energy_aware", "energy_aware"),
    ("governor", "governor"),
    ("halt_polling", "halt_poll"),
    ("numa_balancing", "numa_balancing"),
    ("preempt_model", "preempt"),
    ("schedstats", "schedstats"),
    ("transparent_hugepages", "thp"),
    ("turbo", "no_turbo"),
];

/// Whether this check is a second name of a knob that differs.
fn repeats(check: &str, knobs: &[Change]) -> bool {
    let knob = OF_A_KNOB.iter().find(|(id, _)| *id == check).map(|(_, knob)| *knob);
    knob.is_some_and(|knob| knobs.iter().any(|change| change.knob() == Some(knob)))
}

/// How the row of a knob begins.
const KNOB: &str = "knob ";

impl Change {
    /// The knob that differs, by its name in the catalogue; `None` if it is something else.
    pub fn knob(&self) -> Option<&str> {
        self.what.strip_prefix(KNOB)
    }
}

/// Every knob in which two machines differ; knobs that only one of them has are listed in one row. A run older than
/// version 5 has none.
fn knobs(before: &Environment, after: &Environment) -> Vec<Change> {
    let (a, b) = (&before.knobs, &after.knobs);
    if a.is_empty() || b.is_empty() {
        return Vec::new();
    }
    let change = |what: String, before: String, after: String| Change { what, before, after };
    let both = a.iter().filter_map(|(name, value)| Some((name, value, b.get(name)?)));
    let differ = both.filter(|(_, value, other)| value != other);
    let mut all: Vec<Change> =
        differ.map(|(name, value, other)| change(format!("{KNOB}{name}"), value.clone(), other.clone())).collect();
    let alone = |of: &BTreeMap<String, String>, than: &BTreeMap<String, String>| {
        let alone = of.iter().filter(|(name, _)| !than.contains_key(*name));
        alone.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
    };
    let (of_a, of_b) = (alone(a, b), alone(b, a));
    if !(of_a.is_empty() && of_b.is_empty()) {
        let or_none = |names: String| if names.is_empty() { "none".into() } else { names };
        all.push(change("knobs that only one has".into(), or_none(of_a), or_none(of_b)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_plan::CheckState;

    fn environment(hostname: &str, checks: &[(&str, &str)]) -> Environment {
        let check = |&(id, value): &(&str, &str)| Check {
            id: id.into(),
            title: id.into(),
            state: CheckState::Info,
            value: value.into(),
            effect: String::new(),
            evidence: String::new(),
            fix: String::new(),
        };
        Environment { hostname: hostname.into(), checks: checks.iter().map(check).collect(), ..Environment::default() }
    }

    #[test]
    fn only_what_differs_and_does_not_fluctuate_is_a_change() {
        let a = environment("a", &[("smt", "on"), ("thp", "always"), ("steal_rate", "0.1 %"), ("old", "1")]);
        let b = environment("b", &[("smt", "off"), ("thp", "always"), ("steal_rate", "0.2 %"), ("new", "2")]);
        let found = changes(&a, &b);
        let found: Vec<(&str, &str, &str)> = found.iter().map(|c| (&*c.what, &*c.before, &*c.after)).collect();
        let absent = "not checked";
        assert_eq!(found, [("host", "a", "b"), ("smt", "on", "off"), ("old", "1", absent), ("new", absent, "2")]);
        assert!(changes(&a, &a).is_empty());
    }

    #[test]
    fn every_knob_that_differs_is_named_and_those_of_one_side_in_one_row() {
        let of = |knobs: &[(&str, &str)]| Environment {
            knobs: knobs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            ..Environment::default()
        };
        let a = of(&[("base_slice", "2100000"), ("latency", "18000000"), ("nr_migrate", "32"), ("thp", "madvise")]);
        let b = of(&[("base_slice", "3000000"), ("fair_server_runtime", "0"), ("nr_migrate", "8"), ("thp", "madvise")]);
        let found = changes(&a, &b);
        let found: Vec<(&str, &str, &str)> = found.iter().map(|c| (&*c.what, &*c.before, &*c.after)).collect();
        let alone = ("knobs that only one has", "latency=18000000", "fair_server_runtime=0");
        assert_eq!(found, [("knob base_slice", "2100000", "3000000"), ("knob nr_migrate", "32", "8"), alone]);
        assert!(changes(&a, &Environment::default()).is_empty(), "an older run has recorded none");
    }

    #[test]
    fn a_knob_with_a_check_of_its_own_is_one_difference() {
        let of = |autogroup: &str, thp: &str, knobs: bool| {
            let mut machine = environment("a", &[("autogroup", autogroup), ("transparent_hugepages", thp)]);
            let both = [("autogroup", autogroup), ("thp", thp)];
            machine
                .knobs
                .extend(both.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().filter(|_| knobs));
            machine
        };
        let what = |knobs| {
            let found = changes(&of("off", "always", knobs), &of("on", "never", knobs));
            found.iter().map(|c| c.what.clone()).collect::<Vec<_>>()
        };
        assert_eq!(what(true), ["knob autogroup", "knob thp"]);
        assert_eq!(what(false), ["autogroup", "transparent_hugepages"], "a run without knobs has only its checks");
    }
}
