//! What a dossier reports outside of its paths and its input: callers elsewhere, a shallow clone, mails, folders.

use crate::program::sources::{TEXT, git, write};
use crate::program::{Lab, json, schedlab};

/// In a checkout and in a tree; if a patch also adapts the caller outside of the paths, there is no warning.
#[test]
fn callers_outside_of_the_paths_that_a_patch_forgot() {
    let lab = Lab::new("kernel-dossier-outside");
    let tcp = "void push(int a, int goal)\n{\n\tsend(a);\n}\n";
    let release = "void release(int a)\n{\n\tpush(a, 1);\n}\n";
    write(&lab, "tree/net/ipv4/tcp.c", tcp.as_bytes());
    write(&lab, "tree/net/mptcp/p.c", release.as_bytes());
    write(&lab, "tree/tools/p.c", release.as_bytes());
    git(&lab, "tree", &["init", "-q"]);
    git(&lab, "tree", &["add", "-A"]);
    git(&lab, "tree", &["commit", "-qm", "first"]);
    write(&lab, "tree/net/ipv4/tcp.c", tcp.replace(", int goal", "").as_bytes());
    git(&lab, "tree", &["commit", "-qam", "second"]);
    let forgot = write(&lab, "forgot.patch", git(&lab, "tree", &["diff", "HEAD~1", "HEAD"]).as_bytes());
    write(&lab, "tree/net/mptcp/p.c", release.replace(", 1", "").as_bytes());
    let whole = write(&lab, "whole.patch", git(&lab, "tree", &["diff", "HEAD~1"]).as_bytes());
    git(&lab, "tree", &["reset", "-q", "--hard", "HEAD"]);
    git(&lab, ".", &["clone", "-q", "tree", "old"]);
    git(&lab, "old", &["reset", "-q", "--hard", "HEAD~1"]);
    let [tree, old, out] = ["tree", "old", "out"].map(|name| lab.path(name));
    let answer = |words: &[&str]| {
        schedlab(&[&["kernel", "dossier"], words, &["-o", &out]].concat()).success();
        json(&std::fs::read_to_string(lab.path("out/dossier.json")).unwrap())
    };
    let inputs: [&[&str]; 4] = [
        &[&old, &tree, "--paths", "net/ipv4", "--all-callers"],
        &[&forgot, "--tree", &old],
        &["HEAD", "--tree", &tree],
        &["HEAD~1..HEAD", "--tree", &tree],
    ];
    for words in inputs {
        let found = answer(words);
        let place = serde_json::json!({ "file": "net/mptcp/p.c", "line": 3 });
        let caller = serde_json::json!([{ "function": "push", "caller": "release", "place": place }]);
        assert_eq!(found["outside"], caller, "{words:?}");
        let left = &found["not_adapted"][0];
        assert_eq!((&left["place"], &left["passed"], &left["taken"]), (&place, &2.into(), &1.into()), "{words:?}");
        let page = std::fs::read_to_string(lab.path("out/dossier.md")).unwrap();
        assert!(page.contains("| push | release | net/mptcp/p.c:3 (outside) | 2 | 1 |"), "{page}");
        assert!(page.contains("release (net/mptcp/p.c (outside))"), "{page}");
        assert!(page.contains("| net/mptcp (outside) | 0 | 1 |"), "{page}");
    }
    // The patch also changes files outside of the paths.
    let found = answer(&[&whole, "--tree", &old, "--paths", "net/ipv4"]);
    assert_eq!((&found["outside"], &found["not_adapted"]), (&serde_json::json!([]), &serde_json::json!([])));
    let found = answer(&[&whole, "--tree", &old, "--paths", "net/ipv4", "--all-callers"]);
    assert_eq!((&found["outside"][0]["caller"], &found["not_adapted"]), (&"release".into(), &serde_json::json!([])));
    let found = answer(&[&whole, "--tree", &old]);
    assert_eq!((&found["outside"], &found["not_adapted"]), (&serde_json::json!([]), &serde_json::json!([])));
}

