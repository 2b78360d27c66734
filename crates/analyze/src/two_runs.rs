//! Comparison of two run directories: two kernels, two days, two machines. Their trials were never interleaved, so the
//! unit is the boot, and most pairs of runs get a description instead of a verdict.

use crate::arms::values_of;
use crate::claim;
use crate::compare::{machine_unknown, rules, void_reason};
use crate::confounded::{between_runs, unit_means};
use crate::contrasts::{UnitKind, Units};
use crate::environment::{changes, environment};
use crate::estimate::{effect, estimate, finite};
use crate::facts::{drop_still, facts_of, netns_counters};
use crate::findings::*;
use crate::hygiene::uneven;
use crate::metric::MetricKey;
use crate::noise::noise;
use crate::per_operation::{CountOfTrial, not_per_operation, of_machine};
use crate::rule::Rule;
use crate::verdict::{correct, judge, withheld};
use crate::workload::{Workload, empty_contrast, note_of};
use schedlab_plan::{Manifest, TrialRecord, WorkloadSpec, lane};

/// Compares each arm of run B with the arm of the same name in run A. Arms without a partner are named in `problems`,
/// and if no name is shared, the two controls are compared. The findings list the arms alternately: A's, B's, A's, B's.
pub fn compare_runs(a: &(Manifest, Vec<TrialRecord>), b: &(Manifest, Vec<TrialRecord>)) -> Findings {
    let (manifest, other) = (&a.0, &b.0);
    let mut problems = Vec::new();
    let pairs = arm_pairs(manifest, other, &mut problems);
    let refused = refusal(manifest, other);
    let void = void_reason(manifest, &a.1).or_else(|| machine_unknown(manifest)).map(|why| format!("run A: {why}"));
    let void =
        void.or_else(|| void_reason(other, &b.1).or_else(|| machine_unknown(other)).map(|why| format!("run B: {why}")));
    let mut workloads: Vec<WorkloadFindings> = Vec::new();
    let mut parts: Vec<Pair<'_>> = Vec::new();
    if refused.is_none() {
        for (index_a, index_b) in workload_pairs(manifest, other, &mut problems) {
            let part_a = Workload::new(manifest, &a.1, index_a, void.clone());
            let part_b = Workload::new(other, &b.1, index_b, void.clone());
            parts.push(Pair { a: part_a, b: part_b, arms: &pairs, void: void.as_deref() });
        }
        workloads.extend(parts.iter().map(Pair::findings));
        correct(&mut workloads, manifest.sesoi, manifest.alpha);
        parts.iter().zip(&mut workloads).for_each(|(part, found)| part.state_noise(found));
    }
    let name = |side: &str, m: &Manifest, i: u32| ArmInfo {
        name: format!("{side}: {}", m.arms[i as usize].name),
        spec: m.arms[i as usize].spec(),
        is_aa: false,
    };
    let arms = pairs.iter().flat_map(|&(i, j)| [name("A", manifest, i), name("B", other, j)]).collect();
    let mut environment = environment(manifest);
    environment.changes = changes(&manifest.environment, &other.environment);
    environment.warnings.extend(other.warnings.iter().map(|w| format!("run B: {w}")));
    let one_lane = lane::differ(&manifest.environment, &other.environment).is_none();
    let mut of_run = |text: String| problems.push(Problem::of_run(text, ""));
    lane::caveat(&manifest.environment).filter(|_| one_lane).into_iter().for_each(&mut of_run);
    refused.iter().for_each(|why| of_run(format!("The runs are not compared: {why}")));
    void.iter().for_each(|why| of_run(format!("Nothing is judged: {why}")));
    let confounded = workloads.iter().find_map(|w| w.confounded.as_ref());
    confounded.iter().for_each(|c| of_run(c.sentence.clone()));
    let mut findings = Findings {
        title: format!("{} against {}", other.title, manifest.title),
        command: manifest.command.clone(),
        void: void.or_else(|| refused.clone()),
        source: Source::TwoRuns { a: manifest.title.clone(), b: other.title.clone(), refused },
        claims: Vec::new(),
        ended: other.ended.clone(),
        arms,
        factors: Vec::new(),
        workloads,
        tradeoff: None,
        scalings: Vec::new(),
        rules: two_run_rules(manifest),
        environment,
        problems,
    };
    findings.claims = claim::claims(&findings);
    findings
}

