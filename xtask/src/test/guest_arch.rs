//! Runs the aarch64 binary on this machine through qemu-user. `list` runs directly. `bench` execs itself for its trial,
//! so the kernel must know the foreign format: either it is registered in a user namespace of its own (binfmt_misc can
//! be mounted there since Linux 6.7), which does not change the host, or the host already has it registered.

use super::ledger::Outcome;
use crate::machine::{Machine, Presence};
use crate::workspace::stdout_of;
use anyhow::{Result, bail};
use std::path::Path;
use std::process::{Command, Stdio};

/// From the ELF header: 64-bit, little-endian, ET_EXEC or ET_DYN, EM_AARCH64.
const MAGIC: &str = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00";
const MASK: &str = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff";

/// Short, because every instruction is emulated.
const BENCH: [&str; 4] = ["bench", "pipe:loops=200", "--counters", "basic"];

/// Runs `list` and a small `bench`; what the machine cannot run is skipped.
pub(super) fn run(binary: &Path, machine: &Machine) -> Result<Outcome> {
    let Some(qemu) = machine.program("qemu-aarch64") else {
        return Ok(Outcome::skipped("running the aarch64 binary needs qemu-user"));
    };
    let listed = stdout_of(Command::new(&qemu).arg(binary).arg("list"))?;
    if !listed.contains("messaging") {
        bail!("the aarch64 binary's `list` names no workload `messaging`: {listed}");
    }
    let mut outcome = Outcome::passed(1);
    let Some(mut bench) = bench_command(binary, &qemu, machine) else {
        outcome.add(Outcome::skipped("the aarch64 binary's `bench` needs Linux 6.7 (binfmt_misc in a user namespace)"));
        return Ok(outcome);
    };
    let measured = stdout_of(&mut bench)?;
    println!("  {}", measured.lines().find(|l| !l.trim().is_empty()).unwrap_or_default());
    if measured.trim().is_empty() {
        bail!("the aarch64 binary's `bench` printed nothing");
    }
    outcome.passed += 1;
    Ok(outcome)
}

/// The command that runs `bench`, if this kernel can exec the binary in one of the two ways.
fn bench_command(binary: &Path, qemu: &Path, machine: &Machine) -> Option<Command> {
    if machine.proc.join("sys/fs/binfmt_misc/qemu-aarch64").exists() {
        let mut direct = Command::new(binary);
        direct.args(BENCH);
        return Some(direct);
    }
    let taught = |then: &str| {
        let binfmt = "/proc/sys/fs/binfmt_misc";
        let rule = format!(":schedlab-aarch64:M::{MAGIC}:{MASK}:{}:F", qemu.display());
        let script =
            format!("mount -t binfmt_misc none {binfmt} && printf '%s' '{rule}' > {binfmt}/register && {then} \"$@\"");
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"]).stdin(Stdio::null());
        unshare
    };
    // Before 6.7 the mount in the namespace is refused, so the format cannot be registered.
    let mut probe = taught("true");
    let works = machine.has("user namespaces") == Presence::Present
        && probe.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    works.then(|| {
        let mut bench = taught("exec");
        bench.arg(binary).args(BENCH);
        bench
    })
}
