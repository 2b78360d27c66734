//! Interfaces for user space, administrators, modules and tracers that differ between two small trees.

use super::dossier::{interfaces, tree};
use schedlab_kernel::dossier::{Interface, Kind, compare};

#[test]
fn interfaces_of_each_kind() {
    let before = "static struct ctl_table t[] = {\n{ .procname = \"old_name\", .mode = 0644, .data = &v, },\n{ .procname = \"knob\", .mode = 0644, },\n{ .procname = \"gone\", .mode = 0600 },\n};\n\
        static const struct snmp_mib l[] = { SNMP_MIB_ITEM(\"Cork\", MIB_CORK), };\n\
        SCHED_FEAT(NEXT, true)\n#ifdef X\nSCHED_FEAT(TWICE, false)\n#else\nSCHED_FEAT(TWICE, true)\n#endif\n\
        struct s { int a; int b; };\nstruct dead { int x; };\nunsigned int sysctl_slice = 700;\n\
        int f(int a)\n{\n\treturn 1;\n}\nEXPORT_SYMBOL(f);\nvoid init(void)\n{\n\tdebugfs_create_u32(\"latency\", 0644, dir, &x);\n}\n";
    let after = before
        .replace("old_name", "new_name")
        .replace("\"knob\", .mode = 0644", "\"knob\", .mode = 0444")
        .replace("{ .procname = \"gone\", .mode = 0600 },", "")
        .replace("SNMP_MIB_ITEM(\"Cork\", MIB_CORK),", "")
        .replace("SCHED_FEAT(TWICE, true)", "SCHED_FEAT(TWICE, 0)")
        .replace("int b; };", "long b; int c; };")
        .replace("struct dead { int x; };", "")
        .replace("700", "900")
        .replace("int f(int a)", "int f(long a)")
        .replace("EXPORT_SYMBOL(f)", "EXPORT_SYMBOL_GPL(f)")
        .replace("0644, dir", "0444, dir");
    let dossier = compare(&tree(&[("kernel/a.c", before)]), &tree(&[("kernel/b.c", &after)]));
    assert_eq!(
        interfaces(&dossier),
        [
            (Kind::Sysctl, "gone", "removed"),
            (Kind::Sysctl, "knob", "changed"),
            (Kind::Sysctl, "new_name", "renamed"),
            (Kind::SysctlDefault, "sysctl_slice", "changed"),
            (Kind::Debugfs, "latency", "changed"),
            (Kind::SchedFeature, "TWICE", "changed"),
            (Kind::MibItem, "Cork", "removed"),
            (Kind::Export, "f", "changed"),
            (Kind::Type, "struct dead", "removed"),
            (Kind::Member, "struct s.b", "changed"),
            (Kind::Member, "struct s.c", "added"),
            (Kind::Signature, "f", "changed"),
        ]
    );
    let twice = &dossier.interfaces[5];
    let places = [&twice.before, &twice.after].map(|i| i.as_ref().map(|i| (i.place.line, i.condition.as_str())));
    assert_eq!(places, [Some((11, "!X")), Some((11, "!X"))], "the branch that is the same is left out");
}

