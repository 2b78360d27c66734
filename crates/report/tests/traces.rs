//! Golden traces: tiny, written by hand, each with its story in its first line. The answers are in this file; the pages
//! of all analyses are in `traces/*.out`, which `SCHEDLAB_BLESS=1 cargo test -p schedlab-report` writes anew. Binary ones are
//! dumps, which `crates/trace/src/golden.rs` writes.

mod dumps;
mod pages;
mod told;

use dumps::{dir, is_trace, open};
use pages::pages;
use schedlab_analyze::trace::copies::CopyTasks;
use schedlab_analyze::trace::{
    AffineOptions, Blame, BlameOptions, Chains, ChainsOptions, CopiesOfArms, CopiesOrder, Inversions,
    InversionsOptions, Kworkers, KworkersOptions, Latency, LatencyOptions, Overview, OverviewOptions, PooledKworkers,
    Queues, QueuesOptions, Reader, Scope, TaskFilter, TimeWindow, affine, blame, cgroup_members, cgroups, chains,
    check, copies, inversions, kworkers, latency, map, overview, perf_latency, queues, states, timehist,
};
use schedlab_report::{
    map_line, perf_latency_text, pooled_kworkers, pooled_kworkers_svg, timehist_header, timehist_line, trace_affine,
    trace_blame, trace_chains, trace_check, trace_copies, trace_copies_svg, trace_inversions, trace_kworkers,
    trace_latency, trace_overview, trace_queues, trace_states,
};

const TRACES: [&str; 38] = [
    "preempt",
    "r_plus_then_waking",
    "waking_before_switch",
    "cancelled_sleep",
    "lost_switch_in",
    "lost_cpu_window",
    "run_on_one_cpu",
    "lost_waking",
    "loss_on_the_wakers_cpu",
    "buffer_started",
    "pid_reuse",
    "rename",
    "migration_while_waiting",
    "several_idle_threads",
    "irq_waker",
    "clock_back",
    "behind_two",
    "rt_inversion",
    "chain",
    "work_items",
    "copies",
    "truncated",
    "big_endian",
    "long_of_32_bits",
    "big_endian_32_bits",
    "perf_cgroups",
    "system_calls",
    "wakeup_of_who_runs",
    "woken_while_preempted",
    "pulled_after_its_waker_left",
    "interrupt_of_an_idle_cpu",
    "placed_before_a_cpu_idles",
    "exit_goes_on",
    "end_of_a_chain",
    "long_chain",
    "second_wakeup",
    "twenty_items",
    "wakes_two_after_a_preemption",
];

fn latencies(name: &str) -> Latency {
    latency(&mut open(name, latency::wanted()), &LatencyOptions::default()).expect("readable to its end")
}

/// Waits after wakeups and after preemptions: number, longest in ns, censored by reason.
fn answer(name: &str) -> [(u64, u64, [u64; 3]); 2] {
    let total = latencies(name).total;
    [&total.wakeup, &total.preempt].map(|waits| (waits.count, waits.max_ns.unwrap_or(0), waits.censored))
}

