//! Chooses the accelerator of a guest in the real lane: KVM if it runs the guest's kernel, otherwise TCG. Everything
//! that boots guests uses it. What one guest shows is kept, so that the next one need not find out again.

use super::boot::{Boot, Events, GuestResult, once};
use super::kvm::{self, Kvm};
use super::kvm_cache::{KvmCache, KvmKey, KvmResult};
use super::process::Installed;
use crate::error::{VmError, WITHOUT_KVM};
use crate::kernel::Kernel;
use crate::lane::{Accelerator, Lane, NoKvm, WantedAccelerator};

/// How a guest is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The accelerator.
    pub accelerator: Accelerator,
    /// If it is not KVM, the reason.
    pub no_kvm: Option<NoKvm>,
    /// Whether to boot it under TCG if it turns out that KVM does not run it.
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

    /// Chooses what the user wants, if possible, without starting anything. Also returns a note if an earlier guest's
    /// result decided it.
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
            // An explicit --accel kvm is always tried, whatever an earlier guest showed.
            None if wanted == WantedAccelerator::Kvm => return Ok((Self::kvm(false), None)),
            None => {}
        }
        let kept = KvmKey::of(qemu, kernel.crc32).and_then(|question| kvm.cache.find(&question));
        let Some(KvmResult { no_kvm: Some(why), evidence }) = kept else { return Ok((Self::kvm(true), None)) };
        let note = format!(
            "the guest runs under TCG: since this host booted, {} was tried under KVM, and {evidence}; --accel kvm tries it again",
            kernel.name
        );
        Ok((Self::translated(why), Some(note)))
    }
}

/// What is stored once a guest is up.
pub(super) struct Proof {
    question: KvmKey,
    answer: KvmResult,
    cache: KvmCache,
}

impl Proof {
    fn of(boot: &Boot, no_kvm: Option<NoKvm>, evidence: String) -> Option<Self> {
        let question = KvmKey::of(&boot.qemu, boot.kernel.crc32)?;
        Some(Self { question, answer: KvmResult { no_kvm, evidence }, cache: boot.kvm.cache.clone() })
    }

    pub(super) fn keep(&self) {
        self.cache.keep(&self.question, &self.answer);
    }
}

/// Boots the guest, follows it to its end, and returns what it sent. If KVM does not run it, it is booted again under
/// TCG; if it then comes up, its kernel, memory and machine were not to blame.
pub fn boot(boot: &Boot, events: &mut dyn Events) -> Result<GuestResult, VmError> {
    let Lane::Real { accelerator: Accelerator::Kvm, oversubscribed } = boot.lane else {
        return once(boot, None, events);
    };
    let works = Proof::of(boot, None, "a guest was up".into());
    match once(boot, works, events) {
        Err(VmError::Kvm(failure)) if boot.falls_back => {
            events.note(&format!("under KVM {}: the guest runs under TCG, 10 to 50 times slower", failure.evidence));
            let lane = Lane::Real { accelerator: Accelerator::Tcg, oversubscribed };
            let translated = Boot { lane, no_kvm: Some(failure.why), ..boot.clone() };
            let fails = Proof::of(boot, Some(failure.why), failure.evidence);
            Ok(GuestResult { fell_back: Some(failure.why), ..once(&translated, fails, events)? })
        }
        other => other,
    }
}
