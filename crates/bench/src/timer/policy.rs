//! The threads' policy: it is tried first, so that a missing permission is reported in one clear line before anything
//! is set up.

use super::INFO;
use crate::error::BenchError;
use schedlab_plan::Policy;
use schedlab_sys::{rights, sched_attr};
use std::io;

/// Puts the calling thread under the policy.
pub(super) fn take(policy: Policy) -> io::Result<()> {
    let (number, priority) = policy.sched_numbers();
    sched_attr::set_policy(0, number, priority)
}

/// Whether a task of ours may have the policy.
pub(super) fn check(policy: Policy) -> Result<(), BenchError> {
    let (number, priority) = policy.sched_numbers();
    rights::try_policy(number, priority).map_err(|error| refused(policy, &error))
}

fn refused(policy: Policy, error: &io::Error) -> BenchError {
    let fix = match policy {
        Policy::Fifo(_) | Policy::Rr(_) => {
            "a real-time policy needs CAP_SYS_NICE or RLIMIT_RTPRIO: run with sudo, or `ulimit -r 99` as root (root is \
             refused too in a cgroup v1 group whose cpu.rt_runtime_us is 0)"
        }
        _ => "leaving policy idle needs CAP_SYS_NICE or a sufficient RLIMIT_NICE: run with sudo",
    };
    BenchError::NotPossibleHere { workload: INFO.name, reason: format!("policy={policy}: {error}; {fix}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_policy_is_allowed_and_leaves_the_caller_alone() {
        let before = sched_attr::get(0).unwrap();
        check(Policy::Batch).unwrap();
        assert_eq!(sched_attr::get(0).unwrap(), before);
    }

    #[test]
    fn a_refusal_says_what_is_missing() {
        let error = refused(Policy::Fifo(80), &io::Error::from_raw_os_error(1)).to_string();
        assert!(error.contains("policy=fifo:80") && error.contains("ulimit -r") && !error.contains('\n'), "{error}");
    }
}
