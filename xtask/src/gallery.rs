//! `cargo xtask gallery`: public regressions as plans in `experiments/gallery`, run by the released binary, and a table
//! that compares what was published with what is found here. A run that is already in the directory is read instead of
//! repeated.

use crate::workspace::{Workspace, run_to_success, stdout_of};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const PLANS: &str = "experiments/gallery";
/// Marks a control, whose arms are the same.
const NO_COMMIT: &str = "none";

/// A plan, and the fields at its head.
#[derive(Debug)]
struct Case {
    plan: PathBuf,
    name: String,
    commits: String,
    published: String,
    /// The metric of its rows; if none is given, or the workload lacks it, the first primary one.
    metric: Option<String>,
    lane: &'static str,
}

/// Runs the named cases, or all, into `target/gallery` or the directory of `--runs`, and prints the table.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<bool> {
    let (runs, names) = match arguments {
        [option, dir, names @ ..] if option == "--runs" => (PathBuf::from(dir), names),
        [option, ..] if option.starts_with('-') => bail!("cargo xtask gallery [--runs DIR] [CASE…], not `{option}`"),
        names => (workspace.root.join("target/gallery"), names),
    };
    let cases = cases(&workspace.root.join(PLANS), names)?;
    run_to_success(&mut workspace.cargo(&["build", "--release", "-p", "schedlab"]))?;
    let schedlab = workspace.release_binary(&workspace.host);
    println!("| case | commits | lane | arm against the first | published | found here |\n|---|---|---|---|---|---|");
    let mut all_ran = true;
    for case in cases {
        let dir = runs.join(case.plan.file_stem().context("a plan has a name")?);
        if !dir.exists() {
            let mut run = Command::new(&schedlab);
            let run = run.arg("run").arg(&case.plan).arg("-o").arg(&dir).stdout(std::io::stderr());
            // A failure, such as a kernel that is not built, concerns only this case; it is on standard error.
            if run_to_success(run).is_err() {
                println!("{}", case.row("–", "not run: the head of its plan says what it needs"));
                all_ran = false;
                continue;
            }
        }
        let report = stdout_of(Command::new(&schedlab).arg("report").arg(&dir).args(["--json", "--top", "0"]))?;
        let findings: Value = serde_json::from_str(&report).context("the report is not JSON")?;
        rows(&case, &findings).iter().for_each(|row| println!("{row}"));
    }
    Ok(all_ran)
}

impl Case {
    fn row(&self, arm: &str, found: &str) -> String {
        let Self { name, commits, published, lane, .. } = self;
        format!("| {name} | {commits} | {lane} | {arm} | {published} | {found} |")
    }
}

fn cases(plans: &Path, names: &[String]) -> Result<Vec<Case>> {
    let files = std::fs::read_dir(plans).with_context(|| plans.display().to_string())?;
    let mut paths: Vec<PathBuf> = files.map(|file| Ok(file?.path())).collect::<Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let stem = |path: &PathBuf| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some(unknown) = names.iter().find(|name| !paths.iter().any(|path| stem(path) == **name)) {
        bail!("no case `{unknown}`; there are {}", paths.iter().map(stem).collect::<Vec<_>>().join(", "));
    }
    paths.retain(|path| names.is_empty() || names.contains(&stem(path)));
    paths.into_iter().map(|plan| read(&std::fs::read_to_string(&plan)?, plan)).collect()
}

/// A plan's head: `# case: …`, `# commits: …`, `# published: …`, and `# metric: …` if it is not the first primary one.
fn read(text: &str, plan: PathBuf) -> Result<Case> {
    let line = |key: &str| text.lines().find_map(|line| line.strip_prefix(&format!("# {key}: "))).map(str::to_owned);
    let said = |key: &str| line(key).with_context(|| format!("{}: its head has no `# {key}: `", plan.display()));
    let lane = if text.contains("lane = \"virtual\"") { "virtual" } else { "real" };
    let (name, commits, published) = (said("case")?, said("commits")?, said("published")?);
    Ok(Case { name, commits, published, metric: line("metric"), lane, plan })
}

/// From the findings of a run, a row for each arm but the first under each workload.
fn rows(case: &Case, findings: &Value) -> Vec<String> {
    let array = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let name = |arm: &Value| {
        let index = arm.as_u64().and_then(|arm| usize::try_from(arm).ok()).unwrap_or_default();
        findings["arms"][index]["name"].as_str().unwrap_or("?").to_owned()
    };
    let is_named = |metric: &&Value| case.metric.as_ref().is_some_and(|name| metric["name"] == **name);
    let is_primary = |metric: &&Value| metric["role"] == "primary";
    let workloads = array(&findings["workloads"]);
    let of_workload = |workload: &Value| {
        let under =
            if workloads.len() > 1 { format!(", {}", workload["id"].as_str().unwrap_or("?")) } else { String::new() };
        let metrics = array(&workload["metrics"]);
        let metric = metrics.iter().find(is_named).or_else(|| metrics.iter().find(is_primary));
        let row = |contrast: &Value| {
            case.row(&format!("{}{under}", name(&contrast["arm"])), &found(case.commits == NO_COMMIT, contrast))
        };
        metric.map_or(Vec::new(), |metric| array(&metric["contrasts"]).iter().map(row).collect())
    };
    workloads.iter().flat_map(of_workload).collect()
}

