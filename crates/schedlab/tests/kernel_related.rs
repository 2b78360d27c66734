//! `kernel related` as a user starts it: on small histories.

mod program;

use program::sources::{TEXT, git, write};
use program::{Lab, json, schedlab};

/// A feature, its follow-up, a fix, and unrelated commits; the target has one of them.
#[test]
fn the_commits_of_a_feature_are_found_without_those_that_the_target_has() {
    let lab = Lab::new("kernel-related");
    git(&lab, "", &["init", "-q", &lab.path("t")]);
    let commit = |text: &str, message: &str| {
        write(&lab, "t/kernel/x.c", text.as_bytes());
        git(&lab, "t", &["add", "-A"]);
        git(&lab, "t", &["commit", "-qm", message]);
        git(&lab, "t", &["rev-parse", "HEAD"]).trim().to_owned()
    };
    commit(TEXT, "base");
    git(&lab, "t", &["tag", "v1"]);
    let begun = TEXT.replacen("\tlock(x);", "\twake_wide(x);\n\twakee_flips++;\n\tlock(x);", 1);
    let feature = commit(&begun, "feature");
    let other = begun.replace("int second(int x)\n{", "int second(int x)\n{\n\tother_thing(x);");
    commit(&other, "nothing of it");
    let followed = other.replace("wakee_flips++;", "wakee_flips += wake_wide(x);");
    let follow_up = commit(&followed, "follow-up");
    let fixed = commit(
        &followed.replace("return x;", "return x + 0;"),
        &format!("fix\n\nFixes: {} (\"feature\")", &feature[..12]),
    );
    let related = |words: &[&str]| {
        let tree = lab.path("t");
        let all = [&["kernel", "related"], words, &["--tree", &tree, "--range", "v1..", "--json"]].concat();
        json(&schedlab(&all).success().stdout)["related"].as_array().unwrap().clone()
    };
    let ids = |found: &[serde_json::Value]| {
        found.iter().map(|one| one["commit"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let found = related(&[&feature[..10]]);
    assert_eq!(ids(&found), [feature.clone(), follow_up.clone(), fixed.clone()]);
    assert_eq!((&found[0]["asked"], &found[2]["references"][0]["kind"]), (&true.into(), &"Fixes".into()));
    assert_eq!(ids(&related(&["other_thing", "--paths", "kernel"])).len(), 1);
    let mistyped = ["kernel", "related", "other_think", "wake_wide", "--tree", &lab.path("t"), "--range", "v1.."];
    let said = schedlab(&mistyped).success().stderr;
    assert!(said.contains("other_think: no commit of v1.. changes anything") && !said.contains("wake_wide"), "{said}");
    let turned = ["kernel", "related", "wake_wide", "--tree", &lab.path("t"), "--range", "HEAD..v1"];
    let said = schedlab(&turned).success().stderr;
    assert!(said.contains("--range HEAD..v1: it has no commit; of A..B, A is the older"), "{said}");
    // A bare clone gives the same result.
    git(&lab, "", &["clone", "-q", "--bare", &lab.path("t"), &lab.path("t.git")]);
    let bare = ["kernel", "related", &feature, "--tree", &lab.path("t.git"), "--range", "v1..", "--json"];
    assert_eq!(ids(json(&schedlab(&bare).success().stdout)["related"].as_array().unwrap()), ids(&found));
    // A target that has the feature and lacks the rest.
    write(&lab, "onto/kernel/x.c", begun.as_bytes());
    let (tree, onto) = (lab.path("t"), lab.path("onto"));
    let text =
        schedlab(&["kernel", "related", &feature, "--tree", &tree, "--range", "v1..HEAD", "--onto", &onto]).success();
    assert!(text.stdout.starts_with(&format!("{}  follow-up  (alone: ", &follow_up[..12])), "{}", text.stdout);
    assert!(
        text.stdout.contains("3 of 4 commits belong to ") && text.stdout.contains("the target has 1 of them"),
        "{}",
        text.stdout
    );
    for (words, why) in [
        (["no-name", "--range", "v1.."], "is not a commit of"),
        (["wake_wide", "--range", "v1"], "is not a range"),
        (["wake_wide", "--range", "v1..v9"], "no such commits"),
    ] {
        let ran = schedlab(&[&["kernel", "related", "--tree", &tree], &words[..]].concat()).failure();
        assert!(ran.stderr.contains(why), "{words:?}: {}", ran.stderr);
    }
}

const THREE: &str = "int aaa_fn(int x)\n{\n\tx++;\n\treturn x;\n}\n\nint bbb_fn(int x)\n{\n\tx++;\n\treturn x;\n}\n\nint ccc_fn(int x)\n{\n\treturn x;\n}\n";

/// The output of `related` for a name in the history of a directory since the tag `v1`.
fn answer(lab: &Lab, tree: &str, more: &[&str]) -> serde_json::Value {
    let tree = lab.path(tree);
    let all = [&["kernel", "related", "--tree", &tree, "--range", "v1..", "--json"], more].concat();
    json(&schedlab(&all).success().stdout)
}

/// A change counts for the function that contains it, not for the one in git's heading.
#[test]
fn a_change_belongs_to_the_function_that_it_stands_in() {
    let lab = Lab::new("kernel-related-place");
    git(&lab, "", &["init", "-q", &lab.path("t")]);
    let commit = |text: &str, message: &str| {
        write(&lab, "t/x.c", text.as_bytes());
        git(&lab, "t", &["add", "-A"]);
        git(&lab, "t", &["commit", "-qm", message]);
    };
    commit(THREE, "base");
    git(&lab, "t", &["tag", "v1"]);
    let second = THREE.replace("bbb_fn(int x)\n{\n", "bbb_fn(int x)\n{\n\tx--;\n");
    commit(&second, "of bbb");
    let first = second.replace("aaa_fn(int x)\n{\n", "aaa_fn(int x)\n{\n\tx--;\n");
    commit(&first, "of aaa");
    commit(&(first.clone() + "/* end */\n"), "of none");
    let subjects = |name: &str| {
        let found = answer(&lab, "t", &[name]);
        assert_eq!((&found["schema"], &found["commits"]), (&"schedlab/kernel-related/1".into(), &3.into()));
        let of = |one: &serde_json::Value| one["subject"].as_str().unwrap().to_owned();
        found["related"].as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!((subjects("aaa_fn"), subjects("bbb_fn")), (vec!["of aaa".to_owned()], vec!["of bbb".to_owned()]));
    assert!(subjects("ccc_fn").is_empty());
}

/// A merge counts for its own changes; one without any is left out.
#[test]
fn a_merge_counts_for_what_no_parent_has() {
    let lab = Lab::new("kernel-related-merge");
    git(&lab, "", &["init", "-q", &lab.path("t")]);
    let commit = |text: &str, words: &[&str]| {
        write(&lab, "t/x.c", text.as_bytes());
        git(&lab, "t", &["add", "-A"]);
        git(&lab, "t", &[&["commit", "-q"], words].concat());
    };
    commit(THREE, &["-m", "base"]);
    git(&lab, "t", &["tag", "v1"]);
    let main = git(&lab, "t", &["symbolic-ref", "--short", "HEAD"]).trim().to_owned();
    let ours = THREE.replace("aaa_fn(int x)\n{\n", "aaa_fn(int x)\n{\n\tx--;\n");
    let ends = |name: &str, text: &str| {
        git(&lab, "t", &["checkout", "-qb", name, &main]);
        commit(text, &["-m", name]);
        git(&lab, "t", &["checkout", "-q", &main]);
    };
    ends("side", &THREE.replace("ccc_fn(int x)\n{\n", "ccc_fn(int x)\n{\n\tx--;\n"));
    commit(&ours, &["-m", "ours"]);
    git(&lab, "t", &["merge", "-q", "--no-ff", "-m", "plain merge", "side"]);
    git(&lab, "t", &["checkout", "-q", &main]);
    let both = std::fs::read_to_string(lab.path("t/x.c")).unwrap();
    ends("other", &both.replace("ccc_fn(int x)\n{\n", "ccc_fn(int x)\n{\n\tx += 2;\n"));
    commit(&both.replace("aaa_fn(int x)\n{\n", "aaa_fn(int x)\n{\n\tx += 3;\n"), &["-m", "more of ours"]);
    git(&lab, "t", &["merge", "-q", "--no-ff", "--no-commit", "other"]);
    let merged = std::fs::read_to_string(lab.path("t/x.c")).unwrap();
    commit(&merged.replace("bbb_fn(int x)\n{\n", "bbb_fn(int x)\n{\n\tx = evil_call(x);\n"), &["-m", "evil merge"]);
    for name in ["bbb_fn", "evil_call"] {
        let found = answer(&lab, "t", &[name]);
        assert_eq!((&found["found"], &found["related"][0]["subject"]), (&1.into(), &"evil merge".into()), "{found}");
        assert_eq!(found["commits"], 5, "the plain merge does not count");
    }
}

#[test]
fn an_answer_has_room_and_top_says_how_much() {
    let lab = Lab::new("kernel-related-many");
    git(&lab, "", &["init", "-q", &lab.path("t")]);
    git(&lab, "t", &["commit", "-q", "--allow-empty", "-m", "base"]);
    git(&lab, "t", &["tag", "v1"]);
    let mut stream = String::new();
    for n in 0..150 {
        let text = format!("int aaa_fn(int x)\n{{\n\treturn {n};\n}}\n");
        let subject = format!("commit {n} {}", "x".repeat(60));
        stream += &format!(
            "commit refs/heads/many\ncommitter n <n@example.org> {n} +0000\ndata {}\n{subject}\n",
            subject.len()
        );
        stream += if n == 0 { "from refs/tags/v1^0\n" } else { "" };
        stream += &format!("M 100644 inline x.c\ndata {}\n{text}\n", text.len());
    }
    let stream = write(&lab, "stream", stream.as_bytes());
    let import = std::process::Command::new("git")
        .args(["-C", &lab.path("t"), "fast-import", "--quiet"])
        .stdin(std::fs::File::open(stream).unwrap())
        .status();
    assert!(import.unwrap().success());
    let tree = lab.path("t");
    let related = |more: &[&str]| {
        let all = ["kernel", "related", "aaa_fn", "--tree", &tree, "--range", "v1..many", "--json"];
        schedlab(&[&all[..], more].concat()).success().stdout
    };
    let usual = related(&[]);
    assert!(usual.len() <= 20_000 && json(&usual)["shortened"][0]["entries"] == 150, "{usual}");
    assert_eq!(json(&usual)["found"], 150);
    let of = |top: &str| json(&related(&["--top", top]))["related"].as_array().unwrap().len();
    assert_eq!((of("3"), of("0")), (3, 150));
    let refused = schedlab(&["kernel", "related", "x", "--tree", &tree, "--range", "v1..many", "--top", "3"]);
    assert!(refused.code == 2 && refused.stderr.contains("--json"), "{}", refused.stderr);
}
