//! What the scanner finds in C that kernels have: functions, macros that define, tables, conditions.

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

/// The corpus of the fuzz target, each file cut at each place as well.
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
