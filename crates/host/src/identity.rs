//! Which machine and kernel this is.

use crate::machine::Machine;
use schedlab_run::Environment;

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
        checks: Vec::new(),
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
    fn x86_and_arm_name_their_cpus() {
        assert_eq!(cpu_model("processor\t: 0\nmodel name\t: AMD EPYC\n"), "AMD EPYC");
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(cpu_model(arm), "implementer 0x41 part 0xd0c");
        assert_eq!(cpu_model(""), "");
    }
}
