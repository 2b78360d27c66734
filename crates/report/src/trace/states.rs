//! How the time of tasks was spent, on a terminal.

use super::{more, remarks};
use crate::document::{Block, Document};
use crate::number::{ns_of, percent};
use crate::table::{Align, Cell, Table};
use schedlab_analyze::trace::States;

/// The findings as a page.
pub(super) fn page(found: &States) -> Document {
    let claim = if found.rows.is_empty() { super::nothing(&found.trace, "no task is known") } else { String::new() };
    let mut page = Document::of_trace(claim, &found.trace);
    page.add("", Block::table(rows(found)).into_iter().collect());
    page.ends(more(found.more_rows, "tasks").into_iter().chain(remarks(&found.trace)))
}

fn rows(found: &States) -> Table {
    let mut header = vec![("task", Align::Left)];
    let columns = ["seen", "running", "after wakeup", "preempted", "S", "D", "I", "other", "unknown"];
    header.extend(columns.map(|name| (name, Align::Right)));
    let mut table = Table::new(&header);
    for row in &found.rows {
        let mut cells: Vec<Cell> = vec![super::task(&row.comm, row.tid, row.tasks).into()];
        cells.push(ns_of(row.seen_ns).into());
        let parts = [
            row.running_ns,
            row.wakeup_wait_ns,
            row.preempt_wait_ns,
            row.interruptible_ns,
            row.uninterruptible_ns,
            row.idle_ns,
            row.other_ns,
            row.unknown_ns,
        ];
        cells.extend(parts.map(|ns| Cell::from(if ns == 0 { String::new() } else { percent(row.share(ns)) })));
        table.push(cells);
    }
    table
}
