//! Writes minimal perf.data files for tests: the few parts that a reader needs, each of which a test can damage.

use super::attr::u32_at;
use crate::drawing::{Drawing, Line};
use crate::event::{Cpu, Event, Prio, Tid, Wake, What};
use crate::kind::Kind;
use crate::names::Name;

/// The kinds that are written; the tracepoints' numbers start at 300.
pub(crate) const KINDS: [Kind; 6] = [
    Kind::SchedSwitch,
    Kind::SchedWaking,
    Kind::SchedWakeup,
    Kind::SchedWakeupNew,
    Kind::SchedMigrateTask,
    Kind::SchedProcessFork,
];

/// What every event begins with.
const COMMON: [Field; 4] = [
    ("unsigned short common_type", 0, 2),
    ("unsigned char common_flags", 2, 1),
    ("unsigned char common_preempt_count", 3, 1),
    ("int common_pid", 4, 4),
];

pub(crate) fn number(kind: Kind) -> u16 {
    300 + KINDS.iter().position(|k| *k == kind).expect("a kind that is written") as u16
}

/// Writes what the kernel of a certain machine would write.
#[derive(Clone, Copy)]
pub(crate) struct Writer {
    pub(crate) big_endian: bool,
    /// Bytes of a C `long`.
    pub(crate) long_size: u8,
    /// The events for which it has formats.
    pub(crate) kinds: &'static [Kind],
    /// The number of a thread's cgroup, if samples contain it.
    pub(crate) cgroup_of: Option<fn(Tid) -> u64>,
}

/// 64-bit little-endian.
pub(crate) const LITTLE: Writer = Writer { big_endian: false, long_size: 8, kinds: &KINDS, cgroup_of: None };
/// 64 bits, the big end first.
pub(crate) const BIG: Writer = Writer { big_endian: true, ..LITTLE };

