//! Compressed records.

use super::*;

#[test]
fn compressed_records_read_the_same() {
    let (drawing, drawn) = (Drawing::new(DRAWING), observe(DRAWING));
    let plain = records(LITTLE, &drawing);
    for (piece, kind) in [(64, 81), (333, 81), (4000, 81), (50, 83)] {
        let file = LITTLE.file(&compressed(&plain, piece, kind));
        assert_eq!(observed(file).lines, drawn.lines, "pieces of {piece}");
    }
}

#[test]
fn rounds_of_a_compressed_file_end_where_they_stand() {
    // 40 rounds of 25 events of CPU 1 and then of CPU 0, in a window of 64 KiB; each round fills a twentieth of it.
    let text: String = (0..2000).map(|at| format!("{} {} migrate A 0 1\n", at % 2, 10 + at)).collect();
    let drawing = Drawing::new(&text);
    let mut file = Vec::new();
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x30];
    for lines in drawing.lines.chunks(50) {
        let of_cpu = |cpu: usize| lines.iter().skip(cpu).step_by(2).flat_map(|line| LITTLE.line(&drawing, line));
        let block: Vec<u8> = of_cpu(1).chain(of_cpu(0)).collect();
        frame.extend(&((block.len() as u32) << 3).to_le_bytes()[..3]);
        frame.extend(block);
        file.extend(LITTLE.record(81, &std::mem::take(&mut frame)));
        file.extend(LITTLE.record(68, &[]));
    }
    let (events, reader) = read(LITTLE.file(&file)).unwrap();
    // The drawing has no switch, which is reported.
    let reported: Vec<ProblemKind> = reader.problems().all().map(|problem| problem.kind).collect();
    assert_eq!((events.len(), &reported[..]), (2000, &[ProblemKind::Recording][..]));
    assert!(events.is_sorted_by_key(|event| event.ts), "time never goes back");
}

#[test]
fn a_compressed_record_in_a_compressed_one_is_not_followed() {
    let inner = compressed(&records(LITTLE, &Drawing::new(DRAWING)), 64, 81);
    let error = error(LITTLE.file(&compressed(&inner, 64, 81)));
    assert!(error.contains("could be read: byte ") && error.contains("a compressed record inside"), "{error}");
}

#[test]
fn a_stream_that_cannot_be_inflated_is_refused() {
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff, 0, 0];
    let error = error(LITTLE.file(&LITTLE.record(81, &frame)));
    assert!(error.contains("at most 134217728 are read; record again without -z"), "{error}");
}
