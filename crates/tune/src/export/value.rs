//! A value of a file of the kernel, with what is there before it: what an export writes, and what its undo writes back.

use crate::Roots;
use crate::knob::{Knob, chosen};
use schedlab_plan::{Setting, plain};
use std::path::{Path, PathBuf};

/// A value of a file of the kernel: what it was found to be best at, and what it has now.
pub(super) struct Value {
    /// As a SPEC has it.
    pub(super) setting: String,
    pub(super) file: PathBuf,
    /// The dotted name of a sysctl.
    pub(super) sysctl: Option<String>,
    pub(super) value: String,
    pub(super) before: Option<String>,
    /// A sysctl that changes along, and its value before.
    pub(super) widens: Option<(String, String)>,
}

/// Read below `roots`, which may be a copied tree, and written as the machine has it that the files are for.
pub(super) fn value_of(roots: &Roots, setting: &Setting) -> Option<Value> {
    // A tree is a picture of a machine: what it shows is read in it, and the files are for the machine itself.
    let of = |root: fn(&Roots) -> &Path, path: &str, value: &str, sysctl: Option<&str>| Value {
        setting: setting.to_string(),
        before: read(&root(roots).join(path)),
        widens: sysctl.and_then(|name| {
            let partner = Knob::file(root(roots).join(path)).partner()?;
            let last = partner.path().file_name()?.to_str()?.to_owned();
            let family = name.rsplit_once('.')?.0;
            Some((plain::line(&format!("{family}.{last}")), plain::line(&partner.read().ok()?)))
        }),
        file: plain::line(&root(&Roots::default()).join(path).to_string_lossy()).into(),
        sysctl: sysctl.map(plain::line),
        value: plain::line(value),
    };
    let sysctl = |name: &str, value: &str| {
        of(|roots| &roots.proc, &format!("sys/{}", name.replace('.', "/")), value, Some(name))
    };
    let sysfs = |path: &str, value: &str| of(|roots| &roots.sys, path, value, None);
    match setting {
        Setting::Sysctl { name, value } => Some(sysctl(name, value)),
        Setting::Autogroup(on) => Some(sysctl("kernel.sched_autogroup_enabled", if *on { "1" } else { "0" })),
        Setting::Debugfs { path, value } => Some(of(|roots| &roots.debugfs, path, value, None)),
        Setting::Sysfs { path, value } => Some(sysfs(path, value)),
        Setting::Thp(thp) => Some(sysfs("kernel/mm/transparent_hugepage/enabled", thp.name())),
        Setting::Feature { name, on } => {
            // A word of the file, which is written alone and read back among the others.
            let [word, other] = [*on, !*on].map(|on| format!("{}{name}", if on { "" } else { "NO_" }));
            let value = of(|roots| &roots.debugfs, "sched/features", &word, None);
            let all = std::fs::read_to_string(roots.debugfs.join("sched/features")).unwrap_or_default();
            let before = [word, other].into_iter().find(|word| all.split_whitespace().any(|one| one == word));
            Some(Value { before, ..value })
        }
        _ => None,
    }
}

/// What keeps a slice over a hot-plug, with its own value.
pub(super) fn scaling(roots: &Roots) -> Option<Value> {
    let of = |value| value_of(roots, &Setting::Debugfs { path: "sched/tunable_scaling".into(), value });
    of(of(String::new())?.before?)
}

/// Whether the next CPU that goes on- or offline takes one of them back, unless `tunable_scaling` is written after it
/// (docs/knobs.md): which that file is.
pub(super) fn lost_without(values: &[&Value]) -> Option<PathBuf> {
    let slice = |value: &&&Value| {
        value.file.to_string_lossy().contains("sched/") && value.file.to_string_lossy().ends_with("_ns")
    };
    values.iter().find(slice).and_then(|value| Some(value.file.parent()?.join("tunable_scaling")))
}

/// The value of a file; of several words the one in brackets.
fn read(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    Some(chosen(&text).unwrap_or(text.trim()).to_owned())
}

/// Whether tuned can put the file back. It writes what it read there, of which it takes the word in square brackets; of
/// these files it would write the whole list, which the kernel refuses.
pub(super) fn tuned_puts_back(value: &Value) -> bool {
    !["sched/features", "sched/preempt"].iter().any(|list| value.file.ends_with(list))
}
