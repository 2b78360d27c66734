//! The value of a kernel file with the value before it: what an export writes, and what its undo writes back.

use crate::Roots;
use crate::catalogue::{Row, row_of_place};
use crate::knob::{Knob, chosen};
use crate::resolve::exact_files;
use schedlab_plan::{Setting, plain};
use std::path::{Path, PathBuf};

/// A value of a kernel file, new and present.
pub(super) struct Value {
    /// As written in a SPEC.
    pub(super) setting: String,
    /// Its name in the catalogue; empty if it has none.
    pub(super) knob: &'static str,
    /// The knob that limits it.
    pub(super) limit: Option<Limit>,
    /// With `*` if each CPU or policy has a copy.
    pub(super) file: PathBuf,
    /// The dotted name of a sysctl.
    pub(super) sysctl: Option<String>,
    pub(super) value: String,
    /// The value of each copy before; empty if it is not known.
    pub(super) before: Vec<Copy>,
    /// A sysctl that is changed by the write as a side effect, and its value before.
    pub(super) widens: Option<(String, String)>,
}

/// A knob whose value is never below, or never above, that of another one.
pub(super) struct Limit {
    pub(super) knob: &'static str,
    pub(super) is_upper: bool,
}

impl Limit {
    fn of(row: &Row) -> Option<Self> {
        let is = |end, is_upper| row.coupled.strip_suffix(end).map(|knob| Self { knob, is_upper });
        is(": at most that", true).or_else(|| is(": at least that", false))
    }
}

/// A file and its value.
pub(super) struct Copy {
    pub(super) file: PathBuf,
    pub(super) value: String,
}

impl Value {
    /// The values to write back, each with its files: the one path for all copies if they were equal.
    pub(super) fn files_before(&self) -> Vec<(&str, Vec<&Path>)> {
        let mut found: Vec<(&str, Vec<&Path>)> = Vec::new();
        for copy in &self.before {
            match found.iter_mut().find(|(value, _)| *value == copy.value) {
                Some((_, files)) => files.push(&copy.file),
                None => found.push((&copy.value, vec![&copy.file])),
            }
        }
        if let [(_, files)] = &mut found[..] {
            *files = vec![&self.file];
        }
        found
    }

    /// The value of a sysctl to write back. The kernel refuses the 0 of a value that its partner displaced, and writes
    /// it itself along with the partner: mm/page-writeback.c `dirty_bytes_min`.
    pub(super) fn sysctl_before(&self) -> Option<&str> {
        let before = self.before.first()?.value.as_str();
        let is_displaced = before == "0" && self.widens.as_ref().is_some_and(|(_, partner)| partner != "0");
        (!is_displaced).then_some(before)
    }

    /// Whether tuned can restore the file. tuned writes back what it read, or the word in square brackets; for other
    /// lists it would write the whole list, which the kernel refuses. It does not see what changed along with it.
    pub(super) fn tuned_puts_back(&self) -> bool {
        let is_list = ["sched/features", "sched/preempt"].iter().any(|list| self.file.ends_with(list));
        !is_list && self.widens.is_none()
    }
}

/// The value is read below `roots`, which may be a copied tree; the paths are those of the machine that the files are
/// for.
pub(super) fn value_of(roots: &Roots, setting: &Setting) -> Option<Value> {
    // A tree is a copy of a machine: values are read in the tree, but the files are for the machine itself.
    let row = row_of_place(&setting.key());
    let of = |root: fn(&Roots) -> &Path, path: &str, value: &str, sysctl: Option<&str>| Value {
        setting: setting.to_string(),
        knob: row.as_ref().map_or("", |row| row.name),
        limit: row.as_ref().and_then(Limit::of),
        before: copies(roots, root, path, &setting.key()).unwrap_or_default(),
        widens: sysctl.and_then(|name| {
            let partner = Knob::file(root(roots).join(path)).partner()?;
            let last = partner.path().file_name()?.to_str()?.to_owned();
            let family = name.rsplit_once('.')?.0;
            Some((plain::line(&format!("{family}.{last}")), plain::line(&partner.read().ok()?)))
        }),
        file: of_machine(root, path),
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
            let all = crate::file::read(roots.debugfs.join("sched/features")).unwrap_or_default();
            let before = [word, other].into_iter().find(|word| all.split_whitespace().any(|one| one == word));
            let before = before.map(|value| Copy { file: of_machine(|roots| &roots.debugfs, "sched/features"), value });
            Some(Value { before: before.into_iter().collect(), ..value })
        }
        _ => None,
    }
}

/// The write that keeps a slice across a hot-plug: `tunable_scaling` with its own value.
pub(super) fn scaling(roots: &Roots) -> Option<Value> {
    let of = |value| value_of(roots, &Setting::Debugfs { path: "sched/tunable_scaling".into(), value });
    of(of(String::new())?.before.pop()?.value)
}

/// The file of `tunable_scaling`, if one of the values would be lost at the next CPU hot-plug unless that file is
/// written after it (docs/knobs.md).
pub(super) fn lost_without(values: &[&Value]) -> Option<PathBuf> {
    let slice = |value: &&&Value| {
        value.file.to_string_lossy().contains("sched/") && value.file.to_string_lossy().ends_with("_ns")
    };
    values.iter().find(slice).and_then(|value| Some(value.file.parent()?.join("tunable_scaling")))
}

/// The file of the machine, which may be another one than the tree is on.
fn of_machine(root: fn(&Roots) -> &Path, path: &str) -> PathBuf {
    plain::line(&root(&Roots::default()).join(path).to_string_lossy()).into()
}

/// The file, or those of all CPUs, with the present value; `None` unless each of them is known.
fn copies(roots: &Roots, root: fn(&Roots) -> &Path, path: &str, place: &str) -> Option<Vec<Copy>> {
    let base = root(roots);
    let files = match path.contains('*').then(|| exact_files(roots, place)) {
        None => vec![base.join(path)],
        Some(Ok(Knob::Files { paths })) => paths,
        Some(_) => return None,
    };
    let copy = |file: &PathBuf| {
        let path = file.strip_prefix(base).ok()?.to_str()?;
        Some(Copy { file: of_machine(root, path), value: read(file)? })
    };
    files.iter().map(copy).collect()
}

/// The value of a file; if it lists several words, the one in brackets.
fn read(file: &Path) -> Option<String> {
    let text = crate::file::read(file).ok()?;
    Some(chosen(&text).unwrap_or(text.trim()).to_owned())
}
