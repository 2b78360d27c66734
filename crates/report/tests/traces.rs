//! Golden traces: tiny, hand-written, with a description in the first line. The expected answers are in this file; the
//! output of each analysis is in `traces/pages`, which `SCHEDLAB_BLESS=1 cargo test -p schedlab-report` writes again.
//! Binary traces are dumps that `crates/trace/src/golden.rs` writes.

mod dumps;
mod of_traces;
mod pages;
mod told;

use dumps::{dir, is_trace, open};
use schedlab_analyze::trace::copies::CopyTasks;
use schedlab_analyze::trace::{
    AnalysisRequest, Blame, Chains, Completeness, CopiesOfArms, CopiesOrder, Inversions, Kworkers, Latency, Losses,
    Overview, PooledKworkers, Queues, Reader, Scope, TaskFilter, TimeWindow, blame, cgroup_members, cgroups, chains,
    check, copies, inversions, kworkers, latency, map, overview, perf_latency, queues, states, timehist,
};
use schedlab_report::{
    map_line, perf_latency_text, pooled_kworkers, pooled_kworkers_svg, timehist_header, timehist_line, trace_check,
    trace_copies, trace_copies_svg, trace_kworkers, trace_latency, trace_overview,
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
    latency(&mut open(name, latency::wanted()), &AnalysisRequest::default()).expect("readable to its end")
}

/// Waits after wakeups and after preemptions: number, longest in ns, censored by reason.
fn answer(name: &str) -> [(u64, u64, [u64; 3]); 2] {
    let total = latencies(name).total;
    [&total.wakeup, &total.preempt].map(|waits| (waits.count, waits.max_ns.unwrap_or(0), waits.censored))
}

fn blames(name: &str) -> Blame {
    blame(&mut open(name, blame::wanted()), &AnalysisRequest::default()).expect("readable to its end")
}

fn chained(name: &str) -> Chains {
    chains(&mut open(name, chains::wanted()), &AnalysisRequest::default()).expect("readable to its end")
}

fn inverted(name: &str) -> Inversions {
    let options = AnalysisRequest::default();
    inversions(&mut open(name, inversions::wanted()), &options).expect("readable to its end")
}

fn worked(name: &str) -> Kworkers {
    kworkers(&mut open(name, kworkers::wanted()), &AnalysisRequest::default()).expect("readable to its end")
}

fn mapped(name: &str) -> Overview {
    overview(&mut open(name, map::wanted()), &AnalysisRequest::default()).expect("readable to its end")
}

fn queued(name: &str) -> Queues {
    queues(&mut open(name, queues::wanted()), &AnalysisRequest::default()).expect("readable to its end")
}

#[test]
fn every_page_of_every_golden_trace_is_as_it_was() {
    let stems = std::fs::read_dir(dir()).expect("golden traces").map(|entry| entry.expect("readable").path());
    let stems = stems.filter(|path| is_trace(path)).map(|path| path.file_stem().expect("a name").to_owned());
    let mut names: Vec<String> = stems.map(|stem| stem.into_string().expect("UTF-8")).collect();
    names.sort_unstable();
    for (analysis, page) in pages::all() {
        let mut is = String::new();
        for name in &names {
            let page = page(name);
            assert_eq!(pages::wide(analysis, &page), None, "{analysis} of {name}: a line is wider than its terminal");
            is += &format!("=== {name}\n{page}");
        }
        let golden = dir().join(format!("pages/{analysis}.out"));
        if std::env::var_os("SCHEDLAB_BLESS").is_some() {
            std::fs::write(&golden, &is).expect("written");
        }
        let was = std::fs::read_to_string(&golden).unwrap_or_default();
        let line = was.lines().zip(is.lines()).find(|(was, is)| was != is);
        assert!(is == was, "{} differs; look at it, then bless it: {line:?}", golden.display());
    }
}

