//! `schedlab why`: which toggles change the difference between two arms, as a study in rounds. The first round is the
//! plan's own comparison, unless a run of it is given. The following rounds are the stages of a screen
//! ([`schedlab_stats::screen`]), each with both arms under every combination of toggles that the screen asks for.

mod factors;

use crate::rounds::{Round, Study};
use anyhow::{Context, Result};
use factors::{Factor, Varied};
use schedlab_analyze::{Difference, Lacking, Scale, WhyFactor, WhyFindings, arm_effects};
use schedlab_plan::factorial::{self, Toggles};
use schedlab_plan::plan::{Plan, Stopping};
use schedlab_plan::units::format_ns;
use schedlab_plan::{Arm, MIN_UNITS, Manifest, PlanError, Setting, TrialRecord, counted};
use schedlab_stats::screen::{Request, Screen, Sought, Stage};
use std::collections::{BTreeMap, BTreeSet};

/// Blocks of the first round if the plan gives no number.
const FIRST_BLOCKS: u32 = 12;

/// The study.
pub struct Why {
    plan: Plan,
    factors: Vec<Factor>,
    left_out: Vec<String>,
    seed: u64,
    rounds: u32,
    difference: Option<Difference>,
    screen: Option<Screen>,
    /// Time limit for measuring.
    budget_ns: Option<u64>,
    spent_ns: u64,
    cost: Option<Cost>,
    cut: Option<String>,
}

/// How long measuring takes, ns: each trial, and in addition each block, where guests boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// A trial's, ns.
    pub trial: u64,
    /// A block's, ns.
    pub block: u64,
}

impl Cost {
    /// From these trials; `None` if there are none. The time of a boot is included in the first trial after it, or, where
    /// guests ran side by side, in equal shares in all: then a stage with more combinations takes less than this says.
    pub fn of(trials: &[TrialRecord]) -> Option<Self> {
        let mut took: Vec<u64> = trials.iter().map(|trial| trial.wall_ns).collect();
        let blocks: BTreeSet<u32> = trials.iter().map(|trial| trial.block).collect();
        took.sort_unstable();
        let trial = *took.get(took.len() / 2)?;
        let booting: u64 = took.iter().map(|each| each.saturating_sub(trial)).sum();
        Some(Self { trial, block: booting / blocks.len() as u64 })
    }

    /// Duration of a stage with this many combinations of two arms in this many blocks, and a warm-up, ns.
    pub fn stage(&self, rows: usize, blocks: usize) -> u64 {
        let block = (4 * rows as u64).saturating_mul(self.trial).saturating_add(self.block);
        (blocks as u64 + 1).saturating_mul(block)
    }
}

impl Why {
    /// For a plan of two arms on one workload; `toggles` are those of each arm's kernel. Toggles that an arm sets
    /// itself, and those in `without`, are not factors; if `only` is not empty, only the toggles in it are factors.
    pub fn new(plan: &Plan, toggles: &[Toggles; 2], only: &[String], without: &[String]) -> Result<Self> {
        check(plan)?;
        let Varied { factors, left_out } = factors::varied(plan, toggles, only, without)?;
        let seed = plan.seed.unwrap_or(1);
        Ok(Self {
            plan: plan.clone(),
            factors,
            left_out,
            seed,
            rounds: 0,
            difference: None,
            screen: None,
            budget_ns: None,
            spent_ns: 0,
            cost: None,
            cut: None,
        })
    }

    /// Starts no stage that would exceed the rest of `budget_ns`, judging by the duration of trials so far.
    pub fn within(mut self, budget_ns: Option<u64>) -> Self {
        self.budget_ns = budget_ns;
        self
    }

    /// Takes the difference from an existing run of the plan.
    pub fn known(&mut self, manifest: &Manifest, trials: &[TrialRecord]) -> Result<()> {
        let difference = Difference::of(manifest, trials).map_err(anyhow::Error::msg)?;
        self.screen = difference.is_there.then(|| self.begun(&difference));
        self.cost = Cost::of(trials);
        self.difference = Some(difference);
        Ok(())
    }

    fn begun(&self, difference: &Difference) -> Screen {
        self.screen_of(difference.size() / 2.0, difference.sd)
    }

