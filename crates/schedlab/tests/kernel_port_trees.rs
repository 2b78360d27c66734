//! `kernel port` with trees other than that of the files to patch: their history, and the tree of the series.

mod program;

use program::sources::{MISPLACED, TEXT, git, write};
use program::{Lab, json, schedlab};

/// A checkout and five patches: its history has the first four, each in a different way, and has reverted the fourth.
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
    let by_subject = commit(&[(5, "a"), (15, "b, adapted")], "second café");
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
        mail(none, "=?UTF-8?q?second=20caf=C3=A9?=", "", 15, "b"),
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
    // Applied again, it is present.
    commit(&[(5, "a"), (15, "b, adapted"), (25, "c"), (35, "d")], "Reapply \"fourth\"");
    let of_commit = write(&lab, "fourth.patch", mail(&fourth, "fourth", "", 35, "d").as_bytes());
    let text = schedlab(&["kernel", "port", &of_commit, "--onto", &tree]).success().stdout;
    assert!(!text.contains("reverted by") && text.contains(&format!("already: {}", &fourth[..12])), "{text}");
    // A shallow clone knows less, and reports that.
    let clone = lab.path("clone");
    git(&lab, "", &["clone", "-q", "--depth=1", &format!("file://{tree}"), &clone]);
    let text = schedlab(&["kernel", "port", &series, "--onto", &clone]).success().stdout;
    assert!(text.contains("not in what was read of the history"), "{text}");
    // What its oldest commit changes is not known there: it is not a patch that adds all files.
    let port = |named: &str| schedlab(&["kernel", "port", named, "--onto", &clone, "--from", &clone]);
    let ran = port("HEAD").failure();
    assert!(ran.stderr.contains("the shallow clone ends at"), "{}", ran.stderr);
    assert!(schedlab(&["kernel", "port", &series, "--onto", &clone]).success().stderr.contains("is a shallow clone"));
    // A checkout that git cannot read is treated as a plain tree.
    write(&lab, "broken/.git", b"gitdir: nowhere\n");
    write(&lab, "broken/x.c", lines(&[]).as_bytes());
    let ran = schedlab(&["kernel", "port", &series, "--onto", &lab.path("broken")]).success();
    assert!(ran.stderr.contains("whose history cannot be read") && ran.stdout.contains("5 apply"), "{}", ran.stderr);
}

/// The source has a history: the commit that added a name, the one that added a line that the target lacks, one that
/// the target has under another id, and others. The series itself and later commits do not count.
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
    let id = commit(&lab, "x: the feature");
    let series = write(&lab, "s.patch", git(&lab, "from", &["format-patch", "-1", "--stdout"]).as_bytes());
    write(&lab, "from/net/x.c", feature.replace("corked(x)", "corked(x) > 1").as_bytes());
    commit(&lab, "x: later");
    // The target has one of them as a cherry-pick, with other lines around it.
    write(&lab, "onto/net/x.c", TEXT.replacen("\treturn x;", "\tassert(x > 0);\n\treturn x;", 1).as_bytes());
    git(&lab, "onto", &["commit", "-qam", &format!("y: check\n\n[ Upstream commit {known} ]\n")]);
    let onto = lab.path("onto");
    let ran = schedlab(&["kernel", "port", &series, "--onto", &onto, "--from", &from, "--json"]).success();
    let hunk = json(ran.stdout.lines().next().unwrap());
    let commits: Vec<_> = hunk["needs"].as_array().unwrap().iter().filter(|need| need["kind"] == "commit").collect();
    let said: Vec<_> =
        commits.iter().map(|c| (c["name"].as_str().unwrap(), c["brought"][0].as_str(), c["there"].as_bool())).collect();
    assert_eq!(said, [(&*brought, Some("corked"), Some(false)), (&*wrote, None, Some(false))], "{}", ran.stdout);
    // A commit or a range of that checkout is the same series.
    for named in [id.clone(), format!("{id}^..{id}")] {
        let ran = schedlab(&["kernel", "port", &named, "--onto", &onto, "--from", &from, "--json"]).success();
        let mut of_commit = json(ran.stdout.lines().next().unwrap());
        assert_eq!(of_commit["from"], *named);
        of_commit["from"] = hunk["from"].clone();
        assert_eq!(of_commit, hunk);
    }
    let none = schedlab(&["kernel", "port", "nonsense", "--onto", &onto, "--from", &from]);
    assert!(none.stderr.contains("nonsense is not a commit of"), "{}", none.stderr);
    let text = schedlab(&["kernel", "port", &series, "--onto", &onto, "--from", &from]).success().stdout;
    for line in [
        "prerequisites: 2 commits of 4 brought what the target misses; 0 there already",
        &format!("  {}  a: corked  (absent, clean)\n      brought corked\n", &brought[..12]),
        "x: lock nested  (absent, clean)\n      wrote 1 line that its hunks expect\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    // Once applied to the target they are found: one by its text alone, one by the line that names it.
    write(&lab, "onto/include/a.h", header("int corked(int);\n").as_bytes());
    git(&lab, "onto", &["commit", "-qam", &format!("b\n\n(cherry picked from commit {brought})\n")]);
    let text = schedlab(&["kernel", "port", &series, "--onto", &onto, "--from", &from]).success().stdout;
    assert!(text.contains("prerequisites: 1 commit of 4") && !text.contains("corked  ("), "{text}");
}

