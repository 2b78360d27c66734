//! Whole files, written by [`Writer`] and read back: what comes out, and what happens to damaged ones.

mod overwritten;
mod packed;
mod parts;
mod tasks;

use super::written::{BIG, KINDS, LITTLE, Writer};
use crate::drawing::{Drawing, Line, Observed, is_in_corpus, observe, observe_events, read_all};
use crate::{ByteSource, Event, Forward, Kind, Kinds, ProblemKind, Reader, TraceError};

/// A little of everything, on two CPUs.
const DRAWING: &str = "
    0 10 . R > A
    1 12 . R > B
    0 14 fork A D
    0 15 new D on 1
    1 16 waking C by B irq
    1 17 wakeup C on 0
    0 20 A R+ > C
    1 22 B S > D
    0 25 migrate A 0 1
    1 30 D X > A
    0 31 rename C shell
    0 33 C D > .
    0 34 lost 4
    0 40 . R > B
";

fn records(writer: Writer, drawing: &Drawing) -> Vec<u8> {
    drawing.lines.iter().flat_map(|line| writer.line(drawing, line)).collect()
}

fn read(file: Vec<u8>) -> Result<(Vec<Event>, Reader), TraceError> {
    read_all(Reader::open("t", Box::new(file), Kinds::ALL)?)
}

fn observed(file: Vec<u8>) -> Observed {
    let (events, reader) = read(file).expect("a good file");
    observe_events(&events, reader.names(), reader.states())
}

fn error(file: Vec<u8>) -> String {
    read(file).err().expect("a bad file").to_string()
}

/// Any bytes must be read, refused, or read with problems, without a panic.
fn survive(file: Vec<u8>) {
    if let Ok((events, reader)) = read(file) {
        observe_events(&events, reader.names(), reader.states());
    }
}

const EXIT: u32 = 4;
const FORK: u32 = 7;

/// The FORK or EXIT record of a thread, with what `sample_id_all` appends: thread, time, CPU, id.
fn life(kind: u32, tid: u32, ts: u64, cpu: u32) -> Vec<u8> {
    let mut body: Vec<u8> = [tid, 10, tid, 10].iter().flat_map(|n| LITTLE.u32(*n)).collect();
    body.extend([LITTLE.u64(ts), LITTLE.u64(0), LITTLE.u64(ts), LITTLE.u64(cpu.into()), LITTLE.u64(1000)].concat());
    LITTLE.record(kind, &body)
}

/// `PERF_RECORD_ID_INDEX` for one event.
fn id_index(cpu: i64, tid: i64) -> Vec<u8> {
    LITTLE.record(69, &[1, 1000, 0, cpu as u64, tid as u64].iter().flat_map(|n| LITTLE.u64(*n)).collect::<Vec<u8>>())
}

#[test]
fn a_file_reads_as_drawn_in_either_byte_order() {
    let (drawing, drawn) = (Drawing::new(DRAWING), observe(DRAWING));
    for writer in [LITTLE, BIG] {
        let read = observed(writer.file(&records(writer, &drawing)));
        assert_eq!((read.lines, read.counts), (drawn.lines.clone(), drawn.counts));
    }
}

/// perf enables one CPU after the other; until then a thread may run there unseen.
#[test]
fn a_wait_across_the_start_of_a_later_cpu_is_unknown() {
    let drawn = "
        0 10 . R > W
        0 20 waking A by W
        0 30 waking B by W on 1
        1 90 . R > B
        1 95 waking C by B on 1
        1 97 B S > C
        0 99 W S > A
    ";
    let waits = ["B waited 30-90 Waking", "C waited 95-97 Waking", "A waited 20-99 Waking"];
    assert_eq!(observe(drawn).waits(), waits);
    let records = records(LITTLE, &Drawing::new(drawn));
    let seen = observed(LITTLE.file(&records)).waits().iter().map(|wait| (*wait).to_owned()).collect::<Vec<_>>();
    assert_eq!(seen, ["B censored Waking Gap", waits[1], waits[2]]);
    // Only some tasks: they are enabled all at once.
    let of_tasks = [id_index(-1, 77), records].concat();
    assert_eq!(observed(LITTLE.file(&of_tasks)).waits(), waits);
}

