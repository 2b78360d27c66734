//! `schedlab ab`: an A/B comparison without a plan file. It writes the plan that a user would have written and runs it,
//! so that there is only one way to validate a comparison and one to repeat it.

use super::bench::add_written;
use crate::cli::Ab;
use crate::exit::usage;
use anyhow::{Context, Result};
use schedlab_plan::{Plan, WorkloadSpec};
use std::fmt::Write;

pub(super) fn run(args: &Ab, written: &[(String, String)]) -> Result<u8> {
    super::run::execute(&plan(args, written)?, &name(args), &args.output)
}

pub(super) fn plan(args: &Ab, written: &[(String, String)]) -> Result<Plan> {
    Plan::parse(&plan_toml(args, written)?).context("the comparison")
}

/// The name of its run.
pub(super) fn name(args: &Ab) -> String {
    format!("ab-{}", workloads(args).join("-"))
}

/// Two commands become the workload `exec` with a different option in each arm.
fn workloads(args: &Ab) -> Vec<String> {
    if args.commands.is_empty() { args.workload.clone() } else { vec!["exec".into()] }
}

/// The name of an arm in the title, and its settings.
fn arm(settings: &str, command: Option<&String>) -> Result<(String, String)> {
    let Some(command) = command else { return Ok((settings.into(), settings.into())) };
    if command.contains(';') {
        usage!("`{command}` holds `;`, which ends a setting: put the command into a script, and name that");
    }
    let option = format!("option:command={command}");
    let settings = if settings.is_empty() { option } else { format!("{settings};{option}") };
    Ok((command.clone(), settings))
}

fn plan_toml(args: &Ab, written: &[(String, String)]) -> Result<String> {
    let arms =
        [arm(&args.a, args.commands.first())?, arm(args.b.as_deref().unwrap_or_default(), args.commands.get(1))?];
    let mut toml = String::new();
    let mut line = |key: &str, value: String| writeln!(toml, "{key} = {value}");
    let name = |arm: &str| if arm.is_empty() { "as it is".to_owned() } else { format!("`{arm}`") };
    line("title", quoted(&format!("A {} against B {}", name(&arms[0].0), name(&arms[1].0))))?;
    line("sesoi", quoted(&args.sesoi))?;
    line("latency", serde_json::to_string(&args.measuring.latency)?)?;
    line("counters", serde_json::to_string(&args.measuring.counters)?)?;
    line("load_group", serde_json::to_string(&args.measuring.load_group)?)?;
    match (args.trials, args.until_decided) {
        (Some(trials), _) => line("trials", trials.to_string())?,
        (None, true) => {
            line("until_decided", "true".into())?;
            line("max_blocks", args.max_blocks.to_string())?;
        }
        (None, false) => line("budget", quoted(args.budget.as_deref().unwrap_or("60s")))?,
    }
    for (key, value) in [("trial", &args.trial), ("design", &args.design)] {
        if let Some(value) = value {
            line(key, quoted(value))?;
        }
    }
    if let Some(seed) = args.seed {
        line("seed", seed.to_string())?;
    }
    for workload in workloads(args) {
        let mut spec: WorkloadSpec = workload.parse()?;
        add_written(&mut spec, written, &args.command)?;
        let load = args.measuring.load.iter().map(|l| quoted(l)).collect::<Vec<_>>().join(", ");
        let sweep = args.sweep.iter().map(|s| format!("sweep = {}\n", quoted(s))).collect::<String>();
        write!(toml, "[[workload]]\nrun = {}\n{sweep}load = [{load}]\n", quoted(&spec.to_string()))?;
    }
    for (name, (_, settings)) in ["A", "B"].into_iter().zip(&arms) {
        write!(toml, "[[arm]]\nname = {}\nset = {}\n", quoted(name), quoted(settings))?;
    }
    Ok(toml)
}

/// A TOML basic string: JSON's escapes are a subset of TOML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
