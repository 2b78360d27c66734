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
    // An incomplete copy, left by an interrupted one, is repaired.
    fs::write(source.join("core.c"), "half").unwrap();
    apply("good");
    assert_eq!(fs::read_to_string(source.join("core.c")).unwrap(), "core\n");
    // The user's changes to the tree get into the copy.
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
    put(&[("scripts/new.sh", script("new\n", Some(true))), ("scripts/old.sh", script("old\n", Some(true)))]).unwrap();
    assert!(runs("scripts/new.sh") && runs("scripts/old.sh"));
    put(&[("scripts/new.sh", script("newer\n", None)), ("scripts/link", Content::Link("../scripts/new.sh".into()))])
        .unwrap();
    assert!(runs("scripts/new.sh") && !runs("scripts/old.sh"), "as the tree has it again");
    assert_eq!(fs::read_to_string(at("source/scripts/link")).unwrap(), "newer\n");
    // A link becomes a file, and the link's former target is not changed.
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