#[test]
fn defaults_and_ranges_that_a_variable_holds() {
    let before = "static int least = 1;\nstatic int budget = 300;\nstatic bool poll = true;\nmodule_param(poll, bool, 0644);\n\
        static int depth = 4;\nmodule_param_named(queue_depth, depth, int, 0444);\n\
        static struct ctl_table t[] = {\n{ .procname = \"netdev_budget\", .data = &budget, .extra1 = &least },\n};\n\
        static int tcp_sk_init(struct net *net)\n{\n\tnet->ipv4.sysctl_tcp_autocorking = 1;\n\tif (net->ipv4.sysctl_x == 2)\n\t\treturn 1;\n}\n\
        static void set(struct net *net)\n{\n\tnet->ipv4.sysctl_other = 1;\n}\n";
    let after = before
        .replace("least = 1", "least = 2")
        .replace("poll = true", "poll = false")
        .replace("depth = 4", "depth = 8")
        .replace("autocorking = 1", "autocorking = 0")
        .replace("other = 1", "other = 0");
    let dossier = compare(&tree(&[("net/a.c", before)]), &tree(&[("net/a.c", &after)]));
    let detail = |i: &Option<Interface>| i.as_ref().map(|i| i.detail.clone()).unwrap_or_default();
    let found = dossier.interfaces.iter().map(|c| (c.kind, c.name.as_str(), detail(&c.before), detail(&c.after)));
    let expected = [
        (
            Kind::Sysctl,
            "netdev_budget",
            "data=&budget (300), extra1=&least (1)",
            "data=&budget (300), extra1=&least (2)",
        ),
        (Kind::SysctlDefault, "sysctl_tcp_autocorking", "1", "0"),
        (Kind::ModuleParameter, "poll", "module_param(bool, 0644) (true)", "module_param(bool, 0644) (false)"),
        (
            Kind::ModuleParameter,
            "queue_depth",
            "module_param_named(depth, int, 0444) (4)",
            "module_param_named(depth, int, 0444) (8)",
        ),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected.map(|(kind, name, a, b)| (kind, name, a.to_owned(), b.to_owned())));
}

#[test]
fn files_of_sys_by_every_macro() {
    let text = "static DEVICE_ATTR_RO(a);\nKERNEL_ATTR_RW(b);\nstatic struct kobj_attribute x = __ATTR(c, 0644, show, store);\n\
        static struct kobj_attribute y =\n\t__ATTR_RO(d);\ncpufreq_freq_attr_ro(e);\nBUS_ATTR_WO(f);\n\
        DEFINE_SIMPLE_ATTRIBUTE(not_one, get, set, \"%llu\");\n";
    let dossier = compare(&tree(&[]), &tree(&[("a.c", text)]));
    let found: Vec<_> = interfaces(&dossier).into_iter().filter(|(kind, ..)| *kind == Kind::Sysfs).collect();
    assert_eq!(found, ["a", "b", "c", "d", "e", "f"].map(|name| (Kind::Sysfs, name, "added")));
}

#[test]
fn renamed_where_everything_else_stays() {
    let before = "struct queue { int len; u64 runtime; u64 deadline; };\nstruct old { int a; int b; int c; };\n\
        struct pair { int a; int b; };\nstruct other { u64 x; long y; };\n\
        static const struct snmp_mib l[] = { SNMP_MIB_ITEM(\"Cork\", MIB_CORK), };\nSCHED_FEAT(ONE, true)\n";
    let after = before
        .replace("u64 runtime", "u64 vruntime")
        .replace("struct old", "struct new")
        .replace("struct pair", "struct couple")
        // Another type, and another neighbour.
        .replace("u64 x; long y;", "u32 z; long y;")
        .replace("\"Cork\"", "\"AutoCork\"")
        .replace("SCHED_FEAT(ONE", "SCHED_FEAT(TWO");
    let dossier = compare(&tree(&[("a.h", before)]), &tree(&[("a.h", &after)]));
    assert_eq!(
        interfaces(&dossier),
        [
            (Kind::SchedFeature, "ONE", "removed"),
            (Kind::SchedFeature, "TWO", "added"),
            (Kind::MibItem, "AutoCork", "renamed"),
            (Kind::Type, "struct couple", "added"),
            (Kind::Type, "struct new", "renamed"),
            (Kind::Type, "struct pair", "removed"),
            (Kind::Member, "struct other.x", "removed"),
            (Kind::Member, "struct other.z", "added"),
            (Kind::Member, "struct queue.vruntime", "renamed"),
        ]
    );
}

#[test]
fn a_kconfig_option_with_its_default() {
    let text =
        "menu \"M\"\nconfig OLD\n\tbool \"Old\"\n\tdefault y\n\thelp\n\t  default is not here\n\nconfig KEPT\n\tbool\n";
    let after = text.replace("default y", "default n").replace("is not here", "is told");
    let dossier = compare(&tree(&[("init/Kconfig", text)]), &tree(&[("init/Kconfig", &after)]));
    assert_eq!(interfaces(&dossier), [(Kind::Kconfig, "OLD", "changed")]);
    assert_eq!(dossier.interfaces[0].after.as_ref().map(|i| i.detail.as_str()), Some("bool \"Old\"; default n"));
}

