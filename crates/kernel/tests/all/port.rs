//! The right place and the proposed hunk, on small texts for which the right answer is obvious.

use schedlab_kernel::{
    Confidence, FilePatch, Finding, Hunk, Obstacle, Placement, Port, Rehearsed, Source, Verdict, apply, parse,
    rehearse, rehearse_series, split,
};
use std::collections::BTreeMap;

fn hunks(diff: &str) -> Vec<Hunk> {
    let mut patches = parse(format!("--- a/x.c\n+++ b/x.c\n{diff}").as_bytes());
    assert!(patches[0].refused.is_empty(), "{:?}", patches[0].refused);
    patches.remove(0).files.remove(0).hunks
}

fn one(diff: &str, text: &str) -> Rehearsed {
    rehearse(&hunks(diff), &Source::new(text.as_bytes())).remove(0)
}

/// The text with the proposal applied, which must fit at exactly its line.
fn proposed(rehearsed: &Rehearsed, text: &str) -> String {
    let hunk = rehearsed.proposal.as_ref().unwrap().hunk.clone();
    let at = Placement::At { line: hunk.old_start - 1, offset: 0, fuzz: 0 };
    let lines = split(text.as_bytes());
    assert_eq!(hunk.old_side(), lines[hunk.old_start - 1..][..hunk.old_side().len()]);
    String::from_utf8(apply(&[hunk], &[at], &lines)).unwrap()
}

const TWO: &str = "\
static int first(int x)
{
	lock(x);
	x = compute(x);
	unlock(x);
	return x;
}

static int second(int x)
{
	lock(x);
	x = compute(x);
	unlock(x);
	return x;
}
";

#[test]
fn patch_puts_it_into_another_function() {
    let diff = "@@ -3,4 +3,4 @@ static int second(int x)\n \tlock(x);\n-\tx = compute(x);\n+\tx = recompute(x);\n \tunlock(x);\n \treturn x;\n";
    let found = one(diff, TWO);
    assert_eq!(found.patch.verdict(), Verdict::Applies);
    assert_eq!(found.flagged.as_deref(), Some("patch puts it into `first`, it is for `second`"));
    let place = found.place.clone().unwrap();
    assert_eq!((place.line, &*place.function), (12, "second"));
    let (head, tail) = TWO.split_at(TWO.find("static int second").unwrap());
    assert_eq!(proposed(&found, TWO), head.to_owned() + &tail.replace("compute", "recompute"));
    // The same hunk for the first function: nothing to report.
    let right = one(&diff.replace("second", "first"), TWO);
    assert_eq!((right.flagged, right.proposal), (None, None));
}

#[test]
fn lines_around_differ_and_the_removed_ones_stand_there() {
    let text = "int f(void)\n{\n\tint other;\n\n\tprepare(&other);\n\tret = do_it(a, b);\n\tfinish(&other);\n\treturn ret;\n}\n";
    let diff = "@@ -3,7 +3,8 @@ int f(void)\n \tint mine = 0;\n \n \tsetup(mine);\n-\tret = do_it(a, b);\n+\tif (a)\n+\t\tret = do_it(a, b);\n \tteardown(mine);\n \treturn mine;\n }\n";
    let found = one(diff, text);
    assert_eq!(found.patch, Placement::Failed);
    assert_eq!(found.place.clone().unwrap().line, 6);
    assert_eq!(proposed(&found, text), text.replace("\tret = do", "\tif (a)\n\t\tret = do"));
}

#[test]
fn words_that_the_hunk_leaves_alone_stay_as_the_text_has_them() {
    let text = "int f(struct page *page)\n{\n\tlock(page);\n\tif (dirty(page) && flags)\n\t\twrite(page, &old_map, 1);\n\tunlock(page);\n\treturn 0;\n}\n";
    let diff = "@@ -1,8 +1,8 @@ int f(struct folio *folio)\n int f(struct folio *folio)\n {\n \tlock(folio);\n \tif (dirty(folio) && flags)\n-\t\twrite(folio, &map, 1);\n+\t\twrite(folio, &map, 2);\n \tunlock(folio);\n \treturn 0;\n }\n";
    let found = one(diff, text);
    assert_eq!(found.patch, Placement::Failed);
    assert_eq!(proposed(&found, text), text.replace("&old_map, 1", "&old_map, 2"));
    assert!(found.proposal.unwrap().confidence > Confidence::Sure);
}

