//! What a search costs: how many trials its budget allows, and how it will use them; known before anything is measured.

use super::{SearchStudy, space};
use crate::cost::{CHECKS_NS, around_ns};
use crate::describe::{BOOT_S, SAMPLE_NS};
use crate::experiment::{is_timed, trial_duration_ns};
use anyhow::{Result, bail};
use schedlab_plan::plan::{GuestPer, PlannedSearch, SearchStrategy, Stopping};
use schedlab_plan::units::format_ns;
use schedlab_plan::{Plan, PlanError, counted};
use schedlab_tune::search::{Options, Strategy};

/// Time a round in guests takes besides its trials, until it is measured.
const ROUND_IN_GUESTS_NS: u64 = 3_000_000_000;
/// Number of trials that share this time: about those of one round.
const TRIALS_OF_A_ROUND: u64 = 40;

/// What a trial takes, as assumed before any was measured.
struct Cost {
    trial_ns: u64,
    /// Time for its process and settings; if a guest is booted for it, time for the boot.
    around_ns: u64,
    is_booted: bool,
    /// The workload ends by itself, so how long a trial takes is not known.
    is_assumed: bool,
    round_ns: u64,
}

/// Time a round takes besides its trials, for the checks of the machine before and after.
pub(super) fn round_ns(plan: &Plan) -> u64 {
    if plan.guest.is_some() { ROUND_IN_GUESTS_NS } else { CHECKS_NS }
}

impl Cost {
    fn of(plan: &Plan) -> Self {
        let trial_ns = plan.trial_ns.unwrap_or_else(|| trial_duration_ns(&plan.workloads[0].run));
        let booted = |guest: &schedlab_plan::plan::GuestPlan| guest.boots.is_none() && guest.per == GuestPer::Trial;
        let is_booted = plan.guest.as_ref().is_some_and(booted);
        let around_ns = match &plan.guest {
            None => around_ns(&plan.workloads[0].run, &[]),
            Some(_) if is_booted => BOOT_S[0] * 1_000_000_000,
            Some(_) => 0,
        };
        let least_ns = if plan.guest.is_some() { SAMPLE_NS } else { 0 };
        let is_assumed = plan.trial_ns.is_none() && !is_timed(&plan.workloads[0].run);
        Self { trial_ns: trial_ns.max(least_ns), around_ns, is_booted, is_assumed, round_ns: round_ns(plan) }
    }

    /// A trial's whole time, with its share of the round's checks.
    fn each_ns(&self) -> u64 {
        self.trial_ns.saturating_add(self.around_ns).saturating_add(self.round_ns / TRIALS_OF_A_ROUND)
    }

    /// What this many trials take, in whole seconds.
    fn of_trials(&self, trials: u64) -> String {
        format_ns(trials.saturating_mul(self.each_ns()).div_ceil(1_000_000_000).saturating_mul(1_000_000_000))
    }

    /// `trials of 200ms, …`: everything that the number of trials is computed from.
    fn in_words(&self) -> String {
        let around = match (self.is_booted, self.around_ns) {
            (_, 0) => String::new(),
            (false, ns) => format!(", each with {} of set-up", format_ns(ns)),
            (true, ns) => format!(", each with {} for its boot", format_ns(ns)),
        };
        let assumed = match self.is_assumed {
            true => " (assumed: one by `loops` or of a command ends by itself; `duration` instead of `loops` sets it)",
            false => "",
        };
        format!(
            "trials of {}{assumed}{around}, and {} of checks for every {TRIALS_OF_A_ROUND} of them",
            format_ns(self.trial_ns),
            format_ns(self.round_ns)
        )
    }
}

