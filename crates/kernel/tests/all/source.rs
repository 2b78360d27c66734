//! What the scanner finds in kernel C: functions, macros that define things, tables, conditions.

#[path = "../../../../fuzz/bodies/source.rs"]
mod body;

use schedlab_kernel::source::{Unit, scan};

fn functions(unit: &Unit) -> Vec<(&str, usize, usize)> {
    unit.functions.iter().map(|f| (f.name.as_str(), f.line, f.last_line)).collect()
}

#[test]
fn functions_in_all_their_spellings() {
    let unit = scan(
        b"/* int commented(void) { */\n\
          static __always_inline int\nplain(struct rq *rq, int (*cb)(void))\n\t__must_hold(&rq->lock)\n{\n\tchar c = '{'; const char *s = \"}\\\"{\";\n}\n\
          int (*returns_pointer(int a))(int)\n{\n\treturn 0;\n}\n\
          __printf(1, 2)\nvoid annotated(const char *f, ...)\n{\n}\n\
          SYSCALL_DEFINE2(nice_one, int, a, int, b)\n{\n\treturn do_it(a)->run(b);\n}\n\
          EXPORT_SYMBOL_GPL(annotated)\n\
          void after_macro_without_semicolon(void) { }\n\
          int prototype(int);\n",
    );
    assert_eq!(
        functions(&unit),
        [
            ("plain", 3, 7),
            ("returns_pointer", 8, 11),
            ("annotated", 13, 15),
            ("nice_one", 16, 19),
            ("after_macro_without_semicolon", 21, 21)
        ]
    );
    assert_eq!(unit.functions[3].by.as_deref(), Some("SYSCALL_DEFINE2"));
    assert_eq!(unit.functions[0].signature, "static __always_inline int plain(struct rq *rq, int(*cb)(void))");
    let calls: Vec<_> = unit.functions[3].calls.iter().map(|c| (c.name.as_str(), c.is_member)).collect();
    assert_eq!(calls, [("do_it", false), ("run", true)]);
    assert_eq!(
        (unit.invocations[0].name.as_str(), &unit.invocations[0].arguments[..]),
        ("EXPORT_SYMBOL_GPL", &["annotated".to_owned()][..])
    );
    assert!(unit.skipped.is_empty());
}

#[test]
fn branches_of_an_if_do_not_unbalance_the_braces() {
    let unit = scan(
        b"#ifndef GUARD_H\n#define GUARD_H\n#ifdef CONFIG_SMP\nstatic int a(int x)\n#else\nstatic int a(void)\n#endif\n{\n#ifdef A\n\tif (x) {\n#else\n\tif (y) {\n#endif\n\t}\n}\n\
          #if 0\nint dead(void) {\n#else\nint alive(void) { return 1; }\n#endif\n#if defined(B) && C > 1\nint under(void) { return b(); }\n#endif\n#endif\n",
    );
    assert_eq!(functions(&unit), [("a", 6, 15), ("alive", 19, 19), ("under", 22, 22)]);
    let conditions: Vec<&str> = unit.functions.iter().map(|f| f.condition.as_str()).collect();
    assert_eq!(conditions, ["!CONFIG_SMP", "", "defined(B) && C>1"]);
}

/// What it hides is not read, so it is named.
#[test]
fn a_comment_that_never_ends_is_named() {
    let skipped =
        |text: &str| scan(text.as_bytes()).skipped.iter().map(|s| (s.line, s.what.clone())).collect::<Vec<_>>();
    let what = "a comment that the file's end cuts off".to_owned();
    assert_eq!(skipped("int a;\n// one /* line\n/* two */ /* never ends\nint b(void)\n{\n}\n"), [(3, what.clone())]);
    assert_eq!(skipped("/*"), [(1, what)]);
    for whole in ["int a;\n/* ends */\n", "int a; // /* no", "", "/**/", "int a = 1 / 2;\n"] {
        assert_eq!(skipped(whole), [], "{whole}");
    }
}

#[test]
fn a_body_that_never_closes_costs_itself_only() {
    let unit = scan(b"int broken(void)\n{\n\tif (x) {\n}\nint next(void)\n{\n}\n}\nint cut(void)\n{\n");
    assert_eq!(functions(&unit), [("broken", 1, 4), ("next", 5, 7), ("cut", 9, 10)]);
    let skipped: Vec<usize> = unit.skipped.iter().map(|s| s.line).collect();
    assert_eq!(skipped, [2, 8, 10], "each named");
}