fn two_run_rules(manifest: &Manifest) -> Rules {
    let methods = vec![
        "The trials of the two runs were not interleaved. The unit is the boot: Welch's t on the means of the boots, and only \
         with five boots or more a side."
            .to_owned(),
        "With fewer boots, or on two machines, ratio and interval describe these boots and prove nothing beyond them.".to_owned(),
    ];
    Rules { design: "two runs, not interleaved".to_owned(), methods, ..rules(manifest) }
}

/// Why two runs cannot be compared at all.
fn refusal(a: &Manifest, b: &Manifest) -> Option<String> {
    if let Some(why) = lane::differ(&a.environment, &b.environment) {
        return Some(why);
    }
    if a.stamping != b.stamping {
        return Some(format!("stamping levels differ ({:?}, {:?}), and stamps cost time", a.stamping, b.stamping));
    }
    if let Some(why) = lane::worthless(&a.environment).or_else(|| lane::worthless(&b.environment)) {
        return Some(why);
    }
    if a.switchback_window_ns.is_some() || b.switchback_window_ns.is_some() {
        return Some("a switchback trial holds both arms of its own run; compare runs made in blocks".into());
    }
    let load_of = |run: &Manifest, workload: &WorkloadSpec| -> Vec<WorkloadSpec> {
        let at = run.workloads.iter().position(|other| other == workload);
        at.and_then(|at| run.load.get(at).cloned()).unwrap_or_default()
    };
    let mut of_both = a.workloads.iter().filter(|workload| b.workloads.contains(workload));
    if a.load_group != b.load_group || of_both.any(|workload| load_of(a, workload) != load_of(b, workload)) {
        return Some("the background loads, or the groups they run in, differ".into());
    }
    if a.counters != b.counters {
        return Some(format!("counter levels differ ({:?}, {:?}), and counting costs time", a.counters, b.counters));
    }
    let base = |id: &str| id.split('/').next().unwrap_or_default().to_owned();
    for id in &a.workload_ids {
        let other = b.workload_ids.iter().find(|other| base(other) == base(id));
        if let Some(other) = other.filter(|other| *other != id) {
            return Some(format!("workload versions differ ({id}, {other}), so their numbers mean different things"));
        }
    }
    if !a.workloads.iter().any(|w| b.workloads.contains(w)) {
        let pairs = a.workloads.iter().flat_map(|one| b.workloads.iter().map(move |other| (one, other)));
        let alike = pairs.into_iter().find(|(one, other)| one.name == other.name);
        let which = alike.map(|(one, other)| format!(": `{one}` is not `{other}`")).unwrap_or_default();
        return Some(format!("they have no workload in common{which}"));
    }
    None
}

fn workload_pairs(a: &Manifest, b: &Manifest, problems: &mut Vec<Problem>) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    for (i, workload) in a.workloads.iter().enumerate() {
        match b.workloads.iter().position(|w| w == workload) {
            Some(j) => pairs.push((i as u32, j as u32)),
            None => problems.push(Problem::of_run(format!("{workload} is in run A only"), "")),
        }
    }
    let only_b = b.workloads.iter().filter(|w| !a.workloads.contains(w));
    problems.extend(only_b.map(|w| Problem::of_run(format!("{w} is in run B only"), "")));
    pairs
}

fn arm_pairs(a: &Manifest, b: &Manifest, problems: &mut Vec<Problem>) -> Vec<(u32, u32)> {
    let partner = |name: &str| b.arms.iter().position(|arm| arm.name == name);
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    for (i, arm) in a.arms.iter().enumerate() {
        match partner(&arm.name) {
            Some(j) => {
                if arm.settings != b.arms[j].settings {
                    let (of_a, of_b) = (arm.spec(), b.arms[j].spec());
                    let text = format!("`{}` is `{of_a}` in run A and `{of_b}` in run B", arm.name);
                    problems.push(Problem::of_run(text, "give both runs the same settings"));
                }
                pairs.push((i as u32, j as u32));
            }
            None => problems.push(Problem::of_run(format!("The arm `{}` is in run A only", arm.name), "")),
        }
    }
    if pairs.is_empty() && !a.arms.is_empty() && !b.arms.is_empty() {
        pairs.push((0, 0));
        problems
            .push(Problem::of_run("The runs share no arm name, so their first arms are compared", "name them alike"));
    }
    pairs
}

/// One workload in both runs.
struct Pair<'t> {
    a: Workload<'t>,
    b: Workload<'t>,
    arms: &'t [(u32, u32)],
    void: Option<&'t str>,
}