#[test]
fn objects_that_a_macro_makes_are_told_apart() {
    let text =
        "DEFINE_SCHED_CLASS(fair) = {\n\t.pick = pick_fair,\n};\nDEFINE_SCHED_CLASS(rt) = {\n\t.pick = pick_rt,\n};\n";
    let after = text.replace("pick_rt", "choose_rt");
    let dossier = compare(&tree(&[("kernel/a.c", text)]), &tree(&[("kernel/a.c", &after)]));
    assert_eq!(interfaces(&dossier), [(Kind::Operation, "DEFINE_SCHED_CLASS(rt).pick", "changed")]);
}

#[test]
fn tracepoints_of_each_macro_and_none_of_what_is_said_of_one() {
    let after = "TRACE_EVENT(sched_kthread_stop,\n\tTP_PROTO(int a));\nDEFINE_EVENT(sched_wakeup_template, sched_waking,\n\tTP_PROTO(int a));\n\
        DEFINE_EVENT_CONDITION(sched_move_template, sched_move,\n\tTP_PROTO(int a));\nTRACE_EVENT_FLAGS(sys_enter, TRACE_EVENT_FL_CAP_ANY)\n";
    let dossier = compare(&tree(&[]), &tree(&[("include/trace/events/sched.h", after)]));
    let names: Vec<&str> = dossier.interfaces.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["sched_kthread_stop", "sched_move", "sched_waking"]);
}

/// As in the headers of xfs and sunrpc.
#[test]
fn tracepoints_that_a_macro_of_the_header_defines() {
    let header = "DECLARE_EVENT_CLASS(sq_event, TP_STRUCT__entry(__field(int, a)));\n\
        #define DEFINE_SQ_EVENT(name) \\\n\tDEFINE_EVENT(sq_event, sq_##name##_ed, \\\n\t\tTP_PROTO(int name), TP_ARGS(a))\n\
        #define BOTH(name) DEFINE_SQ_EVENT(name); \\\n\tTRACE_EVENT(name, TP_PROTO(int a))\n\
        DEFINE_SQ_EVENT(post);\nBOTH( full )\n";
    let before = [("include/trace/events/sq.h", header)];
    let after = header.replace("DEFINE_SQ_EVENT(post);\n", "").replace("__field(int, a)", "__field(long, a)");
    let dossier = compare(&tree(&before), &tree(&[("include/trace/events/sq.h", &after)]));
    let of_events = dossier.interfaces.iter().filter(|c| c.kind == Kind::Tracepoint);
    let found: Vec<_> = of_events.map(|c| (c.name.as_str(), c.change)).collect();
    assert_eq!(found, [("sq_full_ed", "changed"), ("sq_post_ed", "removed")]);
    let before = compare(&tree(&[]), &tree(&before));
    let of_events = before.interfaces.iter().filter(|c| c.kind == Kind::Tracepoint);
    assert_eq!(of_events.map(|c| c.name.as_str()).collect::<Vec<_>>(), ["full", "sq_full_ed", "sq_post_ed"]);
}

/// As 6.10 changed all of them: for user space the event is as before.
#[test]
fn an_event_whose_string_is_copied_in_other_words_is_the_same() {
    let class = "DECLARE_EVENT_CLASS(c, TP_STRUCT__entry(__string(comm, p->comm)),\n\tTP_fast_assign(__assign_str(comm, f(p, 1)); __entry->a = 1;));\nDEFINE_EVENT(c, one, TP_PROTO(int a));\n";
    let before = class.to_owned() + "TRACE_EVENT(two, TP_fast_assign(__assign_rel_str(s, a); __assign_str(t, b);));\n";
    let of = |after: &str| {
        let dossier = compare(&tree(&[("a.h", &before)]), &tree(&[("a.h", after)]));
        let events = dossier.interfaces.iter().filter(|c| c.kind == Kind::Tracepoint).map(|c| c.name.clone());
        events.collect::<Vec<_>>().join(" ")
    };
    let after = before.replace("comm, f(p, 1))", "comm)").replace("(s, a)", "(s)").replace("(t, b)", "(t)");
    assert_eq!(of(&after), "");
    assert_eq!(of(&after.replace("__string(comm", "__string(name").replace("str(comm", "str(name")), "one");
    assert_eq!(of(&after.replace("entry->a = 1", "entry->a = 2")), "one");
}

