//! /proc/stat: CPU time of each CPU by kind, and the machine's counts of switches, interrupts and forks. Times are in
//! USER_HZ ticks of 10 ms, which limits their use for a short trial. Source: Documentation/filesystems/proc.rst section
//! 1.7, fs/proc/stat.c.

use crate::parse_error::{FileLine, ParseError};

const FILE: &str = "/proc/stat";

/// The kinds of CPU time that are kept, in the file's order. `guest` is not among them, because `user` includes it.
pub const KINDS: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];

/// Ticks of one CPU, by [`KINDS`].
pub type CpuTicks = [u64; KINDS.len()];

/// One reading of /proc/stat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcStat {
    /// The sum over all CPUs; the kernel sums before it rounds to ticks.
    pub all: CpuTicks,
    /// `(cpu, ticks)` of the online CPUs, ascending.
    pub cpus: Vec<(u32, CpuTicks)>,
    /// Interrupts.
    pub intr: u64,
    /// Context switches.
    pub ctxt: u64,
    /// Forks and clones.
    pub processes: u64,
    /// Soft interrupts.
    pub softirq: u64,
}

/// Parses the file into `into`, whose vector is reused, so that a sample allocates nothing. Unknown lines are skipped.
pub fn parse_into(text: &str, into: &mut ProcStat) -> Result<(), ParseError> {
    into.cpus.clear();
    for (index, line) in text.lines().enumerate() {
        let place = FileLine { file: FILE, line: index + 1 };
        let mut words = line.split_ascii_whitespace();
        let Some(key) = words.next() else { continue };
        if let Some(cpu) = key.strip_prefix("cpu") {
            let ticks = cpu_ticks(place, &mut words)?;
            match cpu {
                "" => into.all = ticks,
                _ => into.cpus.push((place.number(Some(cpu), "CPU number")? as u32, ticks)),
            }
            continue;
        }
        match key {
            "intr" => into.intr = place.number(words.next(), "number of interrupts")?,
            "ctxt" => into.ctxt = place.number(words.next(), "number of context switches")?,
            "processes" => into.processes = place.number(words.next(), "number of forks")?,
            "softirq" => into.softirq = place.number(words.next(), "number of soft interrupts")?,
            _ => {}
        }
    }
    Ok(())
}

/// Parses the file.
pub fn parse(text: &str) -> Result<ProcStat, ParseError> {
    let mut stat = ProcStat::default();
    parse_into(text, &mut stat)?;
    Ok(stat)
}

fn cpu_ticks<'a>(place: FileLine, words: &mut impl Iterator<Item = &'a str>) -> Result<CpuTicks, ParseError> {
    let mut ticks = CpuTicks::default();
    for (kind, tick) in ticks.iter_mut().enumerate() {
        *tick = match (words.next(), kind) {
            // Kernels before 2.6.11 have no steal column.
            (None, 7) => 0,
            (word, _) => place.number(word, "number of ticks")?,
        };
    }
    Ok(ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
cpu  62847 5 4099 355419 527 1 35 27 0 0
cpu0 45962 2 1633 163870 61 0 8 13 0 0
cpu2 16885 3 2466 191548 465 1 26 13 0 0
intr 405400 0 0 1
ctxt 447300
btime 1763719140
processes 11530
procs_running 2
procs_blocked 0
softirq 118000 1 2 3
";

    #[test]
    fn each_line_goes_to_its_field() {
        let stat = parse(TEXT).unwrap();
        assert_eq!(stat.all, [62847, 5, 4099, 355419, 527, 1, 35, 27]);
        assert_eq!(stat.cpus[1], (2, [16885, 3, 2466, 191548, 465, 1, 26, 13]));
        assert_eq!((stat.intr, stat.ctxt, stat.processes, stat.softirq), (405400, 447300, 11530, 118000));
    }

    #[test]
    fn an_error_names_file_line_and_word() {
        let error = parse("cpu  1 2 3 4 5 6 7 8\ncpu0 1 2 x 4 5 6 7 8\n").unwrap_err();
        assert_eq!((error.line, error.text.as_str()), (2, "x"));
        assert!(error.to_string().starts_with("/proc/stat, line 2: expected number of ticks, found `x`"), "{error}");
        assert!(parse("ctxt\n").is_err());
    }

    #[test]
    fn every_truncation_is_an_answer_or_an_error() {
        for end in 0..TEXT.len() {
            // Any result is fine as long as there is one; a truncated number is a smaller number.
            let _ = parse(&TEXT[..end]);
        }
        assert_eq!(parse("").unwrap(), ProcStat::default());
    }
}