#[test]
fn members_tables_and_variables() {
    let unit = scan(
        b"struct sched_entity {\n\tu64 vruntime, *next;\n\tunsigned int on_rq : 1;\n\tunion {\n\t\tint one;\n\t\tlong two[4];\n\t};\n#ifdef CONFIG_X\n\tvoid (*call)(int) __rcu;\n#endif\n\
          \tDECLARE_BITMAP(mask, 8);\n} ____cacheline_aligned;\n\
          enum { FIRST = 3, SECOND };\n\
          static struct ctl_table knobs[] = {\n\t{\n\t\t.procname = \"knob\", .mode = 0644,\n\t},\n\t{ .procname = \"other\" },\n\t{}\n};\n\
          const struct sched_class DEFINE = { .enqueue_task = enqueue_task_fair, };\nDEFINE_SCHED_CLASS(rt) = { .pick = &pick_rt, };\n\
          unsigned int sysctl_knob = 750000UL;\n\
          static const struct snmp_mib list[] = {\n\tSNMP_MIB_ITEM(\"TCPCork\", LINUX_MIB_CORK),\n};\n",
    );
    let members: Vec<_> =
        unit.types[0].members.iter().map(|m| (m.name.as_str(), m.line, m.condition.as_str())).collect();
    assert_eq!(
        members,
        [
            ("vruntime", 2, ""),
            ("next", 2, ""),
            ("on_rq", 3, ""),
            ("one", 5, ""),
            ("two", 6, ""),
            ("call", 9, "CONFIG_X"),
            ("mask", 11, "")
        ]
    );
    let constants: Vec<_> = unit.types[1].members.iter().map(|m| (m.name.as_str(), m.text.as_str())).collect();
    assert_eq!(constants, [("FIRST", "3"), ("SECOND", "")]);
    let entries: Vec<_> =
        unit.tables[0].entries.iter().map(|e| (e.element, e.member.as_str(), e.value.as_str(), e.line)).collect();
    assert_eq!(entries, [(0, "procname", "\"knob\"", 16), (0, "mode", "0644", 16), (1, "procname", "\"other\"", 18)]);
    assert_eq!(
        (unit.tables[1].of.as_str(), unit.tables[1].entries[0].value.as_str()),
        ("sched_class", "enqueue_task_fair")
    );
    assert_eq!(
        (unit.tables[2].name.as_str(), unit.tables[2].entries[0].value.as_str()),
        ("DEFINE_SCHED_CLASS(rt)", "&pick_rt")
    );
    assert_eq!((unit.variables[0].name.as_str(), unit.variables[0].value.as_str()), ("sysctl_knob", "750000UL"));
    assert_eq!(unit.invocations[0].arguments, ["\"TCPCork\"", "LINUX_MIB_CORK"]);
}

#[test]
fn a_list_whose_elements_stand_at_the_margin() {
    let unit = scan(b"extern \"C\" {\nstatic struct desc list[] = {\n{\n\t.name = \"a\",\n},\n{\n\t.name = \"b\",\n},\n};\n}\nint f(void) {\n}\n");
    assert_eq!(unit.tables[0].entries.len(), 2);
    assert_eq!(functions(&unit), [("f", 11, 12)]);
    assert!(unit.skipped.is_empty());
}

