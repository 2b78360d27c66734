//! Where the time of tasks went, on a terminal.

use super::Page;
use crate::number::{count, percent, quantity};
use crate::table::{Align, Cell, Table};
use schedlab_analyze::trace::States;
use std::io::{self, Write};

/// The findings for a terminal `width` columns wide, with ANSI colours or without.
pub fn trace_states_text(found: &States, width: usize, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(out, width, colour);
    page.origin(&found.trace)?;
    page.blank()?;
    let mut header = vec![("task", Align::Left)];
    let columns = ["seen", "running", "after wakeup", "preempted", "S", "D", "I", "other", "unknown"];
    header.extend(columns.map(|name| (name, Align::Right)));
    let mut table = Table::new(&header);
    for row in &found.rows {
        let mut cells: Vec<Cell> = vec![super::task(&row.comm, row.tid, row.tasks).into()];
        cells.push(quantity(row.seen_ns as f64, "ns").into());
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
    page.table(&table)?;
    page.blank()?;
    if found.more_rows > 0 {
        page.paragraph("  - ", &format!("{} more tasks; --top 0 shows all", count(found.more_rows)))?;
    }
    page.remarks(&found.trace)
}
