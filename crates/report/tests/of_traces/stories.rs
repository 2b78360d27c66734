//! The known answers for each golden trace.

use crate::*;

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
        ("lost_waking", [(1, 2_000, [2, 0, 0]), NONE]),
        ("loss_on_the_wakers_cpu", [(0, 0, [2, 0, 1]), NONE]),
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
    let options = AnalysisRequest { scope: Scope { tasks, ..Scope::default() }, ..AnalysisRequest::default() };
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

/// The times of all CPUs add up, and the lengths include all known runs and waits.
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
        let ran = states(&mut open(name, states::wanted()), &AnalysisRequest::default()).expect("readable").rows;
        assert_eq!(found.all.running_ns, ran.iter().map(|row| row.running_ns).sum::<u64>(), "{name}");
        let placed = waits.placement.histogram.sum_ns;
        let counted = found.all.waiting_ns + found.missed_ns - found.unfinished_ns - found.censored_ns;
        let waited = waits.wakeup.histogram.sum_ns + waits.preempt.histogram.sum_ns;
        // Before the first sched_wakeup, placement counts as queueing.
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

#[test]
fn copies_are_told_beside_their_scores() {
    let found = paired("copies");
    let rows = &found.arms[0].trials[0].copies;
    // Together except from 140 to 170; A waits 10 and 20, B 10 and 10, and C, whose partner does not occur, 25.
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
