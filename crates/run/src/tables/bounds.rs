//! Limits on the memory that a table may claim, checked before the Parquet crate reads it. The crate reserves room for
//! as many elements as a list claims to have, as many bytes as a page claims to unpack to, and as many texts as a
//! dictionary claims to hold: a file of a few hundred bytes could end the process. All of these numbers are in structs
//! of Thrift's compact encoding (`thrift-compact-protocol.md` of Apache Thrift; the structs are in `parquet.thrift` of
//! apache/parquet-format). The crate identifies a field by its number and ignores its type in the file. So does this
//! check, which refuses anything that our writer does not write.

use Kind::{Bool, Byte, Bytes, Int, List, Struct};
use parquet::file::metadata::RowGroupMetaData;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Most bytes that the pages of a row group may unpack to, and most bytes of text in a row group.
pub(super) const MAX_BYTES: u64 = 256 << 20;

/// Most values in a row group, including empty ones. A hundred trials of 400 tasks have half a million; of 40 000 tasks
/// they have 56 million.
const MAX_VALUES: u64 = 64 << 20;

/// Most bytes of a footer. A hundred thousand trials have 2 MB.
const MAX_FOOTER: u64 = 64 << 20;

/// Most structs in a footer, for each of which the crate uses up to a kilobyte. A hundred thousand trials have some 100
/// 000.
const MAX_STRUCTS: u64 = 1 << 20;

/// Most values of a dictionary; our writer writes no dictionary of more than 1 MiB.
const MAX_WORDS: u64 = 1 << 20;

/// Checks the footer: its lists and texts must stay within it, and there must not be too many.
pub(super) fn check_footer(file: &File) -> Result<(), Unbounded> {
    let len = file.metadata()?.len();
    let mut tail = [0; 8];
    file.read_exact_at(&mut tail, len.checked_sub(8).ok_or(Unbounded::NoFooter)?)?;
    let footer = u64::from(u32::from_le_bytes(tail[..4].try_into().expect("four bytes")));
    if &tail[4..] != b"PAR1" || footer > len - 8 {
        return Err(Unbounded::NoFooter);
    }
    at_most(MAX_FOOTER, "bytes of footer", footer)?;
    let mut bytes = vec![0; footer as usize];
    file.read_exact_at(&mut bytes, len - 8 - footer)?;
    let mut walk = Walk::new(&bytes);
    walk.fields(FILE)?;
    at_most(MAX_STRUCTS, "structs in its footer", walk.structs)
}

/// Checks a row group: the size of its unpacked pages, and the number of values it claims to have. `buffer` is passed
/// in only for reuse.
pub(super) fn check_group(file: &File, group: &RowGroupMetaData, buffer: &mut Vec<u8>) -> Result<(), Unbounded> {
    let values = u64::try_from(group.num_rows()).unwrap_or(u64::MAX).saturating_mul(group.num_columns() as u64);
    at_most(MAX_VALUES, "values", values)?;
    let mut unpacked = 0_u64;
    for column in group.columns() {
        // Not `byte_range()`, which panics if an offset or a length is negative.
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let (Ok(start), Ok(len)) = (u64::try_from(start), u64::try_from(column.compressed_size())) else {
            return Err(Unbounded::Length);
        };
        at_most(MAX_BYTES, "bytes in a column", len)?;
        if start.saturating_add(len) > file.metadata()?.len() {
            return Err(Unbounded::Length);
        }
        buffer.resize(len as usize, 0);
        file.read_exact_at(buffer, start)?;
        unpacked = unpacked.saturating_add(unpacked_bytes(buffer)?);
        at_most(MAX_BYTES, "bytes unpacked", unpacked)?;
    }
    Ok(())
}

/// Total size of the unpacked pages of a column, in bytes.
fn unpacked_bytes(mut pages: &[u8]) -> Result<u64, Unbounded> {
    let mut sum = 0_u64;
    while !pages.is_empty() {
        // The first field is the kind of page. The crate panics on kinds that it does not know.
        let (shape, most) = match pages {
            [0x15, 0, ..] => (DATA_PAGE, MAX_VALUES),
            [0x15, 4, ..] => (DICTIONARY_PAGE, MAX_WORDS),
            _ => return Err(Unbounded::Foreign),
        };
        let mut walk = Walk::new(pages);
        let [_, _, unpacked, packed, ..] = walk.fields(shape)?;
        let [_, values, encoding, ..] = walk.inner;
        let (Ok(unpacked), Ok(packed)) = (u64::try_from(unpacked), usize::try_from(packed)) else {
            return Err(Unbounded::Length);
        };
        at_most(most, "values in a page", u64::try_from(values).unwrap_or(u64::MAX))?;
        // The values themselves, or indices into a dictionary: other encodings have lengths of their own.
        if !matches!(encoding, 0 | 2 | 8) {
            return Err(Unbounded::Foreign);
        }
        sum = sum.saturating_add(unpacked);
        pages = walk.bytes.get(packed..).ok_or(Unbounded::Length)?;
    }
    Ok(sum)
}

pub(super) fn at_most(most: u64, what: &'static str, number: u64) -> Result<(), Unbounded> {
    if number > most { Err(Unbounded::TooLarge(what, number)) } else { Ok(()) }
}

