//! `schedlab why PLAN --kernels A,B,C`: runs the plan on one kernel after the other, to find where its difference
//! appeared or disappeared.

use super::vm::{architecture, find};
use super::why::forecast::{self, ForecastStage, WhyForecast};
use super::{rounds, why};
use crate::cli::why::Why as Args;
use crate::exit::{self, usage};
use crate::output::write_answer;
use crate::output::{print_findings, say};
use anyhow::{Context, Error, Result, bail};
use schedlab_plan::{Plan, Setting};
use schedlab_run::Run;
use schedlab_trial::rounds::{Round, Study};
use schedlab_trial::why_kernels::WhyKernels;
use std::path::PathBuf;

/// The schema of the answer.
const SCHEMA: &str = "schedlab/why-kernels/1";

/// Reports at once that a kernel is left out.
struct Said(WhyKernels);

impl Study for Said {
    fn ask(&mut self) -> Result<Option<Plan>> {
        self.0.ask()
    }

    fn tell(&mut self, round: &Round) -> Result<()> {
        self.0.tell(round)
    }

    fn not_begun(&mut self, why: Error) -> Result<()> {
        say(format_args!("schedlab: {} is left out: {why:#}", self.0.asked().unwrap_or_default()));
        self.0.not_begun(why)
    }
}

/// For a plan, or for that of a run, whose trials show their cost.
pub(super) fn run(args: &Args, plan: &Plan, known: Option<&Run>, dir: PathBuf) -> Result<u8> {
    if plan.guest.is_none() {
        usage!("--kernels boots guests: give the plan a `[guest]` table (docs/vm.md)");
    }
    if plan.arms.iter().flat_map(|arm| &arm.settings).any(|setting| matches!(setting, Setting::Kernel(_))) {
        usage!(
            "--kernels changes the kernel of both arms, and an arm of this plan names one itself: leave one of them out"
        );
    }
    if args.kernels.len() < 2 {
        usage!("--kernels takes two or more, in their order: --kernels debian:6.1,debian:6.12");
    }
    are_kernels(plan, &args.kernels)?;
    let mut study = Said(WhyKernels::new(plan, &args.kernels)?);
    if args.dry_run {
        schedlab_trial::prepare::check_anywhere(plan).with_context(|| args.subject.display().to_string())?;
        return forecast::print(&of(study.0.blocks(), plan, known, &args.kernels), &args.answer).map(|()| exit::DONE);
    }
    let ended = rounds::study(&mut study, &dir, args.resume)?;
    let found = study.0.findings();
    match (&found.kernels[..], &found.not_compared[..]) {
        ([], []) => return Ok(why::code(&ended)),
        ([], [first, ..]) => bail!("none of the kernels has a difference to compare; {}: {}", first.kernel, first.why),
        _ => {}
    }
    write_answer(&dir.join("why.json"), SCHEMA, &found)?;
    print_findings(&args.answer, SCHEMA, &found, schedlab_report::why_kernels)?;
    Ok(why::code(&ended))
}

/// Checks before the first boot that all kernels are here, and that each is listed once.
fn are_kernels(plan: &Plan, kernels: &[String]) -> Result<()> {
    let of = architecture(plan.guest.as_ref().is_some_and(|guest| guest.aarch64));
    for (at, kernel) in kernels.iter().enumerate() {
        if kernels[..at].contains(kernel) {
            usage!("--kernels: {kernel} is listed twice");
        }
        find(kernel, of).with_context(|| format!("--kernels: {kernel}"))?;
    }
    Ok(())
}

fn of(blocks: u32, plan: &Plan, known: Option<&Run>, kernels: &[String]) -> WhyForecast {
    let seconds = forecast::seconds(plan, known, 1, blocks as usize);
    let stage = |kernel: &String| ForecastStage {
        what: format!("the difference on {kernel}"),
        rows: 1,
        blocks: blocks as usize,
        seconds,
    };
    WhyForecast {
        arms: plan.arms.iter().map(|arm| arm.name.clone()).collect(),
        kernels: kernels.to_vec(),
        stages: kernels.iter().map(stage).collect(),
        seconds: seconds.map(|seconds| seconds * kernels.len() as f64),
        note: "blocks are the plan's; each kernel is measured anew, after a guest that tries it".into(),
        ..WhyForecast::default()
    }
}
