//! From one run directory to findings.

use crate::aa::aa_comparisons;
use crate::claim;
use crate::environment::environment;
use crate::findings::*;
use crate::metric_name::metric_name;
use crate::selection::Fate;
use crate::tradeoff::tradeoff;
use crate::verdict::correct;
use crate::workload::Workload;
use schedlab_plan::manifest::{Design, OrderKnown};
use schedlab_plan::units::format_ns;
use schedlab_plan::{Manifest, Mark, RunEnd, Stamping, TrialRecord, counted, lane};

/// Compares every arm with the control on every workload and metric. Pure: the same rows give the same findings. Rows
/// that cannot be used become `problems`, never an error.
pub fn compare(manifest: &Manifest, trials: &[TrialRecord]) -> Findings {
    let worthless = || lane::worthless(&manifest.environment);
    let void = void_reason(manifest, trials).or_else(|| machine_unknown(manifest)).or_else(worthless);
    let parts: Vec<Workload<'_>> =
        (0..manifest.workloads.len() as u32).map(|w| Workload::new(manifest, trials, w, void.clone())).collect();
    let mut workloads: Vec<WorkloadFindings> = parts.iter().map(Workload::findings).collect();
    correct(&mut workloads, manifest.sesoi, manifest.alpha);
    let arms = arm_infos(manifest);
    for (workload, part) in workloads.iter_mut().zip(&parts) {
        part.state_noise(workload);
        workload.aa_comparisons = aa_comparisons(part, workload, &arms);
    }
    let imported = manifest.order == OrderKnown::Unknown;
    let mut findings = Findings {
        title: manifest.title.clone(),
        command: manifest.command.clone(),
        source: if imported { Source::Imported } else { Source::OneRun },
        claims: Vec::new(),
        void,
        ended: manifest.ended.clone(),
        arms,
        factors: manifest.factorial.iter().flat_map(|factorial| factorial.factors.clone()).collect(),
        workloads,
        tradeoff: None,
        scalings: crate::scaling::scalings(manifest, &parts),
        rules: rules(manifest),
        environment: environment(manifest),
        problems: Vec::new(),
    };
    findings.tradeoff = tradeoff(&findings);
    findings.claims = claim::claims(&findings);
    findings.problems = problems(manifest, &findings, &parts);
    findings
}

/// Why nothing of a run is judged: another process changed a setting, the run ended void, or the manifest is
/// incomplete.
pub(crate) fn void_reason(manifest: &Manifest, trials: &[TrialRecord]) -> Option<String> {
    let foreign = trials.iter().flat_map(|t| &t.marks).find_map(|m| match m {
        Mark::Foreign { what } => Some(what.clone()),
        _ => None,
    });
    let ended = match manifest.end() {
        RunEnd::Void(why) => Some(why.to_owned()),
        _ => None,
    };
    let complete = manifest.workload_ids.len() == manifest.workloads.len()
        && !manifest.arms.is_empty()
        && !manifest.workloads.is_empty();
    let incomplete =
        (!complete).then(|| "the manifest is incomplete: arms, workloads or their ids are missing".to_owned());
    foreign.or(ended).or(incomplete)
}

/// A verdict on our own trials belongs to a machine, so a run whose manifest names no machine is not compared.
pub(crate) fn machine_unknown(manifest: &Manifest) -> Option<String> {
    let unknown = manifest.order == OrderKnown::Randomized && manifest.environment.kernel_release.is_empty();
    unknown.then(|| "the manifest is incomplete: it names no kernel".to_owned())
}

fn arm_infos(manifest: &Manifest) -> Vec<ArmInfo> {
    let control = manifest.arms.first().map(|a| &a.settings);
    let info = |(i, arm): (usize, &schedlab_plan::Arm)| ArmInfo {
        name: arm.name.clone(),
        spec: arm.spec(),
        is_aa: i > 0 && Some(&arm.settings) == control && manifest.order == OrderKnown::Randomized,
    };
    manifest.arms.iter().enumerate().map(info).collect()
}

/// The ground rules in words.
pub(crate) fn rules(manifest: &Manifest) -> Rules {
    let switchback = manifest
        .switchback_window_ns
        .map_or(String::new(), |ns| format!(", switchback windows of {} inside each trial", format_ns(ns)));
    let design = match &manifest.design {
        _ if manifest.order == OrderKnown::Unknown => "imported, order unknown".to_owned(),
        Design::Fixed { blocks } => format!("fixed: {} per workload{switchback}", counted(*blocks, "blocks")),
        Design::Budgeted { budget_ns, looks } => {
            format!("budgeted: {} per workload, {}{switchback}", format_ns(*budget_ns), counted(*looks, "looks"))
        }
        Design::OpenEnded { max_blocks } => {
            format!("until decided, at most {}{switchback}", counted(*max_blocks, "blocks"))
        }
    };
    let stamping = match manifest.stamping {
        Stamping::Off => "no operation is stamped",
        Stamping::Sampled => "some operations are stamped",
        Stamping::All => "every operation is stamped",
    };
    Rules {
        sesoi: manifest.sesoi,
        alpha: manifest.alpha,
        design,
        stamping: stamping.to_owned(),
        seed: manifest.seed,
        methods: methods(manifest),
    }
}