#[test]
fn a_stream_through_a_pipe_reads_the_same() {
    let (drawing, drawn) = (Drawing::new(DRAWING), observe(DRAWING));
    for writer in [LITTLE, BIG] {
        let stream = writer.stream(&records(writer, &drawing));
        let pipe = Forward::new(std::io::Cursor::new(stream.clone()));
        let (events, reader) = read_all(Reader::open("pipe", Box::new(pipe), Kinds::ALL).unwrap()).unwrap();
        assert_eq!(observe_events(&events, reader.names(), reader.states()).lines, drawn.lines);
        assert_eq!(observed(stream).lines, drawn.lines, "the same stream in a file");
    }
}

#[test]
fn rounds_put_cpus_that_were_written_one_after_the_other_in_order() {
    let (drawing, drawn) = (Drawing::new(DRAWING), observe(DRAWING));
    let round = LITTLE.record(68, &[]);
    let mut file = Vec::new();
    for lines in drawing.lines.chunks(5) {
        // In perf's order: all of CPU 1, then all of CPU 0.
        for cpu in [1, 0] {
            let of_cpu = lines.iter().filter(|l| match l {
                Line::Event(event) => event.cpu.0 == cpu,
                Line::Lost { cpu: c, .. } => c.0 == cpu,
            });
            file.extend(of_cpu.flat_map(|line| LITTLE.line(&drawing, line)));
        }
        file.extend(&round);
    }
    assert_eq!(observed(LITTLE.file(&file)).lines, drawn.lines);
}

/// The same with the end of a round after each.
fn compressed(records: &[u8], piece: usize, kind: u32) -> Vec<u8> {
    packed(records, piece, kind).into_iter().flat_map(|record| [record, LITTLE.record(68, &[])].concat()).collect()
}

/// A zstd stream of raw blocks that is never ended, split into compressed records as perf does.
fn packed(records: &[u8], piece: usize, kind: u32) -> Vec<Vec<u8>> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x00];
    for block in records.chunks(100) {
        frame.extend(&((block.len() as u32) << 3).to_le_bytes()[..3]);
        frame.extend(block);
    }
    let record = |piece: &[u8]| {
        let mut body = if kind == 83 { (piece.len() as u64).to_le_bytes().to_vec() } else { Vec::new() };
        body.extend(piece);
        if kind == 83 {
            body.resize(body.len().next_multiple_of(8), 0);
        }
        LITTLE.record(kind, &body)
    };
    frame.chunks(piece).map(record).collect()
}

#[test]
fn only_what_is_wanted_is_decoded_and_all_is_counted() {
    let drawing = Drawing::new(DRAWING);
    let file = LITTLE.file(&records(LITTLE, &drawing));
    let reader = Reader::open("t", Box::new(file), Kinds::of(&[crate::Kind::SchedSwitch])).unwrap();
    let (events, reader) = read_all(reader).unwrap();
    let switches = events.iter().filter(|e| matches!(e.what, crate::What::Switch { .. })).count();
    assert_eq!((switches, reader.info().kinds), (7, Kinds::of(&[crate::Kind::SchedSwitch])));
    let counted: u64 = reader.info().events.iter().map(|e| e.1).sum();
    assert_eq!((counted, reader.info().events[0].0.as_str()), (12, "sched:sched_switch"));
    assert_eq!(reader.info().events.len(), KINDS.len());
}

#[test]
fn an_event_that_was_asked_for_twice_is_read_once() {
    // The file's sched_waking becomes a second sched_switch, with its own ids.
    let drawing = Drawing::new("0 10 . R > A\n0 20 A S > B\n0 30 B S > .");
    let mut bytes = Vec::new();
    for line in &drawing.lines {
        let once = LITTLE.line(&drawing, line);
        let mut again = once.clone();
        again[8..16].copy_from_slice(&1004_u64.to_le_bytes());
        bytes.extend([once, again].concat());
    }
    let switch = u64::from(super::written::number(crate::Kind::SchedSwitch));
    let file = with_attrs(LITTLE.file(&bytes), 8, |number, config| if number == 1 { switch } else { config });
    let (events, reader) = read(file).unwrap();
    let reported: Vec<String> = reader.problems().all().map(|problem| problem.to_string()).collect();
    assert_eq!(events.len(), 3);
    assert!(reported.len() == 1 && reported[0].starts_with("sched:sched_switch was recorded twice"), "{reported:?}");
}

