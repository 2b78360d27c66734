//! Files of a few hundred bytes that would take gigabytes, made from a table of ours.

use super::super::columns::{Cell, Table};
use super::*;

/// A table of one text and one number, written and read back; `change` may edit its bytes in between.
fn read_after(change: impl Fn(&mut Vec<u8>)) -> Result<usize, String> {
    let dir = tempfile::tempdir().unwrap();
    let mut table = Table::new("t", &[("x", 'u'), ("name", 't')]);
    (0..100).for_each(|i| table.push([Cell::U(Some(i)), Cell::T(Some("a text that is the same in all rows"))]));
    let mut file = table.create(dir.path()).unwrap();
    file.append(&table).unwrap();
    file.finish().unwrap();
    let path = dir.path().join("t.parquet");
    let mut bytes = std::fs::read(&path).unwrap();
    change(&mut bytes);
    std::fs::write(&path, &bytes).unwrap();
    let mut rows = 0;
    let read = Table::new("t", &[("x", 'u'), ("name", 't')]).read(dir.path(), |t| {
        rows += t.rows();
        Ok(())
    });
    read.map(|()| rows).map_err(|e| e.to_string())
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 127 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

#[test]
fn a_whole_table_passes() {
    assert_eq!(read_after(|_| {}), Ok(100));
}

#[test]
fn a_list_that_says_it_has_more_than_there_is_room_for_is_refused() {
    // The schema is field 2 of the footer, a list: `version` (0x15 0x02), then 0x19 and the head of the list.
    let refused = read_after(|bytes| {
        let footer = bytes.len() - 8 - u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap()) as usize;
        assert_eq!((bytes[footer], bytes[footer + 2], bytes[footer + 3] & 15), (0x15, 0x19, 12), "a list of structs");
        let mut head = vec![0xf0 | 12];
        head.extend(varint(u64::from(u32::MAX) / 2));
        let grown = head.len() as u32 - 1;
        bytes.splice(footer + 3..footer + 4, head);
        let at = bytes.len() - 8;
        let len = u32::from_le_bytes(bytes[at..][..4].try_into().unwrap()) + grown;
        bytes[at..at + 4].copy_from_slice(&len.to_le_bytes());
    });
    assert!(refused.as_ref().unwrap_err().contains("a length in it goes beyond its end"), "{refused:?}");
}

#[test]
fn a_page_that_says_it_unpacks_to_gigabytes_is_refused() {
    // The first page header is behind the four bytes of magic: kind (0x15, 1 byte), 0x15 and the unpacked size.
    let refused = read_after(|bytes| {
        let mut walk = Walk { bytes: &bytes[6..] };
        assert_eq!(walk.byte(), Some(0x15));
        let before = walk.bytes.len();
        walk.integer().unwrap();
        let len = before - walk.bytes.len();
        // As many bytes as there were would not hold the number: the column grows by the rest, and ends in its neighbour.
        let huge = varint(2 * ((2 << 30) - 1));
        bytes.splice(7..7 + len, huge);
    });
    let refused = refused.unwrap_err();
    assert!(refused.contains("bytes unpacked") || refused.contains("a length in it goes beyond"), "{refused}");
}

#[test]
fn what_pages_unpack_to_is_added_up() {
    // Two pages: kind, unpacked size, packed size, stop; then so many bytes.
    let page = |unpacked: u64, packed: u64| {
        let sizes = [0x15, 0].into_iter().chain([0x15]).chain(varint(2 * unpacked)).chain([0x15]);
        sizes.chain(varint(2 * packed)).chain([0]).chain(vec![7; packed as usize]).collect::<Vec<u8>>()
    };
    let both = [page(2_000_000_000, 3), page(1_000, 5)].concat();
    assert_eq!(unpacked_bytes(&both).unwrap(), 2_000_001_000);
    let cut = unpacked_bytes(&both[..both.len() - 1]);
    assert!(matches!(cut, Err(Unbounded::Length)), "{cut:?}");
    // A negative size, and structs without an end.
    assert!(matches!(unpacked_bytes(&[0x25, 0x01, 0x15, 0x00, 0]), Err(Unbounded::Length)));
    assert!(matches!(unpacked_bytes(&[0x1c; 1000]), Err(Unbounded::Length)));
}

#[test]
fn every_kind_of_value_is_walked() {
    // Field 1 each: true, byte, i16, double, text, list of two bools, map of text to i32, empty map, struct; then field 3.
    let values: [&[u8]; 9] = [
        &[0x11],
        &[0x13, 9],
        &[0x14, 0x80, 1],
        &[0x17, 1, 2, 3, 4, 5, 6, 7, 8],
        &[0x18, 2, b'a', b'b'],
        &[0x19, 0x21, 1, 2],
        &[0x1b, 1, 0x85, 1, b'k', 4],
        &[0x1b, 0],
        &[0x1c, 0x15, 2, 0],
    ];
    for value in values {
        let all = [value, &[0x25, 13, 0, 99]].concat();
        let mut walk = Walk { bytes: &all };
        assert_eq!(walk.fields(0).map(|found| found[3]), Some(-7), "{value:x?}");
        assert_eq!(walk.bytes, [99], "{value:x?}");
        for cut in 0..all.len() - 2 {
            assert_eq!(Walk { bytes: &all[..cut] }.fields(0), None, "{value:x?} cut at {cut}");
        }
    }
}