    fn screen_of(&self, size: f64, sd: f64) -> Screen {
        let (factors, alpha, seed) = (self.factors.len(), self.plan.alpha, self.seed);
        Screen::new(Sought { factors, size, sd, alpha, seed, fraction: factorial::levels })
    }

    /// Blocks of the first round; `None` if the difference is known.
    pub fn first_blocks(&self) -> Option<u32> {
        self.difference.is_none().then(|| blocks_of(&self.plan))
    }

    /// The stages as far as they can be foreseen: number of combinations and blocks, with upper limits for later
    /// stages; empty if no difference was shown. If the difference is not known yet, the forecast assumes that the
    /// spread of blocks is half of the smallest change looked for.
    pub fn forecast(&self) -> Vec<(Stage, usize, usize)> {
        match (&self.screen, &self.difference) {
            (Some(screen), _) => screen.forecast(),
            (None, Some(_)) => Vec::new(),
            (None, None) => self.screen_of(1.0, 0.5).forecast(),
        }
    }

    /// Names and SPECs of the toggles that are varied.
    pub fn factors(&self) -> Vec<WhyFactor> {
        let spec = |settings: &Vec<Setting>| settings.iter().map(Setting::to_string).collect::<Vec<_>>().join(";");
        let factor =
            |factor: &Factor| WhyFactor { name: factor.name.clone(), specs: factor.in_arms.each_ref().map(spec) };
        self.factors.iter().map(factor).collect()
    }

    /// What is not varied, and why.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// The findings so far; `None` before the difference is known.
    pub fn findings(&self) -> Option<WhyFindings> {
        let (factors, left_out) = (self.factors(), self.left_out.clone());
        let difference = self.difference.clone()?;
        let screen = self.screen.as_ref();
        let found = WhyFindings::new(&self.plan.title, difference, self.plan.alpha, factors, left_out, screen);
        Some(WhyFindings { cut: self.cut.clone(), ..found })
    }

    /// Why a stage is not started, if it would exceed the budget.
    fn too_long(&self, request: &Request) -> Option<String> {
        let (budget, cost) = (self.budget_ns?, self.cost?);
        let (rows, blocks) = (request.rows.len(), request.blocks);
        let takes = cost.stage(rows, blocks);
        (self.spent_ns.saturating_add(takes) > budget).then(|| {
            format!(
                "its next stage, {} of both arms in {}, would take about {}, but {} of the budget of {} are used; \
                 continue with `--resume` and a larger budget, or test fewer (`--only`)",
                counted(rows, "combinations"),
                counted(blocks, "blocks"),
                format_ns(takes.next_multiple_of(1_000_000_000)),
                format_ns(self.spent_ns.next_multiple_of(1_000_000_000)),
                format_ns(budget)
            )
        })
    }

    /// The plan of a round with these arms. If states of boots are saved, each block has a boot of its own: the block
    /// is the unit.
    fn round(&self, arms: Vec<Arm>, blocks: u32) -> Plan {
        let number = self.rounds;
        let mut plan = self.plan.round(number, arms, blocks, self.seed.wrapping_add(u64::from(number)) % (1 << 53));
        if let Some(boots) = plan.guest.as_mut().and_then(|guest| guest.boots.as_mut()) {
            *boots = blocks;
        }
        plan
    }

    /// Both arms under every combination, combination by combination.
    fn arms(&self, request: &Request) -> Vec<Arm> {
        let of_row = |(number, row): (usize, &Vec<bool>)| {
            let of_arm = |arm: usize| {
                let mut combined = self.plan.arms[arm].clone();
                combined.name = format!("{}: {}", number + 1, combined.name);
                let switched = self.factors.iter().zip(row).filter(|(_, level)| **level);
                combined.settings.extend(switched.flat_map(|(factor, _)| factor.in_arms[arm].clone()));
                combined
            };
            [of_arm(0), of_arm(1)]
        };
        request.rows.iter().enumerate().flat_map(of_row).collect()
    }
}

