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
        // An upper-case hex digit in the checksum is the same number: then nothing is lost.
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
    let again =
        folded(&[intent(0, "/a", "5", "6"), Record::Done { seq: 0, effective: "6".into() }, intent(1, "/a", "9", "6")]);
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
