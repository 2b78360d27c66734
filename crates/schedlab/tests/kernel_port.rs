//! `kernel port` as a user starts it: on small trees.

mod program;

use program::sources::{MISPLACED, TEXT, git, write};
use program::{Lab, json, schedlab};

#[test]
fn a_quilt_directory_is_rehearsed_and_the_tree_stays_as_it_is() {
    let lab = Lab::new("kernel-port");
    let source = write(&lab, "tree/kernel/x.c", TEXT.as_bytes());
    write(&lab, "q/series", b"# order\nb.patch -p1\nlost.patch\nback.patch -R\na.patch\n");
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
    assert!(ran.stderr.contains("q/lost.patch cannot be read: No such file or directory"), "{}", ran.stderr);
    assert!(ran.stderr.contains("the patch option -R is not supported") && ran.stderr.contains("it is left out"));
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

#[test]
fn a_cover_letter_is_no_patch() {
    let lab = Lab::new("kernel-port-cover");
    write(&lab, "tree/kernel/x.c", TEXT.as_bytes());
    let mail = |number: u32, body: &str| {
        format!(
            "From {number:040} Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\nSubject: [PATCH {number}/1] s{number}\n\n{body}\n"
        )
    };
    let patch = mail(1, &format!("Why.\n---\n--- a/kernel/x.c\n+++ b/kernel/x.c\n{MISPLACED}"));
    let series = write(&lab, "all.mbox", (mail(0, "What it is about.") + &patch).as_bytes());
    let ran = schedlab(&["kernel", "port", &series, "--onto", &lab.path("tree")]).success();
    assert!(ran.stdout.contains("of 1 patch:") && ran.stdout.contains("patch 1: s1"), "{}", ran.stdout);
    let cover = write(&lab, "cover.mbox", mail(0, "What it is about.").as_bytes());
    let ran = schedlab(&["kernel", "port", &cover, "--onto", &lab.path("tree")]);
    assert!(ran.code != 0 && ran.stderr.contains("contains no diff"), "{}", ran.stderr);
}

/// Of three patches the first is adapted, the second is already present, and a hunk of the third is left out; the
/// written series applies with `git apply`, and nothing is written elsewhere.
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
    // A written series may have been edited, so it is not overwritten.
    let again = schedlab(&["kernel", "port", &series, "--onto", &tree, "--write", &out]);
    assert_eq!((again.code, again.stderr.contains("it is not empty")), (1, true), "{}", again.stderr);
    let file = schedlab(&["kernel", "port", &series, "--onto", &tree, "--write", &series]);
    assert_eq!((file.code, file.stderr.contains("it is not a directory")), (1, true), "{}", file.stderr);
}

#[test]
fn a_patch_to_a_file_with_crlf_says_how_git_am_takes_it() {
    let lab = Lab::new("kernel-port-crlf");
    write(&lab, "tree/x.c", b"a\r\nb\r\nc\r\n");
    let mail = "From 0000000000000000000000000000000000000001 Mon Sep 17 00:00:00 2001\nFrom: A B <a@example.org>\n\
        Subject: [PATCH] =?UTF-8?q?caf=C3=A9?=\n\n---\n--- a/x.c\n+++ b/x.c\n@@ -1,3 +1,3 @@\n a\r\n-b\r\n+B\r\n c\r\n-- \n2\n\n";
    let (series, tree, out) = (write(&lab, "s.patch", mail.as_bytes()), lab.path("tree"), lab.path("out"));
    let ran = schedlab(&["kernel", "port", &series, "--onto", &tree, "--write", &out]).success();
    assert!(ran.stderr.contains("lines of x.c end in CRLF: git am needs --keep-cr"), "{}", ran.stderr);
    assert!(ran.stdout.contains("patch 1: café"), "{}", ran.stdout);
    git(&lab, "tree", &["init", "-q"]);
    git(&lab, "tree", &["config", "core.autocrlf", "false"]);
    git(&lab, "tree", &["add", "-A"]);
    git(&lab, "tree", &["commit", "-qm", "base"]);
    git(&lab, "tree", &["am", "-q", "--keep-cr", &lab.path("out/0001-caf.patch")]);
    assert_eq!(git(&lab, "tree", &["log", "-1", "--format=%s"]), "café\n");
    // For lines without a CR nothing is reported.
    write(&lab, "tree/x.c", b"a\nb\nc\n");
    let plain = write(&lab, "p.patch", mail.replace('\r', "").as_bytes());
    let ran =
        schedlab(&["kernel", "port", &plain, "--onto", &tree, "--write", &lab.path("plain"), "--dry-run"]).success();
    assert!(!ran.stderr.contains("CRLF"), "{}", ran.stderr);
}

