//! Third-party packages: none that compiles C (the aarch64 build has no C compiler), and not too many.

use super::{array, field, members};
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Third-party packages in the lock file, including those of other platforms.
const LOCKED_CRATES: usize = 140;

/// The heading above the table of reasons.
const DEPENDENCY_TABLE: &str = "## Dependencies";

/// Build dependencies that compile C, or that look for a C library to link.
const C_BUILDERS: [&str; 8] = ["autotools", "bindgen", "cc", "cmake", "meson", "nasm-rs", "pkg-config", "vcpkg"];

/// Packages in the graph resolved for our platforms whose build scripts use one of [`C_BUILDERS`].
pub(super) fn builds_c(metadata: &Value) -> Result<Vec<String>> {
    let mut names = BTreeMap::new();
    for package in array(metadata, "packages")? {
        names.insert(field(package, "id")?, field(package, "name")?);
    }
    let mut problems = Vec::new();
    for node in array(&metadata["resolve"], "nodes")? {
        let user = names.get(field(node, "id")?).copied().unwrap_or("an unknown package");
        for dependency in array(node, "deps")? {
            let for_build = array(dependency, "dep_kinds")?.iter().any(|k| k["kind"] == "build");
            let builder = names.get(field(dependency, "pkg")?).copied().unwrap_or_default();
            if for_build && C_BUILDERS.contains(&builder) {
                problems.push(format!("{user} builds with {builder}"));
            }
        }
    }
    Ok(problems)
}

/// A problem if the lock file has more than [`LOCKED_CRATES`] third-party packages, that is, those with a source. Our
/// own are split as the architecture requires.
pub(super) fn too_many_locked(lock: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(lock).with_context(|| format!("{} cannot be read", lock.display()))?;
    let locked = text.lines().filter(|l| l.starts_with("source = ")).count();
    let problem = || format!("{locked} packages of others in {}", lock.display());
    Ok(if locked > LOCKED_CRATES { vec![problem()] } else { Vec::new() })
}

/// Direct dependencies of our packages that have no row `| name |` in the table of ARCHITECTURE.md, and rows without a
/// dependency.
pub(super) fn without_reason(metadata: &Value, architecture: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(architecture).context("ARCHITECTURE.md cannot be read")?;
    let table = text.split_once(DEPENDENCY_TABLE).context("ARCHITECTURE.md has no table of dependencies")?.1;
    let rows: BTreeSet<&str> =
        table.lines().filter_map(|l| l.strip_prefix("| `")?.split_once('`')).map(|r| r.0).collect();
    let members = members(metadata)?;
    let ours: BTreeSet<&str> = members.iter().map(|p| field(p, "name")).collect::<Result<_>>()?;
    let mut direct = BTreeSet::new();
    for package in &members {
        for dependency in array(package, "dependencies")? {
            direct.insert(field(dependency, "name")?);
        }
    }
    let unreasoned = direct.difference(&ours).filter(|d| !rows.contains(**d)).map(|d| format!("{d} has no row"));
    Ok(unreasoned.chain(rows.difference(&direct).map(|r| format!("{r} has a row and no user"))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_dependency_needs_a_row_and_each_row_a_user() {
        let metadata = serde_json::json!({"workspace_members": ["r"], "packages": [
            {"id": "r", "name": "schedlab-run", "dependencies": [{"name": "serde"}, {"name": "toml"}]}]});
        let page = std::env::temp_dir().join(format!("schedlab-xtask-reasons-{}", std::process::id()));
        std::fs::write(
            &page,
            format!("| `x` | not yet |\n{DEPENDENCY_TABLE}\n| `toml` | plans |\n| `git2` | none |\n"),
        )
        .unwrap();
        let problems = without_reason(&metadata, &page);
        std::fs::remove_file(&page).unwrap();
        assert_eq!(problems.unwrap(), ["serde has no row", "git2 has a row and no user"]);
    }

    fn graph(kind: Value, builder: &str) -> Value {
        serde_json::json!({
            "packages": [{"id": "z", "name": "zstd-sys"}, {"id": "c", "name": builder}],
            "resolve": {"nodes": [
                {"id": "z", "deps": [{"pkg": "c", "dep_kinds": [{"kind": kind, "target": null}]}]},
                {"id": "c", "deps": []},
            ]}
        })
    }

    #[test]
    fn a_crate_that_compiles_c_is_named() {
        assert_eq!(builds_c(&graph("build".into(), "cc")).unwrap(), ["zstd-sys builds with cc"]);
        assert_eq!(builds_c(&graph(Value::Null, "cc")).unwrap(), Vec::<String>::new());
        assert_eq!(builds_c(&graph("build".into(), "autocfg")).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn metadata_without_a_graph_cannot_pass() {
        assert!(builds_c(&serde_json::json!({"packages": [], "resolve": null})).is_err());
    }

    #[test]
    fn locked_packages_are_counted() {
        let lock = std::env::temp_dir().join(format!("schedlab-xtask-lock-{}", std::process::id()));
        let ours = "[[package]]\nname = \"ours\"\n".repeat(20);
        for (count, problems) in [(LOCKED_CRATES, 0), (LOCKED_CRATES + 1, 1)] {
            let others = "[[package]]\nname = \"x\"\nsource = \"registry\"\n".repeat(count);
            std::fs::write(&lock, format!("{ours}{others}")).unwrap();
            assert_eq!(too_many_locked(&lock).unwrap().len(), problems);
        }
        std::fs::remove_file(&lock).unwrap();
        assert!(too_many_locked(&lock).is_err());
    }
}
