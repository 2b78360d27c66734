//! Quantiles, modes, placement, variance, facts: the results besides the means.

use crate::lab::{Lab, lab, outcome, planted, rate};
use schedlab_analyze::*;
use schedlab_plan::histogram::{BUCKETS, bucket_of};
use schedlab_plan::*;

fn histogram(name: &str, tier: Option<Tier>, values: impl Iterator<Item = u64> + Clone) -> NamedHistogram {
    let mut cells = vec![0u64; BUCKETS];
    values.clone().for_each(|v| cells[bucket_of(v)] += 1);
    let (min, max) = (values.clone().min().unwrap_or(0), values.clone().max().unwrap_or(0));
    NamedHistogram { name: name.into(), tier, histogram: Histogram::from_dense(&cells, values.sum(), min, max) }
}

fn find<'f>(findings: &'f Findings, name: &str) -> &'f MetricFindings {
    findings.workloads[0].metrics.iter().find(|m| m.name == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn quantiles_come_from_each_trial_and_thin_tails_are_refused() {
    let mut lab = lab(&[("a", ""), ("b", "nice=1")], &["pipe"]);
    for _ in 0..8 {
        lab.block_of(0, |arm, noise| {
            let mut made = outcome(rate(1000.0 * (0.01 * noise).exp()));
            let slow = if arm == 1 { 1.3 } else { 1.0 } * (0.01 * noise).exp();
            made.histograms.push(histogram(
                "latency",
                None,
                (0..2000u64).map(move |i| ((1000 + i) as f64 * slow) as u64),
            ));
            made
        });
    }
    let (manifest, trials) = lab.run();
    let findings = compare(&manifest, &trials);
    let p99 = &find(&findings, "latency_p99_ns").contrasts[0];
    assert_eq!(p99.verdict, Verdict::Worse);
    assert!((p99.effect.unwrap().value - 1.3).abs() < 0.02);
    let p999 = find(&findings, "latency_p999_ns");
    assert!(p999.note.as_deref().unwrap().contains("too few tail samples: 2000 stamped operations in a trial, 10000"));
    assert!(
        matches!(&p999.contrasts[0].verdict, Verdict::NoVerdict { reason, .. } if reason.starts_with("too few tail"))
    );
    let picture = &findings.workloads[0].arms[1].distributions[0];
    assert_eq!((picture.count, picture.name.as_str()), (32_000, "latency"));
    assert!(picture.cdf.len() <= 200 && picture.cdf.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 < w[1].1));
}

/// The p99.9 of the few trials with enough operations was below the p99 of all trials.
#[test]
fn a_quantile_that_only_the_fast_trials_have_is_no_value_of_the_arm() {
    let mut lab = lab(&[("a", ""), ("b", "nice=1")], &["pipe"]);
    let mut trial = 0;
    for _ in 0..8 {
        lab.block_of(0, |_, noise| {
            trial += 1;
            let (count, ns) = if trial == 5 { (12_000, 1000u64) } else { (2000, 3000) };
            let mut made = outcome(rate(1000.0 * (0.01 * noise).exp()));
            made.histograms.push(histogram("latency", None, (0..count).map(move |_| ns)));
            made
        });
    }
    let (manifest, trials) = lab.run();
    let findings = compare(&manifest, &trials);
    let medians = |name: &str| -> Vec<_> { find(&findings, name).values.iter().map(|v| (v.n, v.median)).collect() };
    let p999 = medians("latency_p999_ns");
    assert!(p999.iter().all(|values| *values == (0, None)), "{p999:?}");
    let listed: usize = find(&findings, "latency_p999_ns").values.iter().map(|v| v.trials.len()).sum();
    assert_eq!(listed, 1, "it is shown all the same");
    assert!(medians("latency_p99_ns").iter().all(|(n, median)| *n == 16 && median.is_some()));
}

