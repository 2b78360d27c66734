//! `kernel port` and `kernel dossier` as a user starts them: on small trees.

mod program;

use program::{Lab, json, schedlab};

const TEXT: &str = "int first(int x)\n{\n\tlock(x);\n\tx = compute(x);\n\tunlock(x);\n\treturn x;\n}\n\nint second(int x)\n{\n\tlock(x);\n\tx = compute(x);\n\tunlock(x);\n\treturn x;\n}\n";
const MISPLACED: &str = "@@ -3,4 +3,4 @@ int second(int x)\n \tlock(x);\n-\tx = compute(x);\n+\tx = recompute(x);\n \tunlock(x);\n \treturn x;\n";

fn write(lab: &Lab, path: &str, text: &[u8]) -> String {
    let path = lab.path(path);
    std::fs::create_dir_all(std::path::Path::new(&path).parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

/// What git says in a directory of the test's.
fn git(lab: &Lab, directory: &str, words: &[&str]) -> String {
    let ran = std::process::Command::new("git")
        .args(["-C", &lab.path(directory), "-c", "user.name=n", "-c", "user.email=n@example.org"])
        .args(words)
        .output()
        .unwrap();
    assert!(ran.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn a_quilt_directory_is_rehearsed_and_the_tree_stays_as_it_is() {
    let lab = Lab::new("kernel-port");
    let source = write(&lab, "tree/kernel/x.c", TEXT.as_bytes());
    write(&lab, "q/series", b"# order\nb.patch -p1\na.patch\n");
    write(
        &lab,
        "q/b.patch",
        format!("Subject: [PATCH 1/2] of b\n\n--- a/kernel/x.c\n+++ b/kernel/x.c\n{MISPLACED}").as_bytes(),
    );
    let a = "Subject: of a\n\n--- a/../../etc/x\n+++ b/../../etc/x\n@@ -1 +1 @@\n-a\n+b\n--- a/kernel/gone.c\n+++ b/kernel/gone.c\n@@ -1 +1 @@\n-a\n+b\n";
    write(&lab, "q/a.patch", a.as_bytes());
    let (series, tree, file) = (lab.path("q"), lab.path("tree"), lab.path("found.jsonl"));
    let ran = schedlab(&["kernel", "port", &series, "--onto", &tree, "--json", &file]).success();
    let flagged =
        "hunk 1    applies  kernel/x.c:12 second  patch puts it into `first`, it is for `second`; proposal: sure";
    assert!(ran.stdout.contains(flagged), "{}", ran.stdout);
    assert!(ran.stdout.contains("patch 1: of b (") && ran.stdout.contains("kernel/gone.c  the tree has no such file"));
    assert!(ran.stdout.contains("`a/../../etc/x` leads out of the tree"), "{}", ran.stdout);
    assert!(ran.stdout.contains("2 hunks of 2 patches: 1 apply, 0 with offset, 0 with fuzz, 1 fail"), "{}", ran.stdout);
    let lines: Vec<_> = std::fs::read_to_string(&file).unwrap().lines().map(json).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!((&lines[0]["verdict"], &lines[0]["place"]["line"]), (&"applies".into(), &12.into()));
    assert_eq!((&lines[0]["confidence"], &lines[0]["place"]["function"]), (&"sure".into(), &"second".into()));
    assert!(
        lines[0]["proposal"].as_str().unwrap().starts_with("@@ -9,7 +9,7 @@ int first(int x)\n int second(int x)\n"),
        "{}",
        lines[0]
    );
    assert_eq!((&lines[1]["verdict"], lines[1]["place"].is_null()), (&"fails".into(), true));
    assert_eq!(lines[2]["line"], 3);
    assert_eq!(std::fs::read_to_string(source).unwrap(), TEXT);
    let alone = schedlab(&["kernel", "port", &series, "--onto", &tree, "--json"]).success();
    assert_eq!(alone.stdout, std::fs::read_to_string(&file).unwrap());
}

/// Of three patches the first is put right, the second is there already, and of the third a hunk is left out; what is
/// written goes in with `git apply`, and nothing else is written anywhere.
#[test]
fn the_adapted_series_applies_and_stays_in_its_directory() {
    let lab = Lab::new("kernel-port-write");
    let source = write(&lab, "tree/kernel/x.c", TEXT.as_bytes());
    let mail = |n: u32, subject: &str, files: &str| {
        format!(
            "From {n:040} Mon Sep 17 00:00:00 2001\nFrom: A B <a@example.org>\nSubject: [PATCH {n}/3] {subject}\n\nWhy.\n---\n x | 9 +\n\n{files}-- \n2.39.5\n\n"
        )
    };
    let there = "--- a/kernel/x.c\n+++ b/kernel/x.c\n@@ -1,4 +1,4 @@\n int first(int x)\n {\n-\tlatch(x);\n+\tlock(x);\n \tx = compute(x);\n";
    let lost = "@@ -90,3 +90,3 @@ int third(int x)\n \talpha(x);\n-\tbeta(x);\n+\tgamma(x);\n \tdelta(x);\n";
    let hostile = "--- a/../../evil\n+++ b/../../evil\n@@ -0,0 +1 @@\n+x\n";
    let series = [
        mail(1, "../../up: a / b\u{1b}[31m", &format!("--- a/kernel/x.c\n+++ b/kernel/x.c\n{MISPLACED}{hostile}")),
        mail(2, "there", there),
        mail(
            3,
            "more",
            &format!("--- a/kernel/x.c\n+++ b/kernel/x.c\n@@ -1 +1 @@\n-int first(int x)\n+int first(long x)\n{lost}"),
        ),
    ];
    let series = write(&lab, "series.mbox", series.concat().as_bytes());
    let (tree, out) = (lab.path("tree"), lab.path("out/deep"));
    let ran = schedlab(&["kernel", "port", &series, "--onto", &tree, "--write", &out]).success();
    assert!(ran.stderr.contains("2 of 3 patches in "), "{}", ran.stderr);
    assert!(ran.stderr.contains("1 *.rej file with hunks"), "{}", ran.stderr);
    for row in [
        "    1 part          1       0        1  ../../up: a / b",
        " 1 not rehearsed\n",
        "    2 present       0       1        0  there\n",
        "    3 part          1       0        1  more\n",
        " 1 only a guess\n",
        "patches: 1 present, 0 clean, 0 adapted, 2 part, 0 left out\n",
    ] {
        assert!(ran.stdout.contains(row), "{row}: {}", ran.stdout);
    }
    let names = |dir: &str| {
        let entries = std::fs::read_dir(lab.path(dir)).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names("out/deep"), ["0001-up-a-b-31m.patch", "0003-more.patch", "0003-more.rej", "series"]);
    assert_eq!(names(""), ["out", "series.mbox", "tree"]);
    let read = |name: &str| std::fs::read_to_string(lab.path(&format!("out/deep/{name}"))).unwrap();
    assert_eq!(read("series"), "0001-up-a-b-31m.patch\n# 0002-there: nothing is left of it\n0003-more.patch\n");
    let first = read("0001-up-a-b-31m.patch");
    assert!(first.contains("\nWhy.\n---\n# schedlab: hunk 1 of the series, kernel/x.c: sure proposal"), "{first}");
    assert!(!first.contains("evil") && read("0003-more.rej").ends_with(lost));
    assert_eq!(std::fs::read_to_string(&source).unwrap(), TEXT);
    for patch in ["0001-up-a-b-31m.patch", "0003-more.patch"] {
        let file = lab.path(&format!("out/deep/{patch}"));
        let ran = std::process::Command::new("git").args(["apply", "-v", &file]).current_dir(&tree).output().unwrap();
        assert!(ran.status.success(), "{patch}: {}", String::from_utf8_lossy(&ran.stderr));
    }
    let (head, tail) = TEXT.split_at(TEXT.find("int second").unwrap());
    let ported = head.replace("first(int", "first(long") + &tail.replace("compute", "recompute");
    assert_eq!(std::fs::read_to_string(&source).unwrap(), ported);
    // Written once, it may be edited.
    let again = schedlab(&["kernel", "port", &series, "--onto", &tree, "--write", &out]);
    assert_eq!((again.code, again.stderr.contains("it is not empty")), (1, true), "{}", again.stderr);
    let file = schedlab(&["kernel", "port", &series, "--onto", &tree, "--write", &series]);
    assert_eq!((file.code, file.stderr.contains("it is no directory")), (1, true), "{}", file.stderr);
}

/// A checkout: five patches, of which its history has the first four in one way each, the fourth taken back since.
#[test]
fn patches_that_the_history_of_a_checkout_has_are_known_there() {
    let lab = Lab::new("kernel-port-history");
    let tree = lab.path("tree");
    let lines = |changed: &[(usize, &str)]| -> String {
        let line =
            |n: usize| changed.iter().find(|(at, _)| *at == n).map_or(format!("line {n}"), |(_, new)| (*new).into());
        (1..=60).map(|n| line(n) + "\n").collect()
    };
    let commit = |changed: &[(usize, &str)], message: &str| {
        write(&lab, "tree/x.c", lines(changed).as_bytes());
        git(&lab, "tree", &["add", "-A"]);
        git(&lab, "tree", &["commit", "-qm", message]);
        git(&lab, "tree", &["rev-parse", "HEAD"]).trim().to_owned()
    };
    write(&lab, "tree/x.c", b"");
    git(&lab, "tree", &["init", "-q"]);
    commit(&[], "base");
    let by_id = commit(&[(5, "a")], "another name");
    let by_subject = commit(&[(5, "a"), (15, "b, adapted")], "second");
    let origin = "0123456789abcdef0123456789abcdef01234567";
    let by_origin =
        commit(&[(5, "a"), (15, "b, adapted"), (25, "c")], &format!("x: third\n\ncommit {origin} upstream.\n"));
    let fourth = commit(&[(5, "a"), (15, "b, adapted"), (25, "c"), (35, "d")], "fourth");
    let back = commit(
        &[(5, "a"), (15, "b, adapted"), (25, "c")],
        &format!("Revert \"fourth\"\n\nThis reverts commit {fourth}.\n"),
    );
    let mail = |from: &str, subject: &str, more: &str, at: usize, new: &str| {
        let context = |n: usize| format!(" line {n}\n");
        let hunk = format!(
            "@@ -{},7 +{},7 @@\n{}-line {at}\n+{new}\n{}",
            at - 3,
            at - 3,
            (at - 3..at).map(context).collect::<String>(),
            (at + 1..=at + 3).map(context).collect::<String>()
        );
        format!(
            "From {from} Mon Sep 17 00:00:00 2001\nSubject: [PATCH] {subject}\n\n{more}\n---\n--- a/x.c\n+++ b/x.c\n{hunk}-- \n2\n\n"
        )
    };
    let none = "0000000000000000000000000000000000000000";
    let series = [
        mail(none, "first", "", 5, "a"),
        mail(none, "second", "", 15, "b"),
        mail(origin, "third", "", 25, "C"),
        mail(none, "fourth", "", 35, "d"),
        mail(none, "fifth", "Fixes: deadbeef1234 (\"never was\")\nFixes: 0123456789ab (\"third\")", 45, "e"),
    ];
    let series = write(&lab, "s.mbox", series.concat().as_bytes());
    let ran = schedlab(&["kernel", "port", &series, "--onto", &tree, "--json"]).success();
    let found: Vec<_> = ran.stdout.lines().map(json).collect();
    let told: Vec<_> = found.iter().map(|f| (f["history"]["commit"].as_str(), f["history"]["by"].as_str())).collect();
    let expected = [
        (Some(&*by_id), Some("same patch-id")),
        (Some(&*by_subject), Some("same subject")),
        (Some(&*by_origin), Some("names the same origin")),
        (Some(&*fourth), Some("same patch-id")),
        (None, None),
    ];
    assert_eq!(told, expected, "{}", ran.stdout);
    let of = |key: &str| found.iter().map(|f| f[key].as_bool().unwrap()).collect::<Vec<_>>();
    assert_eq!(
        (of("present"), of("taken")),
        (vec![true, true, true, false, false], vec![false, false, false, true, true])
    );
    assert_eq!(found[3]["history"]["reverted_by"], *back);
    assert_eq!((found[4]["fixes"][0]["there"].is_null(), &found[4]["fixes"][1]["there"]), (true, &(*by_origin).into()));
    let text = schedlab(&["kernel", "port", &series, "--onto", &tree]).success().stdout;
    let not_there = "fixes deadbeef1234 (never was): not in the history of its files; it may not be needed";
    assert!(text.contains(not_there) && text.contains(&format!("reverted by {}", &back[..12])), "{text}");
    // Without its newest commits it knows less, and says that there is less.
    let clone = lab.path("clone");
    git(&lab, "", &["clone", "-q", "--depth=1", &format!("file://{tree}"), &clone]);
    let text = schedlab(&["kernel", "port", &series, "--onto", &clone]).success().stdout;
    assert!(text.contains("not in what was read of the history"), "{text}");
    // A checkout that git will not read is a tree as any other.
    write(&lab, "broken/.git", b"gitdir: nowhere\n");
    write(&lab, "broken/x.c", lines(&[]).as_bytes());
    let ran = schedlab(&["kernel", "port", &series, "--onto", &lab.path("broken")]).success();
    assert!(ran.stderr.contains("whose history cannot be read") && ran.stdout.contains("5 apply"), "{}", ran.stderr);
}

#[test]
fn what_cannot_be_rehearsed_is_said_in_a_sentence() {
    let lab = Lab::new("kernel-port-bad");
    let (tree, text) = (lab.path(""), write(&lab, "notes.txt", b"no diff\n"));
    write(&lab, "empty/readme", b"");
    let empty = lab.path("empty");
    for (series, onto, code, why) in [
        (&*text, &*tree, 1, "holds no diff"),
        ("absent.patch", &tree, 1, "absent.patch cannot be read"),
        ("/dev/zero", &tree, 1, "never ends"),
        (&empty, &tree, 1, "holds no *.patch or *.diff"),
        (&text, "absent", 1, "--onto absent: it is no directory"),
    ] {
        let ran = schedlab(&["kernel", "port", series, "--onto", onto]);
        assert_eq!(ran.code, code, "{}", ran.stderr);
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
    assert_eq!(schedlab(&["kernel", "port", &text]).code, 2);
}

const KNOB: &str = "static struct ctl_table t[] = {\n\t{ .procname = \"knob\", .data = &knob, .mode = 0644, },\n};\n";
const DEAD_END: &str = "int open(int x)\n{\n\treturn x;\n}\n";

/// The same difference from two trees, from a patch and from a range in a checkout.
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
    // A link that waits in the directory is replaced: what it names stays.
    let kept = write(&lab, "kept", b"mine");
    write(&lab, "by-link/x", b"");
    std::os::unix::fs::symlink(&kept, lab.path("by-link/dossier.md")).unwrap();
    of("by-link", &[&old, &new]);
    assert_eq!(std::fs::read(&kept).unwrap(), b"mine");
    git(&lab, "old", &["init", "-q"]);
    git(&lab, "old", &["add", "-A"]);
    git(&lab, "old", &["commit", "-qm", "first"]);
    std::fs::copy(lab.path("new/kernel/x.c"), lab.path("old/kernel/x.c")).unwrap();
    git(&lab, "old", &["commit", "-qam", "a knob and an open"]);
    assert!(of("by-range", &["HEAD~1..HEAD", "--tree", &old]).contains("a knob and an open"));
    assert!(std::fs::metadata(lab.path("by-range/dossier.html")).unwrap().len() > 500);
    // The JSON says what was compared and what was left out: here the patch is in the tree already.
    let twice = lab.path("twice");
    schedlab(&["kernel", "dossier", &patch, "--tree", &new, "-o", &twice]).success();
    let whole = json(&std::fs::read_to_string(lab.path("twice/dossier.json")).unwrap());
    assert_eq!(whole["sides"], serde_json::json!(["new", "new with p.patch"]));
    assert_eq!((&whole["paths"], &whole["events"][0]["subject"]), (&serde_json::json!(["kernel"]), &"a knob".into()));
    assert_eq!(whole["problems"], serde_json::json!(["kernel/x.c: 1 of 1 hunks do not apply and are left out"]));
    assert_eq!(whole["interfaces"], serde_json::json!([]));
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
    let dir = lab.path("out");
    for (words, why) in [
        (&[&*tree, "absent"][..], "absent is no directory"),
        (&[&*tree], "name two source trees"),
        (&[&*text, "--tree", &tree], "holds no diff"),
        (&["v1..v2", "--tree", &tree], "git"),
        (&[&*tree, &tree, "--paths", "../etc"], "name folders and files inside the tree"),
        (&[&*tree, &tree, "--paths", "mm"], "no C file and no Kconfig in mm"),
    ] {
        let ran = schedlab(&[&["kernel", "dossier"], words, &["-o", &dir]].concat());
        assert_eq!(ran.code, 1, "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(why), "{words:?}: {}", ran.stderr);
    }
    assert!(!std::path::Path::new(&dir).exists());
}

/// A checkout of somebody else's: its settings name a program wherever git would run one, and a pipe wherever it would read.
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
    // A file that the promised remote would have to bring.
    let blob = git(&lab, "tree", &["rev-parse", "HEAD:kernel/x.c"]);
    std::fs::remove_file(lab.path(&format!("tree/.git/objects/{}/{}", &blob[..2], blob[2..].trim()))).unwrap();
    let gone = schedlab(&["kernel", "dossier", "HEAD~1..HEAD", "--tree", &tree, "-o", &out]);
    assert!(gone.code == 1 && gone.stderr.contains("nothing is fetched"), "{}", gone.stderr);
    let said = std::fs::read_to_string(&ran).unwrap_or_default();
    assert!(said.is_empty(), "git ran: {said}");
}

/// A series and trees of somebody else's: pipes and devices are not waited for, and a file has a largest size.
#[test]
fn series_and_trees_of_others_are_regular_files_of_some_size() {
    let lab = Lab::new("kernel-hostile-series");
    write(&lab, "tree/kernel/x.c", TEXT.as_bytes());
    write(&lab, "long/kernel/x.c", b"");
    std::fs::File::options().write(true).open(lab.path("long/kernel/x.c")).unwrap().set_len(1 << 40).unwrap();
    let patch = format!("--- a/kernel/x.c\n+++ b/kernel/x.c\n{MISPLACED}");
    write(&lab, "series/x.patch", patch.as_bytes());
    std::os::unix::fs::symlink("/dev/zero", lab.path("series/series")).unwrap();
    let (series, tree, long) = (lab.path("series"), lab.path("tree"), lab.path("long"));
    schedlab(&["kernel", "port", &series, "--onto", &tree]).success();
    assert!(std::process::Command::new("mkfifo").arg(lab.path("series/y.patch")).status().unwrap().success());
    let (patch, out) = (lab.path("series/x.patch"), lab.path("out"));
    for (words, why) in [
        (&["port", &*series, "--onto", &tree][..], "y.patch cannot be read"),
        (&["port", &patch, "--onto", &long], "kernel/x.c cannot be read: file too large"),
        (&["dossier", &tree, &long, "-o", &out], "kernel/x.c cannot be read: file too large"),
    ] {
        let ran = schedlab(&[&["kernel"], words].concat());
        assert!(ran.code == 1 && ran.stderr.contains(why), "{words:?}: {} {}", ran.code, ran.stderr);
    }
}

/// As GNU patch does, which would not follow a link out of the tree either.
#[test]
fn a_link_of_the_tree_is_not_patched_nor_is_what_lies_behind_one() {
    let lab = Lab::new("kernel-port-links");
    write(&lab, "tree/kernel/x.c", TEXT.as_bytes());
    write(&lab, "outside/y.c", TEXT.as_bytes());
    for (to, at) in [("x.c", "tree/kernel/link.c"), ("kernel", "tree/inside"), ("../outside", "tree/out")] {
        std::os::unix::fs::symlink(to, lab.path(at)).unwrap();
    }
    let hunk = MISPLACED.replace("-3,4 +3,4", "-11,4 +11,4");
    let part = |path: &str| format!("--- a/{path}\n+++ b/{path}\n{hunk}");
    let new = "--- /dev/null\n+++ b/out/new.c\n@@ -0,0 +1 @@\n+x\n";
    let series = ["kernel/link.c", "out/y.c", "inside/x.c"].map(part).concat() + new;
    let (series, out) = (write(&lab, "s.patch", series.as_bytes()), lab.path("written"));
    let ran = schedlab(&["kernel", "port", &series, "--onto", &lab.path("tree"), "--write", &out]).success();
    for path in ["kernel/link.c", "out/y.c", "out/new.c"] {
        let said = ran.stdout.lines().any(|line| line.contains(&format!("`{path}` is a symbolic link in the tree")));
        assert!(said, "{path}\n{}", ran.stdout);
    }
    assert!(ran.stdout.contains("1 hunk of 1 patch: 1 apply") && ran.stdout.contains("3 skipped"), "{}", ran.stdout);
    let written = std::fs::read_to_string(format!("{out}/0001-s.patch")).unwrap();
    assert!(
        written.contains("+++ b/inside/x.c") && !written.contains("link.c") && !written.contains("out/"),
        "{written}"
    );
}

/// A history with two releases, a fix and documentation; what an engineer writes stays, and what is changed outside of
/// the slots is kept beside the new page.
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
    commit(&format!("mend\n\nFixes: {} (\"a knob\")", &knob[..12]), None);
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
    assert!(page.contains(" a knob | ") && page.contains(" mend |  |"), "the fix is a problem of the knob: {page}");
    assert!(page.contains("| kernel | 1 | 0 | 2 |") && page.contains("| open | kernel | 2 |"), "{page}");
    assert!(page.contains("           19 +int open(int x)\n"), "line by line: {page}");
    // Written into a slot, and changed elsewhere; then in Chinese.
    let slot = "<!-- slot: function open -->\n";
    let edited = page.replace(&format!("{slot}[Comment of an engineer.]"), &format!("{slot}It *opens*."));
    assert_ne!(edited, page);
    std::fs::write(lab.path("out/dossier.md"), &edited).unwrap();
    let again = [&words[..], &["--lang", "zh"]].concat();
    assert!(!schedlab(&again).success().stderr.contains("was changed outside"));
    let chinese = std::fs::read_to_string(lab.path("out/dossier.md")).unwrap();
    assert!(chinese.contains(&format!("{slot}It *opens*.\n")) && chinese.contains("## 5. 总结"), "{chinese}");
    assert!(!chinese.contains("engineer") && chinese.contains("[由工程师填写：用途与工作原理。]"), "{chinese}");
    std::fs::write(lab.path("out/dossier.md"), chinese.replace("## 5. 总结", "## 5. Mine")).unwrap();
    let told = schedlab(&again).success().stderr;
    assert!(told.contains("changed outside of its slots; as it was it is kept as dossier.md.old1"), "{told}");
    assert!(std::fs::read_to_string(lab.path("out/dossier.md.old1")).unwrap().contains("## 5. Mine"));
    std::fs::write(lab.path("out/dossier.md"), edited.replace("It *opens*.\n<!-- end of slot -->", "It")).unwrap();
    let refused = schedlab(&words);
    assert!(refused.code == 1 && refused.stderr.contains("the slot `function open` has no line"), "{}", refused.stderr);
    // A function that is not there any more: its note stays.
    std::fs::write(lab.path("out/dossier.md"), &edited).unwrap();
    schedlab(&["kernel", "dossier", "HEAD~3..HEAD~2", "--tree", &tree, "-o", &out]).success();
    let page = std::fs::read_to_string(lab.path("out/dossier.md")).unwrap();
    assert!(page.contains("Notes whose place is gone") && page.contains("It *opens*."), "{page}");
}

/// A tree that a program called `make` of the test's builds: configured with nothing, compiled where no file has the
/// word BROKEN. What the compiler says then, and what was written, is the test's.
fn tree_with_make(lab: &Lab) {
    for file in ["Makefile", "Kconfig", "kernel/sched/core.c"] {
        write(lab, &format!("tree/{file}"), b"int core;\n");
    }
    write(lab, "tree/kernel/x.c", TEXT.as_bytes());
    write(lab, "tree/kernel/unused.c", TEXT.as_bytes());
    let make = "#!/bin/sh
for word; do case $word in O=*) out=${word#O=};; */source) source=$word;; esac; last=$word; done
echo \"$last\" >> $LAB/asked
case $last in
tinyconfig|olddefconfig) : > $out/.config;;
bzImage)
  if grep -q BROKEN $source/kernel/x.c; then
    echo \"$source/kernel/x.c: In function 'second':\" >&2
    echo \"$source/kernel/x.c:12:6: error: implicit declaration of function 'recompute' [-Werror=implicit-function-declaration]\" >&2
    exit 2
  fi
  mkdir -p $out/kernel; echo \"deps_kernel/x.o := $source/kernel/x.c\" > $out/kernel/.x.o.cmd;;
esac
";
    for tool in ["gcc", "flex", "bison", "bc", "xz"] {
        write(lab, &format!("bin/{tool}"), b"#!/bin/sh\n");
    }
    let make = write(lab, "bin/make", make.as_bytes());
    std::fs::set_permissions(make, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn a_series_is_compiled_patch_after_patch_up_to_the_first_that_fails() {
    let lab = Lab::new("kernel-port-build");
    tree_with_make(&lab);
    let patch = |n: u32, file: &str, to: &str| {
        format!(
            "Subject: [PATCH] number {n}\n\n--- a/kernel/{file}\n+++ b/kernel/{file}\n@@ -1,4 +1,4 @@\n int first(int x)\n {{\n-\tlock(x);\n+\t{to}(x);\n \tx = compute(x);\n"
        )
    };
    let broken = MISPLACED.replace("recompute", "BROKEN").replace("-3,4 +3,4", "-11,4 +11,4");
    write(&lab, "q/1.patch", patch(1, "unused.c", "latch").as_bytes());
    write(&lab, "q/2.patch", patch(2, "x.c", "latch").as_bytes());
    write(&lab, "q/3.patch", format!("Subject: three\n\n--- a/kernel/x.c\n+++ b/kernel/x.c\n{broken}").as_bytes());
    write(&lab, "q/4.patch", patch(4, "unused.c", "never").replace("lock(x)", "latch(x)").as_bytes());
    let path = format!("{}:{}", lab.path("bin"), std::env::var("PATH").unwrap());
    let port = |more: &[&str]| -> program::Ran {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_schedlab"));
        command.args(["kernel", "port", &lab.path("q"), "--onto", &lab.path("tree"), "--build"]).args(more);
        command.env("PATH", &path).env("LAB", lab.path("")).env("SCHEDLAB_CACHE", lab.path("cache"));
        command.output().unwrap().into()
    };
    let would = port(&["--dry-run"]).success();
    assert!(
        would.stderr.contains("would compile") && would.stderr.contains("with each of 4 patches"),
        "{}",
        would.stderr
    );
    assert!(!std::path::Path::new(&lab.path("asked")).exists(), "nothing is made");
    let ran = port(&["--json", &lab.path("found")]);
    assert_eq!(ran.code, 1, "{}\n{}", ran.stdout, ran.stderr);
    for line in [
        "    1 compiles  number 1\n      not compiled by this configuration: kernel/unused.c\n    2 compiles  number 2\n",
        "    3 does not compile  three\n      kernel/x.c:12 second: implicit declaration of function 'recompute'",
        "      it needs: function recompute\n",
        "built: 2 of 4 patches compile, 1 not tried\n",
    ] {
        assert!(ran.stdout.contains(line), "{line}\n{}", ran.stdout);
    }
    let asked = std::fs::read_to_string(lab.path("asked")).unwrap();
    assert_eq!(asked.lines().filter(|line| *line == "bzImage").count(), 4, "the tree, and three patches: {asked}");
    let found = std::fs::read_to_string(lab.path("found")).unwrap();
    let steps: Vec<_> = found.lines().map(json).filter(|line| line["build"].is_string()).collect();
    let states: Vec<&str> = steps.iter().map(|step| step["build"].as_str().unwrap()).collect();
    assert_eq!(states, ["compiled", "compiled", "failed"]);
    assert_eq!(steps[0]["not_compiled"][0], "kernel/unused.c");
    assert_eq!(
        (&steps[2]["needs"][0]["kind"], &steps[2]["needs"][0]["name"]),
        (&"function".into(), &"recompute".into())
    );
    assert_eq!((&steps[2]["errors"][0]["line"], &steps[2]["errors"][0]["function"]), (&12.into(), &"second".into()));
    assert_eq!(std::fs::read_to_string(lab.path("tree/kernel/x.c")).unwrap(), TEXT, "the tree stays as it is");
    // A tree that does not compile by itself is said to be one; a workload that is none is refused before that.
    write(&lab, "tree/kernel/x.c", TEXT.replace("unlock", "BROKEN").as_bytes());
    let ran = port(&[]).failure();
    assert!(ran.stderr.contains("the tree does not compile without the series"), "{}", ran.stderr);
    assert!(ran.stdout.contains("hunks of 4 patches"), "what was rehearsed is shown: {}", ran.stdout);
    let ran = port(&["--boot", "no-such-workload"]).failure();
    assert!(ran.stderr.contains("no-such-workload"), "{}", ran.stderr);
}

/// The source has a history: the commit that brought a name, the one that wrote a line that the target lacks, one that
/// the target has under another id, and others. The series itself and what comes after it count for nothing.
#[test]
fn commits_that_a_series_leans_on_are_found_in_the_sources_history_and_looked_for_in_the_target() {
    let lab = Lab::new("kernel-port-prerequisites");
    let from = lab.path("from");
    write(&lab, "from/include/a.h", b"int lock(int);\nint unlock(int);\nint compute(int);\n");
    write(&lab, "from/net/x.c", TEXT.as_bytes());
    git(&lab, "", &["init", "-q", &from]);
    let commit = |lab: &Lab, message: &str| {
        git(lab, "from", &["add", "-A"]);
        git(lab, "from", &["commit", "-qm", message]);
        git(lab, "from", &["rev-parse", "HEAD"]).trim().to_owned()
    };
    commit(&lab, "base");
    git(&lab, "", &["clone", "-q", &format!("file://{from}"), &lab.path("onto")]);
    let header = |more: &str| format!("int lock(int);\nint unlock(int);\nint compute(int);\n{more}");
    write(&lab, "from/include/a.h", header("int corked(int);\n").as_bytes());
    let brought = commit(&lab, "a: corked");
    write(&lab, "from/include/a.h", header("int corked(int);\nint other(int);\n").as_bytes());
    commit(&lab, "a: nothing of ours");
    let latched = TEXT.replace("lock(x);\n\tx =", "lock_nested(x, 1);\n\tx =");
    write(&lab, "from/net/x.c", latched.as_bytes());
    let wrote = commit(&lab, "x: lock nested");
    let checked = latched.replacen("\treturn x;", "\tassert(x > 0);\n\treturn x;", 1);
    write(&lab, "from/net/x.c", checked.as_bytes());
    let known = commit(&lab, "x: check");
    let feature = checked.replacen(
        "\tx = compute(x);\n\tunlock(x);\n\tassert",
        "\tif (corked(x))\n\t\tx = compute(x);\n\tunlock(x);\n\tassert",
        1,
    );
    assert_ne!(feature, checked);
    write(&lab, "from/net/x.c", feature.as_bytes());
    commit(&lab, "x: the feature");
    let series = write(&lab, "s.patch", git(&lab, "from", &["format-patch", "-1", "--stdout"]).as_bytes());
    write(&lab, "from/net/x.c", feature.replace("corked(x)", "corked(x) > 1").as_bytes());
    commit(&lab, "x: later");
    // The target has one of them as a pick, with other lines around it.
    write(&lab, "onto/net/x.c", TEXT.replacen("\treturn x;", "\tassert(x > 0);\n\treturn x;", 1).as_bytes());
    git(&lab, "onto", &["commit", "-qam", &format!("y: check\n\n[ Upstream commit {known} ]\n")]);
    let onto = lab.path("onto");
    let ran = schedlab(&["kernel", "port", &series, "--onto", &onto, "--from", &from, "--json"]).success();
    let hunk = json(ran.stdout.lines().next().unwrap());
    let commits: Vec<_> = hunk["needs"].as_array().unwrap().iter().filter(|need| need["kind"] == "commit").collect();
    let said: Vec<_> =
        commits.iter().map(|c| (c["name"].as_str().unwrap(), c["brought"][0].as_str(), c["there"].as_bool())).collect();
    assert_eq!(said, [(&*brought, Some("corked"), Some(false)), (&*wrote, None, Some(false))], "{}", ran.stdout);
    let text = schedlab(&["kernel", "port", &series, "--onto", &onto, "--from", &from]).success().stdout;
    for line in [
        "prerequisites: 2 commits of 4 brought what the target misses; 0 there already",
        &format!("  {}  a: corked  (absent, clean)\n      brought corked\n", &brought[..12]),
        "x: lock nested  (absent, clean)\n      wrote 1 line that its hunks expect\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    // Taken into the target, they are there: one by its text alone, one by the line that names it.
    write(&lab, "onto/include/a.h", header("int corked(int);\n").as_bytes());
    git(&lab, "onto", &["commit", "-qam", &format!("b\n\n(cherry picked from commit {brought})\n")]);
    let text = schedlab(&["kernel", "port", &series, "--onto", &onto, "--from", &from]).success().stdout;
    assert!(text.contains("prerequisites: 1 commit of 4") && !text.contains("corked  ("), "{text}");
}
