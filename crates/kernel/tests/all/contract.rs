//! The state contract on small trees whose writers are known: the two known cases of a port that builds and has no
//! effect, and trees whose differences do not matter.

use schedlab_kernel::contract::{Access, Contract, Text, contract};
use schedlab_kernel::{Port, parse, rehearse_series};
use std::collections::BTreeMap;
use std::convert::Infallible;

type Tree = BTreeMap<&'static str, String>;

/// A queue of packets as in net/: a packet counts for its socket until its destructor runs, called by the driver or by
/// `skb_orphan`.
const SKBUFF: &str = "\
struct sock { int sk_wmem_alloc; struct sk_buff *head; };
struct sk_buff { struct sock *sk; int truesize; void (*destructor)(struct sk_buff *skb); };
static inline void skb_orphan(struct sk_buff *skb)
{
	if (skb->destructor) {
		skb->destructor(skb);
		skb->destructor = NULL;
		skb->sk = NULL;
	}
}
";
const SOCK: &str = "\
void sock_wfree(struct sk_buff *skb)
{
	struct sock *sk = skb->sk;
	sk->sk_wmem_alloc -= skb->truesize;
}

void skb_set_owner_w(struct sk_buff *skb, struct sock *sk)
{
	skb->sk = sk;
	skb->destructor = sock_wfree;
	sk->sk_wmem_alloc += skb->truesize;
}
";
const DEV: &str = "\
int dev_hard_start_xmit(struct sk_buff *first, struct net_device *dev)
{
	struct sk_buff *skb = first;
	int rc = 0;

	trace_net_dev_start_xmit(skb, dev);
	rc = dev->ops->ndo_start_xmit(skb, dev);
	trace_net_dev_xmit(skb, rc, dev);
	if (rc)
		dev_requeue(skb, dev);
	return rc;
}
";
const TCP: &str = "\
static void tcp_push(struct sock *sk, int flags, int mss)
{
	struct sk_buff *skb = sk->head;

	if (!skb)
		return;
	__tcp_push_pending_frames(sk, mss, flags);
}
";
const AUTOCORKING: &str = "\
--- a/net/ipv4/tcp.c
+++ b/net/ipv4/tcp.c
@@ -4,5 +4,7 @@ static void tcp_push(struct sock *sk, int flags, int mss)

 	if (!skb)
 		return;
+	if (sk->sk_wmem_alloc > skb->truesize)
+		return;
 	__tcp_push_pending_frames(sk, mss, flags);
 }
";

fn network() -> Tree {
    [("include/linux/skbuff.h", SKBUFF), ("net/core/sock.c", SOCK), ("net/core/dev.c", DEV), ("net/ipv4/tcp.c", TCP)]
        .map(|(path, text)| (path, text.to_owned()))
        .into()
}

/// A waker's flips as in kernel/sched: counted at each wakeup, halved each second.
const SCHED: &str = "\
struct task_struct { int wakee_flips; long wakee_flip_decay_ts; struct task_struct *last_wakee; };
";
const FAIR: &str = "\
static void record_wakee(struct task_struct *p)
{
	if (time_after(jiffies, current->wakee_flip_decay_ts + HZ)) {
		current->wakee_flips >>= 1;
		current->wakee_flip_decay_ts = jiffies;
	}
	if (current->last_wakee != p) {
		current->last_wakee = p;
		current->wakee_flips++;
	}
}

static int select_task_rq_fair(struct task_struct *p, int prev_cpu, int wake_flags)
{
	int new_cpu = prev_cpu;
	int want_affine = 0;

	record_wakee(p);
	if (cpumask_test_cpu(prev_cpu, p->cpus_ptr))
		want_affine = 1;
	if (want_affine)
		new_cpu = wake_affine(p, prev_cpu);
	return new_cpu;
}
";
const WAKE_WIDE: &str = "\
--- a/kernel/sched/fair.c
+++ b/kernel/sched/fair.c
@@ -17,6 +17,6 @@ static int select_task_rq_fair(struct task_struct *p, int prev_cpu, int wake_flags)

 	record_wakee(p);
-	if (cpumask_test_cpu(prev_cpu, p->cpus_ptr))
+	if (current->wakee_flips < 4 && cpumask_test_cpu(prev_cpu, p->cpus_ptr))
 		want_affine = 1;
 	if (want_affine)
 		new_cpu = wake_affine(p, prev_cpu);
";

fn scheduler() -> Tree {
    [("include/linux/sched.h", SCHED), ("kernel/sched/fair.c", FAIR)].map(|(path, text)| (path, text.to_owned())).into()
}