/// Refuses a plan that asks more than one question.
pub(crate) fn check(plan: &Plan) -> Result<()> {
    if plan.arms.len() != 2 || plan.workloads.len() != 1 || plan.workloads[0].sweep.is_some() {
        return refused(format!(
            "`why` looks at two arms on one workload without a sweep; this plan has {} and {}: leave the others out",
            counted(plan.arms.len(), "arms"),
            counted(plan.workloads.len(), "workloads")
        ));
    }
    if plan.switchback_window_ns.is_some() {
        return refused("`why` compares in blocks: leave `design = \"switchback\"` out of the plan".into());
    }
    Ok(())
}

fn refused<T>(why: String) -> Result<T> {
    Err(PlanError::Inconsistent(why).into())
}

/// Number of blocks of the plan's own comparison.
pub(crate) fn blocks_of(plan: &Plan) -> u32 {
    match plan.stopping {
        Stopping::Trials { blocks } => blocks.max(MIN_UNITS as u32),
        _ => FIRST_BLOCKS,
    }
}

impl Study for Why {
    fn ask(&mut self) -> Result<Option<Plan>> {
        self.rounds += 1;
        if self.cut.is_some() {
            return Ok(None);
        }
        if let Some(blocks) = self.first_blocks() {
            return Ok(Some(self.round(self.plan.arms.clone(), blocks)));
        }
        let Some(request) = self.screen.as_ref().and_then(Screen::ask) else { return Ok(None) };
        self.cut = self.too_long(&request);
        if self.cut.is_some() {
            return Ok(None);
        }
        Ok(Some(self.round(self.arms(&request), request.blocks as u32)))
    }

    fn tell(&mut self, round: &Round) -> Result<()> {
        self.spent_ns += round.trials.iter().map(|trial| trial.wall_ns).sum::<u64>();
        if self.difference.is_none() {
            return self.known(&round.manifest, &round.trials);
        }
        let screen = self.screen.as_mut().context("nothing was asked for")?;
        let rows = screen.ask().map_or(0, |request| request.rows.len());
        match differences(rows, &round.manifest, &round.trials) {
            Ok(values) => screen.tell(&values).with_context(|| format!("round {}", round.number)),
            // The results of earlier stages remain.
            Err(why) => {
                self.cut = Some(format!("round {}: {why}", round.number));
                Ok(())
            }
        }
    }
}

/// The log-ratio of arm 1 to arm 0 for each combination, in each unit that has all of them.
fn differences(rows: usize, manifest: &Manifest, trials: &[TrialRecord]) -> Result<Vec<Vec<f64>>, String> {
    let all = arm_effects(manifest, trials, 0)?;
    let metric = all.first().map(|effects| effects.metric.clone()).unwrap_or_default();
    let mut by_arm: BTreeMap<u32, BTreeMap<u64, f64>> = BTreeMap::new();
    for effects in all.iter().filter(|effects| effects.metric == metric) {
        let arm = |arm: u32| &manifest.arms[arm as usize];
        if let Some(Lacking { arm: of, why }) = &effects.lacking {
            let (name, spec) = (&arm(*of).name, arm(*of).spec());
            return Err(format!("`{name}` ({spec}): {why}; a new study can leave a toggle out with --without"));
        }
        // Differences of one combination and ratios of another are not comparable.
        if effects.scale != Scale::Ratio {
            let (name, control) = (&arm(effects.arm).name, &arm(0).name);
            return Err(format!(
                "a trial of `{name}` or of `{control}` completed nothing, so they have no ratio; a new study needs longer \
                 trials (`trial = \"1s\"` in the plan)"
            ));
        }
        by_arm.insert(effects.arm, effects.effects.iter().copied().collect());
    }
    let first = by_arm.values().next().map(|units| units.keys().copied().collect()).unwrap_or_default();
    let units: Vec<u64> = by_arm
        .values()
        .fold(first, |units: Vec<u64>, of_arm| units.into_iter().filter(|unit| of_arm.contains_key(unit)).collect());
    // The control against itself has no effect.
    let value = |arm: usize, unit: &u64| by_arm.get(&(arm as u32)).map_or(0.0, |of_arm| of_arm[unit]);
    let row = |row: usize| units.iter().map(|unit| value(2 * row + 1, unit) - value(2 * row, unit)).collect();
    Ok((0..rows).map(row).collect())
}
