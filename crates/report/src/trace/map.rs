//! A line for each change of the task on a CPU.

use crate::escape::terminal;
use schedlab_analyze::trace::{MapRow, Seconds};
use std::io::{self, Write};

/// A row: the CPUs side by side with the changed one marked, the time, and the meaning of new letters.
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