fn with(mut tree: Tree, path: &'static str, from: &str, to: &str) -> Tree {
    let text = tree.get_mut(path).expect("a file of the tree");
    assert!(text.contains(from), "{path} has no {from}");
    *text = text.replacen(from, to, 1);
    tree
}

fn ported(tree: &Tree, series: &str) -> Port {
    let mut read = |path: &str| Ok::<_, Infallible>(tree.get(path).map(|text| text.clone().into_bytes()));
    let Ok(port) = rehearse_series(&parse(series.as_bytes()), &[], &mut read);
    assert!(port.findings.iter().all(|found| found.rehearsed.is_some() && !port.changed.is_empty()), "{port:?}");
    port
}

/// Compares the trees, each with the series applied.
fn compared(series: &str, source: &Tree, target: &Tree) -> Contract {
    let files = |tree: &Tree, port: &Port| -> Vec<Text> {
        let text = |path: &str, old: &String| match port.changed.get(path) {
            Some(new) => new.clone().unwrap_or_default(),
            None => old.clone().into_bytes(),
        };
        tree.iter().map(|(path, old)| ((*path).to_owned(), text(path, old))).collect()
    };
    let (home, there) = (ported(source, series), ported(target, series));
    contract(&parse(series.as_bytes()), &there, &files(source, &home), &files(target, &there))
}

/// Each difference as `state: function in which tree, what it calls`.
fn differences(found: &Contract) -> Vec<String> {
    let of = |state: &schedlab_kernel::contract::State| {
        let name = state.name.clone();
        let one = move |d: &schedlab_kernel::contract::Difference| {
            let tree = if d.is_in_target { "target" } else { "source" };
            format!("{name}: {} in the {tree}, {}", d.function, d.through.join(" "))
        };
        state.differences.iter().map(one).collect::<Vec<_>>()
    };
    found.states.iter().flat_map(of).collect()
}

#[test]
fn packets_that_leave_their_socket_early_are_named_with_the_function() {
    let early = with(network(), "net/core/dev.c", "	trace_net_dev_start", "	skb_orphan(skb);\n	trace_net_dev_start");
    let found = compared(AUTOCORKING, &network(), &early);
    assert_eq!(
        differences(&found),
        ["sk_wmem_alloc: dev_hard_start_xmit in the target, skb_orphan ->destructor sock_wfree"],
        "{found:?}"
    );
    let state = found.states.iter().find(|state| state.name == "sk_wmem_alloc").unwrap();
    assert_eq!((state.of.as_deref(), &state.read_by[..], state.is_dead()), (Some("sock"), &[0][..], false));
    // With the trees exchanged, the function is missing in the target, which is a difference too.
    let back = compared(AUTOCORKING, &early, &network());
    assert_eq!(
        differences(&back),
        ["sk_wmem_alloc: dev_hard_start_xmit in the source, skb_orphan ->destructor sock_wfree"]
    );
}

#[test]
fn a_write_to_the_whole_object_or_through_a_pointer_is_named_with_the_function() {
    let record = "	record_wakee(p);\n	if";
    for planted in ["	memset(p, 0, sizeof(*p));\n", "	int *flips = &p->wakee_flips;\n	*flips = 0;\n"] {
        let target = with(scheduler(), "kernel/sched/fair.c", record, &format!("{planted}{record}"));
        let found = compared(WAKE_WIDE, &scheduler(), &target);
        assert_eq!(differences(&found), ["wakee_flips: select_task_rq_fair in the target, "], "{planted}");
        assert_eq!(found.states[0].differences[0].does, [Access::Clear], "{planted}");
    }
}

#[test]
fn a_helper_that_only_the_target_has_names_its_caller() {
    let helper =
        "static void clear_flips(struct task_struct *p)\n{\n	p->wakee_flips = 0;\n}\n\nstatic int select_task_rq_fair";
    let target = with(scheduler(), "kernel/sched/fair.c", "static int select_task_rq_fair", helper);
    let target =
        with(target, "kernel/sched/fair.c", "	record_wakee(p);\n	if", "	clear_flips(p);\n	record_wakee(p);\n	if");
    let found = compared(WAKE_WIDE, &scheduler(), &target);
    assert_eq!(differences(&found), ["wakee_flips: select_task_rq_fair in the target, clear_flips"], "{found:?}");
}