/// Three macros that each use the next one a thousand times would be a thousand million events.
#[test]
fn macros_of_macros_that_multiply_end() {
    let many = |name: &str| format!("{name}(x); ").repeat(1000);
    let header = format!(
        "#define C_EVENT(x) TRACE_EVENT(x, TP_PROTO(int a))\n#define B_EVENT(x) {}\n#define A_EVENT(x) {}\n\
         #define TOP_EVENT(x) {}\nTOP_EVENT(one);\n",
        many("C_EVENT"),
        many("B_EVENT"),
        many("A_EVENT")
    );
    let dossier = compare(&tree(&[]), &tree(&[("include/trace/events/m.h", &header)]));
    assert!(dossier.interfaces.iter().filter(|c| c.kind == Kind::Tracepoint).count() <= 1000);
}

/// As kernel/sched/debug.c creates the files of a domain.
#[test]
fn a_macro_of_the_file_that_makes_debugfs_files_names_them() {
    let text = "static void add(struct dentry *parent)\n{\n#define SDM(type, mode, member)\t\\\n\tdebugfs_create_##type(#member, mode, parent, &sd->member)\n\n\tSDM(ulong, 0644, min_interval);\n\tSDM(str, 0444, name);\n#undef SDM\n\tdebugfs_create_file(\"flags\", 0444, parent, NULL, NULL);\n}\n";
    let file = &tree(&[("kernel/sched/debug.c", text)])[0];
    let names: Vec<&str> =
        file.interfaces.iter().filter(|one| one.kind == Kind::Debugfs).map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["min_interval", "name", "flags"]);
}

/// As kernel/sched/core.c of 6.1 has it.
#[test]
fn a_sysctl_carries_the_condition_of_its_element() {
    let text = "#ifdef CONFIG_SYSCTL\nstatic struct ctl_table t[] = {\n#ifdef CONFIG_NUMA_BALANCING\n\t{ .procname = \"numa_balancing\", .mode = 0644, },\n#endif\n\t{}\n};\n#endif\n";
    let found: Vec<String> =
        tree(&[("kernel/sched/core.c", text)])[0].interfaces.iter().map(|i| i.condition.clone()).collect();
    assert_eq!(found, ["CONFIG_SYSCTL && CONFIG_NUMA_BALANCING"]);
}

#[test]
fn definitions_of_one_name_are_paired_within_their_files() {
    let table = |open: &str| format!("static struct ops fops = {{\n\t.open = {open},\n}};\n");
    let options = |first: &str| format!("enum {{ {first}, Opt_last }};\n");
    let (a, b, other) = (table("a_open"), table("b_open"), table("b_open2"));
    let (mine, theirs) = (options("Opt_mine"), options("Opt_theirs"));
    let dossier = compare(
        &tree(&[("k/a.c", &a), ("k/b.c", &b), ("k/c.c", &mine)]),
        &tree(&[("k/b.c", &other), ("k/d.c", &theirs)]),
    );
    let place = |i: &Option<Interface>| i.as_ref().map(|i| i.place.file.clone()).unwrap_or_default();
    let found: Vec<_> =
        dossier.interfaces.iter().map(|c| (c.name.as_str(), c.change, place(&c.before), place(&c.after))).collect();
    let expected = [
        ("enum.Opt_mine", "removed", "k/c.c", ""),
        ("enum.Opt_theirs", "added", "", "k/d.c"),
        ("ops fops.open", "changed", "k/b.c", "k/b.c"),
        ("ops fops.open", "removed", "k/a.c", ""),
    ];
    assert_eq!(found, expected.map(|(name, change, a, b)| (name, change, a.to_owned(), b.to_owned())));
}

