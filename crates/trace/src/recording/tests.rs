//! What is written is read back bit for bit; damage is reported, and never more than reported is lost.

use super::*;
use crate::drawing::read_all;
use crate::event::{Context, Cpu, Event, Missing, Prio, Tid, Wake, What};
use crate::names::{Name, Names};
use crate::prev_state::{PrevStates, StateId};
use crate::rows::{Bits, Holds, ROWS, Row, Values};
use crate::syscall::Syscall;
use crate::{Kind, Kinds, ProblemKind, Reader, TraceError};
use schedlab_stats::Random;

/// Generates events as a machine with two CPUs might trace them, of every kind, with intact chains of switches.
struct Machine {
    names: Names,
    states: PrevStates,
    letters: Vec<StateId>,
    comms: Vec<Name>,
    current: [u32; 2],
    /// Thread and priority of the last one woken on each CPU.
    woken: [(u32, Prio); 2],
    now: u64,
    draw: Random,
}

impl Machine {
    fn new(seed: u64) -> Self {
        let (mut names, mut states) = (Names::default(), PrevStates::default());
        let letters = ["S", "R", "R+", "D", "I", "X"].map(|l| states.of_letters(l)).to_vec();
        let comms = (0..40).map(|n| names.intern(&format!("task-{n}"))).collect();
        Self {
            names,
            states,
            letters,
            comms,
            current: [0; 2],
            woken: [(0, Prio::UNKNOWN); 2],
            now: 1_000_000,
            draw: Random::new(seed),
        }
    }

    fn comm(&self, tid: u32) -> Name {
        if tid == 0 { self.comms[0] } else { self.comms[1 + tid as usize % (self.comms.len() - 1)] }
    }

    fn prio(&mut self) -> Prio {
        Prio::from_raw([120, 120, 120, 98, -1, 139][self.draw.below(6)])
    }

    fn wake(&mut self, cpu: usize, tid: u32) -> Wake {
        let context = Context::from_common_flags([0, 0, 0, 8, 0x10][self.draw.below(5)]);
        let waker = if self.draw.below(20) == 0 { Tid(99) } else { Tid(self.current[cpu]) };
        let target_cpu = [Cpu(0), Cpu(1), Cpu(1), Cpu::ANY][self.draw.below(4)];
        let prio = self.prio();
        self.woken[cpu] = (tid, prio);
        Wake { tid: Tid(tid), comm: self.comm(tid), waker, target_cpu, prio, context }
    }

    fn event(&mut self) -> Event {
        let cpu = self.draw.below(2);
        self.now += self.draw.below(3000) as u64;
        let tid = 10 + self.draw.below(300) as u32;
        let number = self.draw.below(1 << 20) as u32;
        let what = match self.draw.below(43) {
            0..=14 => {
                let prev = self.current[cpu];
                let (prev_prio, any_prio) = (self.prio(), self.prio());
                let next_prio;
                (self.current[cpu], next_prio) = match self.draw.below(5) {
                    0 => (0, any_prio),
                    1 | 2 => self.woken[cpu],
                    _ => (tid, any_prio),
                };
                What::Switch {
                    prev: Tid(prev),
                    next: Tid(self.current[cpu]),
                    prev_comm: self.comm(prev),
                    next_comm: self.comm(self.current[cpu]),
                    prev_prio,
                    next_prio,
                    prev_state: self.letters[self.draw.below(6)],
                }
            }
            15..=21 => What::Waking(self.wake(cpu, tid)),
            22..=23 => What::Wakeup(self.wake(cpu, tid)),
            24 => What::WakeupNew(self.wake(cpu, tid)),
            25 => What::SysEnter {
                tid: Tid(if number.is_multiple_of(3) { tid } else { self.current[cpu] }),
                number: Syscall([202, 0, 232, u16::MAX][number as usize % 4]),
                arg0: [0, 0x7ffd_0000_1234, (-100_i64) as u64, u64::MAX][number as usize % 4].into(),
                arg1: [0, 128, u32::MAX - 1, u32::MAX][number as usize / 4 % 4],
            },
            26 => What::SysExit {
                tid: Tid(if number.is_multiple_of(3) { tid } else { self.current[cpu] }),
                number: Syscall(number as u16),
                ret: [0, 1, (-11_i64) as u64, 1 << 40][number as usize % 4].into(),
            },
            _ => self.of_some_row(tid),
        };
        Event { ts: self.now, cpu: Cpu(cpu as u16), what }
    }

