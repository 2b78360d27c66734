//! The state machine of `schedlab_stats::bisect` as a study in rounds: each comparison is a run of two arms.

use super::members::Members;
use crate::commands::rounds::ROUNDS;
use crate::commands::run;
use crate::exit::usage;
use crate::output::say;
use crate::trial_host;
use anyhow::{Context, Result, anyhow, bail};
use schedlab_analyze::{ArmEffects, BisectFindings, Bisected, Lacking, Scale, arm_effects, bisect_findings, relative};
use schedlab_plan::{Arm, Direction, Plan};
use schedlab_stats::{BisectAnswer, BisectRules, BisectStep, Bisection};
use schedlab_sys::interrupt::Interrupt;
use schedlab_trial::rounds::{Round, Study};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// File in the study's directory with the members that were tried before their first trial, and the reasons why some
/// cannot be run, so that a resumed study does not build and boot them again.
const TRIED: &str = "members.json";

/// Seed of a bisection whose plan gives none.
const FIRST_SEED: u64 = 1;

/// A bisection under way.
pub(super) struct BisectStudy {
    plan: Plan,
    members: Members,
    bisection: Bisection,
    dir: PathBuf,
    /// The metric to follow; by default the first primary one.
    metric: Option<String>,
    /// By [`Members::key`]; an empty text if it runs.
    tried: BTreeMap<String, String>,
    /// Members that ran, but for which a round then measured no effect.
    unmeasured: BTreeMap<usize, String>,
    /// Those of them that this process has reached: until then a resumed study must ask what it asked the first time.
    skipped: BTreeSet<usize>,
    asked: Option<(usize, usize)>,
    answer: Option<BisectAnswer>,
    /// The results of the rounds: control, candidate, effects.
    told: Vec<(usize, usize, ArmEffects)>,
    rules: BisectRules,
    seen: Bisected,
}

