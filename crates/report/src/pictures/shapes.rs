//! Pictures of what happened inside the trials: latency curves, placement, counters per operation, where variance is.

use super::{Kind, Picture, Place};
use crate::chart::{BarGroup, Bars, Curve, Quantiles, Segment, Stack, Stacks};
use crate::number::{count, ns, percent};
use crate::{tables, words};
use schedlab_run::Tier;

/// Counters worth a picture, in the order shown; the table has all.
const PICTURED: [&str; 6] =
    ["voluntary_switches", "involuntary_switches", "migrations", "run_delay_ns", "run_ns", "cpu_ns"];

const TIER_CLASSES: [&str; 5] = ["t0", "t1", "t2", "t3", "t4"];

pub(super) fn latencies(place: &Place<'_>) -> Vec<Picture> {
    let mut names: Vec<&str> = Vec::new();
    for distribution in place.workload.arms.iter().flat_map(|a| &a.distributions) {
        if distribution.count > 0 && !names.contains(&distribution.name.as_str()) {
            names.push(&distribution.name);
        }
    }
    names.into_iter().map(|name| latency(place, name)).collect()
}

fn latency(place: &Place<'_>, name: &str) -> Picture {
    let mut curves = Vec::new();
    for facts in &place.workload.arms {
        let Some(d) = facts.distributions.iter().find(|d| d.name == name) else { continue };
        let (arm, max) = (place.arm_name(facts.arm), ns(d.max_ns as f64));
        curves.push(Curve {
            arm: facts.arm,
            points: d.cdf.clone(),
            count: d.count,
            max: d.max_ns as f64,
            title: format!("{arm}: {} stamped operations, from {} to {max}", count(d.count), ns(d.min_ns as f64)),
        });
    }
    let title = match name {
        "latency" => "Latency of operations".to_owned(),
        _ => format!("Distribution: {name}"),
    };
    let caption =
        "All used trials of an arm together: for looking, never for counting n. The dot is the exact maximum.";
    let arms = place.arm_keys().into_iter().filter(|k| curves.iter().any(|c| c.arm == k.arm)).collect();
    let chart = Quantiles { unit: "ns".into(), arms, curves };
    place.picture(Kind::Latency, &format!("quantiles-{name}"), title, caption, Box::new(chart))
}

pub(super) fn placement(place: &Place<'_>) -> Option<Picture> {
    let seen: Vec<Tier> = Tier::ALL
        .into_iter()
        .filter(|t| place.workload.arms.iter().any(|a| a.tiers.iter().any(|s| s.tier == *t && s.share > 0.0)))
        .collect();
    let stacks = place.workload.arms.iter().filter(|a| !a.tiers.is_empty()).map(|facts| Stack {
        arm: Some(facts.arm),
        name: place.arm_name(facts.arm),
        segments: seen
            .iter()
            .enumerate()
            .filter_map(|(kind, tier)| {
                let share = facts.tiers.iter().find(|s| s.tier == *tier)?.share;
                let title = format!(
                    "{}: {} of operations on {}",
                    place.arm_name(facts.arm),
                    percent(share),
                    words::tier(*tier)
                );
                Some(Segment { kind, share, title })
            })
            .collect(),
    });
    let stacks: Vec<Stack> = stacks.collect();
    let kinds = seen.iter().map(|t| (TIER_CLASSES[*t as usize], words::tier(*t).to_owned())).collect();
    (!stacks.is_empty() && !seen.is_empty()).then(|| {
        let caption = "Share of operations by where waker and wakee ran.";
        let chart = Box::new(Stacks { kinds, stacks });
        place.picture(Kind::Placement, "placement", "Placement".into(), caption, chart)
    })
}

pub(super) fn counters(place: &Place<'_>) -> Option<Picture> {
    let value = |arm: u32, name: &str| {
        let facts = place.workload.arms.iter().find(|f| f.arm == arm)?;
        facts.per_operation.iter().find(|p| p.name == name)?.median.filter(|v| v.is_finite())
    };
    let arms = place.arm_keys();
    let groups = PICTURED.iter().map(|name| BarGroup {
        name: (*name).to_owned(),
        bars: arms
            .iter()
            .map(|k| (k.arm, value(k.arm, name), tables::counter_value(name, value(k.arm, name))))
            .collect(),
    });
    let groups: Vec<BarGroup> = groups.filter(|g| g.bars.iter().any(|b| b.1.is_some())).collect();
    (!groups.is_empty()).then(|| {
        let operation = match place.workload.operation.as_str() {
            "" => "operation",
            operation => operation,
        };
        let chart = Box::new(Bars { arms, groups });
        let title = format!("What the scheduler did, per {operation}");
        place.picture(Kind::Counters, "per-operation", title, "Medians over the used trials.", chart)
    })
}

pub(super) fn variance(place: &Place<'_>) -> Option<Picture> {
    let v = place.workload.variance.as_ref()?;
    let parts = [("between blocks", v.block_share), ("between trials of a block", v.trial_share)];
    let bar = |name: &str, parts: &[(usize, f64, &str)]| Stack {
        arm: None,
        name: name.to_owned(),
        segments: parts
            .iter()
            .map(|(kind, share, what)| Segment {
                kind: *kind,
                share: *share,
                title: format!("{}: {what}", percent(*share)),
            })
            .collect(),
    };
    let mut kinds: Vec<(&'static str, String)> = vec![("t1", parts[0].0.to_owned()), ("t3", parts[1].0.to_owned())];
    let mut stacks = vec![bar("where it is", &[(0, v.block_share, parts[0].0), (1, v.trial_share, parts[1].0)])];
    let explained = [("t2", "goes with placement", v.tier_explained), ("t4", "goes with steal", v.steal_explained)];
    let mut segments = Vec::new();
    for (class, what, share) in explained {
        if let Some(share) = share {
            segments.push((kinds.len(), share, what));
            kinds.push((class, what.to_owned()));
        }
    }
    if !segments.is_empty() {
        stacks.push(bar("what goes with it", &segments));
    }
    let title = format!("Where the noise is: {}", v.metric);
    let caption = format!("A single trial varies by {}. Shares of its variance.", percent(v.trial_sd));
    Some(place.picture(Kind::Variance, "variance", title, &caption, Box::new(Stacks { kinds, stacks })))
}