#[test]
fn what_cannot_be_rehearsed_is_said_in_a_sentence() {
    let lab = Lab::new("kernel-port-bad");
    let (tree, text) = (lab.path(""), write(&lab, "notes.txt", b"no diff\n"));
    write(&lab, "empty/readme", b"");
    let empty = lab.path("empty");
    for (series, onto, code, why) in [
        (&*text, &*tree, 1, "contains no diff"),
        ("v6.1..v6.2", &tree, 1, "v6.1..v6.2 is no file; for a commit or a range A..B give its checkout with --from"),
        ("/dev/zero", &tree, 1, "never ends"),
        (&empty, &tree, 1, "holds no *.patch or *.diff"),
        (&text, "absent", 1, "--onto absent: it is not a directory"),
    ] {
        let ran = schedlab(&["kernel", "port", series, "--onto", onto]);
        assert_eq!(ran.code, code, "{}", ran.stderr);
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
    assert_eq!(schedlab(&["kernel", "port", &text]).code, 2);
    let other = write(&lab, "other.patch", format!("--- a/kernel/x.c\n+++ b/kernel/x.c\n{MISPLACED}").as_bytes());
    let ran = schedlab(&["kernel", "port", &other, "--onto", &empty]).success();
    assert!(ran.stderr.contains("has none of the files that the series changes"), "{}", ran.stderr);
}

/// An untrusted series and tree: reading does not block on pipes and devices, and file sizes are limited.
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
    let left_out = schedlab(&["kernel", "port", &series, "--onto", &tree]).success().stderr;
    assert!(left_out.contains("y.patch cannot be read: it is not a regular file; it is left out"), "{left_out}");
    let (patch, out) = (lab.path("series/x.patch"), lab.path("out"));
    for (words, why) in [
        (&["port", &patch, "--onto", &long][..], "kernel/x.c cannot be read: file too large"),
        (&["dossier", &tree, &long, "-o", &out], "kernel/x.c cannot be read: file too large"),
    ] {
        let ran = schedlab(&[&["kernel"], words].concat());
        assert!(ran.code == 1 && ran.stderr.contains(why), "{words:?}: {} {}", ran.code, ran.stderr);
    }
}

/// As in GNU patch, which does not follow a link out of the tree either.
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
    let link = "diff --git a/q b/q\nnew file mode 120000\n--- /dev/null\n+++ b/q\n@@ -0,0 +1 @@\n+/etc\n\\ No newline at end of file\n";
    let behind = new.replace("out/new.c", "q/x");
    let series = ["kernel/link.c", "out/y.c", "inside/x.c"].map(part).concat() + new + link + &behind;
    let (series, out) = (write(&lab, "s.patch", series.as_bytes()), lab.path("written"));
    let ran = schedlab(&["kernel", "port", &series, "--onto", &lab.path("tree"), "--write", &out]).success();
    for path in ["kernel/link.c", "out/y.c", "out/new.c", "q/x"] {
        let said = ran.stdout.lines().any(|line| line.contains(&format!("`{path}` is a symbolic link in the tree")));
        assert!(said, "{path}\n{}", ran.stdout);
    }
    assert!(ran.stdout.contains("2 hunks of 1 patch: 2 apply") && ran.stdout.contains("4 skipped"), "{}", ran.stdout);
    let written = std::fs::read_to_string(format!("{out}/0001-s.patch")).unwrap();
    assert!(
        written.contains("+++ b/inside/x.c") && !written.contains("link.c") && !written.contains("out/"),
        "{written}"
    );
}