/// Changes words in every `perf_event_attr` of a file: the word at `at` by `change`, whose first argument is the number
/// of the event.
fn with_attrs(mut file: Vec<u8>, at: usize, change: impl Fn(usize, u64) -> u64) -> Vec<u8> {
    let word = |file: &[u8], at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    let attrs = word(&file, 24) as usize;
    for number in 0..KINDS.len() {
        let at = attrs + 128 * number + at;
        let changed = change(number, word(&file, at));
        file[at..at + 8].copy_from_slice(&changed.to_le_bytes());
    }
    file
}

const SAMPLE_TYPE_AT: usize = 24;
const FLAGS_AT: usize = 40;
const PERIOD_AT: usize = 16;

#[test]
fn a_file_of_samples_of_the_events_is_refused() {
    let records = records(LITTLE, &Drawing::new(DRAWING));
    let with = |period, is_freq: u64| {
        let file = with_attrs(LITTLE.file(&records), PERIOD_AT, |_, _| period);
        with_attrs(file, FLAGS_AT, |_, flags| flags | is_freq << 10)
    };
    // In old files without a period, every event is a sample.
    for period in [0, 1] {
        assert_eq!(observed(with(period, 0)).lines, observe(DRAWING).lines);
    }
    for (period, is_freq, how) in [(4000, 1, "with a frequency (-F 4000)"), (2, 0, "with a period (-c 2)")] {
        let error = error(with(period, is_freq));
        assert!(error.contains(&format!("sched:sched_switch was recorded {how}")) && error.contains("-c 1"), "{error}");
    }
    // Events that are not analysed may be sampled: a profile recorded together with the trace.
    let file = with_attrs(LITTLE.file(&records), PERIOD_AT, |number, period| if number == 0 { 7 } else { period });
    assert!(Reader::open("t", Box::new(file), Kinds::of(&[crate::Kind::SchedWaking])).is_ok());
}

#[test]
fn a_record_of_an_event_without_a_time_has_none() {
    // The last event has no time in its samples, and so its other records have none at their end.
    let mut comm: Vec<u8> = [10, 10].iter().flat_map(|n| LITTLE.u32(*n)).collect();
    comm.extend(b"shell\0\0\0");
    // Thread, CPU, id.
    let id = 1000 + 4 * (KINDS.len() as u64 - 1);
    comm.extend([LITTLE.u64(99 << 32 | 99), LITTLE.u64(1), LITTLE.u64(id)].concat());
    let switches = records(LITTLE, &Drawing::new("0 10 . R > A\n0 20 A S > ."));
    let file = LITTLE.file(&[switches, LITTLE.record(3, &comm)].concat());
    let last = KINDS.len() - 1;
    let file = with_attrs(file, SAMPLE_TYPE_AT, |n, parts| if n == last { parts & !(1 << 2) } else { parts });
    let wanted = Kinds::of(&[crate::Kind::SchedSwitch, crate::Kind::TaskRename]);
    let (events, reader) = read_all(Reader::open("t", Box::new(file), wanted).unwrap()).unwrap();
    let reported = events.iter().find_map(|e| match e.what {
        crate::What::Comm { comm, .. } => Some((e.ts, reader.names().text(comm).to_owned())),
        _ => None,
    });
    assert_eq!(reported, Some((0, "shell".to_owned())));
}

#[test]
fn what_the_kernel_counted_as_lost_is_counted_once() {
    let events = records(LITTLE, &Drawing::new("0 10 . R > A\n0 15 lost 4\n0 20 A S > ."));
    for (samples, unreported) in [(4, 0), (9, 5)] {
        let lost_samples = LITTLE.record(13, &LITTLE.u64(samples));
        let (_, reader) = read(LITTLE.file(&[events.clone(), lost_samples].concat())).unwrap();
        assert_eq!(reader.problems().count(ProblemKind::Lost), 4 + unreported);
        let counts = reader.record_counts().unwrap();
        assert_eq!((counts.records, counts.lost, counts.losses), (4, 4, 1));
    }
}

