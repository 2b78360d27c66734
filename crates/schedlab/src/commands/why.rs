//! `schedlab why PLAN|RUN`: finds what changes the difference between two arms.

pub(super) mod by_group;
pub(super) mod forecast;

use super::rounds;
use super::vm::trials::Guests;
use crate::cli::why::Why as Args;
use crate::exit::{self, usage};
use crate::output::write_answer;
use crate::output::{print_findings, say};
use crate::{input, session};
use anyhow::{Context, Result, bail};
use schedlab_plan::Plan;
use schedlab_plan::factorial::Toggles;
use schedlab_run::Run;
use schedlab_trial::guest::booted_with;
use schedlab_trial::rounds::Ended;
use schedlab_trial::why::Why;
use schedlab_tune::Roots;
use std::path::Path;

/// The schema of the answer.
const WHY: &str = "schedlab/why/1";

pub(super) fn run(args: &Args) -> Result<u8> {
    if !args.only.is_empty() && args.only.iter().all(|name| args.without.contains(name)) {
        usage!("--without leaves none of the toggles that --only names: leave one of the two out");
    }
    let (plan, known) = subject(&args.subject)?;
    let name = format!("why-{}", session::name_of(&args.subject));
    let dir = session::directory(args.out.as_deref(), &name, args.resume);
    if !args.kernels.is_empty() {
        return super::why_kernels::run(args, &plan, known.as_ref(), dir);
    }
    // Settings left by a killed run would be taken for this host's values.
    if plan.guest.is_none() && !args.dry_run {
        session::restore_leftovers()?;
    }
    let mut why = Why::new(&plan, &toggles(&plan)?, &args.only, &args.without)?.within(args.budget);
    if let Some(run) = &known {
        why.known(&run.manifest, &run.trials).with_context(|| args.subject.display().to_string())?;
    }
    if args.dry_run {
        schedlab_trial::prepare::check_anywhere(&plan).with_context(|| args.subject.display().to_string())?;
        return forecast::print(&forecast::of(&why, &plan, known.as_ref()), &args.answer).map(|()| exit::DONE);
    }
    let ended = rounds::study(&mut why, &dir, args.resume)?;
    let Some(mut found) = why.findings() else { return Ok(code(&ended)) };
    if !args.no_profile && matches!(ended, Ended::Finished) {
        by_group::add(&mut found, &plan);
    }
    write_answer(&dir.join("why.json"), WHY, &found)?;
    print_findings(&args.answer, WHY, &found, schedlab_report::why)?;
    Ok(code(&ended))
}

/// The exit code of a study: it is void if its last round is.
pub(super) fn code(ended: &Ended) -> u8 {
    match ended {
        Ended::Void(why) => {
            say(format_args!("schedlab: the last round is void: {why}; --resume runs it again"));
            exit::VOID
        }
        Ended::Finished | Ended::Interrupted => exit::DONE,
    }
}

/// A plan from its file, or from one of its runs.
fn subject(path: &Path) -> Result<(Plan, Option<Run>)> {
    let place = || path.display().to_string();
    if !path.is_dir() {
        return Ok((Plan::parse(&input::text(path)?).with_context(place)?, None));
    }
    let run = super::report::open(path)?;
    let plan = Plan::parse(&run.manifest.plan_toml).with_context(|| {
        format!("{}: it was not made by a plan (an import?), so it cannot be run again under toggles", place())
    })?;
    Ok((plan, Some(run)))
}

/// The toggles of each arm's kernel.
pub(super) fn toggles(plan: &Plan) -> Result<[Toggles; 2]> {
    let Some(guests) = Guests::of(plan)? else {
        let here = schedlab_tune::toggles(&Roots::default());
        return Ok([here.clone(), here]);
    };
    let kind = |arm: usize| booted_with(&plan.arms[arm].settings);
    let of = |arm: usize| {
        say(format_args!("schedlab: looking at what the guest of `{}` can switch", plan.arms[arm].name));
        guests.toggles(&kind(arm)).with_context(|| format!("the guest of `{}`", plan.arms[arm].name))
    };
    match plan.arms.len() {
        0 => bail!("the plan has no arms"),
        1 => Ok([of(0)?, Toggles::default()]),
        _ if kind(0) == kind(1) => of(0).map(|toggles| [toggles.clone(), toggles]),
        _ => Ok([of(0)?, of(1)?]),
    }
}
