//! Pictures of what happened inside the trials: latency curves, placement, counters per operation, sources of variance.

use super::{Kind, Picture, Subject};
use crate::chart::{BarGroup, Bars, Curve, Quantiles, Segment, Stack, Stacks};
use crate::number::{count, ns, percent};
use crate::{labels, remarks, tables};
use schedlab_plan::Tier;

/// Counters that have a picture, in the order shown; the table has all.
const PICTURED: [&str; 6] =
    ["voluntary_switches", "involuntary_switches", "migrations", "run_delay_ns", "run_ns", "cpu_ns"];

const TIER_CLASSES: [&str; 5] = ["t0", "t1", "t2", "t3", "t4"];

pub(super) fn latencies(place: &Subject<'_>) -> Vec<Picture> {
    let mut names: Vec<&str> = Vec::new();
    for distribution in place.workload.arms.iter().flat_map(|a| &a.distributions) {
        if distribution.count > 0 && !names.contains(&distribution.name.as_str()) {
            names.push(&distribution.name);
        }
    }
    names.into_iter().map(|name| latency(place, name)).collect()
}

fn latency(place: &Subject<'_>, name: &str) -> Picture {
    let (mut curves, mut arms, mut said) = (Vec::new(), Vec::new(), Vec::new());
    for key in place.fact_keys() {
        let facts = place.workload.arms.iter().find(|f| f.arm == key.arm);
        let Some(d) = facts.and_then(|f| f.distributions.iter().find(|d| d.name == name)) else { continue };
        let (least, most) = (ns(d.min_ns as f64), ns(d.max_ns as f64));
        let at = |q: f64| d.cdf.iter().find(|p| p.1 >= q).map_or_else(|| most.clone(), |p| ns(p.0));
        said.push(format!(
            "{}: {} operations, min {least}, p50 {}, p99 {}, max {most}",
            key.name,
            count(d.count),
            at(0.5),
            at(0.99)
        ));
        curves.push(Curve { arm: key.arm, points: d.cdf.clone(), count: d.count, max: d.max_ns as f64 });
        arms.push(key);
    }
    let title = match name {
        "latency" => "Latency of operations".to_owned(),
        _ => format!("Distribution: {name}"),
    };
    // Only once: the legs of an operation are read in the same way as the whole.
    let caption = if name != "latency" {
        ""
    } else {
        "Stamped operations of all used trials of an arm: for looking, never for counting n. A curve ends at its exact \
                   maximum."
    };
    let chart = Quantiles { unit: "ns".into(), arms, curves };
    place
        .picture(Kind::Latency, &format!("quantiles-{name}"), title, caption, Box::new(chart))
        .described(said.join("; "))
}

pub(super) fn placement(place: &Subject<'_>) -> Option<Picture> {
    let seen = tables::tiers(place.workload);
    let stack = |key: crate::chart::ArmKey| {
        let facts = place.workload.arms.iter().find(|f| f.arm == key.arm).filter(|f| !f.tiers.is_empty())?;
        let segment = |(kind, tier): (usize, &Tier)| {
            let share = facts.tiers.iter().find(|s| s.tier == *tier)?.share;
            Some(Segment { kind, share })
        };
        let segments = seen.iter().enumerate().filter_map(segment).collect();
        Some(Stack { arm: Some(key.arm), name: key.name, segments })
    };
    let stacks: Vec<Stack> = place.fact_keys().into_iter().filter_map(stack).collect();
    let kinds = seen.iter().map(|t| (TIER_CLASSES[*t as usize], labels::tier(*t).to_owned())).collect();
    // A single tier is reported in a sentence, see [`remarks::placed`].
    (!stacks.is_empty() && seen.len() > 1).then(|| {
        let tier = |s: &Segment| format!("{} {}", seen.get(s.kind).map_or("?", |t| labels::tier(*t)), percent(s.share));
        let said = |s: &Stack| format!("{}: {}", s.name, s.segments.iter().map(tier).collect::<Vec<_>>().join(", "));
        let said = stacks.iter().map(said).collect::<Vec<_>>().join("; ");
        let caption = "Share of operations by where waker and wakee ran.";
        let chart = Box::new(Stacks { kinds, stacks });
        place.picture(Kind::Placement, "placement", "Placement".into(), caption, chart).described(said)
    })
}

pub(super) fn counters(place: &Subject<'_>) -> Option<Picture> {
    let value = |arm: u32, name: &str| {
        let facts = place.workload.arms.iter().find(|f| f.arm == arm)?;
        facts.per_operation.iter().find(|p| p.name == name)?.median.filter(|v| v.is_finite())
    };
    let arms = place.fact_keys();
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

pub(super) fn variance(place: &Subject<'_>) -> Option<Picture> {
    let v = place.workload.variance.as_ref()?;
    let mut kinds = vec![("t1", "between blocks".to_owned()), ("t3", "between trials of a block".into())];
    let mut split = vec![Segment { kind: 0, share: v.block_share }, Segment { kind: 1, share: v.trial_share }];
    if let Some(share) = v.boot_share {
        kinds.push(("t4", "between boots".into()));
        split.insert(0, Segment { kind: 2, share });
    }
    let explained = kinds.len();
    let mut stacks = vec![Stack { arm: None, name: "variance".into(), segments: split }];
    // Placement and steal may explain the same part, so each has a bar of its own.
    for (what, share) in [("placement", v.tier_explained), ("steal", v.steal_explained)] {
        if let Some(share) = share {
            stacks.push(Stack {
                arm: None,
                name: format!("of it with {what}"),
                segments: vec![Segment { kind: explained, share }],
            });
        }
    }
    kinds.extend((stacks.len() > 1).then(|| ("t2", "goes with placement or steal".to_owned())));
    let title = format!("Where the noise is: {}", labels::metric_name(&v.metric));
    let caption = format!("A single trial varies by {}. Shares of its variance.", percent(v.trial_sd));
    let picture = place.picture(Kind::Variance, "variance", title, &caption, Box::new(Stacks { kinds, stacks }));
    Some(picture.described(remarks::variance(v)))
}
