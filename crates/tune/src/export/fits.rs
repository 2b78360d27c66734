//! Checks that the exported files would work on the machine: it has the knobs, and they take the values.

use super::lone::lone;
use super::value::value_of;
use crate::catalogue::{one_word, row_of_place};
use crate::error::TuneError;
use crate::reason;
use crate::resolve::resolve;
use crate::roots::Roots;
use schedlab_plan::Setting;

/// Refuses settings whose files would fail where they are installed: a knob that the machine of `roots` lacks, or a
/// value that the knob, or the present value of the one that limits it, does not accept.
pub fn check_exports(roots: &Roots, settings: &[Setting]) -> Result<(), TuneError> {
    let mut values = Vec::new();
    for setting in settings {
        if let Some(value) = value_of(roots, setting) {
            fits(roots, setting).map_err(TuneError::Impossible)?;
            values.push(value);
        }
    }
    let refusal = lone(roots, &values).iter().find_map(|one| one.refusal());
    refusal.map_or(Ok(()), |why| Err(TuneError::Impossible(why)))
}

fn fits(roots: &Roots, setting: &Setting) -> Result<(), String> {
    let elsewhere = if roots.is_this_machine() {
        "; for another machine, export with `--root TREE`, a copy of its files"
    } else {
        ""
    };
    let found = resolve(roots, setting).map_err(|why| format!("{setting}: {why}{elsewhere}"))?;
    // `tune set` leaves words to the kernel, but here no kernel is asked.
    let row = row_of_place(found.found_as.as_deref().unwrap_or(&setting.key()));
    let not_listed = || reason::not_listed(found.knob.path(), &found.value);
    row.and_then(|row| row.no_number(one_word(&found.value))).or_else(not_listed).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(setting: &str) -> String {
        let tree = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("proc/sys/kernel/osrelease", "6.18.1\n"),
            ("proc/sys/net/core/somaxconn", "4096\n"),
            ("sys/kernel/debug/sched/fair_server/cpu0/period", "1000000000\n"),
        ] {
            let path = tree.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::fs::create_dir_all(tree.path().join("sys/kernel/debug/sched")).unwrap();
        let checked = check_exports(&Roots::below(tree.path()), &[setting.parse().unwrap()]);
        checked.map_or_else(|why| why.to_string(), |()| "fits".into())
    }

    #[test]
    fn a_knob_of_other_kernels_is_refused_with_their_versions() {
        let latency = why("debugfs:sched/latency_ns=3000000");
        assert!(latency.contains("Linux up to 6.5") && latency.contains("6.18.1"), "{latency}");
        assert!(why("sysctl:net.core.no_such=1").contains("no_such"));
        // The setting has no file, or one that is created by hand.
        assert_eq!(why("cpu_weight=200"), "fits");
    }

    #[test]
    fn what_is_no_number_is_refused_as_the_kernel_would() {
        assert!(why("sysctl:net.core.somaxconn=abc").ends_with("connections, not `abc`"));
        assert_eq!(why("sysctl:net.core.somaxconn=0x100"), "fits");
    }

    #[test]
    fn the_range_of_a_knob_of_each_cpu_is_checked() {
        let period = |ns: &str| why(&format!("debugfs:sched/fair_server/cpu*/period={ns}"));
        assert!(period("1").contains("fair_server_period takes 100000 to"), "{}", period("1"));
        assert_eq!(period("100000"), "fits");
    }
}
