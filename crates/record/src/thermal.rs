//! Heat and frequency: throttle events that the CPU counted, and limits that the kernel put on a frequency policy. The
//! current frequency itself changes with idleness and turbo; it is shown but never judged. Source:
//! arch/x86/kernel/cpu/mce/therm_throt.c, Documentation/admin-guide/pm/cpufreq.rst.

use crate::Roots;
use std::path::Path;

/// One reading of a machine's heat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThermalReading {
    /// Sum of all `thermal_throttle/*_throttle_count`; `None` if the CPU has no such counters (VMs, most Arm).
    pub throttle_events: Option<u64>,
    /// `(cpu, scaling_max_freq)` in kHz.
    pub max_khz: Vec<(u32, u64)>,
    /// `(cpu, scaling_cur_freq)` in kHz.
    pub current_khz: Vec<(u32, u64)>,
}

impl ThermalReading {
    /// Reads what this machine has; nothing at all is a valid result.
    pub fn read(roots: &Roots) -> Self {
        let mut reading = Self::default();
        for (cpu, dir) in cpu_dirs(&roots.sys.join("devices/system/cpu")) {
            for file in ["core_throttle_count", "package_throttle_count"] {
                if let Some(count) = number(&dir.join("thermal_throttle").join(file)) {
                    *reading.throttle_events.get_or_insert(0) += count;
                }
            }
            reading.max_khz.extend(number(&dir.join("cpufreq/scaling_max_freq")).map(|khz| (cpu, khz)));
            reading.current_khz.extend(number(&dir.join("cpufreq/scaling_cur_freq")).map(|khz| (cpu, khz)));
        }
        reading
    }
}

/// Throttle events since boot over all CPUs; `None` if the machine counts none.
pub fn thermal_events(roots: &Roots) -> Option<u64> {
    ThermalReading::read(roots).throttle_events
}

/// What happened between two readings, in words: throttle events were counted, or a frequency policy was capped. `None`
/// if nothing happened, or nothing is known.
pub fn thermal_evidence(before: &ThermalReading, after: &ThermalReading) -> Option<String> {
    if let (Some(from), Some(to)) = (before.throttle_events, after.throttle_events)
        && to > from
    {
        return Some(format!("{} throttle events{}", to - from, current(after)));
    }
    let capped = |&(cpu, to): &(u32, u64)| {
        let from = before.max_khz.iter().find(|(number, _)| *number == cpu)?.1;
        (to < from).then(|| format!("cpu{cpu}: scaling_max_freq fell from {from} to {to} kHz{}", current(after)))
    };
    after.max_khz.iter().find_map(capped)
}

fn current(reading: &ThermalReading) -> String {
    let khz = reading.current_khz.iter().map(|&(_, khz)| khz);
    match (khz.clone().min(), khz.max()) {
        (Some(low), Some(high)) => format!(", now {low} to {high} kHz"),
        _ => String::new(),
    }
}

fn cpu_dirs(cpus: &Path) -> Vec<(u32, std::path::PathBuf)> {
    let Ok(entries) = std::fs::read_dir(cpus) else { return Vec::new() };
    let mut dirs: Vec<_> = entries
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.strip_prefix("cpu")?.parse().ok()?, entry.path())))
        .collect();
    dirs.sort_unstable();
    dirs
}

fn number(path: &Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_throttle_event_and_a_cap_are_evidence_and_a_lower_clock_is_not() {
        let cool = ThermalReading {
            throttle_events: Some(3),
            max_khz: vec![(0, 4_000_000)],
            current_khz: vec![(0, 3_900_000)],
        };
        let slower = ThermalReading { current_khz: vec![(0, 800_000)], ..cool.clone() };
        assert_eq!(thermal_evidence(&cool, &slower), None);
        let hot = ThermalReading { throttle_events: Some(5), ..slower.clone() };
        assert_eq!(thermal_evidence(&cool, &hot).unwrap(), "2 throttle events, now 800000 to 800000 kHz");
        let capped = ThermalReading { max_khz: vec![(0, 2_000_000)], ..cool.clone() };
        assert!(thermal_evidence(&cool, &capped).unwrap().contains("cpu0: scaling_max_freq fell from 4000000"));
        assert_eq!(thermal_evidence(&ThermalReading::default(), &hot), None);
    }

    #[test]
    fn counters_of_all_cpus_are_summed() {
        let dir = std::env::temp_dir().join(format!("schedlab-thermal-{}", std::process::id()));
        let roots = Roots { proc: dir.clone(), sys: dir.clone() };
        assert_eq!(thermal_events(&roots), None);
        for cpu in ["cpu0", "cpu1", "cpufreq"] {
            let at = dir.join("devices/system/cpu").join(cpu).join("thermal_throttle");
            std::fs::create_dir_all(&at).unwrap();
            std::fs::write(at.join("core_throttle_count"), "2\n").unwrap();
            std::fs::write(at.join("package_throttle_count"), "5\n").unwrap();
        }
        let events = thermal_events(&roots);
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!(events, Some(14), "cpufreq is not a CPU");
    }
}
