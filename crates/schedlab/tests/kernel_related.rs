//! `kernel related` as a user starts it: on a small history.

mod program;

use program::sources::{TEXT, git, write};
use program::{Lab, json, schedlab};

/// A feature, its follow-up, a fix, and what has nothing to do with it; the target has one of them.
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
        let ran = schedlab(&all).success();
        ran.stdout.lines().map(json).collect::<Vec<_>>()
    };
    let ids = |found: &[serde_json::Value]| {
        found.iter().map(|one| one["commit"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let found = related(&[&feature[..10]]);
    assert_eq!(ids(&found), [feature.clone(), follow_up.clone(), fixed.clone()]);
    assert_eq!((&found[0]["asked"], &found[2]["references"][0]["kind"]), (&true.into(), &"Fixes".into()));
    assert_eq!(ids(&related(&["other_thing", "--paths", "kernel"])).len(), 1);
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
        (["no-name", "--range", "v1.."], "is no commit of"),
        (["wake_wide", "--range", "v1"], "is no range"),
        (["wake_wide", "--range", "v1..v9"], "no such commits"),
    ] {
        let ran = schedlab(&[&["kernel", "related", "--tree", &tree], &words[..]].concat()).failure();
        assert!(ran.stderr.contains(why), "{words:?}: {}", ran.stderr);
    }
}
