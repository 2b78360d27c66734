//! `schedlab why PLAN|RUN`: what changes the difference between two arms.

use super::report::{terminal_width, write_file};
use super::rounds;
use super::vm::trials::Guests;
use crate::cli::why::Why as Args;
use crate::output::{print_line, say, to_stdout};
use crate::{exit, input, session};
use anyhow::{Context, Result, bail};
use schedlab_analyze::WhyFindings;
use schedlab_run::factorial::Toggles;
use schedlab_run::units::format_ns;
use schedlab_run::{Plan, Run, Setting, counted};
use schedlab_stats::screen::Stage;
use schedlab_trial::prepare;
use schedlab_trial::rounds::Ended;
use schedlab_trial::why::Why;
use schedlab_tune::Roots;
use std::collections::BTreeSet;
use std::path::Path;

/// What a trial takes beside its length.
const OVERHEAD_NS: u64 = 60_000_000;
/// Length of a trial where a plan says none.
const TRIAL_NS: u64 = 500_000_000;

pub(super) fn run(args: &Args) -> Result<u8> {
    let (plan, known) = subject(&args.subject)?;
    let name = args.subject.file_stem().map_or_else(|| "run".into(), |stem| stem.to_string_lossy().into_owned());
    let dir = args.out.clone().unwrap_or_else(|| session::default_out(&format!("why-{name}")));
    if !args.kernels.is_empty() {
        return super::why_kernels::run(args, &plan, dir);
    }
    let mut why = Why::new(&plan, &toggles(&plan)?, &args.only, &args.without)?;
    if let Some(run) = &known {
        why.known(&run.manifest, &run.trials).with_context(|| args.subject.display().to_string())?;
    }
    if args.dry_run {
        let text = describe(&why, &plan, known.as_ref());
        to_stdout(|out| write!(out, "{text}"))?;
        return Ok(exit::DONE);
    }
    let dir = if args.out.is_none() && !args.resume { session::unused(dir) } else { dir };
    let ended = rounds::study(&mut why, &dir, args.resume)?;
    let Some(found) = why.findings() else { return Ok(code(&ended)) };
    write_file(&dir.join("why.json"), |out| writeln!(out, "{}", schedlab_run::json::pretty(&found)?))?;
    print(&found, args.json)?;
    Ok(code(&ended))
}

/// The exit code of a study, which is void when its last round is.
pub(super) fn code(ended: &Ended) -> u8 {
    match ended {
        Ended::Void(why) => {
            say(format_args!("schedlab: the last round is void: {why}"));
            exit::VOID
        }
        Ended::Finished | Ended::Interrupted => exit::DONE,
    }
}

/// A plan from its file, or from a run of it.
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

/// What the kernel of each arm lets one switch.
fn toggles(plan: &Plan) -> Result<[Toggles; 2]> {
    let Some(guest) = &plan.guest else {
        let here = schedlab_tune::toggles(&Roots::default());
        return Ok([here.clone(), here]);
    };
    prepare::check_anywhere(plan)?;
    let guests = Guests::new(guest, plan)?;
    let kind = |arm: usize| -> Vec<Setting> {
        let settings = plan.arms.get(arm).map(|arm| arm.settings.iter());
        settings.into_iter().flatten().filter(|setting| setting.is_of_guest()).cloned().collect()
    };
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

/// `--dry-run`.
fn describe(why: &Why, plan: &Plan, known: Option<&Run>) -> String {
    let factors = why.factors();
    let mut text = format!("{} would be switched, each from what it is:\n", counted(factors.len(), "toggles"));
    for factor in &factors {
        let [a, b] = &plan.arms[..] else { continue };
        let spec = match &factor.specs {
            [first, second] if first == second => first.clone(),
            [first, second] if second.is_empty() => format!("{first}  (`{}` alone has it)", a.name),
            [first, second] if first.is_empty() => format!("{second}  (`{}` alone has it)", b.name),
            [first, second] => format!("{first} in `{}`, {second} in `{}`", a.name, b.name),
        };
        text += &format!("  {}  {spec}\n", factor.name);
    }
    for line in why.left_out() {
        text += &format!("  not switched: {line}\n");
    }
    let cost = cost(plan, known);
    let mut all_ns = 0;
    let mut line = |what: &str, rows: usize, blocks: usize| {
        // One block more: the warm-up.
        let took_ns = cost.as_ref().map(|cost| (blocks as u64 + 1) * (4 * rows as u64 * cost.trial + cost.block));
        let took = took_ns.map_or(String::new(), |took| format!(", about {}", rough(took)));
        all_ns += took_ns.unwrap_or(0);
        text += &format!("{what}: {rows} × 2 arms in {}{took}\n", counted(blocks, "blocks"));
    };
    if let Some(blocks) = why.first_blocks() {
        line("the difference", 1, blocks as usize);
    }
    for (number, (stage, rows, blocks)) in why.forecast().into_iter().enumerate() {
        let what = match stage {
            Stage::Groups => "each toggle or group alone, and all but it",
            Stage::Fraction => "a fraction over what is left",
            Stage::Full => "all combinations of the last",
        };
        line(&if number == 0 { what.to_owned() } else { format!("{what}, at most") }, rows, blocks);
    }
    text += &match cost {
        Some(_) => format!("in all about {} at most\n", rough(all_ns)),
        None => "a sample takes as long as in `schedlab run` of this plan; give its run directory for a time\n".into(),
    };
    if known.is_none() {
        text += "blocks are for a spread of half the smallest change looked for (half of the difference); they grow with its square\n";
    }
    text
}

/// A time of which the first digits mean something.
fn rough(ns: u64) -> String {
    format_ns(ns.div_ceil(1_000_000_000) * 1_000_000_000)
}

/// What measuring takes, ns: each trial, and beside it each block, where guests boot.
struct Cost {
    trial: u64,
    block: u64,
}

/// Of a run what it took, on this host what the plan says; of guests only a run tells.
fn cost(plan: &Plan, known: Option<&Run>) -> Option<Cost> {
    let Some(run) = known.filter(|run| !run.trials.is_empty()) else {
        let trial = plan.trial_ns.unwrap_or(TRIAL_NS).saturating_add(OVERHEAD_NS);
        return plan.guest.is_none().then_some(Cost { trial, block: 0 });
    };
    let mut took: Vec<u64> = run.trials.iter().map(|trial| trial.wall_ns).collect();
    let blocks: BTreeSet<u32> = run.trials.iter().map(|trial| trial.block).collect();
    took.sort_unstable();
    // A boot is in the time of the first trial after it.
    let trial = took[took.len() / 2];
    let booting: u64 = took.iter().map(|each| each.saturating_sub(trial)).sum();
    Some(Cost { trial, block: booting / blocks.len() as u64 })
}

fn print(found: &WhyFindings, json: bool) -> Result<()> {
    if json {
        return print_line(schedlab_run::json::pretty(found)?);
    }
    let colour = std::io::IsTerminal::is_terminal(&std::io::stdout()) && std::env::var_os("NO_COLOR").is_none();
    to_stdout(|out| schedlab_report::why(found).text(terminal_width(), colour, out))
}
