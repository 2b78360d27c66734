//! What a hunk uses and a tree lacks, on small trees whose names are all known.

use schedlab_kernel::needs::{Headers, NeedKind, Paths, build_errors, lacking, needs};
use schedlab_kernel::{Finding, parse, rehearse_series};
use std::collections::BTreeMap;
use std::convert::Infallible;

const HEADER: &str = "\
#define NULL ((void *)0)
#define SCALE(x) ((x) << 10)
#define DEFINE_PER_CPU(type, name) __typeof__(type) name
#define PageFlag(name) static inline int Page##name(struct page *p) { return test_bit(PG_##name, p); }
#define sk_state common.state
enum { PG_dirty };
struct inner { int deep; };
struct sock {
	struct { int state; } common;
	struct inner *in;
	int wmem;
};
int take(struct sock *sk);
PageFlag(Dirty)
";
const FILE: &str = "\
static int own;
static int helper(struct sock *sk)
{
	int only_here = 1;
	return take(sk);
}

static int f(struct sock *sk, int x)
{
	int ret = 0;

	ret = take(sk);
	return ret;
}
";

/// What each hunk of a series lacks on the tree above, as `kind name of there`.
fn lacks(diff: &str) -> Vec<Vec<String>> {
    rehearsed(diff).0
}

/// The same, and the findings.
fn rehearsed(diff: &str) -> (Vec<Vec<String>>, Vec<Finding>) {
    let tree = BTreeMap::from([
        ("include/linux/sock.h", HEADER),
        ("include/uapi/linux/netfilter/xt_MARK.h", "struct mark { int x; };\n"),
        ("net/f.c", FILE),
        ("net/other/moved.c", "int moved;\n"),
    ]);
    let mut read = |path: &str| Ok::<_, Infallible>(tree.get(path).map(|text| text.as_bytes().to_vec()));
    let mut headers = Headers::default();
    tree.iter().filter(|(path, _)| path.ends_with(".h")).for_each(|(path, text)| {
        headers.join(Headers::read(path, text.as_bytes()));
    });
    headers.seal();
    let paths = Paths(tree.keys().map(|path| (*path).to_owned()).collect());
    let patches = parse(diff.as_bytes());
    let Ok(mut port) = rehearse_series(&patches, &[], &mut read);
    let Ok(found) = needs(&patches, &mut port, &headers, &paths, &mut read);
    assert_eq!(found.len(), port.findings.len());
    let kind = |kind: NeedKind| format!("{kind:?}").to_lowercase();
    let said = |need: &schedlab_kernel::needs::Need| {
        format!("{} {} {} {}", kind(need.kind), need.name, need.of.clone().unwrap_or_default(), need.instead.join(","))
            .trim_end()
            .to_owned()
    };
    (found.iter().map(|needs| needs.iter().map(said).collect()).collect(), port.findings)
}

/// What these lines lack, added to `f` after `ret = take(sk);`.
fn in_f(lines: &[&str]) -> Vec<String> {
    let added: String = lines.iter().map(|line| format!("+\t{line}\n")).collect();
    let diff = format!(
        "--- a/net/f.c\n+++ b/net/f.c\n@@ -10,4 +10,{} @@ static int f(struct sock *sk, int x)\n \tint ret = 0;\n \n \tret = take(sk);\n{added} \treturn ret;\n",
        4 + lines.len()
    );
    lacks(&diff).remove(0)
}

