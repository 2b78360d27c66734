//! What differs between two environments: two arms, two runs, the start and the end of one.

use crate::FLUCTUATING;
use schedlab_run::{Check, Environment};

/// One check that came out differently.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct CheckDiff {
    /// The check's id, or the name of a field such as `kernel_release`.
    pub id: String,
    /// In print.
    pub title: String,
    /// Value of the first; `not checked` when it has no such check.
    pub a: String,
    /// Value of the second.
    pub b: String,
    /// What it does to results.
    pub effect: String,
}

const NOT_CHECKED: &str = "not checked";

/// Differences, fields of the machine first, then the checks in doctor's order. Fluctuating checks are left out, and
/// so are the boot id and the task groups, which differ without the machine being another.
pub fn diff(a: &Environment, b: &Environment) -> Vec<CheckDiff> {
    let fields = [
        ("hostname", "host", &a.hostname, &b.hostname, "another machine: results are descriptive"),
        ("kernel_release", "kernel", &a.kernel_release, &b.kernel_release, "another kernel"),
        ("kernel_version", "kernel build", &a.kernel_version, &b.kernel_version, "another build of the kernel"),
        ("machine", "architecture", &a.machine, &b.machine, "another architecture"),
        ("cpu_model", "CPU", &a.cpu_model, &b.cpu_model, "another CPU"),
        ("online_cpus", "online CPUs", &a.online_cpus, &b.online_cpus, "another number of CPUs to place tasks on"),
        ("cmdline", "kernel command line", &a.cmdline, &b.cmdline, "the kernel was booted with other parameters"),
        ("config_crc32", "kernel config", &a.config_crc32, &b.config_crc32, "the kernel was built differently"),
    ];
    let fields = fields.into_iter().filter(|(_, _, a, b, _)| a != b).map(|(id, title, a, b, effect)| CheckDiff {
        id: id.to_owned(),
        title: title.to_owned(),
        a: a.clone(),
        b: b.clone(),
        effect: effect.to_owned(),
    });
    fields.chain(check_diffs(&a.checks, &b.checks)).collect()
}

fn check_diffs(a: &[Check], b: &[Check]) -> Vec<CheckDiff> {
    let find = |checks: &[Check], id: &str| checks.iter().find(|c| c.id == id).map(|c| c.value.clone());
    let only_in_b = b.iter().filter(|check| find(a, &check.id).is_none());
    let mut diffs = Vec::new();
    for check in a.iter().chain(only_in_b).filter(|check| !FLUCTUATING.contains(&check.id.as_str())) {
        let value = |checks| find(checks, &check.id).unwrap_or_else(|| NOT_CHECKED.to_owned());
        let (a, b) = (value(a), value(b));
        if a != b {
            diffs.push(CheckDiff {
                id: check.id.clone(),
                title: check.title.clone(),
                a,
                b,
                effect: check.effect.clone(),
            });
        }
    }
    diffs
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_run::CheckState;

    fn check(id: &str, value: &str) -> Check {
        Check {
            id: id.into(),
            title: id.into(),
            state: CheckState::Info,
            value: value.into(),
            effect: String::new(),
            evidence: String::new(),
            mend: String::new(),
        }
    }

    #[test]
    fn only_what_differs_and_does_not_fluctuate() {
        let a = Environment {
            hostname: "a".into(),
            checks: vec![check("smt", "on"), check("thp", "always"), check("steal_rate", "0.1 %"), check("old", "1")],
            ..Environment::default()
        };
        let b = Environment {
            hostname: "b".into(),
            checks: vec![check("smt", "off"), check("thp", "always"), check("steal_rate", "0.2 %"), check("new", "2")],
            ..Environment::default()
        };
        let diffs = diff(&a, &b);
        let ids: Vec<(&str, &str, &str)> = diffs.iter().map(|d| (&*d.id, &*d.a, &*d.b)).collect();
        let expected =
            [("hostname", "a", "b"), ("smt", "on", "off"), ("old", "1", NOT_CHECKED), ("new", NOT_CHECKED, "2")];
        assert_eq!(ids, expected);
        assert!(super::diff(&a, &a).is_empty());
    }
}
