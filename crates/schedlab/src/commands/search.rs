//! `schedlab run` of a plan with knobs: searches in rounds, and writes the findings as a page and files into the
//! directory.

use super::rounds;
use crate::cli::RunOutput;
use crate::exit::{self, usage};
use crate::output::write_file;
use crate::output::{print_findings, say, to_stdout};
use crate::trial_host;
use anyhow::{Context, Result, bail};
use schedlab_analyze::{SearchFindings, Verdict};
use schedlab_plan::{Arm, Plan, RunEnd};
use schedlab_trial::rounds::{Ended, Study};
use schedlab_trial::search::SearchStudy;
use schedlab_tune::{Roots, needs};
use std::path::Path;

/// File in the directory of a search: the plan with its seed.
const PLAN: &str = "plan.toml";
const JSON: &str = "search.json";
const HTML: &str = "report.html";
/// Subdirectory with the winner's settings as files.
const KEEP: &str = "keep";
const MARKDOWN: &str = "report.md";

/// Runs the search in `dir`.
pub(super) fn run(plan: &Plan, dir: &Path, output: &RunOutput) -> Result<u8> {
    if output.trace.is_some() {
        usage!(
            "--trace records what a comparison does; search first, then trace the point that was found: schedlab ab --trace"
        );
    }
    if output.dry_run {
        return describe(plan);
    }
    first_round(plan)?;
    let plan = seeded(plan, dir, output.resume)?;
    let mut study = SearchStudy::new(&plan)?;
    if !output.resume {
        study.budget_warning().iter().for_each(|warning| say(format_args!("schedlab: {warning}")));
        write_file(&dir.join(PLAN), |out| out.write_all(plan.to_toml().as_bytes()))?;
    }
    let ended = rounds::study(&mut study, dir, output.resume)?;
    let mut found = study.findings(&ended);
    found.keep = match kept(dir) {
        // Do not write them again: the current values, perhaps the winner's, would be taken for the original ones.
        keep if !keep.is_empty() => keep,
        _ => keep(dir, &plan, &found)?,
    };
    conclude(dir, &found, output)
}

/// `schedlab report` of the directory of a search; `None` if it is not one.
pub(super) fn report(dir: &Path) -> Result<Option<SearchFindings>> {
    let file = dir.join(PLAN);
    if !file.exists() || !dir.join(rounds::ROUNDS).exists() {
        return Ok(None);
    }
    let plan = Plan::parse(&crate::input::text(&file)?).with_context(|| file.display().to_string())?;
    let mut study = SearchStudy::new(&plan)?;
    let mut ended = Ended::Finished;
    for number in 1.. {
        let Some(asked) = study.ask()? else { break };
        let Some(round) = rounds::stored(&rounds::place(dir, number), number, &asked)? else {
            ended = Ended::Interrupted;
            break;
        };
        study.tell(&round)?;
    }
    let keep = kept(dir);
    Ok(Some(SearchFindings { keep, ..study.findings(&ended) }))
}

/// What the search reported about its files, if it has written any.
fn kept(dir: &Path) -> Vec<String> {
    let said = |text: String| serde_json::from_str::<serde_json::Value>(&text).ok();
    let lines = |found: serde_json::Value| serde_json::from_value(found.get("keep")?.clone()).ok();
    let file = dir.join(JSON);
    let text = file.exists().then(|| crate::input::text(&file).ok()).flatten();
    text.and_then(said).and_then(lines).unwrap_or_default()
}

/// The plan with a seed: its own, or a random one that is stored in the directory, so that a resumed search continues
/// as it began.
fn seeded(plan: &Plan, dir: &Path, resume: bool) -> Result<Plan> {
    let mut plan = plan.clone();
    if resume {
        let file = dir.join(PLAN);
        let begun = Plan::parse(&crate::input::text(&file)?).with_context(|| file.display().to_string())?;
        plan.seed = plan.seed.or(begun.seed);
        if plan != begun {
            bail!(
                "{} was started with another plan; give another --out, or the plan it was started with ({PLAN})",
                dir.display()
            );
        }
        return Ok(plan);
    }
    plan.seed = plan.seed.or_else(|| Some(schedlab_trial::prepare::fresh_seed()));
    std::fs::create_dir_all(dir)
        .with_context(|| format!("{} cannot be created; give another with -o DIR", dir.display()))?;
    if dir.join(PLAN).exists() || dir.join(rounds::ROUNDS).exists() {
        bail!("{} already contains a search; continue with --resume, or give another -o DIR", dir.display());
    }
    Ok(plan)
}

