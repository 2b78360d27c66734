//! `schedlab bisect GOOD BAD --plan P`: with which member of an ordered history a metric changed.

mod history;
mod members;
mod study;

use super::report::write_file;
use super::rounds;
use super::trace::print;
use crate::cli::Bisect;
use crate::exit::{self, usage};
use crate::output::{print_line, say};
use crate::{input, session};
use anyhow::{Context, Result};
use members::Members;
use schedlab_analyze::BisectOutcome;
use schedlab_run::{Plan, counted};
use schedlab_stats::BisectRules;
use schedlab_trial::rounds::Ended;
use std::path::{Path, PathBuf};
use study::Search;

/// Trials of a block of two arms.
const PER_BLOCK: usize = 4;

pub(super) fn run(args: &Bisect) -> Result<u8> {
    let of_plan = || args.plan.display().to_string();
    let plan = Plan::parse(&input::text(&args.plan)?).with_context(of_plan)?;
    if plan.search.is_some() {
        usage!("{}: a search makes its arms itself: give a plan with [[arm]] tables", of_plan());
    }
    if plan.arms.is_empty() {
        usage!("{}: a factorial has no arm to bisect with: give it [[arm]] tables", of_plan());
    }
    let dir = directory(args);
    let members = Members::of(args, &dir)?;
    if members.builds() && plan.guest.is_none() {
        usage!("{}: kernels are booted: give the plan a [guest] table", of_plan());
    }
    let least_units = schedlab_run::LEAST_UNITS;
    let most_units = args.max_trials / PER_BLOCK;
    if most_units < 2 * least_units {
        usage!("--max-trials {}: {} at least", args.max_trials, 2 * least_units * PER_BLOCK);
    }
    let rules = BisectRules { alpha: plan.alpha, least_units, most_units };
    let mut search = Search::new(plan, members, rules, args.metric.clone(), &dir)?;
    if args.dry_run {
        return describe(&search, &dir);
    }
    let ended = rounds::study(&mut search, &dir, args.resume)?;
    let found = search.findings();
    print(args.json, &found, schedlab_report::bisection)?;
    if let BisectOutcome::Change { last_good, first_bad, .. } | BisectOutcome::Undecided { last_good, first_bad, .. } =
        found.answer
    {
        let file = dir.join("between.toml");
        let text = search.between(last_good, first_bad)?.to_toml();
        write_file(&file, |out| out.write_all(text.as_bytes()))?;
        say(format_args!("schedlab: the two around it as a plan, with fresh trials: schedlab run {}", file.display()));
    }
    if let Ended::Void(why) = ended {
        say(format_args!("schedlab: the last round is void: {why}"));
        return Ok(exit::VOID);
    }
    Ok(exit::DONE)
}

fn directory(args: &Bisect) -> PathBuf {
    let name = args.plan.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let usual = session::default_out(&format!("bisect-{name}"));
    match &args.out {
        Some(out) => out.clone(),
        None if args.resume => usual,
        None => session::unused(usual),
    }
}

fn describe(search: &Search, dir: &Path) -> Result<u8> {
    let names = search.members().names();
    print_line(format_args!(
        "{}, good first; about {} of them would be tried:",
        counted(names.len(), "members"),
        search.expected()
    ))?;
    for (index, name) in names.iter().enumerate() {
        print_line(format_args!("{index:5}  {name}"))?;
    }
    print_line(format_args!("\nThe first round, into {}:\n", dir.join("rounds/001").display()))?;
    print_line(search.first_plan()?.to_toml())?;
    Ok(exit::DONE)
}
