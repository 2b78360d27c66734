//! What two small trees differ in.

use schedlab_kernel::dossier::{
    Dossier, File, Files, Kind, Status, body, compare, compare_in, patch_file, similar, structures,
};
use schedlab_kernel::parse;

pub(super) fn tree(files: &[(&str, &str)]) -> Vec<File> {
    files.iter().map(|(path, text)| File::read((*path).to_owned(), text.as_bytes().to_vec())).collect()
}

pub(super) fn interfaces(dossier: &Dossier) -> Vec<(Kind, &str, &str)> {
    dossier.interfaces.iter().map(|c| (c.kind, c.name.as_str(), c.change)).collect()
}

#[test]
fn line_ends_alone_change_no_function() {
    let text = "int f(int a)\n{\n#ifdef X /* twice */\n\treturn 2 * \\\n\t\ta;\n#endif\n\treturn a;\n}\n";
    let dossier = compare(&tree(&[("a.c", text)]), &tree(&[("a.c", &text.replace('\n', "\r\n"))]));
    assert_eq!((dossier.files.len(), dossier.functions.len()), (1, 0));
}

#[test]
fn a_binary_file_has_no_lines() {
    let logo = "GIF\0a\nb\nc\n";
    let dossier = compare(&tree(&[("a.txt", "a\n")]), &tree(&[("a.txt", "b\n"), ("logo.gif", logo)]));
    let found: Vec<_> = dossier.files.iter().map(|f| (&*f.path, f.added, f.removed, f.binary)).collect();
    assert_eq!(found, [("a.txt", 1, 1, false), ("logo.gif", 0, 0, true)]);
}

#[test]
fn functions_with_their_callers_and_operations() {
    let body = "\tstep_one(a);\n\tstep_two(a);\n\tstep_three(a);\n\tstep_four(a);\n";
    let before = format!(
        "static void old_place(int a)\n{{\n{body}}}\nint same(void)\n{{\n\treturn 1; /* old */\n}}\nint pick(struct rq *rq)\n{{\n\told_place(1);\n\treturn 0;\n}}\nvoid gone(void)\n{{\n}}\n\
         const struct sched_class c = {{ .pick = pick, }};\nvoid core(struct sched_class *k)\n{{\n\tk->pick(0);\n}}\nvoid direct(void)\n{{\n\tpick(0);\n}}\n"
    );
    let after = before
        .replace("old_place", "new_place")
        .replace("/* old */", "/* new,\n longer */")
        .replace("return 0;", "fresh();\n\treturn 0;")
        .replace("void gone", "void come");
    let dossier = compare(&tree(&[("kernel/a.c", &before)]), &tree(&[("kernel/a.c", &after)]));
    let found: Vec<_> =
        dossier.functions.iter().map(|f| (f.name.as_str(), f.status.clone(), f.added, f.removed)).collect();
    assert_eq!(
        found,
        [
            ("come", Status::New, 3, 0),
            ("gone", Status::Removed, 0, 3),
            ("new_place", Status::RenamedFrom("old_place".into()), 1, 1),
            ("pick", Status::Changed, 2, 1),
        ],
        "a comment is no change"
    );
    let pick = &dossier.key_functions[0];
    assert_eq!((pick.name.as_str(), pick.registered.join(" ")), ("pick", "c.pick".to_owned()));
    assert_eq!((pick.callers[0].function.as_str(), pick.dispatched_from[0].function.as_str()), ("direct", "core"));
    assert_eq!(
        (pick.calls_added.join(" "), pick.calls_removed.join(" ")),
        ("fresh new_place".to_owned(), "old_place".to_owned())
    );
}

#[test]
fn files_that_come_go_and_change() {
    let before = tree(&[("a.c", "x\ny\nz\n"), ("gone.c", "1\n2\n"), ("same.c", "s\n")]);
    let after = tree(&[("a.c", "x\nY\nz\nw\n"), ("new.c", "n\n"), ("same.c", "s\n")]);
    let found: Vec<_> =
        compare(&before, &after).files.iter().map(|f| (f.path.clone(), f.status, f.added, f.removed)).collect();
    let wanted = [("a.c", "changed", 2, 1), ("gone.c", "gone", 0, 2), ("new.c", "new", 1, 0)];
    assert_eq!(found, wanted.map(|(p, s, a, r)| (p.to_owned(), s, a, r)));
}