#[test]
fn every_golden_trace_has_its_known_answer() {
    const NONE: (u64, u64, [u64; 3]) = (0, 0, [0; 3]);
    let known = [
        ("preempt", [NONE, (2, 7_000, [0; 3])]),
        ("r_plus_then_waking", [NONE, (1, 8_000, [0; 3])]),
        ("waking_before_switch", [(1, 4_000, [0; 3]), NONE]),
        ("cancelled_sleep", [(1, 4_000, [0; 3]), NONE]),
        ("lost_switch_in", [(1, 3_000, [0, 1, 0]), NONE]),
        ("lost_cpu_window", [(1, 11_000, [1, 0, 0]), NONE]),
        ("run_on_one_cpu", [(1, 2_000, [1, 0, 0]), NONE]),
        ("lost_waking", [(1, 2_000, [1, 0, 1]), NONE]),
        ("loss_on_the_wakers_cpu", [(0, 0, [1, 0, 2]), NONE]),
        ("buffer_started", [(0, 0, [1, 0, 0]), NONE]),
        ("pid_reuse", [(1, 4_000, [0; 3]), NONE]),
        ("rename", [(1, 9_000, [0; 3]), NONE]),
        ("migration_while_waiting", [(1, 9_000, [0; 3]), NONE]),
        ("several_idle_threads", [(1, 2_000, [0; 3]), NONE]),
        ("irq_waker", [(1, 6_000, [0; 3]), NONE]),
        ("clock_back", [(1, 4_000, [0; 3]), NONE]),
        ("behind_two", [(1, 13_000, [0; 3]), NONE]),
        ("rt_inversion", [(1, 2_000, [0; 3]), (2, 30_000, [0; 3])]),
        ("chain", [(3, 5_000, [0; 3]), (1, 4_000, [0; 3])]),
        ("work_items", [(1, 8_000, [0; 3]), (1, 17_000, [0; 3])]),
        ("copies", [(3, 10_000, [0; 3]), (2, 25_000, [0; 3])]),
        ("truncated", [(0, 0, [0, 0, 1]), (0, 0, [0, 0, 1])]),
        ("big_endian", [(1, 20_000, [0; 3]), (1, 8_000, [0; 3])]),
        ("long_of_32_bits", [(1, 20_000, [0; 3]), (1, 8_000, [0; 3])]),
        ("big_endian_32_bits", [(1, 20_000, [0; 3]), (1, 8_000, [0; 3])]),
        ("perf_cgroups", [(1, 20_000, [0; 3]), (1, 8_000, [0; 3])]),
        ("system_calls", [(2, 2_000, [0; 3]), NONE]),
        ("wakeup_of_who_runs", [(1, 1_000, [0; 3]), NONE]),
        ("woken_while_preempted", [NONE, (1, 31_000, [0; 3])]),
        ("pulled_after_its_waker_left", [(1, 31_000, [0; 3]), NONE]),
        ("interrupt_of_an_idle_cpu", [(1, 10_000, [0; 3]), NONE]),
        ("placed_before_a_cpu_idles", [(1, 10_000, [0; 3]), NONE]),
        ("exit_goes_on", [(1, 5_000, [0; 3]), NONE]),
        ("end_of_a_chain", [(1, 10_000, [0; 3]), NONE]),
        ("long_chain", [(18, 10_000, [0; 3]), (18, 3_000, [0; 3])]),
        ("second_wakeup", [(0, 0, [1, 1, 0]), NONE]),
        ("twenty_items", [(1, 3_000, [0; 3]), NONE]),
        ("wakes_two_after_a_preemption", [(3, 10_000, [0; 3]), (3, 35_000, [0; 3])]),
    ];
    for (name, expected) in known {
        assert_eq!(answer(name), expected, "{name}");
    }
    let files = std::fs::read_dir(dir()).expect("golden traces").map(|e| e.expect("readable").path());
    let traces = files.filter(|path| is_trace(path)).count();
    assert_eq!(traces, known.len(), "a golden trace without an answer");
}

#[test]
fn what_the_stories_tell_beside_the_waits() {
    let trace = |name| latencies(name).trace;
    assert_eq!(trace("waking_before_switch").repaired_wakings, 1);
    assert_eq!(trace("cancelled_sleep").cancelled_sleeps, 1);
    assert_eq!(trace("r_plus_then_waking").cancelled_sleeps, 1);
    assert_eq!(trace("lost_switch_in").gaps, 1);
    assert_eq!(trace("several_idle_threads").gaps, 0);
    assert!(trace("truncated").problems.iter().any(|p| p.contains("the trace ends inside a line")));
    let renamed = latencies("rename");
    let names: Vec<&str> = renamed.rows.iter().map(|r| r.comm.as_str()).collect();
    assert_eq!((names, renamed.rows[0].tasks), (vec!["sh"], 1));
    let reused = latencies("pid_reuse");
    let mut names: Vec<&str> = reused.rows.iter().map(|r| r.comm.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["A", "D"]);
    assert_eq!(latencies("migration_while_waiting").total.migrations, 1);
}

fn blames(name: &str) -> Blame {
    blame(&mut open(name, blame::wanted()), &BlameOptions::default()).expect("readable to its end")
}

