//! Whether this is a guest that schedlab booted, and in which lane: the host put this on the kernel command line.

use crate::draft::check;
use crate::machine::Machine;
use schedlab_plan::Check;
use schedlab_plan::lane::{Accelerator, Lane, Provenance, kernel_of};

/// The lane, if this is one of our guests; otherwise there is no such line.
pub(crate) fn lane(machine: &Machine<'_>) -> Option<Check> {
    let made_by = Provenance::of_command_line(machine.proc("cmdline").text()?)?;
    let (draft, value) = (check("guest_lane", "lane of this guest"), made_by.to_string());
    let draft = match made_by.lane {
        Lane::Real { oversubscribed: true, .. } => draft
            .warning(value, "more CPUs than the host has: they wait for each other, and nothing can be compared")
            .fix("fewer --cpus, or --lane virtual"),
        Lane::Real { accelerator: Accelerator::Kvm, .. } => {
            draft.info(value, "wall clock, on the host's CPUs; beside a translated guest its numbers mean nothing")
        }
        Lane::Real { .. } => {
            let slow = "wall clock; translated code is ten times slower: compare guests with guests";
            let why = made_by.no_kvm.map(|no_kvm| format!("; without KVM: {}", no_kvm.why()));
            draft.info(value, &(slow.to_owned() + &why.unwrap_or_default()))
        }
        Lane::Virtual(_) => draft.info(
            value,
            "time is counted in instructions, one CPU after the other: switches and orders are exact and repeat; \
             caches, memory and CPUs that run at once are not in it, and no time is a latency",
        ),
    };
    Some(draft.evidence("/proc/cmdline: schedlab.*"))
}

/// Which build of its release runs in one of our guests.
pub(crate) fn kernel(machine: &Machine<'_>) -> Option<Check> {
    let cmdline = machine.proc("cmdline");
    let crc32 = kernel_of(cmdline.text()?)?;
    let draft = check("guest_kernel", "kernel of this guest").info(
        format!("CRC-32 {crc32}"),
        "two builds of one release are two kernels; `schedlab vm list` and the command name them",
    );
    Some(draft.evidence("/proc/cmdline: schedlab.kernel"))
}
