//! Every transport, mode and stamping level end to end with small loops: counts are verified, tiers are reported,
//! nothing is left behind; and what happens if a task dies.

mod ran;

use ran::{order, run, run_with, value};
use schedlab_bench::{DelayCell, HerdTask, Observer, Progress, Quiet, RunOrder};
use schedlab_plan::{Stamping, TrialOutcome};
use std::path::Path;

fn tier_total(outcome: &TrialOutcome) -> u64 {
    outcome.tiers.iter().map(|tier| tier.operations).sum()
}

#[test]
fn messaging_moves_every_message_on_every_transport_mode_and_level() {
    for transport in ["pipe", "unix", "tcp"] {
        for mode in ["process", "thread"] {
            for stamping in [Stamping::Off, Stamping::Sampled, Stamping::All] {
                let spec = format!("messaging:2x3,groups=2,loops=20,transport={transport},mode={mode}");
                let outcome = run(&spec, stamping);
                assert_eq!(outcome.operations, 2 * 2 * 3 * 20, "{spec}");
                assert_eq!(outcome.tasks.len(), 10);
                assert!(outcome.tasks.iter().all(|t| t.operations > 0 && t.voluntary_switches.is_some()), "{spec}");
                assert!(outcome.native_lines[2].starts_with("Time: 0."), "{:?}", outcome.native_lines);
                assert!(value(&outcome, "msgs_per_s").unwrap() > 0.0 && value(&outcome, "time_s").unwrap() > 0.0);
                if transport != "tcp" {
                    assert_eq!(tier_total(&outcome), 240, "{spec}");
                }
                let stamped = outcome.stamping.stamped;
                match stamping {
                    Stamping::Off => assert_eq!((stamped, outcome.histograms.len()), (0, 0)),
                    Stamping::Sampled => assert!(stamped > 0 && stamped < 240, "{spec}: {stamped}"),
                    Stamping::All if transport == "tcp" => assert!(stamped > 0),
                    Stamping::All => assert_eq!((stamped, outcome.histograms[0].histogram.count()), (240, 240)),
                }
            }
        }
    }
}

