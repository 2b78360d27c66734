//! A packet: its header fields and its content, which may be other packets.

use super::Perfetto;
use super::schema::{PACKET, packet};
use super::wire::{Fields, Value};
use crate::problem::ProblemKind;
use crate::unpack::Packing;

/// Largest unpacked size of one packet with compressed packets; recorders keep it below 512 kB.
const LONGEST_UNPACKED: u64 = 32 << 20;

/// Most other machines that are counted.
const MAX_MACHINES: usize = 1024;

/// The header fields of a packet.
#[derive(Debug, Clone, Copy, Default)]
struct Header {
    sequence: u64,
    machine: u64,
    /// `previous_packet_dropped`.
    dropped: bool,
    /// `first_packet_on_sequence`.
    first: bool,
    /// `SEQ_INCREMENTAL_STATE_CLEARED`.
    cleared: bool,
}

impl Header {
    fn of(packet: &[u8]) -> Self {
        let mut header = Self::default();
        for (field, value) in Fields::of(packet) {
            let Value::Number(number) = value else { continue };
            match field {
                packet::SEQUENCE => header.sequence = number,
                packet::MACHINE_ID => header.machine = number,
                packet::PREVIOUS_PACKET_DROPPED => header.dropped = number != 0,
                packet::FIRST_PACKET_ON_SEQUENCE => header.first = number != 0,
                packet::SEQUENCE_FLAGS => header.cleared |= number & packet::STATE_CLEARED != 0,
                packet::INCREMENTAL_STATE_CLEARED => header.cleared |= number != 0,
                _ => {}
            }
        }
        header
    }
}

impl Perfetto {
    /// Reads a packet; `unpacked`: it was compressed together with others.
    pub(super) fn packet(&mut self, bytes: &[u8], at: u64, unpacked: bool) {
        let header = Header::of(bytes);
        let sequence = header.sequence;
        if header.machine != self.chosen {
            let has_events = Fields::of(bytes).any(|(field, _)| field == packet::FTRACE_EVENTS);
            if has_events && self.others.len() < MAX_MACHINES {
                self.others.insert(header.machine);
            }
            return self.of_all_machines(bytes, at, unpacked);
        }
        self.losses.packet(sequence, header.first, header.dropped);
        if header.cleared || header.dropped {
            self.symbols.remove(&sequence);
        }
        // What a bundle refers to comes after it in its packet.
        let mut fields = Fields::of(bytes);
        for (field, value) in fields.by_ref() {
            if let (packet::INTERNED_DATA, Value::Bytes(bytes)) = (field, value) {
                self.interned(bytes, sequence);
            }
        }
        let mut misread = fields.broken;
        for (field, value) in Fields::of(bytes) {
            let Value::Bytes(bytes) = value else {
                misread |= matches!(field, packet::FTRACE_EVENTS | packet::INTERNED_DATA | packet::COMPRESSED_PACKETS);
                continue;
            };
            match field {
                packet::FTRACE_EVENTS => self.bundle(bytes, sequence, at),
                packet::PROCESS_TREE => self.process_tree(bytes),
                packet::SYSTEM_INFO => self.system_info(bytes),
                packet::FTRACE_STATS => self.stats.ftrace(bytes, sequence, &mut self.problems),
                packet::TRACE_STATS => self.stats.service(bytes),
                packet::SERVICE_EVENT => self.stats.event(bytes),
                packet::SEQUENCE | packet::SEQUENCE_FLAGS | packet::MACHINE_ID | packet::PREVIOUS_PACKET_DROPPED => {
                    misread = true;
                }
                packet::COMPRESSED_PACKETS => self.compressed(Packing::Zlib, bytes, at, unpacked),
                packet::ZSTD_COMPRESSED_PACKETS => self.compressed(Packing::Zstd, bytes, at, unpacked),
                _ => {}
            }
        }
        if misread {
            self.losses.unread_packet();
        }
        self.check(misread, at);
    }

    /// What concerns the chosen machine in a packet of another one: the service of the host packs all machines' packets
    /// together, and counts the losses of all.
    fn of_all_machines(&mut self, bytes: &[u8], at: u64, unpacked: bool) {
        for (field, value) in Fields::of(bytes) {
            let Value::Bytes(bytes) = value else { continue };
            match field {
                packet::TRACE_STATS => self.stats.service(bytes),
                packet::SERVICE_EVENT => self.stats.event(bytes),
                packet::COMPRESSED_PACKETS => self.compressed(Packing::Zlib, bytes, at, unpacked),
                packet::ZSTD_COMPRESSED_PACKETS => self.compressed(Packing::Zstd, bytes, at, unpacked),
                _ => {}
            }
        }
    }

    /// Reads packets that were compressed together.
    fn compressed(&mut self, packing: Packing, bytes: &[u8], at: u64, unpacked: bool) {
        let packets = match packing.unpack(bytes, LONGEST_UNPACKED) {
            _ if unpacked => Err("they lie in compressed packets themselves".to_owned()),
            unpacked => unpacked,
        };
        let seen = match packets {
            Ok(packets) => {
                let mut fields = Fields::of(&packets);
                for (field, value) in fields.by_ref() {
                    if let (PACKET, Value::Bytes(bytes)) = (field, value) {
                        self.packet(bytes, at, true);
                        self.order.relieve(&mut self.problems);
                    }
                }
                if !fields.broken {
                    return;
                }
                "what comes out of them is not a row of packets".to_owned()
            }
            Err(why) => why,
        };
        self.losses.unread_packet();
        self.problems
            .add(ProblemKind::SkippedPart, || format!("byte {at}: compressed packets that cannot be read: {seen}"));
    }
}
