//! Whether the server ran with its caller's attributes while it served: PASS, FAIL, or N/A with the reason, separately
//! for policy, priority and nice. The references compare the priority only, and count a kernel that cannot inherit as a
//! failure.

use super::report::Tally;
use crate::transport::Transport;
use std::fmt;

/// One attribute's verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Pass,
    Fail {
        /// Transactions whose server ran otherwise.
        differs: u64,
        of: u64,
    },
    /// There is nothing to judge; the reason is a clause.
    NotApplicable(String),
}

impl Verdict {
    fn of(differs: u64, of: u64) -> Self {
        if differs == 0 { Self::Pass } else { Self::Fail { differs, of } }
    }

    /// `PASS`, `FAIL` or `N/A`.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail { .. } => "FAIL",
            Self::NotApplicable(_) => "N/A",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        match self {
            Self::Pass => Ok(()),
            Self::Fail { differs, of } => write!(f, " (the server did not take it over in {differs} of {of})"),
            Self::NotApplicable(reason) => write!(f, " ({reason})"),
        }
    }
}

/// For mainline's binder; the patch that passes on more is Android's.
const NICE_ONLY: &str = "this kernel's binder hands on nice alone: it has no tracepoint binder_set_priority";

/// What is known before the counts are evaluated.
pub(super) struct Circumstances {
    pub(super) transport: Transport,
    /// Why there was no FIFO class, if there was none.
    pub(super) fifo_refused: Option<String>,
    /// Whether this kernel can pass on real-time policies over the transport.
    pub(super) kernel_inherits_real_time: bool,
}

/// All three.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inheritance {
    pub(super) policy: Verdict,
    pub(super) priority: Verdict,
    pub(super) nice: Verdict,
}

impl Inheritance {
    /// `fifo` is the FIFO class over all pairs; `nice` is the number of nice probes and of those that differed.
    pub(super) fn judge(circumstances: &Circumstances, fifo: Tally, nice: (u64, u64)) -> Self {
        let transport = circumstances.transport;
        if !transport.inherits() {
            let none = Verdict::NotApplicable(format!("{} carries no scheduling attributes", transport.name()));
            return Self { policy: none.clone(), priority: none.clone(), nice: none };
        }
        let real_time = |differs: u64| match &circumstances.fifo_refused {
            Some(_) => Verdict::NotApplicable("there was no FIFO caller to inherit from".to_owned()),
            None if differs > 0 && !circumstances.kernel_inherits_real_time => {
                Verdict::NotApplicable(NICE_ONLY.to_owned())
            }
            None => Verdict::of(differs, fifo.transactions),
        };
        let (probes, differs) = nice;
        let nice = match probes {
            0 => Verdict::NotApplicable("no transaction was made with another nice value".to_owned()),
            _ => Verdict::of(differs, probes),
        };
        Self { policy: real_time(fifo.policy_differs), priority: real_time(fifo.priority_differs), nice }
    }
}

impl fmt::Display for Inheritance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.policy == self.priority && self.priority == self.nice {
            return write!(f, "policy, priority and nice {}", self.policy);
        }
        if self.policy == self.priority {
            return write!(f, "policy and priority {}, nice {}", self.policy, self.nice);
        }
        write!(f, "policy {}, priority {}, nice {}", self.policy, self.priority, self.nice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(
        transport: Transport,
        fifo_refused: Option<&str>,
        kernel_inherits_real_time: bool,
        differs: (u64, u64),
        nice: (u64, u64),
    ) -> Inheritance {
        let fifo_refused = fifo_refused.map(str::to_owned);
        let circumstances = Circumstances { transport, fifo_refused, kernel_inherits_real_time };
        let (policy_differs, priority_differs) = differs;
        let fifo = Tally { transactions: 100, policy_differs, priority_differs, ..Tally::default() };
        Inheritance::judge(&circumstances, fifo, nice)
    }

    fn words(found: &Inheritance) -> [&'static str; 3] {
        [found.policy.word(), found.priority.word(), found.nice.word()]
    }

    #[test]
    fn androids_kernel_passes_or_fails_and_mainline_cannot() {
        let binder = Transport::Binder;
        assert_eq!(words(&judge(binder, None, true, (0, 0), (10, 0))), ["PASS", "PASS", "PASS"]);
        let failed = judge(binder, None, true, (3, 100), (10, 10));
        assert_eq!(words(&failed), ["FAIL", "FAIL", "FAIL"]);
        assert!(
            failed.to_string().contains("priority FAIL (the server did not take it over in 100 of 100)"),
            "{failed}"
        );
        let mainline = judge(binder, None, false, (100, 100), (10, 0));
        assert_eq!(words(&mainline), ["N/A", "N/A", "PASS"]);
        assert!(mainline.to_string().contains("hands on nice alone"), "{mainline}");
        // What was observed counts more than what a symbol suggests.
        assert_eq!(words(&judge(binder, None, false, (0, 0), (10, 0))), ["PASS", "PASS", "PASS"]);
    }

    #[test]
    fn nothing_to_inherit_from_is_not_applicable() {
        let refused = judge(Transport::Binder, Some("EPERM"), true, (0, 0), (10, 0));
        assert_eq!(words(&refused), ["N/A", "N/A", "PASS"]);
        assert_eq!(judge(Transport::Binder, None, true, (0, 0), (0, 0)).nice.word(), "N/A");
        let futex = judge(Transport::Futex, None, true, (100, 100), (0, 0));
        assert_eq!(futex.to_string(), "policy, priority and nice N/A (futex carries no scheduling attributes)");
    }
}
