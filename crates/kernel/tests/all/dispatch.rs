//! Which calls through a member can reach a function, decided by the type of the object that the member belongs to.

use super::dossier::tree;
use schedlab_kernel::dossier::{Caller, KeyFunction, compare};

/// Two structs of operations with a member `init`, and a function that is registered in the first.
const OPS: &str = "struct sock;\nstruct net;\nstruct proto { int (*init)(struct sock *sk); int n; };\n\
    struct pernet_operations { int (*init)(struct net *net); struct pernet_operations *next; };\n\
    struct sock_common { struct proto *skc_prot; };\n\
    struct sock {\n\tstruct sock_common __sk_common;\n#define sk_prot __sk_common.skc_prot\n\tstruct proto *sk_creator, saved[2];\n\tvoid *any;\n};\n\
    struct net { struct pernet_operations *ops; };\n\
    static int tcp_init(struct sock *sk)\n{\n\treturn 0;\n}\nstruct proto tcp_prot = { .init = tcp_init };\n";

/// The finding for `tcp_init` in a file that continues with these functions.
fn found(rest: &str) -> KeyFunction {
    let before = format!("{OPS}{rest}");
    let after = before.replace("return 0;\n}\nstruct proto", "return 1;\n}\nstruct proto");
    let found = compare(&tree(&[("net/a.c", &before)]), &tree(&[("net/a.c", &after)])).key_functions.remove(0);
    assert_eq!((found.name.as_str(), found.registered.join(" ")), ("tcp_init", "tcp_prot.init".to_owned()));
    found
}

fn names(callers: &[Caller]) -> Vec<&str> {
    callers.iter().map(|caller| caller.function.as_str()).collect()
}

/// Checks for `yes`, `perhaps` or `no`, with a function of this head and this code.
fn check(head: &str, code: &str, wanted: &str) {
    let found = found(&format!("{head}\n{{\n\t{code}\n}}\n"));
    let is = match (&found.dispatched_from[..], &found.perhaps_dispatched_from[..]) {
        ([_], []) => "yes",
        ([], [_]) => "perhaps",
        ([], []) => "no",
        _ => "both",
    };
    assert_eq!(is, wanted, "{head} {{ {code} }}");
}

#[test]
fn the_same_member_of_another_struct_is_another() {
    check("int f(struct proto *p, struct sock *sk)", "return p->init(sk);", "yes");
    check("int f(const struct proto p, struct sock *sk)", "return p.init(sk);", "yes");
    check("int f(struct sock *sk)", "struct proto *const a = g(), *p = a;\n\treturn a->init(sk);", "yes");
    check("int f(struct net *net)", "struct pernet_operations *ops = g();\n\treturn ops->init(net);", "no");
    check("int f(struct pernet_operations *ops, struct net *net)", "return ops->next->init(net);", "no");
    check("int f(struct sock *sk)", "return tcp_prot.init(sk);", "yes");
    // Both kinds of call in one function.
    check("int f(struct proto *p, struct net *net)", "net->ops->init(net);\n\treturn p->init(0);", "yes");
    // Variables of the same name in two blocks.
    check(
        "int f(void)",
        "if (a) {\n\t\tstruct proto *p;\n\t} else {\n\t\tstruct net *p;\n\t\tp->init(0);\n\t}",
        "perhaps",
    );
}

#[test]
fn a_chain_of_members_has_the_type_of_its_last() {
    check("int f(struct sock *sk)", "return sk->sk_creator->init(sk);", "yes");
    check("int f(struct sock *sk)", "return sk->sk_prot->init(sk);", "yes");
    check("int f(struct sock *sk)", "return sk->__sk_common.skc_prot->init(sk);", "yes");
    check("int f(struct sock *sk, int n)", "return sk->saved[n + 1].init(sk);", "yes");
    check("int f(struct net *net)", "return net->ops->init(net);", "no");
    check("int f(struct net *net)", "return net->ops[1].next->init(net);", "no");
    check("int f(struct net *net)", "return (*net->ops).init(net);", "no");
    check("int f(struct net *net)", "return READ_ONCE(net->ops)->init(net);", "no");
    check("int f(struct sock *sk)", "return rcu_dereference_protected(sk->sk_prot, 1)->init(sk);", "yes");
    check("int f(struct sock *sk)", "return ((struct proto *)sk->any)->init(sk);", "yes");
    check("int f(struct list *l)", "return container_of(l, struct pernet_operations, next)->init(l);", "no");
    check("struct proto *get(int n)\n{\n\treturn 0;\n}\nint f(struct sock *sk)", "return get(1)->init(sk);", "yes");
}

