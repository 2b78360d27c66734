//! How late work items run in each arm: a table on a terminal and a picture, by work function.

use super::basis::basis;
use super::more;
use crate::chart::{Draw, RangeGroup, RangeRow, Ranges};
use crate::document::{Block, Document, Remark};
use crate::number::{count, maybe_quantity, percent, quantity};
use crate::table::{Align, Cell, Table};
use schedlab_analyze::trace::PooledKworkers;
use schedlab_analyze::trace::kworkers::FunctionRow;

/// Fewest items for a function's row: a tail of fewer items is not informative.
const MIN_ITEMS: u64 = 20;

/// Most functions in the picture.
const DRAWN: usize = 8;

/// The arms side by side, with at most `most` functions.
pub fn pooled_kworkers(found: &PooledKworkers, most: usize) -> Document {
    let arms: Vec<String> =
        found.arms.iter().map(|arm| format!("{} ({} traces, {} items)", arm.arm, arm.traces, arm.started)).collect();
    let mut page = Document::default();
    page.add("Queued to executed, by work function and arm", vec![Block::Text(arms.join(" · "))]);
    let mut header: Vec<_> = ["items", "p50", "p99", "max", "waiting", "took p50"].map(|n| (n, Align::Right)).into();
    header.insert(0, ("arm", Align::Left));
    let functions = found.by_function(MIN_ITEMS);
    for rows in functions.iter().take(most) {
        let mut table = Table::new(&header);
        for (arm, row) in rows {
            let max = row.latency.max_ns.map(|ns| ns as f64);
            let mut cells: Vec<Cell> = vec![found.arms[*arm].arm.as_str().into(), count(row.latency.count).into()];
            cells.extend([row.latency.p50_ns, row.latency.p99_ns, max].map(|ns| maybe_quantity(ns, "ns").into()));
            let all = row.latency.histogram.sum_ns.max(1) as f64;
            cells.push(percent(row.parts.waiting_ns as f64 / all).into());
            cells.push(maybe_quantity(row.execution.p50_ns, "ns").into());
            table.push(cells);
        }
        page.add(name(rows[0].1), vec![Block::Table(table)]);
    }
    let none = format!("no function has {MIN_ITEMS} items in an arm");
    let none = functions.is_empty().then(|| Remark::note(none)).into_iter();
    let waiting = Remark::note("waiting: the share of the time in which the kworker waited for a CPU");
    let end = none.chain(more(functions.len().saturating_sub(most) as u64, "functions")).chain([waiting]);
    page.ends(end.chain(basis(&found.lacking, found.definitions)).chain(found.problems.iter().map(Remark::warning)))
}

/// The same as a picture in its own file. `place`: of which trace, on which machine, when.
pub fn pooled_kworkers_svg(found: &PooledKworkers, place: &str) -> String {
    let group = |rows: &Vec<(usize, &FunctionRow)>| RangeGroup {
        name: rows[0].1.function.clone(),
        aside: rows[0].1.workqueue.clone(),
        rows: rows.iter().filter_map(|(arm, row)| range(*arm as u32, row, &found.arms[*arm].arm)).collect(),
    };
    let groups: Vec<RangeGroup> = found.by_function(MIN_ITEMS).iter().take(DRAWN).map(group).collect();
    let numbers: Vec<String> = groups
        .iter()
        .flat_map(|group| group.rows.iter().map(move |row| format!("{}, {}: {}", group.name, row.label, row.value)))
        .collect();
    let title = "Work latency: queued to executed, by work function and arm";
    let description = format!("Median, 99th percentile and longest. {}.", numbers.join("; "));
    Ranges { unit: "ns".into(), groups }.draw(super::WIDTH).standalone(title, place, &description)
}

fn range(arm: u32, row: &FunctionRow, label: &str) -> Option<RangeRow> {
    let latency = &row.latency;
    let at = [latency.p50_ns?, latency.p99_ns?, latency.max_ns? as f64];
    let value = at.map(|ns| quantity(ns, "ns")).join(" · ");
    // 0 has no logarithm.
    Some(RangeRow { arm, label: label.to_owned(), at: at.map(|ns| ns.max(1.0)), value })
}

fn name(row: &FunctionRow) -> String {
    if row.workqueue.is_empty() { row.function.clone() } else { format!("{} on {}", row.function, row.workqueue) }
}
