//! Forks, exits and other records that are not samples.

use super::*;

struct Nobody;
impl crate::engine::Observer for Nobody {}

#[test]
fn a_fork_that_a_record_and_a_tracepoint_report_is_one_event() {
    let drawing = Drawing::new("0 10 . R > A\n0 14 fork A D\n0 20 A S > .");
    let mut bytes = records(LITTLE, &drawing);
    // perf's synthesized records for threads from before the recording are kept.
    bytes.extend([life(FORK, 13, 14_500, 0), life(FORK, 40, 0, 0)].concat());
    let (events, _) = read(LITTLE.file(&bytes)).unwrap();
    let forks = events.iter().filter_map(|e| match e.what {
        crate::What::Fork { child, .. } => Some((child.0, e.ts)),
        _ => None,
    });
    let mut forks: Vec<_> = forks.collect();
    forks.sort_unstable();
    assert_eq!(forks, [(13, 14_000), (40, 0)]);
}

#[test]
fn a_fork_on_a_cpu_that_was_not_recorded_is_reported_by_its_record_alone() {
    let switches = records(LITTLE, &Drawing::new("0 10 . R > A\n0 20 A S > ."));
    let forks = |cpu| {
        let file = LITTLE.file(&[id_index(0, -1), switches.clone(), life(FORK, 13, 14_500, cpu)].concat());
        let (events, _) = read(file).unwrap();
        events.iter().filter(|event| matches!(event.what, crate::What::Fork { .. })).count()
    };
    assert_eq!((forks(0), forks(1)), (0, 1));
}

#[test]
fn ids_of_a_pid_namespace_are_not_taken_for_the_machines() {
    let drawing = Drawing::new("0 10 . R > A\n0 20 A S > .");
    let mut switches = records(LITTLE, &drawing);
    let exit = life(EXIT, 10, 30_000, 0);
    let ends = |bytes: Vec<u8>| {
        let (events, reader) = read(LITTLE.file(&bytes)).unwrap();
        let exits = events.iter().filter(|event| matches!(event.what, crate::What::Exit { .. })).count();
        (exits, reader.problems().count(ProblemKind::Recording))
    };
    assert_eq!(ends([switches.clone(), exit.clone()].concat()), (1, 0));
    // Thread 10 of the machine is 3 in the container.
    let mut at = 0;
    while at < switches.len() {
        let tid = at + 20..at + 24;
        if switches[tid.clone()] == [10, 0, 0, 0] {
            switches[tid].copy_from_slice(&[3, 0, 0, 0]);
        }
        at += usize::from(u16::from_le_bytes([switches[at + 6], switches[at + 7]]));
    }
    assert_eq!(ends([switches, exit].concat()), (0, 1));
}

#[test]
fn what_perf_notes_apart_is_no_event_of_the_file() {
    let switches = records(LITTLE, &Drawing::new("0 10 . R > A\n0 20 A S > ."));
    let file = |cpu| LITTLE.file(&[switches.clone(), life(EXIT, 10, 25_000, cpu), life(EXIT, 11, 0, cpu)].concat());
    let (events, reader) = read(file(0)).unwrap();
    assert_eq!((events.len(), reader.noted(crate::Cpu(0)), reader.noted_in_all()), (4, 1, 1));
    let engine = observe_events(&events, reader.names(), reader.states());
    assert_eq!(engine.counts.events - reader.noted_in_all(), 2, "the samples");
    // A record with an unknown CPU has no line in a text, which would have to name the CPU.
    for (cpu, lines, left_out) in [(0, 3, 0), (u32::MAX, 2, 1)] {
        let (mut reader, mut out) = (Reader::open("t", Box::new(file(cpu)), Kinds::ALL).unwrap(), Vec::new());
        let converted = crate::convert(&mut reader, crate::Target::Text, &[], &mut out).unwrap();
        assert_eq!((converted.written, converted.left_out), (lines, left_out), "what has no time is no event");
        assert!(!String::from_utf8(out).unwrap().contains("65535"));
    }
}

#[test]
fn a_record_whose_type_was_spoilt_is_reported() {
    let bytes = records(LITTLE, &Drawing::new("0 10 . R > A\n1 16 waking C by B\n0 20 A S > ."));
    let whole = read(LITTLE.file(&bytes)).unwrap();
    assert_eq!((whole.0.len(), whole.1.problems().all().next()), (3, None));
    for bit in 0..32 {
        let mut spoilt = bytes.clone();
        let kind = u32::from_le_bytes(spoilt[..4].try_into().unwrap()) ^ 1 << bit;
        spoilt[..4].copy_from_slice(&kind.to_le_bytes());
        let (events, reader) = read(LITTLE.file(&spoilt)).unwrap();
        let reported: Vec<String> = reader.problems().all().map(|problem| problem.to_string()).collect();
        assert_eq!((events.len(), reported.len()), (2, 1), "type {kind}: {reported:?}");
        // The next types that the kernel adds cannot be ruled out.
        assert_eq!(
            reported[0].starts_with("1 record of unknown type"),
            [4, 5].contains(&bit),
            "type {kind}: {reported:?}"
        );
    }
}

#[test]
fn a_sample_with_the_data_of_another_event_is_reported() {
    let bytes = records(LITTLE, &Drawing::new("0 10 . R > A\n1 16 waking C by B\n0 20 A S > ."));
    let number = 301u16.to_le_bytes();
    let at = (8..bytes.len()).find(|at| bytes[*at..].starts_with(&number)).unwrap();
    let mut spoilt = bytes.clone();
    spoilt[at..at + 2].fill(0);
    assert_eq!(read(LITTLE.file(&spoilt)).unwrap().0.len(), 3, "as perf inject -s writes it");
    spoilt[at..at + 8].fill(0);
    let (events, reader) = read(LITTLE.file(&spoilt)).unwrap();
    assert_eq!((events.len(), reader.problems().count(ProblemKind::BadRecord)), (2, 1));
}

