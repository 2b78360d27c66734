//! A patched copy of a kernel's source tree. All builds with patches of a tree share one copy, and so one set of objects: the next
//! patch compiles what it and the one before it touch, and nothing else. The user's tree stays as it is.

use super::program::{self, command, not_started};
use super::sync::sync;
use crate::error::VmError;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// Paths of a tree and what is there instead; `None`: nothing.
pub type Files = BTreeMap<PathBuf, Option<Content>>;

/// What a path of a tree holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A file.
    File {
        /// Its bytes.
        text: Vec<u8>,
        /// Whether it may be run; `None`: as it is, a new one may not.
        is_executable: Option<bool>,
    },
    /// A symbolic link to this place in the tree.
    Link(PathBuf),
}

/// The copy in `place`, with these files instead of the tree's. A file that is as it was keeps its time: between two
/// sets of files make sees what differs between them, and nothing else.
pub(super) fn with_files(
    tree: &Path,
    files: &Files,
    place: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<PathBuf, VmError> {
    let source = copied(tree, files, place, say)?;
    for (name, content) in files {
        put(tree, &source, name, content.as_ref())?;
    }
    Ok(source)
}

/// Gives the copy one of the files, unless it is there as it should be.
fn put(tree: &Path, source: &Path, name: &Path, content: Option<&Content>) -> Result<(), VmError> {
    let path = source.join(name);
    let is = |path: &Path| fs::symlink_metadata(path).ok();
    // A link of the tree may lead out of it; one that only the copy has is ours, from earlier.
    let is_link = |root: &Path| is(&root.join(name)).is_some_and(|file| file.is_symlink());
    let folders = name.ancestors().skip(1).map(|folder| source.join(folder));
    let is_plain = !is_link(tree)
        && is(&path).is_none_or(|file| file.is_file() || file.is_symlink())
        && folders.into_iter().all(|folder| is(&folder).is_none_or(|folder| folder.is_dir()));
    if !is_plain {
        return Err(VmError::Refused(format!("{} is not a plain file of the tree", name.display())));
    }
    let is_ours = match content {
        Some(Content::Link(to)) => is_link(source) && fs::read_link(&path).ok().as_ref() == Some(to),
        Some(Content::File { .. }) => !is_link(source),
        None => false,
    };
    if !is_ours && is(&path).is_some() {
        fs::remove_file(&path).map_err(VmError::file("removing", &path))?;
    }
    let folder = path.parent().unwrap_or(source);
    match content {
        None => return Ok(()),
        Some(_) => fs::create_dir_all(folder).map_err(VmError::file("making", folder))?,
    }
    match content {
        Some(Content::Link(to)) if !is_ours => {
            if !stays_inside(name, to) {
                let (name, to) = (name.display(), to.display());
                return Err(VmError::Refused(format!("the link {name} to {to} leads out of the tree")));
            }
            symlink(to, &path).map_err(VmError::file("making", &path))
        }
        Some(Content::File { text, is_executable }) => file(&path, text, *is_executable),
        _ => Ok(()),
    }
}

/// Writes a file that is another than it was, and its mode.
fn file(path: &Path, text: &[u8], is_executable: Option<bool>) -> Result<(), VmError> {
    if fs::read(path).ok().as_deref() != Some(text) {
        fs::write(path, text).map_err(VmError::file("writing", path))?;
    }
    let Some(is_executable) = is_executable else { return Ok(()) };
    let mode = fs::metadata(path).map_err(VmError::file("reading", path))?.permissions().mode();
    let wanted = if is_executable { mode | 0o111 } else { mode & !0o111 };
    if wanted == mode {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(wanted)).map_err(VmError::file("setting the mode of", path))
}

/// Whether a link of this name to that place never leaves the tree on its way.
fn stays_inside(name: &Path, to: &Path) -> bool {
    let mut depth = name.components().count().saturating_sub(1);
    to.components().all(|part| match part {
        Component::Normal(_) => {
            depth += 1;
            true
        }
        Component::ParentDir => depth.checked_sub(1).map(|less| depth = less).is_some(),
        Component::CurDir => true,
        _ => false,
    })
}

/// The copy in `place`, equal to the tree except for these files, which are left as they are in it.
fn copied(tree: &Path, but: &Files, place: &Path, say: &mut dyn FnMut(&str)) -> Result<PathBuf, VmError> {
    let source = place.join("source");
    if fs::canonicalize(place).is_ok_and(|place| place.starts_with(tree)) {
        let (place, tree) = (place.display(), tree.display());
        return Err(VmError::Refused(format!("the cache {place} is inside the tree {tree}: copy the tree elsewhere")));
    }
    if source.is_dir() {
        // Also what is left of a copy that was interrupted, and what the patch before this one changed.
        say("bringing the copy of the source tree up to date");
        sync(tree, &source, but)?;
    } else {
        say("copying the source tree");
        let mut copy = command("cp");
        // Times are kept: next time they show what is unchanged.
        copy.args(["-aT", "--reflink=auto"]).arg(tree).arg(&source);
        let step = "copying the source tree";
        let (status, said) = program::step(step, &mut copy, "apt-get install coreutils")?;
        if !status.success() {
            return Err(program::failed(step, &copy, status, &said));
        }
    }
    Ok(source)
}

/// The copy in `place`, with these patches alone in it, and the patches as they were applied. A patch that fails leaves the copy
/// as those before it left it.
pub(super) fn patched(
    tree: &Path,
    patches: &[PathBuf],
    place: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<(PathBuf, Vec<Vec<u8>>), VmError> {
    let read = |patch: &PathBuf| fs::read(patch).map_err(VmError::file("reading the patch", patch));
    let texts = patches.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let source = copied(tree, &Files::new(), place, say)?;
    say("patching it");
    for (patch, text) in patches.iter().zip(&texts) {
        // What is kept is what was applied, also where the patch comes from a pipe.
        let file = place.join("patch");
        fs::write(&file, text).map_err(VmError::file("writing", &file))?;
        let file = fs::canonicalize(&file).map_err(VmError::file("finding", &file))?;
        one(&source, patch, &file, say)?;
    }
    Ok((source, texts))
}

/// Applies a patch, of the user's name `patch`, which lies in `file`.
fn one(source: &Path, patch: &Path, file: &Path, say: &mut dyn FnMut(&str)) -> Result<(), VmError> {
    let would = apply(source, patch, file, true)?;
    if !would.lines().any(|line| line.starts_with("checking file ")) {
        let patch = patch.display();
        return Err(VmError::Refused(format!(
            "the patch {patch} changes no file: give --patch the output of `git diff`"
        )));
    }
    let mut changed = "";
    for line in would.lines() {
        changed = line.strip_prefix("checking file ").unwrap_or(changed);
        if line.contains("(offset ") {
            say(&format!("{changed}: {line}"));
        }
    }
    apply(source, patch, file, false).map(drop)
}

/// Applies the patch, or tries whether it can be applied; what the program said.
fn apply(source: &Path, patch: &Path, file: &Path, try_only: bool) -> Result<String, VmError> {
    let mut apply: Command = command("patch");
    // A hunk whose context is not there may change another place than its author saw: no fuzz.
    apply.env("LC_ALL", "C").args([
        "-p1",
        "--fuzz=0",
        "--batch",
        "--forward",
        "--no-backup-if-mismatch",
        "--reject-file=-",
        "-d",
    ]);
    apply.arg(source).arg("-i").arg(file).args(try_only.then_some("--dry-run"));
    let output = apply.output().map_err(|e| not_started("patching", &apply, e, "apt-get install patch"))?;
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

    fn plain(text: &str) -> Content {
        Content::File { text: text.as_bytes().to_vec(), is_executable: None }
    }

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
        let apply =
            |patch: &str| patched(&at("tree"), &[at(patch)], directory.path(), &mut |_| {}).map(|(source, _)| source);
        let source = apply("good").unwrap();
        assert_eq!(fs::read_to_string(source.join("fair.c")).unwrap(), "one\n2\nthree\n");
        let why = apply("bad").unwrap_err().to_string();
        assert!(why.contains("fair.c: Hunk #1 FAILED at 1") && !why.contains("core.c"), "{why}");
        assert_eq!(fs::read_to_string(source.join("core.c")).unwrap(), "core\n", "no half of a patch");
        assert_eq!(fs::read_to_string(at("tree/fair.c")).unwrap(), "one\ntwo\nthree\n");
        assert!(patched(&at("tree"), &[at("none")], directory.path(), &mut |_| {}).is_err());
        fs::write(at("prose"), "no patch at all\n").unwrap();
        let why = apply("prose").unwrap_err().to_string();
        assert!(why.contains("Only garbage was found"), "{why}");
    }

    #[test]
    fn the_next_patch_replaces_the_one_before_and_touches_nothing_else() {
        let Some(directory) = tree(&[("good", GOOD), ("other", OTHER)]) else { return };
        let at = |name: &str| directory.path().join(name);
        let apply = |patch: &str| patched(&at("tree"), &[at(patch)], directory.path(), &mut |_| {}).unwrap().0;
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
        // What is left of a copy that was interrupted is fixed.
        fs::write(source.join("core.c"), "half").unwrap();
        apply("good");
        assert_eq!(fs::read_to_string(source.join("core.c")).unwrap(), "core\n");
        // What the user changes in the tree arrives.
        fs::write(at("tree/core.c"), "changed\n").unwrap();
        apply("good");
        assert_eq!(fs::read_to_string(source.join("core.c")).unwrap(), "changed\n");
    }

    #[test]
    fn between_two_sets_of_files_only_what_differs_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir_all(at("tree/old")).unwrap();
        fs::write(at("tree/fair.c"), "fair\n").unwrap();
        fs::write(at("tree/old/core.c"), "core\n").unwrap();
        let put = |files: &[(&str, Option<&str>)]| {
            let files = files.iter().map(|(name, text)| (PathBuf::from(name), text.map(plain)));
            with_files(&at("tree"), &files.collect(), directory.path(), &mut |_| {})
        };
        let of = |name: &str| fs::read_to_string(at("source").join(name)).ok();
        put(&[("fair.c", Some("1\n")), ("new/a/rt.c", Some("rt\n")), ("old/core.c", None)]).unwrap();
        assert_eq!([of("fair.c"), of("new/a/rt.c"), of("old/core.c")], [Some("1\n".into()), Some("rt\n".into()), None]);
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        for name in ["fair.c", "new/a/rt.c"] {
            fs::File::options().append(true).open(at("source").join(name)).unwrap().set_modified(old).unwrap();
        }
        let time = |name: &str| fs::metadata(at("source").join(name)).unwrap().modified().unwrap();
        put(&[("fair.c", Some("2\n")), ("new/a/rt.c", Some("rt\n"))]).unwrap();
        assert_eq!([of("fair.c"), of("old/core.c")], [Some("2\n".into()), Some("core\n".into())]);
        assert!(time("fair.c") > old, "make must see that it is another file");
        assert_eq!(time("new/a/rt.c"), old, "and that this one is the same");
        put(&[]).unwrap();
        assert_eq!([of("fair.c"), of("new/a/rt.c")], [Some("fair\n".into()), None]);
        assert!(!at("source/new").exists());
    }

    #[test]
    fn modes_and_links_come_and_go_and_no_link_leads_out() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir_all(at("tree/scripts")).unwrap();
        fs::write(at("tree/scripts/old.sh"), "old\n").unwrap();
        let put = |files: &[(&str, Content)]| {
            let files = files.iter().map(|(name, content)| (PathBuf::from(name), Some(content.clone())));
            with_files(&at("tree"), &files.collect(), directory.path(), &mut |_| {})
        };
        let script = |text: &str, is_executable| Content::File { text: text.as_bytes().to_vec(), is_executable };
        let runs = |name: &str| fs::metadata(at("source").join(name)).unwrap().permissions().mode() & 0o111 != 0;
        put(&[("scripts/new.sh", script("new\n", Some(true))), ("scripts/old.sh", script("old\n", Some(true)))])
            .unwrap();
        assert!(runs("scripts/new.sh") && runs("scripts/old.sh"));
        put(&[
            ("scripts/new.sh", script("newer\n", None)),
            ("scripts/link", Content::Link("../scripts/new.sh".into())),
        ])
        .unwrap();
        assert!(runs("scripts/new.sh") && !runs("scripts/old.sh"), "as the tree has it again");
        assert_eq!(fs::read_to_string(at("source/scripts/link")).unwrap(), "newer\n");
        // What was a link is a file, and what it named stays.
        put(&[("scripts/link", plain("file\n"))]).unwrap();
        assert!(fs::symlink_metadata(at("source/scripts/link")).unwrap().is_file());
        for out in ["../../x", "/etc/passwd", "../scripts/../../x"] {
            let why = put(&[("scripts/link2", Content::Link(out.into()))]).unwrap_err().to_string();
            assert!(why.contains("leads out of the tree"), "{out}: {why}");
        }
    }

    #[test]
    fn nothing_is_written_through_a_link_of_the_tree() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir_all(at("tree")).unwrap();
        fs::create_dir(at("outside")).unwrap();
        fs::write(at("outside/file"), "mine\n").unwrap();
        std::os::unix::fs::symlink("../outside", at("tree/folder")).unwrap();
        std::os::unix::fs::symlink("../outside/file", at("tree/file")).unwrap();
        for name in ["folder/new", "folder/file", "file"] {
            let files = Files::from([(PathBuf::from(name), Some(plain("theirs\n")))]);
            let why = with_files(&at("tree"), &files, directory.path(), &mut |_| {}).unwrap_err().to_string();
            assert!(why.contains("not a plain file of the tree"), "{name}: {why}");
        }
        assert_eq!(fs::read_to_string(at("outside/file")).unwrap(), "mine\n");
        assert!(!at("outside/new").exists());
    }

    #[test]
    fn a_hunk_is_found_by_its_whole_context_and_told_where_it_moved() {
        let fuzzy = "--- a/fair.c\n+++ b/fair.c\n@@ -1,3 +1,3 @@\n eins\n-two\n+2\n drei\n";
        let Some(directory) = tree(&[("good", GOOD), ("fuzzy", fuzzy)]) else { return };
        let at = |name: &str| directory.path().join(name);
        let why = patched(&at("tree"), &[at("fuzzy")], directory.path(), &mut |_| {}).unwrap_err().to_string();
        assert!(why.contains("fair.c: Hunk #1 FAILED at 1"), "{why}");
        fs::write(at("tree/fair.c"), "zero\none\ntwo\nthree\n").unwrap();
        let mut said = Vec::new();
        patched(&at("tree"), &[at("good")], directory.path(), &mut |line| said.push(line.to_owned())).unwrap();
        assert!(said.contains(&"fair.c: Hunk #1 succeeded at 2 (offset 1 line).".to_owned()), "{said:?}");
    }

    #[test]
    fn what_changes_nothing_is_no_patch() {
        let Some(directory) = tree(&[("good", GOOD)]) else { return };
        let root = directory.path();
        let why = patched(&root.join("tree"), &["/dev/null".into()], root, &mut |_| {}).unwrap_err().to_string();
        assert!(why.contains("/dev/null changes no file") && !why.contains('\n'), "{why}");
        let why = patched(root, &[root.join("good")], &root.join("tree"), &mut |_| {}).unwrap_err().to_string();
        assert!(why.contains("is inside the tree"), "{why}");
    }
}
