//! The write-ahead journal: the old value is on disk before the new one is written.
//!
//! One append-only file per process, `journal-<pid>-<start ticks>`, with lines of `CRC-32 SPACE JSON`. An *intent* is
//! synced before its knob is written. A *done* follows with the value that the kernel then showed; it need not be
//! synced, because it only improves the detection of foreign writes. An incomplete last line is skipped, because its
//! write had not begun. A damaged line is skipped too, and reported, because its knob is unknown. Folding the records
//! gives the [`Ledger`]: for each knob the original value and the values that we wrote.

use crate::error::TuneError;
use crate::knob::Knob;
use crate::owner::Owner;
use schedlab_plan::counted;
use schedlab_sys::durable;
use serde_json::{Value, json};
use std::fs::File;
use std::path::{Path, PathBuf};

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    /// The first line.
    Header {
        /// Version of this format.
        format: u32,
        /// The process that writes the journal.
        owner: Owner,
    },
    /// A knob will be written next.
    Intent {
        /// Sequence number.
        seq: u64,
        /// The setting's key, for messages.
        name: String,
        /// Where.
        knob: Knob,
        /// The value found there.
        old: String,
        /// The value to be written.
        new: String,
    },
    /// The knob was written, or the write was refused.
    Done {
        /// The intent's number.
        seq: u64,
        /// The value that the kernel shows since then.
        effective: String,
    },
    /// All of the above stays set until somebody restores it (`tune set`).
    Kept,
}

/// Version of this format; 2 has [`Record::Kept`].
pub(crate) const FORMAT: u32 = 2;

/// Converts to JSON by hand: derived code for reading tagged enums is 25 kB of the binary.
fn value(record: &Record) -> Value {
    match record {
        Record::Header { format, owner } => json!({"record": "header", "format": format, "owner": owner}),
        Record::Intent { seq, name, knob, old, new } => {
            json!({"record": "intent", "seq": seq, "name": name, "knob": knob.to_json(), "old": old, "new": new})
        }
        Record::Done { seq, effective } => json!({"record": "done", "seq": seq, "effective": effective}),
        Record::Kept => json!({"record": "kept"}),
    }
}

fn record(value: &Value) -> Option<Record> {
    let text = |key: &str| Some(value[key].as_str()?.to_owned());
    Some(match value["record"].as_str()? {
        "header" => Record::Header {
            format: value["format"].as_u64()?.try_into().ok()?,
            owner: Owner::of_json(&value["owner"])?,
        },
        "intent" => Record::Intent {
            seq: value["seq"].as_u64()?,
            name: text("name")?,
            knob: Knob::of_json(&value["knob"])?,
            old: text("old")?,
            new: text("new")?,
        },
        "done" => Record::Done { seq: value["seq"].as_u64()?, effective: text("effective")? },
        "kept" => Record::Kept,
        _ => return None,
    })
}

fn encode(record: &Record) -> Vec<u8> {
    let json = value(record).to_string();
    format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes())).into_bytes()
}

fn decode(line: &[u8]) -> Option<Record> {
    let text = std::str::from_utf8(line).ok()?;
    let (crc, json) = text.split_once(' ')?;
    let crc = u32::from_str_radix(crc, 16).ok()?;
    if crc != crc32fast::hash(json.as_bytes()) { None } else { record(&serde_json::from_slice(json.as_bytes()).ok()?) }
}

/// What the journal says about one knob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) knob: Knob,
    /// The value that belongs there.
    pub(crate) original: String,
    /// Values we wrote, and what the kernel made of them.
    pub(crate) ours: Vec<String>,
    /// An intent without its done: the kernel may have rounded the value, to what we do not know.
    pub(crate) pending: Option<u64>,
}

/// The folded journal, in order of first change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    pub(crate) entries: Vec<Entry>,
    next_seq: u64,
}

impl Ledger {
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn entry(&self, knob: &Knob) -> Option<&Entry> {
        self.entries.iter().find(|e| e.knob == *knob)
    }

    fn fold(&mut self, record: &Record) {
        match record {
            Record::Header { .. } | Record::Kept => {}
            Record::Intent { seq, name, knob, old, new } => {
                self.next_seq = self.next_seq.max(seq + 1);
                let entry = match self.entries.iter_mut().position(|e| e.knob == *knob) {
                    Some(index) => &mut self.entries[index],
                    None => {
                        self.entries.push(Entry {
                            name: name.clone(),
                            knob: knob.clone(),
                            original: old.clone(),
                            ours: Vec::new(),
                            pending: None,
                        });
                        self.entries.last_mut().expect("just pushed")
                    }
                };
                // Another process has changed the knob since we last restored it: its value is the new original.
                if entry.pending.is_none() && !entry.ours.contains(old) {
                    entry.original = old.clone();
                }
                push_new(&mut entry.ours, new);
                entry.pending = Some(*seq);
            }
            Record::Done { seq, effective } => {
                if let Some(entry) = self.entries.iter_mut().find(|e| e.pending == Some(*seq)) {
                    entry.pending = None;
                    push_new(&mut entry.ours, effective);
                }
            }
        }
    }
}

