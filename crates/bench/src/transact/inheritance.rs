//! Whether the server ran as its caller while it served: PASS, FAIL, or N/A with the reason, for policy, priority and
//! nice each. The twins compare the priority alone, and call a kernel that cannot inherit a failure.

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

/// What is known before the counts are looked at.
pub(super) struct Circumstances {
    pub(super) transport: Transport,
    /// Why there was no FIFO class, if there was none.
    pub(super) fifo_refused: Option<String>,
}

/// All three.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inheritance {
    pub(super) policy: Verdict,
    pub(super) priority: Verdict,
    pub(super) nice: Verdict,
}

impl Inheritance {
    /// `fifo` is the FIFO class over all pairs; `nice` the nice probes and how many of them differed.
    pub(super) fn judge(circumstances: &Circumstances, fifo: Tally, nice: (u64, u64)) -> Self {
        let transport = circumstances.transport;
        if !transport.inherits() {
            let none = Verdict::NotApplicable(format!("{} carries no scheduling attributes", transport.name()));
            return Self { policy: none.clone(), priority: none.clone(), nice: none };
        }
        let real_time = |differs: u64| match &circumstances.fifo_refused {
            Some(_) => Verdict::NotApplicable("there was no FIFO caller to inherit from".to_owned()),
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
        write!(f, "policy {}, priority {}, nice {}", self.policy, self.priority, self.nice)
    }
}
