//! Tables of what happened inside the trials: counters per operation, placement, steadiness, stamping.

use super::build::{Cell, Page, escape, figure, name, plain};
use crate::chart::theme::arm_class;
use crate::number::{count, effect, ns, p_value, percent};
use crate::table::{Align, Table};
use crate::{remarks, tables, words};
use schedlab_analyze::{Findings, TierSplit, WorkloadFindings};

/// Width of the longest bar beside a counter, px.
const GAUGE: f64 = 60.0;

/// All counters per operation, each with a bar on the scale of its row: picture and table in one. Then those that could
/// not be counted.
pub(super) fn per_operation(page: &mut Page, findings: &Findings, workload: &WorkloadFindings) {
    let arms = words::fact_arms(findings, workload);
    let rows = tables::per_operation(workload, &arms);
    if !rows.is_empty() {
        let what = if workload.operation.is_empty() { "operation" } else { &workload.operation };
        page.element("h3", "", &format!("What the scheduler did, per {what}"));
        let mut header = vec![("median of a trial", "")];
        header.extend(arms.iter().map(|(_, name)| (name.as_str(), "n")));
        let row = |(counter, values): &(&str, Vec<Option<f64>>)| {
            let largest = values.iter().flatten().filter(|v| v.is_finite()).fold(0.0f64, |m, v| m.max(*v));
            let cell = |(value, (arm, _)): (&Option<f64>, &(u32, String))| {
                let text = escape(&tables::counter_value(counter, *value));
                // A bar alone compares nothing.
                let compared = value.filter(|v| v.is_finite() && largest > 0.0 && values.len() > 1);
                let share = compared.map(|v| v.max(0.0) / largest);
                let bar = |s: f64| format!("<i class={} style=width:{:.0}px></i>", arm_class(*arm), s * GAUGE);
                (text + &share.map(bar).unwrap_or_default(), "drawn")
            };
            [name(counter)].into_iter().chain(values.iter().zip(&arms).map(cell)).collect()
        };
        page.table("Counters per operation", &header, &rows.iter().map(row).collect::<Vec<_>>());
    }
    page.list("class=\"notes\"", &tables::not_counted(workload));
}

/// Shares of the tiers.
pub(super) fn placement(page: &mut Page, findings: &Findings, workload: &WorkloadFindings) {
    let table = tables::tiers_table(workload, &words::fact_arms(findings, workload));
    if !table.rows.is_empty() {
        page.element("h3", "", "Placement");
        set(page, "Placement", &table);
    }
}

/// A table of terminal and Markdown; what stands flush right there are numbers.
pub(super) fn set(page: &mut Page, name: &str, table: &Table) {
    if !table.rows.is_empty() {
        let classes: Vec<&str> = table.align.iter().map(|a| if *a == Align::Right { "n" } else { "" }).collect();
        let header: Vec<(&str, &str)> = table.header.iter().map(String::as_str).zip(classes.iter().copied()).collect();
        let row = |row: &Vec<crate::table::Cell>| -> Vec<Cell> {
            row.iter().zip(&classes).map(|(cell, class)| (cell.text.clone(), *class)).collect()
        };
        page.table(name, &header, &table.rows.iter().map(row).collect::<Vec<_>>());
    }
}

/// Change of placement and change within tiers: the control's shares and means, then each arm's.
pub(super) fn tier_splits(page: &mut Page, findings: &Findings, splits: &[TierSplit]) {
    let Some(first) = splits.first() else { return };
    page.element("h3", "", &format!("Why the mean {} moved", first.histogram));
    let mean = |m: Option<f64>| figure(m.map_or_else(|| crate::number::NONE.to_owned(), ns));
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for split in splits {
        rows.push(vec![(remarks::tier_split(findings, split), "group")]);
        rows.extend(split.tiers.iter().map(|t| {
            let shares = [percent(t.control_share), percent(t.arm_share)].map(figure);
            let means = [mean(t.control_mean_ns), mean(t.arm_mean_ns)];
            [plain(words::tier(t.tier))].into_iter().chain(shares).chain(means).collect()
        }));
    }
    let header =
        [("tier", ""), ("share, control", "n"), ("share, arm", "n"), ("mean, control", "n"), ("mean, arm", "n")];
    page.table("Shares and means by tier", &header, &rows);
    page.list("class=\"notes\"", &remarks::tier_split_notes(splits));
}

/// How steady each arm is, and how many modes its trials have.
pub(super) fn steadiness(page: &mut Page, findings: &Findings, workload: &WorkloadFindings) {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for c in &workload.dispersion {
        let text = c.effect.map(|e| effect(&e, ""));
        let (value, interval) = text.map_or_else(Default::default, |t| (t.value, t.interval));
        let said = match words::reason(&c.verdict) {
            Some(reason) => format!("no verdict: {reason}"),
            None => words::verdict(&c.verdict).to_owned(),
        };
        let p = figure(p_value(c.p_adjusted.or(c.p)));
        let verdict = (said, words::tone(&c.verdict));
        rows.push(vec![plain(words::arm_name(findings, c.arm)), figure(value), figure(interval), p, verdict]);
    }
    if !rows.is_empty() {
        page.element("h3", "", "Steadiness from trial to trial");
        let spread = ("spread against the control", "n");
        page.table(
            "Steadiness",
            &[("arm", ""), spread, ("interval", "n"), ("p\u{a0}adj.", "n"), ("verdict", "")],
            &rows,
        );
    }
    let mut modes: Vec<(String, Vec<&str>)> = Vec::new();
    for m in &workload.modes {
        let (said, arm) = (modes_of(m), words::arm_name(findings, m.arm));
        match modes.iter_mut().find(|(text, _)| *text == said) {
            Some((_, arms)) => arms.push(arm),
            None => modes.push((said, vec![arm])),
        }
    }
    let modes = modes.into_iter().map(|(said, arms)| words::full_stop(&format!("{}: {said}", arms.join(", "))));
    page.list("class=\"notes\"", &modes.collect::<Vec<_>>());
}

/// Modes of an arm, and where the trials of each ran.
fn modes_of(m: &schedlab_analyze::ModeFindings) -> String {
    let tiers = |mode: &schedlab_analyze::Mode| {
        let shares = mode.tiers.iter().filter(|t| t.share > 0.005);
        shares.map(|t| format!("{} {}", words::tier(t.tier), percent(t.share))).collect::<Vec<_>>().join(", ")
    };
    let places: Vec<String> = m.modes.iter().filter(|_| m.k > 1).map(tiers).filter(|t| !t.is_empty()).collect();
    let placed = if places.is_empty() { String::new() } else { format!(" (placement: {})", places.join(" | ")) };
    format!("{}{placed}", m.sentence)
}

/// Counts of stamped operations and the cost of stamping, per arm.
pub(super) fn stamping(findings: &Findings, workload: &WorkloadFindings) -> Vec<String> {
    let of_arm = |facts: &schedlab_analyze::ArmFacts| {
        let share = facts.stamping_cost_share?;
        let stamped: u64 = facts.distributions.iter().find(|d| d.name == "latency").map_or(0, |d| d.count);
        let arm = words::arm_name(findings, facts.arm);
        let every = match facts.stamped_every {
            0 | 1 => "every operation".to_owned(),
            n => format!("one operation in {n}"),
        };
        Some(format!(
            "{arm}: {every} stamped, {} in all; stamps cost {} of the run time",
            count(stamped),
            percent(share)
        ))
    };
    workload.arms.iter().filter_map(of_arm).collect()
}