#[test]
fn a_part_that_moves_into_a_helper_is_no_difference() {
    let decay = "		current->wakee_flips >>= 1;\n";
    let target = with(scheduler(), "kernel/sched/fair.c", decay, "		decay_flips(current);\n");
    let helper =
        "static void decay_flips(struct task_struct *p)\n{\n	p->wakee_flips >>= 1;\n}\n\nstatic void record_wakee";
    let target = with(target, "kernel/sched/fair.c", "static void record_wakee", helper);
    assert_eq!(differences(&compared(WAKE_WIDE, &scheduler(), &target)), [""; 0]);
    // Without the helper, the change is lost.
    let lost = with(scheduler(), "kernel/sched/fair.c", decay, "");
    assert_eq!(differences(&compared(WAKE_WIDE, &scheduler(), &lost)), ["wakee_flips: record_wakee in the source, "]);
}

#[test]
fn flips_that_nothing_counts_are_dead() {
    let none = with(scheduler(), "kernel/sched/fair.c", "		current->wakee_flips++;\n", "");
    let none = with(none, "kernel/sched/fair.c", "		current->wakee_flips >>= 1;\n", "");
    let found = compared(WAKE_WIDE, &scheduler(), &none);
    let [state] = &found.states[..] else { panic!("{found:?}") };
    assert_eq!((state.name.as_str(), state.is_dead()), ("wakee_flips", true));
    assert_eq!(state.writers, [vec!["record_wakee".to_owned()], vec![]]);
}

#[test]
fn flips_that_are_cleared_at_each_wake_up_are_named_with_the_function() {
    let cleared = "	current->wakee_flips = 0;\n	if (current->last_wakee != p) {";
    let cleared = with(scheduler(), "kernel/sched/fair.c", "	if (current->last_wakee != p) {", cleared);
    let found = compared(WAKE_WIDE, &scheduler(), &cleared);
    assert_eq!(differences(&found), ["wakee_flips: record_wakee in the target, "], "{found:?}");
    assert_eq!(found.states[0].differences[0].does, [Access::Clear]);
}

#[test]
fn what_does_not_change_the_state_is_no_difference() {
    for (series, tree) in [(AUTOCORKING, network()), (WAKE_WIDE, scheduler())] {
        let found = compared(series, &tree, &tree);
        assert!(!found.states.is_empty() && found.states.iter().all(|state| !state.differs()), "{found:?}");
    }
    let read = "	pr_debug(\"%d\", first->sk->sk_wmem_alloc);\n	trace_net_dev_start";
    let read = with(network(), "net/core/dev.c", "	trace_net_dev_start", read);
    assert_eq!(differences(&compared(AUTOCORKING, &network(), &read)), [""; 0], "it is read, not changed");
    let moved =
        with(network(), "net/core/sock.c", "	struct sock *sk = skb->sk;\n", "	struct sock *sk;\n\n	sk = skb->sk;\n");
    assert_eq!(differences(&compared(AUTOCORKING, &network(), &moved)), [""; 0], "the same in other words");
}

/// A tree in which `wakee_flips` is cleared by another function, which both trees call.
fn with_reset() -> Tree {
    let reset =
        "static void reset_flips(struct task_struct *p)\n{\n	p->wakee_flips = 0;\n}\n\nstatic void record_wakee";
    let tree = with(scheduler(), "kernel/sched/fair.c", "static void record_wakee", reset);
    with(
        tree,
        "kernel/sched/fair.c",
        "	if (current->last_wakee != p) {",
        "	reset_flips(p);\n	if (current->last_wakee != p) {",
    )
}

fn without_counting(tree: Tree, instead: &str) -> Tree {
    let tree = with(tree, "kernel/sched/fair.c", "		current->wakee_flips >>= 1;\n", "");
    with(tree, "kernel/sched/fair.c", "		current->wakee_flips++;\n", instead)
}

#[test]
fn a_write_that_is_gone_is_not_hidden_by_a_call_that_both_trees_make() {
    let series = WAKE_WIDE.replace("-17,6 +17,6", "-23,6 +23,6");
    let found = compared(&series, &with_reset(), &without_counting(with_reset(), ""));
    assert_eq!(differences(&found), ["wakee_flips: record_wakee in the source, "], "{found:?}");
    // Moved to a function of its own, the change is the same.
    let count = "static void count_flip(void)\n{\n	current->wakee_flips++;\n}\n\nstatic void record_wakee";
    let moved = without_counting(with_reset(), "		count_flip();\n");
    let moved = with(moved, "kernel/sched/fair.c", "static void record_wakee", count);
    let found = compared(&series, &with_reset(), &moved);
    assert_eq!(differences(&found), [""; 0], "{found:?}");
}