/// The state of the source is that of the commits, not of what is checked out, where the file has another name by now;
/// nor does the checkout need a working tree.
#[test]
fn a_series_of_commits_is_from_the_state_of_its_last_commit() {
    let lab = Lab::new("kernel-port-from-commit");
    let from = lab.path("from");
    write(&lab, "from/kernel/x.c", TEXT.as_bytes());
    git(&lab, "", &["init", "-q", &from]);
    let commit = |message: &str| {
        git(&lab, "from", &["add", "-A"]);
        git(&lab, "from", &["commit", "-qm", message]);
        git(&lab, "from", &["rev-parse", "HEAD"]).trim().to_owned()
    };
    commit("base");
    let writes = "struct queue {\n\tint queue_len;\n};\n\nvoid note(struct queue *q)\n{\n\tq->first = 1;\n\tq->last = 2;\n\tq->kind = 3;\n\tq->queue_len++;\n}\n";
    write(&lab, "from/kernel/queue.c", writes.as_bytes());
    commit("a writer");
    let reads = TEXT.replacen("\tlock(x);", "\tif (this_queue->queue_len)\n\t\tlock(x);", 1);
    write(&lab, "from/kernel/x.c", reads.as_bytes());
    let id = commit("the feature");
    std::fs::rename(lab.path("from/kernel/x.c"), lab.path("from/kernel/y.c")).unwrap();
    std::fs::remove_file(lab.path("from/kernel/queue.c")).unwrap();
    commit("another name, and no writer");
    write(&lab, "onto/kernel/x.c", TEXT.as_bytes());
    write(&lab, "onto/kernel/queue.c", writes.replace("\tq->queue_len++;\n", "").as_bytes());
    git(&lab, "", &["clone", "-q", "--bare", &from, &lab.path("bare")]);
    for (tree, named) in [("from", id.clone()), ("from", format!("{id}^..{id}")), ("bare", id.clone())] {
        let ran = schedlab(&["kernel", "port", &named, "--onto", &lab.path("onto"), "--from", &lab.path(tree)]);
        let text = ran.success().stdout;
        assert!(text.contains("not in the target: note (kernel/queue.c:5) changes it"), "{tree} {named}: {text}");
    }
}

/// For a tree that the series was not written for there is no contract to compare.
#[test]
fn a_source_tree_without_the_series_is_refused_or_doubted() {
    let lab = Lab::new("kernel-port-from");
    write(&lab, "tree/kernel/x.c", TEXT.as_bytes());
    write(&lab, "other/kernel/x.c", b"int other;\n");
    write(&lab, "empty/README", b"");
    let series = write(&lab, "s.patch", format!("--- a/kernel/x.c\n+++ b/kernel/x.c\n{MISPLACED}").as_bytes());
    let port =
        |from: &str| schedlab(&["kernel", "port", &series, "--onto", &lab.path("tree"), "--from", &lab.path(from)]);
    let ran = port("empty").failure();
    assert!(ran.stderr.contains("it has none of the files that the series changes"), "{}", ran.stderr);
    assert!(port("other").success().stderr.contains("applied only without 1 hunk of the series"));
    assert!(!port("tree").success().stderr.contains("only without"));
}

/// Two places in one function that three context lines cannot distinguish; the tree of the series is given.
#[test]
fn a_place_in_the_same_function_is_doubted_by_the_tree_that_the_series_is_from() {
    let lab = Lab::new("kernel-port-doubt");
    let block = |name: &str| {
        let own: String = (1..=3).map(|n| format!("\t{name}{n}({name});\n")).collect();
        own + "\tlock(x);\n\tx = compute(x);\n\tunlock(x);\n\tcheck(x);\n"
    };
    let text = |names: &[&str]| {
        format!("int f(int x)\n{{\n{}\treturn x;\n}}\n", names.iter().map(|n| block(n)).collect::<String>())
    };
    // In the target, the source's second block comes first.
    write(&lab, "from/kernel/x.c", text(&["alpha", "beta", "gamma"]).as_bytes());
    write(&lab, "tree/kernel/x.c", text(&["beta", "gamma", "delta", "epsilon"]).as_bytes());
    let hunk =
        "@@ -13,4 +13,5 @@ int f(int x)\n \tlock(x);\n \tx = compute(x);\n+\tx++;\n \tunlock(x);\n \tcheck(x);\n";
    let series = write(&lab, "s.patch", format!("--- a/kernel/x.c\n+++ b/kernel/x.c\n{hunk}").as_bytes());
    let (tree, from) = (lab.path("tree"), lab.path("from"));
    let alone = schedlab(&["kernel", "port", &series, "--onto", &tree]).success();
    assert!(alone.stdout.contains("kernel/x.c:15 f\n") && alone.stdout.contains("0 flagged"), "{}", alone.stdout);
    let told = schedlab(&["kernel", "port", &series, "--onto", &tree, "--from", &from]).success();
    let why = "by the lines around it where it is from it belongs to line 8 in `f`";
    assert!(told.stdout.contains(why) && told.stdout.contains("1 flagged"), "{}", told.stdout);
}