impl Pair<'_> {
    fn findings(&self) -> WorkloadFindings {
        let mut found = self.a.findings();
        let other = self.b.findings();
        let shared = |key: &&MetricKey| {
            self.b.keys.iter().any(|k| (&k.name, &k.unit, k.direction) == (&key.name, &key.unit, key.direction))
        };
        found.metrics = self.a.keys.iter().filter(shared).map(|key| self.metric(key)).collect();
        found.curves.clear();
        found.best = None;
        found.statements.clear();
        found.main_effects = Vec::new();
        found.arms = self.facts();
        found.confounded = self.arms.iter().find_map(|&(i, j)| self.confounded(i, j));
        found.operation = if found.operation.is_empty() { other.operation } else { found.operation };
        found.dispersion.clear();
        found.modes.clear();
        found.tier_splits.clear();
        found.variance = None;
        let marked = self.arms.iter().flat_map(|&(i, j)| [self.a.marked_trials(i), self.b.marked_trials(j)]);
        found.contamination.per_arm = marked.collect();
        found.contamination.sentence = sides(&found.contamination.sentence, &other.contamination.sentence);
        found.warm_up.sentence = sides(&found.warm_up.sentence, &other.warm_up.sentence);
        let (x, y) = (found.counts, other.counts);
        found.counts = TrialCounts {
            total: x.total + y.total,
            used: x.used + y.used,
            warm_up: x.warm_up + y.warm_up,
            failed: x.failed + y.failed,
            not_applied: x.not_applied + y.not_applied,
            contaminated: x.contaminated + y.contaminated,
            incomplete: x.incomplete + y.incomplete,
        };
        found
    }

    fn facts(&self) -> Vec<ArmFacts> {
        let numbered = |facts: ArmFacts, arm: usize| ArmFacts { arm: arm as u32, ..facts };
        let (a, b) = (&self.a.selection, &self.b.selection);
        let netns = netns_counters([a, b]);
        let both = self.arms.iter().enumerate().flat_map(|(n, &(i, j))| {
            [numbered(facts_of(a, i, &netns), 2 * n), numbered(facts_of(b, j, &netns), 2 * n + 1)]
        });
        let mut all: Vec<ArmFacts> = both.collect();
        drop_still(&mut all, &netns);
        all
    }

    fn confounded(&self, i: u32, j: u32) -> Option<Confounded> {
        let rows_a: Vec<&TrialRecord> = self.a.selection.used(Some(i)).collect();
        let rows_b: Vec<&TrialRecord> = self.b.selection.used(Some(j)).collect();
        between_runs((self.a.manifest, &rows_a), (self.b.manifest, &rows_b))
    }

    fn uneven(&self, i: u32, j: u32) -> Option<Verdict> {
        let name = |side: &str, part: &Workload<'_>, arm: u32| format!("{side}: {}", part.arm_name(arm));
        let (name_a, name_b) = (name("A", &self.a, i), name("B", &self.b, j));
        uneven(&self.b.side(&[j], &name_b), &self.a.side(&[i], &name_a))
    }

    fn metric(&self, key: &MetricKey) -> MetricFindings {
        let mut values = Vec::new();
        let mut contrasts = Vec::new();
        for (n, &(i, j)) in self.arms.iter().enumerate() {
            let (control, arm) = (2 * n as u32, 2 * n as u32 + 1);
            values.push(ArmValues { arm: control, ..values_of(&self.a.selection, key, i) });
            values.push(ArmValues { arm, ..values_of(&self.b.selection, key, j) });
            contrasts.push(self.contrast(key, (i, j), (control, arm)));
        }
        let (name, unit) = (key.name.clone(), key.unit.clone());
        let note = contrasts.iter().find_map(note_of);
        MetricFindings { name, unit, direction: key.direction, role: key.role, values, contrasts, note }
    }

    fn not_per_operation(&self, key: &MetricKey, contrast: &Contrast, (i, j): (u32, u32)) -> Option<Verdict> {
        let of_arm = |side: &Workload<'_>, arm| {
            CountOfTrial::of(key, side.selection.used(Some(arm)).filter_map(|r| r.outcome.as_ref()))
        };
        let sides = [of_arm(&self.a, i), of_arm(&self.b, j)];
        not_per_operation(contrast, key, [&sides[0], &sides[1]], |per_trial| {
            let (a, b) = (rows(&self.a, per_trial, i).ok()?, rows(&self.b, per_trial, j).ok()?);
            let units = units_of(&a, &b, true);
            let manifest = self.a.manifest;
            let named = estimate(&units, &Rule::Imported, manifest.alpha)?;
            Some(judge(&units, &named.estimate, key.direction, manifest.sesoi))
        })
    }

    /// Adds what the primary verdicts over boots imply about the noise.
    fn state_noise(&self, found: &mut WorkloadFindings) {
        for metric in found.metrics.iter_mut().filter(|metric| metric.role == Role::Primary) {
            let Some(key) = self.a.keys.iter().find(|key| key.name == metric.name) else { continue };
            for (contrast, &(i, j)) in metric.contrasts.iter_mut().zip(self.arms) {
                let (Ok(a), Ok(b)) = (rows(&self.a, key, i), rows(&self.b, key, j)) else { continue };
                contrast.noise = noise(contrast, &units_of(&a, &b, true), &Rule::Imported, &key.unit);
            }
        }
    }

    fn contrast(&self, key: &MetricKey, (i, j): (u32, u32), (control, arm): (u32, u32)) -> Contrast {
        let mut contrast = empty_contrast(arm, control, false);
        let confounded = self.confounded(i, j);
        let (a, b) = match (rows(&self.a, key, i), rows(&self.b, key, j)) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(why), _) | (_, Err(why)) => {
                contrast.verdict = withheld(Withheld::NoNumbers, why);
                return contrast;
            }
        };
        let by_boot = confounded.is_none();
        let units = units_of(&a, &b, by_boot);
        contrast.units = units.count();
        contrast.unit_name = if by_boot { "boots" } else { "blocks" }.to_owned();
        let manifest = self.a.manifest;
        if let Some(named) = estimate(&units, &Rule::Imported, manifest.alpha) {
            contrast.effect = effect(units.scale, named.estimate.mean, named.estimate.interval);
            contrast.verdict = judge(&units, &named.estimate, key.direction, manifest.sesoi);
            contrast.estimator = match by_boot {
                true => "Welch's t on boot means".to_owned(),
                false => "Welch's t on block means, within these boots: descriptive".to_owned(),
            };
            if by_boot {
                contrast.p = finite(named.estimate.p_value);
            }
        }
        let of_machine = of_machine(&contrast, key);
        if let Some(why) = of_machine.or_else(|| self.not_per_operation(key, &contrast, (i, j))) {
            contrast.verdict = why;
        }
        let not_applied = |side: &Workload<'_>, arm: u32| side.selection.not_applied.get(&arm).cloned();
        if let Some(uneven) = self.uneven(i, j) {
            contrast.verdict = uneven;
        }
        if let Some(why) = confounded.map(|c| c.sentence) {
            contrast.verdict = withheld(Withheld::Confounded, why);
        }
        if let Some(why) = not_applied(&self.a, i).or_else(|| not_applied(&self.b, j)) {
            contrast.verdict = withheld(Withheld::NotApplied, format!("not applied: {why}"));
        }
        if let Some(why) = self.void {
            contrast.verdict = withheld(Withheld::Void, format!("void: {why}"));
        }
        contrast
    }
}

