//! The analysis of one workload: row selection, metrics, shapes, splits and marks.

use crate::arms::arm_values;
use crate::contrasts::{self, UnitKind, Units, pooled_by_block, values_by_block};
use crate::estimate::{effect, estimate, finite, unit_effects, views};
use crate::factorial;
use crate::facts::arm_facts;
use crate::findings::*;
use crate::metric::{MetricKey, NoValue, metric_keys};
use crate::noise::noise;
use crate::per_operation::{CountOfTrial, not_per_operation, of_machine};
use crate::rule::Rule;
use crate::selection::{Fate, Selection};
use crate::verdict::{judge, withheld};
use crate::{shape, statements, tiers, variance};
use schedlab_plan::manifest::OrderKnown;
use schedlab_plan::{Manifest, TrialRecord, counted, noun};
use schedlab_stats::carry_over_test;

/// A carry-over with a smaller p than this prevents a switchback verdict.
const CARRY_OVER_P: f64 = 0.01;

/// Up to this many trials of a workload, the findings also contain each trial's value of the secondary metrics. With
/// thirty metrics they would be most of a long run's report.
const MAX_SHOWN: usize = 20_000;

/// One workload with the state of its rows.
pub(crate) struct Workload<'t> {
    pub(crate) manifest: &'t Manifest,
    pub(crate) selection: Selection<'t>,
    pub(crate) keys: Vec<MetricKey>,
    pub(crate) rule: Rule,
    /// Why nothing is judged.
    pub(crate) void: Option<String>,
}

impl<'t> Workload<'t> {
    pub(crate) fn new(manifest: &'t Manifest, trials: &'t [TrialRecord], workload: u32, void: Option<String>) -> Self {
        let mut selection = Selection::new(manifest, trials, workload);
        let keys = metric_keys(manifest, workload, selection.rows.iter().filter_map(|r| r.record.outcome.as_ref()));
        let rule = Rule::of(manifest, trials, workload, selection.used_blocks().len());
        // The level changes from boot to boot, so a series over several boots has steps that are not warm-up.
        let one_boot = selection.rows.windows(2).all(|pair| pair[0].record.boot_id == pair[1].record.boot_id);
        if manifest.order == OrderKnown::Randomized
            && one_boot
            && !selection.has_boots()
            && let Some(first) = keys.first()
        {
            let pooled = pooled_by_block(&selection, first);
            selection.cut_warm_up(&pooled);
        }
        Self { manifest, selection, keys, rule, void }
    }

    /// Arms other than the control.
    pub(crate) fn others(&self) -> std::ops::Range<u32> {
        1..self.manifest.arms.len().max(1) as u32
    }

    pub(crate) fn is_aa(&self, arm: u32) -> bool {
        let settings = |i: u32| self.manifest.arms.get(i as usize).map(|a| &a.settings);
        // Imported arms have no settings: equal by default, not by design.
        self.manifest.order == OrderKnown::Randomized && settings(arm) == settings(0)
    }

    /// The contrast of an arm on a metric. `thorough` adds the second opinions.
    pub(crate) fn contrast(&self, key: &MetricKey, arm: u32, thorough: bool) -> Contrast {
        let mut contrast = empty_contrast(arm, 0, self.is_aa(arm));
        let order_known = self.manifest.order == OrderKnown::Randomized;
        let units = contrasts::units(&self.selection, key, 0, arm, order_known);
        match &units {
            Ok(units) => {
                fill(&mut contrast, units, &self.rule, key, self.manifest);
                if thorough {
                    contrast.views = views(units, &self.rule, self.manifest.alpha);
                    contrast.views.extend(self.unfiltered_view(key, arm, order_known));
                    note_far_out(&mut contrast);
                }
                if units.kind == UnitKind::SwitchbackTrials {
                    self.test_carry_over(&mut contrast);
                }
                let of_machine = of_machine(&contrast, key);
                if let Some(why) = of_machine.or_else(|| self.not_per_operation(key, &contrast, order_known)) {
                    contrast.verdict = why;
                }
            }
            Err(why) => contrast.verdict = withheld(Withheld::NoNumbers, why.clone()),
        }
        if let Some(reason_withheld) = self.reason_withheld(arm) {
            contrast.verdict = reason_withheld;
        }
        contrast
    }

