//! The latency table on a terminal: the worst wait first, then waits after wakeups, waits after preemptions, remarks.

use super::basis::{basis, censored};
use super::{more, nothing, remarks};
use crate::document::{Block, Document};
use crate::number::{NONE, count, maybe_quantity};
use crate::table::{Align, Cell, Table};
use schedlab_analyze::trace::Seconds;
use schedlab_analyze::trace::latency::{Latency, LatencyRow, Waits};

/// The findings as a page.
pub fn trace_latency(found: &Latency) -> Document {
    let mut page = Document::of_trace(claim(found), &found.trace);
    if found.total.wakeup.count > 0 {
        let title = format!("After a wakeup: {} to switched in", found.wakeup_begins);
        page.add(title, vec![Block::Table(wakeups(found))]);
    }
    if found.total.preempt.count > 0 {
        page.add("After a preemption: switched out runnable to switched in", vec![Block::Table(preemptions(found))]);
    }
    let waits = [("wakeup", &found.total.wakeup), ("preemption", &found.total.preempt)];
    let censored = waits.into_iter().filter_map(|(what, waits)| {
        censored(&format!("waits after a {what} that are counted and in no column"), waits.censored)
    });
    let rows = more(found.more_rows, "rows").into_iter();
    page.ends(rows.chain(basis(&found.lacking, &[])).chain(censored).chain(remarks(&found.trace)))
}

fn claim(found: &Latency) -> String {
    let total = &found.total;
    let worst = |waits: &Waits| {
        let comm = waits.max_comm.as_deref().unwrap_or("?");
        let who = waits.max_tid.map_or(comm.to_owned(), |tid| format!("{comm} {tid}"));
        let cpu = waits.max_cpu.map_or(String::new(), |cpu| format!(" on CPU {cpu}"));
        let (start, end) = (at(waits.max_start_ns), at(waits.max_end_ns));
        format!("{} ({who}, {start} to {end} s{cpu})", maybe_quantity(waits.max_ns.map(|ns| ns as f64), "ns"))
    };
    match (total.wakeup.count, total.preempt.count) {
        (0, 0) => nothing(&found.trace, "no wait of a task is known from start to end"),
        (_, 0) => format!("Longest wait after a wakeup: {}.", worst(&total.wakeup)),
        (0, _) => format!("Longest wait after a preemption: {}.", worst(&total.preempt)),
        _ => format!(
            "Longest wait after a wakeup: {}; after a preemption: {}.",
            worst(&total.wakeup),
            worst(&total.preempt)
        ),
    }
}

fn task(row: &LatencyRow) -> String {
    super::task(&row.comm, row.tid, row.tasks)
}

fn wakeups(found: &Latency) -> Table {
    // Without sched_wakeup, only the wait of a new thread has a separate queueing part.
    let split = found.total.placement.count > 0;
    let mut header = vec![("task", Align::Left), ("run", Align::Right), ("wakeups", Align::Right)];
    header.extend(["mean", "p50", "p99", "p99.9", "max"].map(|name| (name, Align::Right)));
    if split {
        header.extend(["place p99", "queue p99"].map(|name| (name, Align::Right)));
    }
    header.extend(["max at s", "censored"].map(|name| (name, Align::Right)));
    let mut table = Table::new(&header);
    for row in found.rows.iter().chain([&found.total]).filter(|r| r.wakeup.count + r.run_ns > 0) {
        let mut cells: Vec<Cell> = vec![task(row).into(), maybe_quantity(Some(row.run_ns as f64), "ns").into()];
        cells.push(count(row.wakeup.count).into());
        cells.extend(figures(&row.wakeup));
        if split {
            cells.push(maybe_quantity(row.placement.p99_ns, "ns").into());
            cells.push(maybe_quantity(row.queueing.p99_ns, "ns").into());
        }
        cells.extend(where_and_censored(&row.wakeup));
        table.push(cells);
    }
    table
}

fn preemptions(found: &Latency) -> Table {
    let mut header = vec![("task", Align::Left), ("switches", Align::Right), ("preempted", Align::Right)];
    header.extend(["mean", "p50", "p99", "p99.9", "max", "max at s", "censored"].map(|name| (name, Align::Right)));
    let mut table = Table::new(&header);
    for row in found.rows.iter().chain([&found.total]).filter(|r| r.preempt.count > 0) {
        let mut cells: Vec<Cell> = vec![task(row).into(), count(row.voluntary + row.involuntary).into()];
        cells.push(count(row.preempt.count).into());
        cells.extend(figures(&row.preempt));
        cells.extend(where_and_censored(&row.preempt));
        table.push(cells);
    }
    table
}

fn figures(waits: &Waits) -> [Cell; 5] {
    let max = waits.max_ns.map(|ns| ns as f64);
    [waits.mean_ns, waits.p50_ns, waits.p99_ns, waits.p999_ns, max].map(|ns| maybe_quantity(ns, "ns").into())
}

fn at(ns: Option<u64>) -> String {
    ns.map_or(NONE.to_owned(), |ns| format!("{:.6}", Seconds(ns)))
}

fn where_and_censored(waits: &Waits) -> [Cell; 2] {
    let censored = waits.censored.iter().sum::<u64>();
    [at(waits.max_start_ns).into(), if censored == 0 { "".into() } else { count(censored).into() }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_analyze::trace::{TraceFacts, definitions};

    #[test]
    fn the_worst_wait_is_the_first_line() {
        let wakeup = Waits {
            count: 2,
            mean_ns: Some(3000.0),
            max_ns: Some(5000),
            max_start_ns: Some(1_000_001_000),
            max_end_ns: Some(1_000_006_000),
            max_cpu: Some(3),
            max_tid: Some(77),
            max_comm: Some("sh".into()),
            censored: [1, 0, 2],
            ..Waits::default()
        };
        let row =
            LatencyRow { comm: "sh".into(), tid: Some(77), tasks: 1, run_ns: 9000, wakeup, ..LatencyRow::default() };
        let found = Latency {
            schema: schedlab_analyze::trace::latency::SCHEMA,
            trace: TraceFacts {
                format: "perf.data".into(),
                problems: vec!["byte 7: odd".into()],
                ..TraceFacts::default()
            },
            definitions: definitions(),
            lacking: vec!["sched_waking was not recorded: it begins late".into()],
            wakeup_begins: "sched_wakeup",
            rows: vec![row.clone()],
            more_rows: 4,
            total: LatencyRow { comm: "all".into(), ..row },
        };
        let mut out = Vec::new();
        trace_latency(&found).text(240, false, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let first = "Longest wait after a wakeup: 5.000 µs (sh 77, 1.000001 to 1.000006 s on CPU 3).";
        assert_eq!(text.lines().next(), Some(first));
        for part in [
            "sh:77",
            "After a wakeup: sched_wakeup to switched in",
            "- sched_waking was not recorded: it begins late",
            "4 more rows",
            "1 over missing events, 0 that what follows contradicts, 2 cut off",
            "! byte 7: odd",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("After a preemption"));
    }
}
