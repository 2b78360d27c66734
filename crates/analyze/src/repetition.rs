//! Whether a run here reproduces the effects of a pack: each effect is compared by [`schedlab_stats::replication`], and
//! all of them give one answer. If something prevents an answer, the reason is given.

use crate::environment::changes;
use crate::findings::{Change, Contrast, Effect, Findings, MetricFindings, Scale, Verdict};
use crate::pack::{control_mean, packed_machine};
use schedlab_plan::pack::{ExpectedEffect, ExpectedScale, Pack, PackedMachine, Said};
use schedlab_plan::{Check, CheckState, Direction, Environment, Manifest, counted};
use schedlab_stats::{Interval, Known, ReplicationOutcome, equivalence_again, replication};
use serde::Serialize;

/// The share of an effect's size that must be reproduced: reported effects were selected for being large.
pub const KEPT: f64 = 0.5;

/// The result of repeating a pack; the JSON of `schedlab repeat --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Repetition {
    /// The pack's title.
    pub title: String,
    /// The answer for all effects together.
    pub answer: Answer,
    /// Whether the machine changed under the run here.
    pub is_void: bool,
    /// Why, in a sentence part.
    pub because: String,
    /// Each effect that the pack holds.
    pub effects: Vec<RepeatedEffect>,
    /// Differences between this machine and the pack's.
    pub differences: Vec<Change>,
}

/// The three answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Every effect is found again.
    Reproduced,
    /// One at least is not.
    Contradicted,
    /// This machine or this run cannot decide.
    CannotTell,
}

impl Answer {
    /// The answer in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Contradicted => "contradicted",
            Self::CannotTell => "cannot tell here",
        }
    }
}

/// An effect there and here.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RepeatedEffect {
    /// The workload, spelled out.
    pub workload: String,
    /// The arm's name.
    pub arm: String,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The pack's verdict; one that was open is not tested.
    pub said: Said,
    /// The effect there.
    pub there: Effect,
    /// Units behind it.
    pub units_there: u32,
    /// The effect here.
    pub here: Option<Effect>,
    /// Units behind it.
    pub units_here: usize,
    /// What a unit is here.
    pub unit_name: String,
    /// The answer; `None` if there was no question.
    pub answer: Option<Answer>,
    /// Why it cannot be decided.
    pub because: Option<String>,
    /// Total number of units that would decide with a power of 80 %.
    pub units_needed: Option<u64>,
}

impl Repetition {
    /// For a pack that cannot be run here: `why` is part of a sentence.
    pub fn not_here(pack: &Pack, why: &str) -> Self {
        Self {
            title: pack.title.clone(),
            answer: Answer::CannotTell,
            is_void: false,
            because: why.to_owned(),
            effects: Vec::new(),
            differences: Vec::new(),
        }
    }
}

/// Compares a pack with the run that repeats it.
pub fn repetition(pack: &Pack, manifest: &Manifest, here: &Findings) -> Repetition {
    let asked = pack.effects.iter().filter(|effect| effect.said != Said::Open).count();
    // The error rate is divided among the questions.
    let alpha = manifest.alpha / asked.max(1) as f64;
    let effects: Vec<RepeatedEffect> =
        pack.effects.iter().map(|effect| repeated(pack, effect, here, (manifest.sesoi, alpha))).collect();
    let machine = packed_machine(&manifest.environment);
    let (answer, because) = match &here.void {
        Some(why) => (Answer::CannotTell, format!("the run here is void: {why}")),
        None => together(pack, &machine, &effects),
    };
    let differences = changes(&environment_of(&pack.machine), &environment_of(&machine));
    Repetition { title: pack.title.clone(), answer, is_void: here.void.is_some(), because, effects, differences }
}