/// What the tree no longer has is reported with the last release that had it.
#[test]
fn a_file_that_the_tree_once_had_is_named_with_its_last_release() {
    let lab = Lab::new("kernel-port-last");
    git(&lab, "", &["init", "-q", &lab.path("tree")]);
    let release = |tag: &str| {
        git(&lab, "tree", &["add", "-A"]);
        git(&lab, "tree", &["commit", "-q", "--allow-empty", "-m", tag]);
        git(&lab, "tree", &["tag", tag]);
    };
    for file in ["include/linux/gone.h", "kernel/gone.c", "kernel/x.c"] {
        write(&lab, &format!("tree/{file}"), TEXT.as_bytes());
    }
    let queue = |more: &str| format!("struct queue {{\n\tint len;\n{more}}};\n");
    write(&lab, "tree/include/linux/kept.h", (queue("\tint backlog;\n") + "int old_helper(int x);\n").as_bytes());
    release("v6.9");
    write(&lab, "tree/include/linux/kept.h", queue("\tint backlog;\n").as_bytes());
    release("v6.10");
    std::fs::remove_file(lab.path("tree/include/linux/gone.h")).unwrap();
    std::fs::remove_file(lab.path("tree/kernel/gone.c")).unwrap();
    release("v6.11");
    let gone = format!("--- a/kernel/gone.c\n+++ b/kernel/gone.c\n{MISPLACED}");
    let include = "--- a/kernel/x.c\n+++ b/kernel/x.c\n@@ -1,2 +1,4 @@\n+#include <linux/gone.h>\n+#include <linux/never.h>\n int first(int x)\n {\n";
    let patch = write(&lab, "p.patch", format!("{gone}{include}").as_bytes());
    write(&lab, "tree/include/linux/kept.h", queue("").as_bytes());
    release("v6.12");
    let ran = schedlab(&["kernel", "port", &patch, "--onto", &lab.path("tree")]).success();
    for line in ["file kernel/gone.c (last in v6.10)", "header linux/gone.h (last in v6.10), header linux/never.h\n"] {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
    let ran = schedlab(&["kernel", "port", &patch, "--onto", &lab.path("tree"), "--json", "-"]).success();
    assert_eq!(ran.stdout.matches("\"last_in\":\"v6.10\"").count(), 2, "{}", ran.stdout);
    // Functions and members, by their names.
    let uses = "--- a/kernel/x.c\n+++ b/kernel/x.c\n@@ -1,2 +1,7 @@\n+#include <linux/kept.h>\n+static int use(struct queue *q)\n+{\n\
        +\treturn old_helper(q->backlog) + new_helper();\n+}\n int first(int x)\n {\n";
    let patch = write(&lab, "uses.patch", uses.as_bytes());
    let ran = schedlab(&["kernel", "port", &patch, "--onto", &lab.path("tree")]).success();
    for need in ["function old_helper (last in v6.9)", "field backlog (last in v6.11)", "function new_helper,"] {
        assert!(ran.stdout.contains(need), "{need}: {}", ran.stdout);
    }
    assert_eq!(ran.stdout.matches("(last in ").count(), 2, "{}", ran.stdout);
}

/// A file without C names, here in the root, does not make the headers of all folders visible.
#[test]
fn headers_are_those_beside_the_c_files_of_the_series() {
    let lab = Lab::new("kernel-port-headers");
    for (file, text) in [
        ("include/linux/x.h", "#define there(x) (x)\n"),
        ("kernel/x.c", "int f(int x)\n{\n\treturn 1;\n}\n"),
        ("other/deep/y.h", "#define elsewhere(x) (x)\n"),
        ("version", "-1\n"),
    ] {
        write(&lab, &format!("tree/{file}"), text.as_bytes());
    }
    let mail = "Subject: [PATCH] both\n\n--- a/version\n+++ b/version\n@@ -1 +1 @@\n--1\n+-2\n--- a/kernel/x.c\n+++ b/kernel/x.c\n\
                @@ -1,4 +1,4 @@\n int f(int x)\n {\n-\treturn 1;\n+\treturn there(x) + elsewhere(x);\n }\n";
    let (series, tree) = (write(&lab, "s.patch", mail.as_bytes()), lab.path("tree"));
    let found = schedlab(&["kernel", "port", &series, "--onto", &tree, "--json"]).success().stdout;
    let found: Vec<_> = found.lines().map(json).collect();
    let needs =
        |at: usize| found[at]["needs"].as_array().map_or(vec![], |all| all.iter().map(|n| n["name"].clone()).collect());
    assert_eq!((found[0]["file"].as_str(), needs(0)), (Some("version"), vec![]));
    assert_eq!((found[1]["file"].as_str(), needs(1)), (Some("kernel/x.c"), vec!["elsewhere".into()]));
}
