//! Whether guests run on the host's CPUs, that is, with KVM. The caller, which can start one, passes the result.

use crate::draft::check;
use schedlab_plan::Check;
use schedlab_plan::lane::NoKvm;

/// What is known about KVM, with the evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KvmSeen {
    /// The outcome.
    pub outcome: KvmOutcome,
    /// The evidence.
    pub evidence: String,
    /// What to do about it; empty if nothing.
    pub fix: String,
}

/// How far KVM got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KvmOutcome {
    /// A guest's kernel ran.
    Runs,
    /// No kernel was available to try it.
    MayRun,
    /// No guest's kernel runs.
    Fails(NoKvm),
    /// It could not be tried.
    Unknown,
}

/// The check about KVM.
pub fn kvm(seen: &KvmSeen) -> Check {
    const TRANSLATED: &str = "guests of `schedlab vm` are translated, 10 to 50 times slower";
    let draft = check("kvm", "KVM for guests");
    let draft = match seen.outcome {
        KvmOutcome::Runs => draft.good("works", "guests of `schedlab vm` run on the CPUs as they are"),
        KvmOutcome::MayRun => draft.info(
            "starts",
            "whether Linux boots under it shows only when a guest prints its first line; `vm` tries \
                   it, and falls back to TCG",
        ),
        KvmOutcome::Fails(NoKvm::Hangs) => draft.warning("starts, and hangs", TRANSLATED),
        KvmOutcome::Fails(NoKvm::Dies) => draft.warning("starts, and dies", TRANSLATED),
        KvmOutcome::Fails(NoKvm::Refused) => draft.warning("refused", TRANSLATED),
        KvmOutcome::Fails(NoKvm::Absent) => draft.info("absent", TRANSLATED),
        KvmOutcome::Fails(NoKvm::Foreign | NoKvm::Unwanted) => draft.info("not used", TRANSLATED),
        KvmOutcome::Unknown => draft.unavailable("unknown", "whether guests are translated is not known"),
    };
    draft.fix(&seen.fix).evidence(&seen.evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_plan::CheckState;

    #[test]
    fn what_was_seen_is_told_apart() {
        let of = |outcome| {
            let check = kvm(&KvmSeen { outcome, evidence: "seen".into(), fix: "fix".into() });
            assert_eq!((check.evidence.as_str(), check.fix.as_str()), ("seen", "fix"));
            (check.value, check.state)
        };
        let all = [
            (KvmOutcome::Runs, "works", CheckState::Good),
            (KvmOutcome::MayRun, "starts", CheckState::Info),
            (KvmOutcome::Fails(NoKvm::Hangs), "starts, and hangs", CheckState::Warning),
            (KvmOutcome::Fails(NoKvm::Dies), "starts, and dies", CheckState::Warning),
            (KvmOutcome::Fails(NoKvm::Refused), "refused", CheckState::Warning),
            (KvmOutcome::Fails(NoKvm::Absent), "absent", CheckState::Info),
            (KvmOutcome::Unknown, "unknown", CheckState::Unavailable),
        ];
        for (outcome, value, state) in all {
            assert_eq!(of(outcome), (value.to_owned(), state));
        }
    }
}