#[test]
fn structures_with_who_writes_and_reads_each_member() {
    let before = "struct s {\n\tint kept;\n\tint gone;\n\tint wide;\n};\nstruct other { int wide; };\nvoid set(struct s *s)\n{\n\ts->gone = 1;\n\ts->wide = s->kept;\n}\n\
        int get(struct s *s)\n{\n\treturn s->gone + s->wide;\n}\n";
    let after = before
        .replace("\tint gone;\n", "")
        .replace("\tint wide;", "\tlong wide;")
        .replace("s->gone = 1", "s->wide++")
        .replace("s->gone + ", "");
    let [before, after] = [tree(&[("a.c", before)]), tree(&[("a.c", &after)])];
    let found = structures(&compare(&before, &after).interfaces, &before, &after);
    assert_eq!(found.iter().map(|s| (s.name.as_str(), s.kept)).collect::<Vec<_>>(), [("struct s", 1)]);
    let [wide, gone] = &found[0].members[..] else { panic!("{found:?}") };
    let names = |sets: &[std::collections::BTreeSet<String>; 2]| {
        sets.each_ref().map(|set| set.iter().cloned().collect::<Vec<_>>().join(" "))
    };
    assert_eq!(
        (wide.name.as_str(), wide.namesakes, names(&wide.writers)),
        ("wide", 2, ["set", "set"].map(String::from))
    );
    assert_eq!(names(&wide.readers), ["get", "get"].map(String::from));
    assert_eq!((gone.declared.clone(), gone.namesakes), ([Some("int gone".into()), None], 1));
    assert_eq!(
        (names(&gone.writers), names(&gone.readers)),
        (["set", ""].map(String::from), ["get", ""].map(String::from))
    );
}

