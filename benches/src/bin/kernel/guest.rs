//! Compares the interfaces that a booted guest shows with its own source: the sysctls `kernel.sched*`, debugfs `sched`,
//! the events `sched` and the counters of /proc/net/netstat.

use anyhow::{Context, Result, bail};
use schedlab_benches::{program, table};
use schedlab_kernel::dossier::{File, Kind};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Folders of the tree that define them.
const FOLDERS: [&str; 3] = ["kernel", "include/trace/events", "net"];

/// The guest's shell script: lists the names of the interfaces, one per line, and ends the guest.
const LIST: &str = "#!/bin/busybox sh
b=/bin/busybox
$b mount -t debugfs none /sys/kernel/debug 2>/dev/null
$b mount -t tracefs none /sys/kernel/tracing 2>/dev/null
for file in /proc/sys/kernel/sched*; do echo \"@sysctl ${file##*/}\"; done
$b find /sys/kernel/debug/sched | $b sed 's/^/@debugfs /'
for file in /sys/kernel/tracing/events/sched/*/; do echo \"@event $file\"; done
$b sed 's/^/@netstat /' /proc/net/netstat
$b poweroff -f
";

pub(crate) fn run(kernel: &str, tree: &Path, scratch: &Path) -> Result<bool> {
    let said = listed(kernel, scratch)?;
    let files = FOLDERS.iter().try_fold(Vec::new(), |mut files, folder| {
        read(tree, folder, &mut files)?;
        anyhow::Ok(files)
    })?;
    let interfaces = files.iter().flat_map(|file| &file.interfaces);
    let found: BTreeSet<(Kind, &str)> = interfaces.map(|one| (one.kind, one.name.as_str())).collect();
    let (mut rows, mut missing, mut is_met) = (Vec::new(), Vec::new(), true);
    for (what, kind) in
        [("sysctl", Kind::Sysctl), ("debugfs", Kind::Debugfs), ("event", Kind::Tracepoint), ("netstat", Kind::MibItem)]
    {
        let names = names(&said, what);
        let is_there = |name: &&String| found.contains(&(kind, name.as_str())) || is_numbered(name, &files);
        let there = names.iter().filter(is_there).count();
        missing.extend(
            names.iter().filter(|name| !is_there(name)).map(|name| format!("not in the source: {what} {name}")),
        );
        let ok = there == names.len() && !names.is_empty();
        is_met &= ok;
        rows.push(vec![what.to_owned(), names.len().to_string(), there.to_string(), table::met(ok)]);
    }
    let title = format!("Interfaces of a booted {kernel} in {}", tree.display());
    table::print(&title, &["what", "names the guest shows", "in the source", "met (all)"], &rows);
    missing.iter().for_each(|line| println!("{line}"));
    Ok(is_met)
}

/// The output of the guest's shell. `vm boot --shell` needs a terminal, which `script` provides.
fn listed(kernel: &str, scratch: &Path) -> Result<String> {
    let list = scratch.join("list.sh");
    std::fs::write(&list, LIST)?;
    std::fs::set_permissions(&list, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let schedlab = program::schedlab()?;
    let boot =
        format!("{} vm boot {kernel} --shell --add /bin/busybox --add {}:/bin/sh", schedlab.display(), list.display());
    let mut script = Command::new("script");
    script.args(["-qec", &boot, "/dev/null"]).stdin(std::process::Stdio::null());
    let said = program::text(script).context("busybox-static and script (bsdutils) are needed")?;
    if said.contains("@sysctl ") { Ok(said) } else { bail!("the guest named nothing: {said}") }
}

/// The names of one kind, without duplicates. For debugfs each component of a path is a name.
fn names(said: &str, what: &str) -> BTreeSet<String> {
    let lines = said.lines().filter_map(|line| line.trim().strip_prefix('@')?.strip_prefix(what)?.strip_prefix(' '));
    let one = |line: &str| -> Vec<String> {
        match what {
            // Pairs of lines: the names, and their values.
            "netstat" => {
                let words = line.split_whitespace().skip(1).filter(|word| word.parse::<i64>().is_err());
                words.map(str::to_owned).collect()
            }
            "debugfs" => line.trim_start_matches("/sys/kernel/debug/").split('/').map(str::to_owned).collect(),
            _ => line.trim_end_matches('/').rsplit('/').next().map(str::to_owned).into_iter().collect(),
        }
    };
    lines.flat_map(one).collect()
}

/// Whether the source has the name as a format, such as `"cpu%d"` for `cpu0`.
fn is_numbered(name: &str, files: &[File]) -> bool {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let format = format!("\"{stem}%d\"");
    stem.len() < name.len()
        && files
            .iter()
            .filter(|file| file.path == "kernel/sched/debug.c")
            .any(|file| file.text.windows(format.len()).any(|there| there == format.as_bytes()))
}

fn read(tree: &Path, folder: &str, out: &mut Vec<File>) -> Result<()> {
    for entry in std::fs::read_dir(tree.join(folder)).with_context(|| tree.join(folder).display().to_string())? {
        let entry = entry?;
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            read(tree, &path, out)?;
        } else if path.ends_with(".c") || path.ends_with(".h") {
            out.push(File::read(path, std::fs::read(entry.path())?));
        }
    }
    Ok(())
}
