//! What a table may ask of memory, looked at before the Parquet crate believes it. The crate reserves room for as many
//! elements as a list says it has, and for as many bytes as a page says it unpacks to: a file of a few hundred bytes could
//! end the process. Both are in Thrift's compact encoding (`thrift-compact-protocol.md` of Apache Thrift), which is walked
//! here without being understood; the layout of the file is in `README.md` of apache/parquet-format.

use parquet::file::metadata::RowGroupMetaData;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Most bytes that the pages of a row group unpack to, and most bytes of text in one of its columns.
pub(super) const MOST_BYTES: u64 = 256 << 20;

/// Most values in a row group, empty ones included. A hundred trials of 400 tasks have a quarter of a million.
const MOST_VALUES: u64 = 64 << 20;

/// Structs within structs; Parquet's own go to 8.
const DEEPEST: u32 = 32;

/// Looks at the footer: that each of its lengths and counts stays within it.
pub(super) fn check_footer(file: &File) -> Result<(), Unbounded> {
    let len = file.metadata()?.len();
    let mut tail = [0; 8];
    file.read_exact_at(&mut tail, len.checked_sub(8).ok_or(Unbounded::NoFooter)?)?;
    let footer = u64::from(u32::from_le_bytes(tail[..4].try_into().expect("four bytes")));
    if &tail[4..] != b"PAR1" || footer > len - 8 {
        return Err(Unbounded::NoFooter);
    }
    if footer > MOST_BYTES {
        return Err(Unbounded::TooLarge("bytes of footer", footer));
    }
    let mut bytes = vec![0; footer as usize];
    file.read_exact_at(&mut bytes, len - 8 - footer)?;
    Walk { bytes: &bytes }.fields(0).map(|_| ()).ok_or(Unbounded::Length)
}

/// Looks at a row group: what its pages unpack to, and how many values it says it has. `buffer` is only there to be used
/// again.
pub(super) fn check_group(file: &File, group: &RowGroupMetaData, buffer: &mut Vec<u8>) -> Result<(), Unbounded> {
    let values = u64::try_from(group.num_rows()).unwrap_or(u64::MAX).saturating_mul(group.num_columns() as u64);
    if values > MOST_VALUES {
        return Err(Unbounded::TooLarge("values", values));
    }
    let mut unpacked = 0;
    for column in group.columns() {
        // Not `byte_range()`, which panics where an offset or a length is negative.
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let (Ok(start), Ok(len)) = (u64::try_from(start), u64::try_from(column.compressed_size())) else {
            return Err(Unbounded::Length);
        };
        if len > MOST_BYTES {
            return Err(Unbounded::TooLarge("bytes in a column", len));
        }
        if start.saturating_add(len) > file.metadata()?.len() {
            return Err(Unbounded::Length);
        }
        buffer.resize(len as usize, 0);
        file.read_exact_at(buffer, start)?;
        unpacked += unpacked_bytes(buffer)?;
        if unpacked > MOST_BYTES {
            return Err(Unbounded::TooLarge("bytes unpacked", unpacked));
        }
    }
    Ok(())
}

/// What the pages of a column unpack to together, in bytes.
fn unpacked_bytes(mut pages: &[u8]) -> Result<u64, Unbounded> {
    let mut sum = 0;
    while !pages.is_empty() {
        let mut walk = Walk { bytes: pages };
        // `uncompressed_page_size` is field 2 of a page header, `compressed_page_size` field 3.
        let [_, _, unpacked, packed] = walk.fields(0).ok_or(Unbounded::Length)?;
        let (Ok(unpacked), Ok(packed)) = (u64::try_from(unpacked), usize::try_from(packed)) else {
            return Err(Unbounded::Length);
        };
        sum += unpacked;
        pages = walk.bytes.get(packed..).ok_or(Unbounded::Length)?;
    }
    Ok(sum)
}

/// Why a file is not read.
#[derive(Debug)]
pub(super) enum Unbounded {
    /// The kernel refuses.
    Kernel(io::Error),
    /// It does not end as a Parquet file does.
    NoFooter,
    /// A length or a count goes beyond what there is.
    Length,
    /// More of something than a table of ours has.
    TooLarge(&'static str, u64),
}

impl From<io::Error> for Unbounded {
    fn from(error: io::Error) -> Self {
        Self::Kernel(error)
    }
}

/// Bytes that are still to be walked.
struct Walk<'a> {
    bytes: &'a [u8],
}

impl Walk<'_> {
    /// Walks a struct, and gives the integers among its fields 0 to 3 (0 where there is none). `None` where a length or a
    /// count goes beyond the bytes.
    fn fields(&mut self, depth: u32) -> Option<[i64; 4]> {
        let mut integers = [0; 4];
        let mut id = 0_i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(integers);
            }
            let kind = head & 15;
            id = if head >> 4 == 0 { self.integer()? } else { id.checked_add(i64::from(head >> 4))? };
            match (kind, usize::try_from(id)) {
                // A bool field is its kind.
                (1 | 2, _) => {}
                (4..=6, Ok(id @ 0..4)) => integers[id] = self.integer()?,
                _ => self.value(kind, depth)?,
            }
        }
    }

    /// Walks a value: a field that is no bool, or an element.
    fn value(&mut self, kind: u8, depth: u32) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        match kind {
            1..=3 => self.skip(1),
            4..=6 => self.integer().map(|_| ()),
            7 => self.skip(8),
            8 => {
                let len = self.varint()?;
                self.skip(len)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                self.elements(count, &[head & 15], depth)
            }
            11 => match self.varint()? {
                0 => Some(()),
                count => {
                    let kinds = self.byte()?;
                    self.elements(count, &[kinds >> 4, kinds & 15], depth)
                }
            },
            12 => self.fields(depth + 1).map(|_| ()),
            _ => None,
        }
    }

    /// So many times a value of each kind. Each takes a byte at least.
    fn elements(&mut self, count: u64, kinds: &[u8], depth: u32) -> Option<()> {
        if count > self.bytes.len() as u64 {
            return None;
        }
        (0..count).try_for_each(|_| kinds.iter().try_for_each(|&kind| self.value(kind, depth + 1)))
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn skip(&mut self, len: u64) -> Option<()> {
        self.bytes = self.bytes.get(usize::try_from(len).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(value);
            }
        }
        None
    }

    /// A zigzag varint.
    fn integer(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}

#[cfg(test)]
mod tests;
