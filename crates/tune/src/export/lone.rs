//! A knob that is exported without the one that limits it, whose value may be another one where the file is applied.

use super::value::{Value, value_of};
use crate::catalogue::{kernel_number, row_of_name};
use crate::roots::Roots;

/// A value without the other one of its pair.
pub(super) struct Lone<'v> {
    pub(super) value: &'v Value,
    limit: Value,
    is_upper: bool,
}

/// The values whose limits are not among them, as far as the machine has these.
pub(super) fn lone<'v>(roots: &Roots, values: &'v [Value]) -> Vec<Lone<'v>> {
    let beside = |one: &Value, other: &Value| one.file.parent() == other.file.parent();
    let of = |value: &'v Value| {
        let limit = value.limit.as_ref()?;
        if values.iter().any(|other| other.knob == limit.knob && beside(value, other)) {
            return None;
        }
        let places = row_of_name(limit.knob)?.places;
        let present = |place: &str| value_of(roots, &format!("{place}=0").parse().ok()?);
        let mut found = places.iter().filter_map(|place| present(place.at));
        let found = found.find(|other| beside(value, other) && !other.before.is_empty())?;
        Some(Lone { value, limit: found, is_upper: limit.is_upper })
    };
    values.iter().filter_map(of).collect()
}

impl Lone<'_> {
    fn what(&self) -> String {
        let side = if self.is_upper { "at most" } else { "at least" };
        format!("{} is {side} {}", self.value.knob, self.limit.knob)
    }

    fn now(&self) -> String {
        let mut values: Vec<&str> = self.limit.before.iter().map(|copy| copy.value.as_str()).collect();
        values.dedup();
        values.join(", ")
    }

    /// The line for the head of the file.
    pub(super) fn comment(&self) -> String {
        format!("{}, which is not in this file and was {} when it was made.", self.what(), self.now())
    }

    /// Why the file would not work on the machine as it is.
    pub(super) fn refusal(&self) -> Option<String> {
        let new = kernel_number(&self.value.value)?;
        // A runtime of -1 has no limit.
        let breaks = |limit: i128| if self.is_upper { new > limit } else { limit > new };
        let limits = self.limit.before.iter().filter_map(|copy| kernel_number(&copy.value));
        limits.filter(|limit| *limit >= 0).any(breaks).then(|| {
            let (setting, other) = (&self.value.setting, self.limit.knob);
            format!("{setting}: {}, which is {} here: give both, also {other}=VALUE", self.what(), self.now())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SYSCTL, UNIT, check_exports, exports};
    use crate::Roots;
    use schedlab_plan::Setting;

    fn tree() -> (tempfile::TempDir, Roots) {
        let tree = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("proc/sys/kernel/sched_rt_runtime_us", "950000"),
            ("proc/sys/kernel/sched_rt_period_us", "1000000"),
            ("sys/kernel/debug/sched/fair_server/cpu0/runtime", "50000000"),
            ("sys/kernel/debug/sched/fair_server/cpu0/period", "1000000000"),
            ("sys/kernel/debug/sched/fair_server/cpu1/runtime", "50000000"),
            ("sys/kernel/debug/sched/fair_server/cpu1/period", "2000000000"),
        ] {
            let path = tree.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        }
        let roots = Roots::below(tree.path());
        (tree, roots)
    }

    fn settings(text: &str) -> Vec<Setting> {
        text.split(';').map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn a_file_names_the_limit_that_it_does_not_set() {
        let (_tree, roots) = tree();
        let has = |text: &str, file: &str, line: &str| {
            let made = exports(&roots, &settings(text), &[]).files;
            made.iter().find(|export| export.file == file).unwrap().text.contains(line)
        };
        let [runtime, period] = ["sysctl:kernel.sched_rt_runtime_us=900000", "sysctl:kernel.sched_rt_period_us=990000"];
        let line = "# rt_runtime is at most rt_period, which is not in this file and was 1000000 when it was made.\n";
        assert!(has(runtime, SYSCTL, line));
        let line = "# rt_period is at least rt_runtime, which is not in this file and was 950000 when it was made.\n";
        assert!(has(period, SYSCTL, line));
        assert!(!has(&format!("{runtime};{period}"), SYSCTL, "not in this file"));
        assert!(has("debugfs:sched/fair_server/cpu*/runtime=7", UNIT, "and was 1000000000, 2000000000 when"));
    }

    #[test]
    fn a_file_that_its_limit_would_make_fail_is_refused() {
        let (_tree, roots) = tree();
        let why = |text: &str| match check_exports(&roots, &settings(text)) {
            Ok(()) => "fits".to_owned(),
            Err(why) => why.to_string(),
        };
        let runtime = why("sysctl:kernel.sched_rt_runtime_us=2000000");
        assert!(runtime.contains("rt_runtime is at most rt_period, which is 1000000 here: give both"), "{runtime}");
        let period = why("sysctl:kernel.sched_rt_period_us=500000");
        assert!(period.ends_with("which is 950000 here: give both, also rt_runtime=VALUE"), "{period}");
        let pair = "sysctl:kernel.sched_rt_runtime_us=2000000;sysctl:kernel.sched_rt_period_us=3000000";
        for text in [pair, "sysctl:kernel.sched_rt_runtime_us=-1", "sysctl:kernel.sched_rt_period_us=950000"] {
            assert_eq!(why(text), "fits");
        }
        assert!(why("debugfs:sched/fair_server/cpu*/runtime=1500000000").contains("1000000000, 2000000000 here"));
    }
}