fn together(pack: &Pack, machine: &PackedMachine, effects: &[RepeatedEffect]) -> (Answer, String) {
    let of = |answer| effects.iter().filter(|effect| effect.answer == Some(answer)).collect::<Vec<_>>();
    let (again, against, open) = (of(Answer::Reproduced), of(Answer::Contradicted), of(Answer::CannotTell));
    let all = counted(again.len() + against.len() + open.len(), "effects");
    if let Some(first) = against.first() {
        let what = format!("{} on {} (`{}`)", first.metric, first.workload, first.arm);
        let of_all = format!("{} of {all}, {what}", against.len());
        // The effect may need the CPUs that are missing here.
        if machine.cpus < pack.machine.cpus {
            let (here, there) = (counted(machine.cpus, "CPUs"), pack.machine.cpus);
            return (
                Answer::CannotTell,
                format!("not found: {of_all}; but there are {here} here and there were {there}, which it may need"),
            );
        }
        return (Answer::Contradicted, format!("not found again: {of_all}"));
    }
    match open.first() {
        Some(first) => (Answer::CannotTell, first.because.clone().unwrap_or_default()),
        // `pack` refuses a run in which nothing was decided, so this pack was not made by it.
        None if again.is_empty() => (Answer::CannotTell, "no effect in the pack has a verdict".into()),
        None => (Answer::Reproduced, format!("found again: {all}")),
    }
}

fn repeated(pack: &Pack, expected: &ExpectedEffect, here: &Findings, rule: (f64, f64)) -> RepeatedEffect {
    let spec = pack.workloads[expected.workload as usize].to_string();
    let arm = here.arms.get(expected.arm as usize).map_or_else(|| expected.arm.to_string(), |arm| arm.name.clone());
    let there = Effect {
        scale: if expected.scale == ExpectedScale::Ratio { Scale::Ratio } else { Scale::Difference },
        value: expected.value,
        lo: expected.lo,
        hi: expected.hi,
        level: expected.level,
    };
    let of_workload = here.workloads.iter().find(|workload| workload.spec == spec);
    let metric = of_workload.and_then(|workload| workload.metrics.iter().find(|metric| metric.name == expected.metric));
    let found = metric.and_then(|metric| {
        let contrast = metric.contrasts.iter().find(|contrast| contrast.arm == expected.arm)?;
        Some((contrast, control_mean(metric, contrast.control)))
    });
    let contrast = found.map(|(contrast, _)| contrast);
    let is_another = metric.filter(|metric| (&metric.unit, metric.direction) != (&expected.unit, expected.direction));
    let mut effect = RepeatedEffect {
        workload: spec,
        arm,
        metric: expected.metric.clone(),
        unit: expected.unit.clone(),
        said: expected.said,
        there,
        units_there: expected.units,
        here: contrast.and_then(|contrast| contrast.effect),
        units_here: contrast.map_or(0, |contrast| contrast.units),
        unit_name: contrast.map_or_else(|| expected.unit_name.clone(), |contrast| contrast.unit_name.clone()),
        answer: None,
        because: None,
        units_needed: None,
    };
    if expected.said != Said::Open {
        let judged =
            is_another.map_or_else(|| judged(expected, &there, found, rule), |metric| Err(another(expected, metric)));
        match judged {
            Ok((again, units)) => {
                effect.units_needed = units.map(|units| units.ceil() as u64);
                effect.because = (again == ReplicationOutcome::Open).then(|| too_noisy(&effect));
                effect.answer = Some(match again {
                    ReplicationOutcome::Reproduced => Answer::Reproduced,
                    ReplicationOutcome::Contradicted => Answer::Contradicted,
                    ReplicationOutcome::Open => Answer::CannotTell,
                });
            }
            Err(why) => (effect.answer, effect.because) = (Some(Answer::CannotTell), Some(why)),
        }
    }
    effect
}

/// How a metric of that name differs from what the pack says of it.
fn another(expected: &ExpectedEffect, here: &MetricFindings) -> String {
    let said = |direction: Direction, unit: &str| match direction {
        Direction::HigherIsBetter => format!("{unit}, higher is better"),
        Direction::LowerIsBetter => format!("{unit}, lower is better"),
        Direction::Neutral => format!("{unit}, neither way better"),
    };
    format!(
        "{} is another metric here ({}) than the pack says ({}): ask its maker for a pack of the same version",
        expected.metric,
        said(here.direction, &here.unit),
        said(expected.direction, &expected.unit)
    )
}