/// The first line of `check` for a text trace.
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
    assert!(believed(&format!("{first}{second}")).starts_with("No missing events found"));
    assert_eq!(
        believed(&format!("{first}CPU:0 [EVENTS DROPPED]\n{second}")),
        "Events are missing: 1 loss reported without a count, 0 switches that do not follow the one before, 0 times a clock went back."
    );
    assert_eq!(
        believed(&format!("{first}CPU:0 [LOST 7 EVENTS]\n{second}")),
        "Events are missing: 7 reported lost, 0 switches that do not follow the one before, 0 times a clock went back."
    );
    assert_eq!(
        believed(&format!(
            "{first}CPU:0 [EVENTS DROPPED]\n{second}CPU:0 [LOST 7 EVENTS]\n{}",
            switch(3, "A-10", "B-11")
        )),
        "Events are missing: 7 reported lost, 1 loss reported without a count, 0 switches that do not follow the one before, 0 times a clock went back."
    );
    // If the kernel counted the events that its ring buffers rejected, that number is used.
    let mut counted = checked(&format!("{first}CPU:0 [EVENTS DROPPED]\n{second}"));
    counted.losses = Losses { events: 612, ..Losses::default() };
    assert_eq!(
        believed_of(&counted),
        "Events are missing: 612 reported lost, 0 switches that do not follow the one before, 0 times a clock went back."
    );
    // No loss is reported, and half of the switches do not follow from the previous one.
    let filtered = believed(&format!("{first}{}", switch(2, "C-12", "A-10")));
    assert!(filtered.ends_with("trace-cmd -P), that is why."), "{filtered}");
    // No event comes after the loss, so the gap does not end.
    let at_the_end = believed(&format!("{first}{second}CPU:0 [EVENTS DROPPED]\n"));
    assert!(at_the_end.starts_with("Events are missing: "), "{at_the_end}");
    // Events lost before a CPU's first event do not make the trace longer.
    let behind_loss = format!("CPU:0 [LOST 7 EVENTS]\n{first}{second}").into_bytes();
    let found = check(&mut Reader::open("made", Box::new(behind_loss), check::wanted()).expect("a trace")).unwrap();
    assert_eq!((found.trace.start_ns, found.trace.length_ns), (1_000_000_000, 1_000_000_000));
    let cpu = &found.cpus[0];
    assert_eq!((cpu.first_at_ns, cpu.gaps, cpu.gaps_ns, cpu.lost), (1_000_000_000, 1, 0, 7));
    let woken = "A-10 [000] d..2. 3.000000: sched_waking: comm=B pid=11 prio=120 target_cpu=000\n";
    assert_eq!(
        believed(woken),
        "The trace has no switches: nothing is known about tasks. No missing events found: none was reported lost."
    );
    // Perfetto lost packets whose content is not known.
    let mut perhaps = checked(&format!("{first}{second}"));
    perhaps.completeness = Completeness::MayBeMissing;
    assert_eq!(
        believed_of(&perhaps),
        "Events may be missing: the recorder lost data that may have held some, and each switch follows the one before."
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
fn the_json_is_complete() {
    let found = serde_json::to_value(latencies("waking_before_switch")).expect("JSON");
    assert_eq!(found["schema"], "schedlab/trace-latency/1");
    assert_eq!(found["rows"][0]["wakeup"]["max_ns"], 4000);
    assert_eq!(found["rows"][0]["queueing"]["max_ns"], 2000);
    assert_eq!(found["total"]["wakeup"]["histogram"]["max_ns"], 4000);
    assert!(found["definitions"].as_array().is_some_and(|d| d.iter().any(|d| d["id"] == "wakeup/1")));
}

/// Events about the state before the recording have no time: the stretches of a trace do not begin there.
#[test]
fn the_stretches_of_a_trace_are_of_the_time_that_it_is_of() {
    use schedlab_analyze::trace::diff::{look, wanted};
    for name in TRACES {
        let looked = look(&mut open(name, wanted())).expect("readable");
        let trace = blame(&mut open(name, wanted()), &AnalysisRequest::default()).expect("readable").trace;
        let span = (trace.start_ns, trace.start_ns + trace.length_ns);
        assert_eq!(looked.span().unwrap_or_default(), span, "{name}");
    }
}

/// Every pair of golden traces is compared: a refusal is a sentence, a page has the allowed width, and with the sides
/// exchanged every change has the opposite sign.
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
                    let fixes = ["name ", "record"];
                    assert!(fixes.iter().any(|fix| why.contains(fix)) && !why.contains('\n'), "{why}");
                    refused += 1;
                }
                (there, _) => panic!("{} and {} only one way round: {:?}", TRACES[a], TRACES[b], there.err()),
            }
        }
    }
    assert!(pages > 50 && refused > TRACES.len(), "{pages} pages, {refused} refused");
}