/// Verdict and interval, or that it cannot be decided here, with what that would take. For a control, whether it was
/// called different.
fn found(is_control: bool, contrast: &Value) -> String {
    let percent = |key: &str| contrast["effect"][key].as_f64().map(|ratio| 100.0 * (ratio - 1.0));
    let numbers = match (percent("value"), percent("lo"), percent("hi")) {
        (Some(value), Some(lo), Some(hi)) => format!("{value:+.1} % [{lo:+.1}, {hi:+.1}]"),
        _ => "no number".to_owned(),
    };
    let units = contrast["unit_name"].as_str().unwrap_or("units");
    let reason = || contrast["verdict"]["reason"].as_str().unwrap_or("no verdict").to_owned();
    match contrast["verdict"]["kind"].as_str() {
        Some("inconclusive" | "equivalent") if is_control => format!("not called: {numbers}"),
        Some("inconclusive") => {
            let more = &contrast["more_units"];
            let more = match (more["least"].as_u64(), more["most"].as_u64()) {
                (Some(least), Some(most)) => format!("{least} to {most} more {units} would tell"),
                (Some(least), None) => format!("at least {least} more {units} would tell"),
                _ => format!("no number of {units} within reach would tell"),
            };
            format!("cannot tell here: {numbers}; {more}")
        }
        Some("no_verdict") | None => format!("cannot tell here: {}", reason()),
        Some(verdict) if is_control => format!("**called {verdict}**, which is wrong: {numbers}"),
        Some(verdict) => format!("**{verdict}** {numbers}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_plan_of_the_gallery_says_what_was_published() {
        let plans = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(PLANS);
        let all = cases(&plans, &[]).unwrap();
        assert!(all.len() >= 4 && all.iter().all(|case| !case.published.is_empty()), "{all:?}");
        let unknown = cases(&plans, &["nosuch".to_owned()]).unwrap_err().to_string();
        assert!(unknown.contains("delay-dequeue"), "{unknown}");
    }

    #[test]
    fn a_row_says_what_was_found_or_why_it_cannot_be_told() {
        let effect = json!({"value": 0.9, "lo": 0.85, "hi": 0.95});
        let of = |verdict: Value| {
            found(
                false,
                &json!({"effect": effect, "verdict": verdict, "unit_name": "boots",
            "more_units": {"least": 3, "most": null}}),
            )
        };
        assert_eq!(of(json!({"kind": "worse"})), "**worse** -10.0 % [-15.0, -5.0]");
        let open = of(json!({"kind": "inconclusive"}));
        assert_eq!(open, "cannot tell here: -10.0 % [-15.0, -5.0]; at least 3 more boots would tell");
        let none = of(json!({"kind": "no_verdict", "reason": "2 boots"}));
        assert_eq!(none, "cannot tell here: 2 boots");
        let inconclusive = json!({"effect": effect, "verdict": {"kind": "inconclusive"}});
        assert_eq!(found(true, &inconclusive), "not called: -10.0 % [-15.0, -5.0]");
        let case = read("# case: c\n# commits: d\n# published: p\n", "x.toml".into()).unwrap();
        let findings = json!({"arms": [{"name": "a"}, {"name": "b"}], "workloads": [{"metrics": [{"role": "primary",
            "contrasts": [{"arm": 1, "effect": effect, "verdict": {"kind": "better"}}]}]}]});
        assert_eq!(rows(&case, &findings), ["| c | d | real | b | p | **better** -10.0 % [-15.0, -5.0] |"]);
        let metric = |name: &str, verdict: &str| {
            json!({"name": name, "role": if name == "p99" { "secondary" } else { "primary" }, "contrasts": [{"arm": 1, "effect": effect,
            "verdict": {"kind": verdict}}]})
        };
        let workloads = json!([{"id": "exec/1", "metrics": [metric("time_s", "worse")]}, {"id": "wakeup/2", "metrics":
            [metric("p50", "worse"), metric("p99", "better")]}]);
        let findings = json!({"arms": [{"name": "a"}, {"name": "b"}], "workloads": workloads});
        let case = read("# case: c\n# commits: d\n# published: p\n# metric: p99\n", "x.toml".into()).unwrap();
        let of_both = rows(&case, &findings);
        assert!(of_both[0].contains("| b, exec/1 |") && of_both[0].contains("**worse**"), "{of_both:?}");
        assert!(of_both[1].contains("| b, wakeup/2 |") && of_both[1].contains("**better**"), "{of_both:?}");
        assert!(read("title = \"x\"", "x.toml".into()).is_err());
    }
}