/// The means of boots; if there are too few boots for a verdict, the means of blocks.
fn units_of(a: &[Valued], b: &[Valued], by_boot: bool) -> Units {
    let positive = a.iter().chain(b).all(|row| row.value > 0.0);
    let means = |rows: &[Valued]| {
        let shown = |v: f64| if positive { v.ln() } else { v };
        // If boots are confounded, the interval only shows the uncertainty within these boots.
        unit_means(rows.iter().map(|r| ((r.boot.clone(), if by_boot { 0 } else { r.block }), shown(r.value))))
    };
    let plain: Vec<f64> = a.iter().map(|r| r.value).collect();
    Units {
        kind: UnitKind::Trials,
        scale: if positive { Scale::Ratio } else { Scale::Difference },
        effects: Vec::new(),
        control: vec![means(a)],
        arm: vec![means(b)],
        control_mean: crate::contrasts::mean(&plain).unwrap_or(0.0),
    }
}

/// The notes about each side as one text.
fn sides(a: &str, b: &str) -> String {
    let said = [("A", a), ("B", b)].into_iter().filter(|(_, text)| !text.is_empty());
    said.map(|(side, text)| format!("{side}: {text}")).collect::<Vec<_>>().join(" ")
}

/// A used trial's value with its place.
struct Valued {
    boot: String,
    block: u32,
    value: f64,
}

fn rows(side: &Workload<'_>, key: &MetricKey, arm: u32) -> Result<Vec<Valued>, String> {
    let rows = side.selection.used(Some(arm)).filter_map(|r| Some((r, r.outcome.as_ref()?)));
    rows.map(|(r, o)| Ok(Valued { boot: r.boot_id.clone(), block: r.block, value: key.value(o)? })).collect()
}
