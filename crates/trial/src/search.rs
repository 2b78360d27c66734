//! A search over knobs as a study in rounds: points of the search in crate `tune` become arms, effects of arms become
//! gains, and its result becomes findings.

mod budget;
mod findings;

use crate::rounds::{Round, Study};
use crate::schedule::Coins;
use crate::workloads::says_its_length;
use anyhow::{Context, Result, bail};
use budget::{options, round_ns};
use schedlab_analyze::{ArmEffects, LeftOut, Objective, Scale, arm_effects, relative};
use schedlab_plan::plan::{KnobScale, PlannedSearch, Stopping};
use schedlab_plan::{Arm, CheckState, Plan, Setting, TrialRecord};
use schedlab_tune::search::{Ask, Options, Point, PointResult, Search, Space};

/// Length of a trial if the plan names none: many short trials say more about many points.
const TRIAL_NS: u64 = 200_000_000;
/// Limit for the ratio of a point to the default: a larger ratio counts as this one.
const MAX_RATIO: f64 = 1000.0;
/// A longer gap between two rounds was caused by the user.
const LONGEST_GAP_NS: u64 = 20_000_000_000;

/// A search in progress.
pub struct SearchStudy {
    plan: Plan,
    planned: PlannedSearch,
    control: Arm,
    options: Options,
    search: Search,
    asked: Option<Ask>,
    round: u32,
    /// Time spent, ns, and trials run.
    spent: (u64, u64),
    /// When the last trial ended, ns since 1970.
    last_end_ns: Option<u64>,
    objectives: Vec<Objective>,
    left_out: Vec<LeftOut>,
    /// Failed checks of the machine, by id, with a sentence.
    warnings: Vec<(String, String)>,
}

impl SearchStudy {
    /// For a plan with a search and a seed; an error if its budget is too small for a search.
    pub fn new(plan: &Plan) -> Result<Self> {
        let planned = plan.search.clone().context("the plan has no knobs to search")?;
        let seed = plan.seed.context("a search needs a seed")?;
        let mut plan = plan.clone();
        if !says_its_length(&plan.workloads[0].run) {
            plan.trial_ns = plan.trial_ns.or(Some(TRIAL_NS));
        }
        let control = plan.arms.first().cloned().unwrap_or(Arm { name: "default".into(), settings: Vec::new() });
        let options = Options { seed, least: plan.sesoi.ln_1p(), ..options(&plan, &planned)? };
        let search = Search::new(space(&planned), options.clone());
        Ok(Self {
            plan,
            planned,
            control,
            options,
            search,
            asked: None,
            round: 0,
            spent: (0, 0),
            last_end_ns: None,
            objectives: Vec::new(),
            left_out: Vec::new(),
            warnings: Vec::new(),
        })
    }

    /// A round as a plan, with the control first.
    fn round_of(&self, ask: &Ask) -> Result<Plan> {
        let arm = |point: &Point| self.planned.arm(point, &self.control);
        let points = ask.points.iter().map(arm).collect::<Result<Vec<Arm>, _>>()?;
        let arms = std::iter::once(self.control.clone()).chain(points).collect();
        // Below 2^53, as `fresh_seed`.
        let seed = Coins::new(self.options.seed, &[u64::from(self.round)]).next() >> 11;
        Ok(self.plan.round(self.round, arms, ask.blocks, seed))
    }

    /// Keeps what distorts the results, in the words of the first round that shows it.
    fn warn(&mut self, round: &Round) {
        for check in round.manifest.environment.checks.iter().filter(|check| check.state == CheckState::Warning) {
            if self.warnings.iter().all(|(id, _)| *id != check.id) {
                let text = format!("{} ({}): {}", check.title, check.value, check.effect);
                self.warnings.push((check.id.clone(), text));
            }
        }
    }

    /// The result of each point of a round.
    fn answers(&mut self, round: &Round, ask: &Ask) -> Result<Vec<PointResult>> {
        self.warn(round);
        let effects = arm_effects(&round.manifest, &round.trials, 0).map_err(anyhow::Error::msg)?;
        let metrics = &round.manifest.primary[0];
        let of = |metric: &str, arm: usize| effects.iter().find(|e| e.metric == metric && e.arm == arm as u32);
        if let Some(unknown) = metrics.iter().find(|metric| of(metric, 1).is_none()) {
            bail!("{} has no metric `{unknown}` to optimize", self.plan.workloads[0].run);
        }
        let units = units_of_all(&effects);
        let answer = |arm: usize| -> PointResult {
            let of_arm: Vec<&ArmEffects> = metrics.iter().filter_map(|metric| of(metric, arm)).collect();
            if let Some(why) =
                of_arm.iter().find_map(|effects| effects.lacking.as_ref().map(|lacking| lacking.why.clone()))
            {
                return PointResult::LeftOut(why);
            }
            PointResult::Gains(of_arm.iter().map(|effects| gains(effects, &units)).collect())
        };
        let objective = |metric: &String| {
            let seen = effects.iter().find(|e| e.metric == *metric && e.lacking.is_none())?;
            let (unit, direction) = (seen.unit.clone(), seen.direction);
            Some(Objective { metric: metric.clone(), unit, direction, scale: Scale::Ratio, control: seen.control_mean })
        };
        if let Some(objectives) = metrics.iter().map(objective).collect() {
            self.objectives = objectives;
        }
        Ok((1..=ask.points.len()).map(answer).collect())
    }