    /// An event that is described only by its row.
    fn of_some_row(&mut self, tid: u32) -> What {
        let rows: Vec<&Row> = ROWS.iter().filter(|row| !row.fields.is_empty()).collect();
        let row = rows[self.draw.below(rows.len())];
        let mut fields = Values::default();
        for (at, field) in row.fields.iter().enumerate() {
            let number = self.draw.below(1 << 20) as u64;
            fields[at] = match field.holds {
                // An exec that changed the id would put the other id on the CPU.
                Holds::Thread if row.kind == Kind::SchedProcessExec => Tid(tid).bits(),
                Holds::Thread | Holds::ThreadIfSaid => Tid(tid + at as u32).bits(),
                Holds::Comm => self.comm(fields[at - 1] as u32).bits(),
                Holds::Text | Holds::Function => self.comms[number as usize % 40].bits(),
                Holds::Prio => self.prio().bits(),
                Holds::Cpu | Holds::Pool => [Cpu(0), Cpu(1), Cpu::ANY][number as usize % 3].bits(),
                Holds::Number => [number as u32 % 10, number as u32, u32::MAX][number as usize % 3].bits(),
                Holds::Long => number << (number % 40),
                Holds::Address => 0xffff_8880_0000_0000 + number * 8,
            };
        }
        What::of(row.kind, fields).unwrap()
    }
}

/// An event in words, so that events with two different dictionaries can be compared.
fn words(event: &Event, names: &Names, states: &PrevStates) -> String {
    let mut text = format!("{event:?}");
    let named = |text: &mut String, of: &str, name: Name| {
        let from = format!("{of}: {name:?}");
        *text = text.replace(&from, &format!("{of}: {}", names.text(name)));
    };
    match event.what {
        What::Switch { prev_comm, next_comm, prev_state, .. } => {
            named(&mut text, "prev_comm", prev_comm);
            named(&mut text, "next_comm", next_comm);
            text = text.replace(&format!("{prev_state:?}"), states.letters(prev_state));
        }
        What::Waking(wake) | What::Wakeup(wake) | What::WakeupNew(wake) => named(&mut text, "comm", wake.comm),
        other => {
            let (row, fields) =
                other.fields().map_or((&[][..], Values::default()), |(row, fields)| (row.fields, fields));
            for (field, bits) in row.iter().zip(fields) {
                if matches!(field.holds, Holds::Comm | Holds::Text | Holds::Function) {
                    named(&mut text, field.name, Name::of(bits));
                }
            }
        }
    }
    text
}

/// A recording of `events` random events in rounds of `round`, and the expected result of reading it.
fn recorded(seed: u64, events: usize, round: usize) -> (Vec<u8>, Vec<String>) {
    let mut machine = Machine::new(seed);
    let mut about = About::default();
    about.set("clock", "mono");
    about.set("cpus", 2);
    about.set("events", "sched_switch,sched_waking");
    let format = FormatText { system: "sched".into(), text: "name: sched_switch\n".into() };
    let mut writer = RecordingWriter::begin(Vec::new(), &about, "header page", &[format]).unwrap();
    let thread = ThreadState { tid: 10, pid: 10, comm: "task-11".into(), ..ThreadState::default() };
    writer.threads(Moment::Start, 5, std::slice::from_ref(&thread)).unwrap();
    let mut lanes = [BlockWriter::new(Cpu(0)), BlockWriter::new(Cpu(1))];
    let mut expected = Vec::new();
    for n in 0..events {
        let event = machine.event();
        expected.push(words(&event, &machine.names, &machine.states));
        lanes[usize::from(event.cpu.0)].push(event.ts, event.what);
        if n % round == round - 1 {
            for lane in &mut lanes {
                lane.finish(&machine.names, &machine.states).iter().for_each(|b| writer.block(b).unwrap());
            }
            writer.complete_before(machine.now).unwrap();
        }
    }
    for lane in &mut lanes {
        lane.finish(&machine.names, &machine.states).iter().for_each(|b| writer.block(b).unwrap());
    }
    writer.threads(Moment::End, machine.now, &[thread]).unwrap();
    let totals = Totals { end_ns: machine.now, cpus: vec![CpuTotals { cpu: 0, events: 1, lost: 2, kernel_lost: 2 }] };
    let bytes = writer.end(&totals).unwrap();
    (bytes, expected)
}