fn chained(name: &str) -> Chains {
    chains(&mut open(name, chains::wanted()), &ChainsOptions::default()).expect("readable to its end")
}

fn inverted(name: &str) -> Inversions {
    let options = InversionsOptions::default();
    inversions(&mut open(name, inversions::wanted()), &options).expect("readable to its end")
}

#[test]
fn a_wait_is_laid_at_the_door_of_those_who_had_the_cpu() {
    let found = blames("behind_two");
    assert_eq!((found.total.waits, found.total.waited_ns, found.total.idle_elsewhere_ns), (1, 13_000, 8_000));
    let causes: Vec<_> = found.causes.iter().map(|c| (c.share.cause.as_str(), c.share.ns)).collect();
    assert_eq!(causes, [("B", 6_000), ("C", 4_000), ("(irq 5 eth0)", 2_000), ("(placing)", 1_000)]);
    for name in TRACES {
        let (found, total) = (blames(name), latencies(name).total);
        assert_eq!(found.total.waits, total.wakeup.count + total.preempt.count, "{name}");
        assert_eq!(found.total.waited_ns, total.wakeup.histogram.sum_ns + total.preempt.histogram.sum_ns, "{name}");
        assert_eq!(found.causes.iter().map(|c| c.share.ns).sum::<u64>(), found.total.waited_ns, "{name}");
        let censored: Vec<u64> = (0..3).map(|n| total.wakeup.censored[n] + total.preempt.censored[n]).collect();
        assert_eq!(found.total.censored.to_vec(), censored, "{name}");
    }
}

#[test]
fn other_machines_have_the_same_answers() {
    for (name, format) in
        [("big_endian", "perf.data"), ("long_of_32_bits", "trace.dat 6"), ("big_endian_32_bits", "trace.dat 6")]
    {
        let found = blames(name);
        assert_eq!((found.trace.format.as_str(), found.trace.problems.len()), (format, 0), "{name}");
        let causes: Vec<_> = found.causes.iter().map(|c| (c.share.cause.as_str(), c.share.ns)).collect();
        assert_eq!(causes, [("A", 18_000), ("B", 8_000), ("(placing)", 2_000)], "{name}");
        let longest = &found.longest[0];
        assert_eq!((longest.comm.as_str(), longest.ns, longest.waker.as_deref()), ("B", 20_000, Some("C")), "{name}");
        let pairs: Vec<_> = chained(name).pairs.iter().map(|p| (p.waker.clone(), p.wakee.clone())).collect();
        assert_eq!(pairs, [("C".to_owned(), "B".to_owned())], "{name}");
    }
}

#[test]
fn threads_of_a_cgroup_are_those_that_were_seen_in_it() {
    let members = |name: &str, group: &str| cgroup_members(&mut open(name, cgroups::wanted()), &[group.to_owned()]);
    let in_group = |group: &str| members("perf_cgroups", group).expect("there is such a group");
    assert_eq!(in_group("/serve"), [11].into());
    assert_eq!((in_group("/batch"), in_group("/")), ([10, 12].into(), [10, 11, 12].into()));
    assert_eq!(members("system_calls", "/web").expect("it was moved there"), [10].into());
    let tasks = TaskFilter { within: Some(in_group("/serve")), ..TaskFilter::default() };
    let options = LatencyOptions { scope: Scope { tasks, ..Scope::default() }, ..LatencyOptions::default() };
    let found = latency(&mut open("perf_cgroups", latency::wanted()), &options).expect("readable");
    let rows: Vec<_> = found.rows.iter().map(|row| (row.comm.as_str(), row.wakeup.max_ns)).collect();
    assert_eq!(rows, [("B", Some(20_000))]);
    let error = |name: &str| members(name, "/other").expect_err("no such group").to_string();
    assert_eq!(
        error("perf_cgroups"),
        "no thread of the recording is in the cgroup `/other`; there are /batch, /serve/web"
    );
    for name in ["big_endian", "preempt"] {
        assert!(error(name).contains("and of `perf record --all-cgroups` do"), "{name}");
    }
}

