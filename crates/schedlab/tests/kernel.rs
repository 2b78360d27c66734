//! `kernel port` as a user starts it: a series onto a small tree.

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
    assert!(lines[0]["proposal"].as_str().unwrap().starts_with("@@ -9,7 +9,7 @@ int second(int x)\n"), "{}", lines[0]);
    assert_eq!((&lines[1]["verdict"], lines[1]["place"].is_null()), (&"fails".into(), true));
    assert_eq!(lines[2]["line"], 3);
    assert_eq!(std::fs::read_to_string(source).unwrap(), TEXT);
    let alone = schedlab(&["kernel", "port", &series, "--onto", &tree, "--json"]).success();
    assert_eq!(alone.stdout, std::fs::read_to_string(&file).unwrap());
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
        (&empty, &tree, 1, "holds no *.patch or *.diff"),
        (&text, "absent", 1, "--onto absent: it is no directory"),
    ] {
        let ran = schedlab(&["kernel", "port", series, "--onto", onto]);
        assert_eq!(ran.code, code, "{}", ran.stderr);
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
    assert_eq!(schedlab(&["kernel", "port", &text]).code, 2);
}
