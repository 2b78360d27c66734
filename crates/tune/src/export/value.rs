//! The value of a kernel file with the value before it: what an export writes, and what its undo writes back.

use crate::Roots;
use crate::knob::{Knob, chosen};
use schedlab_plan::{Setting, plain};
use std::path::{Path, PathBuf};

/// A value of a kernel file, new and present.
pub(super) struct Value {
    /// As written in a SPEC.
    pub(super) setting: String,
    pub(super) file: PathBuf,
    /// The dotted name of a sysctl.
    pub(super) sysctl: Option<String>,
    pub(super) value: String,
    pub(super) before: Option<String>,
    /// A sysctl that is changed by the write as a side effect, and its value before.
    pub(super) widens: Option<(String, String)>,
}

/// The value is read below `roots`, which may be a copied tree; the paths are those of the machine that the files are
/// for.
pub(super) fn value_of(roots: &Roots, setting: &Setting) -> Option<Value> {
    // A tree is a copy of a machine: values are read in the tree, but the files are for the machine itself.
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
            // A single word of the file: it is written alone, and read back among the others.
            let [word, other] = [*on, !*on].map(|on| format!("{}{name}", if on { "" } else { "NO_" }));
            let value = of(|roots| &roots.debugfs, "sched/features", &word, None);
            let all = std::fs::read_to_string(roots.debugfs.join("sched/features")).unwrap_or_default();
            let before = [word, other].into_iter().find(|word| all.split_whitespace().any(|one| one == word));
            Some(Value { before, ..value })
        }
        _ => None,
    }
}

/// The write that keeps a slice across a hot-plug: `tunable_scaling` with its own value.
pub(super) fn scaling(roots: &Roots) -> Option<Value> {
    let of = |value| value_of(roots, &Setting::Debugfs { path: "sched/tunable_scaling".into(), value });
    of(of(String::new())?.before?)
}

/// The file of `tunable_scaling`, if one of the values would be lost at the next CPU hot-plug unless that file is
/// written after it (docs/knobs.md).
pub(super) fn lost_without(values: &[&Value]) -> Option<PathBuf> {
    let slice = |value: &&&Value| {
        value.file.to_string_lossy().contains("sched/") && value.file.to_string_lossy().ends_with("_ns")
    };
    values.iter().find(slice).and_then(|value| Some(value.file.parent()?.join("tunable_scaling")))
}

/// The value of a file; if it lists several words, the one in brackets.
fn read(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    Some(chosen(&text).unwrap_or(text.trim()).to_owned())
}

/// Whether tuned can restore the file. tuned writes back what it read, or the word in square brackets; for other lists
/// it would write the whole list, which the kernel refuses.
pub(super) fn tuned_puts_back(value: &Value) -> bool {
    !["sched/features", "sched/preempt"].iter().any(|list| value.file.ends_with(list))
}
