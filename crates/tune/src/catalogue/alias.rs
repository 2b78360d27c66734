//! Settings that are one knob under two names: its old and new name, a word of a SPEC and the file behind it, or a file
//! in debugfs and in sysfs. In one arm each would overwrite the other.

use super::here::is_at;
use super::names::row_of_place;
use super::table::Row;
use schedlab_plan::plan::Axis;
use schedlab_plan::{Arm, Setting};

/// Names two axes of a plan that are the same knob, in a sentence; `None` if there are none.
pub fn one_knob_on_two_axes(axes: &[Axis]) -> Option<String> {
    let pairs = axes.iter().enumerate().flat_map(|(i, axis)| axes[..i].iter().map(move |first| (first, axis)));
    pairs.into_iter().find_map(|(first, second)| {
        let settings = first.sets.iter().flat_map(|a| second.sets.iter().map(move |b| (a, b)));
        let (a, b, knob) = settings.into_iter().find_map(|(a, b)| Some((a, b, one_knob(a, b)?)))?;
        Some(format!(
            "{} `{}` ({}) and {} `{}` ({}) set one knob, {knob}, by two names; set it by one of them, with all its values",
            first.table,
            first.name,
            a.key(),
            second.table,
            second.name,
            b.key()
        ))
    })
}

/// Names the knob that an arm sets under two names, in a sentence; `None` if there is none.
pub fn one_knob_twice_in_an_arm(arms: &[Arm]) -> Option<String> {
    arms.iter().find_map(|arm| {
        let all = arm.settings.iter().enumerate();
        let mut pairs = all.flat_map(|(i, setting)| arm.settings[..i].iter().map(move |first| (first, setting)));
        let (a, b, knob) = pairs.find_map(|(a, b)| Some((a, b, one_knob(a, b)?)))?;
        Some(format!("arm `{}` sets one knob, {knob}, by two names, `{a}` and `{b}`; keep one of them", arm.name))
    })
}

/// The knob that both settings set; `None` if they set different ones.
fn one_knob(a: &Setting, b: &Setting) -> Option<String> {
    if a.key() == b.key() {
        return Some(a.key());
    }
    let (of_a, of_b) = (places(a), places(b));
    let pairs = of_a.iter().flat_map(|a| of_b.iter().map(move |b| (a, b)));
    let name = pairs.into_iter().find_map(|(a, b)| name_of_both(a, b))?;
    // `autogroup` is the name of the knob, and its sysctl is one of the knob's places.
    let is_word = |setting: &&&Setting| {
        !matches!(setting, Setting::Sysctl { .. } | Setting::Debugfs { .. } | Setting::Sysfs { .. })
    };
    Some([a, b].iter().find(is_word).map_or(name, |word| word.key()))
}

fn name_of_both(a: &str, b: &str) -> Option<String> {
    let row = row_of_place(a);
    let name = || row.as_ref().map_or_else(|| a.to_owned(), |row| row.name.to_owned());
    if a == b || is_at(a, b) || is_at(b, a) {
        return Some(name());
    }
    // Files of two CPUs match the same place of a row, but are two knobs.
    let at = |place: &str| row.as_ref()?.places.iter().position(|known| is_at(known.at, place));
    (at(b)? != at(a)?).then(name)
}

/// The places that a setting may be written to; the machine decides which one.
fn places(setting: &Setting) -> Vec<String> {
    match setting {
        Setting::Sysfs { path, .. } if path.starts_with("kernel/debug/") => {
            vec![format!("debugfs:{}", path.trim_start_matches("kernel/debug/"))]
        }
        // A feature is one word of the file, and has a name of its own.
        Setting::Sysctl { .. } | Setting::Debugfs { .. } | Setting::Sysfs { .. } => vec![setting.key()],
        word => behind(word).iter().map(|&place| place.to_owned()).collect(),
    }
}