#[test]
fn what_stands_in_the_tree_or_is_brought_along_is_not_missed() {
    for lines in [
        &["ret += SCALE(x) + own + helper(sk);"][..],
        &["int y = x, *z = &y;", "for (int i = 0; i < y; i++)", "\t*z = i;"],
        &["if (sk->wmem || sk->in->deep || sk->sk_state)", "\tgoto out;", "out:"],
        &["struct inner in = { .deep = 1 };", "ret = in.deep;"],
        &["/* no_such_name() */ take(\"no_such_name\"); // no_such_name"],
        &["ret = PageDirty(NULL) + PG_dirty;"],
        &["#ifdef CONFIG_NO_SUCH", "ret = sizeof(struct sock);", "#endif"],
        &["struct sock *other __attribute__((unused)) = sk;", "other->wmem++;"],
        &["#define LOCAL(a) ((a) + own)", "ret = LOCAL(x);", "#undef LOCAL"],
        &["static DEFINE_PER_CPU(struct inner *, mine);", "ret = mine != NULL;"],
        &["__builtin_expect(ret, 0);", "asm volatile(\"nop\");"],
    ] {
        assert_eq!(in_f(lines), [""; 0], "{lines:?}");
    }
}

#[test]
fn what_is_missing_is_named_by_its_kind() {
    for (line, said) in [
        ("no_such_function(sk);", "function no_such_function"),
        ("ret = NO_SUCH_CONSTANT;", "name NO_SUCH_CONSTANT"),
        ("sk->no_such_field = 1;", "field no_such_field sock"),
        ("sk->in->no_such_field = 1;", "field no_such_field inner"),
        ("current->no_such_field = 1;", "field no_such_field"),
        ("struct no_such_type *t;", "type no_such_type"),
        ("ret = only_here;", "name only_here"),
        // Its type is known from its declaration next to it.
        ("struct inner *i = sk->in; i->wmem = 1;", "field wmem inner"),
        ("ret = PageLost(NULL);", "function PageLost"),
    ] {
        assert!(in_f(&[line]).contains(&said.to_owned()), "{line}: {:?}", in_f(&[line]));
    }
    let found = in_f(&["ret = gone(x);", "ret |= gone(ret);", "x = sk->lost;"]);
    assert_eq!(found, ["function gone", "field lost sock"]);
}

#[test]
fn a_name_of_an_earlier_patch_is_there_for_a_later_one() {
    let mail = |n: u32, diff: &str| format!("From {n:040} Mon Sep 17 00:00:00 2001\nSubject: p{n}\n\n---\n{diff}");
    let use_it = |n: u32| {
        mail(
            n,
            "--- a/net/f.c\n+++ b/net/f.c\n@@ -12,2 +12,3 @@ static int f(struct sock *sk, int x)\n \tret = take(sk);\n+\tret += brought(sk->fresh);\n \treturn ret;\n",
        )
    };
    let bring = |n: u32| {
        mail(
            n,
            "--- a/include/linux/sock.h\n+++ b/include/linux/sock.h\n@@ -9,5 +9,7 @@ struct sock {\n \tstruct inner *in;\n \tint wmem;\n+\tint fresh;\n };\n int take(struct sock *sk);\n+int brought(int x);\n PageFlag(Dirty)\n",
        )
    };
    assert_eq!(lacks(&[bring(1), use_it(2)].concat()), [[""; 0]; 2]);
    let late = lacks(&[use_it(1), bring(2)].concat());
    assert_eq!(late, [vec!["function brought", "field fresh sock"], vec![]]);
}

