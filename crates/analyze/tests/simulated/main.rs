//! Machines that schedule at random and whose truth is known: every wait, run, sleep and share of blame to the
//! nanosecond.

mod machine;
mod task;

use machine::{Machine, Shape};
use schedlab_analyze::trace::latency::{LatencyRow, Waits};
use schedlab_analyze::trace::{AnalysisRequest, Reader, Scope, TimeWindow, blame, latency, states, timehist};
use schedlab_trace::Kinds;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use task::{Task, Turn};

const MACHINES: u64 = 40;

/// All machines with their seeds.
fn machines() -> impl Iterator<Item = (u64, &'static Machine)> {
    static RUN: LazyLock<Vec<Machine>> = LazyLock::new(|| (1..=MACHINES).map(machine).collect());
    (1..).zip(RUN.iter())
}

fn machine(seed: u64) -> Machine {
    let drawn = seed as usize;
    let (full, moves) = (!drawn.is_multiple_of(4), !drawn.is_multiple_of(8));
    Machine::run(seed, Shape { cpus: 1 + drawn % 5, tasks: 2 + drawn % 11, steps: 600, full, moves })
}

fn reader(machine: &Machine, wanted: Kinds) -> Reader {
    reader_of(machine.text(), wanted)
}

fn reader_of(text: String, wanted: Kinds) -> Reader {
    Reader::open("machine", Box::new(text.into_bytes()), wanted).expect("a trace")
}

/// Number, sum and maximum of waits.
fn sums(waits: &Waits) -> (u64, u64, u64) {
    let sum = waits.mean_ns.unwrap_or(0.0) * waits.count as f64;
    (waits.count, sum.round() as u64, waits.max_ns.unwrap_or(0))
}

fn true_sums(ns: &[u64]) -> (u64, u64, u64) {
    (ns.len() as u64, ns.iter().sum(), ns.iter().copied().max().unwrap_or(0))
}

fn ran_ns(task: &Task) -> u64 {
    task.truth.turns.iter().map(|turn| turn.run_ns).sum()
}

#[test]
fn latency_tells_every_run_and_wait_of_every_task() {
    for (seed, machine) in machines() {
        let options = AnalysisRequest { each_task: true, ..AnalysisRequest::default() };
        let found = latency(&mut reader(machine, latency::wanted()), &options).expect("readable");
        let rows: BTreeMap<u32, &LatencyRow> =
            found.rows.iter().map(|row| (row.tid.expect("of one task"), row)).collect();
        let mut waits = 0;
        for task in &machine.tasks {
            let (truth, none) = (&task.truth, LatencyRow::default());
            let row = rows.get(&task.tid).copied().unwrap_or(&none);
            let reported = [&row.wakeup, &row.placement, &row.queueing, &row.preempt].map(sums);
            let waited = [&truth.wakeup_ns, &truth.placement_ns, &truth.queueing_ns, &truth.preempt_ns];
            assert_eq!(reported, waited.map(|ns| true_sums(ns)), "seed {seed}, {}", task.tid);
            let reported =
                (row.run_ns, row.voluntary, row.involuntary, row.migrations, row.repaired, row.censored_runs);
            let counts = (truth.voluntary, truth.involuntary, truth.migrations, truth.repaired);
            let truly = (ran_ns(task), counts.0, counts.1, counts.2, counts.3, 0);
            assert_eq!(reported, truly, "seed {seed}, {}", task.tid);
            let censored = [row.wakeup.censored, row.preempt.censored];
            let unfinished = censored.iter().map(|[_, _, unfinished]| unfinished).sum::<u64>();
            assert_eq!(
                (unfinished, censored.iter().flatten().sum()),
                (truth.unfinished, truth.unfinished),
                "seed {seed}"
            );
            waits += truth.wakeup_ns.len() + truth.preempt_ns.len();
        }
        assert!(waits > 20, "seed {seed} has {waits} waits: too few to show anything");
        assert_eq!(found.total.wakeup.count + found.total.preempt.count, waits as u64);
    }
}

