//! Tests against the kernel: every switch is recorded, and nothing is left behind. They need tracefs, and report it if
//! it is missing.

use super::*;
use crate::Roots;
use schedlab_plan::{TraceEvents, TraceOrder, TraceSource};
use schedlab_sys::{affinity, clock, fd, process, rusage, signal, thread, tracefs::Tracefs};
use schedlab_trace::{Event, Kinds, ProblemKind, Reader, What};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn skip(test: &str, why: &TracerError) {
    eprintln!("schedlab-skip: {test}: needs tracefs ({why})");
}

/// A directory for one test, removed on drop.
struct Lab(PathBuf);

impl Lab {
    fn new(test: &str) -> Self {
        let root = std::env::temp_dir().join(format!("schedlab-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        Self(root)
    }

    fn order(&self, events: &str) -> TracerOrder {
        TracerOrder {
            trace: TraceOrder {
                events: events.parse().unwrap(),
                source: TraceSource::Tracefs,
                out: Some(self.0.join("trace.slt")),
                keep_ns: None,
                buffer_kib: Some(1024),
            },
            measured_cpus: Vec::new(),
            command: "a test".to_owned(),
            run_root: self.0.clone(),
            roots: Roots::default(),
        }
    }

    fn start(&self, test: &str, order: TracerOrder) -> Option<Tracer> {
        match Tracer::start(order) {
            Ok(tracer) => Some(tracer),
            Err(why @ (TracerError::NoTracefs { .. } | TracerError::Refused { .. })) => {
                skip(test, &why);
                None
            }
            Err(other) => panic!("{other}"),
        }
    }

    fn events(&self) -> (Vec<Event>, Reader) {
        let file = std::fs::File::open(self.0.join("trace.slt")).unwrap();
        let mut reader = Reader::open("trace.slt", Box::new(file), Kinds::ALL).unwrap();
        let (mut all, mut batch) = (Vec::new(), Vec::new());
        while reader.next_batch(&mut batch).unwrap() {
            all.extend_from_slice(&batch);
        }
        (all, reader)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A thread of a ping-pong, and the kernel's counts for it up to a time.
struct Player {
    tid: u32,
    voluntary: u64,
    involuntary: u64,
    until_ns: u64,
}

/// `rounds` round trips between two threads on one CPU.
fn ping_pong(rounds: u32) -> [Player; 2] {
    let cpu = affinity::allowed_cpus(0).unwrap()[0];
    let (there, back) = (fd::pipe_pair().unwrap(), fd::pipe_pair().unwrap());
    let side = move |first: bool, read: std::os::fd::OwnedFd, write: std::os::fd::OwnedFd| {
        affinity::set_affinity(0, &[cpu]).unwrap();
        let mut byte = [7];
        for _ in 0..rounds {
            if first {
                fd::write_full(write.as_fd(), &byte).unwrap();
            }
            fd::read_full(read.as_fd(), &mut byte).unwrap();
            if !first {
                fd::write_full(write.as_fd(), &byte).unwrap();
            }
        }
        let usage = rusage::of_thread();
        Player {
            tid: thread::current_tid(),
            voluntary: usage.voluntary_switches,
            involuntary: usage.involuntary_switches,
            until_ns: clock::monotonic_ns(),
        }
    };
    let other = std::thread::spawn(move || side(false, there.read, back.write));
    let one = std::thread::spawn(move || side(true, back.read, there.write));
    [one.join().unwrap(), other.join().unwrap()]
}

/// Wakings of each of the two by the other.
fn wakings(events: &[Event], players: &[Player; 2]) -> usize {
    let ours = |tid: schedlab_trace::Tid| players.iter().any(|player| player.tid == tid.0);
    events.iter().filter(|e| matches!(e.what, What::Waking(w) if ours(w.tid) && ours(w.waker))).count()
}

#[test]
fn every_switch_of_a_ping_pong_is_recorded_and_the_instance_is_gone() {
    let lab = Lab::new("every_switch_of_a_ping_pong");
    let test = "every_switch_of_a_ping_pong_is_recorded_and_the_instance_is_gone";
    let Some(tracer) = lab.start(test, lab.order("full")) else { return };
    let instance = tracer.instance().unwrap().to_owned();
    assert!(instance.is_dir() && orphans(&lab.0).unwrap().is_empty());
    let players = ping_pong(2000);
    let recorded = tracer.stop().unwrap();
    assert!(!instance.exists() && orphans(&lab.0).unwrap().is_empty());
    assert_eq!((recorded.source, recorded.lost), ("tracefs", 0));
    check_ping_pong(&lab, &players, &recorded);
}

#[test]
fn every_switch_of_a_ping_pong_comes_by_rings_of_perf_and_no_instance_is_made() {
    let lab = Lab::new("every_switch_by_rings");
    let test = "every_switch_of_a_ping_pong_comes_by_rings_of_perf_and_no_instance_is_made";
    let mut order = lab.order("full");
    // Room for all events and those of other tasks, because the drain thread may not run for a while.
    (order.trace.source, order.trace.buffer_kib) = (TraceSource::Perf, Some(16 << 10));
    let Some(tracer) = lab.start(test, order) else { return };
    assert_eq!(tracer.instance(), None);
    let players = ping_pong(2000);
    let recorded = tracer.stop().unwrap();
    assert_eq!((recorded.source, recorded.lost), ("perf", 0));
    assert!(recorded.notes.iter().any(|note| note.contains("perf's ring buffers, as asked for")), "{recorded:?}");
    check_ping_pong(&lab, &players, &recorded);
}

#[test]
fn rings_are_taken_where_no_instance_can_be_made_and_say_why() {
    let lab = Lab::new("rings_are_taken");
    let mut order = lab.order("min");
    order.trace.source = TraceSource::Auto;
    // The run directory is a file, so the entry of an instance cannot be made in it.
    order.run_root = lab.0.join("file");
    std::fs::write(&order.run_root, "").unwrap();
    let Some(tracer) = lab.start("rings_are_taken_where_no_instance_can_be_made_and_say_why", order) else { return };
    let players = ping_pong(300);
    let recorded = tracer.stop().unwrap();
    let note = recorded.notes.iter().find(|note| note.contains("no tracefs instance can be made"));
    assert!(note.is_some_and(|note| note.contains("file/schedlab/trace")), "{recorded:?}");
    assert!(wakings(&lab.events().0, &players) > 250, "{recorded:?}");
}

#[test]
fn a_ring_that_is_too_small_tells_what_it_lost_and_where() {
    let lab = Lab::new("a_ring_that_is_too_small");
    let mut order = lab.order("min");
    (order.trace.source, order.trace.buffer_kib) = (TraceSource::Perf, Some(64));
    let Some(tracer) = lab.start("a_ring_that_is_too_small_tells_what_it_lost_and_where", order) else { return };
    let players = ping_pong(20_000);
    let recorded = tracer.stop().unwrap();
    let (events, reader) = lab.events();
    let totals = reader.recording().unwrap().totals().unwrap();
    let told: u64 = totals.cpus.iter().map(|cpu| cpu.lost).sum();
    let by_kernel: u64 = totals.cpus.iter().map(|cpu| cpu.kernel_lost).sum();
    // Before Linux 6.0 the kernel does not count lost events separately.
    assert!(by_kernel == 0 || by_kernel == told, "{totals:?}");
    assert_eq!(recorded.lost, told);
    assert_eq!(reader.problems().count(ProblemKind::Lost), told, "with their place in the trace");
    if told == 0 {
        // Nothing is missing then: every waking of one by the other is there.
        assert!(wakings(&events, &players) >= 19_000);
    }
}

#[test]
fn events_alone_in_rings_that_nobody_reads_are_refused() {
    let lab = Lab::new("events_alone_in_rings");
    let mut order = lab.order("min");
    (order.trace.source, order.trace.out) = (TraceSource::Perf, None);
    assert!(matches!(Tracer::start(order), Err(TracerError::UnreadRings)));
}

/// Checks that the file contains what the kernel counted.
fn check_ping_pong(lab: &Lab, players: &[Player; 2], recorded: &Recorded) {
    let (events, reader) = lab.events();
    for Player { tid, voluntary, involuntary, until_ns } in players {
        let mine = |e: &&Event| e.ts <= *until_ns && matches!(e.what, What::Switch { prev, .. } if prev.0 == *tid);
        let left: Vec<&Event> = events.iter().filter(mine).collect();
        assert_eq!(left.len() as u64, voluntary + involuntary, "the kernel counted as many switches: {recorded:?}");
        // A sleep that is cancelled by a waking at its start has no switch; one that is cut short has one more waking.
        let woken = events.iter().filter(|e| matches!(e.what, What::Waking(w) if w.tid.0 == *tid)).count() as u64;
        assert!(woken.abs_diff(*voluntary) <= 20, "{woken} wakings for {voluntary} sleeps");
    }
    assert!(wakings(&events, players) >= 1900, "a round trip needs one at least");
    assert_eq!((recorded.lost, reader.problems().count(ProblemKind::Lost)), (0, 0));
    let recording = reader.recording().unwrap();
    assert_eq!(recording.about().get("clock"), "CLOCK_MONOTONIC");
    assert_eq!(recording.about().get("source"), recorded.source);
    assert_eq!(recording.totals().map(|t| t.cpus.iter().map(|c| c.events).sum()), Some(recorded.events));
    let own = reader.snapshots()[0].threads.iter().any(|t| t.pid == std::process::id() && t.comm == "schedlab-drain");
    assert!(own, "the recorder's own threads can be told");
    let per_event = recorded.file_bytes as f64 / recorded.events as f64;
    assert!(per_event < 60.0, "{per_event} bytes an event, head and snapshots included");
}

#[test]
fn times_are_those_of_clock_monotonic() {
    let lab = Lab::new("times_are_those");
    let Some(tracer) = lab.start("times_are_those_of_clock_monotonic", lab.order("min")) else { return };
    let before = schedlab_sys::clock::monotonic_ns();
    let players = ping_pong(50);
    let after = schedlab_sys::clock::monotonic_ns();
    tracer.stop().unwrap();
    let (events, _) = lab.events();
    let ours: Vec<u64> =
        events.iter().filter(|e| wakings(std::slice::from_ref(e), &players) == 1).map(|e| e.ts).collect();
    assert!(ours.len() > 40 && ours[0] >= before && ours[ours.len() - 1] <= after, "{before} {after} {ours:?}");
}

#[test]
fn a_flight_recorder_keeps_the_last_part_and_stops_at_a_write() {
    let lab = Lab::new("a_flight_recorder");
    let mut order = lab.order("min");
    order.trace.keep_ns = Some(3_600_000_000_000);
    let Some(tracer) = lab.start("a_flight_recorder_keeps_the_last_part_and_stops_at_a_write", order) else { return };
    let players = ping_pong(300);
    std::fs::write(tracer.instance().unwrap().join("tracing_on"), "0").unwrap();
    let later = ping_pong(300);
    let recorded = tracer.stop().unwrap();
    let (events, reader) = lab.events();
    assert!(wakings(&events, &players) > 250, "{recorded:?}");
    assert_eq!(wakings(&events, &later), 0, "what came after the stop is not there");
    assert_eq!(reader.problems().count(ProblemKind::Unsorted), 0);
}

#[test]
fn an_unread_trace_counts_its_events_and_writes_no_file() {
    let lab = Lab::new("an_unread_trace");
    let mut order = lab.order("min");
    order.trace.out = None;
    let Some(tracer) = lab.start("an_unread_trace_counts_its_events_and_writes_no_file", order) else { return };
    ping_pong(500);
    let recorded = tracer.stop().unwrap();
    assert!(recorded.events > 1400 && recorded.file.is_none(), "{recorded:?}");
    assert!(!lab.0.join("trace.slt").exists());
}

#[test]
fn an_instance_of_a_killed_owner_is_removed_by_the_next_start() {
    let lab = Lab::new("an_instance_of_a_killed_owner");
    let proc = Path::new("/proc");
    if let Err(why) = Instance::create(&lab.0, proc) {
        return skip("an_instance_of_a_killed_owner_is_removed_by_the_next_start", &why);
    }
    let owner = process::fork_child(|| {
        let _instance = Instance::create(&lab.0, proc).unwrap();
        signal::kill(thread::current_pid(), signal::SIGKILL).unwrap();
        0
    });
    process::wait_for(owner.unwrap()).unwrap();
    let left = orphans(&lab.0).unwrap();
    let instances = Tracefs::find_or_mount(proc).unwrap();
    let directory = instances.root().join("instances").join(&left[0]);
    assert!(left.len() == 1 && directory.is_dir(), "{left:?}");
    assert_eq!(remove_orphans(&lab.0, proc).unwrap(), left);
    assert!(!directory.exists() && orphans(&lab.0).unwrap().is_empty());
}

#[test]
fn a_file_that_cannot_be_written_is_named_and_leaves_no_instance() {
    let lab = Lab::new("a_file_that_cannot_be_written");
    let mut order = lab.order("min");
    order.trace.out = Some(lab.0.join("missing/trace.slt"));
    match Tracer::start(order) {
        Err(TracerError::NoTracefs { cause }) => {
            let test = "a_file_that_cannot_be_written_is_named_and_leaves_no_instance";
            skip(test, &TracerError::NoTracefs { cause });
        }
        Err(error) => {
            assert!(error.to_string().contains("missing/trace.slt cannot be written"), "{error}");
            assert!(orphans(&lab.0).unwrap().is_empty());
        }
        Ok(_) => panic!("it has nowhere to write to"),
    }
    assert_eq!(TraceEvents::default().to_string(), "min");
}
