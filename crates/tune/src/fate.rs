//! What the kernel made of a value: the requested, the accepted and the effective value may differ.

use crate::catalogue::kernel_number;

/// How the value shown by the kernel differs from one that it accepted without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The value is the same as before.
    Ignored,
    /// A number as near as the kernel's own unit allows (ticks, pages, the factor of `tunable_scaling`).
    Rounded,
    /// A number far from the request: limited by the kernel's range or by another knob.
    Clamped,
    /// Any other value.
    Altered,
}

impl Fate {
    /// Classifies a value that reads back differently from the request.
    pub(crate) fn of(asked: &str, before: &str, shows: &str) -> Self {
        if shows == before {
            return Self::Ignored;
        }
        let (Some(asked), Ok(shows)) = (kernel_number(asked), shows.parse::<i128>()) else { return Self::Altered };
        // A tick is at most 10 ms: with HZ=100, 33 ms become 30. A tolerance of an eighth separates rounding from
        // clamping well enough; in both cases the actual value is reported.
        let off = (asked - shows).abs();
        if off * 8 <= asked.abs() { Self::Rounded } else { Self::Clamped }
    }

    /// As one word.
    pub(crate) fn word(self) -> &'static str {
        ["ignored", "rounded", "clamped", "altered"][self as usize]
    }
}

#[cfg(test)]
mod tests {
    use crate::knob::KERNEL;
    use crate::{HostGuard, Roots};
    use schedlab_plan::{Applied, Arm};
    use std::fs;
    use std::path::Path;

    const TREES: [&str; 7] = ["5.4", "5.10", "5.15", "6.1", "6.6", "6.12", "6.18"];

    /// The file of a knob under 6.18's name; other versions have other paths, which the catalogue finds.
    fn path(tree: &Path, name: &str) -> std::path::PathBuf {
        let listing = fs::read_to_string(tree.join("listing")).unwrap();
        let known = |line: &&str| line.rsplit('/').next().unwrap().trim_start_matches("sched_") == name;
        tree.join(listing.lines().find(known).unwrap_or_else(|| panic!("{name}")))
    }

    fn tree(version: &str) -> (tempfile::TempDir, Roots) {
        let root = tempfile::tempdir().unwrap();
        let text = fs::read_to_string(format!("{}/tests/trees/{version}.txt", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let mut listing = String::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (file, value) = line.split_once(' ').unwrap();
            let file_path = root.path().join(file);
            fs::create_dir_all(file_path.parent().unwrap()).unwrap();
            fs::write(file_path, format!("{value}\n")).unwrap();
            listing += &format!("{file}\n");
        }
        fs::write(root.path().join("listing"), listing).unwrap();
        let roots = Roots::below(root.path());
        (root, roots)
    }

    /// Sets a knob in a tree behind whose files a fake kernel answers.
    fn set(roots: &Roots, name: &str, kernel: impl FnMut(&Path, &str) + 'static) -> (Applied, Vec<String>) {
        let setting = crate::named(roots, name).unwrap().setting;
        let mut guard = HostGuard::open(roots.clone(), &roots.proc.join("../state")).unwrap();
        KERNEL.set(Some(Box::new(kernel)));
        let applied = guard.apply(&[setting]).unwrap().remove(0);
        KERNEL.set(None);
        // CPU hot-plug: the kernel recomputes slices from the normalized values.
        fs::write(roots.sys.join("devices/system/cpu/online"), "0-2\n").unwrap();
        let knob = crate::resolve::resolve(roots, &applied.setting).unwrap().knob;
        fs::write(knob.path(), "2250000\n").unwrap();
        let changes = guard.foreign_changes();
        drop(guard);
        (applied, changes)
    }

    #[test]
    fn four_lies_are_told_apart_on_every_kernel() {
        for version in TREES {
            let lie = |name: &str, kernel: fn(&Path, &str)| {
                let (_root, roots) = tree(version);
                set(&roots, name, kernel)
            };
            let why = |(applied, _): (Applied, _)| applied.not_applied.unwrap_or_else(|| "in force".into());
            assert_eq!(why(lie("migration_cost=700000", |_, _| {})), "in force", "{version}");
            let ignored = why(lie("migration_cost=700000", |path, before| fs::write(path, before).unwrap()));
            assert!(
                ignored.starts_with("ignored: ") && ignored.contains("still shows `500000`"),
                "{version}: {ignored}"
            );
            let clamped = why(lie("migration_cost=900000000", |path, _| fs::write(path, "100000000\n").unwrap()));
            assert!(clamped.starts_with("clamped: ") && clamped.contains("`100000000`"), "{version}: {clamped}");
            let octal = why(lie("nr_migrate=010", |path, _| fs::write(path, "8\n").unwrap()));
            assert_eq!(octal, "in force", "{version}: the kernel reads it in base 0");
            let octal = why(lie("migration_cost=0x35a4e900", |path, _| fs::write(path, "100000000\n").unwrap()));
            assert!(octal.starts_with("clamped: ") && octal.contains("`100000000`"), "{version}: {octal}");
            let rounded = why(lie("rr_timeslice=33", |path, _| fs::write(path, "32\n").unwrap()));
            assert!(rounded.starts_with("rounded: ") && rounded.contains("`32`"), "{version}: {rounded}");
            let (applied, changes) = lie("min_granularity=5000000", |_, _| {});
            assert_eq!(applied.not_applied, None, "{version}");
            assert!(
                changes[0].contains("`2250000` now, `5000000` when we wrote it: CPUs went"),
                "{version}: {changes:?}"
            );
        }
    }

    #[test]
    fn a_value_that_stands_for_the_default_is_in_force_when_the_default_is() {
        for before in ["7", "100"] {
            let (root, roots) = tree("6.18");
            fs::write(path(root.path(), "rr_timeslice_ms"), before).unwrap();
            let (applied, _) = set(&roots, "rr_timeslice=0", |path, _| fs::write(path, "100\n").unwrap());
            assert_eq!(applied.not_applied, None, "{before}");
            assert!(applied.effective.contains("_ms=100 (0 resets to the default"), "{}", applied.effective);
        }
    }

    #[test]
    fn a_slice_is_written_so_that_it_outlives_a_hot_plug() {
        for version in ["5.15", "6.1", "6.6", "6.12", "6.18"] {
            let (root, roots) = tree(version);
            let scaling = path(root.path(), "tunable_scaling");
            let (seen, written) = std::sync::mpsc::channel();
            set(&roots, "base_slice=5ms", move |path, _| seen.send(path.to_owned()).unwrap());
            let written: Vec<_> = written.try_iter().collect();
            assert_eq!(written.len(), 2, "{version}: {written:?}");
            assert_eq!(written[1], scaling, "{version}: `tunable_scaling` is written after it, as it is");
        }
    }

    #[test]
    fn a_spec_with_the_name_of_another_version_lands_in_the_same_file() {
        for version in TREES {
            let (_root, roots) = tree(version);
            let own = crate::named(&roots, "base_slice=3ms").unwrap().setting;
            let file = |setting| crate::resolve::resolve(&roots, &setting).unwrap().knob;
            for other in [
                "sysctl:kernel.sched_min_granularity_ns",
                "debugfs:sched/min_granularity_ns",
                "debugfs:sched/base_slice_ns",
            ] {
                let arm = Arm::parse("a", &format!("{other}=3000000")).unwrap();
                assert_eq!(file(arm.settings[0].clone()), file(own.clone()), "{version}: {other}");
            }
        }
    }
}
