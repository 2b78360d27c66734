//! A patch that moves a function: both halves are taken, or neither.

use schedlab_kernel::{Outcome, Port, Reason, parse, rehearse_series};
use std::convert::Infallible;

const FOO: &str = "int foo(int x)\n{\n\tx = first(x);\n\tx = second(x);\n\treturn third(x);\n}\n\n";
const OLD: &str = "#include <a.h>\n\nint before(int x)\n{\n\treturn x;\n}\n\nFOOint after(int x)\n{\n\treturn -x;\n}\n";
const NEW: &str =
    "#include <b.h>\n\nint above(int x)\n{\n\treturn 2 * x;\n}\n\nFOOint below(int x)\n{\n\treturn x / 2;\n}\n";

fn with(text: &str, function: &str) -> String {
    text.replace("FOO", function)
}

/// The patch that moves `foo` from `old.c` to `new.c`.
fn patch() -> String {
    let lines = |sign: char| FOO.lines().map(|line| format!("{sign}{line}\n")).collect::<String>();
    let hunk = |file: &str, counts: &str, text: &str, sign: char| {
        let shown: String = text.lines().skip(4).map(|line| format!(" {line}\n")).collect();
        let shown = shown.replace(" FOO", &(lines(sign) + " "));
        format!("diff --git a/{file} b/{file}\n--- a/{file}\n+++ b/{file}\n@@ -5,{counts} @@\n{shown}")
    };
    "Subject: move foo\n\n---\n".to_owned() + &hunk("old.c", "14 +5,7", OLD, '-') + &hunk("new.c", "7 +5,14", NEW, '+')
}

fn port(old: &str, new: Option<&str>) -> (Port, (Outcome, Vec<(Reason, usize)>)) {
    let patches = parse(patch().as_bytes());
    assert_eq!(patches[0].files.iter().map(|file| file.hunks.len()).sum::<usize>(), 2, "{:?}", patches[0].refused);
    let mut read = |path: &str| {
        Ok::<_, Infallible>(if path == "old.c" { Some(old) } else { new }.map(|text| text.as_bytes().to_vec()))
    };
    let port = rehearse_series(&patches, &[], &mut read).unwrap();
    let outcome = port.outcomes(&patches).remove(0);
    (port, outcome)
}

fn said(port: &Port) -> [&str; 2] {
    [0, 1].map(|at| port.findings[at].half.as_deref().unwrap_or_default())
}

#[test]
fn a_move_that_fits_is_taken_and_nothing_is_said() {
    let (port, outcome) = port(&with(OLD, FOO), Some(&with(NEW, "")));
    assert_eq!((outcome, said(&port)), ((Outcome::Clean, vec![]), ["", ""]));
}

#[test]
fn what_cannot_be_added_is_not_removed() {
    let unlike = "/* nothing of it */\nstruct other {\n\tint member;\n};\n";
    for new in [None, Some(unlike)] {
        let (port, (outcome, reasons)) = port(&with(OLD, FOO), new);
        assert_eq!(outcome, Outcome::LeftOut, "{:?}", port.findings);
        assert!(reasons.contains(&(Reason::Half, 1)), "{reasons:?}");
        assert_eq!(said(&port)[0], "moves foo to new.c, where it does not go in: both are left out");
        assert!(!port.changed.contains_key("old.c") || port.changed["old.c"] == Some(with(OLD, FOO).into_bytes()));
        assert_eq!(port.left_out[0].len(), 2);
    }
}

#[test]
fn what_cannot_be_removed_is_not_added() {
    let other = "int foo(int x)\n{\n\tif (x)\n\t\treturn fourth(x);\n\tfifth(&x);\n\treturn sixth(x, 0);\n}\n\n";
    let old = with("struct t {\n\tint a;\n};\n\nFOO", other);
    let (port, (outcome, reasons)) = port(&old, Some(&with(NEW, "")));
    assert_eq!(outcome, Outcome::LeftOut, "{:?}", port.findings);
    assert!(reasons.contains(&(Reason::Half, 1)), "{reasons:?}");
    assert_eq!(said(&port)[1], "moves foo here from old.c, where it cannot be removed: both are left out");
}

#[test]
fn a_move_that_the_tree_has_is_present() {
    let far = with(NEW, "") + &"\n/* far */".repeat(60) + "\n\n" + FOO;
    for new in [with(NEW, FOO), far] {
        let (port, outcome) = port(&with(OLD, ""), Some(&new));
        assert_eq!(outcome, (Outcome::Present, vec![]), "{:?}", port.findings);
        assert!(port.findings.iter().all(|found| found.is_present));
    }
    // The new place has it with different lines: neither half is taken, and the new one is not called present.
    let changed = FOO.replace("second", "other");
    let (port, outcome) = port(&with(OLD, ""), Some(&with(NEW, &changed)));
    assert_eq!(outcome.0, Outcome::Part, "{:?}", port.findings);
    assert!(port.findings.iter().all(|found| !found.is_taken));
    assert_eq!(
        (port.findings[1].is_present, said(&port)[1]),
        (false, "moves foo from old.c to new.c: it is here already")
    );
}

#[test]
fn what_the_tree_has_nowhere_is_left_to_patch() {
    let (port, outcome) = port(&with(OLD, ""), Some(&with(NEW, "")));
    assert_eq!((outcome.0, said(&port)), (Outcome::Clean, ["", ""]), "{:?}", port.findings);
    assert!(port.findings[0].is_present && port.findings[1].is_taken);
}

/// In a move within one file, a definition that is already at its new place must not be removed there.
#[test]
fn a_move_in_one_file_that_is_done_does_not_remove_it() {
    let lines = |sign: char| FOO.lines().map(|line| format!("{sign}{line}\n")).collect::<String>();
    let around = |name: &str| format!(" int {name}(int x)\n {{\n \treturn {name}_of(x);\n }}\n \n");
    let [a, b, c] = ["a", "b", "c"].map(around);
    let hunks = format!("@@ -1,17 +1,10 @@\n{a}{}{b}@@ -40,10 +33,17 @@\n{b}{}{c}", lines('-'), lines('+'));
    let patches = parse(format!("--- a/x.c\n+++ b/x.c\n{hunks}").as_bytes());
    assert_eq!(patches[0].files[0].hunks.len(), 2, "{:?}", patches[0].refused);
    let plain = |text: &str| text.lines().map(|line| format!("{}\n", &line[1..])).collect::<String>();
    let tree = plain(&a) + &plain(&b) + FOO + &plain(&c);
    let mut read = |_: &str| Ok::<_, Infallible>(Some(tree.clone().into_bytes()));
    let port = rehearse_series(&patches, &[], &mut read).unwrap();
    assert_eq!(port.outcomes(&patches), [(Outcome::Present, vec![])], "{:?}", port.findings);
    assert!(port.changed.get("x.c").is_none_or(|text| text.as_deref() == Some(tree.as_bytes())));
}
