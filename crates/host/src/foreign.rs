//! State that no arm of ours sets and that invalidates a trial if it changes: the trial loop reads it before and after
//! each trial. Hot-plug reverts scheduler knobs, a new clocksource affects every time stamp, and another scheduler is
//! as good as another kernel.

use crate::Roots;
use crate::machine::{numbered_dirs, text_at};

/// Named states, always the same names in the same order; a missing file reads as ``. Cheap: one small file per CPU.
pub fn foreign_state(roots: &Roots) -> Vec<(String, String)> {
    let sys = |name: &str| text_at(&roots.sys.join(name)).unwrap_or_default();
    vec![
        ("online CPUs".to_owned(), sys("devices/system/cpu/online")),
        ("clocksource".to_owned(), sys("devices/system/clocksource/clocksource0/current_clocksource")),
        ("frequency governor".to_owned(), governors(roots)),
        ("turbo (no_turbo)".to_owned(), sys("devices/system/cpu/intel_pstate/no_turbo")),
        ("turbo (boost)".to_owned(), sys("devices/system/cpu/cpufreq/boost")),
        ("SMT".to_owned(), sys("devices/system/cpu/smt/active")),
        ("sched_ext state".to_owned(), sys("kernel/sched_ext/state")),
        ("sched_ext scheduler".to_owned(), sys("kernel/sched_ext/root/ops")),
        ("sched_ext enable_seq".to_owned(), sys("kernel/sched_ext/enable_seq")),
    ]
}

/// The active governors, each once: `performance`, or `performance, powersave`.
pub(crate) fn governors(roots: &Roots) -> String {
    let policies = numbered_dirs(&roots.sys.join("devices/system/cpu/cpufreq"), "policy");
    let mut names: Vec<String> =
        policies.iter().filter_map(|(_, dir)| text_at(&dir.join("scaling_governor"))).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}
