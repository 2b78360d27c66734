//! The plugin's counts, as one total or by leg: system calls on pipes, classified by their outcome. Pure. The plugin's
//! `legs` describes how.

use super::Counts;
use crate::error::VmError;

/// Names of the legs, in the plugin's order.
pub const LEGS: [&str; 5] =
    ["outside", "write that wakes nobody", "write that wakes", "read that finds data", "read that waits"];

/// Functions at whose first instruction something begins or ends for the plugin: the name of the plugin's argument, and
/// the function's names in various kernels.
const NAMES_OF_LANDMARKS: [(&str, &[&str]); 7] = [
    ("enters", &["entry_SYSCALL_64"]),
    ("switched", &["__switch_to"]),
    ("writes", &["pipe_write", "anon_pipe_write"]),
    ("reads", &["pipe_read", "anon_pipe_read"]),
    ("wakes", &["autoremove_wake_function"]),
    ("waits", &["prepare_to_wait_event"]),
    ("exits", &["do_exit"]),
];

/// The name of the plugin's argument and the function's address.
pub type Landmark = (&'static str, u64);

/// The start addresses of the kernel functions by which legs are recognised; `address_of` looks them up by name.
pub fn landmarks(address_of: impl Fn(&str) -> Option<u64>) -> Result<Vec<Landmark>, VmError> {
    let landmark = |(argument, names): &(&'static str, &[&str])| {
        let missing = || {
            let names = names.join(" or ");
            VmError::Refused(format!("its kernel has no function {names}, by which legs are recognized"))
        };
        Ok((*argument, names.iter().find_map(|name| address_of(name)).ok_or_else(missing)?))
    };
    NAMES_OF_LANDMARKS.iter().map(landmark).collect()
}

/// The plugin's whole file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LegCounts {
    /// Complete system calls of each of the LEGS; empty if they were not counted separately.
    pub calls: Vec<u64>,
    /// Instructions of each of the LEGS, or the total of all.
    pub legs: Vec<Counts>,
}

impl LegCounts {
    /// Lines with a hexadecimal address and its counts, one for each leg; address 0 stands for user space. If there are
    /// legs, a `calls` line comes before them; the last line is `end`.
    pub fn parse(text: &str) -> Result<Self, VmError> {
        let broken = |why: &str| VmError::Guest(format!("the counts of its instructions are not whole: {why}"));
        let body = text.strip_suffix("end\n").ok_or_else(|| broken("QEMU wrote no end of them (disk full?)"))?;
        let mut counted = Self { calls: Vec::new(), legs: vec![Counts::default()] };
        for line in body.lines() {
            match line {
                "full" => return Err(broken("its kernel executed more addresses than can be counted")),
                "lost" => return Err(broken("it had more tasks in system calls than can be distinguished")),
                _ => counted.take(line).ok_or_else(|| broken(&format!("`{line}` is not an address and counts")))?,
            }
        }
        if counted.legs.iter().all(|counts| *counts == Counts::default()) {
            return Err(broken("nothing was executed between the marks of a trial"));
        }
        Ok(counted)
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let (first, rest) = line.split_once(' ')?;
        let numbers: Vec<u64> = rest.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
        if first == "calls" && numbers.len() == LEGS.len() {
            (self.calls, self.legs) = (numbers, vec![Counts::default(); LEGS.len()]);
            return Some(());
        }
        let address = u64::from_str_radix(first, 16).ok().filter(|_| numbers.len() == self.legs.len())?;
        for (counts, count) in self.legs.iter_mut().zip(numbers).filter(|(_, count)| *count > 0) {
            match address {
                0 => counts.programs += count,
                _ => counts.kernel.push((address, count)),
            }
        }
        Some(())
    }

    /// All legs together, by address.
    pub fn whole(&self) -> Counts {
        let mut whole = Counts { programs: self.legs.iter().map(|leg| leg.programs).sum(), kernel: Vec::new() };
        let mut all: Vec<(u64, u64)> = self.legs.iter().flat_map(|leg| leg.kernel.iter().copied()).collect();
        all.sort_unstable();
        for (address, count) in all {
            match whole.kernel.last_mut() {
                Some((last, sum)) if *last == address => *sum += count,
                _ => whole.kernel.push((address, count)),
            }
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legs_together_are_the_whole() {
        let text = "calls 7 0 2 0 3\n0 9 0 0 0 0\nffffffff81000004 1 0 4 0 0\nffffffff81000000 2 0 0 0 5\nend\n";
        let counted = LegCounts::parse(text).unwrap();
        assert_eq!(counted.calls, [7, 0, 2, 0, 3]);
        assert_eq!(counted.legs[2].kernel, [(0xffff_ffff_8100_0004, 4)]);
        let whole = LegCounts::parse("0 9\nffffffff81000000 7\nffffffff81000004 5\nend\n").unwrap();
        assert!(whole.calls.is_empty());
        assert_eq!(counted.whole(), whole.whole());
    }

    #[test]
    fn half_a_file_is_none() {
        for (text, needle) in [
            ("0 5\n", "no end"),
            ("full\n0 5\nend\n", "more addresses"),
            ("0 5\nx 5\nend\n", "`x 5`"),
            ("0\nend\n", "`0`"),
            ("end\n", "nothing was executed"),
            ("calls 0 1 2 3 4\n0 5\nend\n", "`0 5`"),
            ("calls 0 1\nend\n", "`calls 0 1`"),
            ("lost\ncalls 0 1 2 3 4\n0 5 0 0 0 0\nend\n", "more tasks"),
        ] {
            let why = LegCounts::parse(text).unwrap_err().to_string();
            assert!(why.contains(needle) && !why.contains('\n'), "{why}");
        }
    }
}
