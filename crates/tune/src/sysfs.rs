//! Knobs in sysfs: huge pages, halt polling, idle states. If one is missing, the error says why.

use crate::knob::Knob;
use crate::reason::GUEST_LANE;
use crate::roots::Roots;
use schedlab_plan::IdleStates;
use std::path::PathBuf;

/// A file below the sysfs root.
pub(crate) fn file(roots: &Roots, path: &str) -> Result<PathBuf, String> {
    let full = roots.sys.join(path);
    if full.is_file() {
        return Ok(full);
    }
    Err(format!("{} does not exist on this kernel; {GUEST_LANE}", full.display()))
}

/// Transparent huge pages (Documentation/admin-guide/mm/transhuge.rst).
pub(crate) fn thp(roots: &Roots) -> Result<Knob, String> {
    let path = file(roots, "kernel/mm/transparent_hugepage/enabled").map_err(|_| {
        format!("this kernel has no transparent huge pages (CONFIG_TRANSPARENT_HUGEPAGE); {GUEST_LANE}")
    })?;
    Ok(Knob::Choice { path })
}

/// Halt polling, and where it was found: this machine's own as a guest if the haltpoll governor is in use, otherwise
/// that of the guests it hosts (drivers/cpuidle/governors/haltpoll.c, virt/kvm/kvm_main.c; both in ns).
pub(crate) fn halt_poll(roots: &Roots) -> Result<(Knob, String), String> {
    // The parameter of a built-in governor exists even if another governor is active.
    let governor = |name: &str| crate::file::read(roots.sys.join("devices/system/cpu/cpuidle").join(name));
    let governs = |name: &str| governor(name).is_ok_and(|text| text.trim() == "haltpoll");
    let as_guest = ["current_governor", "current_governor_ro"].into_iter().any(governs);
    let guest = as_guest.then_some("module/haltpoll/parameters/guest_halt_poll_ns");
    for path in guest.into_iter().chain(["module/kvm/parameters/halt_poll_ns"]) {
        if let Ok(full) = file(roots, path) {
            return Ok((Knob::File { path: full }, format!("sysfs:{path}")));
        }
    }
    Err(format!("no halt polling here: haltpoll is not the cpuidle governor, and kvm is not loaded; {GUEST_LANE}"))
}

/// The `disable` files of all idle states of all CPUs, and the values to write, one word each.
pub(crate) fn cpuidle(roots: &Roots, states: IdleStates) -> Result<(Knob, String), String> {
    let mut found: Vec<(u32, u32, PathBuf)> = Vec::new();
    let cpus = roots.sys.join("devices/system/cpu");
    for cpu in std::fs::read_dir(&cpus).into_iter().flatten().flatten() {
        let Some(number) = numbered(&cpu.file_name(), "cpu") else { continue };
        for state in std::fs::read_dir(cpu.path().join("cpuidle")).into_iter().flatten().flatten() {
            let disable = state.path().join("disable");
            if let Some(depth) = numbered(&state.file_name(), "state").filter(|_| disable.is_file()) {
                found.push((number, depth, disable));
            }
        }
    }
    found.sort_unstable();
    if !found.iter().any(|(_, depth, _)| *depth > 0) {
        return Err(format!(
            "the kernel shows no idle state that could be disabled (no cpuidle driver: a guest that halts by itself, or \
             idle=poll); {GUEST_LANE}"
        ));
    }
    let word = |depth: u32| if states == IdleStates::Poll && depth > 0 { "1" } else { "0" };
    let value = found.iter().map(|(_, depth, _)| word(*depth)).collect::<Vec<_>>().join(" ");
    Ok((Knob::Files { paths: found.into_iter().map(|(.., path)| path).collect() }, value))
}

/// `7` for `cpu7`.
pub(crate) fn numbered(name: &std::ffi::OsStr, prefix: &str) -> Option<u32> {
    name.to_str()?.strip_prefix(prefix)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Roots) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let roots = Roots { sys: root.path().to_owned(), ..Roots::default() };
        (root, roots)
    }

    #[test]
    fn every_state_but_the_first_is_disabled_for_polling() {
        let (_root, roots) = tree(&[
            ("devices/system/cpu/cpu0/cpuidle/state0/disable", "0"),
            ("devices/system/cpu/cpu0/cpuidle/state1/disable", "0"),
            ("devices/system/cpu/cpu10/cpuidle/state1/disable", "0"),
            ("devices/system/cpu/cpu2/cpuidle/state0/disable", "0"),
            ("devices/system/cpu/cpuidle/current_driver", "x"),
        ]);
        let (knob, value) = cpuidle(&roots, IdleStates::Poll).unwrap();
        let Knob::Files { paths } = &knob else { panic!("{knob:?}") };
        assert_eq!((value.as_str(), paths.len()), ("0 1 0 1", 4));
        assert!(paths[3].ends_with("cpu10/cpuidle/state1/disable"), "in the order of the CPUs");
        assert_eq!(cpuidle(&roots, IdleStates::All).unwrap().1, "0 0 0 0");
    }

    #[test]
    fn what_a_machine_lacks_is_said() {
        let (_root, roots) = tree(&[("devices/system/cpu/cpu0/online", "1")]);
        assert!(cpuidle(&roots, IdleStates::Poll).unwrap_err().contains("no idle state"));
        assert!(thp(&roots).unwrap_err().contains("TRANSPARENT_HUGEPAGE"));
        assert!(halt_poll(&roots).unwrap_err().contains("haltpoll is not the cpuidle governor"));
    }

    #[test]
    fn halt_polling_is_the_guests_own_where_it_is_used() {
        let (host, guest) = ("module/kvm/parameters/halt_poll_ns", "module/haltpoll/parameters/guest_halt_poll_ns");
        for (governor, expected) in [("menu\n", host), ("haltpoll\n", guest)] {
            let (_root, roots) =
                tree(&[(host, "200000"), (guest, "0"), ("devices/system/cpu/cpuidle/current_governor", governor)]);
            assert_eq!(halt_poll(&roots).unwrap().1, format!("sysfs:{expected}"));
        }
    }
}
