//! A page of the kernel's ring buffer: its header, and the records in it. Bytes in, records out.

use crate::format::Field;

/// Longest run of padding records; a page holds no more.
const MISSED_EVENTS: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
const COMMIT_BYTES: u64 = (1 << 27) - 1;

/// Where the parts of a page lie in the kernel that wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageFormat {
    commit_at: usize,
    commit_size: usize,
    data_at: usize,
    big_endian: bool,
}

/// A page that was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Page<'a> {
    /// Time that the first record counts from.
    pub(crate) ts: u64,
    /// Records before this page are missing; so many, where the kernel had room to say.
    pub(crate) missed: Option<u64>,
    data: &'a [u8],
    big_endian: bool,
}

impl PageFormat {
    /// From `events/header_page`; without it, that of a kernel with longs of this size.
    pub(crate) fn new(header_page: &str, long_size: u8, big_endian: bool) -> Self {
        let mut fields = header_page.lines().filter_map(|line| Field::parse(line.trim()));
        let commit = fields.clone().find(|f| f.name == "commit" && matches!(f.size, 4 | 8));
        let data = fields.find(|f| f.name == "data");
        let (commit_at, commit_size) =
            commit.map_or((8, usize::from(long_size)), |f| (f.offset as usize, f.size as usize));
        let data_at = data.map_or(commit_at + commit_size, |f| f.offset as usize);
        Self { commit_at, commit_size, data_at, big_endian }
    }

    /// Opens a page; `None` where its header does not fit, or says more than the page holds.
    pub(crate) fn open<'a>(&self, page: &'a [u8]) -> Option<Page<'a>> {
        let ts = number(page.get(..8)?, self.big_endian);
        let commit = number(page.get(self.commit_at..self.commit_at + self.commit_size)?, self.big_endian);
        let bytes = (commit & COMMIT_BYTES) as usize;
        let data = page.get(self.data_at..)?;
        let missed = (commit & MISSED_EVENTS != 0).then(|| {
            let stored = data.get(bytes..bytes + self.commit_size).filter(|_| commit & MISSED_STORED != 0);
            stored.map_or(0, |count| number(count, self.big_endian))
        });
        Some(Page { ts, missed, data: data.get(..bytes)?, big_endian: self.big_endian })
    }
}

impl<'a> Page<'a> {
    /// Bytes of records in it.
    pub(crate) fn bytes(&self) -> usize {
        self.data.len()
    }

    /// The records in order.
    pub(crate) fn records(&self) -> Records<'a> {
        Records { ts: self.ts, rest: self.data, big_endian: self.big_endian, broken: false }
    }
}

/// The records of a page.
#[derive(Debug)]
pub(crate) struct Records<'a> {
    ts: u64,
    rest: &'a [u8],
    big_endian: bool,
    /// The page could not be followed to its end.
    pub(crate) broken: bool,
}

impl<'a> Iterator for Records<'a> {
    /// Time and data of a record.
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            match self.step() {
                Some(Some(record)) => return Some(record),
                Some(None) => {}
                None => {
                    (self.broken, self.rest) = (true, &[]);
                }
            }
        }
        None
    }
}

impl<'a> Records<'a> {
    /// Bytes of the page that are not read yet.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    /// One record: `Some(None)` where it holds no event, `None` where it cannot be.
    fn step(&mut self) -> Option<Option<(u64, &'a [u8])>> {
        const PADDING: u32 = 29;
        const TIME_EXTEND: u32 = 30;
        const TIME_STAMP: u32 = 31;
        /// The upper bits that an absolute time has no room for.
        const UPPER: u64 = !((1 << 59) - 1);
        let head = self.word(0)?;
        let (type_len, delta) =
            if self.big_endian { (head >> 27, head & ((1 << 27) - 1)) } else { (head & 31, head >> 5) };
        match type_len {
            PADDING if delta == 0 => {
                self.rest = &[];
                Some(None)
            }
            PADDING => {
                self.ts = self.ts.wrapping_add(u64::from(delta));
                let length = self.word(4)? as usize;
                self.rest = self.rest.get(length.checked_add(4)?..)?;
                Some(None)
            }
            TIME_EXTEND | TIME_STAMP => {
                let time = u64::from(self.word(4)?) << 27 | u64::from(delta);
                self.ts = match type_len {
                    TIME_EXTEND => self.ts.wrapping_add(time),
                    _ => self.ts & UPPER | time,
                };
                self.rest = &self.rest[8..];
                Some(None)
            }
            _ => {
                self.ts = self.ts.wrapping_add(u64::from(delta));
                // A length of more than 112 bytes has a word of its own, which counts itself.
                let (at, bytes): (usize, usize) = match type_len {
                    0 => (8, (self.word(4)? as usize).checked_sub(4)?),
                    words => (4, words as usize * 4),
                };
                let data = self.rest.get(at..at.checked_add(bytes)?)?;
                self.rest = self.rest.get((at + bytes).next_multiple_of(4)..).unwrap_or_default();
                Some(Some((self.ts, data)))
            }
        }
    }