#[test]
fn a_body_has_the_lines_of_both_versions_with_their_numbers() {
    let before = "\nint f(void)\n{\n\tone();\n\ttwo();\n\treturn 0;\n}\n";
    let after = before.replace("\ttwo();\n", "\t2();\n\tthree();\n");
    let [before, after] = [tree(&[("a.c", before)]), tree(&[("a.c", &after)])];
    let dossier = compare(&before, &after);
    let lines = body(&dossier.functions[0], &before, &after).lines;
    let shown: Vec<_> = lines.iter().map(|line| (line.numbers, line.text.trim())).collect();
    let expected = [
        ([Some(2), Some(2)], "int f(void)"),
        ([Some(3), Some(3)], "{"),
        ([Some(4), Some(4)], "one();"),
        ([Some(5), None], "two();"),
        ([None, Some(5)], "2();"),
        ([None, Some(6)], "three();"),
        ([Some(6), Some(7)], "return 0;"),
        ([Some(7), Some(8)], "}"),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn what_shares_rare_names_with_the_changed_is_similar() {
    let of = |name: &str, uses: &str| format!("void {name}(struct s *s)\n{{\n\t{uses}\n}}\n");
    let before = [
        "struct s { int nonagle; int corked; int common; };\n".to_owned(),
        of("push", "s->nonagle = s->corked;"),
        of("nagle_check", "if (s->nonagle && s->corked) s->common = 1;"),
        of("stranger", "s->common = s->common;"),
        of("half", "s->corked = 0;"),
    ]
    .concat();
    let after = before.replace("s->nonagle = s->corked", "s->nonagle = s->corked + 1");
    let [before, after] = [tree(&[("a.c", &before)]), tree(&[("a.c", &after)])];
    let found = similar(&compare(&before, &after).functions, &before, &after);
    assert_eq!(found.len(), 1, "one shared name is not enough: {found:?}");
    assert_eq!((found[0].function.as_str(), found[0].shared.join(" ")), ("nagle_check", "nonagle corked".to_owned()));
    assert_eq!(found[0].with, ["push"]);
}

#[test]
fn all_calls_of_a_new_function_are_new_and_annotations_are_none() {
    let new = "static int fresh(int x)\n{\n\tif (unlikely(probe(x)))\n\t\treturn -1;\n\treturn container_of(x);\n}\n";
    let (without, with) = (tree(&[("kernel/a.c", "int a;\n")]), tree(&[("kernel/a.c", new)]));
    let found = compare(&without, &with).key_functions.remove(0);
    assert_eq!((found.calls_added, found.calls_kept.len()), (vec!["probe".to_owned()], 0));
    let gone = compare(&with, &without).key_functions.remove(0);
    assert_eq!((gone.calls_removed, gone.calls_kept.len()), (vec!["probe".to_owned()], 0));
}

/// The result of each patch for `x.h` (two lines) and the empty `empty.h`, by name, and what is reported.
#[test]
fn a_patch_does_what_gnu_patch_does_and_the_rest_is_named() {
    let hunk = "@@ -1,2 +1,2 @@\n-one\n+1\n two\n";
    let (gone, all) = ("@@ -1,2 +0,0 @@\n-one\n-two\n", "@@ -0,0 +1 @@\n+new\n");
    let renamed = "diff --git a/x.h b/empty.h\nsimilarity index 100%\nrename from x.h\nrename to empty.h\n";
    let same = [("empty.h", ""), ("x.h", "one\ntwo\n")];
    let changed = [("empty.h", ""), ("x.h", "1\ntwo\n")];
    let check = |patch: &str, wanted: &[(&str, &str)], wanted_said: Option<&str>| {
        let mut files: Files = same.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())).into();
        let said = patch_file(&mut files, &parse(patch.as_bytes())[0].files[0]);
        let found: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), std::str::from_utf8(text).unwrap())).collect();
        assert_eq!(found, wanted, "{patch}");
        assert!(said.as_deref().unwrap_or("").contains(wanted_said.unwrap_or("")), "{patch}: {said:?}");
        assert_eq!(said.is_some(), wanted_said.is_some(), "{patch}: {said:?}");
    };
    check(&format!("--- a/x.h\n+++ b/x.h\n{hunk}"), &changed, None);
    check(&format!("--- a/x.h\n+++ b/x.h.new\n{hunk}"), &changed, None);
    check(&format!("--- a/x.h.orig\n+++ b/x.h\n{hunk}"), &changed, None);
    check(&format!("--- a/y.h\n+++ b/y.h\n{hunk}"), &same, Some("y.h: the tree has no such file"));
    check(&format!("--- /dev/null\n+++ b/x.h\n{all}"), &same, Some("x.h: the tree has that file already"));
    check(&format!("--- /dev/null\n+++ b/empty.h\n{all}"), &[("empty.h", "new\n"), same[1]], None);
    check(&format!("--- a/y.h\n+++ b/y.h\n{all}"), &[same[0], same[1], ("y.h", "new\n")], None);
    check(&format!("--- a/x.h\n+++ /dev/null\n{gone}"), &same[..1], None);
    let other = gone.replace("one", "other");
    let fails = Some("x.h: 1 of 1 hunks do not apply and are left out; the file stays");
    check(&format!("--- a/x.h\n+++ /dev/null\n{other}"), &same, fails);
    let part = "@@ -1 +0,0 @@\n-one\n";
    check(&format!("--- a/x.h\n+++ /dev/null\n{part}"), &[same[0], ("x.h", "two\n")], Some("so the file stays"));
    check(renamed, &same, Some("x.h: the tree has empty.h already"));
    let link =
        "diff --git a/l.h b/l.h\nnew file mode 120000\n--- /dev/null\n+++ b/l.h\n@@ -0,0 +1 @@\n+int f(void) { }\n";
    let said = Some("l.h: it is a symbolic link; it is left out");
    check(link, &same, said);
    let gone_link = link.replace("new file", "deleted file").replace("+++ b/l.h", "+++ /dev/null");
    check(
        &gone_link.replace("--- /dev/null", "--- a/l.h").replace("-0,0 +1", "-1 +0,0").replace("+int", "-int"),
        &same,
        said,
    );
    check(&renamed.replace("empty.h", "z.h"), &[same[0], ("z.h", "one\ntwo\n")], None);
}

