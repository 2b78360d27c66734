//! `kernel dossier` as a user starts it: on small trees.

mod outside;
#[path = "../program/mod.rs"]
mod program;

use program::sources::{TEXT, git, write};
use program::{Lab, json, schedlab};

const KNOB: &str = "static struct ctl_table t[] = {\n\t{ .procname = \"knob\", .data = &knob, .mode = 0644, },\n};\n";
const HUNK: &str = "@@ -13,3 +13,4 @@ int second(int x)\n \tunlock(x);\n \treturn x;\n }\n+int y;\n";
const DEAD_END: &str = "int open(int x)\n{\n\treturn x;\n}\n";

/// The same difference given as two trees, as a patch and as a range in a checkout.
#[test]
fn a_dossier_of_trees_of_a_patch_and_of_a_range_says_the_same() {
    let lab = Lab::new("kernel-dossier");
    write(&lab, "old/kernel/x.c", TEXT.as_bytes());
    write(&lab, "new/kernel/x.c", [TEXT, KNOB, DEAD_END].concat().as_bytes());
    let diff =
        "--- a/kernel/x.c\n+++ b/kernel/x.c\n@@ -13,3 +13,10 @@ int second(int x)\n \tunlock(x);\n \treturn x;\n }\n";
    let added: String = [KNOB, DEAD_END].concat().lines().map(|line| format!("+{line}\n")).collect();
    let patch = write(&lab, "p.patch", format!("Subject: a knob\n\n{diff}{added}").as_bytes());
    let (old, new) = (lab.path("old"), lab.path("new"));
    let of = |out: &str, words: &[&str]| {
        let dir = lab.path(out);
        schedlab(&[&["kernel", "dossier"], words, &["-o", &dir]].concat()).success();
        let page = std::fs::read_to_string(lab.path(&format!("{out}/dossier.md"))).unwrap();
        assert!(page.contains("| knob | added |  | kernel/x.c:17 "), "{page}");
        assert!(page.contains("| open | new | +4 -0 |  | kernel/x.c:19 |"), "{page}");
        assert!(page.contains("Functions: 0 changed, 1 new, 0 removed, 0 renamed."), "{page}");
        page
    };
    of("by-trees", &[&old, &new, "--paths", "kernel"]);
    assert!(of("by-patch", &[&patch, "--tree", &old]).contains("a knob"));
    write(&lab, "queue/series", b"# order\n../p.patch\n");
    assert!(of("by-queue", &[&lab.path("queue"), "--tree", &old]).contains("a knob"));
    // A link in a tree is not followed, and reported.
    std::os::unix::fs::symlink("/etc/hostname", lab.path("new/kernel/link.c")).unwrap();
    let said = schedlab(&["kernel", "dossier", &old, &new, "-o", &lab.path("links")]).success().stderr;
    assert!(said.contains("kernel/link.c: it is a symbolic link; it is left out"), "{said}");
    std::fs::remove_file(lab.path("new/kernel/link.c")).unwrap();
    // An existing link in the output directory is replaced; its target is not changed.
    let kept = write(&lab, "kept", b"mine");
    write(&lab, "by-link/x", b"");
    std::os::unix::fs::symlink(&kept, lab.path("by-link/dossier.md")).unwrap();
    of("by-link", &[&old, &new]);
    assert_eq!(std::fs::read(&kept).unwrap(), b"mine");
    git(&lab, "old", &["init", "-q"]);
    git(&lab, "old", &["add", "-A"]);
    git(&lab, "old", &["commit", "-qm", "first"]);
    std::fs::copy(lab.path("new/kernel/x.c"), lab.path("old/kernel/x.c")).unwrap();
    write(&lab, "old/kernel/logo", b"GIF\0a\nb\n");
    git(&lab, "old", &["add", "-A"]);
    git(&lab, "old", &["commit", "-qam", "a knob and an open"]);
    let page = of("by-range", &["HEAD~1..HEAD", "--tree", &old]);
    let id = git(&lab, "old", &["rev-parse", "HEAD"]);
    let by = |dir: &str| {
        let whole = json(&std::fs::read_to_string(lab.path(&format!("{dir}/dossier.json"))).unwrap());
        whole["interfaces"][0]["commits"][0].as_str().map(str::to_owned)
    };
    assert_eq!(by("by-range").as_deref(), Some(&id[..12]), "{page}");
    assert!(page.contains("a knob and an open") && page.contains("| kernel/logo | new | Bin |  |"), "{page}");
    assert!(std::fs::metadata(lab.path("by-range/dossier.html")).unwrap().len() > 500);
    assert_eq!(by("by-patch").as_deref(), Some("a knob"));
    // The JSON contains what was compared and what was left out: here the tree already has the patch.
    let twice = lab.path("twice");
    schedlab(&["kernel", "dossier", &patch, "--tree", &new, "-o", &twice]).success();
    let whole = json(&std::fs::read_to_string(lab.path("twice/dossier.json")).unwrap());
    assert_eq!(whole["sides"], serde_json::json!(["new", "new with p.patch"]));
    assert_eq!((&whole["paths"], &whole["events"][0]["subject"]), (&serde_json::json!(["kernel"]), &"a knob".into()));
    assert_eq!(whole["problems"], serde_json::json!(["kernel/x.c: 1 of 1 hunks do not apply and are left out"]));
    assert_eq!(whole["interfaces"], serde_json::json!([]));
}

