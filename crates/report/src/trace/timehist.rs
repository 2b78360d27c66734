//! One line for each time on a CPU.

use crate::escape::terminal;
use schedlab_analyze::trace::{Seconds, TimehistRow};
use std::io::{self, Write};

/// The names of the columns.
pub fn timehist_header(out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{:>18}  {:>4}  {:<24}  {:>10}  {:>10}  {:>10}  {:>10}  left",
        "at s", "CPU", "task", "slept ms", "woken ms", "preempt ms", "ran ms"
    )
}

/// A row; a time that is not known is a dash. Where system calls were recorded, the one in which the task slept stands last.
pub fn timehist_line(row: &TimehistRow, out: &mut dyn Write) -> io::Result<()> {
    let ms = |ns: Option<u64>| ns.map_or(crate::number::NONE.to_owned(), |ns| format!("{:.6}", ns as f64 / 1e6));
    let task = format!("{}:{}", terminal(&row.comm), row.tid);
    writeln!(
        out,
        "{:>18.9}  {:>4}  {task:<24}  {:>10}  {:>10}  {:>10}  {:>10}  {}{}",
        Seconds(row.at_ns),
        row.cpu,
        ms(row.slept_ns),
        ms(row.wakeup_wait_ns),
        ms(row.preempt_wait_ns),
        ms(Some(row.run_ns)),
        row.left.as_deref().map_or(crate::number::NONE.to_owned(), terminal),
        row.slept_in.as_deref().map_or(String::new(), |call| format!("    slept in {}", terminal(call))),
    )
}