#[test]
fn headers_and_files_are_found_by_a_name_that_differs_in_case_or_folder() {
    let include = |name: &str| {
        let diff = format!("--- a/net/f.c\n+++ b/net/f.c\n@@ -1 +1,2 @@\n+#include {name}\n static int own;\n");
        lacks(&diff).remove(0)
    };
    for there in ["<linux/sock.h>", "<linux/netfilter/xt_MARK.h>", "<generated/x.h>", "\"../include/linux/sock.h\""] {
        assert_eq!(include(there), [""; 0], "{there}");
    }
    assert_eq!(include("<linux/no.h>"), ["header linux/no.h"]);
    assert_eq!(include("\"no.h\""), ["header no.h"]);
    let by_case = "header linux/netfilter/xt_mark.h  include/uapi/linux/netfilter/xt_MARK.h";
    assert_eq!(include("<linux/netfilter/xt_mark.h>"), [by_case]);
    let of_file = |path: &str| lacks(&format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n")).remove(0);
    assert_eq!(of_file("net/moved.c")[0], "file net/moved.c  net/other/moved.c");
    assert_eq!(of_file("Net/F.c")[0], "file Net/F.c  net/f.c");
    assert_eq!(of_file("net/nowhere.txt"), ["file net/nowhere.txt"]);
}

/// The variables of a function in a file that the tree lacks are not missing names.
#[test]
fn what_a_missing_file_used_before_is_not_missing_by_itself() {
    let diff = "--- a/net/gone.c\n+++ b/net/gone.c\n@@ -1,4 +1,4 @@ int sum(int n)\n \tint i;\n \n-\tfor (i = 0; i < n; i++)\n+\tfor (i = 0; i < count_of(LIMIT); i++)\n \t\tadd(i);\n";
    assert_eq!(lacks(diff), [["file net/gone.c", "function count_of", "name LIMIT"]]);
}

/// A hunk that patch skips because it is present needs nothing, and a file that is not C has no names.
#[test]
fn what_is_present_or_no_c_lacks_nothing() {
    let there = "--- a/net/f.c\n+++ b/net/f.c\n@@ -10,4 +10,4 @@ static int f(struct sock *sk, int x)\n \tint ret = 0;\n \n-\tret = took(sk);\n+\tret = take(sk);\n \treturn ret;\n";
    assert_eq!(lacks(there), [[""; 0]]);
    let text = "--- /dev/null\n+++ b/Documentation/x.rst\n@@ -0,0 +1 @@\n+no_such_function();\n";
    assert_eq!(lacks(text), [[""; 0]]);
    // The text of a symbolic link is a path, whatever its name ends with.
    let link = "diff --git a/net/l.h b/net/l.h\nnew file mode 120000\n--- /dev/null\n+++ b/net/l.h\n@@ -0,0 +1 @@\n+no_such_function();\n";
    assert_eq!(lacks(link), [[""; 0]]);
    assert_eq!(lacks(&link.replace("120000", "100644")), [["function no_such_function"]]);
}

/// The messages of gcc 12.2 and GNU ld 2.40 in the C locale, without the lines of code below each.
const LOG: &str = "\
In file included from /b/source/net/t.c:1:
/b/source/net/t.c: In function 'f':
/b/source/net/t.c:8:19: error: 'struct sock' has no member named 'sk_wmem'
/b/source/net/t.c:9:9: error: 'undeclared_one' undeclared (first use in this function)
/b/source/net/t.c:9:9: note: each undeclared identifier is reported only once for each function it appears in
/b/source/net/t.c:10:9: error: too few arguments to function 'two'
/b/source/net/t.c:4:5: note: declared here
/b/source/net/t.c:12:9: error: implicit declaration of function 'gone' [-Werror=implicit-function-declaration]
/b/source/net/t.c:13:14: error: invalid use of undefined type 'struct later'
/b/source/net/t.c:14:23: error: macro \"THREE\" requires 3 arguments, but only 2 given
/b/source/net/t.c:14:13: error: 'THREE' undeclared (first use in this function)
/b/source/net/t.c:15:13: error: passing argument 1 of 'two' makes integer from pointer without a cast [-Werror=int-conversion]
/b/source/net/t.c:16:20: error: 'struct sock' has no member named 'aa'; did you mean 'a'?
/b/source/net/t.c: At top level:
/b/source/net/t.c:18:1: error: unknown type name 'some_type_t'
/b/source/net/t.c:20:16: error: storage size of 'h' isn't known
cc1: some warnings being treated as errors
/b/source/net/u.c:1:10: fatal error: linux/nope.h: No such file or directory
compilation terminated.
make[4]: *** No rule to make target 'kernel/sched/ext.o', needed by 'kernel/sched/built-in.a'.  Stop.
/usr/bin/ld: /tmp/ccdakeNI.o: in function `main':
/tmp/v.c:1: undefined reference to `q'
";

#[test]
fn a_compilers_errors_are_places_and_things_that_are_missing() {
    let found = build_errors(LOG, "/b/source");
    assert_eq!(found.len(), 14);
    let first = &found[0];
    assert_eq!((&*first.file, first.line, first.function.as_deref()), ("net/t.c", 8, Some("f")));
    let unread: Vec<&str> = found.iter().filter(|one| one.need.is_none()).map(|one| &*one.message).collect();
    assert_eq!(unread, ["storage size of 'h' isn't known"]);
    assert!(found.iter().filter(|one| one.file == "net/t.c" && one.line > 16).all(|one| one.function.is_none()));
    let said: Vec<String> = lacking(&found)
        .iter()
        .map(|need| {
            let of = need.of.as_ref().map(|of| format!(" of {of}")).unwrap_or_default();
            let instead = need.instead.first().map(|name| format!(" ({name}?)")).unwrap_or_default();
            format!("{:?} {}{of}{instead} {}", need.kind, need.name, need.lines)
        })
        .collect();
    assert_eq!(
        said,
        [
            "File kernel/sched/ext.c 1",
            "Header linux/nope.h 1",
            "Type later 1",
            "Type some_type_t 1",
            "Function gone 1",
            "Function q 1",
            "Field sk_wmem of sock 1",
            "Field aa of sock (a?) 1",
            "Name undeclared_one 1",
            "Signature two 2",
            "Signature THREE 1",
        ]
    );
    assert!(build_errors("make: *** [Makefile:250: __sub-make] Error 2\nnoise: error\n", "/b").is_empty());
}

#[test]
fn a_hunk_that_changes_what_the_tree_lacks_says_so() {
    let of = |section: &str, changed: &str| {
        let context =
            [" \tif (!x->ready_to_go)\n \t\tgoto none_of_it;\n \n", changed, " \n \twhile (one_more(x))\n \t\t;\n"];
        let text = context.concat();
        let count = |not: char| text.lines().filter(|line| !line.starts_with(not)).count();
        let diff =
            format!("--- a/net/f.c\n+++ b/net/f.c\n@@ -40,{} +40,{} @@ {section}\n{text}", count('+'), count('-'));
        rehearsed(&diff).1.remove(0)
    };
    let lines = "-\tdo_this_first(x);\n-\tret = take(x);\n+\tdo_both(x, y);\n";
    let found = of("static void f(struct sock *sk)", lines);
    assert_eq!((found.gone, found.gone_lines), (vec!["do_this_first".to_owned()], [2, 2]));
    assert_eq!(of("static void g(struct sock *sk)", "-\tret = take(x);\n+\tret = 0;\n").gone, ["g"]);
    // For a hunk that only adds lines, the lines around count.
    assert_eq!(of("", "+\tdo_both(x, y);\n+\tdo_more(x, y);\n").gone, ["ready_to_go", "one_more"]);
    assert_eq!(of("static void f(struct sock *sk)", "-\tret = own;\n-\tx = ret;\n+\tx = own;\n").gone, [""; 0]);
}

#[test]
fn what_only_a_hunk_that_is_left_out_declares_is_missing() {
    let diff = "--- a/net/f.c\n+++ b/net/f.c\n\
                @@ -30,4 +30,4 @@ static int other(void)\n \tint here;\n-\tlong there;\n+\tbool is_waiting;\n \n \tgone();\n\
                @@ -10,4 +40,5 @@ static int f(struct sock *sk, int x)\n \tint ret = 0;\n \n \tret = take(sk);\n+\tret += is_waiting;\n \treturn ret;\n";
    let (needs, findings) = rehearsed(diff);
    assert_eq!(findings.iter().map(|found| found.is_taken).collect::<Vec<_>>(), [false, true]);
    assert_eq!(needs[1], ["name is_waiting"]);
}
