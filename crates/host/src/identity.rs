//! Which machine and kernel this is.

use crate::domains::sd_llc_size;
use crate::machine::Machine;
use schedlab_plan::Environment;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The fields of the environment that are names rather than checks.
pub(crate) fn identity(machine: &Machine<'_>) -> Environment {
    let uname = &machine.answers.uname;
    let proc = |name: &str| machine.proc(name).text().unwrap_or_default().to_owned();
    Environment {
        hostname: uname.nodename.clone(),
        kernel_release: uname.release.clone(),
        kernel_version: uname.version.clone(),
        machine: uname.machine.clone(),
        cpu_model: cpu_model(&proc("cpuinfo")),
        online_cpus: machine.sys("devices/system/cpu/online").text().unwrap_or_default().to_owned(),
        cmdline: proc("cmdline"),
        config_crc32: machine.config.as_ref().map(|config| config.fingerprint()).unwrap_or_default(),
        boot_id: proc("sys/kernel/random/boot_id"),
        cgroup: proc("self/cgroup"),
        autogroup: proc("self/autogroup"),
        allowed_cpus: allowed_cpus(&proc("self/status")),
        program_crc32: fingerprint(&machine.roots.proc.join("self/exe")).unwrap_or_default(),
        sd_llc_size: sd_llc_size(machine),
        knobs: Default::default(),
        checks: Vec::new(),
    }
}

/// `Cpus_allowed_list` of /proc/PID/status.
fn allowed_cpus(status: &str) -> String {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.unwrap_or_default().trim().to_owned()
}

/// Length and CRC-32 of a file, enough to distinguish two builds; `None` when it cannot be read.
fn fingerprint(file: &Path) -> Option<String> {
    let (mut file, mut piece) = (File::open(file).ok()?, vec![0u8; 1 << 16]);
    let (mut crc, mut bytes) = (crc32fast::Hasher::new(), 0);
    loop {
        match file.read(&mut piece).ok()? {
            0 => return Some(format!("{bytes}:{:08x}", crc.finalize())),
            read => {
                crc.update(&piece[..read]);
                bytes += read;
            }
        }
    }
}

/// The first `model name`; Arm kernels print numbers of the implementer and the part instead.
fn cpu_model(cpuinfo: &str) -> String {
    let field = |name: &str| {
        cpuinfo.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    field("model name").or_else(|| field("cpu model")).unwrap_or_else(|| {
        match (field("CPU implementer"), field("CPU part")) {
            (Some(implementer), Some(part)) => format!("implementer {implementer} part {part}"),
            _ => String::new(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_and_its_cpus_are_told_apart() {
        assert_eq!(allowed_cpus("Name:\tx\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n"), "0-1");
        let file = std::env::temp_dir().join(format!("schedlab-fingerprint-{}", std::process::id()));
        std::fs::write(&file, "123456789").unwrap();
        let read = fingerprint(&file);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(read.as_deref(), Some("9:cbf43926"), "the check value of CRC-32");
        assert_eq!(fingerprint(&file), None);
    }

    #[test]
    fn x86_and_arm_name_their_cpus() {
        assert_eq!(cpu_model("processor\t: 0\nmodel name\t: AMD EPYC\n"), "AMD EPYC");
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(cpu_model(arm), "implementer 0x41 part 0xd0c");
        assert_eq!(cpu_model(""), "");
    }
}
