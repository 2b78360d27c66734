//! The memory of a ring: a control page with two positions, followed by the data. Source:
//! include/uapi/linux/perf_event.h (`struct perf_event_mmap_page` describes how the two sides share the ring).

use crate::kernel_facts::page_size_bytes;
use perf_event_open_sys::bindings;
use std::io;
use std::mem::offset_of;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// The mapped ring of an event; unmapped on drop.
#[derive(Debug)]
pub(super) struct Mapping {
    /// The control page, followed by the data.
    base: NonNull<u8>,
    page_bytes: usize,
    data_bytes: usize,
}

// SAFETY: the mapping is not tied to the thread that made it, and `drain`, its only reader, needs `&mut self`.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps the ring of `event` with `ring_pages` pages of data, rounded up to a power of two. `EPERM` if that is more
    /// than `kernel.perf_event_mlock_kb` and RLIMIT_MEMLOCK allow.
    pub(super) fn new(event: BorrowedFd<'_>, ring_pages: usize) -> io::Result<Self> {
        let page_bytes = page_size_bytes() as usize;
        let data_bytes = ring_pages.max(1).next_power_of_two() * page_bytes;
        // SAFETY: a fresh mapping of the event's own ring at an address of the kernel's choice touches no memory of
        // ours.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                page_bytes + data_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, page_bytes, data_bytes })
    }

    /// Appends all complete records in the ring, as the kernel wrote them, and frees their space.
    pub(super) fn drain(&mut self, out: &mut Vec<u8>) {
        // Acquire: the kernel wrote the records before it moved the head past them. Only we write the tail.
        let head = self.position(offset_of!(bindings::perf_event_mmap_page, data_head)).load(Ordering::Acquire);
        let tail = self.position(offset_of!(bindings::perf_event_mmap_page, data_tail)).load(Ordering::Relaxed);
        let length = usize::try_from(head.wrapping_sub(tail)).unwrap_or(0).min(self.data_bytes);
        let start = (tail % self.data_bytes as u64) as usize;
        let before_the_end = length.min(self.data_bytes - start);
        out.extend_from_slice(self.data(start, before_the_end));
        out.extend_from_slice(self.data(0, length - before_the_end));
        // Release: the copies are made before the kernel may write there again.
        let tail = self.position(offset_of!(bindings::perf_event_mmap_page, data_tail));
        tail.store(head, Ordering::Release);
    }

    /// A position in the control page.
    fn position(&self, offset: usize) -> &AtomicU64 {
        let word = self.base.as_ptr().wrapping_add(offset).cast::<u64>();
        // SAFETY: `offset` is that of a 64-bit field of `perf_event_mmap_page`, which lies in the mapped first page and
        // is 8-byte aligned there; the kernel reads and writes it as one word, and nothing here refers to it but
        // atomics.
        unsafe { AtomicU64::from_ptr(word) }
    }

    /// A contiguous part of the data between tail and head.
    fn data(&self, start: usize, length: usize) -> &[u8] {
        debug_assert!(start + length <= self.data_bytes);
        let first = self.base.as_ptr().wrapping_add(self.page_bytes + start);
        // SAFETY: the stretch lies in the mapping, which lives as long as `self`. The ring is mapped writable, so the
        // kernel writes only outside tail..head, and `drain` moves the tail after its last use of the slice.
        unsafe { std::slice::from_raw_parts(first, length) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: base and length are those of the mapping made in `new`; no reference can outlive `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.page_bytes + self.data_bytes) };
    }
}
