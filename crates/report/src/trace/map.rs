//! A line for each change of who is on a CPU.

use crate::escape::terminal;
use schedlab_analyze::trace::{MapRow, Seconds};
use std::io::{self, Write};

/// A row: the CPUs beside each other, the changed one marked, the time, and what new letters stand for.
pub fn map_line(row: &MapRow, out: &mut dyn Write) -> io::Result<()> {
    for (cpu, letters) in row.cpus.iter().enumerate() {
        let mark = if cpu == usize::from(row.cpu) { '*' } else { ' ' };
        write!(out, "{mark}{letters:<3} ")?;
    }
    write!(out, " {:>16.9} s", Seconds(row.at_ns))?;
    if let (true, Some(comm), Some(tid)) = (row.first, &row.comm, row.tid) {
        write!(out, "  {} = {}:{tid}", row.letters, terminal(comm))?;
    }
    writeln!(out)
}