    fn not_per_operation(&self, key: &MetricKey, contrast: &Contrast, order_known: bool) -> Option<Verdict> {
        let of_arm = |arm| {
            let outcomes = self.selection.used(Some(arm)).filter_map(|r| r.outcome.as_ref());
            CountOfTrial::of(key, outcomes)
        };
        let sides = [of_arm(contrast.control), of_arm(contrast.arm)];
        not_per_operation(contrast, key, [&sides[0], &sides[1]], |per_trial| {
            let units =
                contrasts::units(&self.selection, per_trial, contrast.control, contrast.arm, order_known).ok()?;
            let named = estimate(&units, &self.rule, self.manifest.alpha)?;
            Some(judge(&units, &named.estimate, key.direction, self.manifest.sesoi))
        })
    }

    /// Adds what the primary verdicts imply about the noise; they must have been corrected before.
    pub(crate) fn state_noise(&self, found: &mut WorkloadFindings) {
        let order_known = self.manifest.order == OrderKnown::Randomized;
        let primaries = self.keys.iter().zip(&mut found.metrics).filter(|(key, _)| key.role == Role::Primary);
        for (key, metric) in primaries {
            for contrast in &mut metric.contrasts {
                let units = contrasts::units(&self.selection, key, contrast.control, contrast.arm, order_known);
                contrast.noise = units.ok().and_then(|units| noise(contrast, &units, &self.rule, &key.unit));
            }
        }
        for of_factor in &mut found.main_effects {
            let Some(key) = self.keys.iter().find(|key| key.name == of_factor.metric) else { continue };
            let units = factorial::units(self, key, of_factor.factor as usize);
            let contrast = &of_factor.contrast;
            of_factor.contrast.noise = units.and_then(|units| noise(contrast, &units, &self.rule, &key.unit));
        }
    }

    /// The contrast of units that are equal by design, under the run's own stopping rule.
    pub(crate) fn equal_units(&self, key: &MetricKey, units: &Units) -> Contrast {
        let mut contrast = empty_contrast(0, 0, true);
        fill(&mut contrast, units, &self.rule, key, self.manifest);
        contrast
    }

    /// The estimate that includes repeated blocks as well as their repeats, if there are any.
    fn unfiltered_view(&self, key: &MetricKey, arm: u32, order_known: bool) -> Option<View> {
        self.selection.rows.iter().find(|r| matches!(r.fate, Fate::Repeated(_)))?;
        let units = contrasts::units(&self.selection.unfiltered(), key, 0, arm, order_known).ok()?;
        let named = estimate(&units, &self.rule, self.manifest.alpha)?;
        Some(View {
            name: "unfiltered: disturbed blocks beside their repeats".into(),
            effect: effect(units.scale, named.estimate.mean, named.estimate.interval),
            p: finite(named.estimate.p_value),
            n: units.count(),
        })
    }

    fn test_carry_over(&self, contrast: &mut Contrast) {
        let units: Vec<_> = self.selection.used(None).map(contrasts::windows_of).collect();
        let Some(test) = carry_over_test(&units, 1.0 - self.manifest.alpha) else { return };
        let (percent, p) = (test.mean.exp_m1() * 100.0, test.p_value);
        contrast.notes.push(format!("Carry-over into the next window: {percent:+.2} % (p {p:.3})."));
        // A tenth of the smallest effect of interest, or of the effect if that is larger, does not change an answer.
        let size = contrast.effect.map_or(0.0, |ratio| ratio.value.ln().abs());
        let matters = test.mean.abs() > 0.1 * self.manifest.sesoi.ln_1p().max(size);
        if p < CARRY_OVER_P && matters {
            let reason = format!(
                "the arm of the window before still acts ({percent:+.2} %, p {p:.4}): lengthen the windows or use blocks"
            );
            contrast.verdict = withheld(Withheld::CarryOver, reason);
        }
    }

