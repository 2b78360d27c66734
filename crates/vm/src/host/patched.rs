//! A patched copy of a kernel's source tree. All patches of a tree share one copy, and so one set of objects: the next
//! patch compiles what it and the one before it touch, and nothing else. The user's tree stays as it is.

use super::program::{self, command, not_started};
use crate::error::VmError;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// Names the files in which the copy differs from the tree, a line each; without it the copy is not whole.
const DIFFERS: &str = "patched-files";

/// The copy in `place`, with this patch alone in it. A patch that fails leaves the copy as it was.
pub(super) fn patched(tree: &Path, patch: &Path, place: &Path, say: &mut dyn FnMut(&str)) -> Result<PathBuf, VmError> {
    let patch = fs::canonicalize(patch).map_err(VmError::file("reading the patch", patch))?;
    let (source, list) = (place.join("source"), place.join(DIFFERS));
    match fs::read_to_string(&list) {
        Ok(files) if source.is_dir() => {
            fs::remove_file(&list).map_err(VmError::file("removing", &list))?;
            say("bringing the copy of the source tree up to date");
            // Times are kept, so that only what is newer in the tree is compiled again.
            copy(tree, &source, &["-aTu"])?;
            files.lines().try_for_each(|file| restore(tree, &source, Path::new(file)))?;
        }
        _ => {
            if source.exists() {
                fs::remove_dir_all(&source).map_err(VmError::file("removing", &source))?;
            }
            say("copying the source tree");
            copy(tree, &source, &["-aT", "--reflink=auto"])?;
        }
    }
    let keep = |files: &[String]| fs::write(&list, files.join("\n")).map_err(VmError::file("writing", &list));
    keep(&[])?;
    say("patching it");
    apply(&source, &patch, true)?;
    fs::remove_file(&list).map_err(VmError::file("removing", &list))?;
    keep(&touched(&apply(&source, &patch, false)?))?;
    Ok(source)
}

fn copy(tree: &Path, source: &Path, how: &[&str]) -> Result<(), VmError> {
    let mut copy = command("cp");
    copy.args(how).arg(tree).arg(source);
    program::output("copying the source tree", &mut copy, "apt-get install coreutils").map(drop)
}

/// Makes a file of the copy what it is in the tree, with the time of now: it is another than the objects were made of.
fn restore(tree: &Path, source: &Path, file: &Path) -> Result<(), VmError> {
    let (original, copy) = (tree.join(file), source.join(file));
    if original.is_file() {
        fs::copy(&original, &copy).map(drop).map_err(VmError::file("restoring", &copy))
    } else if copy.is_file() {
        fs::remove_file(&copy).map_err(VmError::file("removing", &copy))
    } else {
        Ok(())
    }
}