/// Name, offset and size of a field.
type Field = (&'static str, u32, u32);

impl Writer {
    pub(crate) fn u16(self, n: u16) -> [u8; 2] {
        if self.big_endian { n.to_be_bytes() } else { n.to_le_bytes() }
    }

    pub(crate) fn u32(self, n: u32) -> [u8; 4] {
        if self.big_endian { n.to_be_bytes() } else { n.to_le_bytes() }
    }

    pub(crate) fn u64(self, n: u64) -> [u8; 8] {
        if self.big_endian { n.to_be_bytes() } else { n.to_le_bytes() }
    }

    /// A C `long`.
    pub(crate) fn long(self, n: u64) -> Vec<u8> {
        if self.long_size == 4 { self.u32(n as u32).to_vec() } else { self.u64(n).to_vec() }
    }

    /// The format of an event in a 6.18 kernel; only `sched_migrate_task` has a string with `__data_loc`.
    pub(crate) fn format(self, kind: Kind) -> String {
        let long = u32::from(self.long_size);
        let switch = [
            ("char prev_comm[16]", 8, 16),
            ("pid_t prev_pid", 24, 4),
            ("int prev_prio", 28, 4),
            ("long prev_state", 32, long),
            ("char next_comm[16]", 32 + long, 16),
            ("pid_t next_pid", 48 + long, 4),
            ("int next_prio", 52 + long, 4),
        ];
        let fields: &[Field] = match kind {
            Kind::SchedSwitch => &switch,
            Kind::SchedMigrateTask => &[
                ("__data_loc char[] comm", 8, 4),
                ("pid_t pid", 12, 4),
                ("int prio", 16, 4),
                ("int orig_cpu", 20, 4),
                ("int dest_cpu", 24, 4),
            ],
            Kind::SchedProcessFork => &[
                ("char parent_comm[16]", 8, 16),
                ("pid_t parent_pid", 24, 4),
                ("char child_comm[16]", 28, 16),
                ("pid_t child_pid", 44, 4),
            ],
            _ => &[("char comm[16]", 8, 16), ("pid_t pid", 24, 4), ("int prio", 28, 4), ("int target_cpu", 32, 4)],
        };
        let mut text = format!("name: {}\nID: {}\nformat:\n", kind.name(), number(kind));
        for (field, offset, size) in COMMON.iter().chain(fields) {
            text += &format!("\tfield:{field};\toffset:{offset};\tsize:{size};\tsigned:{};\n", u8::from(*size == 4));
        }
        text + "\nprint fmt: \"x\", __print_flags(REC->prev_state & 0xff, \"|\", { 0x01, \"S\" }, { 0x02, \"D\" }, \
                { 0x10, \"X\" }, { 0x20, \"Z\" }) : \"R\", REC->prev_state & 0x100 ? \"+\" : \"\"\n"
    }

    /// Number and formats of the system `sched`, the only one.
    pub(crate) fn formats(self) -> Vec<u8> {
        let mut out = self.u32(1).to_vec();
        out.extend(b"sched\0");
        out.extend(self.u32(self.kinds.len() as u32));
        for kind in self.kinds {
            let format = self.format(*kind);
            out.extend(self.u64(format.len() as u64));
            out.extend(format.as_bytes());
        }
        out
    }

    /// The formats, each a text.
    pub(crate) fn format_texts(self) -> Vec<String> {
        self.kinds.iter().map(|kind| self.format(*kind)).collect()
    }

    /// A record with its header.
    pub(crate) fn record(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let mut record = Vec::new();
        record.extend(self.u32(kind));
        record.extend(self.u16(0));
        record.extend(self.u16(8 + body.len() as u16));
        record.extend(body);
        record
    }

    /// What the event's tracepoint wrote; `None` for events that are not in [`KINDS`].
    pub(crate) fn raw(self, drawing: &Drawing, what: What) -> Option<(Kind, Vec<u8>)> {
        let (kind, by, flags) = match what {
            What::Switch { prev, .. } => (Kind::SchedSwitch, prev, 0),
            What::Waking(wake) => (Kind::SchedWaking, wake.waker, irq_flag(&wake)),
            What::Wakeup(wake) => (Kind::SchedWakeup, wake.waker, irq_flag(&wake)),
            What::WakeupNew(wake) => (Kind::SchedWakeupNew, wake.waker, irq_flag(&wake)),
            What::Migrate { .. } => (Kind::SchedMigrateTask, Tid::IDLE, 0),
            What::Fork { parent, .. } => (Kind::SchedProcessFork, parent, 0),
            _ => return None,
        };
        let mut raw = self.u16(number(kind)).to_vec();
        raw.extend([flags, 0]);
        raw.extend(self.u32(by.0));
        self.fields(drawing, what, &mut raw);
        Some((kind, raw))
    }

    /// The fields after the common ones.
    fn fields(self, drawing: &Drawing, what: What, out: &mut Vec<u8>) {
        match what {
            What::Switch { prev, next, prev_comm, next_comm, prev_prio, next_prio, prev_state } => {
                self.who(drawing, (prev_comm, prev, prev_prio), out);
                out.extend(self.long(state_number(drawing.states.letters(prev_state))));
                self.who(drawing, (next_comm, next, next_prio), out);
            }
            What::Waking(wake) | What::Wakeup(wake) | What::WakeupNew(wake) => {
                self.who(drawing, (wake.comm, wake.tid, wake.prio), out);
                out.extend(self.cpu(wake.target_cpu));
            }
            What::Migrate { tid, comm, prio, orig_cpu, dest_cpu } => {
                let text = drawing.names.text(comm).as_bytes();
                out.extend(self.u32(28 | (text.len() as u32 + 1) << 16));
                out.extend([self.u32(tid.0), self.prio(prio), self.cpu(orig_cpu), self.cpu(dest_cpu)].concat());
                out.extend(text);
                out.push(0);
            }
            What::Fork { parent, child, comm } => {
                out.extend([0; 16]);
                out.extend(self.u32(parent.0));
                out.extend(comm_bytes(drawing.names.text(comm)));
                out.extend(self.u32(child.0));
            }
            _ => {}
        }
    }

    /// Name, id and priority.
    fn who(self, drawing: &Drawing, (comm, tid, prio): (Name, Tid, Prio), out: &mut Vec<u8>) {
        out.extend(comm_bytes(drawing.names.text(comm)));
        out.extend(self.u32(tid.0));
        out.extend(self.prio(prio));
    }

    fn prio(self, prio: Prio) -> [u8; 4] {
        self.u32(i32::from(prio.get().expect("a priority")) as u32)
    }

    fn cpu(self, cpu: Cpu) -> [u8; 4] {
        self.u32(if cpu == Cpu::ANY { u32::MAX } else { u32::from(cpu.0) })
    }

    /// The record that names a cgroup.
    pub(crate) fn cgroup(self, id: u64, path: &str) -> Vec<u8> {
        let mut body = self.u64(id).to_vec();
        body.extend(path.as_bytes());
        body.resize(body.len() / 8 * 8 + 8, 0);
        body.extend(self.trailer(Cpu(0), 0));
        self.record(19, &body)
    }

    /// A sample: IDENTIFIER, TID, TIME, CPU, RAW, CGROUP.
    pub(crate) fn sample(self, drawing: &Drawing, event: &Event) -> Option<Vec<u8>> {
        let (kind, mut raw) = self.raw(drawing, event.what)?;
        let common_pid = u32_at(&raw, 4, self.big_endian).expect("every event has one");
        let mut body = Vec::new();
        body.extend(self.u64(id(kind, event.cpu)));
        body.extend([self.u32(common_pid), self.u32(common_pid)].concat());
        body.extend(self.u64(event.ts));
        body.extend(self.u32(u32::from(event.cpu.0)));
        body.extend(self.u32(0));
        while !(raw.len() + 4).is_multiple_of(8) {
            raw.push(0);
        }
        body.extend(self.u32(raw.len() as u32));
        body.extend(raw);
        body.extend(self.cgroup_of.iter().flat_map(|cgroup_of| self.u64(cgroup_of(Tid(common_pid)))));
        Some(self.record(9, &body))
    }

    /// The end of other records: TID, TIME, CPU, IDENTIFIER.
    fn trailer(self, cpu: Cpu, ts: u64) -> Vec<u8> {
        let mut trailer = self.u64(0).to_vec();
        trailer.extend(self.u64(ts));
        trailer.extend(self.u32(u32::from(cpu.0)));
        trailer.extend(self.u32(0));
        trailer.extend(self.u64(id(Kind::SchedSwitch, cpu)));
        trailer
    }

    /// The records for a line of a drawing.
    pub(crate) fn line(self, drawing: &Drawing, line: &Line) -> Vec<u8> {
        match line {
            Line::Lost { cpu, ts, lost } => {
                let mut body = self.u64(0).to_vec();
                body.extend(self.u64(*lost));
                body.extend(self.trailer(*cpu, *ts));
                self.record(2, &body)
            }
            Line::Event(event) => match event.what {
                What::Comm { tid, comm } => {
                    let mut body = self.u32(tid.0).to_vec();
                    body.extend(self.u32(tid.0));
                    let mut comm = drawing.names.text(comm).as_bytes().to_vec();
                    comm.resize(comm.len() / 8 * 8 + 8, 0);
                    body.extend(comm);
                    body.extend(self.trailer(event.cpu, event.ts));
                    self.record(3, &body)
                }
                What::Exit { tid, .. } => {
                    let mut body = Vec::new();
                    [tid.0, 0, tid.0, 0].iter().for_each(|n| body.extend(self.u32(*n)));
                    body.extend(self.u64(event.ts));
                    body.extend(self.trailer(event.cpu, event.ts));
                    self.record(4, &body)
                }
                _ => self.sample(drawing, event).expect("an event that perf records"),
            },
        }
    }

    /// Tracing data with the formats of the kinds.
    pub(crate) fn tracing(self) -> Vec<u8> {
        let mut data = b"\x17\x08\x44tracing0.6\0".to_vec();
        data.extend([u8::from(self.big_endian), self.long_size]);
        data.extend(self.u32(4096));
        for name in ["header_page", "header_event"] {
            data.extend(name.as_bytes());
            data.push(0);
            data.extend(self.u64(3));
            data.extend(b"x y");
        }
        data.extend(self.u32(0));
        data.extend(self.formats());
        data
    }

    /// `perf_event_attr` of a kind, 112 bytes.
    pub(crate) fn attr(self, kind: Kind) -> Vec<u8> {
        const SAMPLE_TYPE: u64 = 1 << 16 | 1 << 1 | 1 << 2 | 1 << 7 | 1 << 10;
        let cgroup = u64::from(self.cgroup_of.is_some()) << 21;
        let flags: u64 = 1 << 18;
        let mut attr = self.u32(2).to_vec();
        attr.extend(self.u32(112));
        attr.extend(self.u64(u64::from(number(kind))));
        attr.extend(self.u64(1));
        attr.extend(self.u64(SAMPLE_TYPE | cgroup));
        attr.extend(self.u64(0));
        attr.extend(self.u64(if self.big_endian { flags.reverse_bits() } else { flags }));
        attr.resize(112, 0);
        attr
    }

    fn ids(self, kind: Kind) -> Vec<u8> {
        (0..CPUS).flat_map(|cpu| self.u64(id(kind, Cpu(cpu)))).collect()
    }

    /// A whole file around records.
    pub(crate) fn file(self, records: &[u8]) -> Vec<u8> {
        const HEADER: u64 = 104;
        let ids_at = |n: usize| HEADER + n as u64 * u64::from(CPUS) * 8;
        let attrs_at = ids_at(self.kinds.len());
        let data_at = attrs_at + self.kinds.len() as u64 * 128;
        let tracing = self.tracing();
        let mut file = if self.big_endian { b"2ELIFREP".to_vec() } else { b"PERFILE2".to_vec() };
        let header = [
            HEADER,
            128,
            attrs_at,
            self.kinds.len() as u64 * 128,
            data_at,
            records.len() as u64,
            0,
            0,
            1 << 1,
            0,
            0,
            0,
        ];
        header.iter().for_each(|word| file.extend(self.u64(*word)));
        self.kinds.iter().for_each(|kind| file.extend(self.ids(*kind)));
        for (n, kind) in self.kinds.iter().enumerate() {
            file.extend(self.attr(*kind));
            file.extend(self.u64(ids_at(n)));
            file.extend(self.u64(u64::from(CPUS) * 8));
        }
        file.extend(records);
        let section = data_at + records.len() as u64;
        file.extend(self.u64(section + 16));
        file.extend(self.u64(tracing.len() as u64));
        file.extend(tracing);
        file
    }

    /// A whole stream around records, as `perf record -o -` writes it.
    pub(crate) fn stream(self, records: &[u8]) -> Vec<u8> {
        let mut stream = if self.big_endian { b"2ELIFREP".to_vec() } else { b"PERFILE2".to_vec() };
        stream.extend(self.u64(16));
        for kind in self.kinds {
            let mut body = self.attr(*kind);
            body.extend(self.ids(*kind));
            stream.extend(self.record(64, &body));
        }
        let mut tracing = self.tracing();
        tracing.resize(tracing.len().next_multiple_of(8), 0);
        stream.extend(self.record(66, &[self.u32(tracing.len() as u32), [0; 4]].concat()));
        stream.extend(tracing);
        stream.extend(records);
        stream
    }
}

/// `common_flags` of the waker.
fn irq_flag(wake: &Wake) -> u8 {
    if wake.context.is_hard() { 8 } else { 0 }
}

fn comm_bytes(text: &str) -> [u8; 16] {
    let mut comm = [0; 16];
    comm[..text.len()].copy_from_slice(text.as_bytes());
    comm
}

/// The number of a state in the formats used here.
fn state_number(letters: &str) -> u64 {
    match letters {
        "R" => 0,
        "S" => 1,
        "D" => 2,
        "X" => 0x10,
        "Z" => 0x20,
        _ => 0x100,
    }
}

/// CPUs that have ids.
const CPUS: u16 = 4;

fn id(kind: Kind, cpu: Cpu) -> u64 {
    1000 + u64::from(number(kind) - 300) * u64::from(CPUS) + u64::from(cpu.0)
}