/// Kernels have some links, and none is in the series.
#[test]
fn links_of_the_tree_that_a_series_is_from_are_not_reported() {
    let lab = Lab::new("kernel-port-from-links");
    for tree in ["tree", "from"] {
        write(&lab, &format!("{tree}/kernel/x.c"), TEXT.as_bytes());
        std::os::unix::fs::symlink("x.c", lab.path(&format!("{tree}/kernel/link.c"))).unwrap();
    }
    let hunk = MISPLACED.replace("-3,4 +3,4", "-11,4 +11,4");
    let series = write(&lab, "s.patch", format!("--- a/kernel/x.c\n+++ b/kernel/x.c\n{hunk}").as_bytes());
    let port = ["kernel", "port", &series, "--onto", &lab.path("tree"), "--from", &lab.path("from")];
    let ran = schedlab(&port).success();
    assert!(!ran.stderr.contains("symbolic link"), "{}", ran.stderr);
}

/// Files that are renamed, get a new mode, or are created or deleted without lines, are reported like hunks.
#[test]
fn a_patch_that_only_renames_or_changes_a_mode_is_shown() {
    let lab = Lab::new("kernel-port-files");
    for file in ["kernel/x.c", "kernel/taken.c", "scripts/run.sh"] {
        write(&lab, &format!("tree/{file}"), TEXT.as_bytes());
    }
    write(&lab, "tree/kernel/late.c", b"");
    let rename = |from: &str, to: &str| {
        format!("diff --git a/{from} b/{to}\nsimilarity index 100%\nrename from {from}\nrename to {to}\n")
    };
    let mode = "diff --git a/scripts/run.sh b/scripts/run.sh\nold mode 100644\nnew mode 100755\n";
    let empty = "diff --git a/kernel/empty.h b/kernel/empty.h\nnew file mode 100644\nindex 000000..e69de2\n";
    let series = [
        format!("Subject: moves\n\n{}{mode}{empty}", rename("kernel/x.c", "kernel/y.c")),
        format!(
            "Subject: cannot\n\n{}{}",
            rename("kernel/y.c", "kernel/taken.c"),
            rename("kernel/none.c", "kernel/n.c")
        ),
        format!("Subject: done\n\n{}", rename("kernel/early.c", "kernel/late.c")),
    ];
    let files: Vec<String> =
        series.iter().enumerate().map(|(n, text)| write(&lab, &format!("{n}.patch"), text.as_bytes())).collect();
    let (tree, json_file) = (lab.path("tree"), lab.path("found"));
    let mut words = vec!["kernel", "port"];
    words.extend(files.iter().map(String::as_str));
    words.extend(["--onto", &tree, "--json", &json_file]);
    let ran = schedlab(&words).success();
    for line in [
        "patch 1: moves (",
        "  kernel/x.c to kernel/y.c: renamed\n",
        "  scripts/run.sh; mode 100644 to 100755\n",
        "  kernel/empty.h: created\n",
        "  kernel/y.c to kernel/taken.c: renamed  the tree has that file already\n",
        "  kernel/none.c to kernel/n.c: renamed  the tree has no such file\n",
        "  kernel/early.c to kernel/late.c: renamed  present already\n",
        "1 no such file, 1 the tree has that file already\n",
        "0 hunks and 6 files as a whole of 3 patches",
        "patches: 1 present, 1 clean, 0 adapted, 0 part, 1 left out\n",
    ] {
        assert!(ran.stdout.contains(line), "{line}\n{}", ran.stdout);
    }
    let found = std::fs::read_to_string(&json_file).unwrap();
    let found: Vec<_> = found.lines().map(json).collect();
    assert_eq!(found.len(), 6, "{found:?}");
    assert_eq!((&found[0]["to"], &found[0]["taken"]), (&"kernel/y.c".into(), &true.into()));
    assert_eq!((&found[1]["modes"][1], &found[1]["change"]), (&"100755".into(), &"changed".into()));
    assert_eq!((&found[3]["outcome"], &found[3]["taken"]), (&"left out".into(), &false.into()));
}