/// The places behind a word of a SPEC.
fn behind(word: &Setting) -> &'static [&'static str] {
    match word {
        Setting::Autogroup(_) => &["sysctl:kernel.sched_autogroup_enabled"],
        Setting::Thp(_) => &["sysfs:kernel/mm/transparent_hugepage/enabled"],
        Setting::HaltPoll { .. } => {
            &["sysfs:module/haltpoll/parameters/guest_halt_poll_ns", "sysfs:module/kvm/parameters/halt_poll_ns"]
        }
        _ => &[],
    }
}

/// The one place behind a row that is a word of a SPEC; `None` if it is no word, or if the machine decides which place.
pub(super) fn place_behind(row: &Row) -> Option<&'static str> {
    let word = row.places.first().filter(|place| place.kind() == "spec")?.path().parse().ok()?;
    match behind(&word) {
        [one] => Some(one),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_plan::Plan;

    fn of(a: &str, b: &str) -> Option<String> {
        one_knob(&a.parse().unwrap(), &b.parse().unwrap())
    }

    #[test]
    fn a_knob_is_known_by_each_of_its_names() {
        for (a, b, knob) in [
            ("sysctl:kernel.sched_min_granularity_ns=1", "debugfs:sched/base_slice_ns=2", "base_slice"),
            ("debugfs:sched/min_granularity_ns=1", "debugfs:sched/base_slice_ns=2", "base_slice"),
            ("sysfs:kernel/debug/sched/base_slice_ns=1", "debugfs:sched/base_slice_ns=2", "base_slice"),
            ("autogroup=on", "sysctl:kernel.sched_autogroup_enabled=0", "autogroup"),
            ("thp=never", "sysfs:kernel/mm/transparent_hugepage/enabled=always", "thp"),
            ("halt_poll=0", "sysfs:module/kvm/parameters/halt_poll_ns=1", "halt_poll"),
            ("slice=1ms", "slice=2ms", "slice"),
        ] {
            assert!(of(a, b).is_some_and(|name| name == knob), "{a} {b}: {:?}", of(a, b));
            assert_eq!(of(a, b).is_some(), of(b, a).is_some(), "{a} {b}");
        }
    }

    #[test]
    fn two_knobs_are_two() {
        for (a, b) in [
            ("debugfs:sched/base_slice_ns=1", "debugfs:sched/latency_ns=1"),
            ("feature:WA_IDLE", "feature:WA_WEIGHT"),
            ("slice=1ms", "debugfs:sched/base_slice_ns=2"),
            (
                "sysfs:devices/system/cpu/cpu0/power/pm_qos_resume_latency_us=1",
                "sysfs:devices/system/cpu/cpu1/power/pm_qos_resume_latency_us=1",
            ),
            ("sysctl:net.core.rmem_max=1", "sysctl:net.core.wmem_max=1"),
        ] {
            assert_eq!(of(a, b), None, "{a} {b}");
        }
    }

    #[test]
    fn the_sentence_names_both_axes() {
        let table = |head: &str, set: &str| format!("[[{head}]]\nname = \"{set}\"\nset = \"{set}\"\nvalues = [1, 2]\n");
        let (old, new) = ("sysctl:kernel.sched_min_granularity_ns", "debugfs:sched/base_slice_ns");
        for head in ["knob", "grid"] {
            let axes = |b| Plan::axes(&format!("{}{}", table(head, old), table(head, b))).unwrap();
            let why = one_knob_on_two_axes(&axes(new)).unwrap();
            assert!(why.starts_with(&format!("{head} `{old}`")) && why.contains(&format!("{head} `{new}`")), "{why}");
            assert_eq!(one_knob_on_two_axes(&axes("debugfs:sched/latency_ns")), None);
        }
        let factors = format!(
            "[[factor]]\nname = \"a\"\nhigh = \"{old}=1\"\n[[factor]]\nname = \"b\"\nlow = \"\"\nhigh = \"nice=1;{new}=1\"\n"
        );
        assert!(one_knob_on_two_axes(&Plan::axes(&factors).unwrap()).unwrap().contains("factor `a`"));
    }
}
