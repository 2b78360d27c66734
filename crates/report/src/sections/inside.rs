//! Details behind the numbers: why a mean changed, how steady arms are, second opinions, stamping, settings as read
//! back.

use super::workload::Of;
use crate::document::{Block, Tone};
use crate::number::{NONE, count, effect, ns, p_value, percent};
use crate::table::{Align, Cell, Table};
use crate::{labels, remarks};
use schedlab_analyze::{ArmFacts, Effect, Findings, Mode, ModeFindings, Role, TierSplit, WorkloadFindings};

pub(super) fn blocks(of: Of<'_>) -> Vec<Block<'_>> {
    let blocks = move || {
        let Of { findings, workload, .. } = of;
        let splits = workload.tier_splits.first().map_or("", |split| &split.histogram);
        let mut all = Vec::from_iter(Block::list(remarks::rests_on(workload, Role::Primary)));
        all.extend(Block::titled(
            &format!("Why the mean {splits} moved"),
            tier_splits(findings, &workload.tier_splits),
        ));
        all.extend(Block::titled("Steadiness from trial to trial", steadiness(findings, workload)));
        all.extend(Block::list(modes(findings, workload)));
        all.extend(Block::titled("Second opinions, which decide nothing", views(findings, workload)));
        let stamping = Block::list(workload.arms.iter().filter_map(|facts| stamping(findings, facts)));
        all.extend(stamping.map(|stamping| [Block::Lead("Stamping".into()), stamping]).into_iter().flatten());
        all.extend(Block::titled("Settings in force, by read-back", in_force(findings, workload)));
        if let Some(facts) = workload.arms.iter().find(|f| !f.native_lines.is_empty()) {
            let arm = labels::arm_name(findings, facts.arm);
            all.push(Block::Lead(format!("First trial as the reference tool prints it: {arm}")));
            all.push(Block::Verbatim(facts.native_lines.join("\n")));
        }
        all
    };
    vec![Block::More(
        "What is behind the numbers: steadiness, second opinions, settings in force".into(),
        Box::new(blocks),
    )]
}

/// Change of placement and change within tiers: the control's shares and means, then each arm's.
fn tier_splits(findings: &Findings, splits: &[TierSplit]) -> Table {
    let numbers = ["share, control", "share, arm", "mean, control", "mean, arm"].map(|name| (name, Align::Right));
    let mut table = Table::new(&Vec::from_iter([("tier", Align::Left)].into_iter().chain(numbers)));
    let mean = |m: Option<f64>| m.map_or_else(|| NONE.to_owned(), ns);
    for split in splits {
        table.push(vec![remarks::tier_split(findings, split).into()]);
        for t in &split.tiers {
            let (shares, means) = ([t.control_share, t.arm_share], [t.control_mean_ns, t.arm_mean_ns]);
            let numbers = shares.map(percent).into_iter().chain(means.map(mean)).map(Cell::from);
            table.push([labels::tier(t.tier).into()].into_iter().chain(numbers).collect());
        }
    }
    table
}

/// An effect and its interval, or two empty cells.
fn printed(e: Option<Effect>, unit: &str) -> [Cell; 2] {
    e.map(|e| effect(&e, unit)).map_or_else(Default::default, |t| [t.value.into(), t.interval.into()])
}

/// How steady each arm is.
fn steadiness(findings: &Findings, workload: &WorkloadFindings) -> Table {
    let numbers = ["spread against the control", "interval", "p adj."].map(|name| (name, Align::Right));
    let ends = ([("arm", Align::Left)], [("verdict", Align::Left)]);
    let mut table = Table::new(&Vec::from_iter(ends.0.into_iter().chain(numbers).chain(ends.1)));
    for c in &workload.dispersion {
        let said = match labels::reason(&c.verdict) {
            Some(reason) => format!("no verdict: {reason}"),
            None => labels::verdict(&c.verdict).to_owned(),
        };
        let [value, interval] = printed(c.effect, "");
        let p = p_value(c.p_adjusted.or(c.p)).into();
        table.push(vec![labels::arm_name(findings, c.arm).into(), value, interval, p, Cell::toned(said, &c.verdict)]);
    }
    table
}

/// Modes of the arms' trials, and the placement of the trials in each.
fn modes(findings: &Findings, workload: &WorkloadFindings) -> Vec<String> {
    let tiers = |mode: &Mode| {
        let shares = mode.tiers.iter().filter(|t| t.share > 0.005);
        shares.map(|t| format!("{} {}", labels::tier(t.tier), percent(t.share))).collect::<Vec<_>>().join(", ")
    };
    let said = |m: &ModeFindings| {
        let places: Vec<String> = m.modes.iter().filter(|_| m.k > 1).map(tiers).filter(|t| !t.is_empty()).collect();
        let placed = if places.is_empty() { String::new() } else { format!(" (placement: {})", places.join(" | ")) };
        format!("{}{placed}", m.sentence)
    };
    let grouped = labels::grouped(workload.modes.iter().map(|m| (said(m), labels::arm_name(findings, m.arm))));
    grouped.into_iter().map(|(said, arms)| labels::full_stop(&format!("{}: {said}", arms.join(", ")))).collect()
}

/// Second opinions on the primary metrics.
fn views(findings: &Findings, workload: &WorkloadFindings) -> Table {
    let numbers = ["change", "interval", "p", "n"].map(|name| (name, Align::Right));
    let mut table = Table::new(&Vec::from_iter([("view", Align::Left)].into_iter().chain(numbers)));
    for metric in workload.metrics.iter().filter(|m| m.role == Role::Primary) {
        for c in metric.contrasts.iter().filter(|c| !c.views.is_empty()) {
            table.push(vec![
                format!("{} · {}", labels::arm_name(findings, c.arm), labels::metric_name(&metric.name)).into(),
            ]);
            for view in &c.views {
                let [value, interval] = printed(view.effect, &metric.unit);
                let n = view.n.to_string();
                table.push(vec![view.name.as_str().into(), value, interval, p_value(view.p).into(), n.into()]);
            }
        }
    }
    table
}

/// How many operations of an arm were stamped, and the cost of that.
fn stamping(findings: &Findings, facts: &ArmFacts) -> Option<String> {
    let share = facts.stamping_cost_share?;
    let stamped: u64 = facts.distributions.iter().find(|d| d.name == "latency").map_or(0, |d| d.count);
    let every = match facts.stamped_every {
        0 | 1 => "every operation".to_owned(),
        n => format!("one operation in {n}"),
    };
    let (arm, stamped, cost) = (labels::arm_name(findings, facts.arm), count(stamped), percent(share));
    Some(format!("{arm}: {every} stamped, {stamped} in all; stamps cost {cost} of the run time"))
}

/// Settings as read back, and task groups.
fn in_force(findings: &Findings, workload: &WorkloadFindings) -> Table {
    let header = ["arm", "settings", "task groups of the workload"].map(|name| (name, Align::Left));
    let mut table = Table::new(&header);
    for facts in &workload.arms {
        let refused = facts.not_applied.iter().map(|r| format!("NOT APPLIED {} ×: {}", r.count, r.text));
        let settings: Vec<String> = facts.effective.iter().cloned().chain(refused).collect();
        let settings = if settings.is_empty() { labels::spec(findings, "").to_owned() } else { settings.join("; ") };
        let groups = Cell::toned(facts.groups.join("; "), Tone::None);
        table.push(vec![labels::arm_name(findings, facts.arm).into(), settings.into(), groups]);
    }
    table
}
