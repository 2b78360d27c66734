//! How late work items run, on a terminal: by work function, or the waits of kworkers by pool.

use super::basis::basis;
use super::{nothing, numbered, remarks};
use crate::document::{Block, Document, Remark};
use crate::number::{count, maybe_quantity, ns_of as ns, percent};
use crate::table::{Align, Cell, Table};
use schedlab_analyze::trace::Seconds;
use schedlab_analyze::trace::kworkers::{Figures, FunctionRow, Kworkers, Parts};
use schedlab_plan::InOrder;

/// Most items that are listed one by one.
const LONGEST_SHOWN: usize = 5;

/// The findings as a page.
pub fn trace_kworkers(found: &Kworkers) -> Document {
    let mut page = Document::of_trace(claim(found), &found.trace);
    if !found.functions.is_empty() {
        page.add("Queued to executed, by work function", vec![Block::Table(functions(found))]);
        page.add("Where that time went, and how long the work took", vec![Block::Table(parts(found))]);
        page.add("The items that waited longest", longest(found).into_iter().filter_map(item).collect());
    }
    if !found.pools.is_empty() {
        page.add("Waits of kworkers for a CPU, by pool", vec![Block::Table(pools(found))]);
    }
    let numbers = [
        (found.more_rows, "more row; --top 0 shows all", "more rows; --top 0 shows all"),
        (
            found.queued_again,
            "item was queued again before it was started: cancelled, or its start is not in the trace",
            "items were queued again before they were started: cancelled, or their start is not in the trace",
        ),
        (
            found.left_over,
            "item was queued and not started before the end, or cancelled",
            "items were queued and not started before the end, or cancelled",
        ),
        (
            found.functions.iter().map(|row| row.unseen).sum(),
            "item was started whose queueing was not traced; it is not counted",
            "items were started whose queueing was not traced; they are not counted",
        ),
        (
            found.functions.iter().map(|row| row.censored).sum(),
            "item over missing events; in no number",
            "items over missing events; in no number",
        ),
        (
            found.pools.iter().map(|row| row.censored).sum(),
            "wait that is not known; in no number",
            "waits that are not known; in no number",
        ),
    ];
    let by_address = found.functions.iter().any(|row| row.function.starts_with("0x"));
    let text = "functions are given by address: --kallsyms FILE names them, from a copy of /proc/kallsyms of that boot";
    let by_address = by_address.then(|| Remark::note(text));
    let basis = basis(&found.lacking, if found.by_function { found.definitions } else { &[] });
    page.ends(numbered(numbers).chain(by_address).chain(basis).chain(remarks(&found.trace)))
}

fn claim(found: &Kworkers) -> String {
    if !found.by_function {
        return match found.pools.is_empty() {
            true => {
                nothing(&found.trace, "the trace has no workqueue_execute_start, and no wait of a kworker is known")
            }
            false => {
                "The trace has no workqueue_execute_start: these are waits of kworkers by pool, whatever their work."
                    .into()
            }
        };
    }
    let Some(row) = longest(found).first().copied() else {
        return nothing(&found.trace, "no work item is known from queueing to execution");
    };
    format!(
        "Latest work item: {} waited {}; {} items started.",
        row.function,
        maybe_quantity(row.latency.max_ns.map(|ns| ns as f64), "ns"),
        count(found.started)
    )
}

/// Functions with the item that waited longest, in the order of that wait.
fn longest(found: &Kworkers) -> Vec<&FunctionRow> {
    let mut rows: Vec<&FunctionRow> = found.functions.iter().filter(|row| row.longest.is_some()).collect();
    rows.in_order_by_key(|row| std::cmp::Reverse(row.latency.max_ns));
    rows.truncate(LONGEST_SHOWN);
    rows
}

fn figures(figures: &Figures) -> [Cell; 4] {
    let max = figures.max_ns.map(|ns| ns as f64);
    [figures.mean_ns, figures.p50_ns, figures.p99_ns, max].map(|ns| maybe_quantity(ns, "ns").into())
}

fn name(row: &FunctionRow) -> String {
    if row.workqueue.is_empty() { row.function.clone() } else { format!("{} on {}", row.function, row.workqueue) }
}

fn functions(found: &Kworkers) -> Table {
    let mut header: Vec<_> = ["items", "mean", "p50", "p99", "max"].map(|name| (name, Align::Right)).into();
    header.push(("function", Align::Left));
    let mut table = Table::new(&header);
    for row in &found.functions {
        let mut cells: Vec<Cell> = vec![count(row.latency.count).into()];
        cells.extend(figures(&row.latency));
        cells.push(name(row).into());
        table.push(cells);
    }
    table
}

fn parts(found: &Kworkers) -> Table {
    let mut header: Vec<_> =
        ["inactive", "busy", "waiting", "rest", "took p50", "took max"].map(|name| (name, Align::Right)).into();
    header.push(("function", Align::Left));
    let mut table = Table::new(&header);
    for row in &found.functions {
        let all = row.latency.histogram.sum_ns.max(1);
        let Parts { inactive_ns, busy_ns, waiting_ns, other_ns } = row.parts;
        let share = |ns: u64| Cell::from(if ns == 0 { String::new() } else { percent(ns as f64 / all as f64) });
        let mut cells: Vec<Cell> = [inactive_ns, busy_ns, waiting_ns, other_ns].map(share).into();
        cells.push(maybe_quantity(row.execution.p50_ns, "ns").into());
        cells.push(maybe_quantity(row.execution.max_ns.map(|ns| ns as f64), "ns").into());
        cells.push(row.function.as_str().into());
        table.push(cells);
    }
    table
}

fn item(row: &FunctionRow) -> Option<Block<'static>> {
    let item = row.longest.as_ref()?;
    let Parts { inactive_ns, busy_ns, waiting_ns, other_ns } = item.parts;
    let parts = [
        (inactive_ns, "inactive"),
        (busy_ns, "behind other items"),
        (waiting_ns, "waiting for a CPU"),
        (other_ns, "the rest"),
    ];
    let numbers: Vec<String> =
        parts.into_iter().filter(|(part, _)| *part > 0).map(|(part, what)| format!("{} {what}", ns(part))).collect();
    let text = format!(
        "{} {}, queued {:.6}, started {:.6} s by kworker {} on CPU {}: {}",
        maybe_quantity(row.latency.max_ns.map(|ns| ns as f64), "ns"),
        row.function,
        Seconds(item.queued_at_ns),
        Seconds(item.started_at_ns),
        item.worker,
        item.cpu,
        numbers.join(", ")
    );
    Some(Block::Text(text))
}

fn pools(found: &Kworkers) -> Table {
    let mut header = vec![("pool", Align::Left)];
    header
        .extend(["workers", "wakeups", "mean", "p99", "max", "preempted", "longest"].map(|name| (name, Align::Right)));
    let mut table = Table::new(&header);
    for row in &found.pools {
        let [mean, _, p99, max] = figures(&row.wakeup);
        let [_, _, _, preempt_max] = figures(&row.preempt);
        table.push(vec![
            row.pool.as_str().into(),
            count(row.workers).into(),
            count(row.wakeup.count).into(),
            mean,
            p99,
            max,
            count(row.preempt.count).into(),
            preempt_max,
        ]);
    }
    table
}
