//! Comparison of two traces, or of two sets: of a simulated CPU on which a worker sleeps and wakes, with a burner or
//! without.

use schedlab_analyze::trace::diff::{
    Compared, DiffError, ROWS, TraceMetrics, TraceSurvey, compared, decides, look, measure, wanted,
};
use schedlab_analyze::trace::{DiffOptions, Reader, TaskFilter, TraceDiff, diff};
use schedlab_plan::json::small;
use schedlab_stats::Random;
use std::fmt::Write;

use Otherwise::{Gone, Idle};

/// The parameters of a simulated trace.
#[derive(Clone, Copy)]
struct Shape {
    seed: u64,
    burner: bool,
    wakings: u64,
}

/// The name and id of a thread; those of the idle thread name nobody.
type Thread = (&'static str, u32);
const IDLE: Thread = ("swapper/0", 0);
const WORKER: Thread = ("worker-7", 17);
const BURNER: Thread = ("burner", 99);

fn line(out: &mut String, (ns, (comm, tid)): (u64, Thread), event: &str) {
    let (seconds, micros, rest) = (ns / 1_000_000_000, ns / 1000 % 1_000_000, ns % 1000);
    writeln!(out, "{comm}-{tid} [000] d..2. {seconds}.{micros:06}{rest:03}: {event}").unwrap();
}

fn switch(out: &mut String, at: u64, (from, state): (Thread, &str), to: Thread) {
    let ((a, x), (b, y)) = (from, to);
    let event = format!(
        "sched_switch: prev_comm={a} prev_pid={x} prev_prio=120 prev_state={state} ==> next_comm={b} next_pid={y} next_prio=120"
    );
    line(out, (at, from), &event);
}

/// A worker wakes about once a millisecond and runs for 0.2 to 0.4 ms; otherwise a burner has the CPU, and sometimes
/// keeps it.
fn text(Shape { seed, burner, wakings }: Shape) -> String {
    of_parts(seed, &[(burner, wakings)])
}

/// The same in parts, each with the burner or without.
fn of_parts(seed: u64, parts: &[(bool, u64)]) -> String {
    let (mut draw, mut out, mut now) = (Random::new(seed), String::new(), 1_000_000_000 + seed * 60_000_000_000);
    for &(burner, wakings) in parts {
        part(&mut out, &mut now, &mut draw, burner, wakings);
    }
    out
}

fn part(out: &mut String, now: &mut u64, draw: &mut Random, burner: bool, wakings: u64) {
    let mut between = |from: u64, to: u64| from + draw.below((to - from) as usize) as u64;
    let (other, state) = if burner { (BURNER, "R") } else { (IDLE, "R") };
    switch(out, *now, (WORKER, "S"), other);
    for _ in 0..wakings {
        *now += between(500_000, 900_000);
        for event in ["sched_waking", "sched_wakeup"] {
            line(out, (*now, other), &format!("{event}: comm=worker-7 pid=17 prio=120 target_cpu=000"));
            *now += 1000;
        }
        *now += between(5_000, 20_000) + if burner && between(0, 10) < 4 { between(50_000, 500_000) } else { 0 };
        switch(out, *now, (other, state), WORKER);
        *now += between(200_000, 400_000);
        switch(out, *now, (WORKER, "S"), other);
    }
}

fn plain(seed: u64) -> String {
    text(Shape { seed, burner: false, wakings: 1000 })
}

fn burning(seed: u64) -> String {
    text(Shape { seed, burner: true, wakings: 1000 })
}

/// In the same way as the command.
fn compare(a: &[String], b: &[String], options: &DiffOptions) -> Result<TraceDiff, DiffError> {
    let (used, a, b) = measured(a, b, options)?;
    diff(&a, &b, &used, options)
}

fn measured(
    a: &[String],
    b: &[String],
    options: &DiffOptions,
) -> Result<(Compared, Vec<TraceMetrics>, Vec<TraceMetrics>), DiffError> {
    let open = |text: &str, kinds| Reader::open("trace", Box::new(text.as_bytes().to_vec()), kinds);
    let name = |side: &str, at: usize| format!("{side}{}", at + 1);
    let looked = |side: &str, texts: &[String]| -> Vec<_> {
        let each = texts.iter().enumerate();
        each.map(|(at, text)| (name(side, at), look(&mut open(text, wanted()).unwrap()).unwrap())).collect()
    };
    let (of_a, of_b) = (looked("a", a), looked("b", b));
    let used = compared(&of_a, &of_b)?;
    let few = !decides([a.len(), b.len()]);
    let measured = |looked: &[(String, TraceSurvey)], texts: &[String]| -> Vec<TraceMetrics> {
        let one = |((name, looked), text): (&(String, TraceSurvey), &String)| {
            measure(name, &mut open(text, used.kinds).unwrap(), options, few.then_some(*looked)).unwrap()
        };
        looked.iter().zip(texts).map(one).collect()
    };
    let (a, b) = (measured(&of_a, a), measured(&of_b, b));
    Ok((used, a, b))
}

fn found(a: &[String], b: &[String]) -> TraceDiff {
    compare(a, b, &DiffOptions::default()).unwrap()
}

/// A number in a row of a table.
fn number(found: &TraceDiff, about: &str, name: &str, of: &str) -> (Option<f64>, Option<f64>, &'static str) {
    let table = found.tables.iter().find(|table| table.about == about).expect("a table");
    let row = table.rows.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no {name} in {about}"));
    let change = row.changes.iter().find(|change| change.of == of).expect("a number");
    (change.a, change.b, change.says)
}

#[test]
fn a_planted_burner_is_the_first_line_of_one_trace_a_side() {
    let found = found(&[plain(1)], &[burning(2)]);
    assert_eq!((found.basis, found.named[0].as_str(), found.judged), ("description", "burner", 0));
    let first = &found.tables[0].rows[0];
    assert_eq!((first.name.as_str(), first.only), ("burner", Some("B")));
    let (a, b, says) = number(&found, "threads", "burner", "ran");
    assert!(a == Some(0.0) && says == "apart" && b.unwrap() > 5e8, "{a:?} {b:?} {says}");
    // The burner holds up the worker and nobody else.
    let (_, behind, _) = number(&found, "threads", "burner", "behind");
    let (_, waited, says) = number(&found, "waits", "worker-*", "waited");
    assert!((behind.unwrap() - waited.unwrap()).abs() < 0.05 * waited.unwrap(), "{behind:?} {waited:?}");
    assert_eq!(says, "apart");
    let shift = found.shifts.iter().find(|shift| shift.name == "worker-*").expect("a shift function");
    let at = |tenth: usize| shift.deciles[tenth - 1];
    // Six of ten waits are as long as without the burner; the others are up to half a millisecond longer.
    assert!((at(3).b_ns / at(3).a_ns - 1.0).abs() < 0.4, "{:?}", at(3));
    assert!(at(9).b_ns > 10.0 * at(9).a_ns, "{:?}", at(9));
    assert_eq!(shift.deciles.len(), 9);
}

/// On a busy host, a burner may have the CPU for a fifth of one trace and for nearly all of another.
#[test]
fn what_ran_in_all_traces_of_one_side_alone_moved_however_much_it_varies() {
    let busy = |seed: u64, burner: bool| {
        let quiet = if burner { 40 * (seed % 5) } else { 0 };
        of_parts(seed, &[(false, quiet), (burner, 200 - quiet)])
    };
    let set = |from: u64, burner: fn(u64) -> bool| -> Vec<String> {
        (from..from + 6).map(|seed| busy(seed, burner(seed))).collect()
    };
    let found = found(&set(1, |_| false), &set(11, |_| true));
    let ran = &found.tables[0].rows[0].changes[0];
    // One of the 924 ways to divide the traces, and its mirror, in one of two sets of judgements.
    assert_eq!((found.named[0].as_str(), ran.says), ("burner", "moved"), "{:?}", found.tables[0]);
    assert!((ran.p.unwrap() - 4.0 / 924.0).abs() < 1e-5, "{ran:?}");
    // With half of these traces on each side, the burner is in six of twelve traces again, but no difference is left.
    let mixed = compare(&set(1, |n| n % 2 == 0), &set(11, |n| n % 2 == 0), &DiffOptions::default()).unwrap();
    assert!(!mixed.named.contains(&"burner".to_owned()), "{:?}", mixed.named);
    assert_eq!(mixed.tables[0].rows.iter().find(|row| row.name == "burner").unwrap().changes[0].p, Some(1.0));
}

/// Ten traces with daemons, which are perfectly steady in some of the traces and missing or idle in the others. Of all
/// 126 ways to divide the traces into two sides, which are all equivalent, one in twenty may name something.
#[test]
fn daemons_that_come_and_go_are_not_called_moved_by_any_of_their_numbers() {
    for (daemons, traces, otherwise) in [(20, 5, Gone), (12, 5, Idle), (12, 6, Idle)] {
        let mut random = Random::new(3);
        let mut of_daemon = || {
            let mut all: Vec<usize> = (0..10).collect();
            random.shuffle(&mut all);
            all[..traces].to_vec()
        };
        let there: Vec<Vec<usize>> = (0..daemons).map(|_| of_daemon()).collect();
        let texts: Vec<String> = (0..10).map(|trace| with_daemons(trace, &there, otherwise)).collect();
        let options = DiffOptions::default();
        let (used, a, b) = measured(&texts[..5], &texts[5..], &options).unwrap();
        let all = [a, b].concat();
        let mut named = 0;
        for set in (0u32..1 << 10).filter(|set| set.count_ones() == 5 && set & 1 == 1) {
            let side = |of: u32| (0..10).filter(|at| set >> at & 1 == of).map(|at| all[at].clone()).collect::<Vec<_>>();
            named += u32::from(!diff(&side(1), &side(0), &used, &options).unwrap().named.is_empty());
        }
        assert!(named <= 6, "{daemons} daemons, {otherwise:?} in all but {traces} traces: {named} of 126");
    }
}

/// What a daemon does in the traces in which it is inactive.
#[derive(Clone, Copy, Debug)]
enum Otherwise {
    Gone,
    Idle,
}

/// A second in which each active daemon in turn waits for a millisecond behind `work` and then runs for one.
fn with_daemons(trace: usize, there: &[Vec<usize>], otherwise: Otherwise) -> String {
    let (mut random, mut out) = (Random::new(trace as u64), String::new());
    let mut now = 100_000_000_000 + trace as u64 * 10_000_000_000;
    let mut about_a_ms = || 900_000 + random.below(200_000) as u64;
    let end = now + 1_000_000_000;
    switch(&mut out, now, (IDLE, "R"), WORKER);
    while now < end {
        for (number, traces) in there.iter().enumerate() {
            now += 500_000;
            let share = match (traces.contains(&trace), otherwise) {
                (true, _) => 1,
                (false, Idle) => 40,
                (false, Gone) => {
                    now += 2_000_000;
                    continue;
                }
            };
            let daemon: Thread = (DAEMONS[number], 100 + number as u32);
            let (comm, pid) = daemon;
            line(&mut out, (now, WORKER), &format!("sched_waking: comm={comm} pid={pid} prio=120 target_cpu=000"));
            now += about_a_ms() / share;
            switch(&mut out, now, (WORKER, "R"), daemon);
            now += about_a_ms() / share;
            switch(&mut out, now, (daemon, "S"), WORKER);
        }
    }
    switch(&mut out, now, (WORKER, "S"), IDLE);
    out
}

const DAEMONS: [&str; 20] =
    ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"];

/// A thread that the filter names may be on one side only; if it is not among the named rows it is shown in addition,
/// however few rows are shown.
#[test]
fn a_thread_of_one_side_is_told() {
    let tasks = TaskFilter { comms: vec!["burner".into()], ..TaskFilter::default() };
    let asked = compare(&[plain(1)], &[burning(2)], &DiffOptions { tasks, ..DiffOptions::default() }).unwrap();
    assert_eq!((asked.named[0].as_str(), asked.tables[0].rows[0].only), ("burner", Some("B")));
    // For the others, only the waits behind them are known.
    let tasks = TaskFilter { comms: vec!["worker-*".into()], ..TaskFilter::default() };
    let worker = compare(&[plain(1)], &[burning(2)], &DiffOptions { tasks, ..DiffOptions::default() }).unwrap();
    let burner = worker.tables[0].rows.iter().find(|row| row.name == "burner").unwrap();
    assert_eq!((burner.only, burner.changes[0].a, burner.changes[0].b), (None, None, None));
    assert!(burner.changes[1].b.unwrap() > 0.0);
    let at_times = of_parts(2, &[(false, 500), (true, 500)]);
    let found = compare(&[plain(1)], &[at_times], &DiffOptions { top: Some(1), ..DiffOptions::default() }).unwrap();
    let told: Vec<(&str, Option<&str>)> = found.one_sided.iter().map(|row| (row.name.as_str(), row.only)).collect();
    assert_eq!((told, found.named), (vec![("burner", Some("B"))], vec![]));
}

#[test]
fn nothing_is_named_of_equal_traces_however_long_each_is() {
    for seed in 1..=10 {
        let long = text(Shape { seed: 100 + seed, burner: false, wakings: 2500 });
        let found = found(&[plain(seed)], &[long]);
        assert_eq!(found.named, Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn five_traces_a_side_have_a_verdict_and_fewer_have_none() {
    let set = |from: u64, of: fn(u64) -> String| -> Vec<String> { (from..from + 5).map(of).collect() };
    let (a, b) = (set(1, plain), set(11, burning));
    let forward = found(&a, &b);
    assert_eq!((forward.basis, forward.named[0].as_str()), ("verdict", "burner"));
    assert_eq!(number(&forward, "threads", "burner", "ran").2, "moved");
    assert!(forward.judged > 5);
    // The other way round the result is the same with opposite signs.
    let back = found(&b, &a);
    assert_eq!(forward.named, back.named);
    for (there, here) in forward.tables.iter().zip(&back.tables) {
        for (there, here) in there.rows.iter().flat_map(|r| &r.changes).zip(here.rows.iter().flat_map(|r| &r.changes)) {
            assert_eq!((there.change, there.a, there.says), (here.change.map(|x| 0.0 - x), here.b, here.says));
        }
    }
    let few = found(&a[..4], &b);
    assert_eq!((few.basis, few.judged), ("description", 0));
    let (table, says) = (&few.tables[0].rows[0].changes[0], number(&few, "threads", "burner", "ran").2);
    assert!(table.interval.is_some() && says == "apart", "{table:?}");
}

/// Twenty comparisons of equal sets at 5 %: one of them is expected to name something.
#[test]
fn equal_sets_are_seldom_called_moved() {
    let set = |from: u64| -> Vec<String> {
        (from..from + 5).map(|seed| text(Shape { seed, burner: false, wakings: 150 })).collect()
    };
    let false_names =
        (0..20).filter(|round| !found(&set(1 + 10 * round), &set(6 + 10 * round)).named.is_empty()).count();
    assert!(false_names <= 3, "{false_names} of 20");
}

#[test]
fn what_one_side_lacks_is_told_and_used_of_neither() {
    let without = |text: &str, event: &str| -> String {
        text.lines().filter(|line| !line.contains(event)).flat_map(|line| [line, "\n"]).collect()
    };
    let (a, b) = (without(&plain(1), "sched_waking:"), plain(2));
    let less = found(std::slice::from_ref(&a), std::slice::from_ref(&b));
    let seen =
        "sched_waking is in B and not in A, so it is used of no trace: waits after wakeups begin at sched_wakeup";
    assert!(less.remarks[0].starts_with(seen), "{:?}", less.remarks);
    // Both begin at the same event: B's waits are as long as those of A, and a microsecond shorter than before.
    let mean = |found: &TraceDiff, of: &str| number(found, "waits", "worker-*", of).1.unwrap();
    let all = found(&[plain(1)], std::slice::from_ref(&b));
    assert!((mean(&all, "wakeup_mean") - mean(&less, "wakeup_mean") - 1000.0).abs() < 10.0);
    assert_eq!(less.named, Vec::<String>::new());
    // With wakings in one trace and wakeups in the other, the waits have no comparable begin.
    let none = found(&[a], &[without(&b, "sched_wakeup:")]);
    let about: Vec<&str> = none.tables.iter().map(|table| table.about).collect();
    assert_eq!(about, ["threads", "waits", "queues"]);
    let waits: Vec<&str> = none.tables[1].rows[0].changes.iter().map(|change| change.of).collect();
    assert_eq!((waits, none.shifts.len()), (vec!["waited"], 0));
    assert!(none.remarks.iter().any(|text| text.ends_with("waits after wakeups are not compared")), "{none:?}");
}

#[test]
fn what_cannot_be_compared_is_refused_with_what_to_do() {
    let refused = |a: String, b: String| compare(&[a], &[b], &DiffOptions::default()).unwrap_err().to_string();
    assert!(refused(plain(1), plain(1)).starts_with("a1 and b1 are the same recording"));
    let twice = compare(&[plain(1), plain(1)], &[plain(2)], &DiffOptions::default()).unwrap_err().to_string();
    assert!(twice.starts_with("a1 and a2 are the same recording"), "{twice}");
    let strangers = refused(plain(1), plain(2).replace("worker-7", "somebody"));
    assert!(strangers.starts_with("no thread of A has a name that B has") && strangers.contains("give traces"));
    let wakings: String = plain(2).lines().filter(|l| !l.contains("sched_switch")).flat_map(|l| [l, "\n"]).collect();
    assert!(refused(plain(1), wakings).starts_with("b1 has no sched_switch"));
    let one = plain(2).lines().take(1).flat_map(|line| [line, "\n"]).collect::<String>();
    assert!(refused(plain(1), one).starts_with("b1 has all its events at one time"));
    let tasks = TaskFilter { comms: vec!["nobody".into()], ..TaskFilter::default() };
    let options = DiffOptions { tasks, ..DiffOptions::default() };
    let nobody = compare(&[plain(1)], &[plain(2)], &options).unwrap_err().to_string();
    assert!(nobody.starts_with("no thread of A or B is called `nobody`"), "{nobody}");
}

#[test]
fn a_loss_is_told_with_what_to_do() {
    // Every third switch to the worker is removed, so it is not known what ran then.
    let mut number = 0;
    let lossy: String = plain(2)
        .lines()
        .filter(|line| {
            number += usize::from(line.contains("next_comm=worker-7"));
            !line.contains("next_comm=worker-7") || !number.is_multiple_of(3)
        })
        .flat_map(|line| [line, "\n"])
        .collect();
    let found = found(&[plain(1)], &[lossy]);
    assert!(found.b[0].censored > 100 && found.a[0].censored == 0, "{:?}", found.b);
    assert!(found.remarks.iter().any(|text| text.starts_with("b1: ") && text.contains("--buffer")), "{found:?}");
}

#[test]
fn the_json_stays_small_whatever_the_names_are() {
    let crowd = |seed: u64| -> String {
        let mut all = String::new();
        for (number, letter) in ('a'..='z').enumerate() {
            let name = format!("{}{letter}", letter.to_string().repeat(12));
            let one = text(Shape { seed: seed * 50 + number as u64, burner: false, wakings: 40 });
            all += &one.replace("worker-7", &name).replace("pid=17", &format!("pid={}", 100 + number));
        }
        all
    };
    let (a, b) = ([crowd(1)], [crowd(2)]);
    let found = found(&a, &b);
    let bytes = small(&found).unwrap().len();
    assert!(bytes < 20_000, "{bytes}");
    assert!(found.tables.iter().all(|table| table.rows.len() <= ROWS) && found.tables[0].more_rows > 10);
    let all = compare(&a, &b, &DiffOptions { top: Some(usize::MAX), ..DiffOptions::default() }).unwrap();
    assert!(small(&all).unwrap().len() > bytes && all.tables.iter().all(|table| table.more_rows == 0));
}