#[test]
fn a_sample_that_covers_the_next_one_is_reported() {
    let bytes = records(LITTLE, &Drawing::new("0 10 . R > A\n1 16 waking C by B\n0 20 A S > .\n0 22 . R > A"));
    let size_of = |at: usize| u16::from_le_bytes(bytes[at + 6..at + 8].try_into().unwrap());
    let both = size_of(0) + size_of(usize::from(size_of(0)));
    let mut spoilt = bytes.clone();
    spoilt[6..8].copy_from_slice(&both.to_le_bytes());
    let (events, reader) = read(LITTLE.file(&spoilt)).unwrap();
    assert_eq!((events.len(), reader.problems().count(ProblemKind::BadRecord)), (3, 1));
    // If a part follows the raw data, a sample may contain more.
    let cgroups = Writer { cgroup_of: Some(|_| 7), ..LITTLE };
    let (_, reader) = read(cgroups.file(&records(cgroups, &Drawing::new("0 10 . R > A")))).unwrap();
    assert_eq!(reader.problems().all().next(), None);
}

#[test]
fn tasks_alone_are_distinguished_from_a_loss() {
    let drawing = Drawing::new("0 10 A S > B\n0 20 A S > C\n0 30 A S > .");
    let events = records(LITTLE, &drawing);
    let problems = |index: Vec<u8>| {
        let (_, reader) = read(LITTLE.file(&[index, events.clone()].concat())).unwrap();
        [ProblemKind::ChainBreak, ProblemKind::SomeTasks].map(|kind| reader.problems().count(kind))
    };
    assert_eq!(problems(Vec::new()), [2, 0]);
    assert_eq!(problems(id_index(0, -1)), [2, 0], "the whole machine");
    assert_eq!(problems(id_index(0, 77)), [0, 1], "perf record without -a");
    assert_eq!(problems(id_index(-1, 77)), [0, 1], "perf record --per-thread");
    // Without an index: perf before 6.0, or a single event.
    let thread_map = |tid: u64| {
        let entry = [1, tid, 0, 0].map(|word| LITTLE.u64(word)).concat();
        LITTLE.record(73, &entry)
    };
    assert_eq!(problems(thread_map(77)), [0, 1], "perf record without -a");
    assert_eq!(problems(thread_map(u64::MAX)), [2, 0], "the whole machine");
}

#[test]
fn a_trace_begins_with_its_first_sample_and_not_with_perfs_own_record() {
    let samples = records(LITTLE, &Drawing::new("0 70 . R > A\n0 90 A S > ."));
    let file = LITTLE.file(&[life(EXIT, 41, 5_000, 0), samples, life(EXIT, 40, 95_000, 0)].concat());
    let (events, reader) = read(file).unwrap();
    let span_of = |events: &[Event]| {
        let mut engine = crate::engine::Engine::default();
        let classes = reader.states().classes();
        events.iter().for_each(|event| engine.take_dyn(event, &classes, &mut Nobody));
        engine.span(reader.noted_in_all())
    };
    assert_eq!(span_of(&events), Some((70_000, 95_000)));
    let noted: Vec<Event> = events.into_iter().filter(|event| !event.begins_its_cpu()).collect();
    assert_eq!(span_of(&noted), Some((5_000, 95_000)), "where there is nothing else");
}

/// Without -a, only the switches of the recorded tasks are there: a foreign thread is not seen to leave its CPU.
#[test]
fn a_run_at_the_end_of_a_recording_of_some_tasks_is_unknown() {
    let drawing = Drawing::new("0 10 A S > B\n1 12 C S > A\n1 90 A S > .");
    let samples = records(LITTLE, &drawing);
    let runs = |file: Vec<u8>| {
        observed(file)
            .of(&["ran", "run-censored"])
            .into_iter()
            .filter(|r| r.starts_with('B'))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let of_all = runs(LITTLE.file(&samples));
    let of_tasks = runs(LITTLE.file(&[id_index(-1, 77), samples].concat()));
    assert_ne!(of_all, of_tasks);
    assert!(of_tasks.iter().all(|run| run.contains("censored")), "{of_tasks:?}");
}

/// perf's own records say nothing about what the tracepoints missed: a gap begins at the last of the latter.
#[test]
fn a_gap_does_not_begin_at_perfs_own_record() {
    let before = "0 10 . R > A\n1 12 . R > B\n0 20 waking C by A on 0\n0 22 A S > .\n1 30 B S > C\n";
    let drawing = Drawing::new(&format!("{before}0 50 D S > .\n"));
    for exits in [&[][..], &[40], &[35, 40]] {
        let (last, first) = drawing.lines.split_last().unwrap();
        let mut file: Vec<u8> = first.iter().flat_map(|line| LITTLE.line(&drawing, line)).collect();
        exits.iter().for_each(|at| file.extend(life(EXIT, 40, at * 1000, 0)));
        file.extend(LITTLE.line(&drawing, last));
        assert_eq!(observed(LITTLE.file(&file)).waits(), ["C censored Waking Gap"], "{exits:?}");
    }
    assert_eq!(observe(before).waits(), ["C waited 20-30 Waking"]);
}
