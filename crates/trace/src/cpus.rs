//! Which CPU numbers of a trace are plausible: a damaged number is not a CPU.

use crate::event::Cpu;
use std::collections::BTreeSet;

/// The CPUs of a trace whose header describes them.
#[derive(Debug, Default)]
pub(crate) struct Cpus {
    /// No CPU has this number or a larger one.
    pub(crate) below: Option<u16>,
    /// Number of CPUs that were online. A CPU may have a larger number if others are offline.
    pub(crate) online: Option<u16>,
    met: BTreeSet<Cpu>,
    /// The last CPU seen, which is the most likely one to come next.
    last: Option<Cpu>,
}

impl Cpus {
    /// Whether an event's CPU is plausible.
    #[inline]
    pub(crate) fn has(&mut self, cpu: Cpu) -> bool {
        self.last == Some(cpu) || self.meet(cpu)
    }

    /// Whether some online CPU has not been seen yet.
    pub(crate) fn lack_some(&self) -> bool {
        self.online.is_some_and(|online| self.met.len() < usize::from(online))
    }

    fn meet(&mut self, cpu: Cpu) -> bool {
        let fits = self.below.is_none_or(|below| cpu.0 < below);
        let is_new = !self.met.contains(&cpu);
        // After CPU hot-plug during the trace there may be more CPUs than were online at its end; the additional ones
        // have numbers below that count.
        let beyond = self.online.is_some_and(|online| cpu.0 >= online && self.met.len() >= usize::from(online));
        if !fits || is_new && beyond {
            return false;
        }
        self.met.insert(cpu);
        self.last = Some(cpu);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn believed(mut cpus: Cpus, numbers: &[u16]) -> Vec<u16> {
        numbers.iter().copied().filter(|number| cpus.has(Cpu(*number))).collect()
    }

    #[test]
    fn numbers_beyond_the_header_are_not_believed() {
        let below = Cpus { below: Some(4), ..Cpus::default() };
        assert_eq!(believed(below, &[0, 3, 4, 3, 8000]), [0, 3, 3]);
        // Half of eight is offline.
        let online = || Cpus { online: Some(4), ..Cpus::default() };
        assert_eq!(believed(online(), &[0, 2, 4, 6, 6, 7, 1, 4]), [0, 2, 4, 6, 6, 1, 4]);
        assert_eq!(believed(online(), &[0, 1, 2, 3, 1003, 3]), [0, 1, 2, 3, 3]);
        assert_eq!(believed(Cpus::default(), &[0, 8000]), [0, 8000]);
    }
}