/// Output is written outside of the trees, replaces no input, and is checked before the work.
#[test]
fn nothing_is_written_into_a_tree_or_over_a_patch() {
    let lab = Lab::new("kernel-port-places");
    write(&lab, "tree/kernel/x.c", TEXT.as_bytes());
    write(&lab, "from/kernel/x.c", TEXT.as_bytes());
    let text = format!("--- a/kernel/x.c\n+++ b/kernel/x.c\n{MISPLACED}");
    let series = write(&lab, "s.patch", text.as_bytes());
    std::os::unix::fs::symlink(lab.path("tree"), lab.path("link")).unwrap();
    std::fs::hard_link(&series, lab.path("same.patch")).unwrap();
    let (tree, from) = (lab.path("tree"), lab.path("from"));
    for (words, why) in [
        (["--write", "tree/ported"], "is inside --onto"),
        (["--write", "link/deep/ported"], "is inside --onto"),
        (["--write", "from/ported"], "is inside --from"),
        (["--json", "tree/kernel/x.c"], "is inside --onto"),
        (["--json", "s.patch"], "it is read ("),
        (["--json", "same.patch"], "it is read ("),
        (["--json", "none/f"], "there is no directory"),
        (["--json", "from"], "is inside --from"),
    ] {
        let place = lab.path(words[1]);
        let port = ["kernel", "port", &series, "--onto", &tree, "--from", &from, words[0], &place];
        for words in [&port[..], &[&port[..], &["--dry-run"]].concat()] {
            let ran = schedlab(words).failure();
            assert!(ran.stderr.contains(why) && ran.stdout.is_empty(), "{words:?}: {}{}", ran.stderr, ran.stdout);
        }
    }
    assert_eq!(std::fs::read_to_string(&series).unwrap(), text);
    assert_eq!(std::fs::read_to_string(lab.path("tree/kernel/x.c")).unwrap(), TEXT);
    assert!(!std::path::Path::new(&lab.path("tree/ported")).exists());
}

#[test]
fn a_dry_run_says_what_would_be_written_and_refuses_what_could_not_be_built() {
    let lab = Lab::new("kernel-port-dry");
    write(&lab, "tree/kernel/x.c", TEXT.as_bytes());
    let series = write(&lab, "s.patch", format!("--- a/kernel/x.c\n+++ b/kernel/x.c\n{MISPLACED}").as_bytes());
    let (tree, out, file) = (lab.path("tree"), lab.path("out"), lab.path("f.jsonl"));
    let port = ["kernel", "port", &series, "--onto", &tree, "--dry-run"];
    let ran = schedlab(&[&port[..], &["--write", &out, "--json", &file]].concat()).success();
    for line in [&format!("would write 1 of 1 patch, the file `series` and 0 *.rej files into {out}"), "would write "] {
        assert!(ran.stderr.contains(line), "{line}: {}", ran.stderr);
    }
    assert!(ran.stderr.contains(&format!("would write {file}")) && !std::path::Path::new(&file).exists());
    assert!(!std::path::Path::new(&out).exists());
    let ran = schedlab(&[&port[..], &["--build"]].concat()).failure();
    assert!(ran.stderr.contains("is not a kernel source tree") && ran.stdout.is_empty(), "{}", ran.stderr);
}
