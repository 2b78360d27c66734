//! `schedlab why --dry-run`: what would be switched, in which stages, and how long that may take.

use crate::cli::OutputOptions;
use anyhow::Result;
use schedlab_analyze::WhyFactor;
use schedlab_plan::units::format_ns;
use schedlab_plan::{Plan, counted};
use schedlab_run::Run;
use schedlab_stats::screen::Stage;
use schedlab_trial::experiment::is_timed;
use schedlab_trial::why::{Cost, Why};
use serde::Serialize;

/// Time of a trial in addition to its length.
const OVERHEAD_NS: u64 = 60_000_000;
/// Default length of a trial.
const TRIAL_NS: u64 = 500_000_000;

/// The answer of `why --dry-run`.
#[derive(Debug, Default, Serialize)]
pub(crate) struct WhyForecast {
    /// Names of the arms.
    pub(crate) arms: Vec<String>,
    /// What would be switched.
    pub(crate) toggles: Vec<WhyFactor>,
    /// What would not, and why.
    pub(crate) left_out: Vec<String>,
    /// With `--kernels`: these, in their order.
    pub(crate) kernels: Vec<String>,
    /// The trials that would be run; empty if the given run shows no difference.
    pub(crate) stages: Vec<ForecastStage>,
    /// Upper limit of the duration, s; absent for guests, whose boots are not known beforehand.
    pub(crate) seconds: Option<f64>,
    /// What the numbers of blocks are based on.
    pub(crate) note: String,
}

/// A stage, with the most it may take.
#[derive(Debug, Serialize)]
pub(crate) struct ForecastStage {
    /// What it compares.
    pub(crate) what: String,
    /// Combinations, of both arms each.
    pub(crate) rows: usize,
    /// Blocks of each.
    pub(crate) blocks: usize,
    /// How long it may take, s.
    pub(crate) seconds: Option<f64>,
}

/// The forecast of a study that has not begun.
pub(crate) fn of(why: &Why, plan: &Plan, known: Option<&Run>) -> WhyForecast {
    let stage = |what: String, rows: usize, blocks: usize| ForecastStage {
        what,
        rows,
        blocks,
        seconds: seconds(plan, known, rows, blocks),
    };
    let mut stages: Vec<ForecastStage> =
        why.first_blocks().map(|blocks| stage("the difference".into(), 1, blocks as usize)).into_iter().collect();
    for (number, (kind, rows, blocks)) in why.forecast().into_iter().enumerate() {
        let what = match kind {
            Stage::Groups => "each toggle or group alone, and all the others without it",
            Stage::Fraction => "a fraction over what is left",
            Stage::Full => "all combinations of the last",
        };
        stages.push(stage(if number == 0 { what.to_owned() } else { format!("{what}, at most") }, rows, blocks));
    }
    let note = match (stages.is_empty(), known.is_some()) {
        (true, _) => {
            "the run shows no difference, so no toggle would be looked for: more `trials`, longer ones, or other arms"
        }
        (false, true) => "blocks follow from the noise of the run",
        (false, false) => {
            "the number of blocks assumes a standard deviation of half the smallest effect looked for (half of the \
             difference), and grows with the square of the standard deviation"
        }
    };
    WhyForecast {
        arms: plan.arms.iter().map(|arm| arm.name.clone()).collect(),
        toggles: why.factors(),
        left_out: why.left_out().to_vec(),
        kernels: Vec::new(),
        seconds: stages.iter().map(|stage| stage.seconds).sum(),
        stages,
        note: note.into(),
    }
}

/// Prints it as JSON or as text.
pub(crate) fn print(found: &WhyForecast, answer: &OutputOptions) -> Result<()> {
    if answer.json {
        return crate::output::print_answer("schedlab/why-forecast/1", found, answer.top);
    }
    let text = crate::output::fitted(&text(found), crate::output::terminal_width()) + "\n";
    crate::output::to_stdout(|out| write!(out, "{text}"))
}

fn text(found: &WhyForecast) -> String {
    let [a, b] = &found.arms[..] else { return String::new() };
    let mut text = match found.toggles.len() {
        0 => format!("{}, in their order:\n", found.kernels.join(", ")),
        count => format!("{} would be switched, each from its present value:\n", counted(count, "toggles")),
    };
    for factor in &found.toggles {
        let spec = match &factor.specs {
            [first, second] if first == second => first.clone(),
            [first, second] if second.is_empty() => format!("{first}  (`{a}` alone has it)"),
            [first, second] if first.is_empty() => format!("{second}  (`{b}` alone has it)"),
            [first, second] => format!("{first} in `{a}`, {second} in `{b}`"),
        };
        text += &format!("  {}  {spec}\n", factor.name);
    }
    found.left_out.iter().for_each(|line| text += &format!("  not switched: {line}\n"));
    for ForecastStage { what, rows, blocks, seconds } in &found.stages {
        let took = seconds.map_or(String::new(), |seconds| format!(", about {}", rough(seconds)));
        text += &format!("{what}: {rows} × 2 arms in {}{took}\n", counted(*blocks, "blocks"));
    }
    text += &match found.seconds {
        _ if found.stages.is_empty() => String::new(),
        Some(seconds) => format!("in all about {} at most\n", rough(seconds)),
        None => "the time is not known: for one, give the directory of a run of this plan instead\n".into(),
    };
    text + &found.note + "\n"
}

/// A time, rounded to its first digits.
fn rough(seconds: f64) -> String {
    format_ns(seconds.ceil() as u64 * 1_000_000_000)
}

/// How long a stage may take, s.
pub(crate) fn seconds(plan: &Plan, known: Option<&Run>, rows: usize, blocks: usize) -> Option<f64> {
    cost(plan, known).map(|cost| cost.stage(rows, blocks) as f64 / 1e9)
}

/// The cost that a run had; without a run, on this host, from the plan. For guests and loops only a run shows it.
fn cost(plan: &Plan, known: Option<&Run>) -> Option<Cost> {
    known.and_then(|run| Cost::of(&run.trials)).or_else(|| {
        let trial = plan.trial_ns.unwrap_or(TRIAL_NS).saturating_add(OVERHEAD_NS);
        let is_known = plan.guest.is_none() && plan.workloads.iter().all(|workload| is_timed(&workload.run));
        is_known.then_some(Cost { trial, block: 0 })
    })
}