#[test]
fn an_addition_speaks_the_words_of_the_text() {
    let text = "int f(struct page *page)\n{\n\tlock(page);\n\twrite(page);\n\tunlock(page);\n}\n";
    let diff = "@@ -1,6 +1,7 @@ int f(struct folio *folio)\n int f(struct folio *folio)\n {\n \tlock(folio);\n \twrite(folio);\n+\tsync(folio);\n \tunlock(folio);\n }\n";
    assert_eq!(proposed(&one(diff, text), text), text.replace("\tunlock", "\tsync(page);\n\tunlock"));
}

#[test]
fn an_addition_at_the_end_of_a_list_stays_there() {
    let list = |names: &[&str]| names.iter().map(|n| format!(" #include <linux/{n}.h>\n")).collect::<String>();
    let text = list(&["filter", "nodemask", "nospec", "bpf_mem_alloc", "memcontrol"])
        .replace(' ', "")
        .replace("include", "include ");
    let text = text + "\n#include <asm/barrier.h>\n#include <linux/unaligned.h>\n";
    let diff = list(&["bpf_verifier", "nodemask", "nospec"])
        + "+#include <linux/static_call.h>\n \n #include <asm/barrier.h>\n #include <asm/unaligned.h>\n";
    let found = one(&format!("@@ -1,6 +1,7 @@\n{diff}"), &text);
    assert_eq!(found.patch, Placement::Failed);
    let end = "<linux/memcontrol.h>\n";
    assert_eq!(proposed(&found, &text), text.replace(end, &format!("{end}#include <linux/static_call.h>\n")));
}

#[test]
fn what_stands_there_already_is_said_to() {
    let diff = "@@ -2,4 +2,4 @@ static int only(int x)\n \tlock(x);\n-\tx = compute(x);\n+\tx = recompute(x);\n \tunlock(x);\n \treturn x;\n";
    let text = TWO.replace("second", "only").replace("compute", "recompute");
    let found = one(diff, &text);
    assert_eq!(found.patch, Placement::Reversed);
    assert!(found.is_present && found.proposal.is_none(), "{found:?}");
}

/// A name that the hunk adds is already there, in a list with other neighbours; in another section it would not count.
#[test]
fn a_name_that_is_there_already_is_not_added_again() {
    let list = |names: &[&str]| names.iter().map(|name| format!("\tselect ARCH_{name}\n")).collect::<String>();
    let rows = list(&["SUPPORTS_ACPI", "SUPPORTS_LTO", "SUPPORTS_NUMA", "USE_ATOMICS", "USE_MEMTEST", "WANT_FRAMES"]);
    let hunk = rows
        .replace("\tselect", " \tselect")
        .replace(" \tselect ARCH_USE_ATOMICS", "+\tselect ARCH_SUPPORTS_RT\n \tselect ARCH_USE_ATOMICS");
    let diff = format!("@@ -2,6 +2,7 @@ config ARM64\n{hunk}");
    let config = |name: &str, names: &[&str]| format!("config {name}\n{}", list(names));
    let near =
        ["SUPPORTS_ACPI", "SUPPORTS_LTO", "SUPPORTS_HUGE", "SUPPORTS_RT", "USE_CMPXCHG", "USE_MEMTEST", "WANT_FRAMES"];
    let there = one(&diff, &config("ARM64", &near));
    assert!(there.patch == Placement::Failed && there.is_present && there.proposal.is_none(), "{there:?}");
    let without: Vec<&str> = near.into_iter().filter(|name| *name != "SUPPORTS_RT").collect();
    let elsewhere = one(&diff, &(config("ARM64", &without) + &config("OTHER", &["SUPPORTS_RT"])));
    assert!(!elsewhere.is_present && elsewhere.proposal.is_some(), "{elsewhere:?}");
}