#[test]
fn waits_add_up_along_a_chain() {
    let found = chained("chain");
    let longest = &found.longest[0];
    assert_eq!((longest.delay_ns, longest.steps.len(), found.longest.len()), (14_000, 3, 1));
    let steps: Vec<_> = longest.steps.iter().map(|s| (s.tid, s.waited_ns, s.waker_preempted_ns)).collect();
    assert_eq!(steps, [(10, 3_000, 0), (11, 5_000, 4_000), (12, 2_000, 0)]);
    assert_eq!(found.paths[0].path, ["(hard interrupt)", "A", "B", "C"]);
    assert_eq!(chained("irq_waker").pairs[0].waker, "(hard interrupt)");
}

#[test]
fn an_inversion_is_found_on_the_own_cpu_and_through_who_holds() {
    let found = inverted("rt_inversion");
    let held = &found.held.iter().find(|row| row.comm == "H").expect("H is held up");
    assert_eq!((held.own.ns, held.chain.ns), (2_000, 30_000));
    let (longest, link) = (&found.longest[0], &found.longest[0].links[0]);
    assert_eq!((longest.who.prio, link.who.comm.as_str(), link.ns), (Some(49), "L", 30_000));
    assert_eq!((link.behind[0].who.comm.as_str(), link.behind[0].who.prio), ("M", Some(89)));
    assert_eq!((inverted("preempt").total.waits, inverted("chain").total.waits), (0, 0));
}

fn worked(name: &str) -> Kworkers {
    kworkers(&mut open(name, kworkers::wanted()), &KworkersOptions::default()).expect("readable to its end")
}

fn mapped(name: &str) -> Overview {
    overview(&mut open(name, map::wanted()), &OverviewOptions::default()).expect("readable to its end")
}

fn queued(name: &str) -> Queues {
    queues(&mut open(name, queues::wanted()), &QueuesOptions::default()).expect("readable to its end")
}

/// Times of all CPUs add up, and what is known of runs and waits is in the lengths.
#[test]
fn lengths_add_up_to_runs_and_waits() {
    for name in TRACES {
        let (found, waits) = (queued(name), latencies(name).total);
        for row in found.cpus.iter().chain([&found.all]) {
            let lengths = row.at_ns.iter().enumerate().map(|(length, ns)| length as u64 * ns).sum::<u64>();
            assert_eq!(row.at_ns.iter().sum::<u64>(), row.known_ns, "{name}");
            assert_eq!(lengths, row.running_ns + row.waiting_ns, "{name}");
        }
        if found.trace.gaps > 0 {
            continue;
        }
        let ran = states(&mut open(name, states::wanted()), &Scope::default(), None).expect("readable").rows;
        assert_eq!(found.all.running_ns, ran.iter().map(|row| row.running_ns).sum::<u64>(), "{name}");
        let placed = waits.placement.histogram.sum_ns;
        let counted = found.all.waiting_ns + found.missed_ns - found.unfinished_ns - found.censored_ns;
        let waited = waits.wakeup.histogram.sum_ns + waits.preempt.histogram.sum_ns;
        // Up to the first sched_wakeup a placement counts.
        assert!(counted <= waited && counted + placed >= waited, "{name}: {counted} of {waited}, placing {placed}");
    }
}

#[test]
fn work_is_late_for_its_kworker_and_for_what_that_does() {
    let found = worked("work_items");
    let rows: Vec<_> =
        found.functions.iter().map(|row| (row.function.as_str(), row.latency.max_ns, row.parts)).collect();
    let [(f, f_ns, f_parts), (g, g_ns, g_parts)] = rows[..] else { panic!("two functions: {rows:?}") };
    assert_eq!((f, f_ns, f_parts.waiting_ns, f_parts.other_ns), ("f", Some(11_000), 8_000, 3_000));
    assert_eq!((g, g_ns, g_parts.busy_ns, g_parts.other_ns), ("g", Some(9_000), 9_000, 0));
    assert!(!worked("preempt").by_function);
}