/// Why a file is not read.
#[derive(Debug)]
pub(super) enum Unbounded {
    /// The kernel refuses.
    Kernel(io::Error),
    /// It does not end as a Parquet file does.
    NoFooter,
    /// A length or a count goes beyond the available bytes.
    Length,
    /// Something that our writer never writes.
    Foreign,
    /// More of something than our tables have.
    TooLarge(&'static str, u64),
}

impl From<io::Error> for Unbounded {
    fn from(error: io::Error) -> Self {
        Self::Kernel(error)
    }
}

/// The type of a field or an element.
enum Kind {
    /// A bool, whose value is in the field's head.
    Bool,
    Byte,
    /// An integer of 16, 32 or 64 bits: all are written as one zigzag varint.
    Int,
    /// Bytes or text, preceded by their length.
    Bytes,
    List(&'static Kind),
    Struct(Shape),
}

/// The fields of a struct that our writer writes, by number.
type Shape = &'static [(usize, Kind)];

/// One more than the largest number of a field.
const FIELDS: usize = 17;

const EMPTY: Shape = &[];
const STATISTICS: Shape = &[(1, Bytes), (2, Bytes), (3, Int), (4, Int), (5, Bytes), (6, Bytes), (7, Bool), (8, Bool)];

const DATA_PAGE: Shape = &[
    (1, Int),
    (2, Int),
    (3, Int),
    (4, Int),
    (5, Struct(&[(1, Int), (2, Int), (3, Int), (4, Int), (5, Struct(STATISTICS))])),
];
const DICTIONARY_PAGE: Shape = &[(1, Int), (2, Int), (3, Int), (4, Int), (7, Struct(&[(1, Int), (2, Int), (3, Bool)]))];

const FILE: Shape = &[
    (1, Int),
    (2, List(&Struct(SCHEMA))),
    (3, Int),
    (4, List(&Struct(GROUP))),
    (5, List(&Struct(KEY_VALUE))),
    (6, Bytes),
    (7, List(&Struct(&[(1, Struct(EMPTY))]))),
];
const KEY_VALUE: Shape = &[(1, Bytes), (2, Bytes)];
const SCHEMA: Shape = &[
    (1, Int),
    (2, Int),
    (3, Int),
    (4, Bytes),
    (5, Int),
    (6, Int),
    (7, Int),
    (8, Int),
    (9, Int),
    // A text or a whole number.
    (10, Struct(&[(1, Struct(EMPTY)), (10, Struct(&[(1, Byte), (2, Bool)]))])),
];
const GROUP: Shape = &[(1, List(&Struct(CHUNK))), (2, Int), (3, Int), (5, Int), (6, Int), (7, Int)];
const CHUNK: Shape = &[(1, Bytes), (2, Int), (3, Struct(COLUMN)), (4, Int), (5, Int), (6, Int), (7, Int)];
const COLUMN: Shape = &[
    (1, Int),
    (2, List(&Int)),
    (3, List(&Bytes)),
    (4, Int),
    (5, Int),
    (6, Int),
    (7, Int),
    (8, List(&Struct(KEY_VALUE))),
    (9, Int),
    (10, Int),
    (11, Int),
    (12, Struct(STATISTICS)),
    (13, List(&Struct(&[(1, Int), (2, Int), (3, Int)]))),
    (14, Int),
    (15, Int),
    (16, Struct(&[(1, Int), (2, List(&Int)), (3, List(&Int))])),
];

/// The bytes that have not been checked yet.
struct Walk<'a> {
    bytes: &'a [u8],
    /// Number of structs checked so far.
    structs: u64,
    /// The integers of the inner struct that was checked last.
    inner: [i64; FIELDS],
}

impl<'a> Walk<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, structs: 0, inner: [0; FIELDS] }
    }

    /// Checks a struct, and returns its integers by field number (0 if missing).
    fn fields(&mut self, shape: Shape) -> Result<[i64; FIELDS], Unbounded> {
        let (mut integers, mut last) = ([0; FIELDS], 0);
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(integers);
            }
            let id = if head >> 4 == 0 { self.integer()? } else { last + i64::from(head >> 4) };
            let found = shape.iter().find(|(number, _)| *number as i64 == id && id > last);
            let (number, kind) = found.ok_or(Unbounded::Foreign)?;
            match (kind, head & 15) {
                (Bool, 1 | 2) => {}
                (Int, 4..=6) => integers[*number] = self.integer()?,
                (_, code) => self.value(kind, code)?,
            }
            last = id;
        }
    }

    /// Checks a value: a field that is not a bool, or an element. `code` is its type according to the file.
    fn value(&mut self, kind: &Kind, code: u8) -> Result<(), Unbounded> {
        match (kind, code) {
            (Byte, 3) => self.skip(1),
            (Int, 4..=6) => self.integer().map(|_| ()),
            (Bytes, 8) => {
                let len = self.varint()?;
                self.skip(len)
            }
            (List(kind), 9) => {
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                // An element takes at least one byte.
                if count > self.bytes.len() as u64 {
                    return Err(Unbounded::Length);
                }
                (0..count).try_for_each(|_| self.value(kind, head & 15))
            }
            (Struct(shape), 12) => {
                self.structs += 1;
                self.inner = self.fields(shape)?;
                Ok(())
            }
            _ => Err(Unbounded::Foreign),
        }
    }

    fn byte(&mut self) -> Result<u8, Unbounded> {
        let (first, rest) = self.bytes.split_first().ok_or(Unbounded::Length)?;
        self.bytes = rest;
        Ok(*first)
    }

    fn skip(&mut self, len: u64) -> Result<(), Unbounded> {
        self.bytes = usize::try_from(len).ok().and_then(|len| self.bytes.get(len..)).ok_or(Unbounded::Length)?;
        Ok(())
    }

    fn varint(&mut self) -> Result<u64, Unbounded> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(value);
            }
        }
        Err(Unbounded::Length)
    }

    /// A zigzag varint.
    fn integer(&mut self) -> Result<i64, Unbounded> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}

#[cfg(test)]
mod tests;
