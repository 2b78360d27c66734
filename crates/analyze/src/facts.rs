//! Facts about an arm besides its metrics: failures, switches per operation, placement, loads, stamping cost,
//! distributions.

use crate::findings::*;
use crate::selection::{Fate, Selection};
use schedlab_plan::packed::CounterValue;
use schedlab_plan::require::CALLS;
use schedlab_plan::{Histogram, LoadReport, Manifest, Tier, TrialOutcome, TrialRecord, TrialStatus};
use schedlab_stats::median;
use std::collections::{BTreeMap, BTreeSet};

/// Points of a distribution's curve: more than a picture can show.
const CURVE_POINTS: usize = 200;

/// Facts of all arms, in the arms' order. Switchback trials contain both arms; their facts are shown with the control.
pub(crate) fn arm_facts(manifest: &Manifest, selection: &Selection<'_>) -> Vec<ArmFacts> {
    let netns = netns_counters([selection]);
    let mut all: Vec<ArmFacts> = (0..manifest.arms.len() as u32).map(|arm| facts_of(selection, arm, &netns)).collect();
    drop_still(&mut all, &netns);
    all
}

/// Counters of the network namespace that increased in any used trial. A trial has rows only for those that increased
/// in it.
pub(crate) fn netns_counters<'s>(selections: impl IntoIterator<Item = &'s Selection<'s>>) -> BTreeSet<&'s str> {
    let used = selections.into_iter().flat_map(|s| &s.rows).filter(|r| r.fate == Fate::Used);
    let counters = used.filter_map(|r| r.record.outcome.as_ref()).flat_map(TrialOutcome::counted);
    counters.filter(|c| is_netns(c.scope) && c.value.is_ok()).map(|c| c.name).collect()
}

/// Drops the counters of the namespace that do not change in most trials of every arm: the workload did not cause the
/// changes.
pub(crate) fn drop_still(arms: &mut [ArmFacts], netns: &BTreeSet<&str>) {
    let rows = arms.iter().flat_map(|a| &a.per_operation).filter(|p| p.median.is_some_and(|m| m > 0.0));
    let moved: BTreeSet<String> = rows.map(|p| p.name.clone()).collect();
    for arm in arms {
        arm.per_operation.retain(|p| !netns.contains(p.name.as_str()) || moved.contains(&p.name));
    }
}

pub(crate) fn is_netns(scope: &str) -> bool {
    scope == "netns"
}

/// Whether a row is reported with this arm.
pub(crate) fn belongs(record: &TrialRecord, arm: u32) -> bool {
    record.arm.unwrap_or(0) == arm
}

/// The facts of one arm; `netns` comes from [`netns_counters`].
pub(crate) fn facts_of(selection: &Selection<'_>, arm: u32, netns: &BTreeSet<&str>) -> ArmFacts {
    let rows = || selection.rows.iter().filter(|r| belongs(r.record, arm));
    let used: Vec<&TrialOutcome> =
        rows().filter(|r| r.fate == Fate::Used).filter_map(|r| r.record.outcome.as_ref()).collect();
    let first = used.first();
    let status = |pick: fn(&TrialStatus) -> Option<&String>| {
        reasons(rows().filter_map(|r| pick(&r.record.status)).map(String::as_str))
    };
    let stamping: Vec<f64> = used.iter().filter(|o| o.stamping.stamped > 0).map(|o| o.stamping.cost_share).collect();
    let effective = rows()
        .filter_map(|r| r.record.outcome.as_ref())
        .flat_map(|o| &o.applied)
        .map(|a| (a.setting.to_string(), &a.effective))
        .map(|(asked, effective)| if asked == *effective { asked } else { format!("{asked}: {effective}") });
    let groups = used
        .iter()
        .find(|o| !o.groups.is_empty())
        .into_iter()
        .flat_map(|o| &o.groups)
        // A kernel without autogroups names none.
        .map(|g| format!("{} | {}", g.autogroup, g.cgroup).trim_start_matches(" | ").to_owned());
    ArmFacts {
        arm,
        used: used.len(),
        failed: status(|s| if let TrialStatus::Failed(reason) = s { Some(reason) } else { None }),
        not_applied: not_applied(selection, arm),
        effective: distinct(effective),
        per_operation: per_operation(&used, netns),
        tiers: tier_shares(used.iter().copied()),
        loads: loads(&used),
        stamping_cost_share: (!stamping.is_empty()).then(|| median(&stamping)),
        stamped_every: first.map_or(0, |o| o.stamping.every),
        distributions: distributions(&used),
        notes: reasons(used.iter().flat_map(|o| o.remarks())),
        groups: distinct(groups),
        native_lines: used
            .iter()
            .find(|o| !o.native_lines.is_empty())
            .map(|o| o.native_lines.clone())
            .unwrap_or_default(),
    }
}

