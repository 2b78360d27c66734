//! What runs a real guest's instructions: KVM, where it runs the guest's own kernel, else translation. One place for all that
//! boots. What a guest has shown is kept, so that the next one does not wait for it again.

use super::answers::{Answer, Answers, Question};
use super::boot::{Boot, Ended, Events, once};
use super::kvm::{self, Kvm};
use super::process::Installed;
use crate::error::{VmError, WITHOUT_KVM};
use crate::kernel::Kernel;
use crate::lane::{Accelerator, Lane, NoKvm, WantedAccelerator};

/// What a guest is started with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// By what.
    pub accelerator: Accelerator,
    /// Why it is not KVM, where it is not.
    pub no_kvm: Option<NoKvm>,
    /// Whether it is booted translated where KVM does not run it after all.
    pub falls_back: bool,
}

impl Choice {
    /// Translation.
    pub fn translated(why: NoKvm) -> Self {
        Self { accelerator: Accelerator::Tcg, no_kvm: Some(why), falls_back: false }
    }

    /// KVM.
    pub fn kvm(falls_back: bool) -> Self {
        Self { accelerator: Accelerator::Kvm, no_kvm: None, falls_back }
    }

    /// What the user wants, as far as it can be, with a sentence where a guest of before decided it. Nothing is started for it.
    pub fn of(
        wanted: WantedAccelerator,
        kvm: &Kvm,
        qemu: &Installed,
        kernel: &Kernel,
    ) -> Result<(Self, Option<String>), VmError> {
        if wanted == WantedAccelerator::Tcg {
            return Ok((Self::translated(NoKvm::Unwanted), None));
        }
        match kvm.bar(kernel.image.architecture) {
            Some(bar) if wanted == WantedAccelerator::Kvm => {
                let fix = Some(kvm::fix(bar.why)).filter(|fix| !fix.is_empty());
                let fix = fix.map(|fix| format!("{fix}; ")).unwrap_or_default();
                return Err(VmError::Refused(format!("--accel kvm: {}; {fix}{WITHOUT_KVM}", bar.evidence)));
            }
            Some(bar) => return Ok((Self::translated(bar.why), None)),
            // Asked for by name it is tried, whatever was before.
            None if wanted == WantedAccelerator::Kvm => return Ok((Self::kvm(false), None)),
            None => {}
        }
        let kept = Question::of(qemu, kernel.crc32).and_then(|question| kvm.answers.find(&question));
        let Some(Answer { no_kvm: Some(why), evidence }) = kept else { return Ok((Self::kvm(true), None)) };
        let note = format!(
            "the guest is translated: since this host's start one of {} was tried under KVM, and {evidence}; --accel kvm tries it again",
            kernel.name
        );
        Ok((Self::translated(why), Some(note)))
    }
}

/// What is kept when a guest is up.
pub(super) struct Proof {
    question: Question,
    answer: Answer,
    answers: Answers,
}

impl Proof {
    fn of(boot: &Boot, no_kvm: Option<NoKvm>, evidence: String) -> Option<Self> {
        let question = Question::of(&boot.qemu, boot.kernel.crc32)?;
        Some(Self { question, answer: Answer { no_kvm, evidence }, answers: boot.kvm.answers.clone() })
    }

    pub(super) fn keep(&self) {
        self.answers.keep(&self.question, &self.answer);
    }
}

/// Boots, follows the guest to its end, and returns what it sent. A guest that KVM does not run is booted again, translated; that
/// it comes up then shows that its kernel, memory and machine were not to blame.
pub fn boot(boot: &Boot, events: &mut dyn Events) -> Result<Ended, VmError> {
    let Lane::Real { accelerator: Accelerator::Kvm, oversubscribed } = boot.lane else {
        return once(boot, None, events);
    };
    let works = Proof::of(boot, None, "a guest was up".into());
    match once(boot, works, events) {
        Err(VmError::Kvm(failure)) if boot.falls_back => {
            events.note(&format!("under KVM {}: the guest is emulated (tcg), 10 to 50 times slower", failure.evidence));
            let lane = Lane::Real { accelerator: Accelerator::Tcg, oversubscribed };
            let translated = Boot { lane, no_kvm: Some(failure.why), ..boot.clone() };
            let fails = Proof::of(boot, Some(failure.why), failure.evidence);
            Ok(Ended { fell_back: Some(failure.why), ..once(&translated, fails, events)? })
        }
        other => other,
    }
}