#[test]
fn what_has_no_known_type_is_a_call_perhaps() {
    check("int f(struct sock *sk)", "return ops_of(sk)->init(sk);", "perhaps");
    check("#define ops_of(s) ((s)->any)\nint f(struct sock *sk)", "return ops_of(sk)->init(sk);", "perhaps");
    check("int f(struct unread *u)", "return u->ops->init(0);", "perhaps");
    check("int f(proto_t *p)", "return p->init(0);", "perhaps");
    check("int f(void)", "return (a ? b : c)->init(0);", "perhaps");
    check("int f(struct sock *sk)", "return sk->any->init(0);", "perhaps");
    // By the member's name alone, if no other struct is possible.
    let by_name = "struct pernet_operations x = { .init = y };\nint f(struct unread *u)";
    check(by_name, "return u->pernet_operations->init(0);", "perhaps");
    check("int f(struct unread *u)", "return u->proto->init(0);", "perhaps");
    // A variable of another function does not count.
    check("void other(struct proto *q)\n{\n}\nint f(void)", "return q->init(0);", "perhaps");
    // The function takes one argument.
    check("int f(proto_t *p)", "return p->init(0, 1);", "no");
    check("int f(proto_t *p)", "return p->init();", "no");
}

#[test]
fn those_that_call_it_perhaps_are_twelve_at_most() {
    let many: String = (10..30).map(|n| format!("int f{n}(void)\n{{\n\treturn x->init(0);\n}}\n")).collect();
    let found = found(&format!("{many}int g(struct proto *p)\n{{\n\treturn p->init(0) + x->init(0);\n}}\n"));
    assert_eq!(names(&found.dispatched_from), ["g"]);
    assert_eq!((found.perhaps_dispatched_from.len(), found.more_perhaps), (12, 8));
    assert_eq!(names(&found.perhaps_dispatched_from)[..2], ["f10", "f11"]);
}

#[test]
fn tables_made_by_a_macro_and_members_set_by_code_have_a_type_too() {
    let of = |text: &str| {
        let after = text.replace("return 0;", "return 1;");
        let found = compare(&tree(&[("a.c", text)]), &tree(&[("a.c", &after)])).key_functions.remove(0);
        [names(&found.dispatched_from).join(" "), names(&found.perhaps_dispatched_from).join(" ")]
    };
    let calls = "void a(struct cls *c)\n{\n\tc->pick(1);\n}\nvoid b(struct other *o)\n{\n\to->pick(1);\n}\nvoid c(void)\n{\n\tx->pick(1);\n}\n";
    let pick = "int my_pick(int n)\n{\n\treturn 0;\n}\n";
    let by_macro =
        "#define DEFINE_CLS(name) const struct cls name##_cls\nDEFINE_CLS(fair) = {\n\t.pick = my_pick,\n};\n";
    assert_eq!(of(&format!("{pick}{by_macro}{calls}")), ["a", "c"]);
    let by_code = "void setup(struct cls *c, struct cls *d)\n{\n\td->n = 1;\n\tc->pick = my_pick;\n}\n";
    assert_eq!(of(&format!("{pick}{by_code}{calls}")), ["a", "c"]);
    // The type of what it is assigned to is unknown.
    assert_eq!(of(&format!("{pick}void setup(void)\n{{\n\tq->pick = my_pick;\n}}\n{calls}")), ["", "a b c"]);
    assert_eq!(of(&format!("{pick}static cls_t t = {{ .pick = my_pick }};\n{calls}")), ["", "a b c"]);
}

/// A call like `p->sched_class->pick()`, with `struct task_struct` in a header that is not read.
#[test]
fn a_member_named_as_the_struct_is_of_it() {
    let text = "struct sched_class { int (*pick)(int n); };\nint my_pick(int n)\n{\n\treturn 0;\n}\nstruct sched_class fair = { .pick = my_pick };\n\
        void a(struct task *p)\n{\n\tp->sched_class->pick(1);\n}\nvoid b(struct task *p)\n{\n\tp->other->pick(1);\n}\n\
        static struct other *o;\nvoid c(void)\n{\n\to->pick(1);\n}\nstatic const struct sched_class *s;\nvoid d(void)\n{\n\ts->pick(1);\n}\n";
    let after = text.replace("return 0;", "return 1;");
    let found = compare(&tree(&[("a.c", text)]), &tree(&[("a.c", &after)])).key_functions.remove(0);
    assert_eq!((names(&found.dispatched_from), names(&found.perhaps_dispatched_from)), (vec!["a", "d"], vec!["b"]));
}

#[test]
fn a_static_function_is_registered_by_its_own_file() {
    let own = "static int pick(int n)\n{\n\treturn 0;\n}\nstruct cls a = { .pick = pick };\n";
    let other = own.replace("cls a", "cls b");
    let (before, after) = (own.to_owned(), own.replace("return 0", "return 1"));
    let [before, after] = [before, after].map(|text| tree(&[("a.c", &text), ("b.c", &other)]));
    assert_eq!(compare(&before, &after).key_functions[0].registered, ["a.pick"]);
}