fn methods(manifest: &Manifest) -> Vec<String> {
    let mut methods = vec![match (&manifest.order, &manifest.design) {
        (OrderKnown::Unknown, _) => {
            "Rows were imported and their order is unknown: drift cannot be told from an effect, so there is no verdict. Pairs are \
             described by a paired t, rows without pairs by Welch's t, on logs."
        }
        (_, Design::Fixed { .. }) => "t interval on block mean log-ratios, a bootstrap beside it as a check.",
        (_, Design::Budgeted { .. }) => {
            "Lan–DeMets O'Brien–Fleming spending over the budget; the repeated confidence interval is printed and may be \
             quoted whatever made the run stop."
        }
        (_, Design::OpenEnded { .. }) => "t-mixture confidence sequence, valid whenever the run is stopped.",
    }
    .to_owned()];
    let unit = match (&manifest.order, manifest.switchback_window_ns, manifest.shared_boots()) {
        (OrderKnown::Unknown, ..) => "The pair is the unit, or without pairs the trial",
        (_, Some(_), _) => "The trial is the unit: its windows give one contrast",
        (.., Some(_)) => "The boot is the unit: what its blocks show is averaged",
        _ => "The block is the unit: its trials are averaged",
    };
    methods.push(format!(
        "{unit}; samples inside a trial are never n. Holm over the primary contrasts of the run, Benjamini–Hochberg over the \
         rest. Outliers are shown, never dropped."
    ));
    methods
}

/// The fix for an arm that is not applied.
const TO_APPLY: &str = "`--dry-run` says which rights the arms need, `schedlab tune show` what this kernel has";

fn problems(manifest: &Manifest, findings: &Findings, parts: &[Workload<'_>]) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(why) = &findings.void {
        problems.push(Problem::of_run(format!("The run is void and nothing in it is judged: {why}"), ""));
    }
    problems.extend(lane::caveat(&manifest.environment).map(|caveat| Problem::of_run(caveat, "")));
    if manifest.end() == RunEnd::Unfinished {
        let fix = "continue with the same command and --resume";
        problems.push(Problem::of_run("The run was not finished; these are the trials it has", fix));
    }
    if manifest.arms.len() < 2 {
        problems.push(Problem::of_run("There is one arm only: nothing to compare it with", "give a second arm"));
    }
    for (workload, part) in findings.workloads.iter().zip(parts) {
        problems.extend(of_workload(manifest, findings, workload, part));
    }
    let changed = |c: &Change| {
        let text = format!("{} changed during the run: `{}` to `{}`", c.what, c.before, c.after);
        Problem::of_run(text, "keep it constant and run again")
    };
    problems.extend(findings.environment.changes.iter().map(changed));
    problems
}

fn of_workload(
    manifest: &Manifest,
    findings: &Findings,
    workload: &WorkloadFindings,
    part: &Workload<'_>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut say = |text: String, fix: &str| {
        problems.push(Problem { place: workload.spec.clone(), text, fix: fix.to_owned() });
    };
    if workload.counts.total == 0 {
        say("no trial has ended".into(), "continue the run (--resume), or give it more time (--budget)");
    }
    for facts in &workload.arms {
        let name = findings.arms.get(facts.arm as usize).map_or("?", |a| a.name.as_str());
        for r in &facts.failed {
            let trials = counted(r.count, "trials");
            say(format!("`{name}`: {trials} failed: {}", r.text), "`schedlab bench` runs one trial alone");
        }
        facts.not_applied.iter().for_each(|r| say(format!("`{name}` is not applied: {}", r.text), TO_APPLY));
        for load in facts.loads.iter().filter(|l| l.died > 0) {
            let trials = counted(load.died, "trials");
            let fix = "`schedlab bench` runs the load alone";
            say(format!("`{name}`: load {} died early in {trials}", load.spec), fix);
        }
    }
    if workload.counts.incomplete > 0 {
        let trials = counted(workload.counts.incomplete, "trials");
        say(format!("{trials} not compared, in a block that was never completed"), "");
    }
    let contamination = &workload.contamination.sentence;
    if !contamination.is_empty() {
        say(contamination.clone(), "stop what else runs, which `schedlab doctor` names, or use an idle machine");
    }
    if let Some(idle) = idle_trials(manifest, part) {
        say(idle, "give longer trials");
    }
    workload.confounded.iter().for_each(|c| say(c.sentence.clone(), ""));
    // The note of a secondary metric is next to the metric; only a primary without numbers is a problem of the run.
    for metric in workload.metrics.iter().filter(|m| m.role == Role::Primary) {
        metric.note.iter().for_each(|note| say(format!("{}: {note}", metric_name(&metric.name)), ""));
    }
    for aa_comparison in workload.aa_comparisons.iter().filter(|c| !c.includes_no_effect) {
        say(aa_comparison.sentence.clone(), lane::apart(&manifest.environment));
    }
    missing_primaries(manifest, part).into_iter().for_each(|text| say(text, "`schedlab list workloads` has the names"));
    problems
}

/// A note on trials that completed no operation. They are valid results and stay, but a rate of 0 has no logarithm.
fn idle_trials(manifest: &Manifest, part: &Workload<'_>) -> Option<String> {
    let used = part.selection.rows.iter().filter(|row| row.fate == Fate::Used);
    let idle = used.filter(|row| row.record.outcome.as_ref().is_some_and(|outcome| outcome.operations == 0)).count();
    // Imported rows may not contain a number of operations.
    (idle > 0 && manifest.order == OrderKnown::Randomized).then(|| {
        format!(
            "{} completed no operation; they count as zero, so rates are compared as differences, not ratios",
            counted(idle, "trials")
        )
    })
}

fn missing_primaries(manifest: &Manifest, part: &Workload<'_>) -> Vec<String> {
    let measured = part.selection.rows.iter().any(|r| r.fate == Fate::Used);
    let names = manifest.primary.get(part.selection.workload as usize).cloned().unwrap_or_default();
    let missing = names.into_iter().filter(|name| measured && part.keys.iter().all(|k| k.name != *name));
    missing.map(|name| format!("the primary metric `{name}` was not measured")).collect()
}