#[test]
fn members_that_are_not_renamed() {
    let before = "struct holder { int a; struct page *page; int b; };\nstruct flags { int a; int post_read : 1; int b; };\n\
        struct many { int one, *two, three; };\n";
    let after = "struct holder { int a; struct folio *folio; int b; };\nstruct flags { int a; int meta_gc : 1; int b; };\n\
        struct many { int one, *two, three, four; };\n";
    let dossier = compare(&tree(&[("a.h", before)]), &tree(&[("a.h", after)]));
    let expected = [
        ("struct flags.meta_gc", "added"),
        ("struct flags.post_read", "removed"),
        ("struct holder.folio", "added"),
        ("struct holder.page", "removed"),
        ("struct many.four", "added"),
    ];
    assert_eq!(interfaces(&dossier).into_iter().map(|(_, name, change)| (name, change)).collect::<Vec<_>>(), expected);
    assert_eq!(dossier.interfaces[4].after.as_ref().unwrap().detail, "int four");
}

#[test]
fn parameters_and_defaults_that_look_otherwise() {
    let before = "__setup_param(\"old\", old_id, f, 0);\ncore_param_cb(cb, &ops, &v, 0644);\nunsigned long sysctl_arr[3] = { 1, 2, 3 };\n\
        struct data hot = {\n\t.sysctl_max = 64,\n};\nstatic int init_net(struct ctl *c)\n{\n\tc->sysctl_hdr = register(c);\n\treturn 0;\n}\n\
        #define SLAB_ATTR(_name) static struct attribute _name##_attr = __ATTR_RW(_name)\nSLAB_ATTR(order);\nLSM_ATTR(one, NULL);\n\
        #define OFF_ATTR(_struct, _name, _mode) static struct f f_##_name = { .attr = __ATTR(_name, _mode, s, s) }\n\
        #define RW_ATTR(kind, name) OFF_ATTR(kind, name, mode)\nRW_ATTR(GC, gc);\n\
        #define SCX_ATTR(_name) static struct kobj_attribute a_##_name = { .attr = { .name = __stringify(_name) } }\nSCX_ATTR(state);\n";
    let after =
        before.replace("\"old\"", "\"new\"").replace("0644", "0600").replace("2, 3", "2, 4").replace("64,", "128,");
    let dossier = compare(&tree(&[("a.c", before)]), &tree(&[("a.c", &after)]));
    let expected = [
        (Kind::SysctlDefault, "sysctl_arr", "changed"),
        (Kind::SysctlDefault, "sysctl_max", "changed"),
        (Kind::BootParameter, "cb", "changed"),
        (Kind::BootParameter, "new", "renamed"),
    ];
    assert_eq!(interfaces(&dossier), expected);
    let all = compare(&tree(&[]), &tree(&[("a.c", before), ("Kconfig", "config A\n\tbool \"a # b\" # why\n")]));
    let of =
        |kind| -> Vec<&str> { all.interfaces.iter().filter(|c| c.kind == kind).map(|c| c.name.as_str()).collect() };
    let files = vec!["gc", "order", "state"];
    assert_eq!((of(Kind::Sysfs), of(Kind::SysctlDefault)), (files, vec!["sysctl_arr", "sysctl_max"]));
    let option = all.interfaces.iter().find(|c| c.kind == Kind::Kconfig).and_then(|c| c.after.as_ref());
    assert_eq!(option.unwrap().detail, "bool \"a # b\"");
}

#[test]
fn the_order_of_what_user_space_sees() {
    let before = "struct abi { int a; int b; };\nenum kinds { N_A, N_B };\n";
    let after = "struct abi { int b; int a; };\nenum kinds { N_A, N_NEW, N_B };\n";
    let of = |path: &str| {
        let dossier = compare(&tree(&[(path, before)]), &tree(&[(path, after)]));
        interfaces(&dossier).into_iter().map(|(_, name, change)| format!("{name} {change}")).collect::<Vec<_>>()
    };
    assert_eq!(of("include/uapi/a.h"), ["enum kinds changed", "struct abi changed", "enum kinds.N_NEW added"]);
    assert_eq!(of("include/a.h"), ["enum kinds.N_NEW added"]);
}