    /// All findings, without the correction for several questions.
    pub(crate) fn findings(&self) -> WorkloadFindings {
        let index = self.selection.workload as usize;
        let outcome = self.selection.rows.iter().find_map(|r| r.record.outcome.as_ref());
        let arms = self.manifest.arms.len() as u32;
        let first = self.keys.first();
        let order_known = self.manifest.order == OrderKnown::Randomized;
        let curves = crate::curves::curves(self);
        let dispersion = |key: &MetricKey, arm| {
            let (is_aa, alpha) = (self.is_aa(arm), self.manifest.alpha);
            let found = shape::dispersion(&self.selection, key, (0, arm), is_aa, order_known, alpha);
            Contrast { verdict: self.reason_withheld(arm).unwrap_or(found.verdict), ..found }
        };
        // A switchback trial holds both arms.
        let has_arms = self.manifest.switchback_window_ns.is_none();
        WorkloadFindings {
            workload: self.selection.workload,
            spec: self.manifest.workloads.get(index).map(ToString::to_string).unwrap_or_default(),
            id: self.manifest.workload_ids.get(index).cloned().unwrap_or_default(),
            operation: outcome.map(|o| o.operation.clone()).unwrap_or_default(),
            load: self.manifest.load.get(index).into_iter().flatten().map(ToString::to_string).collect(),
            metrics: self.keys.iter().map(|key| self.metric(key)).collect(),
            main_effects: self
                .keys
                .iter()
                .filter(|key| key.role == Role::Primary)
                .flat_map(|key| factorial::main_effects(self, key))
                .collect(),
            best: Some(&curves).filter(|curves| !curves.is_empty()).and_then(|_| statements::best(self)),
            curves,
            statements: statements::statements(self),
            arms: arm_facts(self.manifest, &self.selection),
            dispersion: first
                .filter(|_| has_arms)
                .into_iter()
                .flat_map(|k| self.others().map(move |a| (k, a)))
                .map(|(key, arm)| dispersion(key, arm))
                .collect(),
            modes: first
                .into_iter()
                .flat_map(|k| (0..arms).map(move |a| (k, a)))
                .filter_map(|(key, arm)| shape::arm_modes(&self.selection, key, arm, self.manifest.alpha))
                .collect(),
            tier_splits: self
                .others()
                .filter_map(|arm| tiers::tier_split(self.manifest, &self.selection, (0, arm)))
                .collect(),
            variance: first.and_then(|key| variance::variance_split(&self.selection, key, arms)),
            aa_comparisons: Vec::new(),
            warm_up: self.warm_up(),
            contamination: self.contamination(arms),
            confounded: self.others().find_map(|arm| self.confounded(arm)),
            counts: self.counts(),
        }
    }

    fn metric(&self, key: &MetricKey) -> MetricFindings {
        let order_known = self.manifest.order == OrderKnown::Randomized;
        let thorough = key.role == Role::Primary || !order_known;
        let contrasts: Vec<Contrast> = self.others().map(|arm| self.contrast(key, arm, thorough)).collect();
        let note = (0..self.manifest.arms.len() as u32)
            .find_map(|arm| values_by_block(&self.selection, key, arm).err())
            .filter(|why| matches!(why, NoValue::TooFew { .. }))
            .map(String::from)
            .or_else(|| contrasts.iter().find_map(note_of));
        let mut values = arm_values(self.manifest, &self.selection, key);
        if key.role == Role::Secondary && self.selection.rows.len() > MAX_SHOWN {
            values.iter_mut().for_each(|of_arm| of_arm.trials = Vec::new());
        }
        MetricFindings {
            name: key.name.clone(),
            unit: key.unit.clone(),
            direction: key.direction,
            role: key.role,
            values,
            contrasts,
            note,
        }
    }
}