/// Two commits with another one between them, which the dossier leaves out; given in either order.
#[test]
fn commits_that_do_not_follow_one_another() {
    let lab = Lab::new("kernel-dossier-commits");
    write(&lab, "tree/kernel/x.c", TEXT.as_bytes());
    write(&lab, "tree/kernel/y.c", b"int y;\n");
    git(&lab, "tree", &["init", "-q"]);
    let commit = |file: &str, text: &str, subject: &str| {
        write(&lab, file, text.as_bytes());
        git(&lab, "tree", &["add", "-A"]);
        git(&lab, "tree", &["commit", "-qm", subject]);
    };
    commit("tree/kernel/x.c", TEXT, "first");
    commit("tree/kernel/x.c", &[TEXT, KNOB].concat(), "a knob");
    commit("tree/kernel/y.c", "int y;\nint other(void)\n{\n\treturn 2;\n}\n", "another");
    commit("tree/kernel/x.c", &[TEXT, KNOB, DEAD_END].concat(), "an open");
    let (tree, out) = (lab.path("tree"), lab.path("out"));
    let dossier = |words: &[&str]| schedlab(&[&["kernel", "dossier"], words, &["--tree", &tree, "-o", &out]].concat());
    for words in [["HEAD~2", "HEAD"], ["HEAD", "HEAD~2"]] {
        // A picture left by a dossier that had more of them.
        write(&lab, "out/flow-1.svg", b"");
        dossier(&words).success();
        let whole = json(&std::fs::read_to_string(lab.path("out/dossier.json")).unwrap());
        let listed = |key: &str, name: &str| -> Vec<String> {
            whole[key].as_array().unwrap().iter().map(|one| one[name].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(listed("events", "subject"), ["a knob", "an open"], "{words:?}");
        assert_eq!(
            (listed("interfaces", "name"), listed("functions", "name")),
            (vec!["knob".into()], vec!["open".into()])
        );
        assert_eq!(whole["problems"], serde_json::json!([]));
        assert!(!std::path::Path::new(&lab.path("out/flow-1.svg")).exists());
    }
    // The second commit depends on a line of the first, which is not given.
    let on_top = [TEXT, KNOB, DEAD_END, "int last(void)\n{\n\treturn 3;\n}\n"].concat();
    commit("tree/kernel/x.c", &on_top, "on top");
    let said = dossier(&["HEAD", "HEAD~2"]).success().stderr;
    assert!(said.contains("kernel/x.c: 1 of 1 hunks do not apply and are left out"), "{said}");
    // Inputs that cannot be compared, and a reversed range.
    for (words, why) in [
        (&["HEAD~4"][..], "has no parent to compare with: it is the first commit"),
        (&["HEAD~9", "HEAD"], "HEAD~9 is not a commit of"),
        (&["HEAD~2..HEAD", "HEAD"], "several commits are given one by one"),
        (&["HEAD~2...HEAD"], "HEAD~2...HEAD is not a range A..B"),
        (&["..HEAD"], "..HEAD is not a range A..B"),
        (&["HEAD..HEAD"], "HEAD..HEAD is empty"),
    ] {
        let ran = dossier(words);
        assert_eq!((ran.code, ran.stderr.contains(why)), (1, true), "{words:?}: {}", ran.stderr);
    }
    let said = dossier(&["HEAD..HEAD~1"]).success().stderr;
    assert!(said.contains("HEAD~1 is older than HEAD"), "{said}");
    // What is left out is also on the page.
    dossier(&["HEAD", "HEAD~2"]).success();
    let page = std::fs::read_to_string(lab.path("out/dossier.md")).unwrap();
    assert!(page.contains("    kernel/x.c: 1 of 1 hunks do not apply and are left out\n"), "{page}");
    // A merge is reported among several commits, and is the event if it is given alone.
    git(&lab, "tree", &["checkout", "-q", "-b", "side", "HEAD~3"]);
    commit("tree/kernel/z.c", "int z(void)\n{\n\treturn 9;\n}\n", "on the side");
    git(&lab, "tree", &["checkout", "-q", "-"]);
    git(&lab, "tree", &["merge", "-q", "-m", "the merge", "side"]);
    git(&lab, "tree", &["tag", "v1"]);
    let said = dossier(&["HEAD", "HEAD~1"]).success().stderr;
    assert!(said.contains("is a merge; it is left out: give it alone"), "{said}");
    dossier(&["HEAD"]).success();
    let page = std::fs::read_to_string(lab.path("out/dossier.md")).unwrap();
    assert!(page.contains(" the merge | v1 |") && page.contains(" on the side | v1 |"), "{page}");
    let inside = schedlab(&["kernel", "dossier", "HEAD", "--tree", &tree, "-o", &lab.path("tree/out")]);
    assert!(inside.code == 1 && inside.stderr.contains("it is inside --tree"), "{}", inside.stderr);
}

/// An interface names the commit whose own diff changes it, not the one that adds a comment about it.
#[test]
fn each_interface_names_the_commit_or_the_patch_that_changed_it() {
    let lab = Lab::new("kernel-dossier-by");
    git(&lab, ".", &["init", "-q", "tree"]);
    let commit = |text: &str, subject: &str| {
        write(&lab, "tree/kernel/x.c", [TEXT, text].concat().as_bytes());
        git(&lab, "tree", &["add", "-A"]);
        git(&lab, "tree", &["commit", "-qm", subject]);
        git(&lab, "tree", &["rev-parse", "HEAD"])[..12].to_owned()
    };
    let table =
        "static struct ctl_table t[] = {\n\t{\n\t\t.procname = \"knob\",\n\n\n\n\n\t\t.mode = 0644,\n\t},\n};\n";
    commit(table, "base");
    let changed = table.replace("0644", "0600");
    let id = commit(&changed, "the mode");
    commit(&format!("{changed}/* knob, and all about knob */\n"), "a comment");
    let row = |words: &[&str]| {
        let out = lab.path("out");
        schedlab(&[&["kernel", "dossier"], words, &["--tree", &lab.path("tree"), "-o", &out]].concat()).success();
        let page = std::fs::read_to_string(lab.path("out/dossier.md")).unwrap();
        page.lines().find(|line| line.starts_with("| knob | changed")).unwrap_or_else(|| panic!("{page}")).to_owned()
    };
    let found = row(&["HEAD~2..HEAD"]);
    assert!(found.ends_with(&format!("| {id} |")), "{found}");
    git(&lab, "tree", &["format-patch", "-q", "-o", "patches", "HEAD~2"]);
    let patches = ["0001-the-mode.patch", "0002-a-comment.patch"].map(|name| lab.path(&format!("tree/patches/{name}")));
    git(&lab, "tree", &["checkout", "-q", "HEAD~2"]);
    let found = row(&[&patches[0], &patches[1]]);
    assert!(found.ends_with("| the mode |"), "{found}");
}

#[test]
fn a_patch_that_copies_a_file_leaves_its_origin() {
    let lab = Lab::new("kernel-dossier-copy");
    write(&lab, "tree/kernel/x.c", TEXT.as_bytes());
    let copy = "diff --git a/kernel/x.c b/kernel/y.c\nsimilarity index 90%\ncopy from kernel/x.c\ncopy to kernel/y.c\n\
        --- a/kernel/x.c\n+++ b/kernel/y.c\n@@ -12,4 +12,4 @@ int second(int x)\n \tx = compute(x);\n \tunlock(x);\n-\treturn x;\n+\treturn -x;\n }\n";
    let patch = write(&lab, "copy.patch", copy.as_bytes());
    let (tree, out) = (lab.path("tree"), lab.path("out"));
    schedlab(&["kernel", "dossier", &patch, "--tree", &tree, "-o", &out]).success();
    let page = std::fs::read_to_string(lab.path("out/dossier.md")).unwrap();
    assert!(page.contains("| kernel/y.c | new | +15 | -0 |") && !page.contains("| kernel/x.c | gone"), "{page}");
}

#[test]
fn what_is_no_input_of_a_dossier_is_said_and_nothing_is_written() {
    let lab = Lab::new("kernel-dossier-bad");
    write(&lab, "tree/kernel/x.c", TEXT.as_bytes());
    let (tree, text) = (lab.path("tree"), write(&lab, "notes.txt", b"no diff\n"));
    let escaping = write(&lab, "escaping.patch", b"--- a/../../etc/x\n+++ b/../../etc/x\n@@ -1 +1 @@\n-a\n+b\n");
    let patch = write(&lab, "p.patch", format!("--- a/kernel/x.c\n+++ b/kernel/x.c\n{HUNK}").as_bytes());
    let dir = lab.path("out");
    for (words, why) in [
        (&[&*tree, "absent"][..], "absent is not a directory"),
        (&[&*tree], "give two source trees"),
        (&[&*text, "--tree", &tree], "contains no diff"),
        (&["v1..v2", "--tree", &tree], "is not a checkout"),
        // Nothing of the patch is left, so there are no paths to read.
        (&[&*escaping, "--tree", &tree], "nothing of the patches can be read: "),
        (&[&*tree, &tree, "--paths", "../etc"], "give directories and files inside the tree"),
        (&[&*tree, &tree, "--paths", "mm"], "no C file and no Kconfig in mm: give the root of a source tree"),
        (&[&*patch, "--tree", &tree, "--paths", "mm"], "--paths mm: the patches change nothing there, only in kernel"),
        (&[&*patch, "--tree", &tree, "--paths", "kernel/y.c"], "leave --paths out for all that they change"),
    ] {
        let ran = schedlab(&[&["kernel", "dossier"], words, &["-o", &dir]].concat());
        assert_eq!(ran.code, 1, "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(why), "{words:?}: {}", ran.stderr);
    }
    assert!(!std::path::Path::new(&dir).exists());
}

/// A checkout of another user: its configuration names a program wherever git would run one, and a pipe wherever git
/// would read a file.
#[test]
fn a_checkouts_own_settings_run_nothing_and_are_not_waited_for() {
    let lab = Lab::new("kernel-hostile-checkout");
    write(&lab, "tree/kernel/x.c", TEXT.as_bytes());
    git(&lab, "tree", &["init", "-q"]);
    git(&lab, "tree", &["add", "-A"]);
    git(&lab, "tree", &["commit", "-qm", "first"]);
    write(&lab, "tree/kernel/x.c", [TEXT, DEAD_END].concat().as_bytes());
    git(&lab, "tree", &["commit", "-qam", "second"]);
    let patch = write(&lab, "p.patch", git(&lab, "tree", &["diff", "HEAD~1", "HEAD"]).as_bytes());
    // A signature, for which git log would run a program.
    let commit = git(&lab, "tree", &["cat-file", "commit", "HEAD"]);
    let signature = "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n";
    write(&lab, "commit", commit.replacen("\n\n", signature, 1).as_bytes());
    let signed = git(&lab, "tree", &["hash-object", "-t", "commit", "-w", &lab.path("commit")]);
    git(&lab, "tree", &["reset", "-q", "--hard", signed.trim()]);
    let (program, ran, pipe) = (lab.path("program"), lab.path("ran"), lab.path("pipe"));
    write(&lab, "program", format!("#!/bin/sh\necho \"$0 $@\" >> {ran}\nexit 1\n").as_bytes());
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (name, value) in [
        ("log.showSignature", "true"),
        ("gpg.program", &program),
        ("core.fsmonitor", &program),
        ("core.pager", &program),
        ("diff.external", &program),
        ("diff.c.textconv", &program),
        ("diff.c.command", &program),
        ("diff.orderFile", &pipe),
        ("mailmap.file", &pipe),
        ("core.attributesFile", &pipe),
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", &lab.path("tree")),
        ("remote.origin.uploadpack", &program),
        ("protocol.allow", "always"),
    ] {
        git(&lab, "tree", &["config", name, value]);
    }
    write(&lab, "tree/.gitattributes", b"*.c diff=c\n");
    let (tree, out) = (lab.path("tree"), lab.path("out"));
    schedlab(&["kernel", "dossier", "HEAD~1..HEAD", "--tree", &tree, "-o", &out]).success();
    let port = schedlab(&["kernel", "port", &patch, "--onto", &tree]).success();
    assert!(port.stdout.contains("same patch-id"), "its history is read: {}{}", port.stdout, port.stderr);
    // A file that git would fetch from the promisor remote.
    let blob = git(&lab, "tree", &["rev-parse", "HEAD:kernel/x.c"]);
    std::fs::remove_file(lab.path(&format!("tree/.git/objects/{}/{}", &blob[..2], blob[2..].trim()))).unwrap();
    let gone = schedlab(&["kernel", "dossier", "HEAD~1..HEAD", "--tree", &tree, "-o", &out]);
    assert!(gone.code == 1 && gone.stderr.contains("fetches nothing"), "{}", gone.stderr);
    let said = std::fs::read_to_string(&ran).unwrap_or_default();
    assert!(said.is_empty(), "git ran: {said}");
}

/// A history with two releases, a fix and documentation. Text in the slots is kept; if something else was changed, the
/// old page is kept next to the new one.
#[test]
fn a_dossier_of_a_history_names_releases_subsystems_references_and_keeps_what_was_written() {
    let lab = Lab::new("kernel-dossier-history");
    write(&lab, "t/kernel/x.c", TEXT.as_bytes());
    write(
        &lab,
        "t/MAINTAINERS",
        b"THE KNOBS\nL:\tknobs@example.org\nS:\tMaintained\nF:\tkernel/\n\nTHE REST\nF:\t*\nF:\t*/\n",
    );
    write(&lab, "t/Documentation/knobs.rst", b"Knobs\n\nSet the_knob to turn it.\n");
    git(&lab, "t", &["init", "-q"]);
    let commit = |message: &str, tag: Option<&str>| {
        git(&lab, "t", &["add", "-A"]);
        git(&lab, "t", &["commit", "-qm", message]);
        tag.map(|tag| git(&lab, "t", &["tag", tag]));
        git(&lab, "t", &["rev-parse", "HEAD"]).trim().to_owned()
    };
    commit("first", Some("v1"));
    write(&lab, "t/kernel/x.c", [TEXT, &KNOB.replace("\"knob\"", "\"the_knob\"")].concat().as_bytes());
    let knob = commit("a knob\n\nLink: https://example.org/knob", Some("v2-rc1"));
    git(&lab, "t", &["tag", "v2"]);
    write(&lab, "t/kernel/x.c", [TEXT, &KNOB.replace("\"knob\"", "\"the_knob\""), DEAD_END].concat().as_bytes());
    commit("an open", None);
    write(&lab, "t/kernel/x.c", TEXT.replace("unlock(x)", "release(x)").as_bytes());
    commit(&format!("fix\n\nFixes: {} (\"a knob\")", &knob[..12]), None);
    let (tree, out) = (lab.path("t"), lab.path("out"));
    let traced = write(&lab, "hits.txt", b" a-1 [000] d 1.0: open <-syscall\n a-1 [000] d 1.1: open <-syscall\n");
    let words =
        ["kernel", "dossier", "HEAD~3..HEAD~1", "--tree", &tree, "--template", "term", "--hits", &traced, "-o", &out];
    schedlab(&words).success();
    let page = std::fs::read_to_string(lab.path("out/dossier.md")).unwrap();
    let row = |subject: &str| page.lines().find(|line| line.contains(&format!("| {subject} |"))).unwrap_or_default();
    assert!(row("a knob").starts_with(&format!("| {} | ", &knob[..12])), "{page}");
    assert!(row("a knob").ends_with("| v2-rc1 |") && row("an open").ends_with("| in no tag yet |"), "{page}");
    assert!(page.contains("| Link | https://example.org/knob |"), "{page}");
    assert!(page.contains("| the_knob | Documentation | Documentation/knobs.rst:3 |"), "{page}");
    assert!(page.contains("| THE KNOBS | Maintained | knobs@example.org | 1 | +7 | -0 |"), "{page}");
    assert!(page.contains(" a knob | ") && page.contains(" fix |  |"), "the fix is a problem of the knob: {page}");
    assert!(page.contains("| kernel | 1 | 0 | 2 |") && page.contains("| open | kernel | 2 |"), "{page}");
    assert!(page.contains("           19 +int open(int x)\n"), "line by line: {page}");
    // Text in a slot, and a change outside of it; then in Chinese.
    let slot = "<!-- slot: function open -->\n";
    let edited = page.replace(&format!("{slot}[Comment of an engineer.]"), &format!("{slot}It *opens*."));
    assert_ne!(edited, page);
    std::fs::write(lab.path("out/dossier.md"), &edited).unwrap();
    let again = [&words[..], &["--lang", "zh"]].concat();
    assert!(!schedlab(&again).success().stderr.contains("was edited outside"));
    let chinese = std::fs::read_to_string(lab.path("out/dossier.md")).unwrap();
    assert!(chinese.contains(&format!("{slot}It *opens*.\n")) && chinese.contains("## 5. 总结"), "{chinese}");
    assert!(!chinese.contains("engineer") && chinese.contains("[由工程师填写：用途与工作原理。]"), "{chinese}");
    std::fs::write(lab.path("out/dossier.md"), chinese.replace("## 5. 总结", "## 5. Mine")).unwrap();
    let seen = schedlab(&again).success().stderr;
    assert!(seen.contains("edited outside of its slots; the old file is kept as dossier.md.old1"), "{seen}");
    assert!(std::fs::read_to_string(lab.path("out/dossier.md.old1")).unwrap().contains("## 5. Mine"));
    std::fs::write(lab.path("out/dossier.md"), edited.replace("It *opens*.\n<!-- end of slot -->", "It")).unwrap();
    let refused = schedlab(&words);
    assert!(refused.code == 1 && refused.stderr.contains("the slot `function open` has no line"), "{}", refused.stderr);
    std::fs::write(lab.path("out/dossier.md"), edited.as_bytes().iter().map(|b| b | 0x80).collect::<Vec<_>>()).unwrap();
    let refused = schedlab(&words);
    assert!(refused.code == 1 && refused.stderr.contains("it is not UTF-8"), "{}", refused.stderr);
    // The note of a function that is gone is kept.
    std::fs::write(lab.path("out/dossier.md"), &edited).unwrap();
    schedlab(&["kernel", "dossier", "HEAD~3..HEAD~2", "--tree", &tree, "-o", &out]).success();
    let page = std::fs::read_to_string(lab.path("out/dossier.md")).unwrap();
    assert!(page.contains("Notes whose place is gone") && page.contains("It *opens*."), "{page}");
}

/// Skipped parts of a patch are reported as problems.
#[test]
fn a_dossier_of_a_patch_names_what_was_refused() {
    let lab = Lab::new("kernel-dossier-refused");
    write(&lab, "tree/kernel/x.c", TEXT.as_bytes());
    let hunk = format!("--- a/kernel/x.c\n+++ b/kernel/x.c\n{HUNK}");
    let refused = "--- a/../../x\n+++ b/../../x\n@@ -0,0 +1 @@\n+x\ndiff --git a/f.bin b/f.bin\nindex 1..2\nBinary files a/f.bin and b/f.bin differ\n";
    let patch = write(&lab, "p.patch", format!("{hunk}{refused}").as_bytes());
    let (tree, out) = (lab.path("tree"), lab.path("out"));
    let ran = schedlab(&["kernel", "dossier", &patch, "--tree", &tree, "-o", &out]).success();
    for why in ["leads out of the tree", "f.bin is binary"] {
        assert!(ran.stderr.contains(why), "{why}: {}", ran.stderr);
    }
    let answer = json(&std::fs::read_to_string(lab.path("out/dossier.json")).unwrap());
    assert_eq!(answer["problems"].as_array().unwrap().len(), 2, "{answer}");
    let ran = schedlab(&["kernel", "dossier", &patch, "--tree", &tree, "-o", &patch]).failure();
    assert!(ran.stderr.contains("it is not a directory"), "{}", ran.stderr);
}

/// Trees, a patch and a range, with paths in different spellings.
#[test]
fn the_paths_of_a_dossier_are_spelt_as_one_likes() {
    let lab = Lab::new("kernel-dossier-paths");
    let new = TEXT.replace("\treturn x;\n}\n", "\treturn x;\n}\nint y;\n");
    for (file, text) in [("old/kernel/x.c", TEXT), ("old/mm/z.c", TEXT), ("new/kernel/x.c", &new), ("new/mm/z.c", TEXT)]
    {
        write(&lab, file, text.as_bytes());
    }
    let patch = write(&lab, "p.patch", format!("--- a/kernel/x.c\n+++ b/kernel/x.c\n{HUNK}").as_bytes());
    let (old, new, out) = (lab.path("old"), lab.path("new"), lab.path("out"));
    git(&lab, "old", &["init", "-q"]);
    git(&lab, "old", &["add", "-A"]);
    git(&lab, "old", &["commit", "-qm", "first"]);
    std::fs::copy(lab.path("new/kernel/x.c"), lab.path("old/kernel/x.c")).unwrap();
    git(&lab, "old", &["commit", "-qam", "second"]);
    let commit = git(&lab, "old", &["rev-parse", "HEAD"]);
    git(&lab, "old", &["reset", "-q", "--hard", "HEAD~1"]);
    for words in [&[&*old, &new][..], &[&patch, "--tree", &old], &[commit.trim(), "--tree", &old]] {
        for paths in ["kernel", "kernel/", "./kernel", "./kernel//x.c", "kernel/,mm/", "."] {
            let ran = schedlab(&[&["kernel", "dossier"], words, &["--paths", paths, "-o", &out]].concat()).success();
            assert!(!ran.stderr.contains("does not exist"), "{words:?} {paths}: {}", ran.stderr);
            let answer = json(&std::fs::read_to_string(lab.path("out/dossier.json")).unwrap());
            assert_eq!(answer["files"][0]["path"], "kernel/x.c", "{words:?} {paths}: {answer}");
        }
    }
}

/// Only what applies is a difference; the rest is reported with the reason.
#[test]
fn a_dossier_of_a_patch_that_does_not_fit_shows_no_change() {
    let lab = Lab::new("kernel-dossier-unfit");
    write(&lab, "tree/kernel/x.c", TEXT.as_bytes());
    write(&lab, "elsewhere.c", TEXT.as_bytes());
    std::os::unix::fs::symlink(lab.path("elsewhere.c"), lab.path("tree/kernel/link.c")).unwrap();
    let all: String = TEXT.lines().map(|line| format!("-{line}\n")).collect();
    let count = TEXT.lines().count();
    let (tree, out) = (lab.path("tree"), lab.path("out"));
    for (names, hunk, why) in [
        (["a/kernel/y.c", "b/kernel/y.c"], HUNK.to_owned(), "kernel/y.c: the tree has no such file"),
        (["/dev/null", "b/kernel/x.c"], "@@ -0,0 +1 @@\n+int y;\n".into(), "the tree has that file already"),
        (
            ["a/kernel/x.c", "/dev/null"],
            format!("@@ -1,{count} +0,0 @@\n{}", all.replace("unlock", "release")),
            "kernel/x.c: 1 of 1 hunks do not apply and are left out; the file stays",
        ),
        (["a/kernel/link.c", "b/kernel/link.c"], HUNK.into(), "`kernel/link.c` is a symbolic link in the tree"),
    ] {
        // A patch that applies, so that there is something to read where only a link is left out.
        let fits = "--- /dev/null\n+++ b/kernel/fits.c\n@@ -0,0 +1 @@\n+int fits;\n";
        let patch = write(&lab, "p.patch", format!("--- {}\n+++ {}\n{hunk}{fits}", names[0], names[1]).as_bytes());
        schedlab(&["kernel", "dossier", &patch, "--tree", &tree, "-o", &out]).success();
        let answer = json(&std::fs::read_to_string(lab.path("out/dossier.json")).unwrap());
        let files: Vec<&str> =
            answer["files"].as_array().unwrap().iter().map(|f| f["path"].as_str().unwrap()).collect();
        assert_eq!(files, ["kernel/fits.c"], "{answer}");
        let mut problems = answer["problems"].as_array().unwrap().clone();
        problems.retain(|problem| problem != "kernel/link.c: it is a symbolic link; it is left out");
        assert!(problems.len() == 1 && problems[0].as_str().unwrap().contains(why), "{problems:?}");
    }
    std::fs::remove_file(lab.path("tree/kernel/link.c")).unwrap();
    let patch = write(&lab, "p.patch", format!("--- a/kernel/x.c\n+++ b/kernel/x.c.new\n{HUNK}").as_bytes());
    schedlab(&["kernel", "dossier", &patch, "--tree", &tree, "-o", &out]).success();
    let answer = json(&std::fs::read_to_string(lab.path("out/dossier.json")).unwrap());
    let file = &answer["files"][0];
    assert_eq!((&file["path"], &file["status"]), (&"kernel/x.c".into(), &"changed".into()), "{answer}");
    assert_eq!(answer["problems"], serde_json::json!([]));
}
