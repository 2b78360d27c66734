//! What is known of this host's KVM, for `doctor`, which boots no guest: what guests have shown since the host's start, else the
//! first word of a cached kernel that is started alone, else a machine of a few instructions. It takes some seconds at most.

use super::answers::{Answer, Question};
use super::kvm::{Failure, Kvm, runs_real_mode, starts};
use super::process::Installed;
use crate::error::VmError;
use crate::kernel::cache::Cache;
use crate::kernel::image::Architecture;
use crate::kernel::{Kernel, debian};
use schedlab_run::InOrder;
use std::time::Duration;

/// In any case, on a host that is busy without end.
const LIMIT: Duration = Duration::from_secs(15);

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// A guest's kernel ran under it: what shows it.
    Runs(String),
    /// A machine without a kernel did, which proves no Linux.
    MayRun(String),
    /// It does not.
    Fails(Failure),
}

/// Asks for x86-64 guests; an error without QEMU.
pub fn examine(kvm: &Kvm, cache: &Cache) -> Result<Seen, VmError> {
    if let Some(bar) = kvm.bar(Architecture::X86_64) {
        return Ok(Seen::Fails(bar));
    }
    let qemu = Installed::find(Architecture::X86_64)?;
    let Some(kernel) = newest(cache)? else { return without_a_kernel(kvm, &qemu) };
    let question = Question::of(&qemu, kernel.crc32);
    if let Some(kept) = question.as_ref().and_then(|question| kvm.answers.find(question)) {
        return Ok(of_answer(kept, &format!("by a guest of {}", kernel.name)));
    }
    let Some(failure) = starts(&qemu, &kernel, LIMIT)? else {
        return Ok(Seen::Runs(format!("{}, started alone, said its first word", kernel.name)));
    };
    // Debian's kernels are known to boot; one that was built here may be to blame itself.
    if let Some(question) = question.filter(|_| kernel.name.starts_with("debian:")) {
        kvm.answers.keep(&question, &Answer { no_kvm: Some(failure.why), evidence: failure.evidence.clone() });
    }
    Ok(Seen::Fails(Failure { evidence: format!("{}, started alone: {}", kernel.name, failure.evidence), ..failure }))
}

fn newest(cache: &Cache) -> Result<Option<Kernel>, VmError> {
    let architecture = debian::architecture(Architecture::X86_64);
    let mut entries = cache.entries()?.into_iter().filter(|(entry, _)| entry.architecture == architecture);
    Ok(entries.find_map(|(entry, _)| cache.find(&entry.name, architecture).ok().flatten()))
}

fn without_a_kernel(kvm: &Kvm, qemu: &Installed) -> Result<Seen, VmError> {
    let mut kept = Question::of(qemu, 0).map(|question| kvm.answers.of_any_kernel(&question)).unwrap_or_default();
    // One kernel that does not run is what a user has to know of.
    kept.in_order_by_key(|answer| answer.no_kvm.is_none());
    if let Some(answer) = kept.into_iter().next() {
        return Ok(of_answer(answer, "by a guest"));
    }
    Ok(match runs_real_mode(qemu)? {
        None => Seen::MayRun("a machine of five instructions ended as written; no kernel is in the cache".into()),
        Some(failure) => Seen::Fails(failure),
    })
}

fn of_answer(Answer { no_kvm, evidence }: Answer, by: &str) -> Seen {
    let evidence = format!("shown {by} since this host's start: {evidence}");
    no_kvm.map_or_else(|| Seen::Runs(evidence.clone()), |why| Seen::Fails(Failure { why, evidence: evidence.clone() }))
}