/// All events except the marks of gaps, which the reader detects, and the names at the start.
fn read(bytes: Vec<u8>) -> Result<(Vec<String>, Reader), TraceError> {
    let mut reader = Reader::open("t.slt", Box::new(bytes), Kinds::ALL)?;
    let (mut found, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch)? {
        let real = batch.iter().filter(|e| e.ts > 0 && !matches!(e.what, What::GapBegin | What::GapEnd { .. }));
        found.extend(real.map(|e| words(e, reader.names(), reader.states())));
    }
    Ok((found, reader))
}

fn sorted(mut events: Vec<String>) -> Vec<String> {
    events.sort_unstable();
    events
}

#[test]
fn events_of_every_kind_come_back_in_order() {
    for seed in 1..40 {
        let (bytes, expected) = recorded(seed, 400, 37);
        let (found, reader) = read(bytes).unwrap();
        assert_eq!(sorted(found), sorted(expected), "seed {seed}");
        // Chains are not broken: a forked or renamed thread in the drawing is not on a CPU that shows it.
        assert_eq!(reader.problems().all().count(), 0, "{:?}", reader.problems());
    }
}

#[test]
fn the_order_is_that_of_time() {
    let (bytes, expected) = recorded(7, 5000, 999);
    let mut reader = Reader::open("t.slt", Box::new(bytes), Kinds::ALL).unwrap();
    let (mut batch, mut last, mut events) = (Vec::new(), 0, 0);
    while reader.next_batch(&mut batch).unwrap() {
        for event in &batch {
            assert!(event.ts >= last, "{event:?} after {last}");
            last = event.ts;
        }
        events += batch.iter().filter(|e| e.ts > 0).count();
    }
    assert_eq!(events, expected.len());
}

#[test]
fn a_recording_says_what_it_is() {
    let (bytes, _) = recorded(3, 100, 50);
    let (_, reader) = read(bytes).unwrap();
    let info = reader.info();
    assert_eq!((info.format, info.clock.as_str(), info.cpus), ("schedlab recording", "mono", Some(2)));
    assert_eq!(info.kinds, Kinds::of(&[Kind::SchedSwitch, Kind::SchedWaking]));
    assert!(info.events.iter().any(|(name, count)| name == "sched_switch" && *count > 10), "{:?}", info.events);
    let (mut once, mut names) = (std::collections::BTreeSet::new(), info.events.iter().map(|(name, _)| name));
    assert!(names.all(|name| once.insert(name)), "a name is listed twice: {:?}", info.events);
    let recording = reader.recording().unwrap();
    assert_eq!(recording.formats()[0].text, "name: sched_switch\n");
    let moments: Vec<_> = reader.snapshots().iter().map(|s| (s.moment, s.threads.len())).collect();
    assert_eq!(moments, [(Moment::Start, 1), (Moment::End, 1)]);
    assert_eq!(recording.totals().map(|t| t.cpus[0].lost), Some(2));
}

#[test]
fn only_the_wanted_kinds_are_read_and_names_of_the_start_come_first() {
    let (bytes, _) = recorded(3, 1000, 50);
    let wanted = Kinds::of(&[Kind::SchedMigrateTask]);
    let (all, _) = read_all(Reader::open("t.slt", Box::new(bytes), wanted).unwrap()).unwrap();
    assert!(matches!(all[0], Event { ts: 0, what: What::Comm { tid: Tid(10), .. }, .. }), "{:?}", all[0]);
    assert!(all.len() > 5 && all[1..].iter().all(|e| matches!(e.what, What::Migrate { .. })));
}

#[test]
fn a_loss_is_a_gap_of_its_cpu_from_the_last_event_to_the_next() {
    let mut machine = Machine::new(1);
    let mut writer = RecordingWriter::begin(Vec::new(), &About::default(), "", &[]).unwrap();
    let mut lane = BlockWriter::new(Cpu(1));
    let idle = |state| What::CpuIdle { state, cpu: Cpu(1) };
    lane.push(100, idle(1));
    lane.lost(150, 42);
    lane.push(160, idle(2));
    lane.push(90, idle(3));
    machine.names.intern("x");
    writer.block(&lane.finish(&machine.names, &machine.states).unwrap()).unwrap();
    assert!(lane.finish(&machine.names, &machine.states).is_none(), "nothing is left");
    let bytes = writer.end(&Totals::default()).unwrap();
    let mut reader = Reader::open("t.slt", Box::new(bytes), Kinds::ALL).unwrap();
    let mut batch = Vec::new();
    assert!(reader.next_batch(&mut batch).unwrap());
    let found: Vec<_> = batch.iter().map(|e| (e.ts, e.what)).collect();
    let end = What::GapEnd { missing: Missing::Lost, lost: 42 };
    // The event that went back in time is from an interrupt, and is moved to its place.
    let expected = [(90, idle(3)), (100, idle(1)), (100, What::GapBegin), (160, end), (160, idle(2))];
    assert_eq!(found, expected);
    assert_eq!(reader.problems().count(ProblemKind::Lost), 42);
}