    fn word(&self, at: usize) -> Option<u32> {
        let bytes = self.rest.get(at..at + 4)?.try_into().ok()?;
        Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }
}

fn number(bytes: &[u8], big_endian: bool) -> u64 {
    let push = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
    if big_endian { bytes.iter().fold(0, push) } else { bytes.iter().rev().fold(0, push) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

    fn page(commit: u64, words: &[u32]) -> Vec<u8> {
        let mut page = 1000u64.to_le_bytes().to_vec();
        page.extend(commit.to_le_bytes());
        words.iter().for_each(|w| page.extend(w.to_le_bytes()));
        page.resize(4096, 0);
        page
    }

    fn head(type_len: u32, delta: u32) -> u32 {
        delta << 5 | type_len
    }

    #[test]
    fn records_of_all_types_are_followed() {
        let words = [
            head(1, 5),
            0xaaaa, // 4 bytes at +5
            head(30, 3),
            1, // 2^27 + 3 later
            head(0, 1),
            8,
            0xbbbb, // 8 − 4 bytes in a word of its own
            head(29, 7),
            8,
            0, // discarded
            head(31, 9),
            2, // absolute
            head(2, 0),
            1,
            2,
            head(29, 0),
        ];
        let page = page(words.len() as u64 * 4 + 40, &words);
        let format = PageFormat::new(HEADER, 8, false);
        let opened = format.open(&page).unwrap();
        let mut records = opened.records();
        let times: Vec<(u64, usize)> = records.by_ref().map(|(ts, data)| (ts, data.len())).collect();
        assert_eq!(times, [(1005, 4), (1005 + (1 << 27) + 3 + 1, 4), ((2 << 27) + 9, 8)]);
        assert!(!records.broken && opened.missed.is_none());
    }

    #[test]
    fn a_page_tells_what_was_missed_before_it() {
        let format = PageFormat::new(HEADER, 8, false);
        let stored = page(8 | MISSED_EVENTS | MISSED_STORED, &[head(1, 0), 0, 77, 0]);
        assert_eq!(format.open(&stored).unwrap().missed, Some(77));
        let unknown = page(8 | MISSED_EVENTS, &[head(1, 0), 0, 77, 0]);
        assert_eq!(format.open(&unknown).unwrap().missed, Some(0));
    }

    #[test]
    fn kernels_of_32_bits_and_big_endian_ones_have_their_layout() {
        let mut bytes = 7u64.to_be_bytes().to_vec();
        bytes.extend(8u32.to_be_bytes());
        bytes.extend((1u32 << 27 | 4).to_be_bytes());
        bytes.extend([1, 2, 3, 4]);
        let format = PageFormat::new("", 4, true);
        let page = format.open(&bytes).unwrap();
        assert_eq!(page.records().collect::<Vec<_>>(), [(11, &[1u8, 2, 3, 4][..])]);
    }

    #[test]
    fn lengths_that_lie_end_the_page() {
        let format = PageFormat::new(HEADER, 8, false);
        assert_eq!(format.open(&page(5000, &[])), None);
        assert_eq!(format.open(&[0; 12]), None);
        for words in [[head(0, 0), 3], [head(0, 0), 4000], [head(29, 1), u32::MAX], [head(28, 0), 0]] {
            let page = page(8, &words);
            let mut records = format.open(&page).unwrap().records();
            assert_eq!((records.next(), records.broken), (None, true), "{words:?}");
        }
    }
}
