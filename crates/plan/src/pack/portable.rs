//! What a pack may name: programs and files that every Linux has, and kernels that others can get; no path on one
//! machine's disk.

use super::PackError;
use crate::kernel::{BootedKernel, KernelSource};
use crate::plan::{GuestPlan, Plan};
use crate::setting::Setting;

/// Directories that belong to the system on every Linux.
const SYSTEM: &[&str] = &["/usr/", "/bin/", "/sbin/", "/lib", "/proc/", "/sys/", "/dev/"];

fn refused<T>(why: String) -> Result<T, PackError> {
    Err(PackError::NotPortable(why))
}

/// Refuses a plan that names a file of one machine.
pub(super) fn plan(plan: &Plan) -> Result<(), PackError> {
    let binary = |guest: &GuestPlan| guest.binary.as_ref().map(|file| file.display().to_string());
    if let Some(added) = plan.guest.as_ref().and_then(|guest| guest.add.first().cloned().or_else(|| binary(guest))) {
        return refused(format!(
            "[guest] brings a file of one machine into its guests, `{added}`, which a pack does not carry"
        ));
    }
    for name in kernels(plan) {
        if !is_reference(name) {
            return refused(format!(
                "the kernel `{name}` is a file of one machine: boot one that others can get, debian:VERSION or build:NAME \
                 (`schedlab vm fetch`, `schedlab vm build`)"
            ));
        }
    }
    match path_of_one_machine(&plan.to_toml()) {
        Some(path) => refused(format!(
            "the plan names `{path}`, a place on one machine: name programs by their name alone (PATH), or below /usr"
        )),
        None => Ok(()),
    }
}

/// The kernels that a plan names: of its guests, its arms and the levels of its factors.
pub(super) fn kernels(plan: &Plan) -> impl Iterator<Item = &String> {
    let levels = plan.factors.iter().flat_map(|factor| [&factor.low, &factor.high]);
    let settings = plan.arms.iter().chain(levels).flat_map(|arm| &arm.settings);
    let of_arms = settings.filter_map(|setting| match setting {
        Setting::Kernel(name) => Some(name),
        _ => None,
    });
    plan.guest.iter().filter_map(|guest| guest.kernel.as_ref()).chain(of_arms)
}

/// Refuses a kernel that others cannot get, and one whose name or patches lead elsewhere.
pub(super) fn kernel(kernel: &BootedKernel) -> Result<(), PackError> {
    let name = &kernel.name;
    if !is_reference(name) {
        return refused(format!("`{name}` names no kernel that others can get"));
    }
    let fits = match &kernel.source {
        KernelSource::Debian { packages } => name.starts_with("debian:") && !packages.is_empty(),
        KernelSource::Build { .. } => name.starts_with("build:"),
        KernelSource::File => false,
    };
    if !fits {
        return refused(format!("of the kernel {name} the pack does not say how to get it"));
    }
    let KernelSource::Build { config, patches, .. } = &kernel.source else { return Ok(()) };
    if let Some(path) = config.lines().find_map(path_in_value) {
        return refused(format!("the configuration of {name} names `{path}`, a place on one machine"));
    }
    match patches.iter().flat_map(|patch| patch.lines()).find_map(path_of_change) {
        Some(path) => {
            refused(format!("a patch of {name} changes `{path}`, which is in no source tree: make it with `git diff`"))
        }
        None => Ok(()),
    }
}

/// For a line of a configuration whose value is a text.
fn path_in_value(line: &str) -> Option<&str> {
    line.split('"').nth(1).and_then(path_of_one_machine)
}

/// For a line of a patch that names a file.
fn path_of_change(line: &str) -> Option<&str> {
    ["--- ", "+++ "].iter().find_map(|mark| line.strip_prefix(mark)).and_then(path_of_one_machine)
}

/// `debian:6.1`, `build:linux-6.1+x`: a kind and a plain name.
fn is_reference(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    name.split_once(':').is_some_and(|(kind, name)| {
        ["debian", "build"].contains(&kind)
            && (1..=200).contains(&name.len())
            && !name.starts_with('.')
            && name.chars().all(plain)
    })
}

/// The first path in a text that is not in a system directory.
fn path_of_one_machine(text: &str) -> Option<&str> {
    let ends = |c: char| c.is_whitespace() || "\"'`=,:;()[]{}<>|&".contains(c);
    text.split(ends).find(|word| {
        let leads_up = word.split('/').any(|part| part == "..");
        let is_absolute = word.len() > 1 && word.starts_with('/') && !word.starts_with("//");
        let is_of_system = SYSTEM.iter().any(|place| word.starts_with(place));
        leads_up || word.starts_with("~/") || word.starts_with("./") || is_absolute && !is_of_system
    })
}

/// A patch without the text before its first change, because a mail's header and body name people, machines and
/// addresses.
pub fn without_prose(patch: &str) -> String {
    let begins = |line: &&str| ["diff ", "--- ", "Index: "].iter().any(|mark| line.starts_with(mark));
    let at = patch.split_inclusive('\n').take_while(|line| !begins(line)).map(str::len).sum();
    patch.get(at..).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_one_machine_are_told_from_the_systems() {
        for (text, found) in [
            ("run = \"exec:command='/home/me/bench -n 3'\"", Some("/home/me/bench")),
            ("command=../x", Some("../x")),
            ("command=/usr/../root/x", Some("/usr/../root/x")),
            ("~/x", Some("~/x")),
            ("./bench.sh", Some("./bench.sh")),
            ("cpu_quota=50ms/100ms;run = \"pipe/1:pin=same\"", None),
            ("command='/usr/bin/pgbench -T 5 > /dev/null'", None),
            ("sysfs:kernel/mm/ksm/run=0", None),
            ("--- /dev/null", None),
        ] {
            assert_eq!(path_of_one_machine(text), found, "{text}");
        }
    }

    #[test]
    fn kernels_are_named_by_kind_and_a_plain_name() {
        for name in ["debian:6.1", "debian:6.12-rt", "build:linux-6.1+no-wake-wide"] {
            assert!(is_reference(name), "{name}");
        }
        for name in [
            "",
            "debian:",
            "/boot/vmlinuz",
            "build:../x",
            "build:..",
            "build:.x",
            "build:a/b",
            "lore:x",
            "build:a\u{202e}",
        ] {
            assert!(!is_reference(name), "{name}");
        }
        assert!(!is_reference(&format!("build:{}", "x".repeat(300))));
    }

    #[test]
    fn a_patch_loses_its_mail() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
        assert_eq!(without_prose(&format!("From: me@host\n\nffff800012345678\n{diff}")), diff);
        assert_eq!(without_prose(diff), diff);
        assert_eq!(without_prose("nothing"), "");
    }
}