/// `pid()` moves to a header outside of the paths: within the paths nobody knows whether it is gone.
#[test]
fn what_left_the_paths_may_be_elsewhere() {
    let lab = Lab::new("kernel-dossier-moved");
    let [pid, user] = ["static inline int pid(int a)\n{\n\treturn a;\n}\n", "int f(int a)\n{\n\treturn pid(a);\n}\n"];
    write(&lab, "old/include/linux/sched.h", pid.as_bytes());
    write(&lab, "new/include/linux/sched.h", b"struct s;\n");
    write(&lab, "new/include/linux/pid.h", pid.as_bytes());
    let [old, new, out] = ["old", "new", "out"].map(|name| lab.path(name));
    [&old, &new].iter().for_each(|tree| drop(write(&lab, &format!("{tree}/kernel/f.c"), user.as_bytes())));
    for more in [None, Some("--all-callers")] {
        let words = ["kernel", "dossier", &old, &new, "--paths", "kernel,include/linux/sched.h", "-o", &out];
        schedlab(&[&words[..], &more.map_or(vec![], |more| vec![more])].concat()).success();
        let found = json(&std::fs::read_to_string(lab.path("out/dossier.json")).unwrap());
        assert_eq!(found["not_adapted"], serde_json::json!([]), "{more:?}");
    }
}

#[test]
fn a_shallow_clone_is_said_to_be_one() {
    let lab = Lab::new("kernel-dossier-shallow");
    git(&lab, ".", &["init", "-q", "tree"]);
    for value in ["1", "2", "3"] {
        write(&lab, "tree/kernel/x.c", format!("int f(void)\n{{\n\treturn {value};\n}}\n").as_bytes());
        git(&lab, "tree", &["add", "-A"]);
        git(&lab, "tree", &["commit", "-qm", value]);
    }
    let tree = lab.path("tree");
    git(&lab, ".", &["clone", "-q", "--depth", "2", &format!("file://{tree}"), "cut"]);
    for (name, is_said) in [("tree", false), ("cut", true)] {
        let (tree, out) = (lab.path(name), lab.path("out"));
        let ran = schedlab(&["kernel", "dossier", "HEAD~1..HEAD", "--tree", &tree, "-o", &out]).success();
        assert_eq!(ran.stderr.contains("is a shallow clone: older commits"), is_said, "{}", ran.stderr);
        assert_eq!(
            std::fs::read_to_string(lab.path("out/dossier.md")).unwrap().contains("is a shallow clone"),
            is_said
        );
        let ran = schedlab(&["kernel", "related", "f", "--tree", &tree, "--range", "HEAD~1..HEAD"]).success();
        assert_eq!(ran.stderr.contains("is a shallow clone"), is_said, "{}", ran.stderr);
    }
}

/// git quotes such a name in some lists; here it is the name of a file whose functions have to be found again.
#[test]
fn a_file_of_a_commit_may_have_any_letters_in_its_name() {
    let lab = Lab::new("kernel-dossier-names");
    git(&lab, ".", &["init", "-q", "tree"]);
    write(&lab, "tree/kernel/x.c", b"int f(void)\n{\n\treturn 1;\n}\n");
    git(&lab, "tree", &["add", "-A"]);
    git(&lab, "tree", &["commit", "-qm", "first"]);
    git(&lab, "tree", &["mv", "kernel/x.c", "kernel/\u{fc} \"x.c"]);
    git(&lab, "tree", &["commit", "-qm", "another name"]);
    let (tree, out) = (lab.path("tree"), lab.path("out"));
    schedlab(&["kernel", "dossier", "HEAD~1..HEAD", "--tree", &tree, "-o", &out]).success();
    let page = std::fs::read_to_string(lab.path("out/dossier.md")).unwrap();
    assert!(page.contains("Functions: 0 changed, 0 new, 0 removed, 0 renamed."), "{page}");
    assert!(page.contains("renamed from kernel/x.c"), "{page}");
}