#[test]
fn a_loss_at_an_unknown_time_makes_every_wait_unknown() {
    let events = records(LITTLE, &Drawing::new("0 10 . R > A\n0 12 waking B by A\n0 20 A S > B"));
    let observed = |after: Vec<u8>| observed(LITTLE.file(&[events.clone(), after].concat()));
    assert_eq!(observed(Vec::new()).waits(), ["B waited 12-20 Waking"]);
    assert_eq!(observed(LITTLE.record(13, &LITTLE.u64(5))).waits(), ["B censored Waking Gap"]);
}

#[test]
fn what_a_filter_dropped_is_no_loss() {
    let mut dropped = LITTLE.record(13, &LITTLE.u64(9));
    // PERF_RECORD_MISC_LOST_SAMPLES_BPF.
    dropped[5] |= 0x80;
    let events = records(LITTLE, &Drawing::new("0 10 . R > A\n0 20 A S > ."));
    let (_, reader) = read(LITTLE.file(&[events, dropped].concat())).unwrap();
    let counts = [ProblemKind::Lost, ProblemKind::Recording].map(|kind| reader.problems().count(kind));
    assert_eq!(counts, [0, 9]);
}

#[test]
fn what_is_no_trace_is_named() {
    assert_eq!(error(Vec::new()), "t is empty; expected a trace");
    assert_eq!(
        error(b"PNG picture".to_vec()),
        "t is not a trace that is known here: it begins with 50 4e 47 20 70 69 63 74 75 72 65 (PNG picture); \
         expected a recording of schedlab (SLTRACE), perf.data (PERFILE2), trace.dat (17 08 44 tracing), ftrace text or a \
         Perfetto trace"
    );
    assert_eq!(error(b"PERFILE2".to_vec()), "t: byte 8: 0 bytes are left; expected the size of the header of 8 bytes");
    let mut other = LITTLE.file(&[]);
    other[8] = 99;
    assert_eq!(error(other), "t: byte 8: a header of 99 bytes; expected 104 bytes (a file) or 16 (a pipe)");
}

#[test]
fn a_file_without_its_formats_is_distinguished_from_one_without_events() {
    let drawing = Drawing::new(DRAWING);
    let file = LITTLE.file(&records(LITTLE, &drawing));
    let cut = error(file[..2000].to_vec());
    assert!(cut.contains("the file is truncated, or still being written"), "{cut}");
    let mut killed = file.clone();
    killed[48..56].fill(0);
    let killed = error(killed);
    assert!(killed.contains("perf ended before it wrote them"), "{killed}");
    let reader = Reader::open("t", Box::new(file), Kinds::of(&[Kind::CpuIdle]));
    let none = reader.err().expect("nothing wanted is in it").to_string();
    assert!(none.starts_with("t has no scheduler events (sched:sched_switch, "), "{none}");
}

/// A feature list of 32-bit words, the big end first: bit 1 (the formats) and bit 3 (the host's name) of word 0.
#[test]
fn the_features_of_a_32_bit_machine_are_found() {
    let writer = Writer { long_size: 4, ..BIG };
    let mut file = writer.file(&records(writer, &Drawing::new(DRAWING)));
    file[72..80].copy_from_slice(&[0, 0, 0, 0b1010, 0, 0, 0, 0]);
    // The section of the host's name follows that of the formats in the table.
    let table = (u64::from_be_bytes(file[40..48].try_into().unwrap())
        + u64::from_be_bytes(file[48..56].try_into().unwrap())) as usize;
    let end = file.len() as u64;
    let (mut formats, after) = (file[table..table + 16].to_vec(), file[table + 16..].to_vec());
    let moved = u64::from_be_bytes(formats[..8].try_into().unwrap()) + 16;
    formats[..8].copy_from_slice(&moved.to_be_bytes());
    let name = [&4u32.to_be_bytes()[..], b"vm1\0"].concat();
    let section = [(end + 16).to_be_bytes(), (name.len() as u64).to_be_bytes()].concat();
    let file = [&file[..table], &formats, &section, &after, &name].concat();
    let (events, reader) = read(file).unwrap();
    assert_eq!((reader.info().hostname.as_str(), events.is_empty()), ("vm1", false));
}

