//! One line for each time on a CPU.

use crate::escape::terminal;
use schedlab_analyze::trace::TimehistRow;
use std::io::{self, Write};

/// The names of the columns, ms where nothing else is said.
pub fn timehist_header(out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{:>18}  {:>4}  {:<24}  {:>10}  {:>10}  {:>10}  {:>10}  left",
        "at s", "CPU", "task", "slept", "woken wait", "preempted", "ran"
    )
}

/// A row; a time that is not known is a dash.
pub fn timehist_line(row: &TimehistRow, out: &mut dyn Write) -> io::Result<()> {
    let ms = |ns: Option<u64>| ns.map_or(crate::number::NONE.to_owned(), |ns| format!("{:.6}", ns as f64 / 1e6));
    let task = format!("{}:{}", terminal(&row.comm), row.tid);
    writeln!(
        out,
        "{:>18.9}  {:>4}  {task:<24}  {:>10}  {:>10}  {:>10}  {:>10}  {}",
        row.at_s,
        row.cpu,
        ms(row.slept_ns),
        ms(row.wakeup_wait_ns),
        ms(row.preempt_wait_ns),
        ms(Some(row.run_ns)),
        row.left.as_deref().map_or(crate::number::NONE.to_owned(), terminal),
    )
}