impl BisectStudy {
    pub(super) fn new(
        plan: Plan,
        members: Members,
        rules: BisectRules,
        metric: Option<String>,
        (dir, resume): (&Path, bool),
    ) -> Result<Self> {
        if plan.workloads.len() != 1 || plan.workloads[0].sweep.is_some() {
            usage!("bisect needs a plan with exactly one workload and no sweep");
        }
        metric.as_deref().map_or(Ok(()), |metric| has_metric(&plan, metric))?;
        let file = dir.join(TRIED);
        let tried = match std::fs::read(&file) {
            Ok(bytes) if resume => serde_json::from_slice(&bytes).with_context(|| {
                format!("{} is damaged: delete it, and its members are tried again", file.display())
            })?,
            Err(error) if resume && error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("{} cannot be read", file.display()));
            }
            _ => BTreeMap::new(),
        };
        let bisection = Bisection::new(members.last(), rules);
        let names = members.names().to_vec();
        let seen = Bisected { names, error: rules.alpha, unit_name: "blocks".into(), ..Bisected::default() };
        let dir = dir.to_owned();
        Ok(Self {
            plan,
            members,
            bisection,
            dir,
            metric,
            tried,
            unmeasured: BTreeMap::new(),
            skipped: BTreeSet::new(),
            asked: None,
            answer: None,
            told: Vec::new(),
            rules,
            seen,
        })
    }

    pub(super) fn members(&self) -> &Members {
        &self.members
    }

    /// About how many members a bisection of this length tries: the ends, and one for each halving.
    pub(super) fn expected(&self) -> usize {
        let halvings = (self.members.last() as f64).log2().ceil() as usize;
        (2 + halvings).min(self.members.names().len())
    }

    /// The plan of a comparison, as the round after those already done.
    fn comparison(&self, [control, candidate]: [usize; 2], blocks: usize) -> Result<Plan> {
        let common = self.plan.arms.first().context("the plan has no arms")?;
        let arms = [control, candidate].map(|member| self.members.arm(member, common));
        let arms = arms.into_iter().collect::<Result<_>>()?;
        let (number, blocks) = (self.seen.rounds + 1, u32::try_from(blocks).context("too many blocks")?);
        // A resumed study must make the same random choices.
        let seed = self.plan.seed.unwrap_or(FIRST_SEED).wrapping_add(u64::from(number));
        let mut plan = self.plan.round(number, arms, blocks, seed);
        // Requirements on an arm with a certain name do not apply here.
        plan.require.retain(|requirement| requirement.arm.is_none());
        Ok(Plan::parse(&plan.to_toml())?)
    }

    /// The plan of the first round, for `--dry-run`.
    pub(super) fn first_plan(&self) -> Result<Plan> {
        self.comparison([0, self.members.last()], schedlab_plan::MIN_UNITS)
    }

    /// The same, after checking that both ends run.
    pub(super) fn with_ends_tried(&mut self) -> Result<Plan> {
        for end in [0, self.members.last()] {
            self.can_be_tried(end)?;
        }
        self.first_plan()
    }

    /// A plan for the two members around the change, with enough blocks to show it again.
    pub(super) fn between(&self, last_good: usize, first_bad: usize) -> Result<Plan> {
        const MORE: usize = 24;
        self.comparison([last_good, first_bad], MORE)
    }

    /// Whether a member can be run, which is found out once: it is built, and a kernel must boot and accept the plan.
    fn can_be_tried(&mut self, member: usize) -> Result<bool> {
        let key = self.members.key(member);
        if let Some(why) = self.tried.get(&key) {
            return Ok(why.is_empty());
        }
        // --resume, which continues an interrupted build, needs a study that has begun.
        let begun = self.dir.join(ROUNDS);
        std::fs::create_dir_all(&begun).with_context(|| format!("{} cannot be made", begun.display()))?;
        let why = match self.members.make(member, &self.dir)? {
            Err(why) => why,
            Ok(()) if self.members.are_kernels() => match self.boots(member) {
                Err(error) if trial_host::is_of_machine(&error) && Interrupt::seen().is_none() => return Err(error),
                booted => booted.err().map(|error| format!("{error:#}")).unwrap_or_default(),
            },
            Ok(()) => String::new(),
        };
        // An interrupted build or boot says nothing about the member.
        if !why.is_empty() && Interrupt::seen().is_some() {
            bail!("interrupted; to continue: {}", run::resumed(&self.dir, std::env::args()));
        }
        let why = if why.is_empty() { why } else { self.refused(member, &why)? };
        let runs = why.is_empty();
        self.tried.insert(key, why);
        let text = schedlab_plan::json::pretty(&self.tried)?;
        crate::output::write_file(&self.dir.join(TRIED), |out| out.write_all(text.as_bytes()))?;
        Ok(runs)
    }

    fn boots(&self, member: usize) -> Result<()> {
        // One guest is tried for two equal arms.
        let arm = self.members.arm(member, self.plan.arms.first().context("the plan has no arms")?)?;
        let again = Arm { name: format!("{} again", arm.name), ..arm.clone() };
        let plan = Plan { arms: vec![arm, again], require: Vec::new(), ..self.plan.clone() };
        trial_host::of(&plan)?.prepare(&plan).map(drop)
    }

    /// Reports why a member is skipped; if it is an end, the study ends.
    fn refused(&self, member: usize, why: &str) -> Result<String> {
        let why = why.lines().next().unwrap_or_default();
        let name = &self.members.names()[member];
        if member == 0 || member == self.members.last() {
            bail!("{name}, an end of the history, does not run: {why}; choose another end");
        }
        say(format_args!("schedlab: {member} `{name}` is skipped: {why}"));
        Ok(why.to_owned())
    }

    fn skip(&mut self, member: usize) {
        self.skipped.insert(member);
        self.bisection.skip(member);
    }

    /// Feeds all rounds to a new state machine, because one of them may have changed the scale of the earlier ones.
    fn tell_all(&mut self) {
        self.bisection = Bisection::new(self.members.last(), self.rules);
        self.skipped.iter().for_each(|member| self.bisection.skip(*member));
        for (control, candidate, effects) in &self.told {
            let gains = if self.seen.is_relative { relative(effects) } else { effects.gains().collect() };
            self.bisection.tell(*control, *candidate, &gains);
        }
    }

    pub(super) fn findings(&self) -> BisectFindings {
        let mut seen = self.seen.clone();
        let why = |member: usize| self.tried.get(&self.members.key(member)).filter(|why| !why.is_empty());
        let tried = (0..=self.members.last()).filter_map(|member| Some((member, why(member)?.clone())));
        seen.skipped = tried.chain(self.unmeasured.clone()).collect();
        bisect_findings(&self.bisection, self.answer.as_ref(), &seen)
    }

    /// The effects on the followed metric.
    fn followed(&self, effects: Vec<ArmEffects>) -> Result<ArmEffects> {
        let names: Vec<String> = effects.iter().map(|effect| effect.metric.clone()).collect();
        let wanted = |effect: &ArmEffects| self.metric.as_ref().is_none_or(|name| effect.metric == *name);
        effects.into_iter().find(wanted).ok_or_else(|| {
            let metric = self.metric.as_deref().unwrap_or_default();
            anyhow!("`{metric}` is not a primary metric of the plan; it has {}", names.join(", "))
        })
    }
}