fn push_new(values: &mut Vec<String>, value: &str) {
    if !values.iter().any(|v| v == value) {
        values.push(value.to_owned());
    }
}

/// A journal file as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parsed {
    /// `None` if not even the header is complete.
    pub(crate) owner: Option<Owner>,
    pub(crate) ledger: Ledger,
    /// Whether its values are meant to stay set.
    kept: bool,
    /// Number of damaged lines, apart from an incomplete last one.
    damaged: usize,
    format: u32,
}

impl Parsed {
    /// Whether its values stay set during this boot until they are restored.
    pub(crate) fn stays(&self, proc: &Path) -> bool {
        self.kept && self.owner.as_ref().is_some_and(|owner| owner.is_of_this_boot(proc))
    }

    /// Whether this version understands its format.
    pub(crate) fn is_understood(&self) -> bool {
        self.format <= FORMAT
    }

    /// Why not all of its knobs may be known.
    pub(crate) fn trouble(&self) -> Option<String> {
        let Self { damaged, format, .. } = self;
        if !self.is_understood() {
            return Some(format!(
                "a newer schedlab wrote it (format {format}, this one reads {FORMAT}); run `schedlab tune restore` of that one"
            ));
        }
        // A journal gets its name only when its first line is on disk.
        let lost = match (damaged, &self.owner) {
            (0, Some(_)) => return None,
            (0, None) => "its first line".to_owned(),
            (damaged, _) => format!("{} of it", counted(*damaged, "lines")),
        };
        Some(format!(
            "{lost} cannot be read, so a knob may not be what it was; look at those your runs change \
             (`schedlab tune show`), then delete the file"
        ))
    }
}

pub(crate) fn parse(bytes: &[u8]) -> Parsed {
    let mut parsed = Parsed { owner: None, ledger: Ledger::default(), kept: false, damaged: 0, format: FORMAT };
    for line in bytes.split_inclusive(|&b| b == b'\n') {
        let Some(line) = line.strip_suffix(b"\n") else { continue };
        match decode(line) {
            Some(Record::Header { format, owner }) => (parsed.format, parsed.owner) = (format, Some(owner)),
            Some(Record::Kept) => parsed.kept = true,
            Some(record) => parsed.ledger.fold(&record),
            None => parsed.damaged += 1,
        }
    }
    parsed
}

/// Whether a file in the state directory is a journal.
pub(crate) fn is_journal(path: &Path) -> bool {
    path.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with("journal-"))
}

/// The open journal of this process.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    pub(crate) ledger: Ledger,
}

impl Journal {
    /// Creates this process's journal; its name and header are on disk when it returns.
    pub(crate) fn create(state_dir: &Path, owner: Owner) -> Result<Self, TuneError> {
        Self::create_as(FORMAT, state_dir, owner)
    }

    /// Creates a journal of another format, as a newer schedlab may leave one.
    pub(crate) fn create_as(format: u32, state_dir: &Path, owner: Owner) -> Result<Self, TuneError> {
        // A second guard in the same process, after the first has restored, uses another file name.
        let mut path = state_dir.join(format!("journal-{}-{}", owner.pid, owner.start_ticks));
        let mut number = 1;
        while path.exists() {
            number += 1;
            path = state_dir.join(format!("journal-{}-{}-{number}", owner.pid, owner.start_ticks));
        }
        let header = encode(&Record::Header { format, owner });
        // Under the lock. A journal without its first line is then one that was damaged.
        let file =
            durable::create_whole(&path, &header).map_err(|source| TuneError::State { path: path.clone(), source })?;
        Ok(Self { path, file, ledger: Ledger::default() })
    }

    /// Syncs a record that `knob` holds `old` and will be set to `new`; returns the number for [`Self::done`].
    pub(crate) fn intend(&mut self, name: &str, knob: &Knob, old: &str, new: &str) -> Result<u64, TuneError> {
        let seq = self.ledger.next_seq;
        let record = Record::Intent { seq, name: name.into(), knob: knob.clone(), old: old.into(), new: new.into() };
        durable::append(&mut self.file, &encode(&record)).map_err(|e| self.failed(e))?;
        self.ledger.fold(&record);
        Ok(seq)
    }

    /// Notes what the kernel shows after the write.
    pub(crate) fn done(&mut self, seq: u64, effective: &str) -> Result<(), TuneError> {
        use std::io::Write;
        let record = Record::Done { seq, effective: effective.into() };
        self.file.write_all(&encode(&record)).map_err(|e| self.failed(e))?;
        self.ledger.fold(&record);
        Ok(())
    }

    /// Syncs a record that all values stay set.
    pub(crate) fn keep(&mut self) -> Result<(), TuneError> {
        durable::append(&mut self.file, &encode(&Record::Kept)).map_err(|e| self.failed(e))
    }

    /// Removes the file, because everything is restored.
    pub(crate) fn close(self) -> Result<(), TuneError> {
        durable::remove(&self.path).map_err(|e| self.failed(e))
    }

    #[cfg(test)]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, source: std::io::Error) -> TuneError {
        TuneError::State { path: self.path.clone(), source }
    }
}

#[cfg(test)]
mod tests;