#[test]
fn numbers_of_system_calls_and_helpers_of_bpf() {
    let table =
        "# comment\n0\tcommon\tread\t\tsys_read\n17 64 pread64 sys_pread64 # why\n\n512 x32 rt compat_sys_rt\nx y z\n";
    let after = table.replace("17 64", "18 64").replace("512 x32 rt", "513\tcommon\tnew\tsys_new\n512 x32 rt");
    let path = "arch/x86/entry/syscalls/syscall_64.tbl";
    let helper = "BPF_CALL_2(bpf_look, struct bpf_map *, map, void *, key)\n{\n\treturn 0;\n}\n";
    let files = |table: &str, helper: &str| tree(&[(path, table), ("kernel/bpf/a.c", helper)]);
    let dossier = compare(&files(table, helper), &files(&after, &helper.replace("void *, key", "u64, key")));
    let expected = [
        (Kind::SyscallNumber, "new (common)", "added"),
        (Kind::SyscallNumber, "pread64 (64)", "changed"),
        (Kind::BpfHelper, "bpf_look", "changed"),
    ];
    assert_eq!(interfaces(&dossier), expected);
    assert_eq!(dossier.interfaces[1].after.as_ref().map(|i| i.detail.as_str()), Some("18 sys_pread64"));
}

#[test]
fn what_surrounds_a_kconfig_option() {
    let before = "menu \"Net\"\n\tdepends on NET || \\\n\t\tPM\nif INET\nchoice\n\tprompt \"Which\"\n\tdepends on A\n\n  config ONE\n\tbool \"One\"\n\thelp\n\t  config NOT\n\n\t  if none\n\
        config TWO\n\tbool \"Two\"\n\tdepends on B\nendchoice\nendif\nconfig OUT\n\tbool\nendmenu\nconfig FREE\n\tbool\n";
    let of = |text: &str| -> Vec<(String, String)> {
        let all = tree(&[("net/Kconfig", text)]);
        all[0].interfaces.iter().map(|i| (i.name.clone(), i.condition.clone())).collect()
    };
    let under = "(NET || PM) && INET && A";
    let expected = [("ONE", under), ("TWO", under), ("OUT", "(NET || PM)"), ("FREE", "")];
    assert_eq!(of(before), expected.map(|(name, held)| (name.to_owned(), held.to_owned())));
    let after = before.replace("if INET", "if IPV6");
    let dossier = compare(&tree(&[("net/Kconfig", before)]), &tree(&[("net/Kconfig", &after)]));
    assert_eq!(interfaces(&dossier), [(Kind::Kconfig, "ONE", "changed"), (Kind::Kconfig, "TWO", "changed")]);
}

