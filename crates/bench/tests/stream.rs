//! `stream/1` end to end: every byte is counted on both sides, segments and CPU time are reported, and nothing is left
//! behind if a process dies.

use schedlab_bench::{BenchError, HerdTask, Observer, Quiet, RunOrder, Topology};
use schedlab_plan::{Stamping, TrialOutcome};
use std::path::Path;

fn order(stamping: Stamping) -> RunOrder {
    RunOrder::plain(stamping, 3, Topology::read(Path::new("/sys")).unwrap())
}

/// Runs on the test's own thread, which the namespaces of a veth pair then stay with.
fn run_with(spec: &str, stamping: Stamping, observer: &mut dyn Observer) -> Result<TrialOutcome, BenchError> {
    let mut workload = schedlab_bench::parse(&spec.parse().unwrap()).unwrap();
    workload.enter_own_net()?;
    workload.run(&order(stamping), observer)
}

/// Whether this thread could make a network namespace; the kernel refuses a user namespace, because the test has other
/// threads.
fn may_make_namespaces(test: &str) -> bool {
    let made = std::thread::spawn(|| schedlab_sys::namespace::enter_new_net().is_ok()).join().unwrap();
    if !made {
        skip(&format!("{test}: needs root"));
    }
    made
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn skip(why: &str) {
    eprintln!("schedlab-skip: {why}");
}

fn run(spec: &str, stamping: Stamping) -> TrialOutcome {
    run_with(spec, stamping, &mut Quiet).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

fn value(outcome: &TrialOutcome, name: &str) -> f64 {
    let metric = outcome.metrics.iter().find(|metric| metric.name == name);
    metric.unwrap_or_else(|| panic!("no {name}: {:?}", outcome.metrics)).value
}

#[test]
fn every_message_of_every_stream_arrives_whatever_its_size_and_push_rule() {
    for (spec, messages) in [
        ("stream:loops=300", 300),
        ("stream:3,bytes=1,loops=200,nodelay=yes", 600),
        ("stream:2,bytes=1000,loops=500,cork=yes", 1000),
        ("stream:2,bytes=100000,loops=40,sndbuf=32k", 80),
    ] {
        for stamping in [Stamping::Off, Stamping::Sampled, Stamping::All] {
            let outcome = run(spec, stamping);
            assert_eq!((outcome.operations, outcome.workload.as_str()), (messages, "stream/1"), "{spec}");
            let sent = |role: &str| -> u64 {
                outcome.tasks.iter().filter(|task| task.role == role).map(|task| task.operations).sum()
            };
            assert_eq!((sent("sender"), sent("receiver")), (messages, messages), "{spec}");
            assert!(outcome.tiers.iter().map(|tier| tier.operations).sum::<u64>() > 0, "{spec}: no receive was seen");
            let stamped = outcome.histograms.first().map_or(0, |named| named.histogram.count());
            match stamping {
                Stamping::Off => assert_eq!((stamped, outcome.stamping.stamped), (0, 0)),
                Stamping::Sampled => assert_eq!(stamped, outcome.stamping.stamped),
                Stamping::All => assert_eq!((stamped, outcome.stamping.stamped), (messages, messages)),
            }
            assert!(value(&outcome, "cpu_s_per_gb") > 0.0 && value(&outcome, "cpus_utilized") > 0.0);
        }
    }
}

#[test]
fn segments_are_as_large_as_the_push_rule_lets_them_grow() {
    let nodelay = value(&run("stream:bytes=100,loops=50,nodelay=yes", Stamping::Off), "mean_segment_bytes");
    let cork = value(&run("stream:bytes=100,loops=5000,cork=yes", Stamping::Off), "mean_segment_bytes");
    // Loopback's segments hold 64 kB; unless the congestion window is full, each send would leave unmerged.
    assert!((100.0..cork).contains(&nodelay) && cork > 2_000.0, "nodelay {nodelay}, cork {cork}");
}

#[test]
fn a_duration_prints_netperfs_row() {
    let outcome = run("stream:2,duration=300ms,cpus=0", Stamping::Sampled);
    assert!(outcome.operations > 100 && value(&outcome, "received_bytes_per_s") > 0.0);
    let row: Vec<&str> = outcome.native_lines.last().unwrap().split_whitespace().collect();
    assert_eq!((row.len(), row[2]), (5, "128"), "{row:?}");
    assert!(row[4].parse::<f64>().unwrap() > 0.0);
    assert!(value(&outcome, "fairness_jain") > 0.0);
}

#[test]
fn a_send_buffer_over_the_kernels_limit_is_refused() {
    let limit = std::fs::read_to_string("/proc/sys/net/core/wmem_max").ok().and_then(|t| t.trim().parse::<u64>().ok());
    let Some(limit) = limit.filter(|&limit| limit < 256 << 20) else { return };
    let error = run_with(&format!("stream:loops=1,sndbuf={}", 2 * limit), Stamping::Off, &mut Quiet).unwrap_err();
    assert!(error.to_string().contains("net.core.wmem_max"), "{error}");
}

/// Kills one process of the herd after the release.
struct Killer {
    role: &'static str,
    tasks: Vec<HerdTask>,
}

impl Observer for Killer {
    fn herd_ready(&mut self, tasks: &[HerdTask]) -> Result<(), String> {
        self.tasks = tasks.to_vec();
        Ok(())
    }
    fn released(&mut self, _t0_ns: u64) {
        let victim = self.tasks.iter().rev().find(|task| task.role == self.role).unwrap();
        schedlab_sys::signal::kill(victim.tid, schedlab_sys::signal::SIGKILL).unwrap();
    }
}

#[test]
fn a_killed_sender_or_receiver_is_one_clear_error_and_no_orphan() {
    for role in ["sender", "receiver"] {
        let mut killer = Killer { role, tasks: Vec::new() };
        let error = run_with("stream:3,duration=20s", Stamping::Off, &mut killer).unwrap_err().to_string();
        assert!(error.contains(role) && error.contains("was killed by signal 9"), "{error}");
        assert!(killer.tasks.iter().all(|task| !Path::new(&format!("/proc/{}", task.tid)).exists()), "{role}");
    }
}

#[test]
fn a_veth_pair_carries_every_byte_at_no_more_than_its_rate() {
    if !may_make_namespaces("a_veth_pair_carries_every_byte_at_no_more_than_its_rate") {
        return;
    }
    let inode = || std::fs::read_link("/proc/thread-self/ns/net").unwrap();
    let before = inode();
    let outcome = run("stream:3,bytes=1000,loops=1500,link=veth,rate=200mbit", Stamping::Off);
    assert_eq!(outcome.operations, 4500);
    // 4.5 MB at 200 Mbit/s take 180 ms, less what the bucket held (131 kB, 5 ms); there is no upper bound.
    assert!(value(&outcome, "time_s") > 0.170, "{:?}", outcome.metrics);
    // Segments of Ethernet size, not of loopback's.
    assert!((500.0..=1460.0).contains(&value(&outcome, "mean_segment_bytes")), "{:?}", outcome.metrics);
    assert_ne!(inode(), before, "the control process stays in the senders' namespace, whose counters it reads");
    let sent = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    assert!(sent.contains("stream-tx:") && !sent.contains("stream-rx:"), "{sent}");
}

#[test]
fn a_veth_pair_dies_with_a_killed_process() {
    if !may_make_namespaces("a_veth_pair_dies_with_a_killed_process") {
        return;
    }
    for role in ["sender", "receiver"] {
        let mut killer = Killer { role, tasks: Vec::new() };
        let begun = std::time::Instant::now();
        let spec = "stream:2,duration=20s,link=veth,rate=50mbit";
        let error = run_with(spec, Stamping::Off, &mut killer).unwrap_err().to_string();
        assert!(error.contains(role) && error.contains("was killed by signal 9"), "{error}");
        assert!(begun.elapsed().as_secs() < 10, "it does not wait for the twenty: {:?}", begun.elapsed());
        assert!(killer.tasks.iter().all(|task| !Path::new(&format!("/proc/{}", task.tid)).exists()), "{role}");
    }
}

#[test]
fn a_name_in_use_is_refused_and_a_free_one_is_taken_back() {
    if !may_make_namespaces("a_name_in_use_is_refused_and_a_free_one_is_taken_back") {
        return;
    }
    let name = format!("schedlab-test-{}", std::process::id());
    let spec = format!("stream:loops=20,link=veth,netns={name}");
    let mount_point = format!("/run/netns/{name}-tx");
    let mut workload = schedlab_bench::parse(&spec.parse().unwrap()).unwrap();
    match workload.enter_own_net() {
        Err(error) if error.to_string().contains("needs root") => return skip("a_name_in_use…: needs root"),
        entered => assert!(entered.unwrap()),
    }
    assert!(Path::new(&mount_point).exists());
    let error = std::thread::scope(|scope| {
        scope.spawn(|| run_with(&spec, Stamping::Off, &mut Quiet).unwrap_err().to_string()).join().unwrap()
    });
    assert!(error.contains(&format!("named {name}-rx exists")) && !error.contains('\n'), "{error}");
    assert_eq!(workload.run(&order(Stamping::Off), &mut Quiet).unwrap().operations, 20);
    drop(workload);
    assert!(!Path::new(&mount_point).exists());
}
