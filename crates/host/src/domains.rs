//! The scheduler's view of the CPUs: its domains, and how many CPUs it considers to share a last-level cache.

use crate::draft::check;
use crate::machine::{Machine, numbered_dirs, text_at};
use schedlab_plan::Check;

/// One domain of CPU 0; the list begins with the smallest.
#[derive(Debug, PartialEq, Eq)]
struct Domain {
    name: String,
    cpus: u32,
    shares_cache: bool,
}

/// `None` if the kernel does not show the domains.
pub(crate) fn sd_llc_size(machine: &Machine<'_>) -> Option<u32> {
    let domains = domains_of_cpu0(machine);
    let largest = domains.iter().rev().find(|domain| domain.shares_cache).map_or(1, |domain| domain.cpus);
    (machine.cpu_dirs().len() == 1 || !domains.is_empty()).then_some(largest)
}

/// Names, sizes, and `sd_llc_size`: a wakeup searches that many CPUs for an idle one, and it is the factor in
/// `wake_wide`.
pub(crate) fn sched_domains(machine: &Machine<'_>) -> Check {
    let draft = check("sched_domains", "scheduling domains");
    let effect = "a wakeup looks for an idle CPU within the last-level cache's domain; balancing climbs the rest";
    let evidence = "/sys/kernel/debug/sched/domains/cpu0/*; /proc/schedstat";
    if machine.cpu_dirs().len() == 1 {
        return draft.info("one CPU; sd_llc_size 1", "there is nothing to balance").evidence(evidence);
    }
    let Some(llc) = sd_llc_size(machine) else {
        return draft
            .unavailable("unknown", effect)
            .fix(machine.debugfs_fix(
                "sched/domains, if the kernel has CONFIG_SCHED_DEBUG; /proc/schedstat needs CONFIG_SCHEDSTATS",
            ))
            .evidence(evidence);
    };
    let names: Vec<String> =
        domains_of_cpu0(machine).iter().map(|domain| format!("{} {}", domain.name, domain.cpus)).collect();
    draft.info(format!("{}; sd_llc_size {llc}", names.join(", ")), effect).evidence(evidence)
}

fn domains_of_cpu0(machine: &Machine<'_>) -> Vec<Domain> {
    let schedstat = machine.proc("schedstat");
    let sizes = sizes_of_cpu0(schedstat.text().unwrap_or_default());
    let directories = numbered_dirs(&machine.roots.sys.join("kernel/debug/sched/domains/cpu0"), "domain");
    let domain = |((_, directory), cpus): ((u32, std::path::PathBuf), u32)| {
        let flags = text_at(&directory.join("flags"))?;
        // Renamed in Linux 6.9.
        let shares_cache = flags.split_whitespace().any(|f| f == "SD_SHARE_PKG_RESOURCES" || f == "SD_SHARE_LLC");
        Some(Domain { name: text_at(&directory.join("name"))?, cpus, shares_cache })
    };
    directories.into_iter().zip(sizes).filter_map(domain).collect()
}

/// CPUs of each domain, from the masks of the `domainN` lines below `cpu0`; since Linux 6.15 a name comes before them.
fn sizes_of_cpu0(schedstat: &str) -> Vec<u32> {
    let lines = schedstat.lines().skip_while(|line| !line.starts_with("cpu0 ")).skip(1);
    let of_domains = lines.take_while(|line| line.starts_with("domain"));
    let is_mask = |word: &&str| word.chars().all(|c| c == ',' || c.is_ascii_hexdigit());
    let masks = of_domains.filter_map(|line| line.split_whitespace().skip(1).take(2).find(is_mask));
    masks.map(|mask| mask.chars().filter_map(|c| c.to_digit(16)).map(u32::count_ones).sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_from_old_and_new_lines() {
        let old = "version 15\ntimestamp 4294895264\ncpu0 0 0 0 0 0 0 1 2 3\ndomain0 3 0 0 0\ndomain1 ff,0000ffff 0 0\n\
                   cpu1 0 0 0\ndomain0 0000000f 1\n";
        assert_eq!(sizes_of_cpu0(old), [2, 24]);
        assert_eq!(sizes_of_cpu0("version 17\ncpu0 0 0\ndomain0 MC 00000003 0 0\n"), [2]);
        assert!(sizes_of_cpu0("").is_empty());
        assert!(sizes_of_cpu0("cpu0 1 2 3\ncpu1 1 2 3\n").is_empty());
    }
}