#[test]
fn a_text_with_nothing_like_it_has_no_place() {
    let diff =
        "@@ -3,3 +3,3 @@ int elsewhere(void)\n \talpha(beta);\n-\tgamma(delta);\n+\tgamma(epsilon);\n \tzeta(eta);\n";
    let found = one(diff, TWO);
    assert_eq!((found.patch, found.place, found.proposal), (Placement::Failed, None, None));
    assert_eq!(one(diff, "").place, None);
}

/// Both blocks are the same, and the hunk names neither.
#[test]
fn of_twins_none_is_sure() {
    let text = TWO.replace("first", "one").replace("second", "two");
    let diff = "@@ -30,4 +30,4 @@ static int three(int x)\n \thold(x);\n-\tx = compute(x);\n+\tx = recompute(x);\n \trelease(x);\n \treturn y;\n";
    let found = one(diff, &text);
    assert!(found.proposal.is_none_or(|p| p.confidence > Confidence::Sure));
}

#[test]
fn a_hundred_thousand_lines_against_a_long_hunk_end_without_a_place() {
    let text = "int x;\n".repeat(100_000);
    let body: String = (0..800).map(|i| format!("-\tline {i}\n")).collect();
    let found = one(&format!("@@ -1,800 +0,0 @@\n{body}"), &text);
    assert_eq!((found.patch.verdict(), found.place), (Verdict::Fails, None));
}

fn port(diff: &str, tree: &[(&str, &str)]) -> Port {
    let tree: BTreeMap<&str, &str> = tree.iter().copied().collect();
    let mut read = |path: &str| Ok::<_, ()>(tree.get(path).map(|text| text.as_bytes().to_vec()));
    rehearse_series(&parse(diff.as_bytes()), &[], &mut read).unwrap()
}

fn series(diff: &str, tree: &[(&str, &str)]) -> Vec<Finding> {
    port(diff, tree).findings
}