/// As in the sysctl table of kernel/sched/core.c of 6.1 and in members of include/linux/sched.h.
#[test]
fn entries_and_members_carry_the_conditions_around_them() {
    let unit = scan(
        b"#ifdef CONFIG_SYSCTL\nstatic struct ctl_table knobs[] = {\n#ifdef CONFIG_SCHEDSTATS\n\t{\n\t\t.procname = \"stats\",\n\t},\n#endif\n\
          #ifdef CONFIG_NUMA_BALANCING\n\t{\n\t\t.procname = \"numa\",\n#ifdef PROC\n\t\t.proc_handler = numa,\n#endif\n\t},\n#else\n\t{ .procname = \"none\" },\n#endif\n\t{}\n};\n#endif\n\
          static const struct snmp_mib list[] = {\n#ifdef CONFIG_MPTCP\n\tSNMP_MIB_ITEM(\"Mp\", MIB_MP),\n#endif\n\tSNMP_MIB_ITEM(\"All\", MIB_ALL),\n};\n\
          const struct sched_class c = {\n\t.pick = pick,\n#ifdef CONFIG_SMP\n\t.balance = balance,\n#endif\n#if 0\n\t.dead = dead,\n#endif\n};\n\
          struct s {\n\tunion {\n#ifdef CONFIG_A\n\t\tint a;\n#else\n\t\tlong b;\n#endif\n\t\tstruct {\n#if C > 1\n\t\t\tint c;\n#endif\n\t\t\tint d;\n\t\t};\n\t};\n#if 0\n\tint dead;\n#endif\n\tint e;\n};\n\
          enum e {\n#ifdef CONFIG_F\n\tF,\n#endif\n\tG,\n};\n\
          void init(void)\n{\n#ifdef CONFIG_H\n\tdebugfs_create_u32(\"h\", 0644, dir, &h);\n#endif\n}\n",
    );
    let entries = unit.tables.iter().flat_map(|t| &t.entries);
    let found: Vec<_> = entries.map(|e| (e.member.as_str(), e.value.as_str(), e.condition.as_str())).collect();
    assert_eq!(
        found,
        [
            ("procname", "\"stats\"", "CONFIG_SYSCTL && CONFIG_SCHEDSTATS"),
            ("procname", "\"numa\"", "CONFIG_SYSCTL && CONFIG_NUMA_BALANCING"),
            ("proc_handler", "numa", "CONFIG_SYSCTL && CONFIG_NUMA_BALANCING && PROC"),
            ("procname", "\"none\"", "CONFIG_SYSCTL && !CONFIG_NUMA_BALANCING"),
            ("pick", "pick", ""),
            ("balance", "balance", "CONFIG_SMP"),
        ]
    );
    let members = unit.types.iter().flat_map(|t| &t.members);
    let found: Vec<_> = members.map(|m| (m.name.as_str(), m.condition.as_str())).collect();
    let wanted =
        [("a", "CONFIG_A"), ("b", "!CONFIG_A"), ("c", "C>1"), ("d", ""), ("e", ""), ("F", "CONFIG_F"), ("G", "")];
    assert_eq!(found, wanted);
    let found: Vec<_> = unit.invocations.iter().map(|i| (i.arguments[0].as_str(), i.condition.as_str())).collect();
    assert_eq!(found, [("\"Mp\"", "CONFIG_MPTCP"), ("\"All\"", ""), ("\"h\"", "CONFIG_H")]);
}

#[test]
fn the_guard_of_a_header_that_is_read_twice_is_no_condition() {
    let text = "#undef TRACE_SYSTEM\n#define TRACE_SYSTEM sched\n\n#if !defined(_TRACE_SCHED_H) || defined(TRACE_HEADER_MULTI_READ)\n#define _TRACE_SCHED_H\n\
        TRACE_EVENT(sched_stop,\n\tTP_PROTO(int a));\n#ifdef CONFIG_X\nTRACE_EVENT(sched_go,\n\tTP_PROTO(int a));\n#endif\n#endif\n#if !defined(CONFIG_Y) || defined(CONFIG_Z)\nTRACE_EVENT(sched_y,\n\tTP_PROTO(int a));\n#endif\n";
    let unit = scan(text.as_bytes());
    let found: Vec<_> = unit.invocations.iter().map(|i| (i.arguments[0].as_str(), i.condition.as_str())).collect();
    let wanted = [("sched_stop", ""), ("sched_go", "CONFIG_X"), ("sched_y", "!defined(CONFIG_Y) || defined(CONFIG_Z)")];
    assert_eq!(found, wanted);
}