#[test]
fn calls_between_files_before_and_after() {
    let other = ("kernel/other.c", "int twin(void)\n{\n\treturn 1;\n}\nint helper(void)\n{\n\treturn 2;\n}\n");
    let third = ("net/third.c", "int twin(void)\n{\n\treturn 1;\n}\nint more(void)\n{\n\treturn 3;\n}\n");
    let caller = |body: &str| format!("int own(void)\n{{\n\treturn 4;\n}}\nint f(struct x *x)\n{{\n{body}}}\n");
    let before = caller("\thelper();\n\ttwin();\n\town();\n\tx->more();\n\tabsent();\n");
    let after = caller("\thelper();\n\tmore();\n\town();\n");
    let trees = [&before, &after].map(|text| tree(&[("kernel/a.c", text), other, third]));
    let calls = |a: &[File], b: &[File]| {
        let found = compare(a, b).module_calls.into_iter();
        found.map(|c| (c.from, c.to, [c.kept, c.added, c.removed])).collect::<Vec<_>>()
    };
    // Two files define `twin`, `own` stays in the file, and nothing is known of `x->more`.
    let of = |to: &str, counts| ("kernel/a.c".to_owned(), to.to_owned(), counts);
    assert_eq!(calls(&trees[0], &trees[1]), [of("kernel/other.c", [1, 0, 0]), of("net/third.c", [0, 1, 0])]);
    assert_eq!(calls(&trees[1], &trees[0]), [of("kernel/other.c", [1, 0, 0]), of("net/third.c", [0, 0, 1])]);
    // With this many files, folders are shown.
    let many: Vec<(String, String)> =
        (0..70).map(|n| (format!("lib/m{n:02}.c"), format!("int m{n}(void)\n{{\n}}\n"))).collect();
    let all: String = (0..70).map(|n| format!("\tm{n}();\n")).collect();
    let with = |text: &str| {
        let mut files: Vec<(&str, &str)> = vec![("kernel/a.c", text)];
        files.extend(many.iter().map(|(path, text)| (path.as_str(), text.as_str())));
        tree(&files)
    };
    let folders = calls(&with(&caller("")), &with(&caller(&all)));
    assert_eq!(folders, [("kernel".to_owned(), "lib".to_owned(), [0, 70, 0])]);
}

#[test]
fn an_operation_that_code_puts_into_a_member_is_registered() {
    let before = "static int my_pick(int a)\n{\n\treturn a;\n}\nstatic void setup(struct ops *o)\n{\n\to->pick = my_pick;\n\to->n = before;\n}\n\
        int run(struct ops *o)\n{\n\treturn o->pick(1);\n}\n";
    let dossier = compare(&tree(&[("a.c", before)]), &tree(&[("a.c", &before.replace("return a", "return a + 1"))]));
    let pick = &dossier.key_functions[0];
    assert_eq!((pick.name.as_str(), pick.registered.join(" ")), ("my_pick", "setup().pick".to_owned()));
    assert_eq!(pick.dispatched_from.iter().map(|c| c.function.as_str()).collect::<Vec<_>>(), ["run"]);
}

#[test]
fn conditions_inside_a_function_that_lines_of_the_diff_stand_under() {
    let before = "void f(int a)\n{\n\tone(a);\n#ifdef CONFIG_SMP\n\ttwo(a);\n#else\n\tthree(a);\n#endif\n#ifdef CONFIG_NUMA\n\tfour(a);\n#endif\n\tfive(a);\n}\n";
    let of = |after: &str| {
        compare(&tree(&[("a.c", before)]), &tree(&[("a.c", after)])).functions[0].inner_conditions.clone()
    };
    assert_eq!(of(&before.replace("three(a)", "three(2)")), ["!CONFIG_SMP"]);
    assert_eq!(of(&before.replace("five(a)", "five(2)")), Vec::<String>::new());
    assert_eq!(of(&before.replace("#ifdef CONFIG_NUMA\n\tfour(a);\n#endif\n", "")), ["CONFIG_NUMA"]);
    // The lines stay the same, their condition does not.
    assert_eq!(of(&before.replace("ifdef CONFIG_NUMA", "if 1")), ["CONFIG_NUMA", "1"]);
}

const PUSH: &str = "void push(struct sock *sk, int flags, int goal)\n{\n\tsend(sk);\n}\nint here(struct sock *sk)\n{\n\tpush(sk, 0, 1);\n}\n\
    int lost(int a)\n{\n\treturn a + 1;\n}\nstatic int hidden(int a)\n{\n\treturn a;\n}\n";

/// A dossier of `net/ipv4/tcp.c` and `net/tcp.h`, with callers in the rest of the tree.
fn in_tree(before: &str, after: &str, rest: &[(&str, &str)]) -> Dossier {
    let file = |text: &str| tree(&[("net/ipv4/tcp.c", text)]);
    compare_in(&file(before), &file(after), &mut |wanted| {
        let found = wanted.each_ref().map(|wanted| -> Vec<File> {
            let with = rest.iter().filter(|(_, text)| wanted.is_in(text.as_bytes()));
            with.map(|(path, text)| File::outside((*path).to_owned(), text.as_bytes().to_vec())).collect()
        });
        assert!(found.iter().all(|files| files.iter().all(|file| file.path != "net/other.c")));
        found
    })
}

