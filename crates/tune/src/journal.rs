//! The write-ahead journal: what was there before we wrote, on disk before we write.
//!
//! One append-only file per process, `journal-<pid>-<start ticks>`: lines of `CRC-32 SPACE JSON`. An *intent* is synced
//! before its knob is written; a *done* follows with the value the kernel then showed and need not be synced, since it
//! only sharpens the test for foreign writes. A torn last line is skipped: it was never acted on. A damaged one is
//! skipped too, and said: the knob it named is not known. Folding the records gives the [`Ledger`]: for each knob the original value and the values that are ours.

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
        /// Whose journal it is.
        owner: Owner,
    },
    /// A knob is about to be written.
    Intent {
        /// Running number.
        seq: u64,
        /// The setting's key, for people.
        name: String,
        /// Where.
        knob: Knob,
        /// The value found there.
        old: String,
        /// The value to be written.
        new: String,
    },
    /// It was written, or refused.
    Done {
        /// The intent's number.
        seq: u64,
        /// What the kernel shows since.
        effective: String,
    },
    /// All of the above stays set until somebody restores it (`tune set`).
    Kept,
}

/// Version of this format; 2 has [`Record::Kept`].
pub(crate) const FORMAT: u32 = 2;

/// As JSON, by hand: derived for tagged enums, reading it is 25 kB of the binary.
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

/// What is known of one knob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) knob: Knob,
    /// The value that belongs there.
    pub(crate) original: String,
    /// Values we wrote, and what the kernel made of them.
    pub(crate) ours: Vec<String>,
    /// An intent without its done: the kernel may show a rounded value that only it knows.
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
                // Somebody else has changed the knob since we last restored it: their value is now the original.
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
    /// `None` when not even the header is whole; then nothing was written to the host either.
    pub(crate) owner: Option<Owner>,
    pub(crate) ledger: Ledger,
    /// Whether it is to stay set.
    kept: bool,
    /// Damaged lines, a torn last one not counted.
    damaged: usize,
    format: u32,
}

impl Parsed {
    /// Whether its values stay set in this boot until they are restored.
    pub(crate) fn stays(&self, proc: &Path) -> bool {
        self.kept && self.owner.as_ref().is_some_and(|owner| owner.is_of_this_boot(proc))
    }

    /// Whether its lines mean what they mean here.
    pub(crate) fn is_understood(&self) -> bool {
        self.format <= FORMAT
    }