/// The answer of the rule, and the number of units that would decide; an error if there is nothing to compare.
fn judged(
    expected: &ExpectedEffect,
    there: &Effect,
    found: Option<(&Contrast, f64)>,
    (sesoi, alpha): (f64, f64),
) -> Result<(ReplicationOutcome, Option<f64>), String> {
    let (contrast, control_here) = found.ok_or_else(|| format!("the run here has no {}", expected.metric))?;
    if let Verdict::NoVerdict { reason, .. } = &contrast.verdict {
        return Err(reason.clone());
    }
    let effect = contrast.effect.ok_or_else(|| format!("{} has no numbers here", expected.metric))?;
    // A trial in which no operation completed has no logarithm; then both effects become relative differences.
    let is_mixed = effect.scale != there.scale;
    let scaled = |effect: &Effect, control: f64| if is_mixed { relative(effect, control) } else { Some(*effect) };
    let no_error = || format!("{} has no error that could be compared", expected.metric);
    let here = scaled(&effect, control_here).and_then(|effect| known(&effect, contrast.units)).ok_or_else(no_error)?;
    if expected.said == Said::Equivalent {
        return Ok((equivalence_again(&here, (1.0 + sesoi).ln(), alpha), None));
    }
    let there = scaled(there, expected.control_mean).and_then(|effect| known(&effect, expected.units as usize));
    let there = there.ok_or_else(no_error)?;
    let replication = replication(&there, &here, KEPT, alpha).ok_or_else(no_error)?;
    Ok((replication.again, replication.units))
}

/// As a difference relative to the control.
fn relative(effect: &Effect, control_mean: f64) -> Option<Effect> {
    let shown = |x: f64| if effect.scale == Scale::Ratio { x - 1.0 } else { x / control_mean };
    let is_possible = effect.scale == Scale::Ratio || control_mean > 0.0;
    let (value, lo, hi) = (shown(effect.value), shown(effect.lo), shown(effect.hi));
    is_possible.then_some(Effect { scale: Scale::Difference, value, lo, hi, level: effect.level })
}

/// The effect on the scale on which it was estimated.
fn known(effect: &Effect, units: usize) -> Option<Known> {
    let scaled = |x: f64| if effect.scale == Scale::Ratio { x.ln() } else { x };
    let interval = Interval { lo: scaled(effect.lo), hi: scaled(effect.hi), level: effect.level };
    Known::new(scaled(effect.value), interval, units)
}

fn too_noisy(effect: &RepeatedEffect) -> String {
    let (units, what) = (effect.units_here, &effect.unit_name);
    match (effect.units_needed, effect.said) {
        // The effect here is smaller than it was there, or these units have little spread by chance.
        (Some(needed), _) if needed <= units as u64 => {
            format!(
                "{units} {what} neither confirm it nor rule out half of it: run twice as many (--trials {})",
                2 * units
            )
        }
        (Some(needed), _) => {
            format!(
                "too noisy here for {units} {what}: about {needed} would suffice if the effect is as large as it was (--trials)"
            )
        }
        (None, Said::Differs) => {
            format!(
                "too noisy, there as well as here: the pack's own interval is so wide that no number of {what} here can decide"
            )
        }
        (None, _) => format!("too noisy here for {units} {what} to show that nothing is there (--trials N takes more)"),
    }
}

/// As an environment, so that one rule decides what counts as a change.
fn environment_of(machine: &PackedMachine) -> Environment {
    let check = |(id, value): (&String, &String)| Check {
        id: id.clone(),
        title: id.clone(),
        state: CheckState::Info,
        value: value.clone(),
        effect: String::new(),
        evidence: String::new(),
        fix: String::new(),
    };
    Environment {
        kernel_release: machine.kernel_release.clone(),
        kernel_version: machine.kernel_version.clone(),
        machine: machine.machine.clone(),
        cpu_model: machine.cpu_model.clone(),
        allowed_cpus: machine.cpus.to_string(),
        program_crc32: machine.program_crc32.clone(),
        knobs: machine.knobs.clone(),
        checks: machine.conditions.iter().map(check).collect(),
        ..Environment::default()
    }
}