#[test]
fn partners_join_the_cgroups_they_are_given() {
    let dir = std::env::temp_dir().join(format!("schedlab-sides-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let cgroups = ["parent", "child"].map(|side| dir.join(side)).to_vec();
    let spec = "pipe:cgroups=apart,loops=50,copies=2";
    assert_eq!(schedlab_bench::parse(&spec.parse().unwrap()).unwrap().cgroups(), ["parent", "child"]);
    let given = RunOrder { cgroups: cgroups.clone(), ..order(Stamping::Off) };
    assert_eq!(run_with(spec, &given, &mut Quiet).unwrap().operations, 100);
    for procs in &cgroups {
        assert_eq!(std::fs::read_to_string(procs).unwrap(), "0", "a task writes 0 to move itself");
    }
    std::fs::remove_dir_all(&dir).unwrap();
    let error = run_with(spec, &order(Stamping::Off), &mut Quiet).unwrap_err().to_string();
    assert!(error.contains("cgroups=apart needs cgroups") && error.contains("schedlab bench"), "{error}");
}

#[test]
fn messaging_by_duration_counts_what_it_sent() {
    for spec in [
        "messaging:5x50,groups=2,duration=300ms,transport=pipe",
        "messaging:1x4,groups=1,duration=300ms,transport=tcp,mode=thread",
        "messaging:3x2,groups=1,duration=300ms,transport=tcp,bytes=6000",
        "messaging:3x2,groups=2,duration=300ms,transport=unix,bytes=1",
    ] {
        let outcome = run(spec, Stamping::Sampled);
        assert!(outcome.operations > 100, "{spec}: {}", outcome.operations);
        let phase = |name: &str| outcome.phases.iter().find(|phase| phase.name == name).unwrap();
        // From the wake byte to the stop flag.
        let length_ns = phase("steady").end_ns - phase("herd_release").start_ns;
        assert!((30_000_000..1_000_000_000).contains(&length_ns), "{length_ns}");
        assert!(outcome.phases.windows(2).all(|two| two[0].end_ns == two[1].start_ns));
        assert_eq!(value(&outcome, "time_s"), None, "a duration has no legacy Time");
    }
}

#[test]
fn short_messages_have_no_tier_and_say_so() {
    let outcome = run("messaging:1x2,groups=1,loops=10,bytes=15", Stamping::All);
    assert_eq!((outcome.operations, tier_total(&outcome), outcome.histograms.len()), (20, 0, 0));
    assert!(outcome.notes[0].contains("15-byte messages"), "{:?}", outcome.notes);
}

#[test]
fn pipe_verifies_every_token_and_tells_the_legs_apart() {
    for mode in ["process", "thread"] {
        let outcome = run(&format!("pipe:loops=300,copies=2,pin=same,mode={mode}"), Stamping::All);
        assert_eq!((outcome.operations, tier_total(&outcome)), (600, 600));
        let whole: Vec<_> = outcome.histograms.iter().filter(|named| named.tier.is_none()).collect();
        assert_eq!(whole.len(), 5);
        assert!(whole[..4].iter().all(|named| named.histogram.count() == 600));
        // For every stamp, the first three legs add up to the round trip.
        let legs: u64 = whole[1..4].iter().map(|named| named.histogram.sum_ns).sum();
        assert_eq!(legs, whole[0].histogram.sum_ns);
        assert_eq!(outcome.tiers[0].tier.name(), "same_cpu");
        assert!(value(&outcome, "fairness_jain").unwrap() > 0.5 && value(&outcome, "index").unwrap() > 0.0);
    }
}

#[test]
fn both_sides_stamp_the_same_operations_when_sampled() {
    let outcome = run("pipe:loops=2000,pin=same", Stamping::Sampled);
    let whole: Vec<_> = outcome.histograms.iter().filter(|named| named.tier.is_none()).collect();
    let legs: u64 = whole[1..4].iter().map(|named| named.histogram.sum_ns).sum();
    assert_eq!(legs, whole[0].histogram.sum_ns, "a leg of another operation would not add up");
    assert_eq!(outcome.stamping.stamped, whole[0].histogram.count());
}

#[test]
fn pipe2_has_two_tokens_and_no_legs() {
    for spec in ["pipe2:loops=500,pin=same", "pipe2:duration=300ms,mode=thread", "pipe2:loops=50,bytes=4"] {
        let outcome = run(spec, Stamping::All);
        assert!(outcome.operations >= 50 && outcome.workload == "pipe2/1");
        assert!(outcome.histograms.iter().all(|named| named.name == "latency"));
        assert!(value(&outcome, "exchanges_per_s").unwrap() > 0.0 && value(&outcome, "index").is_none());
    }
}

#[test]
fn burn_gets_about_the_share_it_asks_for() {
    for clock in ["cpu", "wall"] {
        let outcome = run(&format!("burn:1x50%,chunk=5ms,duration=600ms,clock={clock}"), Stamping::Sampled);
        let share = value(&outcome, "achieved_cpu_share").unwrap();
        // A wide range, because the CPU may be taken away for most of the time; this finds a burner that never sleeps
        // or never runs.
        assert!((0.005..0.8).contains(&share), "{clock}: {share}");
        assert_eq!(outcome.histograms[0].name, "overshoot");
    }
}

#[test]
fn a_load_reports_what_it_achieved_and_leaves_no_task() {
    let specs = ["burn:2x50%,chunk=2ms".parse().unwrap()];
    let load = schedlab_bench::load::Load::start(&specs, true).unwrap();
    let tids = load.tids();
    let outcome = run("messaging:1x1,groups=1,duration=300ms", Stamping::Off);
    let reports = load.stop(0);
    assert!(outcome.operations > 0);
    assert!(reports[0].alive && reports[0].achieved_cpu_ns > 1_000_000, "{reports:?}");
    assert!(reports[0].spec.starts_with("burn/1:") && reports[0].asked_cpu_ns >= 50_000_000);
    assert!(tids.iter().all(|tid| !Path::new(&format!("/proc/{tid}")).exists()));
    let error = schedlab_bench::load::Load::start(&["pipe".parse().unwrap()], false).unwrap_err().to_string();
    assert!(error.contains("burn:2x50%"), "{error}");
}

/// Kills one task of the herd after the release.
struct Killer(Vec<HerdTask>);

impl Observer for Killer {
    fn herd_ready(&mut self, tasks: &[HerdTask]) -> Result<(), String> {
        self.0 = tasks.to_vec();
        Ok(())
    }
    fn released(&mut self, _t0_ns: u64) {
        schedlab_sys::signal::kill(self.0[1].tid, schedlab_sys::signal::SIGKILL).unwrap();
    }
}

#[test]
fn a_killed_child_is_one_clear_error_and_no_orphan() {
    for spec in ["messaging:2x2,groups=3,duration=20s", "pipe:duration=20s,copies=3", "burn:2x100%,duration=20s"] {
        let mut killer = Killer(Vec::new());
        let error = run_with(spec, &order(Stamping::Off), &mut killer).unwrap_err().to_string();
        assert!(error.contains("was killed by signal 9") && !error.contains('\n'), "{spec}: {error}");
        assert!(killer.0.iter().all(|task| !Path::new(&format!("/proc/{}", task.tid)).exists()), "{spec}");
    }
}

/// Refuses the herd, as a setting that cannot be applied would.
struct Refuser(Vec<u32>);

impl Observer for Refuser {
    fn herd_ready(&mut self, tasks: &[HerdTask]) -> Result<(), String> {
        self.0 = tasks.iter().map(|task| task.tid).collect();
        Err("slice: not accepted".to_owned())
    }
}

#[test]
fn an_observers_refusal_takes_the_herd_down() {
    let mut refuser = Refuser(Vec::new());
    let error = run_with("messaging:2x2,groups=2,loops=5", &order(Stamping::Off), &mut refuser).unwrap_err();
    assert_eq!(error.to_string(), "slice: not accepted");
    assert!(refuser.0.len() == 8 && refuser.0.iter().all(|tid| !Path::new(&format!("/proc/{tid}")).exists()));
}

/// Reads the progress every 5 ms and keeps the cell of the planted delay.
#[derive(Default)]
struct Watcher {
    seen: Vec<u64>,
    plant_ns: Option<f64>,
    calls: Vec<&'static str>,
}

impl Observer for Watcher {
    fn before_fork(&mut self) -> Result<(), String> {
        self.calls.push("before_fork");
        Ok(())
    }
    fn herd_ready(&mut self, _tasks: &[HerdTask]) -> Result<(), String> {
        self.calls.push("herd_ready");
        Ok(())
    }
    fn releasing(&mut self) {
        self.calls.push("releasing");
    }
    fn released(&mut self, _t0_ns: u64) {
        self.calls.push("released");
    }
    fn tick(&mut self, now_ns: u64, progress: &Progress) -> u64 {
        self.seen.push(progress.operations());
        now_ns + 5_000_000
    }
    fn stopped(&mut self, _t1_ns: u64) {
        self.calls.push("stopped");
    }
    fn delay_cell(&mut self, cell: &DelayCell) {
        self.plant_ns = Some(cell.ns());
    }
}

#[test]
fn the_observer_sees_phases_in_order_and_progress_growing() {
    for spec in ["messaging:1x1,groups=1,duration=300ms", "pipe:duration=300ms,mode=thread"] {
        let mut watcher = Watcher::default();
        let order = RunOrder { delay_spin_ns: Some(500), ..order(Stamping::Off) };
        run_with(spec, &order, &mut watcher).unwrap();
        assert_eq!(watcher.calls, ["before_fork", "herd_ready", "releasing", "released", "stopped"]);
        assert!(
            watcher.seen.len() >= 4 && watcher.seen.is_sorted() && watcher.seen.last() > Some(&100),
            "{spec}: {:?}",
            watcher.seen
        );
        // Rounded to whole turns, whose length was measured on a machine that may have been busy.
        assert!((watcher.plant_ns.unwrap() - 500.0).abs() < 250.0, "{:?}", watcher.plant_ns);
    }
}

#[test]
fn pinning_apart_needs_two_cpus_and_a_missing_tier_is_named() {
    let order = order(Stamping::Off);
    let first = order.topology.allowed()[0];
    let error = run_with(&format!("pipe:pin=apart,cpus={first}"), &order, &mut Quiet).unwrap_err().to_string();
    assert!(error.contains("needs two CPUs"), "{error}");
    if !order.topology.tiers().contains(&schedlab_plan::Tier::Remote) {
        let error = run_with("pipe:pin=remote", &order, &mut Quiet).unwrap_err().to_string();
        assert!(error.contains("this machine has same_cpu"), "{error}");
    }
}

#[test]
fn the_slowest_operations_are_kept_where_they_are_asked_for() {
    let specs = [
        "pipe:loops=300,mode=thread",
        "pipe2:loops=300",
        "messaging:2x3,groups=2,loops=50",
        "transact:loops=100,pairs=2",
        "throughput:loops=300,bytes=64,transport=pipe",
        "wakeup:1x2,loops=50,think=0ns,work=1",
        "timer:threads=2,interval=200us,loops=100",
        "stream:1,bytes=1k,duration=300ms",
    ];
    for spec in specs {
        let asked = RunOrder { keep_slowest: true, ..order(Stamping::All) };
        let outcome = run_with(spec, &asked, &mut Quiet).unwrap_or_else(|error| panic!("{spec}: {error}"));
        let (slowest, begin_ns) = (&outcome.slowest, outcome.phases[0].start_ns);
        assert!((1..=32 * 2).contains(&slowest.len()), "{spec}: {}", slowest.len());
        assert!(slowest.is_sorted_by_key(|o| std::cmp::Reverse(o.ns())), "{spec}");
        let series = |o: &schedlab_plan::SlowOperation| {
            outcome.histograms.iter().find(|h| h.name == o.name && h.tier.is_none()).unwrap().histogram.max_ns
        };
        assert_eq!(slowest[0].ns(), series(&slowest[0]), "{spec}: the longest of its distribution");
        for operation in slowest {
            assert!(operation.start_ns > begin_ns && operation.tid > 0, "{spec}: {operation:?}");
        }
        assert!(run(spec, Stamping::All).slowest.is_empty(), "{spec}");
    }
    let asked = RunOrder { keep_slowest: true, ..order(Stamping::Off) };
    assert!(run_with("pipe:loops=300", &asked, &mut Quiet).unwrap().slowest.is_empty());
}

#[test]
fn a_references_latencies_are_not_printed_where_none_is_measured() {
    let error = run_with("transact:loops=3,compat=hwbinder", &order(Stamping::Off), &mut Quiet).unwrap_err();
    assert!(error.to_string().contains("with --latency off none is measured"), "{error}");
}

#[test]
fn options_are_taken_in_the_spelling_of_references_too() {
    let spec = |text: &str| schedlab_bench::parse(&text.parse().unwrap()).map(|workload| workload.spec().to_string());
    assert_eq!(spec("transact:raw_data=yes,loops=3").unwrap(), spec("transact:raw-data=yes,loops=3").unwrap());
    assert!(spec("throughput:benchmark_format=json").unwrap().contains("benchmark-format=json"));
    let both = spec("timer:dma_latency=2us,dma-latency=3us").unwrap_err().to_string();
    assert!(both.contains("`dma_latency` and `dma-latency` are one option"), "{both}");
    let unknown = spec("timer:dma_latncy=2us").unwrap_err().to_string();
    assert!(unknown.contains("did you mean `dma-latency`"), "{unknown}");
}