    /// Why it may name knobs that cannot be seen from here.
    pub(crate) fn trouble(&self) -> Option<String> {
        let Self { damaged, format, .. } = self;
        if !self.is_understood() {
            return Some(format!(
                "a newer schedlab wrote it (format {format}, this one reads {FORMAT}); run `schedlab tune restore` of that one"
            ));
        }
        let lines = counted(*damaged, "lines");
        (*damaged > 0).then(|| {
            format!(
                "{lines} of it cannot be read, so a knob may not be what it was; look at those your runs change \
                 (`schedlab tune show`), then delete the file"
            )
        })
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

    /// One of another format, as a newer schedlab may leave it.
    pub(crate) fn create_as(format: u32, state_dir: &Path, owner: Owner) -> Result<Self, TuneError> {
        // A second guard of one process, after the first has restored, gets a name of its own.
        let mut path = state_dir.join(format!("journal-{}-{}", owner.pid, owner.start_ticks));
        let mut number = 1;
        while path.exists() {
            number += 1;
            path = state_dir.join(format!("journal-{}-{}-{number}", owner.pid, owner.start_ticks));
        }
        let header = encode(&Record::Header { format, owner });
        let file = durable::create(&path, &header).map_err(|source| TuneError::State { path: path.clone(), source })?;
        Ok(Self { path, file, ledger: Ledger::default() })
    }

    /// Makes it durable that `knob` holds `old` and is about to hold `new`; returns the number for [`Self::done`].
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

    /// Makes it durable that all of it stays set.
    pub(crate) fn keep(&mut self) -> Result<(), TuneError> {
        durable::append(&mut self.file, &encode(&Record::Kept)).map_err(|e| self.failed(e))
    }

    /// Removes the file: everything is back.
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
mod tests {
    use super::*;

    fn owner() -> Owner {
        Owner { pid: 7, start_ticks: 99, boot_id: "boot".into(), began_ns: 5, network: Some(6) }
    }

    fn intent(seq: u64, knob: &str, old: &str, new: &str) -> Record {
        Record::Intent { seq, name: knob.into(), knob: Knob::file(knob), old: old.into(), new: new.into() }
    }

    fn sample() -> Vec<Record> {
        vec![
            Record::Header { format: FORMAT, owner: owner() },
            intent(0, "/a", "1", "2"),
            Record::Done { seq: 0, effective: "2".into() },
            intent(1, "/b", "x\ny \"quoted\"", "é"),
            Record::Done { seq: 1, effective: "É".into() },
            intent(2, "/a", "2", "3"),
        ]
    }

    fn folded(records: &[Record]) -> Ledger {
        let mut ledger = Ledger::default();
        records.iter().for_each(|r| ledger.fold(r));
        ledger
    }

    #[test]
    fn truncated_at_any_byte_the_complete_records_are_read() {
        let records = sample();
        let lines: Vec<Vec<u8>> = records.iter().map(encode).collect();
        let bytes = lines.concat();
        for cut in 0..=bytes.len() {
            let mut end = 0;
            let whole = lines.iter().take_while(|l| {
                end += l.len();
                end <= cut
            });
            let whole = whole.count();
            let parsed = parse(&bytes[..cut]);
            assert_eq!(parsed.ledger, folded(&records[..whole]), "cut at {cut}");
            assert_eq!(parsed.owner.is_some(), whole > 0);
            assert_eq!(parsed.damaged, 0, "a torn tail is no damage");
        }
    }

    /// As earlier versions wrote them.
    #[test]
    fn a_journal_of_format_1_is_read() {
        let owner = r#"{"pid":7,"start_ticks":99,"boot_id":"boot"}"#;
        let mut bytes = Vec::new();
        for (kind, fields) in [
            ("header", format!(r#""format":1,"owner":{owner}"#)),
            ("intent", r#""seq":0,"name":"a","knob":{"kind":"feature","path":"/f","word":"WA_IDLE"},"old":"WA_IDLE","new":"NO_WA_IDLE""#.into()),
            ("done", r#""seq":0,"effective":"NO_WA_IDLE""#.into()),
            ("intent", r#""seq":1,"name":"b","knob":{"kind":"files","paths":["/x","/y"]},"old":"0 0","new":"1 1""#.into()),
        ] {
            let json = format!(r#"{{"record":"{kind}",{fields}}}"#);
            bytes.extend(format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes())).into_bytes());
        }
        let parsed = parse(&bytes);
        let owner = Owner { began_ns: 0, network: None, ..self::owner() };
        assert_eq!((parsed.owner, parsed.damaged, parsed.format), (Some(owner), 0, 1));
        let knobs: Vec<&Knob> = parsed.ledger.entries.iter().map(|entry| &entry.knob).collect();
        let files = Knob::Files { paths: vec!["/x".into(), "/y".into()] };
        assert_eq!(knobs, [&Knob::Feature { path: "/f".into(), word: "WA_IDLE".into() }, &files]);
    }

    #[test]
    fn every_kind_of_knob_reads_back() {
        let path = || PathBuf::from("/k");
        for knob in [
            Knob::file("/k"),
            Knob::Feature { path: path(), word: "W".into() },
            Knob::CpuController { path: path() },
            Knob::Choice { path: path() },
            Knob::Files { paths: vec![path(), "/l".into()] },
            Knob::Audit { path: path() },
            Knob::Group { path: path() },
        ] {
            assert_eq!(Knob::of_json(&knob.to_json()), Some(knob));
        }
    }

    #[test]
    fn one_flipped_bit_anywhere_costs_at_most_its_own_line() {
        let records = sample();
        let lines: Vec<Vec<u8>> = records.iter().map(encode).collect();
        let bytes = lines.concat();
        for index in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[index] ^= 1 << (index % 8);
            let parsed = parse(&damaged);
            let mut end = 0;
            let line = lines.iter().position(|l| {
                end += l.len();
                index < end
            });
            let line = line.unwrap();
            if damaged[index] == b'\n' || bytes[index] == b'\n' {
                continue; // two lines become one or one becomes two: both neighbours may be lost
            }
            let mut rest = records.clone();
            rest.remove(line);
            // An upper-case digit of the checksum still reads as the same number: then nothing is lost.
            let either = [folded(&rest), folded(&records)];
            assert!(either.contains(&parsed.ledger), "bit flipped at {index}");
        }
    }

    #[test]
    fn the_original_outlives_our_own_changes_and_yields_to_a_foreign_one() {
        let ledger = folded(&[
            intent(0, "/a", "5", "6"),
            Record::Done { seq: 0, effective: "6".into() },
            intent(1, "/a", "6", "7"),
            Record::Done { seq: 1, effective: "7".into() },
        ]);
        assert_eq!(ledger.entries[0].original, "5");
        let again = folded(&[
            intent(0, "/a", "5", "6"),
            Record::Done { seq: 0, effective: "6".into() },
            intent(1, "/a", "9", "6"),
        ]);
        assert_eq!(again.entries[0].original, "9", "an administrator wrote 9 while we had gone back");
        assert_eq!(again.entries[0].pending, Some(1));
    }

    #[test]
    fn a_journal_on_disk_reads_back_as_it_was_written() {
        let tree = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(tree.path(), owner()).unwrap();
        let seq = journal.intend("a", &Knob::file("/a"), "1", "2").unwrap();
        journal.done(seq, "2").unwrap();
        let second = Journal::create(tree.path(), owner()).unwrap();
        assert_ne!(second.path, journal.path);
        let parsed = parse(&std::fs::read(&journal.path).unwrap());
        assert_eq!((parsed.owner, &parsed.ledger), (Some(owner()), &journal.ledger));
        let path = journal.path.clone();
        journal.close().unwrap();
        assert!(!path.exists());
    }
}