/// A line that is too wide for a terminal of 80 columns, of the pages that are printed so.
fn wide(pages: &str) -> Option<&str> {
    let narrow = ["blame", "chains", "inversions", "kworkers", "affine", "map, in slices", "queues"];
    let page = |page: &&str| narrow.iter().any(|title| page.starts_with(&format!("{title}\n")));
    pages.split("=== ").filter(page).flat_map(str::lines).find(|line| line.chars().count() > 80)
}

#[test]
fn every_page_of_every_golden_trace_is_as_it_was() {
    for entry in std::fs::read_dir(dir()).expect("golden traces") {
        let path = entry.expect("readable").path();
        if !is_trace(&path) {
            continue;
        }
        let name = path.file_stem().and_then(|s| s.to_str()).expect("a plain name").to_owned();
        let (is, golden) = (pages(&name), path.with_extension("out"));
        assert_eq!(wide(&is), None, "{name}: a line of a page for 80 columns is wider");
        if std::env::var_os("SCHEDLAB_BLESS").is_some() {
            std::fs::write(&golden, &is).expect("written");
        }
        let was = std::fs::read_to_string(&golden).unwrap_or_default();
        assert!(is == was, "{name} differs; look at it, then bless it:\n{is}");
    }
}

/// What `check` says first of the lines of a text trace.
fn believed(lines: &str) -> String {
    believed_of(&checked(lines))
}

fn checked(lines: &str) -> check::Check {
    let mut reader = Reader::open("made", Box::new(lines.as_bytes().to_vec()), check::wanted()).expect("a trace");
    check(&mut reader).expect("readable")
}

