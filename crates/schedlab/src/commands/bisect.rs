//! `schedlab bisect GOOD BAD --plan P`: finds the member of an ordered history with which a metric changed.

mod history;
mod members;
mod study;

use super::{rounds, why};
use crate::cli::Bisect;
use crate::exit::{self, usage};
use crate::output::write_file;
use crate::output::{print_answer, print_findings, say, to_stdout};
use crate::{input, session};
use anyhow::{Context, Result};
use members::Members;
use schedlab_analyze::{BisectOutcome, WhyFindings};
use schedlab_plan::{Plan, counted};
use schedlab_stats::BisectRules;
use schedlab_trial::rounds::Ended;
use schedlab_trial::why::Why;
use serde::Serialize;
use std::path::Path;
use study::BisectStudy;

/// Trials of a block of two arms.
const PER_BLOCK: usize = 4;

pub(super) fn run(args: &Bisect) -> Result<u8> {
    let of_plan = || args.plan.display().to_string();
    let plan = Plan::parse_base(&input::text(&args.plan)?).with_context(of_plan)?;
    if plan.search.is_some() {
        usage!("{}: a search generates its own arms: give a plan with [[arm]] tables", of_plan());
    }
    if plan.arms.is_empty() {
        usage!("{}: a factorial has no arm to bisect with: give it [[arm]] tables", of_plan());
    }
    let name = format!("bisect-{}", session::name_of(&args.plan));
    let dir = session::directory(args.out.as_deref(), &name, args.resume);
    let members = Members::of(args, &dir)?;
    match &plan.guest {
        Some(guest) => members.check_ends(guest)?,
        None if members.are_kernels() => usage!("{}: kernels need guests: give the plan a [guest] table", of_plan()),
        None => {}
    }
    let least_units = schedlab_plan::MIN_UNITS;
    let most_units = args.max_trials / PER_BLOCK;
    if most_units < 2 * least_units {
        usage!("--max-trials {}: {} at least", args.max_trials, 2 * least_units * PER_BLOCK);
    }
    let rules = BisectRules { alpha: plan.alpha, least_units, most_units };
    schedlab_trial::prepare::check_anywhere(&plan).with_context(of_plan)?;
    let plan_is_of_host = plan.guest.is_none();
    let mut bisection = BisectStudy::new(plan, members, rules, args.metric.clone(), (&dir, args.resume))?;
    if plan_is_of_host && !args.dry_run {
        session::restore_leftovers()?;
    }
    // A kernel's toggles are only known once its guest has booted.
    if !args.only.is_empty() && (plan_is_of_host || !args.dry_run && !args.resume) {
        let ends = if plan_is_of_host { bisection.first_plan()? } else { bisection.with_ends_tried()? };
        Why::new(&ends, &why::toggles(&ends)?, &args.only, &[]).context("--only")?;
    }
    if args.dry_run {
        return describe(&bisection, &dir, args);
    }
    let mut ended = rounds::study(&mut bisection, &dir, args.resume)?;
    let (mut found, mut failed) = (bisection.findings(), None);
    if let BisectOutcome::Change { last_good, first_bad, .. } | BisectOutcome::Undecided { last_good, first_bad, .. } =
        found.answer
    {
        let file = dir.join("between.toml");
        let between = bisection.between(last_good, first_bad)?;
        write_file(&file, |out| out.write_all(between.to_toml().as_bytes()))?;
        say(format_args!(
            "schedlab: to compare the two neighbours again with fresh trials: schedlab run {}",
            file.display()
        ));
        if !args.no_why && matches!(found.answer, BisectOutcome::Change { .. }) {
            match why_between(&between, &dir, args) {
                Ok((why, how)) => (found.why, ended) = (why, how),
                Err(error) => failed = Some(error),
            }
        }
    }
    // The member is known, whatever the result of `why`.
    print_findings(&args.answer, "schedlab/bisect/1", &found, schedlab_report::bisection)?;
    failed.map_or_else(|| Ok(why::code(&ended)), Err)
}

/// Finds what changes the difference between the two members around the change: a separate study in `DIR/why`, begun or
/// continued.
fn why_between(plan: &Plan, dir: &Path, args: &Bisect) -> Result<(Option<WhyFindings>, Ended)> {
    let (dir, only) = (dir.join("why"), &args.only);
    let mut why = match why::toggles(plan).and_then(|toggles| Why::new(plan, &toggles, only, &[])) {
        Ok(why) => why.within(Some(args.why_budget)),
        Err(error) if only.is_empty() => {
            say(format_args!("schedlab: `why` was not run on the two neighbours: {error:#}"));
            return Ok((None, Ended::Finished));
        }
        Err(error) => return Err(error).context("--only"),
    };
    say(format_args!("schedlab: running `why` on the two, with fresh trials, in {}", dir.display()));
    let ended = rounds::study(&mut why, &dir, dir.join(rounds::ROUNDS).exists())?;
    let mut found = why.findings();
    if let (Some(found), Ended::Finished) = (&mut found, &ended) {
        why::by_group::add(found, plan);
    }
    Ok((found, ended))
}

/// The answer of `bisect --dry-run`.
#[derive(Debug, Serialize)]
struct BisectForecast {
    /// The history, from the good end.
    members: Vec<String>,
    /// About how many of them would be tried.
    expected: usize,
    /// Run directory of the first round.
    first_round: String,
    /// Its plan.
    plan_toml: String,
    /// Time that `why` may then take on the two around the change, in which it switches toggles of this machine or of
    /// the guests, which are looked up before the search; absent with `--no-why`.
    why_budget_ns: Option<u64>,
}

fn describe(bisection: &BisectStudy, dir: &Path, args: &Bisect) -> Result<u8> {
    let answer = &args.answer;
    let found = BisectForecast {
        members: bisection.members().names().to_vec(),
        expected: bisection.expected(),
        first_round: rounds::place(dir, 1).display().to_string(),
        plan_toml: bisection.first_plan()?.to_toml(),
        why_budget_ns: (!args.no_why).then_some(args.why_budget),
    };
    if answer.json {
        return print_answer("schedlab/bisect-forecast/1", &found, answer.top).map(|()| exit::DONE);
    }
    let BisectForecast { members, expected, first_round, plan_toml, why_budget_ns } = &found;
    to_stdout(|out| {
        let count = counted(members.len(), "members");
        writeln!(out, "{count}, good first; about {expected} of them would be tried:")?;
        members.iter().enumerate().try_for_each(|(index, name)| writeln!(out, "{index:5}  {name}"))?;
        writeln!(out, "\nThe first round, into {first_round}:\n\n{plan_toml}")?;
        let Some(budget) = why_budget_ns else { return Ok(()) };
        let minutes = *budget as f64 / 60e9;
        writeln!(
            out,
            "Then `why` would switch toggles, and back, on the two around the change, for {minutes:.0} minutes at most \
             (--why-budget, --no-why)"
        )
    })?;
    Ok(exit::DONE)
}