/// Applies the patch, or tries whether it can be applied; what the program said.
fn apply(source: &Path, patch: &Path, try_only: bool) -> Result<String, VmError> {
    let mut apply: Command = command("patch");
    apply.env("LC_ALL", "C").args(["-p1", "--batch", "--forward", "--no-backup-if-mismatch", "--reject-file=-", "-d"]);
    apply.arg(source).arg("-i").arg(patch).args(try_only.then_some("--dry-run"));
    let output = apply.output().map_err(|e| not_started("patching", &apply, &e, "apt-get install patch"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(said);
    }
    let said = match hunks_that_failed(&said) {
        said if said.is_empty() => program::last_lines(&String::from_utf8_lossy(&output.stderr), 3).replace('\n', "; "),
        said => said,
    };
    Err(VmError::Program { step: "patching", command: format!("patch -p1 -i {}", patch.display()), said })
}

/// Files that a patch changed, made or removed; only those below the tree, which are all that `patch` takes.
fn touched(said: &str) -> Vec<String> {
    let lines = said.lines().filter_map(|line| line.strip_prefix("patching file "));
    // `new.c (renamed from old.c)`
    let names = lines.flat_map(|line| line.split(" (renamed from ")).map(|name| name.trim_end_matches(')'));
    let below = |name: &&str| Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    names.map(|name| name.trim_matches('\'')).filter(below).map(str::to_owned).collect()
}

/// `kernel/sched/fair.c: Hunk #2 FAILED at 6200.`
fn hunks_that_failed(said: &str) -> String {
    let mut file = "";
    let mut found = Vec::new();
    for line in said.lines() {
        match line.strip_prefix("patching file ").or_else(|| line.strip_prefix("checking file ")) {
            Some(name) => file = name.trim(),
            None if line.contains("FAILED at")
                || line.contains("No file to patch")
                || line.contains("previously applied") =>
            {
                found.push(if file.is_empty() { line.trim().to_owned() } else { format!("{file}: {}", line.trim()) });
            }
            None => {}
        }
    }
    if found.is_empty() { program::last_lines(said, 3).replace('\n', "; ") } else { found.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "--- a/fair.c\n+++ b/fair.c\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    const OTHER: &str =
        "--- a/core.c\n+++ b/core.c\n@@ -1 +1 @@\n-core\n+kern\n--- /dev/null\n+++ b/new.c\n@@ -0,0 +1 @@\n+new\n";
    const BAD: &str = "--- a/core.c\n+++ b/core.c\n@@ -1 +1 @@\n-core\n+kern\n--- a/fair.c\n+++ b/fair.c\n@@ -1,3 +1,3 @@\n \
                       one\n-zwei\n+2\n drei\n";

    /// A tree with two files and these patches; `None` without a patch program.
    fn tree(patches: &[(&str, &str)]) -> Option<tempfile::TempDir> {
        program::output("trying patch", command("patch").arg("--version"), "").ok()?;
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("tree")).unwrap();
        fs::write(at("tree/fair.c"), "one\ntwo\nthree\n").unwrap();
        fs::write(at("tree/core.c"), "core\n").unwrap();
        patches.iter().for_each(|(name, text)| fs::write(at(name), text).unwrap());
        Some(directory)
    }

    #[test]
    fn a_patch_that_fails_names_file_and_hunk_and_leaves_tree_and_copy() {
        let Some(directory) = tree(&[("good", GOOD), ("bad", BAD)]) else { return };
        let at = |name: &str| directory.path().join(name);
        let apply = |patch: &str| patched(&at("tree"), &at(patch), directory.path(), &mut |_| {});
        let source = apply("good").unwrap();
        assert_eq!(fs::read_to_string(source.join("fair.c")).unwrap(), "one\n2\nthree\n");
        let why = apply("bad").unwrap_err().to_string();
        assert!(why.contains("fair.c: Hunk #1 FAILED at 1") && !why.contains("core.c"), "{why}");
        assert_eq!(fs::read_to_string(source.join("core.c")).unwrap(), "core\n", "no half of a patch");
        assert_eq!(fs::read_to_string(at("tree/fair.c")).unwrap(), "one\ntwo\nthree\n");
        assert!(patched(&at("tree"), &at("none"), directory.path(), &mut |_| {}).is_err());
        fs::write(at("prose"), "no patch at all\n").unwrap();
        let why = apply("prose").unwrap_err().to_string();
        assert!(why.contains("Only garbage was found"), "{why}");
    }

    #[test]
    fn the_next_patch_replaces_the_one_before_and_touches_nothing_else() {
        let Some(directory) = tree(&[("good", GOOD), ("other", OTHER)]) else { return };
        let at = |name: &str| directory.path().join(name);
        let apply = |patch: &str| patched(&at("tree"), &at(patch), directory.path(), &mut |_| {}).unwrap();
        let time = |path: PathBuf| fs::metadata(path).unwrap().modified().unwrap();
        let source = apply("other");
        assert_eq!(fs::read_to_string(source.join("new.c")).unwrap(), "new\n");
        assert_eq!(time(source.join("fair.c")), time(at("tree/fair.c")), "an untouched file keeps its time");
        let before = std::time::SystemTime::now() - std::time::Duration::from_secs(1);
        apply("good");
        assert!(!source.join("new.c").exists());
        assert_eq!(fs::read_to_string(source.join("core.c")).unwrap(), "core\n");
        assert!(time(source.join("core.c")) > before, "make must see that it is another file");
        assert_eq!(fs::read_to_string(source.join("fair.c")).unwrap(), "one\n2\nthree\n");
        // A copy that was interrupted is made anew.
        fs::remove_file(at(DIFFERS)).unwrap();
        fs::write(source.join("core.c"), "half").unwrap();
        apply("good");
        assert_eq!(fs::read_to_string(source.join("core.c")).unwrap(), "core\n");
        // What the user changes in the tree arrives.
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(at("tree/core.c"), "changed\n").unwrap();
        apply("good");
        assert_eq!(fs::read_to_string(source.join("core.c")).unwrap(), "changed\n");
    }
}