#[test]
fn a_shorter_way_to_the_state_is_a_difference_beside_a_longer_one() {
    let far = "void skb_far(struct sk_buff *skb)\n{\n	skb_orphan(skb);\n}\n\nint dev_hard_start_xmit";
    let both = with(network(), "net/core/dev.c", "int dev_hard_start_xmit", far);
    let both = with(both, "net/core/dev.c", "	if (rc)\n", "	skb_far(skb);\n	if (rc)\n");
    let early = with(both.clone(), "net/core/dev.c", "	trace_net_dev_start", "	skb_orphan(skb);\n	trace_net_dev_start");
    let found = compared(AUTOCORKING, &both, &early);
    assert_eq!(
        differences(&found),
        ["sk_wmem_alloc: dev_hard_start_xmit in the target, skb_orphan ->destructor sock_wfree"],
        "{found:?}"
    );
}

#[test]
fn a_member_of_two_structs_is_not_told_apart() {
    let both =
        |tree| with(tree, "net/core/sock.c", "void sock_wfree", "struct pool { int sk_wmem_alloc; };\nvoid sock_wfree");
    let found = compared(AUTOCORKING, &both(network()), &both(network()));
    assert!(found.ambiguous.contains(&"sk_wmem_alloc".to_owned()), "{found:?}");
}

/// A queue with a size, a lock and a word of flags, which `set_up` writes; added code reads them.
const QUEUE: &str = "\
struct queue { int size; raw_spinlock_t lock; int sleepers; };
#define set_size(q, n) do { WRITE_ONCE((q)->size, (n)); } while (0)
#define start(q) ({ prepare(q); launch(q); })
";
const SET_UP: &str = "\
void launch(struct queue *q)
{
	q->size = 8;
}

int set_up(struct queue *q, int wide, int deep)
{
	int done = 0;

	trace_set_up(q, wide, deep);
	check_width(q, wide);
	check_depth(q, deep);
	WRITE
	done += width_of(wide);
	done += depth_of(deep);
	trace_is_set_up(q, done);
	account(q, done);
	return done;
}

int size_of(struct queue *q)
{
	return 1;
}
";
const READER: &str = "\
--- a/block/queue.c
+++ b/block/queue.c
@@ -23,4 +23,4 @@ int size_of(struct queue *q)
 int size_of(struct queue *q)
 {
-	return 1;
+	return raw_spin_is_locked(&q->lock) ? 0 : q->size;
 }
";

fn queue(lines: &str) -> Tree {
    [("include/linux/queue.h", QUEUE.to_owned()), ("block/queue.c", SET_UP.replace("WRITE", lines))].into()
}

/// What differs if `set_up` has these lines in the source and those in the target.
fn set_up_with(source: &str, target: &str) -> Vec<String> {
    differences(&compared(READER, &queue(source), &queue(target)))
}

#[test]
fn a_write_in_fewer_places_is_no_difference() {
    let twice = "if (!wide) {\n		q->size = 1;\n		return 0;\n	}\n	q->size = deep;";
    assert_eq!(set_up_with(twice, "q->size = deep;"), [""; 0]);
    assert_eq!(set_up_with("q->size = deep;", twice), [""; 0]);
    // A write of another kind is a difference.
    let cleared = "q->size = deep;\n	q->size = 0;";
    assert_eq!(set_up_with("q->size = deep;", cleared), ["size: set_up in the target, "]);
    assert_eq!(set_up_with("q->size++;\n	q->size >>= 1;", "q->size >>= 1;"), ["size: set_up in the source, "]);
}

#[test]
fn a_write_in_other_words_is_no_difference() {
    let same =
        ["q->size = 1;", "q->size = wide ? 1 : 0;", "WRITE_ONCE(q->size, 1);", "q->size |= 1;", "set_size(q, 1);"];
    let either = ["if (wide)\n		q->size = 1;\n	else\n		q->size = 0;", "q->size = wide ? 1 : 0;"];
    let cleared = ["q->size = 0;", "queue_size_init(&q->size);"];
    for (source, target) in [(&same[..], &same[..]), (&either, &either), (&cleared, &cleared)]
        .iter()
        .flat_map(|(a, b)| a.iter().flat_map(|source| b.iter().map(move |target| (source, target))))
    {
        assert_eq!(set_up_with(source, target), [""; 0], "{source} and {target}");
    }
    assert_eq!(set_up_with("q->size = 1;", "q->size = 0;").len(), 2, "0 is another value");
}