fn not_applied(selection: &Selection<'_>, arm: u32) -> Vec<Reason> {
    let rows = selection.rows.iter().filter(|r| r.record.arm.is_none_or(|a| a == arm));
    let texts = rows.filter_map(|r| match &r.record.status {
        TrialStatus::NotApplied(reason) => Some(reason.as_str()),
        _ => None,
    });
    reasons(texts)
}

/// Each distinct text with its count, in order of appearance.
pub(crate) fn reasons<'s>(texts: impl Iterator<Item = &'s str>) -> Vec<Reason> {
    let mut all: Vec<Reason> = Vec::new();
    for text in texts {
        match all.iter_mut().find(|r| r.text == text) {
            Some(reason) => reason.count += 1,
            None => all.push(Reason { text: text.to_owned(), count: 1 }),
        }
    }
    all
}

fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for text in texts {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

/// Counters of the workload per operation, and sums of the tasks' own rows where no counter has the name.
fn per_operation(used: &[&TrialOutcome], netns: &BTreeSet<&str>) -> Vec<PerOperation> {
    let mut values: BTreeMap<String, (Vec<f64>, Option<String>)> = BTreeMap::new();
    for outcome in used.iter().filter(|o| o.operations > 0) {
        let operations = outcome.operations as f64;
        let mut add = |name: String, count: Result<u64, String>| {
            let entry = values.entry(name).or_default();
            match count {
                Ok(n) => entry.0.push(n as f64 / operations),
                Err(why) => entry.1 = Some(why),
            }
        };
        // Calls are counted in the whole kernel, but only if the plan asks for them.
        let own = |c: &CounterValue<'_>| c.scope == "workload" || is_netns(c.scope) || c.name.starts_with(CALLS);
        for counter in outcome.counted().filter(own) {
            add(counter.name.to_owned(), counter.value.map_err(str::to_owned));
        }
        for name in netns.iter().filter(|name| stood_still(outcome, name)) {
            add((*name).to_owned(), Ok(0));
        }
        for (name, sum) in task_sums(outcome) {
            if !outcome.counted().any(|c| c.name == name && c.scope == "workload") {
                add(name.to_owned(), Ok(sum));
            }
        }
    }
    let row = |(name, (per_trial, why)): (String, (Vec<f64>, Option<String>))| PerOperation {
        name,
        median: (!per_trial.is_empty()).then(|| median(&per_trial)),
        not_counted: if per_trial.is_empty() { why } else { None },
    };
    values.into_iter().map(row).collect()
}

/// Whether the counters of the namespace were read but this one has no row: then it did not increase. The counters of
/// the host show that they were read, because both are read together.
fn stood_still(outcome: &TrialOutcome, name: &str) -> bool {
    let unread = |c: &CounterValue<'_>| is_netns(c.scope) && c.value.is_err();
    let has = |test: &dyn Fn(&CounterValue<'_>) -> bool| outcome.counted().any(|counter| test(&counter));
    has(&|c| c.scope == "host") && !has(&unread) && !has(&|c| is_netns(c.scope) && c.name == name)
}

pub(crate) fn task_sums(outcome: &TrialOutcome) -> Vec<(&'static str, u64)> {
    let tasks = || outcome.tasks.iter().filter(|t| t.role != "burner");
    let sum = |pick: fn(&schedlab_plan::TaskRecord) -> Option<u64>| -> Option<u64> { tasks().map(pick).sum() };
    if tasks().next().is_none() {
        return Vec::new();
    }
    let sums = [
        ("voluntary_switches", sum(|t| t.voluntary_switches)),
        ("involuntary_switches", sum(|t| t.involuntary_switches)),
        ("run_ns", sum(|t| t.run_ns)),
        ("run_delay_ns", sum(|t| t.run_delay_ns)),
    ];
    sums.into_iter().filter_map(|(name, sum)| Some((name, sum?))).collect()
}

/// Share of operations by tier over these trials; tiers never seen are left out.
pub(crate) fn tier_shares<'o>(outcomes: impl Iterator<Item = &'o TrialOutcome>) -> Vec<TierShare> {
    let mut counts = [0u64; Tier::ALL.len()];
    for tier in outcomes.flat_map(|o| &o.tiers) {
        counts[tier.tier as usize] += tier.operations;
    }
    let total: u64 = counts.iter().sum();
    let seen = Tier::ALL.into_iter().zip(counts).filter(|&(_, n)| n > 0);
    seen.map(|(tier, n)| TierShare { tier, share: n as f64 / total as f64 }).collect()
}

fn loads(used: &[&TrialOutcome]) -> Vec<LoadAchieved> {
    let mut by_spec: BTreeMap<&str, Vec<&LoadReport>> = BTreeMap::new();
    for load in used.iter().flat_map(|o| &o.loads) {
        by_spec.entry(&load.spec).or_default().push(load);
    }
    let row = |(spec, loads): (&str, Vec<&LoadReport>)| {
        let cpu_s: Vec<f64> = loads.iter().map(|l| l.achieved_cpu_ns as f64 / 1e9).collect();
        let asked = loads.iter().filter(|l| l.asked_cpu_ns > 0);
        let shares: Vec<f64> = asked.map(|l| l.achieved_cpu_ns as f64 / l.asked_cpu_ns as f64).collect();
        LoadAchieved {
            spec: spec.to_owned(),
            cpu_s: median(&cpu_s),
            achieved_share: (!shares.is_empty()).then(|| median(&shares)),
            died: loads.iter().filter(|l| !l.alive).count(),
        }
    };
    by_spec.into_iter().map(row).collect()
}

fn distributions(used: &[&TrialOutcome]) -> Vec<Distribution> {
    let mut merged: Vec<(&str, Histogram)> = Vec::new();
    for (name, _, of_trial) in used.iter().flat_map(|o| o.distributions()).filter(|(_, tier, _)| tier.is_none()) {
        match merged.iter_mut().find(|(known, _)| *known == name) {
            Some((_, histogram)) => histogram.merge(&of_trial),
            None => merged.push((name, of_trial.into_owned())),
        }
    }
    let filled = merged.into_iter().filter(|(_, h)| h.count() > 0);
    filled
        .map(|(name, h)| Distribution {
            name: name.to_owned(),
            count: h.count(),
            cdf: curve(&h),
            min_ns: h.min_ns,
            max_ns: h.max_ns,
        })
        .collect()
}

/// Evenly spaced shares, with more in the upper tail, where schedulers differ.
fn curve(histogram: &Histogram) -> Vec<(f64, f64)> {
    let body = CURVE_POINTS * 3 / 4;
    let shares = (0..body).map(|i| 0.99 * i as f64 / body as f64);
    let tail = CURVE_POINTS - body - 1;
    let tails = (0..=tail).map(|i| 1.0 - 0.01 * 10f64.powf(-4.0 * i as f64 / tail as f64));
    shares.chain(tails).filter_map(|q| Some((histogram.quantile_ns(q)?, q))).collect()
}