/// In arm 1, half of the trials run on one CPU, and these are fast.
fn bistable() -> Lab {
    let mut lab = lab(&[("a", ""), ("b", "nice=1")], &["pipe"]);
    let mut turn = 0;
    for _ in 0..20 {
        lab.block_of(0, |arm, noise| {
            turn += 1;
            let near = arm == 1 && turn % 8 < 6;
            let (tier, ns) = if near { (Tier::SameCpu, 1000u64) } else { (Tier::Llc, 3000) };
            let mut made = outcome(rate(1e9 / ns as f64 * (0.01 * noise).exp()));
            made.tiers = vec![TierCount { tier, operations: 1000 }];
            made.histograms = vec![histogram("latency", Some(tier), (0..100).map(move |_| ns))];
            made
        });
    }
    lab
}

#[test]
fn modes_carry_the_placement_of_their_trials() {
    let (manifest, trials) = bistable().run();
    let findings = compare(&manifest, &trials);
    let [a, b] = findings.workloads[0].modes.as_slice() else { panic!("both arms have enough trials") };
    assert_eq!((a.k, a.sentence.as_str()), (1, "one mode"));
    assert_eq!((b.k, b.modes.len()), (2, 2));
    assert_eq!((b.modes[0].tiers[0].tier, b.modes[1].tiers[0].tier), (Tier::Llc, Tier::SameCpu));
    assert!(b.modes.iter().all(|m| m.tiers[0].share == 1.0));
    assert!(b.sentence.starts_with("two modes: "), "{}", b.sentence);
}

#[test]
fn the_tier_split_adds_up_and_stays_descriptive_without_pinning() {
    let (mut manifest, trials) = bistable().run();
    let findings = compare(&manifest, &trials);
    let split = &findings.workloads[0].tier_splits[0];
    assert!((split.between_shares_ns + split.within_ns - split.total_ns).abs() < 1e-6);
    assert!(split.total_ns < -900.0 && split.within_ns.abs() < 1.0, "all of it is placement: {split:?}");
    assert!(!split.pinned && split.note.starts_with("Descriptive"));
    manifest.workloads = vec!["pipe:pin=same".parse().unwrap()];
    assert!(compare(&manifest, &trials).workloads[0].tier_splits[0].pinned);
    let variance = compare(&manifest, &trials).workloads[0].variance.clone().unwrap();
    assert!(variance.tier_explained.unwrap() > 0.5, "{variance:?}");
    assert!((variance.block_share + variance.trial_share - 1.0).abs() < 1e-9 && variance.steal_explained.is_none());
}

#[test]
fn facts_count_switches_loads_stamps_and_changes_of_the_machine() {
    let mut lab = planted(&[1.0, 1.0], 6);
    for row in &mut lab.trials {
        let made = row.outcome.as_mut().unwrap();
        let counter =
            |name: &str, count| Counter { name: name.into(), scope: "workload".into(), source: "perf".into(), count };
        made.counters = vec![
            counter("voluntary_switches", Count::Exact(2000)),
            counter("migrations", Count::NotCounted("perf_event_paranoid is 3".into())),
        ];
        made.loads =
            vec![LoadReport { spec: "burn:2x50%".into(), asked_cpu_ns: 1000, achieved_cpu_ns: 900, alive: true }];
    }
    let mut end = lab.manifest.environment.clone();
    end.cpu_model = "another".into();
    lab.manifest.environment_end = Some(end);
    let (manifest, trials) = lab.run();
    let findings = compare(&manifest, &trials);
    let facts = &findings.workloads[0].arms[1];
    let per_op = |name: &str| facts.per_operation.iter().find(|p| p.name == name).unwrap();
    assert_eq!(per_op("voluntary_switches").median, Some(2.0));
    assert_eq!(per_op("migrations").not_counted.as_deref(), Some("perf_event_paranoid is 3"));
    let load = &facts.loads[0];
    assert!((load.achieved_share.unwrap() - 0.9).abs() < 1e-12 && load.cpu_s == 900e-9 && load.died == 0);
    assert_eq!((facts.stamping_cost_share, facts.stamped_every, facts.used), (Some(0.004), 64, 12));
    assert_eq!(findings.environment.changes[0].after, "another");
    assert!(findings.problems.iter().any(|p| p.text.starts_with("CPU changed during the run")));
}