#[test]
fn a_write_by_a_macro_is_seen() {
    assert_eq!(set_up_with("", "set_size(q, deep);"), ["size: set_up in the target, set_size"]);
    assert_eq!(set_up_with("start(q);", "prepare(q);\n	launch(q);"), [""; 0]);
    assert_eq!(set_up_with("prepare(q);", "prepare(q);\n	start(q);"), ["size: set_up in the target, start launch"]);
}

#[test]
fn who_takes_a_lock_is_no_difference() {
    let guarded = "scoped_guard (raw_spinlock_irqsave, &q->lock)\n		done++;";
    let locked = "raw_spin_lock(&q->lock);\n	grab(&q->lock);\n	done++;";
    assert_eq!(set_up_with(guarded, locked), [""; 0]);
    assert_eq!(set_up_with("done++;", guarded), [""; 0]);
}

#[test]
fn a_write_that_moves_to_a_function_that_all_call_is_no_difference() {
    // A member that too many files name is not followed.
    let everywhere = |lines: &str| {
        let mut tree = queue(lines);
        tree.extend((0..130).map(|n| (&*format!("block/{n}.c").leak(), format!("void f{n}(void) {{ launch(q); }}\n"))));
        tree
    };
    let found = compared(READER, &everywhere("q->size = deep;"), &everywhere("launch(q);"));
    assert_eq!(differences(&found), [""; 0]);
    let found = compared(READER, &everywhere("q->size = deep;"), &everywhere(""));
    assert_eq!(differences(&found), ["size: set_up in the source, "]);
}

#[test]
fn a_flag_that_a_helper_gets_before_its_object_is_followed() {
    let reads = READER.replace("raw_spin_is_locked(&q->lock) ? 0 : q->size", "test_bit(QUEUE_FLAG_WIDE, &q->flags)");
    let tree =
        |lines: &str| with(queue(lines), "include/linux/queue.h", "#define", "#define QUEUE_FLAG_WIDE 3\n#define");
    let store = "if (wide)\n		queue_flag_set(QUEUE_FLAG_WIDE, q);\n	else\n		queue_flag_clear(QUEUE_FLAG_WIDE, q);";
    let reads = reads.replace("-23,4 +23,4", "-26,4 +26,4");
    let found = compared(&reads, &tree(store), &tree("\n\n"));
    assert_eq!(differences(&found), ["QUEUE_FLAG_WIDE: set_up in the source, "], "{found:?}");
    assert!(found.states[0].is_dead(), "{found:?}");
    assert_eq!(differences(&compared(&reads, &tree(store), &tree(store))), [""; 0]);
}

#[test]
fn a_state_that_an_accessor_reads_is_followed() {
    let accessor = "static inline int sk_wmem_alloc_get(const struct sock *sk)\n{\n	return sk->sk_wmem_alloc - 1;\n}\n";
    let by_macro = "#define sk_wmem_alloc_get(sk) READ_ONCE((sk)->sk_wmem_alloc)\n";
    let series = AUTOCORKING.replace("sk->sk_wmem_alloc >", "sk_wmem_alloc_get(sk) >");
    for text in [accessor, by_macro] {
        let tree = with(
            network(),
            "include/linux/skbuff.h",
            "static inline void skb",
            &format!("{text}static inline void skb"),
        );
        let early =
            with(tree.clone(), "net/core/dev.c", "	trace_net_dev_start", "	skb_orphan(skb);\n	trace_net_dev_start");
        assert_eq!(
            differences(&compared(&series, &tree, &early)),
            ["sk_wmem_alloc: dev_hard_start_xmit in the target, skb_orphan ->destructor sock_wfree"],
            "{text}"
        );
        assert_eq!(differences(&compared(&series, &tree, &tree)), [""; 0]);
    }
    // An accessor in the file itself; a function that also writes is not an accessor.
    for (body, expected) in [("return sk->sk_wmem_alloc;", 1), ("return sk->sk_wmem_alloc--;", 0)] {
        let own = format!("static int sk_wmem_alloc_get(struct sock *sk)\n{{\n	{body}\n}}\n\nstatic void tcp_push");
        let tree = with(network(), "net/ipv4/tcp.c", "static void tcp_push", &own);
        let early =
            with(tree.clone(), "net/core/dev.c", "	trace_net_dev_start", "	skb_orphan(skb);\n	trace_net_dev_start");
        let found = compared(&series.replace("-4,5 +4,7", "-9,5 +9,7"), &tree, &early);
        assert_eq!(differences(&found).len(), expected, "{body}: {found:?}");
    }
}
