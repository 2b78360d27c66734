//! Why a hunk that has a place is left out.

use schedlab_kernel::{Obstacle, Outcome, Port, Reason, parse, rehearse_series};
use std::convert::Infallible;

/// The outcome of a patch, and how many hunks are left out for which reason.
type Said = (Outcome, Vec<(Reason, usize)>);

fn port(diff: &str, files: &[(&str, &str)]) -> (Port, Vec<Said>) {
    let patches = parse(diff.as_bytes());
    let mut read = |path: &str| {
        Ok::<_, Infallible>(files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_bytes().to_vec()))
    };
    let port = rehearse_series(&patches, &[], &mut read).unwrap();
    let outcomes = port.outcomes(&patches);
    (port, outcomes)
}

/// Both hunks find their lines in the only place of the tree, where the source has two.
#[test]
fn of_two_hunks_for_the_same_lines_the_second_says_so() {
    let text = "int f(struct a *a)\n{\n\tlock(a);\n\tresched(a);\n\tunlock(a);\n\treturn 0;\n}\n";
    let hunk = |at: usize| {
        format!(
            "@@ -{at},5 +{at},5 @@ int f(struct a *a)\n \tlock(a);\n-\tresched(a);\n+\tresched_{at}(a);\n \tunlock(a);\n \treturn 0;\n }}\n"
        )
    };
    let (port, outcomes) = port(&format!("--- a/x.c\n+++ b/x.c\n{}{}", hunk(3), hunk(40)), &[("x.c", text)]);
    assert_eq!(outcomes, [(Outcome::Part, vec![(Reason::Crossed, 1)])], "{:?}", port.findings);
    assert_eq!(
        port.findings.iter().map(|found| (found.is_taken, found.is_crossed())).collect::<Vec<_>>(),
        [(true, false), (false, true)]
    );
}

#[test]
fn hunks_of_a_rename_that_cannot_be_say_why() {
    let diff = "diff --git a/a.c b/b.c\nsimilarity index 90%\nrename from a.c\nrename to b.c\n--- a/a.c\n+++ b/b.c\n@@ -1 +1 @@\n-int a;\n+int b;\n";
    let (port, outcomes) = port(diff, &[("a.c", "int a;\n"), ("b.c", "int c;\n")]);
    assert_eq!(port.findings[0].obstacle, Some(Obstacle::Exists));
    assert_eq!(outcomes, [(Outcome::LeftOut, vec![(Reason::Exists, 2)])]);
}

/// A hunk that only removes lines was already applied: nothing of it is left to find.
#[test]
fn what_is_removed_already_is_present() {
    let text = "int f(struct a *a)\n{\n\tlock(a);\n\tcount(a);\n\tunlock(a);\n\treturn 0;\n}\n";
    let hunk = "@@ -2,6 +2,5 @@ int f(struct a *a)\n {\n \tlock(a);\n \tcount(a);\n-\tresched(a);\n \tunlock(a);\n \treturn 0;\n }\n";
    let of = |hunk: &str, text: &str| {
        let hunk = hunk.replace("-2,6 +2,5", "-2,7 +2,6");
        port(&format!("--- a/x.c\n+++ b/x.c\n{hunk}"), &[("x.c", text)]).0.findings.remove(0)
    };
    let found = of(hunk, text);
    assert!(found.is_present && !found.is_taken, "{found:?}");
    assert_eq!(
        found.rehearsed.and_then(|seen| seen.place).map(|place| (place.line, place.function)),
        Some((5, "f".into()))
    );
    // Not if the lines occur twice, in another function, or with something else between them.
    let other = text.replace("int f(", "int g(");
    for text in [
        text.to_owned() + &other,
        other,
        text.replace("\tunlock", "\tagain(a);\n\tunlock"),
        text.replace("{\n", "{\n\tresched(a);\n\n"),
    ] {
        assert!(!of(hunk, &text).is_present, "{text}");
    }
}
