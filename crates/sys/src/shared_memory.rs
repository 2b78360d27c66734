//! Memory shared by forked tasks: one anonymous `MAP_SHARED` mapping of zeroed 64-bit atomics, faulted in on creation,
//! so that neither the tasks nor the timed region take the first fault. Source: mmap(2), shmem.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// 64-bit words in a cache line (and in the pair of lines the prefetcher fetches: 16); cells of different tasks are
/// kept this far apart.
pub const WORDS_PER_TASK_LINE: usize = 16;

/// Words that the kernel maps around one read fault of shared memory (64 KiB, `fault_around_bytes`).
const FAULT_AROUND_WORDS: usize = (64 << 10) / 8;
const PAGE_WORDS: usize = 4096 / 8;

/// A new anonymous mapping that can be read and written, its bytes zero.
pub(crate) fn map(bytes: usize, flags: libc::c_int) -> io::Result<NonNull<libc::c_void>> {
    // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches no memory of ours.
    let base = unsafe {
        libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_ANONYMOUS | flags, -1, 0)
    };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(NonNull::new(base).ok_or(io::ErrorKind::OutOfMemory)?)
}

/// The mapping; unmapped on drop. Forked children share it.
#[derive(Debug)]
pub struct SharedWords {
    base: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the mapping is plain memory that only atomics refer to, and it is not tied to the thread that made it.
unsafe impl Send for SharedWords {}
// SAFETY: every access goes through `&[AtomicU64]`, which is made for use from several threads.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Maps and faults in `words` zeroed words.
    pub fn new(words: usize) -> io::Result<Self> {
        let words = words.max(1);
        let base = map(words * 8, libc::MAP_SHARED | libc::MAP_POPULATE)?;
        Ok(Self { base: base.cast(), words })
    }

    /// All words.
    #[inline(always)]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has exactly `words` 8-byte words, is page-aligned, zeroed (a valid atomic), lives as long
        // as `self`, and nothing refers to it but shared references to atomics.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.words) }
    }

    /// Maps the pages of a range of words into the calling process. A forked child starts without page-table entries
    /// for shared memory and would otherwise fault in the timed region. One read per 64 KiB is enough where the kernel
    /// faults around; with `every_page`, a write to each page makes sure of it.
    pub fn fault_in(&self, range: std::ops::Range<usize>, every_page: bool) {
        let step = if every_page { PAGE_WORDS } else { FAULT_AROUND_WORDS };
        let words = &self.words()[range];
        for word in words.iter().step_by(step).chain(words.last()) {
            word.load(Ordering::Relaxed);
            if every_page {
                word.fetch_add(0, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: `base` and the length are those of the mapping made in `new`; no reference can outlive `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.words * 8) };
    }
}

/// Shared 32-bit words for futex(2), each on its own line. Separate from [`SharedWords`], because one location must not
/// be accessed as atomics of two sizes.
#[derive(Debug)]
pub struct SharedFutexes(SharedWords);

impl SharedFutexes {
    /// Maps and faults in `count` zeroed words.
    pub fn new(count: usize) -> io::Result<Self> {
        SharedWords::new(count * WORDS_PER_TASK_LINE).map(Self)
    }

    /// One word.
    #[inline(always)]
    pub fn word(&self, index: usize) -> &AtomicU32 {
        let word: *const AtomicU64 = &self.0.words()[index * WORDS_PER_TASK_LINE];
        // SAFETY: the address is in bounds (indexed above), 8-byte aligned and mapped as long as `self`. The inner
        // words are private, this method alone hands out the first of a line, and `beside` only those after it: every
        // access to these four bytes is 32 bits wide.
        unsafe { &*word.cast::<AtomicU32>() }
    }

    /// The rest of a word's line: a woken waiter reads it without touching a second line.
    #[inline(always)]
    pub fn beside(&self, index: usize) -> &[AtomicU64] {
        let start = index * WORDS_PER_TASK_LINE;
        &self.0.words()[start + 1..start + WORDS_PER_TASK_LINE]
    }

    /// Maps all lines into the calling process, for reading if the kernel faults around ([`SharedWords::fault_in`]).
    pub fn fault_in(&self) {
        // Only the 64-bit words after each futex word; the futex words are 32 bits wide.
        let lines = self.0.words / WORDS_PER_TASK_LINE;
        for index in (0..lines).step_by(FAULT_AROUND_WORDS / WORDS_PER_TASK_LINE).chain(lines.checked_sub(1)) {
            self.beside(index)[0].load(Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;

    #[test]
    fn futex_words_do_not_share_a_line_and_are_shared_with_children() {
        let futexes = SharedFutexes::new(3).unwrap();
        let child = process::fork_child(|| {
            futexes.word(2).store(7, Ordering::Relaxed);
            0
        });
        process::wait_for(child.unwrap()).unwrap();
        assert_eq!([0, 1, 2].map(|i| futexes.word(i).load(Ordering::Relaxed)), [0, 0, 7]);
        let distance = std::ptr::from_ref(futexes.word(1)).addr() - std::ptr::from_ref(futexes.word(0)).addr();
        assert_eq!(distance, 128);
    }

    #[test]
    fn a_futex_word_and_what_is_beside_it_never_overlap() {
        let futexes = SharedFutexes::new(2).unwrap();
        futexes.fault_in();
        for index in 0..2 {
            futexes.beside(index).iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
            assert_eq!(futexes.word(index).load(Ordering::Relaxed), 0);
            let beside = std::ptr::from_ref(&futexes.beside(index)[0]).addr();
            assert_eq!(beside - std::ptr::from_ref(futexes.word(index)).addr(), 8, "the same line");
        }
        assert_eq!(futexes.beside(1).len(), WORDS_PER_TASK_LINE - 1);
    }

    #[test]
    fn a_child_writes_where_its_parent_reads() {
        let shared = SharedWords::new(10_000).unwrap();
        shared.words()[9_999].store(7, Ordering::Relaxed);
        let child = process::fork_child(|| {
            shared.fault_in(0..10_000, true);
            shared.words()[0].store(shared.words()[9_999].load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            0
        })
        .unwrap();
        assert!(process::wait_for(child).unwrap().status.success());
        assert_eq!(shared.words()[0].load(Ordering::Relaxed), 8);
    }
}