#[test]
fn blame_divides_every_wait_among_who_had_the_cpu() {
    // Without sched_wakeup it is not known on which queue a migrated thread waits.
    for (seed, machine) in machines().filter(|(_, machine)| machine.shape.full || !machine.shape.moves) {
        let options = AnalysisRequest { each_task: true, ..AnalysisRequest::default() };
        let found = blame(&mut reader(machine, blame::wanted()), &options).expect("readable");
        for task in &machine.tasks {
            let (truth, row) = (&task.truth, found.victims.iter().find(|row| row.tid == Some(task.tid)));
            let blamed = row.iter().flat_map(|row| &row.shares).map(|share| (share.cause.clone(), share.ns)).collect();
            assert_eq!(truth.blamed_ns, blamed, "seed {seed}, {}", task.tid);
            let idle_elsewhere_ns = row.map_or(0, |row| row.idle_elsewhere_ns);
            assert_eq!(idle_elsewhere_ns, truth.idle_elsewhere_ns, "seed {seed}, {}", task.tid);
        }
        for wait in &found.longest {
            assert_eq!(wait.parts.iter().map(|part| part.ns).sum::<u64>() + wait.others_ns, wait.ns, "seed {seed}");
        }
    }
}

#[test]
fn states_add_up_to_the_time_that_a_task_was_seen() {
    for (seed, machine) in machines() {
        let found = states(&mut reader(machine, states::wanted()), &AnalysisRequest::default()).expect("readable");
        for row in &found.rows {
            let task = machine.tasks.iter().find(|task| Some(task.tid) == row.tid).expect("one of the machine");
            let (truth, asleep) = (&task.truth, |letter| task.truth.slept_ns.get(&letter).copied().unwrap_or(0));
            let reported =
                [row.running_ns, row.wakeup_wait_ns, row.preempt_wait_ns, row.interruptible_ns, row.uninterruptible_ns];
            let waited = [&truth.wakeup_ns, &truth.preempt_ns].map(|ns| ns.iter().sum::<u64>());
            let truly = [ran_ns(task), waited[0], waited[1], asleep('S'), asleep('D')];
            assert_eq!(reported, truly, "seed {seed}, {}", task.tid);
            let known: u64 = reported.iter().sum();
            assert_eq!(known + row.idle_ns + row.other_ns + row.unknown_ns, row.seen_ns, "seed {seed}, {}", task.tid);
        }
    }
}

/// Times on CPUs by thread; one of unknown length begins and ends when the thread got the CPU.
fn turns(reader: &mut Reader) -> BTreeMap<u32, Vec<Turn>> {
    let mut reported: BTreeMap<u32, Vec<Turn>> = BTreeMap::new();
    timehist(reader, &Scope::default(), &mut |row| {
        reported.entry(row.tid).or_default().push(Turn {
            at_ns: row.at_ns,
            cpu: row.cpu,
            slept_ns: row.slept_ns,
            wakeup_wait_ns: row.wakeup_wait_ns,
            preempt_wait_ns: row.preempt_wait_ns,
            run_ns: row.run_ns.unwrap_or(0),
            left: row.left.clone().unwrap_or_default(),
        });
        true
    })
    .expect("readable");
    reported
}

#[test]
fn timehist_tells_every_turn() {
    for (seed, machine) in machines() {
        let mut reported = turns(&mut reader(machine, timehist::wanted()));
        for task in &machine.tasks {
            assert_eq!(reported.remove(&task.tid).unwrap_or_default(), task.truth.turns, "seed {seed}, {}", task.tid);
        }
        assert!(reported.is_empty(), "seed {seed}");
    }
}

/// Whether the reported parts of a time on a CPU are true; parts that are not reported are ignored.
fn is_true(reported: &Turn, truly: &Turn) -> bool {
    let known = |reported: Option<u64>, truly: Option<u64>| if reported.is_some() { truly } else { None };
    let truly_known = Turn {
        slept_ns: known(reported.slept_ns, truly.slept_ns),
        wakeup_wait_ns: known(reported.wakeup_wait_ns, truly.wakeup_wait_ns),
        preempt_wait_ns: known(reported.preempt_wait_ns, truly.preempt_wait_ns),
        ..truly.clone()
    };
    *reported == truly_known
}