/// The second patch needs what the first adds; the third the file that the second creates; then the file is renamed.
#[test]
fn a_patch_sees_what_those_before_it_have_made() {
    let mail = |n: u32, diff: &str| {
        format!("From {n:040} Mon Sep 17 00:00:00 2001\nSubject: [PATCH {n}/4] p{n}\n\n---\n{diff}")
    };
    let diff = [
        mail(1, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"),
        mail(2, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-b\n+c\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+n\n"),
        mail(
            3,
            "diff --git a/new b/moved\nrename from new\nrename to moved\n--- a/new\n+++ b/moved\n@@ -1 +1 @@\n-n\n+m\n",
        ),
        mail(4, "--- a/moved\n+++ b/moved\n@@ -1 +1 @@\n-m\n+l\n--- a/new\n+++ b/new\n@@ -1 +1 @@\n-n\n+l\n"),
    ];
    let found = series(&diff.concat(), &[("x", "a\n")]);
    let told: Vec<_> = found.iter().map(|f| (f.patch, &*f.file, f.verdict, f.obstacle)).collect();
    use Verdict::{Applies, Fails};
    let expected = [
        (0, "x", Applies, None),
        (1, "x", Applies, None),
        (1, "new", Applies, None),
        (2, "new", Applies, None),
        (3, "moved", Applies, None),
        (3, "new", Fails, Some(Obstacle::NoFile)),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_new_file_that_is_there_and_a_name_with_orig() {
    let made = "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+n\n";
    let found = series(made, &[("new", "n\n")]);
    assert_eq!((found[0].verdict, found[0].obstacle), (Verdict::Fails, Some(Obstacle::Exists)));
    assert!(found[0].rehearsed.as_ref().unwrap().is_present);
    assert!(!series(made, &[("new", "other\n")])[0].rehearsed.as_ref().unwrap().is_present);
    let orig = "--- a/x.c\n+++ b/x.c.new\n@@ -1 +1 @@\n-a\n+b\n";
    assert_eq!(
        (&*series(orig, &[("x.c", "a\n")])[0].file, series(orig, &[("x.c", "a\n")])[0].verdict),
        ("x.c", Verdict::Applies)
    );
}

/// The first hunk fails, its proposal is taken, and the next patch builds on it.
#[test]
fn a_proposal_has_the_line_ends_of_the_file() {
    let diff = "@@ -3,4 +3,4 @@ static int second(int x)\n \tlock(x);\n-\tx = compute(x);\n+\tx = recompute(x);\n \tunlock(x);\n \treturn x;\n";
    let dos = TWO.replace('\n', "\r\n");
    let ends = |text: &str| (text.matches("\r\n").count(), text.matches('\n').count());
    let made = proposed(&one(diff, &dos), &dos);
    assert_eq!((ends(&made), made.contains("recompute")), (ends(&dos), true), "{made:?}");
    // And the other way round: a line with CR in the patch, none in the file.
    let with_cr = diff.replace("recompute(x);\n", "recompute(x);\r\n");
    let made = proposed(&one(&with_cr, TWO), TWO);
    assert_eq!((ends(&made).0, made.contains("recompute")), (0, true), "{made:?}");
}

#[test]
fn a_likely_proposal_is_taken_for_the_next_patch() {
    let text = "int f(void)\n{\n\tint other;\n\n\tprepare(&other);\n\tret = do_it(a, b);\n\tfinish(&other);\n\treturn ret;\n}\n";
    let first = "--- a/x.c\n+++ b/x.c\n@@ -3,7 +3,7 @@ int f(void)\n \tint other;\n \n \tsetup(mine);\n-\tret = do_it(a, b);\n+\tret = do_it(a, c);\n \tteardown(mine);\n \treturn ret;\n }\n";
    let second = "From 1 Mon Sep 17 00:00:00 2001\nSubject: two\n\n--- a/x.c\n+++ b/x.c\n@@ -6 +6 @@\n-\tret = do_it(a, c);\n+\tret = do_it(b, c);\n";
    let found = series(&format!("From 0 Mon Sep 17 00:00:00 2001\nSubject: one\n\n{first}{second}"), &[("x.c", text)]);
    assert_eq!(found.iter().map(|f| f.verdict).collect::<Vec<_>>(), [Verdict::Fails, Verdict::Applies]);
}

fn written(files: &[FilePatch]) -> String {
    files.iter().map(|file| String::from_utf8(file.to_bytes()).unwrap()).collect()
}

/// Two hunks: the first is adapted, the second has no similar place.
#[test]
fn what_is_adapted_applies_and_what_is_not_is_left_out() {
    let text = "int f(void)\n{\n\tint other;\n\n\tprepare(&other);\n\tret = do_it(a, b);\n\tfinish(&other);\n\treturn ret;\n}\n";
    let lost = "@@ -30,3 +30,3 @@ int g(void)\n \talpha();\n-\tbeta();\n+\tgamma();\n \tdelta();\n";
    let diff = format!(
        "diff --git a/x.c b/x.c\nold mode 100644\nnew mode 100755\n--- a/x.c\n+++ b/x.c\n\
         @@ -3,7 +3,7 @@ int f(void)\n \tint other;\n \n \tsetup(mine);\n-\tret = do_it(a, b);\n\
         +\tret = do_it(a, c);\n \tteardown(mine);\n \treturn ret;\n }}\n{lost}\
         diff --git a/gone.c b/there.c\nrename from gone.c\nrename to there.c\n"
    );
    let found = port(&diff, &[("x.c", text)]);
    assert_eq!(found.findings.iter().map(|f| f.is_taken).collect::<Vec<_>>(), [true, false]);
    let adapted = written(&found.adapted[0]);
    let expected = "diff --git a/x.c b/x.c\nold mode 100644\nnew mode 100755\n--- a/x.c\n+++ b/x.c\n@@ -3,7 +3,7 @@ int f(void)\n \tint other;\n \n \tprepare(&other);\n-\tret = do_it(a, b);\n+\tret = do_it(a, c);\n \tfinish(&other);\n \treturn ret;\n }\n";
    assert_eq!(adapted, expected);
    let left_out = written(&found.left_out[0]);
    assert!(left_out.ends_with("diff --git a/gone.c b/there.c\nrename from gone.c\nrename to there.c\n"), "{left_out}");
    assert!(left_out.starts_with(&format!("diff --git a/x.c b/x.c\n--- a/x.c\n+++ b/x.c\n{lost}")), "{left_out}");
    assert!(series(&adapted, &[("x.c", text)]).iter().all(|f| f.verdict == Verdict::Applies));
}

/// Nearby edits are one hunk; line numbers include what earlier hunks added.
#[test]
fn hunks_are_written_as_diff_writes_them() {
    let text: String = (1..=30).map(|n| format!("line {n}\n")).collect();
    let change = |n: u32, new: &str| format!("@@ -{n} +{n},{} @@\n-line {n}\n{new}", new.lines().count());
    let diff = ["--- a/x\n+++ b/x\n".into(), change(5, "+a\n+b\n"), change(12, ""), change(30, "+z\n")].concat();
    let found = port(&diff, &[("x", &text)]);
    let heads = |files: &[FilePatch]| -> Vec<(usize, usize, usize)> {
        files[0].hunks.iter().map(|h| (h.old_start, h.new_start, h.lines.len())).collect()
    };
    assert_eq!(heads(&found.adapted[0]), [(2, 2, 16), (27, 27, 5)]);
    let grown = text.clone() + "more";
    let none_at_the_end = "--- a/x\n+++ b/x\n@@ -31 +31,2 @@\n more\n\\ No newline at end of file\n+most\n";
    let joined = written(&port(none_at_the_end, &[("x", &grown)]).adapted[0]);
    assert!(joined.ends_with("-more\n\\ No newline at end of file\n+more\n+most\n"), "{joined}");
}

#[test]
fn files_are_made_moved_and_removed_in_the_adapted_series() {
    let diff = "--- /dev/null\n+++ b/a \"b\"\n@@ -0,0 +1 @@\n+n\n\
        diff --git a/old b/new\nrename from old\nrename to new\n--- a/old\n+++ b/new\n@@ -1 +1 @@\n-o\n+p\n\
        diff --git a/empty b/empty\ndeleted file mode 100755\n--- a/empty\n+++ /dev/null\n@@ -1 +0,0 @@\n-e\n\
        diff --git a/more b/more\ndeleted file mode 100755\n--- a/more\n+++ /dev/null\n@@ -1 +0,0 @@\n-e\n";
    let tree = [("old", "o\n"), ("empty", "e\n"), ("more", "e\nf\ng\n")];
    let adapted = written(&port(diff, &tree).adapted[0]);
    let expected = "diff --git \"a/a \\\"b\\\"\" \"b/a \\\"b\\\"\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/a \\\"b\\\"\"\t\n@@ -0,0 +1,1 @@\n+n\n\
        diff --git a/old b/new\nrename from old\nrename to new\n--- a/old\n+++ b/new\n@@ -1,1 +1,1 @@\n-o\n+p\n\
        diff --git a/empty b/empty\ndeleted file mode 100755\n--- a/empty\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-e\n\
        diff --git a/more b/more\n--- a/more\n+++ b/more\n@@ -1,3 +1,2 @@\n-e\n f\n g\n";
    assert_eq!(adapted, expected);
    let taken = [("old", "o\n"), ("new", "n\n")];
    let found = port(
        "diff --git a/old b/new\nrename from old\nrename to new\n--- a/old\n+++ b/new\n@@ -1 +1 @@\n-o\n+p\n",
        &taken,
    );
    assert!(found.adapted[0].is_empty() && !found.findings[0].is_taken && found.left_out[0].len() == 1);
}

/// As `diff -urN` writes it, and a tool without stamps.
#[test]
fn files_that_are_not_there_by_their_stamp_are_made_and_removed_in_the_adapted_series() {
    let [never, now] = ["1970-01-01 01:00:00.000000000 +0100", "2024-01-01 00:00:00.000000000 +0000"];
    let diff = format!(
        "--- a/new\t{never}\n+++ b/new\t{now}\n@@ -0,0 +1 @@\n+n\n\
         --- a/gone\t{now}\n+++ b/gone\t{never}\n@@ -1 +0,0 @@\n-g\n\
         --- a/kept\t{never}\n+++ b/kept\t{never}\n@@ -1 +1 @@\n-a\n+b\n\
         --- a/made\n+++ b/made\n@@ -0,0 +1 @@\n+m\n"
    );
    let adapted = written(&port(&diff, &[("gone", "g\n"), ("kept", "a\n")]).adapted[0]);
    let made = |name: &str, line: &str| {
        format!(
            "diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1,1 @@\n+{line}\n"
        )
    };
    let expected = made("new", "n")
        + "diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-g\n\
           diff --git a/kept b/kept\n--- a/kept\n+++ b/kept\n@@ -1,1 +1,1 @@\n-a\n+b\n"
        + &made("made", "m");
    assert_eq!(adapted, expected);
}

/// There is another line between the two neighbours of the addition: it must not split a statement.
#[test]
fn an_addition_does_not_come_between_a_condition_and_its_statement_nor_behind_a_return() {
    let text = "void f(struct a *a)\n{\n\tlock();\n\tlocked();\nout:\n\tif (a)\n\t\tput(a);\n\tunlock();\n}\n";
    let diff = "@@ -3,6 +3,7 @@ void f(struct a *a)\n \tlock();\n \tlocked();\n out:\n+\tagain(a);\n \tput(a);\n \tunlock();\n }\n";
    assert_eq!(proposed(&one(diff, text), text), text.replace("out:\n", "out:\n\tagain(a);\n"));
    let text = "int f(struct a *a)\n{\n\tunregister(a);\n\tdestroy(a);\n\tfree_irq(a);\n\n\treturn 0;\n}\n";
    let diff = "@@ -3,6 +3,6 @@ int f(struct a *a)\n \tunregister(a);\n-\tdestroy(a);\n \tfree_irq(a);\n+\tdestroy(a);\n }\n \n int g(void)\n";
    let moved = text.replace("\tdestroy(a);\n\tfree_irq(a);\n", "\tfree_irq(a);\n\tdestroy(a);\n");
    assert_eq!(proposed(&one(diff, text), text), moved);
}

/// Another line follows: the label stays the first of its paragraph.
#[test]
fn an_addition_at_the_beginning_of_a_paragraph_stays_there() {
    let text = "int f(struct a *a)\n{\nout:\n\tunlock(a->bus);\n\n\tmark_last_busy(a);\n\tput_device(a->dev);\n\treturn 0;\n}\n";
    let diff = "@@ -3,6 +3,6 @@ int f(struct a *a)\n-out:\n \tunlock(a->bus);\n \n+out:\n \tput_device(a->dev);\n \treturn 0;\n }\n";
    let moved = text.replace("out:\n", "").replace("\tmark_last", "out:\n\tmark_last");
    assert_eq!(proposed(&one(diff, text), text), moved);
}

/// All text after it differs; if the lines before it occur twice, neither place is chosen.
#[test]
fn the_lines_on_one_side_are_a_place_where_they_stand_once() {
    let text = "#define A_INVERSE 1\n#define A_ICMP 2\n\nstatic inline int net_ipvs(struct net *net)\n{\n\treturn net->x;\n}\n";
    let diff = "@@ -6,6 +6,8 @@\n #define A_INVERSE 1\n #define A_ICMP 2\n \n+#define A_FLAG 4\n+\n /* limits of the table (as Kconfig has them) */\n #define TABLE_MINIMUM_BITS 8\n #if BITS_PER_LONG > 32\n";
    let expected = text.replace("\nstatic", "\n#define A_FLAG 4\n\nstatic");
    assert_eq!(proposed(&one(diff, text), text), expected);
    let twice = text.to_owned() + text;
    assert_eq!(one(diff, &twice).place, None);
}

/// Its neighbours stand together further down: the line is removed where it is.
#[test]
fn a_removed_line_that_stands_once_in_the_function_is_removed_there() {
    let text = "int drop(struct q *q)\n{\n\tq->backlog -= len;\n\ttree_reduce(q, 1, len);\n\n\tflow->dropped++;\n\tq->drops++;\n\n\t__really_drop(q, to_free, skb);\n\tq->list.qlen--;\n\n\theapify_all(q, 0);\n\treturn idx;\n}\n";
    let diff = "@@ -9,7 +9,6 @@ int drop(struct q *q)\n \n \t__really_drop(q, to_free, skb);\n \tq->list.qlen--;\n-\ttree_reduce(q, 1, len);\n \n \theapify_all(q, 0);\n \treturn idx;\n";
    let gone = text.replace("\ttree_reduce(q, 1, len);\n", "");
    assert_eq!(proposed(&one(diff, text), text), gone);
}

/// A function may contain a statement twice: one elsewhere is not the added one.
#[test]
fn a_statement_elsewhere_in_the_function_is_not_the_added_one() {
    let text = "int check(struct reg *reg)\n{\n\tmark_unknown(reg);\n\tif (is_load(reg))\n\t\tload(reg);\n\tif (is_retval) {\n\t\terr = range(reg);\n\t}\n\treturn err;\n}\n";
    let diff = "@@ -6,4 +6,5 @@ int check(struct reg *reg)\n \tif (info.is_retval) {\n+\t\tmark_unknown(reg);\n \t\terr = range(reg);\n \t}\n \tinfo.done = true;\n";
    let found = one(diff, text);
    assert!(found.patch == Placement::Failed && !found.is_present, "{found:?}");
    assert_eq!(proposed(&found, text), text.replace("\t\terr", "\t\tmark_unknown(reg);\n\t\terr"));
}

/// Any two includes are equally similar.
#[test]
fn a_line_that_the_text_has_is_not_taken_for_another() {
    let list = |names: &str| names.split(' ').map(|n| format!("#include <linux/{n}.h>\n")).collect::<String>();
    let text = list("generic etherdevice gfp if_ether kernel kref list");
    let context = |names: &str| list(names).replace('#', " #");
    let diff = context("generic container_of") + "+#include <linux/errno.h>\n" + &context("etherdevice gfp if_ether");
    let expected = list("generic errno etherdevice gfp if_ether kernel kref list");
    assert_eq!(proposed(&one(&format!("@@ -1,5 +1,6 @@\n{diff}"), &text), &text), expected);
}

/// Patch takes the first place, ignoring lines that only match at the second.
#[test]
fn fuzz_within_a_function_is_flagged() {
    let text = "int f(int x)\n{\n\tlock(x);\n\tx = compute(x);\n\tunlock(x);\n\talpha(x);\n\tbeta(x);\n\tlock_it(x);\n\tx = compute(x);\n\tunlock_it(x);\n\tgamma(x);\n\tdelta(x);\n}\n";
    let diff = "@@ -6,7 +6,7 @@ int f(int x)\n \talpha(x);\n \tbeta(x);\n \tlock(x);\n-\tx = compute(x);\n+\tx = recompute(x);\n \tunlock(x);\n \tgamma(x);\n \tdelta(x);\n";
    let found = one(diff, text);
    let said = "patch puts it to line 4, by all its lines it is for line 9";
    assert_eq!((found.patch.verdict(), found.flagged.as_deref()), (Verdict::Fuzz, Some(said)));
    assert_eq!(
        proposed(&found, text),
        text.replace("\tx = compute(x);\n\tunlock_it", "\tx = recompute(x);\n\tunlock_it")
    );
}
