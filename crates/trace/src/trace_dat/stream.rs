//! The pages of one CPU in one buffer, one after the other: stored uncompressed in the file, or in compressed chunks.

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
    /// Whether the file is cut.
    cut: bool,
    /// How chunks are compressed, and how many have not been read yet; `None` if pages are stored uncompressed.
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
        let (at, buffer) = (offset, Vec::new());
        let mut pages = Self { page_size, at, end, cut: false, chunks: None, big_endian, buffer, next: 0 };
        if let Some(packing) = packing.filter(|_| size > 0) {
            let mut cursor = Cursor::new(input, offset, u64::MAX, big_endian);
            pages.chunks = Some((packing, cursor.u32("the number of chunks")?));
            pages.at = cursor.at;
        }
        Ok(pages)
    }

    /// The next page, and where it begins in the file (for a chunk: where the chunk begins); `None` at the end. A page
    /// that is cut off by the end of the file is shorter.
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
        let filled = if self.chunks.is_some() { self.chunk(input) } else { self.several(input) };
        if filled.is_err() {
            self.buffer.clear();
        }
        filled
    }

    /// Pages that lie as they are.
    fn several(&mut self, input: &Input) -> Result<(), TraceError> {
        let want = (self.end - self.at).min((self.page_size * PAGES) as u64);
        if self.cut {
            let found = format!("the file ends {want} bytes before the pages of its CPU do");
            self.at = self.end;
            return Err(input.malformed(self.at - want, found, "a whole file"));
        }
        self.buffer.resize(want as usize, 0);
        let read = input.read(self.at, &mut self.buffer)?;
        self.buffer.truncate(read);
        self.at += read as u64;
        self.cut = read < want as usize;
        if self.cut && read == 0 { self.several(input) } else { Ok(()) }
    }

    /// Reads the next chunk. trace-cmd 3.0 to 3.1.6 did not include the number of chunks in the total size, so chunks
    /// are read by their number.
    fn chunk(&mut self, input: &Input) -> Result<(), TraceError> {
        self.buffer.clear();
        let Some((packing, left)) = &mut self.chunks else { return Ok(()) };
        if *left == 0 {
            // The number of chunks or a size is false.
            let (read, end) = (self.at, std::mem::replace(&mut self.end, self.at));
            if read == end || read == end.saturating_add(4) {
                return Ok(());
            }
            return Err(input.malformed(
                read,
                format!("the last chunk of a CPU, {} bytes off", read.abs_diff(end)),
                format!("it to end at {end}"),
            ));
        }
        let mut cursor = Cursor::new(input, self.at, u64::MAX, self.big_endian);
        let (packing, left) = (*packing, std::mem::replace(left, 0));
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
        self.chunks = Some((packing, left - 1));
        Ok(())
    }
}