/// The note for a metric whose numbers are shown and not judged.
pub(crate) fn note_of(contrast: &Contrast) -> Option<String> {
    match &contrast.verdict {
        Verdict::NoVerdict { why: Withheld::NotPerOperation | Withheld::OfMachine, reason } => Some(reason.clone()),
        _ => None,
    }
}

/// A contrast without a result.
pub(crate) fn empty_contrast(arm: u32, control: u32, is_aa: bool) -> Contrast {
    Contrast {
        arm,
        control,
        is_aa,
        effect: None,
        estimator: "none".into(),
        is_sequence: false,
        p: None,
        p_adjusted: None,
        p_needed: None,
        adjustment: String::new(),
        is_alone: false,
        verdict: withheld(Withheld::NoNumbers, "no numbers"),
        units: 0,
        unit_name: "blocks".into(),
        shares_trials: false,
        unit_effects: Vec::new(),
        more_units: None,
        noise: None,
        views: Vec::new(),
        notes: Vec::new(),
    }
}

/// Fills estimate, p and verdict into a contrast.
pub(crate) fn fill(contrast: &mut Contrast, units: &Units, rule: &Rule, key: &MetricKey, manifest: &Manifest) {
    contrast.units = units.count();
    contrast.unit_name = units.kind.name().to_owned();
    contrast.shares_trials = units.kind == UnitKind::SwitchbackTrials;
    contrast.unit_effects = unit_effects(units);
    let Some(named) = estimate(units, rule, manifest.alpha) else {
        let (n, name, least) = (units.count(), units.kind.name(), schedlab_plan::MIN_UNITS);
        contrast.verdict = match n {
            0 => withheld(Withheld::TooFewUnits, format!("no complete {name} with both arms")),
            n if n < least => {
                withheld(Withheld::TooFewUnits, format!("only {}, a verdict needs {least}", counted(n, name)))
            }
            _ if matches!(rule, Rule::Imported) => {
                let of = |side: &[Vec<f64>]| side.iter().map(Vec::len).sum::<usize>();
                let fewer = counted(of(&units.control).min(of(&units.arm)), name);
                withheld(Withheld::TooFewUnits, format!("one arm has only {fewer}: nothing is known of its spread"))
            }
            _ => withheld(Withheld::NoLook, "no look has been taken yet"),
        };
        describe(contrast, units, manifest.alpha);
        return;
    };
    contrast.effect = effect(units.scale, named.estimate.mean, named.estimate.interval);
    contrast.estimator = named.name;
    contrast.is_sequence = matches!(rule, Rule::Sequence) && units.kind != UnitKind::Trials;
    contrast.p = finite(named.estimate.p_value);
    contrast.verdict = judge(units, &named.estimate, key.direction, manifest.sesoi);
    if contrast.effect.is_none() {
        // At the first looks, a sequential plan has an interval of infinite width.
        describe(contrast, units, manifest.alpha);
        contrast
            .notes
            .push("The stopping rule gives no finite interval yet; the t interval shown is descriptive.".into());
    }
}

/// A t interval that allows no verdict.
fn describe(contrast: &mut Contrast, units: &Units, alpha: f64) {
    if let Some(e) = schedlab_stats::t_estimate(&units.values(), 1.0 - alpha) {
        contrast.effect = effect(units.scale, e.mean, e.interval);
        contrast.estimator = format!("t interval on {}, descriptive", units.kind.name());
        contrast.is_sequence = false;
    }
}

fn note_far_out(contrast: &mut Contrast) {
    let far: Vec<String> =
        contrast.unit_effects.iter().filter(|u| u.far_out).map(|u| format!("{} ({:.3})", u.unit, u.value)).collect();
    if !far.is_empty() {
        contrast.notes.push(format!(
            "Far from the rest (beyond 3.5 robust SDs), kept in the estimate: {} {}.",
            noun(far.len(), &contrast.unit_name),
            far.join(", ")
        ));
    }
}
