//! Checks that the guest is the machine that was asked for. Without this, a CPU that did not come up, or a kernel
//! without NUMA, would go unnoticed.

use crate::job::Arranged;
use schedlab_plan::counted;
use schedlab_plan::units::CpuList;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Words on the command line with which the user deliberately removes CPUs or nodes.
const FEWER: &[&str] = &["nosmp", "nosmt", "maxcpus=", "nr_cpus=", "possible_cpus=", "mitigations=", "numa="];

/// Whether the command line asks for fewer CPUs or nodes than the machine has.
pub(super) fn asks_for_fewer(command_line: &str) -> bool {
    let takes = |word: &str| FEWER.iter().any(|fewer| word.starts_with(fewer));
    command_line.split_whitespace().any(|word| takes(word) && (word.contains("nosmt") || !word.starts_with("mit")))
}

/// A sentence on how the kernel's view differs from what was asked for.
pub(super) fn other(wanted: Arranged, sys: &Path) -> Option<String> {
    let seen = seen(sys);
    if wanted == Arranged::default() || wanted == seen {
        return None;
    }
    let [wanted, seen] = [wanted, seen].map(|Arranged { cpus, sockets, threads, nodes }| {
        let of_a_core = if threads == 1 { String::new() } else { format!("{} a core, ", counted(threads, "threads")) };
        format!("{}, {}, {of_a_core}{}", counted(cpus, "CPUs"), counted(sockets, "sockets"), counted(nodes, "nodes"))
    });
    Some(format!(
        "its kernel runs {seen} of the {wanted} that were asked for: its command line says so (nosmp, maxcpus=, nr_cpus=, nosmt), it lacks CONFIG_SMP or CONFIG_NUMA, sees no threads on such a CPU, or a CPU did not \
         come up in time on a busy host; `dmesg` in --verbose says which"
    ))
}

/// Counts what sysfs shows of the online CPUs; a uniprocessor kernel shows nothing.
fn seen(sys: &Path) -> Arranged {
    let text = |path: String| fs::read_to_string(sys.join(path)).unwrap_or_default();
    let numbers = |path: String| text(path).parse::<CpuList>().unwrap_or_default().as_slice().to_vec();
    let cpus = numbers("devices/system/cpu/online".into());
    let package = |cpu: &u32| text(format!("devices/system/cpu/cpu{cpu}/topology/physical_package_id"));
    let sockets: BTreeSet<String> = cpus.iter().map(package).collect();
    let siblings = |cpu: &u32| numbers(format!("devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"));
    let threads = cpus.iter().map(|cpu| siblings(cpu).len()).max().unwrap_or(1);
    let nodes = numbers("devices/system/node/online".into());
    let count = |length: usize| u32::try_from(length.max(1)).unwrap_or(u32::MAX);
    let (cpus, sockets, nodes) = (count(cpus.len()), count(sockets.len()), count(nodes.len()));
    Arranged { cpus, sockets, threads: count(threads), nodes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_is_another_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let sys = directory.path();
        let write = |path: &str, text: &str| {
            let file = sys.join("devices/system").join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        let of = |cpus, sockets, nodes| Arranged { cpus, sockets, threads: 1, nodes };
        assert_eq!(other(of(1, 1, 1), sys), None, "a kernel for one CPU");
        for (cpu, package) in [(0, 0), (1, 0), (2, 1), (3, 1)] {
            write(&format!("cpu/cpu{cpu}/topology/physical_package_id"), &format!("{package}\n"));
        }
        write("cpu/online", "0-3\n");
        write("node/online", "0-1\n");
        assert_eq!(other(of(4, 2, 2), sys), None);
        assert_eq!(other(Arranged::default(), sys), None, "nobody asked");
        write("cpu/online", "0-1,3\n");
        let said = other(of(4, 2, 2), sys).unwrap();
        assert!(said.contains("3 CPUs, 2 sockets, 2 nodes of the 4 CPUs, 2 sockets, 2 nodes"), "{said}");
        write("cpu/online", "0-1\n");
        assert!(other(of(2, 2, 2), sys).unwrap().contains("2 CPUs, 1 socket, 2 nodes"));
        let threaded = Arranged { threads: 2, ..of(2, 1, 2) };
        let said = other(threaded, sys).unwrap();
        assert!(
            said.contains("2 CPUs, 1 socket, 2 nodes of the 2 CPUs, 1 socket, 2 threads a core, 2 nodes"),
            "{said}"
        );
        for cpu in [0, 1] {
            write(&format!("cpu/cpu{cpu}/topology/thread_siblings_list"), "0-1\n");
        }
        assert_eq!(other(threaded, sys), None);
    }

    #[test]
    fn words_that_take_cpus_away_are_known() {
        for line in ["quiet nosmp", "maxcpus=1", "nosmt=force", "mitigations=auto,nosmt", "numa=off"] {
            assert!(asks_for_fewer(line), "{line}");
        }
        for line in ["quiet", "mitigations=off", "isolcpus=1", "schedlab.x=nosmt"] {
            assert!(!asks_for_fewer(line), "{line}");
        }
    }
}