    /// Points with the same reason are reported together.
    fn leave_out(&mut self, point: &Point, why: &str) {
        let arm = self.planned.arm(point, &self.control).unwrap_or_else(|_| self.control.clone());
        let why = why.trim_start_matches("not applied: ");
        // `slice=3ms: a slice belongs to the fair policies`: after the value, the text is the same for all values.
        let own = arm.settings.iter().map(|setting: &Setting| format!("{setting}: "));
        let why = own.fold(why.to_owned(), |why, own| why.replace(&own, ""));
        match self.left_out.iter_mut().find(|out| out.why == why) {
            Some(out) => out.points.push(arm.name),
            None => self.left_out.push(LeftOut { points: vec![arm.name], why }),
        }
    }

    /// Counts the time of a round from its rows alone, so that a search that is given the rounds again decides the
    /// same.
    fn spend(&mut self, trials: &[TrialRecord]) {
        let began = trials.iter().map(|trial| trial.started_unix_ns).min().unwrap_or(0);
        let first_ns = round_ns(&self.plan);
        let gap_ns = self.last_end_ns.map_or(first_ns, |end| began.saturating_sub(end).min(LONGEST_GAP_NS));
        self.last_end_ns = trials.iter().map(|trial| trial.started_unix_ns + trial.wall_ns).max().or(self.last_end_ns);
        self.spent.0 += gap_ns + trials.iter().map(|trial| trial.wall_ns).sum::<u64>();
        self.spent.1 += trials.len() as u64;
    }
}

impl Study for SearchStudy {
    fn ask(&mut self) -> Result<Option<Plan>> {
        self.asked = self.search.ask();
        let Some(ask) = self.asked.clone() else { return Ok(None) };
        self.round += 1;
        self.round_of(&ask).map(Some)
    }

    fn tell(&mut self, round: &Round) -> Result<()> {
        let Some(ask) = self.asked.take() else { return Ok(()) };
        let answers = self.answers(round, &ask)?;
        for (point, answer) in ask.points.iter().zip(&answers) {
            if let PointResult::LeftOut(why) = answer {
                self.leave_out(point, why);
            }
        }
        self.search.tell(answers);
        self.spend(&round.trials);
        // The budget is a time: the measured duration of a trial decides how many are left.
        if let (Stopping::Budget { budget_ns, .. }, 1..) = (&self.plan.stopping, self.spent.1) {
            let left = budget_ns.saturating_sub(self.spent.0) / (self.spent.0 / self.spent.1).max(1);
            self.search.may_spend(left);
        }
        Ok(())
    }
}

fn space(planned: &PlannedSearch) -> Space {
    use schedlab_tune::search::Scale;
    let scale = |scale: KnobScale| match scale {
        KnobScale::Log => Scale::Log,
        KnobScale::Linear => Scale::Linear,
        KnobScale::Words => Scale::Words,
    };
    let knobs: Vec<_> = planned.knobs.iter().map(|knob| (scale(knob.scale), knob.numbers())).collect();
    Space::new(&knobs)
}

/// Units in which every arm with effects has a value, in order.
fn units_of_all(effects: &[ArmEffects]) -> Vec<u64> {
    let mut with = effects.iter().filter(|effects| effects.lacking.is_none());
    let Some(first) = with.next() else { return Vec::new() };
    let rest: Vec<&ArmEffects> = with.collect();
    let in_all = |unit: &u64| rest.iter().all(|effects| effects.effects.iter().any(|(of, _)| of == unit));
    first.effects.iter().map(|(unit, _)| *unit).filter(in_all).collect()
}

/// Log-ratios, larger is better. If a trial measured 0 there are differences instead; each becomes the log-ratio of the
/// same share of the mean of both sides. A ratio beyond a thousand counts as a thousand.
fn gains(effects: &ArmEffects, units: &[u64]) -> Vec<f64> {
    let most = MAX_RATIO.ln();
    let log_ratio = |share: f64| (2.0 * (share / 2.0).clamp(-1.0, 1.0).atanh()).clamp(-most, most);
    let all: Vec<f64> = match effects.scale {
        Scale::Ratio => effects.gains().collect(),
        Scale::Difference => relative(effects).into_iter().map(log_ratio).collect(),
    };
    let of_units = effects.effects.iter().map(|(unit, _)| unit).zip(all);
    of_units.filter(|(unit, _)| units.contains(unit)).map(|(_, gain)| gain).collect()
}