#[test]
fn what_is_told_of_a_trace_with_a_loss_is_true() {
    let (mut reported, mut all) = (0, 0);
    for seed in 1..=200 {
        let mut machine = machine(seed);
        let (text, new_there) = machine.with_a_loss();
        let mut of_thread = turns(&mut reader_of(text, timehist::wanted()));
        for task in &machine.tasks {
            all += task.truth.turns.len();
            let turns = of_thread.remove(&task.tid).unwrap_or_default();
            let is_comparable = |turn: &&Turn| !turn.left.is_empty() && !new_there.contains(&task.tid);
            for turn in turns.iter().filter(is_comparable) {
                let truly = task.truth.turns.iter().find(|truly| truly.at_ns == turn.at_ns);
                let truly = truly.unwrap_or_else(|| panic!("seed {seed}: {} has no turn {turn:?}", task.tid));
                assert!(is_true(turn, truly), "seed {seed}, {}: {turn:?}, truly {truly:?}", task.tid);
                reported += 1;
            }
        }
    }
    assert!(
        reported * 10 > all * 8,
        "{reported} of {all} turns are told: a loss on one CPU must not silence the others"
    );
}

#[test]
fn a_trace_with_a_loss_has_the_same_waits_line_by_line_as_in_sum() {
    let mut cut = 0;
    for seed in 1..=200 {
        let mut machine = machine(seed);
        let (text, new_there) = machine.with_a_loss();
        let total = latency(&mut reader_of(text.clone(), latency::wanted()), &AnalysisRequest::default())
            .expect("readable")
            .total;
        let of_thread = turns(&mut reader_of(text, timehist::wanted()));
        let waits = |of: fn(&Turn) -> Option<u64>| of_thread.values().flatten().filter_map(of).count() as u64;
        let counts = (waits(|turn| turn.wakeup_wait_ns), waits(|turn| turn.preempt_wait_ns));
        assert_eq!(counts, (total.wakeup.count, total.preempt.count), "seed {seed}");
        for task in machine.tasks.iter().filter(|task| !new_there.contains(&task.tid)) {
            let turns = of_thread.get(&task.tid).into_iter().flatten();
            for turn in turns.filter(|turn| turn.run_ns == 0 && turn.left.is_empty()) {
                let truly = task.truth.turns.iter().find(|truly| truly.at_ns - truly.run_ns == turn.at_ns);
                let truly = truly.unwrap_or_else(|| panic!("seed {seed}: {} has no turn {turn:?}", task.tid));
                let waits = |of: &Turn| (of.wakeup_wait_ns, of.preempt_wait_ns);
                assert_eq!(waits(turn), waits(truly), "seed {seed}, {}", task.tid);
                cut += 1;
            }
        }
    }
    assert!(cut > 20, "only {cut} turns of no known length");
}

#[test]
fn windows_of_time_and_cpus_add_up_to_the_whole() {
    for (seed, machine) in machines() {
        let of = |window: TimeWindow| {
            let scope = Scope { window, ..Scope::default() };
            let options = AnalysisRequest { scope, ..AnalysisRequest::default() };
            let total = latency(&mut reader(machine, latency::wanted()), &options).expect("readable").total;
            let ((waits, waited_ns, _), (preempted, preempted_ns, _)) = (sums(&total.wakeup), sums(&total.preempt));
            [waits, waited_ns, preempted, preempted_ns, total.voluntary, total.involuntary]
        };
        let cuts = [0, 5_003_000_000, 5_100_000_000, 5_900_000_000, u64::MAX];
        let times = cuts.windows(2).map(|cut| TimeWindow { from_ns: cut[0], to_ns: Some(cut[1] - 1), cpus: None });
        let cpus = (0..5).map(|cpu| TimeWindow { cpus: Some(vec![schedlab_trace::Cpu(cpu)]), ..TimeWindow::default() });
        let add = |sum: [u64; 6], more: [u64; 6]| std::array::from_fn(|at| sum[at] + more[at]);
        let whole = of(TimeWindow::default());
        assert_eq!(times.map(of).fold([0; 6], add), whole, "seed {seed}, by time");
        assert_eq!(cpus.map(of).fold([0; 6], add), whole, "seed {seed}, by CPU");
    }
}