#[test]
fn a_recording_cut_anywhere_yields_its_whole_parts_and_says_so() {
    let (bytes, expected) = recorded(5, 120, 20);
    let expected = sorted(expected);
    for end in 0..bytes.len() {
        match read(bytes[..end].to_vec()) {
            Ok((found, reader)) => {
                assert!(found.iter().all(|e| expected.binary_search(e).is_ok()), "cut to {end} bytes");
                assert_eq!(reader.problems().count(ProblemKind::Truncated), 1, "cut to {end} bytes");
            }
            Err(TraceError::Empty { .. }) => assert_eq!(end, 0),
            Err(TraceError::NotATrace { .. }) => assert!(end < 8),
            Err(error) => assert!(error.to_string().contains("; expected "), "cut to {end} bytes: {error}"),
        }
    }
}

#[test]
fn a_flipped_bit_costs_its_part_and_is_named() {
    let (bytes, expected) = recorded(6, 120, 20);
    let expected = sorted(expected);
    let mut draw = Random::new(5);
    for byte in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[byte] ^= 1 << draw.below(8);
        let Ok((found, reader)) = read(flipped.clone()) else { continue };
        assert!(found.iter().all(|e| expected.binary_search(e).is_ok()), "byte {byte}");
        let reported = reader.problems().all().next().is_some();
        // Reserved bytes, and version 0, are ignored; an unknown tag of capitals belongs to a later version.
        let tag = frames(&bytes).iter().any(|frame| (*frame..frame + 4).contains(&byte));
        // An unpacked length that becomes equal to the stored one means "not compressed"; the checksum does not cover
        // it.
        let is_packed = |bytes: &[u8], frame: usize| bytes[frame + 4..frame + 8] != bytes[frame + 8..frame + 12];
        let unpacked = frames(&bytes).iter().any(|at| is_packed(&bytes, *at) && !is_packed(&flipped, *at));
        assert!(reported || (8..16).contains(&byte) || tag || unpacked, "byte {byte}");
    }
}

#[test]
fn lengths_that_lie_are_not_believed() {
    let (bytes, _) = recorded(5, 120, 20);
    let frames: Vec<usize> = frames(&bytes);
    for frame in &frames[1..] {
        for (at, value) in [(4, u32::MAX), (8, u32::MAX), (8, 16 << 20), (4, 0)] {
            let mut lying = bytes.clone();
            lying[frame + at..frame + at + 4].copy_from_slice(&value.to_le_bytes());
            let (_, reader) = read(lying).unwrap();
            let reported: Vec<String> = reader.problems().all().map(|p| p.first).collect();
            assert!(reported.iter().any(|t| t.starts_with("byte ")), "part at {frame}, {at} = {value}: {reported:?}");
        }
    }
}

fn frames(bytes: &[u8]) -> Vec<usize> {
    let mut at = 16;
    let mut frames = Vec::new();
    while at < bytes.len() {
        frames.push(at);
        at += 16 + u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
    }
    frames
}

