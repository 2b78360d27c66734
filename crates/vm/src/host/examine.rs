//! What is known about this host's KVM, for `doctor`, which boots no guest: what guests have shown since the host
//! booted; otherwise the first console output of a cached kernel that is started alone; otherwise the result of a
//! machine with a few instructions. It takes some seconds at most.

use super::kvm::{Failure, Kvm, boot_failure, real_mode_failure};
use super::kvm_cache::{KvmKey, KvmResult};
use super::process::Installed;
use crate::error::VmError;
use crate::kernel::cache::Cache;
use crate::kernel::debian;
use crate::kernel::image::Architecture;
use schedlab_plan::InOrder;
use std::time::Duration;

/// The limit even on a host that is always busy.
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

/// The result for x86-64 guests; an error without QEMU.
pub fn examine(kvm: &Kvm, cache: &Cache) -> Result<Seen, VmError> {
    if let Some(bar) = kvm.bar(Architecture::X86_64) {
        return Ok(Seen::Fails(bar));
    }
    let qemu = Installed::find(Architecture::X86_64)?;
    let architecture = debian::architecture(Architecture::X86_64);
    let entries = cache.entries()?;
    let entries = || entries.iter().map(|(entry, _)| entry).filter(|entry| entry.architecture == architecture);
    let kept = KvmKey::of(&qemu, 0).map(|question| kvm.cache.of_any_kernel(&question)).unwrap_or_default();
    let name = |crc32| entries().find(|entry| entry.kernel_crc32() == crc32).map(|entry| entry.name.clone());
    if let Some(seen) = of_guests(kept.into_iter().map(|(crc32, answer)| (name(crc32), answer)).collect()) {
        return Ok(seen);
    }
    // The newest entry that can be read.
    let Some(kernel) = entries().find_map(|entry| cache.find(&entry.name, architecture).ok().flatten()) else {
        return Ok(match real_mode_failure(&qemu)? {
            None => Seen::MayRun("a machine of three instructions ended as written; no kernel is in the cache".into()),
            Some(failure) => Seen::Fails(failure),
        });
    };
    let Some(failure) = boot_failure(&qemu, &kernel, LIMIT)? else {
        return Ok(Seen::Runs(format!("{}, started alone, said its first word", kernel.name)));
    };
    // Debian's kernels are known to boot; a kernel that was built here may itself be at fault.
    if let Some(question) = KvmKey::of(&qemu, kernel.crc32).filter(|_| kernel.name.starts_with("debian:")) {
        kvm.cache.keep(&question, &KvmResult { no_kvm: Some(failure.why), evidence: failure.evidence.clone() });
    }
    Ok(Seen::Fails(Failure { evidence: format!("{}, started alone: {}", kernel.name, failure.evidence), ..failure }))
}

/// What guests have shown; each result is for a kernel that is or was in the cache. If KVM does not run one of them,
/// the user has to know, whatever the others show.
fn of_guests(mut kept: Vec<(Option<String>, KvmResult)>) -> Option<Seen> {
    kept.in_order_by_key(|(kernel, answer)| (answer.no_kvm.is_none(), kernel.clone()));
    let named = |runs: bool| {
        let of = kept.iter().filter(|(_, answer)| answer.no_kvm.is_none() == runs);
        of.map(|(kernel, _)| kernel.as_deref().unwrap_or("another kernel")).collect::<Vec<_>>().join(", ")
    };
    let (fails, runs) = (named(false), named(true));
    let (_, KvmResult { no_kvm, evidence }) = kept.first()?;
    let Some(why) = *no_kvm else {
        return Some(Seen::Runs(format!("guests of {runs} were up since this host's start")));
    };
    let others = if runs.is_empty() { String::new() } else { format!("; guests of {runs} were up") };
    let evidence = format!("shown by guests of {fails} since this host's start: {evidence}{others}");
    Some(Seen::Fails(Failure { why, evidence }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::NoKvm;

    #[test]
    fn one_kernel_that_hangs_is_told_whatever_others_did() {
        let of = |kernel: &str, no_kvm: Option<NoKvm>| {
            let evidence = if no_kvm.is_some() { "its kernel said nothing for 5 s" } else { "a guest was up" };
            ((!kernel.is_empty()).then(|| kernel.to_owned()), KvmResult { no_kvm, evidence: evidence.into() })
        };
        assert_eq!(of_guests(Vec::new()), None);
        let up = of_guests(vec![of("debian:6.12", None), of("", None)]);
        assert_eq!(
            up,
            Some(Seen::Runs("guests of another kernel, debian:6.12 were up since this host's start".into()))
        );
        let hangs = Some(NoKvm::Hangs);
        let kept = vec![of("debian:6.12", None), of("debian:6.1", hangs), of("build:x", hangs)];
        let Some(Seen::Fails(Failure { why: NoKvm::Hangs, evidence })) = of_guests(kept) else { panic!("it fails") };
        assert_eq!(
            evidence,
            "shown by guests of build:x, debian:6.1 since this host's start: its kernel said nothing for 5 s; guests of \
             debian:6.12 were up"
        );
    }
}
