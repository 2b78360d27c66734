//! The command line of a guest's kernel: our console and what ends it, words that determine the result, and the user's
//! words.

use super::boot::Boot;
use crate::error::VmError;
use crate::kernel::image::Architecture;
use crate::lane::{self, Accelerator, Lane, Provenance};
use crate::qemu;
use schedlab_plan::lane::{KEPT, kernel_word};

/// A kernel's command line is truncated after this many bytes (COMMAND_LINE_SIZE less its terminator).
const LONGEST_COMMAND_LINE: usize = 2047;

/// The kernel command line of this guest.
pub(super) fn command_line(boot: &Boot) -> Result<String, VmError> {
    let Boot { lane, no_kvm, command_line, .. } = boot;
    let architecture = boot.kernel.image.architecture;
    let claims_intel = qemu::needs_intel_vendor(architecture, *lane, &boot.machine);
    let made_by = Provenance { lane: *lane, qemu: boot.qemu.version.clone(), no_kvm: *no_kvm };
    let mitigations = if claims_intel { lane::AS_ON_AMD } else { &[] };
    let kept = if boot.job.stops { &[KEPT][..] } else { &[] };
    words(architecture, &made_by, boot.kernel.crc32, &[kept, mitigations].concat(), command_line)
}

/// The kernel's command line: our console and what ends it, words that determine the result, and last the user's words,
/// so that they win.
fn words(
    architecture: Architecture,
    made_by: &Provenance,
    kernel_crc32: u32,
    more: &[&str],
    added: &str,
) -> Result<String, VmError> {
    let lane = made_by.lane;
    let translated = !matches!(lane, Lane::Real { accelerator: Accelerator::Kvm, .. });
    let mut words = vec![format!("console={}", qemu::console_name(architecture))];
    if !translated {
        words.push(qemu::EARLY_CONSOLE.into());
    }
    // A panic reboots at once, and with `-no-reboot` QEMU then ends.
    words.extend(["quiet", "panic=-1", "rdinit=/init", qemu::NO_CIPHER_TESTS].map(str::to_owned));
    if matches!(lane, Lane::Virtual(_)) {
        words.push("nokaslr".into());
    }
    if translated && architecture == Architecture::X86_64 {
        // All CPUs read one counter, but the kernel's check of that takes longer than it allows. Without this word, a
        // clock read would be a read of the HPET, which takes tens of microseconds in a translated guest.
        words.push("tsc=reliable".into());
    }
    words.extend(made_by.words());
    words.push(kernel_word(kernel_crc32));
    words.extend(more.iter().map(|word| (*word).to_owned()));
    words.extend(lane::padding(lane));
    if let Some(ours) = added.split_whitespace().find(|word| word.starts_with("schedlab.")) {
        let fix = "schedlab sets this itself: leave it out, and use the option (--lane, --seed, --shift, …)";
        return Err(VmError::Words(format!("--cmdline {ours}: {fix}")));
    }
    words.extend(added.split_whitespace().map(str::to_owned));
    let line = words.join(" ");
    if line.len() > LONGEST_COMMAND_LINE {
        let (length, most) = (line.len(), LONGEST_COMMAND_LINE);
        return Err(VmError::Words(format!(
            "the kernel's command line has {length} bytes, more than {most}: shorten --cmdline"
        )));
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::Virtual;

    #[test]
    fn the_command_line_ends_with_the_users_words() {
        let real = Lane::Real { accelerator: Accelerator::Tcg, oversubscribed: false };
        let words = |architecture, lane, crc32, added: &str| {
            let made_by = Provenance { lane, qemu: "7.2.22".into(), no_kvm: None };
            words(architecture, &made_by, crc32, &[], added)
        };
        let line = words(Architecture::X86_64, real, 0xa1, " preempt=full  quiet=no ").unwrap();
        let expected = "console=ttyS0 quiet panic=-1 rdinit=/init cryptomgr.notests=1 tsc=reliable \
                        schedlab.lane=real schedlab.accelerator=tcg schedlab.qemu=7.2.22 schedlab.kernel=000000a1 \
                        preempt=full quiet=no";
        assert_eq!(line, expected);
        let virtual_ = Lane::Virtual(Virtual { shift: 7, seed: 0, quantum_us: None, dither_us: 0 });
        let line = words(Architecture::Aarch64, virtual_, 0, "").unwrap();
        assert!(line.starts_with("console=ttyAMA0 ") && line.contains(" nokaslr "), "{line}");
        let ours = words(Architecture::X86_64, real, 0xa1, "quiet schedlab.seed=4").unwrap_err();
        assert!(ours.to_string().starts_with("--cmdline schedlab.seed=4: "), "{ours}");
        let long = "x".repeat(2000);
        assert!(words(Architecture::X86_64, real, 0, &long).unwrap_err().to_string().contains("--cmdline"));
        // The early console does not show messages after `quiet`.
        let kvm = Lane::Real { accelerator: Accelerator::Kvm, oversubscribed: false };
        let line = words(Architecture::X86_64, kvm, 0, "").unwrap();
        assert!(line.starts_with("console=ttyS0 earlycon=uart8250,io,0x3f8 quiet "), "{line}");
    }
}
