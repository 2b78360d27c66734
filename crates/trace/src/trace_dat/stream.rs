//! The pages of one CPU of one buffer, one after the other: as they lie in the file, or out of compressed chunks.

use super::header::{CpuData, LONGEST_SECTION};
use crate::TraceError;
use crate::bytes::{Cursor, Input};
use crate::unpack::Packing;

/// Pages read at once.
const PAGES: usize = 16;

/// Reads pages in order.
pub(super) struct Pages {
    page_size: usize,
    /// What is not read yet.
    at: u64,
    end: u64,
    /// How chunks are compressed, and how many are not read yet; `None` where pages lie as they are.
    chunks: Option<(Packing, u32)>,
    big_endian: bool,
    buffer: Vec<u8>,
    next: usize,
}

impl Pages {
    pub(super) fn new(
        input: &Input,
        data: CpuData,
        page_size: usize,
        packing: Option<Packing>,
        big_endian: bool,
    ) -> Result<Self, TraceError> {
        let CpuData { offset, size, .. } = data;
        let end = offset.checked_add(size).ok_or_else(|| {
            input.malformed(offset, format!("{size} bytes of pages at {offset}"), "pages inside the file")
        })?;
        let mut pages = Self { page_size, at: offset, end, chunks: None, big_endian, buffer: Vec::new(), next: 0 };
        if let Some(packing) = packing.filter(|_| size > 0) {
            let mut cursor = Cursor::new(input, offset, end, big_endian);
            pages.chunks = Some((packing, cursor.u32("the number of chunks")?));
            pages.at = cursor.at;
        }
        Ok(pages)
    }

    /// The next page, where it begins in the file (of a chunk: where the chunk does); `None` at the end. A page that is
    /// cut off by the end of the file is shorter.
    pub(super) fn next(&mut self, input: &Input) -> Result<Option<(u64, &[u8])>, TraceError> {
        if self.next >= self.buffer.len() {
            self.fill(input)?;
        }
        let from = self.next;
        let to = (from + self.page_size).min(self.buffer.len());
        self.next = to;
        let behind = if self.chunks.is_some() { 0 } else { self.buffer.len() as u64 - from as u64 };
        Ok((to > from).then(|| (self.at - behind, &self.buffer[from..to])))
    }

    fn fill(&mut self, input: &Input) -> Result<(), TraceError> {
        self.next = 0;
        match &mut self.chunks {
            None => {
                let want = (self.end - self.at).min((self.page_size * PAGES) as u64);
                self.buffer.resize(want as usize, 0);
                let read = input.read(self.at, &mut self.buffer)?;
                self.buffer.truncate(read);
                // Nothing behind the end of the file will come.
                self.at = if read < want as usize { self.end } else { self.at + want };
            }
            Some((_, 0)) => self.buffer.clear(),
            Some((packing, left)) => {
                *left -= 1;
                let mut cursor = Cursor::new(input, self.at, self.end, self.big_endian);
                let (bytes, size) = (cursor.u32("a compressed size")?, cursor.u32("an inflated size")?);
                let from = cursor.at;
                if u64::from(size) > LONGEST_SECTION {
                    return Err(input.malformed(from, format!("a chunk of {size} bytes"), "a few pages"));
                }
                let data = cursor.take(u64::from(bytes), "a compressed chunk")?;
                self.buffer = packing
                    .unpack_exactly(data, u64::from(size))
                    .map_err(|why| input.malformed(from, why, "a compressed chunk"))?;
                self.at = cursor.at;
            }
        }
        Ok(())
    }

    /// Reads no further.
    pub(super) fn stop(&mut self) {
        (self.at, self.next) = (self.end, self.buffer.len());
        if let Some((_, left)) = &mut self.chunks {
            *left = 0;
        }
    }
}
