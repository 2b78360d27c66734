//! Files that the threads of `perf record --threads` wrote.

use super::*;

/// The records of a CPU, as a thread of `perf record --threads` writes them.
fn of_cpu(drawing: &Drawing, cpus: &[u16]) -> Vec<u8> {
    let is_there = |line: &&Line| match line {
        Line::Event(event) => cpus.contains(&event.cpu.0),
        Line::Lost { cpu, .. } => cpus.contains(&cpu.0),
    };
    drawing.lines.iter().filter(is_there).flat_map(|line| LITTLE.line(drawing, line)).collect()
}

fn read_parts(parts: &[Vec<u8>]) -> (Vec<Event>, Reader) {
    let data = LITTLE.file(&[id_index(0, -1), id_index(1, -1)].concat());
    let parts = parts.iter().map(|part| Box::new(part.clone()) as Box<dyn ByteSource>).collect();
    read_all(Reader::open_parts("t", Box::new(data), parts, Kinds::ALL).unwrap()).expect("a good directory")
}

#[test]
fn files_of_threads_are_read_side_by_side() {
    let (drawing, drawn) = (Drawing::new(DRAWING), observe(DRAWING));
    let files = [of_cpu(&drawing, &[0]), of_cpu(&drawing, &[1])];
    let small = files.each_ref().map(|file| packed(file, 50, 81).concat());
    // The last one is from a thread that read both CPUs.
    for parts in [&files[..], &small, &[files.concat()]] {
        let (events, reader) = read_parts(parts);
        assert_eq!(observe_events(&events, reader.names(), reader.states()).lines, drawn.lines);
        assert_eq!(reader.problems().all().filter(|p| p.kind != ProblemKind::Lost).count(), 0);
    }
}

#[test]
fn files_of_threads_may_be_long_and_of_any_speed() {
    // CPU 1 switches ten times as often as CPU 0: its file is read further while the other waits.
    let line = |i: u64| {
        let (cpu, who) = if i.is_multiple_of(11) { (0, "A") } else { (1, "B") };
        format!("{cpu} {} {who} R > {who}\n", 10 + i)
    };
    let text: String = (0..40_000).map(line).collect();
    let drawing = Drawing::new(&text);
    let (events, reader) = read_parts(&[of_cpu(&drawing, &[0]), of_cpu(&drawing, &[1])]);
    assert!(events.is_sorted_by_key(|event| event.ts));
    assert_eq!(events.iter().filter(|event| !event.what.is_mark()).count(), 40_000);
    assert_eq!(reader.problems().count(ProblemKind::Unsorted), 0);
}

#[test]
fn what_is_wrong_with_a_file_of_a_thread_is_reported_with_its_name() {
    let drawing = Drawing::new(DRAWING);
    let (whole, cut) = (of_cpu(&drawing, &[0]), of_cpu(&drawing, &[1]));
    let reported = |parts: &[Vec<u8>]| read_parts(parts).1.problems().all().map(|p| p.to_string()).collect::<Vec<_>>();
    let spoilt = reported(&[whole.clone(), cut[..cut.len() - 3].to_vec()]);
    assert!(spoilt.iter().any(|line| line.starts_with("data.1: byte ")), "{spoilt:?}");
    let missing = reported(&[whole]);
    assert!(missing.iter().any(|line| line.starts_with("no file has an event of CPU 1")), "{missing:?}");
}