#[test]
fn callers_in_the_rest_of_the_tree_and_those_that_were_not_adapted() {
    let after = PUSH
        .replace(", int goal", "")
        .replace("push(sk, 0, 1)", "push(sk, 0)")
        .replace("int lost(int a)\n{\n\treturn a + 1;\n}\n", "");
    let rest = [
        (
            "net/mptcp/protocol.c",
            "void release(struct sock *sk)\n{\n\tpush(sk, (1, 2),\n\t     f(3, 4));\n\tpush (sk, 0);\n\tlost(1);\n}\n",
        ),
        // Another function of the same name: of the file, of its folder, called through a member, a macro.
        ("drivers/a.c", "static void push(int a, int b, int c)\n{\n}\nvoid own(void)\n{\n\tpush(1, 2, 3);\n}\n"),
        ("drivers/b/b.h", "static inline void push(int a, int b, int c)\n{\n}\n"),
        ("drivers/b/b.c", "void near(void)\n{\n\tpush(1, 2, 3);\n}\n"),
        ("net/member.c", "void member(struct ops *o)\n{\n\to->push(1, 2, 3);\n}\n"),
        ("net/macro.c", "#define push(a, b, c) other(a)\nvoid by_macro(void)\n{\n\tpush(1, 2, 3);\n}\n"),
        ("net/other.c", "void hidden_or(int push)\n{\n\thidden(push);\n\tpushed(1);\n}\n"),
    ];
    let dossier = in_tree(PUSH, &after, &rest);
    let found: Vec<_> =
        dossier.outside.iter().map(|o| (&*o.function, &*o.caller, &*o.place.file, o.place.line)).collect();
    let protocol = "net/mptcp/protocol.c";
    assert_eq!(found, [("lost", "release", protocol, 6), ("push", "release", protocol, 3)]);
    let left: Vec<_> = dossier
        .not_adapted
        .iter()
        .map(|n| (&*n.function, &*n.caller, n.place.line, n.passed, n.taken, n.is_outside))
        .collect();
    assert_eq!(left, [("lost", "release", 6, 1, None, true), ("push", "release", 3, 3, Some(2), true)]);
    let push = dossier.key_functions.iter().find(|f| f.name == "push").unwrap();
    let callers: Vec<_> = push.callers.iter().map(|c| (c.function.as_str(), c.is_outside)).collect();
    assert_eq!(callers, [("here", false), ("release", true)]);
    // A call within the paths is found too; nothing is reported if only the body differs.
    let forgotten = after.replace("push(sk, 0)", "push(sk, 0, 1)");
    let left = in_tree(PUSH, &forgotten, &[]).not_adapted;
    assert_eq!(left.iter().map(|n| (&*n.caller, n.is_outside)).collect::<Vec<_>>(), [("here", false)]);
    let body = in_tree(PUSH, &PUSH.replace("send(sk)", "send(0)"), &rest);
    assert!(body.outside.is_empty() && body.not_adapted.is_empty());
}

#[test]
fn a_system_call_is_no_function_of_its_bare_name() {
    let text = "int futex_wait(int a)\n{\n\treturn a;\n}\nint relay(int a)\n{\n\treturn futex_wait(a);\n}\n\
        SYSCALL_DEFINE2(futex_wait, int, a, int, b)\n{\n\treturn check(a);\n}\n\
        COMPAT_SYSCALL_DEFINE1(futex_wait, int, a)\n{\n\treturn check(a);\n}\n";
    let after = text.replace("return a;", "return a + 1;").replace("check(a)", "check(0)").replace("int, b", "long, b");
    let dossier = compare(&tree(&[("kernel/a.c", text)]), &tree(&[("kernel/a.c", &after)]));
    let names: Vec<&str> = dossier.functions.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["compat_sys_futex_wait", "futex_wait", "sys_futex_wait"]);
    let callers: Vec<_> = dossier.key_functions.iter().map(|f| (f.name.as_str(), f.callers.len())).collect();
    assert_eq!(callers, [("sys_futex_wait", 0), ("futex_wait", 1), ("compat_sys_futex_wait", 0)]);
    // Users know it without the prefix.
    assert_eq!(interfaces(&dossier), [(Kind::Syscall, "futex_wait", "changed")]);
}