pub(super) fn options(plan: &Plan, planned: &PlannedSearch) -> Result<Options> {
    let budget_ns = budget_ns(plan)?;
    let strategy = match planned.strategy {
        SearchStrategy::Halving => Strategy::Halving,
        SearchStrategy::Surrogate => Strategy::Surrogate,
        SearchStrategy::Grid => Strategy::Grid,
    };
    let cost = Cost::of(plan);
    let objectives = plan.workloads[0].primary.len().max(1);
    let budget = budget_ns / cost.each_ns();
    let space = space(planned);
    let options = |budget| Options::for_budget(strategy, &space, objectives, budget);
    let least = options(budget).least_budget(&space);
    // The first round shows how long a trial takes.
    if least <= budget || cost.is_assumed {
        return Ok(options(budget.max(least)));
    }
    Err(PlanError::Inconsistent(format!(
        "a budget of {} holds some {budget} {}; a search by `{}` over {} needs {least}: give at least {}, a shorter `trial`, \
         or fewer values",
        format_ns(budget_ns),
        cost.in_words(),
        planned.strategy.name(),
        counted(planned.points(), "points"),
        cost.of_trials(least),
    ))
    .into())
}

/// How long a search with a plan may take.
pub(super) fn budget_ns(plan: &Plan) -> Result<u64> {
    match plan.stopping {
        Stopping::Budget { budget_ns, .. } => Ok(budget_ns),
        _ => bail!("a search needs a budget"),
    }
}

impl SearchStudy {
    /// A warning if the search has more trials than the budget holds, should they be as long as assumed.
    pub fn budget_warning(&self) -> Option<String> {
        let (cost, least) = (Cost::of(&self.plan), self.options.budget);
        let budget_ns = budget_ns(&self.plan).ok()?;
        (least > budget_ns / cost.each_ns()).then(|| {
            format!(
                "the budget of {} may be too small: the search needs {least} trials, {} if each takes the assumed {}; its first \
                 round shows how long they take",
                format_ns(budget_ns),
                cost.of_trials(least),
                format_ns(cost.trial_ns)
            )
        })
    }

    /// What the search may run, as text for people, before anything is measured.
    pub fn forecast(&self) -> Vec<String> {
        let Options { points, blocks, confirmed, fresh_blocks, .. } = self.options;
        let cost = Cost::of(&self.plan);
        let budget = budget_ns(&self.plan).unwrap_or_default() / cost.each_ns();
        let of_round = Options::trials_of(points.min(self.planned.points()), blocks);
        let confirm = Options::trials_of(confirmed.min(self.planned.points()), fresh_blocks);
        // How long a trial takes is known only once its guest has run it.
        let some = if self.plan.guest.is_some() { "at most" } else { "about" };
        // Later rungs have twice the blocks.
        let first = if self.planned.strategy == SearchStrategy::Halving { "first " } else { "" };
        let mut lines = vec![
            format!("{} of {}", counted(self.planned.points(), "points"), counted(self.planned.knobs.len(), "knobs")),
            format!(
                "a budget of {} holds {some} {budget} {}",
                budget_ns(&self.plan).map(format_ns).unwrap_or_default(),
                cost.in_words()
            ),
            format!(
                "{first}rounds of at most {points} points beside the default in {}, {of_round} trials each with those that warm up",
                counted(blocks as usize, "blocks"),
            ),
            format!(
                "then the winner and {} in {} of fresh trials, {confirm} of the trials",
                counted(confirmed.saturating_sub(1), "runners-up"),
                counted(fresh_blocks as usize, "blocks"),
            ),
        ];
        lines.push(match self.search.planned() {
            // The number of its rounds is fixed, so a larger budget allows no more.
            Some(trials) => format!(
                "`{}` takes {trials} trials at most, some {}{}; fewer if they last longer than that",
                self.planned.strategy.name(),
                format_ns(trials.saturating_mul(cost.each_ns())),
                unused(budget.saturating_sub(trials), cost.each_ns()),
            ),
            None => "there are more or fewer trials as they last shorter or longer; fewer, too, if nothing more is to be gained"
                .into(),
        });
        lines.push("the last round may exceed the budget".into());
        lines.extend(self.budget_warning());
        lines
    }
}

/// A note about the unused rest of the budget, if it is at least a second.
fn unused(trials: u64, each_ns: u64) -> String {
    match trials.saturating_mul(each_ns) / 1_000_000_000 {
        0 => String::new(),
        seconds => format!(": {} of the budget stay unused", format_ns(seconds * 1_000_000_000)),
    }
}