fn believed_of(found: &check::Check) -> String {
    let mut out = Vec::new();
    trace_check(found).text(240, false, &mut out).expect("written");
    String::from_utf8(out).expect("UTF-8").lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_loss_that_nobody_counted_is_a_loss() {
    let switch = |s: u32, from: &str, to: &str| {
        let task = |which: &str, task: &str| {
            let (comm, tid) = task.split_once('-').expect("a name and an id");
            format!("{which}_comm={comm} {which}_pid={tid} {which}_prio=120")
        };
        let (prev, next) = (task("prev", from), task("next", to));
        format!("{from} [000] d..2. {s}.000000: sched_switch: {prev} prev_state=R ==> {next}\n")
    };
    let (first, second) = (switch(1, "A-10", "B-11"), switch(2, "B-11", "A-10"));
    assert!(believed(&format!("{first}{second}")).starts_with("No event is missing as far as can be told"));
    assert_eq!(
        believed(&format!("{first}CPU:0 [EVENTS DROPPED]\n{second}")),
        "Events are missing: 1 loss reported without a count, 0 switches that do not follow the one before, 0 clocks that went back."
    );
    assert_eq!(
        believed(&format!("{first}CPU:0 [LOST 7 EVENTS]\n{second}")),
        "Events are missing: 7 reported lost, 0 switches that do not follow the one before, 0 clocks that went back."
    );
    assert_eq!(
        believed(&format!(
            "{first}CPU:0 [EVENTS DROPPED]\n{second}CPU:0 [LOST 7 EVENTS]\n{}",
            switch(3, "A-10", "B-11")
        )),
        "Events are missing: 7 reported lost, 1 loss reported without a count, 0 switches that do not follow the one before, 0 clocks that went back."
    );
    // Where the kernel counted what its rings refused, that is the number, and the loss is in it.
    let mut counted = checked(&format!("{first}CPU:0 [EVENTS DROPPED]\n{second}"));
    counted.reported_lost = 612;
    assert_eq!(
        believed_of(&counted),
        "Events are missing: 612 reported lost, 0 switches that do not follow the one before, 0 clocks that went back."
    );
    // Behind which no event comes, so that no gap ends.
    let at_the_end = believed(&format!("{first}{second}CPU:0 [EVENTS DROPPED]\n"));
    assert!(at_the_end.starts_with("Events are missing: "), "{at_the_end}");
    // What was lost before a CPU's first event does not make the trace longer.
    let behind_loss = format!("CPU:0 [LOST 7 EVENTS]\n{first}{second}").into_bytes();
    let found = check(&mut Reader::open("made", Box::new(behind_loss), check::wanted()).expect("a trace")).unwrap();
    assert_eq!((found.trace.start_ns, found.trace.length_ns), (1_000_000_000, 1_000_000_000));
    let cpu = &found.cpus[0];
    assert_eq!((cpu.first_at_ns, cpu.gaps, cpu.gaps_ns, cpu.lost), (1_000_000_000, 1, 0, 7));
    let woken = "A-10 [000] d..2. 3.000000: sched_waking: comm=B pid=11 prio=120 target_cpu=000\n";
    assert_eq!(
        believed(woken),
        "No switch is in the trace: nothing can be told about tasks. No event is missing as far as can be told: none is reported lost."
    );
    let unread = believed(&format!("{first}{}{second}", first.replace("prev_pid=10", "prev_pid=ten")));
    assert!(unread.starts_with("Events may be missing: 1 part of the file could not be read."), "{unread}");
}

fn paired(name: &str) -> CopiesOfArms {
    let copy = |copy, first, operations| CopyTasks { copy, tids: [first, first + 1], operations };
    let order = CopiesOrder { copies: vec![copy(0, 10, 30), copy(1, 12, 10)], steady: (100_000, 200_000), slices: 20 };
    let found = copies(&mut open(name, copies::wanted()), &order).expect("readable to its end");
    CopiesOfArms::new(vec![("free".into(), vec![found])])
}

#[test]
fn copies_are_told_beside_their_scores() {
    let found = paired("copies");
    let rows = &found.arms[0].trials[0].copies;
    // Together but from 140 to 170; A waits 10 and 20, B 10 and 10, and C, whose partner is not seen, 25.
    assert_eq!((rows[0].co_located_share, rows[0].flips, rows[0].queue_delay_ns), (Some(0.7), 2, [30_000, 20_000]));
    assert_eq!((rows[1].co_located_share, rows[1].queue_delay_ns, rows[1].relative), (None, [25_000, 0], 0.5));
    let mut page = Vec::new();
    trace_copies(&found, 1).text(80, false, &mut page).expect("a Vec takes every byte");
    let is = String::from_utf8(page).expect("pages are UTF-8");
    assert!(is.lines().all(|line| line.chars().count() <= 80), "{is}");
    let golden = dir().join("copies.pairs");
    if std::env::var_os("SCHEDLAB_BLESS").is_some() {
        std::fs::write(&golden, &is).expect("written");
    }
    let was = std::fs::read_to_string(&golden).unwrap_or_default();
    assert!(is == was, "the page differs; look at it, then bless it:\n{is}");
    let picture = trace_copies_svg(&found, "out/copies");
    assert!(picture.contains("copy 1") && picture.contains("1.50 of the mean"), "{picture}");
}

#[test]
fn the_work_of_an_arm_is_that_of_all_of_its_traces() {
    let mut pooled = PooledKworkers::new();
    pooled.arm("once", &[worked("work_items")]);
    pooled.arm("many times", &vec![worked("work_items"); 30]);
    let functions = pooled.by_function(20);
    assert_eq!(functions.len(), 2);
    let [(_, once), (_, many)] = functions[0][..] else { panic!("both arms: {functions:?}") };
    assert_eq!((once.function.as_str(), once.latency.count, many.latency.count), ("f", 1, 30));
    assert_eq!((once.latency.max_ns, many.latency.max_ns), (Some(11_000), Some(11_000)));
    assert_eq!(many.parts.waiting_ns, 30 * once.parts.waiting_ns);
    assert_eq!(many.longest, once.longest);
    let mut page = Vec::new();
    pooled_kworkers(&pooled, 1).text(80, false, &mut page).expect("a Vec takes every byte");
    let page = String::from_utf8(page).expect("pages are UTF-8");
    assert!(page.contains("f on events") && page.contains("1 more functions"), "{page}");
    let picture = pooled_kworkers_svg(&pooled, "out/run");
    assert!(
        picture.contains("out/run</text>") && picture.contains("many times") && picture.contains("11.00 µs"),
        "{picture}"
    );
}

#[test]
fn filters_leave_out_tasks_times_and_cpus() {
    let of = |options: &LatencyOptions| {
        let found = latency(&mut open("lost_cpu_window", latency::wanted()), options).expect("readable");
        (found.rows.iter().map(|r| r.comm.clone()).collect::<Vec<_>>(), found.total.wakeup.count)
    };
    let tasks =
        |comms: &[&str]| TaskFilter { comms: comms.iter().map(|c| (*c).to_owned()).collect(), ..TaskFilter::default() };
    let scoped = |scope: Scope| of(&LatencyOptions { scope, ..LatencyOptions::default() });
    assert_eq!(scoped(Scope { tasks: tasks(&["B"]), ..Scope::default() }), (vec!["B".into()], 1));
    assert_eq!(scoped(Scope { tasks: tasks(&["A"]), ..Scope::default() }), (vec!["A".into()], 0));
    let members = TaskFilter { within: Some([11].into()), ..TaskFilter::default() };
    assert_eq!(scoped(Scope { tasks: members, ..Scope::default() }), (vec!["B".into()], 1));
    let late = TimeWindow { from_ns: 32_000, ..TimeWindow::default() };
    assert_eq!(scoped(Scope { window: late, ..Scope::default() }).1, 0);
    let cpu_1 = TimeWindow { cpus: Some(vec![schedlab_trace::Cpu(1)]), ..TimeWindow::default() };
    assert_eq!(scoped(Scope { window: cpu_1, ..Scope::default() }).1, 1);
    let one_row = LatencyOptions { top: Some(1), ..LatencyOptions::default() };
    let found = latency(&mut open("lost_cpu_window", latency::wanted()), &one_row).expect("readable");
    assert_eq!((found.rows.len(), found.more_rows), (1, 1));
}

#[test]
fn states_and_priorities_select_what_each_page_says() {
    const TRACE: &str = "rt_inversion";
    let scope = |state: &str, prio: &str| {
        let mut scope = Scope::default();
        let states = if state.is_empty() { Ok(()) } else { scope.set_states(state) };
        let prios = if prio.is_empty() { Ok(()) } else { scope.set_prios(prio) };
        states.and(prios).expect("a filter");
        scope
    };
    let waits = |state, prio| {
        let options = LatencyOptions { scope: scope(state, prio), ..LatencyOptions::default() };
        let found = latency(&mut open(TRACE, latency::wanted()), &options).expect("readable");
        (found.total.wakeup.count, found.total.preempt.count, found.rows.len())
    };
    assert_eq!(
        [waits("R", ""), waits("R+", ""), waits("D", ""), waits("S", "")],
        [(0, 2, 1), (0, 1, 1), (1, 0, 1), (0, 0, 0)]
    );
    assert_eq!([waits("", "rt"), waits("", "fair"), waits("R", "rt")], [(1, 0, 1), (0, 2, 1), (0, 0, 0)]);
    let lines = |state, prio| {
        let mut comms = String::new();
        let mut each = |row: &schedlab_analyze::trace::TimehistRow| {
            comms.push_str(&row.comm);
            true
        };
        timehist(&mut open(TRACE, timehist::wanted()), &scope(state, prio), &mut each).expect("readable");
        comms
    };
    assert_eq!([lines("S", ""), lines("R", ""), lines("R+", ""), lines("", "rt")], ["MHL", "LL", "L", "MH"]);
    let rows = |state, prio| {
        let found = states(&mut open(TRACE, states::wanted()), &scope(state, prio), None).expect("readable");
        found.rows.iter().map(|row| row.comm.clone()).collect::<String>()
    };
    assert_eq!([rows("D", ""), rows("S", ""), rows("R", ""), rows("", "rt")], ["H", "", "LH", "MH"]);
    let mut letters = Vec::new();
    let mut each = |row: &schedlab_analyze::trace::MapRow| {
        letters.push(row.letters.clone());
        true
    };
    map(&mut open(TRACE, map::wanted()), &scope("", "rt"), &mut each).expect("readable");
    assert_eq!(letters, ["-", "A0", "-", "B0", "-", "."]);
    let options = OverviewOptions { scope: scope("", "fair"), ..OverviewOptions::default() };
    let found = overview(&mut open(TRACE, map::wanted()), &options).expect("readable");
    assert_eq!(found.signs.iter().map(|sign| sign.comm.as_str()).collect::<Vec<_>>(), ["L"]);
}

#[test]
fn the_json_is_complete() {
    let found = serde_json::to_value(latencies("waking_before_switch")).expect("JSON");
    assert_eq!(found["schema"], "schedlab/trace-latency/1");
    assert_eq!(found["rows"][0]["wakeup"]["max_ns"], 4000);
    assert_eq!(found["rows"][0]["queueing"]["max_ns"], 2000);
    assert_eq!(found["total"]["wakeup"]["histogram"]["max_ns"], 4000);
    assert!(found["definitions"].as_array().is_some_and(|d| d.iter().any(|d| d["id"] == "wakeup/1")));
}

/// What a recorder found when it began has no time: it is not where the stretches of a trace begin.
#[test]
fn the_stretches_of_a_trace_are_of_the_time_that_it_is_of() {
    use schedlab_analyze::trace::diff::{look, wanted};
    for name in TRACES {
        let looked = look(&mut open(name, wanted())).expect("readable");
        let trace = blame(&mut open(name, wanted()), &BlameOptions::default()).expect("readable").trace;
        let span = (trace.start_ns, trace.start_ns + trace.length_ns);
        assert_eq!(looked.span().unwrap_or_default(), span, "{name}");
    }
}

/// Each golden trace beside each other: a refusal is a sentence, a page is as wide as it may be, and the other way round
/// every change has the other sign.
#[test]
fn every_pair_of_golden_traces_is_compared_or_refused_in_a_sentence() {
    use schedlab_analyze::trace::diff::{compared, look, measure, wanted};
    use schedlab_analyze::trace::{DiffOptions, diff};
    let looked = TRACES.map(|name| (name.to_owned(), look(&mut open(name, wanted())).expect("readable")));
    let options = DiffOptions { top: Some(usize::MAX), ..DiffOptions::default() };
    let beside = |a: usize, b: usize| {
        let used = compared(&looked[a..=a], &looked[b..=b])?;
        let of = |at: usize| {
            let (name, looked) = &looked[at];
            let found = measure(name, &mut open(name, used.kinds), &options, Some(*looked));
            vec![found.expect("readable")]
        };
        diff(&of(a), &of(b), &used, &options)
    };
    let (mut pages, mut refused) = (0, 0);
    for (a, _) in TRACES.iter().enumerate() {
        for b in (0..=a).rev().step_by(if a % 4 == 0 { 1 } else { 5 }) {
            match (beside(a, b), beside(b, a)) {
                (Ok(there), Ok(back)) => {
                    let changes = |found: &schedlab_analyze::trace::TraceDiff| {
                        let rows = found.tables.iter().flat_map(|table| table.rows.clone());
                        rows.flat_map(|row| row.changes.into_iter().map(move |c| (row.name.clone(), c)))
                            .collect::<Vec<_>>()
                    };
                    for ((name, there), (_, back)) in changes(&there).into_iter().zip(changes(&back)) {
                        assert_eq!((there.a, there.b, there.says), (back.b, back.a, back.says), "{name} {a} {b}");
                    }
                    let mut page = Vec::new();
                    schedlab_report::trace_diff(&there).text(100, false, &mut page).expect("a Vec takes every byte");
                    let page = String::from_utf8(page).expect("UTF-8");
                    assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
                    let mut html = Vec::new();
                    schedlab_report::trace_diff(&there).html("trace diff", &mut html).expect("a Vec takes every byte");
                    assert!(String::from_utf8(html).expect("UTF-8").ends_with("</html>\n"));
                    pages += 1;
                }
                (Err(why), Err(_)) => {
                    let why = why.to_string();
                    let mends = ["name ", "record"];
                    assert!(mends.iter().any(|mend| why.contains(mend)) && !why.contains('\n'), "{why}");
                    refused += 1;
                }
                (there, _) => panic!("{} and {} only one way round: {:?}", TRACES[a], TRACES[b], there.err()),
            }
        }
    }
    assert!(pages > 50 && refused > TRACES.len(), "{pages} pages, {refused} refused");
}