#[test]
fn a_second_file_after_the_first_is_named() {
    let file = LITTLE.file(&records(LITTLE, &Drawing::new(DRAWING)));
    let second = format!("byte {}: a second perf.data file begins here", file.len());
    let (_, reader) = read([file.clone(), file].concat()).unwrap();
    assert!(reader.problems().all().any(|problem| problem.first.starts_with(&second)));
}

#[test]
fn a_file_without_switches_says_so_and_one_without_samples_is_refused() {
    let fork = life(FORK, 13, 14_500, 0);
    let none = error(LITTLE.file(&fork));
    assert!(none.contains("(not one sample of sched:sched_switch, sched:sched_waking"), "{none}");
    let wakings = records(LITTLE, &Drawing::new("1 16 waking C by B"));
    let (_, reader) = read(LITTLE.file(&wakings)).unwrap();
    let reported: Vec<String> = reader.problems().all().map(|problem| problem.to_string()).collect();
    assert!(
        reported.len() == 1 && reported[0].starts_with("sched:sched_switch was recorded and not one"),
        "{reported:?}"
    );
}

#[test]
fn wakings_that_were_asked_for_and_never_came_count_as_not_recorded() {
    let wakeups = records(LITTLE, &Drawing::new("0 10 . R > B\n1 16 wakeup C on 0\n0 20 B S > C"));
    let (_, reader) = read(LITTLE.file(&wakeups)).unwrap();
    let kinds = reader.info().kinds;
    assert!(kinds.has(Kind::SchedWakeup) && !kinds.has(Kind::SchedWaking));
    let reported: Vec<String> = reader.problems().all().map(|problem| problem.to_string()).collect();
    assert!(
        reported.len() == 1 && reported[0].starts_with("sched:sched_waking was recorded and not one"),
        "{reported:?}"
    );
    let one = records(LITTLE, &Drawing::new("1 15 waking C by B\n1 16 wakeup C on 0\n0 20 B S > C"));
    assert!(read(LITTLE.file(&one)).unwrap().1.info().kinds.has(Kind::SchedWaking));
}

#[test]
fn a_stream_that_ends_in_a_record_says_so() {
    let drawing = Drawing::new(DRAWING);
    let stream = LITTLE.stream(&records(LITTLE, &drawing));
    let (events, reader) = read(stream[..stream.len() - 5].to_vec()).unwrap();
    assert!(!events.is_empty());
    assert_eq!(reader.problems().count(ProblemKind::Truncated), 1);
}

/// A file, a stream and a compressed file. Most of each is format text, in which not every byte is tried.
fn samples() -> [Vec<u8>; 3] {
    let drawing = Drawing::new(DRAWING);
    let records = records(LITTLE, &drawing);
    [LITTLE.file(&records), LITTLE.stream(&records), LITTLE.file(&compressed(&records, 200, 81))]
}

#[test]
fn the_corpus_begins_with_these_files() {
    let [file, stream, compressed] = samples();
    let big_endian = BIG.file(&records(BIG, &Drawing::new(DRAWING)));
    for (name, bytes) in [("file", file), ("stream", stream), ("compressed", compressed), ("big_endian", big_endian)] {
        is_in_corpus("perf_data", name, &bytes);
    }
}

/// Bytes worth trying: all except most of the format text.
fn places(file: &[u8]) -> impl Iterator<Item = usize> {
    let text = file.windows(6).position(|w| w == b"field:").unwrap_or(file.len());
    let text_end = file.windows(4).rposition(|w| w == b": \"\"").unwrap_or(0);
    (0..=file.len()).filter(move |at| !(text..text_end).contains(at) || at % 61 == 0)
}

#[test]
fn every_cut_is_survived() {
    for file in samples() {
        places(&file).for_each(|end| survive(file[..end].to_vec()));
    }
}

#[test]
fn every_spoilt_byte_is_survived() {
    for file in samples() {
        for at in places(&file).filter(|at| *at < file.len()) {
            let mut spoilt = file.clone();
            spoilt[at] = if at % 2 == 0 { 0xff } else { file[at] ^ 0x80 };
            survive(spoilt);
        }
    }
}