/// Refuses a metric that no round would have.
fn has_metric(plan: &Plan, metric: &str) -> Result<()> {
    let spec = &plan.workloads[0].run;
    let settings = plan.arms.first().map(|arm| arm.settings.as_slice()).unwrap_or_default();
    let primary = schedlab_bench::parse(&spec.with_options(settings))?.primary();
    if !primary.iter().any(|name| name == metric) {
        let hint = schedlab_plan::nearest::hint(metric, primary.iter().map(String::as_str));
        usage!("--metric {metric}: it is not a primary metric of {}{hint}; it has {}", spec.name, primary.join(", "));
    }
    Ok(())
}

impl Study for BisectStudy {
    fn ask(&mut self) -> Result<Option<Plan>> {
        loop {
            let (control, candidate, units) = match self.bisection.next() {
                BisectStep::Compare { control, candidate, units } => (control, candidate, units),
                BisectStep::Ended(answer) => {
                    self.answer = Some(answer);
                    return Ok(None);
                }
            };
            if !self.can_be_tried(control)? {
                bail!("an end of the history cannot be run");
            }
            if !self.can_be_tried(candidate)? {
                self.skip(candidate);
                continue;
            }
            self.asked = Some((control, candidate));
            return self.comparison([control, candidate], units).map(Some);
        }
    }

    fn tell(&mut self, round: &Round) -> Result<()> {
        let (control, candidate) = self.asked.take().context("a round that was not asked for")?;
        let effects = arm_effects(&round.manifest, &round.trials, 0).map_err(|why| anyhow!("{why}"))?;
        let of_candidate = self.followed(effects)?;
        self.seen.rounds = round.number;
        self.seen.trials += round.trials.len();
        self.seen.metric = (of_candidate.metric.clone(), of_candidate.unit.clone());
        self.seen.is_relative |= of_candidate.scale == Scale::Difference;
        self.seen.lower_is_better = of_candidate.direction == Direction::LowerIsBetter;
        self.seen.unit_name = of_candidate.unit_name.to_owned();
        // Found out again when the round is replayed, and not earlier.
        if let Some(Lacking { arm, why }) = &of_candidate.lacking {
            let member = if *arm == 0 { control } else { candidate };
            let why = self.refused(member, why)?;
            self.unmeasured.insert(member, why);
            self.skip(member);
            return Ok(());
        }
        self.told.push((control, candidate, of_candidate));
        self.tell_all();
        // As long as only the ends were compared, all members are equally probable.
        let ends = (0, self.members.last());
        if let Some(most) = self.bisection.best()
            && self.told.iter().any(|(control, candidate, _)| (*control, *candidate) != ends)
        {
            let name = &self.members.names()[most.first];
            let percent = (100.0 * most.probability).min(99.0);
            say(format_args!("schedlab: most probable so far: {} `{name}`, {percent:.0} %", most.first));
        }
        Ok(())
    }
}