#[test]
fn the_folder_of_a_sysctl_and_macros_with_another_value() {
    let table = |name: &str, knob: &str| {
        format!("static struct ctl_table {name}[] = {{ {{ .procname = \"{knob}\", .mode = 0644 }} }};\n")
    };
    let init = |table: &str, folder: &str| {
        format!("static int init(void)\n{{\n\tregister_sysctl_init(\"{folder}\", {table});\n\treturn 0;\n}}\n")
    };
    let limit = "#ifndef A_H\n#define A_H\n#define LIMIT 10\n#define GONE 1\n#endif\n";
    let file = |folder: &str, limit: &str| format!("{limit}{}{}", table("a", "depth"), init("a", folder));
    let [before, after] = [file("kernel", limit), file("vm", &limit.replace("10", "12").replace("GONE", "CAME"))];
    let dossier = compare(&tree(&[("kernel/a.c", &before)]), &tree(&[("kernel/a.c", &after)]));
    assert_eq!(interfaces(&dossier), [(Kind::Sysctl, "depth", "changed"), (Kind::Macro, "LIMIT", "changed")]);
    let folders = |i: &Option<Interface>| i.as_ref().map(|i| i.folder.clone());
    assert_eq!(folders(&dossier.interfaces[0].after).as_deref(), Some("vm"));
    // If one file does not show the directory, no difference is reported.
    let unsaid = format!("{limit}{}", table("a", "depth"));
    assert!(compare(&tree(&[("kernel/a.c", &before)]), &tree(&[("kernel/a.c", &unsaid)])).interfaces.is_empty());
    // As in 6.1, as in 5.10, and for a copy of the table per network namespace.
    let declared = format!("{}DECLARE_SYSCTL_BASE(kernel, a);\n", table("a", "depth"));
    let child = format!(
        "{}static struct ctl_table root[] = {{ {{ .procname = \"kernel\", .child = a }} }};\n",
        table("a", "depth")
    );
    let copied = format!("{}{}", table("a", "depth"), init("copy", "net/ipv4"));
    for (text, folder) in [(declared, "kernel"), (child, "kernel"), (copied, "net/ipv4")] {
        assert_eq!(
            tree(&[("a.c", &text)])[0].interfaces.iter().find(|i| i.name == "depth").unwrap().folder,
            folder,
            "{text}"
        );
    }
}

#[test]
fn files_that_macros_of_the_file_name_by_a_member() {
    let text = "#define QUEUE_RW_ENTRY(_prefix, _name) static struct queue_sysfs_entry _prefix##_entry = { .attr = { .name = _name, .mode = 0644 }, .show = _prefix##_show }\n\
        QUEUE_RW_ENTRY(requests, \"nr_requests\");\n#define NETDEVICE_SHOW(f) static DEVICE_ATTR_RO(f)\nNETDEVICE_SHOW(mtu);\n\
        #define NOD(NAME, MODE, FOP) { .name = (NAME), .mode = MODE, .fop = FOP }\n#define REG(NAME, MODE, fops) NOD(NAME, (MODE), &fops)\n\
        static const struct pid_entry e[] = { REG(\"environ\", 0400, ops), };\n\
        #define ENTRY(attr, name) { .procname = name, .mode = 0644 }\nstatic struct ctl_table t[] = { ENTRY(A, \"forwarding\"), };\n\
        static struct bin_attribute notes = { .attr = { .name = \"notes\", .mode = 0444 } };\n\
        #define OTHER(_name) { .name = _name, .x = 1 }\nstatic struct o o[] = { OTHER(\"not\"), };\n\
        DEFINE_STATIC_KEY_MAYBE(CONFIG_A, key);\n#define Y_ATTR(_name) struct device_attribute a_##_name = { .attr = { .name = #_name, .mode = 0444 } }\nY_ATTR(bar);\n\
        __module_param_call(MODULE_PARAM_PREFIX, phram, &ops, NULL, 0200, -1, 0);\narch_param_cb(x32, &x32_ops, NULL, 0444);\n\
        typedef struct { int a; } __packed __aligned(8) packed_t;\nstatic struct { int a; } not;\nstatic enum { ON, OFF } not = OFF;\n";
    let found: Vec<_> = tree(&[("a.c", text)])[0].interfaces.iter().map(|i| (i.kind, i.name.clone())).collect();
    for expected in [
        (Kind::Sysfs, "nr_requests"),
        (Kind::Sysfs, "mtu"),
        (Kind::Procfs, "environ"),
        (Kind::Sysctl, "forwarding"),
        (Kind::Sysfs, "notes"),
        (Kind::StaticKey, "key"),
        (Kind::Sysfs, "bar"),
        (Kind::ModuleParameter, "phram"),
        (Kind::ModuleParameter, "x32"),
        (Kind::Type, "struct packed_t"),
        (Kind::Member, "enum.ON"),
    ] {
        assert!(found.iter().any(|(kind, name)| (*kind, name.as_str()) == expected), "{expected:?}: {found:?}");
    }
    assert!(found.iter().all(|(_, name)| name.split([' ', '.']).all(|part| part != "not")), "{found:?}");
}