/// The content of a block is checked too, not only its frame, because a forged block can have a valid checksum.
#[test]
fn forged_contents_never_panic_and_never_outgrow_themselves() {
    let mut machine = Machine::new(9);
    let mut lane = BlockWriter::new(Cpu(0));
    for _ in 0..60 {
        let event = machine.event();
        lane.push(event.ts, event.what);
    }
    let block = lane.finish(&machine.names, &machine.states).unwrap();
    let mut parts = chunk::Parts::new(0);
    assert!(matches!(parts.next(&crate::bytes::Input::part("b", 0, block.part)), Ok(chunk::Found::Part(_))));
    let content = parts.content().to_vec();
    let decode = |content: &[u8]| -> Result<usize, String> {
        let mut dictionary = crate::record_decoder::Dictionary::default();
        let mut columns = columns::Columns::new(content, &mut dictionary)?;
        let mut events = 0;
        while columns.next()?.is_some() {
            events += 1;
        }
        Ok(events)
    };
    assert_eq!(decode(&content), Ok(60));
    for end in 0..content.len() {
        assert!(decode(&content[..end]).is_err(), "cut to {end}");
    }
    let mut draw = Random::new(11);
    for _ in 0..20_000 {
        let mut forged = content.clone();
        for _ in 0..=draw.below(3) {
            let at = draw.below(forged.len());
            forged[at] = draw.below(256) as u8;
        }
        if let Ok(events) = decode(&forged) {
            assert!(events <= 61);
        }
    }
}

#[test]
fn a_newer_version_and_a_foreign_file_are_refused_in_words() {
    let (mut bytes, _) = recorded(1, 10, 5);
    bytes[8] = 9;
    let error = read(bytes).err().unwrap().to_string();
    assert_eq!(error, "t.slt: byte 8: a recording of format version 9; use a newer schedlab");
    let error = read(b"SLTRACE\0\x01".to_vec()).err().unwrap().to_string();
    assert!(error.starts_with("t.slt: byte 0: 9 bytes that begin with 53 4c 54"), "{error}");
}

#[test]
fn the_last_seconds_are_kept_and_the_rest_dropped() {
    let machine = Machine::new(1);
    let mut last = LastBlocks::new(1000, u64::MAX);
    let mut lane = BlockWriter::new(Cpu(0));
    for ts in (0..10_000).step_by(100) {
        lane.push(ts, What::CpuIdle { state: 1, cpu: Cpu(0) });
        last.push(lane.finish(&machine.names, &machine.states).unwrap());
    }
    let kept: Vec<u64> = last.blocks().map(|b| b.first_ns).collect();
    assert_eq!((kept.first(), kept.last(), kept.len()), (Some(&8900), Some(&9900), 11));
    assert_eq!((last.dropped, last.was_full), (89, false));
    let bytes = last.blocks().map(Block::stored_bytes).next().unwrap();
    let mut small = LastBlocks::new(u64::MAX, 3 * bytes);
    for ts in 0..10 {
        lane.push(ts, What::CpuIdle { state: 1, cpu: Cpu(0) });
        small.push(lane.finish(&machine.names, &machine.states).unwrap());
    }
    assert!(small.was_full && small.blocks().count() >= 2);
}

/// The requirement of issue 4: at most 6 bytes per event before compression, 3.5 after. Same-CPU ping-pong, with times
/// as scattered as in reality.
#[test]
fn ping_pong_takes_few_bytes_an_event() {
    let (mut names, mut states) = (Names::default(), PrevStates::default());
    let (a, b) = (names.intern("parent"), names.intern("child"));
    let (asleep, prio) = (states.of_letters("S"), Prio::from_raw(120));
    let (mut lane, mut draw, mut now) = (BlockWriter::new(Cpu(0)), Random::new(4), 1u64 << 50);
    let (mut stored, mut whole, mut events) = (0, 0, 0);
    for n in 0..100_000u64 {
        let (me, other) = if n % 2 == 0 { ((1001, a), (1002, b)) } else { ((1002, b), (1001, a)) };
        let wake = Wake {
            tid: Tid(other.0),
            comm: other.1,
            waker: Tid(me.0),
            target_cpu: Cpu(0),
            prio,
            context: Context::NONE,
        };
        now += 300 + draw.below(120) as u64;
        lane.push(now, What::Waking(wake));
        now += 700 + draw.below(300) as u64;
        let (prev, next) = (Tid(me.0), Tid(other.0));
        let what = What::Switch {
            prev,
            next,
            prev_comm: me.1,
            next_comm: other.1,
            prev_prio: prio,
            next_prio: prio,
            prev_state: asleep,
        };
        lane.push(now, what);
        if !lane.has_room_for(340) {
            let block = lane.finish(&names, &states).unwrap();
            (stored, whole, events) = (stored + block.stored_bytes(), whole + block.whole_bytes, events + block.events);
        }
    }
    assert!(events > 100_000);
    let (whole, stored) = (whole as f64 / events as f64, stored as f64 / events as f64);
    assert!(whole <= 6.0 && stored <= 3.5, "{whole} and {stored} bytes an event");
}