/// A mail contains the id of a commit that may not be in any known checkout.
#[test]
fn a_mail_with_an_author_in_other_letters_a_rename_and_a_new_mode() {
    let lab = Lab::new("kernel-dossier-mail");
    let body: String = (0..30).map(|n| format!("int number{n} = {n};\n")).collect();
    write(&lab, "tree/kernel/old.c", body.as_bytes());
    write(&lab, "tree/kernel/run.sh", b"#!/bin/sh\n");
    git(&lab, "tree", &["init", "-q"]);
    git(&lab, "tree", &["add", "-A"]);
    git(&lab, "tree", &["commit", "-qm", "first"]);
    git(&lab, "tree", &["mv", "kernel/old.c", "kernel/new.c"]);
    write(&lab, "tree/kernel/new.c", body.replace("= 7;", "= 8;").as_bytes());
    git(&lab, "tree", &["update-index", "--chmod=+x", "kernel/run.sh"]);
    let author = "Jérôme de la Très-Longue-Rivière aux Éléphants <j@example.org>";
    git(&lab, "tree", &["commit", "-qam", "second", "--author", author]);
    git(&lab, "tree", &["update-index", "--chmod=+x", "kernel/run.sh"]);
    git(&lab, "tree", &["commit", "-q", "--amend", "--no-edit"]);
    let mail = write(&lab, "second.mbox", git(&lab, "tree", &["format-patch", "--stdout", "-1"]).as_bytes());
    assert!(std::fs::read_to_string(&mail).unwrap().contains("From: =?UTF-8?q?J=C3=A9r"));
    git(&lab, "tree", &["archive", "-o", "../first.tar", "HEAD~1"]);
    std::fs::create_dir(lab.path("plain")).unwrap();
    let tar =
        std::process::Command::new("tar").args(["-xf", &lab.path("first.tar"), "-C", &lab.path("plain")]).status();
    assert!(tar.unwrap().success());
    let out = lab.path("out");
    schedlab(&["kernel", "dossier", &mail, "--tree", &lab.path("plain"), "-o", &out]).success();
    let page = std::fs::read_to_string(lab.path("out/dossier.md")).unwrap();
    assert!(page.contains("| Jérôme de la Très-Longue-Rivière aux Éléphants | second |"), "{page}");
    assert!(page.contains("| kernel/new.c | renamed from kernel/old.c | +1 | -1 |"), "{page}");
    assert!(page.contains("| kernel/run.sh | changed, mode 100644 → 100755 | +0 | -0 |"), "{page}");
    assert!(page.contains("2 files and ") && !page.contains("No tag of the checkout"), "{page}");
}

#[test]
fn a_tree_that_is_no_kernel_is_said() {
    let lab = Lab::new("kernel-dossier-no-kernel");
    for tree in ["a", "b"] {
        write(&lab, &format!("{tree}/kernel/x.c"), TEXT.as_bytes());
    }
    write(&lab, "b/Makefile", b"# SPDX\nVERSION = 6\n");
    let (a, b, out) = (lab.path("a"), lab.path("b"), lab.path("out"));
    let said = || schedlab(&["kernel", "dossier", &a, &b, "-o", &out]).success().stderr;
    let seen = said();
    assert!(seen.contains(&format!("{a} is no kernel tree: it has no Makefile with a VERSION")), "{seen}");
    assert!(seen.contains(&format!("{b} is no kernel tree: it has no Kconfig")), "{seen}");
    write(&lab, "b/Kconfig", b"");
    assert!(!said().contains(&format!("{b} is no")));
    // The tree has no C files, so it was probably not meant.
    std::fs::remove_file(lab.path("a/kernel/x.c")).unwrap();
    let refused = schedlab(&["kernel", "dossier", &a, &b, "-o", &out]);
    assert!(refused.code == 1 && refused.stderr.contains("nor any C file"), "{}", refused.stderr);
}