/// The first round, with seed 0 if the plan has none. A plan that no machine can run is refused here, before anything
/// is created.
fn first_round(plan: &Plan) -> Result<Plan> {
    let plan = Plan { seed: plan.seed.or(Some(0)), ..plan.clone() };
    let first = SearchStudy::new(&plan)?.ask()?.context("a search has a first round")?;
    // The control, on which all points are based, may set one of their knobs under another name.
    super::run::each_knob_once(&first.arms)?;
    schedlab_trial::prepare::check_anywhere(&first)?;
    Ok(first)
}

/// `--dry-run`: the plan, what its values need, and how long it may take.
fn describe(plan: &Plan) -> Result<u8> {
    let mut plan = plan.clone();
    plan.seed = plan.seed.or(Some(0));
    let mut lines = SearchStudy::new(&plan)?.forecast();
    let first = first_round(&plan)?;
    let search = plan.search.as_ref().context("a search")?;
    // Only this host can say what the values need; whether a guest's kernel has them is not known yet.
    for knob in search.knobs.iter().filter(|_| plan.guest.is_none()) {
        let of = |value: usize| knob.arm(value);
        let arms: Vec<Arm> = (0..knob.values.len()).map(of).collect::<Result<_, _>>()?;
        // If all values need the same, it is printed once.
        let mut said: Vec<String> = Vec::new();
        for need in arms.iter().flat_map(|arm| needs(&Roots::default(), &arm.settings)) {
            let need = need.to_string();
            let after = need.split_once(": ").map_or(need.clone(), |(_, after)| after.to_owned());
            if !said.contains(&after) {
                lines.push(format!("knob `{}`: {need}", knob.name));
                said.push(after);
            }
        }
    }
    let names: Vec<&str> = first.arms.iter().map(|arm| arm.name.as_str()).collect();
    lines.push(format!("round 1, for seed {}: {}", plan.seed.unwrap_or(0), names.join(" · ")));
    let of_guests = match &plan.guest {
        Some(_) => trial_host::of(&first)?.describe(&first)?,
        None => String::new(),
    };
    to_stdout(|out| {
        writeln!(out, "{}", plan.to_toml())?;
        lines.iter().try_for_each(|line| writeln!(out, "# {line}"))?;
        of_guests.lines().filter(|line| line.starts_with("# ")).try_for_each(|line| writeln!(out, "{line}"))
    })?;
    Ok(exit::DONE)
}

/// Writes files with the winner's settings, if it is better.
fn keep(dir: &Path, plan: &Plan, found: &SearchFindings) -> Result<Vec<String>> {
    let Some(winner) = found.confirmed.first().filter(|_| found.verdict == Some(Verdict::Better)) else {
        return Ok(Vec::new());
    };
    let settings = Arm::parse(&winner.name, &winner.spec)?.settings;
    let mut evidence = vec![found.claim(), format!("Kernel {}", schedlab_tune::release(&Roots::default()))];
    evidence.extend(found.warnings.iter().cloned());
    evidence.extend(plan.guest.as_ref().map(|_| "Measured in guests: not shown for this machine.".to_owned()));
    evidence.push(format!("From `{}`: schedlab report {}", plan.title, dir.display()));
    super::tune::export::files(&Roots::default(), &settings, &evidence, &dir.join(KEEP))
}

fn conclude(dir: &Path, found: &SearchFindings, output: &RunOutput) -> Result<u8> {
    print_findings(&output.answer, "", found, schedlab_report::search)?;
    write(dir, found)?;
    if !output.answer.json {
        say(format_args!("report: {}", dir.join(HTML).display()));
    }
    let is_asked = output.fail_on.is_some();
    Ok(match found.verdict {
        _ if matches!(RunEnd::of(&found.ended), RunEnd::Void(_)) => exit::VOID,
        // As a run whose arms cannot be applied.
        _ if found.ended == "finished" && found.measured.is_empty() => exit::VOID,
        Some(Verdict::Worse) if is_asked => exit::WORSE,
        Some(Verdict::Better | Verdict::Equivalent) => exit::DONE,
        _ if is_asked => exit::INCONCLUSIVE,
        _ => exit::DONE,
    })
}

fn write(dir: &Path, found: &SearchFindings) -> Result<()> {
    let page = schedlab_report::search(found);
    let json = schedlab_plan::json::pretty(found)?;
    write_file(&dir.join(JSON), |out| writeln!(out, "{json}"))?;
    write_file(&dir.join(MARKDOWN), |out| page.markdown(out))?;
    write_file(&dir.join(HTML), |out| page.html(&found.title, out))
}
