//! Rings that were overwritten, and samples without a time.

use super::*;

/// A file of overwriting rings, read newest first.
fn overwritten(drawing: &Drawing, others: &[u8], rounds: &[u8]) -> Vec<u8> {
    let mut file = others.to_vec();
    for cpu in [1, 0] {
        let of_cpu = drawing.lines.iter().rev().filter(|line| match line {
            Line::Event(event) => event.cpu.0 == cpu,
            Line::Lost { cpu: c, .. } => c.0 == cpu,
        });
        file.extend(of_cpu.flat_map(|line| LITTLE.line(drawing, line)));
    }
    file.extend(rounds);
    with_attrs(LITTLE.file(&file), FLAGS_AT, |_, flags| flags | 1 << 27)
}

#[test]
fn rings_that_were_overwritten_are_read_from_their_end() {
    // Both rings begin at the same time, so that nothing is missing.
    let text = DRAWING.replace("1 12 . R > B", "1 10 . R > B");
    let drawing = Drawing::new(&text);
    for rounds in [Vec::new(), LITTLE.record(68, &[])] {
        assert_eq!(observed(overwritten(&drawing, &[], &rounds)).lines, observe(&text).lines);
    }
}

#[test]
fn what_a_ring_overwrote_is_missing_up_to_its_first_sample() {
    // A is woken, runs and sleeps on CPU 1 during the time that its ring no longer covers; it is woken again and gets
    // CPU 0.
    let ring = "0 10 . R > B\n0 20 waking A by B\n0 30 B S > .\n1 60 . R > C\n0 70 . R > A\n0 80 A S > .\n1 90 C S > .";
    let drawing = Drawing::new(ring);
    // Names and lives of threads have their own ring, which is complete.
    let lives =
        [life(EXIT, 40, 5_000, 1), LITTLE.record(68, &[]), life(EXIT, 41, 50_000, 1), LITTLE.record(68, &[])].concat();
    for others in [Vec::new(), lives] {
        let (events, reader) = read(overwritten(&drawing, &others, &LITTLE.record(68, &[]))).unwrap();
        assert!(events.is_sorted_by_key(|event| event.ts));
        let observed = observe_events(&events, reader.names(), reader.states());
        assert_eq!(observed.waits(), ["A censored Waking Gap"], "{events:?}");
        assert_eq!(events[0].ts, if others.is_empty() { 10_000 } else { 5_000 });
        let end = events.iter().rfind(|event| matches!(event.what, crate::What::GapEnd { .. })).unwrap();
        assert_eq!((end.ts, end.cpu.0), (60_000, 1));
        let problems: Vec<String> = reader.problems().all().map(|problem| problem.to_string()).collect();
        assert!(
            problems.len() == 1 && problems[0].contains("before 0.000060 s are missing") || !others.is_empty(),
            "{problems:?}"
        );
        assert_eq!(reader.problems().count(ProblemKind::Unsorted), 0);
    }
}

/// `-e sched:sched_switch/no-overwrite/ -e sched:sched_waking/overwrite/`: the wakings come last, newest first.
#[test]
fn rings_of_both_kinds_are_put_in_order() {
    let text = "
        0 10 . R > A
        1 10 . R > B
        0 20 waking C by A
        0 20 A S > C
        1 30 waking A by B
        1 40 B S > .
        0 50 C S > A
        1 60 . R > B
    ";
    let drawing = Drawing::new(text);
    let is_switch =
        |line: &&Line| matches!(line, Line::Event(event) if matches!(event.what, crate::What::Switch { .. }));
    let round = LITTLE.record(68, &[]);
    let of_rounds = drawing.lines.chunks(3).flat_map(|lines| {
        let switches: Vec<u8> = lines.iter().filter(is_switch).flat_map(|line| LITTLE.line(&drawing, line)).collect();
        [switches, round.clone()].concat()
    });
    let others = drawing.lines.iter().rev().filter(|line| !is_switch(line));
    let file: Vec<u8> =
        of_rounds.chain(others.flat_map(|line| LITTLE.line(&drawing, line))).chain(round.clone()).collect();
    let switch = 0;
    let file = with_attrs(LITTLE.file(&file), FLAGS_AT, |number, flags| flags | u64::from(number != switch) << 27);
    let (events, reader) = read(file).unwrap();
    assert!(events.is_sorted_by_key(|event| event.ts));
    assert_eq!(reader.problems().count(ProblemKind::Unsorted), 0);
    let observed = observe_events(&events, reader.names(), reader.states());
    // C may have been woken earlier on CPU 1, whose ring of wakings begins at 30 µs.
    assert_eq!(observed.waits(), ["C censored Waking Gap", "A waited 30-50 Waking"], "{events:?}");
}