/// Tables of the namespace contain only counters that increased: a counter without a row did not change, and counts as
/// 0.
#[test]
fn a_counter_without_a_row_stood_still_and_one_that_mostly_did_is_no_fact() {
    let mut lab = planted(&[1.0, 1.0], 6);
    let counter = |name: &str, scope: &str, n| Counter {
        name: name.into(),
        scope: scope.into(),
        source: "/proc/net/netstat".into(),
        count: Count::Exact(n),
    };
    for (i, row) in lab.trials.iter_mut().enumerate() {
        let made = row.outcome.as_mut().unwrap();
        made.counters = vec![counter("context_switches", "host", 77), counter("calls.wake_wide", "host", 500)];
        made.counters.extend((row.arm == Some(1)).then(|| counter("TcpExt.TCPAutoCorking", "netns", 3000)));
        made.counters.extend((i == 9).then(|| counter("Tcp.ActiveOpens", "netns", 1)));
    }
    let (manifest, trials) = lab.run();
    let findings = compare(&manifest, &trials);
    let corked = |arm: usize| {
        let rows = &findings.workloads[0].arms[arm].per_operation;
        assert!(!rows.iter().any(|p| p.name == "Tcp.ActiveOpens"), "{rows:?}");
        rows.iter().find(|p| p.name == "TcpExt.TCPAutoCorking").and_then(|p| p.median)
    };
    assert_eq!((corked(0), corked(1)), (Some(0.0), Some(3.0)));
    // Calls are of the whole kernel, but the plan asks for them; other counters of the host are not facts of an arm.
    let rows = &findings.workloads[0].arms[0].per_operation;
    let of = |name: &str| rows.iter().find(|p| p.name == name).and_then(|p| p.median);
    assert_eq!((of("calls.wake_wide"), of("context_switches")), (Some(0.5), None));
}

#[test]
fn a_forecast_comes_before_the_run() {
    let (manifest, mut trials) = planted(&[1.0, 1.1], 1).run();
    trials.iter_mut().for_each(|t| t.warm_up = true);
    let pilot = forecast(&manifest, &trials, 0, 20).unwrap();
    assert!((0.0005..0.03).contains(&pilot.minimum_detectable), "{pilot:?}");
    assert!(pilot.sentence.starts_with("20 blocks find effects of "), "{}", pilot.sentence);
    assert!(pilot.minimum_detectable < forecast(&manifest, &trials, 0, 10).unwrap().minimum_detectable);
    assert_eq!(forecast(&manifest, &trials[..2], 0, 20), None, "one trial of each arm says nothing of the spread");
}

#[test]
fn findings_are_json_and_the_same_every_time() {
    let (manifest, trials) = bistable().run();
    let findings = compare(&manifest, &trials);
    assert_eq!(findings, compare(&manifest, &trials));
    let json = serde_json::to_value(&findings).unwrap();
    let contrast = &json["workloads"][0]["metrics"][0]["contrasts"][0];
    assert!(contrast["effect"]["lo"].is_f64() && contrast["effect"]["scale"] == "ratio");
    assert!(contrast["verdict"]["kind"].is_string());
}

#[test]
fn an_empty_run_is_findings_and_problems() {
    let (manifest, _) = planted(&[1.0, 1.0], 1).run();
    let findings = compare(&manifest, &[]);
    assert!(findings.problems.iter().any(|p| p.text.contains("no trial has ended")));
    assert!(findings.claims.is_empty() && !decided(&manifest, &[], 0));
    let mut empty = manifest.clone();
    (empty.arms, empty.workloads, empty.workload_ids) = (Vec::new(), Vec::new(), Vec::new());
    assert!(compare(&empty, &[]).void.is_some());
}
