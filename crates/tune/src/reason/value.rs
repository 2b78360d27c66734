//! Why the kernel refuses a value: its range, the knobs that limit it, the words that another file lists.

use crate::catalogue::{kernel_number, row_of_file};
use crate::choices::{listed, not_offered};
use crate::knob::normalise;
use schedlab_plan::units::parse_duration_ns;
use std::path::Path;

/// What limits a value that the kernel refused.
pub(super) fn out_of_limits(path: &Path, value: &str) -> String {
    let Some(row) = row_of_file(path) else { return "it is out of range, or limited by another knob".into() };
    if let Some(why) = row.no_number(value) {
        return why;
    }
    match listed(path) {
        Some(words) if words.iter().any(|word| word == value) => return "it is limited by another knob".into(),
        Some(words) => return not_offered(&row, &words, value),
        None => {}
    }
    if let Some(words) = listed_beside(path).filter(|words| !words.iter().any(|word| word == value)) {
        return not_offered(&row, &words, value);
    }
    // Also `0x10` and the three numbers of `tcp_rmem` begin like a number.
    let is_word = value.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_special = row.special.iter().any(|special| special.value == value);
    if row.range.is_empty() && !row.unit.is_empty() && is_word && !is_special {
        return format!("{} takes a number of {}, not `{value}`", row.name, row.unit);
    }
    if row.range.is_empty() && !row.coupled.is_empty() {
        return format!("{} is limited: {}; one command can set both", row.name, row.coupled);
    }
    let Some(limits) = row.limits() else { return "it is out of range, or limited by another knob".into() };
    let is_sysctl = path.starts_with("/proc");
    match kernel_number(value) {
        Some(number) if is_sysctl && number > i32::MAX.into() && row.range.ends_with("..") => {
            format!("{limits}; a sysctl is a number of 32 bits: at most {} (unsigned {})", i32::MAX, u32::MAX)
        }
        Some(runtime) if row.name == "rt_runtime" => limits + &shares_of_groups(path, runtime).unwrap_or_default(),
        _ => limits,
    }
}

/// A runtime within its range is refused if a group may use more (kernel/sched/rt.c `tg_rt_schedulable`).
fn shares_of_groups(path: &Path, runtime: i128) -> Option<String> {
    let period: i128 = crate::file::read(path.with_file_name("sched_rt_period_us")).ok()?.trim().parse().ok()?;
    (runtime <= period).then(|| {
        format!(
            "; {runtime} is within that ({period}), so a group may hold a larger share (CONFIG_RT_GROUP_SCHED): lower \
             cpu.rt_runtime_us of the cgroups first, also of the root group"
        )
    })
}

/// What already uses that which the value would take away (kernel/sched/deadline.c `sched_dl_global_validate`,
/// kernel/sched/rt.c `tg_rt_schedulable`).
pub(super) fn in_use(path: &Path) -> &'static str {
    match row_of_file(path).map(|row| row.name) {
        Some("rt_runtime" | "rt_period") => {
            "deadline tasks, real-time tasks of a group, or since Linux 6.12 the fair server have a larger share than \
             rt_runtime / rt_period would leave; take a larger rt_runtime or a shorter rt_period, or end these tasks or \
             lower fair_server_runtime first"
        }
        _ => "something that runs now uses it; end that first, or take another value",
    }
}

/// What fits into the kernel's variable. Sysfs has the bounds of its parameters nowhere.
pub(super) fn too_large(path: &Path) -> String {
    let limits = row_of_file(path).filter(|row| row.range.split_once("..").is_some_and(|(_, most)| !most.is_empty()));
    let limits = limits.and_then(|row| row.limits());
    limits.unwrap_or_else(|| format!("it is a number of 32 bits; take {} at most", u32::MAX))
}

/// The words that a file beside this one lists.
fn listed_beside(path: &Path) -> Option<Vec<String>> {
    let list = match path.file_name()?.to_str()? {
        "current_governor" => "available_governors",
        "scaling_governor" => "scaling_available_governors",
        "energy_performance_preference" => "energy_performance_available_preferences",
        _ => return None,
    };
    let words = normalise(&crate::file::read(path.with_file_name(list)).ok()?);
    Some(words.split(' ').map(str::to_owned).collect())
}

/// A time as a plain number, for a knob whose name ends with its unit.
pub(super) fn without_unit(path: &Path, value: &str) -> Option<u64> {
    let (_, unit) = path.file_name()?.to_str()?.rsplit_once('_')?;
    let ns_each = match unit {
        "ns" => 1,
        "us" => 1000,
        "ms" => 1_000_000,
        _ => return None,
    };
    let has_unit = value.trim().ends_with(|c: char| c.is_ascii_alphabetic());
    let ns = parse_duration_ns(value.trim()).ok().filter(|ns| has_unit && ns % ns_each == 0)?;
    Some(ns / ns_each)
}

#[cfg(test)]
mod tests {
    use crate::reason::refused;
    use std::io;
    use std::path::Path;

    fn say(path: &str, errno: i32, value: &str) -> String {
        refused(Path::new(path), &io::Error::from_raw_os_error(errno), Some(value))
    }

    #[test]
    fn what_is_in_use_or_too_large_is_told_with_what_to_do() {
        for (file, value) in [("sched_rt_runtime_us", "16"), ("sched_rt_period_us", "2147483647")] {
            let why = say(&format!("/proc/sys/kernel/{file}"), 16, value);
            assert!(
                why.contains(&format!("refuses `{value}`")) && why.contains("larger rt_runtime or a shorter"),
                "{why}"
            );
        }
        assert!(say("/sys/x", 16, "1").ends_with("end that first, or take another value"));
        let poll = say("/sys/module/haltpoll/parameters/guest_halt_poll_ns", 34, "10000000000");
        assert!(poll.ends_with("(ERANGE): it is a number of 32 bits; take 4294967295 at most"), "{poll}");
        let grow = say("/sys/module/kvm/parameters/halt_poll_ns_grow_start", 34, "10000000000");
        assert!(grow.ends_with("halt_poll_grow_start takes 0 to 4294967295 ns"), "{grow}");
    }

    #[test]
    fn a_value_without_a_range_is_told_what_limits_it() {
        let min = say("/proc/sys/kernel/sched_deadline_period_min_us", 22, "5000000");
        let of_min = "deadline_period_min is limited: deadline_period_max: at most that; one command can set both";
        assert!(min.ends_with(of_min), "{min}");
        let word = say("/proc/sys/kernel/sched_deadline_period_min_us", 22, "banana");
        assert!(word.ends_with("deadline_period_min takes a number of us, not `banana`"), "{word}");
        let budget = say("/proc/sys/net/core/netdev_budget_usecs", 22, "100");
        assert!(budget.contains("two ticks at least on new kernels") && !budget.contains("0 us or more"), "{budget}");
    }

    #[test]
    fn an_unknown_governor_is_told_with_those_that_there_are() {
        let tree = tempfile::tempdir().unwrap();
        for (place, file, list, name) in [
            ("cpuidle", "current_governor", "available_governors", "cpuidle_governor"),
            ("cpufreq/policy0", "scaling_governor", "scaling_available_governors", "governor"),
        ] {
            let directory = tree.path().join("sys/devices/system/cpu").join(place);
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join(list), "menu haltpoll \n").unwrap();
            let why = say(directory.join(file).to_str().unwrap(), 22, "nosuch");
            assert!(why.ends_with(&format!("{name} takes menu, haltpoll on this kernel, not `nosuch`")), "{why}");
        }
    }
}
