//! Dependencies between our crates go in one direction: plan → run → run directory → findings → report. The table is
//! the architecture (ARCHITECTURE.md explains each row); a new edge is a decision to be made here.

use super::{array, field, members};
use anyhow::Result;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Each package, and the packages of ours that it may depend on.
#[rustfmt::skip]
const ALLOWED: &[(&str, &[&str])] = &[
    ("schedlab-sys", &[]),
    ("schedlab-plugin", &[]),
    ("schedlab-plan", &[]),
    ("schedlab-run", &["schedlab-sys", "schedlab-plan"]),
    ("schedlab-stats", &[]),
    ("schedlab-bench", &["schedlab-sys", "schedlab-plan"]),
    ("schedlab-record", &["schedlab-sys", "schedlab-plan", "schedlab-trace"]),
    ("schedlab-host", &["schedlab-sys", "schedlab-plan"]),
    ("schedlab-tune", &["schedlab-sys", "schedlab-plan", "schedlab-stats"]),
    ("schedlab-import", &["schedlab-plan"]),
    ("schedlab-kernel", &["schedlab-plan"]),
    ("schedlab-vm", &["schedlab-sys", "schedlab-plan"]),
    ("schedlab-trace", &["schedlab-plan", "schedlab-run"]),
    ("schedlab-analyze", &["schedlab-trace", "schedlab-plan", "schedlab-stats"]),
    ("schedlab-trial", &["schedlab-sys", "schedlab-plan", "schedlab-bench", "schedlab-record", "schedlab-host",
        "schedlab-tune", "schedlab-stats", "schedlab-analyze"]),
    ("schedlab-report", &["schedlab-plan", "schedlab-stats", "schedlab-analyze", "schedlab-kernel"]),
    ("schedlab", &["schedlab-sys", "schedlab-plan", "schedlab-run", "schedlab-stats", "schedlab-bench", "schedlab-record",
        "schedlab-host", "schedlab-tune", "schedlab-trial", "schedlab-trace", "schedlab-analyze", "schedlab-report",
        "schedlab-import", "schedlab-vm", "schedlab-kernel"]),
    ("schedlab-benches", &["schedlab-sys", "schedlab-plan", "schedlab-run", "schedlab-stats", "schedlab-trace",
        "schedlab-analyze", "schedlab-kernel", "schedlab-tune"]),
    ("xtask", &[]),
];

/// A dependency between two of our packages; `tests_only` is a dev-dependency.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    from: String,
    to: String,
    tests_only: bool,
}

/// Reports packages that are missing in the table, edges that it does not allow, and cycles through dev-dependencies.
pub(super) fn check(metadata: &Value) -> Result<Vec<String>> {
    let members = members(metadata)?;
    let names: BTreeSet<&str> = members.iter().map(|p| field(p, "name")).collect::<Result<_>>()?;
    let mut edges = BTreeSet::new();
    for package in &members {
        for dependency in array(package, "dependencies")? {
            let to = field(dependency, "name")?;
            if names.contains(to) {
                let tests_only = dependency["kind"] == "dev";
                edges.insert(Edge { from: field(package, "name")?.into(), to: to.into(), tests_only });
            }
        }
    }
    Ok(violations(ALLOWED, &names, &edges))
}

/// A test may use lower crates than its own crate does, but nothing may depend on itself, not even through a test.
fn violations(allowed: &[(&str, &[&str])], names: &BTreeSet<&str>, edges: &BTreeSet<Edge>) -> Vec<String> {
    let allowed: BTreeMap<&str, &[&str]> = allowed.iter().copied().collect();
    let unknown = names.iter().filter(|n| !allowed.contains_key(*n));
    let mut problems: Vec<String> =
        unknown.map(|n| format!("{n} has no row in xtask/src/structure/direction.rs")).collect();
    for edge in edges {
        let may = allowed.get(edge.from.as_str()).is_some_and(|to| to.contains(&edge.to.as_str()));
        if edge.tests_only && reaches(edges, &edge.to, &edge.from) {
            problems.push(format!("the tests of {} depend on {}, which depends on it", edge.from, edge.to));
        } else if !edge.tests_only && !may {
            problems.push(format!("{} must not depend on {}", edge.from, edge.to));
        }
    }
    problems
}

fn reaches(edges: &BTreeSet<Edge>, from: &str, goal: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        if at == goal {
            return true;
        }
        if seen.insert(at) {
            open.extend(edges.iter().filter(|e| e.from == at).map(|e| e.to.as_str()));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[(&str, &[&str])] = &[("run", &[]), ("analyze", &["run"]), ("report", &["run", "analyze"])];

    fn found(edges: &[(&str, &str, bool)]) -> Vec<String> {
        let names = BTreeSet::from(["run", "analyze", "report"]);
        let edge = |&(from, to, tests_only): &(&str, &str, bool)| Edge { from: from.into(), to: to.into(), tests_only };
        violations(TABLE, &names, &edges.iter().map(edge).collect())
    }

    #[test]
    fn edges_of_the_table_pass() {
        assert_eq!(found(&[("analyze", "run", false), ("report", "analyze", false)]), Vec::<String>::new());
    }

    #[test]
    fn an_arrow_back_is_named() {
        assert_eq!(found(&[("run", "report", false)]), ["run must not depend on report"]);
    }

    #[test]
    fn a_test_may_look_down_but_not_in_a_circle() {
        assert_eq!(found(&[("report", "run", true)]), Vec::<String>::new());
        let circle = found(&[("analyze", "run", false), ("report", "analyze", false), ("run", "report", true)]);
        assert_eq!(circle, ["the tests of run depend on report, which depends on it"]);
    }

    #[test]
    fn a_package_without_a_row_is_named() {
        let problems = violations(TABLE, &BTreeSet::from(["vm"]), &BTreeSet::new());
        assert_eq!(problems, ["vm has no row in xtask/src/structure/direction.rs"]);
    }

    #[test]
    fn the_table_itself_has_no_circle() {
        let edges: BTreeSet<Edge> = ALLOWED
            .iter()
            .flat_map(|(from, tos)| {
                tos.iter().map(|to| Edge { from: (*from).into(), to: (*to).into(), tests_only: false })
            })
            .collect();
        for edge in &edges {
            assert!(!reaches(&edges, &edge.to, &edge.from), "{} ⇄ {}", edge.from, edge.to);
        }
    }

    #[test]
    fn metadata_becomes_edges() {
        let metadata = serde_json::json!({
            "workspace_members": ["path+a", "path+b"],
            "packages": [
                {"id": "path+a", "name": "schedlab-run", "dependencies": [
                    {"name": "serde", "kind": null}, {"name": "schedlab-report", "kind": "build"}]},
                {"id": "path+b", "name": "schedlab-report", "dependencies": []},
                {"id": "registry+c", "name": "serde", "dependencies": []},
            ]
        });
        assert_eq!(check(&metadata).unwrap(), ["schedlab-run must not depend on schedlab-report"]);
        assert!(check(&serde_json::json!({"workspace_members": [], "packages": []})).is_err());
    }
}
