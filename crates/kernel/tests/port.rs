//! The right place and the proposed hunk, on small texts of which the right answer is plain.

use schedlab_kernel::{Confidence, Hunk, Placement, Rehearsed, Source, Verdict, apply, parse, rehearse, split};

fn hunks(diff: &str) -> Vec<Hunk> {
    let mut patches = parse(format!("--- a/x.c\n+++ b/x.c\n{diff}").as_bytes());
    assert!(patches[0].refused.is_empty(), "{:?}", patches[0].refused);
    patches.remove(0).files.remove(0).hunks
}

fn one(diff: &str, text: &str) -> Rehearsed {
    rehearse(&hunks(diff), &Source::new(text.as_bytes())).remove(0)
}

/// The text with the proposal in it, which must fit at exactly its line.
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
    // The same hunk for the first function: nothing to say.
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

#[test]
fn a_text_with_nothing_like_it_has_no_place() {
    let diff =
        "@@ -3,3 +3,3 @@ int elsewhere(void)\n \talpha(beta);\n-\tgamma(delta);\n+\tgamma(epsilon);\n \tzeta(eta);\n";
    let found = one(diff, TWO);
    assert_eq!((found.patch, found.place, found.proposal), (Placement::Failed, None, None));
    assert_eq!(one(diff, "").place, None);
}

/// Both blocks are the same and the hunk names neither: it may be either.
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