#[test]
fn what_is_not_one_across_files_and_what_a_class_or_a_value_changes() {
    let pairs = |before: &[(&str, &str)], after: &[(&str, &str)]| -> Vec<String> {
        let dossier = compare(&tree(before), &tree(after));
        interfaces(&dossier).into_iter().map(|(_, name, change)| format!("{name} {change}")).collect()
    };
    // A static table, a macro of a C file and a function of another architecture are different ones.
    let [one, two] = ["#define P 1\n", "#define P 2\n"];
    assert!(pairs(&[("a.c", one)], &[("b.c", two)]).is_empty());
    assert_eq!(pairs(&[("a.h", one)], &[("b.h", two)]), ["P changed"]);
    let table = |value: &str| format!("static struct ops o = {{ .pick = {value}, }};\n");
    let moved = pairs(&[("a.c", &table("f"))], &[("b.c", &table("g"))]);
    assert_eq!(moved, ["ops o.pick removed", "ops o.pick added"]);
    // Enums that only have the number of constants in common; padding that gets a meaning; dissimilar names.
    let enums = ["enum a { A_1, A_2, A_3 };\n", "enum b { B_1, B_2, B_3 };\n"];
    assert_eq!(pairs(&[("a.c", enums[0])], &[("a.c", enums[1])]), ["enum a removed", "enum b added"]);
    let member = |name: &str| format!("struct s {{ int x; int {name}; int y; }};\n");
    for (old, new) in [("pad", "flags"), ("owners", "bhash")] {
        let found = pairs(&[("a.c", &member(old))], &[("a.c", &member(new))]);
        assert!(found.iter().all(|change| !change.contains("renamed")), "{found:?}");
    }
    // The value that the constant would have anyway.
    assert!(pairs(&[("a.c", "enum e { A = 0, B = 1, C = 5 };\n")], &[("a.c", "enum e { A, B, C = 5 };\n")]).is_empty());
    // Each event of the class counts.
    let class = "DECLARE_EVENT_CLASS(t, TP_STRUCT__entry(__field(int, a)));\nDEFINE_EVENT(t, wake, TP_ARGS(a));\n";
    let after = class.replace("int, a", "long, a");
    assert_eq!(pairs(&[("a.h", class)], &[("a.h", &after)]), ["wake changed"]);
    let assembly = "SYM_FUNC_END(f)\nEXPORT_SYMBOL(f)\n";
    assert_eq!(pairs(&[("a.S", "")], &[("a.S", assembly)]), ["f added"]);
    let dirs = [
        "void f(void)\n{\n\tdebugfs_create_dir(\"old\", NULL);\n}\n",
        "void f(void)\n{\n\tdebugfs_create_dir(\"new\", NULL);\n}\n",
    ];
    assert_eq!(pairs(&[("a.c", dirs[0])], &[("a.c", dirs[1])]), ["new added", "old removed"]);
}

#[test]
fn an_export_is_gone_once_no_file_has_it() {
    let one = "EXPORT_SYMBOL(kfree);\n";
    let two = "EXPORT_SYMBOL(kfree);\nEXPORT_SYMBOL(only_slob);\n";
    let arm = ("arch/arm/lib/ksyms.c", "EXPORT_SYMBOL(memcpy);\n");
    let x86 = ("arch/x86/lib/ksyms.c", "EXPORT_SYMBOL(memcpy);\n");
    let many = tree(&[arm, x86, ("mm/slob.c", two), ("mm/slub.c", one)]);
    let few = tree(&[x86, ("mm/slub.c", one)]);
    // Those of another architecture do not replace it.
    let (gone, come) =
        ([("memcpy", "removed"), ("only_slob", "removed")], [("memcpy", "added"), ("only_slob", "added")]);
    for (before, after, wanted) in [(&many, &few, gone), (&few, &many, come)] {
        let dossier = compare(before, after);
        let found: Vec<_> = interfaces(&dossier).into_iter().map(|(_, name, change)| (name, change)).collect();
        assert_eq!(found, wanted);
    }
}
