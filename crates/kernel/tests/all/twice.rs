//! What a series defines although the file has it already.

use schedlab_kernel::{parse, rehearse_series, twice};
use std::convert::Infallible;

const TREE: &str = "struct t {\n\tint a;\n\tint flips;\n\tint z;\n};\n\n#ifdef A\nvoid hook(void)\n{\n}\n#else\nvoid hook(void)\n{\n}\n#endif\n\n\
    void record(int x)\n{\n\tx++;\n}\n\nint pick(int x)\n{\n\treturn x;\n}\n";

/// What is said of each hunk.
fn told(hunks: &str) -> Vec<String> {
    let patches = parse(format!("--- a/x.c\n+++ b/x.c\n{hunks}").as_bytes());
    let mut read = |_: &str| Ok::<_, Infallible>(Some(TREE.as_bytes().to_vec()));
    let mut port = rehearse_series(&patches, &[], &mut read).unwrap();
    twice(&patches, &mut port, &mut read).unwrap();
    assert!(port.findings.iter().all(|finding| finding.is_taken), "{:?}", port.findings);
    port.findings.iter().map(|finding| finding.twice.join(" ")).collect()
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