#[test]
fn an_or_among_conditions_is_in_parentheses() {
    let unit = scan(b"#if A || B\nint a = 1;\n#ifdef C\nint b = 1;\n#if (D) || (E)\nint c = 1;\n#elif F || G\nint d = 1;\n#endif\n#endif\n#endif\n#if H\n#elif I || J\nint e = 1;\n#else\nint f = 1;\n#endif\n");
    let found: Vec<&str> = unit.variables.iter().map(|v| v.condition.as_str()).collect();
    let wanted = [
        "A || B",
        "(A || B) && C",
        "(A || B) && C && ((D) || (E))",
        "(A || B) && C && !((D) || (E)) && (F || G)",
        "!H && (I || J)",
        "!H && !(I || J)",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn types_in_one_another_are_read_to_a_depth_and_the_rest_is_named() {
    let nested = |depth: usize| {
        let text = format!(
            "struct s {{\n{}int deep;\n{}\tint last;\n}};\n",
            "union {\n".repeat(depth),
            "\t};\n".repeat(depth)
        );
        let unit = scan(text.as_bytes());
        let names: Vec<String> = unit.types[0].members.iter().map(|m| m.name.clone()).collect();
        (names.join(" "), unit.skipped.iter().map(|s| (s.line, s.what.clone())).collect::<Vec<_>>())
    };
    assert_eq!(nested(64), ("deep last".to_owned(), vec![]));
    let what = "types in one another, more than 64 deep".to_owned();
    assert_eq!(nested(8000), ("last".to_owned(), vec![(66, what)]));
}

/// The corpus of the fuzz target, each file also cut at each position.
#[test]
fn any_bytes_are_scanned() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/source");
    let mut files = 0;
    for entry in std::fs::read_dir(corpus).expect("corpus") {
        let bytes = std::fs::read(entry.expect("entry").path()).expect("file");
        (0..=bytes.len()).for_each(|end| body::check(&bytes[..end]));
        files += 1;
    }
    assert!(files >= 5);
}

#[test]
fn a_second_head_in_an_else_is_named() {
    let unit = scan(
        b"#ifdef A\nint f(int a)\n{\n#else\nint g(int a)\n{\n#endif\n\treturn a;\n}\nint h(void)\n{\n\treturn 1;\n}\n",
    );
    let names: Vec<&str> = unit.functions.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["f", "h"]);
    let skipped: Vec<_> = unit.skipped.iter().map(|s| (s.line, s.what.as_str())).collect();
    assert_eq!(skipped, [(4, "an #else in a body that began in its #if")]);
}

#[test]
fn an_array_whose_inner_braces_stand_at_the_margin() {
    let text = "static struct alg algs[] = { {\n\t.encrypt = one,\n#ifdef CONFIG_X\n}, {\n\t.encrypt = two,\n#endif\n} };\nint f(void)\n{\n\treturn 1;\n}\n";
    let unit = scan(text.as_bytes());
    let entries: Vec<_> = unit.tables[0].entries.iter().map(|e| (e.element, e.value.as_str())).collect();
    assert_eq!(entries, [(0, "one"), (1, "two")]);
    assert!(unit.skipped.is_empty() && unit.functions[0].name == "f", "{unit:?}");
}

#[test]
fn a_macro_alone_on_its_line_does_not_take_the_next_declaration() {
    let unit = scan(
        b"LIST_OF_xxx\n#undef LIST\n\nBPF_CALL_1(bpf_one, int, a)\n{\n\treturn a;\n}\n\n\
          SHOW_TYPE\n\nSHOW_FIELD\n\nDEFINE_EVENT(class, name,\n\tTP_ARGS(a)\n)\n\n\
          int\nold_style(void)\n{\n}\n",
    );
    assert_eq!(functions(&unit), [("bpf_one", 4, 7), ("old_style", 18, 20)]);
    assert_eq!(unit.functions[0].by.as_deref(), Some("BPF_CALL_1"));
    assert_eq!(unit.functions[1].signature, "int old_style(void)");
    let event: Vec<_> = unit.invocations.iter().map(|i| (i.name.as_str(), i.arguments[0].as_str())).collect();
    assert_eq!(event, [("DEFINE_EVENT", "class")]);
}

#[test]
fn an_object_that_a_macro_defines_is_no_variable_of_the_macros_name() {
    let unit = scan(b"static DEFINE_PER_CPU(seqcount_t, psi_seq) = SEQCNT_ZERO(psi_seq);\nint plain = 3;\n");
    let variables: Vec<_> = unit.variables.iter().map(|v| (v.name.as_str(), v.value.as_str())).collect();
    assert_eq!(variables, [("plain", "3")]);
    let of: Vec<_> = unit.invocations.iter().map(|i| (i.name.as_str(), &i.arguments[..])).collect();
    assert_eq!(of[0].0, "DEFINE_PER_CPU");
    assert_eq!(of[0].1, ["seqcount_t".to_owned(), "psi_seq".to_owned()]);
}
