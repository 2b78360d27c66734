//! Files of a few hundred bytes that would take gigabytes, made from one of our tables.

use super::super::columns::{Cell, Table};
use super::*;

/// A table with one text and one number, written and read back; `change` may edit its bytes in between.
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
    // The first page header is after the four bytes of magic: kind (0x15, 1 byte), 0x15 and the unpacked size.
    let refused = read_after(|bytes| {
        let mut walk = Walk::new(&bytes[6..]);
        assert_eq!(walk.byte().unwrap(), 0x15);
        let before = walk.bytes.len();
        walk.integer().unwrap();
        let len = before - walk.bytes.len();
        // With the original number of bytes the number would not fit: the column grows by the rest, and ends in its
        // neighbour.
        let huge = varint(2 * ((2 << 30) - 1));
        bytes.splice(7..7 + len, huge);
    });
    let refused = refused.unwrap_err();
    assert!(refused.contains("bytes unpacked") || refused.contains("a length in it goes beyond"), "{refused}");
}

/// A page: its kind, its unpacked size, its bytes, and the header for its kind (field 5, or 7 for a dictionary) with
/// values and encoding.
fn page(kind: u8, unpacked: u64, packed: usize, values: u64, encoding: u8) -> Vec<u8> {
    let sizes = [0x15, 2 * kind, 0x15].into_iter().chain(varint(2 * unpacked)).chain([0x15]);
    let sizes = sizes.chain(varint(2 * packed as u64)).chain([if kind == 2 { 0x4c } else { 0x2c }, 0x15]);
    sizes.chain(varint(2 * values)).chain([0x15, 2 * encoding, 0, 0]).chain(vec![7; packed]).collect()
}

#[test]
fn what_pages_unpack_to_is_added_up() {
    let both = [page(2, 100_000_000, 3, 10, 0), page(0, 1_000, 5, 10, 8)].concat();
    assert_eq!(unpacked_bytes(&both).unwrap(), 100_001_000);
    let cut = unpacked_bytes(&both[..both.len() - 1]);
    assert!(matches!(cut, Err(Unbounded::Length)), "{cut:?}");
    // The crate takes the lower 32 bits of a size: a sum of 63-bit sizes must not wrap around to a small one.
    let round = [page(0, (1 << 62) + 0x7fff_ffff, 0, 1, 0), page(0, 3 << 61, 0, 1, 0), page(0, 3 << 61, 0, 1, 0)];
    assert!(unpacked_bytes(&round.concat()).unwrap() > MAX_BYTES);
    // A negative size.
    let negative = unpacked_bytes(&[0x15, 0, 0x15, 1, 0x15, 0, 0]);
    assert!(matches!(negative, Err(Unbounded::Length)), "{negative:?}");
}

#[test]
fn a_dictionary_has_no_more_words_than_ours() {
    let room = unpacked_bytes(&page(2, 100, 5, 2_000_000_000, 0));
    assert!(matches!(room, Err(Unbounded::TooLarge("values in a page", 2_000_000_000))), "{room:?}");
}

#[test]
fn what_our_writer_does_not_write_is_refused() {
    // An index page, a data page of version 2, and lengths of texts as a page of their own (`DELTA_LENGTH_BYTE_ARRAY`).
    for bytes in [page(1, 10, 5, 1, 0), page(3, 10, 5, 1, 0), page(0, 10, 5, 1, 6)] {
        let foreign = unpacked_bytes(&bytes);
        assert!(matches!(foreign, Err(Unbounded::Foreign)), "{foreign:?}");
    }
    // The crate reads a field by its number: a size that says it is a byte, 65538 for field 2, and the same field twice.
    for field in [&[0x13, 1][..], &[0x05, 0x84, 0x80, 0x08, 1], &[0x15, 0, 0x05, 0x04, 1], &[0x7c]] {
        let bytes = [&[0x15, 0], field, &[0; 20]].concat();
        let foreign = unpacked_bytes(&bytes);
        assert!(matches!(foreign, Err(Unbounded::Foreign)), "{field:x?}: {foreign:?}");
    }
}

#[test]
fn every_kind_of_value_is_walked() {
    const ALL: Shape = &[
        (1, Bool),
        (2, Byte),
        (3, Int),
        (4, Bytes),
        (5, List(&Bytes)),
        (6, List(&Struct(&[(1, Int)]))),
        (7, Struct(EMPTY)),
        (8, Int),
    ];
    let all = [
        &[0x11, 0x13, 9, 0x14, 0x80, 1, 0x18, 2, b'a', b'b'][..],
        &[0x19, 0x28, 1, b'x', 0, 0x19, 0xfc, 2, 0x15, 2, 0, 0, 0x1c, 0, 0x16, 13, 0],
    ];
    let bytes = [&all.concat()[..], &[99]].concat();
    let mut walk = Walk::new(&bytes);
    let found = walk.fields(ALL).unwrap();
    assert_eq!((found[3], found[8], walk.structs, walk.bytes), (64, -7, 3, &[99][..]));
    for cut in 0..bytes.len() - 1 {
        assert!(matches!(Walk::new(&bytes[..cut]).fields(ALL), Err(Unbounded::Length)), "cut at {cut}");
    }
}
