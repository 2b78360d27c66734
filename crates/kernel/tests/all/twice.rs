//! Definitions in a series that the file already has.

use schedlab_kernel::{Finding, Outcome, Reason, parse, rehearse_series};
use std::convert::Infallible;

/// The outcome of a patch, and how many hunks are left out for which reason.
type Said = (Outcome, Vec<(Reason, usize)>);

const TREE: &str = "struct t {\n\tint a;\n\tint flips;\n\tint z;\n};\n\n#ifdef A\nvoid hook(void)\n{\n}\n#else\nvoid hook(void)\n{\n}\n#endif\n\n\
    void record(int x)\n{\n\tx++;\n}\n\nint pick(int x)\n{\n\treturn x;\n}\n";

/// The findings of the hunks, the outcome, and the file that the series makes.
fn found(hunks: &str, tree: &str) -> (Vec<Finding>, Said, String) {
    let patches = parse(format!("--- a/x.c\n+++ b/x.c\n{hunks}").as_bytes());
    let mut read = |_: &str| Ok::<_, Infallible>(Some(tree.as_bytes().to_vec()));
    let port = rehearse_series(&patches, &[], &mut read).unwrap();
    let outcome = port.outcomes(&patches).remove(0);
    let made = port.changed.get("x.c").cloned().flatten().unwrap_or_default();
    (port.findings, outcome, String::from_utf8(made).unwrap())
}

/// What is reported for each hunk.
fn told(hunks: &str) -> Vec<String> {
    let findings = found(hunks, TREE).0;
    assert!(findings.iter().all(|finding| finding.is_taken), "{findings:?}");
    findings.iter().map(|finding| finding.twice.join(" ")).collect()
}

#[test]
fn what_the_file_has_already_is_named_at_the_hunk_that_brings_it() {
    let member = "@@ -1,5 +1,6 @@ struct t {\n struct t {\n \tint a;\n+\tint flips;\n \tint flips;\n \tint z;\n };\n";
    let function =
        "@@ -20,5 +21,10 @@\n }\n \n+void record(int x)\n+{\n+\tx--;\n+}\n+\n int pick(int x)\n {\n \treturn x;\n";
    assert_eq!(told(member), ["flips"]);
    assert_eq!(told(function), ["record"]);
    assert_eq!(told(&(member.to_owned() + function)), ["flips", "record"]);
}

#[test]
fn what_is_new_or_replaced_or_of_the_other_branch_is_not() {
    let new =
        "@@ -20,5 +20,10 @@\n }\n \n+void note(int x)\n+{\n+\trecord(x);\n+}\n+\n int pick(int x)\n {\n \treturn x;\n";
    let replaced = "@@ -16,5 +16,5 @@\n \n-void record(int x)\n+void record(int y)\n {\n-\tx++;\n+\ty++;\n }\n";
    let branch = "@@ -8,4 +8,4 @@\n void hook(void)\n {\n+\trecord(1);\n }\n #else\n";
    for hunk in [new, replaced] {
        assert_eq!(told(hunk), [""]);
    }
    assert_eq!(told(&branch.replace("-8,4 +8,4", "-8,4 +8,5")), [""]);
}

/// Adds `record` below a function that has another body in the tree, so that only a proposal fits.
const PROPOSED: &str = "@@ -20,9 +20,14 @@\n int pick(int x)\n {\n \tcount(x);\n \treturn x;\n }\n \n+void record(int x)\n+{\n+\tx++;\n+}\n+\n int last(int x)\n {\n \treturn x;\n";
const LAST: &str = "\nint last(int x)\n{\n\treturn x;\n}\n";

#[test]
fn a_proposal_of_what_the_file_has_is_not_taken() {
    // Far from the place where the hunk would put it, so that the lines around it do not help.
    let far =
        TREE.to_owned() + &"\n/* far */".repeat(40) + "\n\nint pick(int x)\n{\n\tother(x);\n\treturn x;\n}\n" + LAST;
    let far = far.replacen("int pick(int x)\n{\n\treturn x;\n}\n", "", 1);
    let (findings, (outcome, _), made) = found(PROPOSED, &far);
    assert_eq!(outcome, Outcome::Present, "{findings:?}");
    assert!(findings[0].is_present && !findings[0].is_taken && findings[0].twice.is_empty());
    assert_eq!(made.matches("void record").count(), 1);
    // With another body it is not the same: it is left out, and reported as already there.
    let (findings, outcome, made) = found(PROPOSED, &far.replacen("x++", "x += 2", 1));
    assert_eq!(outcome, (Outcome::LeftOut, vec![(Reason::Twice, 1)]), "{findings:?}");
    assert_eq!((findings[0].twice.join(" "), findings[0].is_present), ("record".to_owned(), false));
    assert_eq!(made.matches("void record").count(), 1);
}

#[test]
fn a_hunk_that_only_calls_what_another_defines_again_is_taken() {
    let again =
        "@@ -20,5 +20,10 @@\n }\n \n+void record(int x)\n+{\n+\tx--;\n+}\n+\n int pick(int x)\n {\n \treturn x;\n";
    let calls = "@@ -28,5 +33,6 @@\n \n int last(int x)\n {\n \tlock(x);\n+\trecord(x);\n \treturn x;\n }\n";
    let (findings, _, made) = found(&(again.to_owned() + calls), &(TREE.to_owned() + LAST));
    assert!(findings.iter().all(|one| one.is_taken), "{findings:?}");
    assert_eq!(findings.iter().map(|one| one.twice.join(" ")).collect::<Vec<_>>(), ["record", ""]);
    assert!(made.contains("record(x);"));
}
